"""fastbpe demo: train, save, load, encode and decode real text, and check that decoding returns it."""

from __future__ import annotations

import argparse
import os
import sys
import sysconfig
import tempfile
import textwrap
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from fastbpe._utils.utf8_errors import not_utf8
from fastbpe.cli import outputs, streams
from fastbpe.display.layout import Details
from fastbpe.display.painting import draw, wants_colours
from fastbpe.display.shown_text import show
from fastbpe.errors import FastbpeError, TrainingError
from fastbpe.formats.endings import format_of
from fastbpe.tokenizer.loading import load
from fastbpe.training.dispatch import train

SUMMARY = "see fastbpe work on real text: train, save, load, encode, decode, check"
DETAILS = """

The text is the source code of Python's standard library, or the file that --text names.
Nothing is downloaded. Without --output, the tokenizer is written to fastbpe-demo.fbpe,
even if this file exists, or to a temporary folder if that file cannot be written."""
EXAMPLE = r"""
examples:
  $ fastbpe demo
  ...
  $ printf 'low lower lowest\n%.0s' 1 2 3 4 5 6 7 8 9 > words.txt
  $ fastbpe demo --text words.txt --vocab-size 262 --output words.fbpe
  ...
  $ fastbpe count -m words.fbpe words.txt
  ...
"""
DEFAULT_OUTPUT = "fastbpe-demo.fbpe"
DEFAULT_VOCAB_SIZE = 8192
_NOT_SOURCES = frozenset({"__pycache__", "dist-packages", "idle_test", "site-packages", "test", "tests"})
_SAMPLE_LINES, _SAMPLE_CHARACTERS = 10, 600  # at most, of the text that is shown token by token
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Corpus:
    """Texts for the demo.

    Attributes:
        what: description of the texts.
        texts: UTF-8 of each.
        sample: a few lines to show.
    """

    what: str
    texts: list[bytes]
    sample: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--text", metavar="FILE", help="use this UTF-8 text instead of Python's standard library")
    add(
        "--vocab-size",
        metavar="N",
        type=int,
        default=DEFAULT_VOCAB_SIZE,
        help=f"number of ids in the vocabulary (default: {DEFAULT_VOCAB_SIZE})",
    )
    add("-o", "--output", metavar="OUT", help=f"tokenizer file to write (default: {DEFAULT_OUTPUT})")
    outputs.add_force(parser)
    add("--json", action="store_true", help="print sizes and times as JSON, not as text, for programs")


def run(args: argparse.Namespace) -> None:
    """Run the demo, from training to printing lines of Python that use the result."""
    if args.output is not None:
        outputs.refuse_existing(args, args.output)
    elif args.force:
        args.wrong("--force needs --output")
    output = _choose_output(args.output)
    tell = _keep_quiet if args.json else _tell
    corpus = standard_library() if args.text is None else own_text(args.text)
    n_bytes = sum(map(len, corpus.texts))
    tell("text", f"{n_bytes:,} bytes: {corpus.what}")

    trained, training = _timed(lambda: train(corpus.texts, vocab_size=args.vocab_size))
    tell("trained", f"{trained.vocab_size:,} tokens in {training:.2f} s, {_speed(n_bytes, training)}")
    trained.save(output)
    tokenizer, loading = _timed(lambda: load(output))
    tell("saved", f"{output}, {os.path.getsize(output):,} bytes, loaded back in {1000 * loading:.1f} ms")
    encoded, encoding = _timed(lambda: [tokenizer.encode_ordinary(text) for text in corpus.texts])
    n_tokens = sum(map(len, encoded))
    tell("encoded", f"{n_tokens:,} tokens, {n_bytes / n_tokens:.2f} bytes per token, {_speed(n_bytes, encoding)}")
    decoded, decoding = _timed(lambda: [tokenizer.decode_bytes(ids) for ids in encoded])
    tell("decoded", f"{sum(map(len, decoded)):,} bytes, {_speed(n_bytes, decoding)}")
    _check_round_trip(corpus.texts, decoded)
    tell("checked", "every byte came back")
    if args.json:
        seconds = {"training": training, "loading": loading, "encoding": encoding, "decoding": decoding}
        facts = {"file": output, "vocab_size": trained.vocab_size, "n_bytes": n_bytes, "n_tokens": n_tokens}
        streams.say_json({**facts, "seconds": seconds})
        return

    tokens = show(tokenizer, corpus.sample).tokens
    streams.say(f"\nA few lines of the text, token by token ({len(tokens)} tokens):\n")
    streams.say(textwrap.indent(draw(tokens, Details(), colours=wants_colours(sys.stdout)), "    "))
    streams.say("\nUse the tokenizer from Python:\n")
    streams.say(textwrap.indent(python_lines(output), "    "))


def _check_round_trip(texts: list[bytes], decoded: list[bytes]) -> None:
    """Raise FastbpeError if a byte of a text differs after decoding."""
    for text, back in zip(texts, decoded, strict=True):
        if text != back:
            raise FastbpeError(
                f"decoding did not restore a text, which is a bug of fastbpe; report it with this beginning of "
                f"the text: {text[:60]!r}"
            )


def python_lines(path: str) -> str:
    """Return the lines of Python that use a saved tokenizer."""
    return f"""\
import fastbpe
tokenizer = fastbpe.load({path!r})
print(tokenizer.encode("def hello(name):"))"""


def standard_library() -> Corpus:
    """Return Python's own sources without its tests, in an order that does not depend on the file system."""
    root = Path(sysconfig.get_paths()["stdlib"])
    texts: dict[Path, bytes] = {}
    for folder, below, names in os.walk(root):
        below[:] = sorted(set(below) - _NOT_SOURCES)
        for name in sorted(names):
            path = Path(folder, name)
            if path.suffix == ".py" and (text := _utf8_or_none(path)):
                texts[path] = text
    if not texts:
        raise FastbpeError(f"{root} contains no Python sources; pass your own text with --text FILE")
    import platform  # here: in Python 3.10, it imports subprocess

    version = platform.python_version()
    what = f"the {len(texts):,} files of Python {version}'s standard library"
    # The sample is a short function that every version has; if a later one drops it, the first lines of a file.
    shown = texts.get(root / "posixpath.py", next(iter(texts.values()))).decode()
    return Corpus(what, list(texts.values()), _first_lines(shown[max(shown.find("def split("), 0) :]))


def own_text(name: str) -> Corpus:
    """Return a user's file as one text."""
    text = streams.read(name)
    where = streams.name_of(name)
    if not text:
        raise TrainingError(f"{where}: the file is empty; pass a file with text to learn from")
    try:
        return Corpus(where, [text], _first_lines(text.decode().lstrip("\r\n")))
    except UnicodeDecodeError as error:
        raise ValueError(f"{not_utf8(where, text, error)}; pass a file of UTF-8 text") from None


def _first_lines(text: str) -> str:
    return "".join(text[:_SAMPLE_CHARACTERS].splitlines(keepends=True)[:_SAMPLE_LINES]).rstrip()


def _utf8_or_none(path: Path) -> bytes | None:
    try:
        text = path.read_bytes()
        text.decode()
    except (OSError, UnicodeDecodeError):  # a few sources are in other encodings
        return None
    return text


def _choose_output(asked: str | None) -> str:
    """Return the file to write: the given one, else one in the current folder, else one in a temporary folder."""
    output = asked or DEFAULT_OUTPUT
    format_of(output, "byte")  # raises an error for a bad suffix now, before the training
    try:
        streams.check_output(output)
    except OSError as error:
        if asked:
            raise
        folder = tempfile.mkdtemp(prefix="fastbpe-")
        output = os.path.join(folder, DEFAULT_OUTPUT)
        why = f"{DEFAULT_OUTPUT} cannot be written here ({error.strerror})"
        streams.complain(f"{why}; the tokenizer is written to {folder} instead", "warning")
    return output


def _tell(what: str, found: str) -> None:
    streams.say(f"{what:8} {found}")
    streams.flush()  # before a step that takes seconds


def _keep_quiet(what: str, found: str) -> None:
    pass


def _timed(work: Callable[[], _Result]) -> tuple[_Result, float]:
    start = time.perf_counter()
    result = work()
    return result, max(time.perf_counter() - start, 1e-9)  # above zero even with a coarse clock


def _speed(n_bytes: int, seconds: float) -> str:
    return f"{n_bytes / seconds / 1e6:.1f} MB/s"
