"""Trainers: they are the original's. `fastbpe.train` learns BPE."""

from __future__ import annotations

from fastbpe.tokenizers.own.components import Component, absent

__all__ = [
    "BpeTrainer",
    "ParityBpeTrainer",
    "Trainer",
    "UnigramTrainer",
    "WordLevelTrainer",
    "WordPieceTrainer",
]

Trainer = absent(Component, "trainers.Trainer")
BpeTrainer = absent(Trainer, "trainers.BpeTrainer")
ParityBpeTrainer = absent(Trainer, "trainers.ParityBpeTrainer")
UnigramTrainer = absent(Trainer, "trainers.UnigramTrainer")
WordLevelTrainer = absent(Trainer, "trainers.WordLevelTrainer")
WordPieceTrainer = absent(Trainer, "trainers.WordPieceTrainer")
