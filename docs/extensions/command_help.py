"""Directive `command-help`: a section for each command of `fastbpe`, with its --help as it is printed."""

from __future__ import annotations

import argparse
import os
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

from fastbpe.cli.command_line import make_parser

COLUMNS = "79"  # width of the help, in characters


class CommandHelp(Directive):
    """Sections with the help of `fastbpe` and of each command."""

    def run(self) -> list[nodes.Node]:
        os.environ["COLUMNS"] = COLUMNS
        parser = make_parser()
        parsers = {"fastbpe": parser}
        for action in parser._actions:
            if isinstance(action, argparse._SubParsersAction):
                parsers |= {f"fastbpe {name}": one for name, one in action.choices.items()}
        return [_section(self, title, one.format_help()) for title, one in parsers.items()]


def _section(directive: Directive, title: str, text: str) -> nodes.section:
    section = nodes.section(names=[nodes.fully_normalize_name(title)])
    section += nodes.title(text=title)
    section += nodes.literal_block(text, text, language="text")
    directive.state.document.note_implicit_target(section)
    return section


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("command-help", CommandHelp)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
