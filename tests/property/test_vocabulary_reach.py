"""Verdicts about tokens, possible or impossible: against the ids of every short text, in both modes."""

from __future__ import annotations

import random
from itertools import product

import pytest

import fastbpe
from fastbpe import PATTERNS, Tokenizer
from fastbpe.model import PieceType
from fastbpe.vocabularies.material import Kind
from fastbpe.vocabularies.reach import judge
from fastbpe.vocabularies.trial import Reach
from helpers import random_exports
from helpers.codepoint_models import model_of
from helpers.sampling import SEED, rounds
from helpers.shared_data import BYTES

LETTERS = ("ab", "a1", "aB'", "a \n", "aé", "a漢", "é漢", "a.\n", "a\u0301", "1 a", "'sS", "/\n.")
PATTERN_NAMES = [*PATTERNS]
GAPS = r"a{2}|b+?a"  # a text between its matches may hold every letter, but not "aa"
OTHERS = (r"a+|1", r"[ab](?=b)|.", r"(?>a|ab)c|b", r"\w+|\s", (r"\d", "gpt2"), GAPS, r"(?!aa)a+|1+$")


def given(tokenizer: Tokenizer, letters: str, longest: int) -> set[int]:
    """Collect the ids of every text of some letters."""
    texts = ["".join(each) for n in range(1, longest + 1) for each in product(letters, repeat=n)]
    return {token_id for ids in tokenizer.encode_ordinary_batch(texts) for token_id in ids}


def check(tokenizer: Tokenizer, seen: set[int]) -> Reach:
    """Compare the verdicts with ids that were seen."""
    material = tokenizer._family.material()
    reach = judge(tokenizer, material)
    wrong = {i: (material.tokens[i], reach.impossible[i]) for i in reach.impossible.keys() & seen}
    assert not wrong
    for i, text in reach.witnesses.items():
        is_name = material.kinds[i] is Kind.NAME
        ids = tokenizer.encode(text, allowed_special="all") if is_name else tokenizer.encode_ordinary(text)
        assert i in ids, (i, text)
    judged = [*reach.witnesses, *reach.impossible, *reach.undecided]
    assert sorted(judged) == [i for i, kind in enumerate(material.kinds) if kind is not Kind.NONE]
    return reach


def random_ranks(rng: random.Random, letters: str, pattern: object) -> Tokenizer:
    """Draw tokens that are parts of short texts, whole characters or not, in any order."""
    tokens = set()
    for _ in range(rng.randint(3, 25)):
        data = "".join(rng.choices(letters, k=rng.randint(1, 5))).encode()
        start = rng.randrange(len(data))
        tokens.add(data[start : rng.randint(start + 1, len(data))])
    listed = sorted(token for token in tokens if len(token) > 1)
    rng.shuffle(listed)
    if rng.random() < 0.5:
        listed.sort(key=len)
    ranks = BYTES | {token: 256 + i for i, token in enumerate(listed)}
    return Tokenizer.from_ranks(ranks, pattern=pattern)  # type: ignore[arg-type]


def extended(letters: str) -> str:
    """Add characters that share bytes with some letters, or that end a piece."""
    more = {"é": "è", "漢": "字", "\u0301": "\u0302"}
    return letters + "".join(more.get(letter, "") for letter in letters)


@pytest.mark.daily
@pytest.mark.sample(10)
@pytest.mark.parametrize("pattern", [*PATTERN_NAMES, *OTHERS], ids=str)
def test_verdicts_agree_with_every_short_text(pattern: object) -> None:
    rng = random.Random(f"{SEED}{pattern}")
    for _ in rounds(3, 1000):
        letters = rng.choice(LETTERS)
        tokenizer = random_ranks(rng, letters, pattern)
        reach = check(tokenizer, given(tokenizer, extended(letters), 6 if len(letters) == 2 else 5))
        # For other patterns, the proofs ignore parts of the pattern, or accept any text between two matches.
        if "(?" not in str(pattern) and pattern != GAPS:
            assert not reach.undecided


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", ["ranks", "merges", "listed", "document", "points", "llama"])
def test_verdicts_agree_with_texts_of_random_vocabularies(kind: str) -> None:
    rng = random.Random(f"{SEED}{kind}")
    for _ in rounds(3, 2000):
        try:
            tokenizer = random_exports._KINDS[kind](rng)
        except fastbpe.FastbpeError:  # two special tokens that clash, and the like
            continue
        texts = [*random_exports.own_texts(rng, tokenizer)]
        reach = check(tokenizer, {i for ids in tokenizer.encode_ordinary_batch(texts) for i in ids})
        if kind != "document":  # documents are split by steps that no pattern expresses
            assert not reach.undecided


@pytest.mark.daily
@pytest.mark.parametrize("fallback", [False, True], ids=["unknown", "bytes"])
def test_verdicts_of_pieces_agree_with_every_short_text(fallback: bool) -> None:
    rng = random.Random(f"{SEED}{fallback}")
    for _ in rounds(6, 2000):
        letters = rng.choice(("ab", "a é", "a漢 ", "ab\uff21"))
        texts = {"".join(rng.choices(letters, k=rng.randint(1, 4))).replace(" ", "\u2581") for _ in range(12)}
        pieces = [(text.encode(), -rng.randint(0, 9) / 2, PieceType.NORMAL) for text in sorted(texts)]  # with ties
        if rng.random() < 0.5:
            at = rng.randrange(len(pieces))
            pieces[at] = (*pieces[at][:2], rng.choice((PieceType.UNUSED, PieceType.USER_DEFINED)))
        first = [(b"<unk>", 0.0, PieceType.UNKNOWN)]
        if fallback:
            first += [(b"<0x%02X>" % byte, 0.0, PieceType.BYTE) for byte in range(256)]
        names = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
        flags = {name: rng.random() < 0.7 for name in names}
        tokenizer = fastbpe.load(model_of([*first, *pieces], {"byte_fallback": fallback}, flags))
        seen = given(tokenizer, letters + "z", 5)
        assert not seen.intersection(check(tokenizer, seen).undecided)
