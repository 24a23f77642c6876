"""Classes of characters in code-point mode, and a reader of UTF-8."""

from libc.stdint cimport uint8_t, uint32_t

cdef enum:
    # A class determines with which neighbours a character may share a piece. Classes from FIRST_SCRIPT on are
    # scripts: characters of two scripts are never adjacent in a piece.
    INHERITED = 0  # the character has the script of the previous one
    METASPACE_CLASS = 1  # U+2581, which stands for a space
    ALONE = 2  # no piece has the character together with another one
    ANY = 3  # may share a piece with every script
    FIRST_SCRIPT = 4  # from here on, numbered by training.codepoint_counting

cdef enum:
    N_CODE_POINTS = 0x110000


cdef inline uint32_t next_code_point(const uint8_t* text, size_t n, size_t* at) noexcept nogil:
    """Read the character at text[at] and move `at` past it.

    Requires: at < n.
    Ensures: at <= n, and the result is a number below N_CODE_POINTS, even for bytes that are not UTF-8 (which a
    faulty charsmap could write).
    """
    cdef uint32_t c = text[at[0]], n_more
    at[0] += 1
    if c < 0x80:
        return c
    n_more = 1 if c < 0xE0 else 2 if c < 0xF0 else 3
    c &= 0x3F >> n_more
    while n_more and at[0] < n:
        c = c << 6 | (text[at[0]] & 0x3F)
        at[0] += 1
        n_more -= 1
    return c if c < N_CODE_POINTS else 0


cdef struct PieceRules:
    # Options that determine where U+2581 may be in a piece
    bint split_by_whitespace  # True: only at the beginning; False: anywhere but at the end
    bint treat_whitespace_as_suffix  # swap beginning and end
    bint allow_whitespace_only_pieces  # anywhere if the piece has nothing else


cdef struct PieceCheck:
    # Progress through the characters of a piece; initialize as PieceCheck(ANY, 0, True)
    uint8_t before  # class of the script that the next character must match
    uint32_t n_metaspaces
    bint are_well_placed  # all U+2581 so far are at allowed positions


cdef inline bint may_follow(
    const PieceRules* rules, PieceCheck* check, uint8_t class_, uint32_t i, uint32_t n
) noexcept nogil:
    """Tell whether a character of this class may be at index i of the n characters of a piece, and update `check`.

    For U+2581 the answer is always True: is_valid_end() decides about its position.
    """
    cdef uint32_t position
    if class_ == METASPACE_CLASS:
        check.n_metaspaces += 1
        position = n - 1 - i if rules.treat_whitespace_as_suffix else i
        if rules.split_by_whitespace:
            check.are_well_placed &= position == 0
        else:
            check.are_well_placed &= position != n - 1
        return True
    if class_ == ALONE:
        return False
    if class_ == INHERITED:
        class_ = check.before
    if check.before >= FIRST_SCRIPT and class_ >= FIRST_SCRIPT and check.before != class_:
        return False
    check.before = class_
    return True


cdef inline bint is_valid_end(const PieceRules* rules, const PieceCheck* check, uint32_t n) noexcept nogil:
    """Tell whether n characters for which may_follow() holds are a piece."""
    return check.are_well_placed or (rules.allow_whitespace_only_pieces and check.n_metaspaces == n)
