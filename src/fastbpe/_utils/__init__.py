"""Helpers that do not depend on tokens: arguments, caching, optional imports, progress, threads and so on."""
