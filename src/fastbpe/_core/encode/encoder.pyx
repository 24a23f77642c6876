"""Encoder: compiled base of Tokenizer. It handles arguments, special tokens, threads and the form of results.

`Tokenizer` declares and documents the public methods.
"""

cimport cython
from libc.stdint cimport int64_t

from fastbpe._utils.batches import OneText, items_in
from fastbpe._core.cache.two_phases cimport TwoPhases
from fastbpe._core.common.atomics cimport is_set, set_flag
from fastbpe._core.common.python cimport PyErr_CheckSignals
from fastbpe._core.encode.batch cimport array_of_texts, counts_of_texts, lists_of_texts
from fastbpe._core.encode.dropping cimport Dropping, seed_of
from fastbpe._core.encode.count_limits cimport count_up_to
from fastbpe._core.encode.offset_batches cimport arrays_with_spans, lists_with_spans
from fastbpe._core.encode.one_text cimport append_text, count_text, list_of_text, may_use_threads
from fastbpe._core.encode.piece_steps cimport PieceSteps
from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.encode.span_units cimport span_unit
from fastbpe._core.encode.trim_spans cimport SpanTrimmer
from fastbpe._core.encode.untrusted_ids cimport Guard
from fastbpe._core.ids.id_lists cimport ids_list
from fastbpe._core.merge.merge_dropout cimport rate_of
from fastbpe._core.merge.vocabulary cimport Vocabulary
from fastbpe._core.normalize.sentencepiece_normalizer cimport Normalizing
from fastbpe._core.normalize.text_steps cimport Front
from fastbpe._core.split.splitter cimport Splitter
from fastbpe._core.split.stages cimport Stage
from fastbpe._core.text.special_tokens cimport SpecialMatcher
from fastbpe._core.text.utf8_text cimport Text, text_of, text_release

from fastbpe._core.text.utf8_text import to_utf8
from fastbpe._utils.arguments import integer
from fastbpe._utils.optional_imports import require_numpy
from fastbpe.errors import SpecialTokenError, note_place

cdef size_t MAX_SIZE = <size_t> 1 << 62  # ids or bytes: larger arguments are clipped to this
cdef object NOTHING = frozenset()
cdef tuple NO_NAMES = ()
cdef str ALL = "all"
cdef str CHARACTER = "char"


cdef class Encoder:
    """Encoder of text with one vocabulary, one splitter and one set of special tokens.

    Args:
        vocabulary: Vocabulary of the ordinary tokens.
        splitter: Splitter of texts into pieces.
        special: SpecialTokens, or any object with the same `choose`, `always`, `trusted` and `untrusted`; None: no
            special tokens.
        front: normalizer in byte mode, or steps that run before `normalizing`; None: no such steps.
        cache_bytes: total memory limit of the piece caches of all threads, in bytes.
        normalizing: the steps of code-point mode, as in PieceSteps; None: byte mode.
        stages, cut_stages: stages that change the pieces of the splitter, as in PieceSteps.
        phases: the phases of a vocabulary with superwords, as in PieceSteps.
        trimmer: trims offsets; None: they do not change.
    """

    def __init__(
        self, Vocabulary vocabulary not None, Splitter splitter not None, *, special=None, Front front=None,
        cache_bytes=64 << 20, Normalizing normalizing=None, Stage stages=None, Stage cut_stages=None,
        TwoPhases phases=None, SpanTrimmer trimmer=None
    ):
        always = None if special is None else special.always
        cdef PieceSteps pieces = PieceSteps(
            vocabulary, splitter, normalizing=normalizing, stages=stages, cut_stages=cut_stages, phases=phases
        )
        cdef Pipeline built = Pipeline(pieces, min(cache_bytes, MAX_SIZE), front=front, always=always)
        with cython.critical_section(self):
            if not is_set(&self._is_built):
                self._special, self._trimmer, self._built = special, trimmer, built
                set_flag(&self._is_built)

    cdef Pipeline _ready(self):
        """Return the pipeline; create it first if a subclass has postponed that."""
        if not is_set(&self._is_built):
            self._prepare()
        return self._built

    @property
    def _pipeline(self):
        """Pipeline; created first if a subclass has postponed that."""
        return self._ready()

    @property
    def _is_ready(self):
        """True if the pipeline exists."""
        return is_set(&self._is_built)

    def _prepare(self):
        """Raise RuntimeError. A subclass that postpones Encoder.__init__ overrides this, to call it here."""
        raise RuntimeError(f"{type(self).__name__}.__init__ was not called")

    cdef tuple _matchers(self, object allowed, object disallowed):
        """Return the matchers (allowed, disallowed) for the arguments of encode()."""
        self._ready()
        if self._special is None:
            return None, None
        if allowed is NOTHING and disallowed is ALL:
            return None, self._all()
        return self._special.choose(allowed, disallowed)

    cdef SpecialMatcher _all(self):
        """Return the matcher of all special tokens, which nearly every call disallows; None: no special tokens."""
        if not is_set(&self._has_all_special):
            self._make_all()
        return self._all_special

    cdef int _make_all(self) except -1:
        """Create the matcher of all special tokens."""
        cdef SpecialMatcher made = None
        self._ready()
        if self._special is not None:
            made = self._special.choose(NOTHING, ALL)[1]
        with cython.critical_section(self):
            if not is_set(&self._has_all_special):
                self._all_special = made
                set_flag(&self._has_all_special)
        return 0

    # One text

    def encode(
        self, text, *, allowed_special=NOTHING, disallowed_special=ALL, num_threads=None, dropout=None, seed=None,
        with_template=False,
    ):
        """Encode a text. See `Tokenizer.encode`."""
        if with_template:
            before, behind = self._template_ids()
            ids = Encoder.encode(  # not self.encode, which a subclass may override
                self, text, allowed_special=allowed_special, disallowed_special=disallowed_special,
                num_threads=num_threads, dropout=dropout, seed=seed,
            )
            return [*before, *ids, *behind]
        if dropout is not None or seed is not None:
            return self._encode_dropping(text, allowed_special, disallowed_special, num_threads, dropout, seed)
        if allowed_special is NOTHING and disallowed_special is ALL:  # the usual call: as in _matchers(), but faster
            return self._to_list(text, None, self._all(), num_threads)
        allowed, disallowed = self._matchers(allowed_special, disallowed_special)
        return self._to_list(text, allowed, disallowed, num_threads)

    cdef list _encode_dropping(
        self, object text, object allowed_special, object disallowed_special, object num_threads, object dropout,
        object seed,
    ):
        """Encode a text, with dropout if the arguments ask for it."""
        allowed, disallowed = self._matchers(allowed_special, disallowed_special)
        if _drops(dropout, seed):
            return self._dropper().encode(text, allowed, disallowed, dropout, seed, num_threads)
        return self._to_list(text, allowed, disallowed, num_threads)

    @cython.critical_section
    cdef Dropping _dropper(self):
        """Return the encoder with dropout; create it at the first call."""
        cdef Dropping made
        if self._dropping is None:
            made = Dropping(self._ready())
            if self._dropping is None:  # another thread may have created it
                self._dropping = made
        return self._dropping

    def encode_ordinary(self, text, *, num_threads=None):
        """Encode a text, with special tokens as plain text. See `Tokenizer.encode_ordinary`."""
        return self._to_list(text, None, None, num_threads)

    cdef list _to_list(self, object text, SpecialMatcher allowed, SpecialMatcher disallowed, object num_threads):
        """Encode a text with the matchers that _matchers() returned."""
        return list_of_text(self._ready(), text, allowed, disallowed, num_threads)

    def encode_parts(self, parts):
        """Encode (text, trusted) parts. See `Tokenizer.encode_parts`."""
        if parts is None:
            raise TypeError("parts must be a list of (text, trusted), not None")
        cdef Pipeline pipeline = self._ready()
        cdef SpecialMatcher trusted = None, untrusted = None
        cdef Guard guard = self._guarding()
        cdef size_t start, i = 0
        if self._special is not None:
            trusted, untrusted = self._special.trusted, self._special.untrusted
        cdef Scratch* scratch = pipeline.pool.take()
        try:
            for part in parts:
                PyErr_CheckSignals()
                if not isinstance(part, (tuple, list)) or len(part) != 2:
                    raise TypeError(f"each of parts must be (text, trusted), not {part!r:.80}")
                text, is_trusted = part
                start = scratch.ids.n
                try:
                    if is_trusted:
                        append_text(pipeline, text, trusted, None, scratch)
                    else:
                        append_text(pipeline, text, untrusted, None, scratch)
                        guard.replace(&scratch.ids, start)
                except (TypeError, ValueError) as error:
                    note_place(error, f"parts[{i}]")
                    raise
                i += 1
            return ids_list(scratch.ids.items, scratch.ids.n)
        finally:
            pipeline.pool.give(scratch)

    @cython.critical_section
    cdef Guard _guarding(self):
        """Return the guard of untrusted parts; create it at the first call."""
        cdef Guard made
        if self._guard is None:
            made = Guard(self._spelled_out())
            if self._guard is None:  # another thread may have created it
                self._guard = made
        return self._guard

    def _template_ids(self):
        """Return the ids before a text and the ids after it: none, unless a subclass has a template."""
        return [], []

    def _spelled_out(self):
        """Return the ids that untrusted text must not become, each with the ids that replace it: none here."""
        return {}

    def encode_with_offsets(
        self, text, *, allowed_special=NOTHING, disallowed_special=ALL, unit=CHARACTER, as_numpy=False
    ):
        """Encode a text, and return the (start, end) of each id. See `Tokenizer.encode_with_offsets`."""
        if as_numpy:
            numpy = require_numpy("as_numpy=True")
            ids, spans, _ = self._encode_with_spans((text,), allowed_special, disallowed_special, unit)
            return _as_numpy(numpy, ids, spans)
        return self._encode_with_lists((text,), allowed_special, disallowed_special, unit)[0]

    def encode_batch_with_offsets(
        self, texts, *, allowed_special=NOTHING, disallowed_special=ALL, unit=CHARACTER, as_numpy=False
    ):
        """Encode each text as `encode_with_offsets` does. See `Tokenizer.encode_batch_with_offsets`."""
        texts = items_in(texts)
        if isinstance(texts, tuple):
            texts = list(texts)  # a tuple would stand for a single text below, whose errors have no index
        if as_numpy:
            numpy = require_numpy("as_numpy=True")
            ids, spans, offsets = self._encode_with_spans(texts, allowed_special, disallowed_special, unit)
            return *_as_numpy(numpy, ids, spans), numpy.frombuffer(offsets, "int64")
        return self._encode_with_lists(texts, allowed_special, disallowed_special, unit)

    def _encode_with_lists(self, texts, allowed_special, disallowed_special, unit):
        """Return the lists (ids, offsets) of each text."""
        cdef Pipeline pipeline = self._ready()
        cdef SpecialMatcher allowed, disallowed
        allowed, disallowed = self._matchers(allowed_special, disallowed_special)
        return lists_with_spans(pipeline, texts, allowed, disallowed, self._trimmer, span_unit(unit))

    def _encode_with_spans(self, texts, allowed_special, disallowed_special, unit):
        """Return the arrays (ids of all texts end to end, start and end of each id, offsets of the texts' ids)."""
        cdef Pipeline pipeline = self._ready()
        cdef SpecialMatcher allowed, disallowed
        allowed, disallowed = self._matchers(allowed_special, disallowed_special)
        return arrays_with_spans(pipeline, texts, allowed, disallowed, self._trimmer, span_unit(unit))

    def count(self, text, *, max_tokens=None, num_threads=None, allowed_special=NOTHING, disallowed_special=NO_NAMES):
        """Count the ids of a text. See `Tokenizer.count`."""
        cdef Pipeline pipeline = self._ready()
        cdef Scratch* scratch
        if not (_is_empty(allowed_special) and _is_empty(disallowed_special)):
            return self._finding((text,), allowed_special, disallowed_special).count(
                text, max_tokens=max_tokens, num_threads=num_threads
            )
        cdef bint may_use = may_use_threads(text, num_threads)  # first, because it checks num_threads
        if max_tokens is not None:
            return self._count_up_to(text, max_tokens)
        if may_use:
            return (<int64_t*> counts_of_texts(pipeline, OneText((text,)), num_threads)._items)[0]
        scratch = pipeline.pool.take()
        try:
            return count_text(pipeline, text, scratch)
        finally:
            pipeline.pool.give(scratch)

    cdef size_t _count_up_to(self, object text, object limit) except? 0:
        """Count the ids of a text; return limit + 1 if there are more than limit."""
        cdef Pipeline pipeline = self._ready()
        cdef Scratch* scratch
        cdef Text view
        cdef size_t max_ids
        limit = integer("max_tokens", limit)
        if limit < 0:
            raise ValueError(f"max_tokens={limit!r}: must be at least 0")
        max_ids = min(limit, MAX_SIZE)
        scratch = pipeline.pool.take()
        try:
            text_of(text, &view)
            with nogil:
                return count_up_to(pipeline, &view, 0, view.n, max_ids, scratch)
        finally:
            text_release(&view)
            pipeline.pool.give(scratch)

    def _finding(self, texts, allowed_special, disallowed_special):
        """Return an encoder that finds the allowed special tokens in any text: this one or one with its caches.

        Raises SpecialTokenError if a text contains a disallowed token; if texts is a list, a note has the text's
        index.
        """
        cdef SpecialMatcher allowed, disallowed
        cdef Encoder finder
        if _is_empty(allowed_special) and _is_empty(disallowed_special):
            return self
        allowed, disallowed = self._matchers(allowed_special, disallowed_special)
        if disallowed is not None:
            for i, text in enumerate(texts):
                is_text = isinstance(text, (str, bytes, bytearray, memoryview))  # anything else raises later
                found = disallowed.search(text) if is_text else None
                if found is not None:
                    token = to_utf8(text)[found[0] : found[1]].decode()
                    error = SpecialTokenError.disallowed(token, disallowed.every)
                    if isinstance(texts, list):
                        note_place(error, f"texts[{i}]")
                    raise error
        if allowed is None or allowed is self._ready().always:
            return self
        finder = Encoder.__new__(Encoder)
        finder._trimmer = self._trimmer
        finder._built = self._ready().finding(allowed)
        set_flag(&finder._is_built)
        return finder

    def _count_to_array(self, texts, num_threads):
        """Count the ids of each text; return an int64 array."""
        return counts_of_texts(self._ready(), texts, num_threads)

    # Many texts

    def encode_batch(
        self, texts, *, num_threads=None, allowed_special=NOTHING, disallowed_special=ALL, dropout=None, seed=None,
        with_template=False,
    ):
        """Encode each text as `encode` does. See `Tokenizer.encode_batch`."""
        before, behind = map(tuple, self._template_ids()) if with_template else ((), ())
        allowed, disallowed = self._matchers(allowed_special, disallowed_special)
        if _drops(dropout, seed):
            lists = self._dropper().encode_batch(texts, allowed, disallowed, dropout, seed, num_threads)
            return [[*before, *ids, *behind] for ids in lists] if with_template else lists
        return lists_of_texts(self._ready(), texts, allowed, disallowed, num_threads, before, behind)

    def encode_ordinary_batch(self, texts, *, num_threads=None):
        """Encode each text as `encode_ordinary` does. See `Tokenizer.encode_ordinary_batch`."""
        return self._to_lists(texts, None, None, num_threads)

    cdef list _to_lists(self, object texts, SpecialMatcher allowed, SpecialMatcher disallowed, object num_threads):
        """Encode texts with the matchers that _matchers() returned."""
        return lists_of_texts(self._ready(), texts, allowed, disallowed, num_threads)

    def _encode_to_array(self, texts, allowed_special, disallowed_special, num_threads):
        """Return (uint32 array of all ids end to end, int64 array of offsets into it: len(texts) + 1 of them)."""
        allowed, disallowed = self._matchers(allowed_special, disallowed_special)
        return array_of_texts(self._ready(), texts, allowed, disallowed, num_threads)


cdef inline bint _is_empty(object names) noexcept:
    """Tell whether an argument is () or an empty frozenset. Other values, even empty ones, are checked later."""
    return names is NOTHING or names is NO_NAMES or (type(names) is frozenset and not names)


cdef bint _drops(object dropout, object seed) except -1:
    """Tell whether the arguments dropout= and seed= ask for dropout at all, and check them."""
    if dropout is None:
        if seed is not None:
            raise ValueError(f"seed={seed!r:.60} has no effect without dropout=; pass both, or leave seed= out")
        return False
    seed_of(seed)
    return rate_of(dropout) > 0


cdef tuple _as_numpy(numpy, ids, spans):
    """Wrap the memory of ids and of their spans: arrays of shape (n,) and (n, 2)."""
    return numpy.frombuffer(ids, "uint32"), numpy.frombuffer(spans, "int64").reshape(-1, 2)
