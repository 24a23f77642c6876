"""The normalizer Precompiled against tokenizers: texts, places of ids, and where graphemes end."""

from __future__ import annotations

import base64
import itertools
import json
import random
import unicodedata
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("tokenizers")

import tokenizers as stock

import fastbpe
import fastbpe.tokenizers as face
from fastbpe.errors import FormatError
from fastbpe.normalization import huggingface_tables
from fastbpe.normalization.precompiled import Precompiled, grapheme_class
from fastbpe.normalization.sentencepiece_rules import RULE_NAMES, charsmap
from helpers.random_pipelines import packed
from helpers.sampling import FULL, SEED, rounds
from helpers.tokenizer_json import added, dumped, small
from helpers.tokenizers_twins import Twins

NAMES = [name for name in RULE_NAMES if name != "identity"]
#: Characters of each class that decides where graphemes end.
CLASSES = [*"\r\n\tab", *"\u0301\u0300\u0309\u200d\u200c\ufe0f\U0001f3fb", *"\u0903\u093e\u0600\u0d4e", *"é漢¼"]
CLASSES += [*"\u1100\u1161\u11a8\uac00\uac01\U00016d63", *"\U0001f1e6\U0001f1e7©☃☀\U0001f600"]
CLASSES += [*"\u0915\u0916\u0995\u1000", *"\u094d\u09cd\u1039\u17d2\u093c"]


def both(data: bytes) -> tuple[Any, Any]:
    return Precompiled(base64.b64encode(data).decode()), stock.normalizers.Precompiled(data).normalize_str


def random_text(rng: random.Random, letters: list[str]) -> str:
    return "".join(rng.choices(rng.sample(letters, min(len(letters), rng.randint(1, 6))), k=rng.randint(0, 10)))


def changed() -> list[str]:
    """Return characters that rules change, or that are marks."""
    return [chr(c) for c in range(0x3100) if unicodedata.normalize("NFKC", chr(c)) != chr(c)] + CLASSES


@pytest.mark.daily
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", NAMES)
def test_every_code_point_is_normalized_as_by_tokenizers(name: str) -> None:
    ours, theirs = both(charsmap(name))
    codes = (
        range(0x110000) if FULL else itertools.chain(range(0x3400), range(0xA000, 0xAD00), range(0xF000, 0x1FA00))
    )
    characters = [chr(c) for c in codes if not 0xD800 <= c < 0xE000]
    for start in range(0, len(characters), 10_000):
        some = characters[start : start + 10_000]
        for text in ("\n".join(some), "".join(f"\n{c}a\n\xa0{c}\n{c}\u0301" for c in some)):
            assert ours(text) == theirs(text)


@pytest.mark.parametrize("name", NAMES)
def test_random_texts_are_normalized_as_by_tokenizers(name: str) -> None:
    ours, theirs = both(charsmap(name))
    rng = random.Random(f"{SEED} precompiled {name}")
    letters = changed()
    for _ in rounds(3000, 300_000):
        text = random_text(rng, letters)
        assert ours(text) == theirs(text), text


def test_graphemes_end_where_they_end_in_tokenizers() -> None:
    ours, theirs = both(packed({character: chr(0x4E00 + i) for i, character in enumerate(CLASSES)}))
    rng = random.Random(f"{SEED} graphemes")
    for _ in rounds(10_000, 2_000_000):
        text = random_text(rng, CLASSES)
        assert ours(text) == theirs(text), text
    for some in itertools.product("\u0915\u1000\u094d\u200d\u0300", repeat=5):
        text = "".join(some) + "\u0301"
        assert ours(text) == theirs(text), text


@pytest.mark.daily
def test_characters_of_every_class_end_graphemes_as_in_tokenizers() -> None:
    names = [name[9:] for name in dir(huggingface_tables) if name.startswith("GRAPHEME_")]
    listed = sorted({ord(c) for name in names for c in grapheme_class(name)} - {0})
    for start in range(0, len(listed), 1000):
        some = [chr(c) for c in listed[start : start + 1000]]
        ours, theirs = both(packed({**dict.fromkeys(some, "X"), "a": "Y", "\u0301": "Z"}))
        for before, behind in (("a", ""), ("", "a"), ("", "a\u0301"), ("", "\u0301\u0301"), ("\u0915", "\u0915")):
            text = "\t".join(f"{before}{c}{behind}" for c in some)
            assert ours(text) == theirs(text)


@pytest.mark.parametrize("seed", rounds(4, 600))
def test_ids_and_places_are_those_of_tokenizers(seed: int) -> None:
    rng = random.Random(f"{SEED} precompiled places {seed}")
    rules = {source: "".join(rng.choices("abc", k=rng.randint(0, 3))) for source in rng.sample(CLASSES, 12)}
    data = packed(rules) if rng.random() < 0.5 else charsmap(rng.choice(NAMES))
    step = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(data).decode()}
    steps = rng.choice([[step], [step, {"type": "NFD"}], [{"type": "Prepend", "prepend": "é"}, step]])
    made = {**small([added(262, "<s>")]), "normalizer": {"type": "Sequence", "normalizers": steps}}
    twins = Twins.of(dumped(made).decode())
    loaded = fastbpe.load(dumped(made))
    letters = [*CLASSES, *"½ﬁⅧ㍿", "<s>"]
    for _ in range(60):
        text = random_text(rng, letters)
        twins.check(lambda t, s=text: t.encode(s), (text, rules))
        found = twins.theirs.encode(text)
        assert loaded.encode_with_offsets(text) == (found.ids, found.offsets), (text, rules)


def test_rules_survive_saving(tmp_path: Path) -> None:
    step = {"type": "Precompiled", "precompiled_charsmap": base64.b64encode(charsmap("nmt_nfkc")).decode()}
    loaded = fastbpe.load(dumped({**small(), "normalizer": step}))
    ids = loaded.encode("ﬁá½")
    loaded.save(tmp_path / "native")
    loaded.export(tmp_path / "tokenizer.json", format="huggingface")
    assert fastbpe.load(tmp_path / "native").encode("ﬁá½") == ids
    for each in (loaded, fastbpe.load(tmp_path / "tokenizer.json")):
        assert fastbpe.steps(each)["normalizers"] == [step]
    assert stock.Tokenizer.from_file(str(tmp_path / "tokenizer.json")).encode("ﬁá½").ids == ids


def test_charsmaps_are_taken_and_refused_like_the_original() -> None:
    data = charsmap("nfkc")
    values: list[Any] = [data, bytearray(data), memoryview(data), [*data], b"", b"abc", data[:100], None, 5, "x"]
    values += [[1, "a"], [300], [-1], iter(data)]
    for value in values:
        Twins(face, stock).check(lambda m, value=value: repr(m.normalizers.Precompiled(value)), value)


@pytest.mark.parametrize(
    "encoded", [None, "", "abc", "!", 5, [1], base64.b64encode(charsmap("nfkc")[:-1]).decode()]
)
def test_damaged_charsmaps_in_files_are_refused(encoded: Any) -> None:
    made = small() | {"normalizer": {"type": "Precompiled", "precompiled_charsmap": encoded}}
    for read in (lambda: fastbpe.load(dumped(made)), lambda: face.Tokenizer.from_str(json.dumps(made))):
        with pytest.raises(FormatError, match="recompiled"):
            read()


def test_a_target_that_is_not_utf8_is_refused() -> None:
    data = packed({"a": "é"})
    with pytest.raises(FormatError, match="not UTF-8"):
        face.normalizers.Precompiled(data[:-2] + b"\0")
