"""Vocabularies: examine the tokens of one, map ids between two, and change one."""
