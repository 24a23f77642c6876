"""Damaged files of documents: a FormatError with file and row, or left out and counted; never another error."""

from __future__ import annotations

import gzip
import io
import random
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

import fastbpe
from fastbpe import FormatError, Tokenizer, open_ids
from helpers.sampling import n_rounds

TEXTS = [f"text {i} of some words" for i in range(40)]
TABLE = pyarrow.table({"text": TEXTS, "id": list(range(40))})


def parquet(**options: Any) -> bytes:
    sink = io.BytesIO()
    pyarrow.parquet.write_table(TABLE, sink, row_group_size=15, **options)
    return sink.getvalue()


def arrow(new: Callable[..., Any]) -> bytes:
    sink = io.BytesIO()
    with new(sink, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=15)
    return sink.getvalue()


LINES = "".join(f'{{"text": "{text}"}}\n' for text in TEXTS).encode()
FILES: dict[str, bytes] = {
    "plain.parquet": parquet(compression="none", use_dictionary=False),
    "a.parquet": parquet(),
    "file.arrow": arrow(pyarrow.ipc.new_file),
    "stream.arrow": arrow(pyarrow.ipc.new_stream),
    "a.jsonl.gz": gzip.compress(LINES),
    "a.txt.gz": gzip.compress(LINES),
    "a.jsonl.zst": zstandard.compress(LINES),
    "a.jsonl": LINES,
}


def error_of(path: Path, name: str) -> bool:
    """Count the pieces of a file; tell whether that is a FormatError, which must have the file's name."""
    try:
        fastbpe.count_pieces(path, progress=False)
    except FormatError as error:
        if name not in str(error):
            raise AssertionError(str(error)) from error
        return True
    return False


@pytest.mark.daily
@pytest.mark.parametrize("name", FILES)
def test_changed_byte_gives_texts_or_a_format_error(code_tokenizer: Tokenizer, tmp_path: Path, name: str) -> None:
    """One byte of a file is another; every error names the file, and on_error="skip" raises no error."""
    rng = random.Random(name)
    data = FILES[name]
    (tmp_path / "good.txt").write_text("good")
    path = tmp_path / name
    for _ in range(n_rounds(30, len(data) * 4)):
        at = rng.randrange(len(data))
        changed = bytearray(data)
        changed[at] = rng.randrange(256)
        path.write_bytes(changed)
        failed = error_of(path, name)
        summary = code_tokenizer.encode_files(
            [path, tmp_path / "good.txt"], tmp_path / "out.bin", on_error="skip", overwrite=True, progress=False
        )
        assert (summary.n_skipped > 0) == failed, (at, changed[at])
        assert open_ids(tmp_path / "out.bin")[-1].tolist() == code_tokenizer.encode_ordinary("good")


@pytest.mark.parametrize("name", FILES)
def test_truncated_file_gives_a_format_error(tmp_path: Path, name: str) -> None:
    rng = random.Random(name)
    data = FILES[name]
    path = tmp_path / name
    for n in (0, 1, 4, len(data) - 1, *(rng.randrange(len(data)) for _ in range(n_rounds(20, 500)))):
        path.write_bytes(data[:n])
        error_of(path, name)


def test_footer_without_rows_is_damage(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    """The file says that it has 0 rows, and its row groups have 40."""
    data = parquet(compression="none")
    footer = data.rindex(bytes([0x16, 80]))  # num_rows: field 3 of the footer, 40 in zigzag
    path = tmp_path / "a.parquet"
    path.write_bytes(data[: footer + 1] + b"\0" + data[footer + 2 :])
    if pyarrow.parquet.ParquetFile(path).metadata.num_rows:
        pytest.skip("this pyarrow writes its footer otherwise")
    with pytest.raises(FormatError, match=r"a\.parquet: damaged parquet file: its row counts disagree"):
        fastbpe.train(path, vocab_size=260)


def test_damage_in_the_middle_names_the_row_and_keeps_the_rows_before(
    code_tokenizer: Tokenizer, tmp_path: Path
) -> None:
    path = tmp_path / "a.parquet"
    data = bytearray(parquet(compression="zstd", use_dictionary=False))
    start = pyarrow.parquet.ParquetFile(io.BytesIO(data)).metadata.row_group(1).column(0).data_page_offset
    data[start : start + 8] = b"\xff" * 8  # the header of its page
    path.write_bytes(data)
    with pytest.raises(FormatError, match=r"a\.parquet: not a valid parquet file after row 15: "):
        fastbpe.count_pieces(path, progress=False)
    summary = code_tokenizer.encode_files(path, tmp_path / "out.bin", on_error="skip", progress=False)
    assert (summary.n_documents, summary.n_skipped) == (15, 1)
    assert summary.skipped[0].startswith(f"{path}: not a valid parquet file after row 15: ")


@pytest.mark.parametrize("name", ["a.txt.gz", "a.jsonl.gz", "a.jsonl.zst", "a.parquet", "file.arrow", "a.txt.bz2"])
def test_skipped_file_is_counted_once_and_never_half(code_tokenizer: Tokenizer, tmp_path: Path, name: str) -> None:
    data = FILES.get(name, b"BZh91AY&SY")
    (tmp_path / name).write_bytes(data[: len(data) * 2 // 3])
    (tmp_path / "b.txt").write_text("good")
    for separator in (None, "\n"):
        summary = code_tokenizer.encode_files(
            [tmp_path / name, tmp_path / "b.txt"],
            tmp_path / "out.bin",
            separator=separator,
            on_error="skip",
            overwrite=True,
            progress=False,
        )
        assert summary.n_skipped == 1
        assert summary.skipped[0].startswith(f"{tmp_path / name}: ")
        ids = open_ids(tmp_path / "out.bin")
        lines = [*map(code_tokenizer.encode_ordinary, [*TEXTS, *LINES.decode().splitlines(), "good"])]
        assert all(document.tolist() in lines for document in ids)
        assert ids[-1].tolist() == code_tokenizer.encode_ordinary("good")


@pytest.mark.parametrize("name", ["a.jsonl.gz", "a.txt.gz"])
def test_every_whole_document_of_a_truncated_gzip_is_kept(
    code_tokenizer: Tokenizer, tmp_path: Path, name: str
) -> None:
    lines = [f'{{"text": "text {i} of {i * i}"}}\n' for i in range(3000)]
    path, data = tmp_path / name, gzip.compress("".join(lines).encode())
    path.write_bytes(data[: len(data) // 2])
    n_whole = zlib.decompressobj(wbits=31).decompress(path.read_bytes()).count(b"\n")
    separator = "\n" if name == "a.txt.gz" else None
    summary = code_tokenizer.encode_files(
        path, tmp_path / "out.bin", separator=separator, on_error="skip", progress=False
    )
    assert n_whole > 1000
    assert (summary.n_documents, summary.n_skipped) == (n_whole, 1)
    assert summary.skipped == (
        f"{path}: damaged gzip file: Compressed file ended before the end-of-stream marker "
        "was reached; copy the file again or recreate it",
    )
