from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from fastbpe._core.segment.segmenter cimport Segmenting


cdef struct Node:
    # A token in a text
    uint32_t id  # NONE: an unknown character
    uint32_t begin
    uint32_t end
    float score
    float best  # total of the best path up to its end, as Viterbi's algorithm sums it
    int32_t before  # previous node on that path; BEGINNING: none


cdef enum:
    BEGINNING = -1  # stands for the beginning of the text instead of a node


cdef struct Lattice:
    # All tokens in a text. Initialize with zeros; may be filled several times; free with lattice_free().
    size_t n  # bytes of the text
    size_t capacity  # bytes of text that fit
    Node* nodes  # sorted by beginning, then by end; an unknown character comes last at its beginning
    size_t n_nodes
    size_t nodes_capacity
    uint32_t* first  # by position: its first node; n + 2 items
    # Set by lattice_link():
    uint32_t* enders  # numbers of the nodes, sorted by end, then by number
    size_t enders_capacity
    uint32_t* first_ender  # by position: index of its first ender; n + 2 items


cdef struct Paths:
    # Paths through a lattice, end to end. Initialize with zeros; free with paths_free().
    uint32_t* nodes
    size_t n_nodes
    size_t nodes_capacity
    size_t* ends  # end of each path in `nodes`
    float* totals
    size_t n
    size_t capacity


cdef struct Hypothesis:
    # A path to the end of the text
    int32_t node  # its first node, or BEGINNING or END
    int32_t behind  # index in Search.made of the hypothesis without that node; NO_HYPOTHESIS (-1): none
    float total  # sum of its scores
    bint is_kept  # used while the agenda shrinks


cdef struct Waiting:
    # A hypothesis in the agenda
    float priority
    int32_t hypothesis


cdef struct Search:
    # Memory of best_paths(), for several calls. Initialize with zeros; free with search_free().
    Hypothesis* made  # all hypotheses, also those that have left the agenda
    size_t n_made
    size_t made_capacity
    Waiting* agenda  # a heap
    size_t n_waiting
    size_t agenda_capacity


cdef int lattice_fill(Lattice* lattice, const Segmenting* segmenting, const uint8_t* text, size_t n) except -1 nogil
cdef int lattice_link(Lattice* lattice) except -1 nogil
cdef void lattice_free(Lattice* lattice) noexcept nogil
cdef void paths_free(Paths* paths) noexcept nogil
cdef void search_free(Search* search) noexcept nogil
cdef float find_best(Lattice* lattice, int32_t* last) noexcept nogil
cdef int best_paths(
    Lattice* lattice, size_t n_best, int64_t milliseconds, Search* search, Paths* paths
) except -1 nogil
cdef int sample_path(const Lattice* lattice, float alpha, uint64_t* state, Paths* paths) except -1 nogil
cdef size_t draw(const double* log_weights, size_t n, uint64_t* state) noexcept nogil
