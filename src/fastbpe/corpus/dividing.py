"""Division of one file among shards, at boundaries of documents."""

from __future__ import annotations

from fastbpe._core.text.utf8_text import to_utf8
from fastbpe.corpus.document_files import format_and_packing
from fastbpe.corpus.file_parts import FilePart, cuts, unpacked_size
from fastbpe.corpus.remote import AnyPath
from fastbpe.corpus.table_files import open_table
from fastbpe.errors import FormatError


def is_divisible(path: AnyPath, format: str | None, field: str, separator: str | None, errors: str) -> bool:
    """Tell whether a file may contain several documents whose starts can be found from any position.

    Arguments are as for `sources.read`, except that the separator is text. With errors="replace", a text file is
    not divided at a separator that contains U+FFFD: replaced bytes may become such a separator. An Arrow file is
    not divided, because it does not say how many rows it has.
    """
    try:
        kind, _ = format_and_packing(path, format, field)
    except FormatError:
        return False  # reading it will raise the error
    if kind in ("jsonl", "parquet"):
        return True
    return kind == "text" and separator is not None and (errors == "strict" or "\ufffd" not in separator)


def divide(
    path: AnyPath, start: int, end: int, format: str | None, field: str, separator: str | None
) -> FilePart | None:
    """Return the part of a file with the documents that begin between two positions; None: none begins there.

    start, end: in bytes of the stored file. In a compressed file or a table they mean the same fractions of its
        content.
    """
    kind, packing = format_and_packing(path, format, field)
    size = path.stat().st_size
    if kind == "parquet":
        with open_table(path, path, kind) as table:
            n_rows = table.n_rows or 0  # a parquet file always says it
        first, last = (-(-place * n_rows // size) for place in (start, end))  # rounded up
        return FilePart(path, kind, "", first, last, size / n_rows) if first < last else None
    n_bytes = unpacked_size(path, packing)
    mark = b"\n" if kind == "jsonl" or separator is None else to_utf8(separator)
    # rounded down, because `cuts` moves positions forward
    first, last = cuts(path, packing, mark, [place * n_bytes // size for place in (start, end)], n_bytes)
    return FilePart(path, kind, packing, first, last, size / n_bytes) if first < last else None
