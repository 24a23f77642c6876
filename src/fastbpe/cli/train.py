"""fastbpe train: train a tokenizer and write it to a file."""

from __future__ import annotations

import argparse
import itertools
import os
from typing import Any, Literal

from fastbpe._utils.arguments import decimal
from fastbpe._utils.choices import Format
from fastbpe.cli import counting_flags, documents, encode_files, id_sequences, outputs, source_flags, streams
from fastbpe.cli.shared_flags import add_roles, roles_of
from fastbpe.errors import FormatError, TrainingError
from fastbpe.formats.endings import format_of
from fastbpe.tokenizer.export.export import HAVE_ROLES
from fastbpe.tokenizer.loading import load
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.dispatch import train
from fastbpe.training.options import BASE_SPECIAL, TIES
from fastbpe.training.superword_options import BOUNDLESS, DOCUMENTS, WORDS, Superwords

SUMMARY = "learn a tokenizer from text"
DETAILS = f"""

With --mode ids, each FILE is a file, folder or pattern with sequences of integers from 0 to
N - 1 (--base-size N), such as image or audio codes, musical notes, or DNA: one sequence per
line of text, per row of a .npy array, per document of a .bin or .idx file of ids, per line
of .jsonl, or per row of .parquet or .arrow. OUT is a .fbpe file. With --base, leave out
--base-size: it is the same as in the base. Of the flags that tell how text is read, split
and counted, only --special and --text-field work; any other is an error.{documents.DETAILS}"""
EXAMPLE = r"""
examples:
  $ printf 'low lower lowest\n' > words.txt
  $ fastbpe train words.txt -o words.fbpe --vocab-size 260
  words.fbpe: 260 tokens, learned from 17 bytes
  $ cat words.txt | fastbpe train -o gpt2like.fbpe --vocab-size 261 --pattern gpt2 --special '<|end|>'
  gpt2like.fbpe: 261 tokens, learned from 17 bytes
  $ printf 'slow slower\n' | fastbpe train -o more.fbpe --vocab-size 262 --base words.fbpe
  more.fbpe: 262 tokens, learned from 12 bytes
  $ printf 'out of the end of the day\n' > ends.txt
  $ fastbpe train ends.txt -o super.fbpe --vocab-size 263 --superwords 260
  super.fbpe: 263 tokens, learned from 26 bytes
  $ fastbpe train words.txt -o words.model --mode codepoint --vocab-size 18 --option byte_fallback=false
  words.model: 18 tokens, learned from 17 bytes
  $ fastbpe train words.txt -o unigram.model --mode unigram --vocab-size 12
  unigram.model: 12 tokens, learned from 17 bytes
  $ printf 'low lower lowest newest\n' > en.txt; printf 'neu neuer\n' > de.txt
  $ fastbpe train --source en=en.txt --source de=de.txt --parity -o fair.fbpe --vocab-size 264
  fair.fbpe: 264 tokens, learned from 34 bytes
  $ fastbpe train --source en=en.txt --source de=de.txt --weights de=3 -o more-german.fbpe --vocab-size 264
  more-german.fbpe: 264 tokens, learned from 54 bytes
  $ printf '0 1 2 3 0 1 2\n3 0 1 2\n' > codes.txt
  $ fastbpe train codes.txt -o codes.fbpe --mode ids --base-size 4 --vocab-size 6
  codes.fbpe: 6 tokens, learned from 11 symbols in 2 sequences
  $ fastbpe encode -m codes.fbpe codes.txt
  5 3 5
  3 5
  $ fastbpe encode -m codes.fbpe codes.txt | fastbpe decode -m codes.fbpe --lines
  0 1 2 3 0 1 2
  3 0 1 2
  $ fastbpe train codes.txt -o longer.fbpe --mode ids --base codes.fbpe --vocab-size +1
  longer.fbpe: 7 tokens, learned from 11 symbols in 2 sequences
"""
_OUTPUT_HELP = (
    "file to write, in the format of its extension: .fbpe, .tiktoken, .json (tokenizer.json), .gguf, .model "
    "(minbpe's; sentencepiece's with --mode codepoint or unigram; BoundlessBPE's with --superwords boundless), or "
    "a folder (an existing one, or a name that ends with /) for GPT-2's two files"
)
# Flags with the names of arguments of `train`; `run` also sets other arguments.
_OPTIONS = (
    "pattern",
    "ties",
    "min_count",
    "max_token_bytes",
    "base_special",
    "base_size",
    "max_token_length",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "files",
        metavar="FILE",
        nargs="*",
        help="text to learn from, or count files of `fastbpe count-pieces` (default: standard input, unless "
        "--source is given)",
    )
    add("-o", "--output", metavar="OUT", required=True, help=_OUTPUT_HELP)
    add(
        "--vocab-size",
        metavar="N",
        type=_vocab_size,
        required=True,
        help="number of ids in the finished vocabulary; +N: N more than --base has; 'characters', with --mode "
        "codepoint and without --base: no merges, only special symbols (<unk>, <s>, ...), bytes (with "
        "byte_fallback) and the characters of the text (by default those that make up 99.95 %% of it)",
    )
    add(
        "--mode",
        choices=("byte", "codepoint", "unigram", "ids"),
        help="byte: byte-level BPE; codepoint or unigram: sentencepiece's BPE or unigram models; ids: "
        "sequences of integers. Default: the mode of --base or of the count files, otherwise byte",
    )
    counting_flags.add_arguments(parser)
    merges = parser.add_argument_group("vocabulary")
    add = merges.add_argument
    add(
        "--ties",
        choices=TIES,
        help="with --mode byte or ids: which of several equally frequent pairs is merged first: the one with the "
        "smallest ids (pair; default; as rustbpe), the one that Hugging Face's tokenizers merge first "
        "(huggingface; not with --mode ids or --base), or the first in the text (first; as minbpe; not with "
        "--superwords). Not with --parity or --superwords boundless or words, which have their own rules",
    )
    add(
        "--min-count",
        metavar="N",
        type=int,
        help="with --mode byte or ids: merge only pairs that occur at least N times (default: 1)",
    )
    add(
        "--max-token-bytes",
        metavar="N",
        type=int,
        help="with --mode byte: maximum token length in bytes (default: none)",
    )
    add(
        "--base-size",
        metavar="N",
        type=int,
        help="with --mode ids, required unless --base is given: the integers are 0 to N - 1",
    )
    add(
        "--max-token-length",
        metavar="N",
        type=int,
        help="with --mode ids: maximum token length in integers (default: no limit)",
    )
    add("--base", metavar="MODEL", help="continue from this BPE tokenizer: its tokens keep their ids")
    add(
        "--base-special",
        choices=BASE_SPECIAL,
        help="with --base and --mode byte: keep: the base's special tokens keep their ids (default); end: they "
        "get the last ids",
    )
    add_roles(merges)
    source_flags.add_arguments(parser)
    _add_superwords(parser)
    outputs.add_arguments(parser)


def _add_superwords(parser: argparse.ArgumentParser) -> None:
    """Add the flags of superwords."""
    add = parser.add_argument_group("tokens that span several words (superwords), with --mode byte").add_argument
    add(
        "--superwords",
        metavar="N",
        type=_superwords_start,
        help="learn tokens that span several words, starting at id N or at a fraction of the vocabulary "
        "(such as 0.9); with --base, pass auto instead. auto: at 0.9, or with --base at the first new id. "
        "boundless: learn words and superwords together, as BoundlessBPE does. words: learn only the words, the "
        "first step of boundless; for count-pieces --superwords",
    )
    add(
        "--superwords-pattern",
        metavar="REGEX",
        help="split pattern of superwords, a name or a regex (default: superbpe_lines)",
    )
    add(
        "--superwords-max-words",
        metavar="N",
        type=int,
        help="maximum words per superword (default: 4; 0: no limit)",
    )
    add(
        "--superwords-forbid",
        metavar="TEXT",
        action="append",
        help="text that no superword may contain, instead of the default ': ' (repeatable)",
    )
    add(
        "--superwords-documents",
        choices=DOCUMENTS,
        help="lines: learn superwords from each line by itself (default); whole: from whole documents",
    )


def run(args: argparse.Namespace) -> None:
    """Train and save."""
    base = None if args.base is None else load(args.base, pattern=args.pattern)
    if args.mode is None and base is not None:
        args.mode = base.mode
    if args.mode == "ids":
        _train_on_sequences(args, base)
        return
    source_flags.check(args)
    source: Any = source_flags.sources_of(args) if args.source else source_flags.counts_of(args.files)
    if args.mode is None:
        args.mode = source_flags.mode_of(source)
    is_codepoint = args.mode in ("codepoint", "unigram")
    # format_of and the checks below raise their errors before training, which may take hours.
    format = format_of(
        args.output, "codepoint" if is_codepoint else "byte", of_whole_words=args.superwords == BOUNDLESS
    )
    if args.roles and format not in HAVE_ROLES:
        raise FormatError(f"{args.output}: {format} cannot store --roles; leave it out, or write a .fbpe file")
    outputs.refuse_existing(args, *outputs.files_of(args.output, format))
    separator = documents.separator_of(args)
    if source is None:
        source = counting_flags.sources_of(args, separator)
    options: dict[str, Any] = {name: getattr(args, name) for name in _OPTIONS}
    options["superwords"] = _superwords_of(args)
    options |= counting_flags.reading_of(args, separator) | {"mode": args.mode}
    options["roles"] = roles_of(args)
    options |= source_flags.options_of(args)
    if base is not None:  # it has the pattern: a .tiktoken file, which stores none, was loaded with --pattern
        options |= {"base": base, "pattern": None}
    if is_codepoint:
        options |= counting_flags.code_point_options(args)
    elif args.option:
        name = args.option[0][0]
        raise TrainingError(f"--option {name}=... works only with --mode codepoint or unigram")
    elif args.special:  # if none are given, counts use the ones that they store
        options["special_tokens"] = args.special
    tokenizer = train(
        source,
        vocab_size=args.vocab_size,
        progress=False if args.quiet else None,
        **{name: value for name, value in options.items() if value is not None},
    )
    _write(tokenizer, args.output, format)
    report = tokenizer.training_report
    said = f"{args.output}: {tokenizer.vocab_size:,} tokens, learned from {report['n_bytes']:,} bytes"
    said += outputs.skipped(report["n_skipped"])
    facts = {"file": args.output, "format": format, "vocab_size": tokenizer.vocab_size, "training": report}
    outputs.report(args, f"{said}{encode_files.left_out(report['n_files_left_out'])}", facts)


def _train_on_sequences(args: argparse.Namespace, base: Any) -> None:
    """Train on sequences of integers."""
    if args.source or args.weights or args.parity:
        raise TrainingError(
            "--source, --weights and --parity cannot be combined with --mode ids, which learns from integers"
        )
    outputs.refuse_existing(args, args.output)
    given: dict[str, Any] = {name: getattr(args, name) for name in (*_OPTIONS, *counting_flags.READING)}
    if args.roles:
        raise TrainingError("--roles cannot be combined with --mode ids, whose special tokens have no roles")
    source_flags.check(args)
    if _superwords_of(args) is not None:
        raise TrainingError("--superwords works only with --mode byte; leave --superwords out")
    if args.lines:
        raise TrainingError("--lines cannot be combined with --mode ids, which reads a sequence from each line")
    given |= {
        "separator": args.separator,
        "special_tokens": args.special or None,
        "text_field": None,  # train() gets sequences: the command itself reads the files
    }
    options = {name: value for name, value in given.items() if value is not None}
    if base is not None:
        options["base"] = base
    id_sequences.train_and_save(args, options)


def _write(tokenizer: Tokenizer, output: str, format: Format) -> None:
    """Write the tokenizer, and warn if its format does not store everything.

    Raises:
        FormatError: the format cannot store it; it was saved as .fbpe instead, under a name that no file had.
    """
    try:
        tokenizer.export(output, format=format)
    except FormatError as error:
        name = output.rstrip("/")
        names = itertools.chain([f"{name}.fbpe"], (f"{name}.{number}.fbpe" for number in itertools.count(2)))
        kept = next(kept for kept in names if not os.path.lexists(kept))
        tokenizer.save(kept)
        raise FormatError(f"{output}: {error}; the tokenizer was saved as {kept} instead") from None
    if lost := outputs.lacking(format, tokenizer.pattern, tokenizer.special_tokens):
        streams.complain(f"{output}: {format} does not store everything; load it with {lost}", "warning")


def _superwords_of(args: argparse.Namespace) -> Superwords | Literal["boundless", "words"] | None:
    """Return the options for superwords; None: no superwords are learned.

    Raises:
        TrainingError: an option of superwords lacks --superwords, is not for its value, or is invalid.
    """
    names = ("pattern", "max_words", "forbid", "documents")
    given = {name: value for name in names if (value := getattr(args, f"superwords_{name}")) is not None}
    if args.superwords is None:
        if given:
            option = f"--superwords-{next(iter(given)).replace('_', '-')}"
            raise TrainingError(f"{option} needs --superwords N or --superwords auto")
        return None
    if args.superwords in (BOUNDLESS, WORDS):
        if given:
            option = f"--superwords-{next(iter(given)).replace('_', '-')}"
            raise TrainingError(f"{option} is not an option of --superwords {args.superwords}; leave {option} out")
        return BOUNDLESS if args.superwords == BOUNDLESS else WORDS
    if (max_words := given.get("max_words")) is not None and max_words < 0:
        raise TrainingError(f"--superwords-max-words {max_words}: must be at least 1, or 0 for no limit")
    if max_words == 0:
        given["max_words"] = None
    return Superwords(None if args.superwords == "auto" else args.superwords, **given)


def _superwords_start(text: str) -> float | str:
    if text in ("auto", BOUNDLESS, WORDS):
        return text
    try:
        return float(text) if "." in text else int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(
            f"invalid start {text!r}: pass an id (180000), a fraction of the vocabulary (0.9), auto, boundless or "
            "words"
        ) from None


def _vocab_size(text: str) -> int | str:
    if text != "characters" and not text.removeprefix("+").isdecimal():
        raise argparse.ArgumentTypeError(
            f"invalid number of ids {text!r}: pass a number (32000), +N with --base, or 'characters'"
        )
    return decimal(text) if text.isdecimal() else text
