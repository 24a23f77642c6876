"""Names that pickles of earlier versions look for here."""

from fastbpe.training.piece_counts import PieceCounts
from fastbpe.training.piece_counts import unpickle_counts as _unpickle

__all__ = ["PieceCounts", "_unpickle"]
