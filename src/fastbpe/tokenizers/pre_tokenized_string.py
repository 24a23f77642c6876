"""PreTokenizedString: a text that is split into pieces, which become tokens."""

from __future__ import annotations

from itertools import accumulate, pairwise

from fastbpe.huggingface.checked_arguments import of_type, sequence
from fastbpe.huggingface.checked_arguments import token_id as _number
from fastbpe.huggingface.encoding import Encoding, of_tokens
from fastbpe.tokenizers.components import WRITTEN, call_written
from fastbpe.tokenizers.normalized_string import NormalizedString, check_function
from fastbpe.tokenizers.pieces import Piece, Span, characters_of, places_of
from fastbpe.tokenizers.token import Token

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any

_REFERENTIALS = ("original", "normalized")
_UNITS = ("byte", "char")


class PreTokenizedString:
    """Text that is split into pieces, which become tokens.

    Args:
        sequence: the text.

    Raises:
        TypeError: it is not a str.
        UnicodeEncodeError: it has a lone surrogate.

    >>> from fastbpe.tokenizers import PreTokenizedString, models
    >>> text = PreTokenizedString("ab a")
    >>> text.split(lambda i, piece: piece.split(" ", "removed"))
    >>> text.get_splits()
    [('ab', (0, 2), None), ('a', (3, 4), None)]
    >>> model = models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")])
    >>> text.tokenize(model.tokenize)
    >>> text.to_encoding().ids
    [2, 0]
    """

    def __init__(self, sequence: str) -> None:
        self._whole = NormalizedString(sequence).original
        #: Pieces, each with its tokens; None: it has not been tokenized.
        self._splits: list[tuple[NormalizedString, list[Token] | None]] = [(NormalizedString(sequence), None)]

    def split(self, func: Callable[[int, NormalizedString], Sequence[NormalizedString]]) -> None:
        """Split each piece that has no tokens.

        Args:
            func: function that takes the number of a piece and the piece, and returns the pieces that replace it;
                empty ones are left out.

        Raises:
            TypeError: func cannot be called, or returns something else.
        """
        check_function(
            func, "`split` expects a callable with the signature: `fn(index: int, normalized: NormalizedString)`"
        )
        made: list[tuple[NormalizedString, list[Token] | None]] = []
        splits, self._splits = self._splits, []  # no pieces are left if `func` fails, as in tokenizers
        for i, (piece, tokens) in enumerate(splits):
            if tokens is not None:
                made.append((piece, tokens))
                continue
            parts = [of_type(part, NormalizedString) for part in sequence(func(i, piece))]
            made += [(part, None) for part in parts if part.normalized]
        self._splits = made

    def normalize(self, func: Callable[[NormalizedString], Any]) -> None:
        """Call a function with each piece that has no tokens, to change it in place.

        Raises:
            TypeError: func cannot be called.
        """
        check_function(
            func, "`normalize` expects a callable with the signature: `fn(normalized: NormalizedString)`"
        )
        for piece, tokens in self._splits:
            if tokens is None:
                func(piece)

    def tokenize(self, func: Callable[[str], list[Token]]) -> None:
        """Tokenize each piece that has no tokens.

        Args:
            func: function that takes the text of a piece, and returns its tokens, with offsets in bytes.

        Raises:
            TypeError: func cannot be called, or returns something else.
        """
        check_function(func, "`tokenize` expects a callable with the signature: `fn(str) -> List[Token]`")
        for i, (piece, tokens) in enumerate(self._splits):
            if tokens is None:
                made = [of_type(token, Token) for token in of_type(func(piece.normalized), list)]
                self._splits[i] = piece, made

    def to_encoding(self, type_id: int = 0, word_idx: int | None = None) -> Encoding:
        """Return the tokens as an encoding.

        Args:
            type_id: type id of all tokens.
            word_idx: word number of all tokens; None: each token's piece number.

        Raises:
            ValueError: a piece has no tokens.
        """
        type_id = _number(type_id)
        word = None if word_idx is None else _number(word_idx)
        ids: list[int] = []
        values: list[str] = []
        words: list[int] = []
        spans: list[Span] = []
        for i, (piece, tokens) in enumerate(self._splits):
            if tokens is None:
                raise ValueError("Split has not been tokenized, call `PreTokenizedString::tokenize` first")
            ids += [token.id for token in tokens]
            values += [token.value for token in tokens]
            words += [i if word is None else word] * len(tokens)
            spans += piece.places(token.offsets for token in tokens)
        return of_tokens(ids, values, words, spans, type_id)

    def get_splits(
        self, offset_referential: str = "original", offset_type: str = "char"
    ) -> list[tuple[str, Span, list[Token] | None]]:
        """Return the pieces, each as its text, start and end, and tokens.

        Args:
            offset_referential: "original" or "normalized", the text that start and end refer to.
            offset_type: "char" or "byte".

        Raises:
            TypeError, ValueError: an argument has another value.
        """
        offset_referential, offset_type = of_type(offset_referential, str), of_type(offset_type, str)
        if offset_referential not in _REFERENTIALS:
            raise ValueError("Wrong value for OffsetReferential, expected one of `original, normalized`")
        if offset_type not in _UNITS:
            raise ValueError("Wrong value for OffsetType, expected one of `byte, char`")
        if offset_referential == "original":
            spans = [piece._span for piece, _ in self._splits]
            if offset_type == "byte":
                starts = [*accumulate((len(character.encode()) for character in self._whole), initial=0)]
                spans = [(starts[start], starts[end]) for start, end in spans]
        else:
            lengths = (len(piece.normalized.encode()) for piece, _ in self._splits)
            spans = [*pairwise(accumulate(lengths, initial=0))]
            if offset_type == "char":  # converted as if they were offsets in the original, as in tokenizers
                places = places_of(self._whole)
                spans = [characters_of(places, start, end) for start, end in spans]
        return [
            (piece.normalized, span, tokens) for (piece, tokens), span in zip(self._splits, spans, strict=True)
        ]

    def apply(self, steps: Iterable[Mapping[str, Any]]) -> None:
        """Apply the steps of a pre-tokenizer, as described in a tokenizer.json."""
        for step in steps:
            if step["type"] == WRITTEN:
                call_written(step["written"], "pre_tokenize", self)
            else:
                self.split(lambda _, piece, step=step: piece.pre_tokenized(step))  # type: ignore[misc]


def of_sections(text: str, sections: Iterable[tuple[Piece, list[Token] | None]]) -> PreTokenizedString:
    """Return a text that consists of sections; some sections already have tokens."""
    made = PreTokenizedString(text)
    [(whole, _)] = made._splits
    made._splits = [(whole.part(piece), tokens) for piece, tokens in sections]
    return made
