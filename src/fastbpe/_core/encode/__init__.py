"""Encoding of text into ids: one text, batches, threads."""
