"""Tables of a loaded sentencepiece model, in which compiled code looks up ids and pieces."""

cimport cython
from libc.stdint cimport uint8_t

from fastbpe._core.common.free_threading cimport own
from fastbpe._core.common.gil_yield cimport yield_gil_at
from fastbpe._core.common.python cimport (
    PyBytes_AS_STRING, PyDict_GetItem, PyList_GET_ITEM, PyList_GET_SIZE, PyObject
)
from fastbpe._core.encode.encoder cimport Encoder
from fastbpe._core.ids.id_lists cimport add_item, hide, new_list, show

from fastbpe.model import PieceType
from fastbpe.tokenizer.internals import denormalizer_of, surfaces_of

cdef int UNKNOWN = PieceType.UNKNOWN


cdef class Facts:
    """Tables of a loaded model for look-ups, each created at its first use.

    A derived class has the attributes `tokenizer`, `names`, `piece_bytes`, `ids_by_piece`, `scores` and
    `special_ids`.

    encoder: encodes texts; None: the derived class encodes.
    types: a PieceType for each id.
    """

    def __init__(self, Encoder encoder, bytes types not None):
        self._encoder = encoder
        self._types = types
        self._n_pieces = len(types)
        self._unknown_id = types.find(UNKNOWN)

    # Another thread may create a table at the same time: the first one that is stored is never replaced.

    cdef object _new(self, str name):
        """Have the derived class create a table. Its code may let another thread into the critical section."""
        return getattr(self, name)

    @cython.critical_section
    cdef list _all_names(self):
        cdef list made
        if self._names is None:
            made = self._new("names")
            if self._names is None:
                self._names = made
        return self._names

    @cython.critical_section
    cdef dict _by_name(self):
        cdef dict made
        if self._ids_by_name is None:
            try:
                made = {(<bytes?> piece).decode(): i for piece, i in self._by_piece().items()}
            except UnicodeDecodeError:  # pieces can still be looked up by their bytes
                made = {}
            if self._ids_by_name is None:
                self._ids_by_name = made
        return self._ids_by_name

    @cython.critical_section
    cdef dict _by_piece(self):
        cdef dict made
        if self._ids_by_piece is None:
            made = self._new("ids_by_piece")
            if self._ids_by_piece is None:
                self._ids_by_piece = made
        return self._ids_by_piece

    @cython.critical_section
    cdef Py_ssize_t _special_id(self, Py_ssize_t which) except -2:
        cdef tuple made
        if self._special_ids is None:
            made = self._new("special_ids")
            if self._special_ids is None:
                self._special_ids = made
        return self._special_ids[which]

    @cython.critical_section
    cdef object _ready_decoder(self):
        """Return the decoder; None if the model has rules for decoded text."""
        if self._decoder is None and not self._changes_decoded:
            tokenizer = self._new("tokenizer")
            made = None if denormalizer_of(tokenizer) is not None else surfaces_of(tokenizer)
            self._changes_decoded = made is None
            if self._decoder is None:
                self._decoder = made
        return self._decoder

    @cython.critical_section
    cdef int _prepare_fact(self, int fact) except -1:
        cdef tuple made
        if fact == PIECE:
            self._all_names()
        elif fact == SCORE and self._scores is None:
            made = self._new("scores")
            if self._scores is None:
                self._scores = made
        return 0

    cdef object _fact(self, Py_ssize_t i, int fact):
        """Return a fact about an id: its PIECE, its SCORE, or True if its type is the PieceType `fact`.

        Requires: `_prepare_fact` has run, and 0 <= i < _n_pieces.
        """
        if fact == PIECE:
            return <object> PyList_GET_ITEM(self._names, i)
        if fact == SCORE:
            return self._scores[i]
        return (<const uint8_t*> PyBytes_AS_STRING(self._types))[i] == fact

    cdef list _facts(self, list ids, int fact):
        """Return a fact about each id; None if an id is not a plain int from 0 to _n_pieces - 1."""
        ids = own(ids)  # with a GIL still the caller's list, which may get shorter while this call yields the GIL
        cdef Py_ssize_t n = PyList_GET_SIZE(ids), at, i
        cdef list out = new_list(<size_t> n)
        hide(out)
        for at in range(n):
            yield_gil_at(<size_t> at)
            i = _index(<object> PyList_GET_ITEM(ids, at)) if at < PyList_GET_SIZE(ids) else -1
            if not 0 <= i < self._n_pieces:
                return None
            add_item(out, self._fact(i, fact))
        return show(out)

    def bytes_of_ids(self, list ids not None):
        """Return the piece of each id as bytes; None if an id is not a plain int from 0 to _n_pieces - 1."""
        cdef list pieces = self.piece_bytes, out = []
        cdef Py_ssize_t i
        cdef size_t at
        for at, id in enumerate(ids):
            yield_gil_at(at)
            i = _index(id)
            if not 0 <= i < self._n_pieces:
                return None
            out.append(<object> PyList_GET_ITEM(pieces, i))
        return out

    # Encoding

    cdef list _pieces_of(self, list ids, bint as_bytes):
        """Return the piece of each id; None if one is the unknown id, whose piece is a part of the text.

        Requires: each id has a piece, and no other thread has the list.
        """
        cdef list names = self.piece_bytes if as_bytes else self._all_names()
        cdef Py_ssize_t n = PyList_GET_SIZE(ids), at, i
        cdef list out = new_list(<size_t> n)
        hide(out)
        for at in range(n):
            yield_gil_at(<size_t> at)
            i = _index(<object> PyList_GET_ITEM(ids, at))
            if i == self._unknown_id:
                return None
            add_item(out, <object> PyList_GET_ITEM(names, i))
        return show(out)

    cdef list _around(self, list items, object first, object last, bint reverse):
        """Optionally reverse a list in place, and add items before and after it; None: no item."""
        if reverse:
            items.reverse()
        if first is not None:
            items.insert(0, first)
        if last is not None:
            items.append(last)
        return items

    # Decoding

    cdef list _ids_of(self, list pieces, object kind):
        """Return the ids of pieces; None if a piece is unknown or not of type `kind`, which is str or bytes."""
        cdef dict ids = self._by_name() if kind is str else self._by_piece()
        pieces = own(pieces)  # may get shorter, as in _facts
        cdef Py_ssize_t n = PyList_GET_SIZE(pieces), at
        cdef list out = new_list(<size_t> n)
        cdef PyObject* found
        hide(out)
        for at in range(n):
            yield_gil_at(<size_t> at)
            if at >= PyList_GET_SIZE(pieces) or type(<object> PyList_GET_ITEM(pieces, at)) is not kind:
                return None
            found = PyDict_GetItem(ids, <object> PyList_GET_ITEM(pieces, at))
            if found == NULL:
                return None
            add_item(out, <object> found)
        return show(out)
