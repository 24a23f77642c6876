cdef enum:
    YIELD_ITEMS = 1 << 12  # items of a loop between two checks whether the GIL is due: below a millisecond
    CALL_ITEMS = 1 << 3  # overhead of one list or text, in items


cdef int yield_gil_if_due() except -1


cdef inline int yield_gil_at(size_t i) except -1:
    """Call yield_gil_if_due() in a loop over many Python objects, whose index is i, once in YIELD_ITEMS items.

    Other code runs meanwhile: it may change any list that it can reach, so a list from the caller is read by its
    size of now, and a list with items that are not set yet is hidden (id_lists.hide()).

    Requires: the GIL is held.
    """
    return yield_gil_if_due() if i % YIELD_ITEMS == YIELD_ITEMS - 1 else 0


cdef inline int yield_gil_after(size_t n, size_t* n_held) except -1:
    """Do the same in a loop over lists or texts, after one that had n items.

    n_held: items since the last check; 0 at first.
    """
    n_held[0] += n + CALL_ITEMS
    if n_held[0] < YIELD_ITEMS:
        return 0
    n_held[0] = 0
    return yield_gil_if_due()
