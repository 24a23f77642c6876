"""Ids to text: reading ids, the bytes of each token, str or bytes of exact size, streams."""
