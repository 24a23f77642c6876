"""The compiled step of Precompiled does what its Python twin does, and calls it for few texts."""

from __future__ import annotations

import base64
import random
import struct
from collections.abc import Iterable
from itertools import pairwise

import pytest

import fastbpe
from fastbpe._core.normalize.charsmap_builder import build_trie
from fastbpe.normalization import precompiled
from fastbpe.normalization.precompiled import Precompiled
from fastbpe.normalization.sentencepiece_rules import RULE_NAMES, charsmap
from helpers.random_pipelines import packed
from helpers.sampling import SEED, n_rounds
from helpers.tokenizer_json import dumped, small

#: Characters of each class that decides where graphemes end, of one to four bytes, and some that rules replace.
CHARACTERS = [*"\r\n\t aA", *"\u0301\u0300\u200d\u200c\ufe0f\U0001f3fb", *"\u0903\u093e\u0600\u0d4e", *"é漢½Ａﬁ"]
CHARACTERS += [*"\u1100\u1161\u11a8\uac00\uac01", *"\U0001f1e6\U0001f1e7©☃\U0001f600", *"\u0915\u094d\u05e9\u05c1"]


def loaded(data: bytes) -> fastbpe.Tokenizer:
    step = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(data).decode()}
    return fastbpe.load(dumped({**small(), "normalizer": step}))


def check(compiled: fastbpe.Tokenizer, data: bytes, texts: Iterable[str]) -> None:
    """Compare a tokenizer that has rules with a plain one, for which Python normalizes the texts."""
    plain, step = fastbpe.load(dumped(small())), Precompiled(base64.b64encode(data).decode())
    for text in texts:
        ids, offsets = plain.encode_with_offsets(step(text))
        sources = step.sources(text)
        places = [(sources[start], sources[end - 1] + 1) for start, end in offsets]
        found, spans = compiled.encode_with_offsets(text)
        assert ([*found], [*spans]) == ([*ids], places), (SEED, ascii(text))


def test_random_rules_change_text_and_places_as_python_does() -> None:
    for number in range(n_rounds(80, 4000)):
        rng = random.Random(f"{SEED} precompiled {number}")
        data = charsmap(rng.choice([name for name in RULE_NAMES if name != "identity"]))
        some = rng.sample(CHARACTERS, rng.randint(3, len(CHARACTERS)))
        if rng.random() < 0.7:
            sources = {"".join(rng.choices(some, k=rng.choice([1, 1, 2, 3]))) for _ in range(rng.randint(1, 20))}
            data = packed({one: "".join(rng.choices("abéx漢", k=rng.randint(0, 3))) for one in sources})
        check(loaded(data), data, ("".join(rng.choices(some, k=rng.randint(0, 12))) for _ in range(20)))


def test_a_rule_for_a_lead_byte_replaces_the_characters_that_begin_with_it() -> None:
    """Characters with the lead byte F4 end at U+10FFFF; their numbers in UTF-8 would go on to U+13FFFF."""
    trie = build_trie([b"\xf4"], [0])
    data = struct.pack("<I", len(trie)) + trie + b"ab\0"
    check(loaded(data), data, ["a\U00100000b", "\U0010ffff", "a\U000fffffb"])


@pytest.mark.parametrize("rules", [{"a": ""}, {"e\u0301": "", "a": "xyz"}, {"\u0301": "", "é": "ab"}])
def test_characters_that_are_removed_have_the_places_of_tokenizers(rules: dict[str, str]) -> None:
    data = packed(rules)
    texts = ("ab", "bab", "aab", "be\u0301a", "e\u0301ab", "ée\u0301b", "é\u0301\u0301b", "ae\u0301ae\u0301b")
    check(loaded(data), data, texts)


def test_ordinary_text_needs_no_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a tokenizer of T5 or XLM-R would take twenty times as long."""

    def fail() -> object:
        raise AssertionError("graphemes were looked for in Python")

    monkeypatch.setattr(precompiled, "_grapheme", fail)
    tokenizer = loaded(charsmap("nmt_nfkc"))
    texts = [
        "Plain text,\ttabs; ½ ﬁ Ａ é",
        "Русский, Ελληνικά, 漢字とかな, 한국어",
        "हिन्दी में पाठ",
        "ข้อความ",
        "🎉 👍🏽 🇩🇪 👩‍🚀",
    ]
    for text in texts:
        assert tokenizer.decode(tokenizer.encode(text)).split()
    with pytest.raises(AssertionError, match="looked for"):
        tokenizer.encode("e\u0301")


def test_places_of_a_long_changed_text_rise() -> None:
    text = "½ﬁ Ａ\u0301é " * 200
    _, offsets = loaded(charsmap("nmt_nfkc")).encode_with_offsets(text)
    assert all(one <= other for one, other in pairwise(offsets))
