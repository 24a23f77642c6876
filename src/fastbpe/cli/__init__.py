"""The command `fastbpe`: one module a command, each a translator from flags to the facade."""

from fastbpe.cli.app import main

__all__ = ["main"]
