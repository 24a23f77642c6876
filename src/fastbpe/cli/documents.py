"""Texts that commands read, by document: files, folders and patterns, or standard input."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator, Sequence
from typing import cast

from fastbpe.cli import streams
from fastbpe.corpus import sources
from fastbpe.corpus.remote import as_path
from fastbpe.corpus.skipping import ERRORS, ON_ERROR
from fastbpe.tokenizer.tokenizer import Tokenizer

#: Shown by every --help.
DETAILS = """

FILE is a file, a folder (all .txt, .jsonl and .parquet files below it) or a
pattern like 'data/*.txt'. A txt file is one document of UTF-8 text, or several
(--lines, --separator); a .jsonl file has one in each line, a .parquet file one in each row,
under "text" (--text-field). All but .parquet may be .gz or .zst. Standard input,
read without a FILE or for -, is text."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say where a document ends."""
    add = parser.add_argument
    add(
        "--lines",
        action="store_true",
        help="each line of text is a document, without its end (\\n or \\r\\n)",
    )
    add("--separator", metavar="TEXT", help="string that separates documents inside a text file; it is dropped")
    add("--text-field", metavar="NAME", help="where jsonl and parquet files hold their text (default: text)")
    parser.set_defaults(wrong=parser.error)


def add_error_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that choose how to treat documents that cannot be read."""
    add = parser.add_argument
    add("--on-error", choices=ON_ERROR, help="for documents that cannot be read (default: raise)")
    add("--errors", choices=ERRORS, help="for bytes that are not UTF-8 (default: strict)")


def separator_of(args: argparse.Namespace) -> str | None:
    """Return the text that ends a document, or None. Wrong usage ends the command."""
    if args.lines and args.separator is not None:
        args.wrong("--lines and --separator: give one of them")
    if args.text_field is not None and {streams.STDIN}.issuperset(args.files):
        args.wrong("--text-field is for jsonl and parquet files: standard input is text")
    sources.check_separator(args.separator)
    return "\n" if args.lines else args.separator


def files_of(name: str) -> list[str]:
    """Return the files that an argument names, or standard input."""
    return [name] if name == streams.STDIN else [str(path) for path in sources.files_of(as_path(name))]


def read(
    name: str, args: argparse.Namespace, tokenizer: Tokenizer, special: Collection[str] = ()
) -> Iterator[tuple[Sequence[sources.Document], bool]]:
    """Yield the documents of a file or of standard input: (texts, whether the last of them ends a document).

    Long documents come in parts that can be encoded one by one. special: the special tokens that are looked for.
    """
    for stretch in _stretches(name, args, tokenizer._cutter(special)):
        yield cast("Sequence[sources.Document]", stretch.texts), stretch.ends


def whole(name: str, args: argparse.Namespace) -> Iterator[sources.Document]:
    """Yield the documents of a file or of standard input, each held whole."""
    for stretch in _stretches(name, args, None):
        yield from cast("Sequence[sources.Document]", stretch.texts)


def _stretches(name: str, args: argparse.Namespace, cut: sources.Cut | None) -> Iterator[sources.Stretch]:
    separator = separator_of(args)
    ends = None if separator is None else separator.encode()
    if name == streams.STDIN:
        with streams.open_input(name) as file:
            yield from sources.read_stream(file, streams.name_of(name), separator=ends, cut=cut)
    else:
        yield from sources.read(as_path(name), separator=ends, field=args.text_field or "text", cut=cut)
