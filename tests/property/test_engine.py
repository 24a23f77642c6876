"""The engine splits like the `regex` splitter, which other tests compare with tiktoken."""

from __future__ import annotations

import itertools
import random
from concurrent.futures import ThreadPoolExecutor

import pytest

from fastbpe._core.split.regex_engine import Engine
from fastbpe.errors import PatternError
from fastbpe.splitting import engine_of
from fastbpe.splitting.charset import ANY
from fastbpe.splitting.program import compile_program
from fastbpe.splitting.syntax import parse
from helpers import split_oracles
from helpers.hard_patterns import ALPHABET, TEXTS, TRICKY, random_pattern
from helpers.sampling import FULL, code_points, n_rounds, rounds

RANDOM_PATTERNS = rounds(300, 60_000)


def engine(pattern: str) -> Engine:
    found = engine_of(pattern)
    assert found is not None, pattern
    return found


# Without recorded states these take 2**n steps; some do so in the regex package too, so n is small in check().
EXPONENTIAL = [
    "(?:a+|b)+c",
    "(?:a+b?)+c",
    "(?:a*?)*?b",
    "(?:a|b|ab)+c",
    "(a|aa)+$",
    "(?:(?:a|b?)+c?)+é",
    "(?:a|a)*+c",
]


def engine_with_recorded_states(pattern: str) -> Engine:
    """Return the engine with recorded states from the first failure on, as it is after many steps."""
    program = compile_program(parse(pattern))
    assert program is not None, pattern
    return Engine(pattern, **vars(program), track_after=0)


def check(pattern: str, texts: list[str]) -> None:
    fast, slow = engine(pattern), split_oracles.oracle(pattern)
    remembering = engine_with_recorded_states(pattern)
    for text in texts:
        got, wanted = fast.ends(text), slow.ends(text)
        if len(text) < 1000:
            assert remembering.ends(text) == wanted, f"{pattern!r} on {text!r}"
        assert got == wanted, f"{pattern!r} on {text[:400]!r}: {got[:20]}, should be {wanted[:20]}"


@pytest.mark.sample(2)
@pytest.mark.parametrize("pattern", TRICKY)
def test_tricky_patterns_split_like_regex(pattern: str) -> None:
    words = ("".join(letters) for n in range(6) for letters in itertools.product("abc", repeat=n))
    check(pattern, [*TEXTS, *words])


@pytest.mark.parametrize("pattern", EXPONENTIAL)
def test_exponential_patterns_end_quickly(pattern: str) -> None:
    fast = engine(pattern)
    for n in (20, 70, 600):
        assert fast.ends("a" * n + "d") == [n + 1]
        assert fast.ends("a" * n + "da") == ([n + 1, n + 2] if "$" in pattern else [n + 2])


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", split_oracles.ONE_REGEX)
def test_named_patterns_split_random_texts_like_regex(name: str) -> None:
    seed = 100 + split_oracles.ONE_REGEX.index(name)
    print("seed", seed)
    texts = itertools.islice(split_oracles.random_texts(seed), n_rounds(2_000, 60_000))
    check(split_oracles.pattern_text(name), list(texts))


@pytest.mark.daily
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", split_oracles.ONE_REGEX)
def test_named_patterns_split_every_code_point_like_regex(name: str) -> None:
    contexts = ["", "a", " ", "1", "'", "\n", "é", "\u0301"]
    contexts = contexts if FULL else contexts[split_oracles.ONE_REGEX.index(name) :: len(split_oracles.ONE_REGEX)]
    check(split_oracles.pattern_text(name), [context.join(code_points()) for context in contexts])


@pytest.mark.daily
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "members", [r"\p{L}", r"\P{L}", r"\s", r"\w", r"\p{Han}", "[^é]", r"\p{Cn}", "[\x7f-\x80]"]
)
@pytest.mark.parametrize("form", ["{}", "{}+", "{}{{2}}", "(?={}).", "(?<={})[^\\n]", "a{}*?b|{}"])
def test_sets_match_every_code_point_like_regex(members: str, form: str) -> None:
    check(form.replace("{}", members).replace("{{2}}", "{2}"), ["".join(ANY), "b".join(ANY)[-400_000:]])


@pytest.mark.daily
def test_random_patterns_split_random_texts_like_regex() -> None:
    n_checked = 0
    for seed in RANDOM_PATTERNS:
        generator = random.Random(seed)
        n_branches = generator.choice([1, 1, 2, 3])
        pattern = "|".join(random_pattern(generator, generator.randrange(1, 5)) for _ in range(n_branches))
        texts = ["".join(generator.choices(ALPHABET, k=generator.randrange(14))) for _ in range(12)]
        try:
            slow = split_oracles.oracle(pattern)
        except PatternError:
            continue  # it can match the empty string
        fast, remembering = engine(pattern), engine_with_recorded_states(pattern)
        for text in texts:
            wanted = slow.ends(text)
            assert remembering.ends(text) == wanted, f"seed {seed}: {pattern!r} on {text!r}"
            assert fast.ends(text) == wanted, f"seed {seed}: {pattern!r} on {text!r}"
            n_checked += 1
    assert n_checked > len(RANDOM_PATTERNS)


@pytest.mark.sample(2)
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
def test_pieces_do_not_depend_on_the_end_of_the_previous_call(pattern: str) -> None:
    for n_shifted in range(3):
        check(pattern, ["b" * n_shifted + "ab \n" * 3_000 + "ab" * 100 + " " * n_shifted])


@pytest.mark.daily
def test_engine_may_be_shared_by_threads() -> None:
    pattern = split_oracles.pattern_text("cl100k")
    fast, slow = engine(pattern), split_oracles.oracle(pattern)
    texts = ["".join(itertools.islice(split_oracles.random_texts(seed), 300)) for seed in range(8)]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(fast.ends, texts * 4)) == [slow.ends(text) for text in texts] * 4


def test_count_is_the_number_of_ends() -> None:
    fast = engine(r"\w+|\s")
    for text in ["", "a", "one two,", "a b" * 9_000]:
        assert fast.count(text) == len(fast.ends(text))
