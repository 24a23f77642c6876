"""setup.py refuses what it cannot build, and translates arguments for other compilers."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("Cython")

SETUP = Path(__file__).resolve().parents[2] / "setup.py"


def functions(*names: str) -> dict[str, Any]:
    """Define functions of setup.py without running it."""
    tree = ast.parse(SETUP.read_text(encoding="utf-8"))
    tree.body = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name in names]
    found: dict[str, Any] = {"sys": sys}
    exec(compile(tree, str(SETUP), "exec"), found)
    return found


def test_32_bit_python_is_refused_in_one_line() -> None:
    code = "import runpy, sys; sys.maxsize = 2**31 - 1; runpy.run_path(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, SETUP], capture_output=True, text=True, cwd=SETUP.parent)
    assert done.returncode == 1
    assert done.stderr.startswith("error: fastbpe needs a 64-bit Python")
    assert done.stderr.count("\n") == 1
    assert not done.stdout


def test_arguments_of_gcc_become_those_of_msvc_and_clang_cl() -> None:
    for_msvc = functions("for_msvc")["for_msvc"]
    gcc = ["-std=gnu11", "-O3", "-g0", "-fno-strict-aliasing", "-ffp-contract=off"]
    assert for_msvc(gcc, is_clang=False) == ["/O2"]
    assert for_msvc(gcc, is_clang=True) == ["/O2", "/clang:-ffp-contract=off"]
    assert for_msvc(["-Os"], is_clang=False) == ["/O1"]
    with pytest.raises(SystemExit, match="unset them"):
        for_msvc(["-O1", "--coverage"], is_clang=True)


def test_oldest_build_requirements_are_those_of_pyproject() -> None:
    sys.path.insert(0, str(SETUP.parent / "tools"))
    from check_packages import oldest_requirements

    assert oldest_requirements() == "setuptools==77.0.1\ncython==3.1\n"
