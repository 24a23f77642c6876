def log_scores(counts: list[int], total: int) -> list[float]:
    """Return the logarithm of each count over the total, in single precision.

    counts: list of int – each 0 to 2**64 - 1; 0 gives -inf.
    total: int – 1 to 2**64 - 1.

    >>> log_scores([1, 2, 0], 2)
    [-0.6931471824645996, 0.0, -inf]
    """

def log_probabilities(scores: list[float]) -> list[float]:
    """Return the logarithm of each score over the sum of all, in single precision."""
