"""Answers about what a tokenizer does to a text, for people to look at."""
