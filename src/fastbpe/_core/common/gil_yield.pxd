cdef enum:
    YIELD_ITEMS = 1 << 12  # loop items between two checks whether to release the GIL: less than a millisecond
    CALL_ITEMS = 1 << 3  # cost of starting on a list or text, in items


cdef int yield_gil_if_due() except -1


cdef inline int yield_gil_at(size_t i) except -1:
    """Call yield_gil_if_due() once every YIELD_ITEMS items of a loop over Python objects whose index is i.

    Other code runs in the meantime and may change any list that it can reach. So check the size of a caller's list
    again after this call, and hide a list whose items are not all set (id_lists.hide()).

    Requires: the GIL is held.
    """
    return yield_gil_if_due() if i % YIELD_ITEMS == YIELD_ITEMS - 1 else 0


cdef inline int yield_gil_after(size_t n, size_t* n_held) except -1:
    """Call yield_gil_if_due() now and then in a loop over lists or texts. n: items of the last list or text.

    n_held: items since the last check; 0 at first.
    """
    n_held[0] += n + CALL_ITEMS
    if n_held[0] < YIELD_ITEMS:
        return 0
    n_held[0] = 0
    return yield_gil_if_due()
