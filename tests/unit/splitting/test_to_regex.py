"""Printing a parsed pattern for the regex package, and patterns that compile_regex accepts or refuses."""

import pytest
import regex
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.errors import PatternError
from fastbpe.patterns import PATTERNS
from fastbpe.splitting.charset import ANY, CharSet
from fastbpe.splitting.nodes import Chars
from fastbpe.splitting.syntax import MAX_NESTING, parse
from fastbpe.splitting.to_regex import compile_regex, to_regex
from helpers.bounds import within
from helpers.shared_data import corpus
from helpers.split_oracles import find_pieces

# These leave text between their matches.
REGEXES = [
    text for name, text in PATTERNS.items() if isinstance(text, str) and name not in ("bloom", "superbpe_lines")
]


@pytest.mark.daily
@pytest.mark.sample(5)
@pytest.mark.parametrize(
    "characters",
    [
        *(CharSet.category(name) for name in ("L", "Lu", "Ll", "M", "N", "P", "S", "Z", "C", "Cn", "Cc")),
        CharSet.white_space(),
        CharSet.word(),
        CharSet.of("[]^-\\&~|:#a \n"),
        CharSet.of("k").case_closure(),
        CharSet.from_ranges([(0x80, 0x10FFFF)]),
        CharSet.of("\x00\x7f\x80\uffff\U00010000\U0010ffff"),
        ANY,
        CharSet(()),
    ],
    ids=repr,
)
def test_printed_set_matches_its_members_and_nothing_else(characters):
    for members in (characters, ~characters):
        compiled = regex.compile(to_regex(Chars(members)), regex.VERSION1)
        assert "".join(compiled.findall("".join(ANY))) == "".join(members)


@given(st.lists(st.tuples(st.integers(0, 400), st.integers(0, 3)), max_size=40))
def test_printed_random_set_matches_its_members(starts):
    members = CharSet.from_ranges((low, low + extent) for low, extent in starts)
    text = "".join(map(chr, range(500)))
    assert "".join(regex.findall(to_regex(Chars(members)), text, regex.VERSION1)) == "".join(members)


def test_printed_pattern_uses_no_unicode_classes_of_the_regex_package():
    for pattern in [*REGEXES, r"\b\w(?i:k)[[:alpha:]]\d\s\h\R\p{Greek}(?m)^$"]:
        printed = to_regex(parse(pattern))
        for escape in (r"\p", r"\P", r"\s", r"\S", r"\d", r"\w", r"\b", "(?i", "(?m"):
            assert escape not in printed


@pytest.mark.parametrize(
    ("pattern", "text", "pieces"),
    [
        ("a|ab|c", "abc", ["a", "c"]),
        ("(?:a|ab)(?:c|bcd)", "abcd", ["abcd"]),
        ("a{1,2}+a", "aaaaa", ["aaa"]),
        ("a+?b?", "aab", ["a", "ab"]),
        ("(?>a|ab)c|b", "abcac", ["b", "ac"]),
        ("(?:ab){2}", "ababab", ["abab"]),
        ("x(?:a+)+y", "xaay", ["xaay"]),
        ("(?:a|b)*c", "abcab", ["abc"]),
        (r"(\w)\1", "aabbc", ["aa", "bb"]),
        (r"(a)|(b)", "ab", ["a", "b"]),
        (r"(?<q>['\"]).+?(?P=q)", "'a' \"b'\"", ["'a'", '"b\'"']),
        (r"a$", "a\na", ["a"]),
        (r"a\Z", "aa\n\n", ["a"]),
        (r"a\z", "a\n", []),
        (r"(?m)^a|b$", "a\rab\nab", ["a", "b", "a", "b"]),
        (r".+", "a\rb\nc\x85\u2028", ["a\rb", "c\x85\u2028"]),
        (r"\ba", "a ba \u200ca a", ["a", "a"]),
        (r"\Ba", "a ba", ["a"]),
        (r"\<\w|\w\>", "ab cde", ["a", "b", "c", "e"]),
        ("[^a]|[^b]", "ab", ["a", "b"]),
        (r"\R", "\r\n\n\r\x85", ["\r\n", "\n", "\r", "\x85"]),
        (r"(?<=a|bc)x", "ax bcx bx", ["x", "x"]),
        (r"(?<!a)x", "ax bx", ["x"]),
        (r"(?i:'s)", "'s'S'ſ", ["'s", "'S", "'ſ"]),
        (r"[^\x00-\x{10FFFF}]|b", "ab", ["b"]),
        (r"\x{20}\-\#\[\]", " -#[]", [" -#[]"]),
    ],
)
def test_compiled_pattern_finds_the_pieces(pattern, text, pieces):
    assert find_pieces(compile_regex(pattern), text) == pieces


def test_only_groups_with_back_references_are_captured():
    assert compile_regex("(a)(b)").groups == 0
    assert compile_regex(r"(a)(b)\2").groups == 1


@pytest.mark.parametrize("pattern", ["", "a*", "a|", r"\b", "(?=a)", r"\s*(?!\S)", "^", "(?=a)(?=b)"])
def test_pattern_that_can_match_empty_is_refused(pattern):
    with pytest.raises(PatternError, match="can match the empty string"):
        compile_regex(pattern)


def test_parser_error_is_passed_on():
    with pytest.raises(PatternError, match=r"position 1 .*expected ']'"):
        compile_regex("a[b")


def test_long_pattern_is_shortened_in_errors():
    with pytest.raises(PatternError) as raised:
        compile_regex("a*" * 1000)
    assert len(str(raised.value)) < 250


def test_compiled_patterns_are_cached():
    assert compile_regex("a+") is compile_regex("a+")


@pytest.mark.daily
@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "pattern",
    [
        r"\p{L}" * 70,
        "[" + "".join(map(chr, range(0x4E00, 0x4E00 + 60_000 // 2, 2))) + "]",
        "|".join(f"{number}" for number in range(10_000)),
        "(" * MAX_NESTING + "a+" + ")" * MAX_NESTING,
        "(" * 10 + "a+" + ")+" * 10,
        "(?:a{100}){10000}",
    ],
    ids=lambda pattern: pattern[:12],
)
def test_large_patterns_compile_within_seconds(pattern):
    with within(5):
        compile_regex(pattern)


@pytest.mark.parametrize(
    "pattern", ["(" * MAX_NESTING + "a+" + ")+" * MAX_NESTING, "((((a{10000}){10000}){10000}){10000})"]
)
def test_huge_nested_repetitions_are_refused(pattern):
    with pytest.raises(PatternError, match=r"more than 20,000 times in all"):
        compile_regex(pattern)


@pytest.mark.daily
@pytest.mark.parametrize("name", ["english.txt", "multilingual.txt", "json_yaml.txt"])
def test_pieces_of_a_real_text_cover_it(name):
    text = corpus(name, 300_000)
    for pattern in REGEXES:
        assert "".join(find_pieces(compile_regex(pattern), text)) == text
