"""Encode pieces whose best path may depend on the pieces before them."""
