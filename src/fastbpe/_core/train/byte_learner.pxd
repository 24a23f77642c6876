from libc.stdint cimport int64_t, uint32_t

from fastbpe._core.common.id_buffer cimport Ids
from fastbpe._core.ids.sequences cimport Sequences
from fastbpe._core.merge.vocabulary cimport Tables
from fastbpe._core.train.merge_learner cimport MergeLearner
from fastbpe._core.train.pair_table cimport Cell
from fastbpe._core.train.piece_counter cimport PieceCounter
from fastbpe._core.train.token_limits cimport TokenLimits


cdef class Learner(MergeLearner):
    cdef readonly int64_t n_pieces  # number of pieces in the text: the sum of the counts
    cdef uint32_t* _rank  # rank of each id, for ties
    cdef uint32_t _max_token_length
    cdef bint _ties_first, _ties_bytes, _stops_at_known
    cdef list _shares  # negated counts of other merges
    cdef readonly tuple known_pair  # (left id, right id, count) of the pair that ended learning; None: none did
    cdef size_t _shared_ids  # number of ids of the base, the learned merges and the merges of _shares
    cdef list _tokens  # bytes of each id; None without a base of bytes, limits and names
    cdef set _existing  # _tokens, and the strings of `taken`: no merge may form these bytes
    cdef dict _ids_of_known  # the argument `known`, if there are names
    cdef bytes _prefix
    cdef TokenLimits _limits
    cdef uint32_t _most_ids  # ids for which there is space; _max_ids may rise to it
    cdef int _lay_out(self, PieceCounter counter, const Tables* base) except -1 nogil
    cdef int _lay_out_sequences(self, Sequences sequences, const Tables* base) except -1 nogil
    cdef void _write_tokens(self, Cell* cell, const Ids* ids) noexcept nogil
    cdef bint _note_name(self, uint32_t left, uint32_t right) except -1 with gil
