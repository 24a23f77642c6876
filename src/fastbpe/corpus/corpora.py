"""Corpora: sources of documents, opened for one reading, with the options for reading their files."""

from __future__ import annotations

import errno
import glob
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from fastbpe._core.text.utf8_text import to_utf8
from fastbpe._utils.arguments import integer
from fastbpe._utils.batches import items_in
from fastbpe._utils.threads import usable_threads
from fastbpe._utils.warn import warn
from fastbpe.corpus.compression import PACKINGS
from fastbpe.corpus.document_files import formats_of, has_size_of_text
from fastbpe.corpus.document_formats import DEFAULT_FIELD, check_effects, check_format, check_text_field
from fastbpe.corpus.listing import Listing, Path_
from fastbpe.corpus.remote import AnyPath, RemotePath, as_path, is_remote
from fastbpe.corpus.skipping import Skipped, check_choices
from fastbpe.corpus.source_kinds import KINDS, REFUSED, Cut, Document
from fastbpe.corpus.sources import Block, check_separator, each_document, is_long, read
from fastbpe.errors import OptionError, TrainingError, TrainingWarning

Source = Path_ | Iterable[Path_ | Document]

_BATCH_SIZE = 1 << 20  # characters or bytes of a batch, which ends with the first document that reaches this size
_PATH_SUFFIXES = (*KINDS, *PACKINGS, *REFUSED)  # a str that ends with one looks like a path
_MAX_PATH_CHARACTERS = 1024  # a str of this length or more does not look like a path: PATH_MAX of macOS
# Longest path that any system accepts (Windows). A longer text is not looked up: to parse a text of megabytes as a
# path takes longer than to count its pieces.
_MAX_SYSTEM_PATH_CHARACTERS = 1 << 15
_FOLDER_ENDS = ("/", os.sep)


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """Options for reading and counting a source, checked, with the names and meanings that `train` describes.

    Only counting uses num_threads and max_memory_bytes.

    Raises:
        ValueError: a value is out of range.
        TypeError: a value has the wrong type.
    """

    num_threads: int | None = None
    max_memory_bytes: int | None = None
    text_field: str = DEFAULT_FIELD
    separator: str | None = None
    format: str | None = None
    on_error: str = "raise"
    errors: str = "strict"

    @classmethod
    def take_from(cls, keywords: Any) -> ReadingOptions:
        """Create the options from keyword arguments, and remove these from the dict.

        Args:
            keywords: dict – the keyword arguments of `train` or `count_pieces`.
        """
        return cls(**{field.name: keywords.pop(field.name) for field in fields(cls) if field.name in keywords})

    def __post_init__(self) -> None:
        usable_threads(self.num_threads)
        if self.max_memory_bytes is not None:
            object.__setattr__(self, "max_memory_bytes", integer("max_memory_bytes", self.max_memory_bytes))
            if self.max_memory_bytes < 1:
                raise ValueError(f"max_memory_bytes={self.max_memory_bytes}: must be at least 1, or None")
        check_choices(self.on_error, self.errors)
        check_separator(self.separator)
        check_text_field(self.text_field)
        check_format(self.format)

    def check_unused(self, reason: str = "the source is counted already") -> None:
        """Raise TrainingError if any option differs from its default.

        Args:
            reason: str – reason why there is no text to read, for the error.
        """
        given = ", ".join(f"{field.name}=" for field in fields(self) if getattr(self, field.name) != field.default)
        if given:
            raise TrainingError(f"{reason}: leave out {given}")


_DEFAULTS = ReadingOptions()


class Corpus:
    """Documents of a source, for one reading, with the options for reading its files, as for `train`.

    It distinguishes the paths of a source from its texts, and lists the files of the paths.

    Args:
        source: a path, folder or pattern of paths (see `Listing`), or an iterable of these and of documents; see
            `items_of` for the rule that decides which strings are paths.
        reading: how to read it. With on_error="skip", `skipped` records each document, or rest of a file, that
            cannot be read. With errors="strict", documents that are bytes are not checked.

    Attributes:
        reading: the options.
        n_bytes: int or None – total size of the files; None: there are other items than files, the source is an
            iterator, or the amount of text in the files is not known before reading.
        left_out: unread files in the source's folders. It grows when a folder among the items is listed.
        skipped: documents that were left out so far.

    Raises:
        FileNotFoundError: a path does not exist.
        OptionError: an option cannot have an effect.
        TrainingError: all strings of a list are files, folders or addresses, but not all look like paths.
        TypeError: the source is not a path or an iterable of documents.

    Warns:
        FormatWarning: a file is listed twice.
        TrainingWarning: the first of several texts is the name of a file.
    """

    def __init__(self, source: Source, reading: ReadingOptions = _DEFAULTS) -> None:
        self.reading = reading
        listing = Listing(reading.format, reading.text_field)
        self.left_out, self.skipped = listing.left_out, Skipped()
        items, str_are_paths = items_of(source)
        if not str_are_paths:
            warn_of_names(items)
        self._items: Iterable[AnyPath | Document] = _files_and_documents(items, str_are_paths, listing, reading)
        self.n_bytes: int | None = None
        if isinstance(items, (list, tuple)):
            are_paths = [_is_path(item, str_are_paths) for item in items]
            if items and all(are_paths):
                files = [file for item in items for file in listing.files(item)]
                _check_effects(formats_of(files, reading.format, reading.text_field), reading)
                self._items, self.n_bytes = files, _total_size(files)
            elif not any(are_paths):
                _check_effects(("texts",), reading)

    @classmethod
    def given(
        cls, source: Source | None, *, separator: str | None, text_field: str, format: str | None
    ) -> Corpus | None:
        """Return the corpus of a call whose corpus is optional; None if source is None.

        Raises:
            OptionError: an option for reading is given without a corpus.
        """
        if source is not None:
            return cls(source, ReadingOptions(separator=separator, text_field=text_field, format=format))
        named = {"separator": separator, "text_field": text_field, "format": format}
        for name, value in named.items():
            if value != (DEFAULT_FIELD if name == "text_field" else None):
                raise OptionError(
                    f"{name}={value!r} has no effect: it is for the files of a corpus; pass corpus=, too"
                )
        return None

    def blocks(self, cut: Cut | None = None) -> Iterator[Document | Block]:
        """Read the documents in order; documents of long files come in blocks, which any thread may read.

        A text file is one document, or several with a separator between them; a file of JSON lines has one per
        line, a table one per row. With cut, a document of more than `sources.BLOCK` bytes in a text file comes in
        several parts.

        Args:
            cut: function that finds the places where a long document is divided into parts; None: it is kept whole
                in memory.

        Raises:
            FormatError: a file cannot be read; the message contains the line or offset. The blocks also raise it.
            OSError: the system cannot open or read a file.
            TypeError: an item is not a path or a document.
        """
        reading, errors = self.reading, self.reading.errors
        ends = None if reading.separator is None else to_utf8(reading.separator)
        for item in self._items:
            if isinstance(item, (Path, RemotePath)):
                for stretch in read(
                    item,
                    format=reading.format,
                    separator=ends,
                    field=reading.text_field,
                    cut=cut,
                    skip=self.skipped if reading.on_error == "skip" else None,
                    errors=errors,
                ):
                    if is_long(stretch.texts):
                        yield stretch.texts
                    else:
                        yield from stretch.documents()
            else:
                yield item.decode(errors=errors) if errors != "strict" and isinstance(item, bytes) else item

    def documents(self, cut: Cut | None = None) -> Iterator[Document]:
        """Read the documents in order. The argument and the errors are as in `blocks`."""
        return each_document(self.blocks(cut))

    def batches(self, cut: Cut | None = None) -> Iterator[list[Document]]:
        """Yield the documents in lists.

        A list ends when its documents reach about a million characters (str) or bytes in total.

        cut: as for `blocks`.
        """
        batch: list[Document] = []
        size = 0
        for document in self.documents(cut):
            batch.append(document)
            size += len(document)
            if size >= _BATCH_SIZE:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch


def _files_and_documents(
    items: Iterable[Any], str_are_paths: bool, listing: Listing, reading: ReadingOptions
) -> Iterator[AnyPath | Document]:
    """Replace each path by its files, when its turn comes."""
    for number, item in enumerate(items):
        # `Corpus` has checked a list. Of an iterator, only the first item can be known before others are read.
        if not number and not isinstance(items, (list, tuple)) and not _is_path(item, str_are_paths):
            _check_effects(("texts",), reading)
        if type(item) is bytes or (type(item) is str and not str_are_paths):  # fast, and true of most items
            yield item
        elif _is_path(item, str_are_paths):
            yield from listing.files(item)
        elif isinstance(item, (str, bytes)):
            yield item
        else:
            which = f"document {number} of the source (counted from 0)"
            raise TypeError(f"{which} is {type(item).__name__}, not str or bytes")


def _check_effects(formats: Iterable[str], reading: ReadingOptions) -> None:
    check_effects(formats, format=reading.format, text_field=reading.text_field, separator=reading.separator)


def _is_path(item: object, str_are_paths: bool) -> bool:
    return isinstance(item, os.PathLike) or (str_are_paths and isinstance(item, str))


def _total_size(files: Iterable[AnyPath]) -> int | None:
    """Add up the sizes of files; None if one is compressed or a table, whose text has another size, or missing."""
    try:
        return sum(path.stat().st_size for path in files) if all(map(has_size_of_text, files)) else None
    except OSError:  # reading the file will raise the error
        return None


# Paths and texts


def items_of(source: object) -> tuple[Iterable[Any], bool]:
    """Return the items of a source, and tell paths from texts.

    A single str is a path. Strings in a list or tuple are paths if every one looks like a path; strings in any
    other iterable are texts. An os.PathLike is always a path.

    Returns:
        The items, and whether items of type str are paths.

    Raises:
        FileNotFoundError: a path does not exist.
        TrainingError: all strings of a list are files, folders or addresses, but not all look like paths.
        TypeError: the source is bytes, or not iterable.

    >>> items_of(["a text", "another one"])
    (['a text', 'another one'], False)
    """
    if isinstance(source, str):
        _check_there(source, "a str is a path; pass texts as a list, such as [text]")
        return (source,), True
    if isinstance(source, os.PathLike):
        return (source,), True
    if isinstance(source, bytes):
        raise TypeError("source is bytes: pass a path, or a list of documents, such as [text]")
    source = items_in(source, "source")
    if not isinstance(source, Iterable):
        raise TypeError(f"source must be a path or an iterable of documents, not {type(source).__name__}")
    if not isinstance(source, (list, tuple)) or not any(isinstance(item, str) for item in source):
        return source, False
    if all(_looks_like_path(item) for item in source if isinstance(item, str)):
        for item in source:
            if isinstance(item, str):
                _check_there(
                    item, "a list of str that all look like paths is read as paths; pass texts as iter(list)"
                )
        return source, True
    strings = [item for item in source if isinstance(item, str)]
    # An address that may be a text is not looked up: no text is sent to a server.
    if all(_is_address(item) or (not is_remote(item) and _is_there(item)) for item in strings):
        name = next(item for item in strings if not _looks_like_path(item))
        kind, way_out = "names a file or a folder", f"pass pathlib.Path({name!r}) to read it"
        if _is_address(name):
            kind, way_out = "is an address", "pass it alone, or a pattern such as 's3://bucket/a*', to read it"
        raise TrainingError(
            f"{name!r} {kind}, but does not look like a path; {way_out}, or iter(texts) to read the strings "
            "themselves as texts"
        )
    return source, False


def warn_of_names(items: Iterable[object]) -> None:
    """Warn if the first of several texts is the name of a file: the others may be misspelled names."""
    if isinstance(items, (list, tuple)) and items and _names_file(items[0]):
        other = next((item for item in items if isinstance(item, (str, bytes)) and not _names_file(item)), None)
        warn(
            f"all strings of the source are read as texts, not as paths: {items[0]!r} is the name of a file, but "
            f"{other!r:.80} is not; pass paths as pathlib.Path",
            TrainingWarning,
        )


def _looks_like_path(text: str) -> bool:
    """Tell whether a str is a short line that ends with a known extension or "/", or a pattern without spaces."""
    if len(text) >= _MAX_PATH_CHARACTERS or "\n" in text or "\r" in text or "\0" in text:
        return False
    if text.lower().endswith(_PATH_SUFFIXES) or text.endswith(_FOLDER_ENDS):
        return True
    return glob.has_magic(text) and len(text.split()) == 1


def _is_address(text: str) -> bool:
    """Tell whether a str is an address that fsspec reads, and nothing else."""
    return is_remote(text) and len(text.split()) == 1


def _is_there(name: str) -> bool:
    """Tell whether a str is an existing file or folder, or a pattern that matches one."""
    if len(name) > _MAX_SYSTEM_PATH_CHARACTERS:
        return False
    if is_remote(name):
        path = RemotePath(name)
        return path.exists() or (glob.has_magic(name) and bool(path.glob_itself()))
    name = os.fspath(as_path(name)) if "://" in name else name  # file:// is a path on this machine
    if os.path.exists(name):
        return True
    # A text is not looked up: with `**`, all folders would be searched. No name has a NUL.
    may_match = len(name) < _MAX_PATH_CHARACTERS and "\n" not in name and "\0" not in name and glob.has_magic(name)
    return may_match and next(glob.iglob(name, recursive=True), None) is not None


def _check_there(name: str, way_out: str) -> None:
    """Raise FileNotFoundError if a path does not exist; the message ends with a way out."""
    if name and not _is_there(name):  # for "", `Listing.files` raises an error that says more
        said = "no file matches" if glob.has_magic(name) else os.strerror(errno.ENOENT)
        raise FileNotFoundError(errno.ENOENT, f"{said} ({way_out})", name)


def _names_file(item: object) -> bool:
    return isinstance(item, str) and len(item) < _MAX_PATH_CHARACTERS and os.path.isfile(item)
