"""The step of a DecodeStream that a table answers, compiled: a server takes it for each token of each answer.

See `id_stream`, whose class has the other parts of the stream.
"""

cimport cython
from fastbpe._core.common.python cimport PyList_GET_ITEM, PyObject

from operator import index

cdef object NOT_FOUND = object()


cdef class QuickStream:
    """Base of `id_stream.DecodeStream`, with the state that `step` reads. A derived class has `_look_up` and `_step`."""

    cdef public object _quick  # the tokenizer while the table may answer; None while the slow stream is at work
    cdef public list _counter  # list of one object, which a change of the tokenizer replaces
    cdef public object _seen  # the object for which the table is valid
    cdef public dict _known  # id → its text; None: the text depends on other ids
    cdef public object _last  # the id of the last text, if the table answered; None: the slow stream did

    def __cinit__(self, *args, **options):
        self._counter, self._known = [0], {}  # 0 is not `_seen`, which is None: step(None, id) raises in `_step`

    @cython.critical_section
    def step(self, tokenizer, id):
        """Add an id, or a list of ids, and return the text that it completes; None if it completes none."""
        # Python code in a step may let another thread into this critical section. Then the texts of both threads
        # mix, so a stream is for one thread at a time. But no thread frees an object that another one still reads.
        text = self._quick_text(tokenizer, id)
        return self._slow_text(tokenizer, id) if text is None else text

    @cython.final
    cdef object _quick_text(self, object tokenizer, object id):
        """Return the text that the table has for an id; None if the slow stream has to find it."""
        cdef dict known
        # Compares addresses: `_seen` keeps its object alive, so no other object has its address.
        if tokenizer is not self._quick or PyList_GET_ITEM(self._counter, 0) != <PyObject*> self._seen:
            return None
        known = self._known
        try:
            one = id if type(id) is int else index(id)
        except TypeError:
            return None
        text = known.get(one, NOT_FOUND)
        if text is NOT_FOUND:
            text = self._look_up(one)
        if text is not None:
            self._last = one
        return text

    @cython.final
    cdef object _slow_text(self, object tokenizer, object id):
        """Call `_step`. (If a critical section calls a Python method by name, Cython warns.)"""
        return self._step(tokenizer, id)
