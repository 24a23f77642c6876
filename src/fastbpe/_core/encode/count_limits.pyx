"""Count ids up to a limit only, and find the longest part of a text that fits a limit, for truncation.

cut_range() finds two neighbouring safe cuts around the end of that part: between safe cuts, counts of parts can be
added. Between these two, the caller tries positions one by one.
"""

from libc.stdint cimport uint8_t, uint32_t

from fastbpe._core.common.python cimport PyErr_CheckSignals
from fastbpe._core.text.safe_cuts cimport ANY_SAFE_CUT, safe_cut
from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.merge.vocabulary cimport token_length
from fastbpe._core.text.utf8_text cimport Text, text_of, text_release, text_unit
from fastbpe._core.common.interrupts cimport check_signals

cdef enum:
    MAX_STRETCH_UNITS = 1 << 16  # greatest number of units counted between two checks of the limit, up to a cut
    UNITS_PER_ID = 4  # estimate
    SPARE_STRETCH_UNITS = 1 << 8  # units of the first stretch beyond that estimate
    MIN_STEP_UNITS = 32  # smallest step of _search(); _pass_over() adds it to its steps

cdef double STEP_SHARE = 0.875  # step of _search(), as a share of the estimated distance
cdef double PASS_SHARE = 1.0625  # step of _pass_over(), as a share of the estimated distance


cdef size_t count_up_to(
    Pipeline pipeline, const Text* text, size_t start, size_t end, size_t limit, Scratch* scratch
) except? 0 nogil:
    """Count the ids of units start to end of a text; return limit + 1 if there are more than limit.

    Requires: scratch.ids is empty.
    """
    cdef size_t cut, count = 0, stretch = _first_stretch(limit)
    cdef bint may_cut = pipeline.may_cut(None, None)
    while start < end and count <= limit:
        cut = end
        if may_cut and end - start > stretch:
            cut = min(pipeline.cut(text, start, start + stretch), end)
        count += pipeline.count(text, start, cut, None, None, scratch)
        start = cut
        stretch = min(2 * stretch, <size_t> MAX_STRETCH_UNITS)
        check_signals(&scratch.watch)
    return min(count, limit + 1)


cdef inline size_t _first_stretch(size_t n_ids) noexcept nogil:
    """Estimate generously the units of text with n_ids ids, at most about MAX_STRETCH_UNITS."""
    if n_ids > MAX_STRETCH_UNITS // UNITS_PER_ID:
        return MAX_STRETCH_UNITS
    return n_ids * UNITS_PER_ID + SPARE_STRETCH_UNITS


def takes_plain_text(Pipeline pipeline not None):
    """Tell whether the tokens of any text contain exactly its bytes, except those that the pattern leaves out."""
    return pipeline.is_plain


def count_part(
    Pipeline pipeline not None, str text not None, size_t origin, size_t near, size_t place, size_t limit
):
    """Count the ids between near and place in the text between origin and place, up to limit + 1.

    origin, place: ends of that text, in characters, in any order.
    near: position between them, or equal to one of them; from `cut_range`.
    limit: stop counting above it.
    """
    cdef Text view
    cdef size_t count
    cdef Scratch* scratch = pipeline.pool.take()
    try:
        text_of(text, &view)
        scratch.cache.skips_long = True  # the part may end inside a piece, at a different position in each call
        with nogil:
            count = _count_part(pipeline, &view, origin, near, place, limit, scratch)
        return count
    finally:
        text_release(&view)
        pipeline.pool.give(scratch)


cdef size_t _count_part(
    Pipeline pipeline, const Text* text, size_t origin, size_t near, size_t place, size_t limit, Scratch* scratch
) except? 0 nogil:
    cdef size_t start = min(origin, place)
    cdef Text part = _part(text, start, max(origin, place))
    return count_up_to(pipeline, &part, min(near, place) - start, max(near, place) - start, limit, scratch)


def furthest_place(
    Pipeline pipeline not None, str text not None, size_t origin, size_t near, size_t far, size_t limit
):
    """Search from far towards near for the first position whose `count_part` is at most limit; near if there is no
    other.

    Tries every position except between the two surrogates of a pair, because counts need not grow with the length.
    """
    cdef Text view
    cdef Scratch* scratch = pipeline.pool.take()
    try:
        text_of(text, &view)
        scratch.cache.skips_long = True
        with nogil:
            far = _furthest(pipeline, &view, origin, near, far, limit, scratch)
        return far
    finally:
        text_release(&view)
        pipeline.pool.give(scratch)


cdef size_t _furthest(
    Pipeline pipeline, const Text* text, size_t origin, size_t near, size_t far, size_t limit, Scratch* scratch
) except? 0 nogil:
    while far != near:
        if not _is_inside(text, far):
            if _count_part(pipeline, text, origin, near, far, limit, scratch) <= limit:
                break
        far = far - 1 if near < far else far + 1
    return far


def inside(str text not None, size_t place):
    """Tell whether a position is between the two surrogates of a pair."""
    cdef Text view
    text_of(text, &view)
    try:
        return _is_inside(&view, place)
    finally:
        text_release(&view)


cdef bint _is_inside(const Text* text, size_t place) noexcept nogil:
    if place == 0 or place >= text.n:
        return False
    return text_unit(text, place) >> 10 == 0x37 and text_unit(text, place - 1) >> 10 == 0x36


cdef inline Text _part(const Text* text, size_t start, size_t end) noexcept nogil:
    """View units start to end as a text of its own, in the memory of the whole text."""
    cdef Text part = text[0]
    part.data = <const uint8_t*> text.data + start * text.unit
    part.n = end - start
    return part


def cut_range(
    Pipeline pipeline not None, str text not None, size_t start, size_t end, size_t n_ids, bint backward
):
    """Find the safe cuts between which the count of a part of a text exceeds n_ids; return (near, n_near, far).

    start, end: the part, in characters: 0 <= start <= end <= len(text).
    n_ids: the limit.
    backward: count from the end towards the start.

    Forward, text[start:near] has n_near ≤ n_ids ids and text[start:far] has more than n_ids; for a position p
    between them, text[start:p] has n_near + `count_part` ids. If near is end, the whole part fits. Backward, the
    same holds for text[near:end] and text[far:end]. If no safe cut is found beyond near, far is the end of the
    part (backward, its start), and the whole part may still fit.
    """
    cdef Text view, part
    cdef CutRange found
    cdef Scratch* scratch
    cdef size_t origin
    if not pipeline.may_cut(None, None):
        return (end, 0, start) if backward else (start, 0, end)
    scratch = pipeline.pool.take()
    try:
        text_of(text, &view)
        part = _part(&view, start, end)
        origin = part.n if backward else 0
        with nogil:
            _search(pipeline, &part, origin, part.n - origin, n_ids, n_ids // 2, scratch, &found)
    finally:
        text_release(&view)
        pipeline.pool.give(scratch)
    return start + found.near_cut, found.n_near, start + found.far_cut


def parts_within(Pipeline pipeline not None, list texts not None, size_t n_ids, bint backward, size_t max_tried):
    """List the longest part of each text from its start (backward: up to its end) with at most n_ids ids.

    None stands for an item that this function leaves to its caller: it is not a str, or more than max_tried
    characters are between the two safe cuts around the end of its part.

    Requires: takes_plain_text() and may_cut().
    """
    cdef Text view
    cdef Scratch* scratch
    cdef CutRange found
    cdef size_t origin, last, place
    cdef double units_per_id = UNITS_PER_ID  # of the previous text
    cdef list parts = []
    for text in texts:
        if type(text) is not str:
            parts.append(None)
            continue
        scratch = pipeline.pool.take()
        try:
            text_of(text, &view)
            origin = view.n if backward else 0
            last = view.n - origin
            with nogil:
                if backward:
                    _search(pipeline, &view, origin, last, n_ids, n_ids // 2, scratch, &found)
                else:
                    _pass_over(pipeline, &view, n_ids, units_per_id, scratch, &found)
                place = found.near_cut
                if found.n_near < n_ids and 0 < _distance(found.near_cut, found.far_cut) <= max_tried:
                    scratch.cache.skips_long = True  # as in count_part()
                    place = _furthest(
                        pipeline, &view, origin, found.near_cut, found.far_cut, n_ids - found.n_near, scratch
                    )
        finally:
            text_release(&view)
            pipeline.pool.give(scratch)
        if found.n_near < n_ids and _distance(found.near_cut, found.far_cut) > max_tried:
            parts.append(None)
        elif place == last:
            parts.append(text)
        else:
            parts.append(text[place:] if backward else text[:place])
        if found.n_near:
            units_per_id = <double> _distance(origin, found.near_cut) / found.n_near
        PyErr_CheckSignals()
    return parts


cdef int _pass_over(
    Pipeline pipeline, const Text* text, size_t n_ids, double units_per_id, Scratch* scratch, CutRange* found
) except -1 nogil:
    """Find the result of _search() from the start of a text, encoding little more of it than fits.

    units_per_id: estimate.

    Requires: as in parts_within(). scratch.ids is empty, and is empty again afterwards.
    """
    cdef size_t near = 0, n_near = 0, far, room
    cdef double ahead
    cdef bint is_found
    while near < text.n:
        room = n_ids - n_near
        if n_near:
            units_per_id = <double> near / n_near
        ahead = min(room * units_per_id * PASS_SHARE, <double> MAX_STRETCH_UNITS) + MIN_STEP_UNITS
        far = _cut_ahead(pipeline, text, near, text.n, <size_t> ahead)
        if far == near:  # no cut is that close
            return _search(pipeline, text, 0, text.n, n_ids, n_ids // 2, scratch, found)
        pipeline.encode(text, near, far, None, None, scratch)
        if scratch.ids.n > room:
            is_found = _divide(pipeline, text, near, far, room, scratch, found)
            scratch.ids.n = 0
            if not is_found:
                return _search(pipeline, text, 0, text.n, n_ids, n_ids // 2, scratch, found)
            found.n_near += n_near
            return 0
        n_near += scratch.ids.n
        scratch.ids.n = 0
        near = far
        check_signals(&scratch.watch)
    found[0] = CutRange(text.n, n_near, text.n)
    return 0


cdef bint _divide(
    Pipeline pipeline, const Text* text, size_t start, size_t end, size_t room, Scratch* scratch, CutRange* found
) noexcept nogil:
    """Find the safe cuts around the end of the first `room` ids; n_near counts from start.

    start, end: safe cuts or ends of the text. scratch.ids has the ids between them, which are more than `room`.

    Returns False, with `found` invalid, if the tokens do not contain exactly the bytes of the text, because a
    pattern leaves some text out.
    """
    cdef const uint32_t* ids = scratch.ids.items
    cdef size_t n_near = room  # ids whose bytes are counted in n_bytes
    cdef size_t n_bytes = 0, n_all, n_near_bytes, near, far, place, i
    for i in range(room):
        n_bytes += token_length(&pipeline.vocabulary.tables, ids[i])
    n_all = n_bytes
    for i in range(room, scratch.ids.n):
        n_all += token_length(&pipeline.vocabulary.tables, ids[i])
    if n_all != _utf8_bytes(text, start, end):
        return False
    place = _place_of_byte(text, start, end, n_bytes)
    near = start
    far = _cut_within(pipeline, text, start, place, end)
    if far <= place:
        near = far
        far = _cut_within(pipeline, text, place, place + 1, end)
    n_near_bytes = _utf8_bytes(text, start, near)
    while n_bytes > n_near_bytes:
        n_near -= 1
        n_bytes -= token_length(&pipeline.vocabulary.tables, ids[n_near])
    found[0] = CutRange(near, n_near, far)
    return n_bytes == n_near_bytes


cdef size_t _utf8_bytes(const Text* text, size_t start, size_t end) noexcept nogil:
    """Count the bytes of UTF-8 of units start to end."""
    cdef size_t n = 0
    if text.is_utf8:
        return end - start
    while start < end:
        n += _character_bytes(text, start, &start)
    return n


cdef size_t _place_of_byte(const Text* text, size_t start, size_t end, size_t n_bytes) noexcept nogil:
    """Find the last position between two characters that is at most n_bytes bytes of UTF-8 after start.

    If the text is UTF-8, the position is exactly n_bytes after start, even within a character.
    """
    cdef size_t n = 0, place = start, behind
    if text.is_utf8:
        return start + n_bytes
    while place < end:
        n += _character_bytes(text, place, &behind)
        if n > n_bytes:
            break
        place = behind
    return place


cdef inline size_t _character_bytes(const Text* text, size_t place, size_t* behind) noexcept nogil:
    """Return the number of UTF-8 bytes of the character at a position; set *behind to the position after it."""
    cdef uint32_t c = text_unit(text, place)
    behind[0] = place + 1
    if c < 0x80:
        return 1
    if c < 0x800:
        return 2
    if c >> 11 == 0x1B and _is_inside(text, place + 1):
        behind[0] = place + 2
        return 4
    return 3 if c < 0x10000 else 4


cdef struct CutRange:
    # The names have two words because windows.h defines `near` and `far` as macros.
    size_t near_cut  # safe cut up to which the ids fit the limit
    size_t n_near  # ids up to that cut
    size_t far_cut  # next safe cut, up to which they do not fit


cdef int _search(
    Pipeline pipeline, const Text* text, size_t near, size_t last, size_t n_ids, size_t step, Scratch* scratch,
    CutRange* found,
) except -1 nogil:
    """Search from near towards last, which may be before it: in steps up to the limit, then by bisection.

    step: units of the first step. Callers pass half of n_ids: few texts have so many ids in so few units. Later
        steps cover most of the distance that remains according to the ids per unit so far, so that few ids are
        counted in vain. The least length of a step doubles, or ever shorter steps would approach the limit.

    Requires: may_cut().
    """
    cdef size_t first = near, far = near, n_near = 0, count, middle, min_step = MIN_STEP_UNITS
    cdef double distance
    while near != last:
        step = max(step, min_step)
        far = _cut_ahead(pipeline, text, near, last, step)
        if far == near:
            far = _cut_ahead(pipeline, text, near, last, max(step, _first_stretch(n_ids)))  # look further, once
            if far == near:
                found[0] = CutRange(near, n_near, last)
                return 0
        count = _count(pipeline, text, near, far, scratch)
        if count > n_ids - n_near:
            break
        near = far
        n_near += count
        min_step *= 2
        distance = <double> _distance(first, near) / (n_near + 1) * (n_ids - n_near)
        step = <size_t> min(distance * STEP_SHARE, <double> _distance(near, last))
    while near != far:
        middle = _cut_between(pipeline, text, near, far)
        if middle == max(near, far):
            break
        count = _count(pipeline, text, near, middle, scratch)
        if count > n_ids - n_near:
            far = middle
        else:
            near = middle
            n_near += count
    found[0] = CutRange(near, n_near, far)
    return 0


cdef inline size_t _distance(size_t near, size_t far) noexcept nogil:
    return max(near, far) - min(near, far)


cdef size_t _cut_ahead(Pipeline pipeline, const Text* text, size_t near, size_t last, size_t step) noexcept nogil:
    """Find a cut about `step` units from near towards last; last if it is closer; near if there is no cut."""
    cdef size_t end, cut
    if _distance(near, last) <= step:
        return last
    if near < last:
        end = near + min(2 * step, last - near)
        cut = _cut_within(pipeline, text, near, near + step, end)
        return near if cut == end else cut
    end = near - min(2 * step, near - last)
    return _cut_within(pipeline, text, end, near - step, near)


cdef size_t _cut_between(Pipeline pipeline, const Text* text, size_t near, size_t far) noexcept nogil:
    """Find a cut about halfway between two positions; if there is no cut, return the greater position."""
    cdef size_t start = min(near, far), end = max(near, far)
    return _cut_within(pipeline, text, start, start + (end - start) // 2, end)


cdef size_t _cut_within(Pipeline pipeline, const Text* text, size_t start, size_t near, size_t end) noexcept nogil:
    """Return the last cut in (start, near]; otherwise the first in (near, end); otherwise end."""
    cdef Text bounded
    cdef size_t position
    if pipeline.front is None and pipeline.always is None and pipeline.normalizing is None:
        # No tokens are searched for and nothing is normalized: any safe cut that no superword crosses will do.
        position = safe_cut(text, start, near, end, ANY_SAFE_CUT)
        while position < end and not pipeline.keeps_cut(text, position):
            position = safe_cut(text, position, position + 1, end, ANY_SAFE_CUT)
        return position
    bounded = text[0]
    bounded.n = end
    return pipeline.cut(&bounded, start, near)


cdef inline size_t _count(
    Pipeline pipeline, const Text* text, size_t near, size_t far, Scratch* scratch
) except? 0 nogil:
    cdef size_t count = pipeline.count(text, min(near, far), max(near, far), None, None, scratch)
    check_signals(&scratch.watch)
    return count
