"""Spans in pieces that have bytes without a token, which vocabularies of tokenizers may have.

tokenizers leaves such bytes out and counts the spans of the others in characters of its own, from the beginning
of the piece.
"""

from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.cache.piece_cache cimport encode_pieces
from fastbpe._core.common.byte_buffer cimport Buffer, buffer_add
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.encode.spans cimport Spans, add_span_of_id
from fastbpe._core.merge.vocabulary cimport Tables
from fastbpe._core.split.splitter cimport UNMATCHED


cdef bint has_byte_without_token(const Tables* tables, const uint8_t* data, size_t at, size_t end) noexcept nogil:
    """Tell whether data[at:end] has a byte without a token."""
    while at < end and tables.byte_ids[data[at]] != NONE:
        at += 1
    return at < end


cdef int merge_known_bytes(
    Pipeline pipeline, const uint8_t* data, size_t begin, Scratch* scratch, Spans* spans
) except -1 nogil:
    """Encode the pieces in scratch.ends without the bytes that have no token.

    begin: offset of the first piece.

    As in tokenizers, the spans of a piece count from its beginning as if no byte were missing.
    """
    cdef const Tables* tables = &pipeline.vocabulary.tables
    cdef Buffer* kept = &scratch.kept
    cdef size_t i, k, end, first_id
    for k in range(scratch.ends.n):
        end = scratch.ends.items[k] & ~UNMATCHED
        kept.n = 0
        if not scratch.ends.items[k] & UNMATCHED:
            for i in range(begin, end):
                if tables.byte_ids[data[i]] != NONE:
                    buffer_add(kept, data + i, 1)
        if kept.n:
            first_id = scratch.ids.n
            encode_pieces(&scratch.cache, tables, kept.items, kept.n, 0, &kept.n, 1, &scratch.ids)
            _add_spans_by_characters(tables, data, begin, end, &scratch.ids, first_id, spans)
        begin = end
    return 0


cdef int _add_spans_by_characters(
    const Tables* tables, const uint8_t* data, size_t at, size_t end, const Ids* ids, size_t i, Spans* spans
) except -1 nogil:
    """Append the spans of ids i and following, in the piece data[at:end], as tokenizers counts them.

    It writes each byte as a character (GPT-2's bytes_to_unicode) and counts bytes of these characters' UTF-8.
    """
    cdef size_t n_left = _character_bytes(data[at]), n, start, token_at, token_end
    cdef uint32_t token
    for i in range(i, ids.n):
        token = ids.items[i]
        token_at = tables.token_ends[token - 1] if token else 0
        token_end = tables.token_ends[token]
        n = 0
        while token_at < token_end:
            n += _character_bytes(tables.token_bytes[token_at])
            token_at += 1
        start = at
        while n > n_left and at + 1 < end:
            n -= n_left
            at += 1
            n_left = _character_bytes(data[at])
        add_span_of_id(spans, start, at + 1)
        n_left -= min(n, n_left)
        if not n_left and at + 1 < end:
            at += 1
            n_left = _character_bytes(data[at])
    return 0


cdef inline size_t _character_bytes(uint8_t byte) noexcept nogil:
    """Return the bytes of UTF-8 for the character that stands for a byte in GPT-2's files."""
    return 1 if 0x21 <= byte <= 0x7E else 2
