"""fastbpe merge: make one file of shards, or of the files of several runs."""

from __future__ import annotations

import argparse

from fastbpe.cli import streams
from fastbpe.corpus.id_headers import HEADERS
from fastbpe.corpus.sinks import SUFFIXES
from fastbpe.id_files.merging import merge_shards

SUMMARY = "merge shards or files of ids into one file"
DETAILS = """

Reads the shards that `fastbpe encode --shard` wrote, compares each with the
hashes in its manifest, and writes the file that a run without --shard would have
written, byte for byte. RUN is their folder, or the OUT that they were written
for, or a file of ids (.bin, .idx, .npy, .parquet, .arrow). Several are joined in
the order given; they must be of one tokenizer, with one dtype and the same ids
around documents. The ending of -o chooses the format, so one RUN is converted."""
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
    """Add the command's flags."""
    add = parser.add_argument
    add(
        "runs",
        metavar="RUN",
        nargs="+",
        help="folder of shards, the OUT that they were written for, or a file of ids",
    )
    add("-o", "--output", metavar="OUT", required=True, help=f"file to write: {', '.join(SUFFIXES)}")
    add("--header", choices=HEADERS, help="what stands in front of the ids of a .bin: the header of llm.c")
    add("--overwrite", action="store_true", help="replace OUT if it exists")
    add("--quiet", action="store_true", help="no progress bar and no summary")


def run(args: argparse.Namespace) -> None:
    """Merge and say what was written."""
    progress = False if args.quiet else None
    options = {"progress": progress, "overwrite": args.overwrite, "header": args.header}
    summary = merge_shards(args.runs, args.output, **options)
    if not args.quiet:
        documents = "document" if summary.n_documents == 1 else "documents"
        streams.tell(f"{args.output}: {summary.n_ids:,} ids of {summary.n_documents:,} {documents}")
