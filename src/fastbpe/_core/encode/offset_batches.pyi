"""Encode texts with the span of each id: to lists or to arrays."""
