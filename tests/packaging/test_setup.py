"""setup.py refuses what it cannot build, and translates arguments for other compilers."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("Cython")

from setuptools import Distribution, Extension
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext
from setuptools.errors import ExecError

SETUP = Path(__file__).resolve().parents[2] / "setup.py"


def defined(*names: str) -> dict[str, Any]:
    """Define functions and classes of setup.py without running it."""
    tree = ast.parse(SETUP.read_text(encoding="utf-8"))
    kinds = (ast.FunctionDef, ast.ClassDef)
    tree.body = [node for node in tree.body if isinstance(node, kinds) and node.name in names]
    found: dict[str, Any] = {"sys": sys, "shutil": shutil, "build": build, "build_ext": build_ext, "os": os}
    found |= {"Extension": Extension, "ExecError": ExecError, "Path": Path, "sanitize": None, "COVERAGE": False}
    exec(compile(tree, str(SETUP), "exec"), found)
    return found


@pytest.mark.daily
def test_32_bit_python_is_refused_in_one_line() -> None:
    code = "import runpy, sys; sys.maxsize = 2**31 - 1; runpy.run_path(sys.argv[1])"
    done = subprocess.run([sys.executable, "-c", code, SETUP], capture_output=True, text=True, cwd=SETUP.parent)
    assert done.returncode == 1
    assert done.stderr.startswith("error: fastbpe needs a 64-bit Python")
    assert done.stderr.count("\n") == 1
    assert not done.stdout


def test_arguments_of_gcc_become_those_of_msvc_and_clang_cl() -> None:
    for_msvc = defined("for_msvc")["for_msvc"]
    gcc = ["-std=gnu11", "-O3", "-g0", "-fno-strict-aliasing", "-ffp-contract=off"]
    assert for_msvc(gcc, is_clang=False) == ["/O2"]
    assert for_msvc(gcc, is_clang=True) == ["/O2", "/clang:-ffp-contract=off"]
    assert for_msvc(["-Os"], is_clang=False) == ["/O1"]
    with pytest.raises(SystemExit, match="unset them"):
        for_msvc(["-O1", "--coverage"], is_clang=True)


@pytest.mark.skipif(sys.platform != "linux", reason="GCC precompiles headers on Linux alone")
def test_each_set_of_arguments_has_its_own_precompiled_header(tmp_path: Path) -> None:
    commands: list[list[str]] = []
    command = defined("BuildExtensions")["BuildExtensions"](Distribution({"name": "empty"}))
    command.compiler = SimpleNamespace(compiler_so=["gcc"], include_dirs=[], spawn=commands.append)
    levels = ["-O3", "-O2", "-O3"]
    modules = [Extension(f"m{i}", [], extra_compile_args=[level]) for i, level in enumerate(levels)]
    command.precompile(str(tmp_path), modules)
    third, second, again = (module.extra_compile_args for module in modules)
    assert third == again != second
    for level, option, header in (third, second):
        assert option == "-include"
        assert ["gcc", level, header, "-o", f"{header}.gch"] in commands


def test_build_leaves_no_module_of_an_earlier_version(tmp_path: Path) -> None:
    command = defined("BuildAnew")["BuildAnew"](Distribution({"name": "empty"}))
    command.build_lib = str(tmp_path / "lib")
    old = tmp_path / "lib" / "fastbpe" / "_core" / "old.so"
    old.parent.mkdir(parents=True)
    old.touch()
    command.ensure_finalized()
    command.run()
    assert not old.exists()


def test_oldest_build_requirements_are_those_of_pyproject() -> None:
    sys.path.insert(0, str(SETUP.parent / "tools"))
    from check_packages import oldest_requirements

    assert oldest_requirements() == "setuptools==77.0.1\ncython==3.1\n"
