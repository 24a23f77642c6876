from libc.stdint cimport int64_t, uint32_t

from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.scratch_pool cimport Scratch, ScratchPool
from fastbpe._core.merge.vocabulary cimport Tables
from fastbpe._core.text.special_tokens cimport SpecialMatcher
from fastbpe._core.text.utf8_text cimport Text


cdef struct Job:
    # Some texts, or a part of one.
    size_t first  # index of the first text
    size_t n_texts
    bint is_part
    size_t start  # of a part, in units
    size_t end
    uint32_t* ids  # in the arena, in a scratch, or owned
    size_t capacity  # of owned ids
    bint owns_ids
    size_t n_ids
    size_t offset  # place of the job's ids in the ids of all jobs; run_into() only
    size_t n_known  # how many of n_ids and offset are known; the thread that makes it 2 stores the ids
    int done  # atomic


cdef class Jobs:
    cdef Pipeline _pipeline
    cdef ScratchPool _pool
    cdef const Tables* _tables
    cdef SpecialMatcher _allowed
    cdef SpecialMatcher _disallowed
    cdef bint _counting
    cdef list _owners  # keep the memory of the texts alive
    cdef Text* _texts
    cdef size_t _n_texts
    cdef readonly size_t max_ids  # estimate: all texts together hardly ever have more ids
    cdef size_t* _counts  # text: ids; of texts in parts, 0
    cdef Ids _arena  # ids of all jobs, for lists
    cdef Job* _jobs
    cdef readonly size_t n_jobs
    cdef size_t _capacity  # of _jobs
    cdef size_t _next  # atomic: index of the next job that nobody has taken
    cdef int _stopped  # atomic: 1: begin no more jobs
    cdef int _abandoned  # atomic: nobody waits for the jobs any more
    cdef size_t _n_working  # atomic: threads in _work()
    cdef object _error  # of the first job that has one
    cdef size_t _error_number  # index of that job
    cdef object _bad_text  # error of the first item that is not a text; _texts end before it
    cdef Ids* _out  # buffer for the ids, set by run_into(); NULL: the arena
    cdef int _plan(self) except -1
    cdef int _plan_parts(self, size_t text) except -1
    cdef Job* _add(self, size_t first, size_t n_texts) except NULL
    cdef int run(self, int n_threads) except -1
    cdef int run_into(self, Ids* out, bint has_capacity, int n_threads) except -1
    cdef int run_alone(self, Ids* out, bint has_capacity) except -1
    cdef int _wait(self) except -1
    cdef bint _do_jobs(self, Scratch* scratch, size_t n_jobs) except -1
    cdef int _do(self, size_t number, Scratch* scratch) except -1 nogil
    cdef int _do_part(self, Job* job, Scratch* scratch) except -1 nogil
    cdef int _do_texts(self, size_t first, size_t end, Scratch* scratch) except -1 nogil
    cdef int _keep(self, Job* job, const uint32_t* ids, size_t n_ids) except -1 nogil
    cdef void _store_or_leave(self, size_t number, Scratch* scratch) noexcept nogil
    cdef void _store(self, size_t number, Scratch* scratch) noexcept nogil
    cdef void add_counts(self, int64_t* counts) noexcept
    cdef int add_lists(self, int n_threads, list out) except -1
    cdef int _wait_for(self, size_t number, Scratch* scratch) except -1
    cdef size_t _add_list_of_parts(self, size_t number, Scratch* scratch, list out) except 0
    cdef int _add_lists_of_texts(self, const Job* job, list out) except -1
