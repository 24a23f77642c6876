from libc.stdint cimport int64_t, uint32_t

from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.encode.pipeline cimport Pipeline, Scratch
from fastbpe._core.text.special_tokens cimport SpecialMatcher
from fastbpe._core.text.utf8_text cimport Text
from fastbpe._core.merge.vocabulary cimport Tables


cdef struct Job:
    # Some texts, or a part of one.
    size_t first
    size_t n_texts
    bint is_part
    size_t start  # of a part, in units
    size_t end
    uint32_t* ids  # in the arena, or of its own
    size_t room  # of its own: for how many
    bint owns_ids
    size_t n_ids
    size_t offset  # of its ids among those of all jobs
    size_t n_known  # of these two; whoever makes them both known has to put the ids there
    int done


cdef class Jobs:
    cdef Pipeline _pipeline
    cdef const Tables* _tables
    cdef SpecialMatcher _allowed
    cdef SpecialMatcher _disallowed
    cdef bint _counting
    cdef list _owners  # keep the memory of the texts alive
    cdef Text* _texts
    cdef size_t _n_texts
    cdef readonly size_t n_room  # ids that all texts become, or more, but for the oddest
    cdef size_t* _counts  # of ids, for each text that is not in parts
    cdef Ids _arena
    cdef Job* _jobs
    cdef readonly size_t n_jobs
    cdef size_t _capacity
    cdef size_t _next
    cdef int _stopped
    cdef int _abandoned  # nobody waits for the jobs any more
    cdef size_t _n_working  # threads; under the GIL
    cdef object _error  # of the first job that has one
    cdef size_t _error_number
    cdef object _bad_text  # why the text behind the last one is none
    cdef Ids* _out  # where the ids are to stay; NULL: in the arena, for lists
    cdef bint _is_fresh  # that memory: it may have no pages yet
    cdef int _plan(self) except -1
    cdef int _plan_parts(self, size_t text) except -1
    cdef Job* _add(self, size_t first, size_t n_texts) except NULL
    cdef int run(self, int n_threads) except -1
    cdef int run_into(self, Ids* out, bint has_room, int n_threads) except -1
    cdef int run_alone(self, Ids* out, bint has_room) except -1
    cdef int _wait(self) except -1
    cdef bint _do_jobs(self, Scratch* scratch, size_t n_jobs) except -1
    cdef int _do(self, size_t number, Scratch* scratch) except -1 nogil
    cdef int _encode_texts(self, size_t first, size_t end, Scratch* scratch) except -1 nogil
    cdef int _keep(self, Job* job, const uint32_t* ids, size_t n_ids) except -1 nogil
    cdef void _give(self, size_t number, Scratch* scratch) noexcept nogil
    cdef void _place(self, size_t number, Scratch* scratch) noexcept nogil
    cdef void add_counts(self, int64_t* counts) noexcept
    cdef int add_lists(self, int n_threads, list out) except -1
    cdef int _have_done(self, size_t number, Scratch* scratch) except -1
    cdef size_t _add_list(self, size_t number, Scratch* scratch, list out) except 0
    cdef int _add_lists(self, const Job* job, list out) except -1
