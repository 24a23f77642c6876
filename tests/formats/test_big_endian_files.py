"""Files of fastbpe on processors of both byte orders.

`use_other_order` changes only `sys.byteorder`. Files then hold the numbers of this machine with their bytes
reversed, as a big-endian processor reads and writes them. The fingerprints were computed on a little-endian one.
"""

import json
import pickle
import sys
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import IdMap, PieceCounts, Tokenizer
from fastbpe.formats import gpt2, native
from fastbpe.formats.atomic_files import map_file
from fastbpe.formats.byte_order import little_endian
from fastbpe.formats.charsmap import Charsmap
from fastbpe.model import Model
from fastbpe.normalization.sentencepiece_rules import compile_rules
from helpers.native_files import parts

TEXTS = ["low lower lowest new newer newest wide wider widest " * 20]
PHRASES = [
    "the cat sat on the mat, the cat ran on the mat. " * 20,
    "a cat on the mat and the dog on the rug " * 15,
]
UNIGRAM: dict[str, Any] = {
    "model": {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.5], ["b", -2.25], ["ab", -3.0]]},
    "added_tokens": [],
    "normalizer": None,
    "pre_tokenizer": None,
    "post_processor": None,
    "decoder": None,
}
KINDS: dict[str, Callable[[], Tokenizer]] = {
    "ranks": lambda: fastbpe.train(TEXTS, vocab_size=270, special_tokens=["<|end|>"], progress=False),
    "merges": lambda: Tokenizer.from_merges([(97, 98), (256, 99), (98, 99)], pattern="cl100k"),
    "boundless": lambda: fastbpe.train(PHRASES, vocab_size=279, superwords="boundless", progress=False),
    "codepoint": lambda: fastbpe.train(TEXTS, mode="codepoint", vocab_size=30, progress=False),
    "unigram": lambda: fastbpe.train(TEXTS, mode="unigram", vocab_size=20, progress=False),
    "character": lambda: fastbpe.load(json.dumps(UNIGRAM).encode()),
}
FINGERPRINTS = {
    "ranks": "0fb90fdd72dd3e78",
    "merges": "26ee1d99fe753372",
    "boundless": "bf6330b9b17b59ab",
    "codepoint": "e42ff14776a952c9",
    "unigram": "f0a1bcc29f804549",
    "character": "1fc4ef90c638eb6d",
}


def use_other_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "byteorder", "big" if sys.byteorder == "little" else "little")


@pytest.mark.parametrize("kind", KINDS)
def test_tokenizer_round_trips_in_the_other_byte_order(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer, path = KINDS[kind](), tmp_path / "a.fbpe"
    expected, fingerprint = tokenizer.encode(PHRASES[0]), tokenizer.fingerprint
    use_other_order(monkeypatch)
    tokenizer.save(path)
    loaded = fastbpe.load(path), pickle.loads(pickle.dumps(tokenizer))
    monkeypatch.undo()
    for again in loaded:
        assert (again.encode(PHRASES[0]), again.fingerprint) == (expected, fingerprint)


@pytest.mark.parametrize("kind", KINDS)
def test_fingerprint_does_not_depend_on_the_processor(kind: str) -> None:
    assert KINDS[kind]().fingerprint[:16] == FINGERPRINTS[kind]


def test_files_of_both_byte_orders_hold_the_same_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer, path = KINDS["merges"](), tmp_path / "a.fbpe"
    tokenizer.save(path)
    header, tables = parts(path.read_bytes())
    use_other_order(monkeypatch)
    tokenizer.save(path)
    other_header, other_tables = parts(path.read_bytes())
    for name, n_bytes in {"token_bytes": 1, "token_ends": 4, "merges": 4}.items():
        (start, size), (other_start, other_size) = header["sections"][name], other_header["sections"][name]
        numbers, other = tables[start : start + size], other_tables[other_start : other_start + other_size]
        assert other == b"".join(numbers[i : i + n_bytes][::-1] for i in range(0, size, n_bytes)), name


def test_big_endian_processor_leaves_hash_tables_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.fbpe"
    monkeypatch.setattr(sys, "byteorder", "little")
    KINDS["ranks"]().save(path)
    assert {"pieces", "pair_lines"} <= parts(path.read_bytes())[0]["sections"].keys()
    monkeypatch.setattr(sys, "byteorder", "big")
    KINDS["ranks"]().save(path)
    assert parts(path.read_bytes())[0]["sections"].keys() == {"token_bytes", "token_ends", "merges"}


def test_bytes_after_the_last_whole_number_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "byteorder", "big")
    assert little_endian(b"abcdefg", 4) == b"dcbaefg"
    assert little_endian(b"", 8) == b""


@pytest.mark.parametrize("mode", ["byte", "codepoint", "unigram"])
def test_counts_round_trip_in_the_other_byte_order(
    mode: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    use_other_order(monkeypatch)
    counts, path = fastbpe.count_pieces(TEXTS, mode=mode, progress=False), tmp_path / "counts"
    counts.save(path)
    assert PieceCounts.load(path) == counts == pickle.loads(pickle.dumps(counts))


def test_id_map_round_trips_in_the_other_byte_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = IdMap(3, [0, 2, -1], {2: [0, 1]})
    use_other_order(monkeypatch)
    ids.save(tmp_path / "ids")
    assert IdMap.load(tmp_path / "ids") == ids


def test_slow_reader_of_gpt2_files_has_the_numbers_of_the_processor() -> None:
    files = b'{"a": 0, "b": 1, "ab": 2}', b"#version: 0.2\na b\n"
    contents = gpt2.read_slowly(*files, ("vocab.json", "merges.txt"))
    assert memoryview(contents.token_ends).cast("I").tolist() == [1, 2, 4]


def test_rules_of_a_charsmap_are_found_in_both_byte_orders(monkeypatch: pytest.MonkeyPatch) -> None:
    charsmap = compile_rules({"\ufb01": "fi"})
    assert Charsmap(charsmap).find("\ufb01") == "fi"
    n = 4 + int.from_bytes(charsmap[:4], "little")
    units = array("I", charsmap[4:n])
    units.byteswap()
    use_other_order(monkeypatch)
    assert Charsmap(charsmap[:4] + units.tobytes() + charsmap[n:]).find("\ufb01") == "fi"


def test_threads_share_no_views_of_the_merges_of_a_mapped_file(tmp_path: Path) -> None:
    """CPython counts the views of one buffer without a lock even if there is no GIL."""
    path = tmp_path / "a.fbpe"
    KINDS["merges"]().save(path)
    model = native.parse(map_file(path), "a.fbpe")
    assert isinstance(model, Model)
    assert type(model.merges) is bytes
