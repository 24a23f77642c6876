"""Replacement of listed merges by ranks if no id changes: tables halve, and more formats can store the result."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from fastbpe._core.merge.merge_piece import recover_merges
from fastbpe._core.merge.merges_as_ranks import follows_ranks, last_merges, left_apart, rank_merges
from fastbpe._core.merge.table_builder import build_look_ups
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe.errors import VocabularyError
from fastbpe.model import N_BYTES, Buffer, Model, pack_pieces


def by_ranks(model: Model) -> Model:
    """Return the model with ranks in place of its merges if every text keeps its ids.

    Otherwise return the model with its merges, and with its tables if the check built them.
    Nearly always, every text keeps its ids: if the ids are in the order of learning, or if the list was made
    from ranks.
    """
    if model.merges_rule == "ranks" or model.supermerges is not None:
        return model
    if "pieces" in (model.tables or ()) or model.fingerprint:  # tables are ready, or it is a native file
        return model
    if model.drops_bytes or model.spelling is not None or not _may_follow(model):
        return model
    try:
        tables = model.tables
        if tables is None:
            tables = dict(zip(("token_bytes", "token_ends"), pack_pieces(model.tokens or []), strict=True))
        ranked = _learned(model, tables)
        if ranked is None and _is_in_order(model):
            look_ups = build_look_ups(tables["token_bytes"], tables["token_ends"], model.merges)
            if not follows_ranks(_listed(look_ups, model), model.merges):
                return model._replace(tokens=None, tables=look_ups)
            ranked = build_look_ups(tables["token_bytes"], tables["token_ends"])
    except VocabularyError:  # making a tokenizer of it will raise the same error
        return model
    if ranked is None:
        return model
    return model._replace(
        tokens=None, tables=ranked, merges=b"", merges_rule="ranks", whole_piece_first=True, fingerprint=""
    )


def _learned(model: Model, tables: Mapping[str, Buffer]) -> dict[str, Buffer] | None:
    """Return tables of ranks if a fast check shows that these give the same ids as the merges; else None."""
    found = rank_merges(tables["token_bytes"], tables["token_ends"], model.merges, model.whole_piece_first)
    if found is None:
        return None
    ranked, unmade = found
    if unmade:
        vocabulary = Vocabulary(**ranked, whole_piece_first=True, drops_bytes=False)
        if not left_apart(vocabulary, unmade):
            return None
    return ranked


def _listed(look_ups: Mapping[str, Buffer], model: Model) -> Vocabulary:
    return Vocabulary(**look_ups, whole_piece_first=model.whole_piece_first, drops_bytes=model.drops_bytes)


def merges_by_rank(vocabulary: Vocabulary, model: Model) -> bool:
    """Tell whether ranks lead to the same ids as the model's merges.

    Ranks look up whole pieces first: if the model does not, merging must make every token.
    """
    if model.merges_rule == "ranks":
        return model.whole_piece_first or not unmade(vocabulary, made_by(vocabulary, model))
    return not model.drops_bytes and follows_ranks(vocabulary, model.merges)


def made_by(vocabulary: Vocabulary, model: Model) -> dict[int, tuple[int, int]]:
    """Map each token's id to the (left id, right id) of the merge that makes it, if one does; best first."""
    if model.merges_rule == "ranks":
        return recover_merges(vocabulary)
    made = last_merges(vocabulary, model.merges)
    # pair() finds each of them: `or` only tells the type checker so.
    return dict(sorted(made.items(), key=lambda item: vocabulary.pair(*item[1]) or (0, 0)))


def unmade(vocabulary: Vocabulary, made: Mapping[int, tuple[int, int]]) -> list[int]:
    """List the ids of the tokens of several bytes that no merge makes."""
    return [i for i, token in enumerate(vocabulary.tokens()) if len(token) > 1 and i not in made]


def _is_in_order(model: Model) -> bool:
    """Tell whether merges are listed in the order of the tokens that they make."""
    made = memoryview(model.merges).cast("B").cast("I")[2::3].tolist()
    return made == sorted(made)


def _may_follow(model: Model) -> bool:
    """Tell whether ranks may decide the merges; if not, skip the other checks.

    With ranks, every token is found as a whole piece, and merges have the order of the tokens that they make. So
    unless the model looks up whole pieces, too, its last merge must make its last token.
    """
    if model.whole_piece_first:  # then tokens without a merge may follow
        return True
    n_ids = len(model.tokens or []) if model.tables is None else len(model.tables["token_ends"]) // 4
    if not len(model.merges):
        return n_ids <= N_BYTES
    return int.from_bytes(bytes(model.merges[-4:]), sys.byteorder) == n_ids - 1
