from libc.stdint cimport uint8_t, uint16_t

cdef enum:
    N_CHARACTERS = 0x144  # all 256 characters of the table are below this code point
    NO_BYTE = 0xFFFF  # in byte_of_character: the character stands for no byte

cdef uint16_t[256] character_of_byte
cdef uint16_t[N_CHARACTERS] byte_of_character

cdef Py_ssize_t unicode_to_bytes(const uint8_t* text, size_t n, uint8_t* out) noexcept nogil
