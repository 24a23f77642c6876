"""Lattice of all tokens in a text: its best paths, and random ones, as sentencepiece finds them.

The best path is computed differently than in best_path: a node's score is added to each total before it, and only
then are the totals compared, so rounding may choose another path.

The n best paths come from an A* search from the end. A hypothesis is a path to the end of the text. Its priority
is the best total of any whole path that ends with it, from the totals that Viterbi's algorithm has computed. Equal
priorities come out in the order of the binary heap of GNU's libstdc++, as in sentencepiece on Linux. The limits on
hypotheses are sentencepiece's, too.
"""

from libc.math cimport INFINITY, exp, log1p
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memset

from fastbpe._core.common.growing cimport grow, reserve
from fastbpe._core.common.hash_tables cimport GOLDEN_RATIO, NONE
from fastbpe._core.common.hashing cimport mix
from fastbpe._core.common.interrupts cimport now
from fastbpe._core.common.python cimport PyErr_CheckSignals
from fastbpe._core.common.utf8 cimport fb_char_bytes
from fastbpe._core.segment.segmenter cimport Segmenting, Unit

cdef enum:
    LEAST_ITEMS = 256  # initial capacity of the growing arrays
    # sentencepiece's limits of a search; only the best path is found if one of the last two is passed
    MAX_AGENDA = 10000  # number of waiting hypotheses at which the agenda shrinks
    MIN_AGENDA = 512  # greatest number of hypotheses that stay in it then
    MAX_NEW = 100000  # number of new hypotheses, since it last shrank, at which it shrinks
    MAX_HYPOTHESES = 500000
    MAX_SHRINKS = 10
    # Not sentencepiece's:
    MAX_NODES = 1 << 30  # of a lattice: the index of a node is an int32_t
    STEPS_PER_LOOK = 1 << 12  # steps between two checks of the clock
    END = -2  # stands for the end of the text instead of a node
    NO_HYPOTHESIS = -1


# The lattice

cdef int lattice_fill(Lattice* lattice, const Segmenting* segmenting, const uint8_t* text, size_t n) except -1 nogil:
    """Create the nodes of the lattice of a text."""
    cdef const Unit* units = segmenting.units
    cdef size_t at = 0, end, n_bytes, n_characters, i
    cdef uint32_t node, next, token
    cdef float score
    cdef bint is_known
    lattice.n = n
    lattice.n_nodes = 0
    if lattice.first_ender == NULL or n > lattice.capacity:  # an empty text has items, too
        _reserve_places(lattice, n)
    i = 0  # positions whose `first` is set
    while at < n:
        while i <= at:
            lattice.first[i] = <uint32_t> lattice.n_nodes
            i += 1
        n_bytes = min(fb_char_bytes(text[at]), n - at)
        is_known = False
        node, end, n_characters = 0, at, 0
        while end < n:
            next = units[node].base ^ text[end]
            if units[next].parent != node:
                break
            node = next
            n_characters += text[end] & 0xC0 != 0x80
            end += 1
            token = units[node].id
            if token != NONE:
                score = units[node].score
                if segmenting.are_symbols != NULL and segmenting.are_symbols[token]:
                    # The score of a user-defined symbol depends only on its number of characters.
                    score = <float> (0.1 * <double> (n_characters - 1))
                _add_node(lattice, Node(token, <uint32_t> at, <uint32_t> end, score, 0, BEGINNING))
                is_known |= end - at == n_bytes
        if not is_known:
            end = at + n_bytes
            score = <float> segmenting.unknown
            _add_node(lattice, Node(NONE, <uint32_t> at, <uint32_t> end, score, 0, BEGINNING))
        at += n_bytes
    while i < n + 2:
        lattice.first[i] = <uint32_t> lattice.n_nodes
        i += 1
    return 0


cdef int _reserve_places(Lattice* lattice, size_t n) except -1 nogil:
    """Make space for the positions of a text of n bytes."""
    cdef size_t capacity = max(2 * lattice.capacity, n)
    grow(<void**> &lattice.first, capacity + 2, sizeof(uint32_t))
    grow(<void**> &lattice.first_ender, capacity + 2, sizeof(uint32_t))
    lattice.capacity = capacity
    return 0


cdef int _add_node(Lattice* lattice, Node node) except -1 nogil:
    if lattice.n_nodes == MAX_NODES:
        _no_memory()
    reserve(<void**> &lattice.nodes, &lattice.nodes_capacity, lattice.n_nodes + 1, sizeof(Node), LEAST_ITEMS)
    lattice.nodes[lattice.n_nodes] = node
    lattice.n_nodes += 1
    return 0


cdef int lattice_link(Lattice* lattice) except -1 nogil:
    """Find the nodes that end at each position."""
    cdef size_t i
    cdef uint32_t end
    reserve(<void**> &lattice.enders, &lattice.enders_capacity, lattice.n_nodes, sizeof(uint32_t), LEAST_ITEMS)
    memset(lattice.first_ender, 0, (lattice.n + 2) * sizeof(uint32_t))
    for i in range(lattice.n_nodes):
        lattice.first_ender[lattice.nodes[i].end + 1] += 1
    for i in range(1, lattice.n + 2):
        lattice.first_ender[i] += lattice.first_ender[i - 1]
    for i in range(lattice.n_nodes):  # moves each first_ender to after the last ender of its position
        end = lattice.nodes[i].end
        lattice.enders[lattice.first_ender[end]] = <uint32_t> i
        lattice.first_ender[end] += 1
    for i in range(lattice.n, 0, -1):
        lattice.first_ender[i] = lattice.first_ender[i - 1]
    lattice.first_ender[0] = 0
    return 0


cdef void lattice_free(Lattice* lattice) noexcept nogil:
    """Free the memory of a lattice."""
    free(lattice.nodes)
    free(lattice.first)
    free(lattice.enders)
    free(lattice.first_ender)


# Paths

cdef int _begin_path(Paths* paths, float total) except -1 nogil:
    """Add an empty path."""
    cdef size_t capacity = paths.capacity
    if paths.n == capacity:
        capacity = max(2 * capacity, <size_t> 16)
        grow(<void**> &paths.ends, capacity, sizeof(size_t))
        grow(<void**> &paths.totals, capacity, sizeof(float))
        paths.capacity = capacity
    paths.ends[paths.n], paths.totals[paths.n] = paths.n_nodes, total
    paths.n += 1
    return 0


cdef int _add_to_path(Paths* paths, uint32_t node) except -1 nogil:
    """Add a node to the end of the last path."""
    reserve(<void**> &paths.nodes, &paths.nodes_capacity, paths.n_nodes + 1, sizeof(uint32_t), LEAST_ITEMS)
    paths.nodes[paths.n_nodes] = node
    paths.n_nodes += 1
    paths.ends[paths.n - 1] = paths.n_nodes
    return 0


cdef void _turn_last(Paths* paths, size_t first) noexcept nogil:
    """Reverse the nodes from `first` on."""
    cdef size_t last = paths.n_nodes
    while first + 1 < last:
        last -= 1
        paths.nodes[first], paths.nodes[last] = paths.nodes[last], paths.nodes[first]
        first += 1


cdef void paths_free(Paths* paths) noexcept nogil:
    """Free the memory of paths."""
    free(paths.nodes)
    free(paths.ends)
    free(paths.totals)


cdef float find_best(Lattice* lattice, int32_t* last) noexcept nogil:
    """Set the best path to each node; store the last node of the best whole path, and return its total.

    Requires: lattice_link().
    """
    cdef size_t at, i
    cdef Node* node
    cdef float total = 0
    for at in range(lattice.n):
        for i in range(lattice.first[at], lattice.first[at + 1]):
            node = &lattice.nodes[i]
            node.before = _best_before(lattice, at, node.score, &node.best)
    last[0] = _best_before(lattice, lattice.n, 0, &total)
    return total


cdef inline int32_t _best_before(const Lattice* lattice, size_t at, float score, float* best) noexcept nogil:
    """Find the node that ends at a position with the best total plus `score`; on ties, the first.

    best: receives that sum.

    Returns BEGINNING for position 0.
    """
    cdef int32_t found = BEGINNING
    cdef uint32_t i, node
    cdef float total
    best[0] = score
    if at == 0:
        return BEGINNING
    for i in range(lattice.first_ender[at], lattice.first_ender[at + 1]):
        node = lattice.enders[i]
        total = lattice.nodes[node].best + score
        if found == BEGINNING or total > best[0]:
            found, best[0] = <int32_t> node, total
    return found


cdef int _add_best(Lattice* lattice, Paths* paths) except -1 nogil:
    """Add the best path."""
    cdef int32_t node
    cdef size_t first = paths.n_nodes
    cdef float total = find_best(lattice, &node)
    _begin_path(paths, total)
    while node != BEGINNING:
        _add_to_path(paths, <uint32_t> node)
        node = lattice.nodes[node].before
    _turn_last(paths, first)
    return 0


cdef int best_paths(
    Lattice* lattice, size_t n_best, int64_t milliseconds, Search* search, Paths* paths
) except -1 nogil:
    """Put the best paths into `paths`, best first.

    milliseconds: time limit, after which only the best path is found; 0: no limit.

    As in sentencepiece, only the best path is found if there are too many hypotheses.

    Requires: lattice_link().
    """
    cdef double end_time = 0
    paths.n = paths.n_nodes = 0
    if n_best <= 1 or lattice.n == 0:
        return _add_best(lattice, paths)
    if milliseconds:
        end_time = now() + 0.001 * <double> milliseconds
    search.n_made = search.n_waiting = 0
    if not _search(lattice, n_best, end_time, search, paths):
        paths.n = paths.n_nodes = 0
        return _add_best(lattice, paths)
    return 0


cdef void search_free(Search* search) noexcept nogil:
    """Free the memory of a search."""
    free(search.made)
    free(search.agenda)


cdef bint _search(Lattice* lattice, size_t n_best, double end_time, Search* search, Paths* paths) except -1 nogil:
    """Add the best paths; return False if a limit is reached."""
    cdef size_t n_least = min(<size_t> MIN_AGENDA, min(n_best, <size_t> MIN_AGENDA) * 10)  # items of the agenda that stay when it shrinks
    cdef size_t n_living = 1  # hypotheses made since the agenda last shrank, and those that its items then needed
    cdef size_t limit = MAX_NEW  # n_living at which the agenda shrinks
    cdef size_t n_shrinks = 0, n_steps = 0, at, i
    cdef int32_t top, next, node
    cdef float total = find_best(lattice, &node), behind
    cdef const Node* left
    _add_hypothesis(search, Hypothesis(END, NO_HYPOTHESIS, 0, False), total)
    while search.n_waiting:
        n_steps += 1
        if n_steps % STEPS_PER_LOOK == 0 and _is_late(end_time):
            return False
        total = search.agenda[0].priority
        top = _pop(search)
        node = search.made[top].node
        if node == BEGINNING:
            _begin_path(paths, total)
            next = search.made[top].behind
            while search.made[next].node != END:
                _add_to_path(paths, <uint32_t> search.made[next].node)
                next = search.made[next].behind
            if paths.n == n_best:
                return True
            continue
        at = lattice.n if node == END else lattice.nodes[node].begin
        behind = search.made[top].total
        if at == 0:
            _add_hypothesis(search, Hypothesis(BEGINNING, top, behind, False), behind)
            n_living += 1
        for i in range(lattice.first_ender[at], lattice.first_ender[at + 1]):
            left = &lattice.nodes[lattice.enders[i]]
            _add_hypothesis(
                search, Hypothesis(<int32_t> lattice.enders[i], top, left.score + behind, False), left.best + behind
            )
            n_living += 1
        if search.n_made >= MAX_HYPOTHESES:
            return False
        if search.n_waiting >= MAX_AGENDA or (search.n_waiting > n_least and n_living >= limit):
            n_shrinks += 1
            if n_shrinks > MAX_SHRINKS:
                return False
            n_living = _shrink(search, n_least)
            limit = n_living + MAX_NEW
    return True


cdef int _add_hypothesis(Search* search, Hypothesis hypothesis, float priority) except -1 nogil:
    """Add a hypothesis, and put it into the agenda."""
    reserve(<void**> &search.made, &search.made_capacity, search.n_made + 1, sizeof(Hypothesis), LEAST_ITEMS)
    search.made[search.n_made] = hypothesis
    search.n_made += 1
    return _push(search, Waiting(priority, <int32_t> search.n_made - 1))


cdef size_t _shrink(Search* search, size_t n_least) except? 0 nogil:
    """Keep the best items of the agenda, taken out and put back in order; return how many hypotheses they need."""
    cdef size_t n = min(search.n_waiting, n_least), n_kept = 0, i
    cdef Waiting* kept = <Waiting*> malloc(n * sizeof(Waiting))
    cdef int32_t at
    if kept == NULL:
        _no_memory()
    for i in range(n):
        kept[i].priority = search.agenda[0].priority
        kept[i].hypothesis = _pop(search)
    search.n_waiting = 0
    for i in range(search.n_made):
        search.made[i].is_kept = False
    for i in range(n):  # the agenda had more items than these, so there is space
        _push(search, kept[i])
        at = kept[i].hypothesis
        while at != NO_HYPOTHESIS and not search.made[at].is_kept:
            search.made[at].is_kept = True
            n_kept += 1
            at = search.made[at].behind
    free(kept)
    return n_kept


# The agenda: a binary heap as in libstdc++, greatest priority first

cdef int _push(Search* search, Waiting item) except -1 nogil:
    reserve(<void**> &search.agenda, &search.agenda_capacity, search.n_waiting + 1, sizeof(Waiting), LEAST_ITEMS)
    search.n_waiting += 1
    _move_up(search.agenda, search.n_waiting - 1, item)
    return 0


cdef inline void _move_up(Waiting* heap, size_t hole, Waiting item) noexcept nogil:
    cdef size_t parent
    while hole > 0:
        parent = (hole - 1) // 2
        if not heap[parent].priority < item.priority:
            break
        heap[hole] = heap[parent]
        hole = parent
    heap[hole] = item


cdef int32_t _pop(Search* search) noexcept nogil:
    """Take out the first item; return its hypothesis. The hole sinks to a leaf; the last item rises from there."""
    cdef Waiting* heap = search.agenda
    cdef int32_t top = heap[0].hypothesis
    cdef size_t n = search.n_waiting - 1, hole = 0, child = 0
    cdef Waiting item = heap[n]
    search.n_waiting = n
    if n == 0:
        return top
    while child < (n - 1) // 2:
        child = 2 * (child + 1)
        if heap[child].priority < heap[child - 1].priority:
            child -= 1
        heap[hole] = heap[child]
        hole = child
    if n % 2 == 0 and child == (n - 2) // 2:
        child = 2 * (child + 1)
        heap[hole] = heap[child - 1]
        hole = child - 1
    _move_up(heap, hole, item)
    return top


cdef bint _is_late(double end_time) except -1 nogil:
    """Tell whether end_time has passed (0: no limit); raise KeyboardInterrupt after Ctrl-C."""
    with gil:
        PyErr_CheckSignals()
    return end_time > 0 and now() >= end_time


# Random paths

cdef int sample_path(const Lattice* lattice, float alpha, uint64_t* state, Paths* paths) except -1 nogil:
    """Add a random path, with a probability proportional to exp(alpha times its total).

    state: state of the random numbers; updated.

    Requires: lattice_link().
    """
    # By position: log of the sum of exp(alpha times total) over the paths to it.
    cdef double* sums = <double*> malloc((lattice.n + 1) * sizeof(double))
    cdef double* weights = <double*> malloc((lattice.n_nodes + 1) * sizeof(double))
    cdef size_t at, i, n, first
    cdef const Node* left
    try:
        if sums == NULL or weights == NULL:
            _no_memory()
        sums[0] = 0
        for at in range(1, lattice.n + 1):
            sums[at] = -INFINITY
            for i in range(lattice.first_ender[at], lattice.first_ender[at + 1]):
                left = &lattice.nodes[lattice.enders[i]]
                sums[at] = _log_add(sums[at], alpha * <double> left.score + sums[left.begin])
        first = paths.n_nodes
        _begin_path(paths, 0)
        at = lattice.n
        while at:
            n = 0
            for i in range(lattice.first_ender[at], lattice.first_ender[at + 1]):
                left = &lattice.nodes[lattice.enders[i]]
                weights[n] = alpha * <double> left.score + sums[left.begin]
                n += 1
            i = lattice.enders[lattice.first_ender[at] + draw(weights, n, state)]
            _add_to_path(paths, <uint32_t> i)
            at = lattice.nodes[i].begin
        _turn_last(paths, first)
    finally:
        free(sums)
        free(weights)
    return 0


cdef size_t draw(const double* log_weights, size_t n, uint64_t* state) noexcept nogil:
    """Return a random number below n, drawn with weights whose logarithms are given. Requires: n > 0."""
    cdef double greatest = -INFINITY, total = 0, chosen
    cdef size_t i
    for i in range(n):
        greatest = max(greatest, log_weights[i])
    for i in range(n):
        total += exp(log_weights[i] - greatest)
    chosen = total * _random(state)
    for i in range(n - 1):
        chosen -= exp(log_weights[i] - greatest)
        if chosen < 0:
            return i
    return n - 1


cdef inline double _log_add(double a, double b) noexcept nogil:
    """Return log(exp(a) + exp(b))."""
    if a < b:
        a, b = b, a
    return a if b == -INFINITY else a + log1p(exp(b - a))


cdef inline double _random(uint64_t* state) noexcept nogil:
    """Return a random number from 0 to 1, excluding 1 (SplitMix64: Steele, Lea and Flood 2014)."""
    state[0] += GOLDEN_RATIO
    return <double> (mix(state[0]) >> 11) / <double> (<uint64_t> 1 << 53)


cdef int _no_memory() except -1 nogil:
    with gil:
        raise MemoryError("no memory for the paths through a text")
