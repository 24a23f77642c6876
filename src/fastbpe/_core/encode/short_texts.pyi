"""Encode short texts to lists of ids: Pipeline.encode() with less overhead, for the most common call."""
