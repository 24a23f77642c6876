"""Encode one text on one thread: the steps from a text to text that is ready to be split.

    text
     │  encode, count              cut a long text into stretches that fit into the second-level cache
     │  _encode_stretch            transcode to UTF-8; refuse disallowed special tokens
     │  _find_added_tokens         special and added tokens become ids
     ▼
    text between tokens
     │  _normalize                 apply the normalizer of a tokenizer.json or of sentencepiece
     │  _find_normalized_tokens    added tokens with "normalized": true become ids
     │  _put_prefix                put a space before the text, if the pre-tokenizer does so
     ▼
    text to be split
     │  piece_steps                split by the pattern; merge the pieces
     ▼
    scratch.ids, or a list in scratch.out, or a count

With scratch.spans, the span of each id is recorded as well; see `piece_spans` and `codepoint_spans`.

Each step calls the next one with the text that it outputs, so the ids are in the order of the text.

In code-point mode (sentencepiece, and tokenizer.json files like Llama 2's) the base symbols of the vocabulary are
code points, and the pipeline has a `Normalizing`. Everything else is byte mode: the base symbols are bytes, or
characters if the vocabulary has SpelledSymbols.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memset

from fastbpe._core.common.byte_buffer cimport buffer_reset
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.id_buffer cimport ids_expect, ids_reserve
from fastbpe._core.common.interrupts cimport check_signals
from fastbpe._core.common.places cimport Places
from fastbpe._core.common.utf8 cimport fb_char_bytes, is_metaspace
from fastbpe._core.encode.codepoint_spans cimport spans_at_offsets, spans_at_sources
from fastbpe._core.encode.piece_spans cimport (
    add_found, n_spans, shift_spans, spans_at_places, spans_without_prefix,
)
from fastbpe._core.encode.piece_steps cimport PieceSteps
from fastbpe._core.encode.scratch_pool cimport Scratch, ScratchPool, note_token, put_space_before
from fastbpe._core.encode.table_ids cimport take_code
from fastbpe._core.ids.id_lists cimport expect_items
from fastbpe._core.normalize.sentencepiece_normalizer cimport Normalized, no_memory, normalized_free
from fastbpe._core.normalize.text_steps cimport Front
from fastbpe._core.split.splitter cimport ends_start_text
from fastbpe._core.text.safe_cuts cimport BEFORE_SPACE, border_of, safe_cut, safe_cut_near
from fastbpe._core.text.special_tokens cimport Match, SpecialMatcher
from fastbpe._core.text.utf8_text cimport Text, text_unit, text_utf8, utf8_capacity

from fastbpe.errors import SpecialTokenError

cdef enum:
    STRETCH_UNITS = 1 << 16  # units of a long text that go through all steps before the next stretch
    GROUP_IDS = 1 << 12  # ids that the last group of pieces may reserve in addition to one per byte


@cython.final
cdef class Pipeline:
    """Steps that turn a text into ids, for any number of threads, each with its own Scratch.

    pieces: the last steps, which split text and merge its pieces.
    cache_bytes: bytes that the piece caches of all threads together may take.
    front: the normalizer in byte mode, which may also put a space before a text; in code-point mode, steps that
        run before `normalizing`. None: no such steps.
    always: matcher of the added tokens that are found in any text, without the special tokens; None: no such tokens.
    pool: buffers and caches of another pipeline with the same vocabulary; None: create a pool.
    """

    def __cinit__(
        self, PieceSteps pieces not None, size_t cache_bytes, *, Front front=None, SpecialMatcher always=None,
        ScratchPool pool=None
    ):
        self.pieces = pieces
        self.vocabulary, self.splitter, self.normalizing = pieces.vocabulary, pieces.splitter, pieces.normalizing
        self.stages, self.phases = pieces.stages, pieces.phases
        self.front = front
        self.form = None if front is None else front.form
        self.always = always
        self.pool = ScratchPool(self.vocabulary, cache_bytes, phases=self.phases) if pool is None else pool
        self.is_plain = (
            front is None and always is None and self.normalizing is None and self.stages is None
            and not self.vocabulary.drops_bytes and self.vocabulary.spelled is None
        )
        self.only_prefixes = self.phases is None and (
            self.is_plain or self.normalizing is not None and always is None and self.normalizing.only_prefixes
            and front is None
        )
        self.may_defer = self.phases is None and (
            self.normalizing is None or self.normalizing.fused == NONE and self.normalizing.table is None
        )

    cdef Pipeline finding(self, SpecialMatcher tokens):
        """Return a pipeline that finds these tokens in any text. It shares the caches of this one."""
        return Pipeline(self.pieces, 0, front=self.front, always=tokens, pool=self.pool)

    @property
    def cache_bytes(self):
        """Bytes that the piece caches of all threads together may take."""
        return self.pool.cache_bytes

    @property
    def used_bytes(self):
        """Bytes of the piece caches of threads that are not encoding."""
        return self.pool.used_bytes()

    # Cutting long texts

    cdef bint may_cut(self, SpecialMatcher allowed, SpecialMatcher disallowed) noexcept nogil:
        """Tell whether the parts between the cuts of cut() have the ids of the whole text."""
        if self.stages is not None or (self.normalizing is not None and not self.normalizing.cuttable):
            return False
        if not self.splitter.cuttable or not (disallowed is None or disallowed.cuttable):
            return False
        if allowed is None:
            return self._may_cut_finding(self.always)
        return self._may_cut_finding(allowed)

    cdef bint _may_cut_finding(self, SpecialMatcher tokens) noexcept nogil:
        """Do the work of may_cut() for a text in which `tokens` are found."""
        if self.front is not None and (self.form is None or self.front.prefix_space):
            return False  # other steps may look beyond a cut, and each part would get the space
        if tokens is None:
            return True
        if self.normalizing is not None and tokens.ends_in_word:
            return False  # text after such a token is normalized separately; after a cut it is not
        # Front and normalizer may turn text around a cut into a token of `then`.
        return tokens.cuttable and (tokens.then is None or self.front is None and self.normalizing is None)

    cdef size_t cut(self, const Text* text, size_t start, size_t near) noexcept nogil:
        """Return the last safe cut in (start, near], or else the next one, or else the end.

        In code-point mode the cut is before a space that begins a word. In byte mode it is a safe cut
        for which keeps_cut() is true.

        Requires: may_cut().
        """
        cdef size_t position
        if self.normalizing is not None:
            return safe_cut(text, start, near, text.n, BEFORE_SPACE)
        position = safe_cut_near(text, start, near)
        if self.form is not None or self.pieces.joins_pieces:
            while position < text.n and not self.keeps_cut(text, position):
                position = safe_cut_near(text, position, position + 1)
        return position

    cdef bint keeps_cut(self, const Text* text, size_t position) noexcept nogil:
        """Tell whether a cut of the splitter is also one for the front and for superwords."""
        if self.form is not None and not self.form.keeps_before(text, position):
            return False
        return not (
            self.pieces.joins_pieces
            and self.phases.phases.borders[border_of(text_unit(text, position - 1), text_unit(text, position))]
        )

    # The steps of a text

    cdef int encode(
        self, const Text* text, size_t start, size_t end, SpecialMatcher allowed, SpecialMatcher disallowed,
        Scratch* scratch
    ) except -1 nogil:
        """Append the ids of a part of a text to scratch.ids, or move them to the list scratch.out.

        start, end: the part, in units; the whole text, or a part cut by cut().
        allowed: matcher of special and added tokens; None: `always`.
        disallowed: matcher of special tokens that raise SpecialTokenError; None: no token raises.
        """
        cdef size_t cut
        cdef bint may_cut = end - start > STRETCH_UNITS and self.may_cut(allowed, disallowed)
        while start < end:
            cut = end
            if may_cut and end - start > STRETCH_UNITS:
                cut = min(self.cut(text, start, start + STRETCH_UNITS), end)
            self._encode_stretch(text, start, cut, allowed, disallowed, scratch)
            start = cut
            if start < end:
                check_signals(&scratch.watch)
        return 0

    cdef size_t count(
        self, const Text* text, size_t start, size_t end, SpecialMatcher allowed, SpecialMatcher disallowed,
        Scratch* scratch
    ) except? <size_t> -1 nogil:
        """Return how many ids encode() would append. They are dropped in groups, so they take no memory.

        Requires: scratch.ids is empty.
        Ensures: it is empty again.
        """
        scratch.counts_only = True  # after an error, the pool clears it
        scratch.n_counted = 0
        self.encode(text, start, end, allowed, disallowed, scratch)
        scratch.counts_only = False
        return scratch.n_counted

    cdef int _encode_stretch(
        self, const Text* text, size_t start, size_t end, SpecialMatcher allowed, SpecialMatcher disallowed,
        Scratch* scratch
    ) except -1 nogil:
        """Transcode units start to end to UTF-8, raise for a disallowed token, and encode the text."""
        cdef const uint8_t* data
        cdef size_t n = end - start
        if n > 2 * STRETCH_UNITS and not scratch.counts_only:
            # A text without cuts: reserve memory at once, because a growing buffer is copied many times.
            if scratch.out != NULL:
                with gil:
                    expect_items(<list> scratch.out, n * text.unit + GROUP_IDS)
            else:
                ids_expect(&scratch.ids, n * text.unit + GROUP_IDS)
        if text.is_utf8:
            data = <const uint8_t*> text.data + start
        else:
            buffer_reset(&scratch.utf8, utf8_capacity(text, n))
            n = text_utf8(text, start, end, scratch.utf8.items)
            data = scratch.utf8.items
        return self.encode_utf8(data, n, allowed, disallowed, start == 0, end == text.n, scratch)

    cdef int encode_utf8(
        self, const uint8_t* data, size_t n, SpecialMatcher allowed, SpecialMatcher disallowed, bint is_first,
        bint is_last, Scratch* scratch
    ) except -1 nogil:
        """Do the work of encode() for UTF-8. is_first, is_last: data begins, ends where the whole text does."""
        cdef Match match
        ends_start_text(&scratch.ends, data)
        if disallowed is not None and disallowed.find(data, n, 0, &match):
            with gil:
                raise SpecialTokenError.disallowed(disallowed.tokens[match.index].decode(), disallowed.every)
        if allowed is None:
            return self._find_added_tokens(data, n, self.always, is_first, is_last, scratch)
        return self._find_added_tokens(data, n, allowed, is_first, is_last, scratch)

    cdef int _find_added_tokens(
        self, const uint8_t* data, size_t n, SpecialMatcher tokens, bint is_first, bint is_last, Scratch* scratch
    ) except -1 nogil:
        """Append the ids of special and added tokens, and encode the text between them.

        is_first, is_last: whether data begins where the whole text begins, and ends where it ends.
        """
        cdef size_t at = 0, first
        cdef Match match
        scratch.at_start = is_first
        if tokens is None:
            return self._normalize(data, n, None, is_first, is_last, scratch)
        match.end = match.resume = 0
        while tokens.next(data, n, &match):
            if at < match.start:
                first = n_spans(scratch)
                self._normalize(data + at, match.start - at, tokens.then, is_first, True, scratch)
                shift_spans(scratch, first, at)
            add_found(scratch, data, &match)
            at = match.end
            is_first = True
            scratch.at_start = False
        first = n_spans(scratch)
        self._normalize(data + at, n - at, tokens.then, is_first, is_last, scratch)
        shift_spans(scratch, first, at)
        return 0

    cdef int _normalize(
        self, const uint8_t* data, size_t n, SpecialMatcher then, bint is_first, bint is_last, Scratch* scratch
    ) except -1 nogil:
        """Normalize text between tokens.

        then: matcher of the added tokens to find in normalized text; None: no tokens.
        is_first, is_last: whether data begins, and ends, at a token or an end of the whole text, and not at a cut.
        """
        cdef size_t first
        if self.normalizing is not None:
            if self.front is not None:
                return self._change_code_points(data, n, then, scratch)
            if self.normalizing.table is not None and is_first:
                return self._normalize_with_table(data, n, then, is_last, scratch)
            return self._normalize_code_points(data, n, then, is_first, is_last, scratch)
        if self.stages is not None and self.stages.needs_first:
            self.note_first(data, n, scratch)
        if self.front is None:
            return self._find_normalized_tokens(data, n, then, is_first, scratch)
        if not self.front.apply(data, n, &scratch.changed, NULL if scratch.spans == NULL else &scratch.places):
            return self._find_normalized_tokens(data, n, then, is_first, scratch)
        scratch.ends.text = scratch.changed.items
        first = n_spans(scratch)
        self._find_normalized_tokens(scratch.changed.items, scratch.changed.n, then, is_first, scratch)
        if scratch.spans != NULL:
            spans_at_places(scratch.spans, first, &scratch.places)
        return 0

    cdef int _change_code_points(
        self, const uint8_t* data, size_t n, SpecialMatcher then, Scratch* scratch
    ) except -1 nogil:
        """Do the work of _normalize_code_points() for a whole text between tokens, which the front changes first."""
        cdef size_t first = n_spans(scratch)
        cdef Places* places = NULL if scratch.spans == NULL else &scratch.places
        cdef bint changes
        if n == 0:  # an empty text, or no text after the last token: SigLIP's front would put an unknown token there
            return 0
        if scratch.at_start and self.front.first is not None:
            changes = self.front.first.apply(data, n, &scratch.changed, places)
        else:
            changes = self.front.apply(data, n, &scratch.changed, places)
        if not changes:
            return self._normalize_code_points(data, n, then, True, True, scratch)
        scratch.ends.text = scratch.changed.items
        self._normalize_code_points(scratch.changed.items, scratch.changed.n, then, True, True, scratch)
        if scratch.spans != NULL:
            spans_at_sources(scratch.spans, first, &scratch.places, n)
        return 0

    cdef int note_first(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil:
        """Set scratch.n_first: number of bytes that the first character of the whole text becomes when normalized.

        data, n: a text between tokens that is not normalized yet.
        """
        cdef size_t n_bytes, i = 0
        scratch.n_first = 0
        if not scratch.at_start or n == 0:
            return 0
        n_bytes = min(fb_char_bytes(data[0]), n)
        # The stages overwrite staged.places later; until then it is free.
        if self.front is not None and self.front.apply(data, n, &scratch.changed, &scratch.staged.places):
            # Inserted text counts, too: its place is FB_NOWHERE, and FB_NOWHERE + 1 is 0.
            while i < scratch.changed.n and scratch.staged.places.items[i] + 1 <= n_bytes:
                i += 1
            scratch.n_first = i
        else:
            scratch.n_first = n_bytes
        return 0

    cdef int _normalize_with_table(
        self, const uint8_t* data, size_t n, SpecialMatcher then, bint is_last, Scratch* scratch
    ) except -1 nogil:
        """Do the work of _normalize_code_points() for a text that may begin with a code (>>…<<, see table_ids)."""
        cdef size_t n_bytes = take_code(self.normalizing.table, data, n, scratch)
        cdef size_t first = n_spans(scratch)
        self._normalize_code_points(data + n_bytes, n - n_bytes, then, True, is_last, scratch)
        shift_spans(scratch, first, n_bytes)
        return 0

    cdef int _normalize_code_points(
        self, const uint8_t* data, size_t n, SpecialMatcher then, bint is_first, bint is_last, Scratch* scratch
    ) except -1 nogil:
        """Normalize the text between special and added tokens, in code-point mode.

        A text of several stretches is one run of the normalizer: begin() at the first of them, go_on() at the
        others, finish() at the end of the last.
        """
        cdef Normalized* out = &scratch.normalized
        cdef int failed
        if is_first:
            scratch.after_fused = False
        if n == 0:
            return 0
        if scratch.spans != NULL:
            return self._trace_code_points(data, n, then, scratch)
        if self.normalizing.normalizer is None:
            if is_first and self.normalizing.dummy_prefix:
                put_space_before(scratch, &data, &n)
            return self._find_normalized_tokens(data, n, then, is_first, scratch)
        if is_first:
            failed = self.normalizing.normalizer.begin(data, n, out)
            if failed == 0 and out.at == n:
                return 0  # only spaces, which the normalizer removes
        else:
            failed = self.normalizing.normalizer.go_on(out)
        if failed != 0 or self.normalizing.normalizer.advance(data, n, n, out) != 0:
            no_memory(n)
        if is_last and self.normalizing.normalizer.finish(out) != 0:
            no_memory(n)
        return self._find_normalized_tokens(out.data, out.n, then, is_first, scratch)

    cdef int _trace_code_points(
        self, const uint8_t* data, size_t n, SpecialMatcher then, Scratch* scratch
    ) except -1 nogil:
        """Do the work of _normalize_code_points() for a whole text between tokens, and record spans."""
        cdef Normalized out
        cdef size_t first = scratch.spans.n
        if self.normalizing.normalizer is None:
            scratch.begins_with_space = self.normalizing.dummy_prefix
            if self.normalizing.dummy_prefix:
                put_space_before(scratch, &data, &n)
            self._find_normalized_tokens(data, n, then, True, scratch)
            if self.normalizing.dummy_prefix:
                spans_without_prefix(scratch.spans, first, 0)
            return 0
        memset(&out, 0, sizeof(out))
        try:
            self.normalizing.normalizer.run_with_offsets(data, n, &out)
            if out.n:
                scratch.begins_with_space = self.normalizing.normalizer._dummy_prefix
                self._find_normalized_tokens(out.data, out.n, then, True, scratch)
                spans_at_offsets(scratch.spans, first, &out)
        finally:
            normalized_free(&out)
        return 0

    cdef int _find_normalized_tokens(
        self, const uint8_t* data, size_t n, SpecialMatcher then, bint is_first, Scratch* scratch
    ) except -1 nogil:
        """Append the ids of tokens found in normalized text, and encode the text between them."""
        cdef size_t at = 0, first
        cdef Match match
        if then is not None:
            match.end = match.resume = 0
            while then.next(data, n, &match):
                if at < match.start:
                    first = n_spans(scratch)
                    self._put_prefix(data + at, match.start - at, is_first, scratch)
                    shift_spans(scratch, first, at)
                add_found(scratch, data, &match)
                scratch.after_fused = scratch.begins_with_space = False
                note_token(scratch, match.end - at)
                at = match.end
                is_first = True
        first = n_spans(scratch)
        self._put_prefix(data + at, n - at, is_first, scratch)
        shift_spans(scratch, first, at)
        return 0

    cdef int _put_prefix(self, const uint8_t* data, size_t n, bint is_first, Scratch* scratch) except -1 nogil:
        """Put a space before normalized text between tokens, if the pre-tokenizer does so, and encode it."""
        cdef bint is_prefixed = self.wants_prefix(data, n, is_first, scratch)
        cdef size_t first = n_spans(scratch)
        if is_prefixed:
            put_space_before(scratch, &data, &n)
        if self.normalizing is None:
            self.pieces.split_and_merge(data, n, scratch)
            if is_prefixed and scratch.spans != NULL:
                spans_without_prefix(scratch.spans, first, 1)
            return 0
        if scratch.spans == NULL:
            return self.pieces.find_symbols(data, n, scratch)
        if is_prefixed or scratch.begins_with_space:
            ids_reserve(&scratch.trace, 1)
            scratch.trace.items[scratch.trace.n] = <uint32_t> first
            scratch.trace.n += 1
            scratch.begins_with_space = False
        self.pieces.trace_symbols(data, n, scratch)
        if is_prefixed:
            spans_without_prefix(scratch.spans, first, 0)
        if scratch.words != NULL and scratch.spans.n > first:
            with gil:
                (<list> scratch.words).append(scratch.ids.n)
        return 0

    cdef bint wants_prefix(
        self, const uint8_t* data, size_t n, bint is_first, const Scratch* scratch
    ) noexcept nogil:
        """Tell whether the pre-tokenizer puts a space before a text; never if the text begins with one."""
        if n == 0:
            return False
        if self.normalizing is None:
            return self.front is not None and self.front.prefix_space and data[0] != 0x20
        if not is_first:
            return False
        if not (self.normalizing.prefix_always or self.normalizing.prefix_first and scratch.at_start):
            return False
        return data[0] != 0x20 and not is_metaspace(data, n)

