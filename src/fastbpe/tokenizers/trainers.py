"""Trainers, as in the module `trainers` of tokenizers, and ParityBpeTrainer."""

from __future__ import annotations

from typing import Any

from fastbpe.tokenizers.bpe_trainer import BpeTrainer
from fastbpe.tokenizers.parity_trainer import ParityBpeTrainer
from fastbpe.tokenizers.segmenting_trainers import UnigramTrainer, WordLevelTrainer, WordPieceTrainer
from fastbpe.tokenizers.trainer import Trainer, of_pickled

__all__ = ["BpeTrainer", "ParityBpeTrainer", "Trainer", "UnigramTrainer", "WordLevelTrainer", "WordPieceTrainer"]

_KINDS = {kind.__name__: kind for kind in (BpeTrainer, UnigramTrainer, WordLevelTrainer, WordPieceTrainer)}


def copied(value: Any) -> Trainer:
    """Convert a trainer of the tokenizers package to fastbpe's. Raises TypeError for any other object."""
    kind: type[Trainer] | None = _KINDS.get(type(value).__name__)
    if kind is None:
        raise TypeError(
            f"{type(value).__name__} is not a trainer for a Tokenizer; the trainers are {', '.join(_KINDS)}"
        )
    return of_pickled(kind, value.__getstate__())
