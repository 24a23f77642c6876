"""Counting ids no further than needed, and where a text has so many."""

from libc.stdint cimport uint8_t, uint16_t, uint32_t

from fastbpe._core.text.safe_cuts cimport ANY_SAFE_CUT, safe_cut
from fastbpe._core.encode.pipeline cimport Pipeline, Scratch
from fastbpe._core.text.utf8_text cimport Text, text_of, text_release
from fastbpe._core.common.interrupts cimport check_signals

cdef fused Wide:
    uint16_t
    uint32_t


cdef enum:
    STRETCH = 1 << 16  # units of a long text counted at once
    UNITS_OF_ID = 4  # roughly
    LEAST_STEP = 32  # units

cdef double ESTIMATE_SHARE = 0.875

cdef size_t count_up_to(
    Pipeline pipeline, const Text* text, size_t start, size_t end, size_t limit, Scratch* scratch
) except? 0 nogil:
    """How many ids units start to end have as a part of a text; limit + 1 if they are more."""
    cdef size_t cut, count = 0, stretch = _first_stretch(limit)
    cdef bint may_cut = pipeline.may_cut(None, None)
    while start < end and count <= limit:
        cut = end
        if may_cut and end - start > stretch:
            cut = min(pipeline.cut(text, start, start + stretch), end)
        pipeline.encode(text, start, cut, None, None, scratch, &count)
        start = cut
        stretch = min(2 * stretch, <size_t> STRETCH)
        check_signals(&scratch.watch)
    return min(count, limit + 1)


cdef inline size_t _first_stretch(size_t n_ids) noexcept nogil:
    return <size_t> STRETCH if n_ids > STRETCH // UNITS_OF_ID else n_ids * UNITS_OF_ID + 256


def takes_plain_text(Pipeline pipeline not None):
    """Whether nothing but splitting is done to a text, so that its tokens are where the text is."""
    return pipeline.is_plain


def count_part(
    Pipeline pipeline not None, str text not None, size_t origin, size_t near, size_t place, size_t limit
):
    """How many ids the text between origin and place has beyond those up to near; limit + 1 if they are more.

    near: between the two, or one of them; such a place as `window` gives. place may lie before origin.
    """
    cdef Text view
    cdef Scratch* scratch
    cdef size_t count
    text_of(text, &view)
    try:
        scratch = pipeline.take()
        scratch.cache.skips_long = True  # what is counted may end amid a piece, elsewhere each time
        try:
            with nogil:
                count = _count_part(pipeline, &view, origin, near, place, limit, scratch)
        finally:
            pipeline.give(scratch)
    finally:
        text_release(&view)
    return count


cdef size_t _count_part(
    Pipeline pipeline, const Text* text, size_t origin, size_t near, size_t place, size_t limit, Scratch* scratch
) except? 0 nogil:
    cdef size_t start = min(origin, place)
    cdef Text part = _part(text, start, max(origin, place))
    return count_up_to(pipeline, &part, min(near, place) - start, max(near, place) - start, limit, scratch)


def furthest_place(
    Pipeline pipeline not None, str text not None, size_t origin, size_t near, size_t far, size_t limit
):
    """The furthest place from near on towards far up to which `count_part` gives at most limit; near if there is none.

    Every place is tried, from far on, but those between the two halves of a character.
    """
    cdef Text view
    cdef Scratch* scratch
    text_of(text, &view)
    try:
        scratch = pipeline.take()
        scratch.cache.skips_long = True
        try:
            with nogil:
                while far != near:
                    if not _is_inside(&view, far):
                        if _count_part(pipeline, &view, origin, near, far, limit, scratch) <= limit:
                            break
                    far = far - 1 if near < far else far + 1
        finally:
            pipeline.give(scratch)
    finally:
        text_release(&view)
    return far


def inside(str text not None, size_t place):
    """Tell whether a place lies between the two halves of a character."""
    cdef Text view
    text_of(text, &view)
    try:
        return _is_inside(&view, place)
    finally:
        text_release(&view)


cdef bint _is_inside(const Text* text, size_t place) noexcept nogil:
    if place == 0 or place >= text.n:
        return False
    if text.unit == 2:
        return _is_pair(<const uint16_t*> text.data + place)
    return text.unit == 4 and _is_pair(<const uint32_t*> text.data + place)


cdef inline bint _is_pair(const Wide* second) noexcept nogil:
    return second[0] >> 10 == 0x37 and (second - 1)[0] >> 10 == 0x36


cdef inline Text _part(const Text* text, size_t start, size_t end) noexcept nogil:
    """A view of units start to end as a text by themselves, lent by the text."""
    cdef Text part = text[0]
    part.data = <const uint8_t*> text.data + start * text.unit
    part.n = end - start
    return part


def window(Pipeline pipeline not None, str text not None, size_t start, size_t end, size_t n_ids, bint backward):
    """Where text[start:end] exceeds n_ids ids, between two cuts: (near, n_near, far).

    Forward, text[start:near] has n_near ids, no more than n_ids, and text[start:far] has more; text[start:p], for p
    between them, has n_near and what `count_part` says. All is near if near is end. Backward it is the same from the
    end on: text[near:end] has n_near ids. Where there is no cut for long, or none at all with the splitter, far is
    where the text ends, though it may have no more ids than n_ids.
    """
    cdef Text view, part
    cdef CutRange found
    cdef Scratch* scratch
    end = min(end, <size_t> len(text))
    start = min(start, end)
    if not pipeline.may_cut(None, None):
        return (end, 0, start) if backward else (start, 0, end)
    text_of(text, &view)
    try:
        part = _part(&view, start, end)
        scratch = pipeline.take()
        try:
            with nogil:
                if backward:
                    _search(pipeline, &part, part.n, 0, n_ids, scratch, &found)
                else:
                    _search(pipeline, &part, 0, part.n, n_ids, scratch, &found)
        finally:
            pipeline.give(scratch)
    finally:
        text_release(&view)
    return start + found.near, found.n_near, start + found.far


cdef struct CutRange:
    size_t near
    size_t n_near
    size_t far


cdef int _search(
    Pipeline pipeline, const Text* text, size_t near, size_t last, size_t n_ids, Scratch* scratch, CutRange* found
) except -1 nogil:
    """From near on towards last, which may lie before it: in steps while there is room, then by halves.

    A step takes most of the way that is left if the text goes on as it did so far: little is counted in vain.
    """
    cdef size_t first = near, far = near, n_near = 0, count, middle, least = LEAST_STEP, step = n_ids // 2
    cdef double way
    while near != last:
        step = max(step, least)
        far = _cut_ahead(pipeline, text, near, last, step)
        if far == near:
            far = _cut_ahead(pipeline, text, near, last, max(step, _first_stretch(n_ids)))
            if far == near:
                found[0] = CutRange(near, n_near, last)
                return 0
        count = _count(pipeline, text, near, far, scratch)
        if count > n_ids - n_near:
            break
        near = far
        n_near += count
        least *= 2
        way = <double> _distance(first, near) / (n_near + 1) * (n_ids - n_near)
        step = <size_t> min(way * ESTIMATE_SHARE, <double> _distance(near, last))
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
    """A cut about so many units from near on towards last, or last if it is near, or near where there is no cut."""
    cdef size_t end, cut
    if _distance(near, last) <= 2 * step:
        return last
    end = near + 2 * step if near < last else near - 2 * step
    cut = _cut_between(pipeline, text, near, end)
    return near if cut == max(near, end) else cut


cdef size_t _cut_between(Pipeline pipeline, const Text* text, size_t near, size_t far) noexcept nogil:
    """A cut about halfway between two places, or the greater of them where there is none."""
    cdef size_t start = min(near, far), end = max(near, far), middle = start + (end - start) // 2
    cdef Text bounded
    if pipeline.front is None and pipeline.always is None and pipeline.normalizing is None:
        # Nothing is looked for in the text, so that every safe cut will do.
        return safe_cut(text, start, middle, end, ANY_SAFE_CUT)
    bounded = text[0]
    bounded.n = end
    return pipeline.cut(&bounded, start, middle)


cdef inline size_t _count(
    Pipeline pipeline, const Text* text, size_t near, size_t far, Scratch* scratch
) except? 0 nogil:
    cdef size_t count = 0
    pipeline.encode(text, min(near, far), max(near, far), None, None, scratch, &count)
    check_signals(&scratch.watch)
    return count
