"""Encoding with BPE dropout. merge_dropout.pyx describes the method.

The random numbers for a text depend only on the seed and on the text's index in the call, and one thread draws
all of them. So the ids do not depend on the number of threads.
"""

cimport cython
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memset

from fastbpe._core.common.atomics cimport set_flag
from fastbpe._core.common.hash_tables cimport GOLDEN_RATIO
from fastbpe._core.common.hashing cimport mix
from fastbpe._core.common.python cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyErr_CheckSignals
from fastbpe._core.encode.one_text cimport check_threads, n_threads_of
from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.ids.id_lists cimport hide, ids_list, show_all
from fastbpe._core.merge.merge_dropout cimport Dropout, check_abandoned, dropout_free, rate_of
from fastbpe._core.text.special_tokens cimport SpecialMatcher
from fastbpe._core.text.text_batches cimport TextBatches
from fastbpe._core.text.utf8_text cimport Text, text_of, text_release

from os import urandom

from fastbpe._core.merge.merge_piece import recover_merges
from fastbpe._utils.arguments import integer
from fastbpe._utils.threads import CallPool
from fastbpe.errors import VocabularyError, note_place

cdef enum:
    JOBS_PER_THREAD = 4  # more than one: texts differ in length, so a thread that is done early takes another job


@cython.final
cdef class Flag:
    """Flag that the threads of a call share: 1 when the call has ended early."""


@cython.final
cdef class Dropping:
    """Encoder with dropout that uses the steps of a Pipeline. Threads may share it.

    In a vocabulary of ranks, any two tokens whose bytes form a third token may merge. Without dropout, only one
    such pair ever occurs for each token. With dropout other pairs occur too, but they are not merged: only that
    one pair is, as if the vocabulary listed its merges. (From 2**21 ids on, they are merged: the table of pairs for so
    many does not tell ranks from a list.)
    """

    def __cinit__(self, Pipeline pipeline not None):
        cdef uint32_t* makers
        if pipeline.vocabulary.segmenter is not None:
            raise VocabularyError(
                "dropout= skips merges, but only BPE models merge, and this is another model; leave dropout= out"
            )
        if pipeline.pieces.joins_pieces:
            raise VocabularyError(
                "dropout= cannot be used with this tokenizer: its superwords (BoundlessBPE) join whole pieces, "
                "which would not be single tokens if merges were skipped; leave dropout= out"
            )
        self._pipeline = pipeline
        self._makers = b""
        if pipeline.vocabulary.tables.characters != NULL or pipeline.vocabulary.tables.pairs.ranked == NULL:
            return
        self._makers = PyBytes_FromStringAndSize(NULL, 8 * <Py_ssize_t> pipeline.vocabulary.tables.n_ids)
        makers = <uint32_t*> PyBytes_AS_STRING(self._makers)
        memset(makers, 0xFF, len(self._makers))
        for merged, (left, right) in recover_merges(pipeline.vocabulary).items():
            makers[2 * <size_t> merged], makers[2 * <size_t> merged + 1] = left, right

    cdef list encode(
        self, object text, SpecialMatcher allowed, SpecialMatcher disallowed, object dropout, object seed,
        object num_threads,
    ):
        """Encode a text. Accepts the arguments of Encoder.encode(), with matchers for the special tokens."""
        check_threads(num_threads)
        return self._one(text, allowed, disallowed, rate_of(dropout), seed_of(seed), 0, Flag())

    cdef list encode_batch(
        self, object texts, SpecialMatcher allowed, SpecialMatcher disallowed, object dropout, object seed,
        object num_threads,
    ):
        """Encode texts. Accepts the arguments of Encoder.encode_batch(), with matchers for the special tokens."""
        cdef list out = [], batch, results
        cdef double rate = rate_of(dropout)
        cdef uint64_t state = seed_of(seed)
        from functools import partial  # imported here: few programs drop merges

        cdef TextBatches batches = TextBatches(texts)
        cdef Py_ssize_t n_threads, n_jobs, i, n
        cdef Flag abandoned = Flag()
        check_threads(num_threads)
        hide(out)
        while batch := batches.next():
            n = len(batch)
            n_threads = n_threads_of(self._pipeline, batches.n_units, num_threads)
            n_jobs = min(n, n_threads * JOBS_PER_THREAD if n_threads > 1 else 1)
            with CallPool(n_threads - 1) as pool:
                try:
                    results = [
                        pool.submit(partial(
                            _job, self, batch[i * n // n_jobs:(i + 1) * n // n_jobs], allowed, disallowed, rate, state,
                            batches.first + i * n // n_jobs, abandoned,
                        ))
                        for i in range(n_jobs)
                    ]
                    for result in results:
                        for ids in pool.result(result):
                            hide(ids)
                            out.append(ids)
                except BaseException:
                    set_flag(&abandoned.value)  # the pool waits for running jobs, which check this flag
                    raise
        show_all(out)
        return out

    cdef list _one(
        self, object text, SpecialMatcher allowed, SpecialMatcher disallowed, double rate, uint64_t seed,
        size_t index, Flag abandoned,
    ):
        """Encode one text of a call on this thread. The seed and the text's index decide the dropout."""
        cdef Text view
        cdef Dropout dropout
        cdef Scratch* scratch = self._pipeline.pool.take()
        memset(&dropout, 0, sizeof(dropout))
        dropout.rate = rate
        dropout.state = mix(seed + index * GOLDEN_RATIO)
        dropout.abandoned = &abandoned.value
        if self._makers:
            dropout.makers = <const uint32_t*> PyBytes_AS_STRING(self._makers)
        scratch.dropout = &dropout
        try:
            text_of(text, &view)
            with nogil:
                self._pipeline.encode(&view, 0, view.n, allowed, disallowed, scratch)
            return ids_list(scratch.ids.items, scratch.ids.n)
        finally:
            text_release(&view)
            scratch.dropout = NULL
            dropout_free(&dropout)
            self._pipeline.pool.give(scratch)


def _job(
    Dropping dropping, list texts, SpecialMatcher allowed, SpecialMatcher disallowed, rate, seed, size_t first,
    Flag abandoned,
):
    """Encode some texts of a batch. A ValueError gets a note with the index of its text."""
    cdef list out = []
    for text in texts:
        PyErr_CheckSignals()
        check_abandoned(&abandoned.value)
        try:
            out.append(dropping._one(text, allowed, disallowed, rate, seed, first + len(out), abandoned))
        except ValueError as error:
            note_place(error, f"texts[{first + len(out)}]")
            raise
    return out


cdef uint64_t seed_of(object seed) except? 0:
    """Mix the bits of the argument seed=. For None, return a random number from the operating system."""
    if seed is None:
        return <uint64_t> int.from_bytes(urandom(8), "little")
    number = integer("seed", seed)
    if not 0 <= number < 1 << 64:
        raise ValueError(f"seed={number}: must be 0 to 2**64 - 1, or None")
    return mix(<uint64_t> number + GOLDEN_RATIO)
