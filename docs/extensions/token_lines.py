"""Lines of the directive `tokens`, for the site and for its tests."""

from __future__ import annotations

import re


def tokens_of(line: str) -> list[bytes]:
    """Return the tokens of a line of the directive, without its name."""

    def byte(match: re.Match[bytes]) -> bytes:
        return b"\n" if match[0] == b"\\n" else bytes([int(match[1], 16)])

    return [re.sub(rb"\\(?:x([0-9a-f]{2})|n)", byte, token.encode()) for token in line.split("|")]
