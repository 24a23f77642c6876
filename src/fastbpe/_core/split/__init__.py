"""Splitters: scanner, regex engine, the `regex` package, and chains of splitters."""
