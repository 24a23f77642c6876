"""Families: what differs between vocabularies of bytes, of characters and of code points."""
