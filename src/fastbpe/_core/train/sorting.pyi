"""Sorting by 64-bit keys."""
