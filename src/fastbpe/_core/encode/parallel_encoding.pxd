from libc.stdint cimport int64_t, uint32_t

from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.scratch_pool cimport Scratch, ScratchPool
from fastbpe._core.merge.vocabulary cimport Tables
from fastbpe._core.text.special_tokens cimport SpecialMatcher
from fastbpe._core.text.utf8_text cimport Text


cdef enum:
    UNITS_PER_ARRAY_ID = 3  # estimate for an array of ids: more ids than English has, fewer than some languages have


cdef struct Job:
    # Some texts, or a part of one text.
    size_t first  # index of the first text
    size_t n_texts  # if it is not a part
    bint is_part
    size_t start  # start of a part, in units
    size_t end
    uint32_t* ids  # in the arena, in a scratch, or owned by the job
    size_t capacity  # capacity of owned ids
    bint owns_ids
    size_t n_ids
    size_t offset  # position of the job's ids in the ids of all jobs; run_into() only
    size_t n_known  # how many of n_ids and offset are known; the thread that sets it to 2 stores the ids
    int done  # atomic


cdef class Jobs:
    cdef Pipeline _pipeline
    cdef ScratchPool _pool
    cdef const Tables* _tables
    cdef SpecialMatcher _allowed
    cdef SpecialMatcher _disallowed
    cdef bint _counting
    cdef list _owners  # objects that keep the memory of the texts alive
    cdef Text* _texts
    cdef size_t _n_texts
    cdef size_t max_ids  # estimate of the number of ids of all texts; rarely exceeded
    cdef size_t* _counts  # by text: number of ids; 0 for texts in parts
    cdef Ids _arena  # ids of all jobs, for lists
    cdef Job* _jobs
    cdef size_t n_jobs
    cdef size_t _capacity  # capacity of _jobs
    cdef size_t _next  # atomic: index of the next job to take
    cdef int _stopped  # atomic: 1: start no more jobs
    cdef int _abandoned  # atomic: 1: nobody waits for the jobs any more
    cdef size_t _n_working  # atomic: number of threads in _work()
    cdef object _error  # error of the first job that has one
    cdef size_t _error_number  # index of that job
    cdef object _bad_text  # error of the first item that is not a text; _texts ends before that item
    cdef Ids* _out  # buffer for the ids, set by run_into(); NULL: the arena
    cdef int _plan(self) except -1
    cdef int _plan_parts(self, size_t text) except -1
    cdef Job* _add(self, size_t first) except NULL
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
    cdef int add_lists(self, int n_threads, list out, tuple before=*, tuple behind=*) except -1
    cdef int _wait_for(self, size_t number, Scratch* scratch) except -1
    cdef size_t _add_list_of_parts(
        self, size_t number, Scratch* scratch, list out, tuple before, tuple behind
    ) except 0
    cdef int _add_lists_of_texts(self, const Job* job, list out, tuple before, tuple behind) except -1
