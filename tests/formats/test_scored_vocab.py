"""The fast reader of a Unigram's pieces and scores, and its slow twin: the same models, errors and scores."""

import json
import random
import struct
from contextlib import suppress
from typing import Any

import pytest

import fastbpe.tokenizers as face
from fastbpe.errors import FormatError
from fastbpe.formats import detect
from fastbpe.formats.huggingface import scored_vocab
from fastbpe.formats.huggingface.serde_numbers import serde_float
from helpers.sampling import n_rounds

PIECES = ["<unk>", "▁", "a", "ab", "▁ab", '"', "\\", "\n", "é", "日本", "\U0001f600", "", "\x00", "a b"]


def document(pairs: list[tuple[str, str]], **members: Any) -> str:
    """A tokenizer.json with the scores as they are spelled."""
    vocab = ", ".join(f"[{json.dumps(piece)}, {score}]" for piece, score in pairs)
    model = json.dumps({"type": "Unigram", "unk_id": 0, "vocab": "VOCAB", "byte_fallback": False, **members})
    whole = {"version": "1.0", "added_tokens": [], "normalizer": None, "pre_tokenizer": None, "model": "MODEL"}
    return json.dumps(whole).replace('"MODEL"', model).replace('"VOCAB"', f"[{vocab}]")


def both_ways(data: bytes, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Models and vocabularies that the fast reader and its slow twin make of a file, or their errors."""
    out: list[Any] = []
    for is_fast in (True, False):
        found: list[Any] = []
        with monkeypatch.context() as patch:
            if not is_fast:
                patch.setattr(scored_vocab, "read", lambda data: None)
            for read in (detect.read, lambda data: face.Tokenizer.from_buffer(data).to_str()):
                try:
                    found.append(read(data))
                except (FormatError, UnicodeError) as error:
                    found.append(str(error))
        out.append(found)
    return out


def number(rng: random.Random) -> str:
    text = str(rng.randrange(10 ** rng.choice((1, 1, 2, 8, 19, 20, 25))))
    if rng.random() < 0.2:
        text = str((1 << 64) // 10 ** rng.randrange(3) + rng.randrange(-30, 30))  # about the greatest integer
    if rng.random() < 0.8:
        text += "." + "".join(rng.choice("0123456789") for _ in range(rng.choice((1, 6, 14, 17, 18, 19, 25))))
    if rng.random() < 0.2:
        text += rng.choice("eE") + rng.choice(("", "+", "-")) + str(rng.randrange(rng.choice((3, 30, 330, 400))))
    return rng.choice(("", "-")) + text


def test_numbers_have_the_bits_that_tokenizers_gives_them() -> None:
    tokenizers = pytest.importorskip("tokenizers")
    rng = random.Random(2)
    spelled = ["1e-" + "9" * 5000, "1e-" + "0" * 5000 + "1", "0e" + "9" * 5000, "18446744073709551616.30e-20"]
    for text in (number(rng) for _ in range(n_rounds(3_000, 100_000))):
        with suppress(ValueError):
            serde_float(text)
            spelled.append(text)
    made = tokenizers.Tokenizer.from_str(document([(str(i), text) for i, text in enumerate(spelled)]))
    for text, (_, wanted) in zip(spelled, json.loads(made.to_str())["model"]["vocab"], strict=True):
        assert serde_float(text) == wanted, text


@pytest.mark.parametrize("text", ["1e" + "9" * 5000, "1e2147483648", "-1e309"])
def test_number_beyond_floats_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match="too large"):
        serde_float(text)


def test_numbers_have_the_bits_that_the_slow_twin_gives_them() -> None:
    rng = random.Random(1)
    for _ in range(n_rounds(6_000, 300_000)):
        text = number(rng)
        try:
            wanted = struct.pack("=d", serde_float(text))
        except ValueError:
            wanted = b"too large"
        found = scored_vocab.read(document([("a", text)]).encode())
        assert (b"too large" if found is None else found.scores) == wanted, text


def test_fast_and_slow_reader_agree_on_random_files(monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(n_rounds(300, 3_000)):
        rng = random.Random(f"scored {seed}")
        pairs = [(rng.choice(PIECES), number(rng)) for _ in range(rng.randrange(1, 12))]
        kind = rng.choice(("Unigram", "Unigram", "Unigram", "WordLevel", "Other"))
        text = document(pairs, type=kind, unk_id=rng.choice((None, 0, len(pairs) - 1, len(pairs))))
        if rng.random() < 0.5:  # scores are spelled by Python then
            text = json.dumps(json.loads(text), ensure_ascii=rng.random() < 0.5, indent=rng.choice((None, 1, 4)))
        fast, slow = both_ways(text.encode(), monkeypatch)
        assert fast == slow, text


@pytest.mark.filterwarnings("ignore::fastbpe.FormatWarning")
def test_fast_and_slow_reader_agree_on_damaged_files(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(2)
    whole = document([(piece, "-1.5") for piece in PIECES]).encode()
    for _ in range(n_rounds(300, 3_000)):
        damaged = bytearray(whole)
        for _ in range(rng.choice((1, 1, 2, 5))):
            at = rng.randrange(len(damaged))
            damaged[at : at + rng.choice((0, 1, 1, 3))] = rng.choice(
                [b"", b'"', b",", b"\\", b"{", b"[", b"]", b"7", b" ", b"\xc4", b"\x00", b"e", b".", b"-"]
            )
        fast, slow = both_ways(bytes(damaged), monkeypatch)
        assert fast == slow, bytes(damaged)


def test_every_beginning_of_a_file_is_left_to_the_slow_twin() -> None:
    whole = document([(piece, "-1.5") for piece in PIECES]).encode()
    assert scored_vocab.read(whole) is not None
    assert [n for n in range(len(whole) - 1) if scored_vocab.read(whole[:n]) is not None] == []


@pytest.mark.parametrize(
    "text",
    [
        *(
            document([("a", score)])
            for score in ("01", "1.", ".5", "+1", "-", "1e", "1e400", "1e99999", "NaN", '"1"')
        ),
        *(document([("a", score)]) for score in ("true", "null", "1, 2", "[1]", "")),
        document([]),
        document([("a", "1")]).replace('"a"', r'"\ud800"'),
        document([("a", "1")]).replace('"model"', r'"\u006dodel"'),
        document([("a", "1")]).replace('"unk_id"', r'"\u0076ocab": [], "unk_id"'),
        document([("a", "1")], vocab={"a": 1}),
        document([("a", "1")]).replace('"unk_id"', '"vocab": [["b", 1]], "unk_id"'),
        document([("a", "1")]).replace('"model"', '"model": {"vocab": [["b", 1]]}, "model"'),
        '{"model": {}}',
        "[]",
        "",
    ],
)
def test_anything_unusual_is_left_to_the_slow_twin(text: str) -> None:
    assert scored_vocab.read(text.encode()) is None


def test_bytes_that_are_not_utf8_are_left_to_the_slow_twin() -> None:
    assert scored_vocab.read(document([("a", "1")]).encode().replace(b'"a"', b'"\xff"')) is None
