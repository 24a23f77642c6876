"""fastbpe encode: text to ids."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from functools import partial

from fastbpe.cli import encode_files, streams
from fastbpe.cli.options import add_model, load_model
from fastbpe.errors import SpecialTokenError
from fastbpe.tokenizer import Tokenizer

SUMMARY = "turn text into ids"
DETAILS = """

The whole input is one text, line ends included: `fastbpe decode` gives it back
byte for byte. The ids come out on one line, separated by spaces. Special tokens
in the text are text like any other, unless --allow-special or --forbid-special
says otherwise.

With -o the documents of files (txt, jsonl, parquet; .gz, .zst; folders) become
one file of ids instead, in memory that does not grow with them. If that is
stopped, the same command goes on where it was."""
EXAMPLE = r"""
examples:
  $ printf 'low lower lowest<|end|>\n' > words.txt
  $ fastbpe train words.txt -o words.fbpe --vocab-size 261 --special '<|end|>' --quiet
  $ fastbpe encode -m words.fbpe words.txt
  257 259 114 259 115 116 60 124 101 110 100 124 62 10
  $ fastbpe encode -m words.fbpe --allow-special all < words.txt
  257 259 114 259 115 116 260 10
  $ printf 'low\nlower\n' | fastbpe encode -m words.fbpe --lines
  257
  257 101 114
  $ fastbpe encode -m words.fbpe words.txt -o words.bin --lines --document-end '<|end|>'
  words.bin: 14 ids of 1 document
"""
_IDS_A_WRITE = 1 << 16  # the digits of a large text at once would need ten times its memory
Encode = Callable[[bytes], list[int]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The command's flags."""
    parser.add_argument(
        "files", metavar="FILE", nargs="*", help="default: standard input; so is -; several with -o"
    )
    parser.add_argument(
        "--lines",
        action="store_true",
        help="each line is a text of its own, without its end (\\n or \\r\\n), and gets a line of ids",
    )
    parser.add_argument(
        "--allow-special",
        metavar="TOKEN",
        action="append",
        default=[],
        help="where this special token stands in the text, it becomes its id (repeatable); all: each one",
    )
    parser.add_argument(
        "--forbid-special",
        action="store_true",
        help="fail if the text holds a special token that is not allowed",
    )
    encode_files.add_arguments(parser)
    add_model(parser)
    parser.set_defaults(wrong=parser.error)


def run(args: argparse.Namespace) -> None:
    """Encode and print, or write files."""
    if wrong := encode_files.misused(args):
        args.wrong(wrong)
    if args.output is not None:
        encode_files.run(args, load_model(args))
        return
    if len(args.files) > 1:
        args.wrong(f"several files ({args.files[0]}, {args.files[1]}) are encoded with -o OUT only")
    name = args.files[0] if args.files else streams.STDIN
    if os.path.isdir(name):
        args.wrong(f"{name} is a folder: its files are encoded with -o OUT only")
    encode = _choose(load_model(args), args.allow_special, args.forbid_special)
    where = streams.name_of(name)
    with streams.open_input(name) as file:
        if not args.lines:
            _write(_encode(encode, file.read(), where))
            return
        for number, line in enumerate(file, 1):
            if line.endswith(b"\n"):
                line = line[:-1].removesuffix(b"\r")
            _write(_encode(encode, line, f"{where}:{number}"))


def _choose(tokenizer: Tokenizer, allowed: list[str], forbid: bool) -> Encode:
    if not allowed and not forbid:
        return tokenizer.encode_ordinary
    names = frozenset(allowed) - {"all"}
    if unknown := sorted(names - tokenizer.special_tokens_set):
        has = ", ".join(map(repr, tokenizer.special_tokens)) or "none"
        raise SpecialTokenError(f"--allow-special: {unknown[0]!r} is no special token of the model; it has: {has}")
    return partial(
        tokenizer.encode,
        allowed_special="all" if "all" in allowed else names,
        disallowed_special="all" if forbid else (),
    )


def _encode(encode: Encode, text: bytes, where: str) -> list[int]:
    try:
        return encode(text)
    except SpecialTokenError as error:
        found = str(error).partition("\n")[0]  # the ways out that follow are for Python
        raise SpecialTokenError(
            f"{where}: {found} Make it its id by --allow-special, or text by leaving out --forbid-special."
        ) from None
    except ValueError as error:
        raise ValueError(f"{where}: {error}") from None


def _write(ids: list[int]) -> None:
    for start in range(0, len(ids), _IDS_A_WRITE):
        space = " " if start else ""
        streams.write((space + " ".join(map(str, ids[start : start + _IDS_A_WRITE]))).encode())
    streams.write(b"\n")
