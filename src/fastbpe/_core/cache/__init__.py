"""Caches of encoded pieces, and queues of pieces that are not cached yet."""
