"""Steps from key to key and item to item of JSON objects and arrays, for the readers of vocabularies.

As in json_lexer, a function returns the position after what it reads, or NULL if the file is damaged there.
"""

from libc.stdint cimport uint8_t

from fastbpe._core.text.json_lexer cimport String, read_sign, read_string, skip_space


cdef inline const uint8_t* read_key(const uint8_t* at, const uint8_t* end, String* key) noexcept:
    """Read a key, its colon, and the white space after it."""
    at = read_string(at, end, key)
    return read_sign(skip_space(at, end), end, c':') if at != NULL else NULL


cdef inline const uint8_t* next_item(
    const uint8_t* at, const uint8_t* end, uint8_t first, uint8_t closing
) noexcept:
    """Return the position of the next item, past a comma, or of the closing bracket. at: the end of an item.

    Args:
        first: the byte with which an item begins; 0: any byte except the closing bracket.
        closing: the closing bracket.
    """
    at = skip_space(at, end)
    if at >= end or at[0] == closing:
        return at
    at = read_sign(at, end, c',')
    if at == NULL or at >= end:
        return NULL
    return at if (at[0] == first if first else at[0] != closing) else NULL


cdef inline const uint8_t* skip_value(const uint8_t* at, const uint8_t* end) noexcept:
    """Skip a value by counting brackets, without checking it: a JSON parser reads it later."""
    cdef size_t depth = 0
    cdef String string
    while at < end:
        if at[0] == c'"':
            at = read_string(at, end, &string)
            if at == NULL:
                return NULL
            continue
        if at[0] == c'{' or at[0] == c'[':
            depth += 1
        elif at[0] == c'}' or at[0] == c']':
            if not depth:
                return at
            depth -= 1
            if not depth:
                return at + 1
        elif at[0] == c',' and not depth:
            return at
        at += 1
    return NULL
