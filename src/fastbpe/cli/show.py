"""fastbpe show: look at the tokens of texts."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterator

from fastbpe.cli import documents, outputs, streams
from fastbpe.cli.shared_flags import Named, add_model, add_special, allowed_special, load_models
from fastbpe.corpus.source_kinds import Document
from fastbpe.display import html, painting
from fastbpe.display.layout import Details
from fastbpe.display.shown_text import ShownText, show
from fastbpe.formats.atomic_files import write_with

SUMMARY = "show the tokens of texts, in colours"
DETAILS = f"""

Shows how each tokenizer splits each text; repeat -m for several. White space and
control characters appear as visible symbols, and bytes of an incomplete character in
brackets. Special tokens in the text are treated as plain text unless --allow-special is
given. If the output is not a terminal, or NO_COLOR is set, bars (|) separate the tokens
(unless --color always is given). --json prints a line per text and tokenizer.{documents.DETAILS}"""
EXAMPLE = r"""
examples:
  $ printf 'low lower lowest\n' > words.txt
  $ fastbpe train words.txt -o words.fbpe --vocab-size 260 --quiet
  $ fastbpe show -m words.fbpe words.txt
  ...
  $ fastbpe show -m words.fbpe --ids --text lowest
  words.fbpe: 4 tokens, 6 characters, 6 bytes
  low|e  |s  |t
  257|101|115|116
  $ fastbpe show -m words.fbpe --text low --json
  ...
  $ fastbpe show -m words.fbpe words.txt --html words.html --quiet
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("files", metavar="FILE", nargs="*", help="text to show (default: standard input)")
    add("-t", "--text", metavar="TEXT", help="show this text instead of files")
    add_model(parser, several=True)
    add_special(parser)
    add("--ids", action="store_true", help="show the ids below the tokens")
    add("--bytes", action="store_true", help="show the bytes below the tokens, in hexadecimal")
    add("--offsets", action="store_true", help="show each token's start and end below it, in characters")
    documents.add_arguments(parser)
    group = parser.add_argument_group("output")
    group.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        default="auto",
        help="use colours; auto: only on a terminal (default)",
    )
    group.add_argument(
        "--json", action="store_true", help="print JSON, a line per text and tokenizer, for programs"
    )
    group.add_argument("--html", metavar="PAGE", help="write a self-contained page for a browser")
    outputs.add_force(group, "PAGE")
    group.add_argument("--quiet", action="store_true", default=None, help="with --html: print no summary line")


def run(args: argparse.Namespace) -> None:
    """Show the tokens of each text for each tokenizer."""
    if args.text is not None:
        if args.files:
            args.wrong("--text and FILE: pass one of them")
        documents.refuse_arguments(args, "they are for files, but --text is the text itself")
    if args.json and args.html is not None:
        args.wrong("--json and --html: pass one of them")
    if args.html is None and (args.force or args.quiet):
        args.wrong("--force and --quiet need --html")
    if args.html is not None:
        outputs.refuse_existing(args, args.html)
    models = load_models(args)
    details = Details(args.ids, args.bytes, args.offsets)
    if args.html is not None:
        blocks = (
            html.Block(f"{model}: {name}" if name else model, shown.summary, shown.tokens)
            for model, name, shown in _shown(args, models, details)
        )
        parts = html.page(blocks, details)
        write_with(args.html, lambda file: file.writelines(part.encode() for part in parts))
        if not args.quiet:
            streams.tell_result(f"{args.html}: a page for a browser, {os.path.getsize(args.html):,} bytes")
    elif args.json:
        for model, name, shown in _shown(args, models, details):
            streams.say_json(as_dict(model, name, shown), indent=None)
    else:
        _print(args, models, details)


def as_dict(model: str, name: str | None, shown: ShownText) -> dict[str, object]:
    """Return a shown text as a dict for JSON."""
    return {
        "model": model,
        "file": name,
        "n_tokens": len(shown),
        "n_characters": shown.n_characters,
        "n_bytes": shown.n_bytes,
        "tokens": [token.as_dict() for token in shown.tokens],
    }


def _print(args: argparse.Namespace, models: list[Named], details: Details) -> None:
    colours = args.color == "always" or (args.color == "auto" and painting.wants_colours(sys.stdout))
    width = shutil.get_terminal_size((painting.PLAIN_COLUMNS, 0)).columns
    for number, (model, name, shown) in enumerate(_shown(args, models, details)):
        if number:
            streams.say()
        streams.tell(f"{model}: {name}: {shown.summary}" if name else f"{model}: {shown.summary}")
        if shown.tokens:
            streams.say(painting.draw(shown.tokens, details, colours=colours, width=width))


def _shown(
    args: argparse.Namespace, models: list[Named], details: Details
) -> Iterator[tuple[str, str | None, ShownText]]:
    """Yield (tokenizer, file or None for a text of the command line, tokens)."""
    allowed = allowed_special(args.allow_special, models)
    for name, text in _texts(args):
        for model, tokenizer in models:
            special = allowed if isinstance(allowed, str) else allowed & tokenizer.special_tokens.keys()
            try:
                shown = show(
                    tokenizer,
                    text,
                    allowed_special=special,
                    ids=details.ids,
                    bytes=details.bytes,
                    offsets=details.offsets,
                )
            except ValueError as error:
                raise ValueError(f"{name or '--text'}: {error}") from None
            yield model, name, shown


def _texts(args: argparse.Namespace) -> Iterator[tuple[str | None, Document]]:
    if args.text is not None:
        yield None, args.text
        return
    documents.separator_of(args)
    for argument in args.files or [streams.STDIN]:
        for name in documents.files_of(argument, args):
            for number, text in enumerate(documents.whole(name, args), 1):
                where = streams.name_of(name)
                yield (f"{where}:{number}" if args.lines or args.separator else where), text
