"""Parts of a `Tokenizer` for other folders of this package, which read no private attributes."""

from __future__ import annotations

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe.model import Model
from fastbpe.tokenizer.tokenizer import Tokenizer


def model_of(tokenizer: Tokenizer) -> Model:
    """Return the model that a byte-level tokenizer was made from, without its tokens: `vocabulary_of` has them."""
    return tokenizer._model


def vocabulary_of(tokenizer: Tokenizer) -> Vocabulary:
    """Return the tables of tokens and merges of a tokenizer, read-only."""
    return tokenizer._vocabulary
