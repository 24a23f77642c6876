"""Texts as UTF-8, lines of JSON, special tokens in text, and safe cuts."""
