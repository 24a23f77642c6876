"""Encoding with BPE dropout."""

from typing import final

from fastbpe._core.encode.pipeline import Pipeline

@final
class Flag:
    """Flag that the threads of a call share: 1 when the call has ended early."""

@final
class Dropping:
    """Encoder with dropout that uses the steps of a Pipeline. Threads may share it.

    A vocabulary of ranks allows any two tokens to merge whose bytes make a third token. Without dropout, only one
    of these pairs ever comes up for each token. With dropout other pairs come up too, but are not merged: only the
    one pair is, as if the vocabulary listed merges.
    """

    def __new__(cls, pipeline: Pipeline) -> Dropping: ...
