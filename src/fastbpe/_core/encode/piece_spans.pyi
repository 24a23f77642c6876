"""Spans of the ids of pieces, and other data that a pipeline records while it encodes."""
