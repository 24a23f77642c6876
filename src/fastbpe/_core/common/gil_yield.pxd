cdef int yield_gil_if_due() except -1
