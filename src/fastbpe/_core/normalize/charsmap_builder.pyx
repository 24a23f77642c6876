"""Build a double array of keys and values, unit for unit as in sentencepiece's files.

The trie is a double array (Aoe 1989) in the format of the Darts-clone library. Units are 32-bit words; the child
of a unit for a byte is at `base ^ byte`, where the unit contains the offset from itself to `base`.

1. The sorted keys become the minimal acyclic automaton (Daciuk et al. 2000): nodes with equal edges, down to the
   values, are one node.
2. The nodes are laid out depth first, children in the order of their labels. The children of a node go to the
   first base at which all their units are free; only the last N_OPEN units are tried. A node that several edges
   lead to is laid out once, if an offset can express the distance.
"""

from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc
from libc.string cimport memset

from fastbpe._core.common.growing cimport reserve
from fastbpe._core.common.hash_tables cimport GOLDEN_RATIO
from fastbpe._core.common.python cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize

cdef enum:
    BLOCK_UNITS = 256  # units by which the array grows: one per byte value
    N_OPEN = 16 * BLOCK_UNITS  # units at the end of the array in which free ones may still be taken
    HAS_VALUE = 0x100  # bit of a unit: a key ends here, and its value is at the base
    MAX_KEY_BYTES = 4096  # per byte of the longest key, _build_nodes allocates 256 edges
    LEAST_ITEMS = 1024  # initial capacity of the growing arrays
    LOW = 0xFF  # bits of a unit's label; also the bits of an offset that the long form cannot express
    HIGH = 0xFF << 21  # bits of an offset that the short form cannot express


cdef struct Edge:
    uint8_t label  # a byte of the key; 0: the key ends here
    bint is_last  # it is the last edge of its node
    uint32_t to  # first edge of the child node; for label 0: the value


cdef struct Nodes:
    # The automaton. A node is identified by the index of its first edge; its edges are contiguous.
    Edge* edges
    size_t n
    size_t capacity
    uint32_t* seen  # hash table of nodes by their edges, with linear probing; 0: empty
    size_t mask
    size_t n_seen


cdef struct Layout:
    # The array that is being filled. The ring and the flags are for the last N_OPEN units: unit i is at
    # i % N_OPEN.
    uint32_t* units  # a free unit is 0
    size_t n
    size_t capacity
    size_t head  # first free unit; n: no unit is free
    uint32_t next[N_OPEN]  # doubly linked ring of the free units
    uint32_t before[N_OPEN]
    uint8_t is_taken[N_OPEN]
    uint8_t is_base[N_OPEN]  # the unit is the base of some node's children


def build_trie(list keys not None, list values not None, size_t max_nested=0):
    """Return the units of a trie, as little-endian bytes.

    keys: list of bytes – sorted, distinct, without NULs, each of 1 to 4,096 bytes; at least one.
    values: list of int – value of each key, below 2**31.
    max_nested: maximum length of a chain of keys, each a prefix of the next; 0: no limit.

    Raises ValueError if a key is too long, or more than max_nested keys form such a chain.
    """
    cdef Nodes nodes
    cdef Layout* layout = <Layout*> calloc(1, sizeof(Layout))
    cdef size_t root
    memset(&nodes, 0, sizeof(nodes))
    try:
        if layout == NULL:
            raise MemoryError("no memory for a trie")
        root = _build_nodes(&nodes, keys, values, max_nested)
        _lay_out(layout, &nodes, root)
        trie = PyBytes_FromStringAndSize(NULL, <Py_ssize_t> layout.n * 4)
        _copy(layout, <uint8_t*> <char*> trie)
        return trie
    finally:
        free(nodes.edges)
        free(nodes.seen)
        if layout != NULL:
            free(layout.units)
        free(layout)


cdef void _copy(const Layout* layout, uint8_t* to) noexcept nogil:
    cdef size_t i
    cdef int k
    for i in range(layout.n):
        for k in range(4):
            to[4 * i + k] = <uint8_t> (layout.units[i] >> 8 * k)


cdef size_t _build_nodes(Nodes* nodes, list keys, list values, size_t max_nested) except 0:
    """Build the automaton and return its root.

    The nodes on the path of the current key are open. A node is closed when a key leaves it: if there is an equal
    node, that one replaces it.
    """
    cdef size_t depth = 0, same, i, k, nested, longest = 0  # same: bytes that a key shares with the one before it
    cdef Py_ssize_t n
    cdef const uint8_t* key
    cdef const uint8_t* key_before = NULL
    cdef Edge* open_edges = NULL  # edges of the open nodes: 256 for each depth
    cdef uint32_t* n_open = NULL
    cdef bytes one
    for one in keys:
        longest = max(longest, <size_t> len(one))
    if longest > MAX_KEY_BYTES:
        raise ValueError(f"a key has {longest} bytes: the limit is {MAX_KEY_BYTES}")
    nodes.n, nodes.mask = 1, 4095  # edge 0 is unused: 0 means no node
    nodes.seen = <uint32_t*> calloc(nodes.mask + 1, sizeof(uint32_t))
    open_edges = <Edge*> malloc((longest + 1) * 256 * sizeof(Edge))
    n_open = <uint32_t*> calloc(longest + 1, sizeof(uint32_t))
    try:
        if nodes.seen == NULL or open_edges == NULL or n_open == NULL:
            raise MemoryError(f"no memory for a trie of {len(keys)} keys")
        for i in range(<size_t> len(keys)):
            one = keys[i]
            key, n = <const uint8_t*> PyBytes_AS_STRING(one), len(one)
            same = 0
            while same < depth and same < <size_t> n and key[same] == key_before[same]:
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
                nested += open_edges[k * 256].label == 0  # the first k bytes are a key: label 0 sorts first
            if max_nested and nested > max_nested:
                raise ValueError(
                    f"{nested - 1} other keys are prefixes of the key {one!r:.60}: the limit is {max_nested - 1}"
                )
            key_before = key
        while depth > 0:
            open_edges[(depth - 1) * 256 + n_open[depth - 1] - 1].to = _close(
                nodes, open_edges + depth * 256, n_open[depth]
            )
            depth -= 1
        return _close(nodes, open_edges, n_open[0])
    finally:
        free(open_edges)
        free(n_open)


cdef inline uint64_t _hash_edges(const Edge* edges, size_t n) noexcept nogil:
    """Hash the edges of a node by their labels and targets."""
    cdef uint64_t h = n
    cdef size_t i
    for i in range(n):
        h = (h ^ (<uint64_t> edges[i].to << 8 | edges[i].label)) * GOLDEN_RATIO
        h ^= h >> 29
    return h


cdef uint32_t _close(Nodes* nodes, Edge* edges, uint32_t n) except 0:
    """Return the node with these edges; append it if it does not exist yet."""
    cdef size_t i, at
    edges[n - 1].is_last = True
    at = <size_t> _hash_edges(edges, n) & nodes.mask
    while nodes.seen[at]:
        if _is_same(nodes.edges + nodes.seen[at], edges, n):
            return nodes.seen[at]
        at = (at + 1) & nodes.mask
    reserve(<void**> &nodes.edges, &nodes.capacity, nodes.n + n, sizeof(Edge), LEAST_ITEMS)
    for i in range(n):
        nodes.edges[nodes.n + i] = edges[i]
    nodes.seen[at] = <uint32_t> nodes.n
    nodes.n += n
    nodes.n_seen += 1
    if nodes.n_seen * 2 > nodes.mask:
        _grow_seen(nodes)
    return <uint32_t> (nodes.n - n)


cdef inline bint _is_same(const Edge* a, const Edge* b, uint32_t n) noexcept nogil:
    """Tell whether two nodes have the same n edges."""
    cdef uint32_t i
    for i in range(n):
        if a[i].label != b[i].label or a[i].to != b[i].to or a[i].is_last != b[i].is_last:
            return False
    return True


cdef int _grow_seen(Nodes* nodes) except -1:
    """Rebuild the hash table of nodes with four times the slots."""
    cdef size_t mask = nodes.mask * 4 + 3, first = 1, i, at
    cdef uint32_t* seen = <uint32_t*> calloc(mask + 1, sizeof(uint32_t))
    if seen == NULL:
        raise MemoryError("no memory for a trie")
    while first < nodes.n:
        i = first
        while not nodes.edges[i].is_last:
            i += 1
        at = <size_t> _hash_edges(nodes.edges + first, i + 1 - first) & mask
        while seen[at]:
            at = (at + 1) & mask
        seen[at] = <uint32_t> first
        first = i + 1
    free(nodes.seen)
    nodes.seen = seen
    nodes.mask = mask
    return 0


cdef int _lay_out(Layout* layout, const Nodes* nodes, size_t root) except -1:
    """Lay out all nodes, depth first."""
    cdef size_t n_todo = 0, capacity = 0, at, base, k, first
    cdef uint64_t* todo = NULL  # stack of (unit << 32 | node)
    cdef uint32_t* bases = <uint32_t*> calloc(nodes.n, sizeof(uint32_t))  # base of each node laid out; 0: not yet
    try:
        if bases == NULL:
            raise MemoryError("no memory for a trie")
        reserve(<void**> &todo, &capacity, 1, sizeof(uint64_t), LEAST_ITEMS)
        _take(layout, 0)
        layout.is_base[0] = True  # no node gets base 0, as in Darts-clone; in `bases`, 0 means "not yet"
        todo[0] = root
        n_todo = 1
        while n_todo:
            n_todo -= 1
            at = <size_t> (todo[n_todo] >> 32)
            first = <size_t> (todo[n_todo] & 0xFFFFFFFF)
            if bases[first]:  # several edges lead to this node
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
            reserve(<void**> &todo, &capacity, n_todo + k - first + 1, sizeof(uint64_t), LEAST_ITEMS)
            while k >= first:  # last child first, so that the first one and all below it come off the stack first
                if nodes.edges[k].label:
                    todo[n_todo] = <uint64_t> (base ^ nodes.edges[k].label) << 32 | nodes.edges[k].to
                    n_todo += 1
                k -= 1
        first = layout.n - N_OPEN if layout.n > N_OPEN else 0
        while first < layout.n:
            _close_block(layout, first)
            first += BLOCK_UNITS
        return 0
    finally:
        free(todo)
        free(bases)


cdef size_t _place_children(Layout* layout, const Nodes* nodes, size_t at, size_t first) except? 0:
    """Lay out the edges of node `first`, whose unit is `at`, and return their base."""
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
            layout.units[base ^ edge.label] = edge.label
        if edge.is_last:
            break
        k += 1
    layout.is_base[base % N_OPEN] = True
    return base


cdef size_t _free_base(const Layout* layout, const Nodes* nodes, size_t at, size_t first) noexcept nogil:
    """Return the first base at which the edges of a node fit; the end of the array if they fit nowhere."""
    cdef size_t unit = layout.head, base
    if unit < layout.n:
        while True:
            base = unit ^ nodes.edges[first].label
            if _fits(layout, nodes, at, first, base):
                return base
            unit = layout.next[unit % N_OPEN]
            if unit == layout.head:
                break
    return layout.n | (at & LOW)  # so that the offset is a multiple of 256, which the long form can express


cdef inline bint _fits(
    const Layout* layout, const Nodes* nodes, size_t at, size_t first, size_t base
) noexcept nogil:
    """Tell whether the edges of a node fit at a base.

    Requires: the unit of its first edge is free.
    """
    cdef size_t k = first
    if layout.is_base[base % N_OPEN] or ((at ^ base) & LOW and (at ^ base) & HIGH):
        return False
    while not nodes.edges[k].is_last:
        k += 1
        if layout.is_taken[(base ^ nodes.edges[k].label) % N_OPEN]:
            return False
    return True


cdef inline void _point(Layout* layout, size_t at, size_t offset) noexcept nogil:
    """Add an offset to a unit whose offset is 0: 21 bits, or a multiple of 256 in 29 bits."""
    layout.units[at] |= <uint32_t> offset << 10 if offset < 1 << 21 else <uint32_t> offset << 2 | 1 << 9


cdef int _take(Layout* layout, size_t at) except -1:
    """Remove a unit from the ring of free units; grow the array up to it first."""
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
    """Append a block of free units; close the block that is no longer in the last N_OPEN units."""
    cdef size_t start = layout.n, end = start + BLOCK_UNITS, i
    if end > N_OPEN:
        _close_block(layout, end - BLOCK_UNITS - N_OPEN)
    reserve(<void**> &layout.units, &layout.capacity, end, sizeof(uint32_t), LEAST_ITEMS)
    memset(layout.units + start, 0, BLOCK_UNITS * sizeof(uint32_t))
    layout.n = end
    for i in range(start, end):
        layout.is_taken[i % N_OPEN] = layout.is_base[i % N_OPEN] = False
        layout.next[i % N_OPEN] = <uint32_t> (i + 1)
        layout.before[i % N_OPEN] = <uint32_t> (i - 1)
    layout.next[(end - 1) % N_OPEN] = <uint32_t> start
    layout.before[start % N_OPEN] = <uint32_t> (end - 1)
    if layout.head != start:  # otherwise the new units are the only free ones
        i = layout.before[layout.head % N_OPEN]
        layout.before[start % N_OPEN] = <uint32_t> i
        layout.next[(end - 1) % N_OPEN] = <uint32_t> layout.head
        layout.next[i % N_OPEN] = <uint32_t> start
        layout.before[layout.head % N_OPEN] = <uint32_t> (end - 1)
    return 0


cdef int _close_block(Layout* layout, size_t start) except -1:
    """Give each free unit of a block a label that no search follows: the label for a base that no node uses.

    If all units of a block are bases, none is free: each base has a child, and all its children are in its block.
    """
    cdef size_t unused = 0, i
    for i in range(start, start + BLOCK_UNITS):
        if not layout.is_base[i % N_OPEN]:
            unused = i
            break
    for i in range(start, start + BLOCK_UNITS):
        if not layout.is_taken[i % N_OPEN]:
            _take(layout, i)
            layout.units[i] = <uint32_t> (i ^ unused) & LOW
    return 0
