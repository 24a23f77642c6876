"""Building the double-array trie of a precompiled charsmap, unit for unit as sentencepiece's files have it.

First the keys, which come sorted, become the smallest automaton that knows them: nodes with equal children, down to
the values, are one node. Then the nodes are laid out, each before what is below it, their children in order: the
children of a node go to the first place where all of them are free. Only the last sixteen blocks of 256 units are
looked at for free places. A node that was laid out before is pointed to where the offset can say so.
"""

from cpython.bytes cimport PyBytes_FromStringAndSize
from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memset

from fastbpe._core.common.hash_tables cimport FIBONACCI

cdef enum:
    BLOCK = 256
    N_OPEN = 16 * BLOCK  # units that may still be taken
    HAS_VALUE = 0x100
    MAX_KEY_BYTES = 4096
    MAX_NESTED = 31  # sentencepiece looks at no more at one place
    LOW = 0xFF
    HIGH = 0xFF << 21


cdef struct Edge:
    uint8_t label  # 0: the key ends here
    bint is_last  # of its node
    uint32_t to  # the number of the first edge of the node below, or the value


cdef struct Nodes:
    Edge* edges
    size_t n
    size_t room
    uint32_t* seen  # open addressing by content: the first edge of each node, 0: empty
    size_t mask
    size_t n_seen
    uint8_t* n_parents  # by first edge; made at the end


cdef struct Layout:
    uint32_t* units
    size_t n
    size_t room
    size_t head  # the first free unit; n if there is none
    uint32_t next[N_OPEN]  # the ring of free units; each by its place modulo N_OPEN, as all below
    uint32_t before[N_OPEN]
    uint8_t is_taken[N_OPEN]
    uint8_t is_base[N_OPEN]  # children of some node are counted from there


def build_trie(list keys not None, list values not None):
    """The units, as little-endian bytes. keys: str, sorted, each once, none empty; values: of each, below 2**31."""
    cdef Nodes nodes
    cdef Layout* layout = <Layout*> calloc(1, sizeof(Layout))
    cdef size_t root
    memset(&nodes, 0, sizeof(nodes))
    try:
        if layout == NULL:
            raise MemoryError("no memory for a trie")
        root = _read(&nodes, keys, values)
        _arrange(layout, &nodes, root)
        trie = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> layout.n * 4)
        _copy(layout, <uint8_t*> <char*> trie)
        return trie
    finally:
        free(nodes.edges)
        free(nodes.seen)
        free(nodes.n_parents)
        if layout != NULL:
            free(layout.units)
        free(layout)


cdef void _copy(const Layout* layout, uint8_t* to) noexcept nogil:
    cdef size_t i
    cdef int k
    for i in range(layout.n):
        for k in range(4):
            to[4 * i + k] = <uint8_t> (layout.units[i] >> 8 * k)


cdef size_t _read(Nodes* nodes, list keys, list values) except 0:
    """Make the nodes of the keys, from the last one up; the first edge of the root."""
    cdef size_t depth = 0, same, i, k, nested, most = 1
    cdef Py_ssize_t n
    cdef const uint8_t* key
    cdef const uint8_t* before = NULL
    cdef Edge* open_edges = NULL  # of the nodes on the way to the last key, 256 for each
    cdef uint32_t* n_open = NULL
    for text in keys:
        PyUnicode_AsUTF8AndSize(text, &n)
        most = max(most, <size_t> n)
    if most > MAX_KEY_BYTES:
        raise ValueError(f"a rule for {most} bytes: rules are for up to {MAX_KEY_BYTES}")
    nodes.room, nodes.n, nodes.mask = 1024, 1, 4095  # edge 0 is none
    nodes.edges = <Edge*> malloc(nodes.room * sizeof(Edge))
    nodes.seen = <uint32_t*> calloc(nodes.mask + 1, sizeof(uint32_t))
    open_edges = <Edge*> malloc((most + 1) * 256 * sizeof(Edge))
    n_open = <uint32_t*> calloc(most + 1, sizeof(uint32_t))
    try:
        if nodes.edges == NULL or nodes.seen == NULL or open_edges == NULL or n_open == NULL:
            raise MemoryError(f"no memory for a trie of {len(keys)} rules")
        for i in range(<size_t> len(keys)):
            key = <const uint8_t*> PyUnicode_AsUTF8AndSize(keys[i], &n)
            same = 0
            while same < depth and same < <size_t> n and key[same] == before[same]:
                same += 1
            while depth > same:
                open_edges[(depth - 1) * 256 + n_open[depth - 1] - 1].to = _close(
                    nodes, open_edges + depth * 256, n_open[depth]
                )
                n_open[depth] = 0
                depth -= 1
            for k in range(same, <size_t> n):
                open_edges[k * 256 + n_open[k]] = Edge(key[k], False, 0)
                n_open[k] += 1
            depth = <size_t> n
            open_edges[depth * 256] = Edge(0, False, <uint32_t> values[i])
            n_open[depth] = 1
            nested = 0
            for k in range(1, depth + 1):
                nested += open_edges[k * 256].label == 0
            if nested > MAX_NESTED:
                raise ValueError(f"more than {MAX_NESTED} rules begin each other, the last for {keys[i]!r}")
            before = key
        while depth > 0:
            open_edges[(depth - 1) * 256 + n_open[depth - 1] - 1].to = _close(
                nodes, open_edges + depth * 256, n_open[depth]
            )
            depth -= 1
        root = _close(nodes, open_edges, n_open[0])
        nodes.n_parents = <uint8_t*> calloc(nodes.n, 1)
        if nodes.n_parents == NULL:
            raise MemoryError(f"no memory for a trie of {len(keys)} rules")
        _count_shared(nodes)
        return root
    finally:
        free(open_edges)
        free(n_open)


cdef void _count_shared(Nodes* nodes) noexcept nogil:
    cdef size_t i
    cdef uint32_t to
    for i in range(1, nodes.n):
        if nodes.edges[i].label:
            to = nodes.edges[i].to
            nodes.n_parents[to] = min(nodes.n_parents[to] + 1, 2)


cdef uint32_t _close(Nodes* nodes, Edge* edges, uint32_t n) except 0:
    """The number of the node with these edges, a new one if there is none like it."""
    cdef uint64_t h = n
    cdef size_t i, at
    cdef void* grown
    edges[n - 1].is_last = True
    for i in range(n):
        h = (h ^ (<uint64_t> edges[i].to << 8 | edges[i].label)) * FIBONACCI
        h ^= h >> 29
    at = <size_t> (h >> 7) & nodes.mask
    while nodes.seen[at]:
        if _is_same(nodes.edges + nodes.seen[at], edges, n):
            return nodes.seen[at]
        at = (at + 1) & nodes.mask
    if nodes.n + n > nodes.room:
        grown = realloc(nodes.edges, (nodes.n + n) * 2 * sizeof(Edge))
        if grown == NULL:
            raise MemoryError("no memory for a trie")
        nodes.edges = <Edge*> grown
        nodes.room = (nodes.n + n) * 2
    for i in range(n):
        nodes.edges[nodes.n + i] = edges[i]
    nodes.seen[at] = <uint32_t> nodes.n
    nodes.n += n
    nodes.n_seen += 1
    if nodes.n_seen * 2 > nodes.mask:
        _grow_seen(nodes)
    return <uint32_t> (nodes.n - n)


cdef inline bint _is_same(const Edge* a, const Edge* b, uint32_t n) noexcept nogil:
    cdef uint32_t i
    for i in range(n):
        if a[i].label != b[i].label or a[i].to != b[i].to or a[i].is_last != b[i].is_last:
            return False
    return True


cdef int _grow_seen(Nodes* nodes) except -1:
    cdef size_t mask = nodes.mask * 4 + 3, first = 1, i, at
    cdef uint64_t h
    cdef uint32_t* seen = <uint32_t*> calloc(mask + 1, sizeof(uint32_t))
    if seen == NULL:
        raise MemoryError("no memory for a trie")
    while first < nodes.n:
        i = first
        while not nodes.edges[i].is_last:
            i += 1
        h = i + 1 - first
        for at in range(first, i + 1):
            h = (h ^ (<uint64_t> nodes.edges[at].to << 8 | nodes.edges[at].label)) * FIBONACCI
            h ^= h >> 29
        at = <size_t> (h >> 7) & mask
        while seen[at]:
            at = (at + 1) & mask
        seen[at] = <uint32_t> first
        first = i + 1
    free(nodes.seen)
    nodes.seen = seen
    nodes.mask = mask
    return 0


cdef int _arrange(Layout* layout, const Nodes* nodes, size_t root) except -1:
    cdef size_t n_todo = 0, room = 1024, at, base, k, first
    cdef uint64_t* todo = <uint64_t*> malloc(room * sizeof(uint64_t))  # place << 32 | first edge of the node
    cdef uint32_t* bases = <uint32_t*> calloc(nodes.n, sizeof(uint32_t))  # of nodes laid out, by first edge
    cdef void* grown
    try:
        if todo == NULL or bases == NULL:
            raise MemoryError("no memory for a trie")
        _take(layout, 0)
        layout.is_base[0] = True
        layout.units[0] = 1 << 10
        todo[0] = root
        n_todo = 1
        while n_todo:
            n_todo -= 1
            at = <size_t> (todo[n_todo] >> 32)
            first = <size_t> (todo[n_todo] & 0xFFFFFFFF)
            if nodes.n_parents[first] > 1 and bases[first]:
                base = bases[first] ^ at
                if not base & LOW or not base & HIGH:
                    if nodes.edges[first].label == 0:
                        layout.units[at] |= HAS_VALUE
                    _point(layout, at, base)
                    continue
            base = _place_children(layout, nodes, at, first)
            bases[first] = <uint32_t> base
            k = first
            while not nodes.edges[k].is_last:
                k += 1
            if n_todo + k - first + 1 > room:
                room = (n_todo + k - first + 1) * 2
                grown = realloc(todo, room * sizeof(uint64_t))
                if grown == NULL:
                    raise MemoryError("no memory for a trie")
                todo = <uint64_t*> grown
            while k >= first:  # the first child is to come first, with all below it
                if nodes.edges[k].label:
                    todo[n_todo] = <uint64_t> (base ^ nodes.edges[k].label) << 32 | nodes.edges[k].to
                    n_todo += 1
                k -= 1
        first = layout.n - N_OPEN if layout.n > N_OPEN else 0
        while first < layout.n:
            _close_block(layout, first)
            first += BLOCK
        return 0
    finally:
        free(todo)
        free(bases)


cdef size_t _place_children(Layout* layout, const Nodes* nodes, size_t at, size_t first) except? 0:
    """Put the children of the unit at `at` somewhere; the place that they are counted from."""
    cdef size_t base = _free_base(layout, nodes, at, first), k = first
    cdef const Edge* edge
    _point(layout, at, at ^ base)
    while True:
        edge = &nodes.edges[k]
        _take(layout, base ^ edge.label)
        if edge.label == 0:
            layout.units[at] |= HAS_VALUE
            layout.units[base] = edge.to | <uint32_t> 1 << 31
        else:
            layout.units[base ^ edge.label] = (layout.units[base ^ edge.label] & ~<uint32_t> LOW) | edge.label
        if edge.is_last:
            break
        k += 1
    layout.is_base[base % N_OPEN] = True
    return base


cdef size_t _free_base(const Layout* layout, const Nodes* nodes, size_t at, size_t first) noexcept nogil:
    cdef size_t unit = layout.head, base
    if unit < layout.n:
        while True:
            base = unit ^ nodes.edges[first].label
            if _fits(layout, nodes, at, first, base):
                return base
            unit = layout.next[unit % N_OPEN]
            if unit == layout.head:
                break
    return layout.n | (at & LOW)


cdef inline bint _fits(
    const Layout* layout, const Nodes* nodes, size_t at, size_t first, size_t base
) noexcept nogil:
    cdef size_t k = first
    if layout.is_base[base % N_OPEN] or ((at ^ base) & LOW and (at ^ base) & HIGH):
        return False
    while not nodes.edges[k].is_last:
        k += 1
        if layout.is_taken[(base ^ nodes.edges[k].label) % N_OPEN]:
            return False
    return True


cdef inline void _point(Layout* layout, size_t at, size_t offset) noexcept nogil:
    cdef uint32_t unit = layout.units[at] & (<uint32_t> 1 << 31 | HAS_VALUE | LOW)
    layout.units[at] = unit | (<uint32_t> offset << 10 if offset < 1 << 21 else <uint32_t> offset << 2 | 1 << 9)


cdef int _take(Layout* layout, size_t at) except -1:
    """Take a unit out of the ring of free ones."""
    cdef size_t i = at % N_OPEN
    while at >= layout.n:
        _add_block(layout)
    if at == layout.head:
        layout.head = layout.next[i]
        if layout.head == at:
            layout.head = layout.n
    layout.next[layout.before[i] % N_OPEN] = layout.next[i]
    layout.before[layout.next[i] % N_OPEN] = layout.before[i]
    layout.is_taken[i] = True
    return 0


cdef int _add_block(Layout* layout) except -1:
    cdef size_t start = layout.n, end = start + BLOCK, i
    cdef void* grown
    if end > N_OPEN:
        _close_block(layout, end - BLOCK - N_OPEN)
    if end > layout.room:
        layout.room = end * 2
        grown = realloc(layout.units, layout.room * sizeof(uint32_t))
        if grown == NULL:
            raise MemoryError("no memory for a trie")
        layout.units = <uint32_t*> grown
    memset(layout.units + start, 0, BLOCK * sizeof(uint32_t))
    layout.n = end
    for i in range(start, end):
        layout.is_taken[i % N_OPEN] = layout.is_base[i % N_OPEN] = False
        layout.next[i % N_OPEN] = <uint32_t> (i + 1)
        layout.before[i % N_OPEN] = <uint32_t> (i - 1)
    layout.next[(end - 1) % N_OPEN] = <uint32_t> start
    layout.before[start % N_OPEN] = <uint32_t> (end - 1)
    if layout.head != start:  # else the new ones are all there are
        i = layout.before[layout.head % N_OPEN]
        layout.before[start % N_OPEN] = <uint32_t> i
        layout.next[(end - 1) % N_OPEN] = <uint32_t> layout.head
        layout.next[i % N_OPEN] = <uint32_t> start
        layout.before[layout.head % N_OPEN] = <uint32_t> (end - 1)
    return 0


cdef int _close_block(Layout* layout, size_t start) except -1:
    """Give the units that nobody took labels by which no search goes on there."""
    cdef size_t unused = 0, i
    for i in range(start, start + BLOCK):
        if not layout.is_base[i % N_OPEN]:
            unused = i
            break
    for i in range(start, start + BLOCK):
        if not layout.is_taken[i % N_OPEN]:
            _take(layout, i)
            layout.units[i] = (layout.units[i] & ~<uint32_t> LOW) | ((i ^ unused) & LOW)
    return 0
