"""The Python and shell blocks of the pages in docs/, how to run them, and the output that stands below them.

A block of ```text right below a block of ```python or ```sh is the output of that block; "..." in it stands for
any characters, as in doctest. A Python block that prints must show its output.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from doctest import ELLIPSIS, OutputChecker
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from token_lines import tokens_of

import fastbpe
from fastbpe.cli.command_line import make_parser
from fastbpe.published.find import is_name

DOCS = Path(__file__).resolve().parents[2] / "docs"
ENGINES = {"pyspark", "ray"}  # tests/cluster starts them
_BLOCK = re.compile(
    r"^( *)```(python|sh)(?: needs ([\w. -]+))?\n(.*?)^\1```$(?:\n+\1```text\n(.*?)^\1```$)?",
    re.MULTILINE | re.DOTALL,
)


class Block(NamedTuple):
    """A block of a page.

    language: "python" or "sh".
    needs: names of packages, commands and published vocabularies that the block cannot do without, as they stand
        after the language.
    line: number of its first line in the page.
    code: its lines, without indent.
    output: the lines of the block of text right below, without indent; None if there is no block.
    end: offset in the page after the block of code.
    """

    language: str
    needs: str
    line: int
    code: str
    output: str | None
    end: int


def blocks_of(page: Path) -> list[Block]:
    text = page.read_text(encoding="utf-8")
    found = []
    for block in _BLOCK.finditer(text):
        indent, language, needs, *parts = block.groups()
        line = text.count("\n", 0, block.start()) + 1
        code, output = (part and re.sub(f"^{indent}", "", part, flags=re.MULTILINE) for part in parts)
        end = text.index(f"\n{indent}```", block.start(4) - 1) + len(indent) + 4
        found.append(Block(language, needs or "", line, code, output, end))
    return found


def token_rows(page: Path) -> list[tuple[str, list[bytes]]]:
    """List the rows of a page's pictures of tokens: the name of the vocabulary, and the tokens."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```\{tokens\}\n(?::labels:[^\n]*\n)?(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    rows = (line.partition(": ") for block in blocks for line in block.splitlines())
    return [(name, tokens_of(text)) for name, _, text in rows]


def missing(needs: str) -> str:
    """Return the first package, command or vocabulary of a block's needs that is not here; "": all are."""
    return next((name for name in needs.split() if not _is_here(name)), "")


def _is_here(name: str) -> bool:
    if is_name(name):
        with contextlib.suppress(FileNotFoundError):
            return bool(fastbpe.load(name))
    return bool(importlib.util.find_spec(name) or shutil.which(name))


def check_output(block: Block, printed: str, where: str) -> None:
    """Fail if a block printed something else than the page shows, or if a Python block's output is not shown."""
    if block.output is not None:
        checker = OutputChecker()
        printed = "".join(f"{line.rstrip()}\n" for line in printed.splitlines())  # as pages are kept
        same = checker.check_output(block.output, printed, ELLIPSIS)
        assert same, f"{where} (python tools/doc_outputs.py)\n--- shown\n{block.output}--- printed\n{printed}"
    elif block.language == "python":
        assert not printed, f"{where}: the page does not show what the block prints:\n{printed}"


def runs_with(block: Block, needs: str) -> bool:
    """Tell whether a block needs no more than these names."""
    return {*block.needs.split()} <= {*needs.split()}


def run_blocks(page: Path, needs: str = "", tell: Callable[[Block, str, str], None] = check_output) -> None:
    """Run the blocks of a page in order and in one namespace.

    A shell block runs too; if it takes a published vocabulary by name, or has needs, the arguments of `fastbpe`
    are checked and nothing runs.

    Args:
        page: the page.
        needs: names of packages, commands and vocabularies that are there; Python blocks that need others do not
            run. The page ends with the last block that has some: the rest runs as it does without them.
        tell: function that gets each block that ran, its output, and its place.
    """
    namespace: dict[str, object] = {"__name__": "__main__"}
    blocks = blocks_of(page)
    while needs and not (blocks[-1].language == "python" and blocks[-1].needs and runs_with(blocks[-1], needs)):
        blocks = blocks[:-1]
    for block in blocks:
        where = f"{page.name}, line {block.line}"
        if block.language == "python":
            if runs_with(block, needs):  # tracebacks show the line of the page
                printed = io.StringIO()
                with contextlib.redirect_stdout(printed):
                    exec(compile("\n" * block.line + block.code, str(page), "exec"), namespace)
                tell(block, printed.getvalue(), where)
        else:
            commands = [make_parser().parse_args(command) for command in commands_of(block.code)]
            models = [getattr(command, "model", None) for command in commands]
            names = [name for model in models for name in ([model] if isinstance(model, str) else model or [])]
            if not block.needs and not any(map(is_name, names)):
                tell(block, _run_in_shell(block.code, where), where)


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


def _run_in_shell(code: str, where: str) -> str:
    """Run a shell block with this interpreter and its `fastbpe`, and return its output; fail as it fails."""
    called = {"python": "", "fastbpe": "-m fastbpe"}
    functions = [f'{name}() {{ "{sys.executable}" {how} "$@"; }}' for name, how in called.items()]
    command = "\n".join([*functions, "set -e -o pipefail", code])
    environment = {**os.environ, "FASTBPE_OFFLINE": "1", "NO_COLOR": "1"}
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, timeout=120, env=environment, check=False
    )
    assert done.returncode == 0, f"{where}\n{done.stdout}{done.stderr}"
    return done.stdout
