"""Lines of tokens as text: plain, in the colours of a terminal, or for rich.

The backgrounds differ in lightness as well as in hue, so that colour-blind people can tell neighbours apart. The
text of a token is black or dark grey on light, or white on dark, whatever the terminal's colours are.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, TextIO

from fastbpe.display.layout import Details, Line, Segment, lines_of
from fastbpe.display.shown_tokens import ShownToken

if TYPE_CHECKING:
    from rich.console import Console, ConsoleOptions
    from rich.text import Text

#: Backgrounds, as numbers of xterm's 256 colours: light blue, yellow, grey-violet, orange.
BACKGROUNDS = (153, 229, 146, 215)
#: Backgrounds of the kinds that have their own, under white text: violet, dark blue, dark red.
KIND_BACKGROUNDS = {"special": 54, "added": 24, "unknown": 88}
_BLACK, _GREY, _WHITE = 16, 238, 231  # colours of text, as numbers of the same 256
_BAR = "|"
PLAIN_COLUMNS = 100  # columns of a line with details, if the output is not a terminal


def wants_colours(stream: TextIO | None) -> bool:
    """Tell whether a stream (None: closed) shows colours: a capable terminal, and NO_COLOR is not set."""
    if stream is None or not stream.isatty():
        return False
    return not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def draw(
    tokens: Sequence[ShownToken], details: Details, *, colours: bool = False, width: int = PLAIN_COLUMNS
) -> str:
    r"""Draw tokens as text: in colours for a terminal, or with bars between them.

    >>> draw([ShownToken(97, b"a", 0, 1, "ordinary"), ShownToken(10, b"\n", 1, 2, "ordinary")], Details())
    'a|↵'
    """
    lines = lines_of(tokens, details, gap="" if colours else _BAR, width=width)
    return "\n".join(_paint(line) if colours else _join(line) for line in lines)


def _join(line: Line) -> str:
    return "".join(segment.text for segment in line).rstrip(" ")


def _paint(line: Line) -> str:
    # End the background before the line ends: some terminals would paint the rest of the line. Remove spaces at
    # the end: on a narrow terminal they would fill a separate line.
    runs = groupby((segment for segment in line if segment.text), _sgr)
    return "".join(_escape(code, "".join(segment.text for segment in run)) for code, run in runs).rstrip(" ")


def _escape(code: str, text: str) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if code else text


def _sgr(segment: Segment) -> str:
    """Return the numbers of the escape sequence (SGR, ECMA-48) for a segment; "": no style."""
    if segment.kind in ("gap", "detail"):
        return ""
    ink, background, underlined = _colours(segment)
    italic = "3;" if segment.kind == "superword" else ""
    return f"{'4;' if underlined else ''}{italic}38;5;{ink};48;5;{background}"


def _colours(segment: Segment) -> tuple[int, int, bool]:
    """Return the colours of the text and of the background, and whether the text is underlined."""
    if segment.kind in KIND_BACKGROUNDS:
        return _WHITE, KIND_BACKGROUNDS[segment.kind], False
    ink = _GREY if segment.is_sign else _BLACK
    return ink, BACKGROUNDS[segment.colour], segment.kind == "byte"


class RichTokens:
    """Tokens for rich, laid out for the width of its console."""

    def __init__(self, tokens: Sequence[ShownToken], details: Details) -> None:
        self._tokens, self._details = tokens, details

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> Iterator[Text]:
        yield self.text(options.max_width)

    def text(self, width: int = PLAIN_COLUMNS) -> Text:
        """Return the tokens for rich. Raises ImportError if it is not installed. width: of lines, with details."""
        from rich.text import Text

        text = Text(no_wrap=any(self._details))
        for number, line in enumerate(lines_of(self._tokens, self._details, gap="", width=width)):
            if number:
                text.append("\n")
            for segment in line:
                style = None
                if segment.kind not in ("gap", "detail"):
                    ink, background, underlined = _colours(segment)
                    style = f"color({ink}) on color({background}){' underline' if underlined else ''}"
                    style += " italic" if segment.kind == "superword" else ""
                text.append(segment.text, style)
        return text
