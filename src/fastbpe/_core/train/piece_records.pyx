"""Write piece tables as bytes and read them back.

There are two forms. Spilled tables are stored as records (a piece with its count and position), and summed up from
these. Counts are saved as columns (all pieces, all lengths, all counts).
"""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcpy, memset

from fastbpe._core.common.atomics cimport clear_flag
from fastbpe._core.common.hashing cimport hash_bytes
from fastbpe._core.common.python cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from fastbpe._core.train.merge_learner cimport allocated
from fastbpe._core.train.piece_table cimport GROUP_PIECES, PieceCount, PieceTable

cdef enum:
    RECORD_HEAD_BYTES = 20  # bytes of a record before its piece: n_bytes (uint32), count (int64), first (uint64)


def write_parts(PieceTable table not None, int bits, uint64_t seed, write, *, uint64_t place=0):
    """Write all pieces as records, divided into 2**bits parts by the first bits of a hash.

    bits: int – 1 to 32.
    place: int – added to the position at which each piece first occurred.
    seed: int – seed of the hash; with the same seed, a piece is in the same part of every table.
    write: callable – write(part, records) is called once for each part that has pieces.
    """
    cdef size_t i
    cdef uint32_t shift = 64 - bits
    if not 1 <= bits <= 32:
        raise ValueError(f"bits={bits}: must be 1 to 32")
    cdef uint32_t* part = <uint32_t*> allocated(table.n_pieces, sizeof(uint32_t))
    table.settle_counts()
    try:
        with nogil:
            for i in range(table.n_pieces):
                part[i] = <uint32_t> (_hash(table, i, seed) >> shift)
        _write_grouped(table, part, <size_t> 1 << bits, place, write)
    finally:
        free(part)


def write_by_position(PieceTable table not None, uint64_t width, uint32_t n_parts, write, *, int64_t min_count=1):
    """Write the frequent pieces as records, divided into parts by the position at which they first occur.

    width: int – number of positions in a part; the last part has the rest.
    n_parts: int – number of parts.
    write: callable – write(part, records) is called once for each part that has pieces, in ascending order.
    min_count: int – leave out pieces with a lower count.

    Returns (number of pieces left out, sum of their counts).
    """
    cdef size_t i, n_rare = 0
    cdef int64_t n_times = 0
    cdef uint32_t* part = <uint32_t*> allocated(table.n_pieces, sizeof(uint32_t))
    table.settle_counts()
    try:
        with nogil:
            for i in range(table.n_pieces):
                if table.pieces[i].count < min_count:
                    part[i] = n_parts  # do not write it
                    n_rare += 1
                    n_times += table.pieces[i].count
                else:
                    part[i] = <uint32_t> min(table.pieces[i].first // width, <uint64_t> n_parts - 1)
        _write_grouped(table, part, n_parts, 0, write)
        return n_rare, n_times
    finally:
        free(part)


cdef int _write_grouped(PieceTable table, const uint32_t* part, size_t n_parts, uint64_t place, write) except -1:
    """Write the pieces of each part as records: a counting sort by part, then one call of write per part.

    part: for each piece the number of its part; a piece with the number n_parts is not written.
    place: added to the positions of pieces.
    """
    cdef size_t i, at = 0, size
    cdef uint64_t first
    cdef PieceCount* piece
    cdef uint8_t* to
    cdef uint32_t* order = <uint32_t*> allocated(table.n_pieces, sizeof(uint32_t))
    cdef size_t* ends = NULL
    try:
        ends = <size_t*> allocated(n_parts + 1, sizeof(size_t))
        memset(ends, 0, (n_parts + 1) * sizeof(size_t))
        with nogil:
            for i in range(table.n_pieces):
                ends[part[i]] += 1
            # Each count becomes the start of its part, which moves to the end as pieces are placed.
            for i in range(n_parts + 1):
                at += ends[i]
                ends[i] = at - ends[i]
            for i in range(table.n_pieces):
                order[ends[part[i]]] = <uint32_t> i
                ends[part[i]] += 1
        at = 0
        for number in range(n_parts):
            size = 0
            for i in range(at, ends[number]):
                size += RECORD_HEAD_BYTES + table.pieces[order[i]].n_bytes
            if not size:
                continue
            records = PyBytes_FromStringAndSize(NULL, size)
            to = <uint8_t*> PyBytes_AS_STRING(records)
            for i in range(at, ends[number]):
                piece = &table.pieces[order[i]]
                memcpy(to, &piece.n_bytes, 4)
                memcpy(to + 4, &piece.count, 8)
                first = piece.first + place
                memcpy(to + 12, &first, 8)
                memcpy(to + RECORD_HEAD_BYTES, table.arena + piece.start, piece.n_bytes)
                to += RECORD_HEAD_BYTES + piece.n_bytes
            at = ends[number]
            write(number, records)
        return 0
    finally:
        free(order)
        free(ends)


def add_records(PieceTable table not None, const uint8_t[::1] data not None, *, uint64_t place=0):
    """Add the pieces of all complete records in data and return the number of bytes read.

    place: int – added to the position at which each piece first occurred.
    """
    cdef size_t at = 0, n = data.shape[0]
    cdef uint32_t n_bytes
    cdef int64_t count
    cdef uint64_t first
    while n - at >= RECORD_HEAD_BYTES:
        memcpy(&n_bytes, &data[at], 4)
        if n - at - RECORD_HEAD_BYTES < n_bytes:
            break
        memcpy(&count, &data[at + 4], 8)
        memcpy(&first, &data[at + 12], 8)
        table.reserve_group()
        table.add_counted(&data[at] + RECORD_HEAD_BYTES, n_bytes, first + place, count)
        at += RECORD_HEAD_BYTES + n_bytes
    return at


def tables_of(PieceTable table not None):
    """Return three bytes objects: all pieces end to end, their lengths (uint32) and their counts (int64)."""
    cdef size_t i
    cdef PieceCount* piece
    table.settle()
    pieces = PyBytes_FromStringAndSize(NULL, table.n_arena)
    lengths = PyBytes_FromStringAndSize(NULL, table.n_pieces * 4)
    counts = PyBytes_FromStringAndSize(NULL, table.n_pieces * 8)
    cdef uint8_t* to = <uint8_t*> PyBytes_AS_STRING(pieces)
    cdef uint32_t* length = <uint32_t*> PyBytes_AS_STRING(lengths)
    cdef int64_t* count = <int64_t*> PyBytes_AS_STRING(counts)
    for i in range(table.n_pieces):
        piece = &table.pieces[i]
        memcpy(to, table.arena + piece.start, piece.n_bytes)
        to += piece.n_bytes
        length[i], count[i] = piece.n_bytes, piece.count
    return pieces, lengths, counts


def add_columns(
    PieceTable table not None, const uint8_t[::1] pieces not None, lengths not None, counts not None, uint64_t first
):
    """Add rows of a file of counts to a table, which may already have the pieces and may spill.

    pieces: bytes that begin with the pieces of the rows; other bytes may follow.
    lengths, counts: bytes – a uint32 and an int64 per row.
    first: int – position of the first row among the rows of all files.

    Returns the number of bytes of the rows' pieces. Raises ValueError for a row that cannot be in a file of
    counts.
    """
    cdef const uint8_t[::1] length_bytes = lengths, count_bytes = counts
    cdef size_t n = pieces.shape[0], n_rows = length_bytes.shape[0] // 4, at = 0, i
    cdef uint32_t length = 0
    cdef int64_t count = 0
    table._enter()
    try:
        with nogil:
            for i in range(n_rows):
                memcpy(&length, &length_bytes[4 * i], 4)
                memcpy(&count, &count_bytes[8 * i], 8)
                if count < 1 or not length or length > n - at:
                    with gil:
                        raise ValueError(
                            f"a piece has the count {count} and {length} bytes: both must be at least 1, and the "
                            f"file has {n - at} more bytes of pieces"
                        )
                if i % GROUP_PIECES == 0:
                    table.reserve_group()
                table.add_counted(&pieces[at], length, first + i, count)
                at += length
    finally:
        clear_flag(&table._busy)
    return at


cdef inline uint64_t _hash(PieceTable table, size_t i, uint64_t seed) noexcept nogil:
    """Hash piece i of a table."""
    return hash_bytes(table.arena + table.pieces[i].start, table.pieces[i].n_bytes, seed)
