"""Explanations of what a tokenizer does with a text, for people."""
