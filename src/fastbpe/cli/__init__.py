"""The command `fastbpe`: one module for each subcommand, which translates flags into calls of the public API."""

from fastbpe.cli.command_line import main

__all__ = ["main"]
