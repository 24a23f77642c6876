"""Many texts, or one long one, on several threads: cut into jobs that whoever is free takes, in order.

Texts are looked at once, with the GIL; then every thread works without it on memory that the texts lend. A
job is as many small texts as make about JOB units, or a part of a long one, cut where no piece can lie across.
The calling thread works as well, so that a pool that has no thread to spare makes a call slower, not stuck.
"""

cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport int64_t, uint32_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

from fastbpe._core.common.atomics cimport add, is_set, set_flag
from fastbpe._core.common.memory cimport populate
from fastbpe._core.common.id_buffer cimport Ids, ids_expect, ids_reserve
from fastbpe._core.cache.pending_pieces cimport note_count, settle
from fastbpe._core.ids.id_lists cimport append_ids, expect_items, fit_list, hide, ids_list, new_list
from fastbpe._core.encode.pipeline cimport Pipeline, Scratch
from fastbpe._core.text.special_tokens cimport SpecialMatcher
from fastbpe._core.text.utf8_text cimport Text, text_of, text_prefetch, text_release, text_view
from fastbpe._core.common.interrupts cimport check_signals

from time import sleep

from fastbpe._utils.threads import start_beside

cdef enum:
    JOB = 1 << 17  # units
    MORE_IDS = 1 << 10  # than bytes, hardly ever
    SETTLED_IDS = 1 << 13  # of some texts: those of which there may be gaps stay in the caches

cdef double WAIT = 5e-5  # seconds between two looks at whether another thread is done


@cython.final
cdef class Jobs:
    """The jobs of some texts. counting: how many ids, and not the ids. checked: bytes are known to be UTF-8."""

    def __cinit__(
        self, Pipeline pipeline not None, list texts not None, SpecialMatcher allowed, SpecialMatcher disallowed,
        bint counting, bint checked=False,
    ):
        self._pipeline = pipeline
        self._tables = &pipeline.vocabulary.tables
        self._allowed, self._disallowed = allowed, disallowed
        self._counting = counting
        self._owners = list(texts)
        cdef size_t i, n = len(self._owners)
        self._texts = <Text*> calloc(n + 1, sizeof(Text))
        self._counts = <size_t*> calloc(n + 1, sizeof(size_t))
        if self._texts == NULL or self._counts == NULL:
            raise MemoryError(f"no memory to encode {n} texts at once")
        try:
            for i in range(n):
                if checked:
                    text_view(self._owners[i], &self._texts[i])
                else:
                    text_of(self._owners[i], &self._texts[i])
                self._n_texts += 1
                # An id for each byte, and those of a space before: hardly ever more.
                self.n_room += self._texts[i].n * self._texts[i].unit + 4
        except Exception as error:  # raised when the texts before are done: the first text's error comes first
            self._bad_text = error
        self._plan()

    def __dealloc__(self):
        cdef size_t i
        for i in range(self.n_jobs):
            if self._jobs[i].owns_ids:
                free(self._jobs[i].ids)
        if self._pipeline is not None:
            self._pipeline.give_arena(self._arena)
        else:  # nothing was taken, or the collector was here before
            free(self._arena.items)
        for i in range(self._n_texts):
            text_release(&self._texts[i])
        free(self._jobs)
        free(self._texts)
        free(self._counts)

    cdef int _plan(self) except -1:
        cdef size_t i = 0, first, n_units
        cdef bint may_cut = self._pipeline.may_cut(self._allowed, self._disallowed)
        while i < self._n_texts:
            if may_cut and self._texts[i].n >= 2 * JOB:
                self._plan_parts(i)
                i += 1
                continue
            first = i
            n_units = 0
            while i < self._n_texts and n_units < JOB and not (may_cut and self._texts[i].n >= 2 * JOB):
                n_units += self._texts[i].n
                i += 1
            self._add(first, i - first)
        return 0

    cdef int _plan_parts(self, size_t text) except -1:
        cdef size_t start = 0
        cdef Job* job
        while start < self._texts[text].n:
            job = self._add(text, 1)
            job.is_part = True
            job.start = start
            job.end = start = self._pipeline.cut(&self._texts[text], start, start + JOB)
        return 0

    cdef Job* _add(self, size_t first, size_t n_texts) except NULL:
        cdef size_t capacity
        cdef Job* jobs
        if self.n_jobs == self._capacity:
            capacity = max(2 * self._capacity, <size_t> 16)
            jobs = <Job*> realloc(self._jobs, capacity * sizeof(Job))
            if jobs == NULL:
                raise MemoryError(f"no memory for {capacity} jobs")
            self._jobs, self._capacity = jobs, capacity
        self._jobs[self.n_jobs] = Job(first, n_texts, False, 0, 0, NULL, 0, False, 0, 0, 0, 0)
        self.n_jobs += 1
        return &self._jobs[self.n_jobs - 1]

    # Doing them

    cdef int run(self, int n_threads) except -1:
        """Do all jobs. An error is that of the first text that has one."""
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

    cdef int run_into(self, Ids* out, bint has_room, int n_threads) except -1:
        """Do all jobs, and append the ids of all texts, end to end. has_room: out has room for them already."""
        cdef size_t total = out.n, number
        cdef Job* job
        if not self.n_jobs:
            return self.run(n_threads)
        if not has_room:
            ids_expect(out, self.n_room)  # touched as it is used
        self._out, self._is_fresh = out, not has_room
        self._jobs[0].offset = total
        self._jobs[0].n_known = 1
        try:
            self.run(n_threads)
        finally:
            self._out = NULL
        job = &self._jobs[self.n_jobs - 1]
        total = job.offset + job.n_ids
        out.n = min(total, out.capacity)  # what is there is kept
        ids_reserve(out, total - out.n)
        for number in range(self.n_jobs):
            job = &self._jobs[number]
            if job.owns_ids:  # for which there was no room
                memcpy(out.items + job.offset, job.ids, job.n_ids * sizeof(uint32_t))
        out.n = total
        return 0

    cdef int run_alone(self, Ids* out, bint has_room) except -1:
        """Do all jobs in this thread, and append the ids of all texts. Signals are looked for only within long ones.

        has_room: as of run_into.
        """
        cdef Scratch* scratch = self._pipeline.take()
        cdef Ids own = scratch.ids
        cdef size_t number
        scratch.ids = out[0]
        try:
            with nogil:
                if not has_room:
                    ids_expect(&scratch.ids, self.n_room // 3)
                self._encode_texts(0, self._n_texts, scratch)
        finally:
            out[0], scratch.ids = scratch.ids, own
            self._pipeline.give(scratch)
        for number in range(self.n_jobs):
            self._jobs[number].is_part = False
        if self._bad_text is not None:
            raise self._bad_text
        return 0

    cdef int _wait(self) except -1:
        """No more jobs are begun; wait for those that others have begun, whatever signals come.

        Who is at work says so itself, and who comes later finds that there is nothing to do. Futures are not asked: a
        signal within one may leave its lock taken for ever, and its thread waiting.
        """
        cdef object interrupt = None
        set_flag(&self._stopped)
        while self._n_working:
            try:
                sleep(WAIT)
            except BaseException as error:
                interrupt = error
                set_flag(&self._abandoned)
        if interrupt is not None:
            raise interrupt
        return 0

    def _work(self):
        """What every thread does: jobs, until there are none. One that cannot begin leaves them to the others."""
        cdef Scratch* scratch
        if is_set(&self._stopped):
            return
        self._n_working += 1
        try:
            scratch = self._pipeline.take()
            try:
                self._do_jobs(scratch, self.n_jobs + 1)
            finally:
                self._pipeline.give(scratch)
        finally:
            self._n_working -= 1

    cdef bint _do_jobs(self, Scratch* scratch, size_t n_jobs) except -1:
        """Do so many jobs that nobody has, or fewer; False if there are no more."""
        cdef size_t number = 0
        cdef bint more = True
        scratch.watch.abandoned = &self._abandoned
        try:
            with nogil:
                while n_jobs and more:
                    more = not is_set(&self._stopped)
                    number = add(&self._next, 1) if more else self.n_jobs
                    more = number < self.n_jobs
                    if more:
                        self._do(number, scratch)
                        set_flag(&self._jobs[number].done)
                        n_jobs -= 1
        except BaseException as error:
            # Jobs begin in order, so all before this one are done or being done: the first error is found.
            if self._error is None or number < self._error_number:
                self._error, self._error_number = error, number
            set_flag(&self._stopped)
            more = False
            if not isinstance(error, Exception):
                raise
        return more

    cdef int _do(self, size_t number, Scratch* scratch) except -1 nogil:
        cdef Job* job = &self._jobs[number]
        check_signals(&scratch.watch)
        scratch.ids.n = 0
        if job.is_part:
            scratch.cache.defers = self._pipeline.may_defer and not self._counting
            self._pipeline.encode(
                &self._texts[job.first], job.start, job.end, self._allowed, self._disallowed, scratch,
                &job.n_ids if self._counting else NULL,
            )
            settle(&scratch.cache, self._tables, &scratch.ids)
            scratch.cache.defers = False
        else:
            self._encode_texts(job.first, job.first + job.n_texts, scratch)
        if self._counting:
            return 0
        if self._out != NULL:
            self._give(number, scratch)
        elif self.n_jobs > 1:
            self._keep(job, scratch.ids.items, scratch.ids.n)
        else:  # add_lists does it itself, and has the scratch until the list is made
            job.ids, job.n_ids = scratch.ids.items, scratch.ids.n
        return 0

    cdef int _encode_texts(self, size_t first, size_t end, Scratch* scratch) except -1 nogil:
        """Store how many ids each of these texts has, and append them, if not counting."""
        cdef size_t text = first, before, after
        while first < end:
            if self._counting and self._texts[first].n > <size_t> JOB:  # whose ids are too many to have them all
                self._pipeline.encode(
                    &self._texts[first], 0, self._texts[first].n, self._allowed, self._disallowed, scratch,
                    &self._counts[first],
                )
                first = text = first + 1
                continue
            before = scratch.ids.n
            scratch.cache.defers = self._pipeline.may_defer
            while text < end and scratch.ids.n - before < <size_t> SETTLED_IDS:
                if self._counting and self._texts[text].n > <size_t> JOB:
                    break
                if text + 1 < self._n_texts:
                    text_prefetch(&self._texts[text + 1])
                self._pipeline.encode(
                    &self._texts[text], 0, self._texts[text].n, self._allowed, self._disallowed, scratch, NULL
                )
                note_count(&scratch.cache, self._tables, &self._counts[text], &scratch.ids)
                text += 1
            settle(&scratch.cache, self._tables, &scratch.ids)
            scratch.cache.defers = False
            if self._counting:
                scratch.ids.n = before
            while first < text:
                after = self._counts[first]
                self._counts[first] = after - before
                before = after
                first += 1
        return 0

    cdef int _keep(self, Job* job, const uint32_t* ids, size_t n_ids) except -1 nogil:
        cdef size_t at = add(&self._arena.n, n_ids)
        if at + n_ids <= self._arena.capacity:
            job.ids = self._arena.items + at
            if self._is_fresh:
                populate(job.ids, n_ids * sizeof(uint32_t))
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

    cdef void _give(self, size_t number, Scratch* scratch) noexcept nogil:
        """Put a job's ids where they are to stay, or leave them to whoever learns where that is.

        Without room for them all twice: fresh memory is dear.
        """
        cdef Job* job = &self._jobs[number]
        job.n_ids = scratch.ids.n
        if not add(&job.n_known, 0) or job.offset + job.n_ids > self._out.capacity:
            job.ids, job.room, job.owns_ids = scratch.ids.items, scratch.ids.capacity, True
            scratch.ids, scratch.other_ids = scratch.other_ids, Ids(NULL, 0, 0)
        if add(&job.n_known, 1):
            self._place(number, scratch)

    cdef void _place(self, size_t number, Scratch* scratch) noexcept nogil:
        """Both a job's ids and where they begin are known: so is where the next ones begin, which may wait for that."""
        cdef Job* job
        cdef bint more = True
        while more:
            job = &self._jobs[number]
            number += 1
            more = number < self.n_jobs
            if more:
                self._jobs[number].offset = job.offset + job.n_ids
                more = add(&self._jobs[number].n_known, 1)
            if job.offset + job.n_ids > self._out.capacity:
                continue
            if job.n_ids:
                if self._is_fresh:
                    populate(self._out.items + job.offset, job.n_ids * sizeof(uint32_t))
                memcpy(
                    self._out.items + job.offset, job.ids if job.owns_ids else scratch.ids.items,
                    job.n_ids * sizeof(uint32_t),
                )
            if job.owns_ids:
                free(scratch.other_ids.items)
                scratch.other_ids = Ids(job.ids, 0, job.room)
                job.owns_ids = False

    # What came of them

    cdef void add_counts(self, int64_t* counts) noexcept:
        """Store how many ids each text has."""
        cdef size_t number, text
        for text in range(self._n_texts):
            counts[text] = self._counts[text]
        for number in range(self.n_jobs):
            if self._jobs[number].is_part:
                counts[self._jobs[number].first] += self._jobs[number].n_ids

    cdef int add_lists(self, int n_threads, list out) except -1:
        """Do all jobs, and append a hidden list of each text's ids, beside the other threads."""
        cdef Scratch* scratch = self._pipeline.take()
        cdef size_t number = 0
        try:
            # One block for what all threads make: fresh memory is dear, and on huge pages less so. More than is
            # needed, which costs nothing until it is touched. A single job's ids stay where they are made.
            if self.n_jobs > 1:
                self._arena = self._pipeline.take_arena(self.n_room, &self._is_fresh)
            start_beside(self._work, <int> min(<size_t> n_threads, self.n_jobs) - 1)
            while number < self.n_jobs:
                if self._jobs[number].is_part:
                    number = self._add_list(number, scratch, out)
                else:
                    self._have_done(number, scratch)
                    self._add_lists(&self._jobs[number], out)
                    number += 1
        except BaseException:
            set_flag(&self._abandoned)
            raise
        finally:
            self._pipeline.give(scratch)
            self._wait()
        if self._bad_text is not None:
            raise self._bad_text
        return 0

    cdef int _have_done(self, size_t number, Scratch* scratch) except -1:
        """Wait for a job, and do jobs meanwhile."""
        while not is_set(&self._jobs[number].done):
            if not self._do_jobs(scratch, 1):
                if self._error is not None and self._error_number == number:
                    raise self._error
                sleep(WAIT)
            PyErr_CheckSignals()
        PyErr_CheckSignals()
        return 0

    cdef size_t _add_list(self, size_t number, Scratch* scratch, list out) except 0:
        """Append the list of a text in parts, each as soon as it is done; the number of the first job behind them."""
        cdef Job* job = &self._jobs[number]
        cdef Text* text = &self._texts[job.first]
        cdef size_t room
        cdef list made = new_list(0)
        hide(made)
        self._have_done(number, scratch)
        # At most one for each byte, and a few: room that is one short is room for twice as many, made anew.
        room = <size_t> (min(1.05 * job.n_ids / (job.end - job.start), <double> text.unit) * text.n)
        expect_items(made, room + MORE_IDS)
        while number < self.n_jobs and self._jobs[number].is_part and self._jobs[number].first == job.first:
            self._have_done(number, scratch)
            append_ids(made, self._jobs[number].ids, self._jobs[number].n_ids)
            number += 1
        fit_list(made)
        out.append(made)
        return number

    cdef int _add_lists(self, const Job* job, list out) except -1:
        cdef size_t text, at = 0
        cdef list ids
        for text in range(job.first, job.first + job.n_texts):
            ids = ids_list(job.ids + at, self._counts[text])
            hide(ids)
            out.append(ids)
            at += self._counts[text]
        return 0
