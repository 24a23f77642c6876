"""Token ids as Python objects: lists, ints made once, little-endian bytes."""
