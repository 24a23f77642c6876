"""Functions of CPython's C interface; a module that calls another one, or with other types, declares it itself.

Cython's own declarations, `cpython.*`, cover the whole interface. Cython would read them again for each module: 4
of the 47 seconds of the translation (processor time, Cython 3.3.1, AMD EPYC, 2026-11-29).
"""

cdef extern from "Python.h":
    ctypedef struct PyObject:
        pass

    # References
    void Py_INCREF(object o)
    void Py_XDECREF(PyObject* o)

    # Errors and signals
    void PyErr_Clear()
    int PyErr_CheckSignals() except -1

    # Strings
    bytes PyBytes_FromStringAndSize(char* v, Py_ssize_t n)
    Py_ssize_t PyBytes_GET_SIZE(object o)
    char* PyBytes_AS_STRING(object o)
    bytearray PyByteArray_FromStringAndSize(char* v, Py_ssize_t n)
    char* PyByteArray_AS_STRING(object o)
    Py_ssize_t PyUnicode_GET_LENGTH(object o)
    unsigned int PyUnicode_KIND(object o)
    void* PyUnicode_DATA(object o)
    object PyUnicode_FromObject(object o)
    str PyUnicode_DecodeUTF8(char* s, Py_ssize_t n, char* errors)
    const char* PyUnicode_AsUTF8AndSize(object o, Py_ssize_t* n) except NULL

    # Numbers
    long PyLong_AsLongAndOverflow(object o, int* overflow) except? -1
    long long PyLong_AsLongLong(object o) except? -1
    long long PyLong_AsLongLongAndOverflow(object o, int* overflow) except? -1

    # Sequences and dicts: borrowed references
    bint PySequence_Check(object o)
    PyObject** PySequence_Fast_ITEMS(object o)
    Py_ssize_t PySequence_Fast_GET_SIZE(object o)
    Py_ssize_t PyList_GET_SIZE(object o)
    PyObject* PyList_GET_ITEM(object o, Py_ssize_t i)
    void PyList_SET_ITEM(object o, Py_ssize_t i, object item)
    PyObject* PyDict_GetItem(object p, object key)

    # Buffers
    cdef enum:
        PyBUF_SIMPLE
        PyBUF_FORMAT
        PyBUF_STRIDES
    bint PyObject_CheckBuffer(object o)
    int PyObject_GetBuffer(object o, Py_buffer* view, int flags) except -1
    int PyBuffer_FillInfo(
        Py_buffer* view, object exporter, void* data, Py_ssize_t n, bint readonly, int flags
    ) except -1
    void PyBuffer_Release(Py_buffer* view)
