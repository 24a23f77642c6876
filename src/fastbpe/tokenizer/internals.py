"""Parts of a `Tokenizer` for other folders of this package, which read no private attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe.model import CodePointModel, Model
from fastbpe.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from fastbpe._core.encode.encoder import Encoder
    from fastbpe.tokenizer.codepoint import CodePointTokenizer


def model_of(tokenizer: Tokenizer) -> Model:
    """Return the model that a byte-level tokenizer was made from, without its tokens: `vocabulary_of` has them."""
    return tokenizer._model


def vocabulary_of(tokenizer: Tokenizer) -> Vocabulary:
    """Return the tables of tokens and merges of a tokenizer, read-only."""
    return tokenizer._vocabulary


def source_of(tokenizer: CodePointTokenizer) -> CodePointModel:
    """Return the model that a code-point tokenizer was made from."""
    return tokenizer._source


def prepared_encoder(tokenizer: CodePointTokenizer) -> Encoder:
    """Return a code-point tokenizer whose tables are built."""
    tokenizer._prepare()
    return tokenizer
