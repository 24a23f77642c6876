cdef int take_turns() except -1
