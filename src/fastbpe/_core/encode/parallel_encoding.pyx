"""Encode many texts, or a long one, on several threads.

The work is divided into jobs: small texts with about JOB_UNITS units in total, or a part of a long text between
two safe cuts. A thread that is free takes the next job in order. Views of all texts are made once, with the GIL;
then the threads work without it on the memory of the texts. The calling thread works too, so a busy thread
pool makes a call slower, but cannot block it.
"""

# Tried and dropped: separate memory for the ids of each job: thousands of page faults per call.
# Tried and dropped: releasing the GIL every 0.1 ms: worse, since a waiting thread requests it only after the
#   interpreter's switch interval.

cimport cython
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy, memset

from fastbpe._core.common.atomics cimport add, is_set, set_flag
from fastbpe._core.common.gil_yield cimport yield_gil_if_due
from fastbpe._core.common.id_buffer cimport Ids, ids_expect, ids_reserve
from fastbpe._core.cache.pending_pieces cimport note_count, settle
from fastbpe._core.common.python cimport PyErr_CheckSignals
from fastbpe._core.ids.id_lists cimport append_ids, expect_items, fit_list, hide, ids_list, new_list
from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.text.special_tokens cimport SpecialMatcher
from fastbpe._core.text.text_batches cimport TextRows
from fastbpe._core.text.utf8_text cimport Text, text_of, text_prefetch, text_release, text_view
from fastbpe._core.common.interrupts cimport check_signals

from time import sleep

from fastbpe._utils.threads import start_beside

cdef enum:
    JOB_UNITS = 1 << 17  # units of the small texts in a job, and of a part of a long text
    SPARE_ITEMS = 1 << 10  # list items in addition to the estimate: nearly always enough
    MAX_UNSETTLED_IDS = 1 << 13  # ids with gaps between two calls of settle(); the processor's caches hold them
    MORE_IDS_PER_TEXT = 4  # ids in addition to one per byte, for a space inserted before the text

cdef double WAIT = 5e-5  # seconds between two checks whether other threads are done
cdef double ITEMS_PER_ID = 1.05  # list items of a text per estimated id; the estimate is from its first part


@cython.final
cdef class Jobs:
    """Jobs that encode or count some texts, for other compiled modules.

    pipeline: the steps of each text.
    texts: str, or bytes-like UTF-8.
    allowed, disallowed: as in Pipeline.encode().
    counting: count the ids instead of keeping them.
    checked: bytes are known to be UTF-8.
    rows: if given, its rows first_row to last_row - 1 are the texts.
    """

    def __cinit__(
        self, Pipeline pipeline not None, list texts not None, SpecialMatcher allowed, SpecialMatcher disallowed,
        bint counting, bint checked=False, TextRows rows=None, size_t first_row=0, size_t last_row=0
    ):
        self._pipeline = pipeline
        self._pool = pipeline.pool
        self._tables = &pipeline.vocabulary.tables
        self._allowed, self._disallowed = allowed, disallowed
        self._counting = counting
        self._owners = list(texts) if rows is None else [rows]
        cdef size_t i, n = <size_t> len(texts) if rows is None else last_row - first_row
        self._texts = <Text*> calloc(n + 1, sizeof(Text))
        self._counts = <size_t*> calloc(n + 1, sizeof(size_t))
        if self._texts == NULL or self._counts == NULL:
            raise MemoryError(f"no memory to encode {n} texts at once")
        try:
            for i in range(n):
                if rows is not None:
                    rows.view(first_row + i, &self._texts[i])
                elif checked:
                    text_view(self._owners[i], &self._texts[i])
                else:
                    text_of(self._owners[i], &self._texts[i])
                self._n_texts += 1
                self.max_ids += self._texts[i].n * self._texts[i].unit + MORE_IDS_PER_TEXT
        except Exception as error:  # raised once the earlier texts are done: their errors come first
            self._bad_text = error
        self._plan()

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.n_jobs):
            if self._jobs[i].owns_ids:
                free(self._jobs[i].ids)
        if self._pool is not None:
            self._pool.give_arena(self._arena)
        else:  # __cinit__ failed early, or the garbage collector has cleared the attribute
            free(self._arena.items)
        for i in range(self._n_texts):
            text_release(&self._texts[i])
        free(self._jobs)
        free(self._texts)
        free(self._counts)

    cdef int _plan(self) except -1:
        """Divide the texts into jobs."""
        cdef size_t i, n_units = 0
        cdef bint may_cut = self._pipeline.may_cut(self._allowed, self._disallowed)
        cdef Job* job = NULL  # job that gets the next small text; NULL: a new one
        for i in range(self._n_texts):
            if may_cut and self._texts[i].n >= 2 * JOB_UNITS:
                self._plan_parts(i)
                job = NULL
                continue
            if job == NULL or n_units >= JOB_UNITS:
                job, n_units = self._add(i), 0
            job.n_texts += 1
            n_units += self._texts[i].n
        return 0

    cdef int _plan_parts(self, size_t text) except -1:
        """Divide a long text into jobs."""
        cdef size_t start = 0
        cdef Job* job
        while start < self._texts[text].n:
            job = self._add(text)
            job.is_part = True
            job.start = start
            job.end = start = self._pipeline.cut(&self._texts[text], start, start + JOB_UNITS)
        return 0

    cdef Job* _add(self, size_t first) except NULL:
        """Append a job, still without texts. Pointers to other jobs are invalid afterwards."""
        cdef size_t capacity
        cdef Job* jobs
        cdef Job* job
        if self.n_jobs == self._capacity:
            capacity = max(2 * self._capacity, <size_t> 16)
            jobs = <Job*> realloc(self._jobs, capacity * sizeof(Job))
            if jobs == NULL:
                raise MemoryError(f"no memory for {capacity} jobs")
            self._jobs, self._capacity = jobs, capacity
        job = &self._jobs[self.n_jobs]
        memset(job, 0, sizeof(Job))
        job.first = first
        self.n_jobs += 1
        return job

    # Running the jobs

    cdef int run(self, int n_threads) except -1:
        """Do all jobs on up to n_threads threads. Raises the error of the first text that has one."""
        try:
            start_beside(self._work, <int> min(<size_t> n_threads, self.n_jobs) - 1)
            self._work()
        except BaseException:
            set_flag(&self._abandoned)
            raise
        finally:
            self._wait()
        if self._error is not None:
            raise self._error
        if self._bad_text is not None:
            raise self._bad_text
        return 0

    cdef int run_into(self, Ids* out, bint has_capacity, int n_threads) except -1:
        """Do all jobs, and append the ids of all texts to `out`, end to end.

        has_capacity: `out` has enough memory, and its pages have been touched.

        Requires: the jobs are not counting.
        """
        cdef size_t total = out.n, number
        cdef Job* job
        if not self.n_jobs:
            return self.run(n_threads)  # raises the error of the first item, if it is not a text
        if not has_capacity:
            ids_expect(out, self.max_ids)  # the system provides pages at their first use
        self._out = out
        self._jobs[0].offset = total
        self._jobs[0].n_known = 1
        try:
            self.run(n_threads)
        finally:
            self._out = NULL
        job = &self._jobs[self.n_jobs - 1]
        total = job.offset + job.n_ids
        out.n = min(total, out.capacity)  # when ids_reserve() moves the buffer, it keeps the first out.n ids
        ids_reserve(out, total - out.n)
        for number in range(self.n_jobs):
            job = &self._jobs[number]
            if job.owns_ids:  # the job's ids did not fit into `out`
                memcpy(out.items + job.offset, job.ids, job.n_ids * sizeof(uint32_t))
        out.n = total
        return 0

    cdef int run_alone(self, Ids* out, bint has_capacity) except -1:
        """Do the work of run_into() on this thread, without a copy of the ids; check signals only within long texts."""
        cdef Scratch* scratch = self._pool.take()
        cdef Ids own = scratch.ids
        cdef size_t number
        scratch.ids = out[0]
        try:
            with nogil:
                if not has_capacity:
                    ids_expect(&scratch.ids, self.max_ids // UNITS_PER_ARRAY_ID)
                self._do_texts(0, self._n_texts, scratch)
        finally:
            out[0], scratch.ids = scratch.ids, own
            self._pool.give(scratch)
        for number in range(self.n_jobs):
            self._jobs[number].is_part = False  # _counts has all counts; add_counts() adds n_ids only for parts
        if self._bad_text is not None:
            raise self._bad_text
        return 0

    cdef int _wait(self) except -1:
        """Start no more jobs, and wait for the threads that are working, even if signals arrive.

        A thread counts itself in _n_working and then checks _stopped; this function does it in the opposite order.
        So a thread that starts later finds nothing to do. Futures would not work: a signal inside one may leave
        its lock locked forever, with a thread waiting for it.
        """
        cdef object interrupt = None
        set_flag(&self._stopped)
        while add(&self._n_working, 0):
            try:
                sleep(WAIT)
            except BaseException as error:
                interrupt = error
                set_flag(&self._abandoned)
        if interrupt is not None:
            raise interrupt
        return 0

    def _work(self):
        """Do jobs until no job is left: the main function of every thread."""
        cdef Scratch* scratch
        add(&self._n_working, 1)
        try:
            if is_set(&self._stopped):  # checked after the thread has counted itself: see _wait()
                return
            scratch = self._pool.take()
            try:
                self._do_jobs(scratch, self.n_jobs)
            finally:
                self._pool.give(scratch)
        finally:
            add(&self._n_working, <size_t> -1)

    cdef bint _do_jobs(self, Scratch* scratch, size_t n_jobs) except -1:
        """Take and do up to n_jobs jobs; return False if there are no more to take.

        Keeps in _error the error of the first job that has one. Raises it at once only if it is not an Exception,
        for example a KeyboardInterrupt.
        """
        cdef size_t number = 0
        cdef bint has_job = True
        scratch.watch.abandoned = &self._abandoned
        try:
            with nogil:
                while n_jobs and has_job:
                    number = self.n_jobs if is_set(&self._stopped) else add(&self._next, 1)
                    has_job = number < self.n_jobs
                    if has_job:
                        self._do(number, scratch)
                        set_flag(&self._jobs[number].done)
                        n_jobs -= 1
        except BaseException as error:
            # Jobs start in order: the earlier ones are done or running, so the first error is always found.
            with cython.critical_section(self):
                if self._error is None or number < self._error_number:
                    self._error, self._error_number = error, number
            set_flag(&self._stopped)
            has_job = False
            if not isinstance(error, Exception):
                raise
        return has_job

    cdef int _do(self, size_t number, Scratch* scratch) except -1 nogil:
        """Do a job, and store its ids where they belong."""
        cdef Job* job = &self._jobs[number]
        check_signals(&scratch.watch)
        scratch.ids.n = 0
        if job.is_part:
            self._do_part(job, scratch)
        else:
            self._do_texts(job.first, job.first + job.n_texts, scratch)
        if self._counting:
            return 0
        if self._out != NULL:
            self._store_or_leave(number, scratch)
        elif self.n_jobs > 1:
            self._keep(job, scratch.ids.items, scratch.ids.n)
        else:  # add_lists() did the only job with its own scratch, and keeps the scratch until the list exists
            job.ids, job.n_ids = scratch.ids.items, scratch.ids.n
        return 0

    cdef int _do_part(self, Job* job, Scratch* scratch) except -1 nogil:
        """Append the ids of a part of a text to scratch.ids, or store their count in job.n_ids."""
        cdef Text* text = &self._texts[job.first]
        if self._counting:
            job.n_ids = self._pipeline.count(text, job.start, job.end, self._allowed, self._disallowed, scratch)
            return 0
        scratch.cache.defers = self._pipeline.may_defer
        self._pipeline.encode(text, job.start, job.end, self._allowed, self._disallowed, scratch)
        settle(&scratch.cache, self._tables, &scratch.ids)
        scratch.cache.defers = False
        return 0

    cdef int _do_texts(self, size_t first, size_t end, Scratch* scratch) except -1 nogil:
        """Store the number of ids of texts first to end - 1, and append the ids to scratch.ids unless counting.

        Cache misses of several texts are merged together: until settle() the ids have gaps, and note_count() makes
        sure that the true counts are stored.
        """
        cdef size_t text = first, before
        while first < end:
            if self._counting and self._texts[first].n > <size_t> JOB_UNITS:
                # Too many ids to keep until the final settle().
                self._counts[first] = self._pipeline.count(
                    &self._texts[first], 0, self._texts[first].n, self._allowed, self._disallowed, scratch
                )
                first = text = first + 1
                continue
            before = scratch.ids.n
            scratch.cache.defers = self._pipeline.may_defer
            while text < end and scratch.ids.n - before < <size_t> MAX_UNSETTLED_IDS:
                if self._counting and self._texts[text].n > <size_t> JOB_UNITS:
                    break
                if text + 1 < self._n_texts:
                    text_prefetch(&self._texts[text + 1])
                self._pipeline.encode(
                    &self._texts[text], 0, self._texts[text].n, self._allowed, self._disallowed, scratch
                )
                note_count(&scratch.cache, self._tables, &self._counts[text], &scratch.ids)
                text += 1
            settle(&scratch.cache, self._tables, &scratch.ids)
            scratch.cache.defers = False
            if self._counting:
                scratch.ids.n = before
            while first < text:  # convert ends to counts
                self._counts[first], before = self._counts[first] - before, self._counts[first]
                first += 1
        return 0

    cdef int _keep(self, Job* job, const uint32_t* ids, size_t n_ids) except -1 nogil:
        """Copy a job's ids to the arena, or to the job's own memory if they do not fit."""
        cdef size_t at = add(&self._arena.n, n_ids)
        if at + n_ids <= self._arena.capacity:
            job.ids = self._arena.items + at
        else:
            job.ids = <uint32_t*> malloc((n_ids + 1) * sizeof(uint32_t))
            if job.ids == NULL:
                with gil:
                    raise MemoryError(f"no memory for {n_ids} token ids")
            job.owns_ids = True
        if n_ids:
            memcpy(job.ids, ids, n_ids * sizeof(uint32_t))
        job.n_ids = n_ids
        return 0

    cdef void _store_or_leave(self, size_t number, Scratch* scratch) noexcept nogil:
        """Store a job's ids in _out, or leave them with the job if their offset is unknown or they do not fit.

        A job's offset is known when all earlier jobs are done. The thread that makes it known then stores the ids.
        So ids are written to _out while other jobs run, and only ids that must wait keep memory of their own.
        """
        cdef Job* job = &self._jobs[number]
        job.n_ids = scratch.ids.n
        if not add(&job.n_known, 0) or job.offset + job.n_ids > self._out.capacity:
            job.ids, job.capacity, job.owns_ids = scratch.ids.items, scratch.ids.capacity, True
            scratch.ids, scratch.other_ids = scratch.other_ids, Ids(NULL, 0, 0)
        if add(&job.n_known, 1):
            self._store(number, scratch)

    cdef void _store(self, size_t number, Scratch* scratch) noexcept nogil:
        """Store a job's ids in _out, then the ids of the jobs after it, up to the first that is not done.

        scratch: has the ids of the first of these jobs, unless that job owns its ids; receives the memory of jobs
            that own their ids.

        Requires: the job's n_known has just become 2: its n_ids and its offset are known.
        """
        cdef Job* job
        cdef bint has_next = True  # the ids of the next job can be stored too
        while has_next:
            job = &self._jobs[number]
            number += 1
            has_next = number < self.n_jobs
            if has_next:
                self._jobs[number].offset = job.offset + job.n_ids
                has_next = add(&self._jobs[number].n_known, 1)
            if job.offset + job.n_ids > self._out.capacity:
                continue
            if job.n_ids:
                memcpy(
                    self._out.items + job.offset, job.ids if job.owns_ids else scratch.ids.items,
                    job.n_ids * sizeof(uint32_t),
                )
            if job.owns_ids:
                free(scratch.other_ids.items)
                scratch.other_ids = Ids(job.ids, 0, job.capacity)
                job.owns_ids = False

    # Results

    cdef void add_counts(self, int64_t* counts) noexcept:
        """Store the number of ids of each text.

        Requires: all jobs are done.
        """
        cdef size_t number, text
        for text in range(self._n_texts):
            counts[text] = self._counts[text]
        for number in range(self.n_jobs):
            if self._jobs[number].is_part:
                counts[self._jobs[number].first] += self._jobs[number].n_ids

    cdef int add_lists(self, int n_threads, list out, tuple before=(), tuple behind=()) except -1:
        """Do all jobs, and append to `out` a list of ids for each text, hidden from the garbage collector.

        before, behind: ids of the template before and after each text.

        The calling thread makes the lists of finished jobs while other threads work, and does jobs in between.

        Requires: the jobs are not counting.
        """
        cdef Scratch* scratch = self._pool.take()
        cdef size_t number = 0
        try:
            if self.n_jobs > 1:  # the ids of a single job stay in the scratch
                self._arena = self._pool.take_arena(self.max_ids)
            start_beside(self._work, <int> min(<size_t> n_threads, self.n_jobs) - 1)
            while number < self.n_jobs:
                yield_gil_if_due()
                if self._jobs[number].is_part:
                    number = self._add_list_of_parts(number, scratch, out, before, behind)
                else:
                    self._wait_for(number, scratch)
                    self._add_lists_of_texts(&self._jobs[number], out, before, behind)
                    number += 1
        except BaseException:
            set_flag(&self._abandoned)
            raise
        finally:
            self._pool.give(scratch)
            self._wait()
        if self._bad_text is not None:
            raise self._bad_text
        return 0

    cdef int _wait_for(self, size_t number, Scratch* scratch) except -1:
        """Do jobs until this or another thread has done job `number`. Raises the error of that job."""
        PyErr_CheckSignals()
        while not is_set(&self._jobs[number].done):
            if not self._do_jobs(scratch, 1):
                with cython.critical_section(self):
                    if self._error is not None and self._error_number == number:
                        raise self._error
                sleep(WAIT)
            PyErr_CheckSignals()
        return 0

    cdef size_t _add_list_of_parts(
        self, size_t number, Scratch* scratch, list out, tuple before, tuple behind
    ) except 0:
        """Append the list of a text in parts; return the index of the next job after them.

        number: index of the first part's job.
        """
        cdef Job* job = &self._jobs[number]
        cdef Text* text = &self._texts[job.first]
        cdef size_t n_items
        cdef list ids = new_list(0)
        hide(ids)
        ids.extend(before)
        self._wait_for(number, scratch)
        # Estimate generously from the first part, up to one item per byte: a list with too little space is copied.
        n_items = <size_t> (min(ITEMS_PER_ID * job.n_ids / (job.end - job.start), <double> text.unit) * text.n)
        expect_items(ids, n_items + SPARE_ITEMS)
        while number < self.n_jobs and self._jobs[number].is_part and self._jobs[number].first == job.first:
            self._wait_for(number, scratch)
            append_ids(ids, self._jobs[number].ids, self._jobs[number].n_ids)
            yield_gil_if_due()
            number += 1
        ids.extend(behind)
        fit_list(ids)
        out.append(ids)
        return number

    cdef int _add_lists_of_texts(self, const Job* job, list out, tuple before, tuple behind) except -1:
        """Append a list for each text of a job."""
        cdef size_t text, at = 0
        cdef list ids
        for text in range(job.first, job.first + job.n_texts):
            ids = ids_list(job.ids + at, self._counts[text], before, behind)
            hide(ids)
            out.append(ids)
            at += self._counts[text]
        return 0
