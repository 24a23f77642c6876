"""Spans of ids in a text: collected in bytes of its UTF-8, then turned to characters and to lists of tuples."""
