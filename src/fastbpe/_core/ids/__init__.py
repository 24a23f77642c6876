"""Ids as Python objects: lists, arrays and packed bytes."""
