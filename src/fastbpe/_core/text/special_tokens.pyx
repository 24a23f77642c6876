"""Finding special tokens in text: the leftmost, and of those that start there the longest.

Added tokens of Hugging Face's files are found likewise, with conditions and white space that they take along.

A trie in one hash table of edges. A search costs at most the text's length times the longest special token's.
Where all begin with the same byte, memchr skips the text in between; else their first three bytes do, 32 places at
once (simd/prefixes.h). phi-2 has runs of spaces for tokens: English goes by at 8 GB/s, which with a look at each
byte was 0.3.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcpy, memset

from fastbpe._core.text.safe_cuts cimport text_cut
from fastbpe._core.common.hash_tables cimport NONE, mix, table_bits
from fastbpe._core.text.utf8_text cimport Text, Utf8, first_invalid, utf8_of, utf8_release
from fastbpe._core.common.utf8 cimport fb_char

import os

cdef enum:
    LSTRIP = 1
    RSTRIP = 2
    SINGLE_WORD = 4
    PASSED_OVER = 8

cdef extern from "simd/prefixes.h" nogil:
    void fb_prefixes_clear(fb_prefixes* p)
    void fb_prefixes_add(fb_prefixes* p, unsigned group, const uint8_t* word, size_t n)
    bint fb_may_begin(const fb_prefixes* p, const uint8_t* data, size_t n, size_t at)
    size_t fb_next_begin(const fb_prefixes* p, const uint8_t* data, size_t n, size_t at, bint has_vectors)
    bint fb_has_vectors()

cdef bint _has_vectors = fb_has_vectors() and os.environ.get("FASTBPE_SIMD") != "scalar"


def use_path(str path not None):
    """Choose the instruction set as FASTBPE_SIMD does at import; "": the best. For tests, while nothing encodes."""
    global _has_vectors
    _has_vectors = fb_has_vectors() and path != "scalar"


cdef extern from "simd/classes.h" nogil:
    unsigned FB_BLANKS
    unsigned fb_class_at(const uint8_t* p, size_t* n_bytes)
    bint FB_IS(unsigned cls, unsigned set)


@cython.final
cdef class SpecialMatcher:
    """A matcher for special tokens (their UTF-8) and their ids; no two are equal and none is empty.

    flags: of each token, a byte: 1, it takes the white space before it along; 2, the white space behind it; 4, no
    character of a word may touch it; 8, it is passed over, so that others that begin within it are not found.
    then: finds tokens in what this one leaves, once it is normalized.
    words: first and last of each range of characters of words, uint32; needed for the flag 4.
    """

    def __cinit__(
        self, list tokens not None, list ids not None, bytes flags=b"", SpecialMatcher then=None, bytes words=b""
    ):
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
        self.then = then
        self._keep_flags(flags, words)
        self.cuttable = self.cuttable and (then is None or then.cuttable)
        for index, token in enumerate(tokens):
            self._add(token, index)
            self._ids[index] = ids[index]
        for byte in range(256):
            self._roots[byte] = self._child(0, byte)
            if self._roots[byte] != NONE:
                self._n_starts += 1
                self._only_start = byte
        self._keep_prefixes()

    def __dealloc__(self):
        free(self._edges)
        free(self._children)
        free(self._ends_here)
        free(self._ids)
        free(self._flags)
        free(self._words)

    cdef int _keep_flags(self, bytes flags, bytes words) except -1:
        cdef size_t n = len(flags)
        # What looks at its neighbours must see them.
        self.cuttable = not any([flag & SINGLE_WORD for flag in flags])
        if not any(flags):
            return 0
        if n != <size_t> len(self.tokens):
            raise ValueError(f"{n} flags for {len(self.tokens)} tokens")
        self._n_words = <size_t> len(words) // 8
        self._flags = <uint8_t*> malloc(n)
        self._words = <uint32_t*> malloc(8 * self._n_words + 8)
        if self._flags == NULL or self._words == NULL:
            raise MemoryError(f"no memory for the flags of {n} tokens")
        memcpy(self._flags, PyBytes_AS_STRING(flags), n)
        memcpy(self._words, PyBytes_AS_STRING(words), 8 * self._n_words)
        return 0

    cdef int _keep_prefixes(self) except -1:
        """Beginnings in order, so that those of a group are alike."""
        cdef list beginnings = sorted({token[:3] for token in self.tokens})
        cdef Py_ssize_t i, n = len(beginnings)
        cdef bytes word
        fb_prefixes_clear(&self._prefixes)
        for i in range(n):
            word = beginnings[i]
            fb_prefixes_add(
                &self._prefixes, <unsigned> (8 * i // n), <const uint8_t*> PyBytes_AS_STRING(word), <size_t> len(word)
            )
        return 0

    cdef int _add(self, bytes token, uint32_t index) except -1:
        cdef const uint8_t* p = <const uint8_t*> PyBytes_AS_STRING(token)
        cdef Text text = Text(p, len(token), 1, True, NULL)
        self.cuttable = self.cuttable and first_invalid(p, text.n) == text.n and text_cut(&text, 0, 0) == text.n
        cdef uint8_t last = p[text.n - 1]
        cdef bint is_letter = last > 0x7F or <uint8_t> ((last | 0x20) - 0x61) < 26
        self.ends_in_letter |= is_letter
        if self._flags != NULL and self._flags[index] & RSTRIP and (is_letter or 0x30 <= last <= 0x39):
            self.cuttable = False  # a cut may lie between it and the white space that it takes along
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
            else:
                at = fb_next_begin(&self._prefixes, data, n, at, _has_vectors)
                if at == n:
                    return False
            if fb_may_begin(&self._prefixes, data, n, at) and self.find_here(data, n, at, match):
                return True
            at += 1
        return False

    cdef bint next(self, const uint8_t* data, size_t n, Match* match) noexcept nogil:
        """The next token that is to be found; match as the call before left it, all 0 at first.

        What it takes along goes into match.start and match.end, and the search goes on at match.resume, as in
        tokenizers: a match may begin before the end of the one before.
        """
        cdef size_t floor = match.end, at = match.resume
        cdef uint8_t flags
        while self.find(data, n, at, match):
            match.resume = at = match.end
            if self._flags == NULL:
                return True
            flags = self._flags[match.index]
            if flags & PASSED_OVER or flags & SINGLE_WORD and self._is_within_word(data, n, match):
                continue
            if flags & LSTRIP:
                match.start = max(_blanks_begin(data, match.start), floor)
            if flags & RSTRIP:
                match.end = _blanks_end(data, n, match.end)
            if match.start < match.end:  # else it stands in what the one before has taken along
                return True
        return False

    cdef bint _is_within_word(self, const uint8_t* data, size_t n, const Match* match) noexcept nogil:
        cdef size_t before = match.start, n_bytes
        if match.end < n and self._is_of_word(fb_char(data + match.end, &n_bytes)):
            return True
        if not before:
            return False
        before -= 1
        while data[before] & 0xC0 == 0x80:
            before -= 1
        return self._is_of_word(fb_char(data + before, &n_bytes))

    cdef bint _is_of_word(self, uint32_t character) noexcept nogil:
        cdef size_t low = 0, high = self._n_words, middle
        while low < high:
            middle = (low + high) // 2
            if self._words[2 * middle + 1] < character:
                low = middle + 1
            else:
                high = middle
        return low < self._n_words and self._words[2 * low] <= character

    cdef bint find_here(self, const uint8_t* data, size_t n, size_t at, Match* match) noexcept nogil:
        """The longest special token that begins at data[at]; False if none does."""
        cdef uint32_t node = self._roots[data[at]] if at < n else NONE
        match.start = at
        match.index = NONE
        while node != NONE:
            at += 1
            if self._ends_here[node] != NONE:
                match.index = self._ends_here[node]
                match.end = at
            node = self._child(node, data[at]) if at < n else NONE
        if match.index == NONE:
            return False
        match.id = self._ids[match.index]
        return True

    def find_all(self, text):
        """(start, end, id) of every token that is to be found, in bytes of the text's UTF-8, one behind the other."""
        cdef Utf8 view
        cdef Match match
        cdef list out = []
        match.end = match.resume = 0
        utf8_of(text, &view)
        try:
            while self.next(view.data, view.n, &match):
                out.append((match.start, match.end, match.id))
            return out
        finally:
            utf8_release(&view)

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


cdef size_t _blanks_begin(const uint8_t* data, size_t at) noexcept nogil:
    """Where the white space that ends at `at` begins."""
    cdef size_t before, n_bytes
    while at:
        before = at - 1
        while data[before] & 0xC0 == 0x80:
            before -= 1
        if not FB_IS(fb_class_at(data + before, &n_bytes), FB_BLANKS):
            break
        at = before
    return at


cdef size_t _blanks_end(const uint8_t* data, size_t n, size_t at) noexcept nogil:
    """Where the white space that begins at `at` ends."""
    cdef size_t n_bytes
    while at < n and FB_IS(fb_class_at(data + at, &n_bytes), FB_BLANKS):
        at += n_bytes
    return at
