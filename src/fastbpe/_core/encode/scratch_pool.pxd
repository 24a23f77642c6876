from libc.stdint cimport uint8_t, uint32_t, uint64_t

from fastbpe._core.cache.cache_state cimport Cache
from fastbpe._core.cache.two_phases cimport Phases, TwoPhases
from fastbpe._core.common.byte_buffer cimport Buffer
from fastbpe._core.common.free_threading cimport Lock
from fastbpe._core.common.id_buffer cimport Ids, ids_reserve
from fastbpe._core.common.interrupts cimport Watch
from fastbpe._core.common.places cimport Places
from fastbpe._core.common.python cimport PyObject
from fastbpe._core.encode.spans cimport Spans
from fastbpe._core.merge.merge_dropout cimport Dropout
from fastbpe._core.merge.vocabulary cimport Vocabulary
from fastbpe._core.normalize.sentencepiece_normalizer cimport Normalized
from fastbpe._core.split.splitter cimport Ends
from fastbpe._core.split.stages cimport Staged


cdef struct Scratch:
    # Output
    Ids ids  # the ids so far; while counting, only the ids of the last pieces
    PyObject* out  # list to which ids are moved as long as this works without the GIL, or NULL
    Ids other_ids  # spare memory for ids, whose n is unused: see parallel_encoding.pyx
    bint counts_only  # ids are counted and dropped
    size_t n_counted  # ids so far, if counts_only
    # Data recorded along with the ids, on request. The code that sets these owns them.
    Spans* spans  # the span of each id, in bytes; NULL: not recorded
    PyObject* found  # list of (index of the id, text) of each special, added or unknown Unigram token, or NULL
    PyObject* words  # list of the number of ids up to the end of each token or piece, or NULL
    bint notes_texts  # `words` gets the text of each token or piece instead, and `spans` stays empty
    # State of the steps of a text
    bint at_start  # the current text begins where the whole text does
    bint begins_with_space  # the next text between tokens begins with an inserted space; only set with spans
    size_t base  # in code-point mode, offset of the current text in the normalized text between tokens
    bint after_fused  # the last id is `Normalizing.fused`: several in a row become one
    float total  # total of the scores of the sentence so far, with SENTENCE
    Dropout* dropout  # merge with dropout instead of the cache; NULL: no dropout. The code that sets it owns it
    bint keeps_runs  # runs of unknown ids stay, even if `Normalizing.fused` is set
    # Buffers of the steps
    Buffer utf8  # the text
    Buffer changed  # output of the front
    Places places  # sources of the bytes of `changed`, if spans are recorded
    Normalized normalized  # normalized text, in code-point mode
    Buffer prefixed  # text with a space inserted before it
    Ends ends  # pieces
    Buffer kept  # pieces without the bytes that have no token
    Staged staged  # pieces that stages changed
    size_t n_first  # bytes at the start of normalized text that come from the first character of the whole text
    Ids trace  # traces of pieces of characters: see merge.spelling; in code-point mode: see offsets.encode_spans()
    Ids heads  # heads and ids of pieces: see merge.segmented; ids of words: see cache.two_phases
    Ends word_ends  # ends of the words of pieces
    const Phases* phases  # for a vocabulary with superwords, whose words are in the cache; NULL: any other
    Buffer steps  # best paths to the positions of a text; bits of ids that may join: see encode.superwords
    Ids beyond  # ids whose bytes are beyond their piece: index, start and end in the piece
    Cache cache
    Cache tracing  # a second cache, for traces; started when first needed
    # The thread
    Watch watch
    size_t n_held  # units encoded since the GIL was last released, plus a charge for each call
    Scratch* next  # next in the pool's list of spare scratches


cdef struct Kept:
    # Data that a pool keeps between calls. Everything but the neighbours changes only under the lock.
    Lock lock
    Scratch* spare  # linked by Scratch.next
    size_t n_scratches  # number of scratches, lent and spare
    size_t cache_limit  # limit of each cache, in bytes
    size_t shared_bytes  # bytes that the caches of one kind may take in all scratches; never changes
    Ids arena
    # Neighbours in the list of all living pools, under the lock of the list; NULL at its ends.
    Kept* before
    Kept* after


cdef class ScratchPool:
    cdef Vocabulary _vocabulary
    cdef TwoPhases _phases
    cdef size_t cache_bytes
    cdef uint64_t _seed  # secret seed of the caches' hashes
    cdef Kept _kept
    cdef bint _is_listed
    cdef Scratch* take(self) except NULL
    cdef Scratch* _new(self, size_t limit) except NULL
    cdef void give(self, Scratch* scratch) noexcept
    cdef size_t used_bytes(self) noexcept
    cdef Ids take_arena(self, size_t capacity) noexcept
    cdef void give_arena(self, Ids arena) noexcept


cdef size_t free_scratches() noexcept
cdef void start_tracing(Scratch* scratch) noexcept nogil
cdef int offer_gil(Scratch* scratch, size_t n_units) except -1
cdef int put_space_before(Scratch* scratch, const uint8_t** data, size_t* n) except -1 nogil


cdef inline void note_token(Scratch* scratch, size_t n) noexcept nogil:
    """Record the next n bytes of normalized text, up to the end of an added token, as encoded.

    The text after the token still begins where the whole text does if it comes from the same first character.
    """
    scratch.n_first -= min(scratch.n_first, n)
    scratch.at_start = scratch.at_start and scratch.n_first > 0


cdef inline int add_id(Scratch* scratch, uint32_t token_id) except -1 nogil:
    """Append an id, or count it."""
    if scratch.counts_only:
        scratch.n_counted += 1
        return 0
    ids_reserve(&scratch.ids, 1)
    scratch.ids.items[scratch.ids.n] = token_id
    scratch.ids.n += 1
    return 0
