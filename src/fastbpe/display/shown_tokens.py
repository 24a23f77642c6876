"""Data of tokens to be shown: ids, bytes, positions in the text, and kinds."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, Protocol

from fastbpe._core.text.utf8_text import to_utf8
from fastbpe._utils.arguments import not_a_tokenizer
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.plurals import counted
from fastbpe.model import AddedToken

Text = str | bytes

_SUPERWORD = re.compile(r"\S +\S")

#: Kinds of tokens, each with its text in a legend.
KINDS = {
    "ordinary": "a token of the vocabulary",
    "byte": "part of a character",
    "superword": "a token that spans several words",
    "special": "a special token",
    "added": "an added token",
    "unknown": "text without a token",
}


class Viewed(Protocol):
    """The parts of a tokenizer that showing tokens needs."""

    @property
    def added_tokens(self) -> list[AddedToken]: ...
    @property
    def special_tokens(self) -> dict[str, int]: ...
    @property
    def unk_token_id(self) -> int | None: ...
    def encode_with_offsets(
        self, text: Text, *, allowed_special: str | Collection[str], disallowed_special: str | Collection[str]
    ) -> tuple[list[int], list[tuple[int, int]]]: ...
    def id_to_token(self, token_id: int) -> bytes: ...


class ShownToken(NamedTuple):
    """One token of a text.

    id: int – its id.
    bytes: bytes – its bytes; for a special, added or unknown token, its name.
    start, end: int – its position in the text, in characters, as in `encode_with_offsets`.
    kind: str – one of KINDS.
    source: str – for an unknown token, the text from start to end, if available; else "".
    """

    id: int
    bytes: bytes
    start: int
    end: int
    kind: str
    source: str = ""

    @property
    def text(self) -> str | None:
        """Text of the token; None if its bytes are not UTF-8."""
        try:
            return self.bytes.decode()
        except UnicodeDecodeError:
            return None

    def as_dict(self) -> dict[str, Any]:
        """Return the token for JSON; its bytes are hexadecimal digits."""
        found = {"id": self.id, "text": self.text, "bytes": self.bytes.hex(), "start": self.start, "end": self.end}
        return {**found, "kind": self.kind, **({"source": self.source} if self.source else {})}


def shown_tokens(tokenizer: Viewed, text: Text, allowed_special: str | Collection[str]) -> list[ShownToken]:
    """Encode a text into tokens to be shown, with arguments as for `show`.

    Raises:
        ValueError: the bytes are not UTF-8.
        TypeError: the tokenizer is not a Tokenizer, or the text is not str or bytes.
    """
    if not hasattr(tokenizer, "encode_with_offsets"):
        raise not_a_tokenizer("tokenizer", tokenizer)
    ids, spans = tokenizer.encode_with_offsets(text, allowed_special=allowed_special, disallowed_special=())
    known = KnownTokens(tokenizer)
    characters = text if isinstance(text, str) else to_utf8(text).decode()
    return [
        known.shown(token_id, start, end, characters[start:end] if token_id == known.unknown else None)
        for token_id, (start, end) in zip(ids, spans, strict=True)
    ]


class KnownTokens:
    """Cache of the bytes and kinds of a tokenizer's ids.

    Attributes:
        unknown: int or None – the id for text without a token.
    """

    def __init__(self, tokenizer: Viewed) -> None:
        self.unknown = tokenizer.unk_token_id
        self._tokenizer = tokenizer
        self._special = {*tokenizer.special_tokens.values()}
        self._added = {token.id for token in tokenizer.added_tokens if not token.special}
        self._known: dict[int, tuple[bytes, str]] = {}

    def shown(self, token_id: int, start: int = 0, end: int = 0, source: str | None = None) -> ShownToken:
        """Return a token to be shown.

        start, end: its position in the text, in characters; source: for the unknown id, the text there; None: not
            available.

        Raises:
            InvalidTokenError: the id has no token.
        """
        found = self._known.get(token_id)
        if found is None:
            data = self._tokenizer.id_to_token(token_id)
            found = self._known[token_id] = data, self._kind(token_id, data)
        data, kind = found
        # A text that spells the unknown token's name, such as "<unk>", may be this token itself.
        if token_id == self.unknown:
            read = to_utf8(source or "")  # lone surrogates become U+FFFD, as in encoding
            if source is None or read != data:
                return ShownToken(token_id, data, start, end, "unknown", read.decode())
        return ShownToken(token_id, data, start, end, kind)

    def _kind(self, token_id: int, data: bytes) -> str:
        if token_id in self._special:
            return "special"
        if token_id in self._added:
            return "added"
        try:
            data.decode()
        except UnicodeDecodeError:
            return "byte"
        return "superword" if is_superword(data) else "ordinary"


def is_superword(token: bytes) -> bool:
    """Tell whether a token spans several words: spaces are between two characters that are not white space.

    >>> is_superword(b" of the"), is_superword(b" of")
    (True, False)
    """
    # Cut characters become U+FFFD, which is not white space.
    return _SUPERWORD.search(token.decode(errors="replace")) is not None


def sizes_of(text: Text) -> tuple[int, int]:
    """Count the characters and UTF-8 bytes of a text.

    >>> sizes_of("é")
    (1, 2)
    """
    data = to_utf8(text)
    return len(text if isinstance(text, str) else data.decode()), len(data)


def summary(n_tokens: int, n_characters: int, n_bytes: int) -> str:
    """Return the counts of a text in words.

    >>> summary(7, 17, 17)
    '7 tokens, 17 characters, 17 bytes'
    """
    return ", ".join([counted(n_tokens, "token"), counted(n_characters, "character"), counted(n_bytes, "byte")])


def ids_of(tokens: Sequence[ShownToken]) -> list[int]:
    """Return the ids of tokens.

    >>> ids_of([ShownToken(97, b"a", 0, 1, "ordinary")])
    [97]
    """
    return [token.id for token in tokens]
