"""Ids of the pieces of a text by a table; see `normalize.piece_id_table`."""

from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.encode.scratch_pool cimport Scratch, add_id
from fastbpe._core.encode.spans cimport Span, add_span_of_id
from fastbpe._core.normalize.piece_id_table cimport PieceIdTable, is_unknown
from fastbpe._core.text.special_tokens cimport Match


cdef void resolve(PieceIdTable table, Scratch* scratch, size_t first) noexcept nogil:
    """Replace the ids from scratch.ids.items[first] on by ids of the table, and adapt spans if they are recorded.

    Requires: they are the ids of all pieces of a text, so that no run of unknown characters is cut.
    """
    cdef uint32_t* ids = scratch.ids.items
    cdef Span* spans = NULL
    cdef size_t i = first, kept = first, end
    cdef uint32_t new_id
    if scratch.spans != NULL:
        spans = scratch.spans.items + (scratch.spans.n - (scratch.ids.n - first))
    while i < scratch.ids.n:
        end = i + 1
        new_id = ids[i]
        if is_unknown(table, new_id):
            while end < scratch.ids.n and is_unknown(table, ids[end]):
                end += 1
            new_id = table.find(ids + i, end - i)
        elif new_id >= table.n_ids:
            new_id = table.unknown
        ids[kept] = new_id
        if spans != NULL:
            spans[kept - first] = Span(spans[i - first].start, spans[end - 1 - first].end)
        kept += 1
        i = end
    if spans != NULL:
        scratch.spans.n -= scratch.ids.n - kept
    scratch.ids.n = kept


cdef size_t take_code(PieceIdTable table, const uint8_t* data, size_t n, Scratch* scratch) except? <size_t> -1 nogil:
    """Append the id of the code (>>…<<) at the start of a text; return the code's length; 0: no code."""
    cdef size_t end = 0
    cdef Match match
    cdef uint32_t code_id = table.unknown
    if not table.finds_codes or n < 4 or data[0] != 0x3E or data[1] != 0x3E:  # >>
        return 0
    while end + 1 < n and not (data[end] == 0x3C and data[end + 1] == 0x3C):  # <<
        end += 1
    if end + 1 >= n:
        return 0
    end += 2
    # A code has no << before its end, so the code that is found ends here.
    if table.codes is not None and table.codes.find_here(data, end, 0, &match):
        code_id = match.id
    add_id(scratch, code_id)
    if scratch.spans != NULL:
        add_span_of_id(scratch.spans, 0, end)
    return end
