"""Encoder: compiled base of Tokenizer. It handles arguments, special tokens, threads and the form of the results.

`Tokenizer` declares and documents the public methods.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from cpython.object cimport PyObject
from libc.stdint cimport int64_t
from libc.string cimport memcpy

from fastbpe._core.normalize.unicode_forms cimport Front
from fastbpe._core.encode.untrusted_ids cimport Guard
from fastbpe._core.ids.int_table cimport ints_so_far
from fastbpe._core.encode.parallel cimport Jobs
from fastbpe._core.encode.count_limits cimport count_up_to
from fastbpe._core.common.id_buffer cimport Ids, ids_expect, ids_free
from fastbpe._core.normalize.codepoint_steps cimport Normalizing
from fastbpe._core.ids.id_lists cimport (
    Array, append_ids, expect_items, fit_list, hide, ids_array, ids_list, int64_array, new_list, show, show_all,
    take_spare,
)
from fastbpe._core.encode.pipeline cimport Pipeline, Scratch
from fastbpe._core.encode.short_texts cimport is_short, short_list, short_list_by
from fastbpe._core.text.special_tokens cimport SpecialMatcher
from fastbpe._core.split.splitter cimport Splitter
from fastbpe._core.encode.offsets cimport Spans, encode_spans, spans_free, spans_list, to_characters
from fastbpe._core.text.utf8_text cimport Text, Utf8, prefetch_after, text_of, text_release, utf8_of, utf8_release
from fastbpe._core.merge.vocabulary cimport Vocabulary
from fastbpe._core.text.text_batches cimport Windows

from fastbpe._utils.arguments import integer
from fastbpe.errors import note_place
from fastbpe._utils.threads import usable_threads

cdef enum:
    NOGIL_UNITS = 1 << 13  # below this, handing the GIL over costs more than it gives
    THREADS_UNITS = 1 << 18  # below this, waking threads up costs more than they give

cdef size_t MOST = <size_t> 1 << 62  # ids, or bytes: nobody has so many
cdef object NOTHING = frozenset()
cdef str ALL = "all"


cdef class Encoder:
    """Encoder of text with one vocabulary, one splitter and one set of special tokens.

    Args:
        vocabulary: Vocabulary of the ordinary tokens.
        splitter: Splitter of texts into pieces.
        special: SpecialTokens, or any object with the same `choose`, `always`, `trusted` and `untrusted`; None: there
            are no special tokens.
        front: normalizer of text in byte mode; None: none.
        cache_bytes: most bytes of memory for the piece caches of all threads together.
        normalizing: normalizer of text in code-point mode.
        trimmer: function that trims offsets: (ids, offsets, tokens found) -> offsets; None: offsets stay.
    """

    def __init__(
        self, Vocabulary vocabulary not None, Splitter splitter not None, *, special=None,
        Front front=None, cache_bytes=64 << 20, Normalizing normalizing=None, trimmer=None,
    ):
        always = None if special is None else special.always
        self._special = special
        self._trimmer = trimmer
        # Last: other threads may look whether it is there.
        self._pipeline = Pipeline(
            vocabulary, splitter, min(cache_bytes, MOST), front=front, always=always, normalizing=normalizing
        )

    cdef Pipeline _ready(self):
        if self._pipeline is None:
            self._prepare()
        return self._pipeline

    def _prepare(self):
        """Called where there is need of what __init__ makes; a class may leave it until then."""
        raise RuntimeError(f"{type(self).__name__}.__init__ was not called")

    cdef tuple _matchers(self, object allowed, object disallowed):
        self._ready()
        if self._special is None:
            return None, None
        if allowed is NOTHING and disallowed is ALL:
            return None, self._all()
        return self._special.choose(allowed, disallowed)

    cdef SpecialMatcher _all(self):
        """The matcher of all special tokens, which nearly every call forbids."""
        if not self._has_all_special:
            self._ready()
            if self._special is not None:
                self._all_special = self._special.choose(NOTHING, ALL)[1]
            self._has_all_special = True
        return self._all_special

    # One text

    def encode(self, text, *, allowed_special=NOTHING, disallowed_special=ALL, num_threads=None):
        """Encode a text. See `Tokenizer.encode`."""
        if allowed_special is NOTHING and disallowed_special is ALL:
            return self._to_list(text, None, self._all(), num_threads)
        allowed, disallowed = self._matchers(allowed_special, disallowed_special)
        return self._to_list(text, allowed, disallowed, num_threads)

    def encode_ordinary(self, text, *, num_threads=None):
        """Encode a text, special tokens like any other text. See `Tokenizer.encode_ordinary`."""
        return self._to_list(text, None, None, num_threads)

    cdef list _to_list(self, object text, SpecialMatcher allowed, SpecialMatcher disallowed, object num_threads):
        cdef Pipeline pipeline = self._ready()
        cdef Scratch* scratch
        cdef int n_threads
        cdef Jobs jobs
        cdef list lists, out = None
        if allowed is None and num_threads is None and is_short(pipeline, text):
            out = short_list(pipeline, text, disallowed)
            if out is not None:
                return out
        if self._is_long(text, num_threads):
            n_threads = self._n_threads(num_threads)
            if n_threads > 1 and pipeline.may_cut(allowed, disallowed):
                jobs = Jobs(pipeline, [text], allowed, disallowed, False)
                if jobs.n_jobs > 1:
                    lists = []
                    jobs.add_lists(n_threads, lists)
                    return show(lists[0])
        scratch = pipeline.take()
        try:
            # Without a row of ints there is hardly an id whose int was made.
            if ints_so_far().n_row and isinstance(text, (str, bytes)) and len(text) >= NOGIL_UNITS:
                out = new_list(0)
                hide(out)  # it is filled without the GIL
                scratch.out = <PyObject*> out
            self._append(text, allowed, disallowed, scratch, NULL)
            if out is None:
                return ids_list(scratch.ids.items, scratch.ids.n)
            append_ids(out, scratch.ids.items, scratch.ids.n)
            fit_list(out)
            return show(out)
        finally:
            pipeline.give(scratch)

    cdef bint _is_long(self, object text, object num_threads) except -1:
        """Whether threads may pay for one text."""
        if num_threads is not None:
            usable_threads(num_threads)  # a ValueError, whatever the text
        return isinstance(text, (str, bytes)) and len(text) >= THREADS_UNITS

    cdef int _append(
        self, object text, SpecialMatcher allowed, SpecialMatcher disallowed, Scratch* scratch, size_t* count
    ) except -1:
        """Append the ids of a text to the scratch, or add their number to count."""
        cdef Text view
        text_of(text, &view)
        try:
            if view.n < NOGIL_UNITS:
                self._pipeline.hold_gil(scratch, view.n)
                self._pipeline.encode(&view, 0, view.n, allowed, disallowed, scratch, count)
            else:
                scratch.n_held = 0
                if scratch.out != NULL:
                    expect_items(<list> scratch.out, view.n // 3)
                elif count == NULL:
                    ids_expect(&scratch.ids, view.n // 4)
                with nogil:
                    self._pipeline.encode(&view, 0, view.n, allowed, disallowed, scratch, count)
        finally:
            text_release(&view)
        return 0

    cdef int _n_threads(self, object num_threads) except -1:
        return 1 if self._pipeline.splitter.holds_gil else usable_threads(num_threads)

    def encode_parts(self, parts):
        """Encode (text, trusted) parts. See `Tokenizer.encode_parts`."""
        if parts is None:
            raise TypeError("parts must be a list of (text, trusted), not None")
        cdef Pipeline pipeline = self._ready()
        cdef SpecialMatcher trusted = None, untrusted = None
        cdef Guard guard = self._guarding()
        cdef size_t start
        if self._special is not None:
            trusted, untrusted = self._special.trusted, self._special.untrusted
        cdef Scratch* scratch = pipeline.take()
        try:
            for part in parts:
                PyErr_CheckSignals()
                if not isinstance(part, (tuple, list)) or len(part) != 2:
                    raise TypeError(f"each of parts must be (text, trusted), not {part!r:.80}")
                start = scratch.ids.n
                if part[1]:
                    self._append(part[0], trusted, None, scratch, NULL)
                else:
                    self._append(part[0], untrusted, None, scratch, NULL)
                    guard.replace(&scratch.ids, start)
            return ids_list(scratch.ids.items, scratch.ids.n)
        finally:
            pipeline.give(scratch)

    cdef Guard _guarding(self):
        if self._guard is None:
            self._guard = Guard(self._spelled_out())
        return self._guard

    def _spelled_out(self):
        """Ids that untrusted text may become and must not, each with the ids that take its place."""
        return {}

    def encode_with_offsets(self, text, *, allowed_special=NOTHING, disallowed_special=ALL):
        """Encode a text, and give the (start, end) of each id. See `Tokenizer.encode_with_offsets`."""
        cdef list found
        if self._trimmer is None:
            return self._encode_with_places(text, allowed_special, disallowed_special)
        found = []
        ids, offsets = self._encode_with_places(text, allowed_special, disallowed_special, found)
        return ids, self._trimmer(ids, offsets, found)

    def _encode_with_places(self, text, allowed_special, disallowed_special, list found=None):
        """(ids, offsets), nothing of which is trimmed.

        found: gets (index of the id, what was found) of special and added tokens; None: nobody asks.
        """
        cdef Pipeline pipeline = self._ready()
        cdef SpecialMatcher allowed, disallowed
        cdef Scratch* scratch
        cdef Text view
        cdef Utf8 utf8
        cdef Spans spans = Spans(NULL, 0, 0)
        allowed, disallowed = self._matchers(allowed_special, disallowed_special)
        if isinstance(text, (bytearray, memoryview)):
            text = bytes(text)  # looked at twice below
        scratch = pipeline.take()
        try:
            text_of(text, &view)
            try:
                utf8_of(text, &utf8)
                try:
                    with nogil:
                        encode_spans(pipeline, utf8.data, utf8.n, allowed, disallowed, scratch, &spans, found)
                        to_characters(&view, &spans)
                    return ids_list(scratch.ids.items, scratch.ids.n), spans_list(&spans)
                finally:
                    utf8_release(&utf8)
                    spans_free(&spans)
            finally:
                text_release(&view)
        finally:
            pipeline.give(scratch)

    def count(self, text, *, limit=None, num_threads=None):
        """Count the ids of `encode_ordinary`. See `Tokenizer.count`."""
        cdef Pipeline pipeline = self._ready()
        cdef Scratch* scratch
        cdef size_t count = 0
        if limit is not None:
            return self._count_up_to(text, limit)
        if self._is_long(text, num_threads):
            return (<int64_t*> self._counts((text,), num_threads)._items)[0]
        scratch = pipeline.take()
        try:
            self._append(text, None, None, scratch, &count)
        finally:
            pipeline.give(scratch)
        return count

    cdef size_t _count_up_to(self, object text, object limit) except? 0:
        cdef Pipeline pipeline = self._ready()
        cdef Scratch* scratch
        cdef Text view
        cdef size_t most, count
        limit = integer("limit", limit)
        if limit < 0:
            raise ValueError(f"limit={limit!r}: give how many ids to count, 0 or more")
        most = min(limit, MOST)
        text_of(text, &view)
        try:
            scratch = pipeline.take()
            try:
                with nogil:
                    count = count_up_to(pipeline, &view, 0, view.n, most, scratch)
            finally:
                pipeline.give(scratch)
        finally:
            text_release(&view)
        return count

    def _count_to_array(self, texts, num_threads):
        """How many ids each text has: an int64 array."""
        return self._counts(texts, num_threads)

    # Many texts

    def encode_batch(self, texts, *, num_threads=None, allowed_special=NOTHING, disallowed_special=ALL):
        """Encode each text as `encode` does. See `Tokenizer.encode_batch`."""
        allowed, disallowed = self._matchers(allowed_special, disallowed_special)
        return self._to_lists(texts, allowed, disallowed, num_threads)

    def encode_ordinary_batch(self, texts, *, num_threads=None):
        """Encode each text as `encode_ordinary` does. See `Tokenizer.encode_ordinary_batch`."""
        return self._to_lists(texts, None, None, num_threads)

    cdef list _to_lists(self, object texts, SpecialMatcher allowed, SpecialMatcher disallowed, object num_threads):
        cdef Pipeline pipeline = self._ready()
        cdef list out = [], window
        cdef int n_threads
        cdef Windows windows = Windows(texts)
        # Until the end the garbage collector is told of none of the lists: it would look through them again and again.
        hide(out)
        while window := windows.next():
            n_threads = self._threads_for(windows.n_units, num_threads)
            try:
                if n_threads > 1:
                    Jobs(pipeline, window, allowed, disallowed, False).add_lists(n_threads, out)
                else:
                    self._add_lists(window, allowed, disallowed, out)
            except ValueError as error:
                self._tell_which(windows, allowed, disallowed, error)
                raise
        show_all(out)
        return out

    cdef int _tell_which(
        self, Windows windows, SpecialMatcher allowed, SpecialMatcher disallowed, object error
    ) except -1:
        """Note at the error of a window of texts which of them it is for: the first that has one, as it was raised."""
        cdef Py_ssize_t i
        for i in range(len(windows.texts)):
            try:
                self._to_list(windows.texts[i], allowed, disallowed, 1)
            except ValueError:
                note_place(error, f"texts[{windows.first + i}]")
                return 0
        return 0

    cdef int _add_lists(self, list window, SpecialMatcher allowed, SpecialMatcher disallowed, list out) except -1:
        """Append a hidden list of the ids of each text."""
        cdef Scratch* scratch = self._pipeline.take()
        cdef size_t i = 0
        cdef list ids
        try:
            for text in window:
                PyErr_CheckSignals()
                prefetch_after(window, i)
                i += 1
                if allowed is None and is_short(self._pipeline, text):
                    ids = short_list_by(scratch, self._pipeline, text, disallowed)
                    if ids is not None:
                        hide(ids)
                        out.append(ids)
                        continue
                scratch.ids.n = 0
                self._append(text, allowed, disallowed, scratch, NULL)
                ids = ids_list(scratch.ids.items, scratch.ids.n)
                hide(ids)
                out.append(ids)
        finally:
            self._pipeline.give(scratch)
        return 0

    def _encode_to_array(self, texts, allowed_special, disallowed_special, num_threads):
        """(uint32 array of the ids of all texts end to end, int64 array of where each begins and the last ends)."""
        cdef Pipeline pipeline = self._ready()
        cdef SpecialMatcher allowed, disallowed
        cdef list window, parts = []
        cdef Ids ids = Ids(NULL, 0, 0)
        cdef size_t n_units = 0, n_spare = 0  # of the texts so far, and of those that there is room for
        cdef Array counts
        allowed, disallowed = self._matchers(allowed_special, disallowed_special)
        cdef Windows windows = Windows(texts)
        try:
            while window := windows.next():
                counts = int64_array(len(window))
                parts.append(counts)
                n_units += windows.n_units
                if len(parts) == 1:
                    n_spare = take_spare(&ids, n_units)
                try:
                    self._append_window(
                        window, windows.n_units, allowed, disallowed, &ids, n_units <= n_spare, counts, num_threads
                    )
                except ValueError as error:
                    self._tell_which(windows, allowed, disallowed, error)
                    raise
            return ids_array(&ids, n_units), _offsets(parts)
        finally:
            ids_free(&ids)

    cdef int _append_window(
        self, list window, size_t n_units, SpecialMatcher allowed, SpecialMatcher disallowed, Ids* ids, bint has_room,
        Array counts, object num_threads,
    ) except -1:
        """Append the ids of texts of so many units to ids, and store how many each has.

        has_room: ids have room for them already.
        """
        cdef int64_t* n_ids = <int64_t*> counts._items
        cdef int n_threads = self._threads_for(n_units, num_threads)
        cdef Scratch* scratch
        cdef Ids own
        cdef Jobs jobs
        cdef size_t before, i = 0
        if n_threads > 1:
            jobs = Jobs(self._pipeline, window, allowed, disallowed, False)
            jobs.run_into(ids, has_room, n_threads)
            jobs.add_counts(n_ids)
            return 0
        if not has_room:
            ids_expect(ids, n_units // 3)  # of English a little more than it takes, of others less
        scratch = self._pipeline.take()
        own, scratch.ids = scratch.ids, ids[0]  # the ids go where they are to stay
        try:
            for text in window:
                PyErr_CheckSignals()
                prefetch_after(window, i)
                before = scratch.ids.n
                self._append(text, allowed, disallowed, scratch, NULL)
                n_ids[i] = scratch.ids.n - before
                i += 1
        finally:
            ids[0], scratch.ids = scratch.ids, own
            self._pipeline.give(scratch)
        return 0

    cdef Array _counts(self, object texts, object num_threads):
        """How many ids each text has: an int64 array."""
        cdef list window, parts = []
        cdef Array counts
        cdef Windows windows = Windows(texts)
        while window := windows.next():
            counts = int64_array(len(window))
            parts.append(counts)
            try:
                self._count_window(window, windows.n_units, <int64_t*> counts._items, num_threads)
            except ValueError as error:
                self._tell_which(windows, None, None, error)
                raise
        return _joined(parts)

    cdef int _count_window(self, list window, size_t n_units, int64_t* n_ids, object num_threads) except -1:
        """Store how many ids each of the texts has, which are of so many units."""
        cdef Pipeline pipeline = self._ready()
        cdef Scratch* scratch
        cdef Jobs jobs
        cdef size_t count, i = 0
        cdef int n_threads = self._threads_for(n_units, num_threads)
        if n_threads > 1:
            jobs = Jobs(pipeline, window, None, None, True)
            jobs.run(n_threads)
            jobs.add_counts(n_ids)
            return 0
        scratch = pipeline.take()
        try:
            for text in window:
                PyErr_CheckSignals()
                prefetch_after(window, i)
                count = 0
                self._append(text, None, None, scratch, &count)
                n_ids[i] = count
                i += 1
        finally:
            pipeline.give(scratch)
        return 0

    cdef int _threads_for(self, size_t n_units, object num_threads) except -1:
        """How many threads to encode texts of so many units with."""
        if num_threads is not None and usable_threads(num_threads) == 1:
            return 1
        return self._n_threads(num_threads) if n_units >= THREADS_UNITS else 1


cdef Array _joined(list parts):
    """Arrays of int64 end to end."""
    cdef Array out, part
    cdef size_t at = 0
    if len(parts) == 1:
        return parts[0]
    out = int64_array(sum(map(len, parts)))
    for part in parts:
        memcpy(<int64_t*> out._items + at, part._items, part._n * sizeof(int64_t))
        at += part._n
    return out


cdef Array _offsets(list counts):
    """Where each of the things counted begins, and the last one ends: an int64 array."""
    cdef Array joined = _joined(counts)
    cdef Array out = int64_array(joined._n + 1)
    cdef int64_t* offsets = <int64_t*> out._items
    cdef Py_ssize_t i
    for i in range(joined._n):
        offsets[i + 1] = offsets[i] + (<int64_t*> joined._items)[i]
    return out
