"""Counts ids up to a limit only, and finds the part of a text that has a given number of ids."""

from fastbpe._core.encode.pipeline import Pipeline

def takes_plain_text(pipeline: Pipeline) -> bool:
    """Tell whether a text is only split and merged, so that its tokens are its bytes."""

def cut_range(
    pipeline: Pipeline, text: str, start: int, end: int, n_ids: int, backward: bool
) -> tuple[int, int, int]:
    """Find the safe cuts between which a part of a text exceeds n_ids ids; return (near, n_near, far)."""

def count_part(pipeline: Pipeline, text: str, origin: int, near: int, place: int, limit: int) -> int:
    """Count the ids of the text between origin and place that lie beyond near, up to limit + 1."""

def furthest_place(pipeline: Pipeline, text: str, origin: int, near: int, far: int, limit: int) -> int:
    """Find the position from far towards near up to which `count_part` gives at most limit; near without one."""

def inside(text: str, place: int) -> bool:
    """Tell whether a position lies between the two surrogates of a pair."""

def parts_within(
    pipeline: Pipeline, texts: list[object], n_ids: int, backward: bool, max_tried: int
) -> list[str | None]:
    """List the longest part of each text from its start (backward: up to its end) with at most n_ids ids.

    None stands for a text that this function leaves to its caller: no str, or more than max_tried characters lie
    between the two safe cuts around the end of its part.

    Requires: takes_plain_text() and may_cut().
    """
