"""Outputs of ids: an array that owns its memory, or a list of ints from a table of ints made once (int_table).

Lists are filled through their C struct: one allocation of the right size, and no reference counting per int.
"""

# Tried and dropped: writing items past the caches (non-temporal stores): slower.
# Tried and dropped: switching the garbage collector off while lists are filled: no gain over untracked lists.

cimport cython
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memmove

from fastbpe._core.common.free_threading cimport Lock, lock, unlock
from fastbpe._core.common.python cimport PyErr_Clear, PyObject
from fastbpe._core.ids.int_table cimport BLOCK_INTS, Ints, int_at, ints_so_far, kept_ints, count_lookups, make_block
from fastbpe._core.common.gil_yield cimport yield_gil_at
from fastbpe._core.common.memory cimport likely, use_huge_pages
from fastbpe._core.common.id_buffer cimport Ids

from time import sleep

cdef extern from *:
    """
    #define FASTBPE_LIST_ITEMS(list) (((PyListObject *)(list))->ob_item)
    #define FASTBPE_LIST_CAPACITY(list) ((size_t)((PyListObject *)(list))->allocated)
    #define FASTBPE_LIST_SIZE(list) ((size_t)Py_SIZE(list))

    #ifndef Py_GIL_DISABLED
    #define FASTBPE_LISTS_GROW 1
    static int fastbpe_set_items(PyObject *list, PyObject **items, size_t n) {
        if (items == NULL) return 0;
        FASTBPE_LIST_ITEMS(list) = items;
        ((PyListObject *)list)->allocated = (Py_ssize_t)n;
        return 1;
    }

    static int fastbpe_resize_list(PyObject *list, size_t n) {
        PyObject **items = FASTBPE_LIST_ITEMS(list);
        PyMem_Resize(items, PyObject *, n);
        return fastbpe_set_items(list, items, n);
    }

    static int fastbpe_grow_list(PyObject *list, size_t n) {
        size_t n_bytes = n * sizeof(PyObject *), n_had = FASTBPE_LIST_CAPACITY(list) * sizeof(PyObject *);
        PyObject **items;
        if (!fastbpe_copies(n_had, n_bytes)) {
            if (!fastbpe_resize_list(list, n)) return 0;
            fastbpe_use_huge_pages(FASTBPE_LIST_ITEMS(list), n_bytes);
            return 1;
        }
        items = PyMem_New(PyObject *, n);
        if (items == NULL) return 0;
        fastbpe_use_huge_pages(items, n_bytes);
        if (FASTBPE_LIST_SIZE(list))
            memcpy(items, FASTBPE_LIST_ITEMS(list), FASTBPE_LIST_SIZE(list) * sizeof(PyObject *));
        PyMem_Free(FASTBPE_LIST_ITEMS(list));
        return fastbpe_set_items(list, items, n);
    }
    #else /* free threading: the items' memory has a header, so only Python may replace it */
    #define FASTBPE_LISTS_GROW 0
    static int fastbpe_set_items(PyObject *list, PyObject **items, size_t n) { return 0; }
    static int fastbpe_resize_list(PyObject *list, size_t n) { return n <= FASTBPE_LIST_CAPACITY(list); }
    static int fastbpe_grow_list(PyObject *list, size_t n) { return fastbpe_resize_list(list, n); }
    #endif

    /* Make an empty list with capacity for n items. PyList_New clears the memory, which takes measurable time for
       a long list, so this function allocates that memory itself, without clearing it. Clearing a short list is
       better: that is done while prefetched lines of the piece cache arrive, and brings the memory into the
       processor's cache. */
    static PyObject *fastbpe_list_with_capacity(size_t n) {
        int is_cleared = n <= 64 || !FASTBPE_LISTS_GROW;
        PyObject *list = PyList_New(is_cleared ? (Py_ssize_t)n : 0);
        if (list == NULL) return NULL;
        Py_SET_SIZE(list, 0);
        if (is_cleared || fastbpe_set_items(list, PyMem_New(PyObject *, n), n)) return list;
        Py_DECREF(list);
        return PyErr_NoMemory();
    }
    """
    bint LISTS_GROW "FASTBPE_LISTS_GROW"
    list list_with_capacity "fastbpe_list_with_capacity"(size_t n)
    bint resize_list "fastbpe_resize_list"(PyObject* items, size_t n) noexcept
    bint grow_list "fastbpe_grow_list"(PyObject* items, size_t n) noexcept
    PyObject** list_items "FASTBPE_LIST_ITEMS"(PyObject* items) noexcept nogil
    size_t list_capacity "FASTBPE_LIST_CAPACITY"(PyObject* items) noexcept nogil
    size_t list_size "FASTBPE_LIST_SIZE"(PyObject* items) noexcept nogil
    PyObject* PyLong_FromUnsignedLong(unsigned long value) noexcept

cdef extern from "simd/fill.h" nogil:
    bint fill_ints "fb_fill_ints"(void** items, const uint32_t* ids, size_t n, const void* first, uint32_t n_row)

cdef enum:
    TURN_IDS = 1 << 15  # ids to make between two sleeps of lists_in_turns: less than a millisecond of work
    IDS_PER_LIST = 16  # cost of a list, in ids
    SHOWN_PER_TURN = 1 << 16  # lists to track between two sleeps
    PART_IDS = 1024  # ids written to a list together; if fill_ints() lacks the int of one, all are written again
    MAX_SPARES = 32  # dropped arrays of a kind to keep; encode_files with 15 threads has up to 32 at a time
    MIN_SPARE_BYTES = 1 << 18  # smallest array whose memory is kept; malloc reuses smaller ones well
    MAX_SPARE_BYTES = 1 << 25  # limit on the memory of all kept arrays of a kind

cdef double TURN_SLEEP = 1e-4  # seconds; a waiting thread takes about half of it to wake up

cdef struct Spare:
    # Memory of one dropped array, kept for the next one of similar size.
    void* items
    size_t capacity  # items
    size_t n_units  # length of the text whose ids the array had

cdef struct Spares:
    Spare[MAX_SPARES] items  # in the order in which the arrays were dropped
    size_t n
    size_t n_bytes  # memory of all items

cdef Spares[2] _spares  # for arrays of ids and of spans; protected by _spares_lock
cdef Lock _spares_lock


@cython.final
cdef class Array:
    """Integers in their own memory, exported by the buffer protocol: numpy wraps them without a copy."""

    def __dealloc__(self):
        if self._n_units and MIN_SPARE_BYTES <= self._capacity * self._item_size <= MAX_SPARE_BYTES:
            _keep_spare(
                &_spares[self._item_size == sizeof(int64_t)],
                Spare(self._items, self._capacity, self._n_units),
                <size_t> self._item_size,
            )
        else:
            free(self._items)

    def __len__(self):
        return self._n

    def __getbuffer__(self, Py_buffer* view, int flags):
        view.buf = self._items
        view.obj = self
        view.len = self._n * self._item_size
        view.itemsize = self._item_size
        view.readonly = 0
        view.ndim = 1
        view.format = <char*> self._format
        view.shape = &self._n
        view.strides = &self._item_size
        view.suboffsets = NULL
        view.internal = NULL


cdef size_t take_spare(Ids* ids, size_t n_units) noexcept:
    """Reuse the memory of a dropped array for ids of n_units units of text, if its text was 1 to 2 times as long.

    Its pages are already mapped, and page faults are a large part of the time of a call with several threads.

    Returns the length of that text, or 0: then ids is unchanged. Requires: the GIL; `ids` owns no memory.
    """
    cdef size_t capacity = 0, n_spare_units
    cdef void* items = _take_spare(&_spares[0], sizeof(uint32_t), n_units, &capacity, &n_spare_units)
    if items != NULL:
        ids[0] = Ids(<uint32_t*> items, 0, capacity)
    return n_spare_units


cdef int64_t* take_spare_int64s(size_t n_units, size_t* capacity) noexcept:
    """Do the work of take_spare() for arrays of spans_array(); NULL if no array fits."""
    cdef size_t n_spare_units
    return <int64_t*> _take_spare(&_spares[1], sizeof(int64_t), n_units, capacity, &n_spare_units)


cdef void _keep_spare(Spares* spares, Spare spare, size_t item_size) noexcept:
    """Keep the memory of a dropped array; free the oldest kept ones if that exceeds a limit.

    Requires: it takes at most MAX_SPARE_BYTES, so that it fits once all others are free.
    """
    lock(&_spares_lock)
    while spares.n == MAX_SPARES or spares.n_bytes + spare.capacity * item_size > MAX_SPARE_BYTES:
        free(_without(spares, 0, item_size).items)
    spares.items[spares.n] = spare
    spares.n += 1
    spares.n_bytes += spare.capacity * item_size
    unlock(&_spares_lock)


cdef void* _take_spare(
    Spares* spares, size_t item_size, size_t n_units, size_t* capacity, size_t* n_spare_units
) noexcept:
    """Do the work of take_spare() for items of any size. n_spare_units: receives its result."""
    cdef Spare taken = Spare(NULL, 0, 0)
    cdef size_t i
    lock(&_spares_lock)
    for i in range(spares.n, 0, -1):  # the newest first: the processor's caches may still hold it
        if n_units <= spares.items[i - 1].n_units <= 2 * n_units:
            taken = _without(spares, i - 1, item_size)
            break
    unlock(&_spares_lock)
    if taken.items != NULL:
        capacity[0] = taken.capacity
    n_spare_units[0] = taken.n_units
    return taken.items


cdef Spare _without(Spares* spares, size_t i, size_t item_size) noexcept:
    """Remove a spare and return it. Requires: _spares_lock is held."""
    cdef Spare removed = spares.items[i]
    spares.n -= 1
    spares.n_bytes -= removed.capacity * item_size
    memmove(&spares.items[i], &spares.items[i + 1], (spares.n - i) * sizeof(Spare))
    return removed


cdef size_t free_spare() noexcept:
    """Free the memory that is kept for the next arrays; return its size in bytes. Requires: the GIL."""
    return _free_spares(&_spares[0]) + _free_spares(&_spares[1])


cdef size_t _free_spares(Spares* spares) noexcept:
    cdef Spares freed
    cdef size_t i
    lock(&_spares_lock)
    freed = spares[0]
    spares.n = spares.n_bytes = 0
    unlock(&_spares_lock)
    for i in range(freed.n):
        free(freed.items[i].items)
    return freed.n_bytes


cdef Array ids_array(Ids* ids, size_t n_units=0):
    """Make a uint32 array from the memory of `ids`, which is empty afterwards.

    n_units: length of the text that has these ids, for take_spare(); 0: do not reuse the memory.
    """
    cdef Array array = _array_of(ids.items, ids.n, ids.capacity, n_units, sizeof(uint32_t), b"I")
    ids.items = NULL
    ids.n = ids.capacity = 0
    return array


cdef Array int64_array(size_t n):
    """Make an array of n zeros of 8 bytes."""
    cdef Array array = Array.__new__(Array)
    array._items = calloc(max(n, <size_t> 1), sizeof(int64_t))
    if array._items == NULL:
        raise MemoryError(f"no memory for {n} integers")
    array._n, array._item_size, array._format = n, sizeof(int64_t), b"q"
    return array


cdef Array int64_array_of(int64_t* items, size_t n, size_t capacity, size_t n_units):
    """Make an array of n integers from memory that malloc returned.

    capacity: integers that fit into the memory; 0: items is NULL.
    n_units: length of the text, for take_spare_int64s(); 0: do not reuse the memory.
    """
    return _array_of(items, n, capacity, n_units, sizeof(int64_t), b"q")


cdef Array _array_of(void* items, size_t n, size_t capacity, size_t n_units, size_t item_size, const char* format):
    """Do the work of int64_array_of() for items of any size. format: as in the module struct."""
    cdef Array array = Array.__new__(Array)
    cdef void* fitting
    array._items, array._capacity, array._n_units = items, capacity, n_units
    if not n_units or not capacity or capacity > n + n // 4:  # an array without items has an address, too
        # Keep an eighth more capacity, if the memory may be reused for a similar text.
        array._capacity = n + n // 8 if n_units else n
        fitting = realloc(items, max(array._capacity, <size_t> 1) * item_size)
        array._items = items if fitting == NULL else fitting  # failure to shrink is not an error
    array._n, array._item_size, array._format = n, item_size, format
    return array


cdef list ids_list(const uint32_t* ids, size_t n, tuple before=(), tuple behind=()):
    """Make a list of n ids, with other ids before and after them."""
    cdef list out = new_list(len(before) + n + len(behind))
    for item in before:
        add_item(out, item)
    add_ids(out, ids, n)
    for item in behind:
        add_item(out, item)
    return out


cdef int add_ids(list out, const uint32_t* ids, size_t n) except -1:
    """Append n ids to a list. Requires: its capacity is at least len(out) + n."""
    cdef Ints* ints = kept_ints()
    cdef PyObject** items = list_items(<PyObject*> out)
    cdef size_t size = <size_t> len(out), n_part
    while n:
        n_part = min(n, <size_t> PART_IDS)
        if not likely(fill_ints(<void**> items + size, ids, n_part, ints.first, ints.n_row)):
            _make_part(ints, out, ids, n_part)
        size += n_part
        set_size(<PyObject*> out, size)
        ids += n_part
        n -= n_part
    return 0


cdef int _make_part(Ints* ints, list out, const uint32_t* ids, size_t n) except -1:
    """Write n ids after the items of a list, whose size stays, and make the ints that do not exist yet."""
    cdef size_t size = <size_t> len(out), i
    cdef PyObject** items = list_items(<PyObject*> out) + size
    for i in range(n):
        if likely(ints.made[min(ids[i], ints.n) // BLOCK_INTS]):
            items[i] = int_at(ints.first, ids[i])
        elif ids[i] < ints.n:
            make_block(ints, ids[i] // BLOCK_INTS)
            items[i] = int_at(ints.first, ids[i])
        else:
            items[i] = PyLong_FromUnsignedLong(ids[i])
            if items[i] == NULL:
                set_size(<PyObject*> out, size + i)
                PyErr_Clear()
                raise MemoryError("no memory for the int of an id")
    count_lookups(ints, n)
    return 0


cdef void expect_items(list out, size_t n_more) noexcept:
    """Enlarge the capacity of a list to n_more items beyond its size. Does nothing if memory is short."""
    cdef size_t n = <size_t> len(out) + n_more
    if n > list_capacity(<PyObject*> out):
        grow_list(<PyObject*> out, n)


cdef int append_ids(list out, const uint32_t* ids, size_t n) except -1:
    """Append n ids to a list made by new_list(). Its capacity doubles, so appending takes linear time."""
    cdef size_t size = <size_t> len(out), capacity = list_capacity(<PyObject*> out), i
    if not LISTS_GROW:
        for i in range(n):
            out.append(ids[i])
        return 0
    if size + n > capacity:
        expect_items(out, max(n, 2 * capacity - size))
        if size + n > list_capacity(<PyObject*> out) and not grow_list(<PyObject*> out, size + n):
            raise MemoryError(f"no memory for a list of {size + n} ids")
    return add_ids(out, ids, n)


cdef bint move_ids(PyObject* out, Ids* ids) noexcept nogil:
    """Move ids to the end of a hidden list without the GIL, while the processor's caches hold them.

    Returns False if the list lacks capacity or an id is not below Ints.n_row; then `ids` keeps the ids that
    are left, and the caller must append them under the GIL. Taking the GIL for each group of ids might wait 5 ms
    each time.

    Requires: the list is hidden and no other thread uses it.
    """
    cdef const Ints* ints = ints_so_far()
    cdef size_t size = list_size(out), done = 0, n_part
    cdef bint has_capacity = size + ids.n <= list_capacity(out)
    while has_capacity and done < ids.n:
        n_part = min(ids.n - done, <size_t> PART_IDS)
        if not fill_ints(<void**> list_items(out) + size, ids.items + done, n_part, ints.first, ints.n_row):
            break
        size += n_part
        done += n_part
        set_size(out, size)
    ids.n -= done
    if ids.n:
        memmove(ids.items, ids.items + done, ids.n * sizeof(uint32_t))
    return ids.n == 0


cdef void fit_list(list out) noexcept:
    """Shrink a list whose capacity exceeds its size by more than an eighth."""
    cdef size_t n = <size_t> len(out)
    if list_capacity(<PyObject*> out) > n + n // 8:
        resize_list(<PyObject*> out, n)  # failure to shrink is not an error


cdef list new_list(size_t n):
    """Make an empty list with capacity for n items, for add_ids(), add_item(), add_span() or append_ids().

    They set the size only after the items, so the list is valid whenever Python code can see it; see also hide().
    """
    cdef list out = list_with_capacity(n)
    if n:
        use_huge_pages(list_items(<PyObject*> out), n * sizeof(PyObject*))
    return out


def lists_in_turns(Array ids not None, Array offsets not None):
    """Make the lists of several texts, and let other threads run in between.

    A waiting thread gets the GIL only if the GIL is free when that thread has woken up. So this function sleeps.

    Args:
        ids: uint32 of all texts, end to end.
        offsets: int64 – text i has ids[offsets[i]:offsets[i + 1]].
    """
    cdef const uint32_t* items = <const uint32_t*> ids._items
    cdef const int64_t* bounds = <const int64_t*> offsets._items
    cdef size_t i, at, n, n_made = 0, n_texts = <size_t> offsets._n - 1
    cdef list out = new_list(n_texts), ids_of_text
    hide(out)
    for i in range(n_texts):
        ids_of_text = new_list(<size_t> (bounds[i + 1] - bounds[i]))
        hide(ids_of_text)
        at = <size_t> bounds[i]
        while True:
            n = min(<size_t> bounds[i + 1] - at, <size_t> TURN_IDS)
            add_ids(ids_of_text, items + at, n)
            at += n
            n_made += n + IDS_PER_LIST
            if n_made >= TURN_IDS:
                sleep(TURN_SLEEP)
                n_made = 0
            if at == <size_t> bounds[i + 1]:
                break
        add_item(out, ids_of_text)  # hidden: a full collection would traverse all lists so far
    for i, ids_of_text in enumerate(out):
        show(ids_of_text)
        if i % SHOWN_PER_TURN == SHOWN_PER_TURN - 1:
            sleep(TURN_SLEEP)
    return show(out)


cdef int show_all(list lists) except -1:
    """Track a hidden list and the hidden lists in it again; see hide()."""
    cdef list inner
    cdef size_t i
    for i, inner in enumerate(lists):
        yield_gil_at(i)
        show(inner)
    show(lists)
    return 0
