"""The regex engine: accepted and refused patterns, compiled programs, and hostile texts."""

from __future__ import annotations

import resource
import sys

import pytest

from fastbpe import PATTERNS, Tokenizer, count_pieces
from fastbpe._core.split.composite import Sequence, StandIns
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe.errors import PatternError
from fastbpe.splitting import engine_of, make_splitter
from fastbpe.splitting.charset import ANY, CharSet
from fastbpe.splitting.firsts import ANYTHING, First, first, first_bytes, width
from fastbpe.splitting.nodes import always_matches
from fastbpe.splitting.program import Op, Program, compile_program
from fastbpe.splitting.simplify import simplified
from fastbpe.splitting.steps import Split, WhitespaceSplit, make_sequence
from fastbpe.splitting.syntax import parse
from helpers.bounds import within

N_OPERANDS = {Op.RUN: 3, Op.RUN_GREEDY: 5, Op.RUN_LAZY: 5} | dict.fromkeys(
    (Op.CHOICE, Op.NOT, Op.AHEAD, Op.BEHIND, Op.CHECK, Op.SPAN), 2
)


def program(pattern: str) -> Program:
    found = compile_program(parse(pattern))
    assert found is not None, pattern
    return found


def operations(pattern: str) -> list[str]:
    """Return the names of the operations after the FAIL at the start."""
    code, at, names = program(pattern).code, 1, []
    while at < len(code):
        op = Op(code[at])
        names.append(op.name)
        n_operands = N_OPERANDS.get(op, 0 if op in (Op.FAIL, Op.MATCH) else 1)
        at += 1 + (1 + (code[at + 1] + 3) // 4 if op is Op.TEXT else n_operands)
    return names


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("a", "BYTE MATCH"),
        ("abé", "TEXT MATCH"),
        ("a[bc]d", "BYTE SET BYTE MATCH"),
        ("(a)(?:b)", "TEXT MATCH"),
        ("a|b|[cd]", "SET MATCH"),
        ("(?:a|b)+", "SPAN MATCH"),
        ("(?:(a+))+b", "SPAN BYTE MATCH"),
        # A repetition does not backtrack where a shorter match could not help.
        ("a+", "SPAN MATCH"),
        ("a+b", "SPAN BYTE MATCH"),
        ("a+(?=b)", "SPAN AHEAD MATCH"),
        ("a+b*", "SPAN SPAN MATCH"),
        ("a+$", "SPAN AHEAD MATCH"),
        ("a?b", "OPTION BYTE MATCH"),
        ("a{2}", "RUN MATCH"),
        (r"\s+(?!\S)", "RUN_GREEDY AHEAD MATCH"),
        ("a*a", "RUN_GREEDY BYTE MATCH"),
        ("a*+a", "SPAN BYTE MATCH"),
        ("a+?b", "RUN_LAZY BYTE MATCH"),
        ("a+?", "RUN MATCH"),
        # A loop drops its backtracking states if nothing after it can fail.
        ("(?:ab)+", "SAVE TEXT CUT CHOICE MATCH"),
        ("(?:ab)+c", "TEXT CHOICE BYTE MATCH"),
        ("(?:ab)*c", "CHOICE TEXT JUMP BYTE MATCH"),
        ("(?:a?b?)+c", "SAVE_PLACE RUN_GREEDY RUN_GREEDY CHECK CHOICE BYTE MATCH"),
        ("(?>ab)c", "SAVE TEXT CUT BYTE MATCH"),
        ("(?=ab)a", "SAVE TEXT RETURN BYTE MATCH"),
        ("(?!ab)a", "NOT TEXT NOT_END BYTE MATCH"),
        ("(?<=a)b", "BEHIND BYTE MATCH"),
        ("(?<=ab)c", "SAVE CHOICE BACK TEXT JUMP RETURN BYTE MATCH"),
        ("^a", "BEHIND BYTE MATCH"),
    ],
)
def test_pattern_compiles_to_the_expected_program(pattern: str, expected: str) -> None:
    assert " ".join(operations(pattern)) == expected


@pytest.mark.parametrize("name", [name for name, text in PATTERNS.items() if isinstance(text, str)])
def test_engine_accepts_every_named_pattern(name: str) -> None:
    text = PATTERNS[name]
    assert text is not None
    assert repr(engine_of(text)) == "engine"


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?>(a))\1",
        r"(?=(?<q>['\"])).+?\k<q>",
        "(?<=a+)b",
        "(?<=a|b*)c",
        "(?<=(?:a|bc)d)e",
        "(?<=a{256})b",
        "(?:ab){0,2000}c",
        "|".join(f"[{chr(c)}{chr(c + 1)}]x" for c in range(0x100, 0x500, 3)),
    ],
    ids=lambda pattern: pattern[:16],
)
def test_patterns_refused_by_the_engine_use_the_regex_package(pattern: str) -> None:
    assert engine_of(pattern) is None
    assert repr(make_splitter(pattern)) == "regex"


def test_repr_of_a_splitter_names_its_kind() -> None:
    assert repr(make_splitter(PATTERNS["cl100k"])).startswith("scanner, ")
    assert repr(make_splitter(r"\w+|\W+")).startswith("runs, ")
    assert repr(make_splitter(r"\w+|\W{2,}")) == "engine"
    assert repr(make_splitter(None)) == "none"


@pytest.mark.parametrize(
    ("pattern", "message"),
    [("(", "position 0"), ("a{2,1}", "position 1"), ("a*", "empty string"), (r"\b", "empty string")],
)
def test_invalid_or_empty_matching_pattern_raises_pattern_error(pattern: str, message: str) -> None:
    with pytest.raises(PatternError, match=message):
        engine_of(pattern)


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "pattern",
    [
        "|".join(f"{number}" for number in range(10_000)),
        "(" * 63 + "a+" + ")" * 63,
        "(" * 63 + "ab" + ")+" * 63,
        "(?:" * 63 + "ab" + "){2}" * 63,
        "(?:a{100}){10000}",
        "((((a{10000}){10000}){10000}){10000})|b",
        "(?:a?){9999}b",
        "a?b?" * 10_000 + "c",
        "(?:ab)?" * 9_000 + "c",
        r"\p{L}" * 70,
        "[" + "".join(map(chr, range(0x4E00, 0x4E00 + 60_000 // 2, 2))) + "]",
    ],
    ids=lambda pattern: pattern[:16],
)
def test_large_patterns_compile_or_are_refused_within_seconds(pattern: str) -> None:
    with within(3):
        compile_program(parse(pattern))


HOSTILE = [
    "(a+)+b", "(a|aa)+$", "(.*)*x", "(a|a)+b", "(?:a|b|ab)+c", "(?:a+a+)+b", "(?:(?=a)|a)+b", "a(?=.*x)|a(?!.*a)",
    "(?:aa?)+?b", "(?:a|(?=.*b)a)+b", "[ab]+[ac]+[ad]+x", "(?=(?:a|aa)+$)b|a", "(?>(?:a|aa)+b)",
    "a{9000}b|a{9000}c|a", "(?:a{9000,9001}?b|a)", "|".join(["(?<=[ab]{254}c)a"] * 400 + ["a"]),
]  # fmt: skip


@pytest.mark.sample(2)
@pytest.mark.parametrize("pattern", HOSTILE)
def test_hostile_patterns_match_or_raise_within_a_second(pattern: str) -> None:
    splitter = engine_of(pattern)
    assert splitter is not None
    with within(1.5):
        try:
            assert splitter.count("a" * 100_000) > 0
        except PatternError as error:
            assert "backtracks too much on this text: at byte" in str(error)  # noqa: PT017


@pytest.mark.parametrize("n", [40, 4_000])
@pytest.mark.parametrize("pattern", [r"(a|aa)+\1c|.", r"(?:(a)\1?|a+)+c|.", r"(?P<x>a+)(?:(?P=x)|a)+c|."])
def test_endless_backtracking_of_back_references_raises_pattern_error(pattern: str, n: int) -> None:
    splitter = make_splitter(pattern)
    assert repr(splitter) == "engine"
    with within(2), pytest.raises(PatternError, match=r"backtracks too much on this text: at byte 3 .* steps"):
        splitter.ends("bbb" + "a" * n)
    assert splitter.ends("aab") == [1, 2, 3]


@pytest.mark.daily
def test_endless_backtracking_in_the_regex_package_raises_pattern_error() -> None:
    splitter = make_splitter(r"(?<=c(?:a|aa)+)b|.")
    assert repr(splitter) == "regex"
    assert splitter.ends("ab") == [1, 2]
    message = (
        r"pattern '\(\?<=c\(\?:a\|aa\)\+\)b\|\.' backtracks too much on this text: at byte \d+ it reached the "
        r"limit for a text, 3 seconds of processor time plus 10 microseconds per byte; make repetitions possessive"
    )
    with within(8), pytest.raises(PatternError, match=message):
        splitter.ends("a" * 50 + "b")


@pytest.mark.parametrize(
    ("pattern", "n", "limit"),
    [
        pytest.param(r"(?>(?:a|aa)+c)|a", 24, "too many steps", id="engine"),
        pytest.param(r"(?<=c(?:a|aa)+)b|.", 28, "3 seconds", id="regex", marks=pytest.mark.daily),
        pytest.param(r"(?:(?<=c(?:a|aa)+)b|)", 28, "3 seconds", id="empty matches", marks=pytest.mark.daily),
    ],
)
def test_limit_on_backtracking_holds_for_all_pieces_of_a_text(pattern: str, n: int, limit: str) -> None:
    splitter = make_sequence([WhitespaceSplit(), Split(pattern=pattern)])
    word = "a" * n + "b "
    assert splitter.count(word) > 0
    with within(8), pytest.raises(PatternError, match=limit):
        splitter.count(word * 50)


def test_limit_on_backtracking_starts_anew_with_each_text() -> None:
    texts = ["a" * 24 + "b"] * 8  # each takes more than a quarter of the steps that it may take
    tokenizer = Tokenizer.from_merges([], pattern=r"(?>(?:a|aa)+c)|a", special_tokens={"<>": 256})
    assert tokenizer.encode_batch(texts) == [tokenizer.encode(text) for text in texts]
    assert count_pieces(texts, pattern=tokenizer.pattern).n_bytes == 8 * 25
    with pytest.raises(PatternError, match="too many steps"):
        tokenizer.encode("<>".join(texts), allowed_special="all")


def test_backtracking_error_names_pattern_offset_and_way_out() -> None:
    splitter = engine_of(r"x+|(?=(a|aa)+$)a+")
    assert splitter is not None
    message = r"pattern '.*' backtracks .* at byte 3 .*steps; make repetitions possessive"
    with pytest.raises(PatternError, match=message):
        splitter.ends("xxx" + "a" * 100 + "!")
    assert splitter.ends("xxxaa") == [3, 5]


@pytest.mark.daily
def test_error_offset_counts_from_the_beginning_of_the_text() -> None:
    """The same holds after special tokens or another pattern split the text, and for stand-ins of bytes."""
    pattern = r"x+|(?=(?:a|aa)+$)a+"
    ranks = {bytes([i]): i for i in range(256)}
    tokenizer = Tokenizer.from_ranks(ranks, pattern=pattern, special_tokens={"<|s|>": 256, "<|t|>": 257})
    text = "é<|s|>漢x<|t|>xx" + "a" * 100 + "!"
    at = rf"at byte {len('é<|s|>漢x<|t|>xx'.encode())} "
    with pytest.raises(PatternError, match=at):
        tokenizer.encode(text, allowed_special="all")
    with pytest.raises(PatternError, match=at):
        tokenizer.encode(text, allowed_special={"<|t|>"}, disallowed_special=())
    with pytest.raises(PatternError, match=at):
        tokenizer.count(text)
    splitter, words = make_splitter(pattern), make_splitter("é|<[^>]+>|x+")
    steps = [
        Sequence(Sequence(words, Splitter()), splitter),
        StandIns(splitter),
        StandIns(Sequence(words, splitter)),
    ]
    for step in [splitter, *steps, Sequence(words, StandIns(splitter))]:
        with pytest.raises(PatternError, match=at):
            step.ends(text)
        with pytest.raises(PatternError, match=at):
            step.count(text)
    with pytest.raises(PatternError, match=at):
        PieceCounter(splitter).add_text(text, SpecialMatcher([b"<|s|>"], [256]))


@pytest.mark.parametrize("pattern", ["a+", "(?:a|b)+", "(?:aa|ab)+", "(?:a(?:a|b))+a?", "a+(?:ab)?$", "a|b"])
def test_ten_megabytes_of_one_letter_are_split_in_seconds(pattern: str) -> None:
    splitter = engine_of(pattern)
    assert splitter is not None
    text = "a" * 10_000_000
    with within(2):
        assert splitter.count(text) == (10_000_000 if pattern == "a|b" else 1)


@pytest.mark.skipif(sys.platform == "win32", reason="asks the kernel for the memory taken")
def test_backtracking_stack_is_bounded() -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    splitter = engine_of("(?:ab|ac)+x|a")
    assert splitter is not None
    with pytest.raises(PatternError, match="at byte 1 there are too many positions to return to"):
        splitter.count("x" + "ab" * 10_000_000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000  # KB


@pytest.mark.daily
def test_total_steps_of_a_text_are_limited() -> None:
    # Each piece looks ahead to the end of the text: linear time for a piece, quadratic for the whole text.
    splitter = engine_of("a(?=.*x)")
    assert splitter is not None
    assert len(splitter.ends("a" * 1000 + "x")) == 1001
    with within(3), pytest.raises(PatternError, match="too many steps"):
        splitter.count("a" * 1_000_000 + "x")


def test_first_returns_the_characters_that_can_begin_a_match() -> None:
    def characters(pattern: str) -> First:
        return first(simplified(parse(pattern)), ANYTHING)

    assert characters("a?b") == First(CharSet.of("ab"), False)
    assert characters("(?=[ab])[bc]") == First(CharSet.of("b"), False)
    assert characters("(?!a)[ab]") == First(CharSet.of("b"), False)
    assert characters("(?:ab|c)*$") == First(CharSet.of("ac"), True)
    assert characters("a*") == ANYTHING
    assert characters("(?<=a)b") == First(CharSet.of("b"), False)


def test_first_bytes_are_the_lead_bytes_of_the_set() -> None:
    for members in (CharSet.of("aé漢😀"), CharSet.category("L"), ANY, CharSet(())):
        leads = {character.encode()[0] for character in members}
        assert {byte for byte in range(256) if first_bytes(members) >> byte & 1} == leads


def test_width_and_always_matches_are_computed() -> None:
    widths = {"ab": 2, "[ab]{3}": 3, "a|bc": None, "(?:ab|cd){2}": 4, "a?": None, "(?=ab)c": 1, "(?>a)": 1, "": 0}
    for pattern, expected in widths.items():
        assert width(simplified(parse(pattern))) == expected
    always = {"a*": True, "a?b*": True, "a|": True, "a+": False, "(?>a*)": True, "(?=a*)": False, "(?:a*)+": True}
    for pattern, sure in always.items():
        assert always_matches(simplified(parse(pattern))) == sure
