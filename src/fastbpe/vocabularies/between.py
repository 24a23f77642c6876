"""Map between the ids of any two vocabularies: by the kind and the bytes of their tokens."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence

from fastbpe.vocabularies.id_map import NONE, IdMap

#: Kind and bytes of a token. "text": found by merging; "name": found in text before that, or never; "byte": a byte
#: for which byte fallback stands in.
Entry = tuple[str, bytes]
Entries = Iterable[tuple[int, Entry]]  # an id may have several entries, and an entry several ids


def map_between(
    old: Entries, n_old: int, new: Entries, n_new: int, spell: Callable[[bytes], Sequence[int]]
) -> IdMap:
    """Make the map from one vocabulary to another.

    A new id is the old id with one of its entries, if possible the same number. An id without a token in either
    vocabulary is the same in both, so that a vocabulary's map to itself keeps all rows.

    Args:
        old, new: the entries of the two vocabularies.
        n_old, n_new: their numbers of ids.
        spell: gives the old ids for the bytes of a token that the old vocabulary does not have.
    """
    old_ids: dict[Entry, list[int]] = {}
    is_gap = bytearray(b"\1") * n_old
    for old_id, entry in old:
        old_ids.setdefault(entry, []).append(old_id)
        is_gap[old_id] = 0
    entries: list[list[Entry]] = [[] for _ in range(n_new)]
    for new_id, entry in new:
        entries[new_id].append(entry)

    new_to_old = array("q", [NONE]) * n_new
    is_taken = bytearray(n_old)
    for takes_others in (False, True):  # first those that keep their number, so that no other id takes it
        for new_id, listed in enumerate(entries):
            if new_to_old[new_id] != NONE:
                continue
            found = [old_id for entry in listed for old_id in old_ids.get(entry, ())]
            if not listed and new_id < n_old and is_gap[new_id]:
                found = [new_id]
            chosen = found if takes_others else [old_id for old_id in found if old_id == new_id]
            old_id = next((old_id for old_id in chosen if not is_taken[old_id]), NONE)
            if old_id != NONE:
                new_to_old[new_id] = old_id
                is_taken[old_id] = 1
    starts = {
        new_id: spell(listed[0][1])
        for new_id, listed in enumerate(entries)
        if listed and new_to_old[new_id] == NONE
    }
    return IdMap(n_old, new_to_old, starts)
