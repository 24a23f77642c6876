"""Trainers of tokenizers, unchanged; fastbpe's own if tokenizers is not installed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastbpe.tokenizers._original import IS_INSTALLED

if TYPE_CHECKING or IS_INSTALLED:
    from tokenizers.trainers import (
        BpeTrainer,
        ParityBpeTrainer,
        Trainer,
        UnigramTrainer,
        WordLevelTrainer,
        WordPieceTrainer,
    )
else:
    from fastbpe.tokenizers.own.trainers import *  # noqa: F403

__all__ = [
    "BpeTrainer",
    "ParityBpeTrainer",
    "Trainer",
    "UnigramTrainer",
    "WordLevelTrainer",
    "WordPieceTrainer",
]
