from fastbpe._core.common.id_buffer cimport Ids


cdef class Guard:
    cdef dict _spelled
    cdef bytes _marks  # of each id, whether it is replaced
    cdef int replace(self, Ids* ids, size_t start) except -1
