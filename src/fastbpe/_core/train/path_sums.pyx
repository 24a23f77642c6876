"""Sums over all paths through the lattice of a text, and from them how often each piece is expected in it.

The rounding of sums is part of a unigram model. So sums are floats wherever sentencepiece's are, in its order,
with the exp, log and log1p of the C library.

All nodes that begin at a position have the same sum over the paths before them. sentencepiece computes it again
for each of them; this module computes it once.
"""

from libc.math cimport INFINITY, exp, log1p
from libc.stdint cimport uint32_t
from libc.stdlib cimport free
from libc.string cimport memcpy

from fastbpe._core.common.growing cimport grow
from fastbpe._core.segment.lattice cimport Lattice, Node

from fastbpe.errors import SpecError

cdef extern from *:
    """
    #define FASTBPE_LOG2_E 1.442695f
    #define FASTBPE_NEGLIGIBLE 50.0f
    #define FASTBPE_CURVE_ERROR 1e-9
    """
    # Slightly less than the logarithm of e to the base 2: for a sum below 0, the product is an upper bound.
    const float LOG2_E "FASTBPE_LOG2_E"
    const float NEGLIGIBLE "FASTBPE_NEGLIGIBLE"  # difference of logarithms beyond which the smaller one is ignored
    const double CURVE_ERROR "FASTBPE_CURVE_ERROR"  # upper bound of the error of a curve (see _fill_curves())

cdef enum:
    PER_UNIT = 32  # number of curves that approximate log1p(exp(-x)) between two whole numbers x
    N_CURVES = 20 * PER_UNIT  # for x up to 20; beyond, exp and log1p are called
    HALF_A_UNIT = 24  # exponent of a float minus the exponent of half a unit in its last place


cdef int add_expected(const Lattice* lattice, PathSums* sums, float count, float* expected) except -1 nogil:
    """Add to the expected counts the pieces of a text that occurs `count` times.

    Raises SpecError if the sum over all paths is not a number, as for too long a text: the rounding errors of its sums
    make exp(sum) infinite in one round, and scores NaN in the next.
    """
    cdef size_t n = lattice.n, at, i
    cdef const Node* node
    cdef float whole, sum, log2_count = <float> (_exponent(count) + 1)  # an upper bound
    cdef float* before
    cdef float* behind
    if n >= sums.capacity:
        _reserve(sums, n + 1)
    before, behind = sums.before, sums.behind
    for at in range(n + 1):
        before[at] = behind[at] = -INFINITY
    before[0] = behind[n] = 0
    for i in range(lattice.n_nodes):  # by their starts, so that the sums up to there are complete
        node = &lattice.nodes[i]
        sum = node.score + before[node.begin]
        before[node.end] = _log_add(before[node.end], sum)
    for at in range(n, 0, -1):
        for i in range(lattice.first[at - 1], lattice.first[at]):
            node = &lattice.nodes[i]
            sum = node.score + behind[node.end]
            behind[at - 1] = _log_add(behind[at - 1], sum)
    whole = before[n]
    for i in range(lattice.n_nodes):
        node = &lattice.nodes[i]
        sum = before[node.begin] + node.score
        sum = sum + behind[node.end]
        sum = sum - whole
        at = piece_of(node)
        # Less than half a unit in the last place of the count would be lost in rounding.
        if sum * LOG2_E + log2_count < <float> (_exponent(expected[at]) - HALF_A_UNIT):
            continue
        expected[at] = <float> (<double> expected[at] + <double> count * exp(<double> sum))
    if whole != whole:
        with gil:
            raise SpecError(
                "a sentence is too long to learn from; lower max_sentence_length=",
                "likelihood is NAN. Input sentence may be too long",
            )
    return 0


cdef double[4 * N_CURVES] CURVES  # four coefficients per curve, see _fill_curves()


cdef void _fill_curves() noexcept:
    """Fit a cubic curve to each 1 / PER_UNIT of log1p(exp(-x)), from its values and slopes at both ends.

    The greatest fourth derivative is 1/8, so the curves are off by less than (1 / PER_UNIT)**4 / 384 / 8.
    """
    cdef double h = 1.0 / PER_UNIT, first, second, slope, next_slope
    cdef int i
    for i in range(N_CURVES):
        first, second = log1p(exp(-i * h)), log1p(exp(-(i + 1) * h))
        slope, next_slope = -h / (1 + exp(i * h)), -h / (1 + exp((i + 1) * h))
        CURVES[4 * i], CURVES[4 * i + 1] = first, slope
        CURVES[4 * i + 2] = 3 * (second - first) - 2 * slope - next_slope
        CURVES[4 * i + 3] = 2 * (first - second) + slope + next_slope


_fill_curves()


cdef inline float _log_add(float a, float b) noexcept nogil:
    """Return log(exp(a) + exp(b)), with sentencepiece's rounding. If a is minus infinity, returns b.

    The sum, in double precision, is rounded to a float: nearly always an error of CURVE_ERROR does not matter, and
    a curve is good enough. (Gain: a quarter of the time of an expectation.)
    """
    cdef float least = a if a < b else b, most = b if a < b else a
    cdef float difference = least - most, low, high
    cdef double x = -PER_UNIT * <double> difference, sum
    cdef int i
    cdef const double* curve
    if x < N_CURVES:
        i = <int> x
        x -= i
        curve = CURVES + 4 * i
        sum = <double> most + (curve[0] + x * (curve[1] + x * (curve[2] + x * curve[3])))
        low, high = <float> (sum - CURVE_ERROR), <float> (sum + CURVE_ERROR)
        if low == high:
            return low
    # sentencepiece ignores the smaller one if it is less by more than NEGLIGIBLE.
    if most > least + NEGLIGIBLE:
        return most
    return <float> (<double> most + log1p(exp(<double> difference)))


cdef inline int _exponent(float number) noexcept nogil:
    """Return the exponent of the greatest power of 2 that is not above a number, -127 if it is tiny."""
    cdef uint32_t bits
    memcpy(&bits, &number, sizeof(bits))
    return <int> (bits >> 23 & 0xFF) - 127


cdef int _reserve(PathSums* sums, size_t n) except -1 nogil:
    """Make space for n positions."""
    cdef size_t capacity = max(2 * sums.capacity, n)
    grow(<void**> &sums.before, capacity, sizeof(float))
    grow(<void**> &sums.behind, capacity, sizeof(float))
    sums.capacity = capacity
    return 0


cdef void sums_free(PathSums* sums) noexcept nogil:
    free(sums.before)
    free(sums.behind)
