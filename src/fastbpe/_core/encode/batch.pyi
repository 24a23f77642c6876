"""Encode many texts, one batch at a time: to lists, to one array, or to counts."""
