from fastbpe._core.common.id_buffer cimport Ids


cdef class Guard:
    cdef dict _spelled
    cdef bytes _is_replaced  # id: 1 if it has a replacement, else 0
    cdef int replace(self, Ids* ids, size_t start) except -1
