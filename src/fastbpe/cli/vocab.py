"""fastbpe vocab: search the tokens of a vocabulary, and examine it."""

from __future__ import annotations

import argparse
import io
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from fastbpe._utils.arguments import decimal
from fastbpe.cli import documents, plots, streams
from fastbpe.cli.shared_flags import add_model, load_model
from fastbpe.corpus.source_kinds import Document
from fastbpe.display.painting import PLAIN_COLUMNS, wants_colours
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.vocabularies.material import shown_token
from fastbpe.vocabularies.merge_tree import MergeTree, merge_tree
from fastbpe.vocabularies.search import Found, scripts_of, search_tokens

SUMMARY = "search and examine the tokens of a vocabulary"
DETAILS = """

Lists the tokens that meet all conditions, each with its id, length in bytes, script and
text. Incomplete characters are shown as bytes. With FILEs, a column shows how often each
token occurs in their texts; special tokens in the texts are treated as plain text.

--report examines the whole vocabulary: tokens that no text can produce, tokens that the
texts never use, tokens that look alike, how numbers and indentation are split, and for each
script the vocabulary's number of tokens and, with FILEs, the bytes per token in the texts.
--tree shows the merges that make a token; if rich is installed, it draws the tree on a
terminal.

FILE is a file, a folder or a pattern, as for `fastbpe count`; - is standard input."""
EXAMPLE = r"""
examples:
  $ printf 'low lower lowest\n' > words.txt
  $ fastbpe train words.txt -o words.fbpe --vocab-size 260 --quiet
  $ fastbpe vocab -m words.fbpe --text low
   id  bytes  script  token
  257      3  Latin   'low'
  258      4  Latin   ' low'
  259      5  Latin   ' lowe'
  $ fastbpe vocab -m words.fbpe words.txt --length 2-4 --rarest --limit 2
   id  bytes  count  script  token
  256      2      0  Latin   'lo'
  258      4      0  Latin   ' low'
  and 1 more; --limit 3 shows all
  $ fastbpe vocab -m words.fbpe --regex '^ ' --json > spaces.json
  $ fastbpe vocab -m words.fbpe --tree low
  ...
  $ fastbpe vocab -m words.fbpe --report words.txt
  ...
"""
_SEARCHES = ("text", "regex", "id", "length", "script", "longest", "rarest", "limit")
_DEFAULT_LIMIT = 50  # tokens that are shown
_MAX_LENGTH = 32  # bytes; the last bar of a plot counts all longer tokens
_N_SCRIPTS = 15  # scripts that get a separate bar


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("files", metavar="FILE", nargs="*", help="texts in which to count the tokens (default: none)")
    add_model(parser)
    documents.add_arguments(parser)
    search = parser.add_argument_group("search")
    search.add_argument("-t", "--text", metavar="TEXT", help="tokens that contain this text")
    search.add_argument("--regex", metavar="REGEX", help="tokens that match this pattern of Python's re, anywhere")
    search.add_argument("--id", metavar="N[-M]", action="append", type=_range, help="these ids (repeatable)")
    search.add_argument("--length", metavar="N[-M]", type=_range, help="tokens of this length in bytes")
    search.add_argument(
        "--script",
        metavar="NAME",
        help="tokens of this script: Latin, Han, ...; or of a group: digits, signs (punctuation, symbols, "
        "control characters), 'white space', 'part of a character', or names (special, added, user-defined and "
        "unknown tokens)",
    )
    order = search.add_mutually_exclusive_group()
    order.add_argument("--longest", action="store_true", help="longest tokens first (default: by id)")
    order.add_argument("--rarest", action="store_true", help="rarest tokens first, by their counts in the FILEs")
    search.add_argument("--limit", metavar="N", type=_limit, help="show at most N (default: 50; with --json all)")
    other = parser.add_argument_group("instead of a search")
    other.add_argument("--report", action="store_true", help="examine the whole vocabulary")
    other.add_argument(
        "--tree", metavar="TOKEN_OR_ID", help="show the merges that make a token; a number is read as an id"
    )
    output = parser.add_argument_group("output")
    output.add_argument(
        "--color",
        choices=("auto", "always", "never"),
        help="with --tree: use colours; auto: only on a terminal (default)",
    )
    output.add_argument("--json", action="store_true", help="print JSON, for programs")
    plots.add_arguments(output, "lengths and scripts of the found tokens")


def run(args: argparse.Namespace) -> None:
    """Search, examine or show, and print."""
    _check(args)
    tokenizer = load_model(args)
    if args.tree is not None:
        tree = merge_tree(tokenizer, _token_or_id(args.tree))
        if args.json:
            streams.say_json(tree.to_dict())
        else:
            streams.say(_drawn(tree, args.color))
    elif args.report:
        from fastbpe.vocabularies.report import vocabulary_report  # here: other commands start faster without it

        report = vocabulary_report(tokenizer, _texts(args, tokenizer))
        if args.json:
            streams.say_json(report.to_dict())
        else:
            streams.say(str(report))
    else:
        _print(args, _search(tokenizer, args))


def _check(args: argparse.Namespace) -> None:
    """End the command if flags cannot be combined."""
    given = [name for name in _SEARCHES if getattr(args, name) not in (None, False)]
    if args.tree is not None and args.report:
        args.wrong("--report and --tree: pass one of them")
    for mode in ("report", "tree"):
        if getattr(args, mode) not in (None, False) and (given or args.plot is not None):
            args.wrong(f"--{(given or ['plot'])[0]} cannot be combined with --{mode}")
    if args.tree is not None and args.files:
        args.wrong("--tree cannot be combined with FILEs")
    if args.tree is None and args.color is not None:
        args.wrong("--color needs --tree")
    if args.rarest and not args.files:
        args.wrong("--rarest counts in texts: pass FILEs")
    if args.files:
        documents.separator_of(args)
    else:
        documents.refuse_arguments(args, "they need FILEs")
    plots.check(args)


def _search(tokenizer: Tokenizer, args: argparse.Namespace) -> list[Found]:
    return search_tokens(
        tokenizer,
        text=args.text,
        regex=args.regex,
        ids=args.id or (),
        length=args.length,
        script=args.script,
        corpus=_texts(args, tokenizer),
        order="longest" if args.longest else "rarest" if args.rarest else "id",
    )


def _texts(args: argparse.Namespace, tokenizer: Tokenizer) -> Iterator[Document] | None:
    """Return the documents of the FILEs, long ones in parts; None without FILEs."""
    if not args.files:
        return None
    names = [name for argument in args.files for name in documents.files_of(argument, args)]
    return (text for name in names for texts, _ in documents.read(name, args, tokenizer) for text in texts)


def _print(args: argparse.Namespace, found: list[Found]) -> None:
    """Print the tokens that a search found, and plot them if --plot is given."""
    if args.plot is not None:
        _plot(args.plot, found, args.model)
    limit = args.limit if args.limit is not None else len(found) if args.json else _DEFAULT_LIMIT
    shown = found[:limit]
    if args.json:
        streams.say_json([each.to_dict() for each in shown])
        return
    for line in _table(shown):
        streams.say(line)
    if len(found) > limit:
        streams.say(f"and {len(found) - limit:,} more; --limit {len(found)} shows all")


def _table(found: list[Found]) -> list[str]:
    """Return the lines of a table of tokens, with aligned columns."""
    is_counted = bool(found) and found[0].count is not None
    heads = ["id", "bytes", *(["count"] if is_counted else []), "script", "token"]
    rows = [
        [
            str(each.id),
            str(len(each.token)),
            *([str(each.count)] if is_counted else []),
            each.script,
            shown_token(each.token),
        ]
        for each in found
    ]
    n_numbers = len(heads) - 2  # columns of numbers, aligned at the right
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    return [
        "  ".join(
            f"{cell:>{width}}" if column < n_numbers else f"{cell:{width}}"
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in (heads, *rows)
    ]


def _drawn(tree: MergeTree, color: str | None) -> str:
    """Draw a tree: with rich if colours are wanted and it is installed, else as plain text."""
    if color != "always" and (color == "never" or not wants_colours(sys.stdout)):
        return str(tree)
    try:
        from rich.console import Console
    except ImportError:
        if color == "always":
            raise ImportError("--color always needs rich: pip install rich") from None
        return str(tree)
    width = shutil.get_terminal_size((PLAIN_COLUMNS, 0)).columns
    console = Console(file=io.StringIO(), force_terminal=True, color_system="256", width=width)
    with console.capture() as captured:
        console.print(tree)
    return captured.get().removesuffix("\n")


def _plot(name: str, found: list[Found], model: str) -> None:
    """Plot the number of tokens of each length, and of each script."""
    figure = plots.figure(10, 4.5)
    figure.suptitle(plots.label(f"{len(found):,} tokens of {Path(model).name}"))
    lengths, scripts = figure.subplots(1, 2)
    counts = [0] * (_MAX_LENGTH + 1)
    for each in found:
        counts[min(len(each.token), _MAX_LENGTH)] += 1
    lengths.bar(range(1, _MAX_LENGTH + 1), counts[1:], color=plots.COLOURS[0])
    lengths.set_xlabel(f"bytes of a token (the last bar: {_MAX_LENGTH} or more)")
    lengths.set_ylabel("tokens")
    named = [*scripts_of(found).items()]
    if len(named) > _N_SCRIPTS:
        named[_N_SCRIPTS:] = [("others", sum(n for _, n in named[_N_SCRIPTS:]))]
    bars = scripts.barh([script for script, _ in named], [n for _, n in named], color=plots.COLOURS[0])
    scripts.bar_label(bars, fmt="{:,.0f}", padding=2)
    scripts.set_xlim(0, 1.25 * max([1, *(n for _, n in named)]))  # room for the numbers; 1: if nothing is found
    scripts.set_xticks([])
    scripts.invert_yaxis()
    scripts.set_xlabel("tokens by script")
    plots.save(figure, name)


def _token_or_id(text: str) -> str | int:
    return decimal(text) if text.isascii() and text.isdecimal() else text


def _range(text: str) -> range:
    """Parse N or N-M."""
    low, dash, high = text.partition("-")
    if not dash:
        high = low
    if not (low.isdecimal() and high.isdecimal()) or decimal(high) < decimal(low):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number or a range such as 3-5")
    return range(decimal(low), decimal(high) + 1)


def _limit(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} must be an integer of at least 0")
    return decimal(text)
