from fastbpe._core.encode.encoder cimport Encoder

cdef extern from "Python.h":
    long long PyLong_AsLongLongAndOverflow(object number, int* overflow) except? -1

cdef enum:
    # Facts about an id. All other numbers are PieceTypes (1 and above), for the question whether its piece has the
    # type.
    PIECE = -1
    SCORE = 0


cdef class Facts:
    cdef Encoder _encoder
    cdef Py_ssize_t _n_pieces
    cdef bytes _types
    cdef Py_ssize_t _unknown_id  # -1 without an unknown piece
    cdef list _names
    cdef dict _ids_by_name
    cdef dict _ids_by_piece
    cdef tuple _scores
    cdef tuple _special_ids  # ids of <unk>, <s>, </s> and <pad>
    cdef object _decoder
    cdef bint _changes_decoded

    cdef object _new(self, str name)
    cdef list _all_names(self)
    cdef dict _by_name(self)
    cdef dict _by_piece(self)
    cdef Py_ssize_t _special_id(self, Py_ssize_t which) except -2
    cdef object _ready_decoder(self)
    cdef int _prepare_fact(self, int fact) except -1
    cdef object _fact(self, Py_ssize_t i, int fact)
    cdef list _facts(self, list ids, int fact)
    cdef list _pieces_of(self, list ids, bint as_bytes)
    cdef list _around(self, list items, object first, object last, bint reverse)
    cdef list _ids_of(self, list pieces, object kind)


cdef inline Py_ssize_t _index(object id):
    """Return an int as a C integer; -1 for other types and for ints beyond 64 bits."""
    cdef int overflow
    cdef long long value
    if type(id) is not int:
        return -1
    value = PyLong_AsLongLongAndOverflow(id, &overflow)
    return -1 if overflow else <Py_ssize_t> value
