"""Ids of a piece of a vocabulary that segments pieces without merging (see segment.segmenter).

With tokenizers' rules a piece has the same ids wherever it occurs, so the piece cache stores them, or their trace
(see merge.spelling).

With sentencepiece's rules the best path through a piece may depend on the total before it: rounding of the sum
decides between paths that are nearly equal. The cache stores the path P that is best without rounding, after a
head that says how much better P is than any other path. Rounded addition never reverses the order of two sums, so
the path Q that sentencepiece takes has a rounded total that is not less than P's. Each total differs from the
exact one by at most u per token, where u is at least half a unit in the last place. So Q is P if the margin is
greater than u times the sum of two numbers: the characters of the piece (Q has at most as many tokens) and the tokens
of P. The head contains the exponent of the margin divided by that sum, rounded down; u is a power of two, so comparing
exponents is the test. If it fails (for 0.01 to 1 % of the words of a text), the piece is searched again, starting
from the total before it.
"""

from libc.math cimport frexp
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport free, malloc

from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.id_buffer cimport Ids, ids_free, ids_reserve
from fastbpe._core.common.python cimport PyBytes_AS_STRING
from fastbpe._core.merge.vocabulary cimport NO_SUCH_TOKEN, Spelling, Tables, Vocabulary
from fastbpe._core.segment.best_path cimport Step, WideStep, search_piece, search_sentence, search_with_margin
from fastbpe._core.segment.segmenter cimport SENTENCE, UNIGRAM, WORD_PIECE, Segmenting, Unit, child, find_whole

from fastbpe.errors import NoUnknownTokenError

cdef enum:
    STACK_BYTES = 128  # longest piece whose steps are on the stack


cdef int segment_piece(const Tables* tables, const uint8_t* piece, size_t n, Ids* out) except -1 nogil:
    """Append the ids of a piece, or its trace if the tables' spelling traces; with SENTENCE its head and ids.

    Requires: with SENTENCE, n <= MAX_MARGIN_BYTES.
    """
    cdef const Segmenting* segmenting = tables.segmenting
    cdef size_t first = out.n, n_ids
    cdef uint32_t found
    if segmenting.kind == SENTENCE:
        return _add_with_head(tables, piece, n, out)
    if tables.spelling.traces:
        ids_reserve(out, 1)
        out.n += 1
    if segmenting.kind == UNIGRAM:
        n_ids = _add_unigram(tables, piece, n, out)
    elif segmenting.kind == WORD_PIECE:
        n_ids = _add_longest(tables, piece, n, out)
    else:
        found = find_whole(segmenting.units, piece, n)
        n_ids = 1
        if found == NONE:
            _add_unknown(tables, piece, n, out)
        else:
            _add(tables, found, <uint32_t> n, out)
    if tables.spelling.traces:
        out.items[first] = <uint32_t> n_ids
    return 0


cdef int _add(const Tables* tables, uint32_t token, uint32_t length, Ids* out) except -1 nogil:
    """Append an id, or its items in a trace. length: bytes that it stands for, possibly with SHARED."""
    ids_reserve(out, 2)
    if tables.spelling.traces:
        out.items[out.n] = token | min(length, <uint32_t> 255) << 24
        if length >= 255:
            out.n += 1
            out.items[out.n] = length
    else:
        out.items[out.n] = token
    out.n += 1
    return 0


cdef int _add_unknown(const Tables* tables, const uint8_t* text, size_t n, Ids* out) except -1 nogil:
    """Append the unknown id for some bytes."""
    if tables.spelling.unknown_id >= NO_SUCH_TOKEN:  # or NONE: only models that merge leave it out
        _raise_unknown(text, n)
    return _add(tables, tables.spelling.unknown_id, <uint32_t> n, out)


cdef int _raise_unknown(const uint8_t* text, size_t n) except -1 nogil:
    with gil:
        shown = (<const char*> text)[:n].decode("utf-8", "replace")
        raise NoUnknownTokenError(
            f"{shown!r:.80} has no token, and the model lacks an unknown token; add an unknown token to the model"
        )


# tokenizers' WordPiece

cdef size_t _add_longest(const Tables* tables, const uint8_t* piece, size_t n, Ids* out) except? <size_t> -1 nogil:
    """Append the longest token at each position of a piece, or one unknown id for the piece; return how many."""
    cdef const Unit* units = tables.segmenting.units
    cdef size_t at = 0, end, longest, n_ids = 0, n_characters = 0, first = out.n, i
    cdef uint32_t node, token = NONE
    for i in range(n):
        n_characters += piece[i] & 0xC0 != 0x80
    if n_characters > tables.segmenting.longest:
        _add_unknown(tables, piece, n, out)
        return 1
    while at < n:
        node = tables.segmenting.inner if at else 0
        longest = at
        end = at
        while node != NONE and end < n:
            node = child(units, node, piece[end])
            if node == 0:
                break
            end += 1
            if units[node].id != NONE:
                longest, token = end, units[node].id
        if longest == at:
            out.n = first
            _add_unknown(tables, piece, n, out)
            return 1
        _add(tables, token, <uint32_t> (longest - at), out)
        n_ids += 1
        at = longest
    return n_ids


# tokenizers' Unigram

cdef size_t _add_unigram(const Tables* tables, const uint8_t* piece, size_t n, Ids* out) except? <size_t> -1 nogil:
    """Append the ids of the best path through a piece; return their number."""
    cdef WideStep[STACK_BYTES + 1] short_steps
    cdef WideStep* steps = short_steps
    if n > STACK_BYTES:
        steps = <WideStep*> malloc((n + 1) * sizeof(WideStep))
        if steps == NULL:
            with gil:
                raise MemoryError(f"no memory to encode a piece of {n} bytes")
    try:
        if not search_piece(tables.segmenting, tables.spelling.unknown_id < NO_SUCH_TOKEN, piece, n, steps):
            _raise_unknown(piece, n)
        return _add_steps(tables, piece, n, steps, out)
    finally:
        if steps != short_steps:
            free(steps)


cdef size_t _add_steps(
    const Tables* tables, const uint8_t* piece, size_t n, const WideStep* steps, Ids* out
) except? <size_t> -1 nogil:
    """Append the ids of a path. Consecutive unknown characters and texts of the unknown token become one text."""
    cdef uint32_t unknown = tables.spelling.unknown_id, token
    cdef size_t at = 0, run = 0, end, n_ids = 0  # run: bytes of the unknown tokens that end at `at`
    while at < n:
        end = steps[at].next
        token = steps[end].id
        if token == NONE or token == unknown:
            run += end - at
        else:
            n_ids += _add_run(tables, piece + at - run, run, out)
            run = 0
            _add(tables, token, <uint32_t> (end - at), out)
            n_ids += 1
        at = end
    return n_ids + _add_run(tables, piece + n - run, run, out)


cdef size_t _add_run(const Tables* tables, const uint8_t* text, size_t n, Ids* out) except? <size_t> -1 nogil:
    """Append the ids of a run of unknown text: of the whole run if it is a token, else of its bytes, else unknown.

    Returns their number. Each id stands for all n bytes.
    """
    cdef const Spelling* spelling = tables.spelling
    cdef uint32_t found
    cdef size_t i
    if n == 0:
        return 0
    found = find_whole(tables.segmenting.units, text, n)
    if found != NONE:
        _add(tables, found, <uint32_t> n, out)
        return 1
    for i in range(n):
        if not spelling.has_bytes or spelling.byte_ids[text[i]] == NONE:
            _add_unknown(tables, text, n, out)
            return 1
    for i in range(n):
        _add(tables, spelling.byte_ids[text[i]], <uint32_t> n | (SHARED if i + 1 < n else 0), out)
    return n


# sentencepiece's unigram

cdef int _add_with_head(const Tables* tables, const uint8_t* piece, size_t n, Ids* out) except -1 nogil:
    """Append the head and the ids of the path that is best without rounding."""
    cdef WideStep[MAX_MARGIN_BYTES + 1] steps
    cdef size_t n_characters = search_with_margin(tables.segmenting, piece, n, steps)
    cdef size_t at = 0, end, first = out.n, n_tokens = 0
    cdef int exponent = MAX_EXPONENT
    cdef double margin = steps[n].total - steps[n].second
    ids_reserve(out, n + 1)
    out.n += 1
    while at < n:
        end = steps[at].next
        add_token(tables, piece + at, end - at, steps[end].id, out)
        n_tokens += 1
        at = end
    # 1.01, because the sums in double precision are rounded, too.
    margin /= 1.01 * <double> (n_characters + n_tokens)
    if margin < 1:
        frexp(margin, &exponent)  # margin = f * 2**exponent with f from 0.5 to 1, so rounded down it is exponent - 1
        exponent = max(exponent - 1, -BIAS) if margin > 0 else -BIAS
    out.items[first] = <uint32_t> (out.n - first - 1) | <uint32_t> (exponent + BIAS) << COUNT_BITS
    return 0


cdef int add_path(const Tables* tables, const uint8_t* text, size_t n, const Step* steps, Ids* out) except -1 nogil:
    """Append the ids of a path that search_sentence() found."""
    cdef size_t at = 0, end
    ids_reserve(out, n)
    while at < n:
        end = steps[at].next
        add_token(tables, text + at, end - at, steps[end].id, out)
        at = end
    return 0


def best_ids(Vocabulary vocabulary not None, list pieces not None):
    """Return for each piece (bytes) the tuple of ids of its best path, as if the piece began a text.

    Requires: the method of the vocabulary is SENTENCE.
    """
    cdef Ids ids = Ids(NULL, 0, 0)
    cdef bytes piece
    cdef size_t n, longest = max(map(len, pieces), default=0)
    cdef Step* steps = <Step*> malloc((longest + 1) * sizeof(Step))
    cdef list out = []
    if steps == NULL:
        raise MemoryError(f"no memory to encode a piece of {longest} bytes")
    try:
        for piece in pieces:
            n = <size_t> len(piece)
            ids.n = 0
            search_sentence(vocabulary.tables.segmenting, <const uint8_t*> PyBytes_AS_STRING(piece), n, 0.0, steps)
            add_path(&vocabulary.tables, <const uint8_t*> PyBytes_AS_STRING(piece), n, steps, &ids)
            out.append(tuple([ids.items[k] for k in range(ids.n)]))
        return out
    finally:
        free(steps)
        ids_free(&ids)
