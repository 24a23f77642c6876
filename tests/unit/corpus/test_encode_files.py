"""encode_files: every input into every output, refusals, kills at any moment, and bounded memory."""

from __future__ import annotations

import dataclasses
import errno
import gzip
import json
import os
import random
import struct
import sys
import threading
from array import array
from collections.abc import Callable
from itertools import chain, pairwise
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest
import zstandard

from fastbpe import FilesSummary, FormatError, SpecialTokenError, Tokenizer, open_ids
from fastbpe._core.ids.little_endian import pack_ids
from fastbpe.corpus import encoding_run, file_encoding, sources
from fastbpe.corpus.sinks import TABLES, Sink, ids_path
from helpers.child_processes import run_python
from helpers.killed_runs import RUN_KILLED
from helpers.sampling import rounds
from helpers.shared_data import standard_library

TEXTS = ["one two\n", "", "drei vier<|endoftext|>", "пять 👍", *standard_library(4000).split("\n\n")]
SUFFIXES = (".bin", ".npy", ".parquet", ".arrow", ".idx")


def megatron_documents(index: Path) -> list[list[int]]:
    """Read a .idx and its .bin as Megatron-LM's indexed dataset describes them."""
    data = index.read_bytes()
    magic, version, code, n_sequences, n_bounds = struct.unpack_from("<9sQBQQ", data)
    assert (magic, version) == (b"MMIDIDX\0\0", 1)
    lengths = np.frombuffer(data, "<i4", n_sequences, 34)
    pointers = np.frombuffer(data, "<i8", n_sequences, 34 + 4 * n_sequences)
    bounds = np.frombuffer(data, "<i8", n_bounds, 34 + 12 * n_sequences)
    assert len(data) == 34 + 12 * n_sequences + 8 * n_bounds
    dtype, stored = {4: "<i4", 8: "<u2"}[code], index.with_suffix(".bin").read_bytes()
    sequences = [np.frombuffer(stored, dtype, n, at).tolist() for n, at in zip(lengths, pointers, strict=True)]
    return [[*chain.from_iterable(sequences[i:j])] for i, j in pairwise(bounds.tolist())]


def documents_of(out: Path) -> list[list[int]]:
    """Return the documents of an output, after checking its metadata."""
    if out.suffix == ".parquet":
        table = pyarrow.parquet.read_table(out)
        documents: list[list[int]] = table.column("input_ids").to_pylist()
        about = json.loads(pyarrow.parquet.ParquetFile(out).metadata.metadata[b"fastbpe"])
        assert table.schema.field("input_ids").type.value_type == pyarrow.type_for_alias(about["dtype"])
        ids = [token_id for document in documents for token_id in document]
    elif out.suffix == ".arrow":
        with pyarrow.memory_map(str(out)) as mapped:
            table = pyarrow.ipc.open_stream(mapped).read_all()
            table.validate(full=True)
            documents = table.column("input_ids").to_pylist()
        about = json.loads(table.schema.metadata[b"fastbpe"])
        assert table.schema.field("input_ids").type.value_type == pyarrow.type_for_alias(about["dtype"])
        ids = [token_id for document in documents for token_id in document]
    else:
        indexed = None
        if out.suffix == ".idx":
            assert not out.with_name(out.name + ".partial").exists()
            indexed, out = megatron_documents(out), out.with_suffix(".bin")
        about = json.loads(out.with_name(out.name + ".json").read_bytes())
        ids = (np.load(out) if out.suffix == ".npy" else np.fromfile(out, about["dtype"])).tolist()
        starts = np.fromfile(out.with_name(about["offsets"]), "<i8").tolist()
        documents = [ids[start:end] for start, end in pairwise(starts)]
        assert [starts[0], starts[-1]] == [0, len(ids)]
        assert indexed in (None, documents)
    assert (about["count"], about["documents"]) == (len(ids), len(documents))
    assert not out.with_name(out.name + ".partial").exists()
    return documents


@pytest.fixture
def jsonl(tmp_path: Path) -> Path:
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps({"text": text, "body": text[:3]}) + "\n" for text in TEXTS))
    return path


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_documents_are_written_and_read_back(
    code_tokenizer: Tokenizer, jsonl: Path, tmp_path: Path, suffix: str
) -> None:
    out = tmp_path / f"out{suffix}"
    summary = code_tokenizer.encode_files(jsonl, out)
    wanted = [code_tokenizer.encode_ordinary(text) for text in TEXTS]
    assert documents_of(out) == wanted
    n_ids, n_bytes = sum(map(len, wanted)), sum(len(text.encode()) for text in TEXTS)
    assert dataclasses.replace(summary, seconds=0) == FilesSummary(out, len(TEXTS), n_ids, n_bytes, 0)


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("small", [False, True])
def test_every_input_is_read_in_parts_by_threads(
    code_tokenizer: Tokenizer,
    jsonl: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    suffix: str,
    small: bool,
) -> None:
    """A list of inputs of every kind, with text read in parts, each document between two special tokens."""
    if small:
        monkeypatch.setattr(sources, "BLOCK", 50)
        monkeypatch.setattr(encoding_run, "BATCH_BYTES", 200)
    text = "\n".join(TEXTS)
    pyarrow.parquet.write_table(pyarrow.table({"text": TEXTS}), tmp_path / "a.parquet")
    (tmp_path / "b.txt").write_text(text, encoding="utf-8", newline="")
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(text.encode()))
    (tmp_path / "d.txt.zst").write_bytes(zstandard.compress(text.encode()))
    (tmp_path / "e.txt").touch()
    start, end = (code_tokenizer.special_tokens[name] for name in ("<|sep|>", "<|endoftext|>"))
    documents = [*TEXTS, text, text, text, "", *TEXTS]
    for num_threads in (1, 3):
        out = tmp_path / f"out{num_threads}{suffix}"
        summary = code_tokenizer.encode_files(
            [tmp_path / name for name in ("a.parquet", "b.txt", "c.txt.gz", "d.txt.zst", "e.txt")] + [jsonl],
            out,
            document_start="<|sep|>",
            document_end="<|endoftext|>",
            num_threads=num_threads,
            progress=False,
        )
        assert documents_of(out) == [[start, *code_tokenizer.encode_ordinary(text), end] for text in documents]
        assert summary.n_bytes == sum(len(text.encode()) for text in documents)


def test_separator_and_field_select_the_documents(code_tokenizer: Tokenizer, jsonl: Path, tmp_path: Path) -> None:
    encode, out = code_tokenizer.encode_ordinary, tmp_path / "out.bin"
    (tmp_path / "a.txt").write_bytes(b"one\r\n\ntwo<|endoftext|>three\n")
    for separator, documents in [
        ("\n", ["one", "", "two<|endoftext|>three"]),
        ("<|endoftext|>", ["one\r\n\ntwo", "three\n"]),
        (None, ["one\r\n\ntwo<|endoftext|>three\n"]),
    ]:
        code_tokenizer.encode_files(str(tmp_path / "a.txt"), str(out), separator=separator, overwrite=True)
        assert documents_of(out) == list(map(encode, documents))
    code_tokenizer.encode_files(jsonl, out, text_field="body", overwrite=True)
    assert documents_of(out) == [encode(text[:3]) for text in TEXTS]


def test_wrong_separator_field_or_path_raises_and_writes_nothing(
    code_tokenizer: Tokenizer, tmp_path: Path
) -> None:
    (tmp_path / "a.txt").write_text("a")
    for wrong in ({"separator": b"-"}, {"separator": 5}, {"text_field": None}):
        with pytest.raises(TypeError, match=r"(separator|text_field) must be str, not (bytes|int|NoneType)"):
            code_tokenizer.encode_files(tmp_path / "a.txt", tmp_path / "out.bin", **wrong)  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match='"" is not a path'):
        code_tokenizer.encode_files("", tmp_path / "out.bin")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_surrogates_in_a_separator_are_treated_as_in_texts(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\U0001f600b\ufffdc", encoding="utf-8")
    for separator, documents in [("\ud83d\ude00", ["a", "b\ufffdc"]), ("\ud83d", ["a\U0001f600b", "c"])]:
        code_tokenizer.encode_files(tmp_path / "a.txt", tmp_path / "out.bin", separator=separator, overwrite=True)
        assert documents_of(tmp_path / "out.bin") == list(map(code_tokenizer.encode_ordinary, documents))


@pytest.mark.daily
@pytest.mark.parametrize("stderr", ["None", "closed", "object()"])
def test_unusable_stderr_shows_no_progress_bar(stderr: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ab ab ab")
    run_python(
        f"""
import sys, pathlib, fastbpe
folder = pathlib.Path({str(tmp_path)!r})
closed = open(folder / "log", "w")
closed.close()
sys.stderr = {stderr}
for progress in (None, False) if {stderr!r} == "object()" else (None, False, True):
    tokenizer = fastbpe.train(folder / "a.txt", vocab_size=257, progress=progress)
    tokenizer.encode_files(folder / "a.txt", folder / "a.bin", progress=progress, overwrite=True)
sys.stderr = sys.__stderr__
"""
    )


def test_separator_may_be_longer_than_a_block(
    code_tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "BLOCK", 4)
    (tmp_path / "a.txt").write_text("one two three" + "-" * 9 + "four" + "-" * 8)
    code_tokenizer.encode_files(tmp_path / "a.txt", tmp_path / "out.bin", separator="-" * 9)
    encode = code_tokenizer.encode_ordinary
    assert documents_of(tmp_path / "out.bin") == [encode("one two three"), encode("four" + "-" * 8)]


def test_patterns_without_safe_cuts_read_documents_whole(
    unsplit_tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "BLOCK", 50)
    text = standard_library(3000)
    (tmp_path / "a.txt").write_text(text)
    unsplit_tokenizer.encode_files(tmp_path / "a.txt", tmp_path / "out.bin")
    assert documents_of(tmp_path / "out.bin") == [unsplit_tokenizer.encode_ordinary(text)]


def test_dtype_is_the_smallest_that_fits_unless_given(
    code_tokenizer: Tokenizer, jsonl: Path, tmp_path: Path
) -> None:
    large = code_tokenizer.with_special_tokens({"<large>": 65536})
    fits = code_tokenizer.with_special_tokens({"<large>": 65535})
    wanted = [[*code_tokenizer.encode_ordinary(text), 65535] for text in TEXTS]
    for suffix in SUFFIXES:
        for tokenizer, dtype, written in [
            (fits, None, 2),
            (large, None, 4),
            (fits, "uint32", 4),
            (fits, "uint16", 2),
        ]:
            out = tmp_path / f"out{suffix}"
            end = "<large>" if tokenizer is fits else None
            summary = tokenizer.encode_files(jsonl, out, dtype=dtype, document_end=end, overwrite=True)
            assert documents_of(out) == (wanted if end else [ids[:-1] for ids in wanted])
            if suffix == ".bin":
                assert out.stat().st_size == written * summary.n_ids
    with pytest.raises(ValueError, match="is too small for the id 65536"):
        large.encode_files(jsonl, tmp_path / "no.bin", dtype="uint16")
    with pytest.raises(ValueError, match="dtype='int8': choose one of 'uint16', 'uint32', or None"):
        large.encode_files(jsonl, tmp_path / "no.bin", dtype="int8")
    assert not list(tmp_path.glob("no*"))


def test_pack_ids_writes_little_endian_ids() -> None:
    ids = array("I", [0, 1, 255, 256, 65535, 65536, 2**32 - 1])
    assert pack_ids(ids, 4) == b"".join(i.to_bytes(4, "little") for i in ids)
    assert pack_ids(ids, 2) == b"".join((i & 0xFFFF).to_bytes(2, "little") for i in ids)
    assert pack_ids(array("I"), 2) == b""
    with pytest.raises(ValueError, match="2 or 4"):
        pack_ids(ids, 3)


def test_parquet_row_groups_of_every_size_hold_all_documents(
    code_tokenizer: Tokenizer, jsonl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = [code_tokenizer.encode_ordinary(text) for text in TEXTS]
    for n_ids, n_rows in [(1, 100), (1000, 2), (60, 5), (10**6, 10**6)]:
        monkeypatch.setattr("fastbpe.corpus.sink_formats._ROW_GROUP_IDS", n_ids)
        monkeypatch.setattr("fastbpe.corpus.sink_formats._ROW_GROUP_ROWS", n_rows)
        code_tokenizer.encode_files(jsonl, tmp_path / "out.parquet", overwrite=True)
        assert documents_of(tmp_path / "out.parquet") == wanted


@pytest.mark.parametrize("at_once", [1, 2, 1000])
def test_megatron_index_of_any_length_is_read_back(
    code_tokenizer: Tokenizer, jsonl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    monkeypatch.setattr("fastbpe.corpus.sink_formats._OFFSETS_AT_ONCE", at_once)
    for dtype in ("uint16", "uint32"):
        code_tokenizer.encode_files(jsonl, tmp_path / "out.idx", dtype=dtype, overwrite=True)
        wanted = [code_tokenizer.encode_ordinary(text) for text in TEXTS]
        assert megatron_documents(tmp_path / "out.idx") == wanted
        assert [document.tolist() for document in open_ids(tmp_path / "out.idx")] == wanted
    monkeypatch.setattr("fastbpe.corpus.sink_formats._MAX_MEGATRON_LENGTH", 3)
    with pytest.raises(FormatError, match=r"a document has \d+ ids: the limit of \.idx is \d+; write \.bin"):
        code_tokenizer.encode_files(jsonl, tmp_path / "other.idx")


def test_input_without_documents_gives_empty_output(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").touch()
    for suffix in SUFFIXES:
        out = tmp_path / f"{suffix[1:]}{suffix}"
        summary = code_tokenizer.encode_files(tmp_path / "a.jsonl", out)
        assert (summary.n_documents, summary.n_ids) == (0, 0)
        assert documents_of(out) == []


def test_progress_is_shown_only_when_asked_for(
    code_tokenizer: Tokenizer, jsonl: Path, tmp_path: Path, capsys: Any
) -> None:
    code_tokenizer.encode_files(jsonl, tmp_path / "out.bin", progress=True)
    assert "encoding: 100%" in capsys.readouterr().err
    code_tokenizer.encode_files(jsonl, tmp_path / "out.bin", overwrite=True)
    assert capsys.readouterr().err == ""
    told: list[tuple[str, int, int | None]] = []
    code_tokenizer.encode_files(
        jsonl, tmp_path / "out.bin", overwrite=True, progress=lambda *said: told.append(said)
    )
    size = jsonl.stat().st_size
    assert (told[0], told[-1]) == (("encoding", 0, size), ("encoding", size, size))
    with pytest.raises(TypeError, match="progress must be True, False, None or a function"):
        code_tokenizer.encode_files(jsonl, tmp_path / "other.bin", progress="yes")  # type: ignore[arg-type]
    assert not (tmp_path / "other.bin.partial").exists()


# Refusals.


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_existing_output_is_kept_unless_overwrite_is_given(
    code_tokenizer: Tokenizer, jsonl: Path, tmp_path: Path, suffix: str
) -> None:
    out = tmp_path / f"out{suffix}"
    code_tokenizer.encode_files(jsonl, out)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    with pytest.raises(FileExistsError, match=rf"{ids_path(out).name} exists; to replace it, pass overwrite=True"):
        code_tokenizer.encode_files(jsonl, out, text_field="body")
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before
    code_tokenizer.encode_files(jsonl, out, text_field="body", overwrite=True)
    assert documents_of(out) == [code_tokenizer.encode_ordinary(text[:3]) for text in TEXTS]
    if suffix not in TABLES:
        ids_path(out).unlink()
        with pytest.raises(FileExistsError, match=r"\.offsets exists"):
            code_tokenizer.encode_files(jsonl, out)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"out": "a.txt"}, r"a\.txt: ids are written to \.bin, \.npy, \.parquet, \.arrow, \.idx files"),
        ({"out": "no/a.bin"}, r"no"),
        ({"out": "folder.bin"}, r"folder\.bin is a folder"),
        ({"inputs": "missing.txt"}, r"missing\.txt"),
        ({"inputs": []}, "inputs is empty"),
        (
            {"document_end": "<|eot|>"},
            r"document_end='<\|eot\|>' is not a special token .*has: '<\|endoftext\|>', '<\|sep",
        ),
        ({"document_start": "one"}, "document_start='one' is not a special token"),
        ({"num_threads": 0}, "num_threads=0"),
        ({"separator": ""}, "separator"),
    ],
)
def test_invalid_arguments_are_refused_before_writing(
    code_tokenizer: Tokenizer, jsonl: Path, tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    (tmp_path / "folder.bin").mkdir()
    arguments = {"inputs": jsonl, "out": "out.bin", **change}
    for name in ("inputs", "out"):
        if isinstance(arguments[name], str):
            arguments[name] = tmp_path / arguments[name]
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises((ValueError, OSError), match=message) as caught:
        code_tokenizer.encode_files(**arguments)
    assert isinstance(caught.value, SpecialTokenError) == any(name.startswith("document") for name in change)
    assert sorted(tmp_path.rglob("*")) == before


def test_output_that_is_also_an_input_is_refused(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"text": TEXTS}), tmp_path / "a.parquet")
    with pytest.raises(ValueError, match=r"a\.parquet is both the output and an input"):
        code_tokenizer.encode_files(tmp_path, tmp_path / "a.parquet", overwrite=True)


@pytest.mark.parametrize(
    ("module", "name", "format", "kind"),
    [
        ("pyarrow", "a.parquet", None, "parquet"),
        ("pyarrow", "a.data", "arrow", "Arrow"),
        ("zstandard", "a.txt.zst", None, ".zst"),
    ],
)
def test_missing_package_is_named_in_the_error(
    code_tokenizer: Tokenizer, tmp_path: Path, module: str, name: str, format: str | None, kind: str
) -> None:
    (tmp_path / name).touch()
    with mock.patch.dict(sys.modules, {module: None}):
        with pytest.raises(ImportError, match=rf"{name}: {kind} files need {module}: pip install {module}$"):
            code_tokenizer.encode_files(tmp_path / name, tmp_path / "out.bin", format=format)
        assert not (tmp_path / "out.bin.partial").exists()
        if module == "pyarrow":
            with pytest.raises(ImportError, match=r"out\.parquet: .*pip install pyarrow$"):
                code_tokenizer.encode_files(tmp_path / "a.txt", tmp_path / "out.parquet")


def test_bin_and_npy_are_written_without_numpy(code_tokenizer: Tokenizer, jsonl: Path, tmp_path: Path) -> None:
    with mock.patch.dict(sys.modules, {"numpy": None}):
        for suffix in (".bin", ".npy"):
            code_tokenizer.encode_files(jsonl, tmp_path / f"out{suffix}")
    assert documents_of(tmp_path / "out.bin") == documents_of(tmp_path / "out.npy")


@pytest.mark.daily
def test_json_lines_get_the_ids_of_their_texts(
    code_tokenizer: Tokenizer, unsplit_tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(7)
    lines = [json.dumps({"n": i, "text": text}, ensure_ascii=bool(i % 2)) for i, text in enumerate(TEXTS * 9)]
    odd = ["", " ", '{"text": "a", "n": NaN}', '{"text": "\\ud800 a"}', '{"text": "b"} ', '{"text": ""}']
    for name, some in (("plain", lines), ("odd", lines + odd * 2)):
        rng.shuffle(some)
        (tmp_path / f"{name}.jsonl").write_text("\n".join(some), encoding="utf-8")
    inputs = [tmp_path / "odd.jsonl", tmp_path / "plain.jsonl"]
    for tokenizer in (code_tokenizer, unsplit_tokenizer):
        summaries = []
        for block in (1, 100, 1000, 1 << 20):
            monkeypatch.setattr(sources, "BLOCK", block)
            for little in (0, 300, 1 << 30):  # all, some or none of the lines are encoded as they stand
                monkeypatch.setattr(sources, "SMALL_BLOCK", little)
                summaries.append(tokenizer.encode_files(inputs, tmp_path / "a.bin", overwrite=True))
                summaries[-1] = (summaries[-1].n_bytes, documents_of(tmp_path / "a.bin"))
        assert all(summary == summaries[-1] for summary in summaries)
        texts = [text for path in inputs for stretch in sources.read(path) for text in stretch.documents()]
        assert summaries[-1][1] == [tokenizer.encode_ordinary(text) for text in texts]


# Runs that stop and resume.


def test_disk_error_during_writing_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Linux reports an error once to every open file."""
    sink = Sink(tmp_path / "out.bin", "uint16", {})
    ids, told = tmp_path / "out.bin.partial" / "ids", set()

    def failing(file: int) -> None:
        if os.path.samestat(os.fstat(file), ids.stat()) and file not in told:
            told.add(file)
            raise OSError(errno.EIO, "the disk fails")

    with sink.opened(overwrite=False):
        sink.append(bytes(4), 2, bytes(8))
        with monkeypatch.context() as context:
            context.setattr(os, "fsync", failing)
            with pytest.raises(OSError, match="the disk fails"):
                sink.write_out()
            with pytest.raises(OSError, match="the disk fails"):
                sink.note({})
    assert not (tmp_path / "out.bin.partial" / "progress.json").exists()


def test_note_syncs_its_files_at_the_same_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    together = threading.Barrier(4)  # ids, offsets, json, progress

    def waiting(_: int) -> None:
        together.wait(timeout=300)

    sink = Sink(tmp_path / "out.bin", "uint16", {}, n_threads=2)
    with sink.opened(overwrite=False):
        sink.append(bytes(4), 2, bytes(8))
        monkeypatch.setattr(os, "fsync", waiting)
        sink.finish({}, {})
    assert (tmp_path / "out.bin").read_bytes() == bytes(4)


def test_note_of_one_thread_syncs_in_that_thread(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    threads: list[int] = []
    path = tmp_path / "in.txt"
    path.write_text("some words")
    tokenizer = Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern="gpt2")
    monkeypatch.setattr(os, "fsync", lambda _: threads.append(threading.get_ident()))
    tokenizer.encode_files(path, tmp_path / "out.bin", num_threads=1, progress=False)
    assert threads == [threading.get_ident()] * 4


@pytest.mark.parametrize("failing", ["ids", "offsets", "json", "progress.json.new"])
def test_failed_sync_of_any_file_leaves_no_note(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, failing: str
) -> None:
    sink = Sink(tmp_path / "out.bin", "uint16", {}, n_threads=2)
    bad = tmp_path / "out.bin.partial" / failing

    def sync(file: int) -> None:
        if os.path.samestat(os.fstat(file), bad.stat()):
            raise OSError(errno.EIO, "the disk fails")

    with sink.opened(overwrite=False):
        sink.append(bytes(4), 2, bytes(8))
        monkeypatch.setattr(os, "fsync", sync)
        with pytest.raises(OSError, match="the disk fails") as error:
            sink.finish({}, {})
    assert Path(error.value.filename) in (bad, bad.parent)
    assert not (tmp_path / "out.bin.partial" / "progress.json").exists()
    assert not (tmp_path / "out.bin").exists()


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_files_are_on_the_disk_before_they_get_their_names(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, suffix: str
) -> None:
    synced: set[tuple[int, int]] = set()

    def fsync(file: int) -> None:
        facts = os.fstat(file)
        synced.add((facts.st_ino, facts.st_size))

    path, out = tmp_path / "in.txt", tmp_path / f"out{suffix}"
    path.write_text("some words")
    monkeypatch.setattr(os, "fsync", fsync)
    tokenizer = Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern="gpt2")
    tokenizer.encode_files(path, out, progress=False)
    made = [file.stat() for file in tmp_path.iterdir() if file != path]
    assert {(facts.st_ino, facts.st_size) for facts in made} <= synced


@pytest.mark.daily
def test_full_disk_is_named_and_the_run_resumes(tmp_path: Path) -> None:
    """A limit on file size plays the full disk."""
    pytest.importorskip("resource")
    path = tmp_path / "in.txt"
    path.write_text("some words and more of them, 123; " * 40_000)
    code = f"""
import resource
from fastbpe import Tokenizer
tokenizer = Tokenizer.from_ranks({{bytes([i]): i for i in range(256)}}, pattern="gpt2")
for most in 100, 5000, 1_000_000, resource.RLIM_INFINITY:
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
    try:
        print(tokenizer.encode_files({str(path)!r}, {str(tmp_path / "out.bin")!r}, progress=False).n_ids)
    except OSError as error:
        print(error.filename)
"""
    assert run_python(code).split("\n") == [str(tmp_path / "out.bin.partial")] * 3 + ["1360000", ""]
    assert not (tmp_path / "out.bin.partial").exists()


def run_until_error(tokenizer: Tokenizer, jsonl: Path, out: Path) -> None:
    """Run over three inputs; the third raises, and the progress so far is saved."""
    good, bad = jsonl.with_name("good.txt"), jsonl.with_name("bad.txt")
    good.write_text("good")
    bad.write_bytes(b"\xff")
    with (
        mock.patch.object(encoding_run, "BATCH_BYTES", 1),
        pytest.raises(FormatError, match=r"bad\.txt:1: not UTF-8"),
    ):
        tokenizer.encode_files([jsonl, good, bad], out)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_resumed_run_repeats_no_input_after_an_error(
    code_tokenizer: Tokenizer, jsonl: Path, tmp_path: Path, suffix: str
) -> None:
    out = tmp_path / f"out{suffix}"
    run_until_error(code_tokenizer, jsonl, out)
    assert not out.exists()
    (tmp_path / "bad.txt").write_bytes(b"ok")  # no byte of it was read yet
    inputs = [tmp_path / name for name in ("texts.jsonl", "good.txt", "bad.txt")]
    read = mock.Mock(side_effect=sources.read)
    with mock.patch.object(file_encoding, "read", read):
        code_tokenizer.encode_files(inputs, out)
    assert [(call.args[0], call.kwargs["offset"]) for call in read.call_args_list] == [
        (inputs[1], 4),
        (inputs[2], 0),
    ]
    assert documents_of(out) == [*map(code_tokenizer.encode_ordinary, [*TEXTS, "good", "ok"])]


@pytest.mark.parametrize("little", [0, 1 << 16])
def test_run_resumes_after_the_last_good_line(
    code_tokenizer: Tokenizer, jsonl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, little: int
) -> None:
    monkeypatch.setattr(sources, "SMALL_BLOCK", little)
    monkeypatch.setattr(encoding_run, "BATCH_BYTES", 1)
    monkeypatch.setattr(sources, "BLOCK", 50)
    lines, stat, out = jsonl.read_bytes(), os.stat(jsonl), tmp_path / "out.npy"
    at = lines.rindex(b'{"text"')  # of the JSON, since texts may hold braces too
    jsonl.write_bytes(lines[:at] + b"!" + lines[at + 1 :])
    os.utime(jsonl, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.raises(FormatError, match=r"jsonl:\d+: not a line of JSON"):
        code_tokenizer.encode_files(jsonl, out)
    jsonl.write_bytes(lines)
    os.utime(jsonl, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    read = mock.Mock(side_effect=sources.read)
    with mock.patch.object(file_encoding, "read", read):
        code_tokenizer.encode_files(jsonl, out)
    assert 0 < read.call_args.kwargs["offset"] <= at
    assert documents_of(out) == [*map(code_tokenizer.encode_ordinary, TEXTS)]


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("fails", [None, "progress.json", "run.json"])
def test_run_resumes_before_a_repaired_input(
    code_tokenizer: Tokenizer,
    jsonl: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    fails: str,
    suffix: str,
) -> None:
    """The repaired input is read again from its beginning, earlier inputs are not; also after another
    interruption."""
    monkeypatch.setattr(sources, "SMALL_BLOCK", 0)
    monkeypatch.setattr(encoding_run, "BATCH_BYTES", 1)
    monkeypatch.setattr(sources, "BLOCK", 50)
    inputs = [jsonl, *(tmp_path / f"{name}.jsonl" for name in "bcd")]
    for path in inputs[1:]:
        path.write_bytes(jsonl.read_bytes())
    inputs[2].write_bytes(jsonl.read_bytes() + b"!\n")
    out = tmp_path / f"out{suffix}"
    for _ in range(2):
        with pytest.raises(FormatError, match=r"c.jsonl:\d+: not a line of JSON"):
            code_tokenizer.encode_files(inputs, out)
    inputs[2].write_bytes(jsonl.read_bytes() + b'{"text": "more"}\n')
    inputs[3].write_bytes(b"")
    if fails:
        replace = os.replace

        def stops(source: Path, target: Path) -> None:
            if target.name == fails:
                raise OSError("stopped")
            replace(source, target)

        with mock.patch.object(os, "replace", stops), pytest.raises(OSError, match="stopped"):
            code_tokenizer.encode_files(inputs, out)
    read = mock.Mock(side_effect=sources.read)
    with mock.patch.object(file_encoding, "read", read):
        code_tokenizer.encode_files(inputs, out)
    begun = [(call.args[0].name, call.kwargs["offset"] > 0) for call in read.call_args_list]
    assert begun == [("b.jsonl", True), ("c.jsonl", False), ("d.jsonl", False)]
    assert documents_of(out) == [*map(code_tokenizer.encode_ordinary, [*TEXTS * 3, "more"])]


def test_resume_refuses_a_changed_input(
    code_tokenizer: Tokenizer, jsonl: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "SMALL_BLOCK", 0)
    monkeypatch.setattr(encoding_run, "BATCH_BYTES", 1)
    monkeypatch.setattr(sources, "BLOCK", 50)
    bad, out = tmp_path / "bad.jsonl", tmp_path / "out.bin"
    bad.write_bytes(jsonl.read_bytes() + b"!\n")
    with pytest.raises(FormatError):
        code_tokenizer.encode_files([jsonl, bad], out)
    good = jsonl.read_bytes()
    jsonl.write_bytes(good + b"\n")
    with pytest.raises(FileExistsError, match=r"unfinished run, .*jsonl.*, not .*jsonl.* overwrite=True"):
        code_tokenizer.encode_files([jsonl, bad], out)
    bad.write_bytes(good)
    code_tokenizer.encode_files([jsonl, bad], out, overwrite=True)
    assert documents_of(out) == [*map(code_tokenizer.encode_ordinary, TEXTS * 2)]
    out = tmp_path / "alone.bin"
    bad.write_bytes(good + b"!\n")
    with pytest.raises(FormatError):
        code_tokenizer.encode_files(bad, out)
    bad.write_bytes(good)
    with pytest.raises(FileExistsError, match="unfinished run"):  # an overwriting run would destroy the progress
        code_tokenizer.encode_files(bad, out)


@pytest.mark.daily
def test_damaged_parquet_file_is_named(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    """For some damage pyarrow raises an OSError without an errno."""
    path = tmp_path / "damaged.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": [f"{i} some words" for i in range(1000)]}), path)
    data = path.read_bytes()
    rng = random.Random(1)
    n_errors = 0
    for _ in range(60):
        damaged = bytearray(data)
        for _ in range(3):
            damaged[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        try:
            code_tokenizer.encode_files(path, tmp_path / "out.bin", overwrite=True)
        except FormatError as error:
            n_errors += 1
            assert "damaged.parquet" in str(error)  # noqa: PT017
    assert n_errors > 20


@pytest.mark.parametrize("name", ["a.txt.gz", "a.jsonl.zst"])
def test_empty_compressed_file_raises_format_error(code_tokenizer: Tokenizer, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"")
    with pytest.raises(FormatError, match=f"{name}: damaged .* it (is empty|ends too early)"):
        code_tokenizer.encode_files(tmp_path / name, tmp_path / "out.bin")


def test_resume_refuses_output_of_another_run(code_tokenizer: Tokenizer, jsonl: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.bin"
    run_until_error(code_tokenizer, jsonl, out)
    other = code_tokenizer.with_special_tokens({"<more>": 2000})
    inputs = [jsonl, tmp_path / "good.txt", tmp_path / "bad.txt"]
    calls: list[tuple[Callable[[], object], str]] = [
        (lambda: other.encode_files(inputs, out), "another tokenizer"),
        (lambda: code_tokenizer.encode_files(inputs[:2], out), "2 inputs, not 3"),
        (lambda: code_tokenizer.encode_files(inputs, out, separator="\n"), r"separator '\\n', not None"),
        (lambda: code_tokenizer.encode_files(inputs, out, dtype="uint32"), "dtype 'uint32', not 'uint16'"),
    ]
    for call, message in calls:
        with pytest.raises(FileExistsError, match=message):
            call()
    code_tokenizer.encode_files(jsonl, out, overwrite=True)
    assert documents_of(out) == [*map(code_tokenizer.encode_ordinary, TEXTS)]


@pytest.mark.skipif(sys.platform == "win32", reason="needs flock")
def test_second_run_on_the_same_output_is_refused(code_tokenizer: Tokenizer, jsonl: Path, tmp_path: Path) -> None:
    import fcntl

    folder = tmp_path / "out.bin.partial"
    folder.mkdir()
    with open(folder / "lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(BlockingIOError, match="another run is writing here"):
            code_tokenizer.encode_files(jsonl, tmp_path / "out.bin")
    code_tokenizer.encode_files(jsonl, tmp_path / "out.bin")


# Kill runs before their n-th file operation, or after some time, and start again until a run ends.
KILLED = f"""{RUN_KILLED}
import random
from fastbpe import load
from fastbpe.corpus import encoding_run, sources
model, out, seed, *inputs = sys.argv[1:]
tokenizer, generator, n_killed = load(model), random.Random(int(seed)), 0
encoding_run.PROGRESS_INTERVAL, encoding_run.BATCH_BYTES = 0, 4000
sources.BLOCK = 1000
import pyarrow.parquet, queue, tqdm
pyarrow.set_cpu_count(1), pyarrow.set_io_thread_count(1)
def work():
    try:
        tokenizer.encode_files(inputs, out, document_end="<|endoftext|>", num_threads=2, progress=False)
    except FileExistsError as error:
        # Killed after the run removed all of it, or all except the folder itself.
        left = os.listdir(out + ".partial") if os.path.exists(out + ".partial") else []
        assert "to replace it" in str(error) and not left, error
while True:
    # longer with each child, so that the run comes to its end after some thirty of them, on a busy machine, too
    n_left, seconds = generator.randrange(1, 40 + n_killed), generator.random() / 50 * (1 + n_killed / 20)
    if not run_killed(work, n_left, None if generator.random() < 0.7 else seconds):
        break
    n_killed += 1
print(n_killed)
"""


@pytest.mark.daily
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.sample(1)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_runs_killed_at_any_moment_end_with_the_same_bytes(
    code_tokenizer: Tokenizer, tmp_path: Path, suffix: str
) -> None:
    text = standard_library(25_000)
    (tmp_path / "a.txt").write_text(text)
    (tmp_path / "b.jsonl").write_text("".join(json.dumps({"text": part}) + "\n" for part in text.split("\n\n")))
    (tmp_path / "c.txt.gz").write_bytes(gzip.compress(text.encode()))
    pyarrow.parquet.write_table(
        pyarrow.table({"text": text.split("\n")}), tmp_path / "d.parquet", row_group_size=99
    )
    inputs = [tmp_path / name for name in ("a.txt", "b.jsonl", "c.txt.gz", "d.parquet")]
    code_tokenizer.save(tmp_path / "model.fbpe")
    (tmp_path / "once").mkdir()
    code_tokenizer.encode_files(inputs, tmp_path / "once" / f"out{suffix}", document_end="<|endoftext|>")
    wanted = {path.name: path.read_bytes() for path in (tmp_path / "once").iterdir()}
    n_killed = 0
    for seed in rounds(6, 12):
        folder = tmp_path / f"killed{seed}"
        folder.mkdir()
        said = run_python(
            KILLED, str(tmp_path / "model.fbpe"), str(folder / f"out{suffix}"), str(seed), *map(str, inputs)
        )
        n_killed += int(said)
        found = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
        assert found == wanted, f"seed {seed}"
    assert n_killed > 10


MEMORY = """
import resource, sys
import pyarrow.parquet, zstandard
import fastbpe
tokenizer = fastbpe.load(sys.argv[1])
def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
# loads modules that are loaded once
tokenizer.encode_files(sys.argv[2], sys.argv[3], num_threads=2, overwrite=True)
before = peak()
tokenizer.encode_files(sys.argv[4:], sys.argv[3], num_threads=2, overwrite=True)
print(peak() - before)
"""


@pytest.mark.daily
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is read as Linux counts it")
@pytest.mark.sample(2)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_memory_does_not_grow_with_file_size(code_tokenizer: Tokenizer, tmp_path: Path, suffix: str) -> None:
    text = standard_library(1_000_000)
    line = json.dumps({"text": text[:3000]}) + "\n"
    (tmp_path / "warm.txt").write_text(text)
    if suffix == ".parquet":  # takes one document at a time
        (tmp_path / "a.jsonl.zst").write_bytes(zstandard.compress(line.encode() * 20_000))
        column = pyarrow.array([text[:3000]] * 20_000)
        pyarrow.parquet.write_table(pyarrow.table({"text": column}), tmp_path / "b.parquet", use_dictionary=False)
        inputs = ["a.jsonl.zst", "b.parquet"]
    else:
        with open(tmp_path / "a.txt", "w") as file:
            for _ in range(100):
                file.write(text)
        inputs = ["a.txt"]
    code_tokenizer.save(tmp_path / "model.fbpe")
    arguments = [tmp_path / name for name in ("model.fbpe", "warm.txt", f"out{suffix}", *inputs)]
    grown = int(run_python(MEMORY, *map(str, arguments)))
    assert grown < 80, f"{grown} MB for 120 MB of text"


# Runs that fail before anything is written.


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_run_that_fails_at_once_leaves_no_files(
    code_tokenizer: Tokenizer, jsonl: Path, tmp_path: Path, suffix: str
) -> None:
    out = tmp_path / f"out{suffix}"
    before = sorted(tmp_path.iterdir())
    for options in ({"text_field": "content"}, {"text_field": "n"}):
        with pytest.raises(FormatError, match=r"jsonl:1: no object with a field .*fields are 'text', 'body'"):
            code_tokenizer.encode_files(jsonl, out, **options)  # type: ignore[arg-type]
        assert sorted(tmp_path.iterdir()) == before
    code_tokenizer.encode_files(jsonl, out)
    assert documents_of(out) == [*map(code_tokenizer.encode_ordinary, TEXTS)]


def test_immediate_interrupt_leaves_no_files(code_tokenizer: Tokenizer, jsonl: Path, tmp_path: Path) -> None:
    with mock.patch.object(file_encoding, "read", side_effect=KeyboardInterrupt), pytest.raises(KeyboardInterrupt):
        code_tokenizer.encode_files(jsonl, tmp_path / "out.bin")
    assert sorted(tmp_path.iterdir()) == [jsonl]


def test_run_killed_at_once_does_not_block_the_next(
    code_tokenizer: Tokenizer, jsonl: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.bin"
    run_python(f"""
import os, fastbpe
from fastbpe import Tokenizer
from fastbpe.corpus import sinks
sinks.Sink.finish = lambda *_: os._exit(0)  # with everything appended, and nothing noted
tokenizer = Tokenizer.from_ranks({{bytes([i]): i for i in range(256)}}, pattern=None)
tokenizer.encode_files({str(jsonl)!r}, {str(out)!r}, text_field="body", progress=False)
""")
    assert (tmp_path / "out.bin.partial" / "run.json").exists()
    code_tokenizer.encode_files(jsonl, out)
    assert documents_of(out) == [*map(code_tokenizer.encode_ordinary, TEXTS)]


def test_arrow_output_opens_in_datasets(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    datasets = pytest.importorskip("datasets")
    (tmp_path / "a.txt").write_text("one two\nthree\n")
    out = tmp_path / "out.arrow"
    code_tokenizer.encode_files(tmp_path / "a.txt", out, separator="\n", progress=False)
    opened = datasets.Dataset.from_file(str(out))
    assert opened["input_ids"][:] == [*map(code_tokenizer.encode_ordinary, ["one two", "three"])]
