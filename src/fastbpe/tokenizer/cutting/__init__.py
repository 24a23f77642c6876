"""Parts of texts: the longest with a number of ids, chunks, beginnings."""
