"""Engine: the splitter of any pattern that compiles to a program, by backtracking, without the GIL.

Leftmost-first, like the engines that tokenizers run on. What is still to be tried lies on a stack of frames:
the operation that goes on from there, and where. Every operation takes a step, and so do four bytes of a run;
the steps are bounded, the frames as well, so hostile text ends in an error and not in a hang.

MB/s on English with the cl100k pattern, one thread (`benchmarks/compare.py split`; `regex` 14 at the time):
145 with one RUN operation and ends added by a call, 160 with ends written in place and steps counted in a
register, 168 with SPAN and OPTION apart from RUN. Multilingual text: 187, 212 with one loop for characters of all
lengths in `members_end`. Remembering states (`_was_tried`) costs nothing until it begins.
"""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

from fastbpe._core.split.charsets cimport NONE, CharSets, char_bytes, chars_back, members_end, one_member
from fastbpe._core.split.splitter cimport UNMATCHED, Ends, Splitter, ends_add, ends_reserve, place_in_text
from fastbpe._core.split.visited_states cimport TRIED_FIRST_SLOTS, Tried, tried_free, tried_or_added, tried_resize

from fastbpe.errors import PatternError

cdef enum:
    # As in splitting.program.Op.
    OP_FAIL = 0
    OP_MATCH = 1
    OP_BYTE = 2
    OP_TEXT = 3
    OP_SET = 4
    OP_RUN = 5
    OP_RUN_GREEDY = 6
    OP_RUN_LAZY = 7
    OP_CHOICE = 8
    OP_JUMP = 9
    OP_SAVE = 10
    OP_CUT = 11
    OP_RETURN = 12
    OP_NOT = 13
    OP_NOT_END = 14
    OP_AHEAD = 15
    OP_BEHIND = 16
    OP_BACK = 17
    OP_SAVE_PLACE = 18
    OP_CHECK = 19
    OP_SPAN = 20
    OP_OPTION = 21
    OP_CLOSE = 22
    OP_SAME = 23

cdef enum:
    N_REGISTERS = 128  # splitting.program.MAX_DEPTH
    N_SYMBOLS = 257  # the bytes, and the end of the text
    FIRST_FRAMES = 64
    PIECES_PER_CALL = 4096

cdef const uint32_t NO_LIMIT = 0xFFFFFFFF
cdef const size_t MAX_FRAMES = 1 << 22  # 96 MB
# A call of split() may take STEPS + STEPS_PER_BYTE for each byte that is left, about a microsecond a byte,
# and ends early only if it took less than a quarter of that for the bytes it has done: so all calls
# together are bounded by a multiple of the text as well. Tokenizer patterns take about 2 steps a byte.
cdef const int64_t STEPS = 1 << 22
cdef const int64_t STEPS_PER_BYTE = 256


cdef struct Frame:
    uint32_t pc
    uint32_t extra
    size_t at
    size_t low


cdef struct Saved:
    size_t n_frames
    size_t at


cdef struct MatchState:
    # What one call of split() works with.
    Frame* frames
    size_t n_frames
    size_t capacity
    int64_t steps_left
    const Ends* ends
    const uint8_t* begin  # of the match that is tried
    Tried tried
    Frame first_frames[FIRST_FRAMES]
    Saved saved[N_REGISTERS]
    size_t marks[N_REGISTERS]


@cython.final
cdef class Engine(Splitter):
    """Pieces are the matches of a program and what lies between them (keep_gaps=False: that is a gap).

    pattern: for messages. track_after: after so many steps an attempt remembers the states it has been in and
    enters none twice, without which (a+|b)+c takes 2**n steps; well-meant patterns never get so far.
    by_neighbours: the pattern is one character of a set, or as many as there are. The rest
    is what `splitting.program.compile_program` made, and is trusted.
    """

    cdef const uint32_t* _code
    cdef const uint32_t* _tables
    cdef const uint32_t* _lists
    cdef const uint8_t* _follows
    cdef CharSets _sets
    cdef tuple _owners
    cdef str _pattern
    cdef int64_t _track_after
    cdef size_t _mark
    cdef size_t _n_groups
    cdef bint _by_neighbours

    def __init__(
        self, str pattern not None, *, code, tables, lists, bytes follows not None, bytes set_bytes not None,
        set_index, set_blocks, size_t n_groups, int64_t track_after=4096, bint keep_gaps=True,
        bint by_neighbours=False,
    ):
        cdef bytes words = code.tobytes(), table_words = tables.tobytes(), list_words = lists.tobytes()
        cdef bytes index = set_index.tobytes(), blocks = set_blocks.tobytes()
        self._pattern = pattern
        self._track_after = track_after
        self._by_neighbours = by_neighbours
        self._n_groups = n_groups
        self._mark = 0 if keep_gaps else UNMATCHED
        self._owners = words, table_words, list_words, follows, set_bytes, index, blocks
        self._code = <const uint32_t*> PyBytes_AS_STRING(words)
        self._tables = <const uint32_t*> PyBytes_AS_STRING(table_words)
        self._lists = <const uint32_t*> PyBytes_AS_STRING(list_words)
        self._follows = <const uint8_t*> PyBytes_AS_STRING(follows)
        self._sets.bytes = <const uint8_t*> PyBytes_AS_STRING(set_bytes)
        self._sets.index = <const uint16_t*> PyBytes_AS_STRING(index)
        self._sets.blocks = <const uint64_t*> PyBytes_AS_STRING(blocks)

    def quiet_bytes(self):
        """Those that no match begins with."""
        return None if self._mark or self._follows == NULL else bytes([not self._follows[byte] for byte in range(256)])

    def by_neighbours(self):
        return self._by_neighbours

    cdef size_t split(self, const uint8_t* data, size_t n, size_t at, Ends* ends) except? 0 nogil:
        cdef MatchState scratch
        scratch.frames = scratch.first_frames
        scratch.n_frames = 0
        scratch.capacity = FIRST_FRAMES
        scratch.steps_left = STEPS + STEPS_PER_BYTE * <int64_t> (n - at)
        scratch.ends = ends
        scratch.tried.slots = NULL
        try:
            return self._pieces(data, n, at, ends, &scratch)
        finally:
            tried_free(&scratch.tried)
            if scratch.frames != scratch.first_frames:
                free(scratch.frames)

    cdef size_t _pieces(
        self, const uint8_t* data, size_t n, size_t begin, Ends* ends, MatchState* scratch
    ) except? 0 nogil:
        cdef size_t at = begin, start = begin, end, n_before = ends.n
        cdef int64_t steps = scratch.steps_left
        while at < n:
            if not self._follows[data[at]]:
                at += char_bytes(data[at])
                continue
            end = self._match(data, n, at, scratch)
            if end == at:
                at += char_bytes(data[at])
                continue
            if ends.capacity - ends.n < 2:
                ends_reserve(ends, 2)
            if at > start:
                ends.items[ends.n] = at | self._mark
                ends.n += 1
            ends.items[ends.n] = end
            ends.n += 1
            start = at = end
            if scratch.tried.slots != NULL:
                tried_free(&scratch.tried)
            if ends.n - n_before >= PIECES_PER_CALL:
                if steps - scratch.steps_left <= STEPS_PER_BYTE // 4 * <int64_t> (at - begin):
                    return at
        if start < n:
            ends_add(ends, n | self._mark)
        return n

    cdef size_t _match(self, const uint8_t* data, size_t n, size_t begin, MatchState* scratch) except? 0 nogil:
        """The end of the match that begins here; `begin` if there is none."""
        cdef const uint32_t* code = self._code
        cdef const uint32_t* words = code + 1
        cdef size_t at = begin, low, size
        cdef uint32_t target
        cdef int64_t steps = 0, steps_before = scratch.steps_left
        cdef size_t i
        for i in range(N_REGISTERS - 2 * self._n_groups, N_REGISTERS):
            scratch.marks[i] = NONE
        scratch.n_frames = 0
        scratch.begin = data + begin
        while True:
            steps += 1
            if words[0] == OP_SPAN:
                low = at
                at = members_end(&self._sets, words[1], data, n, at)
                scratch.steps_left -= (at - low) >> 2
                if at - low >= words[2]:
                    words += 3
                    continue
            elif words[0] == OP_OPTION:
                low = one_member(&self._sets, words[1], data, n, at)
                if low != NONE:
                    at = low
                words += 2
                continue
            elif words[0] == OP_CHOICE:
                target = self._tables[words[1] * N_SYMBOLS + (data[at] if at < n else N_SYMBOLS - 1)]
                if self._lists[target] and not _was_tried(scratch, words - code, words[2], at):
                    if self._lists[target + 1]:
                        self._push(scratch, words, target + 1, at, 0)
                    words = code + self._lists[target]
                    continue
            elif words[0] == OP_MATCH:
                scratch.steps_left -= steps
                return at
            elif words[0] == OP_BYTE:
                if at < n and data[at] == words[1]:
                    at += 1
                    words += 2
                    continue
            elif words[0] == OP_SET:
                at = one_member(&self._sets, words[1], data, n, at)
                if at != NONE:
                    words += 2
                    continue
            elif words[0] == OP_AHEAD:
                if (one_member(&self._sets, words[1], data, n, at) != NONE) != words[2]:
                    words += 3
                    continue
            elif words[0] == OP_BEHIND:
                low = chars_back(data, at, 1)
                if (low != NONE and one_member(&self._sets, words[1], data, n, low) != NONE) != words[2]:
                    words += 3
                    continue
            elif words[0] == OP_RUN:
                at = self._counted(words[1], data, n, at, words[2])
                if at != NONE:
                    at = self._rest(words, data, n, at, scratch)
                    words += 4
                    continue
            elif words[0] == OP_RUN_GREEDY:
                low = self._counted(words[1], data, n, at, words[2])
                if low != NONE and not _was_tried(scratch, words - code, words[5], at):
                    at = self._rest(words, data, n, low, scratch)
                    if at > low:
                        self._push(scratch, words, 0, at, low)
                    words += 6
                    continue
            elif words[0] == OP_RUN_LAZY:
                low = self._counted(words[1], data, n, at, words[2])
                if low != NONE and not _was_tried(scratch, words - code, words[5], at):
                    at = low
                    if words[3]:
                        self._push(scratch, words, words[3], at, 0)
                    words += 6
                    continue
            elif words[0] == OP_TEXT:
                if n - at >= words[1] and memcmp(data + at, words + 2, words[1]) == 0:
                    at += words[1]
                    words += 2 + (words[1] + 3) // 4
                    continue
            elif words[0] == OP_JUMP:
                words = code + words[1]
                continue
            elif words[0] == OP_SAVE:
                scratch.saved[words[1]].n_frames = scratch.n_frames
                scratch.saved[words[1]].at = at
                words += 2
                continue
            elif words[0] == OP_CUT:
                scratch.n_frames = scratch.saved[words[1]].n_frames
                words += 2
                continue
            elif words[0] == OP_RETURN:
                scratch.n_frames = scratch.saved[words[1]].n_frames
                at = scratch.saved[words[1]].at
                words += 2
                continue
            elif words[0] == OP_NOT:
                scratch.saved[words[1]].n_frames = scratch.n_frames
                self._push(scratch, words, 0, at, 0)
                words += 3
                continue
            elif words[0] == OP_NOT_END:
                scratch.n_frames = scratch.saved[words[1]].n_frames
            elif words[0] == OP_BACK:
                at = chars_back(data, at, words[1])
                if at != NONE:
                    words += 2
                    continue
            elif words[0] == OP_SAVE_PLACE:
                self._push(scratch, words, 0, scratch.marks[words[1]], 0)
                scratch.marks[words[1]] = at
                words += 2
                continue
            elif words[0] == OP_CHECK:
                words = code + words[2] if at == scratch.marks[words[1]] else words + 3
                continue
            elif words[0] == OP_CLOSE:
                self._push(scratch, words, 0, scratch.marks[words[2]], scratch.marks[words[2] + 1])
                scratch.marks[words[2]] = scratch.marks[words[1]]
                scratch.marks[words[2] + 1] = at
                words += 3
                continue
            elif words[0] == OP_SAME:
                low = scratch.marks[words[1]]
                if low != NONE:
                    size = scratch.marks[words[1] + 1] - low
                    scratch.steps_left -= size >> 2
                    if size <= n - at and memcmp(data + at, data + low, size) == 0:
                        at += size
                        words += 2
                        continue
            scratch.steps_left -= steps
            steps = 0
            if scratch.steps_left < 0:
                self._give_up(scratch, "steps")
            if scratch.tried.slots == NULL and steps_before - scratch.steps_left > self._track_after:
                tried_resize(&scratch.tried, TRIED_FIRST_SLOTS)
            words = self._resume(data, n, &at, scratch)
            if words == NULL:
                return begin

    cdef const uint32_t* _resume(
        self, const uint8_t* data, size_t n, size_t* at, MatchState* scratch
    ) noexcept nogil:
        """The operation and place to go on from after a failure; NULL if nothing is left to try."""
        cdef const uint32_t* words
        cdef Frame* frame
        while scratch.n_frames:
            scratch.steps_left -= 1
            frame = scratch.frames + scratch.n_frames - 1
            words = self._code + frame.pc
            if words[0] == OP_CHOICE:
                at[0] = frame.at
                words = self._code + self._lists[frame.extra]
                frame.extra += 1
                if not self._lists[frame.extra]:
                    scratch.n_frames -= 1
                return words
            if words[0] == OP_RUN_GREEDY:
                if self._give_back(words, data, frame, scratch):
                    at[0] = frame.at
                    return words + 6
            elif words[0] == OP_RUN_LAZY:
                if self._take_more(words, data, n, frame, scratch):
                    at[0] = frame.at
                    return words + 6
            else:
                scratch.n_frames -= 1
                if words[0] == OP_NOT:
                    at[0] = frame.at
                    return self._code + words[2]
                if words[0] == OP_CLOSE:
                    scratch.marks[words[2]] = frame.at
                    scratch.marks[words[2] + 1] = frame.low
                else:
                    scratch.marks[words[1]] = frame.at  # SAVE_PLACE
        return NULL

    cdef bint _give_back(
        self, const uint32_t* words, const uint8_t* data, Frame* frame, MatchState* scratch
    ) noexcept nogil:
        """Shorten a greedy run by one character, or by more up to one that what follows can begin with."""
        cdef const uint8_t* follows = self._follows + words[4] * N_SYMBOLS
        cdef size_t at = frame.at
        while at > frame.low:
            at -= 1
            while data[at] & 0xC0 == 0x80:
                at -= 1
            if follows[data[at]]:
                scratch.steps_left -= (frame.at - at) >> 2
                frame.at = at
                if at == frame.low:
                    scratch.n_frames -= 1
                return True
        scratch.steps_left -= (frame.at - at) >> 2
        scratch.n_frames -= 1
        return False

    cdef bint _take_more(
        self, const uint32_t* words, const uint8_t* data, size_t n, Frame* frame, MatchState* scratch
    ) noexcept nogil:
        """Lengthen a lazy run by one character, or by more up to one that what follows can begin with."""
        cdef const uint8_t* follows = self._follows + words[4] * N_SYMBOLS
        cdef size_t at = frame.at
        while frame.extra:
            at = one_member(&self._sets, words[1], data, n, at)
            if at == NONE:
                break
            frame.extra -= frame.extra != NO_LIMIT
            scratch.steps_left -= 1
            if follows[data[at] if at < n else N_SYMBOLS - 1]:
                frame.at = at
                if frame.extra == 0:
                    scratch.n_frames -= 1
                return True
        scratch.n_frames -= 1
        return False

    cdef inline size_t _counted(
        self, uint32_t number, const uint8_t* data, size_t n, size_t at, uint32_t n_chars
    ) noexcept nogil:
        while n_chars:
            at = one_member(&self._sets, number, data, n, at)
            if at == NONE:
                return NONE
            n_chars -= 1
        return at

    cdef inline size_t _rest(
        self, const uint32_t* words, const uint8_t* data, size_t n, size_t at, MatchState* scratch
    ) noexcept nogil:
        """The end of the run of at most words[3] members of the set from here."""
        cdef size_t begin = at, next_at
        cdef uint32_t more = words[3]
        if more == NO_LIMIT:
            at = members_end(&self._sets, words[1], data, n, at)
        else:
            while more:
                next_at = one_member(&self._sets, words[1], data, n, at)
                if next_at == NONE:
                    break
                at = next_at
                more -= 1
        scratch.steps_left -= (at - begin) >> 2
        return at

    cdef inline int _push(
        self, MatchState* scratch, const uint32_t* words, uint32_t extra, size_t at, size_t low
    ) except -1 nogil:
        cdef Frame* frame
        if scratch.n_frames == scratch.capacity:
            self._grow(scratch)
        frame = scratch.frames + scratch.n_frames
        frame.pc = <uint32_t> (words - self._code)
        frame.extra = extra
        frame.at = at
        frame.low = low
        scratch.n_frames += 1
        return 0

    cdef int _grow(self, MatchState* scratch) except -1 nogil:
        cdef size_t capacity = 4 * scratch.capacity
        cdef Frame* frames
        if capacity > MAX_FRAMES:
            self._give_up(scratch, "ways back to keep in mind")
        frames = <Frame*> malloc(capacity * sizeof(Frame))
        if frames == NULL:
            with gil:
                raise MemoryError(f"no memory for {capacity} ways back")
        memcpy(frames, scratch.frames, scratch.n_frames * sizeof(Frame))
        if scratch.frames != scratch.first_frames:
            free(scratch.frames)
        scratch.frames = frames
        scratch.capacity = capacity
        return 0

    cdef int _give_up(self, MatchState* scratch, str what) except -1 with gil:
        cdef size_t at = place_in_text(scratch.ends, scratch.begin)
        shown = self._pattern if len(self._pattern) <= 60 else self._pattern[:57] + "..."
        raise PatternError(
            f"the split pattern {shown!r} backtracks too much on this text: at byte {at} there are too many "
            f"{what}; make repetitions possessive, as a++, and alternatives exclude one another, or give the "
            "text in shorter parts"
        )

    def __repr__(self):
        return "engine"


cdef inline bint _was_tried(MatchState* scratch, size_t pc, uint32_t n_open, size_t at) noexcept nogil:
    """Whether the engine was at an operation and place before, without success then; remembers that it is.

    n_open: 0 for an operation within an atomic group or a look-around, which may have been left with success;
    else 1 and the number of rounds around it that may be empty. Whether they are so far is part of the state,
    and there is nothing else that the future could depend on.
    """
    cdef uint64_t state
    cdef uint32_t i
    if scratch.tried.slots == NULL or n_open == 0:
        return False
    state = (<uint64_t> at << 8 * sizeof(uint16_t)) | pc
    for i in range(n_open - 1):
        state = state << 1 | (scratch.marks[i] == at)
    return tried_or_added(&scratch.tried, state)
