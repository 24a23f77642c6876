"""fastbpe encode -o: write the ids of files to a file."""

from __future__ import annotations

import argparse
from typing import Any

from fastbpe.cli import documents, streams
from fastbpe.corpus.id_headers import HEADERS
from fastbpe.corpus.sinks import DTYPES, SUFFIXES
from fastbpe.tokenizer.tokenizer import Tokenizer

_OPTIONS = (
    "document_start",
    "document_end",
    "dtype",
    "num_threads",
    "overwrite",
    "shard",
    "on_error",
    "errors",
    "header",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add -o and the flags that go with it."""
    group = parser.add_argument_group("for files of ids")
    add = group.add_argument
    add("-o", "--output", metavar="OUT", help=f"file to write, whole or not at all: {', '.join(SUFFIXES)}")
    add("--document-start", metavar="TOKEN", help="a special token to put before each document")
    add("--document-end", metavar="TOKEN", help="a special token to put after each document")
    add("--dtype", choices=DTYPES, help="what an id is (default: the smaller that holds them all)")
    add("--header", choices=HEADERS, help="what stands in front of the ids of a .bin: the header of llm.c")
    add("--num-threads", metavar="N", type=int, help="threads that encode (default: one per CPU)")
    add("--overwrite", action="store_true", default=None, help="replace OUT, or what an unfinished run left of it")
    add(
        "--shard",
        metavar="I/N",
        type=shard,
        help="write part I of N of FILEs, from 0, as OUT-0000I-of-0000N; `fastbpe merge` joins them",
    )
    documents.add_error_arguments(parser)
    add("--quiet", action="store_true", default=None, help="no progress bar and no summary")


def run(args: argparse.Namespace, tokenizer: Tokenizer, separator: str | None) -> None:
    """Encode files into one."""
    names = ("text_field", "format", *_OPTIONS)
    options: dict[str, Any] = {name: value for name in names if (value := getattr(args, name)) is not None}
    summary = tokenizer.encode_files(
        args.files,
        args.output,
        separator=separator,
        progress=False if args.quiet else None,
        **options,
    )
    if not args.quiet:
        documents = "document" if summary.n_documents == 1 else "documents"
        skipped = f", {summary.n_skipped:,} skipped" if summary.n_skipped else ""
        for named in summary.skipped:
            streams.complain(f"skipped: {named}", "warning")
        counts = f"{summary.n_ids:,} ids of {summary.n_documents:,} {documents}{skipped}"
        streams.tell(f"{summary.path}: {counts}{left_out(summary.n_left_out)}")


def left_out(n: int) -> str:
    """Say how many files of folders were left out."""
    return f", {n:,} {'file' if n == 1 else 'files'} of folders left out" if n else ""


def shard(text: str) -> tuple[int, int]:
    """Parse I/N."""
    index, _, n = text.partition("/")
    if not (index.isdecimal() and n.isdecimal() and int(index) < int(n)):
        raise argparse.ArgumentTypeError(f"{text!r} is not I/N with I from 0 to N - 1, for example 0/4")
    return int(index), int(n)


def misused(args: argparse.Namespace) -> str | None:
    """Return an error about flags that exclude each other, or None."""
    if args.output is None:
        given = [name for name in (*_OPTIONS, "quiet") if getattr(args, name) is not None]
        return f"--{given[0].replace('_', '-')} goes with -o OUT only" if given else None
    if args.allow_special or args.forbid_special:
        return "with -o, special tokens in the text are text: leave out --allow-special and --forbid-special"
    if not args.files or streams.STDIN in args.files:
        return "-o OUT reads files that can be read again, not standard input: name them"
    return None
