from fastbpe._core.pipeline import Pipeline
from fastbpe._core.splitter import Splitter

def pieces(splitter: Splitter, text: str | bytes) -> list[tuple[int, int]]: ...
def window(
    pipeline: Pipeline, text: str, start: int, end: int, n_ids: int, backward: bool
) -> tuple[int, int, int]: ...
