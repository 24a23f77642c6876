"""Tokens in the form in which merging makes them from normalized text, for `shown.explaining`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.split.splitter import Splitter
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.model import CodePointModel, PieceType, Spelling
from fastbpe.tokenizer.families.codepoint_tables import METASPACE_UTF8, Parts
from fastbpe.tokenizer.families.token_spelling import symbols_of


class MergedTokens(NamedTuple):
    """Tokens by id, and the tables for merging.

    tokens: bytes of each id in normalized text.
    apart: ids that merging does not make: special and added tokens, user-defined symbols, unused pieces, unknown
        characters, bytes of characters without a piece.
    fallback: ids of the bytes of characters without a piece; all of them are in `apart`.
    vocabulary: symbols and their pairs.
    splitter: splitter of normalized text.
    in_characters: symbols are characters, not bytes.
    spelling: spelling of symbols in a tokenizer.json; None: symbols are spelled as their text.
    words: with a spelling, a function from a text and its allowed special tokens to the index of the word of each
        id; else None.
    superwords: merges of whole pieces, which come after n_merges others; None: no such merges.
    n_merges: number of listed merges within pieces.
    """

    tokens: Sequence[bytes]
    apart: Collection[int]
    fallback: Collection[int]
    vocabulary: Vocabulary
    splitter: Splitter
    in_characters: bool
    spelling: Spelling | None = None
    words: Callable[[str, str | Collection[str]], Sequence[int]] | None = None
    superwords: Vocabulary | None = None
    n_merges: int = 0

    def symbols_of(self, data: bytes) -> list[bytes]:
        """List the symbols with which merging begins. data: a piece; with a spelling, one token of a piece."""
        if self.spelling is not None:
            return symbols_of(data, self.spelling)
        return [c.encode() for c in data.decode()] if self.in_characters else [bytes([byte]) for byte in data]

    def text_of(self, tokens: Sequence[bytes]) -> bytes:
        if self.spelling is None:
            return b"".join(tokens)
        prefix, suffix = self.spelling.prefix.encode(), self.spelling.suffix.encode()
        return b"".join([tokens[0], *[one.removeprefix(prefix) for one in tokens[1:]]]).removesuffix(suffix)


def of_bytes(
    vocabulary: Vocabulary,
    splitter: Splitter,
    named: Collection[int],
    superwords: Vocabulary | None = None,
    n_merges: int = 0,
) -> MergedTokens:
    """Return the tokens of byte mode. named: ids of special and added tokens."""
    made = MergedTokens(vocabulary.tokens(), named, (), vocabulary, splitter, in_characters=False)
    return made._replace(superwords=superwords, n_merges=n_merges)


def of_spelled(
    vocabulary: Vocabulary,
    splitter: Splitter,
    named: Collection[int],
    spelling: Spelling,
    words: Callable[[str, str | Collection[str]], Sequence[int]],
) -> MergedTokens:
    """Return the tokens of character mode. named: ids of special and added tokens."""
    fallback = frozenset(spelling.byte_ids) - {-1}
    apart = {*named, *fallback, spelling.unknown}
    return MergedTokens(vocabulary.tokens(), apart, fallback, vocabulary, splitter, True, spelling, words)


def of_characters(model: CodePointModel, parts: Parts) -> MergedTokens:
    apart = {i for i, kind in enumerate(model.types) if kind != PieceType.NORMAL} | {parts.unknown}
    space = b" " if parts.marks_spaces else METASPACE_UTF8
    tokens = [piece.replace(METASPACE_UTF8, space) for piece in model.pieces]
    fallback = frozenset(parts.byte_ids or ())
    return MergedTokens(tokens, apart, fallback, parts.vocabulary, parts.splitter, in_characters=True)
