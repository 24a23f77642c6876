"""CodePointFamily: a code-point vocabulary, as in sentencepiece's models (BPE, unigram, char) and Llama 2.

The control symbols of a model (`<s>` and so on) are special tokens, with the rules of byte mode: in a text they
are an error, an id or ordinary text, as the call demands. (sentencepiece never finds them in text.)
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from zlib import compress

from fastbpe._core.decode.decoder import Decoder
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.merge.merge_piece import recover_merges
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.normalize.sentencepiece_normalizer import Normalizer
from fastbpe._core.text.utf8_text import to_utf8
from fastbpe._utils.caching import cached_property
from fastbpe._utils.choices import DecodeErrors, UnknownIds
from fastbpe._utils.threads import ForkSafeLock
from fastbpe.formats.huggingface import write_llama
from fastbpe.model import BYTE_DECODERS, AddedToken, CodePointModel, Conventions, PieceType, Templates
from fastbpe.tokenizer import own_tokens
from fastbpe.tokenizer.families import codepoint_properties
from fastbpe.tokenizer.families.codepoint_decoding import (
    ByteDecoding,
    CleanDecoding,
    HuggingFaceDecoding,
    SentencePieceDecoding,
    StretchDecoding,
)
from fastbpe.tokenizer.families.codepoint_properties import NoTokens
from fastbpe.tokenizer.families.codepoint_tables import (
    METASPACE_UTF8,
    Parts,
    build,
    decoded_bytes,
    make_denormalizer,
    make_names,
    make_normalizer,
)
from fastbpe.tokenizer.families.family import Family
from fastbpe.tokenizer.special_token_rules import SpecialTokens
from fastbpe.tokenizer.surgery import adding

if TYPE_CHECKING:
    from fastbpe._core.decode.stream_decoder import StreamDecoder
    from fastbpe.normalization.text_rules import TextRules
    from fastbpe.tokenizer.export.exportable import Exportable, Files
    from fastbpe.tokenizer.families.codepoint_decoding import AnyDecoding
    from fastbpe.tokenizer.families.family import Decoding, SortedTokens, Surfaces
    from fastbpe.tokenizer.families.merged_tokens import MergedTokens
    from fastbpe.tokenizer.special_token_rules import Ordinary
    from fastbpe.tokenizer.streams.stream_cuts import PairCuts
    from fastbpe.tokenizer.surgery.removing_pieces import PieceRemoval
    from fastbpe.vocabularies.between import Entry, Speller
    from fastbpe.vocabularies.material import Material

_TYPES = {"unigram": "Unigram", "char": "Char"}  # names of sentencepiece → of Tokenizer.model_type; others: BPE
_MAX_PIECES_UNCHECKED = 1 << 20  # so many pieces become too many symbols only with a million different characters


class CodePointFamily(Family):
    """Code-point vocabulary. The first call that needs its tables builds them.

    Raises VocabularyError, SpecialTokenError or FormatError if the model contradicts itself.
    """

    mode = "codepoint"
    is_lazy = True

    def __init__(self, model: CodePointModel) -> None:
        self._model = model
        self.model_type = _TYPES.get(model.trainer["model_type"], "BPE")
        self._lock = ForkSafeLock()  # reentrant: prepare needs parts
        # Whether added tokens are found before spaces become U+2581: then their names are not normalized.
        in_plain_text = model.conventions is not None and not model.conventions.escapes
        self.special = SpecialTokens(
            codepoint_properties.special_tokens_of(model),
            NoTokens(),
            model.added_tokens,
            None if in_plain_text else _NameNormalizer(self),
            may_share=model.has_table,
            python_blanks=model.runs_in_python,
        )
        # Check the model now.
        if model.normalizer["precompiled_charsmap"]:
            make_normalizer(model)
        if model.merges:
            codepoint_properties.check_merges(model)
        if model.n_pieces > _MAX_PIECES_UNCHECKED:
            _ = self.parts  # building them raises VocabularyError if there are too many symbols

    _built: Parts | None = None

    @property
    def parts(self) -> Parts:
        if self._built is None:
            with self._lock:
                if self._built is None:
                    built = build(self._model)
                    if self._model.is_behind_unknown:
                        plain = Encoder(built.vocabulary, built.splitter, normalizing=built.normalizing)
                        # Each text is encoded after the unknown token's text, whose ids are then dropped.
                        n_dropped = len(plain.encode(self._model.trainer["unk_piece"]))
                        built.normalizing.dropped = n_dropped
                    self._built = built
        return self._built

    @property
    def vocabulary(self) -> Vocabulary:
        return self.parts.surfaces

    # Encoding

    def prepare(self, encoder: Encoder, cache_bytes: int) -> None:
        parts = self.parts
        with self._lock:
            if not encoder._is_ready:  # it was made without tables
                Encoder.__init__(
                    encoder,
                    parts.vocabulary,
                    parts.splitter,
                    special=self.special,
                    cache_bytes=cache_bytes,
                    normalizing=parts.normalizing,
                    front=None if self._text_rules is None else self._text_rules.front,
                )

    @cached_property
    def _text_rules(self) -> TextRules | None:
        """Changes before the model's own normalization; None: no changes."""
        return codepoint_properties.text_rules(self._model)

    @cached_property
    def normalizer(self) -> Normalizer:
        # A tokenizer.json always has the piece U+2581, so its symbols have spaces: loading needs no parts.
        is_json = self._model.conventions is not None and not self._model.runs_in_python
        marks_spaces = is_json or self.parts.marks_spaces
        return make_normalizer(self._model, marks_to_spaces=marks_spaces)

    def normalized(self, text: str) -> str:
        """Change a text between added tokens as encoding does. Rules of a damaged file may leave U+FFFD."""
        if self._text_rules is not None:
            text = self._text_rules.change(text)
        return self.normalizer.normalize(text.encode()).decode(errors="replace")

    def pieces(self, encoder: Encoder, text: str | bytes) -> list[tuple[int, int]]:
        n = len(text if isinstance(text, str) else to_utf8(text).decode())
        return [(0, n)] if n else []

    def cutter(self, encoder: Encoder, special: Collection[str] = ()) -> Callable[[bytes], int] | None:
        return None  # a document may begin with a space that a part in its middle must not have

    def pair_cuts(self, encoder: Encoder) -> PairCuts | None:
        from fastbpe.tokenizer.streams.stream_cuts import (
            code_point_cuts,  # here, like other imports below: few programs need them
        )

        return None if self._model.changes_texts else code_point_cuts(encoder._pipeline, self._model)

    def spelled_out(self) -> dict[int, list[int]]:
        from fastbpe.tokenizer.families.untrusted_text import spelled_characters

        return spelled_characters(self._model, self.parts)

    # Decoding

    @cached_property
    def denormalizer(self) -> Normalizer | None:
        """Rules for decoded text; None for most models."""
        return make_denormalizer(self._model)

    def decoding(self, *, skips: bool) -> Decoding:
        return self._decoding_of(skips)

    def _decoding_of(self, skips: bool) -> CleanDecoding | AnyDecoding:
        made, conventions = self._decoding_before(skips), self._model.conventions
        return CleanDecoding(made) if conventions is not None and conventions.cleans_up else made

    def _decoding_before(self, skips: bool) -> AnyDecoding:
        if self._model.conventions is not None and self._model.conventions.decoder in BYTE_DECODERS:
            return ByteDecoding(self._model, self.parts, skips=skips)
        if self._model.runs_in_python:
            return StretchDecoding(self._model, self.parts, skips=skips)
        if self._model.conventions is None:  # control symbols decode to nothing
            return SentencePieceDecoding(self.parts, self.denormalizer)
        return HuggingFaceDecoding(self._model, self.parts, skips=skips)

    def stream(self, errors: DecodeErrors, unknown_ids: UnknownIds, *, skips: bool) -> StreamDecoder:
        return self._decoding_of(skips).stream(errors, unknown_ids)

    @property
    def surfaces(self) -> Surfaces:
        return self.parts.decoder

    @cached_property
    def _byte_ids(self) -> frozenset[int]:
        return frozenset(decoded_bytes(self._model))

    def text_within(self, token_id: int) -> str | None:
        return None if token_id in self._byte_ids else super().text_within(token_id)

    # Tokens and ids

    @cached_property
    def names(self) -> Decoder:
        return make_names(self._model, self.parts)

    @property
    def find(self) -> Callable[[bytes | str], int | None]:
        return self._find

    def _find(self, token: bytes | str) -> int | None:
        if type(token) is str:
            try:
                return self._ids_by_text[token]
            except KeyError:
                pass
        if not isinstance(token, (str, bytes)):
            raise TypeError(f"token must be bytes or str, not {type(token).__name__}")
        data = to_utf8(token) if isinstance(token, str) else token
        found = self._model.ids.get(data)
        return self._model.ids.get(data.replace(b" ", METASPACE_UTF8)) if found is None else found

    @cached_property
    def _ids_by_text(self) -> dict[str, int]:
        return codepoint_properties.ids_by_text(self._model)

    @property
    def n_tokens(self) -> int:
        return self._model.n_pieces

    @property
    def n_ids(self) -> int:
        return self._model.n_pieces

    def vocab(self) -> list[bytes]:
        return self.parts.decoder.tokens(range(self.n_ids))

    def merges(self) -> list[tuple[int, int]]:
        return list(recover_merges(self.parts.vocabulary).values())

    def merged_tokens(self, encoder: Encoder) -> MergedTokens:
        from fastbpe.tokenizer.families.merged_tokens import of_characters

        return of_characters(self._model, self.parts)

    def sorted_tokens(self) -> SortedTokens:
        from fastbpe._core.encode import completions

        text = (PieceType.NORMAL, PieceType.USER_DEFINED)
        ids = {i for i, kind in enumerate(self._model.types) if kind in text} - {self.parts.unknown}
        return completions.SortedTokens(self.parts.surfaces, ids=sorted(ids | {*(self.parts.byte_ids or ())}))

    def material(self) -> Material:
        from fastbpe.tokenizer.families.collected_material import codepoint_material

        return codepoint_material(dict(self.special.ids), self._model, self.parts)

    def entries(self) -> Iterator[tuple[int, Entry]]:
        from fastbpe.tokenizer.surgery.entries import codepoint_entries

        return codepoint_entries(self._model, self.special)

    def speller(self) -> Speller:
        from fastbpe.tokenizer.surgery.entries import codepoint_speller

        return codepoint_speller(self._model, self.parts)

    # Origin and rules

    @property
    def own(self) -> CodePointModel:
        return self._model

    @property
    def model(self) -> CodePointModel:
        return self._model

    @cached_property
    def fingerprint(self) -> str:
        return codepoint_properties.fingerprint_of(self._model)

    def normalizers(self) -> list[dict[str, Any]]:
        return codepoint_properties.normalizers_of(self._model)

    def pre_tokenizers(self) -> list[dict[str, Any]]:
        step = write_llama.pre_tokenizer(self._model.conventions or Conventions())
        return [] if step is None else [step]

    def splitting(self) -> str:
        return f"split by {self.parts.splitter!r}"

    @property
    def templates(self) -> Templates:
        return self._model.templates

    def named_roles(self) -> Mapping[str, str]:
        return codepoint_properties.named_roles(self._model)

    # Models of changed tokenizers

    def known_tokens(self) -> dict[str, AddedToken]:
        return adding.known_tokens(self.special, self._model)

    @property
    def ordinary(self) -> Ordinary:
        return NoTokens()

    def with_added(self, new: Sequence[AddedToken], argument: str) -> CodePointModel:
        return adding.add_to_code_points(self._model, new, argument)

    def with_roles(self, roles: Mapping[str, str]) -> CodePointModel:
        ids = dict(self.special.ids)
        unknown = self.named_roles().get("unk")
        if unknown is not None and (unknown_id := self._find(unknown)) is not None:
            ids[unknown] = unknown_id
        checked = own_tokens.check_roles(roles, ids.__contains__)
        return codepoint_properties.with_roles(self._model, checked, ids)

    def removal(self, encoder: Encoder) -> PieceRemoval:
        from fastbpe.tokenizer.surgery.removing_pieces import PieceRemoval

        names = {name: token.id for name, token in self.known_tokens().items()}
        return PieceRemoval(self._model, self.parts, names)

    # Writing

    def dump(self, tokenizer: Exportable, format: str) -> Files:
        from fastbpe.tokenizer.export.export import dump_code_points

        return dump_code_points(self._model, format)

    def control_tokens(self) -> dict[str, int]:
        types = self._model.types  # only a tokenizer.json counts the unknown piece among special tokens
        return {name: i for name, i in self.special.ids.items() if types[i] != PieceType.UNKNOWN}

    def state(self) -> bytes:
        from fastbpe.formats import native

        return compress(native.dump_code_points(self._model), 1)


class _NameNormalizer:
    """Function that normalizes the name of a token as the pipeline normalizes text.

    It has a weak reference to the family, because the family refers to it and must be freed with its last
    reference.
    """

    def __init__(self, family: CodePointFamily) -> None:
        self._family, self._model = weakref.ref(family), family.own

    def __call__(self, name: str) -> str:
        family = self._family() or CodePointFamily(self._model)
        return family.normalized(name)
