"""main(): parse the command line, run a command, report errors and warnings, and choose the exit status."""

from __future__ import annotations

import argparse
import contextlib
import sys
import warnings
from collections.abc import Iterator, Sequence
from types import ModuleType

from fastbpe._version import __version__
from fastbpe.cli import (
    compare,
    completion,
    convert,
    count,
    count_pieces,
    decode,
    demo,
    encode,
    fetch,
    info,
    merge,
    show,
    streams,
    train,
    verify,
    vocab,
    web,
)
from fastbpe.cli.failures import CLOSED_PIPE, FAILURE, INTERRUPTED, MENDABLE, describe, in_words_of_shell
from fastbpe.cli.parser import Parser, short_usage
from fastbpe.errors import FormatWarning, TrainingWarning

#: Commands by purpose, as `fastbpe --help` lists them.
GROUPS = {
    "begin": (demo,),
    "train": (train, count_pieces),
    "use": (encode, decode, count),
    "look": (show, compare, vocab, info, web),
    "files": (convert, verify, merge, fetch),
    "shell": (completion,),
}
COMMANDS = tuple(command for group in GROUPS.values() for command in group)
EXAMPLE = r"""
example:
  $ printf 'low lower lowest\n' > words.txt
  $ fastbpe train words.txt -o words.fbpe --vocab-size 260 --quiet
  $ fastbpe encode -m words.fbpe words.txt | fastbpe decode -m words.fbpe
  low lower lowest
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status.

    Raises SystemExit, as argparse does: 2 for wrong usage, 0 for --help and --version.
    """
    given = sys.argv[1:] if argv is None else list(argv)
    parser = make_parser()
    if not given or given[0] == "help":
        given = [*given[1:2], "--help"]
    args = None
    try:
        args = parser.parse_args(given)
        with _plain_warnings(args):
            status: int = args.run(args) or 0
        streams.flush()
        return status
    except streams.ReaderGone:
        streams.abandon_stdout()
        return CLOSED_PIPE
    except KeyboardInterrupt:
        status = INTERRUPTED
    except MENDABLE as error:
        streams.complain(describe(error, args))
        status = FAILURE
    try:
        streams.flush()
    except OSError:  # a full disk; else Python would try again at exit, and print a traceback
        streams.abandon_stdout()
    return status


def make_parser() -> Parser:
    """Return the parser of `fastbpe` with all its commands."""
    parser = Parser(
        prog="fastbpe",
        usage="%(prog)s COMMAND [options]",
        description=f"Train and run byte-pair-encoding tokenizers.\n\n{_list_of_commands()}",
        epilog=EXAMPLE + "\n`fastbpe COMMAND --help` says more about a command.",
    )
    parser.add_argument("-V", "--version", action="version", version=f"fastbpe {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, prog="fastbpe", help=argparse.SUPPRESS)
    for command in COMMANDS:
        summary = command.SUMMARY
        subparser = commands.add_parser(
            _name_of(command),
            summary=summary,
            description=summary[0].upper() + summary[1:] + "." + command.DETAILS,
            epilog=command.EXAMPLE,
        )
        command.add_arguments(subparser)
        subparser.usage = short_usage(subparser)
        # Every command finds these in its arguments; args.wrong(message) ends the program.
        subparser.set_defaults(run=command.run, root=parser, command=subparser, wrong=subparser.error)
    return parser


def _name_of(command: ModuleType) -> str:
    return command.__name__.rpartition(".")[2].replace("_", "-")


def _list_of_commands() -> str:
    width = max(len(_name_of(command)) for command in COMMANDS)
    return "\n".join(
        f"{'' if number else title:6}  {_name_of(command):{width}}  {command.SUMMARY}"
        for title, group in GROUPS.items()
        for number, command in enumerate(group)
    )


@contextlib.contextmanager
def _plain_warnings(args: argparse.Namespace) -> Iterator[None]:
    """Show fastbpe's warnings in one line, without the line of source code that raised them."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", TrainingWarning)
        warnings.simplefilter("always", FormatWarning)
        show_others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: object) -> None:
            if issubclass(category, (TrainingWarning, FormatWarning)):
                streams.complain(in_words_of_shell(str(message), args), "warning")
            else:
                show_others(message, category, *where)  # type: ignore[arg-type]

        warnings.showwarning = show  # type: ignore[assignment]
        yield
