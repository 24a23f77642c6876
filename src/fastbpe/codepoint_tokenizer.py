"""CodePointTokenizer: the facade over a code-point vocabulary, as sentencepiece's BPE models are."""

from __future__ import annotations

import codecs
import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

from fastbpe import formats
from fastbpe._core.encoder import Encoder
from fastbpe._core.merge import recover_merges
from fastbpe._core.normalizer import Normalizer
from fastbpe._core.tokens import TokenEncoder
from fastbpe.codepoint_places import encode_with_places
from fastbpe.codepoints import EACH_BYTE, MARK, build, ids_of, token_encoder
from fastbpe.errors import FormatError, SpecialTokenError
from fastbpe.formats import native, sentencepiece
from fastbpe.model import Buffer, CodePointModel, PieceType, pack_pieces
from fastbpe.special import SpecialTokens
from fastbpe.streaming import CodePointStreamDecoder, StreamDecoder
from fastbpe.tokenizer import CACHE_BYTES, Tokenizer

_NORMALIZER_OPTIONS = (
    "precompiled_charsmap",
    "add_dummy_prefix",
    "remove_extra_whitespaces",
    "escape_whitespaces",
)


class CodePointTokenizer(Tokenizer):
    """Code-point BPE: text to ids and back as sentencepiece does it. Made by `train` and `load`.

    Special tokens are the control symbols of the model, `<s>` and the like. sentencepiece never finds them in
    text; here they are what special tokens are in byte mode: ids where they are allowed, else forbidden or text.
    What lies between two of them is encoded as a text of its own. Decoding leaves them out.

    Everything else is as in `Tokenizer`.
    """

    def __init__(self, model: CodePointModel, *, cache_bytes: int = CACHE_BYTES) -> None:
        if not isinstance(cache_bytes, int) or cache_bytes < 0:
            raise ValueError(f"cache_bytes={cache_bytes!r}: give the bytes that piece caches may take")
        parts = build(model)
        self._pattern_name, self._pattern = None, None
        self._source = model
        self._vocabulary = parts.surfaces
        self._symbols = parts.vocabulary
        self._special = SpecialTokens(parts.control, parts.surfaces)
        self._splitter = parts.splitter
        self._decoder = parts.decoder
        self._cache_bytes = cache_bytes
        Encoder.__init__(
            self,
            parts.vocabulary,
            parts.splitter,
            model.n_pieces,
            special=self._special,
            cache_bytes=cache_bytes,
            normalizing=parts.normalizing,
        )

    def _cutter(self) -> Callable[[bytes], int] | None:
        return None  # what a document begins and ends with is not what a part of it does

    def encode_with_offsets(
        self,
        text: str | bytes,
        *,
        allowed_special: str | Collection[str] = frozenset(),
        disallowed_special: str | Collection[str] = "all",
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """As `Tokenizer.encode_with_offsets`. A space that was put before the text has an empty span."""
        self.encode(text, allowed_special=allowed_special, disallowed_special=disallowed_special)  # for its errors
        names = self.special_tokens
        if allowed_special != "all":
            names = {name: token_id for name, token_id in names.items() if name in allowed_special}
        return encode_with_places(self._token_encoder, text, names, self._byte_ids)

    @cached_property
    def _token_encoder(self) -> TokenEncoder:
        return token_encoder(self._source, self)

    @cached_property
    def _byte_ids(self) -> frozenset[int]:
        return frozenset(ids_of(self._source, PieceType.BYTE))

    def pieces(self, text: str | bytes) -> list[tuple[int, int]]:
        """A ValueError: there is no split pattern."""
        raise ValueError("code-point mode has no split pattern, and a text no pieces before it is normalized")

    # Decoding

    def decoder(self, *, errors: str = "replace") -> StreamDecoder:
        """As `Tokenizer.decoder`; of a model with denormalization rules, `finish` gives all of the text."""
        codecs.lookup_error(errors)  # a LookupError now, and not only where bytes are bad
        return CodePointStreamDecoder(
            self._decoder,
            EACH_BYTE if errors == "replace" else errors,
            trims=bool(self._source.normalizer["remove_extra_whitespaces"]),
            change=None if self._denormalizer is None else self._denormalized,
        )

    def decode(self, ids: Sequence[int] | Buffer, *, errors: str = "replace") -> str:
        """The text of ids, control symbols left out; errors= as in `Tokenizer.decode`.

        "replace" gives U+FFFD for each byte that belongs to no character, as sentencepiece does.
        """
        return self._denormalized(super().decode(ids, errors=EACH_BYTE if errors == "replace" else errors))

    def decode_batch(self, batch: Iterable[Sequence[int] | Buffer], *, errors: str = "replace") -> list[str]:
        """`decode` for each sequence of ids, in order."""
        texts = super().decode_batch(batch, errors=EACH_BYTE if errors == "replace" else errors)
        return texts if self._denormalizer is None else [self._denormalized(text) for text in texts]

    @cached_property
    def _denormalizer(self) -> Normalizer | None:
        spec = self._source.denormalizer
        if spec is None or not spec["precompiled_charsmap"]:
            return None
        return Normalizer(
            spec["precompiled_charsmap"],
            add_dummy_prefix=spec["add_dummy_prefix"],
            remove_extra_whitespaces=spec["remove_extra_whitespaces"],
            escape_whitespaces=spec["escape_whitespaces"],
        )

    def _denormalized(self, text: str) -> str:
        return text if self._denormalizer is None else self._denormalizer.normalize(text.encode()).decode()

    # What it knows

    @property
    def vocab_size(self) -> int:
        """How many ids there are; all are tokens."""
        return self._source.n_pieces

    @property
    def name(self) -> str | None:
        """The name it was given."""
        return self._source.name

    @property
    def mode(self) -> str:
        """What the base symbols are: "codepoint"."""
        return "codepoint"

    @property
    def training_report(self) -> dict[str, Any]:
        """What `train` was asked for and found; empty for a tokenizer that was not trained here."""
        return dict(self._source.training)

    @property
    def merges(self) -> list[tuple[int, int]]:
        """For each piece that merging makes, best first, the ids that it is made of: a new list."""
        return list(recover_merges(self._symbols).values())

    @property
    def vocab(self) -> list[bytes]:
        """The bytes that every id adds to a decoded text, b"" for control symbols: a new list, worth keeping."""
        return self._vocabulary.tokens()

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, of all that decides ids: pieces, their scores and types, rules, white space."""
        model = self._source
        options = [model.normalizer[name] for name in _NORMALIZER_OPTIONS]
        options += [model.trainer[name] for name in ("treat_whitespace_as_suffix", "byte_fallback")]
        digest = hashlib.sha256(repr(("codepoint", options)).encode())
        for part in (model.piece_ends, model.piece_bytes, model.scores, model.types):
            digest.update(part)
        return digest.hexdigest()

    def token_to_id(self, token: bytes | str) -> int | None:
        """The id of a piece as the model has it, with spaces or with U+2581 for them; None if there is none."""
        if not isinstance(token, (str, bytes)):
            raise TypeError(f"token must be bytes or str, not {type(token).__name__}")
        data = token.encode("utf-8", "replace") if isinstance(token, str) else token
        found = self._ids.get(data)
        return self._ids.get(data.replace(b" ", MARK)) if found is None else found

    @cached_property
    def _ids(self) -> dict[bytes, int]:
        return {piece: i for i, piece in enumerate(self._source.pieces)}

    # Making others

    def with_special_tokens(self, special_tokens: Mapping[str, int]) -> CodePointTokenizer:
        """A tokenizer with these control symbols besides its own, whose ids follow those that there are."""
        model, known = self._source, self._special.ids
        for name, token_id in special_tokens.items():
            if known.get(name, token_id) != token_id:
                raise SpecialTokenError(f"special token {name!r} has the id {known[name]} already")
        added = sorted((i, name) for name, i in special_tokens.items() if name not in known)
        if [i for i, _ in added] != list(range(model.n_pieces, model.n_pieces + len(added))):
            raise SpecialTokenError(
                f"new special tokens have the ids {[i for i, _ in added]}: a code-point vocabulary has no gaps, "
                f"so give them {model.n_pieces} and those that follow"
            )
        for _, name in added:
            if name.encode() in self._ids:
                raise SpecialTokenError.is_ordinary(name, self._ids[name.encode()])
        piece_bytes, piece_ends = pack_pieces([*model.pieces, *(name.encode() for _, name in added)])
        extended = replace(
            model,
            piece_bytes=piece_bytes,
            piece_ends=piece_ends,
            scores=model.scores + bytes(4 * len(added)),
            types=model.types + bytes([PieceType.CONTROL]) * len(added),
            serialized=b"",
        )
        return type(self)(extended, cache_bytes=self._cache_bytes)

    def export(self, path: str | os.PathLike[str], *, format: str) -> None:
        """Write the vocabulary in a format: "native" or "sentencepiece".

        Raises:
            FormatError: the format cannot hold this vocabulary; the message says why.
        """
        if format == "native":
            data = native.dump_code_points(self._source)
        elif format == "sentencepiece":
            data = sentencepiece.dump(self._source)
        else:
            raise FormatError(f'format={format!r} holds no code points; choose "native" or "sentencepiece"')
        formats.write(path, data)

    # Being a value

    def __reduce__(self) -> tuple[Callable[[bytes], CodePointTokenizer], tuple[bytes]]:
        return _unpickle, (native.dump_code_points(self._source),)

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        return (
            f"<fastbpe.CodePointTokenizer {name}{self.mode} mode, {self.vocab_size} tokens "
            f"({len(self._special.ids)} special), split by {self._splitter!r}, {self.fingerprint[:12]}>"
        )


def _unpickle(state: bytes) -> CodePointTokenizer:
    model = formats.read(state)
    assert isinstance(model, CodePointModel)
    return CodePointTokenizer(model)
