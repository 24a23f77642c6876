"""fastbpe count: count tokens, as wc counts words."""

from __future__ import annotations

import argparse

from fastbpe.cli import documents, streams
from fastbpe.cli.failures import FAILURE, MENDABLE, describe
from fastbpe.cli.options import add_model, load_model
from fastbpe.tokenizer.tokenizer import Tokenizer

SUMMARY = "count the tokens of files"
DETAILS = f"""{documents.DETAILS}

Special tokens in the text are counted as the text they are. A file that cannot
be counted is reported, the others are counted all the same, and the exit status
is 1."""
EXAMPLE = r"""
examples:
  $ printf 'low lower lowest\n' > words.txt
  $ fastbpe train words.txt -o words.fbpe --vocab-size 260 --quiet
  $ fastbpe count -m words.fbpe words.txt words.txt
   7 words.txt
   7 words.txt
  14 total
  $ fastbpe count -m words.fbpe < words.txt
  7
  $ echo '{"id": 1, "body": "lower lowest"}' > words.jsonl
  $ fastbpe count -m words.fbpe --text-field body words.jsonl
  6 words.jsonl
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    parser.add_argument("files", metavar="FILE", nargs="*", help="text to count (default: standard input)")
    documents.add_arguments(parser)
    add_model(parser)


def run(args: argparse.Namespace) -> int:
    """Count and print. Returns the exit status."""
    documents.separator_of(args)
    tokenizer = load_model(args)
    rows: list[tuple[int, str]] = []
    status = n_names = 0
    for argument in args.files or [streams.STDIN]:
        try:
            names = documents.files_of(argument)
        except MENDABLE as error:
            streams.complain(describe(error))
            status = FAILURE
            continue
        for name in names:
            try:
                rows.append((_count(tokenizer, name, args), name))
            except MENDABLE as error:
                streams.complain(describe(error))
                status = FAILURE
        n_names += len(names)
    if max(len(args.files), n_names) > 1:
        rows.append((sum(n_tokens for n_tokens, _ in rows), "total"))
    width = max((len(str(n_tokens)) for n_tokens, _ in rows), default=0)
    for n_tokens, name in rows:
        streams.say(f"{n_tokens:{width}} {name}" if args.files else str(n_tokens))
    return status


def _count(tokenizer: Tokenizer, name: str, args: argparse.Namespace) -> int:
    return sum(tokenizer.count(text) for texts, _ in documents.read(name, args, tokenizer) for text in texts)
