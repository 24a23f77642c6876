"""Encodes texts with the span of each id, in byte mode: to lists or to arrays."""
