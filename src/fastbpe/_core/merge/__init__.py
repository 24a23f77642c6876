"""Merging of one piece into ids, and the tables of tokens and merges."""
