"""Texts as UTF-8, in batches, in lines of JSON or between separators; special tokens, GPT-2's table, safe cuts."""
