"""Scores of word and character models: logarithms of relative frequencies, as sentencepiece computes them."""

from libc.math cimport logf
from libc.stdint cimport uint64_t


def log_scores(list counts not None, total):
    """Return the logarithm of each count over the total, in single precision.

    Uses the C library's logf, as sentencepiece does. It rounds some logarithms differently from Python's math.log.

    counts: list of int – each 0 to 2**64 - 1; 0 gives -inf.
    total: int – 1 to 2**64 - 1.
    """
    cdef float log_total = logf(<float> <uint64_t> total)
    cdef uint64_t count
    cdef float score
    cdef list out = []
    for count in counts:
        score = logf(<float> count) - log_total
        out.append(score)
    return out
