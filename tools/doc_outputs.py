"""Run the blocks of pages in docs/ and write what they print below them.

    python tools/doc_outputs.py [PAGE...]      # all pages by default

The tests compare each output with the page; this makes the pages right after a change, and `git diff` shows what
changed. An output with "..." that still fits stays as it is. A shell block gets its output only where a block of
text stands below it already. Published vocabularies come from the folder that FASTBPE_DATA names, as in the
tests; blocks whose needs are not there stay.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from doctest import ELLIPSIS, OutputChecker
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "docs" / "extensions"))

from helpers.doc_blocks import DOCS, ENGINES, Block, blocks_of, missing, run_blocks
from helpers.shared_data import DATA

ROOT = DOCS.parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", metavar="PAGE", nargs="*", type=Path, help="pages (default: all of docs/)")
    chosen = parser.parse_args()
    if (DATA / "vocab").is_dir():
        os.environ["FASTBPE_VOCAB_DIR"] = str(DATA / "vocab")
    start = Path.cwd()
    for page in [path.resolve() for path in chosen.pages] or sorted(DOCS.rglob("*.md")):
        needs = dict.fromkeys(["", *(block.needs for block in blocks_of(page) if block.language == "python")])
        printed: dict[int, str] = {}

        def tell(block: Block, text: str, where: str, printed: dict[int, str] = printed) -> None:
            printed[block.line] = text

        for need in needs:
            if ENGINES & {*need.split()} or missing(need):
                continue
            with tempfile.TemporaryDirectory() as folder:
                os.chdir(folder)
                run_blocks(page, need, tell)
                os.chdir(start)
        before = page.read_text(encoding="utf-8")
        after = with_outputs(before, blocks_of(page), printed)
        if after != before:
            page.write_text(after, encoding="utf-8")
            print(page.relative_to(ROOT))
    return 0


def with_outputs(text: str, blocks: list[Block], printed: dict[int, str]) -> str:
    """Return a page with the outputs of its blocks, by line of the block."""
    for block in reversed(blocks):
        new = printed.get(block.line)
        new = None if new is None else "".join(f"{line.rstrip()}\n" for line in new.splitlines())
        if new is None or (block.language == "sh" and block.output is None):
            continue
        if block.output is not None and OutputChecker().check_output(block.output, new, ELLIPSIS):
            continue
        head, rest = text[: block.end], text[block.end :]
        indent = re.search(r"( *)```\Z", head)
        assert indent
        if block.output is not None:
            rest = re.sub(r"\A\n+ *```text\n.*?^ *```$", "", rest, count=1, flags=re.MULTILINE | re.DOTALL)
        shown = "".join(f"{indent[1]}{line}".rstrip() + "\n" for line in ["```text", *new.splitlines(), "```"])
        text = head + (f"\n\n{shown.rstrip()}" if new else "") + rest
    return text


if __name__ == "__main__":
    sys.exit(main())
