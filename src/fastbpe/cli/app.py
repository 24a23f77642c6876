"""main(): the parser of all commands, and what becomes of errors, warnings and closed pipes."""

from __future__ import annotations

import argparse
import contextlib
import warnings
from collections.abc import Iterator, Sequence

from fastbpe._version import __version__
from fastbpe.cli import convert, count, decode, demo, encode, fetch, info, streams, train
from fastbpe.cli.failures import CLOSED_PIPE, FAILURE, INTERRUPTED, MENDABLE, describe
from fastbpe.errors import TrainingWarning

COMMANDS = (demo, train, encode, decode, count, info, convert, fetch)
EXAMPLE = r"""
example:
  $ printf 'low lower lowest\n' > words.txt
  $ fastbpe train words.txt -o words.fbpe --vocab-size 260 --quiet
  $ fastbpe encode -m words.fbpe words.txt | fastbpe decode -m words.fbpe
  low lower lowest
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status; wrong usage leaves by SystemExit(2), as argparse does."""
    args = make_parser().parse_args(argv)
    try:
        with _plain_warnings():
            status: int = args.run(args) or 0
        streams.flush()
        return status
    except BrokenPipeError:  # whoever reads us has read enough
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
    """The parser of `fastbpe` with its commands."""
    parser = argparse.ArgumentParser(
        prog="fastbpe",
        description="Train and run byte-pair-encoding tokenizers.",
        epilog=EXAMPLE + "\n`fastbpe COMMAND --help` says more about a command.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"fastbpe {__version__}")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in COMMANDS:
        name = command.__name__.rpartition(".")[2]
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
        one.set_defaults(run=command.run)
    return parser


@contextlib.contextmanager
def _plain_warnings() -> Iterator[None]:
    """Show a TrainingWarning as one line, without the source line that raised it."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", TrainingWarning)
        show_others = warnings.showwarning

        def show(message: Warning | str, category: type[Warning], *where: object) -> None:
            if issubclass(category, TrainingWarning):
                streams.complain(str(message), "warning")
            else:
                show_others(message, category, *where)  # type: ignore[arg-type]

        warnings.showwarning = show  # type: ignore[assignment]
        yield
