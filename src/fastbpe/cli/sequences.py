"""Sequences of integers on the command line: train --mode ids, and encode and decode with such a tokenizer.

A file of sequences is a .npy array of integers (one dimension: a sequence; two: a sequence a row), or text: a
sequence a line, its integers separated by white space. Blank lines are empty sequences.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fastbpe._utils.optional_imports import require_numpy
from fastbpe.cli import streams
from fastbpe.errors import FormatError, InvalidTokenError, TrainingError
from fastbpe.tokenizer.sequences import SequenceTokenizer
from fastbpe.training.train import train

_LONGEST_NUMBER = 18  # digits; int() refuses thousands of them with a message about Python's own limit
_IDS_A_WRITE = 1 << 16  # numbers of a long sequence that are written at a time
_OF_TEXT = ("lines", "separator", "text_field", "allow_special", "forbid_special", "dtype")


def read(name: str) -> Iterator[Any]:
    """Yield the sequences of a file, or of standard input.

    Raises:
        ValueError: the file holds something else than integers; the message has the place.
        ImportError: a .npy file is read without numpy.
    """
    if Path(name).suffix == ".npy":
        array = _array(name)
        yield from (array,) if array.ndim == 1 else array
        return
    with streams.open_input(name) as file:
        for number, line in enumerate(file, 1):
            yield numbers(line, f"{streams.name_of(name)}:{number}")


def numbers(line: bytes, where: str) -> list[int]:
    """Parse the integers of a line. Raises ValueError for anything else."""
    words = line.split()
    for position, word in enumerate(words):
        if not word.isdigit() or len(word) > _LONGEST_NUMBER:
            shown = word[:40].decode(errors="backslashreplace")
            raise ValueError(
                f"{where}: {shown!r} at position {position} is not a symbol or id: these are numbers from 0 up"
            )
    return [int(word) for word in words]


def _array(name: str) -> Any:
    numpy = require_numpy("reading .npy files")
    try:
        array = numpy.load(name, allow_pickle=False, mmap_mode="r")
    except (ValueError, EOFError) as error:
        raise FormatError(f"{name}: not a numpy array that can be read: {error}") from None
    if array.ndim not in (1, 2) or array.dtype.kind not in "iu":
        raise FormatError(
            f"{name}: an array of {array.ndim} dimensions of {array.dtype}: give one or two dimensions of integers"
        )
    return array


def train_and_save(args: argparse.Namespace, options: dict[str, Any]) -> None:
    """Learn a tokenizer of sequences, and save it.

    Args:
        args: the arguments of the command.
        options: arguments of `train` that the command line gave.
    """
    if Path(args.output).suffix not in ("", ".fbpe"):
        raise FormatError(f"{args.output}: a tokenizer of sequences is written as .fbpe")
    if args.option:
        raise TrainingError(f"--option {args.option[0][0]}=...: only --mode codepoint has such options")
    files = args.files or [streams.STDIN]
    tokenizer: Any = train(
        (sequence for name in files for sequence in read(name)),
        mode="ids",
        vocab_size=args.vocab_size,
        progress=False if args.quiet else None,
        **options,
    )
    tokenizer.save(args.output)
    if not args.quiet:
        report = tokenizer.training_report
        streams.tell(
            f"{args.output}: {tokenizer.vocab_size:,} tokens, learned from {report['n_symbols']:,} symbols in "
            f"{report['n_sequences']:,} {'sequence' if report['n_sequences'] == 1 else 'sequences'}"
        )


def encode(args: argparse.Namespace, tokenizer: SequenceTokenizer) -> None:
    """Encode the sequences of files, and write the ids of each on a line."""
    _refuse_flags_of_text(args)
    for name in args.files or [streams.STDIN]:
        for number, sequence in enumerate(read(name), 1):
            try:
                ids = tokenizer.encode(sequence)
            except ValueError as error:
                raise ValueError(f"{streams.name_of(name)}, sequence {number}: {error}") from None
            write_line(ids)


def decode(args: argparse.Namespace, tokenizer: SequenceTokenizer) -> None:
    """Decode ids, and write the symbols of each line of them on a line; without --lines all on one."""
    _refuse_flags_of_text(args, but=("lines",))
    where = streams.name_of(args.file)
    sequences: Iterable[Any] = read(args.file)
    if not args.lines:
        sequences = [[token_id for ids in sequences for token_id in ids]]
    for number, ids in enumerate(sequences, 1):
        try:
            symbols = tokenizer.decode(ids)
        except InvalidTokenError as error:
            place = f"{where}:{number}" if args.lines else where
            raise InvalidTokenError(f"{place}: {error}") from None
        write_line(symbols)


def write_line(line: list[int]) -> None:
    """Write integers on a line."""
    for start in range(0, len(line), _IDS_A_WRITE):
        streams.write((" " * bool(start) + " ".join(map(str, line[start : start + _IDS_A_WRITE]))).encode())
    streams.write(b"\n")


def _refuse_flags_of_text(args: argparse.Namespace, but: tuple[str, ...] = ()) -> None:
    for flag in _OF_TEXT:
        if flag not in but and getattr(args, flag, None) not in (None, False, []):
            args.wrong(f"--{flag.replace('_', '-')} is for text, and the model is one of sequences of integers")
