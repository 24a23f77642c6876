"""Listed merges as ranks, where that changes no id: tables of half the size, and all that only ranks can do."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from fastbpe._core.building import build_look_ups
from fastbpe._core.merge import recover_merges
from fastbpe._core.ranking import left_apart, rank_merges
from fastbpe._core.vocabulary import Vocabulary
from fastbpe.errors import VocabularyError
from fastbpe.model import Model, pack_pieces

N_BYTES = 256


def by_ranks(model: Model) -> Model:
    """The same vocabulary with its ranks deciding, if they give every text the same ids; else the model as it is.

    They do where merges were learned one after another and ids count them, which is to say nearly always.
    """
    if model.merges_rule == "ranks" or "pieces" in (model.tables or ()):  # what has its tables stays as it is
        return model
    if model.drops_bytes or not _may_follow(model):
        return model
    try:
        tables = model.tables
        if tables is None:
            tables = dict(zip(("token_bytes", "token_ends"), pack_pieces(model.tokens or []), strict=True))
        ranked = rank_merges(tables["token_bytes"], tables["token_ends"], model.merges, model.whole_piece_first)
        if ranked is None:
            return model
        tables, unmade = ranked
        if unmade:
            vocabulary = Vocabulary(**tables, whole_piece_first=True, code_points=None, drops_bytes=False)
            if not left_apart(vocabulary, unmade):
                return model
    except VocabularyError:  # whoever makes a tokenizer of it will say so
        return model
    return replace(
        model, tokens=None, tables=tables, merges=b"", merges_rule="ranks", whole_piece_first=True, fingerprint=""
    )


def merges_by_rank(vocabulary: Vocabulary, model: Model) -> bool:
    """Whether ranks give the same ids as a model's merges, though some tokens may be met as whole pieces only."""
    if model.merges_rule == "ranks":
        return True
    tables = vocabulary.sections()
    look_ups = build_look_ups(tables["token_bytes"], tables["token_ends"])
    ranked = Vocabulary(**look_ups, whole_piece_first=True, drops_bytes=model.drops_bytes, code_points=None)
    listed = model.merge_list() or []
    recovered = recover_merges(ranked)
    in_order = all(before[2] < behind[2] for before, behind in pairwise(listed))
    alike = in_order and recovered == {merged: (left, right) for left, right, merged in listed}
    # Without a merge, a token is found as a whole piece only.
    whole = model.whole_piece_first or len(recovered) == sum(len(token) > 1 for token in vocabulary.tokens())
    return alike and whole


def _may_follow(model: Model) -> bool:
    """Whether the last merge makes the last token: where it does not, there is no need to look at the others."""
    if model.whole_piece_first:  # then tokens may have no merge
        return True
    n_ids = len(model.tokens or []) if model.tables is None else len(model.tables["token_ends"]) // 4
    if not len(model.merges):
        return n_ids <= N_BYTES
    return int.from_bytes(bytes(model.merges[-4:]), "little") == n_ids - 1
