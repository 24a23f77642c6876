"""Decode ids to bytes and text.

The first pass reads the ids, checks them and sums up the sizes of their tokens (id_reader). Then one object of the
exact size is allocated, and a second pass copies the tokens into it (token_slots), without the GIL if they are
many.
"""

# Tried and dropped: a first pass that reads token lengths from a table of two bytes per id: no gain.
# Tried and dropped: reading 256 ints before their slots: no gain on two threads, slower on one.
# Tried and dropped: keeping the memory of the ids between calls: malloc already does this.

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from fastbpe._core.common.python cimport (
    PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyErr_CheckSignals, PyLong_AsLongLongAndOverflow,
    PySequence_Fast_GET_SIZE, PyUnicode_DATA, PyUnicode_DecodeUTF8
)
from fastbpe._core.decode.parallel_decoding cimport Decoding, Item, fill_text, new_decoding, next_batch
from fastbpe._core.common.atomics cimport is_set
from fastbpe._core.common.memory cimport use_huge_pages
from fastbpe._core.common.id_buffer cimport Ids, ids_free
from fastbpe._core.ids.id_lists cimport hide, ids_list, show
from fastbpe._core.decode.id_reader cimport RAISE, SKIP, IdReader, as_int, unknown_rule
from fastbpe._core.decode.token_slots cimport (
    NOT_ASCII, NOT_LATIN1, NOT_UCS2, Beginning, Sums, TokenSlot, copy_tokens, slot_add, slot_token,
)
from fastbpe._core.decode.text_beginning cimport FirstForms, find_first_form, find_left_out
from fastbpe._core.text.utf8_text cimport character_starts
from fastbpe._core.common.gil_yield cimport yield_gil_after, yield_gil_at
from fastbpe._core.merge.vocabulary cimport Vocabulary

import sys

from fastbpe._core.text.utf8_text import plain
from fastbpe.errors import note_place
from fastbpe._utils.threads import usable_threads

cdef extern from *:
    str PyUnicode_New(Py_ssize_t n_characters, Py_UCS4 greatest)  # fill it before other code can see it

cdef enum:
    NOGIL_BYTES = 1 << 13  # shortest text, in bytes, for which releasing the GIL pays
    BLOCK_BYTES = 1 << 14  # working space for UTF-8 that is decoded into a str
    THREADS_IDS = 1 << 17  # smallest number of ids for which waking other threads pays

cdef str _REPLACE = sys.intern("replace")


@cython.final
cdef class Decoder(IdReader):
    """Decoder of ids to bytes and text, with the bytes of every id.

    Args:
        vocabulary: Vocabulary of the ordinary tokens.
        special_tokens: list of (id, bytes) that take precedence over ordinary tokens; the bytes may be empty.
        leading: spaces to leave out at the beginning of a text of code points. None: keep all. False: one space at
            the beginning of the first token. True: all leading tokens that are only a space, and one space of the
            next token.
        space_keepers: frozenset of int – ids that keep their leading space. An empty token among them had one: with
            leading=False, the ids after it keep theirs.
        joins: True: bytes before and after an empty token may form one character.
        takes_bools: accept False and True as the ids 0 and 1; otherwise they raise TypeError.
    """

    cdef bint _strips  # leading is not None
    cdef bint _strips_all  # leading is true
    cdef bint _joins
    cdef frozenset _space_keepers

    def __cinit__(
        self, Vocabulary vocabulary not None, list special_tokens not None, *, leading=None,
        frozenset space_keepers not None=frozenset(), bint joins=False, bint takes_bools=False,
    ):
        self._vocabulary = vocabulary
        self._strips = leading is not None
        self._strips_all = bool(leading)
        self._joins = joins
        self._takes_bools = takes_bools
        self._space_keepers = space_keepers
        self._special = dict(special_tokens)
        self._n_ids = max(vocabulary.tables.n_ids, max(self._special, default=-1) + 1)

    # Making bytes and text

    cdef bytes _bytes(self, const Ids* ids, const Sums* sums, const Beginning* beginning):
        """Make the bytes of ids. sums, beginning: computed from these ids."""
        cdef bytes out = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> sums.n_bytes)
        cdef uint8_t* to = <uint8_t*> PyBytes_AS_STRING(out)
        self._copy_all(ids, to, sums.n_bytes, beginning)
        return out

    cdef void _copy_all(self, const Ids* ids, uint8_t* to, size_t n_bytes, const Beginning* beginning) noexcept:
        """Copy the n_bytes bytes of ids to `to`."""
        cdef size_t at = beginning.at
        memcpy(to, beginning.data, beginning.n)
        to += beginning.n
        n_bytes -= beginning.n
        if n_bytes < NOGIL_BYTES:
            copy_tokens(self._slots, ids, &at, to, to + n_bytes)
            return
        with nogil:
            use_huge_pages(to, n_bytes)
            copy_tokens(self._slots, ids, &at, to, to + n_bytes)

    cdef str _text(self, const Ids* ids, const Sums* sums, const Beginning* beginning, const char* errors):
        """Make the text of ids, with all their bytes decoded together."""
        cdef uint8_t* data
        cdef uint8_t* block = NULL
        cdef size_t width, block_bytes = 0
        cdef bint sound
        cdef str text = _new_text(sums, &data, &width)
        if sums.tags & NOT_ASCII:
            block_bytes = min(sums.n_bytes + sizeof(TokenSlot), self._block_bytes())
            block = <uint8_t*> malloc(block_bytes)
            if block == NULL:
                raise MemoryError(f"no memory for {block_bytes} bytes of text")
        if sums.n_bytes < NOGIL_BYTES:
            sound = fill_text(self._slots, ids, beginning, sums, block, block_bytes, data, width)
        else:
            with nogil:
                sound = fill_text(self._slots, ids, beginning, sums, block, block_bytes, data, width)
        free(block)
        return text if sound else self._decode_leniently(ids, sums, beginning, errors)

    cdef str _decode_leniently(
        self, const Ids* ids, const Sums* sums, const Beginning* beginning, const char* errors
    ):
        """Make the text of ids whose bytes are not UTF-8, with CPython's decoder and its error handler."""
        return PyUnicode_DecodeUTF8(self._bytes(ids, sums, beginning), <Py_ssize_t> sums.n_bytes, errors)

    cdef size_t _block_bytes(self) noexcept:
        """Return the maximum size of the working space of fill_text()."""
        return max(<size_t> BLOCK_BYTES, self._longest) + sizeof(TokenSlot)

    cdef str _text_in_parts(self, const Ids* ids, const Sums* sums, const Beginning* beginning, const char* errors):
        """Make the text of ids.

        Empty tokens separate its parts, unless `_joins` is set: no character spans such a token.
        """
        cdef Ids part
        cdef Sums part_sums
        cdef Beginning part_beginning = beginning[0]
        # Unless beginning.n is 0, the token of ids[beginning.at - 1] is in the beginning, without its leading space.
        cdef size_t n_spaces = beginning.n > 0  # spaces that the next part leaves out of its first token
        cdef size_t start = beginning.at - n_spaces, at, n, n_held = 0
        cdef list texts = []
        if not sums.n_empty or not sums.tags & NOT_ASCII or self._joins:
            return self._text(ids, sums, beginning, errors)
        part_beginning.at = n_spaces
        while start < ids.n:
            memset(&part_sums, 0, sizeof(Sums))
            at = start
            while at < ids.n:
                slot_token(&self._slots[ids.items[at]], &n)
                if n == 0:
                    break
                slot_add(self._slots, <uint64_t> self._n_ids + 1, ids.items[at], &part_sums)
                at += 1
            if at > start:
                part_sums.n_bytes -= n_spaces
                part_sums.n_characters -= n_spaces
                part = Ids(ids.items + start, at - start, 0)
                texts.append(self._text(&part, &part_sums, &part_beginning, errors))
                memset(&part_beginning, 0, sizeof(Beginning))
                part_beginning.data = b""
                n_spaces = 0
            yield_gil_after(at - start, &n_held)
            start = at + 1
        return "".join(texts)

    cdef int _find_beginning(self, const Ids* ids, Sums* sums, Beginning* beginning, FirstForms firsts=None) except -1:
        """Find the leading spaces to leave out, or the first token's form, and adapt the sums.

        firsts: see decode().
        """
        memset(beginning, 0, sizeof(Beginning))
        beginning.data = b""
        if firsts is not None:
            find_first_form(self._slots, <uint64_t> self._n_ids + 1, ids, firsts, sums, beginning)
        elif self._strips:
            find_left_out(self._slots, ids, self._strips_all, self._space_keepers, beginning)
        sums.n_bytes -= beginning.n_bytes_lost
        sums.n_characters -= beginning.n_characters_lost
        return 0

    def decode_bytes(self, ids):
        """Decode ids, and join the bytes of their tokens."""
        cdef Ids values = Ids(NULL, 0, 0)
        cdef Sums sums
        cdef Beginning beginning
        try:
            self._read(ids, &values, &sums, RAISE)
            self._find_beginning(&values, &sums, &beginning)
            return self._bytes(&values, &sums, &beginning)
        finally:
            ids_free(&values)

    def decode(self, ids, errors="replace", num_threads=None, unknown_ids="raise", FirstForms firsts=None):
        """Decode ids to text. Accepts the arguments of `Tokenizer.decode`.

        firsts: forms of the first token; None: the token itself. Requires `joins`, and `leading` to be None.
        """
        cdef Ids values = Ids(NULL, 0, 0)
        cdef bytes handler = _handler(errors)
        cdef int unknown = unknown_rule(unknown_ids)
        cdef str text
        cdef int n_threads
        if num_threads is not None:
            usable_threads(num_threads)  # raises ValueError, even if the ids are few
        if (type(ids) is list or type(ids) is tuple) and PySequence_Fast_GET_SIZE(ids) >= THREADS_IDS:
            n_threads = usable_threads(num_threads)
            text = None if n_threads == 1 else self._long_text(ids, handler, n_threads, firsts)
            if text is not None:
                return text
        try:
            return self._decode_one(ids, &values, handler, unknown, firsts)
        finally:
            ids_free(&values)

    cdef str _long_text(self, object ids, const char* errors, int n_threads, FirstForms firsts):
        """Decode a long list or tuple on several threads. Returns None if an item needs the general path."""
        cdef Decoding decoding
        cdef Item* first
        cdef Ids all_ids
        cdef Sums sums
        cdef uint8_t* data
        cdef size_t width
        cdef str text
        if not is_set(&self._has_slots):
            self._make_slots()
        decoding = new_decoding(self, self._slots, self._n_ids, self._block_bytes())
        try:
            decoding.invite(n_threads)
            if not decoding.read_parts(ids, &all_ids, &sums):
                return None
            first = &decoding.items[0]
            self._find_beginning(&all_ids, &sums, &first.beginning, firsts)
            # A beginning longer than the first part, or characters that end at empty tokens: the parts do not fit.
            if first.beginning.at >= first.n or (sums.n_empty and sums.tags & NOT_ASCII):
                decoding.end()  # at once: threads that wait keep their cores busy
                return self._text_in_parts(&all_ids, &sums, &first.beginning, errors)
            text = _new_text(&sums, &data, &width)
            decoding.lay_out(data, width, sums.tags)
            decoding.fill()
        finally:
            decoding.end()
        return text if decoding.is_sound() else self._decode_leniently(&all_ids, &sums, &first.beginning, errors)

    def decode_batch(self, batch, errors="replace", num_threads=None, unknown_ids="raise", FirstForms firsts=None):
        """Decode each sequence of ids, in order, as `decode` does."""
        cdef bytes handler = _handler(errors)
        cdef int unknown = unknown_rule(unknown_ids)
        cdef list out = [], texts
        cdef size_t n_ids
        cdef int n_threads = usable_threads(num_threads)
        iterator = iter(batch)
        hide(out)  # must be unreachable while it contains strs that are not filled
        while texts := next_batch(iterator, &n_ids):
            try:
                if n_threads > 1 and n_ids >= THREADS_IDS:
                    self._decode_together(texts, handler, n_threads, out, unknown, firsts)
                else:
                    self._decode_each(texts, handler, out, unknown, firsts)
            except (KeyError, TypeError, ValueError) as error:
                note_place(error, f"batch[{len(out)}]")
                raise
        return show(out)

    cdef int _decode_each(self, list texts, const char* errors, list out, int unknown, FirstForms firsts) except -1:
        """Decode each text and append it to `out`; raise the first error, with the earlier texts in `out`."""
        cdef Ids values = Ids(NULL, 0, 0)
        cdef size_t n_held = 0
        try:
            for ids in texts:
                PyErr_CheckSignals()
                out.append(self._decode_one(ids, &values, errors, unknown, firsts))
                yield_gil_after(values.n, &n_held)
        finally:
            ids_free(&values)
        return 0

    cdef str _decode_one(self, object ids, Ids* values, const char* errors, int unknown, FirstForms firsts):
        """Decode one sequence of ids. values: buffer for its ids, reused between calls."""
        cdef Sums sums
        cdef Beginning beginning
        self._read(ids, values, &sums, unknown)
        self._find_beginning(values, &sums, &beginning, firsts)
        return self._text_in_parts(values, &sums, &beginning, errors)

    cdef int _decode_together(
        self, list texts, const char* errors, int n_threads, list out, int unknown, FirstForms firsts
    ) except -1:
        """Do the work of _decode_each() on several threads."""
        cdef Decoding decoding
        cdef size_t i, before = len(out)
        cdef Item* item
        cdef Ids ids
        cdef object error
        if not is_set(&self._has_slots):
            self._make_slots()
        decoding = new_decoding(self, self._slots, self._n_ids, self._block_bytes())
        try:
            decoding.invite(n_threads)
            decoding.read(texts)
            error = self._make_texts(decoding, texts, errors, out, unknown, firsts)
            decoding.fill()
        finally:
            decoding.end()
        for i in range(len(out) - before):
            item = &decoding.items[i]
            if item.data != NULL and not item.is_sound:
                ids = decoding.ids_of(item)
                try:
                    out[before + i] = self._decode_leniently(&ids, &item.sums, &item.beginning, errors)
                except Exception:  # also any that a handler of the caller raises
                    del out[before + i :]
                    raise
        if error is not None:
            raise error
        return 0

    cdef object _make_texts(
        self, Decoding decoding, list texts, const char* errors, list out, int unknown, FirstForms firsts
    ):
        """Append the strs of all items to `out`; those that threads will fill are not filled yet.

        Stops at the first error and returns it. Returns None if there is no error.
        """
        cdef Ids values = Ids(NULL, 0, 0), ids
        cdef Item* item
        cdef size_t i, n_held = 0
        try:
            for i in range(decoding.n_items):
                PyErr_CheckSignals()
                item = &decoding.items[i]
                ids = decoding.ids_of(item)
                yield_gil_after(ids.n, &n_held)
                if not item.is_read:
                    out.append(self._decode_one(texts[i], &values, errors, unknown, firsts))
                    continue
                self._find_beginning(&ids, &item.sums, &item.beginning, firsts)
                if item.sums.n_empty and item.sums.tags & NOT_ASCII:
                    out.append(self._text_in_parts(&ids, &item.sums, &item.beginning, errors))
                else:
                    out.append(_new_text(&item.sums, &item.data, &item.width))
        except Exception as error:
            return error
        finally:
            ids_free(&values)
        return None

    def known(self, ids):
        """List the given ids that have a token."""
        cdef Ids values = Ids(NULL, 0, 0)
        cdef Sums sums
        try:
            self._read(ids, &values, &sums, SKIP)
            return ids_list(values.items, values.n)
        finally:
            ids_free(&values)

    def tokens(self, ids, unknown_ids="raise"):
        """List the bytes of each id.

        unknown_ids: treatment of ids without a token: "raise", "skip", or "replace" by the UTF-8 of U+FFFD.
        """
        cdef Ids values = Ids(NULL, 0, 0)
        cdef Sums sums
        cdef size_t i, n
        cdef const uint8_t* token
        try:
            self._read(ids, &values, &sums, unknown_rule(unknown_ids))
            out = []
            for i in range(values.n):
                yield_gil_at(i)
                token = slot_token(&self._slots[values.items[i]], &n)
                out.append(PyBytes_FromStringAndSize(<const char*> token, <Py_ssize_t> n))
            return out
        finally:
            ids_free(&values)

    def decode_with_offsets(self, ids, errors="replace"):
        """Decode ids, and list for each id the index of the first character that contains any of its bytes.

        A token without bytes has the index of the character at its place, or the length of the text at the end.

        errors: "replace" or "strict".
        """
        cdef Ids values = Ids(NULL, 0, 0)
        cdef Sums sums
        cdef bytes data, begins, handler = _handler(errors)
        cdef list offsets
        cdef size_t i, n
        cdef Py_ssize_t n_begun = 0
        cdef uint8_t* begins_here
        cdef const uint8_t* begins_end
        cdef const uint8_t* utf8
        cdef Beginning beginning
        try:
            self._read(ids, &values, &sums, RAISE)
            self._find_beginning(&values, &sums, &beginning)
            data = self._bytes(&values, &sums, &beginning)
            text = PyUnicode_DecodeUTF8(data, <Py_ssize_t> sums.n_bytes, handler)
            begins = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> sums.n_bytes)
            begins_here = <uint8_t*> PyBytes_AS_STRING(begins)
            begins_end = begins_here + sums.n_bytes
            utf8 = <const uint8_t*> PyBytes_AS_STRING(data)
            with nogil:
                character_starts(utf8, sums.n_bytes, begins_here)
            offsets = []
            for i in range(values.n):
                yield_gil_at(i)
                offsets.append(n_begun - (begins_here < begins_end and not begins_here[0]))
                slot_token(&self._slots[values.items[i]], &n)
                if i < beginning.at and n:
                    n -= 1  # without the space that is left out
                for _ in range(n):
                    n_begun += begins_here[0]
                    begins_here += 1
            return text, offsets
        finally:
            ids_free(&values)

    def token(self, token_id):
        """Return the bytes of an id. Raises InvalidTokenError (a KeyError) if the id has no token."""
        cdef bytes special
        cdef const uint8_t* data
        cdef size_t n
        cdef int overflow
        if type(token_id) is not int:
            token_id = as_int(token_id, -1, self._takes_bools)
        cdef int64_t value = PyLong_AsLongLongAndOverflow(token_id, &overflow)
        if overflow or not 0 <= value < self._n_ids:
            raise self._unknown(token_id, -1)
        if is_set(&self._has_slots):
            if self._slots[value].tag:
                data = slot_token(&self._slots[value], &n)
                return PyBytes_FromStringAndSize(<const char*> data, <Py_ssize_t> n)
            raise self._unknown(token_id, -1)
        # Do not make the slots of all ids for one.
        special = self._special.get(token_id)
        if special is not None:
            return special
        if value < self._vocabulary.tables.n_ids:
            token = self._vocabulary.token(<uint32_t> value)
            if token:
                return token
        raise self._unknown(token_id, -1)

    @property
    def n_ids(self):
        """Greatest id + 1."""
        return self._n_ids


cdef bytes _handler(object errors):
    """Convert the argument errors= to a C string."""
    if errors is _REPLACE:
        return b"replace"  # the default, without a conversion
    if not isinstance(errors, str):
        raise TypeError(f"errors must be str, not {type(errors).__name__}")
    return plain(errors).encode()


cdef str _new_text(const Sums* sums, uint8_t** data, size_t* width):
    """Create the str of a text, not filled yet; store the address of its characters and their width in bytes."""
    cdef size_t n = sums.n_characters
    cdef Py_UCS4 greatest
    cdef str text
    if not sums.tags & NOT_ASCII:
        width[0], n, greatest = 1, sums.n_bytes, 0x7F
    elif sums.tags & NOT_UCS2:
        width[0], greatest = 4, 0x10FFFF
    elif sums.tags & NOT_LATIN1:
        width[0], greatest = 2, 0xFFFF
    else:
        width[0], greatest = 1, 0xFF
    text = PyUnicode_New(<Py_ssize_t> n, greatest)
    data[0] = <uint8_t*> PyUnicode_DATA(text)
    use_huge_pages(data[0], n * width[0])
    return text
