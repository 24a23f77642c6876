"""Parts of texts: the longest part with at most n ids, chunks, beginnings."""
