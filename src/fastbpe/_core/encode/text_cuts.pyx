"""Parts of a text between safe cuts, each encoded as a part of the whole text.

`Pipeline.cut` finds the cuts, and `Pipeline.may_cut` tells whether cutting is allowed. Only the two
characters around a position decide whether it is a cut, so a cut remains one when text is added on either side.
"""

from fastbpe._core.common.hash_tables cimport NONE
from fastbpe._core.encode.pipeline cimport Pipeline
from fastbpe._core.encode.scratch_pool cimport Scratch
from fastbpe._core.ids.id_lists cimport ids_list
from fastbpe._core.text.special_tokens cimport SpecialMatcher
from fastbpe._core.text.utf8_text cimport Text, text_of, text_release

cdef enum:
    NOGIL_UNITS = 1 << 13  # shortest part, in units, for which releasing the GIL pays


def may_cut(Pipeline pipeline not None, SpecialMatcher allowed, SpecialMatcher disallowed):
    """Tell whether the parts of a text between safe cuts have the ids of the whole text."""
    return pipeline.may_cut(allowed, disallowed)


def cut_near(Pipeline pipeline not None, str text not None, size_t start, size_t near):
    """Return the last safe cut in (start, near], or else the next one, or else the text's length.

    Requires: start is at most the text's length.
    """
    cdef Text view
    text_of(text, &view)
    try:
        return pipeline.cut(&view, start, near)
    finally:
        text_release(&view)


def encode_part(
    Pipeline pipeline not None, str text not None, size_t start, size_t end, SpecialMatcher allowed, bint after_fused
):
    """Encode text[start:end] as a part of the text, which begins at 0 or a cut and ends at a cut or the text's end.

    after_fused: the second result for the previous part; False at the beginning of a text. Without effect if the
        tokenizer does not fuse ids, and at a safe cut: the space behind it is a piece. It matters at a cut of
        `code_point_cuts`, where both characters may be unknown.

    Returns (ids, after_fused): after_fused tells whether the last id is `Normalizing.fused`.
    """
    cdef Text view
    cdef Scratch* scratch = pipeline.pool.take()
    cdef bint fuses = pipeline.normalizing is not None and pipeline.normalizing.fused != NONE
    try:
        text_of(text, &view)
        scratch.after_fused = after_fused and fuses
        if end < start + NOGIL_UNITS:
            pipeline.encode(&view, start, end, allowed, None, scratch)
        else:
            with nogil:
                pipeline.encode(&view, start, end, allowed, None, scratch)
        return ids_list(scratch.ids.items, scratch.ids.n), bool(scratch.after_fused)
    finally:
        text_release(&view)
        pipeline.pool.give(scratch)
