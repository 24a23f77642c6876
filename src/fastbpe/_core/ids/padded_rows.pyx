"""Copy ids of texts into the rows of a padded matrix, and fill a mask of their positions."""

from libc.stdint cimport int64_t, uint32_t


def fill_rows(
    const uint32_t[::1] ids not None, const int64_t[::1] starts not None, const int64_t[::1] counts not None,
    const int64_t[::1] columns not None, int64_t[:, ::1] out not None
):
    """Copy ids[starts[i] : starts[i] + counts[i]] into row i of a matrix, starting at column columns[i].

    Raises:
        ValueError: a row reaches beyond the ids or the matrix, or the numbers of rows differ.
    """
    cdef Py_ssize_t i, k, n = out.shape[0]
    _check_rows(n, counts, columns, out.shape[1])
    if starts.shape[0] != n:
        raise ValueError(f"{starts.shape[0]} starts for {n} rows")
    for i in range(n):
        if starts[i] < 0 or starts[i] > ids.shape[0] - counts[i]:
            raise ValueError(f"row {i}: {counts[i]} ids from index {starts[i]} on are not within {ids.shape[0]} ids")
    with nogil:
        for i in range(n):
            for k in range(counts[i]):
                out[i, columns[i] + k] = ids[starts[i] + k]


def fill_mask(const int64_t[::1] counts not None, const int64_t[::1] columns not None, int64_t[:, ::1] out not None):
    """Write counts[i] ones into row i of a matrix, starting at column columns[i].

    Raises:
        ValueError: a row reaches beyond the matrix, or the numbers of rows differ.
    """
    cdef Py_ssize_t i, k, n = out.shape[0]
    _check_rows(n, counts, columns, out.shape[1])
    with nogil:
        for i in range(n):
            for k in range(counts[i]):
                out[i, columns[i] + k] = 1


cdef int _check_rows(
    Py_ssize_t n, const int64_t[::1] counts, const int64_t[::1] columns, Py_ssize_t width
) except -1:
    cdef Py_ssize_t i
    if counts.shape[0] != n or columns.shape[0] != n:
        raise ValueError(
            f"{n} rows, but {counts.shape[0]} counts and {columns.shape[0]} first columns: the three numbers must "
            "be equal"
        )
    for i in range(n):
        if counts[i] < 0 or columns[i] < 0 or columns[i] > width - counts[i]:
            raise ValueError(f"row {i}: {counts[i]} ids from column {columns[i]} on do not fit into {width} columns")
    return 0
