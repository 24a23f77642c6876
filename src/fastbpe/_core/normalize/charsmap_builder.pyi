def build_trie(keys: list[str], values: list[int]) -> bytes:
    """Return the units of a trie, as little-endian bytes.

    keys: list of str – sorted, distinct, not empty.
    values: list of int – value of each key, below 2**31.
    """
