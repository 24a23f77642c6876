"""fastbpe fetch: download a vocabulary into the user's cache."""

from __future__ import annotations

import argparse
import os
from typing import Any

from fastbpe.cli import streams
from fastbpe.cli.failures import Complaints
from fastbpe.known_vocabularies import MODEL_TO_ENCODING, VOCABULARIES
from fastbpe.published import find
from fastbpe.published.downloads import fetch

_NAMES = [*VOCABULARIES]
_N_IN_FIRST_LINE = 7  # names that fit into a line of the help
_WITHOUT_URL = ", ".join(name for name, vocabulary in VOCABULARIES.items() if vocabulary.file.url is None)
SUMMARY = "download a vocabulary, so that -m NAME and fastbpe.load(NAME) find it"
DETAILS = f"""

NAME is one of
  {", ".join(_NAMES[:_N_IN_FIRST_LINE])},
  {", ".join(_NAMES[_N_IN_FIRST_LINE:])},
a model of OpenAI (gpt-4o, ...), or ORG/NAME, a repository on huggingface.co whose
tokenizer.json is downloaded (with HF_TOKEN and HF_ENDPOINT, if set).

{_WITHOUT_URL} cannot be downloaded: the error names a
repository to fetch instead. A listed vocabulary is kept only if its SHA-256 equals the
published one. Repositories publish no SHA-256: the command prints the hash of their file.
Files go into the user's cache ($XDG_CACHE_HOME/fastbpe, or ~/.cache/fastbpe; on macOS
~/Library/Caches/fastbpe, on Windows %LOCALAPPDATA%/fastbpe).
No other command downloads a vocabulary, and with FASTBPE_OFFLINE=1 this one does not
either. If a NAME fails, the command reports it, fetches the others, and exits with status
1. --list downloads nothing: it shows which vocabularies are on this machine or, for a NAME,
the places where fastbpe looks for it."""
EXAMPLE = r"""
example:
  $ FASTBPE_OFFLINE=1 fastbpe fetch gpt-4o 2> why.txt || cat why.txt
  ...

  $ fastbpe fetch --list
  gpt2 ...

  fastbpe fetch gpt-4o && fastbpe count -m gpt-4o README.md
"""
_N_MODELS = 4  # models that --list shows of a vocabulary; --json has all


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("names", metavar="NAME", nargs="*", help="a vocabulary, a model or a repository")
    parser.add_argument(
        "--list",
        action="store_true",
        help="list vocabularies and where they are on this machine; download nothing",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def run(args: argparse.Namespace) -> int:
    """Download each vocabulary and print its path, or list vocabularies. Returns the exit status."""
    if args.list:
        _show_places(args) if args.names else _show_known(args)
        return 0
    if not args.names:
        args.wrong("no NAME to download; --list shows the names")
    complaints = Complaints(args)
    rows = []
    for name in args.names:
        found = None
        with complaints.reported():
            found = fetch(name)
        if found is None:
            continue
        rows.append(
            {
                "name": name,
                "path": found.path,
                "sha256": found.sha256,
                "is_checked": found.is_checked,
                "is_new": found.is_new,
            }
        )
        if args.json:
            continue
        checked = "as published" if found.is_checked else "no published SHA-256 to compare with"
        there = "" if found.is_new else "already there, "
        streams.tell(f"{name}: {found.path} ({there}SHA-256 {found.sha256}, {checked})")
    if args.json:
        streams.say_json(rows)
    return complaints.status


def _show_known(args: argparse.Namespace) -> None:
    """Print each published vocabulary, the models that use it, and its file on this machine."""
    rows: list[dict[str, Any]] = []
    for name in VOCABULARIES:
        models = [model for model, encoding in MODEL_TO_ENCODING.items() if encoding == name and model != name]
        path = next(filter(os.path.exists, find.places(name)), None)
        rows.append({"name": name, "path": path, "models": models})
    if args.json:
        streams.say_json(rows)
        return
    width = max(len(row["name"]) for row in rows)
    for row in rows:
        shown = ", ".join([*row["models"][:_N_MODELS], *(["..."] if row["models"][_N_MODELS:] else [])])
        used_by = f"  ({shown})" if shown else ""
        streams.tell(f"{row['name']:{width}}  {row['path'] or 'not on this machine'}{used_by}")


def _show_places(args: argparse.Namespace) -> None:
    """Print the places where each name is searched, in order, and whether a file or folder exists there."""
    rows: list[dict[str, Any]] = []
    for given in args.names:
        name = find.known_spelling(given)
        places = [{"path": path, "exists": os.path.exists(path)} for path in find.places(given)]
        rows.append({"name": given, "places": places})
        if args.json:
            continue
        near = "" if find.vocabulary_of(name) else find.suggestion(name)
        streams.tell(f"{given}: {near}".rstrip())
        for place in places:
            streams.tell(f"  {'there ' if place['exists'] else 'absent'}  {place['path']}")
    if args.json:
        streams.say_json(rows)
