"""Splitting of text into pieces: scanners of known patterns and a regex engine."""
