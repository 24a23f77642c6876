"""Exit statuses, and errors as a readable line."""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import shlex
from collections.abc import Iterator
from typing import get_args

from fastbpe._utils.choices import Format
from fastbpe.cli import streams
from fastbpe.errors import FastbpeError

FAILURE, INTERRUPTED, CLOSED_PIPE = 1, 130, 141  # the last two as a shell reports SIGINT and SIGPIPE

# Errors that a user can correct, shown without a traceback. InvalidTokenError, a KeyError, is a FastbpeError.
# ImportError: an optional package that a file needs is not installed.
MENDABLE = (FastbpeError, OSError, ValueError, MemoryError, ImportError)

#: Arguments of Python → the option of the same meaning, by its `dest`, where the names differ. `pattern` becomes
#: --pattern: no error names the argument of `Superwords` so, which is --superwords-pattern.
_OF_SHELL = {
    "format": "to",
    "overwrite": "force",
    "special_tokens": "special",
    "field": "text_field",
    "start": "superwords",
    "max_words": "superwords_max_words",
    "forbid": "superwords_forbid",
    "documents": "superwords_documents",
    "control_symbols": "special",
}
#: Advice for Python at the end of an error, and the `dest` of the option that it becomes; "": no such option. In
#: commands without the option, the advice is cut off.
_OF_PYTHON = (
    (', or pass errors="replace"', "errors"),
    (", or pass a template as template=", "template"),
    (", or pass that template as template=", "template"),
    (": pass one of these names as template=", "template"),
    (", or pass dtype=, such as 'uint16'", "dtype"),
    (", or None", ""),
    (", and with_tokens adds tokens", ""),
    (", or add tokens with with_tokens", ""),
    ("; add it with with_special_tokens", ""),
    (", and add special tokens to the result with with_special_tokens", ""),
    ("; use Tokenizer.truncate(text, n), and pad batches yourself", ""),
    ("; use Tokenizer.truncate(text, n)", ""),
    ("; pad batches yourself", ""),
    ("; to skip merges at random, pass dropout= to Tokenizer.encode", ""),
)
# name=value in an error. value: a string, a list of strings, Superwords(…), ..., a word or number, or nothing.
_ARGUMENT = re.compile(
    r"(?<!--option )(?<![\w'\"\-.=])([a-z_]+)="  # not after --option, nor within a quoted text
    r"('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"|\['[^\]]*\]|Superwords\(…?\)|\.\.\.|-?[\w.]*\w|)"
)


def describe(error: BaseException, args: argparse.Namespace | None = None) -> str:
    """Return an error as one line. For an OSError: the name of its file, if known, and the reason, without errno.

    args: arguments of the command; the line uses its options in place of Python's argument names.
    """
    if isinstance(error, OSError) and error.strerror:
        name = error.filename2 or error.filename  # after a failed rename, filename2 is the target
        said = error.strerror if args is None else in_words_of_shell(error.strerror, args)
        return f"{os.fsdecode(name)}: {said}" if name else said
    text = " ".join(str(error).split("\n")).strip()
    if args is not None:
        text = in_words_of_shell(text, args)
    return text or ("not enough memory" if isinstance(error, MemoryError) else type(error).__name__)


def in_words_of_shell(text: str, args: argparse.Namespace) -> str:
    """Replace `name=value` (arguments of Python in an error) by options of the command, and drop Python's advice.

    Options of sentencepiece's trainer become values of --option, in commands that have it. An argument without an
    option is not changed.
    """
    flags: dict[str, str] = {
        action.dest: max(action.option_strings, key=len)
        for action in args.command._actions
        if action.option_strings
    }
    for name, of_shell in _OF_SHELL.items():
        if of_shell in flags and name not in flags:
            flags[name] = flags[of_shell]
    if getattr(args, "lines", False):
        flags["separator"] = "--lines"
    if getattr(args, "output", "") is None:  # encode reads with --errors only if it writes a file
        flags.pop("errors", None)
    for advice, name in _OF_PYTHON:
        if name not in flags:
            text = text.removesuffix(advice)
    text = text.replace("count_pieces with ", "count-pieces with ")  # function → command
    flags.setdefault("overwrite", "--force")  # for advice about another command that writes a file

    def option(found: re.Match[str]) -> str:
        name, value = found.groups()
        if name == "format" and "to" not in flags and value[1:-1] in get_args(Format):
            return f"the format {value[1:-1]}"  # of the tokenizer: --format names the format of documents
        if name not in flags:
            return _of_trainer(name, value) if "option" in flags and _is_of_trainer(name) else found[0]
        if value in ("True", "None", "...", "") or flags[name] == "--lines":
            return flags[name]
        if value.startswith("Superwords("):
            return f"{flags[name]} auto"
        words = re.findall(r"'([^']*)'|\"([^\"]*)\"", value)
        if words:
            return " ".join(f"{flags[name]} {shlex.quote(single or double)}" for single, double in words)
        return f"{flags[name]} {value}"

    return _ARGUMENT.sub(option, text)


def _is_of_trainer(name: str) -> bool:
    """Tell whether sentencepiece's trainer has an option of this name that `train` accepts."""
    from fastbpe.formats.sentencepiece.specs import OF_UNIGRAM  # here, like the next import: only errors need it
    from fastbpe.training.codepoint_options import NAMES

    return name in NAMES or name in OF_UNIGRAM


def _of_trainer(name: str, value: str) -> str:
    """Return name=value of Python as an argument of --option, which reads lists with commas."""
    words = re.findall(r"'([^']*)'|\"([^\"]*)\"", value)
    text = ",".join(single or double for single, double in words) if words else value
    text = text.lower() if text in ("True", "False") else text
    return f"--option {name}={shlex.quote(text) if text not in ('', '...') else '...'}"


class Complaints:
    """Errors of single files: a command reports each, and continues with the next file.

    Args:
        args: arguments of the command.

    Attributes:
        status: exit status of the command.
    """

    def __init__(self, args: argparse.Namespace) -> None:
        self._args, self.status = args, 0

    @contextlib.contextmanager
    def reported(self) -> Iterator[None]:
        """Context manager: if its body raises an error that the user can fix, report the error."""
        try:
            yield
        except MENDABLE as error:
            streams.complain(describe(error, self._args))
            self.status = FAILURE
