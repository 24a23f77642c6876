"""The Python blocks of the pages in docs/ run as printed, those of one page in one namespace.

A block whose fence is followed by packages, as in ```python needs torch, is skipped if one of them is missing.
"""

import importlib.util
import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"
BLOCK = re.compile(r"^```python(?: needs ([\w ]+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGES = [path for path in sorted(DOCS.rglob("*.md")) if BLOCK.search(path.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_blocks_of_a_page_run_as_printed(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in BLOCK.finditer(text):
        needs, code = block.groups()
        if needs and not all(importlib.util.find_spec(name) for name in needs.split()):
            continue
        line = text.count("\n", 0, block.start()) + 1  # tracebacks show the line of the page
        exec(compile("\n" * line + code, str(page), "exec"), namespace)
