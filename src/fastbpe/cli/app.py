"""main(): parse the command line, run a command, and report errors, warnings and closed pipes."""

from __future__ import annotations

import argparse
import contextlib
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

from fastbpe._utils.suggestions import did_you_mean
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
from fastbpe.cli.failures import CLOSED_PIPE, FAILURE, INTERRUPTED, MENDABLE, describe
from fastbpe.errors import FormatWarning, TrainingWarning

COMMANDS = (
    demo,
    train,
    encode,
    decode,
    count,
    count_pieces,
    merge,
    show,
    compare,
    vocab,
    web,
    info,
    convert,
    verify,
    fetch,
    completion,
)
EXAMPLE = r"""
example:
  $ printf 'low lower lowest\n' > words.txt
  $ fastbpe train words.txt -o words.fbpe --vocab-size 260 --quiet
  $ fastbpe encode -m words.fbpe words.txt | fastbpe decode -m words.fbpe
  low lower lowest
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status. Wrong usage raises SystemExit(2), as argparse does."""
    args = make_parser().parse_args(argv)
    try:
        with _plain_warnings():
            status: int = args.run(args) or 0
        streams.flush()
        return status
    except BrokenPipeError:  # the reader of our output has closed the pipe
        streams.abandon_stdout()
        return CLOSED_PIPE
    except KeyboardInterrupt:
        status = INTERRUPTED
    except MENDABLE as error:
        streams.complain(describe(error))
        status = FAILURE
    try:
        streams.flush()
    except OSError:  # a full disk; else Python would try again at exit, and say so at length
        streams.abandon_stdout()
    return status


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of `fastbpe` with all its commands."""
    parser = Parser(
        prog="fastbpe",
        description="Train and run byte-pair-encoding tokenizers.",
        epilog=EXAMPLE + "\n`fastbpe COMMAND --help` says more about a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"fastbpe {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        name = command.__name__.rpartition(".")[2].replace("_", "-")
        summary = command.SUMMARY
        one = commands.add_parser(
            name,
            help=summary,
            description=summary[0].upper() + summary[1:] + "." + command.DETAILS,
            epilog=command.EXAMPLE,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.add_arguments(one)
        one.set_defaults(run=command.run, root=parser, command=one)
    return parser


class Parser(argparse.ArgumentParser):
    """Parser that suggests the nearest flag, command or choice for one that it does not know.

    It refuses a flag given twice, where argparse would take the last value.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        for action in (None, "store"):
            self.register("action", action, _StoreOnce)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse arguments; an unknown flag is an error before a missing argument is one."""
        given = sys.argv[1:] if args is None else list(args)
        for argument in given:
            if argument == "--" or (self._subparsers and not argument.startswith("-")):
                break  # values only, or the arguments of a command
            flag = argument.partition("=")[0]
            if flag.startswith("--") and " " not in argument and flag not in self._option_string_actions:
                near = did_you_mean(flag, (known for known in self._option_string_actions if known[:2] == "--"))
                self.error(f"there is no option {flag}; {near or f'`{self.prog} --help` lists them'}")
        return super().parse_known_args(given, namespace)

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Raise ArgumentError for a value that is none of the choices."""
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            choices = map(str, action.choices or ())
            if near := did_you_mean(value, choices, quoted=True):
                raise argparse.ArgumentError(action, f"{error.message}; {near}") from None
            raise


class _StoreOnce(argparse._StoreAction):
    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, flag: str | None = None
    ) -> None:
        given: set[str] = vars(namespace).setdefault("_given", set())
        if flag is not None and self.dest in given:
            parser.error(f"{'/'.join(self.option_strings)} is given twice, and takes one value")
        given.add(self.dest)
        super().__call__(parser, namespace, values, flag)


@contextlib.contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show our warnings as one line, without the source line that raised them."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", TrainingWarning)
        warnings.simplefilter("always", FormatWarning)
        show_others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: object) -> None:
            if issubclass(category, (TrainingWarning, FormatWarning)):
                streams.complain(str(message), "warning")
            else:
                show_others(message, category, *where)  # type: ignore[arg-type]

        warnings.showwarning = show  # type: ignore[assignment]
        yield
