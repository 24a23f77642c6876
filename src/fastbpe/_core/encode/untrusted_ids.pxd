from fastbpe._core.common.id_buffer cimport Ids


cdef class Guard:
    cdef dict _spelled
    cdef bytes _is_replaced  # by id: 1 if it has a replacement, otherwise 0
    cdef int replace(self, Ids* ids, size_t start) except -1
