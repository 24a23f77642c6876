"""Encoding of many texts, a batch at a time: to lists, to one array, or to counts."""
