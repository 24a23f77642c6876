"""Flags of the commands that count text for training (train, count-pieces), and their values."""

from __future__ import annotations

import argparse
from inspect import signature
from typing import Any

from fastbpe.cli import documents, streams
from fastbpe.corpus.remote import AnyPath, as_path
from fastbpe.corpus.source_kinds import Document
from fastbpe.errors import TrainingError
from fastbpe.training.dispatch import train
from fastbpe.training.options import ReadingKeywords

#: Flags for reading, with the names of arguments of `count_pieces`.
READING = ("num_threads", "max_memory_bytes", "text_field", "format", "on_error", "errors")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that define which text is counted, and how."""
    add = parser.add_argument_group("how text is split and counted").add_argument
    add(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=name_and_value,
        help="option of sentencepiece's trainer, with --mode codepoint or unigram: byte_fallback=true, ... "
        "(repeatable)",
    )
    add(
        "--pattern",
        metavar="NAME_OR_REGEX",
        help="split pattern, with --mode byte: cl100k (default), gpt2, ..., a regex, or none (no splitting); with "
        "--base only if the base is a file that does not store its pattern (.tiktoken, merges.txt)",
    )
    add(
        "--special",
        metavar="TOKEN",
        action="append",
        default=[],
        help="special token (repeatable); the text is cut at it, and training gives it one of the last ids (with "
        "--mode codepoint or unigram, one of the first). Not with --base in --mode codepoint",
    )
    add(
        "--num-threads",
        metavar="N",
        type=int,
        help="number of threads (default: FASTBPE_NUM_THREADS, or one per usable CPU)",
    )
    add(
        "--max-memory-bytes",
        metavar="N",
        type=int,
        help="maximum memory for counting tables (default: no limit, but 1 GiB if count-pieces merges count "
        "files); when they are full, counts go to temporary files. If the FILEs are text, their final counts "
        "are all in memory, in addition to this limit",
    )
    documents.add_arguments(parser)
    documents.add_error_arguments(parser)


def code_point_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options of --option and --special, under sentencepiece's names.

    Raises:
        TrainingError: an option is given twice, or is an argument of `train` and so not for --option.
    """
    options: dict[str, Any] = {}
    for name, value in args.option + [("control_symbols", args.special)] * bool(args.special):
        if name in options:
            if name == "control_symbols" and args.special:
                raise TrainingError(
                    "--option control_symbols=... and --special set the same list; pass one of them"
                )
            raise TrainingError(f"--option {name}=... is given twice; pass it once")
        if name in {*signature(train).parameters, *ReadingKeywords.__annotations__}:
            flag = f"--{name.replace('_', '-')}"
            has_flag = flag in args.command._option_string_actions
            said = f"use {flag}" if has_flag else "this command does not have this option; leave it out"
            raise TrainingError(f"--option {name}=...: {said}")
        options[name] = value
    return options


def sources_of(args: argparse.Namespace, separator: str | None) -> list[Document | AnyPath]:
    """List the paths on the command line, and the texts of standard input."""
    found: list[Document | AnyPath] = []
    for name in args.files or [streams.STDIN]:
        if name == streams.STDIN:
            if args.on_error == "skip":
                args.wrong(
                    "--on-error skip cannot be used with standard input: save it to a file, and pass its name"
                )
            found += documents.standard_input(args, separator, args.errors or "strict")
        else:
            found.append(as_path(name))
    return found


def reading_of(args: argparse.Namespace, separator: str | None) -> dict[str, Any]:
    """Return the arguments of `count_pieces` about reading the source.

    separator: str or None – result of `documents.separator_of`.
    """
    given: dict[str, Any] = {name: getattr(args, name) for name in READING} | {"separator": separator}
    if {streams.STDIN}.issuperset(args.files):  # only standard input: sources_of has split it into documents
        given |= dict.fromkeys(("text_field", "separator", "format"))
    return {name: value for name, value in given.items() if value is not None}


def name_and_value(text: str) -> tuple[str, str]:
    """Parse NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE, such as character_coverage=0.9995")
    return name.replace("-", "_"), value
