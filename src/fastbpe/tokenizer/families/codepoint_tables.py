"""Tables of a code-point model: the objects that encode and decode with it."""

from __future__ import annotations

import codecs
import os
import re
import struct
from bisect import bisect_left

from fastbpe._core.decode.decoder import Decoder
from fastbpe._core.encode.codepoint_pieces import TokenEncoder, marks_spaces
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.merge.codepoint_symbols import CodePoints, surfaces
from fastbpe._core.merge.table_builder import build_look_ups
from fastbpe._core.merge.vocabulary import NO_SLOTS, Vocabulary
from fastbpe._core.normalize.sentencepiece_normalizer import Normalizer, Normalizing
from fastbpe._core.split.scanner import WordScanner
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.formats import merges_as_scores
from fastbpe.formats.sentencepiece import piece_messages
from fastbpe.model import BYTE_DECODERS, METASPACE, AddedToken, CodePointModel, Conventions, PieceType
from fastbpe.tokenizer.families import unigram_tables
from fastbpe.tokenizer.families.symbol_merging import merge_all, symbols_in

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from fastbpe._core.normalize.piece_id_table import PieceIdTable

METASPACE_UTF8 = METASPACE.encode()
# Typed as Any, because the type of `errors=` lists only the handlers for users.
EACH_BYTE: Any = "fastbpe-each-byte"  # name of the error handler that gives one U+FFFD for each invalid byte

_BYTE_NAME = rb"<0x[+0-9A-Fa-f][0-9A-Fa-f]>"  # tokenizers reads a sign, too


class Parts(NamedTuple):
    """Objects that encode and decode with a code-point model.

    vocabulary: vocabulary of symbols: the pieces, and characters without a piece.
    splitter: splitter of texts into words.
    normalizing: normalizer of texts.
    surfaces: vocabulary of the bytes that each id adds to a decoded text.
    decoder: decoder of all ids.
    marks_spaces: symbols contain a space in place of U+2581.
    leading, space_keepers: as in Decoder.
    symbol_ids: function that returns the id of each symbol. A symbol without an id gets the unknown id; if it
        becomes other ids (an unused piece, or a character with byte fallback), a number beyond all ids.
    unknown: id of characters without a symbol, unless there are byte_ids.
    byte_ids: ids of the 256 bytes, for byte fallback; None: no byte fallback.
    """

    vocabulary: Vocabulary
    splitter: WordScanner
    normalizing: Normalizing
    surfaces: Vocabulary
    decoder: Decoder
    marks_spaces: bool
    leading: bool | None
    space_keepers: frozenset[int]
    symbol_ids: Callable[[], list[int]]
    unknown: int
    byte_ids: list[int] | None


def build(model: CodePointModel, *, may_mark_spaces: bool = True) -> Parts:
    """Build the tables of a model. Raises VocabularyError if it contradicts itself.

    may_mark_spaces: symbols may contain a space in place of U+2581.
    """
    model = model.as_sentencepiece()
    unknown, byte_ids = _fallback_ids(model)
    extended = unigram_tables.extend(model) if model.has_table else None
    merging = by_scores(model) if extended is None else extended.model
    is_unigram = model.trainer["model_type"] == "unigram"
    code_points = CodePoints(
        merging.piece_bytes,
        merging.piece_ends,
        merging.scores,
        _merged_types(merging),
        escapes=model.normalizer["escape_whitespaces"] and may_mark_spaces,
        unknown_id=unknown,
        byte_ids=byte_ids,
        splits=model.conventions is not None and model.conventions.splits,
    )
    table = None if extended is None else unigram_tables.make_table(model, extended, unknown)
    normalizing = _normalizing(model, code_points, None if byte_ids else unknown, table)
    if code_points.marks_spaces and normalizing.normalizer and not normalizing.normalizer.gives_utf8:
        # An incomplete character may take bytes of the U+2581 after it, which a space then cannot replace.
        return build(model, may_mark_spaces=False)
    merges = [] if is_unigram else _merges(merging, code_points)  # a unigram model does not merge
    tables: dict[str, Any] = build_look_ups(code_points.token_bytes, code_points.token_ends, merges)
    vocabulary = Vocabulary(
        **tables,
        whole_piece_first=False,
        code_points=code_points,
        segmenter=unigram_tables.make_segmenter(merging, code_points, unknown, byte_ids, table)
        if is_unigram
        else None,
    )
    if is_unigram:
        # No text becomes such a symbol, but `symbol_ids` must show that it has no id of its own.
        code_points.expand([[unknown]] * len(code_points.expanded))
    elif code_points.expanded:
        code_points.expand(
            _Expansions(merging, vocabulary, code_points, unknown, byte_ids).of(code_points.expanded)
        )
    surface = _surfaces(model, code_points)
    leading, space_keepers = leading_of(model, unknown, byte_ids)
    joins = model.conventions is not None
    return Parts(
        vocabulary=vocabulary,
        splitter=WordScanner(code_points),
        normalizing=normalizing,
        surfaces=surface,
        decoder=Decoder(surface, overridden(model), leading=leading, space_keepers=space_keepers, joins=joins),
        marks_spaces=code_points.marks_spaces,
        leading=leading,
        space_keepers=space_keepers,
        symbol_ids=code_points.ids,
        unknown=unknown,
        byte_ids=byte_ids,
    )


def by_scores(model: CodePointModel) -> CodePointModel:
    """Return the model with scores in place of its merges, if the ids stay the same: tables are half the size."""
    if not model.merges or model.conventions is None:
        return model
    merges = memoryview(model.merges).cast("B").cast("I")
    seed = int.from_bytes(os.urandom(8), "little")  # of hash tables, so that no file can make them slow
    found = merges_as_scores.rescore(
        model.piece_bytes, model.piece_ends, model.types, merges, model.conventions.splits, seed
    )
    if found is None:
        return model
    scores, apart = found
    types = bytearray(model.types)
    for i in apart:
        types[i] = PieceType.USER_DEFINED
    return model._replace(scores=scores, types=bytes(types), merges=b"")


def _merges(model: CodePointModel, code_points: CodePoints) -> list[tuple[int, int, int]] | None:
    """List the model's merges, in symbols. None: it has no list, and two pieces merge if their text is a piece."""
    if not model.merges:
        return None
    symbols = {token_id: symbol for symbol, token_id in enumerate(code_points.ids())}
    listed: list[tuple[int, int, int]] = []
    for left, right, merged in struct.iter_unpack("=III", model.merges):
        if left in symbols and right in symbols and merged in symbols:  # else no text has all three
            listed.append((symbols[left], symbols[right], symbols[merged]))
    return listed


def _merged_types(model: CodePointModel) -> bytes:
    """Return the types of pieces for merging: pieces that no merge may make become control symbols.

    In a model of type char, no merge may make a piece. In a unigram model, user-defined pieces become normal ones.
    """
    if model.trainer["model_type"] == "char":
        merged = (PieceType.NORMAL, PieceType.UNUSED)
        pieces = zip(model.types, model.pieces, strict=True)
        return bytes(
            PieceType.CONTROL if type_ in merged and len(piece.decode("utf-8", "replace")) > 1 else type_
            for type_, piece in pieces
        )
    if model.trainer["model_type"] == "unigram":  # user-defined pieces are found like other pieces
        return model.types.replace(bytes([PieceType.USER_DEFINED]), bytes([PieceType.NORMAL]))
    if model.conventions is None:
        return model.types
    return model.types.replace(bytes([PieceType.USER_DEFINED]), bytes([PieceType.CONTROL]))


def as_found(model: CodePointModel, token: AddedToken) -> str:
    """Return the text by which an added token is found."""
    if not token.normalized or model.conventions is None or not model.conventions.escapes:
        return token.content
    return (METASPACE if model.normalizer["add_dummy_prefix"] else "") + token.content.replace(" ", METASPACE)


def overridden(model: CodePointModel, *, skips: bool = False) -> list[tuple[int, bytes]]:
    """List (id, bytes) of the ids that do not decode to their pieces. skips: decode special tokens to nothing."""
    out = dict.fromkeys(piece_messages.ids_of(model.types, PieceType.CONTROL), b"")
    if model.conventions is None:
        if not model.trainer["unk_surface"]:
            out |= dict.fromkeys(piece_messages.ids_of(model.types, PieceType.UNKNOWN), b"")
        return [*out.items()]
    if not skips:
        out = names_of(model)
    special = {token.content for token in model.added_tokens if token.special}
    for token in reversed(model.added_tokens):  # the first of several with the same id counts
        found = as_found(model, token)
        # tokenizers looks for the text by which a token is found among the special tokens, so a special token that
        # normalizing changes stays.
        out[token.id] = b"" if skips and found in special else found.encode().replace(METASPACE_UTF8, b" ")
    return [*out.items()]


def names_of(model: CodePointModel) -> dict[int, bytes]:
    """Map ids of control symbols and the unknown piece to their text, with spaces in place of U+2581."""
    kinds = PieceType.CONTROL, PieceType.UNKNOWN
    return {
        i: piece.replace(METASPACE_UTF8, b" ") for kind in kinds for i, piece in pieces_of(model, kind).items()
    }


def pieces_of(model: CodePointModel, piece_type: int) -> dict[int, bytes]:
    """Map ids to the pieces of one type, in the order of ids."""
    return piece_messages.of_type(model.piece_bytes, model.piece_ends, model.types, piece_type)


def _fallback_ids(model: CodePointModel) -> tuple[int, list[int] | None]:
    """Return the id of unknown characters, and (with byte fallback) the ids of the 256 bytes."""
    unknowns = piece_messages.ids_of(model.types, PieceType.UNKNOWN)
    if not model.trainer["byte_fallback"]:
        return unknowns[0], None
    by_name = {piece: i for i, piece in pieces_of(model, PieceType.BYTE).items()}
    unknown = unknowns[0] if unknowns else 0
    # Some files lack the byte of a character that is a piece, and so never falls back: then `unknown` is not used.
    return unknown, [by_name.get(b"<0x%02X>" % byte, unknown) for byte in range(256)]


def _normalizing(
    model: CodePointModel, code_points: CodePoints, fused: int | None, table: PieceIdTable | None
) -> Normalizing:
    """Return the steps around merging. fused: the unknown id; a run of it becomes one id. None: bytes instead."""
    spec = model.normalizer
    is_unigram = model.trainer["model_type"] == "unigram"  # the sum of scores goes through the whole text
    symbols = _symbols(model)
    marks = code_points.marks_spaces
    conventions = model.conventions or Conventions()
    # Plain: normalization only writes spaces as the symbols have them, and may put one before a text. Then no
    # normalizer is needed.
    is_plain = (
        marks
        and not is_unigram
        and not spec["precompiled_charsmap"]
        and not spec["remove_extra_whitespaces"]
        and not symbols
        and not (conventions.escapes and any(token.normalized for token in model.added_tokens))
        and not (model.trainer["treat_whitespace_as_suffix"] and spec["add_dummy_prefix"])
    )
    normalizer = None
    if not is_plain:
        normalizer = make_normalizer(model, marks_to_spaces=marks)
    # Leave out symbols with a space: they are never found, because spaces are U+2581 by then.
    found = [
        (symbol.replace(METASPACE_UTF8, b" ") if marks else symbol, i)
        for i, symbol in symbols.items()
        if not (marks and b" " in symbol)
    ]
    return Normalizing(
        normalizer,
        dummy_prefix=spec["add_dummy_prefix"] and is_plain,
        prefix=conventions.prefix,
        symbols=SpecialMatcher([s for s, _ in found], [i for _, i in found]) if found else None,
        cuttable=not is_unigram and table is None and (normalizer is None or normalizer.words_stay()),
        fused=fused if conventions.fuses and table is None else None,
        to_spaces=make_normalizer(model, marks_to_spaces=marks, add_dummy_prefix=False),
        as_tokenizers=model.conventions is not None,
        removes_spaces=spec["remove_extra_whitespaces"],
        table=table,
    )


def _symbols(model: CodePointModel) -> dict[int, bytes]:
    """Map ids to the pieces found in normalized text. Added tokens, which are found earlier, are not included."""
    if not model.finds_symbols or model.trainer["model_type"] == "unigram":
        return {}
    added = {token.id for token in model.added_tokens}
    return {i: piece for i, piece in pieces_of(model, PieceType.USER_DEFINED).items() if i not in added}


def make_normalizer(
    model: CodePointModel, *, marks_to_spaces: bool = False, add_dummy_prefix: bool | None = None
) -> Normalizer:
    """Create the normalizer of a model.

    marks_to_spaces: write spaces in place of U+2581.
    add_dummy_prefix: put a space before text; None: as in the model.
    """
    model = model.as_sentencepiece()
    spec = model.normalizer
    return Normalizer(
        spec["precompiled_charsmap"],
        add_dummy_prefix=spec["add_dummy_prefix"] if add_dummy_prefix is None else add_dummy_prefix,
        remove_extra_whitespaces=spec["remove_extra_whitespaces"],
        escape_whitespaces=spec["escape_whitespaces"],
        treat_whitespace_as_suffix=model.trainer["treat_whitespace_as_suffix"],
        symbols=[*pieces_of(model, PieceType.USER_DEFINED).values()] if model.conventions is None else [],
        marks_to_spaces=marks_to_spaces,
    )


def make_denormalizer(model: CodePointModel) -> Normalizer | None:
    """Return the rules for decoded text; None if the model has no rules (most models)."""
    spec = model.denormalizer
    if spec is None or not spec["precompiled_charsmap"]:
        return None
    return Normalizer(
        spec["precompiled_charsmap"],
        add_dummy_prefix=spec["add_dummy_prefix"],
        remove_extra_whitespaces=spec["remove_extra_whitespaces"],
        escape_whitespaces=spec["escape_whitespaces"],
    )


def make_names(model: CodePointModel, parts: Parts) -> Decoder:
    """Return a decoder of single ids that decodes control symbols and the unknown piece to their text."""
    return parts.decoder if model.conventions is not None else Decoder(parts.surfaces, [*names_of(model).items()])


def token_encoder(model: CodePointModel, encoder: Encoder) -> TokenEncoder:
    """Return an encoder that also returns the piece and the span of each id. encoder: an encoder of this model."""
    return TokenEncoder(encoder, make_normalizer(model, marks_to_spaces=marks_spaces(encoder)))


def decoded_bytes(model: CodePointModel) -> Iterator[int]:
    """Yield the ids that ByteFallback, ByT5 or Perceiver decodes as bytes: pieces named `<0xAB>`, of any type."""
    if model.conventions is None or model.conventions.decoder not in ("ByteFallback", *BYTE_DECODERS):
        return
    ends = memoryview(model.piece_ends).cast("I")
    for match in re.finditer(_BYTE_NAME, model.piece_bytes):
        i = bisect_left(ends, match.end())
        if ends[i] == match.end() and (ends[i - 1] if i else 0) == match.start():
            yield i


def _surfaces(model: CodePointModel, code_points: CodePoints) -> Vocabulary:
    """Create the vocabulary of the bytes that each id adds to a decoded text."""
    types, unknown = model.types, model.trainer["unk_surface"]
    if model.conventions is not None:
        unknown = model.trainer["unk_piece"]
        named = bytearray(types.replace(bytes([PieceType.BYTE]), bytes([PieceType.NORMAL])))
        for i in decoded_bytes(model):
            named[i] = PieceType.BYTE
        types = bytes(named)
    unknown_bytes = unknown.encode("utf-8", "surrogateescape")  # as the file has them
    surface_bytes, surface_ends = surfaces(model.piece_bytes, model.piece_ends, types, unknown_bytes)
    return Vocabulary(
        token_bytes=surface_bytes,
        token_ends=surface_ends,
        pieces=NO_SLOTS,
        pair_lines=NO_SLOTS,
        whole_piece_first=False,
        code_points=code_points,
    )


def leading_of(
    model: CodePointModel, unknown: int, byte_ids: list[int] | None
) -> tuple[bool | None, frozenset[int]]:
    """Return the arguments `leading` and `space_keepers` of the Decoder."""
    if model.conventions is not None:
        return (False if model.conventions.strips else None), frozenset()
    spec = model.normalizer
    trims = spec["remove_extra_whitespaces"]
    keepers = {byte_ids[0x20]} if byte_ids else set()
    if b" " in model.piece_bytes:  # real spaces, not U+2581: they stay
        keepers.update(i for i, piece in enumerate(model.pieces) if piece[:1] == b" ")
        keepers.difference_update(piece_messages.ids_of(model.types, PieceType.CONTROL))
    if PieceType.UNKNOWN in model.types:
        # If the unknown piece decodes to nothing, the next piece is still at the beginning of the text, unless the
        # unknown piece begins with U+2581: then that space is the one that is left out.
        is_silent = not model.trainer["unk_surface"] and not model.piece(unknown).startswith(METASPACE_UTF8)
        keepers = keepers - {unknown} if is_silent else keepers | {unknown}
    return (bool(trims) if trims or spec["add_dummy_prefix"] else None), frozenset(keepers)


class _Expansions:
    """Ids for a symbol without an id: of an unused piece's parts, of a character's bytes, or the unknown id."""

    def __init__(
        self,
        model: CodePointModel,
        vocabulary: Vocabulary,
        code_points: CodePoints,
        unknown: int,
        byte_ids: list[int] | None,
    ) -> None:
        self._marks_spaces = code_points.marks_spaces
        self._vocabulary = vocabulary
        self._byte_ids = byte_ids
        self._unknown = unknown
        self._expanded: dict[bytes, list[int]] = {}  # symbol's text → its ids, as far as they are known
        merged = (PieceType.NORMAL,) if model.conventions else (PieceType.NORMAL, PieceType.USER_DEFINED)
        self._ids = {piece: i for piece_type in merged for i, piece in pieces_of(model, piece_type).items()}

    def of(self, symbols: list[int]) -> list[list[int]]:
        tokens = self._vocabulary.tokens()
        texts = [tokens[symbol] for symbol in symbols]
        for text in sorted(texts, key=len):  # the parts of a text are shorter, so their ids are known
            self._expanded[text] = self._ids_of(text)
        return [self._expanded[text] for text in texts]

    def _ids_of(self, text: bytes) -> list[int]:
        out: list[int] = []
        todo = [text]
        while todo:
            text = todo.pop()
            token = self._ids.get(self._escaped(text))
            if token is not None:
                out.append(token)
            elif text in self._expanded:
                out += self._expanded[text]
            elif halves := self._halves(text):
                todo += reversed(halves)
            else:
                out += [self._unknown] if self._byte_ids is None else [self._byte_ids[byte] for byte in text]
        return out

    def _escaped(self, text: bytes) -> bytes:
        return text.replace(b" ", METASPACE_UTF8) if self._marks_spaces else text

    def _halves(self, text: bytes) -> list[bytes] | None:
        """Merge the characters of a text down to two symbols; None for a single character, or if more are left.

        If merging the text by itself does not make a symbol, merging it within a longer text does not either.
        """
        characters = text.decode()
        symbols = symbols_in(map(str.encode, characters), self._vocabulary)
        _, starts = merge_all(symbols, self._vocabulary, until=2)
        if len(starts) != 2:
            return None
        return [characters[: starts[1]].encode(), characters[starts[1] :].encode()]


def _each_byte(error: UnicodeError) -> tuple[str, int]:
    """Handle a decoding error: U+FFFD for each bad byte."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return "\ufffd" * (error.end - error.start), error.end


codecs.register_error(EACH_BYTE, _each_byte)
