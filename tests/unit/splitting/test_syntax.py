"""The pattern parser: the result of every construct, and the error of everything that it refuses."""

import contextlib
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe.errors import PatternError
from fastbpe.splitting.charset import ANY, CharSet
from fastbpe.splitting.nodes import (
    Alternation,
    Anchor,
    AnchorKind,
    Atomic,
    Backreference,
    BoundaryKind,
    Chars,
    Concat,
    Group,
    Look,
    Mode,
    Repeat,
    WordBoundary,
    can_match,
    can_match_empty,
)
from fastbpe.splitting.syntax import MAX_NESTING, parse
from helpers.bounds import within


def chars(text):
    return Chars(CharSet.of(text))


@pytest.mark.parametrize(
    ("pattern", "members"),
    [
        ("[abc]", "abc"),
        ("[a-c]", "abc"),
        ("[]a]", "]a"),
        ("[-a]", "-a"),
        ("[a-]", "-a"),
        ("[--a]", "-a"),
        ("[a-b-d]", "ab-d"),
        ("[a&b~]", "a&b~"),
        (r"[a\]\-\\]", "a]-\\"),
        ("[a[bc]]", "abc"),
        ("[a-e&&[^bc]]", "ade"),
        ("[a-e--b-d]", "ae"),
        ("[a-c~~b-d]", "ad"),
        ("[a-cx--bx&&ab]", "a"),
        ("[a&&b--c~~d]", "d"),
        ("[%--]", "%"),
        ("[a~~~b]", "a~b"),
        (r"[\x41-\x{43}]", "ABC"),
        (r"[\u0041\U00000042\u{43}]", "ABC"),
        (r"[\a\b\e\f\n\r\t\v]", "\a\b\x1b\f\n\r\t\v"),
        ("[[:digit:]a]", "0123456789a"),
        ("[[:^print:]&&[[:ascii:]]]", "".join(map(chr, [*range(0x20), 0x7F]))),
        ("[:alpha:]", ":alph"),
        ("(?i:k)", "kK\u212a"),
        ("(?i:[j-k])", "jJkK\u212a"),
        ("(?i)[a-c--[B]]", "aAcC"),
        (r"\h", "0123456789abcdefABCDEF"),
        (r"\.", "."),
        (r"\é", "é"),
        ("}", "}"),
    ],
)
def test_character_set_is_parsed(pattern, members):
    assert parse(pattern) == chars(members)


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        (r"\p{L}", CharSet.category("L")),
        (r"\pL", CharSet.category("L")),
        (r"\PL", ~CharSet.category("L")),
        (r"\p{^Lu}", ~CharSet.category("Lu")),
        (r"\P{^Lu}", CharSet.category("Lu")),
        (r"[^\s\p{L}]", ~(CharSet.white_space() | CharSet.category("L"))),
        (r"[\p{L}--\p{Lu}]", CharSet.category("L") - CharSet.category("Lu")),
        (r"\d", CharSet.digit()),
        (r"\D", ~CharSet.digit()),
        (r"\w", CharSet.word()),
        (r"\W", ~CharSet.word()),
        (r"\S", ~CharSet.white_space()),
        (r"[^\S]", CharSet.white_space()),
        (r"\H", ~CharSet.of("0123456789abcdefABCDEF")),
        ("[-]", CharSet.of("-")),
        ("[[:^alpha:]]", ~CharSet.from_ranges([(65, 90), (97, 122)])),
        ("(?i)[[:upper:]]", CharSet.from_ranges([(65, 90)]).case_closure()),
        (r"(?i)\P{Lu}", ~CharSet.category("Lu").case_closure()),
        ("(?i)[^k]", ~CharSet.of("kK\u212a")),
        (".", ~CharSet.of("\n")),
        (r"\N", ~CharSet.of("\n")),
        ("(?s:.)", ANY),
        (r"\O", ANY),
        (r"[^\x00-\x{10FFFF}]", CharSet(())),
    ],
)
def test_character_class_is_parsed(pattern, expected):
    assert parse(pattern) == Chars(expected)


@pytest.mark.parametrize(
    ("pattern", "bounds"),
    [
        ("a*", (0, None)),
        ("a+", (1, None)),
        ("a?", (0, 1)),
        ("a{3}", (3, 3)),
        ("a{3,}", (3, None)),
        ("a{,3}", (0, 3)),
        ("a{2,3}", (2, 3)),
        ("a{,}", (0, None)),
    ],
)
@pytest.mark.parametrize(("sign", "mode"), [("", Mode.GREEDY), ("?", Mode.LAZY), ("+", Mode.POSSESSIVE)])
def test_quantifier_is_parsed(pattern, bounds, sign, mode):
    assert parse(pattern + sign) == Repeat(chars("a"), *bounds, mode)


@pytest.mark.parametrize("text", ["{", "a{", "a{2", "a{x}", "a{}", "a{1, 2}"])
def test_brace_without_a_count_is_a_character(text):
    parts = tuple(chars(character) for character in text)
    assert parse(text) == (Concat(parts) if len(parts) > 1 else parts[0])


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("", Concat(())),
        ("a|", Alternation((chars("a"), Concat(())))),
        ("ab|c", Alternation((Concat((chars("a"), chars("b"))), chars("c")))),
        ("(?:a)", chars("a")),
        ("(a)(?<n>b)", Concat((Group(chars("a"), 1, None), Group(chars("b"), 2, "n")))),
        ("(?P<n>b)", Group(chars("b"), 1, "n")),
        ("(?>a)", Atomic(chars("a"))),
        ("(?=a)", Look(chars("a"), behind=False, negative=False)),
        ("(?!a)", Look(chars("a"), behind=False, negative=True)),
        ("(?<=a)", Look(chars("a"), behind=True, negative=False)),
        ("(?<!a)", Look(chars("a"), behind=True, negative=True)),
        ("^", Anchor(AnchorKind.TEXT_START)),
        (r"\A", Anchor(AnchorKind.TEXT_START)),
        ("$", Anchor(AnchorKind.TEXT_END)),
        (r"\z", Anchor(AnchorKind.TEXT_END)),
        (r"\Z", Anchor(AnchorKind.LAST_LINE_END)),
        ("(?m)^", Anchor(AnchorKind.LINE_START)),
        ("(?m:$)", Anchor(AnchorKind.LINE_END)),
        (r"\b", WordBoundary(BoundaryKind.EITHER)),
        (r"\B", WordBoundary(BoundaryKind.NEITHER)),
        (r"\<", WordBoundary(BoundaryKind.START)),
        (r"\b{start}", WordBoundary(BoundaryKind.START)),
        (r"\b{end}", WordBoundary(BoundaryKind.END)),
        (r"(a)\1", Concat((Group(chars("a"), 1, None), Backreference(1)))),
        (r"(?<n>a)\k<n>", Concat((Group(chars("a"), 1, "n"), Backreference(1)))),
        (r"(?<n>a)(?P=n)", Concat((Group(chars("a"), 1, "n"), Backreference(1)))),
        ("a(?#b)c", Concat((chars("a"), chars("c")))),
    ],
)
def test_groups_anchors_and_alternatives_are_parsed(pattern, expected):
    assert parse(pattern) == expected


@pytest.mark.parametrize(
    ("pattern", "same_as"),
    [
        ("a(?i)b|c", "a[bB]|[cC]"),
        ("(?:a(?i)b)c", "a[bB]c"),
        ("(?:(?i)a)b", "[aA]b"),
        ("(?i)a(?-i)b", "[aA]b"),
        ("(?i:a(?-i:b)c)", "[aA]b[cC]"),
        ("((?i:a))b", "([aA])b"),
        ("((?:(?i)a))b", "([aA])b"),
        ("(?i-i)a", "a"),
        ("(?s-is)a.", "a."),
        ("(?is:a.)", r"[aA]\O"),
        ("(?u)a", "a"),
        ("(?x) a b # comment\n c", "abc"),
        (r"(?x) a\ [ #] +", r"a\ [ #]+"),
        ("(?x: a )b c", "ab c"),
        (r"(?i:'s|'t|'re)", "'[sSſ]|'[tT]|'[rR][eE]"),
        (r"(?i)\x6b", "[kK\u212a]"),
    ],
)
def test_flags_apply_to_their_scope(pattern, same_as):
    assert _flat(parse(pattern)) == _flat(parse(same_as))


def _flat(node):
    """Move the parts of a nested concatenation up, so that `(?:ab)c` equals `abc`."""
    if isinstance(node, Concat):
        parts = []
        for part in map(_flat, node.parts):
            parts.extend(part.parts if isinstance(part, Concat) else [part])
        return Concat(tuple(parts))
    if isinstance(node, Alternation):
        return Alternation(tuple(map(_flat, node.branches)))
    return node


@pytest.mark.parametrize(
    ("pattern", "position", "says"),
    [
        ("ab)", 2, r"a ')' without its '('"),
        ("a(b", 1, "expected ')'"),
        ("(?:a", 0, "expected ')'"),
        ("x[ab", 1, "expected ']'"),
        ("[[a]", 0, "expected ']'"),
        ("[]", 0, "expected ']'"),
        ("[b-a]", 1, "runs backwards"),
        (r"[a-\d]", 3, "one character at each end"),
        (r"[\d-a]", 4, "one character at each end"),
        ("[a-[b]]", 3, "one character at each end"),
        ("[[:foo:]]", 1, "fastbpe knows alnum"),
        ("*a", 0, "could repeat"),
        ("a|+", 2, "could repeat"),
        (r"\b{x", 2, "expected {start} or {end}"),
        (r"\B{x", 2, r"a brace after \B"),
        ("a((?i)b)c", 1, "inside this kind of group are ambiguous"),
        ("(?=(?i)b)b", 0, "inside this kind of group are ambiguous"),
        ("({2})", 1, "could repeat"),
        ("a**", 2, "quantifier follows a quantifier"),
        ("a{2}{3}", 4, "quantifier follows a quantifier"),
        ("a++?", 3, "quantifier follows a quantifier"),
        ("(?=a)+", 5, "consumes nothing"),
        ("^*", 1, "consumes nothing"),
        (r"\<{2}", 2, "consumes nothing"),
        ("a{3,2}", 1, "at least 3 but at most 2"),
        ("a{1000000}", 1, "above 10,000"),
        ("a{" + "9" * 5000 + "}", 1, "above 10,000"),
        ("(?x)a{ 2 }", 5, "with the flag x"),
        ("a\\", 1, "nothing after it"),
        (r"\q", 0, r"\q is not an escape here"),
        (r"\p{Is_C}", 0, "Is_C"),  # short for ISO_Comment, not the class C
        (r"[\A]", 1, r"\A is not an escape here"),
        (r"\0", 0, r"write \x00"),
        (r"\x4", 0, "expected 2 hex digits"),
        (r"\u{}", 0, "expected 4 hex digits"),
        (r"\x{4", 0, "expected '}'"),
        (r"\uD800", 0, "U+D800 is not a character"),
        (r"\x{110000}", 0, "U+110000 is not a character"),
        ("a\ud800", 1, "lone surrogate"),
        (r"a\p{Klingon}", 1, "fastbpe knows no property 'Klingon'"),
        (r"\p", 0, r"after \p"),
        (r"\p{L", 0, "expected '}'"),
        (r"\1", 0, "no group 1"),
        (r"(a\1)", 2, "no group 1"),
        (r"(a)\99999999", 3, "no group 99999999"),
        (r"\k<n>", 0, "no group 'n'"),
        (r"\kn", 0, "expected <name>"),
        (r"(?i)(a)\1", 7, "ignores case"),
        ("(?<1>a)", 0, "cannot name a group"),
        ("(?<n>a)(?<n>b)", 7, "each name once"),
        ("(?<n", 0, "expected '>'"),
        ("(?|a)", 0, "does not support this kind of group"),
        ("(?)", 0, "does not support this kind of group"),
        ("(?U)a", 0, "does not support this kind of group"),
        ("(?-u)a", 0, "does not support this kind of group"),
        ("(?(1)a|b)", 0, "does not support this kind of group"),
        ("(?~a)", 0, "does not support this kind of group"),
        ("(*FAIL)", 0, "not supported"),
        ("(?#a", 0, "the comment is not closed"),
        (r"a\Kb", 1, r"\K is not an escape here; use a look-behind"),
        (r"\Ga", 0, r"\G is not an escape here; leave it out"),
        (r"a\x4g", 1, "hex digits"),
        (r"a\x{000000041}", 1, "hex digits"),
    ],
)
def test_error_names_the_position_and_the_expectation(pattern, position, says):
    with pytest.raises(PatternError) as raised:
        parse(pattern)
    assert f"position {position} (near {pattern[max(0, position - 12) : position + 12]!r})" in str(raised.value)
    assert says in str(raised.value)
    assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize("pattern", [r"\p{word}", r"\P{Alnum}", r"\p{^blank}", r"[^\p{graph}a]", r"(?i)\P{print}"])
def test_properties_of_fancy_regex_are_those_of_tiktoken(pattern):
    tiktoken = pytest.importorskip("tiktoken")
    encoding = tiktoken.Encoding(
        "bytes", pat_str=pattern, mergeable_ranks={bytes([byte]): byte for byte in range(256)}, special_tokens={}
    )
    found = bytes(encoding.encode_ordinary("".join(ANY))).decode()  # it leaves out the text that does not match
    assert parse(pattern) == chars(found)


@pytest.mark.parametrize(
    "pattern",
    [
        "(" * 10_000 + "a" + ")" * 10_000,
        "(?:" * (MAX_NESTING + 1) + "a" + ")" * (MAX_NESTING + 1),
        "[" * 10_000 + "a" + "]" * 10_000,
        r"\p{L}" * 10_000,
        r"[\p{L}" + r"&&\p{L}" * 8_000 + "]",
        "[" + r"\p{Ll}" * 9_000 + "]",
        "(?i)[" + r"\p{Ll}" * 9_000 + "]",
        r"\b" * 30_000,
        r"\B" * 30_000,
        r"\b{end}" * 9_000,
        "a{1000000}",
        "((((a{1000000}){1000000}){1000000}){1000000})",
    ],
    ids=lambda pattern: pattern[:12],
)
def test_hostile_pattern_is_refused_within_a_second(pattern):
    with within(1), pytest.raises(PatternError):
        parse(pattern)


def test_set_of_500_000_ranges_is_refused_within_a_second():
    ranges = "".join(f"{chr(c)}-{chr(c)}" for c in range(0x10000, 0x10000 + 1_000_000, 2))
    with within(1), pytest.raises(PatternError):
        parse(f"[{ranges}]")


def test_deepest_allowed_nesting_is_parsed():
    parse("[a]" * (MAX_NESTING + 1))  # side by side, not nested
    limit = sys.getrecursionlimit()
    node = parse("(" * MAX_NESTING + "a+b|c" + ")" * MAX_NESTING)
    assert not can_match_empty(node)
    assert sys.getrecursionlimit() == limit


@pytest.mark.parametrize(
    "pattern",
    [
        "",
        "a*",
        "a?",
        "a|",
        "a{0}",
        "a{,3}",
        "(a*)",
        "(?>a?)b*",
        "^",
        "$",
        r"\b",
        "(?=a)",
        "(?!a)",
        "(?<=a)",
        "a*?",
        "(?:a?){3}",
        r"(a?)\1",
        "(?!(?!))",
    ],
)
def test_pattern_that_can_match_empty_is_detected(pattern):
    assert can_match_empty(parse(pattern))


@pytest.mark.parametrize(
    "pattern",
    [
        "a",
        "a*b",
        "(?=a)a",
        "^a",
        r"\ba",
        "a+",
        "(a){2,}",
        "a*+b",
        r"[^\s\S]|b",
        r"(?=[^\s\S])|b",
        "(?!)|b",
        "(?!a*)|b",
        r"(?:[^\s\S]a?)?b",
        r"(?!(?:a|)(b?)(?>))|a",
        "(?>ab)",
    ],
)
def test_pattern_that_cannot_match_empty_is_accepted(pattern):
    assert not can_match_empty(parse(pattern))


def test_pattern_that_can_never_match_is_detected():
    assert not can_match(parse(r"a[^\s\S]"))
    assert not can_match(parse(r"(?:[^\s\S]){2}|(?!)"))
    assert can_match(parse(r"[^\s\S]*|b"))


@given(st.text(alphabet=r"ab1()[]{}\?*+|^$.,:=!<>-&~pLisxwP# ", max_size=24))
def test_any_text_is_parsed_or_raises_pattern_error(pattern):
    with contextlib.suppress(PatternError):
        parse(pattern)
