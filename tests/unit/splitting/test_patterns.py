"""Named patterns, and the meaning of the `pattern` argument."""

import pytest

from fastbpe.errors import PatternError
from fastbpe.patterns import PATTERNS, resolve_pattern
from fastbpe.splitting import make_splitter

TEXT = "I'LL say it's 1234 — naïveXMLParser...\n\n\tdone//\n  "
PIECES = {
    "deepseek_v3": "I|'LL| say| it|'s| |123|4| —| naïveXMLParser|...\n\n|\tdone|//\n|  ",
    "gpt2": "I|'|LL| say| it|'s| 1234| —| naïveXMLParser|...|\n\n|\t|done|//|\n  ",
    "cl100k": "I|'LL| say| it|'s| |123|4| —| naïveXMLParser|...\n\n|\tdone|//\n|  ",
    "o200k": "I'LL| say| it's| |123|4| —| naïve|XMLParser|...\n\n|\tdone|//\n|  ",
    "llama3": "I|'LL| say| it|'s| |123|4| —| naïveXMLParser|...\n\n|\tdone|//\n|  ",
    "llama4": "I'LL| say| it's| |123|4| —| naïve|XMLParser|...\n\n|\tdone|//\n|  ",
    "qwen2": "I|'LL| say| it|'s| |1|2|3|4| —| naïveXMLParser|...\n\n|\tdone|//\n|  ",
    "tekken": "I|'LL| say| it|'s| |1|2|3|4| —| naïve|XMLParser|...\n\n|\tdone|//\n|  ",
}


@pytest.mark.parametrize("name", PIECES)
def test_named_pattern_splits_the_example(name):
    found = make_splitter(PATTERNS[name]).pieces(TEXT)
    assert [TEXT.encode()[start:end].decode() for start, end in found] == PIECES[name].split("|")


def test_every_named_pattern_has_an_example():
    assert set(PATTERNS) == {*PIECES, "none"}


def test_table_of_patterns_is_read_only():
    with pytest.raises(TypeError):
        PATTERNS["gpt2"] = "a"


@pytest.mark.parametrize("name", PATTERNS)
def test_pattern_name_resolves_to_its_pattern(name):
    assert resolve_pattern(name) == (name, PATTERNS[name])


def test_text_of_a_named_pattern_resolves_to_its_name():
    assert resolve_pattern(PATTERNS["cl100k"]) == ("cl100k", PATTERNS["cl100k"])
    assert resolve_pattern(PATTERNS["llama4"])[0] == "o200k"  # the same text: the first name wins


def test_pattern_none_resolves_to_no_splitting():
    assert resolve_pattern(None) == ("none", None)


@pytest.mark.parametrize("regex", [r"\w+|\W+", "the", "(?:gpt9)", "a|b", "a+", "12", "_", "Ωmega", "a-z"])
def test_regex_resolves_to_itself_without_a_name(regex):
    assert resolve_pattern(regex) == (None, regex)


@pytest.mark.parametrize(
    ("mistake", "meant"),
    [
        ("cl100k_base", "cl100k"),
        ("o200k_harmony", "o200k"),
        ("r50k_base", "gpt2"),
        ("GPT-2", "gpt2"),
        ("gpt4", "cl100k"),
        ("lama3", "llama3"),
        ("Llama-3", "llama3"),
        ("teken", "tekken"),
        ("qwen", "qwen2"),
    ],
)
def test_misspelt_pattern_name_error_suggests_the_nearest(mistake, meant):
    with pytest.raises(PatternError, match=rf"named '{mistake}', did you mean '{meant}'\? known are gpt2, cl100k"):
        resolve_pattern(mistake)


def test_unknown_pattern_name_error_lists_the_known_names():
    with pytest.raises(PatternError, match="named 'deepmind_9'; known are gpt2"):
        resolve_pattern("deepmind_9")
