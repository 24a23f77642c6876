"""Encodes one text on one thread: the steps from text to ids.

    text
     │  encode, count              cut a long text into stretches that fit into the second-level cache
     │  _encode_stretch            transcode to UTF-8; refuse disallowed special tokens
     │  _find_added_tokens         special and added tokens become ids
     ▼
    text between tokens
     │  _normalize                 apply the normalizer of a tokenizer.json or of sentencepiece
     │  _find_normalized_tokens    added tokens with "normalized": true become ids
     │  _put_prefix                put a space before the text, if the pre-tokenizer does so
     │  _find_symbols              user-defined symbols become ids (code-point mode)
     ▼
    text to be split
     │  _pre_tokenize              split by the pattern, a group of pieces at a time
     ▼
    pieces
     │  _merge                     look pieces up in the piece cache; merge new ones
     ▼
    scratch.ids, or a list in scratch.out, or a count

With scratch.spans, the span of each id is recorded as well; see `piece_spans` and `codepoint_spans`.

Each step calls the next one with the text that it outputs, so the ids are in the order of the text.

In byte mode the base symbols of the vocabulary are bytes; in code-point mode (sentencepiece, and tokenizer.json
files like Llama 2's) they are code points, and the pipeline has a `Normalizing`.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t
from libc.string cimport memcmp, memmove, memset

from fastbpe._core.cache.two_phases cimport TwoPhases
from fastbpe._core.common.atomics cimport is_set, set_flag
from fastbpe._core.common.byte_buffer cimport buffer_add, buffer_reset
from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.common.id_buffer cimport ids_expect, ids_reserve
from fastbpe._core.common.interrupts cimport check_signals
from fastbpe._core.common.utf8 cimport char_bytes, fb_char_bytes
from fastbpe._core.encode.codepoint_spans cimport (
    add_bytes_with_spans, has_metaspace, merge_characters_with_spans, spans_at_offsets,
)
from fastbpe._core.encode.piece_spans cimport (
    add_found, merge_with_spans, n_spans, shift_spans, spans_at_places, spans_without_prefix,
)
from fastbpe._core.encode.scratch_pool cimport Scratch, ScratchPool, add_id, note_token, put_space_before
from fastbpe._core.encode.sentence_totals cimport encode_words
from fastbpe._core.encode.spans cimport add_span_of_id
from fastbpe._core.encode.superwords cimport n_complete
from fastbpe._core.encode.codepoint_spans cimport Widths
from fastbpe._core.ids.id_lists cimport expect_items, move_ids
from fastbpe._core.merge.codepoint_symbols cimport Characters
from fastbpe._core.merge.merge_dropout cimport merge_with_dropout
from fastbpe._core.merge.vocabulary cimport Tables, Vocabulary
from fastbpe._core.normalize.sentencepiece_normalizer cimport Normalized, Normalizer, Normalizing, normalized_free
from fastbpe._core.normalize.text_steps cimport Front
from fastbpe._core.segment.segmenter cimport SENTENCE
from fastbpe._core.split.splitter cimport UNMATCHED, Splitter, ends_add
from fastbpe._core.split.stages cimport Stage
from fastbpe._core.text.safe_cuts cimport BEFORE_SPACE, border_of, safe_cut, safe_cut_near
from fastbpe._core.text.special_tokens cimport Match, SpecialMatcher
from fastbpe._core.text.utf8_text cimport Text, text_unit, text_utf8, utf8_capacity

from fastbpe.errors import SpecialTokenError

cdef enum:
    STRETCH_UNITS = 1 << 16  # units of a long text that go through all steps before the next stretch
    GROUP_IDS = 1 << 12  # ids that the last group of pieces may reserve in addition to one per byte

cdef const uint8_t* METASPACE_UTF8 = b"\xe2\x96\x81"


@cython.final
cdef class Pipeline:
    """Steps that turn a text into ids, for any number of threads, each with its own Scratch.

    vocabulary: the tokens and their merges.
    splitter: the split pattern.
    cache_bytes: bytes that the piece caches of all threads together may take.
    front: the normalizer in byte mode, which also puts a space before a text; None: no normalizer.
    always: matcher of the added tokens that are found in any text, without the special tokens; None: no such tokens.
    normalizing: the steps of code-point mode, which replace front; None: byte mode.
    stages: stages that change the pieces of the splitter, for a vocabulary of characters; None: no stages.
    cut_stages: the same stages, which also cut long pieces where no merge crosses; None: only `stages`.
    phases: the phases of a vocabulary with superwords; None: it has no superwords.
    pool: buffers and caches of another pipeline with the same vocabulary; None: create a pool.
    """

    def __cinit__(
        self, Vocabulary vocabulary not None, Splitter splitter not None, size_t cache_bytes, *, Front front=None,
        SpecialMatcher always=None, Normalizing normalizing=None, Stage stages=None, Stage cut_stages=None,
        TwoPhases phases=None, ScratchPool pool=None
    ):
        self.vocabulary = vocabulary
        self.splitter = splitter
        self.front = front
        self.form = None if front is None else front.form
        self.always = always
        self.normalizing = normalizing
        self.stages = stages
        self.cut_stages = stages if cut_stages is None else cut_stages
        if vocabulary.spelled is not None:
            self.traced = vocabulary.tables
            self.traced.spelling = &vocabulary.spelled.tracing
        self.is_sentence = vocabulary.segmenter is not None and vocabulary.segmenter.segmenting.kind == SENTENCE
        self.phases = phases
        self.joins_pieces = phases is not None and phases.joins_pieces
        self.pool = ScratchPool(vocabulary, cache_bytes, phases=phases) if pool is None else pool
        self.is_plain = (
            front is None and always is None and normalizing is None and stages is None and not vocabulary.drops_bytes
            and vocabulary.spelled is None
        )
        self.only_prefixes = phases is None and (
            self.is_plain or normalizing is not None and always is None and normalizing.only_prefixes
            and not self.is_sentence
        )
        self.may_defer = (
            not self.is_sentence and phases is None and (normalizing is None or normalizing.fused == NONE)
        )

    cdef Pipeline finding(self, SpecialMatcher tokens):
        """Return a pipeline that finds these tokens in any text. It shares the caches of this one."""
        return Pipeline(
            self.vocabulary, self.splitter, 0, front=self.front, always=tokens, normalizing=self.normalizing,
            stages=self.stages, cut_stages=self.cut_stages, phases=self.phases, pool=self.pool,
        )

    @property
    def cache_bytes(self):
        """Bytes that the piece caches of all threads together may take."""
        return self.pool.cache_bytes

    @property
    def used_bytes(self):
        """Bytes of the piece caches of threads that are not encoding."""
        return self.pool.used_bytes()

    cdef Widths widths_of_ids(self):
        """Return the widths of the ids in code-point mode; build them at the first call."""
        cdef Widths made
        if not is_set(&self._has_widths):
            made = Widths(self.vocabulary, self.normalizing.symbols)
            with cython.critical_section(self):
                if not is_set(&self._has_widths):
                    self.widths = made
                    set_flag(&self._has_widths)
        return self.widths

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
        """Tell the same for a text in which tokens are found."""
        if self.front is not None and (self.form is None or self.front.prefix_space):
            return False
        if tokens is None:
            return True
        if self.normalizing is not None and (tokens.ends_in_word or tokens.then is not None):
            return False  # text after such a token is normalized separately; after a cut it is not
        return tokens.cuttable and (self.front is None or tokens.then is None)

    cdef size_t cut(self, const Text* text, size_t start, size_t near) noexcept nogil:
        """Return the last safe cut in (start, near], or else the next one, or else the end.

        In code-point mode it is before a space, where each piece of a vocabulary ends. Otherwise no Unicode form
        of the front changes the text before it, and no superword crosses it.

        Requires: may_cut().
        """
        cdef size_t position
        if self.normalizing is not None:
            return safe_cut(text, start, near, text.n, BEFORE_SPACE)
        position = safe_cut_near(text, start, near)
        if self.form is not None or self.joins_pieces:
            while position < text.n and not self.keeps_cut(text, position):
                position = safe_cut_near(text, position, position + 1)
        return position

    cdef bint keeps_cut(self, const Text* text, size_t position) noexcept nogil:
        """Tell whether a cut of the splitter is also one for the front and for superwords."""
        if self.form is not None and not self.form.keeps_before(text, position):
            return False
        return not (
            self.joins_pieces
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
        scratch.counts_only = True  # after an error, scratch_reset() clears it
        scratch.n_counted = 0
        self.encode(text, start, end, allowed, disallowed, scratch)
        scratch.counts_only = False
        return scratch.n_counted

    cdef int _encode_stretch(
        self, const Text* text, size_t start, size_t end, SpecialMatcher allowed, SpecialMatcher disallowed,
        Scratch* scratch
    ) except -1 nogil:
        """Transcode units start to end to UTF-8, refuse disallowed tokens, and encode the rest."""
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
        scratch.ends.text = data  # for error messages, which only splitters without safe cuts raise
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

        is_first, is_last: data begins, ends where the whole text does.
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
        is_first, is_last: data begins, ends where the whole text does or at a token; otherwise at a cut.
        """
        cdef size_t first
        if self.normalizing is not None:
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

    cdef int note_first(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil:
        """Set scratch.n_first for a text between tokens that is not normalized yet."""
        cdef size_t n_bytes, i = 0
        scratch.n_first = 0
        if not scratch.at_start or n == 0:
            return 0
        n_bytes = min(fb_char_bytes(data[0]), n)
        if self.front is not None and self.front.apply(data, n, &scratch.changed, &scratch.staged.places):
            while i < scratch.changed.n and scratch.staged.places.items[i] + 1 <= n_bytes:  # FB_NOWHERE, too
                i += 1
            scratch.n_first = i
        else:
            scratch.n_first = n_bytes
        return 0

    cdef int _normalize_code_points(
        self, const uint8_t* data, size_t n, SpecialMatcher then, bint is_first, bint is_last, Scratch* scratch
    ) except -1 nogil:
        """Normalize text between tokens in code-point mode.

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
            _no_memory(n)
        if is_last and self.normalizing.normalizer.finish(out) != 0:
            _no_memory(n)
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
            _normalize_with_offsets(self.normalizing.normalizer, data, n, &out)
            if out.n:
                scratch.begins_with_space = self.normalizing.normalizer._dummy_prefix
                self._find_normalized_tokens(out.data, out.n, then, True, scratch)
                spans_at_offsets(scratch.spans, first, &out)
        finally:
            normalized_free(&out)
        return 0

    cdef int _trace_symbols(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil:
        """Do the work of _find_symbols(), and record spans: also of U+2581 that no normalizer has changed."""
        cdef Normalized out
        cdef size_t first = scratch.spans.n
        if self.normalizing.normalizer is not None or not has_metaspace(data, n):
            return self._find_symbols(data, n, scratch)
        memset(&out, 0, sizeof(out))
        try:
            _normalize_with_offsets(self.normalizing.to_spaces, data, n, &out)
            self._find_symbols(out.data, out.n, scratch)
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
            self._pre_tokenize(data, n, scratch)
            if is_prefixed and scratch.spans != NULL:
                spans_without_prefix(scratch.spans, first, 1)
            return 0
        if scratch.spans == NULL or n == 0:
            return self._find_symbols(data, n, scratch)
        if is_prefixed or scratch.begins_with_space:
            ids_reserve(&scratch.trace, 1)
            scratch.trace.items[scratch.trace.n] = <uint32_t> first
            scratch.trace.n += 1
            scratch.begins_with_space = False
        self._trace_symbols(data, n, scratch)
        if is_prefixed:
            spans_without_prefix(scratch.spans, first, 0)
        if scratch.words != NULL and scratch.spans.n > first:
            with gil:
                (<list> scratch.words).append(scratch.ids.n)
        return 0

    cdef bint wants_prefix(
        self, const uint8_t* data, size_t n, bint is_first, const Scratch* scratch
    ) noexcept nogil:
        """Tell whether the pre-tokenizer puts a space before a text, which does not begin with one."""
        if n == 0:
            return False
        if self.normalizing is None:
            return self.front is not None and self.front.prefix_space and data[0] != 0x20
        if not is_first:
            return False
        if not (self.normalizing.prefix_always or self.normalizing.prefix_first and scratch.at_start):
            return False
        return data[0] != 0x20 and not (n > 2 and memcmp(data, METASPACE_UTF8, 3) == 0)

    cdef int encode_normalized(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil:
        """Append the ids of normalized text in code-point mode, an id for each unknown character."""
        scratch.keeps_runs = True
        return self._find_symbols(data, n, scratch)

    cdef int _find_symbols(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil:
        """Append the ids of user-defined symbols, and encode the text between them."""
        cdef size_t at = 0
        cdef Match match
        scratch.total = 0
        if self.normalizing.normalizer is not None and not self.normalizing.normalizer.gives_utf8:
            if self.is_sentence:  # its search reads any bytes like sentencepiece
                scratch.base = scratch.ends.n = 0
                ends_add(&scratch.ends, n)
                return self._merge(data, n, 0, n, scratch)
            return self._read_as_sentencepiece(data, n, scratch)
        if self.normalizing.symbols is not None:
            while self.normalizing.symbols.find(data, n, at, &match):
                scratch.base = at
                self._pre_tokenize(data + at, match.start - at, scratch)
                _add_symbol(scratch, &match)
                at = match.end
        scratch.base = at
        return self._pre_tokenize(data + at, n - at, scratch)

    cdef int _read_as_sentencepiece(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil:
        """Do the work of _find_symbols() for normalized text that may not be UTF-8.

        sentencepiece walks from one lead byte to the next and takes as many bytes as it announces, whatever they
        are. No token contains such a character if it is not UTF-8: it becomes the ids of its bytes, or one unknown
        id.
        """
        cdef const Characters* characters = self.vocabulary.tables.characters
        cdef size_t at = 0, start = 0, n_bytes
        cdef uint32_t c
        cdef Match match
        while at < n:
            if self.normalizing.symbols is not None and self.normalizing.symbols.find_here(data, n, at, &match):
                scratch.base = start
                self._pre_tokenize(data + start, at - start, scratch)
                _add_symbol(scratch, &match)
                at = start = match.end
                continue
            n_bytes = fb_char_bytes(data[at])
            if data[at] < 0x80 or char_bytes(data, n, at, &c) == n_bytes:
                at += n_bytes
                continue
            n_bytes = min(n_bytes, n - at)
            scratch.base = start
            self._pre_tokenize(data + start, at - start, scratch)
            if characters.has_bytes:
                add_bytes_with_spans(characters.byte_ids, data, n_bytes, at, scratch)
                scratch.after_fused = False
            elif not scratch.after_fused or self.normalizing.fused == NONE or scratch.keeps_runs:
                add_id(scratch, characters.unknown_id)
                scratch.after_fused = True
                if scratch.spans != NULL:
                    add_span_of_id(scratch.spans, at, at + n_bytes)
            elif scratch.spans != NULL:
                scratch.spans.items[scratch.spans.n - 1].end = at + n_bytes
            at += n_bytes
            start = at
        scratch.base = start
        return self._pre_tokenize(data + start, n - start, scratch)

    cdef int _pre_tokenize(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil:
        """Split a text into pieces and encode them, a group at a time while it is in the caches."""
        cdef size_t start = 0, end, first
        cdef bint whole = scratch.spans != NULL and scratch.words != NULL  # each piece is a word: do not cut it
        if self.joins_pieces:
            return self._pre_tokenize_runs(data, n, scratch)
        while start < n:
            scratch.ends.n = 0
            end = self.splitter.split(data, n, start, &scratch.ends)
            if self.cut_stages is None or (whole and self.stages is None):
                self._merge(data, n, start, end, scratch)
            else:
                scratch.staged.traces = scratch.spans != NULL
                scratch.staged.n_first = scratch.n_first if scratch.at_start and start == 0 else 0
                if whole:
                    self.stages.run(data, NULL, start, &scratch.ends, &scratch.staged)
                else:
                    self.cut_stages.run(data, NULL, start, &scratch.ends, &scratch.staged)
                first = n_spans(scratch)
                self._merge(scratch.staged.text.items, scratch.staged.text.n, 0, scratch.staged.text.n, scratch)
                if scratch.spans != NULL:
                    spans_at_places(scratch.spans, first, &scratch.staged.places)
            start = end
            if start < n:
                check_signals(&scratch.watch)
        return 0

    cdef int _pre_tokenize_runs(self, const uint8_t* data, size_t n, Scratch* scratch) except -1 nogil:
        """Do the work of _pre_tokenize() if superwords join pieces: no group ends where a superword may be."""
        cdef size_t start = 0, at = 0, end, n_done, n_left = 0
        scratch.ends.n = 0
        while at < n:
            at = self.splitter.split(data, n, at, &scratch.ends)
            n_done = scratch.ends.n
            if at < n:
                n_done = n_complete(&self.phases.phases, data, &scratch.ends, n_left)
            n_left = scratch.ends.n - n_done
            if n_done:
                end = scratch.ends.items[n_done - 1] & ~UNMATCHED
                scratch.ends.n = n_done
                self._merge(data, n, start, end, scratch)
                memmove(scratch.ends.items, scratch.ends.items + n_done, n_left * sizeof(size_t))
                scratch.ends.n = n_left
                start = end
            check_signals(&scratch.watch)
        return 0

    cdef int _merge(
        self, const uint8_t* data, size_t n, size_t start, size_t end, Scratch* scratch
    ) except -1 nogil:
        """Append, move or count the ids of the pieces of data[start:end].

        Requires: scratch.ends has the pieces.
        """
        cdef size_t n_before = scratch.ids.n
        cdef const Tables* tables = &self.vocabulary.tables
        if scratch.spans != NULL and self.normalizing is not None:
            return merge_characters_with_spans(tables, self.widths, self.normalizing.fused, data, n, start, scratch)
        if scratch.spans != NULL:
            if self.vocabulary.spelled is not None:
                tables = &self.traced
            return merge_with_spans(tables, self.vocabulary.drops_bytes, data, n, start, end, scratch)
        if scratch.dropout != NULL:
            self._merge_with_dropout(data, start, end, scratch)
        elif self.vocabulary.drops_bytes and self._drop_bytes(data, start, end, scratch):
            encode_words(&self.vocabulary.tables, scratch.kept.items, scratch.kept.n, 0, scratch)
        else:
            encode_words(&self.vocabulary.tables, data, n, start, scratch)
        if self.normalizing is not None and self.normalizing.fused != NONE and not scratch.keeps_runs:
            _fuse(scratch, n_before, self.normalizing.fused)
        if scratch.counts_only:  # the next group overwrites these ids while they are in the first-level cache
            scratch.n_counted += scratch.ids.n
            scratch.ids.n = 0
        elif scratch.out != NULL and not move_ids(scratch.out, &scratch.ids):
            scratch.out = NULL
        return 0

    cdef int _merge_with_dropout(
        self, const uint8_t* data, size_t start, size_t end, Scratch* scratch
    ) except -1 nogil:
        """Append the ids of the pieces of data[start:end], merged with scratch.dropout."""
        cdef size_t i
        if self.vocabulary.drops_bytes and self._drop_bytes(data, start, end, scratch):
            data, start = scratch.kept.items, 0
        for i in range(scratch.ends.n):
            end = scratch.ends.items[i] & ~UNMATCHED
            if not scratch.ends.items[i] & UNMATCHED:
                merge_with_dropout(
                    &self.vocabulary.tables, data + start, end - start, scratch.dropout, &scratch.ids
                )
            start = end
        return 0

    cdef bint _drop_bytes(self, const uint8_t* data, size_t start, size_t end, Scratch* scratch) except -1 nogil:
        """Copy the pieces of data[start:end] without bytes that have no token; return False if all have tokens.

        Ensures: on True, scratch.kept has the pieces and scratch.ends their ends in it; a piece without any byte
        left is gone. On False nothing has changed.
        """
        cdef const uint32_t* ids = self.vocabulary.tables.byte_ids
        cdef size_t i, at, n_kept = 0, before
        at = start
        while at < end and ids[data[at]] != NONE:
            at += 1
        if at == end:
            return False
        scratch.kept.n = 0
        at = start
        for i in range(scratch.ends.n):
            before = scratch.kept.n
            end = scratch.ends.items[i] & ~UNMATCHED
            while at < end:
                if ids[data[at]] != NONE:
                    buffer_add(&scratch.kept, data + at, 1)
                at += 1
            if scratch.kept.n > before:
                scratch.ends.items[n_kept] = scratch.kept.n | (scratch.ends.items[i] & UNMATCHED)
                n_kept += 1
        scratch.ends.n = n_kept
        return True


cdef int _add_symbol(Scratch* scratch, const Match* match) except -1 nogil:
    """Append the id of a user-defined symbol."""
    add_id(scratch, match.id)
    scratch.after_fused = False
    return 0 if scratch.spans == NULL else add_span_of_id(scratch.spans, match.start, match.end)


cdef void _fuse(Scratch* scratch, size_t start, uint32_t fused) noexcept nogil:
    """Replace each run of ids `fused` by a single one, from scratch.ids.items[start] on."""
    cdef uint32_t* ids = scratch.ids.items
    cdef size_t i, n = start
    cdef bint is_fused, after = scratch.after_fused
    for i in range(start, scratch.ids.n):
        is_fused = ids[i] == fused
        ids[n] = ids[i]
        n += not (is_fused and after)
        after = is_fused
    scratch.after_fused = after
    scratch.ids.n = n


cdef int _normalize_with_offsets(Normalizer normalizer, const uint8_t* data, size_t n, Normalized* out) except -1 nogil:
    """Normalize a whole text, and record places. Requires: all of `out` is 0."""
    if n >= NONE - 1:
        with gil:
            raise OverflowError(f"{n} bytes of text: the limit for offsets is 2**32 - 2; cut the text")
    out.with_offsets = True
    if normalizer.run(data, n, out) != 0 or out.n >= NONE:
        _no_memory(n)
    return 0


cdef int _no_memory(size_t n) except -1 nogil:
    with gil:
        raise MemoryError(f"no memory to normalise {n} bytes of text")
