"""State of a backtracking search of the regex engine: alternatives not tried yet, registers, visited states."""

from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free

from fastbpe._core.split.splitter cimport Ends
from fastbpe._core.split.visited_states cimport VisitedStates, visit, visited_free

cdef enum:
    N_REGISTERS = 128  # registers of each kind: splitting.program.MAX_DEPTH
    INLINE_FRAMES = 64  # frames inside MatchState; more are allocated


cdef struct Frame:
    uint32_t pc  # operation that pushed the frame, as an index into the code
    uint32_t extra  # CHOICE: next entry of its list; RUN_LAZY: repetitions left
    size_t at  # offset to continue from; SAVE_PLACE, CLOSE: previous value of a mark
    size_t low  # RUN_GREEDY: shortest end of the run; CLOSE: previous value of the second mark


cdef struct Saved:
    # State that OP_SAVE keeps for an atomic group or a look-around.
    size_t n_frames
    size_t at


cdef struct MatchState:
    # State of one call of split().
    Frame* frames
    size_t n_frames
    size_t capacity
    int64_t steps_left
    const Ends* ends
    const uint8_t* begin  # start of the current attempt
    VisitedStates visited
    Frame inline_frames[INLINE_FRAMES]
    Saved saved[N_REGISTERS]
    size_t marks[N_REGISTERS]  # offsets where repetitions began their rounds; the last marks are groups: start, end


cdef inline void state_start(MatchState* state, int64_t steps, const Ends* ends) noexcept nogil:
    """Start a call of split(), which may take this number of steps."""
    state.frames = state.inline_frames
    state.n_frames = 0
    state.capacity = INLINE_FRAMES
    state.steps_left = steps
    state.ends = ends
    state.visited.slots = NULL


cdef inline void state_free(MatchState* state) noexcept nogil:
    visited_free(&state.visited)
    if state.frames != state.inline_frames:
        free(state.frames)


cdef inline bint was_visited(MatchState* state, size_t pc, uint32_t n_open, size_t at) noexcept nogil:
    """Tell whether the engine has entered this state before, and so failed from it; record the state.

    pc, at: operation and offset.
    n_open: 0 if the operation is in an atomic group or a look-around, which may have been left with success; then
        the result is False. Otherwise 1 plus the number of enclosing repetitions whose rounds may be empty: the
        state includes, for each of them, whether its round is empty so far. Nothing else affects the rest of the
        match.
    """
    cdef uint64_t key
    cdef uint32_t i
    if state.visited.slots == NULL or n_open == 0:
        return False
    # pc has 16 bits and n_open is at most 9 (splitting.program: MAX_WORDS, MAX_OPEN): 40 bits are left for the offset.
    # The key is not 0, because the program begins at 1.
    key = (<uint64_t> at << 8 * sizeof(uint16_t)) | pc
    for i in range(n_open - 1):
        key = key << 1 | (state.marks[i] == at)
    return visit(&state.visited, key)
