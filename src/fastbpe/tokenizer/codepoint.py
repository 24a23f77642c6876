"""CodePointTokenizer: the facade over a code-point vocabulary, as sentencepiece's BPE models are."""

from __future__ import annotations

import binascii
import hashlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING, Any, NoReturn

from fastbpe._core.decode.decoder import Decoder
from fastbpe._core.decode.stream_decoder import StreamDecoder
from fastbpe._core.encode.codepoint_pieces import TokenEncoder
from fastbpe._core.encode.decoding_encoder import check_errors
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.merge.merge_piece import recover_merges
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.normalize.sentencepiece_normalizer import Normalizer
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.text.utf8_text import to_utf8
from fastbpe._utils.caching import cached_property
from fastbpe._utils.threads import ForkSafeLock
from fastbpe.errors import FormatError, SpecialTokenError, VocabularyError
from fastbpe.formats import detect, merges_as_scores, native
from fastbpe.formats.endings import format_of, is_folder
from fastbpe.formats.huggingface import tokenizer_config, write_llama
from fastbpe.formats.sentencepiece import model_file
from fastbpe.model import Buffer, CodePointModel, Conventions, PieceType, Templates
from fastbpe.tokenizer.codepoint_huggingface import Decoding, Places, begin_at_last_space, widen
from fastbpe.tokenizer.codepoint_tables import (
    EACH_BYTE,
    METASPACE,
    Parts,
    build,
    make_normalizer,
    names_of,
    pieces_of,
)
from fastbpe.tokenizer.special_tokens import SpecialTokens, check_new, number
from fastbpe.tokenizer.tokenizer import CACHE_BYTES, Special, Tokenizer

if TYPE_CHECKING:
    from fastbpe.tokenizer.verify_export import Verification

_NO_BYTES = (
    "CodePointTokenizer.{0}: {1} are of bytes; Tokenizer.{0} makes a byte-level tokenizer of them, "
    'fastbpe.load and fastbpe.train(mode="codepoint") make code-point ones'
)
_MAX_CHECKED = 1 << 20  # pieces: fewer are no more symbols than there may be
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
    What lies between two of them is encoded as a text of its own. Decoding leaves them out, while the special
    tokens of a tokenizer.json are decoded to their text.

    Everything else is as in `Tokenizer`.
    """

    def __init__(self, model: CodePointModel, *, cache_bytes: int = CACHE_BYTES) -> None:
        if not isinstance(cache_bytes, int) or cache_bytes < 0:
            raise ValueError(f"cache_bytes={cache_bytes!r}: give the bytes that piece caches may take")
        if not isinstance(model, CodePointModel):
            raise TypeError(
                f"model must be a CodePointModel, not {type(model).__name__}; fastbpe.load reads a file"
            )
        self._pattern_name, self._pattern = None, None
        self._source = model
        self._cache_bytes = cache_bytes
        self._lock = ForkSafeLock()  # making one part asks for another
        special = _control_symbols(model)
        special |= {token.content: token.id for token in model.added_tokens if token.special}
        is_plain = model.conventions is not None and not model.conventions.escapes
        self._special = SpecialTokens(
            special, _NoTokens(), model.added_tokens, None if is_plain else self._normalized
        )
        # What may be wrong with a model is found now; what takes most of the time waits until there is need of it.
        if model.normalizer["precompiled_charsmap"]:
            make_normalizer(model)
        if model.merges:
            _check_merges(model)
        if model.n_pieces > _MAX_CHECKED:
            self._prepare()

    @classmethod
    def from_ranks(cls, ranks: object, **options: object) -> NoReturn:
        """Raise TypeError: ranks are of bytes."""
        raise TypeError(_NO_BYTES.format("from_ranks", "ranks"))

    @classmethod
    def from_merges(cls, merges: object, **options: object) -> NoReturn:
        """Raise TypeError: merges are of bytes."""
        raise TypeError(_NO_BYTES.format("from_merges", "merges"))

    def _prepare(self) -> None:
        parts = self._parts
        with self._lock:
            if self._pipeline is None:
                Encoder.__init__(
                    self,
                    parts.vocabulary,
                    parts.splitter,
                    special=self._special,
                    cache_bytes=self._cache_bytes,
                    normalizing=parts.normalizing,
                )

    @property
    def _parts(self) -> Parts:
        if self._built is None:
            with self._lock:
                if self._built is None:
                    self._built = build(self._source)
        return self._built

    _built: Parts | None = None

    @property
    def _vocabulary(self) -> Vocabulary:  # type: ignore[override]
        return self._parts.surfaces

    @property
    def _splitter(self) -> Splitter:  # type: ignore[override]
        return self._parts.splitter

    @cached_property
    def _decoder(self) -> Decoder:
        return self._parts.decoder

    def _normalized(self, name: str) -> str:
        """What a name is in normalized text, as the pipeline has it."""
        return self._normalizer.normalize(name.encode()).decode()

    @cached_property
    def _normalizer(self) -> Normalizer:
        # A tokenizer.json has U+2581 always, so that nothing need be built to know it.
        marks = self._source.conventions is not None or self._parts.marks_spaces
        return make_normalizer(self._source, marks_to_spaces=marks)

    def _cutter(self, special: Collection[str] = ()) -> Callable[[bytes], int] | None:
        return None  # what a document begins and ends with is not what a part of it does

    # Encoding

    def _spelled_out(self) -> dict[int, list[int]]:
        from fastbpe.tokenizer.untrusted_text import spelled_characters  # here: only `encode_parts` asks

        return spelled_characters(self._source, self._parts)

    def encode_with_offsets(
        self,
        text: str | bytes,
        *,
        allowed_special: Special = frozenset(),
        disallowed_special: Special = "all",
    ) -> tuple[list[int], list[tuple[int, int]]]:
        """(ids, offsets): what `encode` gives, and (start, end) of each id in characters of the text.

        As sentencepiece has it: the space that is put before a text has an empty span, and of the ids of a
        character's bytes all but the last have one. With a tokenizer.json as tokenizers has it: that space has the
        place of the first character, and each of the ids of a character's bytes has all of it.
        """
        allowed, disallowed = self._special.choose(allowed_special, disallowed_special)
        data = to_utf8(text)
        if disallowed is not None and (found := disallowed.search(data)):
            raise SpecialTokenError.disallowed(data[found[0] : found[1]].decode())
        ids, places, prefixed = self._places.of(data, allowed)
        spans = places.in_characters(text if isinstance(text, str) else data)
        if self._source.conventions is None:
            return ids, spans
        if self._source.normalizer["remove_extra_whitespaces"]:
            spans = begin_at_last_space(spans, text if isinstance(text, str) else data.decode())
        return ids, widen(spans, prefixed)

    @cached_property
    def _places(self) -> Places:
        model = self._source
        encoders: dict[bool, TokenEncoder] = {}

        def section(has_dummy: bool) -> TokenEncoder:
            if has_dummy not in encoders:
                normalizer = make_normalizer(
                    model, marks_to_spaces=self._parts.marks_spaces, add_dummy_prefix=has_dummy
                )
                encoders[has_dummy] = TokenEncoder(self, normalizer)
            return encoders[has_dummy]

        return Places(
            section, model.conventions or Conventions(), dummy_prefix=model.normalizer["add_dummy_prefix"]
        )

    def pieces(self, text: str | bytes) -> list[tuple[int, int]]:
        """(start, end) in characters: the whole text, which no split pattern cuts; nothing for an empty one."""
        n = len(text if isinstance(text, str) else to_utf8(text).decode())
        return [(0, n)] if n else []

    # Decoding

    def decoder(
        self, *, errors: str = "replace", unknown_ids: str = "raise", skip_special_tokens: bool = False
    ) -> StreamDecoder:
        """As `Tokenizer.decoder`. A model with rules for decoded text has none: they need the whole text.

        With a tokenizer.json, ids of bytes in a row that are no UTF-8 are a U+FFFD each. What a stream has given
        out stays: it is only of the ids behind that the same is said.
        """
        if self._denormalizer is not None:
            raise ValueError("this model changes decoded text by rules, which need all of it: use decode")
        check_errors(errors)
        decoding = self._skipping_decoding if skip_special_tokens else self._decoding
        return StreamDecoder(
            self._decoder if decoding is None else decoding.decoder,
            EACH_BYTE if errors == "replace" else errors,
            unknown_ids,
            joins=decoding is not None,
            leading=self._parts.leading,
            whole=self._parts.whole,
            runs=decoding.bytes if decoding is not None and errors == "replace" else None,
            firsts=None if decoding is None else decoding.firsts,
        )

    def decode(
        self,
        ids: Sequence[int] | Buffer,
        *,
        errors: str = "replace",
        num_threads: int | None = None,
        unknown_ids: str = "raise",
        skip_special_tokens: bool = False,
    ) -> str:
        """Decode ids to text, with the arguments of `Tokenizer.decode`.

        The control symbols of a sentencepiece model are nothing, as there; the special tokens of a tokenizer.json
        are their text, unless skip_special_tokens leaves them out.

        errors="replace" gives U+FFFD for each byte that belongs to no character, as sentencepiece does. With a
        tokenizer.json it does as tokenizers: ids of bytes in a row that are no UTF-8 are a U+FFFD each.
        """
        decoding = self._skipping_decoding if skip_special_tokens else self._decoding
        if decoding is not None:
            if errors != "replace":
                check_errors(errors)
            return decoding.decode(ids, errors, num_threads, unknown_ids)
        as_sentencepiece = EACH_BYTE if errors == "replace" else errors
        return self._denormalized(
            super().decode(ids, errors=as_sentencepiece, num_threads=num_threads, unknown_ids=unknown_ids)
        )

    def decode_batch(
        self,
        batch: Iterable[Sequence[int] | Buffer],
        *,
        errors: str = "replace",
        num_threads: int | None = None,
        unknown_ids: str = "raise",
        skip_special_tokens: bool = False,
    ) -> list[str]:
        """Decode each sequence of ids, in order, as `decode` does. num_threads: as in `encode_batch`."""
        decoding = self._skipping_decoding if skip_special_tokens else self._decoding
        if decoding is not None:
            check_errors(errors)
            listed = [ids if hasattr(ids, "__len__") else list(ids) for ids in batch]
            return decoding.decode_batch(listed, errors, num_threads, unknown_ids)
        as_sentencepiece = EACH_BYTE if errors == "replace" else errors
        texts = super().decode_batch(
            batch, errors=as_sentencepiece, num_threads=num_threads, unknown_ids=unknown_ids
        )
        return texts if self._denormalizer is None else [self._denormalized(text) for text in texts]

    def decode_bytes(self, ids: Sequence[int] | Buffer) -> bytes:
        """As `Tokenizer.decode_bytes`."""
        return super().decode_bytes(ids) if self._decoding is None else self._decoding.decode_bytes(ids)

    @cached_property
    def _decoding(self) -> Decoding | None:
        return None if self._source.conventions is None else Decoding(self._source, self._parts, skips=False)

    @cached_property
    def _skipping_decoding(self) -> Decoding | None:
        return None if self._source.conventions is None else Decoding(self._source, self._parts, skips=True)

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
    def n_vocab(self) -> int:
        """One more than the greatest id."""
        return self._source.n_pieces

    @property
    def max_token_value(self) -> int:
        """The greatest id."""
        return self._source.n_pieces - 1

    @property
    def name(self) -> str | None:
        """The name it was given."""
        return self._source.name

    @property
    def mode(self) -> str:
        """What the base symbols are: "codepoint"."""
        return "codepoint"

    @property
    def normalizers(self) -> list[dict[str, Any]]:
        """The changes that text undergoes before it is merged, in the terms of a tokenizer.json.

        The model's rules (Precompiled), the removal of extra white space (Strip, Replace), the space at a text's
        beginning (Prepend) and U+2581 in place of spaces (Replace). One at its end has no such term.
        """
        model, spec = self._source, self._source.normalizer
        steps: list[dict[str, Any]] = []
        if spec["precompiled_charsmap"]:
            charsmap = binascii.b2a_base64(spec["precompiled_charsmap"], newline=False).decode()
            steps.append({"type": "Precompiled", "precompiled_charsmap": charsmap})
        if spec["remove_extra_whitespaces"]:
            steps.append({"type": "Strip", "strip_left": True, "strip_right": True})
            steps.append({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})
        if spec["add_dummy_prefix"] and not model.trainer["treat_whitespace_as_suffix"]:
            steps.append({"type": "Prepend", "prepend": "\u2581" if spec["escape_whitespaces"] else " "})
        if spec["escape_whitespaces"] and (model.conventions is None or model.conventions.escapes):
            steps.append({"type": "Replace", "pattern": {"String": " "}, "content": "\u2581"})
        return steps

    @property
    def pre_tokenizers(self) -> list[dict[str, Any]]:
        """The steps that split text, as its tokenizer.json describes them; []: nothing does."""
        step = write_llama.pre_tokenizer(self._source.conventions or Conventions())
        return [] if step is None else [step]

    @property
    def training_report(self) -> dict[str, Any]:
        """What `train` was asked for and found; empty for a tokenizer that was not trained here."""
        return dict(self._source.training)

    @property
    def merges(self) -> list[tuple[int, int]]:
        """For each piece that merging makes, best first, the ids that it is made of: a new list."""
        return list(recover_merges(self._parts.vocabulary).values())

    @property
    def vocab(self) -> list[bytes]:
        """The bytes that every id adds to a decoded text, b"" for control symbols: a new list, worth keeping."""
        return self._decoder.tokens(range(self.n_vocab))

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256, in hexadecimal, of all that decides ids: pieces, their scores and types, rules, white space."""
        model = self._source
        options = [model.normalizer[name] for name in _NORMALIZER_OPTIONS]
        options += [model.trainer[name] for name in ("treat_whitespace_as_suffix", "byte_fallback")]
        if model.added_tokens:
            options.append([tuple(token) for token in model.added_tokens])
        if model.conventions is not None:
            options.append(astuple(model.conventions)[: None if model.conventions.symbols else -1])
        digest = hashlib.sha256(repr(("codepoint", options)).encode())
        for part in (model.piece_ends, model.piece_bytes, model.scores, model.types, model.merges):
            digest.update(part)
        return digest.hexdigest()

    def token_to_id(self, token: bytes | str) -> int | None:
        """The id of a piece as the model has it, with spaces or with U+2581 for them; None if there is none."""
        if type(token) is str:
            try:
                return self._ids_by_text[token]
            except KeyError:
                pass
        if not isinstance(token, (str, bytes)):
            raise TypeError(f"token must be bytes or str, not {type(token).__name__}")
        data = token.encode("utf-8", "replace") if isinstance(token, str) else token
        found = self._ids.get(data)
        return self._ids.get(data.replace(b" ", METASPACE)) if found is None else found

    @cached_property
    def _ids(self) -> dict[bytes, int]:
        return {piece: i for i, piece in enumerate(self._source.pieces)}

    @cached_property
    def _ids_by_text(self) -> dict[str, int]:
        """Ids by the text of pieces, with U+2581 or with spaces for it."""
        texts = [(i, piece.decode("utf-8", "replace")) for i, piece in enumerate(self._source.pieces)]
        texts = [(i, text) for i, text in texts if "\ufffd" not in text]
        mark = METASPACE.decode()
        return {text.replace(mark, " "): i for i, text in texts} | {text: i for i, text in texts}

    def id_to_token(self, token_id: int) -> bytes:
        """The bytes that an id stands for; of control symbols and the unknown piece, their text in the model.

        Raises InvalidTokenError (a KeyError).
        """
        return self._names.token(token_id)

    @cached_property
    def _names(self) -> Decoder:
        if self._source.conventions is not None:
            return self._decoder
        return Decoder(self._vocabulary, [*names_of(self._source).items()])

    # A model's own tokens: see OwnTokens

    @property
    def _templates(self) -> Templates:
        return self._source.templates

    def _said_roles(self) -> Mapping[str, str]:
        model = self._source
        said: dict[str, str] = {}
        if model.conventions is None:
            ids = {role: model.control_id(role) for role in ("bos", "eos", "pad")}
            said = {role: model.piece(i).decode() for role, i in ids.items() if i is not None}
        for piece in pieces_of(model, PieceType.UNKNOWN).values():
            said["unk"] = piece.decode("utf-8", "replace")
        return {**said, **model.roles}

    # Making others

    def with_special_tokens(self, special_tokens: Mapping[str, int] | Sequence[str]) -> CodePointTokenizer:
        """Make a tokenizer with these control symbols besides its own, whose ids follow those that there are.

        special_tokens: as in `Tokenizer.with_special_tokens`; the ids of a mapping must leave no gap.
        """
        model, known = self._source, self._special.ids
        special_tokens = number(special_tokens, known, self._special.added, model.n_pieces)
        check_new(special_tokens, _NoTokens())
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
        extended = model_file.with_control_symbols(model, special_tokens, "special_tokens")
        return type(self)(extended, cache_bytes=self._cache_bytes)

    def export(
        self,
        path: str | os.PathLike[str],
        *,
        format: str | None = None,
        verify: bool = True,
        verify_text: str | None = None,
    ) -> Verification | None:
        """Write the vocabulary in a format: "native", "sentencepiece" or "huggingface" (a tokenizer.json).

        path: a file; for "huggingface" also a folder for transformers, as in `Tokenizer.export`.
        format: None: by the ending of path, `.fbpe`, `.model` or `.json`; native where it has none.
        verify, verify_text, what is returned: as in `Tokenizer.export`.

        Raises:
            FormatError: the format cannot hold this vocabulary, or ids differ; the message says why.
        """
        from fastbpe.tokenizer.export import put  # here: it knows all formats

        format = format_of(path, self.mode) if format is None else format
        if format == "huggingface" and is_folder(path):
            return tokenizer_config.write_folder(
                path,
                self._roles,
                lambda file: self.export(file, format=format, verify=verify, verify_text=verify_text),
            )
        if format == "native":
            data = native.dump_code_points(self._source)
        elif format == "sentencepiece":
            data = model_file.dump(self._source)
        elif format == "huggingface":
            data = write_llama.dump(self._source)
        else:
            raise FormatError(
                f'format={format!r} holds no code points; choose "native", "sentencepiece" or "huggingface"'
            )
        return put(path, self, data, format, verify=verify, verify_text=verify_text)

    # Being a value

    def __reduce__(self) -> tuple[Callable[[bytes], CodePointTokenizer], tuple[bytes]]:
        return unpickle_codepoint, (native.dump_code_points(self._source),)

    def __repr__(self) -> str:
        name = f"{self.name!r}, " if self.name else ""
        return (
            f"<fastbpe.CodePointTokenizer {name}{self.mode} mode, {self.vocab_size} tokens "
            f"({len(self._special.ids)} special), split by {self._splitter!r}, {self.fingerprint[:12]}>"
        )


class _NoTokens:
    """No ordinary tokens: control symbols are pieces of the model, and clash with none."""

    n_ids = 0

    def has(self, token_id: int) -> bool:
        return False

    def find(self, token: bytes) -> int | None:
        return None


def _control_symbols(model: CodePointModel) -> dict[str, int]:
    pieces = pieces_of(model, PieceType.CONTROL)
    try:
        return {piece.decode(): i for i, piece in pieces.items()}
    except UnicodeDecodeError as error:
        bad = next(i for i, piece in pieces.items() if piece == error.object)
        raise VocabularyError(f"piece {bad}, {error.object!r:.60}, is a control symbol but no UTF-8") from None


def _check_merges(model: CodePointModel) -> None:
    merges = memoryview(model.merges).cast("B").cast("I")
    bad = merges_as_scores.first_bad(model.piece_bytes, model.piece_ends, merges)
    if bad == -1:
        raise VocabularyError(f"piece_ends does not cut {len(model.piece_bytes)} bytes into pieces")
    if bad is not None:
        raise VocabularyError(f"merge {bad} does not make a piece of two pieces")


def unpickle_codepoint(state: bytes) -> CodePointTokenizer:
    model = detect.read(state)
    assert isinstance(model, CodePointModel)
    return CodePointTokenizer(model)
