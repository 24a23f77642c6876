"""Reading of documents from a file (text, JSON lines, parquet, Arrow; also compressed) or a stream.

`read` returns the documents together with the position to resume from, which `encode_files` needs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import IO, TypeGuard, cast

from fastbpe._core.text.json_lines import n_newlines
from fastbpe._utils.file_statuses import adding_filename
from fastbpe._utils.warn import warn
from fastbpe.corpus.compression import ReadAhead
from fastbpe.corpus.document_files import Content, content_of, opened, spooled
from fastbpe.corpus.document_formats import AS_TEXT, BOM, TABLES, begins_like_json_lines
from fastbpe.corpus.file_parts import FilePart
from fastbpe.corpus.json_documents import Lines
from fastbpe.corpus.open_files import LinesBefore, OpenFile, open_file
from fastbpe.corpus.remote import AnyPath
from fastbpe.corpus.source_kinds import Cut, Document, Skip
from fastbpe.corpus.table_files import table_texts
from fastbpe.corpus.text_blocks import held, ranges
from fastbpe.corpus.text_documents import AvailableBytes, ReplacedUtf8, Stretch, TextBlock
from fastbpe.errors import FormatError, FormatWarning

Block = TextBlock | Lines

BLOCK = 1 << 20  # bytes read at a time; larger blocks are not faster, and several are in memory at once
SMALL_BLOCK = 1 << 16  # bytes; the documents of shorter blocks are put into batches with others


def is_long(texts: Sequence[Document] | Block) -> TypeGuard[Block]:
    """Tell whether texts are a block that is long enough to be processed by itself."""
    return isinstance(texts, (TextBlock, Lines)) and texts.n_bytes >= SMALL_BLOCK


def each_document(items: Iterable[Document | Block]) -> Iterator[Document]:
    """Yield documents, and the documents of blocks, in order."""
    for item in items:
        if isinstance(item, (TextBlock, Lines)):
            yield from item.texts()
        else:
            yield item


def read(
    path: AnyPath | FilePart,
    *,
    format: str | None = None,
    separator: bytes | None = None,
    field: str = "text",
    cut: Cut | None = None,
    offset: int = 0,
    skip: Skip | None = None,
    errors: str = "strict",
    n_threads: int = 4,
) -> Iterator[Stretch]:
    """Read the documents of a file.

    Args:
        path: the file, or a part of it.
        format: str or None – format of the file; None: by name, or else by content.
        separator: bytes or None – bytes between the documents of a text file, which are dropped; b"\\n" also drops
            a "\\r" before it. None: the file is one document.
        field: str – field of a JSON line, or column of a table, that contains the text.
        cut: function that finds the places between the parts of a long document of a text file; None: it is kept
            whole in memory. With skip, documents between separators are also kept whole.
        offset: int – position to start from: `offset` of the last stretch that was read, or 0. With
            errors="replace", the offset in a text file is in bytes of the replaced text.
        skip: function to call with the error for each document, or rest of the file, that cannot be read; None:
            raise it. With skip, a text file that is one document is read twice, so that it can be skipped whole.
        errors: str – "replace": bytes that are not UTF-8 become U+FFFD. "strict": they are an error.
        n_threads: int – threads that share the blocks of the file: for more threads, blocks are smaller.

    Raises:
        FormatError: a part of the file is not UTF-8 or not JSON, or the field is missing, or the file is damaged;
            the message contains the file and line, row or offset. `Stretch.documents` also raises it.
    """
    try:
        with opened(path, format, field) as content:
            if content.file is None:
                part = (path.whole, path.start, path.end) if isinstance(path, FilePart) else (path, 0, None)
                whole, first, last = part
                for texts, row, n_read in table_texts(
                    whole,
                    whole,
                    content.format,
                    field,
                    first_row=first + offset,
                    last_row=last,
                    skip=skip,
                    errors=errors,
                ):
                    n_stored = row - first if isinstance(path, FilePart) else n_read
                    yield Stretch(texts, True, row - first, n_stored)
                return
            if content.format == "text" and separator is None and skip is not None and not offset:
                _check_whole(path, errors)  # with an offset, an earlier run that skips has checked it
            reader = _DocumentReader(path, content, separator, field, cut, skip, errors)
            file = None if content.packing or reader.is_replaced else open_file(path)
            if file is not None and file.size - offset > BLOCK:
                yield from reader.at_positions(file, offset, LinesBefore(path), n_threads)
            else:
                yield from reader.in_order(offset, LinesBefore(path) if offset else None)
    except FormatError as error:
        if skip is None:
            raise
        skip(error)


def _check_whole(path: AnyPath | FilePart, errors: str) -> None:
    """Raise FormatError unless a whole file is text."""
    with opened(path, "text", "") as content:
        cut = len  # every position will do, so that little of the file is in memory
        for stretch in _DocumentReader(path, content, None, "", cut, None, errors).in_order(0, None):
            stretch.documents()


class _DocumentReader:
    """Reader of the documents of an open file of text or JSON lines, with arguments as for `read`.

    Attributes:
        is_replaced: bool – whether bytes that are not UTF-8 are replaced before the text is divided.
    """

    def __init__(
        self,
        where: object,
        content: Content,
        separator: bytes | None,
        field: str,
        cut: Cut | None,
        skip: Skip | None,
        errors: str,
    ) -> None:
        self._where, self._content, self._field = where, content, field
        self._is_text = content.format == "text"
        self._separator = separator if self._is_text else b"\n"
        self._skip = skip if self._separator is not None else None
        self._cut = cut if self._is_text and self._skip is None else None  # skip leaves out whole documents
        self._errors = errors
        self.is_replaced = self._is_text and errors != "strict"

    def at_positions(self, file: OpenFile, offset: int, n_lines: LinesBefore, n_threads: int) -> Iterator[Stretch]:
        """Yield the documents from a position on, in blocks that are read later.

        Closing the generator before its end closes the file: blocks can no longer be read. Without a GIL, an error
        of another thread keeps its block until that thread runs again.
        """
        first = offset or len(self._mark())
        # 16 blocks or more per thread, so that all threads end at almost the same time, unless blocks would be
        # shorter than a quarter of BLOCK. 1: a test may set BLOCK to less than 4.
        block = max(min(BLOCK, (file.size - first) // (16 * n_threads)), BLOCK >> 2, 1)
        try:
            for start, end, ends in ranges(file.read, first, file.size, block, self._separator, self._cut):
                load = partial(file.read, start, end - start)
                yield Stretch(self._block(load, end - start, start, partial(n_lines, start)), ends, end, end)
        except GeneratorExit:
            file.close()
            raise

    def in_order(self, offset: int, n_lines: LinesBefore | None) -> Iterator[Stretch]:
        """Read the documents from a position on. n_lines: counter of lines before it; None: the offset is 0."""
        assert self._content.file is not None
        file = self._content.file
        if self.is_replaced:
            file = ReadAhead(ReplacedUtf8(file, self._errors))
        if offset:
            file.skip_to(offset)
        elif mark := self._mark(file):
            file.drop(len(mark))
            offset = len(mark)
        is_first, n_lines_read = n_lines is None, 0
        # stops: without a cut, a binary file would be read whole before its first byte is refused.
        for data, ends in held(
            file, BLOCK, self._separator, self._cut, stops=self._skip is None and self._is_text
        ):
            if data or (is_first and self._separator is None):  # without separators, an empty file is a document
                # partial(int, x) returns x: both are functions that return the number of lines before the block
                lines_before = partial(int, n_lines_read) if n_lines is None else partial(n_lines, offset)
                block = self._block(partial(bytes, data), len(data), offset, lines_before)
                offset += len(data)
                yield Stretch(block, ends, offset, self._content.n_stored())
                n_lines_read += n_newlines(data) if n_lines is None else 0
                is_first = False

    def _mark(self, file: ReadAhead | None = None) -> bytes:
        """Return the byte-order mark at the beginning, or nothing."""
        file = file or self._content.file
        assert file is not None
        return BOM if file.head_past((BOM,)).startswith(BOM) else b""

    def _block(
        self, load: Callable[[], bytes], n_bytes: int, offset: int, n_lines: Callable[[], int]
    ) -> TextBlock | Lines:
        if self._is_text:
            return TextBlock(
                load,
                n_bytes,
                self._where,
                offset=offset,
                n_lines=n_lines,
                separator=self._separator,
                skip=self._skip,
            )
        advice = f"; {AS_TEXT}" if self._content.is_recognised else ""
        return Lines(
            load,
            n_bytes,
            self._where,
            self._field,
            n_lines=n_lines,
            skip=self._skip,
            errors=self._errors,
            advice=advice,
        )


def read_stream(
    file: IO[bytes],
    where: str,
    *,
    format: str | None = None,
    separator: bytes | None = None,
    field: str = "text",
    cut: Cut | None = None,
    errors: str = "strict",
) -> Iterator[Stretch]:
    """Read the documents of a stream, as `read` does for a file. Without a format, it is text.

    Documents that end with a separator, and JSON lines, are yielded as soon as their ends have arrived.

    Warns:
        FormatWarning: no format is given, and the stream begins like lines of JSON.
    """
    if format in TABLES:
        with contextlib.ExitStack() as stack:
            # pyarrow reads from the beginning: see below for what another program has read of standard input.
            is_unread = file.seekable() and not file.tell()
            table = file if is_unread else stack.enter_context(spooled(file))
            for texts, row, n_read in table_texts(table, where, format, field, errors=errors):
                yield Stretch(texts, True, row, n_read)
        return
    is_whole = separator is None and format != "jsonl"
    stream = file if is_whole else cast("IO[bytes]", AvailableBytes(file, BLOCK))
    # A ReadAhead is not rewound: standard input may be a file whose beginning another program has read.
    ahead = ReadAhead(stream)
    with adding_filename(where), content_of(ahead, where, format or "text", "", "", field) as content:
        assert content.file is not None
        if format is None and begins_like_json_lines(content.file.head()):
            warn(
                f'{where}: the input looks like JSON Lines, but is read as text; format="jsonl" reads a document '
                'from each line, format="text" confirms that it is text',
                FormatWarning,
            )
        reader = _DocumentReader(where, content, separator, field, cut, None, errors)
        yield from reader.in_order(0, None)


def check_separator(separator: str | None) -> None:
    """Check a separator of documents.

    Raises:
        TypeError: it is not str or None.
        ValueError: it is empty.
    """
    if separator is not None and not isinstance(separator, str):
        raise TypeError(f"separator must be str, not {type(separator).__name__}")
    if separator == "":
        raise ValueError('separator="": pass the text between documents, or leave separator= out')
