"""Options and rules of the commands that write a file: --force, --json, --quiet, and the result line."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Mapping
from typing import Any

from fastbpe._utils.plurals import counted
from fastbpe.cli import streams
from fastbpe.formats.endings import is_huggingface_folder
from fastbpe.formats.gpt2 import MERGES_FILE, VOCAB_FILE
from fastbpe.patterns import Pattern
from fastbpe.tokenizer.export.verify_export import arguments


def add_arguments(
    parser: argparse.ArgumentParser,
    what: str = "OUT",
    json: str = "print the summary as JSON, not as a line, for programs",
) -> None:
    """Add --force, --json and --quiet, each None if it is not given.

    what: name of the written file in the help.
    json: help of --json.
    """
    group = parser.add_argument_group("output")
    add_force(group, what)
    group.add_argument("--json", action="store_true", default=None, help=json)
    group.add_argument(
        "--quiet", action="store_true", default=None, help="print no progress bar and no summary line"
    )


def add_force(group: argparse._ActionsContainer, what: str = "OUT") -> None:
    """Add only --force, for a command that outputs text and may also write a file."""
    group.add_argument("--force", action="store_true", default=None, help=f"replace {what} if it exists")


def refuse_existing(args: argparse.Namespace, *names: str) -> None:
    """Check that files can be written.

    Raises:
        FileExistsError: one exists, and --force is not given.
        OSError: one is a folder or a device, or its folder does not exist or cannot be written to.
    """
    for name in names:
        streams.check_output(name)
        if not args.force and os.path.lexists(name):
            raise FileExistsError(f"{name} exists; --force replaces it")


def skipped(n_documents: int) -> str:
    """Return a phrase with the number of documents that --on-error skip left out."""
    return f", {counted(n_documents, 'document')} skipped" if n_documents else ""


def files_of(output: str, format: str) -> list[str]:
    """List the paths that a format writes: if the output is a folder that exists, files in it; else the output."""
    if not os.path.exists(output):
        return [output]
    if format == "gpt2":
        return [os.path.join(output, name) for name in (VOCAB_FILE, MERGES_FILE)]
    if format == "huggingface" and is_huggingface_folder(output):
        return [os.path.join(output, name) for name in ("tokenizer.json", "tokenizer_config.json")]
    return [output]


def lacking(format: str, pattern: Pattern, special_tokens: Mapping[str, int]) -> str:
    """Return the options that a command needs to load a file of a format; "" if it needs none.

    No option adds roles, which some formats drop.
    """
    needed = arguments(format, pattern, special_tokens)
    options = [f"--pattern {shlex.quote(str(needed['pattern']))}"] if "pattern" in needed else []
    special = needed.get("special_tokens", {})
    options += [f"--special {shlex.quote(f'{token}={token_id}')}" for token, token_id in special.items()]
    return " ".join(options)


def report(args: argparse.Namespace, line: str, facts: Mapping[str, Any]) -> None:
    """Report the result: as JSON on standard output (--json), or as a line on standard error (unless --quiet)."""
    if args.json:
        streams.say_json(facts)
    elif not args.quiet:
        streams.tell_result(line)
