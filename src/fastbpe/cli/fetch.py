"""fastbpe fetch: download a vocabulary into the user's cache."""

from __future__ import annotations

import argparse

from fastbpe.cli import streams
from fastbpe.cli.failures import Complaints
from fastbpe.known_vocabularies import VOCABULARIES
from fastbpe.published.fetch import fetch

SUMMARY = "download a vocabulary, for -m NAME and fastbpe.load(NAME)"
DETAILS = f"""

NAME is one of
  {", ".join([*VOCABULARIES][:7])},
  {", ".join([*VOCABULARIES][7:])},
a model of OpenAI's (gpt-4o, ...), or ORG/NAME, a repository on huggingface.co,
whose tokenizer.json is taken (HF_TOKEN and HF_ENDPOINT count). A file is kept
only if its SHA-256 is the published one; the file of a repository, which publishes
none, is printed. Files go into a folder of the user's cache (XDG_CACHE_HOME, or
~/.cache/fastbpe). No other command downloads anything; with FASTBPE_OFFLINE=1
neither does this one. A NAME that fails is reported, the others are fetched all
the same, and the exit status is 1."""
EXAMPLE = r"""
example:
  $ FASTBPE_OFFLINE=1 fastbpe fetch gpt-4o 2> why.txt || cat why.txt
  ...

  fastbpe fetch gpt-4o && fastbpe count -m gpt-4o README.md
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("names", metavar="NAME", nargs="+", help="a vocabulary, a model or a repository")
    parser.add_argument("--json", action="store_true", help="as JSON, for programs")


def run(args: argparse.Namespace) -> int:
    """Download each vocabulary and print its path. Returns the exit status."""
    complaints = Complaints()
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
        checked = "as published" if found.is_checked else "nobody publishes what it should be"
        there = "" if found.is_new else "there already, "
        streams.tell(f"{name}: {found.path} ({there}SHA-256 {found.sha256}, {checked})")
    if args.json:
        streams.say_json(rows)
    return complaints.status
