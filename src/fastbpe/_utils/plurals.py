"""Numbers with their nouns."""

from __future__ import annotations


def counted(n: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "file"), counted(1200, "document"), counted(2, "run of words")
    ('1 file', '1,200 documents', '2 runs of words')
    """
    return f"{n:,} {noun if n == 1 else plural(noun)}"


def plural(noun: str) -> str:
    """Return the plural of a noun, which "of" and more words may follow."""
    first, of, rest = noun.partition(" of ")
    return f"{first}s{of}{rest}"
