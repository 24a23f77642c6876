"""Encode one text, with or without the GIL, on one thread or several."""
