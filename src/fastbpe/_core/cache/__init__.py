"""Piece cache: the ids that pieces became before, looked up by their exact bytes.

From low to high: `cache_state` (the structs), `piece_keys`, `long_pieces` (pieces of more than 15 bytes, and
the arena), `short_pieces` (the others), `pending_pieces` (cache misses, merged 128 at a time), `piece_cache`
(the look-up), `two_phases` (look-up of words in vocabularies with superwords).
"""
