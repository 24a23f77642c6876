"""Search for the tokens of a text whose scores have the greatest sum (unigram: Viterbi's algorithm).

Positions are byte offsets, and tokens begin at characters. A path with a greater total replaces another one; of
equal paths the first stays. Candidates are ordered by start, then by length; an unknown character comes last. It
is a candidate only where no token of one character begins. So a path leads to the start of each character. The
time is at most proportional to the number of characters times the length of the longest token.

The exact way of summing matters: tokenizers adds in double precision, and starts from 0 in each piece.
sentencepiece adds in single precision over a whole sentence, so that rounding decides near ties. If the total of a
position is above 100,000 or below -100,000, it is subtracted from the totals of this position and the later ones.
"""

from libc.math cimport INFINITY
from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.utf8 cimport fb_char_bytes
from fastbpe._core.segment.segmenter cimport Unit

ctypedef fused AnyStep:
    Step
    WideStep


cdef float search_sentence(
    const Segmenting* segmenting, const uint8_t* text, size_t n, float total, Step* steps
) noexcept nogil:
    """Find the best path through a text, as sentencepiece's Model::EncodeOptimized does; return its total.

    total: total of the path to the beginning of the text.
    steps: n + 1 positions; their initial content does not matter.

    Ensures: the tokens of the path end at steps[0].next, at steps[steps[0].next].next and so on, and the step at
        the end of each token has its id.
    """
    cdef const Unit* units = segmenting.units
    cdef size_t at = 0, end, reached = 0, n_bytes, i
    cdef uint32_t node, next
    cdef float here, sum
    cdef bint is_known
    steps[0].total, steps[0].next = total, NONE
    while at < n:
        here = steps[at].total
        if here < -RESET or here > RESET:
            for i in range(at + 1, reached + 1):
                if steps[i].next != NONE:
                    steps[i].total -= here
            here = 0
        n_bytes = min(fb_char_bytes(text[at]), n - at)
        is_known = False
        node, end = 0, at
        while end < n:
            next = units[node].base ^ text[end]
            if units[next].parent != node:
                break
            node = next
            end += 1
            if units[node].id != NONE:
                sum = units[node].score + here
                _reach(steps, &reached, at, end, sum, units[node].id)
                is_known |= end - at == n_bytes
        if not is_known:
            sum = <float> segmenting.unknown + here
            _reach(steps, &reached, at, at + n_bytes, sum, NONE)
        at += n_bytes
    total = steps[n].total
    _turn(steps, n)
    return total


cdef inline void _reach(
    Step* steps, size_t* reached, size_t at, size_t end, float sum, uint32_t token
) noexcept nogil:
    """Reach a position by a token that begins at `at`, unless a path with the same or a greater total leads there.

    reached: last position that a path leads to; later steps are not set yet, and get NONE when it moves past them.
    """
    cdef size_t i
    if end > reached[0]:
        for i in range(reached[0] + 1, end):
            steps[i].next = NONE
        reached[0] = end
    elif steps[end].next != NONE and not sum > steps[end].total:
        return
    steps[end] = Step(sum, <uint32_t> at, token)


cdef bint search_piece(
    const Segmenting* segmenting, bint has_unknown, const uint8_t* text, size_t n, WideStep* steps
) noexcept nogil:
    """Find the best path through a piece as tokenizers does.

    has_unknown: the model has an unknown token. Without one, this returns False if an unknown character is on the
        best path to any position, even if it is not on the best path to the end; tokenizers raises an error then.
    steps: as in search_sentence(); `second` is not set.
    """
    cdef const Unit* units = segmenting.units
    cdef size_t at = 0, end, n_bytes, i
    cdef uint32_t node, next
    cdef double here, sum
    cdef bint is_known
    for i in range(n + 1):
        steps[i].next = NONE
    steps[0].total = 0
    while at < n:
        here = steps[at].total
        n_bytes = min(fb_char_bytes(text[at]), n - at)
        is_known = False
        node, end = 0, at
        while end < n:
            next = units[node].base ^ text[end]
            if units[next].parent != node:
                break
            node = next
            end += 1
            if units[node].id != NONE:
                sum = segmenting.scores[units[node].id] + here
                if steps[end].next == NONE or sum > steps[end].total:
                    steps[end].total, steps[end].next, steps[end].id = sum, <uint32_t> at, units[node].id
                is_known |= end - at == n_bytes
        if not is_known:
            sum = segmenting.unknown + here
            end = at + n_bytes
            if steps[end].next == NONE or sum > steps[end].total:
                if not has_unknown:
                    return False
                steps[end].total, steps[end].next, steps[end].id = sum, <uint32_t> at, NONE
        at += n_bytes
    _turn(steps, n)
    return True


cdef size_t search_with_margin(
    const Segmenting* segmenting, const uint8_t* text, size_t n, WideStep* steps
) noexcept nogil:
    """Find the path through a text that is best in double precision, and the total of the second best path.

    steps: as in search_sentence(). The margin is steps[n].total - steps[n].second.

    Returns the number of characters.
    """
    cdef const Unit* units = segmenting.units
    cdef size_t at = 0, end, n_bytes, n_characters = 0, i
    cdef uint32_t node, next
    cdef bint is_known
    for i in range(n + 1):
        steps[i] = WideStep(-INFINITY, -INFINITY, NONE, NONE)
    steps[0].total = 0
    while at < n:
        n_characters += 1
        n_bytes = min(fb_char_bytes(text[at]), n - at)
        is_known = False
        node, end = 0, at
        while end < n:
            next = units[node].base ^ text[end]
            if units[next].parent != node:
                break
            node = next
            end += 1
            if units[node].id != NONE:
                _reach_twice(&steps[at], &steps[end], at, units[node].score, units[node].id)
                is_known |= end - at == n_bytes
        if not is_known:
            _reach_twice(&steps[at], &steps[at + n_bytes], at, segmenting.unknown, NONE)
        at += n_bytes
    _turn(steps, n)
    return n_characters


cdef inline void _turn(AnyStep* steps, size_t n) noexcept nogil:
    """Reverse the links of the path, so that they point forward."""
    cdef size_t at = n, before, behind = n
    while at:
        before = steps[at].next
        steps[at].next = <uint32_t> behind
        behind = at
        at = before
    steps[0].next = <uint32_t> behind


cdef inline void _reach_twice(
    const WideStep* start, WideStep* step, size_t at, double score, uint32_t token
) noexcept nogil:
    """Reach a position by the two best paths to `at`, whose step is `start`, followed by a token."""
    cdef double sum = start.total + score
    if sum > step.total:
        step.second = max(step.total, start.second + score)
        step.total, step.next, step.id = sum, <uint32_t> at, token
    else:
        step.second = max(step.second, sum)
