"""Bad documents in files, rows and streams: an error, or left out, counted and named; never half of one."""

from __future__ import annotations

import gzip
import itertools
import json
import random
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

import fastbpe
from fastbpe import FormatError, Tokenizer, open_ids
from fastbpe.corpus import encoding_run, file_encoding, sources, table_files
from fastbpe.id_files import manifests

GOOD = ["one two", "", "drei vier 👍", "five <|endoftext|>"]
BAD_LINES = {
    b'{"text": ': "not a line of JSON",
    b'{"txt": "no"}': "no object with a field 'text'",
    b"[]": "the line is not an object, so it has no field 'text'",
    b'{"text": 5}': "its field 'text' is int, not a string",
    b'{"text": null}': "its field 'text' is null, not a string",
    b'{"text": "\xff"}': "not a line of JSON",
    b'\xef\xbb\xbf{"text": "\xff"}': "not a line of JSON: not UTF-8: invalid byte 0xff at offset 13 of",
}


def written(path: Path) -> list[list[int]]:
    return [document.tolist() for document in open_ids(path)]


def mixed(folder: Path, rng: random.Random, n: int) -> tuple[list[Path], list[str], int]:
    """Write files with bad lines and rows; return them, the good texts, and the number of bad ones."""
    paths, texts, n_bad = [], [], 0
    for i in range(n):
        rows = [rng.choice([*GOOD, None, None]) for _ in range(rng.randrange(12))]
        texts += [row for row in rows if row is not None]
        n_bad += rows.count(None)
        if rng.randrange(2):
            lines = [
                rng.choice([*BAD_LINES]) if row is None else json.dumps({"text": row}).encode() for row in rows
            ]
            paths.append(folder / f"{i}.jsonl")
            paths[-1].write_bytes(b"".join(line + b"\n" for line in lines))
        else:
            paths.append(folder / f"{i}.parquet")
            pyarrow.parquet.write_table(pyarrow.table({"text": pyarrow.array(rows, "string")}), paths[-1])
    return paths, texts, n_bad


@pytest.mark.parametrize("num_threads", [1, 3])
def test_bad_lines_and_rows_are_left_out_counted_and_named(
    code_tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, num_threads: int
) -> None:
    monkeypatch.setattr(table_files, "_ROWS", 3)
    for seed, (block, small) in enumerate(itertools.product((1 << 20, 60), (1 << 16, 1))):
        monkeypatch.setattr(sources, "BLOCK", block)
        monkeypatch.setattr(sources, "SMALL_BLOCK", small)
        folder = tmp_path / f"{seed}"
        folder.mkdir()
        paths, texts, n_bad = mixed(folder, random.Random(seed), 9)
        summary = code_tokenizer.encode_files(
            paths, folder / "out.bin", on_error="skip", num_threads=num_threads, progress=False
        )
        assert written(folder / "out.bin") == code_tokenizer.encode_ordinary_batch(texts)
        assert (summary.n_documents, summary.n_skipped) == (len(texts), n_bad)
        assert len(summary.skipped) == min(n_bad, 10)
        assert all(named.startswith(f"{folder}") for named in summary.skipped)
        with pytest.raises(FormatError) as raised:
            code_tokenizer.encode_files(paths, folder / "no.bin", num_threads=num_threads, progress=False)
        assert str(raised.value) == summary.skipped[0]
        assert not (folder / "no.bin").exists()


@pytest.mark.parametrize(("line", "reason"), BAD_LINES.items())
def test_every_kind_of_bad_line_is_named_with_its_place(
    code_tokenizer: Tokenizer, tmp_path: Path, line: bytes, reason: str
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "good"}\n\n' + line + b'\n{"text": "good"}')
    summary = code_tokenizer.encode_files(path, tmp_path / "out.bin", on_error="skip", progress=False)
    assert (summary.n_documents, summary.n_skipped) == (2, 1)
    assert summary.skipped[0].startswith(f"{path}:3: {reason}")


def test_counts_and_encoding_skip_the_same_documents(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    paths, _, n_bad = mixed(tmp_path, random.Random(5), 20)
    counts = fastbpe.count_pieces(paths, on_error="skip", progress=False)
    summary = code_tokenizer.encode_files(paths, tmp_path / "out.bin", on_error="skip", progress=False)
    assert summary.n_skipped == counts.n_skipped == n_bad
    assert summary.n_bytes == counts.n_bytes


@pytest.mark.parametrize("separator", [None, "\n"])
def test_bytes_that_are_not_utf8_are_replaced_in_every_kind_of_file(
    code_tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, separator: str | None
) -> None:
    data = b"caf\xe9 \xf0\x9f\x91\n\xc3\xa9 \xff\xfe end\n" * 9
    (tmp_path / "a.txt").write_bytes(data)
    (tmp_path / "b.txt.gz").write_bytes(gzip.compress(data))
    (tmp_path / "c.jsonl").write_bytes(b'{"text": "x \xe9 y"}\n')
    with pytest.raises(FormatError, match=r"a\.txt:1: not UTF-8: invalid byte 0xe9 at offset 3"):
        code_tokenizer.encode_files(tmp_path / "a.txt", tmp_path / "no.bin", progress=False)
    text = data.decode(errors="replace")
    texts = [text] if separator is None else text.split("\n")[:-1]
    for block in (1, 7, 1 << 20):
        monkeypatch.setattr(sources, "BLOCK", block)
        summary = code_tokenizer.encode_files(
            [tmp_path / name for name in ("a.txt", "b.txt.gz", "c.jsonl")],
            tmp_path / "out.bin",
            errors="replace",
            separator=separator,
            overwrite=True,
            progress=False,
        )
        wanted = code_tokenizer.encode_ordinary_batch([*texts, *texts, "x \ufffd y"])
        assert (written(tmp_path / "out.bin"), summary.n_skipped) == (wanted, 0)


def stopped_after(monkeypatch: pytest.MonkeyPatch, n: int) -> None:
    """Have a run note its progress after each batch, and end with an error after n batches."""
    write, left = encoding_run.Run._write, itertools.count(n, -1)

    def stop(self: Any, *arguments: Any) -> None:
        if next(left) <= 0:
            self._note()
            raise KeyboardInterrupt
        write(self, *arguments)

    monkeypatch.setattr(encoding_run.Run, "_write", stop)


@pytest.mark.parametrize("n", [1, 2, 4, 7])
@pytest.mark.parametrize("kind", ["mixed", "text"])
def test_resumed_run_has_the_bytes_and_counts_of_a_whole_one(
    code_tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n: int, kind: str
) -> None:
    monkeypatch.setattr(encoding_run, "BATCH_BYTES", 20)
    monkeypatch.setattr(sources, "BLOCK", 40)
    if kind == "mixed":
        paths, _, _ = mixed(tmp_path, random.Random(n), 12)
    else:
        paths = [tmp_path / "a.txt"]
        paths[0].write_bytes(b"a \xe9 caf\xc3\xa9 of \xf0\x9f words\n" * 40)
    options: dict[str, Any] = {"on_error": "skip", "errors": "replace", "progress": False}
    if kind == "text":
        options["separator"] = "\n"
    whole = code_tokenizer.encode_files(paths, tmp_path / "whole.bin", **options)
    with monkeypatch.context() as patched:
        stopped_after(patched, n)
        with pytest.raises(KeyboardInterrupt):
            code_tokenizer.encode_files(paths, tmp_path / "out.bin", **options)
    again = code_tokenizer.encode_files(paths, tmp_path / "out.bin", **options)
    assert (tmp_path / "out.bin").read_bytes() == (tmp_path / "whole.bin").read_bytes()
    names = ("n_documents", "n_ids", "n_bytes", "n_skipped", "skipped")
    assert [getattr(again, name) for name in names] == [getattr(whole, name) for name in names]


@pytest.mark.parametrize("last", [b"", b'{"text": "good"}\n'])
def test_damage_before_a_long_file_counts_once_after_a_resume(
    code_tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, last: bytes
) -> None:
    monkeypatch.setattr(sources, "SMALL_BLOCK", 100)
    damaged = gzip.compress(b'{"text": "good"}\n' * 5 + b"more" * 99)[:-9]
    paths = [tmp_path / name for name in ("a.jsonl.gz", "b.txt", "c.jsonl")]
    for path, data in zip(paths, (damaged, b"some text " * 99, last), strict=True):
        path.write_bytes(data)
    options: dict[str, Any] = {"on_error": "skip", "progress": False}
    whole = code_tokenizer.encode_files(paths, tmp_path / "whole.bin", **options)
    assert (whole.n_documents, whole.n_skipped) == (6 + bool(last), 1)
    for n in (1, 2):
        out = tmp_path / f"out{n}.bin"
        with monkeypatch.context() as patched:
            stopped_after(patched, n)
            with pytest.raises(KeyboardInterrupt):
                code_tokenizer.encode_files(paths, out, **options)
        again = code_tokenizer.encode_files(paths, out, **options)
        assert out.read_bytes() == (tmp_path / "whole.bin").read_bytes()
        assert (again.n_documents, again.skipped) == (whole.n_documents, whole.skipped)


def test_run_stopped_by_a_bad_line_can_resume_and_skip_it(
    code_tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for i in range(4):
        (tmp_path / f"{i}.jsonl").write_bytes(b'{"text": "good"}\n' + b"bad\n" * (i == 3))
    monkeypatch.setattr(encoding_run, "BATCH_BYTES", 1)
    out, paths = tmp_path / "out.bin", sorted(tmp_path.glob("*.jsonl"))
    with pytest.raises(FormatError, match=r"3\.jsonl:2"):
        code_tokenizer.encode_files(paths, out, progress=False)
    read: list[Path] = []
    monkeypatch.setattr(file_encoding, "read", lambda path, **how: read.append(path) or sources.read(path, **how))
    summary = code_tokenizer.encode_files(paths, out, on_error="skip", errors="replace", progress=False)
    assert (summary.n_documents, summary.n_skipped) == (4, 1)
    assert paths[0] not in read


def test_run_stopped_within_a_text_can_resume_and_skip_it_whole(
    code_tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "BLOCK", 1000)
    monkeypatch.setattr(sources, "SMALL_BLOCK", 100)
    paths, out = [tmp_path / f"{name}.txt" for name in "abc"], tmp_path / "out.bin"
    for path, text in zip(paths, (b"good", b"some text " * 1000 + b"\xff", b"good"), strict=True):
        path.write_bytes(text)
    with pytest.raises(FormatError, match=r"b\.txt:1: not UTF-8"):
        code_tokenizer.encode_files(paths, out, progress=False)
    summary = code_tokenizer.encode_files(paths, out, on_error="skip", progress=False)
    assert (summary.n_documents, summary.n_skipped) == (2, 1)
    assert written(out) == [code_tokenizer.encode("good")] * 2

    out = tmp_path / "first.bin"  # without a file before it, nothing is left to resume
    with pytest.raises(FormatError, match=r"b\.txt:1: not UTF-8"):
        code_tokenizer.encode_files(paths[1:], out, progress=False)
    with pytest.raises(FileExistsError, match="has on_error 'skip', not 'raise'"):
        code_tokenizer.encode_files(paths[1:], out, on_error="skip", progress=False)


def test_run_that_skips_cannot_be_resumed_without_skipping(
    code_tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "0.jsonl").write_bytes(b'{"text": "good"}\nbad\n')
    (tmp_path / "1.jsonl").write_bytes(b'{"text": "good"}\n')
    monkeypatch.setattr(encoding_run, "BATCH_BYTES", 1)
    with monkeypatch.context() as patched:
        stopped_after(patched, 1)
        with pytest.raises(KeyboardInterrupt):
            code_tokenizer.encode_files(
                sorted(tmp_path.glob("*.jsonl")), tmp_path / "out.bin", on_error="skip", progress=False
            )
    with pytest.raises(FileExistsError, match="has on_error 'raise', not 'skip'"):
        code_tokenizer.encode_files(sorted(tmp_path.glob("*.jsonl")), tmp_path / "out.bin", progress=False)


def test_run_that_skipped_in_a_repaired_file_resumes_before_it(
    code_tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoding_run, "BATCH_BYTES", 1)
    paths, out = [tmp_path / "0.jsonl", tmp_path / "1.jsonl"], tmp_path / "out.bin"
    for path in paths:
        path.write_bytes(b'{"text": "good"}\n' + b"bad\n" * (path == paths[1]))
    with monkeypatch.context() as patched:
        stopped_after(patched, 2)
        with pytest.raises(KeyboardInterrupt):
            code_tokenizer.encode_files(paths, out, on_error="skip", progress=False)
    paths[1].write_bytes(b'{"text": "good"}\n{"text": "better"}\n')
    read: list[int] = []
    monkeypatch.setattr(
        file_encoding, "read", lambda path, **how: read.append(how["offset"]) or sources.read(path, **how)
    )
    summary = code_tokenizer.encode_files(paths, out, progress=False)
    assert (summary.n_skipped, read) == (0, [17, 0])  # from the end of the first file on
    assert written(out) == code_tokenizer.encode_ordinary_batch(["good", "good", "better"])


def test_progress_without_its_settings_is_not_resumed_by_another_run(
    code_tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "good good"}\n' * 9)
    monkeypatch.setattr(encoding_run, "BATCH_BYTES", 1)
    monkeypatch.setattr(sources, "BLOCK", 8)
    out, bytewise = tmp_path / "out.bin", Tokenizer.from_merges([], pattern=None)
    for tokenizer, notes in ((bytewise, True), (code_tokenizer, False)):
        with monkeypatch.context() as patched:
            stopped_after(patched, 5)
            if not notes:
                patched.setattr(encoding_run.Run, "_note", lambda _: None)
            with pytest.raises(KeyboardInterrupt):
                tokenizer.encode_files(tmp_path / "a.jsonl", out, dtype="uint16", progress=False)
        if notes:
            (tmp_path / "out.bin.partial" / "run.json").unlink()  # as by a run that was killed while it began
    code_tokenizer.encode_files(tmp_path / "a.jsonl", out, dtype="uint16", progress=False)
    assert written(out) == [code_tokenizer.encode("good good")] * 9


def test_rows_of_an_engine_are_left_out_counted_and_named(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    rows = ["a", None, b"b \xff", b"c", *[None] * 20]
    out = tmp_path / "a.bin"
    for wrong, error, message in (
        (None, TypeError, r"document 1 \(counted from 0\) is NoneType"),
        (b"b \xff", FormatError, r"document 1 \(counted from 0\) is not UTF-8: .* 0xff at offset 2"),
    ):
        with pytest.raises(error, match=message):
            fastbpe.write_shard(code_tokenizer, ["a", wrong], out, (0, 1))
    assert list(tmp_path.iterdir()) == []
    summary = fastbpe.write_shard(code_tokenizer, rows, out, (0, 1), on_error="skip")
    assert (summary.n_documents, summary.n_skipped, len(summary.skipped)) == (2, 22, 10)
    said = "document 2 (counted from 0) is not UTF-8: invalid byte 0xff at offset 2"
    assert summary.skipped[1] == said + '; convert it first, or pass errors="replace"'
    assert written(out) == code_tokenizer.encode_ordinary_batch(["a", "c"])
    summary = fastbpe.write_shard(code_tokenizer, rows, out, (0, 1), on_error="skip", errors="replace")
    assert (summary.n_skipped, written(out)) == (21, code_tokenizer.encode_ordinary_batch(["a", "b \ufffd", "c"]))
    with pytest.raises(TypeError, match=r"document 0 \(counted from 0\) is int"):
        fastbpe.write_shard(code_tokenizer, [5], out, (0, 1), on_error="skip")  # type: ignore[list-item]


def test_shards_keep_what_they_skipped(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    paths, _, n_bad = mixed(tmp_path, random.Random(3), 6)
    single = code_tokenizer.encode_files(paths, tmp_path / "single.bin", on_error="skip", progress=False)
    for _ in range(2):  # the second time, the manifests tell
        made = [
            code_tokenizer.encode_files(paths, tmp_path / "out.bin", shard=(i, 2), on_error="skip", progress=False)
            for i in range(2)
        ]
        assert sum(summary.n_skipped for summary in made) == n_bad
    merged = fastbpe.merge_shards(tmp_path / "out.bin", tmp_path / "merged.bin", progress=False)
    assert (merged.n_skipped, merged.skipped) == (single.n_skipped, single.skipped)
    assert (tmp_path / "merged.bin").read_bytes() == (tmp_path / "single.bin").read_bytes()


def test_finished_shard_without_bad_documents_counts_for_every_reading(
    code_tokenizer: Tokenizer, tmp_path: Path
) -> None:
    (tmp_path / "0.jsonl").write_bytes(b'{"text": "good"}    \n')  # as large as the other: neither is divided
    (tmp_path / "1.jsonl").write_bytes(b'bad\n{"text": "good"}\n')
    paths, out = sorted(tmp_path.glob("*.jsonl")), tmp_path / "out.bin"
    code_tokenizer.encode_files(paths, out, shard=(0, 2), progress=False)
    first = (tmp_path / "out-00000-of-00002.bin").stat().st_mtime_ns
    with pytest.raises(FormatError, match=r"1\.jsonl:1"):
        code_tokenizer.encode_files(paths, out, shard=(1, 2), progress=False)
    for i in range(2):  # a job array that is repeated, and told to skip
        code_tokenizer.encode_files(paths, out, shard=(i, 2), on_error="skip", progress=False)
    assert (tmp_path / "out-00000-of-00002.bin").stat().st_mtime_ns == first
    with pytest.raises(FileExistsError, match=r"made with other settings \(on_error\)"):
        code_tokenizer.encode_files(paths, out, shard=(1, 2), progress=False)


@pytest.mark.parametrize("options", [{"on_error": "ignore"}, {"errors": "ignore"}, {"on_error": None}])
def test_unknown_choice_raises_value_error(
    code_tokenizer: Tokenizer, tmp_path: Path, options: dict[str, Any]
) -> None:
    (tmp_path / "a.txt").touch()
    with pytest.raises(ValueError, match="choose one of"):
        code_tokenizer.encode_files(tmp_path / "a.txt", tmp_path / "out.bin", **options)
    with pytest.raises(ValueError, match="choose one of"):
        fastbpe.write_shard(code_tokenizer, [], tmp_path / "out.bin", (0, 1), **options)
    assert manifests.MANIFEST not in "".join(path.name for path in tmp_path.iterdir())
