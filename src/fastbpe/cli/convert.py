"""fastbpe convert: write a tokenizer file in another format."""

from __future__ import annotations

import argparse

from fastbpe._utils.utf8_errors import not_utf8
from fastbpe.cli import outputs, streams
from fastbpe.cli.shared_flags import add_model, add_roles, load_model, roles_of
from fastbpe.errors import FormatError
from fastbpe.formats.endings import ENDINGS, has_ending
from fastbpe.tokenizer.export.dropped_parts import PARTS
from fastbpe.tokenizer.export.export import FORMATS, format_for
from fastbpe.tokenizer.export.verify_export import Verification
from fastbpe.tokenizer.loading import load
from fastbpe.tokenizer.tokenizer import Tokenizer

SUMMARY = "write a tokenizer in another format"
DETAILS = """

All tokens keep their ids. If the format cannot store a part of the tokenizer, an error
names it. Only these parts may be missing without an error: the split pattern, special
tokens, roles, tokens around texts, chat templates and the training report. If the split
pattern or special tokens are missing, the summary line shows the flags to pass with the new
file, such as --pattern gpt2. Before OUT is written, its content is read back and, unless
--drop is given, must return the same ids for every token and for many pairs of tokens.

Unigram models can be converted between sentencepiece's .model, tokenizer.json and .gguf.
The command warns if some texts may get other ids in the library of the new format: texts
whose best two segmentations nearly tie, or texts with combining marks that the libraries
normalize differently. It also warns if a .gguf of a WordPiece or SuperBPE model gives some
texts other ids."""
EXAMPLE = r"""
examples:
  $ printf 'low lower lowest\n' > words.txt
  $ fastbpe train words.txt -o words.fbpe --vocab-size 260 --pattern gpt2 --quiet
  $ fastbpe convert words.fbpe words.tiktoken
  words.tiktoken: 260 tokens as tiktoken; load it with --pattern gpt2
  $ fastbpe convert words.tiktoken words --to gpt2 --pattern gpt2
  words: 260 tokens as gpt2; load it with --pattern gpt2
  $ ls words
  merges.txt
  vocab.json
"""
_CHOICES = (*FORMATS, "sentencepiece")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_model(parser, as_flag=False)
    parser.add_argument(
        "out",
        metavar="OUT",
        help="file to write, or a folder: for gpt2, and for huggingface unless OUT ends with .json",
    )
    endings = ", ".join(f"{ending} {name}" for ending, name in ENDINGS["byte"].items())
    parser.add_argument(
        "--to",
        metavar="FORMAT",
        choices=_CHOICES,
        help=f"{', '.join(_CHOICES)} (default: by the extension of OUT: {endings}; .model of a sentencepiece "
        "or Unigram model: sentencepiece, of a BoundlessBPE model: boundless; a folder, for a byte-level "
        "tokenizer: gpt2)",
    )
    parser.add_argument(
        "--verify",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="read the content of OUT back and compare ids before writing OUT (default)",
    )
    parser.add_argument(
        "--verify-text",
        metavar="FILE",
        help="also compare the ids of each line of this text: with the new file, and with the library of its "
        "format (tokenizers, tiktoken, sentencepiece) if it is installed",
    )
    add_roles(parser)
    parser.add_argument(
        "--drop",
        metavar="PART",
        action="append",
        default=[],
        choices=PARTS,
        help="leave out PART, which the format cannot store; PART can only be normalizer. Some texts may then get "
        "other ids",
    )
    outputs.add_arguments(parser)


def run(args: argparse.Namespace) -> None:
    """Load and write, and report the options that are needed to load the written file."""
    if not args.to and not has_ending(args.out):
        raise FormatError(
            f"{args.out}: its name has no extension that shows the format; pass --to with one of "
            f"{', '.join(_CHOICES)}"
        )
    tokenizer = load_model(args)
    format = args.to or format_for(args.out, tokenizer)
    outputs.refuse_existing(args, *outputs.files_of(args.out, format))
    text = None if args.verify_text is None else _read_text(args.verify_text)
    verified = tokenizer.export(
        args.out, format=format, verify=args.verify, verify_text=text, drop=args.drop, roles=roles_of(args)
    )
    needed = (
        ""
        if _loads_without_options(args.out, tokenizer)
        else outputs.lacking(format, tokenizer.pattern, tokenizer.special_tokens)
    )
    facts = {
        "file": args.out,
        "format": format,
        "vocab_size": tokenizer.vocab_size,
        "options": needed,
        "dropped": args.drop,
        "n_texts": None if verified is None else verified.n_texts,
        "n_changed": None if verified is None else verified.n_changed,
        "owner": None if verified is None else verified.owner or None,
    }
    said = f"{args.out}: {tokenizer.vocab_size:,} tokens as {format}"
    if args.drop:
        said += f" without the {' and '.join(args.drop)}{_changed(verified)}"
    elif verified is not None and text is not None:
        owner = f", in {verified.owner} too" if verified.owner else ""
        said += f"; {verified.n_texts:,} texts have the same ids{owner}"
    outputs.report(args, said + (needed and f"; load it with {needed}"), facts)


def _changed(verified: Verification | None) -> str:
    if verified is None:
        return "; ids were not compared"
    if not verified.n_changed:
        return f"; all {verified.n_texts:,} texts keep their ids"
    text, expected, found = verified.changed[0]
    ids = f"{list(found)} instead of {list(expected)}"
    return f"; {verified.n_changed:,} texts get other ids, such as {text!r}: {ids}"


def _read_text(name: str) -> str:
    data = streams.read(name)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        message = not_utf8(streams.name_of(name), data, error)
        raise FormatError(f"{message}; --verify-text needs a file of UTF-8 text") from None


def _loads_without_options(path: str, tokenizer: Tokenizer) -> bool:
    """Tell whether load(path), without a pattern and special tokens, returns an equal tokenizer."""
    try:
        return load(path) == tokenizer  # load() finds the pattern of a published file by its SHA-256
    except FormatError:
        return False
