"""Texts that commands read, by document: files, folders and patterns, or standard input."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Collection, Iterator, Sequence
from typing import cast

from fastbpe.cli import streams
from fastbpe.cli.failures import MENDABLE
from fastbpe.corpus.document_files import format_of
from fastbpe.corpus.document_formats import FORMATS, check_effects
from fastbpe.corpus.listing import Listing
from fastbpe.corpus.remote import as_path
from fastbpe.corpus.skipping import ERRORS, ON_ERROR
from fastbpe.corpus.source_kinds import Cut, Document
from fastbpe.corpus.sources import check_separator, read_stream
from fastbpe.corpus.sources import read as read_file
from fastbpe.corpus.text_documents import Stretch
from fastbpe.errors import OptionError
from fastbpe.tokenizer.internals import cutter_of
from fastbpe.tokenizer.tokenizer import Tokenizer

#: Shown by every --help.
DETAILS = """

FILE is a file, a folder (all .txt, .jsonl and .parquet files below it) or a
pattern like 'data/*.txt'. A text file is one document of UTF-8, or several
(--lines, --separator); JSON lines have one in each line, .parquet and .arrow one in each
row, under "text" (--text-field). Text and lines may be .gz or .zst. First bytes tell
where a name does not; --format says it by hand. Hidden files are left out. Standard
input, read without a FILE or for -, is text."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say where a document ends."""
    add = parser.add_argument
    add(
        "--lines",
        action="store_true",
        help="each line of text is a document, without its end (\\n or \\r\\n)",
    )
    add("--separator", metavar="TEXT", help="string that separates documents inside a text file; it is dropped")
    add(
        "--text-field",
        metavar="NAME",
        help="where JSON lines and tables hold their text (default: text); doc.text is nested",
    )
    add(
        "--format",
        choices=FORMATS,
        help="what all FILEs hold, standard input too (default: by name or first bytes)",
    )
    parser.set_defaults(wrong=parser.error)


def refuse_arguments(args: argparse.Namespace, why: str) -> None:
    """End the command if a flag of `add_arguments` is given though no documents are read; why: the reason."""
    if args.lines or any(value is not None for value in (args.separator, args.text_field, args.format)):
        args.wrong(f"--lines, --separator, --text-field and --format: {why}")


def add_error_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that choose how to treat documents that cannot be read."""
    add = parser.add_argument
    add("--on-error", choices=ON_ERROR, help="for documents that cannot be read (default: raise)")
    add("--errors", choices=ERRORS, help="for bytes that are not UTF-8 (default: strict)")


def separator_of(args: argparse.Namespace) -> str | None:
    """Return the text that ends a document, or None. Wrong usage ends the command."""
    if args.lines and args.separator is not None:
        args.wrong("--lines and --separator: give one of them")
    check_separator(args.separator)
    separator = _separator(args)
    try:
        check_effects(_formats(args), format=None, text_field=args.text_field, separator=separator)
    except OptionError as error:
        args.wrong(str(error))
    return separator


def _separator(args: argparse.Namespace) -> str | None:
    separator: str | None = args.separator
    return "\n" if args.lines else separator


def _formats(args: argparse.Namespace) -> Iterator[str]:
    """Yield the format of each input; those that cannot be found or read are reported when they are read."""
    field = args.text_field or "text"
    for argument in args.files or [streams.STDIN]:
        if argument == streams.STDIN:
            yield args.format or "text"
        else:
            with contextlib.suppress(*MENDABLE):
                for name in files_of(argument, args):
                    with contextlib.suppress(*MENDABLE):
                        yield format_of(as_path(name), args.format, field)


def files_of(name: str, args: argparse.Namespace) -> list[str]:
    """Return the files that an argument names, or standard input."""
    if name == streams.STDIN:
        return [name]
    return [str(path) for path in Listing(args.format, args.text_field or "text").files(as_path(name))]


def read(
    name: str, args: argparse.Namespace, tokenizer: Tokenizer, special: Collection[str] = ()
) -> Iterator[tuple[Sequence[Document], bool]]:
    """Yield the documents of a file or of standard input: (texts, whether the last of them ends a document).

    Long documents come in parts that can be encoded one by one. special: the special tokens that are looked for.
    """
    for stretch in _stretches(name, args, cutter_of(tokenizer, special)):
        yield cast("Sequence[Document]", stretch.texts), stretch.ends


def whole(name: str, args: argparse.Namespace) -> Iterator[Document]:
    """Yield the documents of a file or of standard input, each held whole."""
    for stretch in _stretches(name, args, None):
        yield from cast("Sequence[Document]", stretch.texts)


def standard_input(args: argparse.Namespace, separator: str | None, errors: str) -> list[Document]:
    """Return the documents of standard input, each whole."""
    return [
        text
        for stretch in _stream(args, separator, None, errors)
        for text in cast("Sequence[Document]", stretch.texts)
    ]


def _stretches(name: str, args: argparse.Namespace, cut: Cut | None) -> Iterator[Stretch]:
    separator = _separator(args)
    if name == streams.STDIN:
        yield from _stream(args, separator, cut, "strict")
    else:
        ends = None if separator is None else separator.encode()
        field = args.text_field or "text"
        yield from read_file(as_path(name), format=args.format, separator=ends, field=field, cut=cut)


def _stream(args: argparse.Namespace, separator: str | None, cut: Cut | None, errors: str) -> Iterator[Stretch]:
    """Read standard input."""
    with streams.open_input(streams.STDIN) as file:
        yield from read_stream(
            file,
            streams.name_of(streams.STDIN),
            format=args.format,
            separator=None if separator is None else separator.encode(),
            field=args.text_field or "text",
            cut=cut,
            errors=errors,
        )
