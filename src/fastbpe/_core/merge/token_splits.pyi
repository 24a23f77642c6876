"""Finds every split of a token of ranks into two tokens."""
