"""fastbpe count-pieces: count the pieces of text for training, or merge files of counts."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from fastbpe._utils.plurals import counted, plural
from fastbpe.cli import counting_flags, documents, outputs
from fastbpe.cli.shared_flags import load_text_model
from fastbpe.errors import OptionError, TrainingError
from fastbpe.formats.piece_counts_file import is_file_of_counts
from fastbpe.training.count_checks import unit_of
from fastbpe.training.merge_counts import merge_files
from fastbpe.training.piece_counting import count_pieces
from fastbpe.training.piece_counts import PieceCounts
from fastbpe.training.superword_options import Superwords

SUMMARY = "count text pieces for training (each machine can count a part of the text), or merge count files"
DETAILS = f"""

If the FILEs are count files, their counts are added, within --max-memory-bytes. The
result is the same as if all the text had been counted at once. `fastbpe train` learns from
it.

For superwords (train --superwords boundless), count twice: first pieces, from which
train --superwords words learns a tokenizer of words; then runs of its words, with
--superwords and this tokenizer. A run of words is two or more adjacent words, each one
token.

For superwords on top of any tokenizer, count with --base MODEL --superwords auto. A run of
tokens is all tokens of one piece of the split pattern superbpe_lines. Such runs of a large
text take as much memory as the text. To cut them between tokens that are rarely neighbours,
first count pairs of neighbours (--neighbours count); merge these counts, without the rare
pairs (--min-count N); then count runs with --neighbours and the merged file.{documents.DETAILS}"""
EXAMPLE = r"""
examples:
  $ printf 'low lower lowest\n' > a.txt; printf 'low slow\n' > b.txt
  $ fastbpe count-pieces a.txt -o a.pieces --quiet
  $ fastbpe count-pieces b.txt -o b.pieces --quiet
  $ fastbpe count-pieces a.pieces b.pieces -o all.pieces
  all.pieces: 5 distinct pieces, 26 bytes of text, from 2 files of counts
  $ fastbpe train all.pieces -o words.fbpe --vocab-size 260
  words.fbpe: 260 tokens, learned from 26 bytes
  $ fastbpe train all.pieces -o words.fbpe --vocab-size 260 --superwords words --quiet
  $ fastbpe count-pieces a.txt b.txt -o all.runs --superwords words.fbpe
  all.runs: 1 distinct run of words, 26 bytes of text
  $ fastbpe train all.runs -o boundless.fbpe --vocab-size 260 --base words.fbpe --superwords boundless
  boundless.fbpe: 260 tokens, learned from 26 bytes
"""
_TEXT_ONLY = {
    "mode",
    "option",
    "pattern",
    "special",
    "superwords",
    "base",
    "neighbours",
    "lines",
    "separator",
    *counting_flags.READING,
} - {"max_memory_bytes"}
_DEFAULT_MERGE_BYTES = 1 << 30  # default of --max-memory-bytes, if count files are merged


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "files", metavar="FILE", nargs="*", help="text to count, or count files to merge (default: standard input)"
    )
    add("-o", "--output", metavar="OUT", required=True, help="count file to write")
    add(
        "--mode",
        choices=("byte", "codepoint", "unigram"),
        help="the --mode of `fastbpe train` that will use the counts: byte (default) needs counts of pieces; "
        "codepoint and unigram need counts of words",
    )
    counting_flags.add_arguments(parser)
    add("--base", metavar="MODEL", help="with --superwords auto: count runs of tokens of this tokenizer")
    add(
        "--superwords",
        metavar="WORDS",
        help="a .fbpe file that `train --superwords words` wrote: count runs of its words; auto: count runs of "
        "the tokens of --base, for `train --base MODEL --superwords auto`",
    )
    add(
        "--neighbours",
        metavar="FILE",
        help="with --superwords auto: cut runs between two tokens whose pair is not in this file of counts; or, "
        "instead of a FILE, 'count': count pairs of neighbouring tokens, not runs",
    )
    add(
        "--min-count",
        metavar="N",
        type=int,
        help="drop pieces, words, runs or pairs that occur fewer than N times in all (default: 1)",
    )
    outputs.add_arguments(parser)


def run(args: argparse.Namespace) -> None:
    """Count or merge, and write the file."""
    outputs.refuse_existing(args, args.output)
    counted = [is_file_of_counts(name) for name in args.files]
    if any(counted):
        if not all(counted):
            text = args.files[counted.index(False)]
            raise TrainingError(
                f"{text} is not a count file, but other FILEs are; count its text first, then merge all files"
            )
        _merge(args)
    else:
        _count(args)


def _merge(args: argparse.Namespace) -> None:
    if given := next((name for name in sorted(_TEXT_ONLY) if getattr(args, name)), None):
        raise OptionError(
            f"--{given.replace('_', '-')} is for text, but these FILEs are count files; leave it out"
        )
    limit = _DEFAULT_MERGE_BYTES if args.max_memory_bytes is None else args.max_memory_bytes
    least = 1 if args.min_count is None else args.min_count
    done = merge_files([Path(name) for name in args.files], args.output, min_count=least, max_memory_bytes=limit)
    facts = {name: getattr(done, name) for name in ("n_distinct", "unit", "n_bytes", "n_pruned", "n_files")}
    outputs.report(
        args,
        f"{done.path}: {counted(done.n_distinct, f'distinct {done.unit}')}, {counted(done.n_bytes, 'byte')} of "
        f"text, from {counted(done.n_files, 'file')} of counts{_pruned(done.n_pruned, done.unit)}",
        {"file": str(done.path), **facts},
    )


def _count(args: argparse.Namespace) -> None:
    separator = documents.separator_of(args)
    names = ("mode", "pattern")
    options: dict[str, Any] = {name: getattr(args, name) for name in names if getattr(args, name) is not None}
    options |= counting_flags.reading_of(args, separator)
    if args.mode in ("codepoint", "unigram"):
        options |= counting_flags.code_point_options(args)
    elif args.option:
        raise OptionError(f"--option {args.option[0][0]}=... works only with --mode codepoint or unigram")
    else:
        options["special_tokens"] = args.special
    if (args.base is None) == (args.superwords == "auto"):
        raise OptionError("--base MODEL and --superwords auto need each other: pass both, or neither")
    if args.neighbours is not None and args.base is None:
        raise OptionError(
            "--neighbours needs --base MODEL and --superwords auto: neighbours are tokens of the base"
        )
    if args.superwords is not None:  # --pattern is for loading the tokenizer, as in train
        options.pop("pattern", None)
        tokenizer = load_text_model(args.superwords if args.base is None else args.base, args.pattern)
        options |= (
            {"superwords": tokenizer} if args.base is None else {"base": tokenizer, "superwords": Superwords()}
        )
    if args.neighbours is not None:
        options["neighbours"] = "count" if args.neighbours == "count" else PieceCounts.load(args.neighbours)
    counts = count_pieces(
        counting_flags.sources_of(args, separator),
        progress=False if args.quiet else None,
        **options,
    )
    if args.min_count is not None:
        counts = counts.pruned(args.min_count)
    counts.save(args.output)
    unit = unit_of(counts.mode, counts.runs_of)
    said = f"{args.output}: {counted(len(counts), f'distinct {unit}')}, {counted(counts.n_bytes, 'byte')} of text"
    facts = {"n_distinct": len(counts), "unit": unit, "n_bytes": counts.n_bytes, "n_pruned": counts.n_pruned}
    outputs.report(
        args,
        f"{said}{_pruned(counts.n_pruned, unit)}{outputs.skipped(counts.n_skipped)}",
        {"file": args.output, **facts},
    )


def _pruned(n_pruned: int, unit: str) -> str:
    return f", without {counted(n_pruned, 'occurrence')} of rare {plural(unit)}" if n_pruned else ""
