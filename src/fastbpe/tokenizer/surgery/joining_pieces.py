"""Joining of two code-point vocabularies: pieces, and scores that keep both orders as far as possible."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import groupby

from fastbpe.errors import SpecialTokenError, VocabularyError
from fastbpe.model import TEXT_TYPES, CodePointModel, PieceType, pack_pieces
from fastbpe.tokenizer.families.codepoint_tables import METASPACE_UTF8, Parts, build, by_scores, make_normalizer
from fastbpe.tokenizer.families.symbol_merging import merge_steps, symbols_in
from fastbpe.tokenizer.surgery.token_makers import characters, mergeable, piece_makers
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.vocabularies.makers import with_makers
from fastbpe.vocabularies.orders import Levels, displaced, join, moved_behind


class PieceJoining:
    """Joining of the pieces of two models: first the pieces of `a`.

    own: texts of the special and added tokens of a.
    theirs: texts of the special and added tokens of b that the caller adds.
    make: function that creates a tokenizer from a model.

    Raises VocabularyError if scores cannot express the merges of one of the two, SpecialTokenError if a special
    token or control symbol of a is an ordinary piece of b.
    """

    def __init__(
        self,
        a: CodePointModel,
        b: CodePointModel,
        own: Iterable[str],
        theirs: Iterable[str],
        make: Callable[[CodePointModel], Tokenizer],
    ) -> None:
        self._a, self._b, self._make = _scored(a, "a"), _scored(b, "b"), make
        known = {piece: i for i, piece in enumerate(a.pieces)}
        special, left_to_caller = {name.encode() for name in own}, {name.encode() for name in theirs}
        kinds = mergeable(self._b)
        self._of_b = {piece: i for i, piece in enumerate(b.pieces)}
        self._places: dict[bytes, int] = {}  # piece → index of its level in the merged order
        self.common: set[int] = set()  # ids in b
        self.left_out: list[int] = []  # ids in b
        self._new: dict[bytes, int] = {}  # piece → id in b
        for i, (piece, kind) in enumerate(zip(b.pieces, self._b.types, strict=True)):
            is_text = kind in kinds and kind != PieceType.UNUSED and piece not in left_to_caller
            in_a = a.types[known[piece]] if piece in known else None
            if is_text and in_a is not None and (piece in special or in_a == PieceType.CONTROL):
                raise SpecialTokenError.is_ordinary(piece.decode("utf-8", "replace"), i)
            if kind == PieceType.UNKNOWN and PieceType.UNKNOWN in a.types:
                self.common.add(i)
            elif in_a is None and is_text and kind == PieceType.NORMAL:
                self._new[piece] = i
            elif in_a is not None and (in_a in TEXT_TYPES) == (kind in TEXT_TYPES):
                self.common.add(i)
            elif piece not in left_to_caller:
                self.left_out.append(i)  # also the text "<0x41>" if a has it as the name of a byte

    def joined(self) -> tuple[Tokenizer, dict[int, int], list[int]]:
        """Join the vocabularies, as `ByteJoining.joined` does."""
        a, new = self._a, [*self._new]
        own = _levels(a)
        levels = join(own, _levels(self._b, {*new}.union(*own)))
        makers = piece_makers(a, build(a))
        # The loop ends: if all pieces that merge in place of a piece of a were behind a's pieces, a's own merges
        # would come first and make it. So each round moves at least one piece behind.
        while True:
            model = _with(a, new, levels)
            parts = build(model)
            made = piece_makers(model, parts)
            broken = [a.piece(i) for i in makers if i not in made]
            if not broken:
                break
            levels = moved_behind(levels, _in_way(broken, new, parts))
        kept = self._reachable(model, made, new)
        if len(kept) < len(new):
            there = {*kept} | {*a.pieces}
            levels = [level for each in levels if (level := [piece for piece in each if piece in there])]
            model = _with(a, kept, levels)
        added = {self._new[piece]: a.n_pieces + number for number, piece in enumerate(kept)}
        unreachable = [self._new[piece] for piece in new if self._new[piece] not in added]
        self._places = {piece: number for number, level in enumerate(levels) for piece in level}
        return self._make(model), added, sorted((*self.left_out, *unreachable))

    def reordered(self, joined: Tokenizer) -> list[int]:
        """Return the ids in b of the smallest set of pieces without which the others merge in b's order."""
        pieces = (piece for level in _levels(self._b) for piece in level)
        listed = [piece for piece in pieces if len(characters(piece)) > 1 and piece in self._places]
        positions = displaced([self._places[piece] for piece in listed])
        return sorted(self._of_b[listed[position]] for position in positions)

    def _reachable(
        self, model: CodePointModel, made: Mapping[int, tuple[int, int]], new: Sequence[bytes]
    ) -> list[bytes]:
        """Return the new pieces that merging makes from normalized text, and the pieces that make them."""
        normalizer = make_normalizer(model, add_dummy_prefix=False)
        first = self._a.n_pieces
        good = []
        for i, piece in enumerate(new, first):
            # Between full stops, the normalizer does not trim the spaces of the piece.
            text = b"." + piece.replace(METASPACE_UTF8, b" ") + b"."
            is_made = i in made or len(characters(piece)) == 1
            if is_made and normalizer.normalize(text).replace(METASPACE_UTF8, b" ") == text:
                good.append(i)
        return [new[i - first] for i in sorted(with_makers(good, made)) if i >= first]


def _scored(model: CodePointModel, name: str) -> CodePointModel:
    """Return a model in which scores decide. Raises VocabularyError if scores cannot express its merges.

    name: the argument with the model, for the error.
    """
    scored = by_scores(model)
    # by_scores() makes pieces that no merge makes user-defined: such a model would find them in text.
    symbols = model.conventions is not None and model.conventions.symbols
    if scored.merges or (symbols and scored.types != model.types):
        raise VocabularyError(
            f"the merges of the argument {name} cannot be expressed as scores, so its pieces cannot be ranked "
            "together with others; with_tokens adds tokens without merges"
        )
    return scored


def _levels(model: CodePointModel, among: set[bytes] | None = None) -> Levels[bytes]:
    """List the pieces of text by score, the best first; pieces of the same score are one level.

    Pieces of one character, which no merge makes, come last. among: leave out all other pieces.
    """
    kinds = mergeable(model)
    scores = struct.unpack(f"={model.n_pieces}I", model.scores)
    order = []
    for i, piece in enumerate(model.pieces):
        if model.types[i] in kinds and (among is None or piece in among):
            # The bits of a score decide, as in codepoint_symbols: 0.0 is better than -0.0, NaN than all numbers.
            worse = scores[i] if scores[i] >> 31 else ~scores[i]
            order.append((len(characters(piece)) == 1, worse, piece))
    order.sort(key=lambda entry: entry[:2])
    return [[entry[2] for entry in level] for _, level in groupby(order, key=lambda entry: entry[:2])]


def _with(a: CodePointModel, new: Sequence[bytes], levels: Levels[bytes]) -> CodePointModel:
    """Return a model with more pieces, and scores by levels: 0 for the first, -1 for the second, and so on."""
    piece_bytes, piece_ends = pack_pieces([*a.pieces, *new])
    scores = [*struct.unpack(f"={a.n_pieces}f", a.scores), *[0.0] * len(new)]
    ids = {piece: i for i, piece in enumerate((*a.pieces, *new))}
    for number, level in enumerate(levels):
        for piece in level:
            scores[ids[piece]] = float(-number)
    values = dict(a.trainer.values)
    if "vocab_size" in values:
        values["vocab_size"] = len(ids)
    return a._replace(
        piece_bytes=piece_bytes,
        piece_ends=piece_ends,
        scores=struct.pack(f"={len(scores)}f", *scores),
        types=a.types + bytes([PieceType.NORMAL]) * len(new),
        trainer=a.trainer.with_values(values),
        self_test_data=None,
        serialized=b"",
        name=None,
        training={},
    )


def _in_way(broken: Iterable[bytes], new: Iterable[bytes], parts: Parts) -> set[bytes]:
    """Return the new pieces that merging makes in place of pieces that it no longer makes."""

    def as_merged(piece: bytes) -> bytes:
        """Write a piece as its symbol, which may contain spaces in place of U+2581."""
        return piece.replace(METASPACE_UTF8, b" ") if parts.marks_spaces else piece

    names, texts = {as_merged(piece): piece for piece in new}, parts.vocabulary.tokens()
    return {
        names[texts[symbol]]
        for piece in broken
        for _, _, symbol, _ in merge_steps(
            symbols_in(characters(as_merged(piece)), parts.vocabulary), parts.vocabulary
        )
        if texts[symbol] in names
    }
