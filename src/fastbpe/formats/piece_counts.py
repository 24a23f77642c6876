"""Files of counted pieces (`PieceCounts.save`): a container (see container.py) with three sections.

"pieces": the bytes of all pieces, end to end. "lengths": bytes of each piece, uint32. "counts": how often each
occurs, int64, 1 or more. No piece stands twice. They come in the order of their first appearance, which
ties="first" needs. The header says how text was split, how many bytes were counted, and how much was left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from fastbpe._version import __version__
from fastbpe.errors import FormatError
from fastbpe.formats.container import Kind, check_sections, pack, unpack
from fastbpe.model import Buffer
from fastbpe.patterns import Pattern

KIND = Kind("pieces", 1, "a file of counted pieces")
_SECTIONS = ("pieces", "lengths", "counts")
_REQUIRED: Mapping[str, type | tuple[type, ...]] = {
    "mode": str,
    "pattern": (str, list, type(None)),
    "special_tokens": list,
    "n_bytes": int,
    "n_skipped": int,
    "n_pruned": int,
    "library": str,
}


class Counted(NamedTuple):
    """Counted pieces as plain data.

    Attributes:
        pattern: split pattern.
        special_tokens: names that were cut out of the text.
        n_bytes, n_skipped, n_pruned: as `PieceCounts` has them.
        pieces, lengths, counts: the three sections.
    """

    pattern: Pattern
    special_tokens: Sequence[str]
    n_bytes: int
    n_skipped: int
    n_pruned: int
    pieces: Buffer
    lengths: Buffer
    counts: Buffer


def dump(counted: Counted) -> list[Buffer]:
    """Return the parts of the file, to be written in order."""
    header = {
        "mode": "byte",
        "pattern": counted.pattern,
        "special_tokens": list(counted.special_tokens),
        "n_bytes": counted.n_bytes,
        "n_skipped": counted.n_skipped,
        "n_pruned": counted.n_pruned,
        "library": __version__,
    }
    return pack(KIND, header, {name: getattr(counted, name) for name in _SECTIONS})


def parse(data: Buffer, where: str) -> Counted:
    """Read a file. Its tables are views of the data.

    Args:
        data: the bytes.
        where: the name of the file in errors.

    Raises:
        FormatError: a damaged file.
    """
    header, sections = unpack(KIND, data, where, {"byte": _REQUIRED})
    check_sections(sections, {*_SECTIONS}, where)
    if not all(isinstance(name, str) for name in header["special_tokens"]):
        raise FormatError(f"{where}: its header has no valid 'special_tokens'")
    n_lengths, n_counts = len(sections["lengths"]), len(sections["counts"])
    if n_lengths % 4 or n_counts != 2 * n_lengths:
        raise FormatError(f"{where}: its sections 'lengths' and 'counts' do not fit each other")
    pattern = header["pattern"]
    pattern = tuple(pattern) if isinstance(pattern, list) else pattern
    numbers = header["n_bytes"], header["n_skipped"], header["n_pruned"]
    return Counted(pattern, header["special_tokens"], *numbers, *(sections[name] for name in _SECTIONS))
