"""Decoding the ids of many texts on several threads.

Reading ints out of lists is most of the work, and asks for the GIL: nobody may change a list meanwhile. But it is
enough that the calling thread holds it while others, which wait for its word without the GIL, read as well. So the
calling thread lets threads come, takes the GIL back and keeps it until all is read; then it makes the strs, which
all fill together.
"""

cimport cython
from cpython.sequence cimport PySequence_Fast_GET_SIZE, PySequence_Fast_ITEMS
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from fastbpe._core.common.atomics cimport add, is_set, set_flag, yield_thread
from fastbpe._core.common.memory cimport use_huge_pages
from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.decode.token_slots cimport NOT_ASCII, Head, Slot, Sums, copy_tokens, decode_tokens, read_ints, slot_add, slot_token

from time import sleep

from fastbpe._utils.threads import start_beside, usable_cores

cdef enum:
    READ, FILL
    TASK_IDS = 1 << 14
    WAITS = 8  # for threads that come

cdef double WAIT = 5e-5  # seconds


@cython.final
cdef class Decoding:
    """The ids of some texts, and the strs that are made of them."""

    def __dealloc__(self):
        free(self._ids)
        free(self.items)
        free(self._starts)

    cdef int invite(self, int n_threads) except -1:
        """Have other threads come and wait. The GIL is given up meanwhile, and not after."""
        cdef int i, n_invited = start_beside(self._work, min(n_threads, <int> usable_cores()) - 1)
        for i in range(WAITS):
            if self._n_there == <size_t> n_invited:
                break
            sleep(WAIT)
        return 0

    def _work(self):
        """What a thread beside the calling one does; one that comes too late finds that it is over."""
        cdef uint8_t* block
        self._n_there += 1
        with nogil:
            while not (is_set(&self._may_read) or is_set(&self._over)):
                yield_thread()
            if not is_set(&self._over):
                self._do(READ, NULL)
                while not (is_set(&self._may_fill) or is_set(&self._over)):
                    yield_thread()
                block = <uint8_t*> malloc(self._block_bytes)
                if block != NULL and not is_set(&self._over):
                    self._do(FILL, block)
                free(block)

    cdef int read(self, list sequences) except -1:
        """Read what lists and tuples hold."""
        cdef size_t n_ids = 0
        for sequence in sequences:
            if _is_plain(sequence):
                n_ids += <size_t> PySequence_Fast_GET_SIZE(sequence)
        self._take_memory(n_ids, len(sequences))
        self._plan(sequences)
        return self._read_all()

    cdef int _take_memory(self, size_t n_ids, size_t n_items) except -1:
        self._ids = <uint32_t*> malloc((n_ids + 1) * sizeof(uint32_t))
        self.items = <Item*> calloc(n_items + 1, sizeof(Item))
        self._starts = <size_t*> malloc((n_items + 2) * sizeof(size_t))
        if self._ids == NULL or self.items == NULL or self._starts == NULL:
            raise MemoryError(f"no memory for {n_ids} token ids")
        use_huge_pages(self._ids, n_ids * sizeof(uint32_t))
        self._starts[0] = 0
        return 0

    cdef int _read_all(self) except -1:
        set_flag(&self._may_read)
        self._do(READ, NULL)
        self._finish(READ)
        return 0

    cdef void _plan(self, list sequences) noexcept:
        cdef size_t n_ids = 0, begun = 0
        cdef Item* item
        for sequence in sequences:
            item = &self.items[self.n_items]
            if _is_plain(sequence):
                item.ints = PySequence_Fast_ITEMS(sequence)
                item.n = <size_t> PySequence_Fast_GET_SIZE(sequence)
                item.first = n_ids
                n_ids += item.n
            self.n_items += 1
            if n_ids - begun >= TASK_IDS:
                self._n_tasks += 1
                self._starts[self._n_tasks] = self.n_items
                begun = n_ids
        if self._starts[self._n_tasks] < self.n_items:
            self._n_tasks += 1
            self._starts[self._n_tasks] = self.n_items

    # One text in parts

    cdef bint read_parts(self, object sequence, Ids* ids, Sums* sums) except -1:
        """Read a list or tuple, an item for each part of it. False: not all of it are tokens."""
        cdef size_t i, n = <size_t> PySequence_Fast_GET_SIZE(sequence)
        cdef Item* item
        self._take_memory(n, n // TASK_IDS + 1)
        while self.n_items * TASK_IDS < n:
            item = &self.items[self.n_items]
            item.first = self.n_items * TASK_IDS
            item.ints = PySequence_Fast_ITEMS(sequence) + item.first
            item.n = min(<size_t> TASK_IDS, n - item.first)
            item.head.rest = b""
            self.n_items += 1
            self._starts[self.n_items] = self.n_items
        self._n_tasks = self.n_items
        self._read_all()
        ids[0] = Ids(self._ids, n, n)
        memset(sums, 0, sizeof(Sums))
        for i in range(self.n_items):
            item = &self.items[i]
            if not item.is_read:
                return False
            sums.n_bytes += item.sums.n_bytes
            sums.n_characters += item.sums.n_characters
            sums.n_empty += item.sums.n_empty
            sums.tags |= item.sums.tags
        return self.n_items > 0

    cdef void lay_out(self, uint8_t* data, size_t width, uint32_t tags) noexcept:
        """Say where in one str each part goes. tags: of all together."""
        cdef size_t i, n
        cdef Item* item
        if tags & NOT_ASCII:
            for i in range(1, self.n_items):
                self._begin_at_character(&self.items[i])
        for i in range(self.n_items):
            item = &self.items[i]
            item.sums.n_bytes -= item.head.n_left_out
            item.sums.n_characters -= item.head.n_left_out
            item.sums.tags = tags
            item.data, item.width = data, width
            n = item.sums.n_characters if tags & NOT_ASCII else item.sums.n_bytes
            data += n * width

    cdef void _begin_at_character(self, Item* item) noexcept:
        """Give to the part before what begins in the midst of a character."""
        cdef Item* before = item - 1
        cdef const uint8_t* token
        cdef Sums sums
        cdef size_t n
        while item.n:
            token = slot_token(&self._slots[self._ids[item.first]], &n)
            if n == 0 or token[0] & 0xC0 != 0x80:
                return
            memset(&sums, 0, sizeof(Sums))
            slot_add(self._slots, self._n_slots, self._ids[item.first], &sums)
            item.sums.n_bytes -= sums.n_bytes
            item.sums.n_characters -= sums.n_characters
            before.sums.n_bytes += sums.n_bytes
            before.sums.n_characters += sums.n_characters
            item.first += 1
            item.n -= 1
            before.n += 1

    cdef bint is_sound(self) noexcept:
        """Whether all that was filled is UTF-8."""
        cdef size_t i
        for i in range(self.n_items):
            if self.items[i].data != NULL and not self.items[i].is_sound:
                return False
        return True

    # Filling

    cdef int fill(self) except -1:
        """Fill the strs of all items that have one."""
        cdef uint8_t* block = <uint8_t*> malloc(self._block_bytes)
        if block == NULL:
            raise MemoryError(f"no memory for {self._block_bytes} bytes of text")
        set_flag(&self._may_fill)
        with nogil:
            self._do(FILL, block)
        free(block)
        self._finish(FILL)
        return 0

    cdef Ids ids_of(self, const Item* item) noexcept:
        return Ids(self._ids + item.first, item.n, item.n)

    cdef void end(self) noexcept:
        """Send the other threads away, wherever they wait."""
        set_flag(&self._over)

    cdef void _do(self, int kind, uint8_t* block) noexcept nogil:
        cdef size_t task, i
        while True:
            task = add(&self._next[kind], 1)
            if task >= self._n_tasks:
                return
            for i in range(self._starts[task], self._starts[task + 1]):
                if kind == READ:
                    self._read_item(&self.items[i])
                else:
                    self._fill_item(&self.items[i], block)
            add(&self._n_done[kind], 1)

    cdef void _finish(self, int kind) noexcept:
        """Wait for the tasks that others have taken: a moment each."""
        while add(&self._n_done[kind], 0) < self._n_tasks:
            yield_thread()

    cdef void _read_item(self, Item* item) noexcept nogil:
        cdef Ids ids = Ids(self._ids + item.first, 0, item.n)
        if item.ints != NULL:
            read_ints(item.ints, item.n, self._slots, self._n_slots, &ids, &item.sums)
            item.is_read = ids.n == item.n

    cdef void _fill_item(self, Item* item, uint8_t* block) noexcept nogil:
        cdef Ids ids = Ids(self._ids + item.first, item.n, item.n)
        if item.data != NULL:
            item.is_sound = fill_text(
                self._slots, &ids, &item.head, &item.sums, block, self._block_bytes, item.data, item.width
            )


cdef Decoding new_decoding(object owner, const Slot* slots, size_t n_slots, size_t block_bytes):
    """owner: keeps the slots alive. block_bytes: as for `fill_text`."""
    cdef Decoding decoding = Decoding()
    decoding._owner, decoding._slots, decoding._n_slots = owner, slots, n_slots
    decoding._block_bytes = block_bytes
    return decoding


cdef bint _is_plain(object sequence) noexcept:
    return type(sequence) is list or type(sequence) is tuple


cdef bint fill_text(
    const Slot* slots, const Ids* ids, const Head* head, const Sums* sums, uint8_t* block, size_t block_bytes,
    uint8_t* data, size_t width
) noexcept nogil:
    """Fill a str with the text of ids; False at what is not UTF-8.

    block: for what is not ASCII, with room for the longest token and a slot more.
    """
    cdef size_t at = head.at
    if sums.tags & NOT_ASCII:
        memcpy(block, head.rest, head.n_rest)
        return decode_tokens(slots, ids, head, block, block_bytes, data, width)
    memcpy(data, head.rest, head.n_rest)
    copy_tokens(slots, ids, &at, data + head.n_rest, data + sums.n_bytes)
    return True
