"""The Python and shell blocks of the pages in docs/, and how to run them."""

from __future__ import annotations

import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import sys
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from fastbpe.cli.app import make_parser
from fastbpe.published.find import is_name

DOCS = Path(__file__).resolve().parents[2] / "docs"
ENGINES = {"pyspark", "ray"}  # tests/cluster starts them
_BLOCK = re.compile(r"^( *)```(python|sh)(?: needs ([\w. -]+))?\n(.*?)^\1```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A block of a page.

    language: "python" or "sh".
    needs: names of packages and commands that the block cannot do without, as they stand after the language.
    line: number of its first line in the page.
    code: its lines, without indent.
    """

    language: str
    needs: str
    line: int
    code: str


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for block in _BLOCK.finditer(text):
        indent, language, needs, code = block.groups()
        line = text.count("\n", 0, block.start()) + 1
        found.append(Block(language, needs or "", line, re.sub(f"^{indent}", "", code, flags=re.MULTILINE)))
    return found


def missing(needs: str) -> str:
    """Return the first package or command of a block's needs that is not here; "": all are."""
    return next((name for name in needs.split() if not (importlib.util.find_spec(name) or shutil.which(name))), "")


def run_blocks(page: Path, needs: str = "") -> None:
    """Run the blocks of a page in order and in one namespace.

    A shell block runs too; if it takes a published vocabulary by name, or has needs, the arguments of `fastbpe`
    are checked and nothing runs.

    Args:
        page: the page.
        needs: names of packages and commands that are there; Python blocks that need others do not run.
    """
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks_of(page):
        if block.language == "python":
            if {*block.needs.split()} <= {*needs.split()}:  # tracebacks show the line of the page
                exec(compile("\n" * block.line + block.code, str(page), "exec"), namespace)
        else:
            commands = [make_parser().parse_args(command) for command in commands_of(block.code)]
            models = [getattr(command, "model", None) for command in commands]
            names = [name for model in models for name in ([model] if isinstance(model, str) else model or [])]
            if not block.needs and not any(map(is_name, names)):
                _run_in_shell(block.code, f"{page.name}, line {block.line}")


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


def _run_in_shell(code: str, where: str) -> None:
    """Run a shell block with this interpreter and its `fastbpe`; fail as it fails."""
    called = {"python": "", "fastbpe": "-m fastbpe"}
    functions = [f'{name}() {{ "{sys.executable}" {how} "$@"; }}' for name, how in called.items()]
    command = "\n".join([*functions, "set -e -o pipefail", code])
    environment = {**os.environ, "FASTBPE_OFFLINE": "1", "NO_COLOR": "1"}
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=120, env=environment, check=False
    )
    assert done.returncode == 0, f"{where}\n{done.stdout}{done.stderr}"
