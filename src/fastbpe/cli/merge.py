"""fastbpe merge: merge shards, or the files of several runs, into one file."""

from __future__ import annotations

import argparse

from fastbpe.cli import encode_files, outputs
from fastbpe.corpus.id_headers import HEADERS
from fastbpe.corpus.sinks import SUFFIXES
from fastbpe.id_files.merging import merge_shards

SUMMARY = "merge shards or files of ids into one file"
DETAILS = """

Reads the shards that `fastbpe encode --shard` wrote, checks each against the hashes
in its manifest, and writes the file that a run without --shard would have written,
byte for byte. RUN is one of three things: a folder of shards; the name that was passed to
`fastbpe encode --shard` as -o OUT; or a file of ids (.bin, .idx, .npy, .parquet, .arrow).
Several RUNs are joined in the given order; they must have the same tokenizer, the same
dtype, and the same --document-start and --document-end. The extension of OUT sets the
format, so a single RUN can be converted."""
EXAMPLE = r"""
example:
  $ printf 'low lower lowest\n' > a.txt; printf 'lower low\n' > b.txt
  $ fastbpe train a.txt -o words.fbpe --vocab-size 260 --quiet
  $ fastbpe encode -m words.fbpe a.txt b.txt -o words.bin --shard 0/2
  words-00000-of-00002.bin: 7 ids of 1 document
  $ fastbpe encode -m words.fbpe a.txt b.txt -o words.bin --shard 1/2
  words-00001-of-00002.bin: 5 ids of 1 document
  $ fastbpe merge words.bin -o words.bin
  words.bin: 12 ids of 2 documents
  $ fastbpe encode -m words.fbpe b.txt -o more.npy --quiet
  $ fastbpe merge words.bin more.npy -o all.bin
  all.bin: 17 ids of 3 documents
  $ fastbpe merge all.bin -o train.bin --header llm.c --quiet
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "runs",
        metavar="RUN",
        nargs="+",
        help="folder of shards; the name that was passed to `fastbpe encode --shard` as -o OUT; or a file of ids",
    )
    add("-o", "--output", metavar="OUT", required=True, help=f"file to write: {', '.join(SUFFIXES)}")
    add("--header", choices=HEADERS, help="write llm.c's header before the ids of a .bin file")
    outputs.add_arguments(parser)


def run(args: argparse.Namespace) -> None:
    """Merge, and print a line about the written file."""
    progress = False if args.quiet else None
    options = {"progress": progress, "overwrite": bool(args.force), "header": args.header}
    summary = merge_shards(args.runs, args.output, **options)
    outputs.report(args, encode_files.said(summary), encode_files.facts(summary))
