"""Decode many texts, or one long text, on several threads.

Most of the time goes into reading ints from lists, during which no thread may change the lists. It is enough if
one thread holds the GIL while the others read too. Without a GIL, the threads read copies. So a call has four
steps:

1. invite(): start the other threads, which then wait without the GIL for a flag, and take the GIL back.
2. read() or read_parts(): all threads read ids while the calling thread holds the GIL.
3. The caller creates the strs, still holding the GIL.
4. fill(): all threads fill the strs without the GIL.
"""

cimport cython
from libc.stdint cimport uint8_t, uint32_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memcpy, memset

from fastbpe._core.common.atomics cimport add, is_set, set_flag, yield_thread
from fastbpe._core.common.free_threading cimport FREE_THREADED
from fastbpe._core.common.memory cimport use_huge_pages
from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.common.python cimport PySequence_Fast_GET_SIZE, PySequence_Fast_ITEMS
from fastbpe._core.decode.token_slots cimport (
    NOT_ASCII, Beginning, Sums, TokenSlot, copy_tokens, decode_tokens, read_ints, slot_add, slot_token,
)

from operator import length_hint
from time import sleep

from fastbpe._utils.threads import start_beside, usable_cores

cdef enum:
    READ, FILL  # kinds of work

cdef enum:
    BATCH_IDS = 1 << 21  # ids that are decoded before more are taken from the caller's iterator
    BATCH_TEXTS = 1 << 16  # the same in texts
    TASK_IDS = 1 << 14  # ids per task; a task of whole texts may have more
    MAX_WAITS = 8  # how often to wait for the other threads to start; later ones still join in

cdef double WAIT_SECONDS = 5e-5


@cython.final
cdef class Decoding:
    """State of one call: the ids of its texts, and the strs made from them. Created by new_decoding()."""

    def __dealloc__(self):
        free(self._ids)
        free(self.items)
        free(self._starts)

    cdef int invite(self, int n_threads) except -1:
        """Start up to n_threads - 1 other threads, which wait for work. Holds the GIL again when it returns.

        Starts no more threads than there are cores, because a thread that waits keeps its core busy.
        """
        cdef int i, n_invited = start_beside(self._work, min(n_threads, <int> usable_cores()) - 1)
        for i in range(MAX_WAITS):
            if add(&self._n_there, 0) == <size_t> n_invited:
                break
            sleep(WAIT_SECONDS)
        return 0

    def _work(self):
        """Run one of the other threads: wait for each step, take tasks, return when the call is over."""
        cdef uint8_t* block
        add(&self._n_there, 1)
        with nogil:
            while not (is_set(&self._may_read) or is_set(&self._over)):
                yield_thread()
            if not is_set(&self._over):
                self._run_tasks(READ, NULL)
                while not (is_set(&self._may_fill) or is_set(&self._over)):
                    yield_thread()
                block = <uint8_t*> malloc(self._block_bytes)
                if block != NULL and not is_set(&self._over):
                    self._run_tasks(FILL, block)
                free(block)

    cdef int read(self, list sequences) except -1:
        """Read the ids of all lists and tuples among the sequences; other sequences stay unread."""
        cdef size_t n_ids = 0
        if FREE_THREADED:
            self._sequences = sequences = [tuple(ids) if type(ids) is list else ids for ids in sequences]
        for sequence in sequences:
            if _is_plain(sequence):
                n_ids += <size_t> PySequence_Fast_GET_SIZE(sequence)
        self._take_memory(n_ids, len(sequences))
        self._plan(sequences)
        return self._read_all()

    cdef int _take_memory(self, size_t n_ids, size_t n_items) except -1:
        """Allocate memory for these numbers of ids and items."""
        self._ids = <uint32_t*> malloc((n_ids + 1) * sizeof(uint32_t))
        self.items = <Item*> calloc(n_items + 1, sizeof(Item))
        self._starts = <size_t*> malloc((n_items + 1) * sizeof(size_t))
        if self._ids == NULL or self.items == NULL or self._starts == NULL:
            raise MemoryError(f"no memory for {n_ids} token ids")
        use_huge_pages(self._ids, n_ids * sizeof(uint32_t))
        self._starts[0] = 0
        return 0

    cdef int _read_all(self) except -1:
        """Read all items together with the other threads. Requires the GIL, and holds it throughout."""
        set_flag(&self._may_read)
        self._run_tasks(READ, NULL)
        self._wait_for_tasks(READ)
        return 0

    cdef void _plan(self, list sequences) noexcept:
        """Make an item for each sequence, and tasks of neighbouring items with TASK_IDS ids or more in total."""
        cdef size_t n_ids = 0, n_planned = 0  # ids of the items so far, and of those that have a task
        cdef Item* item
        for sequence in sequences:
            item = &self.items[self.n_items]
            if _is_plain(sequence):
                item.ints = PySequence_Fast_ITEMS(sequence)
                item.n = <size_t> PySequence_Fast_GET_SIZE(sequence)
                item.first = n_ids
                n_ids += item.n
            self.n_items += 1
            if n_ids - n_planned >= TASK_IDS:
                self._n_tasks += 1
                self._starts[self._n_tasks] = self.n_items
                n_planned = n_ids
        if self._starts[self._n_tasks] < self.n_items:
            self._n_tasks += 1
            self._starts[self._n_tasks] = self.n_items

    # One text in parts

    cdef bint read_parts(self, object sequence, Ids* ids, Sums* sums) except -1:
        """Read one list or tuple in parts of TASK_IDS ids. Each part is an item and a task.

        ids: becomes a view of all ids, valid as long as this object exists. sums: receives the sums over all ids.
        Returns False if the sequence is empty (another thread may have emptied a long list during invite()), or an
        item cannot be read: it is not an exact int, or not a token.
        """
        cdef size_t i, n
        cdef Item* item
        if FREE_THREADED:
            self._sequences = sequence = tuple(sequence)
        n = <size_t> PySequence_Fast_GET_SIZE(sequence)
        self._take_memory(n, n // TASK_IDS + 1)
        while self.n_items * TASK_IDS < n:
            item = &self.items[self.n_items]
            item.first = self.n_items * TASK_IDS
            item.ints = PySequence_Fast_ITEMS(sequence) + item.first
            item.n = min(<size_t> TASK_IDS, n - item.first)
            item.beginning.data = b""
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
        """Set where the characters of each part go in one str.

        Also moves tokens so that each part begins with a character, and subtracts from the sums of each part the
        bytes and characters that its beginning leaves out.

        data, width: characters of the str, and bytes per character.
        tags: tags of all parts, combined by or.
        """
        cdef size_t i, n
        cdef Item* item
        if tags & NOT_ASCII:
            for i in range(1, self.n_items):
                self._begin_at_character(&self.items[i])
        for i in range(self.n_items):
            item = &self.items[i]
            item.sums.n_bytes -= item.beginning.n_bytes_lost
            item.sums.n_characters -= item.beginning.n_characters_lost
            item.sums.tags = tags
            item.data, item.width = data, width
            n = item.sums.n_characters if tags & NOT_ASCII else item.sums.n_bytes
            data += n * width

    cdef void _begin_at_character(self, Item* item) noexcept:
        """Move tokens that begin within a character from the start of a part to the end of the previous part.

        Requires: no token is empty.
        """
        cdef Item* before = item - 1
        cdef const uint8_t* token
        cdef Sums sums
        cdef size_t n
        while item.n:
            token = slot_token(&self._slots[self._ids[item.first]], &n)
            if token[0] & 0xC0 != 0x80:
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
        """Tell whether all strs have been filled with valid text."""
        cdef size_t i
        for i in range(self.n_items):
            if self.items[i].data != NULL and not self.items[i].is_sound:
                return False
        return True

    # Filling

    cdef int fill(self) except -1:
        """Fill the strs of all items that have one, together with the other threads. Releases the GIL."""
        cdef uint8_t* block = <uint8_t*> malloc(self._block_bytes)
        if block == NULL:
            raise MemoryError(f"no memory for {self._block_bytes} bytes of text")
        set_flag(&self._may_fill)
        with nogil:
            self._run_tasks(FILL, block)
        free(block)
        self._wait_for_tasks(FILL)
        return 0

    cdef Ids ids_of(self, const Item* item) noexcept:
        """View of the ids of an item, valid as long as this object exists."""
        return Ids(self._ids + item.first, item.n, item.n)

    cdef void end(self) noexcept:
        """Tell the other threads to return. Must be called, even after an error."""
        set_flag(&self._over)

    cdef void _run_tasks(self, int kind, uint8_t* block) noexcept nogil:
        """Run tasks of a kind until no task is left. block: for FILL, working space of this thread."""
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

    cdef void _wait_for_tasks(self, int kind) noexcept:
        """Wait until the tasks of the other threads are done."""
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
                self._slots, &ids, &item.beginning, &item.sums, block, self._block_bytes, item.data, item.width
            )


cdef Decoding new_decoding(object owner, const TokenSlot* slots, size_t n_slots, size_t block_bytes):
    """Create a Decoding. owner: keeps the slots alive. block_bytes: size of the blocks for fill_text()."""
    cdef Decoding decoding = Decoding()
    decoding._owner, decoding._slots, decoding._n_slots = owner, slots, n_slots
    decoding._block_bytes = block_bytes
    return decoding


cdef bint _is_plain(object sequence) noexcept:
    """Tell whether a sequence is a list or tuple, and no instance of a subclass: its items can be read directly."""
    return type(sequence) is list or type(sequence) is tuple


cdef bint fill_text(
    const TokenSlot* slots, const Ids* ids, const Beginning* beginning, const Sums* sums, uint8_t* block,
    size_t block_bytes, uint8_t* data, size_t width
) noexcept nogil:
    """Fill a str with the text of ids. Returns False if their bytes are not UTF-8; the str is then not valid.

    beginning, sums: of these ids; they give the size and width that the str must have.
    block, block_bytes: working space, needed if sums.tags has NOT_ASCII: room for the longest token and a
        TokenSlot, which covers the up to three bytes of a character that wait for the token.
    data, width: characters of the str, and bytes per character.
    """
    cdef size_t at = beginning.at
    if sums.tags & NOT_ASCII:
        return decode_tokens(slots, ids, beginning, block, block_bytes, data, width)
    memcpy(data, beginning.data, beginning.n)
    copy_tokens(slots, ids, &at, data + beginning.n, data + sums.n_bytes)
    return True


cdef list next_batch(object iterator, size_t* n_ids):
    """Take sequences from an iterator until they have BATCH_IDS ids or more, or there are BATCH_TEXTS.

    n_ids: receives the number of ids in the lists and tuples among them.
    """
    cdef list out = []
    cdef size_t n_others = 0  # ids in the other sequences, as far as they tell
    n_ids[0] = 0
    for ids in iterator:
        out.append(ids)
        if _is_plain(ids):
            n_ids[0] += <size_t> PySequence_Fast_GET_SIZE(ids)
        else:
            n_others += <size_t> length_hint(ids)
        if n_ids[0] + n_others >= BATCH_IDS or len(out) >= BATCH_TEXTS:
            break
    return out
