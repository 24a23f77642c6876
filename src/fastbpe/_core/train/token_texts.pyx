"""Texts of ids, for learners that decide between equally frequent pairs by the texts of their tokens."""

cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy

from fastbpe._core.common.growing cimport reserve

cdef enum:
    HEAD_BYTES = 8
    FIRST_BYTES = 1 << 12
    FIRST_TEXTS = 1 << 9


@cython.final
cdef class TokenTexts:
    """Texts of ids, which put ids into the order of their texts.

    texts: iterable of bytes – the text of each id.
    prefix: bytes – what the right one of two texts loses when they are joined.
    """

    def __init__(self, texts, bytes prefix=b""):
        if self._ends != NULL:
            raise RuntimeError("TokenTexts are made once")
        reserve(<void**> &self._ends, &self._ends_capacity, 1, sizeof(size_t), FIRST_TEXTS)
        self._ends[0] = 0
        self._prefix = prefix  # which keeps its bytes
        self._prefix_bytes, self._n_prefix = prefix, len(prefix)
        cdef bytes text
        for text in texts:
            memcpy(self._place(len(text)), <const uint8_t*> text, len(text))
            self._append(len(text))

    def __dealloc__(self):
        free(self._bytes)
        free(self._ends)
        free(self.heads)

    cdef uint8_t* _place(self, size_t n_bytes) except NULL nogil:
        """Return the place behind the last text, with space for n_bytes."""
        cdef size_t start = self._ends[self.n]
        reserve(<void**> &self._bytes, &self._bytes_capacity, start + n_bytes + 1, 1, FIRST_BYTES)
        return self._bytes + start

    cdef int _append(self, size_t n_bytes) except -1 nogil:
        """Append the text that was written to the place behind the last one."""
        cdef size_t start = self._ends[self.n], i
        cdef uint64_t head = 0
        reserve(<void**> &self._ends, &self._ends_capacity, self.n + 2, sizeof(size_t), FIRST_TEXTS)
        reserve(<void**> &self.heads, &self._heads_capacity, self.n + 1, sizeof(uint64_t), FIRST_TEXTS)
        for i in range(HEAD_BYTES):
            head = (head << 8) | (self._bytes[start + i] if i < n_bytes else 0)
        self.heads[self.n] = head
        self.n += 1
        self._ends[self.n] = start + n_bytes
        return 0

    cdef int append_joined(self, uint32_t left, uint32_t right) except -1 nogil:
        """Append the text of the token that two others make."""
        cdef size_t n_left = self._ends[left + 1] - self._ends[left]
        cdef size_t n_right = self._ends[right + 1] - self._ends[right]
        cdef uint8_t* place = self._place(n_left + n_right)
        cdef const uint8_t* second = self._bytes + self._ends[right]
        cdef size_t n_prefix = self._n_prefix
        if n_right >= n_prefix and memcmp(second, self._prefix_bytes, n_prefix) == 0:
            second += n_prefix
            n_right -= n_prefix
        memcpy(place, self._bytes + self._ends[left], n_left)
        memcpy(place + n_left, second, n_right)
        return self._append(n_left + n_right)

    cdef int compare(self, uint32_t a, uint32_t b) noexcept nogil:
        """Compare the texts of two ids, as memcmp does."""
        cdef size_t n_a = self._ends[a + 1] - self._ends[a], n_b = self._ends[b + 1] - self._ends[b]
        cdef int order
        if self.heads[a] != self.heads[b]:
            return 1 if self.heads[a] > self.heads[b] else -1
        order = memcmp(self._bytes + self._ends[a], self._bytes + self._ends[b], min(n_a, n_b))
        return order if order else (n_a > n_b) - (n_a < n_b)
