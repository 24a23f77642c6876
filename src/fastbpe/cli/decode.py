"""fastbpe decode: turn ids into text."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from fastbpe._utils.progress import Reporter
from fastbpe.cli import id_sequences, streams
from fastbpe.cli.shared_flags import add_input, add_model, load_any
from fastbpe.corpus.sinks import SUFFIXES
from fastbpe.errors import InvalidTokenError
from fastbpe.id_files.parts import READABLE
from fastbpe.id_files.reader import open_ids
from fastbpe.tokenizer.sequences.sequence_tokenizer import SequenceTokenizer
from fastbpe.tokenizer.tokenizer import Tokenizer

SUMMARY = "turn ids back into text"
DETAILS = """

Reads ids, separated by white space or commas, with or without brackets, and writes
exactly the bytes that they stand for; it adds no line ending. It also reads the .bin, .idx
and .npy files and folders of shards that `fastbpe encode -o` writes, llm.c's .bin files,
and Megatron's .idx and .bin files. --lines ends each document with a line ending.

With a tokenizer from `train --mode ids`, the ids become a line of integers; with --lines,
each line or document of ids becomes a line. These lines leave out special tokens."""
EXAMPLE = r"""
examples:
  $ printf 'low lower lowest\n' > words.txt
  $ fastbpe train words.txt -o words.fbpe --vocab-size 260 --quiet
  $ echo 257 259 114 10 | fastbpe decode -m words.fbpe
  low lower
  $ echo '[257, 259, 114, 10]' | fastbpe decode -m words.fbpe
  low lower
  $ fastbpe encode -m words.fbpe --lines words.txt | fastbpe decode -m words.fbpe --lines
  low lower lowest
  $ fastbpe encode -m words.fbpe words.txt -o words.bin --quiet
  $ fastbpe decode -m words.fbpe words.bin
  low lower lowest
"""
_IDS_A_WRITE = 1 << 16  # ids of a long document that are decoded at a time
_SPACES = bytes.maketrans(b"[,]", b"   ")  # signs of lists, as Python and JSON write them
_LONGEST_ID = 18  # digits; int() refuses thousands of them with a message about Python's own limit


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_input(parser)
    add_model(parser)
    parser.add_argument(
        "--lines",
        action="store_true",
        help="decode each line or document by itself, and write a line ending after it",
    )
    parser.add_argument(
        "--dtype",
        choices=READABLE,
        help="type of the ids in a .bin file that has no header and no .json or .idx file next to it",
    )


def run(args: argparse.Namespace) -> None:
    """Decode and write."""
    tokenizer = load_any(args)
    if isinstance(tokenizer, SequenceTokenizer):
        id_sequences.decode(args, tokenizer)
        return
    path = Path(args.file)
    if args.file != streams.STDIN and (path.suffix in SUFFIXES or path.is_dir()):
        _decode_stored(args, tokenizer)
        return
    if args.dtype is not None:
        args.wrong("--dtype is only for .bin files; leave --dtype out")
    where = streams.name_of(args.file)
    if not args.lines:
        streams.write(_decode(tokenizer, streams.read(args.file), where))
        return
    with streams.open_input(args.file) as file:
        for number, line in enumerate(file, 1):
            streams.write(_decode(tokenizer, line, f"{where}:{number}") + b"\n")


def _decode_stored(args: argparse.Namespace, tokenizer: Tokenizer) -> None:
    """Decode files of ids, document by document."""
    stored = open_ids(args.file, tokenizer=tokenizer, dtype=args.dtype)
    is_seen = sys.stdout is not None and sys.stdout.isatty()  # a bar between the lines would be in the way
    reporter = Reporter(False if is_seen else None)
    with reporter.phase("decoding", stored.n_ids, unit=" ids", unit_scale=True) as phase:
        for number, document in enumerate(stored):
            where = f"{args.file}: document {number}"
            # Only in byte mode are the bytes of ids simply joined: in other modes a text may lose its first space.
            n_each = _IDS_A_WRITE if tokenizer.mode == "byte" else max(len(document), 1)
            for start in range(0, len(document), n_each):
                ids = document[start : start + n_each]
                streams.write(_decoded(tokenizer, ids, where))
                phase.update(len(ids))
            if args.lines:
                streams.write(b"\n")


def _decode(tokenizer: Tokenizer, data: bytes, where: str) -> bytes:
    words = data.translate(_SPACES).split()
    for position, word in enumerate(words):
        if not word.isdigit() or len(word) > _LONGEST_ID:
            shown = word[:40].decode(errors="backslashreplace")
            raise ValueError(
                f"{where}: {shown!r} at position {position} is not an id: an id is an integer of 0 or more, "
                f"of at most {_LONGEST_ID} digits"
            )
    return _decoded(tokenizer, [int(word) for word in words], where)


def _decoded(tokenizer: Tokenizer, ids: Any, where: str) -> bytes:
    try:
        return tokenizer.decode_bytes(ids)
    except InvalidTokenError as error:
        raise InvalidTokenError(f"{where}: {error}") from None
