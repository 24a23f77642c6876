"""Helpers for all other folders: arguments, caching, optional imports, progress, threads."""
