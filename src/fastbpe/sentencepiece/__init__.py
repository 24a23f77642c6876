"""sentencepiece's Python interface for BPE models: `import fastbpe.sentencepiece as spm`."""

from fastbpe.sentencepiece._trainer import SentencePieceTrainer

__all__ = ["SentencePieceTrainer"]
