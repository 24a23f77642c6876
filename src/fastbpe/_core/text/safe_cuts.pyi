"""Safe cuts: positions where a text may be cut without changing its pieces."""

from collections.abc import Iterable

def last_safe_cut(text: str | bytes, crossed: bytes | None = None) -> int:
    """Return the last safe cut inside a text, as a byte offset into its UTF-8; 0 without one.

    crossed: bytes or None – by border_of(): 1 where a token may lie across the border of two pieces, so that there
        is no safe cut. None: tokens lie within pieces.
    """

def nearest_safe_cut(text: str | bytes, start: int, near: int) -> int:
    """Find the safe cut before a space or stop that is nearest to a position; the text's length without one."""

def byte_neighbours(tokens: Iterable[bytes], known: bytes = ...) -> bytes:
    """Tell which bytes stand side by side in a token. Merging joins nothing across a place between two others.

    tokens: iterable of bytes.
    known: what the function returned for other tokens, to which these are added.

    Returns bytes: 1 at the index first byte << 8 | second byte, or 0.
    """
