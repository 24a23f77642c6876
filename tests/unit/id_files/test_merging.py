"""Finished runs of one tokenizer, joined: the bytes of one run over all of their documents."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, Tokenizer, merge_shards, open_ids
from fastbpe._utils import file_locks
from helpers.sampling import some

SUFFIXES = (".bin", ".npy", ".idx", ".parquet", ".arrow")
RUNS = (["one two", "", "three"], ["four"], [], ["five six", "👍"])


def write_run(tokenizer: Tokenizer, texts: list[str], out: Path, **options: Any) -> Path:
    source = out.with_name(f"{out.stem}.jsonl")
    source.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    tokenizer.encode_files(source, out, progress=False, **options)
    return out


def files_of(out: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in out.parent.glob(f"{out.stem}.*") if path.suffix != ".jsonl"}


@pytest.mark.parametrize("suffixes", some([*itertools.product(SUFFIXES, repeat=2)], 6))
def test_joined_runs_are_the_bytes_of_one_run(
    code_tokenizer: Tokenizer, tmp_path: Path, suffixes: tuple[str, str]
) -> None:
    of_runs, of_out = suffixes
    (tmp_path / "single").mkdir()
    (tmp_path / "joined").mkdir()
    options = {"document_end": "<|sep|>", "dtype": "uint32"}
    endings = [of_runs, ".bin", of_runs, ".parquet"]
    runs = [
        write_run(code_tokenizer, texts, tmp_path / f"r{i}{ending}", **options)
        for i, (texts, ending) in enumerate(zip(RUNS, endings, strict=True))
    ]
    single = write_run(code_tokenizer, [*itertools.chain(*RUNS)], tmp_path / "single" / f"all{of_out}", **options)
    joined = tmp_path / "joined" / f"all{of_out}"
    summary = merge_shards(runs, joined, progress=False)
    assert files_of(joined) == files_of(single)
    assert (summary.n_documents, summary.path) == (6, joined)
    merge_shards(map(str, reversed(runs)), tmp_path / "joined" / "back.bin", progress=False)
    back = [code_tokenizer.decode(ids) for ids in open_ids(tmp_path / "joined" / "back.bin")]
    assert back == [f"{text}<|sep|>" for texts in RUNS[::-1] for text in texts]


def test_shards_and_runs_are_joined(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    for i in range(2):
        fastbpe.write_shard(code_tokenizer, RUNS[i], tmp_path / "s.bin", (i, 2))
    run = write_run(code_tokenizer, RUNS[3], tmp_path / "r.npy")
    merge_shards([run, tmp_path / "s.bin"], tmp_path / "all.bin", progress=False)
    texts = [code_tokenizer.decode(ids) for ids in open_ids(tmp_path / "all.bin", tokenizer=code_tokenizer)]
    assert texts == [*RUNS[3], *RUNS[0], *RUNS[1]]


def test_runs_that_differ_are_refused_and_nothing_is_written(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    one = write_run(code_tokenizer, RUNS[0], tmp_path / "one.bin")
    other = write_run(Tokenizer.from_merges([], pattern=None), RUNS[1], tmp_path / "other.npy")
    wide = write_run(code_tokenizer, RUNS[1], tmp_path / "wide.parquet", dtype="uint32")
    ended = write_run(code_tokenizer, RUNS[1], tmp_path / "ended.bin", document_end="<|sep|>")
    numpy.save(tmp_path / "raw.npy", numpy.array([1, 2], numpy.uint16))
    numpy.save(tmp_path / "long.npy", numpy.array([1, 2]))
    numpy.save(tmp_path / "raw2.npy", numpy.array([1, 2], numpy.uint16))
    raw, long = tmp_path / "raw.npy", tmp_path / "long.npy"
    before = sorted(tmp_path.iterdir())
    for runs, message in (
        (
            [one, other],
            r"other\.npy: its tokenizer is .*…, but .*… in one\.bin: encode both in the same way, or keep",
        ),
        ([one, wide], r"wide\.parquet: its dtype is uint32, but uint16 in one\.bin"),
        ([one, ended], r"ended\.bin: its list of ids after each document is \[\d+\], but \[\] in one\.bin"),
        ([one, raw], r"raw\.npy: no file says which .* its ids, but the tokenizer of one\.bin is known: encode"),
        ([raw, one], r"raw\.npy: no file says which .* its ids, but the tokenizer of one\.bin is known: encode"),
        ([raw, long], r"long\.npy: its dtype is int64, but uint16 in raw\.npy"),
        ([long], r"long\.npy: its ids are int64; only uint16 and uint32 can be written"),
    ):
        with pytest.raises(FormatError, match=message):
            merge_shards(runs, tmp_path / "all.bin", progress=False)
    with pytest.raises(ValueError, match="no files to merge"):
        merge_shards([], tmp_path / "all.bin")
    with pytest.raises(FileNotFoundError):
        merge_shards([one, tmp_path / "no.bin"], tmp_path / "all.bin")
    with pytest.raises(ValueError, match="is both the output and an input"):
        merge_shards([raw, raw.with_name("raw2.npy")], raw, overwrite=True)
    assert sorted(tmp_path.iterdir()) == before


def test_merge_killed_while_it_moved_files_is_ended_only_by_the_same_merge(
    code_tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = (write_run(code_tokenizer, texts, tmp_path / f"{i}.bin") for i, texts in enumerate(RUNS[:2]))
    replace, out = file_locks.replace, tmp_path / "out.bin"

    def stop(source: Path, target: Path) -> None:
        if target == out:
            raise KeyboardInterrupt
        replace(source, target)

    with monkeypatch.context() as patched:
        patched.setattr(file_locks, "replace", stop)
        with pytest.raises(KeyboardInterrupt):
            merge_shards(one, out, progress=False)
    with pytest.raises(FileExistsError, match=r"out\.bin\.offsets exists; to replace it"):
        merge_shards(two, out, progress=False)
    merge_shards(one, out, progress=False)
    assert out.read_bytes() == one.read_bytes()


def test_run_given_twice_is_said(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    one = write_run(code_tokenizer, RUNS[0], tmp_path / "one.bin")
    with pytest.warns(fastbpe.FormatWarning, match=r"one\.bin is given twice, so the output"):
        summary = merge_shards([one, one], tmp_path / "all.bin", progress=False)
    assert summary.n_documents == 6


# The header of llm.c


@pytest.mark.parametrize(("dtype", "magic", "version"), [("uint16", 20240520, 1), ("uint32", 20240801, 7)])
def test_llmc_header_is_written_and_read_back(
    code_tokenizer: Tokenizer, tmp_path: Path, dtype: str, magic: int, version: int
) -> None:
    out = tmp_path / "out.bin"
    write_run(code_tokenizer, RUNS[0], out, dtype=dtype, header="llm.c", document_start="<|endoftext|>")
    plain = write_run(code_tokenizer, RUNS[0], tmp_path / "plain.bin", dtype=dtype, document_start="<|endoftext|>")
    data, ids = out.read_bytes(), open_ids(out, tokenizer=code_tokenizer)
    assert [int.from_bytes(data[i : i + 4], "little") for i in (0, 4, 8)] == [magic, version, ids.n_ids]
    assert data[12:1024] == bytes(1012)
    assert data[1024:] == plain.read_bytes()
    assert [code_tokenizer.decode(document) for document in ids] == [f"<|endoftext|>{text}" for text in RUNS[0]]
    for path in tmp_path.glob("out.bin.*"):
        path.unlink()
    assert open_ids(out).ids().tolist() == open_ids(plain).ids().tolist()
    merge_shards(plain, tmp_path / "merged.bin", header="llm.c", progress=False)
    assert (tmp_path / "merged.bin").read_bytes() == data


def test_shards_and_resumed_runs_have_the_header(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    source = tmp_path / "a.jsonl"
    source.write_text("".join(json.dumps({"text": text}) + "\n" for text in RUNS[0]))
    for i in range(2):
        code_tokenizer.encode_files(source, tmp_path / "s.bin", shard=(i, 2), header="llm.c", progress=False)
    assert all(
        path.read_bytes()[:4] == (20240520).to_bytes(4, "little") for path in open_ids(tmp_path / "s.bin").paths
    )
    with pytest.raises(FileExistsError, match=r"made with other settings \(header\)"):
        code_tokenizer.encode_files(source, tmp_path / "s.bin", shard=(0, 2), progress=False)
    merge_shards(tmp_path / "s.bin", tmp_path / "all.bin", progress=False)
    write_run(code_tokenizer, RUNS[0], tmp_path / "single.bin")
    assert (tmp_path / "all.bin").read_bytes() == (tmp_path / "single.bin").read_bytes()


def test_header_is_refused_where_it_has_no_place(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    one = write_run(code_tokenizer, RUNS[0], tmp_path / "one.bin")
    before = sorted(tmp_path.iterdir())
    for out, header, message in (
        ("out.npy", "llm.c", r"out\.npy: header='llm\.c' only works with \.bin files; use the extension"),
        ("out.bin", "llm", r"header='llm': did you mean 'llm\.c'\? choose one of 'llm\.c', or None"),
    ):
        with pytest.raises(ValueError, match=message):
            code_tokenizer.encode_files(tmp_path / "one.jsonl", tmp_path / out, header=header)
        with pytest.raises(ValueError, match=message):
            merge_shards(one, tmp_path / out, header=header)
    assert sorted(tmp_path.iterdir()) == before


def test_more_ids_than_the_header_counts_are_named(
    code_tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fastbpe.corpus.sinks.MAX_LLMC_IDS", 2)
    with pytest.raises(
        FormatError, match=r"out\.bin: more than 2 ids, which llm\.c's header cannot count; write shards"
    ):
        write_run(code_tokenizer, RUNS[0], tmp_path / "out.bin", header="llm.c")


def test_missing_header_that_the_sidecar_names_raises_format_error(
    code_tokenizer: Tokenizer, tmp_path: Path
) -> None:
    out = write_run(code_tokenizer, RUNS[0], tmp_path / "out.bin", header="llm.c")
    out.write_bytes(out.read_bytes()[1024:])
    with pytest.raises(FormatError, match=r"out\.bin: it lacks the llm\.c header that out\.bin\.json says it has"):
        open_ids(out)
