"""Sequences of integers on the command line: train --mode ids, and encode and decode with the trained tokenizer.

`tokenizer.sequences.sequence_files` reads the files. Standard input is text: one sequence per line, with its
integers separated by white space. Blank lines are empty sequences.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from fastbpe._utils.plurals import counted
from fastbpe.cli import encode_files as encode_ids
from fastbpe.cli import outputs, streams
from fastbpe.corpus.document_formats import TABLES, named
from fastbpe.errors import FormatError, InvalidTokenError, TrainingError
from fastbpe.id_files.parts import beside
from fastbpe.id_files.reader import open_ids
from fastbpe.tokenizer.sequences import sequence_files
from fastbpe.tokenizer.sequences.sequence_tokenizer import SequenceTokenizer
from fastbpe.training.dispatch import train

_IDS_A_WRITE = 1 << 16  # numbers of a long sequence that are written at a time
# Flags that have no effect on sequences, except those that a caller of `_refuse_flags_of_text` accepts.
_OF_TEXT = (
    "lines",
    "separator",
    "format",
    "allow_special",
    "forbid_special",
    "dtype",
    "shard",
    "on_error",
    "errors",
)
# Flags that `SequenceTokenizer.encode_files` takes under the same names.
_OF_FILES = ("document_start", "document_end", "dtype", "num_threads", "header")


def read(name: str, field: str | None = None) -> Iterator[Any]:
    """Yield the sequences of a file, or of standard input.

    Args:
        name: the file, or - for standard input.
        field: field of JSON lines, or column of a table, that contains the sequences.

    Raises:
        ValueError: the file contains something other than integers; the message contains the place.
        ImportError: a package needed to read the file is missing.
    """
    if name != streams.STDIN:
        for _, sequence in sequence_files.read(Path(name), field or sequence_files.FIELD):
            yield sequence
        return
    with streams.open_input(name) as file:
        for _, sequence in sequence_files.text_lines(file, streams.name_of(name)):
            yield sequence


def files_of(args: argparse.Namespace) -> list[str]:
    """List the files that the arguments refer to, as `sequence_files.files_of` does; - is standard input."""
    return [
        name
        for argument in args.files or [streams.STDIN]
        for name in ([argument] if argument == streams.STDIN else map(str, sequence_files.files_of(argument)))
    ]


def train_and_save(args: argparse.Namespace, options: dict[str, Any]) -> None:
    """Learn a tokenizer of sequences, and save it.

    Args:
        args: the arguments of the command.
        options: arguments of `train` from the command line.
    """
    if Path(args.output).suffix not in ("", ".fbpe"):
        raise FormatError(f"{args.output}: --mode ids writes only .fbpe files")
    if args.option:
        raise TrainingError(
            f"--option {args.option[0][0]}=... works only with --mode codepoint or unigram, not with --mode ids"
        )
    _check_field(args)
    try:
        tokenizer: Any = train(
            (sequence for name in files_of(args) for sequence in read(name, args.text_field)),
            mode="ids",
            vocab_size=args.vocab_size,
            progress=False if args.quiet else None,
            **options,
        )
    except TypeError as error:  # for example a sequence with a fraction, or an option of another mode
        raise TrainingError(str(error)) from None
    tokenizer.save(args.output)
    report = tokenizer.training_report
    outputs.report(
        args,
        f"{args.output}: {tokenizer.vocab_size:,} tokens, learned from "
        f"{counted(report['n_symbols'], 'symbol')} in {counted(report['n_sequences'], 'sequence')}",
        {"file": args.output, "vocab_size": tokenizer.vocab_size, "training": report},
    )


def encode(args: argparse.Namespace, tokenizer: SequenceTokenizer) -> None:
    """Encode the sequences of files, and write the ids of each on a line."""
    _refuse_flags_of_text(args)
    _check_field(args)
    for name in files_of(args):
        for number, sequence in enumerate(read(name, args.text_field), 1):
            try:
                ids = tokenizer.encode(sequence)
            except (ValueError, TypeError) as error:
                raise ValueError(f"{streams.name_of(name)}, sequence {number}: {error}") from None
            if args.json:
                streams.say_json(ids, indent=None)
            else:
                write_line(ids)


def encode_files(args: argparse.Namespace, tokenizer: SequenceTokenizer) -> None:
    """Encode the sequences of files into a file of ids."""
    _refuse_flags_of_text(args, but=("dtype",))
    _check_field(args)
    options = {name: value for name in _OF_FILES if (value := getattr(args, name)) is not None}
    if args.text_field is not None:
        options["field"] = args.text_field
    summary = tokenizer.encode_files(
        args.files, args.output, overwrite=bool(args.force), progress=False if args.quiet else None, **options
    )
    outputs.report(args, encode_ids.said(summary, "sequence"), encode_ids.facts(summary))


def _check_field(args: argparse.Namespace) -> None:
    """End the command if --text-field is given, but no FILE has fields or columns."""
    if args.text_field is not None:
        kinds = {named(Path(name))[0] for name in files_of(args)}  # as `sequence_files.read` chooses
        if kinds.isdisjoint(("jsonl", *TABLES)):
            args.wrong(
                f"--text-field {args.text_field} has no effect: no FILE is named as JSON lines or a table "
                "(.jsonl, .parquet, .arrow); leave --text-field out"
            )


def decode(args: argparse.Namespace, tokenizer: SequenceTokenizer) -> None:
    """Decode ids, and write one line of symbols per line of ids; without --lines, all on one line.

    Special tokens stand for no symbols and are left out.
    """
    path, where = Path(args.file), streams.name_of(args.file)
    # A .npy that encode wrote has its facts in a .json next to it; any other .npy has a sequence in each row.
    is_stored = path.suffix in (".bin", ".idx") or path.is_dir() or beside(path, ".json").exists()
    _refuse_flags_of_text(args, but=("lines", "dtype") if is_stored else ("lines",))
    sequences: Iterable[Any]
    sequences = open_ids(path, tokenizer=tokenizer, dtype=args.dtype) if is_stored else read(args.file)
    if not args.lines:
        sequences = [[token_id for ids in sequences for token_id in ids]]
    for number, ids in enumerate(sequences, 1):
        try:
            symbols = tokenizer.decode(ids, skip_special_tokens=True)
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
            if flag == "dtype":
                args.wrong("--dtype is only for .bin files; leave --dtype out")
            option = f"--{flag.replace('_', '-')}"
            args.wrong(
                f"{option} does not work with this tokenizer, which encodes sequences of integers; leave "
                f"{option} out"
            )
