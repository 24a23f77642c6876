"""Text with visible tokens: coloured backgrounds on a terminal, bars elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterable
from itertools import cycle
from typing import TextIO

_BACKGROUNDS = (153, 229, 157, 218)  # numbers of xterm's 256 colours: light blue, yellow, green, pink
_RESET = "\x1b[0m"
# A user's text must not steer the terminal: control characters are shown by their pictures.
_PICTURES = {code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"}
_PICTURES |= {0x7F: 0x2421} | dict.fromkeys(range(0x80, 0xA0), 0xFFFD)


def wanted(stream: TextIO) -> bool:
    """Tell whether a stream shows colours: it is a capable terminal, and NO_COLOR is not set."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def show(tokens: Iterable[bytes], *, colours: bool) -> str:
    """Return the text of tokens, each on a background of its own, or with | between them.

    Tokens that make a character only together are shown as one.
    """
    texts = [text.translate(_PICTURES) for text in _whole_characters(tokens)]
    if not colours:
        return "|".join(texts)
    return "".join(_paint(text, code) for text, code in zip(texts, cycle(_BACKGROUNDS), strict=False))


def _paint(text: str, code: int) -> str:
    # No background across a line end: some terminals would paint the rest of the line.
    start = f"\x1b[30;48;5;{code}m"
    return "\n".join(f"{start}{part}{_RESET}" if part else "" for part in text.split("\n"))


def _whole_characters(tokens: Iterable[bytes]) -> list[str]:
    texts, pending = [], b""
    for token in tokens:
        pending += token
        try:
            texts.append(pending.decode())
        except UnicodeDecodeError:
            continue
        pending = b""
    return texts
