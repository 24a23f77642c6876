"""Splitter for any pattern that compiles to a program: backtracking with visited states, without the GIL.

Matching is leftmost-first, as in the regex engines that tokenizers use. Alternatives that have not been tried are
on a stack of frames, each an operation and the offset to continue from. Each operation counts as a step, and a
run or a way back as one more step for every four bytes or characters. The numbers of steps and frames are limited, so a hostile text raises an
error instead of hanging. An attempt that takes many steps begins to record the states (operation, offset) that
it enters, up to a limit and except in atomic groups and look-arounds. Until the next match, none of these is
entered twice. Without this, (a+|b)+c takes 2**n steps.

These made splitting English with the cl100k pattern (`benchmarks/compare.py split`) faster: writing ends in
place instead of adding them by a call; counting steps in a register; SPAN and OPTION as operations separate from
RUN. One loop for characters of all lengths in `members_end` made multilingual text faster.
"""

cimport cython
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcmp, memcpy

from fastbpe._core.common.python cimport PyBytes_AS_STRING
from fastbpe._core.common.utf8 cimport fb_char_bytes, fb_whole_end
from fastbpe._core.split.charsets cimport NO_OFFSET, CharSets, chars_back, members_end, one_member
from fastbpe._core.split.match_state cimport N_REGISTERS, Frame, MatchState, state_free, state_start, was_visited
from fastbpe._core.split.splitter cimport UNMATCHED, Ends, Splitter, ends_add, ends_reserve, offset_in_text
from fastbpe._core.split.visited_states cimport VISITED_MIN_SLOTS, visited_free, visited_resize

from fastbpe.errors import PatternError

cdef enum:
    # The same as in splitting.program.Op, which lists their operands: in _match(), words[1] is the first.
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
    N_SYMBOLS = 257  # columns of a table indexed by the next byte: 256 bytes, and the end of the text
    PIECES_PER_CALL = 4096  # pieces after which split() returns

cdef const uint32_t NO_LIMIT = 0xFFFFFFFF  # upper bound of a repetition without one
cdef const size_t MAX_FRAMES = 1 << 22  # limit on frames: 96 MB
# A text, with all its pieces of an earlier splitter, may take BASE_STEPS, plus STEPS_PER_BYTE for each byte: about a
# microsecond per byte. Tokenizer patterns take about 2 steps per byte.
cdef const int64_t BASE_STEPS = 1 << 22
cdef const int64_t STEPS_PER_BYTE = 256


@cython.final
cdef class Engine(Splitter):
    """Splitter whose pieces are the matches of a program and the text between them.

    pattern: str – the pattern, for errors.
    code, tables, lists, follows, set_bytes, set_index, set_blocks, n_groups: the program that
        `splitting.program.compile_program` returned; it is trusted.
    track_after: int – steps after which an attempt begins to record visited states; no published pattern takes
        that many.
    keep_gaps: bool – True: text between matches is a piece too; False: it is a gap.
    """

    # The program: see splitting.program.Program.
    cdef const uint32_t* _code  # operations, each followed by its operands
    cdef const uint32_t* _tables  # by choice and next byte (N_SYMBOLS): index in _lists
    cdef const uint32_t* _lists  # lists of operations to continue with, each ended by a 0
    cdef const uint8_t* _follows  # by row and next byte: 1 if the rest can begin with it; row 0: if a match can
    cdef CharSets _sets
    cdef tuple _owners  # own the memory of the program
    cdef str _pattern
    cdef int64_t _track_after
    cdef size_t _gap_flag  # added to the end of a gap: UNMATCHED, or 0 if gaps are pieces
    cdef size_t _n_groups

    def __init__(
        self, str pattern not None, *, code, tables, lists, bytes follows not None, bytes set_bytes not None,
        set_index, set_blocks, size_t n_groups, int64_t track_after=4096, bint keep_gaps=True,
    ):
        cdef bytes words = code.tobytes(), table_words = tables.tobytes(), list_words = lists.tobytes()
        cdef bytes index = set_index.tobytes(), blocks = set_blocks.tobytes()
        self._pattern = pattern
        self._track_after = track_after
        self._n_groups = n_groups
        self._gap_flag = 0 if keep_gaps else UNMATCHED
        self._owners = words, table_words, list_words, follows, set_bytes, index, blocks
        self._code = <const uint32_t*> PyBytes_AS_STRING(words)
        self._tables = <const uint32_t*> PyBytes_AS_STRING(table_words)
        self._lists = <const uint32_t*> PyBytes_AS_STRING(list_words)
        self._follows = <const uint8_t*> PyBytes_AS_STRING(follows)
        self._sets.bytes = <const uint8_t*> PyBytes_AS_STRING(set_bytes)
        self._sets.index = <const uint16_t*> PyBytes_AS_STRING(index)
        self._sets.blocks = <const uint64_t*> PyBytes_AS_STRING(blocks)

    def quiet_bytes(self):
        """Return a bool per byte: no match begins with it. None if gaps are not pieces."""
        if self._gap_flag:
            return None
        return bytes([not self._follows[byte] for byte in range(256)])

    cdef size_t split(self, const uint8_t* data, size_t n, size_t at, Ends* ends) except? 0 nogil:
        cdef MatchState state
        cdef size_t whole_end = fb_whole_end(data, n)
        state_start(&state, BASE_STEPS + STEPS_PER_BYTE * <int64_t> (n - at) - ends.steps_over, ends)
        try:
            while at < whole_end:
                at = self._find_pieces(data, whole_end, at, ends, &state)
                if whole_end == n:
                    break
            if whole_end < n:
                ends_add(ends, n | self._gap_flag)
                at = n
            ends.steps_over = BASE_STEPS + STEPS_PER_BYTE * <int64_t> (n - at) - state.steps_left
            return at
        finally:
            state_free(&state)

    cdef size_t _find_pieces(
        self, const uint8_t* data, size_t n, size_t begin, Ends* ends, MatchState* state
    ) except? 0 nogil:
        """Do the work of split() for a text that does not end inside a character."""
        cdef size_t at = begin, start = begin, end, n_before = ends.n
        while at < n:
            if not self._follows[data[at]]:
                at += fb_char_bytes(data[at])
                continue
            end = self._match(data, n, at, state)
            if end == at:
                at += fb_char_bytes(data[at])
                continue
            if ends.capacity - ends.n < 2:
                ends_reserve(ends, 2)
            if at > start:
                ends.items[ends.n] = at | self._gap_flag
                ends.n += 1
            ends.items[ends.n] = end
            ends.n += 1
            start = at = end
            if state.visited.slots != NULL:
                visited_free(&state.visited)
            if ends.n - n_before >= PIECES_PER_CALL:
                return at
        if start < n:
            ends_add(ends, n | self._gap_flag)
        return n

    cdef size_t _match(self, const uint8_t* data, size_t n, size_t begin, MatchState* state) except? 0 nogil:
        """Return the end of the match that begins at `begin`; `begin` itself without a match.

        An operation that succeeds continues with the next one. One that fails falls through to the end of the loop,
        which goes back to the last alternative.
        """
        cdef const uint32_t* code = self._code
        cdef const uint32_t* words = code + 1  # the program starts at 1
        cdef size_t at = begin, low, beside, size  # beside: another offset that an operation needs
        cdef uint32_t target
        cdef int64_t steps = 0, steps_before = state.steps_left
        cdef size_t i
        for i in range(N_REGISTERS - 2 * self._n_groups, N_REGISTERS):
            state.marks[i] = NO_OFFSET  # no group has matched
        state.n_frames = 0
        state.begin = data + begin
        while True:
            steps += 1
            if words[0] == OP_SPAN:
                beside = at
                at = members_end(&self._sets, words[1], data, n, at)
                state.steps_left -= (at - beside) >> 2
                if at - beside >= words[2]:  # words[2] is 0 or 1, so bytes do for characters
                    words += 3
                    continue
            elif words[0] == OP_OPTION:
                beside = one_member(&self._sets, words[1], data, n, at)
                if beside != NO_OFFSET:
                    at = beside
                words += 2
                continue
            elif words[0] == OP_CHOICE:
                target = self._tables[words[1] * N_SYMBOLS + (data[at] if at < n else N_SYMBOLS - 1)]
                if self._lists[target] and not was_visited(state, words - code, words[2], at):
                    if self._lists[target + 1]:
                        self._push(state, words, target + 1, at, 0)
                    words = code + self._lists[target]
                    continue
            elif words[0] == OP_MATCH:
                state.steps_left -= steps
                return at
            elif words[0] == OP_BYTE:
                if at < n and data[at] == words[1]:
                    at += 1
                    words += 2
                    continue
            elif words[0] == OP_SET:
                at = one_member(&self._sets, words[1], data, n, at)
                if at != NO_OFFSET:
                    words += 2
                    continue
            elif words[0] == OP_AHEAD:
                if (one_member(&self._sets, words[1], data, n, at) != NO_OFFSET) != words[2]:
                    words += 3
                    continue
            elif words[0] == OP_BEHIND:
                beside = chars_back(data, at, 1)
                if (beside != NO_OFFSET and one_member(&self._sets, words[1], data, n, beside) != NO_OFFSET) != words[2]:
                    words += 3
                    continue
            elif words[0] == OP_RUN:
                at = self._counted(words[1], data, n, at, words[2], state)
                if at != NO_OFFSET:
                    at = self._rest(words, data, n, at, state)
                    words += 4
                    continue
            elif words[0] == OP_RUN_GREEDY:
                low = self._counted(words[1], data, n, at, words[2], state)
                if low != NO_OFFSET and not was_visited(state, words - code, words[5], at):
                    at = self._rest(words, data, n, low, state)
                    if at > low:
                        self._push(state, words, 0, at, low)
                    words += 6
                    continue
            elif words[0] == OP_RUN_LAZY:
                low = self._counted(words[1], data, n, at, words[2], state)
                if low != NO_OFFSET and not was_visited(state, words - code, words[5], at):
                    at = low
                    if words[3]:
                        self._push(state, words, words[3], at, 0)
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
                state.saved[words[1]].n_frames = state.n_frames
                state.saved[words[1]].at = at
                words += 2
                continue
            elif words[0] == OP_CUT:
                state.n_frames = state.saved[words[1]].n_frames
                words += 2
                continue
            elif words[0] == OP_RETURN:
                state.n_frames = state.saved[words[1]].n_frames
                at = state.saved[words[1]].at
                words += 2
                continue
            elif words[0] == OP_NOT:
                state.saved[words[1]].n_frames = state.n_frames
                self._push(state, words, 0, at, 0)
                words += 3
                continue
            elif words[0] == OP_NOT_END:
                state.n_frames = state.saved[words[1]].n_frames  # and fail
            elif words[0] == OP_BACK:
                at = chars_back(data, at, words[1])
                state.steps_left -= words[1] >> 2
                if at != NO_OFFSET:
                    words += 2
                    continue
            elif words[0] == OP_SAVE_PLACE:
                self._push(state, words, 0, state.marks[words[1]], 0)
                state.marks[words[1]] = at
                words += 2
                continue
            elif words[0] == OP_CHECK:
                words = code + words[2] if at == state.marks[words[1]] else words + 3
                continue
            elif words[0] == OP_CLOSE:
                self._push(state, words, 0, state.marks[words[2]], state.marks[words[2] + 1])
                state.marks[words[2]] = state.marks[words[1]]
                state.marks[words[2] + 1] = at
                words += 3
                continue
            elif words[0] == OP_SAME:
                beside = state.marks[words[1]]
                if beside != NO_OFFSET:
                    size = state.marks[words[1] + 1] - beside
                    state.steps_left -= size >> 2
                    if size <= n - at and memcmp(data + at, data + beside, size) == 0:
                        at += size
                        words += 2
                        continue
            state.steps_left -= steps
            steps = 0
            if state.steps_left < 0:
                self._give_up(state, "steps")
            if state.visited.slots == NULL and steps_before - state.steps_left > self._track_after:
                visited_resize(&state.visited, VISITED_MIN_SLOTS)
            words = self._resume(data, n, &at, state)
            if words == NULL:
                return begin

    cdef const uint32_t* _resume(
        self, const uint8_t* data, size_t n, size_t* at, MatchState* state
    ) noexcept nogil:
        """Return the operation to continue with after a failure, and set `at`; NULL if there is nothing to try."""
        cdef const uint32_t* words
        cdef Frame* frame
        while state.n_frames:
            state.steps_left -= 1
            frame = state.frames + state.n_frames - 1
            words = self._code + frame.pc
            if words[0] == OP_CHOICE:
                at[0] = frame.at
                words = self._code + self._lists[frame.extra]
                frame.extra += 1
                if not self._lists[frame.extra]:
                    state.n_frames -= 1
                return words
            if words[0] == OP_RUN_GREEDY:
                if self._give_back(words, data, frame, state):
                    at[0] = frame.at
                    return words + 6
            elif words[0] == OP_RUN_LAZY:
                if self._take_more(words, data, n, frame, state):
                    at[0] = frame.at
                    return words + 6
            else:
                state.n_frames -= 1
                if words[0] == OP_NOT:
                    at[0] = frame.at
                    return self._code + words[2]
                if words[0] == OP_CLOSE:
                    state.marks[words[2]] = frame.at
                    state.marks[words[2] + 1] = frame.low
                else:
                    state.marks[words[1]] = frame.at  # SAVE_PLACE
        return NULL

    cdef bint _give_back(
        self, const uint32_t* words, const uint8_t* data, Frame* frame, MatchState* state
    ) noexcept nogil:
        """Shorten a greedy run by one character, or by more until the next byte can begin the rest of the pattern.

        Returns False if the run cannot be shorter. Pops the frame once no shorter run is left to try.
        """
        cdef const uint8_t* follows = self._follows + words[4] * N_SYMBOLS
        cdef size_t at = frame.at
        while at > frame.low:
            at -= 1
            while data[at] & 0xC0 == 0x80:  # ends at frame.low at the latest: a character begins there
                at -= 1
            if follows[data[at]]:
                state.steps_left -= (frame.at - at) >> 2
                frame.at = at
                if at == frame.low:
                    state.n_frames -= 1
                return True
        state.steps_left -= (frame.at - at) >> 2
        state.n_frames -= 1
        return False

    cdef bint _take_more(
        self, const uint32_t* words, const uint8_t* data, size_t n, Frame* frame, MatchState* state
    ) noexcept nogil:
        """Lengthen a lazy run by one character, or by more until the next byte can begin the rest of the pattern.

        Returns False if the run cannot be longer. Pops the frame once no longer run is left to try.
        """
        cdef const uint8_t* follows = self._follows + words[4] * N_SYMBOLS
        cdef size_t at = frame.at
        while frame.extra:
            at = one_member(&self._sets, words[1], data, n, at)
            if at == NO_OFFSET:
                break
            frame.extra -= frame.extra != NO_LIMIT
            state.steps_left -= 1
            if follows[data[at] if at < n else N_SYMBOLS - 1]:
                frame.at = at
                if frame.extra == 0:
                    state.n_frames -= 1
                return True
        state.n_frames -= 1
        return False

    cdef inline size_t _counted(
        self, uint32_t number, const uint8_t* data, size_t n, size_t at, uint32_t n_chars, MatchState* state
    ) noexcept nogil:
        """Return the end of n_chars members of the set from `at` on; NO_OFFSET if there are fewer."""
        cdef uint32_t n_left = n_chars
        while n_left:
            at = one_member(&self._sets, number, data, n, at)
            if at == NO_OFFSET:
                break
            n_left -= 1
        if n_chars > 3:  # the usual 0 or 1 cost no step
            state.steps_left -= (n_chars - n_left) >> 2
        return at

    cdef inline size_t _rest(
        self, const uint32_t* words, const uint8_t* data, size_t n, size_t at, MatchState* state
    ) noexcept nogil:
        """Return the end of the run of at most words[3] members of the set from `at` on."""
        cdef size_t begin = at, next_at
        cdef uint32_t n_left = words[3]
        if n_left == NO_LIMIT:
            at = members_end(&self._sets, words[1], data, n, at)
        else:
            while n_left:
                next_at = one_member(&self._sets, words[1], data, n, at)
                if next_at == NO_OFFSET:
                    break
                at = next_at
                n_left -= 1
        state.steps_left -= (at - begin) >> 2
        return at

    cdef inline int _push(
        self, MatchState* state, const uint32_t* words, uint32_t extra, size_t at, size_t low
    ) except -1 nogil:
        cdef Frame* frame
        if state.n_frames == state.capacity:
            self._grow(state)
        frame = state.frames + state.n_frames
        frame.pc = <uint32_t> (words - self._code)
        frame.extra = extra
        frame.at = at
        frame.low = low
        state.n_frames += 1
        return 0

    cdef int _grow(self, MatchState* state) except -1 nogil:
        cdef size_t capacity = 4 * state.capacity
        cdef Frame* frames
        if capacity > MAX_FRAMES:
            self._give_up(state, "positions to return to")
        frames = <Frame*> malloc(capacity * sizeof(Frame))
        if frames == NULL:
            with gil:
                raise MemoryError(f"no memory for {capacity} positions to return to")
        memcpy(frames, state.frames, state.n_frames * sizeof(Frame))
        if state.frames != state.inline_frames:
            free(state.frames)
        state.frames = frames
        state.capacity = capacity
        return 0

    cdef int _give_up(self, MatchState* state, str what) except -1 with gil:
        cdef size_t at = offset_in_text(state.ends, state.begin)
        shown = self._pattern if len(self._pattern) <= 60 else self._pattern[:57] + "..."
        raise PatternError(
            f"the split pattern {shown!r} backtracks too much on this text: at byte {at} there are too many "
            f"{what}; make repetitions possessive, such as a++, and alternatives exclusive, or pass the text in "
            "shorter parts"
        )

    def __repr__(self):
        return "engine"
