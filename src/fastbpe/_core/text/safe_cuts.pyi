"""Safe cuts: positions where a text may be cut without changing its pieces."""

def last_safe_cut(text: str | bytes) -> int:
    """Return the last safe cut inside a text, as a byte offset into its UTF-8; 0 without one."""

def nearest_safe_cut(text: str | bytes, start: int, near: int) -> int:
    """Find the safe cut before a space or stop that is nearest to a position; the text's length without one."""
