"""Ids that may follow the end of a text: `Tokenizer.completions` and `Tokenizer.encode_with_unstable`.

More text may change the ids of a text's last piece, and of white space before it: they are the tail. In byte mode
`_core.encode.completions` finds what may take its place. In code-point mode the tail is encoded with each text
that a piece of the model would add to it: white space, the costly tail of byte mode, has few pieces there.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Collection, Mapping, Sequence

from fastbpe._core.encode.completions import Completions, SortedTokens, encode_normalized, last_piece
from fastbpe._core.encode.pipeline import Pipeline
from fastbpe._core.text.utf8_text import n_valid
from fastbpe.errors import VocabularyError
from fastbpe.model import CodePointModel, PieceType
from fastbpe.tokenizer.codepoint_tables import Parts
from fastbpe.tokenizer.merged_tokens import MergedTokens

_BLANKS = b" \n\t"
_TEXT = {PieceType.NORMAL, PieceType.USER_DEFINED}

Unstable = tuple[list[int], list[list[int]]]


def n_unstable(ids: Sequence[int], last: bytes, token: Callable[[int], bytes], apart: Collection[int]) -> int:
    """Count the last ids that may change when more text follows.

    Args:
        ids: ids of the text.
        last: bytes of the text's last piece; b"" without one.
        token: gives the bytes of an id.
        apart: ids that no later text changes, such as special tokens.
    """
    n = n_bytes = 0
    while n_bytes < len(last):
        n += 1
        n_bytes += len(token(ids[-n]))
    if n and not token(ids[-n]).strip(_BLANKS):
        while n < len(ids) and ids[-n - 1] not in apart and not token(ids[-n - 1]).strip(_BLANKS):
            n += 1
    return n


class ByteCompleter:
    """Completer of a byte-level tokenizer."""

    def __init__(self, merged: MergedTokens) -> None:
        self._merged = merged
        self._completions = Completions(merged.vocabulary, merged.splitter)

    def tokens_beginning(self, prefix: bytes) -> list[int]:
        """Give the ids of the ordinary tokens that begin with a prefix."""
        return self._completions.tokens.beginning_with(prefix)

    def unstable(self, ids: list[int]) -> Unstable:
        """Divide the ids of a text; give the stable ones and the completions."""
        n, tail = _tail(ids, self._merged)
        return (ids[:-n], self._completions.of(tail)) if n else (ids, [])


class CharacterCompleter:
    """Completer of a code-point tokenizer."""

    def __init__(self, model: CodePointModel, parts: Parts, merged: MergedTokens, pipeline: Pipeline) -> None:
        self._merged, self._pipeline = merged, pipeline
        self._ids, self._unknown = parts.symbol_ids(), parts.unknown
        text = {i for i, kind in enumerate(model.types) if kind in _TEXT and i != parts.unknown}
        symbols = [symbol for symbol, token_id in enumerate(self._ids) if token_id in text]
        self._symbols = SortedTokens(parts.vocabulary, ids=symbols)
        self._surfaces = SortedTokens(parts.surfaces, ids=sorted(text | {*merged.fallback}))

    def tokens_beginning(self, prefix: bytes) -> list[int]:
        """Give the ids of the pieces that begin with a prefix, as they decode."""
        return self._surfaces.beginning_with(prefix)

    def unstable(self, ids: list[int]) -> Unstable:
        """Divide the ids of a text; give the stable ones and the completions."""
        n, tail = _tail(ids, self._merged)
        if not n:
            return ids, []
        found: dict[tuple[int, ...], None]
        found = {(self._ids[symbol],): None for symbol in self._symbols.beginning_with(tail)}
        for addition in self._symbols.additions(tail):
            found[self._covering(tail + addition, len(tail))] = None
        return ids[:-n], [list(completion) for completion in found]

    def _covering(self, text: bytes, n_bytes: int) -> tuple[int, ...]:
        """Encode normalized text; give the ids up to the one that covers byte n_bytes - 1."""
        ids = encode_normalized(self._pipeline, text)
        n = at = 0
        while at < n_bytes:
            token_id = ids[n]
            if token_id in self._merged.fallback:
                at += 1
            elif token_id == self._unknown:
                at += len(text[at:].decode()[0].encode())
            else:
                at += len(self._merged.tokens[token_id])
            n += 1
        return tuple(ids[:n])


class SpelledCompleter:
    """Completer of a tokenizer of characters.

    Args:
        surfaces: id of each ordinary token → the bytes that it adds to a text.
    """

    def __init__(self, surfaces: Mapping[int, bytes]) -> None:
        self._ids = sorted(surfaces, key=lambda token_id: (surfaces[token_id], token_id))
        self._surfaces = [surfaces[token_id] for token_id in self._ids]

    def tokens_beginning(self, prefix: bytes) -> list[int]:
        """Give the ids of the tokens that begin with a prefix, as they decode."""
        first = bisect_left(self._surfaces, prefix)
        n = bisect_left(self._surfaces, True, first, key=lambda surface: not surface.startswith(prefix))
        return self._ids[first:n]

    def unstable(self, ids: list[int]) -> Unstable:
        """Raise VocabularyError."""
        raise VocabularyError(
            "encode_with_unstable works with tokenizers whose base symbols are bytes or code points; the symbols "
            "of this one are characters with the spelling of a tokenizer.json, whose steps may change any text "
            "before its end: call completions with the bytes of the last tokens"
        )


def _tail(ids: list[int], merged: MergedTokens) -> tuple[int, bytes]:
    """Give the number of unstable ids, and their bytes."""
    first = len(ids)
    while first and ids[first - 1] not in merged.apart:
        first -= 1
    token = merged.tokens.__getitem__
    data = b"".join(map(token, ids[first:]))
    if n_valid(data) < len(data):
        return 0, b""  # a vocabulary without all bytes has left out parts of characters
    n = n_unstable(ids, last_piece(merged.splitter, None, data), token, merged.apart)
    return n, b"".join(map(token, ids[len(ids) - n :]))
