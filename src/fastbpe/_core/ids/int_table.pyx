"""Table of Python ints for ids and offsets: one array, made once for the whole process and never freed.

The int of an id is found by computing its address. It is not read, which would be a cache miss per id, and its
reference count is not touched: this makes lists four times as fast (docs/how/optimizations.md). Once many ids have
been returned, all ints below Ints.n_row exist, and these are not even checked.

These ints are never freed: from Python 3.12 on they are immortal, like CPython's small ints. Before 3.12, each
starts with 2**60 references. Filling a list adds none, and freeing it takes one away per item: too slowly ever to
reach 0. CPython does the same for the ints in its deep-frozen modules.

Memory: 32 bytes for each id that a tokenizer has returned and, when there are many, for the ids between them: 3.2 MB
for the 100,000 ids of cl100k. Offsets in a text use the table too. It has MAX_INTS ints, so it takes at most 32 MB.

If a Python's ints have another layout (digits of 15 bits) or other counts of references (free threading,
Py_TRACE_REFS), there is no table, and each id becomes a new int.
"""

# Tried and dropped: taking ints from a list, with reference counts: twice the time of computing their address.

from libc.stdint cimport uint8_t
from libc.stdlib cimport calloc, free, malloc

cdef extern from *:
    """
    #if PYLONG_BITS_IN_DIGIT == 30 && !defined(Py_GIL_DISABLED) && !defined(Py_TRACE_REFS)
    #define FASTBPE_KEEPS_INTS 1
    #if PY_VERSION_HEX >= 0x030C0000
    #define FASTBPE_DIGIT long_value.ob_digit[0]
    #else
    #define FASTBPE_DIGIT ob_digit[0]
    #endif

    static PyLongObject fastbpe_zero_int, fastbpe_model_int; /* templates: 0, which has no digit, and an int of one digit */

    static void fastbpe_copy_int(PyLongObject *to, PyObject *from, PyObject *small) {
        memset(to, 0, sizeof *to);
        memcpy(to, from, offsetof(PyLongObject, FASTBPE_DIGIT) + sizeof to->FASTBPE_DIGIT);
    #if PY_VERSION_HEX >= 0x030C0000
        memcpy(to, small, offsetof(PyObject, ob_type)); /* the reference count of an immortal int */
    #else
        to->ob_base.ob_base.ob_refcnt = (Py_ssize_t)1 << 60;
    #endif
    }

    static void fastbpe_model_ints(PyObject *zero, PyObject *model) {
        fastbpe_copy_int(&fastbpe_zero_int, zero, zero);
        fastbpe_copy_int(&fastbpe_model_int, model, zero);
    }

    static void fastbpe_make_ints(void *first, size_t from, size_t n) {
        PyLongObject *ints = (PyLongObject *)first;
        for (size_t i = from; i < from + n; i++) {
            ints[i] = i ? fastbpe_model_int : fastbpe_zero_int;
            ints[i].FASTBPE_DIGIT = (digit)i;
        }
    }
    #else
    #define FASTBPE_KEEPS_INTS 0
    static void fastbpe_model_ints(PyObject *zero, PyObject *model) { (void)zero, (void)model; }
    static void fastbpe_make_ints(void *first, size_t from, size_t n) { (void)first, (void)from, (void)n; }
    #endif
    """
    bint KEEPS_INTS "FASTBPE_KEEPS_INTS"
    void model_ints "fastbpe_model_ints"(object zero, object model)
    void make_ints "fastbpe_make_ints"(void* first, size_t start, size_t n) noexcept

cdef extern from "simd/fill.h" nogil:
    size_t FB_INT_BYTES

cdef enum:
    MAX_INTS = 1 << 20  # size of the table; larger ids, which few vocabularies have, become new ints each time
    UPDATE_ROW_IDS = 1 << 16  # look-ups in `made` after which n_row is updated

cdef uint8_t _never_made = 0  # `made` if there is no array
cdef Ints _ints = Ints(NULL, 0, &_never_made, 0, 0)


cdef Ints* kept_ints() except NULL:
    """Return the table; the first call allocates it. Requires: the GIL (a Python built without one has no array).

    The memory for all ints is reserved at once; the system provides pages as blocks are made.
    """
    cdef uint8_t* made
    if KEEPS_INTS and INT_BYTES == FB_INT_BYTES and not _ints.n:  # fill_ints() assumes this size
        made = <uint8_t*> calloc(MAX_INTS // BLOCK_INTS + 1, 1)
        _ints.first = malloc(MAX_INTS * INT_BYTES)
        if made == NULL or _ints.first == NULL:
            free(made)
            free(_ints.first)
            raise MemoryError(f"no memory for {MAX_INTS} ints of ids")
        model_ints(0, MAX_INTS)  # any int of one digit; small ints have other flags
        _ints.made, _ints.n = made, MAX_INTS
    return &_ints


cdef const Ints* ints_so_far() noexcept nogil:
    """Return the table, which has no ints (n = 0) before the first call of kept_ints()."""
    return &_ints


cdef void make_block(Ints* ints, size_t block) noexcept:
    """Make the ints of a block. Requires: the GIL, since each int is written twice and is invalid in between."""
    make_ints(ints.first, block * BLOCK_INTS, BLOCK_INTS)
    ints.made[block] = True


cdef void count_lookups(Ints* ints, size_t n) noexcept:
    """Count n look-ups in ints.made. After UPDATE_ROW_IDS of them, increase n_row, and make all ints below it.

    n_row becomes the end of the last made block up to which at least a quarter of the blocks have been made.
    Requires: the GIL.
    """
    cdef size_t block, n_made = 0, n_blocks = 0
    if not KEEPS_INTS:  # there may be no GIL: write nothing
        return
    ints.n_looked_up += n
    if ints.n_looked_up < UPDATE_ROW_IDS:
        return
    ints.n_looked_up = 0
    for block in range(ints.n // BLOCK_INTS):
        n_made += ints.made[block]
        if ints.made[block] and n_made * 4 > block:
            n_blocks = block + 1
    for block in range(n_blocks):
        if not ints.made[block]:
            make_block(ints, block)
    ints.n_row = <uint32_t> (n_blocks * BLOCK_INTS)
