from libc.stdint cimport uint8_t, uint32_t, uint64_t

from fastbpe._core.common.hash_tables cimport NONE


cdef struct Unit:
    # A node. Its child by a byte is unit base ^ byte, if the parent of that unit is this node.
    uint32_t base  # 0: it has no children
    uint32_t parent
    uint32_t id  # of the token that ends here; NONE: no token does
    float score  # of that token


cdef struct Key:
    # A token to be sorted
    uint64_t head  # its first eight bytes, the first one highest
    const uint8_t* data
    uint32_t n
    uint32_t id


cdef class Trie:
    cdef Unit* units  # the root is the first
    cdef readonly size_t n_units
    cdef int _build(self, const Key* keys, size_t n) except -1 nogil


cdef inline uint32_t child(const Unit* units, uint32_t node, uint8_t byte) noexcept nogil:
    """Return the child of a node by a byte, 0 if it does not have one."""
    cdef uint32_t found = units[node].base ^ byte
    return found if units[found].parent == node else 0


cdef inline uint32_t walk(const Unit* units, uint32_t node, const uint8_t* data, size_t n) noexcept nogil:
    """Return the node that some bytes lead to, NONE if they lead to no node."""
    cdef size_t i
    for i in range(n):
        node = child(units, node, data[i])
        if node == 0:
            return NONE
    return node


cdef inline uint32_t find_whole(const Unit* units, const uint8_t* data, size_t n) noexcept nogil:
    """Return the id of the token with these bytes, or NONE."""
    cdef uint32_t node = walk(units, 0, data, n)
    return NONE if node == NONE else units[node].id
