from libc.stdint cimport uint32_t, uint64_t, uint8_t

from fastbpe._core.common.hash_tables cimport NONE

cdef enum Kind:
    UNIGRAM  # best total of scores, in double precision, of each piece separately: like tokenizers
    SENTENCE  # best total of scores, in single precision, over a whole sentence: like sentencepiece
    WORD_PIECE  # the longest token at each position, with a prefix inside a piece
    WORD_LEVEL  # a piece is a token


cdef struct Segmenting:
    # Everything that segmenting reads of a vocabulary that does not merge.
    Kind kind
    const Unit* units  # trie of the tokens
    const double* scores  # UNIGRAM: by id
    const float* gains  # SENTENCE: by id, amount added to the total
    const uint8_t* are_symbols  # SENTENCE: by id, 1 if the piece is user-defined; NULL: no piece is
    double unknown  # UNIGRAM, SENTENCE: score of a character without a token
    float greatest  # SENTENCE: greatest absolute score, rounded up
    uint32_t inner  # WORD_PIECE: node after the prefix of tokens inside a piece; NONE: no such tokens
    size_t longest  # WORD_PIECE: characters of the longest piece that is not unknown


cdef class Segmenter:
    cdef Segmenting segmenting
    cdef readonly Trie trie
    cdef readonly str kind
    # Owners of the memory that `segmenting` points to. Not typed views: each module that cimports this file, even
    # indirectly, would contain Cython's code for them, about 0.1 MB.
    cdef tuple _buffers


cdef struct Unit:
    # A node. Its child for a byte is the unit base ^ byte, if the parent of that unit is this node.
    uint32_t base  # 0: it has no children
    uint32_t parent
    uint32_t id  # id of the token that ends here; NONE: no token does
    float score  # score of that token; for a Segmenter of another kind than "sentence" 0


cdef struct Key:
    # A token to be sorted
    uint64_t head  # its first eight bytes, big-endian
    const uint8_t* data
    uint32_t n
    uint32_t index  # of the token, not its id


cdef class Trie:
    cdef Unit* units  # the first is the root
    cdef readonly size_t n_units
    cdef int _build(self, const Key* keys, size_t n) except -1 nogil


cdef inline uint32_t child(const Unit* units, uint32_t node, uint8_t byte) noexcept nogil:
    """Return the child of a node for a byte, 0 without a child."""
    cdef uint32_t found = units[node].base ^ byte
    return found if units[found].parent == node else 0


cdef inline uint32_t walk(const Unit* units, uint32_t node, const uint8_t* data, size_t n) noexcept nogil:
    """Return the node that these bytes lead to, or NONE."""
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
