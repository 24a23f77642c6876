"""Sums over all paths through the lattice of a text, and how often each piece is expected in it."""
