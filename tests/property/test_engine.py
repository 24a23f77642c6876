"""The engine cuts as the `regex` splitter does, which is compared with tiktoken elsewhere."""

from __future__ import annotations

import itertools
import os
import random
from concurrent.futures import ThreadPoolExecutor

import pytest

import splits
from fastbpe._core.engine import Engine
from fastbpe.errors import PatternError
from fastbpe.splitting import engine_of
from fastbpe.splitting.charset import ANY
from fastbpe.splitting.program import compile_program
from fastbpe.splitting.syntax import parse

FULL = bool(os.environ.get("FASTBPE_FULL"))
N_RANDOM_PATTERNS = 60_000 if FULL else 3_000

TRICKY = [
    # Order of branches, and what a later part makes an earlier one give back.
    "a|ab|c", "ab|a|c", "(?:a|ab)(?:c|bcd)", "(?:a|ab|abc)c", "(?:ab|a)(?:bc|c)?", "(?:a|b|ab)+c", "a|é|漢|b+",
    "(?:é|漢)a|é", "(?:aa|a)(?:aa|a)a", "(?:|a)b", "(?:a||b)c", "abc|abd|ab.", "(?:a|[ab]b|abc){2}",
    # Quantifiers of every mode.
    "a+?b?", "a??b", "a*?b", "a{2}", "a{2,}", "a{1,3}b", "a{1,2}+a", "a{2,3}?b", "a++b", "a*+a|b",
    "[ab]+?c", "[ab]*ab", "[^a]*?a", "[^a]{2,4}a", ".{1,3}?c", "(?:ab){2}", "(?:ab){1,2}+ab",
    "(?:ab){0,2}?c", "(?:ab)*+ab|a",
    "(?:ab|c){2,3}", "(?:a{2}){2,}", "(?:a{1,2}){3}b", "x?[ab]?[bc]?c", "[ab]+[bc]+[cé]+", "(?:a+b?)+c",
    # Repeated parts that may be empty.
    "(a|b?)+c", "(?:a*)*b", "(?:a*)+b", "(?:a*?)*?b", "(?:a?b?)*c", "(?:a?){3}b", "(?:a?){0,3}ab", "(?:(?=a)|b)+a",
    "(?:|a)+b", "(?:a|)+b", "(?:(?:a?)*b?)*c", "(?:\\b|a)+b", "(?:a*b*)*+c", "(?:(?:a|b?)+c?)+é",
    # Nested repetitions.
    "(a+)+$", "(?:a+|b)+c", "(?:(?:ab)+c?)+", "(?:(?:a|b)+c)+", "(?:a+?b?)+?c", "(?:(?:a{2})+b)*c", "(?:[ab]c?)+é",
    # Groups, atomic groups.
    "(a)(b)?", "(?P<x>a|b)c", "(?>a|ab)c|b", "(?>a+)b", "(?>a*)(?>b*)c", "(?>(?:a|ab)(?>c|b))b", "(?>a?b?)+c",
    "(?>a|b)++c", "(?>a+?)b|a",
    # Look-arounds.
    "a(?=b)", "a(?!b)", "(?=ab)a", "(?=a*)a", "(?=(?:a|ab)c)ab?", "(?!ab|ba)[ab]+", "a+(?=ab)", "a+(?!a)",
    "a*(?=a)a",
    "[ab]+(?=c(?!c))", "(?=a(?=b))ab", "(?!(?!a))a", "(?=(?>a+)b)a", "(?:(?!bc).)+", "(?:(?=.b)a|b)+", ".(?=.*c)",
    "(?<=a)b", "(?<!a)b", "(?<=ab)c", "(?<=a|bc)c", "(?<!a|bc).", "(?<=[aé].)b", "(?<=^|c)a", "(?<![^c])a+",
    "(?<=(?=ab)a)b", "(?<!(?<!a)b)c", "(?<=a{2})b", "(?<=(?>a|b)c)a", "(?<=漢)é|a(?<=éa)",
    # Anchors and word boundaries.
    "^a", r"\Aab?", "a$", r"a\z", r"a\Z", "(?m)^a", "(?m)a$", "(?m)^.+$", "^a|b$", "a$|^b|c", r"\s+$|\s",
    r"\n+\Z|.",
    r"\ba", r"a\b", r"\Ba", r"\b\w+\b", r"\<\w|\w\>", r"(?:\b\w|\B\w)+?\b", r"\b{start}a+|b\b{end}",
    # Classes, case, characters of every length.
    "[^a]", ".", "(?s).", "[^a]|[^b]", r"\w\W", r"[\w--b]+", "(?i:aß|É)", "(?i)k+", "[é漢]+a", "漢+", "[^漢]+",
    "[\U00010000-\U0010ffff]+", "a\U0001f600|\U0001f600+", r"\R", r"[^\x00-\x{10FFFF}]|b", r"\p{L}\p{M}*+",
]  # fmt: skip
TEXTS = [
    "", "a", "b", "ab", "ba", "aab", "aaab", "abc", "abcc", "aabbcc", "cba", "ababab", "ababc", "aaaaab", "bcbcbc",
    "abab\nab", "a\n", "a\n\n", "\na", "a b  c", "  a", "a  ", "éa漢b", "漢漢éé", "aé", "éab", "a😀b", "😀😀a",
    "K\u212ak",
    "aßÉé", "a\r\nb\r\n", "\r\n\n\r", "a\u0301e\u0301\u0302", "cacbca", "accab", "x" * 70 + "ab", "ab" * 8 + "c",
    "a" * 14, "ab c" * 30, "é" * 40 + "a", "ab,c.ab", "a_b1",
]  # fmt: skip
ALPHABET = "aaabbcé漢 \n"


def engine(pattern: str) -> Engine:
    found = engine_of(pattern)
    assert found is not None, pattern
    return found


# Without a memory of states these take 2**n steps; `regex` does for some of them, so n is small above.
EXPONENTIAL = [
    "(?:a+|b)+c",
    "(?:a+b?)+c",
    "(?:a*?)*?b",
    "(?:a|b|ab)+c",
    "(a|aa)+$",
    "(?:(?:a|b?)+c?)+é",
    "(?:a|a)*+c",
]


def engine_that_remembers(pattern: str) -> Engine:
    """The engine as it is after many steps, from the first failure on."""
    program = compile_program(parse(pattern))
    assert program is not None, pattern
    return Engine(pattern, **vars(program), track_after=0)


def check(pattern: str, texts: list[str]) -> None:
    fast, slow = engine(pattern), splits.oracle(pattern)
    remembering = engine_that_remembers(pattern)
    for text in texts:
        got, wanted = fast.ends(text), slow.ends(text)
        if len(text) < 1000:
            assert remembering.ends(text) == wanted, f"{pattern!r} on {text!r}"
        assert got == wanted, f"{pattern!r} on {text[:400]!r}: {got[:20]}, should be {wanted[:20]}"


@pytest.mark.parametrize("pattern", TRICKY)
def test_tricky_patterns(pattern: str) -> None:
    words = ("".join(letters) for n in range(6) for letters in itertools.product("abc", repeat=n))
    check(pattern, [*TEXTS, *words])


@pytest.mark.parametrize("pattern", EXPONENTIAL)
def test_states_are_not_tried_twice(pattern: str) -> None:
    fast = engine(pattern)
    for n in (20, 70, 600):
        assert fast.ends("a" * n + "d") == [n + 1]
        assert fast.ends("a" * n + "da") == ([n + 1, n + 2] if "$" in pattern else [n + 2])


@pytest.mark.parametrize("name", splits.ONE_REGEX)
def test_named_patterns_on_random_texts(name: str) -> None:
    seed = 100 + splits.ONE_REGEX.index(name)
    print("seed", seed)
    texts = itertools.islice(splits.random_texts(seed), 60_000 if FULL else 2_000)
    check(splits.pattern_text(name), list(texts))


@pytest.mark.parametrize("name", splits.ONE_REGEX)
def test_named_patterns_on_every_code_point(name: str) -> None:
    characters = [chr(c) for c in range(0x110000) if not 0xD800 <= c < 0xE000]
    contexts = ["", "a", " ", "1", "'", "\n", "é", "\u0301"]
    contexts = contexts if FULL else contexts[splits.ONE_REGEX.index(name) :: len(splits.ONE_REGEX)]
    check(splits.pattern_text(name), [context.join(characters) for context in contexts])


@pytest.mark.parametrize(
    "members", [r"\p{L}", r"\P{L}", r"\s", r"\w", r"\p{Han}", "[^é]", r"\p{Cn}", "[\x7f-\x80]"]
)
@pytest.mark.parametrize("form", ["{}", "{}+", "{}{{2}}", "(?={}).", "(?<={})[^\\n]", "a{}*?b|{}"])
def test_sets_on_every_code_point(members: str, form: str) -> None:
    check(form.replace("{}", members).replace("{{2}}", "{2}"), ["".join(ANY), "b".join(ANY)[-400_000:]])


def random_pattern(generator: random.Random, depth: int) -> str:
    """A pattern of everything that the engine takes, over few letters so that much of it matches."""
    kind = generator.random()
    if depth == 0 or kind < 0.3:
        return generator.choice([*"abcé漢.", "[ab]", "[^a]", r"\s", r"\w", "ab", "[bé]"])

    def inner() -> str:
        return random_pattern(generator, depth - 1)

    if kind < 0.45:
        return inner() + inner()
    if kind < 0.6:
        return f"(?:{'|'.join(inner() for _ in range(generator.randrange(2, 4)))})"
    if kind < 0.85:
        count = generator.choice(["*", "+", "?", "{2}", "{1,2}", "{0,2}", "{2,}", "{1,3}"])
        return f"(?:{inner()}){count}{generator.choice(['', '', '?', '+'])}"
    if kind < 0.97:
        return f"({generator.choice(['', '', '?>', '?=', '?!', '?='])}{inner()})"
    return generator.choice([
        r"\b", r"\B", "^", "$", "(?m:^)", "(?m:$)", r"\Z", "(?<=a)", "(?<!b)", "(?<=ab|é)", "(?<!^|c)", "(?:|a)",
    ])  # fmt: skip


def test_random_patterns_on_random_texts() -> None:
    n_checked = 0
    for seed in range(N_RANDOM_PATTERNS):
        generator = random.Random(seed)
        n_branches = generator.choice([1, 1, 2, 3])
        pattern = "|".join(random_pattern(generator, generator.randrange(1, 5)) for _ in range(n_branches))
        texts = ["".join(generator.choices(ALPHABET, k=generator.randrange(14))) for _ in range(12)]
        try:
            slow = splits.oracle(pattern)
        except PatternError:
            continue  # it can match the empty string
        fast, remembering = engine(pattern), engine_that_remembers(pattern)
        for text in texts:
            wanted = slow.ends(text)
            assert remembering.ends(text) == wanted, f"seed {seed}: {pattern!r} on {text!r}"
            assert fast.ends(text) == wanted, f"seed {seed}: {pattern!r} on {text!r}"
            n_checked += 1
    assert n_checked > N_RANDOM_PATTERNS


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?<=a)b|.",
        r"^.|(?<=\Aab)a|b",
        r"[ab]+?(?=b)|\s",
        r"a(?!.*x)|.|\n",
        r"\b\w|\W+$|\s",
        "ab(?= )|a",
        r"(?:a|\n)+?\Z|.",
    ],
)
def test_results_do_not_depend_on_where_a_call_stopped(pattern: str) -> None:
    for n_shifted in range(3):
        check(pattern, ["b" * n_shifted + "ab \n" * 3_000 + "ab" * 100 + " " * n_shifted])


def test_one_engine_serves_many_threads() -> None:
    pattern = splits.pattern_text("cl100k")
    fast, slow = engine(pattern), splits.oracle(pattern)
    texts = ["".join(itertools.islice(splits.random_texts(seed), 300)) for seed in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(fast.ends, texts * 4)) == [slow.ends(text) for text in texts] * 4


def test_count_is_the_number_of_ends() -> None:
    fast = engine(r"\w+|\s")
    for text in ["", "a", "one two,", "a b" * 9_000]:
        assert fast.count(text) == len(fast.ends(text))
