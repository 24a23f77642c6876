"""Documents that commands read: from files, folders and patterns, or from standard input."""

from __future__ import annotations

import argparse
import contextlib
import errno
import glob
import os
import shlex
from collections.abc import Collection, Iterator, Sequence

from fastbpe._utils.suggestions import did_you_mean
from fastbpe.cli import streams
from fastbpe.cli.failures import MENDABLE, in_words_of_shell
from fastbpe.corpus.document_files import format_of
from fastbpe.corpus.document_formats import FORMATS, check_effects
from fastbpe.corpus.listing import Listing
from fastbpe.corpus.remote import RemotePath, as_path
from fastbpe.corpus.skipping import ERRORS, ON_ERROR
from fastbpe.corpus.source_kinds import Cut, Document
from fastbpe.corpus.sources import check_separator, read_stream
from fastbpe.corpus.sources import read as read_file
from fastbpe.corpus.text_documents import Stretch
from fastbpe.errors import OptionError
from fastbpe.tokenizer.internals import cutter_of
from fastbpe.tokenizer.tokenizer import Tokenizer

#: Shown by --help of the commands that read documents.
DETAILS = """

FILE is a file, a folder or a pattern such as 'data/*.txt'; addresses such as
s3://bucket/data/ work, too. A folder stands for the files in it and its subfolders that are
named as text (.txt), JSON lines (.jsonl, .json), .parquet or .arrow; with --format, for the
files of that format and those with an unknown extension, such as .md. Folders and patterns
leave out hidden files. A text file is one document, or several with --lines or --separator.
JSON lines and tables (.parquet, .arrow) have one document per line or row, in the field
"text" or the one that --text-field names. Text and JSON lines may be compressed (.gz,
.zst). If a FILE's name does not show its format, its first bytes decide; --format sets the
format of all FILEs. Without a FILE, or if FILE is -, the text comes from standard input."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that define the format of the input, where a document ends, and where its text is."""
    add = parser.add_argument_group("input").add_argument
    add(
        "--lines",
        action="store_true",
        help="treat each line of a text file as a document, without its line ending (\\n or \\r\\n)",
    )
    add(
        "--separator",
        metavar="TEXT",
        help="string that separates documents inside a text file; it is dropped (default: each file is one "
        "document)",
    )
    add(
        "--text-field",
        metavar="NAME",
        help="field or column that contains the text (default: text); use dots for nested fields, as in doc.text",
    )
    add(
        "--format",
        choices=FORMATS,
        help="format of all FILEs and of standard input (default: by the name or the first bytes of a FILE; text "
        "for standard input)",
    )


def refuse_arguments(args: argparse.Namespace, why: str) -> None:
    """End the command if a flag of `add_arguments` is given although no documents are read. why: the reason."""
    if args.lines or any(value is not None for value in (args.separator, args.text_field, args.format)):
        args.wrong(f"--lines, --separator, --text-field and --format: {why}")


def add_error_arguments(parser: argparse.ArgumentParser, title: str = "documents that cannot be read") -> None:
    """Add the flags that choose how to treat documents that cannot be read. title: heading of the flags."""
    add = parser.add_argument_group(title).add_argument
    add(
        "--on-error",
        choices=ON_ERROR,
        help="raise: stop (default); skip: leave the document out and report it (not with standard input)",
    )
    add(
        "--errors",
        choices=ERRORS,
        help="strict: a document with bytes that are not UTF-8 cannot be read, and --on-error decides (default); "
        "replace: these bytes become U+FFFD, and the document is read",
    )


def check_separator_flags(args: argparse.Namespace) -> None:
    """End the command if --lines and --separator are wrong, whatever the input is."""
    if args.lines and args.separator is not None:
        args.wrong("--lines and --separator: pass one of them")
    check_separator(args.separator)


def separator_of(args: argparse.Namespace) -> str | None:
    """Return the text that ends a document, or None. Wrong usage ends the command."""
    check_separator_flags(args)
    separator = _separator(args)
    try:
        check_effects(_formats(args), format=None, text_field=args.text_field, separator=separator)
    except OptionError as error:
        args.wrong(in_words_of_shell(str(error), args))
    return separator


def _separator(args: argparse.Namespace) -> str | None:
    separator: str | None = args.separator
    return "\n" if args.lines else separator


def _formats(args: argparse.Namespace) -> Iterator[str]:
    """Yield the format of each input; "" for a count file, which is no document.

    Inputs that cannot be found or read are skipped: reading reports them.
    """
    from fastbpe.formats.piece_counts_file import is_file_of_counts  # here: most commands need no formats

    field = args.text_field or "text"
    for argument in args.files or [streams.STDIN]:
        if argument == streams.STDIN:
            yield args.format or "text"
        else:
            with contextlib.suppress(*MENDABLE):
                for name in files_of(argument, args):
                    with contextlib.suppress(*MENDABLE):
                        is_counted = is_file_of_counts(name)
                        yield "" if is_counted else format_of(as_path(name), args.format, field)


def files_of(name: str, args: argparse.Namespace) -> list[str]:
    """Return the files that an argument refers to, or standard input."""
    if name == streams.STDIN:
        return [name]
    _check_exists(name, args)
    return [str(path) for path in Listing(args.format, args.text_field or "text").files(as_path(name))]


def _check_exists(name: str, args: argparse.Namespace) -> None:
    """Raise FileNotFoundError for a missing file; the message suggests a similar name, or how to pass text."""
    path = as_path(name)
    if isinstance(path, RemotePath) or path.exists() or glob.has_magic(name):
        return
    if path.is_symlink():
        path.stat()  # raises the error of the link: it is broken, or in a circle
    siblings = {str(sibling) for sibling in path.parent.iterdir()} if path.parent.is_dir() else ()
    way_out = did_you_mean(name, siblings)
    if not way_out and not path.suffix:
        text = shlex.quote(name)
        has_text_flag = any(action.dest == "text" for action in args.command._actions)
        way_out = (
            f"if this is a text, not a file: {args.command.prog} --text {text} ..."
            if has_text_flag
            else f"to read this text: echo {text} | {args.command.prog} ..."
        )
    raise FileNotFoundError(f"{name}: {os.strerror(errno.ENOENT)}{way_out and '; ' + way_out}")


def read(
    name: str, args: argparse.Namespace, tokenizer: Tokenizer, special: Collection[str] = ()
) -> Iterator[tuple[Sequence[Document], bool]]:
    """Yield the documents of a file or of standard input: (texts, whether the last of them ends a document).

    Long documents come in parts that can be encoded one by one. special: the special tokens that texts may
    contain.
    """
    for stretch in _stretches(name, args, cutter_of(tokenizer, special)):
        yield stretch.documents(), stretch.ends


def whole(name: str, args: argparse.Namespace) -> Iterator[Document]:
    """Yield the documents of a file or of standard input, each in one piece."""
    for stretch in _stretches(name, args, None):
        yield from stretch.documents()


def standard_input(args: argparse.Namespace, separator: str | None, errors: str) -> list[Document]:
    """Return the documents of standard input, each in one piece."""
    return [text for stretch in _stream(args, separator, None, errors) for text in stretch.documents()]


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
