"""Tokenizers that merge nothing: ways to encode agree, files keep them, broken files are errors."""

from __future__ import annotations

import contextlib
import copy
import json
import pickle
import random
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

import fastbpe
import fastbpe.sentencepiece as face
from fastbpe import FastbpeError, FormatError, FormatWarning, Tokenizer, load, train
from fastbpe.formats.sentencepiece import model_file as sentencepiece_format
from fastbpe.model import PieceType
from helpers.sampling import n_rounds
from helpers.segmented_models import random_score, random_unigram, tokenizer_json, unigram_model
from helpers.shared_data import standard_library
from helpers.tokenizer_json import added

NORMAL, UNKNOWN, BYTE = PieceType.NORMAL, PieceType.UNKNOWN, PieceType.BYTE
LINES = [
    "the low lower lowest, a new newer newest!",
    "wide wider widest: 12 or 345?",
    "Ünïcödé 漢字かな 👍👍",
    "  two  ",
] * 9
BITS = [
    "low",
    " lower",
    "newest",
    " ",
    "  ",
    "\n",
    "a",
    "é",
    "漢字",
    "👍",
    "12",
    "▁",
    "<tag>",
    "x",
    ".",
    "the lowest. ",
    "\ud83d",
]


def _document(kind: str) -> dict[str, Any]:
    rng = random.Random(kind)
    words = sorted({word[:n] for line in LINES for word in line.split() for n in range(1, 9)})
    marks = ["▁" + word for word in words]
    if kind == "Unigram":
        pieces = [(word, random_score(rng, "any")) for word in [*words, *marks, "▁"]]
        return {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], *map(list, pieces)]}
    if kind == "Unigram of bytes":
        of_bytes = [(f"<0x{byte:02X}>", -9.0) for byte in range(256)]
        pieces = [("<unk>", 0.0), *((word, random_score(rng, "ties")) for word in words), *of_bytes]
        return {"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": True}
    if kind == "WordPiece":
        rest = {"##" + word[at:] for word in words for at in range(1, len(word), 2)}
        listed = {"[UNK]": 0} | {word: i for i, word in enumerate(sorted({*words} | rest), 1)}
        options = {"continuing_subword_prefix": "##", "max_input_chars_per_word": 20}
        return {"type": kind, "unk_token": "[UNK]", "vocab": listed, **options}
    return {
        "type": kind,
        "unk_token": "[UNK]",
        "vocab": {"[UNK]": 0} | {word: i for i, word in enumerate(words, 1)},
    }


@lru_cache
def tokenizers() -> dict[str, Tokenizer]:
    """Make a tokenizer of each kind."""
    made: dict[str, Tokenizer] = {}
    quiet: dict[str, Any] = {"mode": "unigram", "progress": False, "hard_vocab_limit": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastbpe.TrainingWarning)
        made["trained"] = train([standard_library(60_000)], vocab_size=500, **quiet)
        made["trained, bytes"] = train(LINES, vocab_size=400, byte_fallback=True, character_coverage=0.98, **quiet)
        made["trained, whole sentences"] = train(LINES, vocab_size=80, split_by_whitespace=False, **quiet)
        made["trained, suffixes"] = train(LINES, vocab_size=90, treat_whitespace_as_suffix=True, **quiet)
        made["trained, symbols"] = train(
            LINES,
            vocab_size=90,
            user_defined_symbols=["<tag>", "ow"],
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
            add_dummy_prefix=False,
            **quiet,
        )
    for style in ("resets", "near ties"):
        made[style] = Tokenizer(random_unigram(random.Random(style), style))
    tags = [added(5_000, "<tag>", special=False)]
    for kind in ("Unigram", "Unigram of bytes", "WordPiece", "WordLevel"):
        for split in ("WhitespaceSplit", "Metaspace", "whole"):
            made[f"{kind}, {split}"] = _loaded(tokenizer_json(_document(kind), split, added_tokens=tags))
    lower = {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]}
    made["WordPiece, lower"] = _loaded(tokenizer_json(_document("WordPiece"), normalizer=lower))
    return made


def _loaded(data: bytes) -> Tokenizer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        made = load(data)
    assert isinstance(made, Tokenizer)
    return made


NAMES = [
    *("trained", "trained, bytes", "trained, whole sentences", "trained, suffixes", "trained, symbols"),
    *("resets", "near ties", "WordPiece, lower"),
    *(
        f"{k}, {s}"
        for k in ("Unigram", "Unigram of bytes", "WordPiece", "WordLevel")
        for s in ("WhitespaceSplit", "Metaspace", "whole")
    ),
]


def texts(name: str, n: int, longest: int = 25) -> Iterator[str]:
    """Yield random texts, short and long ones."""
    rng = random.Random(name)
    yield ""
    for _ in range(n):
        yield "".join(rng.choices(BITS, k=rng.randint(0, longest)))


def sound(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


@pytest.mark.parametrize("name", NAMES)
def test_every_way_to_encode_gives_the_same_ids(name: str) -> None:
    tokenizer = tokenizers()[name]
    listed = [*texts(name, n_rounds(300, 4_000)), *texts(name + " long", 3, 3_000)]
    expected = [tokenizer.encode(text) for text in listed]
    assert tokenizer.encode_batch(listed) == expected
    assert tokenizer.encode_batch(listed, num_threads=3) == expected
    flat, ends = tokenizer.encode_batch_to_numpy(listed)
    assert flat.tolist() == [token for ids in expected for token in ids]
    assert ends.tolist() == [*accumulate(map(len, expected), initial=0)]
    assert [*tokenizer.count_batch(listed)] == [*map(len, expected)]
    found = tokenizer.encode_batch_with_offsets(listed)
    for text, ids_of_text, (of_batch, spans) in zip(listed, expected, found, strict=True):
        assert tokenizer.encode(text, num_threads=2) == ids_of_text, text
        assert tokenizer.encode_ordinary(text) == ids_of_text, text
        assert tokenizer.encode_to_numpy(text).tolist() == ids_of_text, text
        assert tokenizer.encode_with_offsets(text) == (of_batch, spans) == (ids_of_text, spans), text
        assert tokenizer.encode(sound(text).encode()) == tokenizer.encode(sound(text)), text
        assert all(0 <= begin <= end <= len(text) for begin, end in spans), text
        n = len(ids_of_text)
        assert tokenizer.count(text) == n, text
        assert tokenizer.count(text, max_tokens=n // 2) == min(n, n // 2 + 1), text
        assert tokenizer.fits(text, n), text
        assert not n or not tokenizer.fits(text, n - 1), text
    with ThreadPoolExecutor(4) as pool:
        assert [*pool.map(tokenizer.encode, listed)] == expected


@pytest.mark.parametrize("name", NAMES)
def test_parts_of_texts_have_the_ids_that_are_promised(name: str) -> None:
    tokenizer = tokenizers()[name]
    rng = random.Random(name)
    for text in map(sound, texts(name + " parts", n_rounds(200, 3_000))):
        total = tokenizer.count(text)
        for most in {0, 1, total // 2, total, total + 1}:
            part, n = tokenizer.truncate(text, most, with_total=True)
            assert text.startswith(part), (text, most)
            assert n == total, (text, most)
            assert tokenizer.count(part) <= most, (text, most, part)
            left = tokenizer.truncate(text, most, side="left")
            assert text.endswith(left), (text, most)
            assert tokenizer.count(left) <= most, (text, most, left)
            if total <= most:
                assert part == left == text, (text, most)
        most = rng.randint(9, 20)
        chunks = [*tokenizer.chunk(text, most, with_spans=True)]
        assert "".join(chunk.text for chunk in chunks) == text, (text, most)
        for chunk in chunks:
            assert text[chunk.start : chunk.end] == chunk.text, (text, most)
            assert chunk.n_tokens == tokenizer.count(chunk.text) <= most, (text, most, chunk)
        counter = tokenizer.interval_counter(text)
        for _ in range(5):
            begin, end = sorted(rng.choices(range(len(text) + 1), k=2))
            assert counter(begin, end) == tokenizer.count(text[begin:end]), (text, begin, end)


@pytest.mark.parametrize("name", NAMES)
def test_streams_give_what_whole_texts_give(name: str) -> None:
    tokenizer = tokenizers()[name]
    rng = random.Random(name)
    for text in texts(name + " streams", n_rounds(300, 4_000)):
        ids = tokenizer.encode(text)
        stream, out, at = tokenizer.encoder(), [], 0
        while at < len(text):
            n = rng.choice([1, 2, 5, 30])
            out += stream.push(text[at : at + n])
            at += n
        assert out + stream.finish() == ids, text
        back, decoded, at = tokenizer.decoder(), "", 0
        while at < len(ids):
            n = rng.choice([1, 2, 5])
            decoded += back.push(ids[at : at + n])
            at += n
        assert decoded + back.finish() == tokenizer.decode(ids), text
        assert tokenizer.decode_batch([ids, ids]) == [tokenizer.decode(ids)] * 2, text
        assert tokenizer.decode_bytes(ids).decode() == tokenizer.decode(ids), text
        assert tokenizer.is_lossless(text) == (tokenizer.decode(ids) == sound(text)) or "\ud83d" in text, text
        assert [piece_id for piece in tokenizer.explain(text).pieces for piece_id in piece.ids] == ids, text


@pytest.mark.parametrize("name", NAMES)
def test_files_pickles_and_copies_keep_a_tokenizer(name: str, tmp_path: Path) -> None:
    tokenizer = tokenizers()[name]
    tokenizer.save(tmp_path / "saved.fbpe")
    listed = [*texts(name + " kept", n_rounds(200, 3_000))]
    expected = [tokenizer.encode_with_offsets(text) for text in listed]
    decoded = [tokenizer.decode(ids) for ids, _ in expected]
    kept = [
        load(tmp_path / "saved.fbpe"),
        pickle.loads(pickle.dumps(tokenizer)),
        copy.copy(tokenizer),
        copy.deepcopy(tokenizer),
    ]
    for again in kept:
        assert again == tokenizer
        assert again.fingerprint == tokenizer.fingerprint
        assert again.vocab == tokenizer.vocab
    file = "exported.model" if tokenizer.mode == "codepoint" else "exported.json"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FormatWarning)
        tokenizer.export(tmp_path / file, format="sentencepiece" if file.endswith("model") else "huggingface")
        kept.append(load(tmp_path / file))
    for again in kept:
        assert [again.encode_with_offsets(text) for text in listed] == expected
        assert [again.decode(ids) for ids, _ in expected] == decoded


# Broken files

WRONG: tuple[Any, ...] = (
    None,
    0,
    -1,
    1.5,
    float("nan"),
    float("inf"),
    1 << 70,
    True,
    "",
    "x",
    [],
    [["a"]],
    [["a", None]],
    {},
    {"a": -1},
)
SMALL: dict[str, dict[str, Any]] = {
    "Unigram": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0], ["▁", -2]]},
    "WordPiece": {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": {"[UNK]": 0, "a": 1, "##b": 2},
    },
    "WordLevel": {"type": "WordLevel", "unk_token": "[UNK]", "vocab": {"[UNK]": 0, "a": 1}},
}


def _places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to each value in a document."""
    if place:
        yield place
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        yield from _places(value[key], (*place, key))


@pytest.mark.filterwarnings("ignore::fastbpe.FormatWarning")
@pytest.mark.parametrize("kind", SMALL)
def test_each_damaged_field_is_an_error_or_leaves_a_tokenizer(kind: str) -> None:
    whole = json.loads(tokenizer_json(SMALL[kind], "Metaspace", added_tokens=[added(1, "a", special=True)]))
    n_refused = 0
    for place in _places(whole):
        for wrong in (*WRONG, "remove it"):
            damaged = copy.deepcopy(whole)
            at = damaged
            for key in place[:-1]:
                at = at[key]
            if wrong == "remove it":
                del at[place[-1]]
            else:
                at[place[-1]] = wrong
            try:
                tokenizer = load(json.dumps(damaged).encode())
            except FormatError:
                n_refused += 1
                continue
            for text in ("a ab", "", "aab x 漢", "[UNK]<unk>"):
                try:
                    assert (
                        tokenizer.encode(text, allowed_special="all")
                        == tokenizer.encode_batch([text], allowed_special="all")[0]
                    ), (place, wrong)
                except FastbpeError:
                    assert "unk" in json.dumps(damaged["model"]), (place, wrong)
    assert n_refused > 100


@pytest.mark.parametrize("kind", SMALL)
def test_cut_off_files_are_errors(kind: str) -> None:
    data = tokenizer_json(SMALL[kind])
    for n in range(len(data)):
        with pytest.raises(FormatError):
            load(data[:n])


@pytest.mark.parametrize(
    ("pieces", "trainer"),
    [
        ([(b"a", float("nan"), NORMAL)], {}),
        ([(b"a", float("inf"), NORMAL)], {}),
        ([(b"a", float("-inf"), NORMAL)], {}),
        ([(b"a", -1.0, NORMAL), (b"a", -2.0, NORMAL)], {}),
        ([(b"a", -1.0, NORMAL), (b"a", -2.0, PieceType.UNUSED)], {}),
        ([(b"a\0b", -1.0, NORMAL)], {}),
        ([(b"", -1.0, NORMAL)], {}),
        ([(b"a", -1.0, NORMAL), (b"<0x41>", -1.0, BYTE)], {"byte_fallback": True}),
        ([(b"a", -1.0, NORMAL), (b"<0x41>", -1.0, BYTE)], {}),
        ([(b"a", -1.0, UNKNOWN)], {}),
    ],
    ids=str,
)
def test_broken_models_are_errors(pieces: list[tuple[bytes, float, int]], trainer: dict[str, Any]) -> None:
    """Scores that are not numbers, equal pieces, NUL, missing bytes, two unknown pieces."""
    data = sentencepiece_format.dump(unigram_model([(b"<unk>", 0.0, UNKNOWN), *pieces], trainer))
    with pytest.raises(FormatError):
        load(data)
    with pytest.raises(RuntimeError):
        face.SentencePieceProcessor(model_proto=data)


def test_model_without_an_unknown_piece_is_an_error() -> None:
    data = sentencepiece_format.dump(unigram_model([(b"a", -1.0, NORMAL)]))
    with pytest.raises(FormatError):
        load(data)


@pytest.mark.filterwarnings("ignore::fastbpe.FormatWarning")
@pytest.mark.parametrize("seed", range(4))
def test_changed_bytes_of_files_are_errors_or_leave_a_tokenizer(seed: int, tmp_path: Path) -> None:
    """Bytes of a .model, of a native file and of a tokenizer.json change at random."""
    rng = random.Random(f"bytes {seed}")
    model = random_unigram(rng, "any")
    Tokenizer(model).save(tmp_path / "a.fbpe")
    of_file = tokenizers()["Unigram of bytes, Metaspace"]
    of_file.save(tmp_path / "b.fbpe")
    files = [
        sentencepiece_format.dump(model),
        (tmp_path / "a.fbpe").read_bytes(),
        (tmp_path / "b.fbpe").read_bytes(),
        tokenizer_json(SMALL[rng.choice([*SMALL])]),
    ]
    for data in files:
        for _ in range(n_rounds(400, 5_000)):
            changed = bytearray(data)
            for _ in range(rng.choice([1, 1, 3])):
                changed[rng.randrange(len(changed))] = rng.choice([0, 0xFF, rng.randrange(256)])
            try:
                tokenizer = load(bytes(changed))
            except FastbpeError:
                continue
            if isinstance(tokenizer, Tokenizer):
                for text in ("abc é漢 x", "", "▁a b"):
                    with contextlib.suppress(FastbpeError):
                        tokenizer.decode(tokenizer.encode(text, disallowed_special=()))
