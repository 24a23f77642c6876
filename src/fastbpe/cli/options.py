"""Flags that several commands share."""

from __future__ import annotations

import argparse

from fastbpe.cli.streams import STDIN
from fastbpe.errors import FormatError
from fastbpe.tokenizer.load import load
from fastbpe.tokenizer.tokenizer import Tokenizer

_MODEL_HELP = "a tokenizer: file or folder of any format, or a name (gpt-4o, o200k_base, org/name; see fetch)"


def add_input(parser: argparse.ArgumentParser) -> None:
    """Add the input of a command that reads one file or standard input."""
    parser.add_argument("file", metavar="FILE", nargs="?", default=STDIN, help="default: standard input; so is -")


def add_model(parser: argparse.ArgumentParser, *, as_flag: bool = True) -> None:
    """Add the tokenizer file, and the flags for a pattern and special tokens that the file may not hold."""
    if as_flag:
        parser.add_argument("-m", "--model", metavar="MODEL", required=True, help=_MODEL_HELP)
    else:
        parser.add_argument("model", metavar="MODEL", help=_MODEL_HELP)
    group = parser.add_argument_group("for files that do not hold these (.tiktoken, merges.txt)")
    group.add_argument(
        "--pattern", metavar="NAME_OR_REGEX", help="split pattern: gpt2, cl100k, o200k, ..., a regex, or none"
    )
    group.add_argument(
        "--special",
        metavar="TOKEN=ID",
        action="append",
        type=token_and_id,
        help="a special token and its id (repeatable); in place of all that the file holds or is known for",
    )


def load_model(args: argparse.Namespace) -> Tokenizer:
    """Load the tokenizer that the flags of `add_model` name."""
    special = None if args.special is None else dict(args.special)
    tokenizer = load(args.model, pattern=args.pattern, special_tokens=special)
    if not isinstance(tokenizer, Tokenizer):
        raise FormatError(f"{args.model}: a tokenizer of sequences of integers, and this command works on text")
    return tokenizer


def token_and_id(text: str) -> tuple[str, int]:
    """Parse TOKEN=ID. The last `=` counts, since a token may hold others."""
    token, equals, token_id = text.rpartition("=")
    if not equals or not token or not token_id.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} is not TOKEN=ID, for example '<|end|>=50000'")
    return token, int(token_id)
