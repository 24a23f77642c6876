"""Parts of a text between safe cuts, each encoded as a part of the whole text."""

from fastbpe._core.encode.pipeline import Pipeline
from fastbpe._core.text.special_tokens import SpecialMatcher

def may_cut(pipeline: Pipeline, allowed: SpecialMatcher | None, disallowed: SpecialMatcher | None) -> bool: ...
def cut_near(pipeline: Pipeline, text: str, start: int, near: int) -> int: ...
def encode_part(
    pipeline: Pipeline, text: str, start: int, end: int, allowed: SpecialMatcher | None, after_fused: bool
) -> tuple[list[int], bool]:
    """Encode text[start:end] as a part of the text. It begins at 0 or a cut and ends at a cut or the text's end.

    after_fused: the second result for the previous part; False at the beginning of a text.

    Returns (ids, after_fused): after_fused tells whether the last id is one whose repetitions become a single id.
    """
