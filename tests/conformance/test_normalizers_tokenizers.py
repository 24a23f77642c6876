"""Normalizers give the text that tokenizers gives, for every code point and for random hard texts.

FASTBPE_FULL=1 takes more random texts.
"""

import random
import unicodedata
from functools import cache
from typing import Any

import pytest

from fastbpe.normalization import huggingface_tables
from fastbpe.normalization.huggingface import FORMS, _characters, form, make_change, make_front
from helpers import sampling
from helpers.sampling import SEED, n_rounds
from helpers.text_strategies import SPACES

peers = pytest.importorskip("tokenizers").normalizers

N_TEXTS = n_rounds(5_000, 200_000)
MARKS = [chr(c) for marks in huggingface_tables.ORDERS.split(":")[1::2] for c in _characters(marks)]
FORWARD = [chr(c) for c in _characters(huggingface_tables.FORWARD)]
MAYBE = [chr(c) for c in _characters(huggingface_tables.MAYBE)]
#: Characters of newer Unicode versions, which the forms of tokenizers leave unchanged.
LATER = ["\U00011935", "\U00011930", "\U00011938", "\u08d3", "\u0c3c", "\ua7f2", "\u32ff", "\U0001e4ec"]
HANGUL = ["\u1100", "\u1161", "\u11a8", "\uac00", "\uac01", "\u1112", "\u1175", "\u11c2"]


@cache
def code_points() -> list[str]:
    """Return the characters except the line feed; only slow tests read them."""
    return [c for c in sampling.code_points() if c != "\n"]


def change(*described: dict[str, Any]):
    made = make_change(described)
    assert made is not None
    return made


def bert(clean: bool, ideographs: bool, accents: bool | None, lower: bool) -> tuple[dict[str, Any], Any]:
    """Return a BertNormalizer as a file describes it, and the same of tokenizers."""
    names = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    described = dict(zip(names, (clean, ideographs, accents, lower), strict=True))
    return {"type": "BertNormalizer", **described}, peers.BertNormalizer(**described)


BERTS = {
    "Bert clean": bert(True, False, False, False),
    "Bert ideographs": bert(False, True, False, False),
    "Bert accents": bert(False, False, True, False),
    "Bert lower": bert(False, False, None, True),
    "Bert lower with accents": bert(True, True, False, True),
    "Bert": bert(True, True, None, True),
}
#: Normalizers that change each character by itself, or between line feeds.
BY_CHARACTER = (*FORMS, "Lowercase", "StripAccents", "Nmt", "ByteLevel", *BERTS)
PLAIN: dict[str, tuple[dict[str, Any], Any]] = {
    **{name: ({"type": name}, getattr(peers, name)()) for name in BY_CHARACTER if name not in BERTS},
    **BERTS,
    "Strip": ({"type": "Strip", "strip_left": True, "strip_right": True}, peers.Strip()),
    "Strip left": ({"type": "Strip", "strip_left": True, "strip_right": False}, peers.Strip(True, False)),
    "Prepend": ({"type": "Prepend", "prepend": "ab"}, peers.Prepend("ab")),
    "Replace": ({"type": "Replace", "pattern": {"String": "aa"}, "content": "b"}, peers.Replace("aa", "b")),
}


@pytest.mark.daily
@pytest.mark.sample(2)
@pytest.mark.parametrize("name", PLAIN)
def test_every_code_point_is_normalized_as_by_tokenizers(name: str) -> None:
    described, peer = PLAIN[name]
    ours = change(described)
    if name in BY_CHARACTER:  # one call for all: the separators do not interact
        text = "\n".join(code_points())
        assert ours(text) == peer.normalize_str(text)
        return
    for character in [*SPACES, "\x1c", "\u180e", "\u200b", "a", "aa", ""]:
        for text in (character, f"{character}x{character}", f" {character} ", f"aaa{character}aa"):
            assert ours(text) == peer.normalize_str(text), repr(text)


@pytest.mark.parametrize("name", FORMS)
def test_random_texts_are_normalized_as_by_tokenizers(name: str) -> None:
    peer = PLAIN[name][1]
    normal = form(name)
    rng = random.Random(SEED)
    pools = [MARKS, FORWARD, MAYBE, LATER, HANGUL, list("ab< 1\n"), ["é", "ﬁ", "ﷺ", "Å", "\u0344", "漢", "क़"]]
    for number in range(N_TEXTS):
        some = [rng.choice(pool) for pool in pools for _ in range(2)]
        text = "".join(rng.choices(some, k=rng.randint(1, 10)))
        expected = peer.normalize_str(text)
        assert normal.normalize(text) == expected.encode(), f"seed {SEED}, text {number}: {text!a}"


@pytest.mark.daily
@pytest.mark.parametrize("name", FORMS)
def test_characters_that_decompose_to_marks_are_sorted_among_marks(name: str) -> None:
    """é and U+0F73 both decompose, and the marks of both come into the order of their classes."""
    begun = [
        c
        for c in code_points()
        if not unicodedata.combining(c) and unicodedata.combining(unicodedata.normalize("NFKD", c)[0])
    ]
    assert begun == ["\u0f73", "\u0f75", "\u0f81", "\uff9e", "\uff9f"]
    peer = getattr(peers, name)()
    rng = random.Random(SEED)
    for _ in range(2_000):
        text = "".join(
            rng.choice(["é", "ǟ", "\u0f72", "\u0344", "a", "が", "\uac01", *begun])
            for _ in range(rng.randrange(1, 6))
        )
        assert form(name).normalize(text).decode() == peer.normalize_str(text), ascii(text)


def test_normalized_text_stays_unchanged() -> None:
    normal = form("NFC")
    assert normal.normalize("plain") == b"plain"
    assert normal.normalize("e\u0301" * 1000 + "z") == ("é" * 1000 + "z").encode()
    assert normal.normalize("") == b""


def test_tokenizer_without_normalizer_has_no_front() -> None:
    assert make_front([]) is None
    assert make_change([]) is None
    front = make_front([{"type": "NFC"}])
    assert front is not None
    assert front.form is form("NFC")
