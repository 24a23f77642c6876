"""Decoding of ids into text."""
