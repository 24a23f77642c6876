"""Flags of `fastbpe train` for named sources: --source, --weights, --parity and related ones."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable
from typing import Any

from fastbpe.cli import streams
from fastbpe.corpus.remote import as_path
from fastbpe.errors import TrainingError
from fastbpe.formats.piece_counts_file import is_file_of_counts
from fastbpe.training.named_sources import Parity
from fastbpe.training.piece_counts import PieceCounts

#: Flags that need --parity; the arguments of `Parity` have the same names.
_OF_PARITY = ("dev", "ratio", "window", "alpha", "global_merges")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    add = parser.add_argument_group(
        "several languages, or weighted texts, with --mode byte or codepoint"
    ).add_argument
    add(
        "--source",
        metavar="NAME=FILE",
        action="append",
        type=_named(str),
        help="with --parity or --weights: named text or counts, such as en=en/, instead of FILE (repeatable)",
    )
    add(
        "--weights",
        metavar="NAME=N",
        action="append",
        type=_named(int),
        help="count a source N times (repeatable; default: 1)",
    )
    add(
        "--parity",
        action="store_true",
        help="with --mode byte: choose each merge for one source: with --dev, the one whose dev text has the most "
        "tokens; with --ratio, the one whose bytes per token, divided by its ratio, are lowest; without either, "
        "the one whose text has the most tokens. Not with --base, --ties or --superwords",
    )
    add(
        "--dev",
        metavar="NAME=FILE",
        action="append",
        type=_named(str),
        help="with --parity: a text for each source NAME; the source whose text has the most tokens gets the next "
        "merge, so pass the same text in each language (repeatable)",
    )
    add(
        "--ratio",
        metavar="NAME=X",
        action="append",
        type=_named(float),
        help="with --parity, without --dev: the relative length in bytes of the same content in source NAME, such "
        "as de=1.1; only the proportions matter (repeatable)",
    )
    add(
        "--window",
        metavar="N",
        type=int,
        help="with --parity: limit how many of the last N merges may be learned for the same source (default: no "
        "limit); see --alpha",
    )
    add(
        "--alpha",
        metavar="X",
        type=float,
        help="with --window: a source that has learned more than X / (number of sources) of the last N merges "
        "must wait, as long as another source can learn (default: 2)",
    )
    add(
        "--global-merges",
        metavar="N",
        type=int,
        help="with --parity: learn the first N merges from all sources together (default: 0)",
    )


def check(args: argparse.Namespace) -> None:
    """Check that the flags are consistent, and make the named files the FILEs of the command, for later checks.

    Raises TrainingError: the flags are not consistent.
    """
    if not args.parity:
        for name in _OF_PARITY:
            if getattr(args, name) is not None:
                flag = f"--{name.replace('_', '-')}"
                raise TrainingError(f"{flag} has no effect without --parity; add --parity, or leave {flag} out")
    if not args.source:
        if args.parity or args.weights:
            flag = "--parity" if args.parity else "--weights"
            raise TrainingError(f"{flag} needs named texts: --source en=en/ --source de=de/ …")
        return
    if args.files:
        file = args.files[0]
        raise TrainingError(
            f"{file}: unnamed files cannot be combined with --source; pass this one as --source NAME={file}, too"
        )
    if not args.parity and not args.weights:
        raise TrainingError(
            "--source has no effect without --parity or --weights; add one, or pass the files as FILE"
        )
    args.files = [file for _, file in (*args.source, *(args.dev or ()))]
    if streams.STDIN in args.files:
        raise TrainingError(
            "--source and --dev cannot read standard input (-); save the text to a file and pass its name"
        )


def sources_of(args: argparse.Namespace) -> dict[str, Any]:
    """Return a dict from names to sources, for `train`."""
    return _by_name(args.source)


def mode_of(source: dict[str, Any] | PieceCounts | None) -> str | None:
    """Return the mode of the first counts in a source, which may be a dict of names; None if it has no counts."""
    parts = source.values() if isinstance(source, dict) else (source,)
    return next((part.mode for part in parts if isinstance(part, PieceCounts)), None)


def options_of(args: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments for `train` from the flags."""
    options: dict[str, Any] = {}
    if args.weights:
        options["weights"] = _each_once(args.weights, "--weights")
    if args.parity:
        given = {name: getattr(args, name) for name in _OF_PARITY if getattr(args, name) is not None}
        if args.dev:
            given["dev"] = _by_name(args.dev)
        if args.ratio:
            given["ratio"] = _each_once(args.ratio, "--ratio")
        options["parity"] = Parity(**given)
    return options


def _named(value_of: Callable[[str], Any]) -> Callable[[str], tuple[str, Any]]:
    """Return a function that parses NAME=VALUE."""

    def read(text: str) -> tuple[str, Any]:
        name, sign, value = text.partition("=")
        if not name or not sign or not value:
            raise argparse.ArgumentTypeError(
                f"{text!r}: pass a name and a value, such as en={_EXAMPLES[value_of]}"
            )
        try:
            return name, value_of(value)
        except ValueError:
            kind = "an integer" if value_of is int else "a number"
            raise argparse.ArgumentTypeError(f"{text!r}: {value!r} is not {kind}") from None

    return read


_EXAMPLES: dict[Callable[[str], Any], str] = {str: "en/", int: "2", float: "1.5"}


def _by_name(given: Iterable[tuple[str, str]]) -> dict[str, Any]:
    """Return the files of each name, or their counts added up."""
    files: dict[str, list[str]] = {}
    for name, file in given:
        files.setdefault(name, []).append(file)
    return {name: _source_of(some) for name, some in files.items()}


def _source_of(files: list[str]) -> Any:
    counts = counts_of(files)
    return [as_path(file) for file in files] if counts is None else counts


def counts_of(files: list[str]) -> PieceCounts | None:
    """Load and add up the files if they are counts; None: they are text.

    Raises:
        TrainingError: some are counts, and some are text.
    """
    counted = [is_file_of_counts(name) for name in files]
    if not any(counted):
        return None
    if not all(counted):
        text = files[counted.index(False)]
        raise TrainingError(
            f"{text} is not a count file, but other files are; count its text first: fastbpe count-pieces"
        )
    return sum(map(PieceCounts.load, files[1:]), PieceCounts.load(files[0]))


def _each_once(given: Iterable[tuple[str, Any]], flag: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in given:
        if name in found:
            raise TrainingError(f"{flag} {name}={value}: {name} is given twice; pass it once")
        found[name] = value
    return found
