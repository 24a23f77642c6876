"""Numbers with their nouns."""

from __future__ import annotations


def counted(n: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "file"), counted(1200, "document")
    ('1 file', '1,200 documents')
    """
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"
