"""Ids of the pieces of a text by a table."""
