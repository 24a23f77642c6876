"""Words of docstrings, test names and constants, checked by tools/check_words.py."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from helpers.tool_modules import tool

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def check_words() -> ModuleType:
    return tool("check_words")


@pytest.mark.daily
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
        f"    # Return 0 if there\n    # is {'none'}.\n    return x  # one has {'none'} of them\n"
    )
    found = [line.removeprefix(f"{tmp_path}/").partition(": ")[0] for line in check_words.findings(tmp_path)]
    assert found == ["a.py:1", "a.py:3", "a.py:6", "b.pyx:4", "b.pyx:5"]


@pytest.mark.daily
def test_pages_have_plain_prose(check_words: ModuleType) -> None:
    rules = check_words.read_rules(check_words.PROSE.read_text(encoding="utf-8"))
    pages = check_words.pages_in([ROOT / name for name in check_words.PAGES])
    assert not [line for page in pages for line in check_words.prose_findings(page, rules)]


def test_bad_words_and_long_sentences_of_a_page_are_found_by_line(check_words: ModuleType, tmp_path: Path) -> None:
    vocabulary = ["# comment", "[all]", r"\bplease\b = leave it out", f"[{tmp_path}/a]", "twin = x"]
    rules = check_words.read_rules("\n".join([*vocabulary, f"[not {tmp_path}/a]", "face = drop-in"]))
    text = "# Please\n\nIt is `please`, [please](please.md).\n\n```sh\nplease\n```\n\nA twin has\na face.\n\n"
    text += "| please | b |\n|---|---|\n\n"
    long = "word " * (check_words.MAX_SENTENCE + 1)
    found = {}
    for name in ("a.md", "b.md"):
        (tmp_path / name).write_text(f"{text}Short. {long}\n- {long[5:]}\n")
        lines = check_words.prose_findings(tmp_path / name, rules)
        found[name] = [line.removeprefix(f"{tmp_path}/{name}:").partition(": ") for line in lines]
    assert [(line, said.partition(":")[0]) for line, _, said in found["a.md"]] == [
        ("3", "'please'"),
        ("9", "'twin'"),
        ("12", "'please'"),
        ("15", f"{check_words.MAX_SENTENCE + 1} words in a sentence, at most {check_words.MAX_SENTENCE}"),
    ]
    assert [(line, said.partition(":")[0]) for line, _, said in found["b.md"]][1] == ("9", "'face'")


@pytest.mark.daily
def test_errors_and_help_have_plain_prose(check_words: ModuleType) -> None:
    rules = check_words.read_rules(check_words.PROSE.read_text(encoding="utf-8"))
    sources = sorted((ROOT / "src").rglob("*.py"))
    assert not [line for source in sources for line in check_words.message_findings(source, rules)]


def test_bad_words_of_errors_warnings_and_help_are_found_by_line(
    check_words: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_words, "ROOT", tmp_path)
    (tmp_path / "a.py").write_text(
        'x = "please"\n'
        'raise ValueError(f"{x} please")\n'
        'warnings.warn("please " "do", Warning)\n'
        'parser.add_argument("-x", help="please")\n'
    )
    rules = check_words.read_rules(r"\bplease\b = leave it out")
    found = check_words.message_findings(tmp_path / "a.py", rules)
    assert [line.partition(": ")[0] for line in found] == ["a.py:2", "a.py:3", "a.py:4"]


def test_line_of_a_vocabulary_that_is_not_a_rule_is_refused(check_words: ModuleType) -> None:
    with pytest.raises(SystemExit, match="line 2"):
        check_words.read_rules("[all]\nplease")


@pytest.mark.daily
def test_glossary_has_the_frequent_terms_and_no_rare_ones(check_words: ModuleType) -> None:
    assert check_words.check_glossary(check_words.ROOT / "ARCHITECTURE.md") == []


def test_glossary_terms_are_read_from_tables_and_lists(check_words: ModuleType) -> None:
    table = (
        "## Words\n\n| word | meaning |\n| --- | --- |\n| safe cut | a |\n| gap, word | b |\n\n## C\n| no | x |\n"
    )
    assert check_words.glossary_terms(table) == ["safe cut", "gap", "word"]
    listed = "## Glossary\n\n- **Safe cut**: a\n- `gap`: b\n"
    assert check_words.glossary_terms(listed) == ["safe cut", "gap"]
