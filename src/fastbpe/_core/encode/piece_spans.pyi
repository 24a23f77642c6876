"""Spans of the ids of pieces, and what else a pipeline notes while it encodes."""
