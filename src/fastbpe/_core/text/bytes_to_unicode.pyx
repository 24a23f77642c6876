"""GPT-2's table of bytes and the characters that stand for them in vocabulary files: "Ġ" stands for a space.

Source: `bytes_to_unicode` in GPT-2's encoder.py; tokenizers calls the characters `ByteLevel.alphabet()`.
"""

from libc.stdint cimport uint8_t, uint16_t, uint32_t


cdef void _fill() noexcept:
    """Assign each printable character of Latin-1 to its own byte, and characters from U+0100 on to the others."""
    cdef int byte
    cdef uint16_t character, next_character = 0x100
    for character in range(N_CHARACTERS):
        byte_of_character[character] = NO_BYTE
    for byte in range(256):
        if 0x21 <= byte <= 0x7E or (byte >= 0xA1 and byte != 0xAD):
            character = <uint16_t> byte
        else:
            character = next_character
            next_character += 1
        character_of_byte[byte] = character
        byte_of_character[character] = <uint16_t> byte


_fill()


def bytes_to_unicode():
    """Return GPT-2's table: the visible character that stands for each byte in its files.

    A byte that is a printable character of Latin-1 stands for itself. The 68 others (controls, space, no-break
    space, soft hyphen) get the characters from U+0100 on. The dict is in the order of the characters, which is the
    order in which tokenizers numbers the bytes in the vocabularies that it trains.

    Source: the function of the same name in GPT-2's encoder.py.

    >>> bytes_to_unicode()[ord(" ")]
    'Ġ'
    """
    return {byte_of_character[c]: chr(c) for c in range(N_CHARACTERS) if byte_of_character[c] != NO_BYTE}


cdef Py_ssize_t unicode_to_bytes(const uint8_t* text, size_t n, uint8_t* out) noexcept nogil:
    """Write the bytes that the characters of a UTF-8 text stand for.

    Args:
        text: n bytes; they need not be valid UTF-8.
        out: space for n bytes; it may be `text` itself.

    Returns:
        The number of bytes written, or -1 if a character stands for no byte or the text is not UTF-8.
    """
    cdef size_t i = 0
    cdef Py_ssize_t n_out = 0
    cdef uint32_t c
    while i < n:
        c = text[i]
        i += 1
        if c >= 0x80:
            # Two bytes reach U+07FF, so every non-ASCII character of the table has two. 0xC0 and 0xC1 are
            # overlong.
            if c < 0xC2 or c >= 0xE0 or i >= n or text[i] >> 6 != 2:
                return -1
            c = (c & 0x1F) << 6 | (text[i] & 0x3F)
            i += 1
        if c >= N_CHARACTERS or byte_of_character[c] == NO_BYTE:
            return -1
        out[n_out] = <uint8_t> byte_of_character[c]
        n_out += 1
    return n_out
