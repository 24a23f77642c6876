"""fastbpe encode -o: write the ids of files to a file."""

from __future__ import annotations

import argparse
from typing import Any

from fastbpe._utils.arguments import decimal
from fastbpe._utils.plurals import counted
from fastbpe.cli import documents, outputs, streams
from fastbpe.cli.failures import in_words_of_shell
from fastbpe.corpus.file_encoding import FilesSummary
from fastbpe.corpus.id_headers import HEADERS
from fastbpe.corpus.sinks import DTYPES, SUFFIXES
from fastbpe.tokenizer.tokenizer import Tokenizer

# Flags that need -o. All but `force` have the names of arguments of `Tokenizer.encode_files`.
_OPTIONS = (
    "document_start",
    "document_end",
    "dtype",
    "num_threads",
    "force",
    "shard",
    "on_error",
    "errors",
    "header",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add -o and the flags that need it."""
    documents.add_error_arguments(parser, "documents that cannot be read, with -o")
    add = parser.add_argument_group("files of ids, with -o").add_argument
    add(
        "-o",
        "--output",
        metavar="OUT",
        help=f"file to write ({', '.join(SUFFIXES)}); it appears when it is complete",
    )
    add("--document-start", metavar="TOKEN", help="special token to put before each document")
    add("--document-end", metavar="TOKEN", help="special token to put after each document")
    add(
        "--dtype",
        choices=DTYPES,
        help="type of the ids (default: uint16 if all ids of the tokenizer fit, else uint32)",
    )
    add("--header", choices=HEADERS, help="with -o FILE.bin: write llm.c's header before the ids")
    add(
        "--num-threads",
        metavar="N",
        type=int,
        help="number of threads that encode (default: FASTBPE_NUM_THREADS, or one per usable CPU)",
    )
    add(
        "--shard",
        metavar="I/N",
        type=shard,
        help="divide the documents of the FILEs into N parts of similar size and encode only part I (from 0 to "
        "N - 1); with -o train.bin, 3/10 writes train-00003-of-00010.bin. `fastbpe merge` joins the parts",
    )
    outputs.add_arguments(
        parser,
        "OUT, or the part of OUT that an interrupted run with other options left,",
        json="print ids as JSON lists; with -o, print the summary as JSON, not as a line",
    )


def run(args: argparse.Namespace, tokenizer: Tokenizer, separator: str | None) -> None:
    """Encode files into one."""
    names = ("text_field", "format", *_OPTIONS)
    options: dict[str, Any] = {name: value for name in names if (value := getattr(args, name)) is not None}
    options["overwrite"] = bool(options.pop("force", False))
    summary = tokenizer.encode_files(
        args.files,
        args.output,
        separator=separator,
        progress=False if args.quiet else None,
        **options,
    )
    if not args.quiet:
        for named in summary.skipped:
            streams.complain(f"skipped: {in_words_of_shell(named, args)}", "warning")
    outputs.report(
        args, f"{said(summary)}{outputs.skipped(summary.n_skipped)}{left_out(summary.n_left_out)}", facts(summary)
    )


def said(summary: FilesSummary, unit: str = "document") -> str:
    """Return the line about a file of ids. unit: name of a document in it, in the singular."""
    return f"{summary.path}: {summary.n_ids:,} ids of {counted(summary.n_documents, unit)}"


def facts(summary: FilesSummary) -> dict[str, object]:
    """Return a summary as a dict for JSON."""
    names = ("n_documents", "n_ids", "n_bytes", "n_skipped", "n_left_out")
    return {"file": str(summary.path), **{name: getattr(summary, name) for name in names}}


def left_out(n: int) -> str:
    """Return a phrase with the number of files in folders that were left out."""
    return f", {counted(n, 'file')} in folders not read" if n else ""


def shard(text: str) -> tuple[int, int]:
    """Parse I/N."""
    index, _, n = text.partition("/")
    if not (index.isdecimal() and n.isdecimal() and decimal(index) < decimal(n)):
        raise argparse.ArgumentTypeError(f"{text!r} is not I/N with I from 0 to N - 1, such as 0/4")
    return decimal(index), decimal(n)


def misused(args: argparse.Namespace) -> str | None:
    """Return an error if a flag needs or excludes -o, or if -o lacks FILEs or one is standard input; else None."""
    if args.output is None:
        given = [name for name in (*_OPTIONS, "quiet") if getattr(args, name) is not None]
        return f"--{given[0].replace('_', '-')} needs -o OUT" if given else None
    if args.allow_special or args.forbid_special:
        return (
            "--allow-special and --forbid-special cannot be combined with -o, which encodes special tokens as text"
        )
    if not args.files or streams.STDIN in args.files:
        return "-o reads its input twice, which standard input does not allow: pass FILEs"
    return None
