"""Removal of pieces from code-point models."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from struct import iter_unpack

from fastbpe._core.text.utf8_text import to_utf8
from fastbpe._utils.arguments import integer
from fastbpe._utils.caching import cached_property
from fastbpe.errors import VocabularyError
from fastbpe.model import CodePointModel, PieceType, Spec, pack_merges, pack_pieces
from fastbpe.tokenizer.families.codepoint_tables import METASPACE_UTF8, Parts, build
from fastbpe.tokenizer.surgery.token_makers import characters, piece_makers, uncovered
from fastbpe.vocabularies.listed import ListedMerges
from fastbpe.vocabularies.makers import Makers, made_of

Renumber = Callable[[Collection[int]], Mapping[int, int]]  # ids to remove → new ids of the others

_ROLES = ("unk", "bos", "eos", "pad")


class PieceRemoval:
    """Removal of pieces from a code-point vocabulary: finds dependent pieces, and builds the model of the rest.

    names: its special and added tokens, text to id.
    """

    has_gaps = False

    def __init__(self, model: CodePointModel, parts: Parts, names: Mapping[str, int]) -> None:
        self._model = model
        self._names = names
        self.makers: Makers = piece_makers(model, parts)
        self.n_vocab = model.n_pieces

    @property
    def ranked(self) -> list[int]:
        """Ids of all pieces, the best priority first; pieces that merging does not make come last.

        In a unigram model: by score, the highest first.
        """
        if self._model.trainer["model_type"] == "unigram":
            scores = memoryview(self._model.scores).cast("B").cast("f")
            return sorted(range(self.n_vocab), key=lambda i: -scores[i])
        return [*dict.fromkeys((*self.makers, *range(self.n_vocab)))]

    @cached_property
    def kept(self) -> dict[int, str]:
        """Ids that are never removed, with the reason."""
        templates = self._model.templates
        around = {i: "part of the template around texts" for i in (*templates.single, *templates.pair) if i >= 0}
        return around | kept_always(self._model)

    @cached_property
    def special(self) -> set[int]:
        """Ids of pieces that are not normal, of added tokens, and of pieces with a character that is not a piece.

        This includes unused pieces: merging goes through them, although no text has their ids.
        """
        found = {i for i, kind in enumerate(self._model.types) if kind != PieceType.NORMAL}
        return found | {token.id for token in self._model.added_tokens} | {*uncovered(self._model)}

    def find(self, token: int | str | bytes) -> int | None:
        """Find the id of a piece by id, text or bytes, written with U+2581 or with spaces; None: no such piece."""
        if isinstance(token, (str, bytes)):
            data = to_utf8(token) if isinstance(token, str) else token
            named = self._names.get(data.decode("utf-8", "replace"))
            found = self._ids.get(data) if named is None else named
            return self._ids.get(data.replace(b" ", METASPACE_UTF8)) if found is None else found
        token = integer("a token", token)
        return token if 0 <= token < self.n_vocab else None

    @cached_property
    def _ids(self) -> dict[bytes, int]:
        return {piece: i for i, piece in enumerate(self._model.pieces)}

    def without(
        self, drop: Collection[int], renumber: Renumber
    ) -> tuple[CodePointModel, list[int], dict[int, tuple[int, int]]]:
        """Remove pieces from the model, and return what `ByteRemoval.without` returns.

        Raises VocabularyError if the model lists merges and all of them would be removed, or if a removed piece
        has a character that is not itself a piece.
        """
        new_ids = renumber(drop)
        merges = self._listed(drop) if self._model.merges else None
        model = _built(self._model, new_ids, merges)
        old_ids = {new: old for old, new in new_ids.items()} | {-1: -1}
        made = {
            old_ids[i]: (old_ids[left], old_ids[right])
            for i, (left, right) in piece_makers(model, build(model)).items()
        }
        lost = [i for i in self.makers if i not in drop and i not in made]
        if lost:  # no merge makes these, so no other piece is made of them, and nothing more is lost
            gone = {*drop, *lost}
            kept = [merge for merge in merges or () if gone.isdisjoint(merge)]
            model = _built(self._model, renumber(gone), kept if merges is not None else None)
        if merges is not None and not model.merges:
            raise VocabularyError("every merge would be removed: keep a token of several characters")
        _check_covered(self._model, {*drop, *lost})
        return model, lost, made

    def _listed(self, drop: Collection[int]) -> list[tuple[int, int, int]]:
        """Return the remaining listed merges, and new ones that remake pieces, in old ids."""
        gone = {*drop}
        pieces = self._model.pieces
        merges = [m for m in iter_unpack("=III", self._model.merges) if gone.isdisjoint(m)]
        rules = ListedMerges(((pieces[left], pieces[right]) for left, right, _ in merges), characters)
        rules.remake([pieces[i] for i in made_of(gone, self.makers)])  # adds to rules.pairs
        ids = {piece: i for i, piece in enumerate(pieces)}
        return [(ids[left], ids[right], ids[left + right]) for left, right in rules.pairs]


def _check_covered(model: CodePointModel, gone: Collection[int]) -> None:
    """Raise VocabularyError if a removed piece has a character that is not itself a piece."""
    bad = next((i for i in uncovered(model) if i in gone), None)
    if bad is not None:
        raise VocabularyError(
            f"the piece {bad}, {model.piece(bad).decode('utf-8', 'replace')!r}, contains a character that is not "
            "itself a piece, and the model has no byte fallback: without this piece, texts with it could not be "
            "restored; keep it"
        )


def _built(
    model: CodePointModel, new_ids: Mapping[int, int], merges: Iterable[tuple[int, int, int]] | None
) -> CodePointModel:
    """Return a model with the pieces that have a new id. merges: merges in old ids; None: scores decide."""
    kept = [*new_ids]
    pieces, scores = model.pieces, model.scores
    piece_bytes, piece_ends = pack_pieces([pieces[i] for i in kept])
    names = {token.content for token in model.added_tokens if token.id not in new_ids}
    names |= {piece.decode("utf-8", "replace") for i, piece in enumerate(pieces) if i not in new_ids}

    def new(ids: Iterable[int]) -> tuple[int, ...]:
        return tuple(i if i < 0 else new_ids[i] for i in ids)

    template, pair_template = model.template, model.pair_template
    return model._replace(
        piece_bytes=piece_bytes,
        piece_ends=piece_ends,
        scores=b"".join([scores[4 * i : 4 * i + 4] for i in kept]),
        types=bytes([model.types[i] for i in kept]),
        trainer=_renumbered(model, new_ids),
        merges=pack_merges((new_ids[left], new_ids[right], new_ids[i]) for left, right, i in merges or ()),
        added_tokens=[token._replace(id=new_ids[token.id]) for token in model.added_tokens if token.id in new_ids],
        template=None if template is None else (new(template[0]), new(template[1])),
        pair_template=None if pair_template is None else new(pair_template),
        roles={role: name for role, name in model.roles.items() if name not in names},
        piece_extras={new_ids[i]: extra for i, extra in model.piece_extras.items() if i in new_ids},
        self_test_data=None,  # it may name pieces that are gone
        serialized=b"",
        name=None,
        training={},
    )


def _renumbered(model: CodePointModel, new_ids: Mapping[int, int]) -> Spec:
    """Return the training options, with new ids of unk, bos, eos and pad (-1: removed), and the new vocab_size."""
    values = dict(model.trainer.values)
    for role in _ROLES:
        old = model.trainer[f"{role}_id"]
        if old >= 0 and new_ids.get(old) != old:
            values[f"{role}_id"] = new_ids.get(old, -1)
    if "vocab_size" in values:
        values["vocab_size"] = len(new_ids)
    return model.trainer.with_values(values)


def kept_always(model: CodePointModel) -> dict[int, str]:
    """Map the ids of pieces that are never removed to the reason."""
    reasons = {PieceType.BYTE: "a byte", PieceType.UNKNOWN: "the unknown piece"}
    kept = {i: reasons[kind] for i, kind in enumerate(model.types) if kind in reasons}
    for role in _ROLES[1:]:
        i = model.control_id(role)
        if i is not None:
            kept[i] = f"the model's {role} symbol"
    for i, (piece, kind) in enumerate(zip(model.pieces, model.types, strict=True)):
        if kind in (PieceType.NORMAL, PieceType.UNUSED) and len(characters(piece)) == 1:
            kept[i] = "a single character, and single characters always stay"
    return kept
