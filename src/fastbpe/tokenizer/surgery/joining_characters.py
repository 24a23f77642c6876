"""Joining of two character-level vocabularies."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fastbpe.errors import VocabularyError
from fastbpe.model import Model, Spelling
from fastbpe.tokenizer.families.token_spelling import symbols_of
from fastbpe.tokenizer.internals import model_of, vocabulary_of
from fastbpe.tokenizer.surgery.joining_bytes import ByteJoining
from fastbpe.tokenizer.surgery.token_makers import spelled_makers
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.vocabularies.makers import Makers


class CharacterJoining(ByteJoining):
    """Joining of the ordinary tokens of two character-level tokenizers. Accepts the arguments of `ByteJoining`.

    Raises VocabularyError: the two mark the positions of characters differently, or with a prefix.
    """

    def __init__(self, a: Tokenizer, b: Tokenizer, make: Callable[[Model], Tokenizer]) -> None:
        self._spelling, other = _spelling(a), _spelling(b)
        if self._spelling.prefix or other.prefix:
            raise VocabularyError(
                "vocabularies with a continuing_subword_prefix, here "
                f"{self._spelling.prefix or other.prefix!r:.40}, cannot be combined, because whether two tokens "
                "merge depends on their position in the piece; to add tokens, use with_tokens"
            )
        if self._spelling.suffix != other.suffix:
            raise VocabularyError(
                f"end_of_word_suffix is {self._spelling.suffix!r:.40} in a and {other.suffix!r:.40} in b: only "
                "vocabularies with the same suffix can be combined; to add tokens, use with_tokens"
            )
        super().__init__(a, b, make)

    def _ranks_decide(self, tokenizer: Tokenizer) -> bool:
        return False  # symbols are not bytes, so ranks do not tell what merges

    def _makers(self, tokenizer: Tokenizer) -> Makers:
        return spelled_makers(vocabulary_of(tokenizer), model_of(tokenizer))

    def _encode(self, tokenizer: Tokenizer, texts: Sequence[str]) -> Sequence[Sequence[int]]:
        try:
            return tokenizer.encode_ordinary_batch(texts)
        except VocabularyError:  # a model may name an unk_token that it lacks
            return [_ids_or_none(tokenizer, text) for text in texts]

    def _symbols(self, token: bytes) -> Sequence[bytes]:
        return symbols_of(token, self._spelling)

    def _text(self, token: bytes) -> str | None:
        text, suffix = token.decode(), self._spelling.suffix
        return text.removesuffix(suffix) if text.endswith(suffix) else None


def _ids_or_none(tokenizer: Tokenizer, text: str) -> list[int]:
    try:
        return tokenizer.encode_ordinary(text)
    except VocabularyError:
        return []


def _spelling(tokenizer: Tokenizer) -> Spelling:
    spelling = model_of(tokenizer).spelling
    assert spelling is not None
    return spelling
