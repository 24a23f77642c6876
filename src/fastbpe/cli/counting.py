"""Flags of the commands that count text for training (train, count-pieces), and what they say."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from inspect import signature
from typing import Any, cast

from fastbpe.cli import documents, streams
from fastbpe.corpus.remote import AnyPath, as_path
from fastbpe.corpus.sources import Document, read_stream
from fastbpe.errors import TrainingError
from fastbpe.training.train import train

#: Flags of reading, which have the names of arguments of `count_pieces`.
READING = ("num_threads", "max_memory_bytes", "text_field", "on_error", "errors")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags that say what is counted, and how."""
    add = parser.add_argument
    add(
        "--option",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        type=name_and_value,
        help="a sentencepiece trainer option, with --mode codepoint: byte_fallback=true, ... (repeatable)",
    )
    add("--pattern", metavar="NAME_OR_REGEX", help="split pattern: cl100k (default), gpt2, ..., a regex, none")
    add(
        "--special",
        metavar="TOKEN",
        action="append",
        default=[],
        help="a special token (repeatable); it cuts the text, and gets one of the last ids",
    )
    add("--num-threads", metavar="N", type=int, help="threads that count (default: one per CPU)")
    add("--max-memory-bytes", metavar="N", type=int, help="counts beyond it go to temporary files")
    documents.add_arguments(parser)
    documents.add_error_arguments(parser)


def code_point_options(args: argparse.Namespace) -> dict[str, Any]:
    """Return the options with sentencepiece's names.

    Raises for one that is given twice or has a flag of its own.
    """
    options: dict[str, Any] = {}
    for name, value in args.option + [("control_symbols", args.special)] * bool(args.special):
        if name in options:
            raise TrainingError(f"--option {name}=... is given twice (--special gives control_symbols)")
        if name in signature(train).parameters:
            raise TrainingError(
                f"--option {name}=...: that is not an option of code points; see --help for its flag"
            )
        options[name] = value
    return options


def sources_of(args: argparse.Namespace, separator: str | None) -> list[Document | AnyPath]:
    """List the paths that the command line names, and the texts of standard input."""
    found: list[Document | AnyPath] = []
    for name in args.files or [streams.STDIN]:
        found += _standard_input(separator, args.errors) if name == streams.STDIN else [as_path(name)]
    return found


def _standard_input(separator: str | None, errors: str | None) -> list[Document]:
    if separator is None:
        return [streams.read(streams.STDIN)]
    with streams.open_input(streams.STDIN) as file:
        where = streams.name_of(streams.STDIN)
        stretches = read_stream(file, where, separator=separator.encode(), errors=errors or "strict")
        return [text for stretch in stretches for text in cast("Sequence[Document]", stretch.texts)]


def name_and_value(text: str) -> tuple[str, str]:
    """Parse NAME=VALUE."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=VALUE, for example character_coverage=0.9995")
    return name.replace("-", "_"), value
