"""Python ints for ids, in a row, made once for the whole process and never freed.

Handing out an id is then adding its place to an address: no int is looked up, and none is touched, which would be a
wait for memory for each id. Nor, once many were handed out, is it asked of each whether it is made. Nor are their
references counted when they are handed out. From Python 3.12 on they are immortal, as the ints up to 256 are; before,
each begins with 2**60 references, which only become fewer, too slowly ever to reach 0: CPython's own ints that are
compiled in (its deep-frozen modules) do the same. They never go away, as Python's own small ints do not: 32 bytes for
each id that was ever handed out, by all tokenizers together, and after many for those between them, 3.2 MB for the
100,000 of cl100k; and for each place in a text that was, up to a million of them.

Where Python's ints are not known to look like that (32 bits, free threading) there are none, and every id
becomes an int of its own.
"""

from libc.stdint cimport uint8_t
from libc.stdlib cimport calloc, free, malloc

cdef extern from *:
    """
    #if defined(CYTHON_COMPILING_IN_CPYTHON) && CYTHON_COMPILING_IN_CPYTHON && PYLONG_BITS_IN_DIGIT == 30 \\
        && SIZEOF_VOID_P == 8 && !defined(Py_GIL_DISABLED) && !defined(Py_TRACE_REFS)
    #define FASTBPE_KEEPS_INTS 1
    #if PY_VERSION_HEX >= 0x030C0000
    #define FASTBPE_DIGIT long_value.ob_digit[0]
    #else
    #define FASTBPE_DIGIT ob_digit[0]
    #endif

    static PyLongObject fastbpe_zero_int, fastbpe_model_int; /* 0, and any other of one digit */

    static void fastbpe_copy_int(PyLongObject *to, PyObject *from, PyObject *small) {
        memset(to, 0, sizeof *to);
        memcpy(to, from, offsetof(PyLongObject, FASTBPE_DIGIT) + sizeof to->FASTBPE_DIGIT);
    #if PY_VERSION_HEX >= 0x030C0000
        memcpy(to, small, offsetof(PyObject, ob_type)); /* its references: it is immortal */
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
    MAX_INTS = 1 << 20  # ids above, which few vocabularies have, are made anew each time
    MANY_LOOKED_UP = 1 << 16

cdef Ints _ints = Ints(NULL, 0, NULL, 0, 0)


cdef Ints* kept_ints() except NULL:
    """The ints of this process. Memory for all of them is asked for, and touched as they are made."""
    cdef uint8_t* made
    if _ints.made == NULL:
        made = <uint8_t*> calloc(MAX_INTS // BLOCK_INTS + 1, 1)
        if made == NULL:
            raise MemoryError("no memory for the ints of ids")
        if KEEPS_INTS and INT_BYTES == FB_INT_BYTES:
            _ints.first = malloc(MAX_INTS * INT_BYTES)
            if _ints.first == NULL:
                free(made)
                raise MemoryError(f"no memory for {MAX_INTS} ints of ids")
            model_ints(0, MAX_INTS)
            _ints.n = MAX_INTS
        _ints.made = made
    return &_ints


cdef const Ints* ints_so_far() noexcept nogil:
    """Those that were asked for; perhaps none."""
    return &_ints


cdef void make_block(Ints* ints, size_t block) noexcept:
    """Make the ints of a block. Under the GIL: they are written twice, and nobody may see them in between."""
    make_ints(ints.first, block * BLOCK_INTS, BLOCK_INTS)
    ints.made[block] = True


cdef void looked_up(Ints* ints, size_t n) noexcept:
    """Count ids that were looked up. After many, all up to where a quarter of the blocks is made have their ints."""
    cdef size_t block, n_made = 0, n_blocks = 0
    ints.n_looked_up += n
    if ints.n_looked_up < MANY_LOOKED_UP:
        return
    ints.n_looked_up = 0
    for block in range(ints.n // BLOCK_INTS):
        n_made += ints.made[block]
        if n_made * 4 > block:
            n_blocks = block + 1
    for block in range(n_blocks):
        if not ints.made[block]:
            make_block(ints, block)
    ints.n_row = <uint32_t> (n_blocks * BLOCK_INTS)
