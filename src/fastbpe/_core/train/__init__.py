"""Counting of pieces and learning of merges."""
