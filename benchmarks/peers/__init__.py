"""Adapters of other libraries for compare.py: one small module each, imported only where it is asked for."""
