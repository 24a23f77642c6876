"""Trainers of tokenizers, as they are."""

from __future__ import annotations

from tokenizers.trainers import (
    BpeTrainer,
    ParityBpeTrainer,
    Trainer,
    UnigramTrainer,
    WordLevelTrainer,
    WordPieceTrainer,
)

__all__ = [
    "BpeTrainer",
    "ParityBpeTrainer",
    "Trainer",
    "UnigramTrainer",
    "WordLevelTrainer",
    "WordPieceTrainer",
]
