"""Encoding with BPE dropout."""

from typing import final

from fastbpe._core.encode.pipeline import Pipeline

@final
class Flag:
    """Flag that the threads of a call share: 1 when the call has ended early."""

@final
class Dropping:
    """Encoder with dropout over the steps of a pipeline. May be shared by threads.

    With ranks of bytes, any two tokens that make a third could merge. Without dropout only one pair ever makes a
    token; with it, other pairs come side by side too. Only the one pair is merged, as if merges were listed.
    """

    def __new__(cls, pipeline: Pipeline) -> Dropping: ...
