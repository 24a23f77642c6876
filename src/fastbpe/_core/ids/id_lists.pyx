"""What ids are handed out as: an array in memory of its own, or a list of ints that are made once."""

cimport cython
from cpython.exc cimport PyErr_Clear
from cpython.object cimport PyObject
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport calloc, free, realloc
from libc.string cimport memmove

from fastbpe._core.ids.int_table cimport BLOCK_INTS, Ints, int_at, ints_so_far, kept_ints, looked_up, make_block
from fastbpe._core.common.memory cimport likely, use_huge_pages
from fastbpe._core.common.id_buffer cimport Ids

cdef extern from *:
    """
    #define FASTBPE_LIST_ITEMS(list) (((PyListObject *)(list))->ob_item)
    #define FASTBPE_LIST_ROOM(list) ((size_t)((PyListObject *)(list))->allocated)
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
        size_t n_bytes = n * sizeof(PyObject *), n_had = FASTBPE_LIST_ROOM(list) * sizeof(PyObject *);
        PyObject **items;
        if (!fastbpe_copies(n_had, n_bytes)) {
            if (!fastbpe_resize_list(list, n)) return 0;
            fastbpe_use_huge_pages(FASTBPE_LIST_ITEMS(list), n_bytes);
            return 1;
        }
        items = PyMem_New(PyObject *, n);
        if (items == NULL) return 0;
        fastbpe_use_huge_pages(items, n_bytes);
        memcpy(items, FASTBPE_LIST_ITEMS(list), FASTBPE_LIST_SIZE(list) * sizeof(PyObject *));
        PyMem_Free(FASTBPE_LIST_ITEMS(list));
        return fastbpe_set_items(list, items, n);
    }
    #else /* there, more than the items lies in their memory */
    #define FASTBPE_LISTS_GROW 0
    static int fastbpe_set_items(PyObject *list, PyObject **items, size_t n) { return 0; }
    static int fastbpe_resize_list(PyObject *list, size_t n) { return n <= FASTBPE_LIST_ROOM(list); }
    static int fastbpe_grow_list(PyObject *list, size_t n) { return fastbpe_resize_list(list, n); }
    #endif

    /* An empty list with room for n items. PyList_New clears them: of a long list, whose memory was used before, a
       twentieth of the time of the text. A short one is better cleared: it is made while lines of the piece cache are
       on their way, and touched then it need not be waited for later (100-byte strings: 395 ns each for 422). */
    static PyObject *fastbpe_list_with_room(size_t n) {
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
    list list_with_room "fastbpe_list_with_room"(size_t n)
    bint resize_list "fastbpe_resize_list"(PyObject* items, size_t n) noexcept
    bint grow_list "fastbpe_grow_list"(PyObject* items, size_t n) noexcept
    PyObject** list_items "FASTBPE_LIST_ITEMS"(PyObject* items) noexcept nogil
    size_t list_room "FASTBPE_LIST_ROOM"(PyObject* items) noexcept nogil
    size_t list_size "FASTBPE_LIST_SIZE"(PyObject* items) noexcept nogil
    PyObject* PyLong_FromUnsignedLong(unsigned long value) noexcept

cdef extern from "simd/fill.h" nogil:
    bint fill_ints "fb_fill_ints"(void** items, const uint32_t* ids, size_t n, const void* first, uint32_t n_row)

cdef enum:
    PART_IDS = 1024  # of a list
    LEAST_SPARE = 1 << 18  # ids; smaller blocks are malloc's own affair
    MAX_SPARE_BYTES = 1 << 23

cdef Ids _spare = Ids(NULL, 0, 0)  # the memory of an array that was dropped
cdef size_t _spare_units = 0  # of how many units of text it held the ids


@cython.final
cdef class Array:
    """Integers in memory of their own, exported by the buffer protocol: numpy wraps them in place."""

    def __dealloc__(self):
        global _spare, _spare_units
        cdef void* dropped = self._items
        # The last one's, unless that which is kept would have done for it as well.
        if LEAST_SPARE <= self._capacity <= MAX_SPARE_BYTES and not self._n_units <= _spare_units <= 2 * self._n_units:
            dropped = _spare.items
            _spare, _spare_units = Ids(<uint32_t*> self._items, 0, self._capacity), self._n_units
        free(dropped)

    def __len__(self):
        return self._n

    def __getbuffer__(self, Py_buffer* view, int flags):
        self._shape[0] = self._n
        self._strides[0] = self._item_size
        view.buf = self._items
        view.obj = self
        view.len = self._n * self._item_size
        view.itemsize = self._item_size
        view.readonly = 0
        view.ndim = 1
        view.format = <char*> self._format
        view.shape = self._shape
        view.strides = self._strides
        view.suboffsets = NULL
        view.internal = NULL


cdef size_t take_spare(Ids* ids, size_t n_units) noexcept:
    """Begin with the memory of an array that was dropped, if that held the ids of as much text: how much; or 0.

    Under the GIL. Its pages are there already: making fresh ones is a quarter of a warm call on two threads.
    """
    global _spare, _spare_units
    cdef size_t held = _spare_units
    if not n_units <= held <= 2 * n_units:
        return 0
    ids[0] = _spare
    _spare, _spare_units = Ids(NULL, 0, 0), 0
    return held


cdef size_t free_spare() noexcept:
    """Free the memory that is kept for the next array; how many bytes. Under the GIL."""
    global _spare, _spare_units
    cdef size_t n_bytes = _spare.capacity * sizeof(uint32_t)
    free(_spare.items)
    _spare, _spare_units = Ids(NULL, 0, 0), 0
    return n_bytes


cdef Array ids_array(Ids* ids, size_t n_units=0):
    """An array of uint32 that takes over the memory of ids, which are empty afterwards.

    n_units: of the text that they are of; 0: another text's ids are not put there when the array is dropped.
    """
    cdef Array array = Array.__new__(Array)
    cdef void* items
    array._items, array._capacity, array._n_units = ids.items, ids.capacity, n_units
    if not n_units or not ids.capacity or ids.capacity > ids.n + ids.n // 4:
        array._capacity = ids.n + ids.n // 8 if n_units else ids.n  # the next text may become a few more
        items = realloc(ids.items, max(array._capacity, <size_t> 1) * sizeof(uint32_t))
        array._items = ids.items if items == NULL else items  # shrinking in vain is no error
    array._n, array._item_size, array._format = ids.n, sizeof(uint32_t), b"I"
    ids.items = NULL
    ids.n = ids.capacity = 0
    return array


cdef Array int64_array(size_t n):
    """A new array of n zeros."""
    cdef Array array = Array.__new__(Array)
    array._items = calloc(max(n, <size_t> 1), sizeof(int64_t))
    if array._items == NULL:
        raise MemoryError(f"no memory for {n} integers")
    array._n, array._item_size, array._format = n, sizeof(int64_t), b"q"
    return array


cdef list ids_list(const uint32_t* ids, size_t n):
    cdef list out = new_list(n)
    add_ids(out, ids, n)
    return out


cdef int add_ids(list out, const uint32_t* ids, size_t n) except -1:
    """Append ids to a list that has room for them."""
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
    """Write ids behind a list's items, making the ints that are not there yet."""
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
    looked_up(ints, n)
    return 0


cdef void expect_items(list out, size_t n_more) noexcept:
    """Ask for room in a list for n_more items, at once; without memory for them there is none."""
    cdef size_t n = <size_t> len(out) + n_more
    if n > list_room(<PyObject*> out):
        grow_list(<PyObject*> out, n)


cdef int append_ids(list out, const uint32_t* ids, size_t n) except -1:
    """Append ids to a list of new_list, which grows: its room doubles, so that this is linear."""
    cdef size_t size = <size_t> len(out), room = list_room(<PyObject*> out), i
    if not LISTS_GROW:
        for i in range(n):
            out.append(ids[i])
        return 0
    if size + n > room:
        expect_items(out, max(n, 2 * room - size))
        if size + n > list_room(<PyObject*> out) and not grow_list(<PyObject*> out, size + n):
            raise MemoryError(f"no memory for a list of {size + n} ids")
    return add_ids(out, ids, n)


cdef bint move_ids(PyObject* out, Ids* ids) noexcept nogil:
    """Append ids to a list, while the processor's caches hold them, and without the GIL: False where that cannot be.

    Then some of the ids are left. To take the GIL for each group of them may be a wait of 5 ms each.
    """
    cdef const Ints* ints = ints_so_far()
    cdef size_t size = list_size(out), done = 0, n_part
    cdef bint has_room = size + ids.n <= list_room(out)
    while has_room and done < ids.n:
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
    """Give back most of the room that a list does not need."""
    cdef size_t n = <size_t> len(out)
    if list_room(<PyObject*> out) > n + n // 8:
        resize_list(<PyObject*> out, n)  # in vain is no error


cdef list new_list(size_t n):
    """An empty list with room for n items, to be added by add_ids, add_item or add_span; append_ids makes more room.

    Its size counts what is there, so that it is whole at any time; `hide` says when that is not enough.
    """
    cdef list out = list_with_room(n)
    if n:
        use_huge_pages(list_items(<PyObject*> out), n * sizeof(PyObject*))
    return out


cdef void show_all(list lists) noexcept:
    """Show a hidden list and the hidden lists in it."""
    cdef list one
    for one in lists:
        show(one)
    show(lists)
