"""Parts of a text between safe cuts, each encoded as a part of the whole text."""

from fastbpe._core.encode.pipeline import Pipeline
from fastbpe._core.text.special_tokens import SpecialMatcher

def may_cut(pipeline: Pipeline, allowed: SpecialMatcher | None, disallowed: SpecialMatcher | None) -> bool: ...
def cut_near(pipeline: Pipeline, text: str, start: int, near: int) -> int: ...
def encode_part(
    pipeline: Pipeline, text: str, start: int, end: int, allowed: SpecialMatcher | None, after_fused: bool
) -> tuple[list[int], bool]: ...
