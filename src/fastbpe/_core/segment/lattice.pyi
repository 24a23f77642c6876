"""Lattice of all tokens in a text: its best paths, and random ones."""
