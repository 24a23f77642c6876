"""Find the beginning of a text if it differs from its tokens: see token_slots.Beginning."""

cimport cython
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memset

from fastbpe._core.common.gil_yield cimport yield_gil_at
from fastbpe._core.common.python cimport PyBytes_AS_STRING
from fastbpe._core.decode.token_slots cimport (
    NOT_ASCII, NOT_LATIN1, NOT_UCS2, LongToken, slot_add, slot_fill, slot_token,
)

cdef enum:
    WIDTH = NOT_ASCII | NOT_LATIN1 | NOT_UCS2  # tags that decide the width of a str


cdef object NOT_FOUND = object()


@cython.final
cdef class FirstForms:
    """Bytes of ids at the beginning of a text, found once for each id.

    find: function that returns the bytes of an id there; None: decoding leaves the id out, and the next one begins
        the text. The decoder must have no bytes for an id that is left out.
    """

    def __init__(self, find):
        self._known = {}
        self._find = find

    cdef bytes form(self, uint32_t token_id):
        """Return the bytes of an id, which exist as long as this object; None: it is left out."""
        found = self._known.get(token_id, NOT_FOUND)
        if found is NOT_FOUND:
            found = self._known.setdefault(token_id, self._find(token_id))  # another thread may have been faster
        return found


cdef int find_left_out(
    const TokenSlot* slots, const Ids* ids, bint strips_all, frozenset space_keepers, Beginning* beginning
) except -1:
    """Find the leading spaces that a decoder leaves out.

    slots: the decoder's table. strips_all, space_keepers: the decoder's `leading` and `space_keepers`.
    beginning: receives the result. Requires: all its fields are 0, except `data`.
    """
    cdef const uint8_t* data
    cdef size_t i, n
    for i in range(ids.n):
        yield_gil_at(i)
        data = slot_token(&slots[ids.items[i]], &n)
        if n == 0 and (strips_all or ids.items[i] not in space_keepers):
            continue
        if n == 0 or data[0] != 0x20 or ids.items[i] in space_keepers:
            break
        beginning.at = i + 1
        beginning.n_bytes_lost += 1
        beginning.n_characters_lost += 1
        beginning.data, beginning.n = data + 1, n - 1
        if n > 1 or not strips_all:
            break
    return 0


cdef int find_first_form(
    const TokenSlot* slots, uint64_t n_slots, const Ids* ids, FirstForms firsts, Sums* sums, Beginning* beginning
) except -1:
    """Find the form of the first token that is not left out.

    slots, n_slots: table of the decoder.
    firsts: forms of the first token; must exist as long as `beginning`, which points to their bytes.
    sums: sums over the ids. The function corrects sums.tags. It leaves the other fields unchanged; `beginning` has
        the differences (n_bytes_lost, n_characters_lost).
    beginning: as for find_left_out().
    """
    cdef TokenSlot slot
    cdef LongToken long_token
    cdef Sums token_sums, form_sums
    cdef uint32_t n_long = 0
    cdef bytes form
    cdef size_t i, k
    for i in range(ids.n):
        yield_gil_at(i)
        form = firsts.form(ids.items[i])
        if form is None:
            continue
        beginning.at = i + 1
        beginning.data, beginning.n = <const uint8_t*> PyBytes_AS_STRING(form), <size_t> len(form)
        slot_fill(&slot, beginning.data, <uint32_t> beginning.n, &long_token, &n_long)
        memset(&token_sums, 0, sizeof(Sums))
        memset(&form_sums, 0, sizeof(Sums))
        slot_add(slots, n_slots, ids.items[i], &token_sums)
        slot_add(&slot, 1, 0, &form_sums)
        beginning.n_bytes_lost = token_sums.n_bytes - form_sums.n_bytes
        beginning.n_characters_lost = token_sums.n_characters - form_sums.n_characters
        if token_sums.tags & ~form_sums.tags & WIDTH:  # a str must not be wider than its characters
            sums.tags = 0
            for k in range(i + 1, ids.n):
                sums.tags |= slots[ids.items[k]].tag
        sums.tags |= form_sums.tags
        break
    return 0
