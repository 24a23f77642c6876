"""Mapping between the ids of any two vocabularies, by the kind and the bytes of their tokens."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable

from fastbpe.vocabularies.id_map import NONE, IdMap

#: Kind and bytes of a token. "text": ordinary text; "name": a special token, which text contains by its name or
#: never; "byte": a byte of byte fallback.
Entry = tuple[str, bytes]
Speller = Callable[[list[bytes]], list[tuple[int, ...]]]  # bytes of tokens → the ids that spell each
Entries = Iterable[tuple[int, Entry]]  # an id may have several entries, and an entry may have several ids


def map_between(old: Entries, n_old: int, new: Entries, n_new: int, spell: Speller) -> IdMap:
    """Return the map from one vocabulary to another.

    A new id is mapped to an old id with a common entry, to the same number if possible. An id that has a token in
    neither vocabulary is mapped to itself, so that the map of a vocabulary to itself keeps all rows.

    n_old, n_new: numbers of ids.
    spell: returns the old ids for the bytes of each token whose new id gets no old id. They are its `init_from`.
    """
    old_first, old_more = _by_id(old, n_old)
    new_first, new_more = _by_id(new, n_new)
    old_ids: dict[Entry, int] = {}
    others: dict[Entry, list[int]] = {}  # other ids with the same entry
    for old_id, entry in enumerate(old_first):
        if entry is not None and old_ids.setdefault(entry, old_id) != old_id:
            others.setdefault(entry, []).append(old_id)
    for old_id, more in old_more.items():
        for entry in more:
            if old_ids.setdefault(entry, old_id) != old_id:
                others.setdefault(entry, []).append(old_id)

    new_to_old = array("q", [NONE]) * n_new
    is_taken = bytearray(n_old)
    # Ids that keep their number come first, so that no other id takes the number. Among them are the ids without a
    # token in both, whose first entries are None.
    pairs = zip(new_first, old_first, strict=False)
    same = [new_id for new_id, (new_entry, old_entry) in enumerate(pairs) if new_entry == old_entry]
    for new_id in {*new_more, *old_more}:
        if new_id < min(n_new, n_old):
            entries = {new_first[new_id], *new_more.get(new_id, ())}
            if not entries.isdisjoint((old_first[new_id], *old_more.get(new_id, ()))):
                same.append(new_id)
    for new_id in same:
        new_to_old[new_id] = new_id
        is_taken[new_id] = 1
    without = []  # new ids with a token, but without a free old id of a common entry
    for new_id, first in enumerate(new_first):
        if first is None or new_to_old[new_id] != NONE:
            continue
        for entry in (first, *new_more[new_id]) if new_id in new_more else (first,):
            old_id = old_ids.get(entry, NONE)
            if entry in others:
                ids = sorted((old_id, *others[entry]))
                old_id = next((old_id for old_id in ids if not is_taken[old_id]), NONE)
            if old_id != NONE and not is_taken[old_id]:
                new_to_old[new_id] = old_id
                is_taken[old_id] = 1
                break
        else:
            without.append(new_id)
    spelled = spell([_bytes_of(new_first[new_id]) for new_id in without])
    return IdMap(n_old, new_to_old, dict(zip(without, spelled, strict=True)))


def _by_id(entries: Entries, n: int) -> tuple[list[Entry | None], dict[int, list[Entry]]]:
    """Return a list of the first entry of each id, or None, and a map from ids to their other entries."""
    first: list[Entry | None] = [None] * n
    more: dict[int, list[Entry]] = {}
    for token_id, entry in entries:
        if first[token_id] is None:
            first[token_id] = entry
        else:
            more.setdefault(token_id, []).append(entry)
    return first, more


def _bytes_of(entry: Entry | None) -> bytes:
    return entry[1] if entry is not None else b""
