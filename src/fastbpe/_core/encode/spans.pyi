"""Spans of ids in a text: collected in bytes of its UTF-8, then turned to characters and to lists of tuples."""

def check_unit(unit: str) -> str:
    """Return the unit of spans; ValueError unless it is "char", "byte" or "utf16"."""
