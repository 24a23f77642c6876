"""Normalization of text: Unicode forms and the rules of sentencepiece."""
