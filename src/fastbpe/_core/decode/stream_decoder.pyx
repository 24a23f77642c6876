"""Decode ids as they arrive, and return only complete characters.

Fast path of push(): the str of a short ASCII token is made from its slot alone. push() does not take it if
bytes are waiting, a leading space may have to go, or a run of byte ids is broken.
`tests/reference/streaming.py` does the same in plain Python, and tests compare the two.
"""

cimport cython
from libc.stdint cimport int64_t, uint8_t
from libc.string cimport memcpy

from fastbpe._core.common.atomics cimport is_set
from fastbpe._core.common.gil_yield cimport YIELD_ITEMS, yield_gil_if_due
from fastbpe._core.common.id_buffer cimport Ids, ids_free
from fastbpe._core.common.python cimport (
    PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE, PyLong_AsLongLongAndOverflow,
    PyUnicode_DecodeUTF8
)
from fastbpe._core.decode.id_reader cimport RAISE, SKIP, IdReader, unknown_rule
from fastbpe._core.decode.token_slots cimport LENGTH, LONG, NOT_ASCII, TokenSlot, Sums, copy_tokens, slot_token

import operator
from copy import copy

cdef extern from *:
    str PyUnicode_DecodeUTF8Stateful(const char* data, Py_ssize_t n, const char* errors, Py_ssize_t* n_read)

cdef enum:
    MAX_KEPT_BYTES = 3  # bytes of the longest incomplete character
    STACK_BYTES = 64  # longest text that is joined on the stack
    NOGIL_BYTES = 1 << 13  # shortest text, in bytes, for which releasing the GIL pays

cdef str REPLACEMENT = "\ufffd"


cdef struct State:
    uint8_t kept[4]  # waiting bytes, the start of a character: at most 3, and one that _add_byte() adds
    size_t n_kept
    bint is_start  # at the start of a text, so a leading space is left out
    bint is_broken  # with byte_ids: the current run of byte tokens is not UTF-8, so each further one is U+FFFD


@cython.final
cdef class StreamDecoder:
    """Stream that decodes ids as they arrive. Created by `Tokenizer.decoder`.

    The results of `push` and `finish`, concatenated, equal the result of `decode` for all ids, however the ids are
    grouped, with one exception. A stream cannot take back text: if the first byte ids of a run made characters,
    but the whole run is not UTF-8, the stream replaces only the later ids of the run by U+FFFD; `decode` replaces
    all. Up to three bytes that may become a character wait for the next ids.

    `copy.copy` returns an independent stream that continues from the same position. A stream cannot be pickled.

    Args:
        reader: Decoder of the ids.
        errors: error handler for bytes that are not UTF-8.
        unknown_ids: treatment of ids without a token: "raise", "skip" or "replace".
        joins, leading, space_keepers: as in Decoder.
        byte_ids: frozenset of int – ids of byte tokens, decoded as in tokenizers: consecutive ones together; if
            their bytes are not UTF-8, each becomes U+FFFD. None: `errors` decides.
        first_texts: dict of int to bytes – ids that have other bytes at the beginning of a text, and these bytes;
            needs `leading`.
        steps: object with `push`, `finish` and `__copy__` that does all the work, for tokenizers' decoders that
            change more than single tokens; None: the stream decodes by itself.

    >>> from fastbpe import Tokenizer
    >>> stream = Tokenizer.from_merges([], pattern=None).decoder()
    >>> [stream.push(token_id) for token_id in "n\u00e9".encode()], stream.push([33, 63]), stream.finish()
    (['n', '', 'é'], '!?', '')
    """

    cdef object __weakref__

    # See the arguments of the constructor.
    cdef IdReader _reader
    cdef bytes _errors
    cdef int _unknown  # RAISE, SKIP or REPLACE
    cdef object _unknown_ids
    cdef bint _joins
    cdef bint _strips  # leading is not None
    cdef bint _strips_all  # leading is true
    cdef frozenset _space_keepers
    cdef frozenset _byte_ids
    cdef dict _first_texts
    cdef object _steps
    cdef State _state

    def __cinit__(
        self, IdReader reader not None, str errors not None, unknown_ids="raise", *, bint joins=True, leading=None,
        frozenset space_keepers not None=frozenset(), frozenset byte_ids=None, dict first_texts=None, steps=None
    ):
        self._reader = reader
        self._errors = errors.encode()
        self._unknown = unknown_rule(unknown_ids)
        self._unknown_ids = unknown_ids
        self._joins = joins
        self._strips = leading is not None
        self._strips_all = bool(leading)
        self._space_keepers = space_keepers
        self._byte_ids = byte_ids
        self._first_texts = first_texts or {}
        self._steps = steps
        self._begin()

    cdef void _begin(self) noexcept:
        """Start a new text."""
        self._state.n_kept = 0
        self._state.is_start = self._strips
        self._state.is_broken = False

    @cython.critical_section
    def push(self, ids):
        """Return the text that an id, or a sequence of ids, completes; "" if it completes none.

        An error leaves the stream unchanged.

        Raises:
            InvalidTokenError: an id has no token (a KeyError), unless unknown_ids is "skip" or "replace".

        >>> from fastbpe import Tokenizer
        >>> stream = Tokenizer.from_merges([], pattern=None).decoder()
        >>> stream.push(97), stream.push([98, 0xC3]), stream.push(0xA9)
        ('a', 'b', 'é')
        """
        if self._steps is not None:
            return self._push_steps(ids)
        if type(ids) is int:
            return self._push_one(ids)
        if type(ids) is list and len(<list> ids) == 1:
            first = ids[0]  # not typed as a list: Cython would borrow the item, which another thread may free
            if type(first) is int:
                return self._push_one(first)  # an error needs no position in a list of one id
        token_id = _as_id(ids)
        if token_id is not None:
            return self._push_one(token_id)
        cdef State before = self._state
        try:
            return self._push_all(ids)
        except BaseException:
            self._state = before
            raise

    @cython.critical_section
    def finish(self):
        """Return the text of the bytes that are still waiting. The next `push` begins a new text.

        An error leaves the stream unchanged: the bytes still wait.

        >>> from fastbpe import Tokenizer
        >>> stream = Tokenizer.from_merges([], pattern=None).decoder()
        >>> stream.push(0xC3), stream.finish()
        ('', '�')
        """
        cdef str text
        if self._steps is not None:
            return self._steps.finish()
        if self._byte_ids is not None:
            text = self._first(REPLACEMENT * self._state.n_kept)
        else:
            text = self._decode(NULL, 0, True)
        self._begin()
        return text

    @cython.critical_section
    def __copy__(self):
        cdef StreamDecoder other = StreamDecoder(
            self._reader, self._errors.decode(), self._unknown_ids, joins=self._joins,
            leading=self._strips_all if self._strips else None, space_keepers=self._space_keepers,
            byte_ids=self._byte_ids, first_texts=self._first_texts, steps=copy(self._steps),
        )
        other._state = self._state
        return other

    def __deepcopy__(self, memo):
        return self.__copy__()

    def __reduce__(self):
        raise TypeError(
            "a StreamDecoder cannot be pickled: pickle its Tokenizer and the ids so far, and push the ids into a "
            "new decoder()"
        )

    @cython.critical_section
    def __repr__(self):
        if self._steps is not None:
            return f"<fastbpe.StreamDecoder of {self._steps!r}>"
        cdef bytes kept = (<const char*> self._state.kept)[:self._state.n_kept]
        waiting = f"{kept!r} of a character that is not complete" if kept else "no bytes"
        return f"<fastbpe.StreamDecoder that holds {waiting}>"

    cdef str _push_steps(self, object ids):
        """Return the text that an id or a sequence of ids completes, using `steps`."""
        token_id = _as_id(ids)
        return self._steps.push(ids if token_id is None else [token_id])

    cdef str _push_one(self, object token_id):
        """Return the text that one id completes."""
        cdef int overflow
        cdef int64_t value = PyLong_AsLongLongAndOverflow(token_id, &overflow)
        cdef IdReader reader = self._reader
        cdef const TokenSlot* slot
        cdef const uint8_t* data
        cdef size_t n
        cdef State before
        if not is_set(&reader._has_slots):
            reader._make_slots()
        if overflow or not 0 <= value < reader._n_ids or not reader._slots[value].tag:
            if self._unknown == RAISE:
                raise reader._unknown(token_id, -1)
            if self._unknown == SKIP:
                return ""
            value = reader._n_ids
        slot = &reader._slots[value]
        if not slot.tag & (NOT_ASCII | LONG) and not (
            self._state.n_kept or self._state.is_start or self._state.is_broken
        ):
            return PyUnicode_DecodeUTF8(<const char*> slot.data, slot.tag & LENGTH, NULL)
        before = self._state
        data = slot_token(slot, &n)
        try:
            return self._add(value, data, n)
        except BaseException:
            self._state = before
            raise

    cdef str _push_all(self, object ids):
        """Return the text that a sequence of ids completes; in one go if no id needs special treatment."""
        cdef Ids values = Ids(NULL, 0, 0)
        cdef Sums sums
        cdef size_t i, n, at = 0
        cdef const uint8_t* data
        cdef bytes together
        cdef uint8_t* to
        cdef const TokenSlot* slots
        cdef list out, texts
        try:
            self._reader._read(ids, &values, &sums, self._unknown)
            if self._byte_ids is None and not self._state.is_start and (self._joins or not sums.n_empty):
                together = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> (self._state.n_kept + sums.n_bytes))
                to = <uint8_t*> PyBytes_AS_STRING(together)
                memcpy(to, self._state.kept, self._state.n_kept)
                to += self._state.n_kept
                slots = self._reader._slots
                if sums.n_bytes < NOGIL_BYTES:
                    copy_tokens(slots, &values, &at, to, to + sums.n_bytes)
                else:
                    with nogil:
                        copy_tokens(slots, &values, &at, to, to + sums.n_bytes)
                return self._decoded(
                    <const uint8_t*> PyBytes_AS_STRING(together), <size_t> PyBytes_GET_SIZE(together), False
                )
            out, texts = [], []
            for i in range(values.n):
                if i % YIELD_ITEMS == YIELD_ITEMS - 1:
                    texts.append("".join(out))  # a single join of millions could not be interrupted
                    out.clear()
                    yield_gil_if_due()
                data = slot_token(&self._reader._slots[values.items[i]], &n)
                out.append(self._add(values.items[i], data, n))
            return "".join(texts + out)
        finally:
            ids_free(&values)

    cdef str _add(self, int64_t value, const uint8_t* data, size_t n):
        """Return the text that a token completes. value: its id; data, n: its bytes."""
        cdef bint has_space
        if self._byte_ids is not None:
            return self._add_to_runs(value, data, n)
        if n == 0:
            if self._state.is_start and not self._strips_all and value in self._space_keepers:
                self._state.is_start = False
            # Unless _joins is set, bytes before and after an empty token never form one character.
            return "" if self._joins else self._decode(NULL, 0, True)
        if self._state.is_start:
            if value in self._first_texts:
                self._state.is_start = False
                return (<bytes> self._first_texts[value]).decode()
            has_space = data[0] == 0x20 and value not in self._space_keepers
            data += has_space
            n -= has_space
            self._state.is_start = self._strips_all and has_space and n == 0
        return self._decode(data, n, False)

    cdef str _decode(self, const uint8_t* data, size_t n, bint final):
        """Decode the waiting bytes and n more. Unless `final`, an incomplete character at the end has to wait."""
        cdef uint8_t joined[STACK_BYTES]
        cdef bytes together
        cdef size_t n_kept = self._state.n_kept
        if n_kept == 0:
            return self._decoded(data, n, final) if n else ""
        if n_kept + n <= STACK_BYTES:
            memcpy(joined, self._state.kept, n_kept)
            if n:
                memcpy(joined + n_kept, data, n)
            return self._decoded(joined, n_kept + n, final)
        together = (<const char*> self._state.kept)[:n_kept] + (<const char*> data)[:n]
        return self._decoded(<const uint8_t*> PyBytes_AS_STRING(together), n_kept + n, final)

    cdef str _decoded(self, const uint8_t* data, size_t n, bint final):
        """Decode n bytes, including those that waited; let an incomplete character wait, unless `final` is set."""
        cdef Py_ssize_t n_read = 0
        cdef str text
        if final:
            text = PyUnicode_DecodeUTF8(<const char*> data, <Py_ssize_t> n, self._errors)
            self._state.n_kept = 0
            return text
        text = PyUnicode_DecodeUTF8Stateful(<const char*> data, <Py_ssize_t> n, self._errors, &n_read)
        self._state.n_kept = n - <size_t> n_read
        if self._state.n_kept > MAX_KEPT_BYTES:  # an error handler has replaced exc.object: n_read counts its bytes
            self._state.n_kept = 0
        memcpy(self._state.kept, data + n_read, self._state.n_kept)
        return text

    # Byte fallback like Hugging Face's ByteFallback decoder: a run of byte tokens is decoded together

    cdef str _add_to_runs(self, int64_t value, const uint8_t* data, size_t n):
        """Return the text that a token completes, decoding runs of byte tokens together."""
        cdef str text
        if n == 0:  # does not end a run
            return ""
        if n == 1 and value in self._byte_ids:
            return self._first(self._add_byte(data[0]))
        text = REPLACEMENT * self._state.n_kept
        self._state.n_kept = 0
        self._state.is_broken = False
        if self._state.is_start and not text and value in self._first_texts:
            self._state.is_start = False
            return (<bytes> self._first_texts[value]).decode()
        return self._first(text + PyUnicode_DecodeUTF8(<const char*> data, <Py_ssize_t> n, NULL))

    cdef str _add_byte(self, uint8_t byte):
        """Return the text that a byte token completes.

        At the first invalid byte of a run, the bytes that wait and each byte from there on become U+FFFD.
        """
        cdef Py_ssize_t n_read = 0
        cdef str text
        cdef size_t n
        if self._state.is_broken:
            return REPLACEMENT
        self._state.kept[self._state.n_kept] = byte
        self._state.n_kept += 1
        n = self._state.n_kept
        try:
            text = PyUnicode_DecodeUTF8Stateful(<const char*> self._state.kept, <Py_ssize_t> n, NULL, &n_read)
        except UnicodeDecodeError:
            text = REPLACEMENT * n
            self._state.is_broken = True
            n_read = <Py_ssize_t> n
        if n_read:
            self._state.n_kept = 0
        return text

    cdef str _first(self, str text):
        """Drop the leading space of the first text of a stream."""
        if not self._state.is_start or not text:
            return text
        self._state.is_start = False
        return text[1:] if text[0] == " " else text


cdef object _as_id(object ids):
    """Convert an id of any integer type to an int; None for a sequence of ids. Raises TypeError for a bool."""
    if isinstance(ids, bool):
        raise TypeError(f"an id must be an integer, not the bool {ids}")
    try:
        return operator.index(ids)
    except TypeError:
        return None
