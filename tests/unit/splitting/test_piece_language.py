"""The automaton of a split pattern accepts every piece that the splitter makes."""

from __future__ import annotations

import random
from itertools import product

import pytest

from fastbpe import PATTERNS, PatternError
from fastbpe.patterns import Pattern
from fastbpe.splitting import make_splitter
from fastbpe.splitting.piece_language import MAX_STATES, PieceLanguage, States
from helpers.hard_patterns import ALPHABET, TEXTS, TRICKY, random_pattern
from helpers.sampling import SEED, rounds, share_of

#: Characters that the named patterns tell apart, some as text of several bytes.
CHARACTERS = "aB'sm1 \n\r/.é\u0301漢\u01c5"


def read(language: PieceLanguage, states: States | None, text: str) -> States | None:
    for character in text:
        states = language.step(states, ord(character), ord(character)) if states is not None else None
    return states


def accepts(language: PieceLanguage, piece: str) -> bool:
    states = read(language, language.start, piece)
    return states is not None and language.may_end(states)


def may_hold(language: PieceLanguage, text: str) -> bool:
    return read(language, language.anywhere, text) is not None


def check(pattern: Pattern, texts: list[str]) -> int:
    """Compare the pieces of texts with the automaton, and return the number of different pieces."""
    language, splitter = PieceLanguage(pattern), make_splitter(pattern)
    pieces = set()
    for text in texts:
        data = text.encode()
        pieces.update(data[start:end].decode() for start, end in splitter.pieces(data))
    refused = [piece for piece in pieces if not accepts(language, piece) or not may_hold(language, piece)]
    assert not refused, pattern
    return len(pieces)


@pytest.mark.parametrize("pattern", TRICKY)
def test_automaton_of_a_hard_pattern_accepts_every_piece(pattern: str) -> None:
    rng = random.Random(pattern)
    texts = TEXTS + ["".join(rng.choices(ALPHABET, k=rng.randint(1, 8))) for _ in range(200)]
    try:
        make_splitter(pattern)
    except PatternError:
        pytest.skip("can match the empty string")
    assert check(pattern, texts)


@pytest.mark.parametrize("name", PATTERNS)
def test_automaton_of_a_named_pattern_accepts_every_piece(name: str) -> None:
    rng = random.Random(SEED)
    texts = ["".join(each) for n in range(1, 4) for each in product(CHARACTERS, repeat=n)]
    texts += ["".join(rng.choices(CHARACTERS, k=rng.randint(4, 12))) for _ in rounds(2000, 20_000)]
    assert check(PATTERNS[name], texts) > 100


def test_automaton_of_a_random_pattern_accepts_every_piece() -> None:
    rng = random.Random(SEED)
    n_checked = 0
    for _ in rounds(150, 20_000):
        pattern = random_pattern(rng, 3)
        texts = ["".join(rng.choices(ALPHABET, k=rng.randint(1, 8))) for _ in range(40)]
        try:
            make_splitter(pattern)
        except PatternError:
            continue
        check(pattern, texts)
        n_checked += 1
    assert n_checked > share_of(6)


@pytest.mark.parametrize(
    ("name", "held", "cut"),
    [
        ("gpt2", ["abc", " abc", "123456", "\n \n"], ["a1", "1a", "'S", "ab c", "a\u0301", "a "]),
        ("cl100k", ["abc", "'ab", "123", ".\n\n"], ["1234", "a1", "ab'", "a\u0301"]),
        ("llama3", ["abc", "\n \n", "\t\n\t\n"], ["1234", "a\n"]),
        ("o200k", ["Abc", "ABC", " I'm", "//\n//", "漢ABc"], ["aB", "1234", "a1", "a/"]),
        ("qwen2", ["abc", "1"], ["12", "a\u0301a", "\u0e17\u0e35\u0e48"]),
        ("deepseek_v3", ["abc", "123", "一二"], ["一a", "1一"]),
    ],
)
def test_automaton_tells_what_the_pattern_cuts(name: str, held: list[str], cut: list[str]) -> None:
    language = PieceLanguage(PATTERNS[name])
    assert [text for text in held if not may_hold(language, text)] == []
    assert [text for text in cut if may_hold(language, text)] == []


def test_language_without_a_pattern_holds_any_text() -> None:
    language = PieceLanguage(None)
    assert may_hold(language, "a1 \n")
    assert language.may_end(language.start)


def test_too_large_an_automaton_accepts_any_text() -> None:
    pattern = f"(?:[ab]*a[ab]{{{MAX_STATES.bit_length() + 3}}}|c)"
    language = PieceLanguage(pattern)
    assert may_hold(language, "zzz")
    check(pattern, ["ab" * 40 + "c", "a" * 30])
