"""fastbpe convert: write a tokenizer file in another format."""

from __future__ import annotations

import argparse

from fastbpe._utils.progress import shows_bars
from fastbpe.cli import streams
from fastbpe.cli.options import add_model, add_roles, load_model, roles_of
from fastbpe.errors import FormatError
from fastbpe.formats.endings import ENDINGS, has_ending
from fastbpe.tokenizer.export.dropping import PARTS
from fastbpe.tokenizer.export.export import FORMATS, format_for, left_out
from fastbpe.tokenizer.export.verify_export import Verification
from fastbpe.tokenizer.load import load
from fastbpe.tokenizer.tokenizer import Tokenizer

SUMMARY = "write a tokenizer in another format"
DETAILS = """

All ids stay the same, or it is an error that says what would be lost. What the
format has no place for (the split pattern, in some also special tokens) is
printed as the arguments to load the file with. What is to be written is read
back first, and must give the same ids for every token and many pairs of tokens.

A unigram model may go from sentencepiece's .model to a tokenizer.json, and
back: a warning says that texts whose scores tie may get other ids."""
EXAMPLE = r"""
examples:
  $ printf 'low lower lowest\n' > words.txt
  $ fastbpe train words.txt -o words.fbpe --vocab-size 260 --pattern gpt2 --quiet
  $ fastbpe convert words.fbpe words.tiktoken
  words.tiktoken (tiktoken) does not hold everything; load it with pattern='gpt2'
  $ fastbpe convert words.tiktoken words --to gpt2 --pattern gpt2
  words (gpt2) does not hold everything; load it with pattern='gpt2'
  $ ls words
  merges.txt
  vocab.json
"""
_CHOICES = (*FORMATS, "sentencepiece")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's flags."""
    add_model(parser, as_flag=False)
    parser.add_argument(
        "out", metavar="OUT", help="the file to write; for gpt2, and for huggingface without .json, the folder"
    )
    endings = ", ".join(f"{ending} {name}" for ending, name in ENDINGS["byte"].items())
    parser.add_argument(
        "--to",
        metavar="FORMAT",
        choices=_CHOICES,
        help=f"one of {', '.join(_CHOICES)} (default: by OUT: {endings}, of code points "
        "sentencepiece, of BoundlessBPE boundless, a folder gpt2)",
    )
    parser.add_argument(
        "--verify",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="read the written file back and compare ids, before any file is replaced (default)",
    )
    parser.add_argument(
        "--verify-text",
        metavar="FILE",
        help="compare the ids of this text as well, line by line, also with tokenizers, tiktoken or "
        "sentencepiece, whose format it is, if installed",
    )
    add_roles(parser)
    parser.add_argument(
        "--drop",
        metavar="PART",
        action="append",
        default=[],
        choices=PARTS,
        help="leave out a part that the format cannot hold, though ids of some texts change: normalizer",
    )


def run(args: argparse.Namespace) -> None:
    """Load and write, and warn if the written file does not hold everything."""
    if not args.to and not has_ending(args.out):
        raise FormatError(f"{args.out}: its name does not say which format; give --to {', '.join(_CHOICES)}")
    tokenizer = load_model(args)
    format = args.to or format_for(args.out, tokenizer)
    text = None if args.verify_text is None else _read_text(args.verify_text)
    verified = tokenizer.export(
        args.out, format=format, verify=args.verify, verify_text=text, drop=args.drop, roles=roles_of(args)
    )
    if verified is not None and (text is not None or shows_bars(None)):
        owner = f", in {verified.owner} too" if verified.owner else ""
        streams.note(f"{args.out}: {verified.n_texts:,} texts have the same ids{owner}")
    if args.drop:
        streams.tell(f"{args.out} is without the {' and '.join(args.drop)}{_changed(verified)}")
    arguments = left_out(format, tokenizer.pattern, tokenizer.special_tokens)
    if arguments and not _says_it_all(args.out, tokenizer):
        streams.tell(f"{args.out} ({format}) does not hold everything; load it with {arguments}")


def _changed(verified: Verification | None) -> str:
    if verified is None:
        return "; ids were not compared"
    if not verified.n_changed:
        return f"; none of {verified.n_texts:,} texts gets other ids"
    text, expected, found = verified.changed[0]
    return (
        f"; {verified.n_changed:,} texts that it changes get other ids, such as {text!r}: {list(found)} for "
        f"{list(expected)}"
    )


def _read_text(name: str) -> str:
    data = streams.read(name)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        where = streams.name_of(name)
        raise FormatError(f"{where}: byte {error.start} is not UTF-8; --verify-text takes a text") from None


def _says_it_all(path: str, tokenizer: Tokenizer) -> bool:
    try:
        return load(path) == tokenizer  # the patterns of published files are found by SHA-256
    except FormatError:
        return False
