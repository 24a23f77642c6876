"""Names that pickles made before 0.1.0 was released look for here."""

from fastbpe.training.piece_counts import PieceCounts, _unpickle

__all__ = ["PieceCounts", "_unpickle"]
