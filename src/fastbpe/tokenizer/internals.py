"""Parts of a `Tokenizer` for other folders of this package, which read no private attributes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe.model import CodePointModel, Model
from fastbpe.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from fastbpe._core.encode.encoder import Encoder
    from fastbpe._core.merge.sequence_vocabulary import SequenceVocabulary
    from fastbpe._core.split.splitter import Splitter
    from fastbpe.corpus.source_kinds import Cut
    from fastbpe.model import AddedToken
    from fastbpe.tokenizer.codepoint import CodePointTokenizer
    from fastbpe.tokenizer.sequences import SequenceTokenizer
    from fastbpe.tokenizer.special_tokens import SpecialTokens


def model_of(tokenizer: Tokenizer) -> Model:
    """Return the model that a byte-level tokenizer was made from, without its tokens: `vocabulary_of` has them."""
    return tokenizer._model


def vocabulary_of(tokenizer: Tokenizer) -> Vocabulary:
    """Return the tables of tokens and merges of a tokenizer, read-only."""
    return tokenizer._vocabulary


def vocabulary_of_sequences(tokenizer: SequenceTokenizer) -> SequenceVocabulary:
    """Return the merges of a tokenizer of sequences, read-only."""
    return tokenizer._vocabulary


def source_of(tokenizer: CodePointTokenizer) -> CodePointModel:
    """Return the model that a code-point tokenizer was made from."""
    return tokenizer._source


def prepared_encoder(tokenizer: CodePointTokenizer) -> Encoder:
    """Return a code-point tokenizer whose tables are built."""
    tokenizer._prepare()
    return tokenizer


def special_of(tokenizer: Tokenizer) -> SpecialTokens:
    """Return the special and added tokens of a tokenizer."""
    return tokenizer._special


def splitter_of(tokenizer: Tokenizer) -> Splitter:
    """Return the object that cuts text into pieces."""
    return tokenizer._pipeline.splitter


def cutter_of(tokenizer: Tokenizer, special: Collection[str]) -> Cut | None:
    """Return a function that finds safe cuts of documents with special tokens; None if there are no safe cuts."""
    return tokenizer._cutter(special)


def remade(tokenizer: Tokenizer, model: Model | CodePointModel) -> Tokenizer:
    """Make a tokenizer of another model, with the class and the cache of this one."""
    return type(tokenizer)(model, cache_bytes=tokenizer._cache_bytes)  # type: ignore[arg-type]


def extended(tokenizer: Tokenizer, tokens: Sequence[AddedToken]) -> Tokenizer:
    """Make a tokenizer with more special and added tokens, as `with_tokens` does."""
    return tokenizer.with_tokens(tokens) if tokens else tokenizer
