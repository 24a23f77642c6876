"""The Python and shell blocks of the pages in docs/ run as printed, in order, each page in one namespace.

Blocks run in a folder of their own, which earlier blocks of the page fill. After ```python, `needs torch` names
packages: the block is skipped where one of them is missing. A block of ```sh runs if it calls `fastbpe`. If a call
takes a published vocabulary by name, or `needs` says that the block cannot run here (network), its arguments are
checked and nothing runs.
"""

import importlib.util
import os
import re
import shlex
import subprocess
import sys
from itertools import groupby
from pathlib import Path

import pytest

from fastbpe.cli.app import make_parser
from fastbpe.published.find import is_name
from helpers.shared_data import DATA

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^( *)```(python|sh)(?: needs ([\w. -]+))?\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)
VOCABULARIES = DATA / "vocab"
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if BLOCK.search(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.relative_to(DOCS).with_suffix("").as_posix())
def test_blocks_of_a_page_run_as_printed(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    if VOCABULARIES.is_dir():  # pages that look for a published vocabulary find it there
        monkeypatch.setenv("FASTBPE_VOCAB_DIR", str(VOCABULARIES))
    text = page.read_text(encoding="utf-8")
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        indent, language, needs, code = block.groups()
        code = re.sub(f"^{indent}", "", code, flags=re.MULTILINE)
        line = text.count("\n", 0, block.start()) + 1  # tracebacks show the line of the page
        if language == "python":
            if not needs or all(importlib.util.find_spec(name) for name in needs.split()):
                exec(compile("\n" * line + code, str(page), "exec"), namespace)
        elif commands := commands_of(code):
            models = [getattr(make_parser().parse_args(command), "model", None) for command in commands]
            names = [name for model in models for name in ([model] if isinstance(model, str) else model or [])]
            if not needs and not any(map(is_name, names)):
                run_in_shell(code, f"{page.name}, line {line}")


def commands_of(code: str) -> list[list[str]]:
    """Return the arguments of each call of `fastbpe` in a shell block."""
    code = re.sub(r"\$\w+", "1", code.replace("\\\n", " "))
    words = [shlex.split(line, comments=True) for line in code.splitlines()]
    parts = [
        [*part]
        for line in words
        for is_end, part in groupby(line, lambda word: word in ("|", "||", "&&", ">"))
        if not is_end
    ]
    return [part[1:] for part in parts if part[0] == "fastbpe"]


def run_in_shell(code: str, where: str) -> None:
    """Run a shell block that uses the command line, with the `fastbpe` of this interpreter; fail as it fails."""
    command = f'fastbpe() {{ "{sys.executable}" -m fastbpe "$@"; }}\nset -e -o pipefail\n{code}'
    environment = {**os.environ, "FASTBPE_OFFLINE": "1", "NO_COLOR": "1"}
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=120, env=environment, check=False
    )
    assert done.returncode == 0, f"{where}\n{done.stdout}{done.stderr}"
