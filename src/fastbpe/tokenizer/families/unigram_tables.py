"""Tables of a unigram model of sentencepiece, and of models whose ids a table gives; see `PieceIdTable`."""

from __future__ import annotations

from array import array

from fastbpe._core.merge.codepoint_symbols import CodePoints
from fastbpe._core.normalize.piece_id_table import PieceIdTable
from fastbpe._core.segment.segmenter import Segmenter
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.formats.sentencepiece import piece_messages
from fastbpe.model import CodePointModel, PieceType, pack_pieces

_NO_ID = (1 << 32) - 1
_UNKNOWN_PENALTY = 10.0  # an unknown character scores this much below the least score
_SYMBOL_BONUS = 0.1  # score per byte of a user-defined piece after its first, as in sentencepiece
_LEAST_SCORE = 3.4028234663852886e38  # lowest score if no piece is NORMAL, as in sentencepiece


def make_segmenter(
    model: CodePointModel,
    code_points: CodePoints,
    unknown: int,
    byte_ids: list[int] | None,
    table: PieceIdTable | None,
) -> Segmenter:
    """Create the object that finds the pieces of a unigram model in text.

    byte_ids: ids of bytes, in place of the id `unknown` of unknown characters.
    table: table of the ids; pieces from its `first_character` on get the score of unknown characters. None: no
        table.
    """
    scores = array("f", model.scores)
    characters = range(len(scores) if table is None else table.first_character, len(scores))
    normal = [scores[i] for i in piece_messages.ids_of(model.types, PieceType.NORMAL)]
    del normal[len(normal) - len(characters) :]  # `extend` has made these the last normal pieces
    unknown_score = array("f", [min(normal, default=_LEAST_SCORE) - _UNKNOWN_PENALTY])[0]
    for i in characters:
        scores[i] = unknown_score
    symbols = piece_messages.of_type(model.piece_bytes, model.piece_ends, model.types, PieceType.USER_DEFINED)
    for i, symbol in symbols.items():
        scores[i] = _SYMBOL_BONUS * (len(symbol) - 1)
    if byte_ids is None:
        scores[unknown] = unknown_score
    else:
        # The bytes of a character score together as one unknown character: only the first of them counts.
        for byte, i in enumerate(byte_ids):
            scores[i] = 0.0 if 0x80 <= byte < 0xC0 else unknown_score
    ids = array("I", code_points.ids())
    for i in (*code_points.expanded, *range(code_points.n_pieces, len(ids))):
        ids[i] = _NO_ID
    are_symbols = bytearray(len(scores))
    for i in symbols:
        are_symbols[i] = 1
    return Segmenter(
        "sentence",
        code_points.token_bytes,
        code_points.token_ends,
        ids=ids,
        gains=scores,
        are_symbols=are_symbols,
        unknown_score=unknown_score,
    )


class Extended(NamedTuple):
    """A model with the pieces and characters that have no id of their own.

    model: the model; these pieces and then these characters follow its own.
    first_character: id of the first such character.
    runs: ids of consecutive characters that the model does not know → id of the token with this text.
    """

    model: CodePointModel
    first_character: int
    runs: dict[tuple[int, ...], int]


def extend(model: CodePointModel) -> Extended:
    """Return a model with all pieces of its sentencepiece model, and with the characters of runs."""
    texts = [piece.decode("utf-8", "surrogateescape") for piece in model.pieces]
    found = [text for text, kind in zip(texts, model.types, strict=True) if kind == PieceType.NORMAL]
    known = {text for text in (*found, *(text for text, _ in model.unnumbered)) if len(text) == 1}
    is_unigram = model.trainer["model_type"] == "unigram"  # in other models, merges may not reach a piece
    # Pieces that merging cannot make, because the model knows none of their characters.
    runs = {
        text: i
        for i, (text, kind) in enumerate(zip(texts, model.types, strict=True))
        if not (is_unigram and kind == PieceType.NORMAL) and known.isdisjoint(text)
    }
    characters = sorted({character for text in runs for character in text})
    first = len(texts) + len(model.unnumbered)
    ids = {character: first + i for i, character in enumerate(characters)}
    more, more_ends = pack_pieces(
        text.encode("utf-8", "surrogateescape") for text in (*(text for text, _ in model.unnumbered), *characters)
    )
    n_bytes = len(model.piece_bytes)
    ends = array("I", model.piece_ends) + array("I", [n_bytes + end for end in memoryview(more_ends).cast("I")])
    scores = array("f", model.scores) + array("f", [score for _, score in model.unnumbered])
    # make_segmenter gives these characters the score of an unknown character.
    only_by_table = (PieceType.UNUSED, PieceType.USER_DEFINED)
    types = bytes(PieceType.CONTROL if kind in only_by_table else kind for kind in model.types)
    extended = model._replace(
        piece_bytes=model.piece_bytes + more,
        piece_ends=ends.tobytes(),
        scores=scores.tobytes() + bytes(4 * len(characters)),
        types=types + bytes([PieceType.NORMAL]) * (len(model.unnumbered) + len(characters)),
        unnumbered=(),
    )
    return Extended(extended, first, {tuple(map(ids.__getitem__, text)): i for text, i in runs.items()})


def make_table(model: CodePointModel, extended: Extended, unknown: int) -> PieceIdTable:
    """Create the table of a model. unknown: id of pieces that the table lacks."""
    codes = _codes(model)
    return PieceIdTable(
        unknown,
        model.n_pieces,
        extended.first_character,
        extended.runs,
        finds_codes=_finds_codes(model),
        codes=SpecialMatcher([*codes], [*codes.values()]) if codes else None,
    )


def found_whole(model: CodePointModel) -> set[int]:
    """Return the ids that only the table of a model finds: runs of unknown characters, and language codes."""
    return {*extend(model).runs.values(), *_codes(model).values()} if model.has_table else set()


def _finds_codes(model: CodePointModel) -> bool:
    return model.conventions is not None and model.conventions.decoder == "Marian"


def _codes(model: CodePointModel) -> dict[bytes, int]:
    """Return the ids of Marian's language codes, such as >>de<<, by code."""
    pieces = enumerate(model.pieces if _finds_codes(model) else ())
    return {piece: i for i, piece in pieces if piece.startswith(b">>") and piece.find(b"<<") == len(piece) - 2}
