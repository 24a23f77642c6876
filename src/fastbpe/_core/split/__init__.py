"""Splitters: scanner, regex engine, the `regex` package, and splitters one after another."""
