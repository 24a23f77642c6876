"""Arguments, caching, optional imports, progress, threads: helpers without knowledge of tokens."""
