"""Completions of the end of a text, like tiktoken's `encode_with_unstable`, and look-up of tokens by prefix.

The last piece of a text, and white space before it, are unstable: they are the tail. A completion is the ids of
the tail and of some bytes that may follow it, up to the id that covers the tail's last byte. The bytes to try are
bytes that single tokens would add if they began anywhere inside the tail, but not at its start.

tiktoken splits and encodes the tail again for each of these tokens (100,000 in o200k_base after a space). Here, a
long piece inside the tail is merged once. If a long piece continues after the tail, only its end is merged again
(`_merge_after`). White space is split as a substitute of at most three bytes (`_substitute`). The rest of the time
goes into writing completions: with o200k_base, 64,000 spaces have 105,814 completions of 502 ids each.
"""

# Tried and dropped: encoding the tail again for each token, as tiktoken does: much slower for a tail of spaces.

cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcmp, memcpy

from fastbpe._core.common.atomics cimport is_set, set_flag
from fastbpe._core.common.byte_buffer cimport Buffer, buffer_add, buffer_free
from fastbpe._core.common.id_buffer cimport Ids, ids_free, ids_reserve
from fastbpe._core.common.python cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from fastbpe._core.merge.merge_piece cimport merge_piece
from fastbpe._core.ids.id_lists cimport hide, ids_list, show
from fastbpe._core.text.special_tokens cimport Match, SpecialMatcher
from fastbpe._core.split.splitter cimport UNMATCHED, Ends, Splitter, ends_free, ends_start_text
from fastbpe._core.common.hash_tables cimport GOLDEN_RATIO, NONE
from fastbpe._core.text.utf8_text cimport first_invalid
from fastbpe._core.merge.token_lookups cimport find_token
from fastbpe._core.merge.vocabulary cimport Tables, Vocabulary, token_length, token_start
from fastbpe._core.common.interrupts cimport Watch, check_signals

from array import array

from fastbpe._core.split.scanner import Scanner

#: Characters with the property White_Space in Unicode 16.
cdef object SPACES = frozenset("\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000").union(
    map(chr, range(0x2000, 0x200B))
)

cdef enum:
    LONG_PIECE_BYTES = 48  # length from which only the end of a piece is merged again for each continuation
    FIRST_REMERGED_IDS = 4  # ids at the end of a long piece that are first merged again; then 8 more, 16 more, …
    MAX_KNOWN_PIECES = 16  # number of long pieces whose ids are kept; one more, and all are dropped


def last_piece(Splitter splitter not None, SpecialMatcher special, bytes text not None):
    """Return the bytes of a text's last piece; b"" if the text ends with a special token or has no piece."""
    cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(text)
    cdef size_t n = <size_t> len(text), start = 0, at, piece_start = 0, piece_end = 0, last, i
    cdef Ends ends = Ends(NULL, 0, 0, data, NULL, 0, 0, 0)
    cdef Match match
    while special is not None and special.find(data, n, start, &match):
        start = match.end
    if start == n:
        return b""
    at, last = 0, 0  # start at the end of the last special token
    try:
        while at < n - start:
            ends.n = 0
            at = splitter.split(data + start, n - start, at, &ends)
            for i in range(ends.n):
                if not ends.items[i] & UNMATCHED:
                    piece_start, piece_end = start + last, start + ends.items[i]
                last = ends.items[i] & ~UNMATCHED
    finally:
        ends_free(&ends)
    return text[piece_start:piece_end]


@cython.final
cdef class SortedTokens:
    """Tokens of a vocabulary, or only of the ids given, in the order of their bytes."""

    cdef Vocabulary _vocabulary
    cdef object _order  # ids of the tokens, sorted by their bytes
    cdef const uint32_t[::1] _sorted

    def __init__(self, Vocabulary vocabulary not None, *, ids=None):
        self._vocabulary = vocabulary
        tokens = vocabulary.tokens()
        ids = range(len(tokens)) if ids is None else ids
        # The filter drops ids without a token: their bytes are b"".
        self._order = array("I", sorted(filter(tokens.__getitem__, ids), key=tokens.__getitem__))
        self._sorted = self._order

    def beginning_with(self, bytes prefix not None):
        """Return the ids of the tokens whose bytes begin with a prefix, in the order of their bytes."""
        return self.beginning(prefix, 0)

    cdef list beginning(self, bytes tail, Py_ssize_t start):
        """Return the ids of the tokens that begin with tail[start:]."""
        cdef const Tables* t = &self._vocabulary.tables
        cdef const uint8_t* prefix = <const uint8_t*> PyBytes_AS_STRING(tail) + start
        cdef size_t n = <size_t> (PyBytes_GET_SIZE(tail) - start)
        cdef size_t low = 0, high = <size_t> self._sorted.shape[0], middle
        cdef list out = []
        while low < high:
            middle = (low + high) // 2
            if _is_below(t, self._sorted[middle], prefix, n):
                low = middle + 1
            else:
                high = middle
        while low < <size_t> self._sorted.shape[0] and _begins_with(t, self._sorted[low], prefix, n):
            out.append(self._sorted[low])
            low += 1
        return out

    def additions(self, bytes tail not None):
        """Return the bytes that tokens would add to a tail if they began inside it, but not at its start.

        They are the keys of a dict, in a fixed order.
        """
        cdef const Tables* t = &self._vocabulary.tables
        cdef Watch watch = Watch(0, NULL)
        cdef Py_ssize_t start, n = len(tail)
        cdef dict out = {}
        for start in range(max(1, n - <Py_ssize_t> t.max_token_bytes), n):  # from any earlier one, tokens end before n
            for token_id in self.beginning(tail, start):
                out[self._vocabulary.token(token_id)[n - start:]] = None
            check_signals(&watch)
        return out


@cython.final
cdef class Completions:
    """Finder of completions, for a byte-level vocabulary and a splitter."""

    cdef Vocabulary _vocabulary
    cdef Splitter _splitter
    cdef SortedTokens _tokens  # valid once _has_tokens is set
    cdef int _has_tokens  # atomic

    def __init__(self, Vocabulary vocabulary not None, Splitter splitter not None):
        self._vocabulary = vocabulary
        self._splitter = splitter

    @property
    def tokens(self):
        """The tokens in the order of their bytes."""
        cdef SortedTokens made
        if not is_set(&self._has_tokens):
            made = SortedTokens(self._vocabulary)
            with cython.critical_section(self):
                if not is_set(&self._has_tokens):
                    self._tokens = made
                    set_flag(&self._has_tokens)
        return self._tokens

    def of(self, bytes tail not None):
        """Return the completions of a tail: a list of lists of ids.

        Args:
            tail: valid UTF-8, not empty.
        """
        cdef Watch watch = Watch(0, NULL)
        cdef _Trial trial = _Trial(self._vocabulary, self._splitter, tail)
        cdef _Lists lists = _Lists()
        cdef str text = tail.decode(), last = text[len(text) - 1]
        cdef SortedTokens tokens = self.tokens
        for extra in tokens.additions(tail):
            trial.encode(extra)
            if trial.n_ids > 1:  # a single id is a token that begins with the tail, which `beginning` has found
                lists.add(trial.ids.items, trial.n_ids)
            check_signals(&watch)
        # If a word follows, a pattern may split before the last character of white space.
        if last in SPACES and len(tail) > len(last.encode()):
            trial.encode_apart(<size_t> len(last.encode()))
            lists.add(trial.ids.items, trial.n_ids)
        return [[token_id] for token_id in tokens.beginning(tail, 0)] + lists.shown()


cdef inline const uint8_t* _token(const Tables* t, uint32_t token_id, size_t* n) noexcept nogil:
    n[0] = token_length(t, token_id)
    return t.token_bytes + token_start(t, token_id)


cdef bint _is_below(const Tables* t, uint32_t token_id, const uint8_t* bytes_, size_t n) noexcept nogil:
    cdef size_t length
    cdef const uint8_t* token = _token(t, token_id, &length)
    cdef int order = memcmp(token, bytes_, min(length, n))
    return order < 0 or (order == 0 and length < n)


cdef bint _begins_with(const Tables* t, uint32_t token_id, const uint8_t* bytes_, size_t n) noexcept nogil:
    cdef size_t length
    cdef const uint8_t* token = _token(t, token_id, &length)
    return length >= n and memcmp(token, bytes_, n) == 0


@cython.final
cdef class _Lists:
    """Set of lists of ids."""

    cdef list _all
    cdef dict _by_hash

    def __cinit__(self):
        self._all = []
        self._by_hash = {}

    cdef int add(self, const uint32_t* ids, size_t n) except -1:
        cdef uint64_t hash_value = n
        cdef size_t i
        cdef list added = ids_list(ids, n)
        hide(added)  # until `shown` returns it: garbage collections need not visit these lists
        for i in range(n):
            hash_value = (hash_value ^ ids[i]) * GOLDEN_RATIO
        while True:
            found = self._by_hash.get(hash_value)
            if found is None:
                self._by_hash[hash_value] = added
                self._all.append(added)
                return 0
            if found == added:
                return 0
            hash_value += 1

    cdef list shown(self):
        """Return all lists, tracked by the garbage collector again."""
        cdef list out = self._all, one
        self._all, self._by_hash = [], {}
        for one in out:
            show(one)
        return out


@cython.final
cdef class _Merged:
    """Ids of a long piece, merged once."""

    cdef Ids ids

    def __dealloc__(self):
        ids_free(&self.ids)


@cython.final
cdef class _Trial:
    """Ids of one tail with different bytes after it."""

    cdef Ids ids
    cdef size_t n_ids  # number of ids up to the one that covers the tail's last byte
    cdef Vocabulary _vocabulary
    cdef Splitter _splitter
    cdef size_t _n_tail
    cdef Buffer _text  # the tail, then the bytes after it
    cdef Buffer _split  # the text to split: like _text, but the tail may be replaced by its substitute
    cdef size_t _n_split_tail  # bytes of the tail in `_split`
    cdef size_t _lines_end  # offset in the tail after its last line ending, if a substitute has one; otherwise 0
    cdef Ends _ends
    cdef Ids _again  # the end of a long piece, merged again
    cdef dict _known  # (start, end) in the tail: the merged ids

    def __cinit__(self, Vocabulary vocabulary not None, Splitter splitter not None, bytes tail not None):
        cdef bytes split = self._substitute(tail) if isinstance(splitter, Scanner) else tail
        self._vocabulary = vocabulary
        self._splitter = splitter
        self._known = {}
        self._n_tail = <size_t> len(tail)
        self._n_split_tail = <size_t> len(split)
        buffer_add(&self._text, <const uint8_t*> PyBytes_AS_STRING(tail), self._n_tail)
        buffer_add(&self._split, <const uint8_t*> PyBytes_AS_STRING(split), self._n_split_tail)

    def __dealloc__(self):
        buffer_free(&self._text)
        buffer_free(&self._split)
        ends_free(&self._ends)
        ids_free(&self.ids)
        ids_free(&self._again)

    cdef bytes _substitute(self, bytes tail):
        """Return a short substitute for a tail of spaces, tabs and line endings; any other tail itself.

        The substitute is a single line ending, if the tail has any, and the spaces and tabs after the last one, at
        most two of them. The scanners' patterns do not count white space: a run of white space ends pieces only
        after its last line ending and before its last character. Only the text after the run decides which of the
        two happens.
        """
        cdef size_t n = <size_t> len(tail)
        if tail.strip(b" \t\n\r"):
            return tail
        self._lines_end = <size_t> len(tail.rstrip(b" \t"))
        return b"\n" * (self._lines_end > 0) + tail[max(self._lines_end, max(n, <size_t> 2) - 2):]

    cdef int encode(self, bytes extra) except -1:
        """Encode the tail with these bytes after it."""
        cdef const uint8_t* data = <const uint8_t*> PyBytes_AS_STRING(extra)
        cdef size_t n = <size_t> len(extra)
        self._text.n, self._split.n = self._n_tail, self._n_split_tail
        buffer_add(&self._text, data, n)
        buffer_add(&self._split, data, n)
        self.ids.n = 0
        if first_invalid(data, n) == n:
            self._pieces()
        else:
            self._piece(0, self._text.n, False)  # not UTF-8: tiktoken neither splits it nor looks it up
        return self._cover()

    cdef int encode_apart(self, size_t n_last) except -1:
        """Encode only the tail, as two pieces: its last n_last bytes and the bytes before them.

        Merges them even if they are tokens.
        """
        cdef const Tables* t = &self._vocabulary.tables
        cdef size_t n = self._n_tail - n_last
        self.ids.n = 0
        merge_piece(t, self._text.items, n, NONE, &self.ids)
        merge_piece(t, self._text.items + n, n_last, NONE, &self.ids)
        self.n_ids = self.ids.n
        return 0

    cdef int _pieces(self) except -1:
        """Append the ids of the text's pieces, until they cover the tail."""
        cdef size_t at = 0, start = 0, end, covered = 0, i = 0
        self._ends.n = 0
        ends_start_text(&self._ends, self._split.items)
        while covered < self._n_tail and (i < self._ends.n or at < self._split.n):
            if i == self._ends.n:
                at = self._splitter.split(self._split.items, self._split.n, at, &self._ends)
                continue
            # From the split text to the text: the line ending of a substitute stands for the tail up to _lines_end, and
            # all other ends are as far from the end of the tail as before.
            end = self._ends.items[i] & ~UNMATCHED
            end = self._lines_end if end == 1 and self._lines_end else end + self._n_tail - self._n_split_tail
            if not self._ends.items[i] & UNMATCHED:
                self._piece(start, end, True)
                covered += end - start
            start = end
            i += 1
        return 0

    cdef int _piece(self, size_t start, size_t end, bint whole_first) except -1:
        """Append the ids of one piece.

        whole_first: a piece that is a token becomes that token, if the vocabulary has whole_piece_first.
        """
        cdef const Tables* t = &self._vocabulary.tables
        cdef size_t n = end - start
        cdef uint32_t token
        cdef _Merged merged
        if whole_first and t.whole_piece_first and n <= t.max_token_bytes:
            token = find_token(t, self._text.items + start, n)
            if token != NONE:
                ids_reserve(&self.ids, 1)
                self.ids.items[self.ids.n] = token
                self.ids.n += 1
                return 0
        if n < LONG_PIECE_BYTES:
            return merge_piece(t, self._text.items + start, n, NONE, &self.ids)
        if end > self._n_tail:
            return self._merge_after(start, end)
        merged = self._merged(start, end)
        return _extend(&self.ids, &merged.ids, merged.ids.n)

    cdef _Merged _merged(self, size_t start, size_t end):
        """Return the ids of a long part of the tail, from the cache or merged now."""
        cdef _Merged merged = self._known.get((start, end))
        if merged is None:
            if len(self._known) == MAX_KNOWN_PIECES:
                self._known.clear()
            merged = self._known[start, end] = _Merged()
            merge_piece(&self._vocabulary.tables, self._text.items + start, end - start, NONE, &merged.ids)
        return merged

    cdef int _merge_after(self, size_t start, size_t end) except -1:
        """Append the ids of a long piece that continues after the tail, by merging only its end.

        Ids side by side are the result of merging their bytes if, for every two neighbours, merging the bytes of
        the two yields these two. The reason: the first merge to cross a border would also be the best one in the
        bytes of the two ids next to the border. So the end is merged again only back to a border whose two ids
        pass this test (`_side_by_side`).
        """
        cdef const Tables* t = &self._vocabulary.tables
        cdef _Merged merged = self._merged(start, self._n_tail)
        cdef size_t n_kept = merged.ids.n, at = self._n_tail, n_back, step = FIRST_REMERGED_IDS
        while True:
            n_back = 0
            while n_kept and n_back < step:
                n_kept -= 1
                n_back += 1
                at -= token_length(t, merged.ids.items[n_kept])
            self._again.n = 0
            merge_piece(t, self._text.items + at, end - at, NONE, &self._again)
            if not n_kept or self._side_by_side(merged.ids.items[n_kept - 1], self._again.items[0], at):
                break
            step *= 2
        _extend(&self.ids, &merged.ids, n_kept)
        return _extend(&self.ids, &self._again, self._again.n)

    cdef bint _side_by_side(self, uint32_t left, uint32_t right, size_t border) except -1:
        """Tell whether the bytes of two ids, which meet at a border in the text, merge to these two ids."""
        cdef const Tables* t = &self._vocabulary.tables
        cdef Ids ids = Ids(NULL, 0, 0)
        cdef size_t n_left = token_length(t, left)
        try:
            merge_piece(t, self._text.items + border - n_left, n_left + token_length(t, right), NONE, &ids)
            return ids.n == 2 and ids.items[0] == left and ids.items[1] == right
        finally:
            ids_free(&ids)

    cdef int _cover(self) except -1:
        """Find the id that covers the tail's last byte."""
        cdef const Tables* t = &self._vocabulary.tables
        cdef size_t covered = 0
        self.n_ids = 0
        while self.n_ids < self.ids.n and covered < self._n_tail:
            covered += token_length(t, self.ids.items[self.n_ids])
            self.n_ids += 1
        return 0


cdef int _extend(Ids* ids, const Ids* others, size_t n) except -1:
    """Append the first n ids of others."""
    ids_reserve(ids, n)
    memcpy(ids.items + ids.n, others.items, n * sizeof(uint32_t))
    ids.n += n
    return 0
