"""Decode ids as they come, one by one: the slow twin of `_core.decode.stream_decoder`, with the same arguments."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Iterable, Mapping


class SlowStream:
    """Like `StreamDecoder` of `_core.decode.stream_decoder`, but `push` takes a list of ids.

    token: returns the bytes of an id, or raises KeyError.
    """

    def __init__(
        self,
        token: Callable[[int], bytes],
        errors: str,
        unknown_ids: str = "raise",
        *,
        joins: bool = True,
        leading: bool | None = None,
        space_keepers: frozenset[int] = frozenset(),
        byte_ids: frozenset[int] | None = None,
        first_texts: Mapping[int, bytes] | None = None,
    ) -> None:
        self._token = token
        self._pending = codecs.getincrementaldecoder("utf-8")(errors)
        self._unknown_ids = unknown_ids
        self._joins = joins
        self._leading = leading
        self._space_keepers = space_keepers
        self._byte_ids = byte_ids
        self._first_texts = first_texts or {}
        self._begin()

    def _begin(self) -> None:
        self._is_start = self._leading is not None
        self._run = b""  # bytes that wait for the rest of their character
        self._is_broken = False

    def push(self, ids: Iterable[int]) -> str:
        """Return the text that ids complete."""
        tokens = []
        for token_id in ids:
            try:
                tokens.append((token_id, self._token(token_id)))
            except KeyError:
                if self._unknown_ids == "raise":
                    raise
                if self._unknown_ids == "replace":
                    tokens.append((-1, "\ufffd".encode()))
        add = self._add if self._byte_ids is None else self._add_to_runs
        return "".join([add(*token) for token in tokens])

    def finish(self) -> str:
        """Return the text of the bytes that wait."""
        if self._byte_ids is not None:
            text = self._first("\ufffd" * len(self._run))
        else:
            text = self._pending.decode(b"", final=True)
            self._pending.reset()
        self._begin()
        return text

    def _add(self, token_id: int, token: bytes) -> str:
        if not token:
            if not self._leading and token_id in self._space_keepers:
                self._is_start = False
            return "" if self._joins else self._pending.decode(b"", final=True)
        if self._is_start:
            if token_id in self._first_texts:
                self._is_start = False
                return self._first_texts[token_id].decode()
            has_space = token.startswith(b" ") and token_id not in self._space_keepers
            token = token[1:] if has_space else token
            self._is_start = bool(self._leading) and has_space and not token
        return self._pending.decode(token)

    def _add_to_runs(self, token_id: int, token: bytes) -> str:
        assert self._byte_ids is not None
        if not token:
            return ""
        if token_id in self._byte_ids:
            return self._first(self._add_byte(token))
        text = "\ufffd" * len(self._run)
        self._run, self._is_broken = b"", False
        if self._is_start and not text and token_id in self._first_texts:
            self._is_start = False
            return self._first_texts[token_id].decode()
        return self._first(text + token.decode())

    def _add_byte(self, byte: bytes) -> str:
        if self._is_broken:
            return "\ufffd"
        self._run += byte
        try:
            text = self._run.decode()
        except UnicodeDecodeError as error:
            if error.reason == "unexpected end of data":
                return ""
            self._is_broken = True
            text = "\ufffd" * len(self._run)
        self._run = b""
        return text

    def _first(self, text: str) -> str:
        if not self._is_start or not text:
            return text
        self._is_start = False
        return text[1:] if text[0] == " " else text
