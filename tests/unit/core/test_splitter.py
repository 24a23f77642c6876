"""Splitting text into pieces that cover all of it, also where the pattern does not match."""

from functools import lru_cache

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from fastbpe import PATTERNS, PatternError, Tokenizer
from fastbpe._core.split.splitter import Splitter
from fastbpe.splitting import make_splitter
from helpers.sampling import n_rounds
from helpers.shared_data import BYTES
from helpers.text_strategies import as_utf8, texts

splitter_of = lru_cache(make_splitter)


def pieces(pattern: str | None, text: str) -> list[str]:
    data, at, out = as_utf8(text), 0, []
    for end in splitter_of(pattern).ends(text):
        out.append(data[at:end].decode())
        at = end
    assert at == len(data)
    return out


def test_without_a_pattern_the_text_is_one_piece() -> None:
    assert pieces(None, "two words\n") == ["two words\n"]
    assert pieces(None, "") == []
    assert Splitter().ends("é") == [2]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("a+", "aabaa", ["aa", "b", "aa"]),
        ("a+", "xxaayy", ["xx", "aa", "yy"]),
        ("a+", "bcd", ["bcd"]),
        ("é", "日é本é語", ["日", "é", "本", "é", "語"]),
        (r"\w+", " one  two ", [" ", "one", "  ", "two", " "]),
        (r"(a)(b)?", "abacab", ["ab", "a", "c", "ab"]),
        (r"(a|b)+c", "abcabd", ["abc", "abd"]),
        (r"(?:(x)|(y))z", "xzyz", ["xz", "yz"]),
        (r"(\w)\1", "aabbcd", ["aa", "bb", "cd"]),
        (r"(?P<first>a)b", "abab", ["ab", "ab"]),
        (r"\p{N}{1,2}", "12345", ["12", "34", "5"]),
        (r"(?i)ab", "aBAb", ["aB", "Ab"]),
        (r"😀|\s", "a😀b c", ["a", "😀", "b", " ", "c"]),
        (r"a(?=b)", "abaab", ["a", "ba", "a", "b"]),
        (r"(?<=a)b", "abb", ["a", "b", "b"]),
    ],
)
def test_unmatched_text_is_a_piece_and_groups_do_not_split(pattern: str, text: str, expected: list[str]) -> None:
    assert pieces(pattern, text) == expected


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("gpt2", "Don't stop  now12 ...\n", ["Don", "'t", " stop", " ", " now", "12", " ...", "\n"]),
        ("cl100k", "Don'T 12345\r\n\r\n  x", ["Don", "'T", " ", "123", "45", "\r\n\r\n", " ", " x"]),
        ("o200k", "camelCase DON'T a//\n/b", ["camel", "Case", " DON'T", " a", "//\n/", "b"]),
        ("llama3", "x\n\n\n y", ["x", "\n\n\n", " y"]),
        ("qwen2", "1234", ["1", "2", "3", "4"]),
    ],
)
def test_named_patterns_split_as_in_the_examples(name: str, text: str, expected: list[str]) -> None:
    assert pieces(name, text) == expected if name not in PATTERNS else pieces(PATTERNS[name], text) == expected


def test_pattern_keeps_merges_within_pieces() -> None:
    tokenizer = Tokenizer.from_ranks(
        {**BYTES, b"12": 256, b"34": 257, b"23": 258, b"1234": 259}, pattern=r"\p{N}{1,2}"
    )
    assert tokenizer.encode("1234") == [256, 257]


@pytest.mark.daily
@pytest.mark.sample(2)
@pytest.mark.parametrize("name", PATTERNS)
@settings(max_examples=150)
@given(text=texts)
def test_pieces_cover_the_whole_text(name: str, text: str) -> None:
    found = pieces(PATTERNS[name], text)
    assert "".join(found).encode() == as_utf8(text)
    assert all(found)


PATTERN_PARTS = st.sampled_from(["a", "b+", "(c|d)", r"\s", "é{2}", "(?:ab)?x", "[a-c]", "(?=a)a", ".", "日|😀"])


@settings(max_examples=n_rounds(100, 300))
@given(st.lists(PATTERN_PARTS, min_size=1, max_size=3), st.text("abcdxé日😀 \n", max_size=30), st.booleans())
def test_pieces_are_matches_and_the_text_between_them(parts: list[str], text: str, either: bool) -> None:
    pattern = ("|" if either else "").join(parts)
    expected, at = [], 0
    for match in regex.finditer(pattern, text):
        expected += [text[at : match.start()], match.group()]
        at = match.end()
    expected.append(text[at:])
    assert pieces(pattern, text) == [piece for piece in expected if piece]


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("(", "position 0"),
        ("a)", "position 1"),
        ("[a", "position"),
        ("a{2,1}", "position"),
        ("*a", "position"),
        (r"\p{Nonsense}", "Nonsense"),
        ("a\\", "position"),
        ("", "empty string"),
        ("a*", "empty string"),
        ("a|", "empty string"),
        ("(?=a)", "empty string"),
        (r"\b", "empty string"),
        ("cl100", "no split pattern named 'cl100', did you mean 'cl100k'"),
    ],
)
def test_invalid_pattern_raises_pattern_error(pattern: str, message: str) -> None:
    with pytest.raises(PatternError, match=message):
        Tokenizer.from_ranks(BYTES, pattern=pattern)


def test_long_pattern_of_letters_is_a_regex_and_not_a_misspelt_name() -> None:
    letters = "gpt" * 2_000
    assert Tokenizer.from_ranks(BYTES, pattern=letters).pattern == letters
