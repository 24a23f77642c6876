"""fastbpe verify: check files of ids, vocabularies and conversions."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from fastbpe._utils.plurals import counted
from fastbpe._utils.utf8_errors import not_utf8
from fastbpe.cli import streams
from fastbpe.cli.failures import FAILURE, MENDABLE, describe, in_words_of_shell
from fastbpe.cli.shared_flags import add_model, flags_of, load_text_model
from fastbpe.corpus.sinks import SUFFIXES
from fastbpe.errors import FormatError
from fastbpe.id_files.parts import READABLE, shard_of
from fastbpe.id_files.verifying import verify_ids
from fastbpe.tokenizer.export.verify_export import arguments
from fastbpe.tokenizer.export.verify_vocabulary import verify_conversion, verify_vocabulary
from fastbpe.tokenizer.loading import load
from fastbpe.tokenizer.sequences.sequence_tokenizer import SequenceTokenizer
from fastbpe.tokenizer.tokenizer import Tokenizer

_Outcome = tuple[dict[str, object], str, tuple[str, ...]]  # facts, the same in words, problems

SUMMARY = "check files of ids, vocabularies and conversions"
DETAILS = """

For a file of ids (.bin, .idx, .npy, .parquet, .arrow) or a folder of shards, checks that
sizes, counts and offsets agree with the files next to it (.json, .offsets, .idx), that
shards match the hashes in their manifests, that no shard is missing, that all files come
from one tokenizer (the one of -m, if given), and that its vocabulary has every id. All data
is read. With --inputs, the files of the corpus must also match the hashes in the manifests.

For a vocabulary, checks that it loads, that it gives the same ids after being saved and
reloaded, and that a file with the name of a published vocabulary is that vocabulary.
With -m, which names the original of a conversion, PATH and the original must give the same
ids for all tokens, for texts made of these tokens, and for the lines of --text.

Prints a line for each PATH without problems. For each problem, it prints a line on standard
error, which names the file and the place; the exit status is then 1. --json prints both as
one list."""
EXAMPLE = r"""
examples:
  $ printf 'low lower lowest\n' > words.txt
  $ fastbpe train words.txt -o words.fbpe --vocab-size 260 --pattern gpt2 --quiet
  $ fastbpe encode -m words.fbpe words.txt -o words.bin --quiet
  $ fastbpe verify words.bin -m words.fbpe
  words.bin: 1 file, 7 ids of 1 document
  $ fastbpe convert words.fbpe words.json
  words.json: 260 tokens as huggingface
  $ fastbpe verify words.json -m words.fbpe --text words.txt
  words.json: 356 texts have the ids of words.fbpe
  $ fastbpe verify words.fbpe
  words.fbpe: a vocabulary of 260 ids
  $ fastbpe verify words.bin --json > verified.json
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add(
        "paths",
        metavar="PATH",
        nargs="+",
        help="file of ids, folder of shards, or vocabulary (but not one from `train --mode ids`)",
    )
    add(
        "--dtype",
        choices=READABLE,
        help="type of the ids in a .bin file that has no header and no .json or .idx file next to it",
    )
    add(
        "--inputs",
        metavar="FOLDER",
        help="for shards: the folder of the corpus, whose files must match the hashes in the manifests",
    )
    add(
        "--text",
        metavar="FILE",
        help="with -m, if PATH is a vocabulary: text file; PATH and the model of -m must return the same "
        "ids for each line",
    )
    add("--json", action="store_true", help="print JSON, for programs")
    add_model(parser, required=False)


def run(args: argparse.Namespace) -> int:
    """Verify all paths, even after a problem with one. Returns the exit status."""
    if args.text is not None and args.model is None:
        args.wrong("--text needs -m MODEL, whose ids it compares")
    # A path that does not exist may have been meant as either; its own error is clearer.
    if all(os.path.exists(path) and not _holds_ids(Path(path)) for path in args.paths):
        for flag in ("dtype", "inputs"):
            if getattr(args, flag) is not None:
                args.wrong(f"--{flag} is only for files of ids, not for vocabularies; leave --{flag} out")
    if args.text is not None and all(_holds_ids(Path(path)) for path in args.paths):
        args.wrong("--text is only for vocabularies, not for files of ids; leave --text out")
    pattern, special = flags_of(args)
    model: Any = None
    if args.model is not None:
        # --pattern and --special are for files that lack them; a MODEL with its own is loaded as it is.
        lacks_parts = bool(_lacking_format(Path(args.model)))
        model = load(args.model, pattern=pattern, special_tokens=special) if lacks_parts else load(args.model)
    found = []
    for path in args.paths:
        facts: dict[str, object] = {}
        try:
            verify = _verify_ids if _holds_ids(Path(path)) else _verify_vocabulary
            facts, said, problems = verify(args, path, model)
            problems = tuple(in_words_of_shell(problem, args) for problem in problems)
        except MENDABLE as error:
            said, problems = "", (describe(error, args),)
        found.append({"path": path, "problems": problems, **facts})
        if args.json:
            continue
        for problem in problems:
            streams.complain(problem)
        if not problems:
            streams.tell(f"{path}: {said}")
    if args.json:
        streams.say_json(found)
    return FAILURE if any(row["problems"] for row in found) else 0


def _holds_ids(path: Path) -> bool:
    """Tell whether a path is a file of ids, or a folder of them, and not a vocabulary."""
    if path.suffix in SUFFIXES:
        return True
    return path.is_dir() and any(
        file.suffix in SUFFIXES and (shard_of(file) or Path(f"{file}.json").exists()) for file in path.iterdir()
    )


def _verify_ids(args: argparse.Namespace, path: str, model: Tokenizer | SequenceTokenizer | None) -> _Outcome:
    problems, n_files, n_documents, n_ids = verify_ids(
        path, tokenizer=model, dtype=args.dtype, inputs=args.inputs, progress=None
    )
    facts: dict[str, object] = {"n_files": n_files, "n_documents": n_documents, "n_ids": n_ids}
    said = f"{counted(n_files, 'file')}, {n_ids:,} ids of {counted(n_documents, 'document')}"
    return facts, said, problems


def _verify_vocabulary(
    args: argparse.Namespace, path: str, model: Tokenizer | SequenceTokenizer | None
) -> _Outcome:
    if isinstance(model, SequenceTokenizer):
        raise FormatError(
            f"{path}: not a file of ids or a folder of shards; verify accepts nothing else with "
            f"{args.model}, a tokenizer for sequences of integers"
        )
    pattern, special = flags_of(args)
    if model is not None and (format := _lacking_format(Path(path))):  # take the missing parts from the original
        needed = arguments(format, model.pattern, model.special_tokens)
        pattern = needed.get("pattern") if pattern is None else pattern
        special = needed.get("special_tokens") if special is None else special
    tokenizer = load_text_model(path, pattern, special)
    published = verify_vocabulary(tokenizer, path)
    facts: dict[str, object] = {"n_vocab": tokenizer.n_vocab, "published_as": published or None}
    if model is None:
        named = f", {published} as published" if published else ""
        return facts, f"a vocabulary of {tokenizer.n_vocab:,} ids{named}", ()
    lines = () if args.text is None else _lines(args.text)
    n_texts = verify_conversion(model, tokenizer, path, lines)
    return {**facts, "n_texts": n_texts}, f"{n_texts:,} texts have the ids of {args.model}", ()


def _lines(name: str) -> list[str]:
    data = streams.read(name)
    try:
        return data.decode().splitlines(keepends=True)
    except UnicodeDecodeError as error:
        message = not_utf8(streams.name_of(name), data, error)
        raise FormatError(f"{message}; --text needs a file of UTF-8 text") from None


def _lacking_format(path: Path) -> str:
    """Return the format of a file or folder if it does not store the split pattern; "" for any other."""
    if path.suffix == ".tiktoken":
        return "tiktoken"
    return "gpt2" if (path / "merges.txt").exists() and not (path / "tokenizer.json").exists() else ""
