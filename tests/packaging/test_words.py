"""Words of docstrings, test names and constants, checked by tools/check_words.py."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def check_words() -> ModuleType:
    spec = importlib.util.spec_from_file_location("check_words", ROOT / "tools" / "check_words.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks", "tools"])
def test_folder_has_no_bad_words(check_words: ModuleType, folder: str) -> None:
    assert not check_words.findings(ROOT / folder)


def test_bad_words_are_found_by_line(check_words: ModuleType, tmp_path: Path) -> None:
    limit = "MOST" + "_BYTES"
    (tmp_path / "a.py").write_text(
        f'"""Whether it is so."""\n\n{limit} = 5\n\n\ndef test_{"what"}_is() -> None: ...\n'
    )
    (tmp_path / "b.pyx").write_text(
        '"""Cells."""\n\ncdef int f(int x) noexcept:  # a comment\n    """How it is done."""\n'
    )
    found = [line.removeprefix(f"{tmp_path}/").partition(": ")[0] for line in check_words.findings(tmp_path)]
    assert found == ["a.py:1", "a.py:3", "a.py:6", "b.pyx:4"]


def test_glossary_terms_are_read_from_tables_and_lists(check_words: ModuleType) -> None:
    table = (
        "## Words\n\n| word | meaning |\n| --- | --- |\n| safe cut | a |\n| gap, word | b |\n\n## C\n| no | x |\n"
    )
    assert check_words.glossary_terms(table) == ["safe cut", "gap", "word"]
    listed = "## Glossary\n\n- **Safe cut**: a\n- `gap`: b\n"
    assert check_words.glossary_terms(listed) == ["safe cut", "gap"]
