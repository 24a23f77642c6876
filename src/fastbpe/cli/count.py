"""fastbpe count: how many tokens, as wc counts words."""

from __future__ import annotations

import argparse

from fastbpe.cli import streams
from fastbpe.cli.failures import FAILURE, MENDABLE, describe
from fastbpe.cli.options import add_model, load_model
from fastbpe.tokenizer import Tokenizer

SUMMARY = "count the tokens of files"
DETAILS = """

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
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's flags."""
    parser.add_argument("files", metavar="FILE", nargs="*", help="default: standard input; so is -")
    add_model(parser)


def run(args: argparse.Namespace) -> int:
    """Count and print; the exit status."""
    tokenizer = load_model(args)
    rows: list[tuple[int, str]] = []
    status = 0
    for name in args.files or [streams.STDIN]:
        try:
            rows.append((_count(tokenizer, name), name))
        except MENDABLE as error:
            streams.complain(describe(error))
            status = FAILURE
    if len(args.files) > 1:
        rows.append((sum(n_tokens for n_tokens, _ in rows), "total"))
    width = max((len(str(n_tokens)) for n_tokens, _ in rows), default=0)
    for n_tokens, name in rows:
        streams.say(f"{n_tokens:{width}} {name}" if args.files else str(n_tokens))
    return status


def _count(tokenizer: Tokenizer, name: str) -> int:
    text = streams.read(name)
    try:
        return tokenizer.count(text)
    except ValueError as error:
        raise ValueError(f"{streams.name_of(name)}: {error}") from None
