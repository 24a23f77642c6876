"""Model from a run of code-point training: ids and scores of its pieces, and its `.vocab` file."""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence

from fastbpe.errors import SpecError
from fastbpe.formats.sentencepiece import specs
from fastbpe.model import CodePointModel, PieceType, pack_pieces
from fastbpe.training.codepoint_options import CodePointOptions


def make_model(learned: Sequence[str], scores_of: Sequence[float], options: CodePointOptions) -> CodePointModel:
    """Return the model: symbols get their ids, learned pieces and characters get the free ids, in order.

    Args:
        learned: the pieces that are not symbols.
        scores_of: the score of each learned piece.
        options: options of the run.

    Raises:
        SpecError: a symbol's id is beyond the last piece, two pieces have the same text, or there are too few
            pieces.
    """
    n_ids = len(options.metas) + len(learned)
    texts = [piece.encode() for piece in learned]
    pieces: list[bytes] = []
    scores = array("f")
    types = bytearray()
    rank = 0  # index of the next learned piece
    for symbol_id, (name, type_) in sorted(options.metas.items()):
        end = rank + symbol_id - len(pieces)
        if end > len(learned):
            _check_distinct(pieces + texts[rank:])
            raise SpecError(
                f"{name!r} cannot have the id {symbol_id}: there are only {n_ids} pieces; choose a lower id",
                "[(model_proto->pieces_size() - 1) == (it->first)] ",
            )
        pieces += [*texts[rank:end], name.encode()]
        scores.extend([*scores_of[rank:end], 0.0])
        types += bytes([PieceType.NORMAL]) * (end - rank) + bytes([type_])
        rank = end
    pieces += texts[rank:]
    scores.extend(scores_of[rank:])
    types += bytes([PieceType.NORMAL]) * (len(learned) - rank)
    _check_distinct(pieces)
    trainer = options.trainer
    check_number(n_ids, options)
    if options.only_characters or not trainer["hard_vocab_limit"]:
        trainer = specs.make(specs.TRAINER, {**trainer.values, "vocab_size": n_ids})
    piece_bytes, piece_ends = pack_pieces(pieces)
    return CodePointModel(
        piece_bytes=piece_bytes,
        piece_ends=piece_ends,
        scores=_little_endian(scores),
        types=bytes(types),
        trainer=trainer,
        normalizer=options.normalizer,
        denormalizer=options.denormalizer,
    )


def check_number(n_ids: int, options: CodePointOptions) -> None:
    """Raise SpecError if there are fewer pieces than vocab_size, and hard_vocab_limit forbids that."""
    vocab_size = options.trainer["vocab_size"]
    if not options.only_characters and options.trainer["hard_vocab_limit"] and n_ids != vocab_size:
        raise SpecError(
            f"vocab_size={vocab_size} is too large: the text gives only {n_ids} pieces; lower it, or set "
            "hard_vocab_limit=False",
            f"Vocabulary size too high ({vocab_size}). Please set it to a value <= {n_ids}.",
        )


def _check_distinct(pieces: list[bytes]) -> None:
    """Raise SpecError if two ids have the same text."""
    if len(set(pieces)) == len(pieces):
        return
    seen: set[bytes] = set()
    for piece in pieces:
        if piece in seen:
            name = piece.decode()
            raise SpecError(
                f"{name!r} is two pieces: a symbol, and another symbol or a character of required_chars=; leave "
                "one of the two out",
                f"{name} is already defined",
            )
        seen.add(piece)


def _little_endian(numbers: array[float]) -> bytes:
    return struct.pack(f"={len(numbers)}f", *numbers)


def vocabulary_text(model: CodePointModel) -> bytes:
    """Return the `.vocab` file that sentencepiece writes next to a model: one line per id.

    >>> options = CodePointOptions.of({"vocab_size": 4})
    >>> vocabulary_text(make_model(["a"], [-2.5], options)).decode().splitlines()[-1]
    'a\\t-2.5'
    """
    if not model.trainer["vocabulary_output_piece_score"]:
        return b"".join(piece + b"\n" for piece in model.pieces)
    scores = struct.unpack(f"={model.n_pieces}f", model.scores)
    return b"".join(
        b"%s\t%s\n" % (piece, b"%g" % score) for piece, score in zip(model.pieces, scores, strict=True)
    )
