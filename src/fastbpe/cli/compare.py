"""fastbpe compare: several tokenizers on the same texts."""

from __future__ import annotations

import argparse
import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from fastbpe._utils.plurals import counted
from fastbpe._utils.progress import Reporter
from fastbpe.cli import documents, plots, streams
from fastbpe.cli.comparison import (
    Counts,
    Difference,
    Differences,
    Text,
    costs_per_line,
    count,
    ending_of,
    folder_of,
    judged,
    script_of,
)
from fastbpe.cli.failures import FAILURE, MENDABLE, Complaints
from fastbpe.cli.shared_flags import Named, add_model, load_models
from fastbpe.display.layout import n_columns, padded
from fastbpe.display.visible import visible, visible_text
from fastbpe.vocabularies.judging import gini

SUMMARY = "compare tokenizers on the same texts"
DETAILS = f"""

Prints a row for each group of texts and each tokenizer (-m, repeatable): tokens, bytes
and characters per token, and the cost: the number of tokens, divided by the lowest number
among the tokenizers. Each FILE is a group unless --by is given; with --by script, each line
is a text, and its group is the script of most of its letters (Common: no letters). With two
tokenizers, the command also shows the first place where their token boundaries differ (not
with --csv). Special tokens in the text are treated as plain text. If a file cannot be read,
the command reports it, compares the others (not with --parity), and exits with status 1.

--judge also shows measures of a good vocabulary: the share of superwords (tokens with a
space between other characters) among the tokens of the texts, the Renyi efficiency (of
order 2.5; 1 means that all tokens are equally frequent), and the number of unused tokens:
ordinary tokens of the vocabulary that are not among the tokens of the group's texts.

--parallel treats the FILEs as line-by-line translations of each other, one FILE per
language. It adds a column with tokens per line; the total has their Gini coefficient
(0 means that all languages need the same number of tokens).

With --parity, two tokenizers must produce the same ids for every text; otherwise the
command prints the first difference and exits with status 1.{documents.DETAILS}"""
EXAMPLE = r"""
examples:
  $ printf 'lowlowerlowest\n' > words.txt
  $ fastbpe train words.txt -o a.fbpe --vocab-size 258 --quiet
  $ fastbpe train words.txt -o b.fbpe --vocab-size 257 --quiet
  $ fastbpe compare -m a.fbpe -m b.fbpe words.txt | sed -n 1,3p
  texts      model   tokens  bytes/token  chars/token  cost
  words.txt  a.fbpe       9         1.67         1.67  1.00
  words.txt  b.fbpe      12         1.25         1.25  1.33
  $ fastbpe compare -m a.fbpe -m b.fbpe words.txt --json > compared.json
  $ fastbpe compare -m a.fbpe -m a.fbpe words.txt --parity
  the same ids for 1 text: 9 tokens
  $ printf 'low\nlower\n' > en.txt; printf 'niedrig\nniedriger\n' > de.txt
  $ fastbpe compare -m a.fbpe en.txt de.txt --parallel --judge
  texts   model   tokens  bytes/token  chars/token  cost  superwords  Renyi  unused  tokens/line   gini
  en.txt  a.fbpe       6         1.67         1.67  1.00       0.00%  0.227     254          3.0      -
  de.txt  a.fbpe      18         1.00         1.00  1.00       0.00%  0.333     251          9.0      -
  total   a.fbpe      24         1.17         1.17  1.00       0.00%  0.352     250          6.0  0.250
"""
_BY = ("input", "file", "folder", "ending", "script")
#: Columns of numbers: key of a row → heading, format.
_COLUMNS: Mapping[str, tuple[str, str]] = {
    "n_tokens": ("tokens", "{:,}"),
    "bytes_per_token": ("bytes/token", "{:.2f}"),
    "characters_per_token": ("chars/token", "{:.2f}"),
    "cost": ("cost", "{:.2f}"),
    "superword_share": ("superwords", "{:.2%}"),
    "renyi_efficiency": ("Renyi", "{:.3f}"),
    "n_unused": ("unused", "{:,}"),
    "tokens_per_line": ("tokens/line", "{:.1f}"),
    "gini": ("gini", "{:.3f}"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("files", metavar="FILE", nargs="*", help="text to compare on (default: standard input)")
    documents.add_arguments(parser)
    add(
        "--by",
        choices=_BY,
        default="input",
        help="group texts by FILE argument (input; default), by single file, by folder, by extension (ending), or "
        "by script",
    )
    add("--judge", action="store_true", help="also report superwords, Renyi efficiency and unused tokens")
    add(
        "--parallel",
        action="store_true",
        help="treat the FILEs as line-by-line translations of each other; also show tokens per line and their "
        "Gini coefficient",
    )
    add("--parity", action="store_true", help="check that two tokenizers produce the same ids for every text")
    add("--json", action="store_true", help="print JSON, for programs")
    add("--csv", action="store_true", help="print CSV, for spreadsheets")
    plots.add_arguments(parser, "the costs")
    add_model(parser, several=True)


def run(args: argparse.Namespace) -> int:
    """Compare and print. Returns the exit status."""
    if args.json and args.csv:
        args.wrong("--json and --csv: pass one of them")
    excluded = args.csv or args.judge or args.parallel or args.plot is not None or args.by != "input"
    if args.parity and (len(args.model) != 2 or excluded):
        args.wrong(
            "--parity: needs exactly two -m, and cannot be combined with --by, --csv, --judge, --parallel or "
            "--plot"
        )
    if args.parallel and (args.by not in ("input", "file") or len(args.files) < 2):
        args.wrong("--parallel: needs at least two FILEs, one per language, and --by input or file only")
    plots.check(args)
    documents.separator_of(args)
    models = load_models(args)
    if args.parity:
        return _parity(args, models)
    differences = Differences(models[0].tokenizer, models[1].tokenizer, by_ids=False) if len(models) == 2 else None
    groups, status = _count(args, models, differences)
    names = [model.name for model in models]
    per_line = costs_per_line(groups) if args.parallel else {}
    labelled = [*groups.items()]  # a list: a group may be named "total", too
    if len(groups) > 1:
        total = Counts(len(models))
        for counts in groups.values():
            total.add(counts)
        labelled.append(("total", total))
    rows = [{"texts": group, **row} for group, counts in labelled for row in counts.rows(names)]
    if args.judge:
        facts = [judged(model.tokenizer) for model in models]
        judgements = (fact.row(ids) for _, counts in labelled for fact, ids in zip(facts, counts.ids, strict=True))
        rows = [row | judgement for row, judgement in zip(rows, judgements, strict=True)]
    if args.parallel:
        rows = [row | cost for row, cost in zip(rows, _parallel(per_line, len(models)), strict=True)]
    if args.plot is not None and groups:
        _plot(args.plot, labelled, names)
    _print(args, rows, differences)
    return status


def _parallel(per_line: Mapping[str, Sequence[float]], n_models: int) -> Iterator[dict[str, Any]]:
    """Yield tokens per line for the rows of all groups; then, for the rows of a total, their means and Ginis.

    per_line: tokens per line of each group, by tokenizer.
    """
    for costs in per_line.values():
        for cost in costs:
            yield {"tokens_per_line": round(cost, 4), "gini": None}
    if len(per_line) > 1:
        for number in range(n_models):
            costs = [of_group[number] for of_group in per_line.values()]
            coefficient = gini(costs)
            yield {
                "tokens_per_line": round(sum(costs) / len(costs), 4),
                "gini": None if coefficient is None else round(coefficient, 4),
            }


def _count(
    args: argparse.Namespace, models: list[Named], differences: Differences | None
) -> tuple[dict[str, Counts], int]:
    """Count by group. A file that cannot be read is reported and not counted. Also returns the exit status."""
    groups: dict[str, Counts] = {}
    complaints = Complaints(args)
    with Reporter(None).phase("comparing", None, unit=" texts") as phase:

        def seen(text: Text) -> None:
            if differences is not None:
                differences.look(text)
            phase.update(1)

        for argument in args.files or [streams.STDIN]:
            names: list[str] = []
            with complaints.reported():
                names = documents.files_of(argument, args)
            for name in names:
                before = None if differences is None else differences.state
                with complaints.reported():
                    try:
                        count(_texts_of(name, argument, args), models, seen, groups, with_ids=args.judge)
                    except MENDABLE:
                        if differences is not None and before is not None:
                            differences.state = before
                        raise
    return groups, complaints.status


def _print(args: argparse.Namespace, rows: list[dict[str, Any]], differences: Differences | None) -> None:
    if args.json:
        found = {"rows": rows, **({} if differences is None else {"differences": _as_dict(differences)})}
        streams.say_json(found)
    elif args.csv:
        text = io.StringIO()
        writer = csv.DictWriter(text, [*rows[0]] if rows else ["texts"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        streams.say(text.getvalue().removesuffix("\n"))
    elif rows:
        _print_table(rows)
        if differences is not None and differences.found is not None:
            streams.say(
                f"\ntoken boundaries differ in {differences.n_differing:,} of "
                f"{counted(differences.n_texts, 'line')}"
            )
            _print_difference(differences.found, args.model)


def _print_table(rows: list[dict[str, Any]]) -> None:
    columns = {key: column for key, column in _COLUMNS.items() if key in rows[0]}
    cells = [("texts", "model", *(head for head, _ in columns.values()))]
    for row in rows:
        numbers = ["-" if row[key] is None else form.format(row[key]) for key, (_, form) in columns.items()]
        cells.append((visible_text(row["texts"]), visible_text(row["model"]), *numbers))
    widths = [max(map(n_columns, column)) for column in zip(*cells, strict=True)]
    for line in cells:
        texts = [padded(cell, width) for cell, width in zip(line[:2], widths[:2], strict=True)]
        numbers = [padded(cell, width, right=True) for cell, width in zip(line[2:], widths[2:], strict=True)]
        streams.say("  ".join([*texts, *numbers]))


def _print_difference(found: Difference, models: list[str]) -> None:
    streams.tell(f"first in {found.where}, line {found.line}, character {found.column}:")
    for model, pieces, ids in zip(models, found.pieces, found.ids, strict=True):
        shown = "|".join("".join(part.text for part in visible(piece.encode())) for piece in pieces)
        streams.say(f"  {visible_text(model)}: {shown} {ids}")


def _as_dict(differences: Differences) -> dict[str, Any]:
    found = differences.found
    return {
        "n_texts": differences.n_texts,
        "n_differing": differences.n_differing,
        "first": None if found is None else found._asdict(),
    }


def _parity(args: argparse.Namespace, models: list[Named]) -> int:
    """Compare ids up to the first text that differs, and print. Returns the exit status."""
    differences = Differences(models[0].tokenizer, models[1].tokenizer, by_ids=True)
    n_tokens = 0
    with Reporter(None).phase("comparing", None, unit=" texts") as phase:
        for text in _texts(args):
            if differences.look(text):
                break
            n_tokens += models[0].tokenizer.count(text.text)
            phase.update(1)
    if args.json:
        streams.say_json(_as_dict(differences))
    elif differences.found is None:
        streams.say(f"the same ids for {counted(differences.n_texts, 'text')}: {counted(n_tokens, 'token')}")
    else:
        streams.say("the ids differ")
        _print_difference(differences.found, args.model)
    return 0 if differences.found is None else FAILURE


def _texts(args: argparse.Namespace) -> Iterator[Text]:
    for argument in args.files or [streams.STDIN]:
        for name in documents.files_of(argument, args):
            yield from _texts_of(name, argument, args)


def _texts_of(name: str, argument: str, args: argparse.Namespace) -> Iterator[Text]:
    """Yield the texts of a file that an argument refers to, each with its group."""
    is_cut = args.lines or args.separator is not None
    where = streams.name_of(name)
    for number, document in enumerate(documents.whole(name, args), 1):
        if args.by != "script":
            group = {
                "input": streams.name_of(argument),
                "file": where,
                "folder": folder_of(name),
                "ending": ending_of(name),
            }[args.by]
            yield Text(group, f"{where}:{number}" if is_cut or number > 1 else where, document)
            continue
        text = document if isinstance(document, str) else document.decode()
        for line_number, line in enumerate(io.StringIO(text, newline="\n"), 1):
            yield Text(script_of(line), f"{where}:{number}:{line_number}", line)


def _plot(name: str, groups: list[tuple[str, Counts]], models: list[str]) -> None:
    """Draw the number of tokens of each group as a multiple of the lowest number among the tokenizers."""
    # Inches: the axis and margins, a line of the legend for each model, and the bars.
    figure = plots.figure(8, 1.5 + 0.22 * len(models) + 0.3 * len(groups) * len(models))
    axes = figure.add_subplot()
    height = 0.8 / len(models)  # of a bar; group i takes i to i + 1 on the axis, and 0.2 of it stays empty
    for number, model in enumerate(models):
        costs = [counts.rows(models)[number]["cost"] or 0 for _, counts in groups]
        places = [position + number * height for position in range(len(groups))]
        colour = plots.COLOURS[number % len(plots.COLOURS)]
        bars = axes.barh(places, costs, height, label=plots.label(model), color=colour)
        axes.bar_label(bars, fmt="%.2f", padding=2)
    # The first bar is centred on i, so the middle of all bars of a group is here.
    places = [position + 0.4 - height / 2 for position in range(len(groups))]
    axes.margins(x=0.1)  # room for the number after the longest bar
    axes.set_yticks(places, [plots.label(group) for group, _ in groups])
    axes.invert_yaxis()
    axes.set_xlabel("tokens, as a multiple of the fewest")
    figure.legend(loc="outside upper left", frameon=False)  # outside the axes, where it hides no bars
    plots.save(figure, name)
