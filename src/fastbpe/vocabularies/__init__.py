"""Vocabularies: examining tokens, mapping ids between two vocabularies, and changing a vocabulary."""
