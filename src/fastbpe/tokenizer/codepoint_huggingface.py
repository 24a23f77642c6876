"""Decoding in code-point mode by the rules of tokenizers, where they differ from sentencepiece."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from fastbpe._core.decode.decoder import Decoder
from fastbpe._utils.choices import DecodeErrors, UnknownIds
from fastbpe.model import Buffer, CodePointModel
from fastbpe.tokenizer.codepoint_tables import (
    METASPACE_UTF8,
    Parts,
    as_found,
    decoded_bytes,
    overridden,
)

Text = str | bytes


class Decoding:
    """Decoding as the decoders of a tokenizer.json do it.

    Consecutive byte ids decode together if their bytes are UTF-8; if not, each decodes to one U+FFFD.

    Args:
        model: model with conventions.
        parts: tables of the model.
        skips: bool – drop special tokens before any other step.
    """

    def __init__(self, model: CodePointModel, parts: Parts, *, skips: bool) -> None:
        assert model.conventions is not None
        special = overridden(model, skips=skips)
        self.decoder = parts.decoder
        if skips:
            self.decoder = Decoder(
                parts.surfaces, special, leading=parts.leading, space_keepers=parts.space_keepers, joins=True
            )
        self._plain = Decoder(parts.surfaces, special, joins=True)
        self.strips = model.conventions.strips
        self.byte_ids = frozenset(decoded_bytes(model))
        self.first_texts: dict[int, bytes] = {}
        if model.conventions.decoder == "Metaspace" and self.strips:
            self.first_texts = dict(_odd_first_texts(model))

    def decode(
        self, ids: Sequence[int] | Buffer, errors: DecodeErrors, num_threads: int | None, unknown_ids: UnknownIds
    ) -> str:
        """Decode ids to text. With errors="replace", bytes that are not UTF-8 decode as in tokenizers."""
        if unknown_ids == "skip":
            ids = self.decoder.known(ids)
        first, rest, decoder = self._begin(ids, unknown_ids)
        if errors != "replace":
            return first + decoder.decode(rest, errors, num_threads, unknown_ids)
        try:
            return first + decoder.decode(rest, "strict", num_threads, unknown_ids)
        except UnicodeDecodeError:
            return first + self._decode_runs(rest, unknown_ids, strips=self.strips and decoder is not self._plain)

    def decode_batch(
        self,
        batch: list[Sequence[int] | Buffer],
        errors: DecodeErrors,
        num_threads: int | None,
        unknown_ids: UnknownIds,
    ) -> list[str]:
        """Decode each sequence of ids."""
        if not self.first_texts or not batch:
            with contextlib.suppress(UnicodeDecodeError):
                return self.decoder.decode_batch(batch, "strict", num_threads, unknown_ids)
        return [self.decode(ids, errors, num_threads, unknown_ids) for ids in batch]

    def decode_bytes(self, ids: Sequence[int] | Buffer) -> bytes:
        """Decode ids to bytes, UTF-8 or not."""
        first, rest, decoder = self._begin(ids, "raise")
        return first.encode() + decoder.decode_bytes(rest)

    def _begin(
        self, ids: Sequence[int] | Buffer, unknown_ids: UnknownIds
    ) -> tuple[str, Sequence[int] | Buffer, Decoder]:
        """Split off a first token that loses more than one space.

        Returns:
            (text of that token, the other ids, decoder of the other ids). The text is "" if there is no such
            token.
        """
        if not self.first_texts:
            return "", ids if hasattr(ids, "__len__") else list(ids), self.decoder
        listed = list(ids)
        for at, token in enumerate(self.decoder.tokens(listed, unknown_ids)):
            if token:
                if listed[at] not in self.first_texts:
                    break
                return self.first_texts[listed[at]].decode(), listed[at + 1 :], self._plain
        return "", listed, self.decoder

    def _decode_runs(self, ids: Sequence[int] | Buffer, unknown_ids: UnknownIds, *, strips: bool) -> str:
        """Decode each run of byte ids by itself. strips: drop a space at the beginning."""
        out: list[str] = []
        run = b""
        for token_id, token in zip(ids, self.decoder.tokens(ids, unknown_ids), strict=True):
            if token_id in self.byte_ids:
                run += token
            elif token:
                out += [_text_of_run(run), token.decode()]
                run = b""
        text = "".join([*out, _text_of_run(run)])
        return text[1:] if strips and text.startswith(" ") else text


def _odd_first_texts(model: CodePointModel) -> Iterator[tuple[int, bytes]]:
    """Yield (id, bytes) of the tokens that lose more than one space at the beginning of a text.

    A Metaspace decoder drops every U+2581 of the first token.
    """
    found = {token.id: as_found(model, token).encode() for token in model.added_tokens}
    for i, piece in enumerate(model.pieces):
        piece = found.get(i, piece)
        if METASPACE_UTF8 in piece[1:] or piece[:1] == b" ":
            yield i, piece.replace(METASPACE_UTF8, b"")


def _text_of_run(run: bytes) -> str:
    try:
        return run.decode()
    except UnicodeDecodeError:
        return "\ufffd" * len(run)
