"""Spans of ids in a text: collected one by one, then returned as a list of tuples or as an array."""

from libc.stdint cimport int64_t
from libc.stdlib cimport calloc, free

from fastbpe._core.common.gil_yield cimport YIELD_ITEMS, yield_gil_if_due
from fastbpe._core.common.memory cimport grown, prefetch
from fastbpe._core.common.python cimport Py_INCREF, Py_XDECREF, PyObject
from fastbpe._core.ids.id_lists cimport Array, add_item, add_span, hide, int64_array_of, new_list, show, take_spare_int64s
from fastbpe._core.ids.int_table cimport Ints, kept_ints, offset_int

cdef enum:
    FIRST_SPANS = 64  # initial capacity of spans
    SHARED_STARTS = 1 << 13  # lists share the tuples of spans that start below this offset
    SHARED_LENGTHS = 16  # and that are shorter than this length
    PLACES_AHEAD = 24  # distance, in spans, at which places are prefetched
    TUPLES_AHEAD = 12  # distance, in spans, at which the tuples at these places are prefetched


cdef void spans_free(Spans* spans) noexcept nogil:
    free(spans.items)
    spans.items = NULL
    spans.n = spans.capacity = 0


cdef int spans_grow(Spans* spans) except -1 nogil:
    """Double the capacity. If it raises MemoryError, the spans are unchanged."""
    cdef size_t capacity = max(2 * spans.capacity, <size_t> FIRST_SPANS)
    cdef Span* items = <Span*> grown(
        spans.items, spans.n * sizeof(Span), spans.capacity * sizeof(Span), capacity * sizeof(Span)
    )
    if items == NULL:
        with gil:
            raise MemoryError(f"no memory for {capacity} spans")
    spans.items = items
    spans.capacity = capacity
    return 0


cdef void spans_expect(Spans* spans, size_t n_more) noexcept nogil:
    """Allocate memory for an estimated n + n_more spans at once, to avoid the copies of a growing buffer.

    Does nothing if memory is short: then spans_grow() enlarges the buffer.
    """
    cdef size_t capacity = spans.n + n_more
    cdef Span* items
    if capacity <= spans.capacity:
        return
    capacity = max(capacity, 2 * spans.capacity)
    items = <Span*> grown(
        spans.items, spans.n * sizeof(Span), spans.capacity * sizeof(Span), capacity * sizeof(Span)
    )
    if items != NULL:
        spans.items, spans.capacity = items, capacity


# Arrays

cdef void take_spare_spans(Spans* spans, size_t n_units) noexcept:
    """Reuse the memory of a dropped array for the spans of a text of n_units units; see take_spare().

    Requires: the GIL; `spans` owns no memory.
    """
    cdef size_t capacity = 0
    cdef int64_t* items = take_spare_int64s(n_units, &capacity)
    if items != NULL:
        spans[0] = Spans(<Span*> items, 0, capacity // 2)


cdef Array spans_array(Spans* spans, size_t n_units):
    """Make an int64 array of start, end, start, end, … from the memory of the spans, which become empty.

    n_units: length of the text, for `take_spare_int64s`; 0: no later array reuses the memory.
    """
    cdef Array array = int64_array_of(<int64_t*> spans.items, 2 * spans.n, 2 * spans.capacity, n_units)
    spans.items = NULL
    spans.n = spans.capacity = 0
    return array


# Lists of tuples

cdef struct Shared:
    # Tuples (start, end) that lists share. Each tuple is untracked, as in add_span().
    PyObject** places  # by start and length; NULL: there is no tuple yet. Place 0 stays NULL.
    size_t n_starts  # spans that start at n_starts or later, or are not shorter than SHARED_LENGTHS, have place 0

cdef PyObject* _no_place = NULL
cdef Shared _shared = Shared(&_no_place, 0)


cdef list spans_list(const Spans* spans):
    """Return (start, end) of each span.

    Equal consecutive spans share one tuple, and adjacent spans share the int between them. Lists share the tuples
    of short spans near the start of their texts: documents of 2 KB, which have most of their tuples in common,
    take half the time.
    """
    cdef list out = new_list(spans.n)
    hide(out)
    append_spans(out, spans, 0)
    return show(out)


cdef object append_spans(list out, const Spans* spans, object end):
    """Append (start, end) of each span to a list; return the end of the last tuple that had to be made, or `end`.

    end: result of the call for the previous spans, or 0.

    The reference count of a shared tuple is a cache miss unless it is prefetched.

    Requires: the list has capacity for them, and is hidden: other threads may run in between.
    """
    cdef Ints* ints = kept_ints()
    cdef Shared shared = _shared_tuples(ints)
    cdef PyObject* shared_tuple
    cdef const Span* span
    cdef object start
    cdef tuple last_made = None
    cdef size_t i, last = end
    for i in range(spans.n):
        if i % YIELD_ITEMS == YIELD_ITEMS - 1:
            yield_gil_if_due()
            shared = _shared_tuples(ints)  # another thread may have freed the places
        if i + PLACES_AHEAD < spans.n:
            prefetch(_place(&shared, &spans.items[i + PLACES_AHEAD]))
            prefetch(_place(&shared, &spans.items[i + TUPLES_AHEAD])[0])
        span = &spans.items[i]
        shared_tuple = _place(&shared, span)[0]
        if shared_tuple != NULL:
            add_item(out, <object> shared_tuple)
            continue
        if last_made is not None and span.start == spans.items[i - 1].start and span.end == spans.items[i - 1].end:
            add_item(out, last_made)  # another id for bytes of the same character
            continue
        start = end if span.start == last else offset_int(ints, span.start)
        last = span.end
        end = offset_int(ints, last)
        last_made = add_span(out, start, end)
        shared = _share(ints, span, last_made)
    return end


cdef inline PyObject** _place(const Shared* shared, const Span* span) noexcept nogil:
    """Return the place of a span's tuple; place 0 for a span whose tuple is not shared."""
    cdef size_t n = span.end - span.start
    if span.start >= shared.n_starts or n >= SHARED_LENGTHS:
        return shared.places
    return shared.places + 1 + span.start * SHARED_LENGTHS + n


cdef Shared _shared_tuples(const Ints* ints) noexcept:
    """Return the tuples that lists share, and allocate their places at the first call. Requires: the GIL.

    Returns no places if memory is short, or if no ints are cached, as in a Python without a GIL: no place may be
    written there.
    """
    cdef PyObject** places
    if not _shared.n_starts and ints.n:
        places = <PyObject**> calloc(1 + SHARED_STARTS * SHARED_LENGTHS, sizeof(PyObject*))
        if places != NULL:
            _shared.places, _shared.n_starts = places, SHARED_STARTS
    return _shared


cdef Shared _share(const Ints* ints, const Span* span, tuple made) noexcept:
    """Keep a new tuple for other lists. Returns the tuples that lists now share.

    A garbage collection while the tuple was made may have run any code, even free_shared_tuples().
    """
    cdef Shared shared = _shared_tuples(ints)
    cdef PyObject** place = _place(&shared, span)
    if place != shared.places and place[0] == NULL:
        Py_INCREF(made)
        place[0] = <PyObject*> made
    return shared


cdef size_t free_shared_tuples() noexcept:
    """Free the places, and each tuple that is in no list; return the size of the places. Requires: the GIL."""
    cdef Shared dropped = _shared
    cdef size_t i, n = 1 + SHARED_STARTS * SHARED_LENGTHS
    if not dropped.n_starts:
        return 0
    _shared.places, _shared.n_starts = &_no_place, 0
    for i in range(n):
        Py_XDECREF(dropped.places[i])
    free(dropped.places)
    return n * sizeof(PyObject*)
