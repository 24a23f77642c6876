"""fastbpe decode: turn ids into text."""

from __future__ import annotations

import argparse

from fastbpe.cli import streams
from fastbpe.cli.options import add_input, add_model, load_model
from fastbpe.errors import InvalidTokenError
from fastbpe.tokenizer.tokenizer import Tokenizer

SUMMARY = "turn ids back into text"
DETAILS = """

Reads ids separated by white space and writes exactly the bytes that they stand
for: no line end is added."""
EXAMPLE = r"""
examples:
  $ printf 'low lower lowest\n' > words.txt
  $ fastbpe train words.txt -o words.fbpe --vocab-size 260 --quiet
  $ echo 257 259 114 10 | fastbpe decode -m words.fbpe
  low lower
  $ fastbpe encode -m words.fbpe --lines words.txt | fastbpe decode -m words.fbpe --lines
  low lower lowest
"""
_LONGEST_ID = 18  # digits; int() refuses thousands of them with a message about Python's own limit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    add_input(parser)
    parser.add_argument(
        "--lines",
        action="store_true",
        help="each line of ids is a text of its own, written with \\n after it",
    )
    add_model(parser)


def run(args: argparse.Namespace) -> None:
    """Decode and write."""
    tokenizer = load_model(args)
    where = streams.name_of(args.file)
    with streams.open_input(args.file) as file:
        if not args.lines:
            streams.write(_decode(tokenizer, file.read(), where))
            return
        for number, line in enumerate(file, 1):
            streams.write(_decode(tokenizer, line, f"{where}:{number}") + b"\n")


def _decode(tokenizer: Tokenizer, data: bytes, where: str) -> bytes:
    words = data.split()
    for position, word in enumerate(words):
        if not word.isdigit() or len(word) > _LONGEST_ID:
            shown = word[:40].decode(errors="backslashreplace")
            raise ValueError(f"{where}: {shown!r} at position {position} is no id: ids are numbers from 0 up")
    try:
        return tokenizer.decode_bytes([int(word) for word in words])
    except InvalidTokenError as error:
        raise InvalidTokenError(f"{where}: {error}") from None
