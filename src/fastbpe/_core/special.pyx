"""Finding special tokens in text: the leftmost, and of those that start there the longest.

A trie in one hash table of edges. A search costs at most the text's length times the longest special token's;
text without a first byte of one is skipped by memchr or one look per byte.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memset

from fastbpe._core.cuts cimport text_cut
from fastbpe._core.tables cimport NONE, mix, table_bits
from fastbpe._core.text cimport Text, Utf8, first_invalid, utf8_of, utf8_release


@cython.final
cdef class SpecialMatcher:
    """A matcher for special tokens (their UTF-8) and their ids; no two are equal and none is empty."""

    def __cinit__(self, list tokens not None, list ids not None):
        cdef size_t n_bytes = sum([len(token) for token in tokens])
        cdef int bits = table_bits(n_bytes + 1)
        self._mask = (<size_t> 1 << bits) - 1
        self._edges = <uint64_t*> malloc((self._mask + 1) * sizeof(uint64_t))
        self._children = <uint32_t*> malloc((self._mask + 1) * sizeof(uint32_t))
        self._ends_here = <uint32_t*> malloc((n_bytes + 1) * sizeof(uint32_t))
        self._ids = <uint32_t*> malloc((len(tokens) + 1) * sizeof(uint32_t))
        if self._edges == NULL or self._children == NULL or self._ends_here == NULL or self._ids == NULL:
            raise MemoryError(f"no memory for {len(tokens)} special tokens")
        memset(self._edges, 0xFF, (self._mask + 1) * sizeof(uint64_t))
        memset(self._ends_here, 0xFF, (n_bytes + 1) * sizeof(uint32_t))
        self._n_nodes = 1
        self.tokens = tokens
        self.cuttable = True
        for index, token in enumerate(tokens):
            self._add(token, index)
            self._ids[index] = ids[index]
        for byte in range(256):
            self._starts[byte] = self._child(0, byte) != NONE
            if self._starts[byte]:
                self._n_starts += 1
                self._only_start = byte

    def __dealloc__(self):
        free(self._edges)
        free(self._children)
        free(self._ends_here)
        free(self._ids)

    cdef int _add(self, bytes token, uint32_t index) except -1:
        cdef const uint8_t* p = <const uint8_t*> PyBytes_AS_STRING(token)
        cdef Text text = Text(p, len(token), 1, True, NULL)
        self.cuttable = self.cuttable and first_invalid(p, text.n) == text.n and text_cut(&text, 0, 0) == text.n
        self.ends_in_letter |= p[text.n - 1] > 0x7F or <uint8_t> ((p[text.n - 1] | 0x20) - 0x61) < 26
        cdef uint32_t node = 0, child
        cdef size_t i, at
        for i in range(<size_t> PyBytes_GET_SIZE(token)):
            child = self._child(node, p[i])
            if child == NONE:
                at = <size_t> mix((<uint64_t> node << 8) | p[i]) & self._mask
                while self._edges[at] != <uint64_t> -1:
                    at = (at + 1) & self._mask
                child = self._n_nodes
                self._n_nodes += 1
                self._edges[at] = (<uint64_t> node << 8) | p[i]
                self._children[at] = child
            node = child
        self._ends_here[node] = index
        return 0

    cdef uint32_t _child(self, uint32_t node, uint8_t byte) noexcept nogil:
        cdef uint64_t edge = (<uint64_t> node << 8) | byte
        cdef size_t at = <size_t> mix(edge) & self._mask
        while self._edges[at] != <uint64_t> -1:
            if self._edges[at] == edge:
                return self._children[at]
            at = (at + 1) & self._mask
        return NONE

    cdef bint find(self, const uint8_t* data, size_t n, size_t at, Match* match) noexcept nogil:
        """The first special token in data[at:n]; False if there is none."""
        cdef const uint8_t* hit
        while at < n and self._n_starts:
            if self._n_starts == 1:
                hit = <const uint8_t*> memchr(data + at, self._only_start, n - at)
                if hit == NULL:
                    return False
                at = hit - data
            elif not self._starts[data[at]]:
                at += 1
                continue
            if self.find_here(data, n, at, match):
                return True
            at += 1
        return False

    cdef bint find_here(self, const uint8_t* data, size_t n, size_t at, Match* match) noexcept nogil:
        """The longest special token that begins at data[at]; False if none does."""
        cdef uint32_t node = 0
        match.start = at
        match.index = NONE
        while at < n:
            node = self._child(node, data[at])
            if node == NONE:
                break
            at += 1
            if self._ends_here[node] != NONE:
                match.index = self._ends_here[node]
                match.end = at
        if match.index == NONE:
            return False
        match.id = self._ids[match.index]
        return True

    def search(self, text):
        """(start, end, id) of the first special token, in bytes of the text's UTF-8, or None."""
        cdef Utf8 view
        cdef Match match
        utf8_of(text, &view)
        try:
            if self.find(view.data, view.n, 0, &match):
                return match.start, match.end, match.id
            return None
        finally:
            utf8_release(&view)
