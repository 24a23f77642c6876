"""Verdicts on whether some text produces a token, and the trial that finds them by encoding candidate texts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum

from fastbpe.errors import VocabularyError
from fastbpe.vocabularies.material import Described


class Reason(Enum):
    """Proof that no text can produce a token."""

    MERGES = "no merge makes it"
    BYTES = "no text has its bytes"
    SPLITTER = "the split pattern cuts it"
    NEIGHBOURS = "its neighbours always merge with it"
    NAME = "a name in it is found first"
    NORMALIZER = "normalizing changes it"
    UNUSED = "it is marked as unused"
    BYTE = "no character needs this byte"
    UNKNOWN = "no character is unknown"


@dataclass
class Reach:
    """Verdicts about tokens.

    witnesses: id → a text that produces it. If the id is a special or added token, encode the text with that token
        allowed.
    impossible: id → the reason why no text produces it.
    undecided: ids of tokens that have neither a witness nor a proof.
    """

    witnesses: dict[int, str] = field(default_factory=dict)
    impossible: dict[int, Reason] = field(default_factory=dict)
    undecided: list[int] = field(default_factory=list)

    def settle(self, token_id: int, reason: Reason | None) -> None:
        """Record a proof; without one and without a witness, the token is undecided."""
        if reason is not None:
            self.impossible[token_id] = reason
        elif token_id not in self.witnesses:
            self.undecided.append(token_id)


def encoded(tokenizer: Described, texts: Sequence[str]) -> Sequence[Sequence[int]]:
    """Encode texts; a text with a character that the vocabulary cannot represent gets no ids."""
    try:
        return tokenizer.encode_ordinary_batch(texts)
    except VocabularyError:  # a tokenizer.json may name an unk_token that it lacks
        return [_or_none(tokenizer, text) for text in texts]


def _or_none(tokenizer: Described, text: str) -> list[int]:
    try:
        return tokenizer.encode_ordinary_batch([text])[0]
    except VocabularyError:
        return []


class Trial:
    """Trial of candidate texts: encodes each, and keeps the first text that produces a token."""

    def __init__(self, tokenizer: Described, reach: Reach) -> None:
        self._tokenizer = tokenizer
        self._reach = reach

    def all(self, candidates: Iterable[tuple[int, str]]) -> None:
        """Encode (id, text) candidates, and keep the texts that produce their id."""
        listed = [(i, text) for i, text in candidates if i not in self._reach.witnesses]
        found = encoded(self._tokenizer, [text for _, text in listed])
        for (i, text), ids in zip(listed, found, strict=True):
            if i in ids:
                self._reach.witnesses.setdefault(i, text)

    def one(self, token_id: int, candidates: Sequence[str]) -> bool:
        """Encode candidates for one token. Returns True if the token now has a witness."""
        self.all((token_id, text) for text in candidates)
        return token_id in self._reach.witnesses
