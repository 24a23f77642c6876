"""Decoding of code-point models.

A .model decodes by the rules of sentencepiece, a tokenizer.json by the rules of tokenizers, and a folder of one of
transformers' Python classes by the rules of its class.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from operator import index

from fastbpe._core.decode.decoder import Decoder
from fastbpe._core.decode.stream_decoder import StreamDecoder
from fastbpe._core.normalize.sentencepiece_normalizer import Normalizer
from fastbpe._utils.choices import DecodeErrors, UnknownIds
from fastbpe.errors import note_place
from fastbpe.model import METASPACE, CodePointModel, PieceType
from fastbpe.tokenizer.families.codepoint_tables import (
    EACH_BYTE,
    METASPACE_UTF8,
    Parts,
    as_found,
    decoded_bytes,
    leading_of,
    overridden,
)
from fastbpe.tokenizer.families.family import Ids, listed


class SentencePieceDecoding:
    """Decoding as in sentencepiece: one U+FFFD for each byte that belongs to no character.

    rules: rules for decoded text; None: no rules.
    """

    _replacing: DecodeErrors = EACH_BYTE  # handler for errors="replace"
    _joins = False

    def __init__(self, parts: Parts, rules: Normalizer | None) -> None:
        self._parts, self._decoder, self._rules = parts, parts.decoder, rules

    def decode(self, ids: Ids, errors: DecodeErrors, num_threads: int | None, unknown_ids: UnknownIds) -> str:
        return self._ruled(self._decoder.decode(ids, self._handler(errors), num_threads, unknown_ids))

    def decode_batch(
        self, batch: Iterable[Ids], errors: DecodeErrors, num_threads: int | None, unknown_ids: UnknownIds
    ) -> list[str]:
        texts = self._decoder.decode_batch(batch, self._handler(errors), num_threads, unknown_ids)
        return texts if self._rules is None else [*map(self._ruled, texts)]

    def decode_bytes(self, ids: Ids) -> bytes:
        """Decode ids to bytes, UTF-8 or not. No rules change them."""
        return self._decoder.decode_bytes(ids)

    def stream(self, errors: DecodeErrors, unknown_ids: UnknownIds) -> StreamDecoder:
        """Return a stream. Raises ValueError if there are rules, which need the whole text."""
        if self._rules is not None:
            raise ValueError("this model changes decoded text by rules that need the whole text: use decode")
        parts = self._parts
        return StreamDecoder(
            self._decoder,
            self._handler(errors),
            unknown_ids,
            joins=self._joins,
            leading=parts.leading,
            space_keepers=parts.space_keepers,
        )

    def _ruled(self, text: str) -> str:
        return text if self._rules is None else self._rules.normalize(text.encode()).decode()

    def _handler(self, errors: DecodeErrors) -> DecodeErrors:
        return self._replacing if errors == "replace" else errors


class ByteDecoding(SentencePieceDecoding):
    """Decoding of ByT5, which leaves out bytes that are not UTF-8, and of Perceiver, which replaces them.

    skips: drop special tokens before any other step.
    """

    _joins = True

    def __init__(self, model: CodePointModel, parts: Parts, *, skips: bool) -> None:
        super().__init__(parts, None)
        assert model.conventions is not None
        self._replacing = "ignore" if model.conventions.decoder == "ByT5" else "replace"
        texts = [
            (token.id, b"" if skips and token.special else token.content.encode()) for token in model.added_tokens
        ]
        self._decoder = Decoder(parts.surfaces, texts, joins=True)


class HuggingFaceDecoding:
    """Decoding by the decoder of a tokenizer.json. skips: drop special tokens before any other step.

    Consecutive byte ids are decoded together if their bytes are UTF-8; if not, each becomes one U+FFFD.
    """

    def __init__(self, model: CodePointModel, parts: Parts, *, skips: bool) -> None:
        assert model.conventions is not None
        special = overridden(model, skips=skips)
        self._parts, self._decoder = parts, parts.decoder
        if skips:
            self._decoder = Decoder(
                parts.surfaces, special, leading=parts.leading, space_keepers=parts.space_keepers, joins=True
            )
        self._plain = Decoder(parts.surfaces, special, joins=True)
        self._strips = model.conventions.strips
        self._byte_ids = frozenset(decoded_bytes(model))
        self._first_texts: dict[int, bytes] = {}
        if model.conventions.decoder == "Metaspace" and self._strips:
            self._first_texts = dict(_odd_first_texts(model))

    def decode(self, ids: Ids, errors: DecodeErrors, num_threads: int | None, unknown_ids: UnknownIds) -> str:
        if unknown_ids == "skip":
            ids = self._decoder.known(ids)
        first, rest, decoder = self._begin(ids, unknown_ids)
        if errors != "replace":
            return first + decoder.decode(rest, errors, num_threads, unknown_ids)
        try:
            return first + decoder.decode(rest, "strict", num_threads, unknown_ids)
        except UnicodeDecodeError:
            return first + self._decode_runs(rest, unknown_ids, strips=self._strips and decoder is not self._plain)

    def decode_batch(
        self, batch: Iterable[Ids], errors: DecodeErrors, num_threads: int | None, unknown_ids: UnknownIds
    ) -> list[str]:
        sequences = [*map(listed, batch)]
        if not self._first_texts or not sequences:  # for an empty batch, this call checks the arguments
            with contextlib.suppress(UnicodeDecodeError):
                return self._decoder.decode_batch(sequences, "strict", num_threads, unknown_ids)
        return _decode_each(lambda ids: self.decode(ids, errors, num_threads, unknown_ids), sequences)

    def decode_bytes(self, ids: Ids) -> bytes:
        """Decode ids to bytes, UTF-8 or not."""
        first, rest, decoder = self._begin(ids, "raise")
        return first.encode() + decoder.decode_bytes(rest)

    def stream(self, errors: DecodeErrors, unknown_ids: UnknownIds) -> StreamDecoder:
        """Return a stream.

        `decode` replaces all of a run of bytes that is not UTF-8; a stream keeps the valid characters of such a
        run that it has already returned.
        """
        return StreamDecoder(
            self._decoder,
            EACH_BYTE if errors == "replace" else errors,
            unknown_ids,
            joins=True,
            leading=self._parts.leading,
            space_keepers=self._parts.space_keepers,
            byte_ids=self._byte_ids if errors == "replace" else None,
            first_texts=self._first_texts,
        )

    def _begin(self, ids: Ids, unknown_ids: UnknownIds) -> tuple[str, Ids, Decoder]:
        """Return the text of the first token if `_first_texts` has it, the ids after it, and their decoder.

        Otherwise return "", all ids, and their decoder. Ids that add no text do not count as the first token.
        """
        ids = listed(ids)
        if not self._first_texts:
            return "", ids, self._decoder
        tokens = self._decoder.tokens(ids, unknown_ids)
        kept = [*map(index, ids)]
        for at, token in enumerate(tokens):
            if token:
                if kept[at] not in self._first_texts:
                    break
                return self._first_texts[kept[at]].decode(), kept[at + 1 :], self._plain
        return "", kept, self._decoder

    def _decode_runs(self, ids: Ids, unknown_ids: UnknownIds, *, strips: bool) -> str:
        """Decode each run of byte ids by itself. strips: drop a space at the beginning."""
        out: list[str] = []
        run = bytearray()
        for token_id, token in zip(map(index, ids), self._decoder.tokens(ids, unknown_ids), strict=True):
            if token_id in self._byte_ids:
                run += token
            elif token:
                out += [_text_of_run(run), token.decode()]
                run = bytearray()
        text = "".join([*out, _text_of_run(run)])
        return text[1:] if strips and text.startswith(" ") else text


class StretchDecoding:
    """Decoding as in transformers' classes that call sentencepiece: each text between special tokens by itself.

    Marian and Speech2Text put a space after a special token. Marian, BARTpho, BertGeneration, PLBART and SpeechT5
    have no U+2581 in decoded text. The last four drop no space at the beginning of a text between special tokens,
    and decode control symbols to their text. SentencePieceBackend, the base class of BertGeneration, decodes like
    it. White space at both ends of the whole text is left out, except for GPT-SW3. GPT-SW3 and SigLIP put a
    space before each text that precedes a special token (before an empty text only at the beginning of the whole).

    skips: drop special tokens before any other step.
    """

    def __init__(self, model: CodePointModel, parts: Parts, *, skips: bool) -> None:
        assert model.conventions is not None
        name = model.conventions.decoder
        is_joined = name in ("Bartpho", "BertGeneration", "PLBart", "SentencePieceBackend", "SpeechT5")
        has_spaces = is_joined or name == "Marian"
        behind = " " if name in ("Marian", "Speech2Text") else ""
        self._special = {
            token.id: (token.content.replace(METASPACE, " ") if has_spaces else token.content) + behind
            for token in reversed(model.added_tokens)
            if token.special
        }
        self._leads, self._strips = model.changes_texts, name != "GPTSw3"
        # names: ids that are neither normal pieces nor control symbols, and decode to their text.
        if name == "GPTSw3":  # only added tokens: the model's own pieces decode as in sentencepiece
            added = [token for token in model.added_tokens if not token.special]
            names = {
                token.id: token.content.encode() for token in added if model.types[token.id] != PieceType.NORMAL
            }
        else:
            names = {
                i: piece.replace(METASPACE_UTF8, b" ") if has_spaces else piece
                for i, (piece, kind) in enumerate(zip(model.pieces, model.types, strict=True))
                if kind not in (PieceType.NORMAL, PieceType.CONTROL) and i not in self._special
            }
        controls = dict.fromkeys(
            (i for i, kind in enumerate(model.types) if kind == PieceType.CONTROL and i not in self._special), b""
        )
        # The pieces themselves decode as in sentencepiece, so without conventions.
        leading, keepers = leading_of(model._replace(conventions=None), parts.unknown, parts.byte_ids)
        if is_joined:
            controls = {i: model.piece(i).replace(METASPACE_UTF8, b" ") for i in controls}
            leading = None
        texts = [*names.items(), *controls.items(), *((i, text.encode()) for i, text in self._special.items())]
        self._decoder = Decoder(parts.surfaces, texts, leading=leading, space_keepers=keepers | {*names})
        self._skips = skips

    def decode(self, ids: Ids, errors: DecodeErrors, num_threads: int | None, unknown_ids: UnknownIds) -> str:
        out: list[str] = []
        stretch: list[int] = []
        handler = EACH_BYTE if errors == "replace" else errors
        ids = listed(ids)
        self._decoder.tokens(ids, unknown_ids)  # for the error of a bad id, with its position among all ids
        for token_id in map(index, ids):
            if token_id not in self._special:
                stretch.append(token_id)
            elif not self._skips:
                if self._leads and (stretch or not out):
                    out.append(" ")
                out += [self._decoder.decode(stretch, handler, num_threads, unknown_ids), self._special[token_id]]
                stretch = []
        text = "".join([*out, self._decoder.decode(stretch, handler, num_threads, unknown_ids)])
        return text.strip() if self._strips else text

    def decode_batch(
        self, batch: Iterable[Ids], errors: DecodeErrors, num_threads: int | None, unknown_ids: UnknownIds
    ) -> list[str]:
        return _decode_each(lambda ids: self.decode(ids, errors, num_threads, unknown_ids), batch)

    def decode_bytes(self, ids: Ids) -> bytes:
        """Decode ids to the UTF-8 of their text."""
        return self.decode(ids, "surrogateescape", None, "raise").encode("utf-8", "surrogateescape")

    def stream(self, errors: DecodeErrors, unknown_ids: UnknownIds) -> StreamDecoder:
        """Raise ValueError: the beginning or the end of the text depends on later ids."""
        does = "puts a space before each text that precedes a special token"
        if self._strips:
            does = "leaves out white space at the end of the decoded text"
        raise ValueError(f"this model {does}: use decode")


AnyDecoding = HuggingFaceDecoding | SentencePieceDecoding | StretchDecoding


class CleanDecoding:
    """Decoding that removes spaces before punctuation and in English contractions from the whole text."""

    def __init__(self, made: AnyDecoding) -> None:
        self._made = made

    def decode(self, ids: Ids, errors: DecodeErrors, num_threads: int | None, unknown_ids: UnknownIds) -> str:
        return _cleaned_up(self._made.decode(ids, errors, num_threads, unknown_ids))

    def decode_batch(
        self, batch: Iterable[Ids], errors: DecodeErrors, num_threads: int | None, unknown_ids: UnknownIds
    ) -> list[str]:
        return [*map(_cleaned_up, self._made.decode_batch(batch, errors, num_threads, unknown_ids))]

    def decode_bytes(self, ids: Ids) -> bytes:
        """Decode ids to bytes, UTF-8 or not."""
        text = self._made.decode_bytes(ids).decode("utf-8", "surrogateescape")
        return _cleaned_up(text).encode("utf-8", "surrogateescape")

    def stream(self, errors: DecodeErrors, unknown_ids: UnknownIds) -> StreamDecoder:
        """Raise ValueError: later ids decide which spaces stay."""
        raise ValueError("this model removes spaces before punctuation from the whole decoded text: use decode")


def _decode_each(decode: Callable[[Ids], str], batch: Iterable[Ids]) -> list[str]:
    """Decode sequences of ids one by one. An error names the index of its sequence."""
    texts: list[str] = []
    for ids in batch:
        try:
            texts.append(decode(ids))
        except (KeyError, TypeError, ValueError) as error:
            note_place(error, f"batch[{len(texts)}]")
            raise
    return texts


def _cleaned_up(text: str) -> str:
    from fastbpe.formats.huggingface.decoder_json import CLEAN_UP  # here: few tokenizers need it

    for apart, together in CLEAN_UP:
        text = text.replace(apart, together)
    return text


def _odd_first_texts(model: CodePointModel) -> Iterator[tuple[int, bytes]]:
    """Yield (id, bytes) of the tokens that do not just lose one space at the beginning of a text.

    A Metaspace decoder drops every U+2581 of the first token, but no space character.
    """
    found = {token.id: as_found(model, token).encode() for token in model.added_tokens}
    for i, piece in enumerate(model.pieces):
        piece = found.get(i, piece)
        if METASPACE_UTF8 in piece[1:] or piece[:1] == b" ":
            yield i, piece.replace(METASPACE_UTF8, b"")


def _text_of_run(run: bytearray) -> str:
    try:
        return run.decode()
    except UnicodeDecodeError:
        return "\ufffd" * len(run)
