"""Spans of ids in a text: collected in bytes of its UTF-8, then converted to characters and to lists of tuples."""

from fastbpe._utils.choices import Unit

def check_unit(unit: str) -> Unit: ...
