"""Families: the differences between byte-level, character-level and code-point vocabularies."""
