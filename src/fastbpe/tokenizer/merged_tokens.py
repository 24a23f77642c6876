"""Tokens as merging makes them of normalized text, for both modes: `completing` and `explaining` read them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.split.splitter import Splitter
from fastbpe.model import CodePointModel, PieceType
from fastbpe.tokenizer.codepoint_tables import METASPACE_UTF8, Parts


class MergedTokens(NamedTuple):
    """Tokens by id, and the tables that make them.

    tokens: bytes of each id in normalized text.
    apart: ids that merging does not make: special and added tokens, user-defined symbols, unknown characters,
        bytes of characters without a piece.
    fallback: ids of the bytes of characters without a piece, all of them in `apart`.
    vocabulary: symbols and their pairs.
    splitter: splitter of normalized text.
    in_characters: symbols are characters, not bytes.
    """

    tokens: Sequence[bytes]
    apart: Collection[int]
    fallback: Collection[int]
    vocabulary: Vocabulary
    splitter: Splitter
    in_characters: bool


def of_bytes(vocabulary: Vocabulary, splitter: Splitter, named: Collection[int]) -> MergedTokens:
    """Make the tokens of byte mode. named: ids of special and added tokens."""
    return MergedTokens(vocabulary.tokens(), named, (), vocabulary, splitter, in_characters=False)


def of_characters(model: CodePointModel, parts: Parts) -> MergedTokens:
    """Make the tokens of code-point mode."""
    apart = {i for i, kind in enumerate(model.types) if kind != PieceType.NORMAL} | {parts.unknown}
    space = b" " if parts.marks_spaces else METASPACE_UTF8
    tokens = [piece.replace(METASPACE_UTF8, space) for piece in model.pieces]
    fallback = frozenset(parts.byte_ids or ())
    return MergedTokens(tokens, apart, fallback, parts.vocabulary, parts.splitter, in_characters=True)
