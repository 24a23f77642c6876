"""Scores from counts: logarithms of shares, with the precision and rounding of sentencepiece 0.2.3.

Models of words and characters compute them once, unigram models in each round of training.
"""

from libc.math cimport log, logf
from libc.stdint cimport uint32_t, uint64_t


def log_scores(list counts not None, total):
    """Return the logarithm of each count over the total, in single precision.

    Uses the C library's logf, like sentencepiece. It rounds some logarithms differently from Python's math.log.

    counts: list of int – each 0 to 2**64 - 1; the result of 0 is -inf.
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


def log_probabilities(list scores not None):
    """Return the logarithm of each score over the sum of all scores, rounded to single precision."""
    cdef double sum = 0, log_sum
    cdef float score
    cdef list out = []
    for score in scores:
        sum += score
    log_sum = log(sum)
    for score in scores:
        out.append(<float> (log(<double> score) - log_sum))
    return out


cdef double digamma(double x) noexcept nogil:
    """Return the derivative of the logarithm of the gamma function, with sentencepiece's series."""
    cdef double result = 0, y, y2, y4
    while x < 7:
        result -= 1 / x
        x += 1
    x -= 1.0 / 2.0
    y = 1.0 / x
    y2 = y * y
    y4 = y2 * y2
    result += (
        log(x) + (1.0 / 24.0) * y2 - (7.0 / 960.0) * y4 + (31.0 / 8064.0) * y4 * y2 - (127.0 / 30720.0) * y4 * y4
    )
    return result


cdef float loss_without(
    const float* found, size_t i, const uint32_t* others, size_t n, float total, float log_total
) noexcept nogil:
    """Return how much the log-likelihood of the text falls if the n pieces `others` replace piece i.

    found, total, log_total: count of each piece, their sum and its logarithm.
    """
    cdef float own = <float> (log(<double> found[i]) - <double> log_total)  # log-probability of the piece
    cdef float added = found[i] * <float> (n - 1)  # how many more pieces the text has without it
    cdef float log_new_total = <float> log(<double> (total + added))
    cdef float theirs = 0  # log-probability of the others, which then occur found[i] times more
    cdef float both, share, difference
    cdef size_t k
    for k in range(n):
        both = found[others[k]] + found[i]
        theirs = <float> (<double> theirs + (log(<double> both) - <double> log_new_total))
    share = found[i] / total
    difference = own - theirs
    return share * difference
