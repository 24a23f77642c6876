"""Docstrings as autodoc reads them, put into the form that reStructuredText asks for.

Docstrings of fastbpe are plain text with `code` in single backticks. An asterisk is not emphasis, a letter may
follow a closing backtick, and an example may follow its sentence at once.
"""

from __future__ import annotations

import re
from typing import Any


def as_restructured_text(app: Any, what: str, name: str, value: object, options: object, lines: list[str]) -> None:
    """Change the lines of a docstring in place."""
    changed: list[str] = []
    is_example = False
    for line in lines:
        begins = line.lstrip().startswith(">>>")
        if begins and not is_example and changed and changed[-1].strip():
            changed.append("")
        is_example = bool(line.strip()) and (is_example or begins)
        changed.append(line if is_example else _escaped(line))
    lines[:] = changed


def _escaped(line: str) -> str:
    outside_and_code = re.split(r"(`[^`]+`)", line)
    outside_and_code[::2] = [
        re.sub(r"^(?=\w)", r"\\ ", part) if at else part
        for at, part in enumerate(part.replace("*", r"\*") for part in outside_and_code[::2])
    ]
    return "".join(outside_and_code)


def setup(app: Any) -> dict[str, bool]:
    app.setup_extension("sphinx.ext.autodoc")
    # before napoleon, which writes asterisks of its own
    app.connect("autodoc-process-docstring", as_restructured_text, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
