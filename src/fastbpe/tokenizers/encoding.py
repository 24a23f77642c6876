"""Encoding: result of encoding a text, with the names and values of tokenizers' class."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

from fastbpe.tokenizers._original import original
from fastbpe.tokenizers.batches import Batch

_Original: Any = original.Encoding


class Encoding:
    """Ids of a text, or of two, and what belongs to each id.

    `Tokenizer.encode` makes it. The ids are there from the start; all else is made when it is asked for.
    """

    __slots__ = ("__weakref__", "_batch", "_ids", "_made", "_row")

    def __init__(self) -> None:
        self._batch: Batch | None = None
        self._row = 0
        self._ids: list[int] | None = None
        self._made: Any = _Original()  # tokenizers' encoding, once it is made

    @property
    def ids(self) -> list[int]:
        """Ids of the tokens, with those that the post-processor and the padding add."""
        return self._made.ids if self._ids is None else [*self._ids]

    @property
    def type_ids(self) -> list[int]:
        """Number of the part of the template that each id belongs to, such as 0 and 1 in a pair."""
        batch = self._batch
        return self._made.type_ids if batch is None else batch.layout.type_ids(self._row)

    @property
    def attention_mask(self) -> list[int]:
        """1 for each id, 0 for padding."""
        batch = self._batch
        return self._made.attention_mask if batch is None else batch.layout.attention_mask(self._row)

    @property
    def special_tokens_mask(self) -> list[int]:
        """1 for each id that the post-processor or the padding added, 0 for ids of a text."""
        batch = self._batch
        return self._made.special_tokens_mask if batch is None else batch.layout.special_mask(self._row)

    @property
    def sequence_ids(self) -> list[int | None]:
        """Number of the text of each id, 0 or 1; None for ids that were added."""
        batch = self._batch
        return self._made.sequence_ids if batch is None else batch.layout.sequences(self._row)

    @property
    def n_sequences(self) -> int:
        """Number of texts."""
        return self._made.n_sequences if self._batch is None else self._batch.n_sequences

    @property
    def offsets(self) -> list[tuple[int, int]]:
        """Start and end of each token in its text, in characters."""
        found = None if self._batch is None else self._batch.offsets(self._row)
        return self._whole().offsets if found is None else found

    @property
    def tokens(self) -> list[str]:
        """Tokens as the vocabulary spells them."""
        return self._whole().tokens  # type: ignore[no-any-return]

    @property
    def word_ids(self) -> list[int | None]:
        """Number of the word of each token in its text; None for ids that were added."""
        return self._whole().word_ids  # type: ignore[no-any-return]

    @property
    def words(self) -> list[int | None]:
        """The same as `word_ids`, deprecated."""
        message = "Deprecated in 0.9.4: Encoding.words is deprecated, please use Encoding.word_ids instead."
        warnings.warn(message, DeprecationWarning, stacklevel=2)
        return self.word_ids

    @property
    def overflowing(self) -> list[Encoding]:
        """Encodings of the parts that truncation cut off."""
        if self._batch is not None and not self._batch.may_overflow:
            return []
        return [wrap(part) for part in self._whole().overflowing]

    def char_to_token(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the index of the token that holds a character; None if none does.

        Args:
            char_pos: position of the character in its text.
            sequence_index: number of the text, 0 or 1.
        """
        return self._whole().char_to_token(char_pos, sequence_index)  # type: ignore[no-any-return]

    def char_to_word(self, char_pos: int, sequence_index: int = 0) -> int | None:
        """Return the number of the word that holds a character. Takes the arguments of `char_to_token`."""
        return self._whole().char_to_word(char_pos, sequence_index)  # type: ignore[no-any-return]

    def token_to_chars(self, token_index: int) -> tuple[int, int] | None:
        """Return the offsets of a token; None for ids that were added."""
        return self._whole().token_to_chars(token_index)  # type: ignore[no-any-return]

    def token_to_word(self, token_index: int) -> int | None:
        """Return the number of the word of a token."""
        return self._whole().token_to_word(token_index)  # type: ignore[no-any-return]

    def token_to_sequence(self, token_index: int) -> int | None:
        """Return the number of the text of a token."""
        return self._whole().token_to_sequence(token_index)  # type: ignore[no-any-return]

    def word_to_chars(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """Return start and end of a word in its text, in characters."""
        return self._whole().word_to_chars(word_index, sequence_index)  # type: ignore[no-any-return]

    def word_to_tokens(self, word_index: int, sequence_index: int = 0) -> tuple[int, int] | None:
        """Return the indices of the first token of a word and of the token after it."""
        return self._whole().word_to_tokens(word_index, sequence_index)  # type: ignore[no-any-return]

    def pad(
        self,
        length: int,
        *,
        direction: str = "right",
        pad_id: int = 0,
        pad_type_id: int = 0,
        pad_token: str = "[PAD]",
    ) -> None:
        """Pad to a length, in place. Takes the arguments of `Tokenizer.enable_padding`."""
        self._own().pad(length, direction=direction, pad_id=pad_id, pad_type_id=pad_type_id, pad_token=pad_token)

    def truncate(self, max_length: int, stride: int = 0, direction: str = "right") -> None:
        """Cut down to a length, in place. Takes the arguments of `Tokenizer.enable_truncation`."""
        self._own().truncate(max_length, stride, direction)

    def set_sequence_id(self, sequence_id: int) -> None:
        """Set the number of the text of all tokens."""
        self._own().set_sequence_id(sequence_id)

    @staticmethod
    def merge(encodings: Sequence[Encoding], growing_offsets: bool = True) -> Encoding:
        """Join encodings into one.

        Args:
            encodings: the encodings, in order.
            growing_offsets: let the offsets of each encoding start where the encoding before it ends.
        """
        return wrap(_Original.merge([unwrap(one) for one in encodings], growing_offsets))

    def _whole(self) -> Any:
        """Return tokenizers' encoding of the same text."""
        made = self._made
        if made is None:
            assert self._batch is not None
            made = self._made = self._batch.original(self._row)
        return made

    def _own(self) -> Any:
        """Return tokenizers' encoding, which is to change, and let it answer from now on."""
        made = self._whole()
        self._batch = self._ids = None
        return made

    def __len__(self) -> int:
        return len(self._made if self._ids is None else self._ids)

    def __repr__(self) -> str:
        return repr(self._whole())

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore, (self._whole().__getstate__(),)


def of_row(batch: Batch, row: int) -> Encoding:
    """Return the encoding of a row of a batch."""
    made = Encoding.__new__(Encoding)
    made._batch, made._row, made._ids, made._made = batch, row, batch.ids[row], None
    return made


def wrap(encoding: Any) -> Encoding:
    """Return an encoding for one of tokenizers."""
    made = Encoding()
    made._made = encoding
    return made


def unwrap(encoding: Any) -> Any:
    """Return the encoding of tokenizers for one of this module; any other object unchanged."""
    return encoding._whole() if type(encoding) is Encoding else encoding


def _restore(state: bytes) -> Encoding:
    made = Encoding()
    made._made.__setstate__(state)
    return made
