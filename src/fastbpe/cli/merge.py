"""fastbpe merge: make one file of the shards that `fastbpe encode --shard` wrote."""

from __future__ import annotations

import argparse

from fastbpe.cli import streams
from fastbpe.corpus.sinks import SUFFIXES
from fastbpe.id_files.merging import merge_shards

SUMMARY = "merge shards of ids into one file"
DETAILS = """

Reads the shards that `fastbpe encode --shard` wrote, compares each with the
hashes in its manifest, and writes the file that a run without --shard would have
written, byte for byte. SHARDS is their folder, or the OUT that they were written
for. One file of ids can be given, too: the ending of -o converts it."""
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
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    add = parser.add_argument
    add("shards", metavar="SHARDS", help="folder of shards, the OUT that they were written for, or a file of ids")
    add("-o", "--output", metavar="OUT", required=True, help=f"file to write: {', '.join(SUFFIXES)}")
    add("--overwrite", action="store_true", help="replace OUT if it exists")
    add("--quiet", action="store_true", help="no progress bar and no summary")


def run(args: argparse.Namespace) -> None:
    """Merge and say what was written."""
    progress = False if args.quiet else None
    summary = merge_shards(args.shards, args.output, progress=progress, overwrite=args.overwrite)
    if not args.quiet:
        documents = "document" if summary.n_documents == 1 else "documents"
        streams.tell(f"{args.output}: {summary.n_ids:,} ids of {summary.n_documents:,} {documents}")
