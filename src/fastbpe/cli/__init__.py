"""The command `fastbpe`: one module for each subcommand, which translates flags into calls of the public API."""

from fastbpe.cli.app import main

__all__ = ["main"]
