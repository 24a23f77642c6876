"""Old home of `PieceCounts`, for pickles of earlier versions."""

from fastbpe.training.piece_counts import PieceCounts
from fastbpe.training.piece_counts import unpickle_counts as _unpickle

__all__ = ["PieceCounts", "_unpickle"]
