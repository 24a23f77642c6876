"""Directive `tokens`: tokens of a text in colours, as `fastbpe show` draws them.

Each line of its content has a name, a colon, a space, and the tokens, with a bar between two of them:

    gpt2: 123|45|67

A byte that is no character is written `\\xe4`, a line end `\\n`, a space at the end of a line `\\x20`.
A name of a published vocabulary is a promise: `tests/packaging/test_docs.py` compares the line with it where the
vocabulary is on the machine. The option `:labels:` holds names for readers, separated by commas.
"""

from __future__ import annotations

from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from token_lines import tokens_of

from fastbpe.display.layout import N_COLOURS
from fastbpe.display.visible import visible


class Tokens(Directive):
    """A row of coloured tokens, with their number, for each line."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"labels": directives.unchanged}

    def run(self) -> list[nodes.Node]:
        lines = [line.partition(": ") for line in self.content]
        names = [name for name, _, _ in lines]
        labels = self.options["labels"].split(", ") if "labels" in self.options else names
        picture = nodes.container(classes=["token-picture"])
        for label, (_, _, text) in zip(labels, lines, strict=True):
            row = nodes.paragraph(classes=["token-row"])
            tokens = tokens_of(text)
            row += nodes.inline(text=label, classes=["token-label"])
            shown = nodes.inline(classes=["tokens"])
            for i, token in enumerate(tokens):
                drawn = "".join(part.text for part in visible(token))
                shown += nodes.inline(text=drawn, classes=[f"c{i % N_COLOURS}"])
            row += shown
            row += nodes.inline(text=f"{len(tokens)} token{'s' * (len(tokens) != 1)}", classes=["token-count"])
            picture += row
        return [picture]


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("tokens", Tokens)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
