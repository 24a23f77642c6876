"""Makers: the two tokens whose merge makes a token. A vocabulary that keeps a token keeps its makers.

Each token is made by only one merge, for any ranks, scores or list (`tests/reference/__init__.py` has the proof).
So a token's makers, their makers and so on form a fixed tree: as long as all of it stays, the token is made as
before.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

Makers = Mapping[int, tuple[int, int]]  # id of a token → ids of its makers; -1: a character without an id


def with_makers(tokens: Iterable[int], makers: Makers, known: Collection[int] = ()) -> set[int]:
    """Return tokens and all tokens from which they are made. Omits known ids and does not look up their makers."""
    found: set[int] = set()
    todo = [*tokens]
    while todo:
        token = todo.pop()
        if token >= 0 and token not in known and token not in found:
            found.add(token)
            todo += makers.get(token, ())
    return found


def choose(n: int, ranked: Iterable[int], makers: Makers, always: Collection[int]) -> set[int]:
    """Choose n tokens: `always` with their makers, then the best ones, each with its makers if these still fit.

    One pass is enough: if the makers of a token that did not fit are chosen later, they take all the room.

    Args:
        n: at least the number of `always` with their makers, at most the number of all tokens.
        ranked: all tokens, the best first.
        always: tokens that stay in any case.
    """
    chosen = with_makers(always, makers)
    for token in ranked:
        if len(chosen) == n:
            break
        added = with_makers((token,), makers, chosen)
        if len(chosen) + len(added) <= n:
            chosen |= added
    return chosen


def made_of(gone: Collection[int], makers: Makers) -> list[int]:
    """List the tokens that are made from a token in `gone`, directly or indirectly."""
    is_made_of: dict[int, bool] = dict.fromkeys(gone, True)
    for token in makers:
        todo = [token]
        while todo:
            current = todo[-1]
            if current in is_made_of:
                todo.pop()
                continue
            pair = makers.get(current, ())
            unknown = [part for part in pair if part not in is_made_of]
            if unknown:
                todo += unknown  # first; then the token again
                continue
            is_made_of[current] = any(is_made_of[part] for part in pair)
            todo.pop()
    return [token for token in makers if is_made_of[token] and token not in gone]
