"""Shards divide a large file between documents: together they are the whole, each document once, in order."""

from __future__ import annotations

import gzip
import json
import random
from pathlib import Path
from typing import Any

import pytest

from fastbpe import FormatError, Tokenizer, merge_shards, open_ids
from fastbpe.corpus import file_parts
from fastbpe.corpus.document_formats import BOM
from fastbpe.id_files.verifying import verify_ids
from helpers.sampling import SEED, n_rounds, some

WORDS = ["", "one", "two three", "\ufeffmarked", "пять 👍", "x" * 400, "a\r\nb"]
SEPARATORS = ["\n", "\n\n", "aa", "--", "<|>", "aba"]


def texts_of(rng: random.Random, n: int) -> list[str]:
    return [rng.choice(WORDS) for _ in range(n)]


def write(path: Path, texts: list[str], separator: str | None) -> dict[str, Any]:
    """Write documents into a file, and return the options to read it with."""
    if path.suffix == ".parquet":
        arrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(arrow.table({"text": texts}), path, row_group_size=7)
        return {}
    if ".jsonl" in path.name:
        data = "".join(json.dumps({"text": text}) + "\n" * (1 + i % 3) for i, text in enumerate(texts)).encode()
        options: dict[str, Any] = {}
    else:
        data = (separator or "").join(texts).encode()
        options = {"separator": separator}
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return options


def documents(path: Path) -> list[list[int]]:
    return [document.tolist() for document in open_ids(path)]


@pytest.mark.daily
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.jsonl", "a.jsonl.gz", "a.parquet"])
def test_shards_of_one_file_are_the_whole(
    code_tokenizer: Tokenizer, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(f"{SEED} {name}")
    for i in range(n_rounds(3, 100)):
        separator = rng.choice(SEPARATORS)
        source = tmp_path / f"{i}{name}"
        options = write(source, texts_of(rng, rng.randrange(60)), separator)
        code_tokenizer.encode_files(source, tmp_path / f"{i}single.bin", progress=False, **options)
        block = rng.choice([1 << 20, 64, 5])
        monkeypatch.setattr(file_parts, "_BLOCK", block)
        monkeypatch.setattr(file_parts, "_BACK", rng.choice([1 << 20, 9]))
        n = rng.choice([2, 3, 7, 40])
        for shard in range(n):
            code_tokenizer.encode_files(
                source, tmp_path / f"{i}parts.bin", shard=(shard, n), progress=False, **options
            )
        assert documents(tmp_path / f"{i}parts.bin") == documents(tmp_path / f"{i}single.bin"), (separator, n)
        merge_shards(tmp_path / f"{i}parts.bin", tmp_path / f"{i}merged.bin", progress=False)
        for ending in ("", ".json", ".offsets"):
            data = Path(tmp_path, f"{i}merged.bin{ending}").read_bytes()
            assert data.replace(b"merged", b"single") == Path(tmp_path, f"{i}single.bin{ending}").read_bytes()
        assert verify_ids(tmp_path / f"{i}parts.bin", inputs=tmp_path, tokenizer=code_tokenizer).problems == ()


@pytest.mark.parametrize("seed", range(60))
def test_places_move_to_starts_of_documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    generator = random.Random(seed)
    separator = generator.choice([b"\n", b"\n\n", b"aba", b"aabaa"])
    parts = [b"a", b"b", b"\n", BOM, separator, separator[1:]]
    data = b"".join(generator.choices(parts, k=generator.randrange(1, 30)))
    (tmp_path / "a.txt").write_bytes(data)
    monkeypatch.setattr(file_parts, "_BLOCK", generator.choice([1, 2, 5, 64]))
    monkeypatch.setattr(file_parts, "_BACK", generator.choice([8, 64]))
    starts, at = [], 0
    while (found := data.find(separator, at)) >= 0:
        at = found + len(separator)
        if not data.startswith(BOM, at):
            starts.append(at)
    spanned = {
        place
        for i in range(len(data))
        if data.startswith(separator, i)
        for place in range(i + 1, i + len(separator))
    }
    expected = [
        next((start for start in starts if start > place or (start == place and place in spanned)), len(data))
        for place in range(1, len(data))
    ]
    found_cuts = file_parts.cuts(tmp_path / "a.txt", "", separator, range(1, len(data)), len(data))
    assert found_cuts == expected, (data, separator)


@pytest.mark.parametrize("name", some(["a.txt", "a.txt.gz", "a.jsonl", "a.jsonl.gz", "a.parquet"], 3))
def test_shards_of_one_large_file_have_about_the_same_size(
    code_tokenizer: Tokenizer, tmp_path: Path, name: str
) -> None:
    options = write(tmp_path / name, [f"the text of document {i}" for i in range(900)], "\n")
    counts = []
    for shard in range(3):
        summary = code_tokenizer.encode_files(
            tmp_path / name, tmp_path / "out.bin", shard=(shard, 3), progress=False, **options
        )
        counts.append(summary.n_documents)
    assert sum(counts) == 900
    assert max(counts) - min(counts) < 30


@pytest.mark.daily
def test_small_files_and_a_large_one_keep_their_order(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    rng = random.Random(3)
    for i, n in enumerate((3, 0, 200, 2, 5, 90, 1)):
        write(tmp_path / "in" / f"{i}.jsonl", texts_of(rng, n), None)
    (tmp_path / "in" / "9.txt").write_text("one document\nof two lines")
    code_tokenizer.encode_files(tmp_path / "in", tmp_path / "single.bin", progress=False)
    for n in (2, 5, 11, 64):
        for shard in random.Random(n).sample(range(n), n):
            code_tokenizer.encode_files(tmp_path / "in", tmp_path / f"{n}.bin", shard=(shard, n), progress=False)
        assert documents(tmp_path / f"{n}.bin") == documents(tmp_path / "single.bin")


def test_text_without_separator_is_one_document_of_one_shard(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\ntwo\n" * 50)
    for shard in range(3):
        code_tokenizer.encode_files(tmp_path / "a.txt", tmp_path / "out.bin", shard=(shard, 3), progress=False)
    assert [len(open_ids(path)) for path in open_ids(tmp_path / "out.bin").paths] == [0, 1, 0]


def test_manifest_names_the_part_and_verify_compares_its_bytes(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    write(source, ["one", "two", "three", "four"], None)
    for shard in range(2):
        code_tokenizer.encode_files(source, tmp_path / "out.bin", shard=(shard, 2), progress=False)
    manifests = [json.loads(path.read_bytes()) for path in sorted(tmp_path.glob("*.manifest.json"))]
    parts = [manifest["inputs"][0]["part"] for manifest in manifests]
    assert [part["start"] for part in parts] == [0, parts[0]["end"]]
    assert (parts[1]["end"], parts[1]["unit"]) == (source.stat().st_size, "bytes")
    data = bytearray(source.read_bytes())
    data[parts[1]["start"] + 12] ^= 1
    source.write_bytes(data)
    (problem,) = verify_ids(tmp_path / "out.bin", inputs=tmp_path).problems
    assert problem.startswith(f"{source} from byte {parts[1]['start']} on: its SHA-256 is ")


def test_error_in_a_part_names_the_file_and_the_part(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    write(source, ["one", "two", "three", "four"], None)
    source.write_bytes(source.read_bytes() + b'{"text": 5}\n')
    with pytest.raises(FormatError, match=r"a\.jsonl from byte \d+ on:\d: its field 'text' is int, not a string"):
        code_tokenizer.encode_files(source, tmp_path / "out.bin", shard=(1, 2), progress=False)
    summary = code_tokenizer.encode_files(
        source, tmp_path / "out.bin", shard=(1, 2), on_error="skip", progress=False
    )
    assert summary.n_skipped == 1


def test_bytes_that_are_not_utf8_are_replaced_in_every_shard(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"\n".join([b"one", b"t\xffwo", b"\xc3", b"three"] * 20))
    options: dict[str, Any] = {"separator": "\n", "errors": "replace", "progress": False}
    code_tokenizer.encode_files(tmp_path / "a.txt", tmp_path / "single.bin", **options)
    for shard in range(5):
        code_tokenizer.encode_files(tmp_path / "a.txt", tmp_path / "out.bin", shard=(shard, 5), **options)
    assert documents(tmp_path / "out.bin") == documents(tmp_path / "single.bin")
    options["separator"] = "\ufffd"  # which replacing makes
    code_tokenizer.encode_files(tmp_path / "a.txt", tmp_path / "single2.bin", **options)
    for shard in range(2):
        code_tokenizer.encode_files(tmp_path / "a.txt", tmp_path / "out2.bin", shard=(shard, 2), **options)
    assert documents(tmp_path / "out2.bin") == documents(tmp_path / "single2.bin")
