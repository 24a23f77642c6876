"""Encode the pieces of a text, in two phases if the vocabulary has superwords (see cache.two_phases)."""
