"""Search for special and added tokens in text: the leftmost match, and the longest of those that begin there.

Added tokens of Hugging Face's files also have conditions, and may include adjacent white space; see
SpecialMatcher.

A trie (its edges in one open-addressing hash table) finds the tokens that begin at an offset. A search takes at
most as many steps as the text's length times the longest token's length. Most text is skipped without a look-up in
the trie: if all tokens begin with the same byte, by memchr; otherwise simd/prefixes.h tests the first three bytes
(with AVX2, at 32 offsets together). This matters for vocabularies such as phi-2, whose added tokens are runs of
spaces.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memchr, memcpy, memset

from fastbpe._core.common.hashing cimport mix, table_bits
from fastbpe._core.common.python cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from fastbpe._core.text.safe_cuts cimport safe_cut_near
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.text.utf8_text cimport Text, Utf8, first_invalid, utf8_of, utf8_release
from fastbpe._core.common.utf8 cimport fb_char_bytes, fb_char_within

import os

cdef enum:
    # Flags of a token, named as in tokenizer.json.
    LSTRIP = 1  # the match includes the white space before it
    RSTRIP = 2  # the match includes the white space after it
    SINGLE_WORD = 4  # no match next to a word character
    PASSED_OVER = 8  # no match, and only tokens with FOUND_INSIDE that begin inside it match
    PYTHON_BLANKS = 16  # U+001C to U+001F are white space, too, as in Python
    FOUND_INSIDE = 32  # also found inside a token that is passed over

cdef extern from "simd/prefixes.h" nogil:
    void fb_prefixes_clear(fb_prefixes* p)
    void fb_prefixes_add(fb_prefixes* p, unsigned group, const uint8_t* word, size_t n)
    bint fb_may_begin(const fb_prefixes* p, const uint8_t* data, size_t n, size_t at)
    size_t fb_next_begin(const fb_prefixes* p, const uint8_t* data, size_t n, size_t at, bint has_vectors)
    bint fb_has_vectors()

cdef bint _has_vectors = fb_has_vectors() and os.environ.get("FASTBPE_SIMD") != "scalar"


def use_path(str path not None):
    """Choose the instruction set, as FASTBPE_SIMD does at import; "" chooses the best.

    For tests, while nothing encodes.
    """
    global _has_vectors
    _has_vectors = fb_has_vectors() and path != "scalar"


cdef extern from "simd/classes.h" nogil:
    unsigned FB_BLANKS
    unsigned fb_class_at(const uint8_t* p, size_t* n_bytes)
    bint FB_IS(unsigned cls, unsigned set)


@cython.final
cdef class SpecialMatcher:
    """Matcher of special or added tokens: the leftmost match first, and the longest of those that begin there.

    tokens: UTF-8 of each; all different, not empty.
    ids: the id of each.
    flags: a byte for each token, the sum of 1 (includes the white space before it), 2 (includes the white space
        after it), 4 (found only if no word character is next to it), 8 (passed over: neither the token nor tokens
        that begin inside it are found, except tokens with 32), 16 (U+001C to U+001F are white space), 32 (found
        also inside a token that is passed over); empty: no token has flags.
    then: matcher of the tokens to find in the rest of the text after it is normalized; None: no such tokens.
    words: pairs of uint32 in native byte order, first and last code point of each range of word characters,
        ascending; needed for flag 4.
    """

    def __cinit__(
        self, list tokens not None, list ids not None, bytes flags=b"", SpecialMatcher then=None, bytes words=b""
    ):
        cdef size_t n_bytes = sum([len(token) for token in tokens])
        self.every = "tokenizer.special_tokens.keys()"
        cdef int bits = table_bits(n_bytes)  # each byte adds at most one edge
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
        """Copy flags and words; set `cuttable` to what the flags allow."""
        cdef size_t n = len(flags)
        # A match of a token with SINGLE_WORD depends on the characters next to it.
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
        """Fill _prefixes. It has eight groups; prefixes are sorted, so that the prefixes of a group are alike."""
        cdef list prefixes = sorted({token[:3] for token in self.tokens})
        cdef Py_ssize_t i, n = len(prefixes)
        cdef bytes prefix
        fb_prefixes_clear(&self._prefixes)
        for i in range(n):
            prefix = prefixes[i]
            fb_prefixes_add(
                &self._prefixes,
                <unsigned> (8 * i // n),
                <const uint8_t*> PyBytes_AS_STRING(prefix),
                <size_t> len(prefix),
            )
        return 0

    cdef int _add(self, bytes token, uint32_t index) except -1:
        """Add a token to the trie, and clear `cuttable` if a safe cut might change its matches."""
        cdef const uint8_t* p = <const uint8_t*> PyBytes_AS_STRING(token)
        cdef Text text = Text(p, len(token), 1, True, NULL)
        # A token that is not UTF-8 may contain a cut, too, but safe_cut_near() could not read it.
        if first_invalid(p, text.n) < text.n or safe_cut_near(&text, 0, 0) < text.n:
            self.cuttable = False
        cdef uint8_t last_byte = p[text.n - 1]
        cdef bint is_word = last_byte > 0x7F or <uint8_t> ((last_byte | 0x20) - 0x61) < 26 or 0x30 <= last_byte <= 0x39
        self.ends_in_word |= is_word
        if self._flags != NULL and self._flags[index] & RSTRIP and is_word:
            self.cuttable = False  # a cut may separate the token from its white space
        cdef uint32_t node = 0, child
        cdef size_t i, slot
        for i in range(<size_t> PyBytes_GET_SIZE(token)):
            child = self._child(node, p[i])
            if child == NONE:
                slot = <size_t> mix((<uint64_t> node << 8) | p[i]) & self._mask
                while self._edges[slot] != <uint64_t> -1:
                    slot = (slot + 1) & self._mask
                child = self._n_nodes
                self._n_nodes += 1
                self._edges[slot] = (<uint64_t> node << 8) | p[i]
                self._children[slot] = child
            node = child
        self._ends_here[node] = index
        return 0

    cdef uint32_t _child(self, uint32_t node, uint8_t byte) noexcept nogil:
        """Return the child of a node for a byte, or NONE."""
        cdef uint64_t edge = (<uint64_t> node << 8) | byte
        cdef size_t slot = <size_t> mix(edge) & self._mask
        while self._edges[slot] != <uint64_t> -1:
            if self._edges[slot] == edge:
                return self._children[slot]
            slot = (slot + 1) & self._mask
        return NONE

    cdef bint find(self, const uint8_t* data, size_t n, size_t at, Match* match) noexcept nogil:
        """Find the first token in data[at:n], whatever its flags. Returns False if no token is found.

        Ensures: on True, start, end, index and id of match are set; resume does not change.
        """
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
        """Find the next token by the rules of its flags. Returns False if no token is found.

        match: as the previous call left it; for the first call, with end and resume 0.

        Ensures: on True, match.start and match.end include the white space that belongs to the match. As in
        tokenizers, the search resumes after the token itself (match.resume): the next token may begin in that
        white space.
        """
        cdef size_t floor = match.end, at = match.resume
        cdef uint8_t flags
        while self.find(data, n, at, match):
            match.resume = at = match.end
            if self._flags == NULL:
                return True
            flags = self._flags[match.index]
            if flags & PASSED_OVER:
                if not self._find_inside(data, n, match):
                    continue
                match.resume = at = match.end
                flags = self._flags[match.index]
            elif flags & SINGLE_WORD and self._is_within_word(data, n, match):
                continue
            if flags & LSTRIP:
                match.start = _blanks_begin(data, floor, max(match.start, floor), flags & PYTHON_BLANKS)
            if flags & RSTRIP:  # up to `floor` all is white space: the previous match includes it
                match.end = _blanks_end(data, n, max(match.end, floor), flags & PYTHON_BLANKS)
            if match.start < match.end:  # otherwise the previous match includes all of it
                return True
        return False

    cdef bint _find_inside(self, const uint8_t* data, size_t n, Match* match) noexcept nogil:
        """Find the first token with FOUND_INSIDE that begins inside a match; of several there, the longest.

        Ensures: on True, start, end, index and id of match are set; resume does not change.
        """
        cdef size_t start = match.start, end = match.end, at
        cdef uint32_t node, index
        while start < end:
            at, node, match.index = start, self._roots[data[start]], NONE
            while node != NONE:
                at += 1
                index = self._ends_here[node]
                if index != NONE and self._flags[index] & FOUND_INSIDE:
                    match.start, match.end, match.index = start, at, index
                node = self._child(node, data[at]) if at < n else NONE
            if match.index == NONE:
                start += 1
                continue
            if not self._flags[match.index] & SINGLE_WORD or not self._is_within_word(data, n, match):
                match.id = self._ids[match.index]
                return True
            start = match.end
        return False

    cdef bint _is_within_word(self, const uint8_t* data, size_t n, const Match* match) noexcept nogil:
        """Tell whether a word character is directly before or after a match."""
        cdef size_t before = match.start, n_bytes
        if match.end < n and self._is_word_character(fb_char_within(data + match.end, n - match.end, &n_bytes)):
            return True
        if not before:
            return False
        before -= 1
        while before and data[before] & 0xC0 == 0x80:
            before -= 1
        return self._is_word_character(fb_char_within(data + before, match.start - before, &n_bytes))

    cdef bint _is_word_character(self, uint32_t character) noexcept nogil:
        """Tell whether a range of word characters has a character, by binary search."""
        cdef size_t low = 0, high = self._n_words, middle
        while low < high:
            middle = (low + high) // 2
            if self._words[2 * middle + 1] < character:
                low = middle + 1
            else:
                high = middle
        return low < self._n_words and self._words[2 * low] <= character

    cdef bint find_here(self, const uint8_t* data, size_t n, size_t at, Match* match) noexcept nogil:
        """Find the longest token that begins at data[at], whatever its flags. Returns False if no token does.

        Ensures: on True, start, end, index and id of match are set; resume does not change.
        """
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
        """Return (start, end, id) of every token found, in order; offsets are in bytes of the text's UTF-8."""
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
        """Return (start, end, id) of the first token, whatever its flags; None if there is no token."""
        cdef Utf8 view
        cdef Match match
        utf8_of(text, &view)
        try:
            if self.find(view.data, view.n, 0, &match):
                return match.start, match.end, match.id
            return None
        finally:
            utf8_release(&view)


# `then` searches normalized text, which may not be UTF-8 (if a charsmap is not): it may begin with any byte, and end
# within a character.

cdef inline bint _is_blank(const uint8_t* data, size_t n, bint in_python, size_t* n_bytes) noexcept nogil:
    """Tell whether the first character of n bytes is white space, and store its length in bytes."""
    n_bytes[0] = fb_char_bytes(data[0])
    if in_python and 0x1C <= data[0] <= 0x1F:
        return True
    return n_bytes[0] <= n and FB_IS(fb_class_at(data, n_bytes), FB_BLANKS)


cdef size_t _blanks_begin(const uint8_t* data, size_t start, size_t at, bint in_python) noexcept nogil:
    """Return the offset, `start` or greater, at which the white space before data[at] begins."""
    cdef size_t before, n_bytes
    while at > start:
        before = at - 1
        while before > start and data[before] & 0xC0 == 0x80:
            before -= 1
        if not _is_blank(data + before, at - before, in_python, &n_bytes):
            break
        at = before
    return at


cdef size_t _blanks_end(const uint8_t* data, size_t n, size_t at, bint in_python) noexcept nogil:
    """Return the offset at which the white space from data[at] on ends."""
    cdef size_t n_bytes
    while at < n and _is_blank(data + at, n - at, in_python, &n_bytes):
        at += n_bytes
    return at
