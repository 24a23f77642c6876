"""Encoding with BPE dropout."""

from typing import final

from fastbpe._core.encode.pipeline import Pipeline

@final
class Flag: ...

@final
class Dropping:
    def __new__(cls, pipeline: Pipeline) -> Dropping: ...
