"""Frame of ids that a post-processor puts around one text or two, with type ids and masks."""

from __future__ import annotations

from typing import Any, NamedTuple

import tokenizers

_PROBE = "a"


class Item(NamedTuple):
    """Ids of a frame, or the place of a text.

    sequence: 0 or 1 for the first or second text; None for ids of the frame.
    ids: ids of the frame.
    type_id: type id of all of them.
    """

    sequence: int | None
    ids: tuple[int, ...]
    type_id: int


class Frame(NamedTuple):
    """Items in order.

    n_added: how many ids they add.
    before, behind: ids before the first text, and after it, in a frame of one text.
    padding_sequence: number of the text to which `sequence_ids` counts padding; None: it counts to none.
    """

    items: tuple[Item, ...]
    n_added: int
    before: list[int]
    behind: list[int]
    padding_sequence: int | None


def find_frame(tokenizer: Any, *, pair: bool, add_special_tokens: bool, fast: bool = False) -> Frame | None:
    """Find the frame by processing a probe.

    Args:
        tokenizer: a `tokenizers.Tokenizer`; it is not changed.
        pair: find the frame for two texts.
        add_special_tokens: as in its `encode`.
        fast: find the frame of `encode_batch_fast`, which has other type ids if no template sets them.

    Returns:
        None if the frame depends on the texts, or has a text twice or not at all.
    """
    bare: Any = tokenizers.Tokenizer(tokenizer.model)
    if tokenizer.post_processor is not None:
        bare.post_processor = tokenizer.post_processor
    probe = bare.encode(_PROBE, add_special_tokens=False).ids
    encode = bare.encode_batch_fast if fast else bare.encode_batch
    [encoding] = encode([(_PROBE, _PROBE) if pair else _PROBE], add_special_tokens=add_special_tokens)
    if not probe or encoding.n_sequences != 1 + pair:
        return None
    items: list[Item] = []
    rows = [*zip(encoding.ids, encoding.type_ids, encoding.special_tokens_mask, strict=True)]
    for sequence, (token_id, type_id, masked) in zip(encoding.sequence_ids, rows, strict=True):
        if masked != (sequence is None):
            return None
        if sequence is None:
            items.append(Item(None, (token_id,), type_id))
        elif not items or items[-1].sequence != sequence:
            items.append(Item(sequence, (), type_id))
    if [item.sequence for item in items if item.sequence is not None] != [0, 1][: 1 + pair]:
        return None
    n_added = sum(len(item.ids) for item in items)
    is_whole = len(rows) == n_added + len(probe) * (1 + pair)
    is_counted = not add_special_tokens or tokenizer.num_special_tokens_to_add(pair) == n_added
    if not (is_whole and is_counted):
        return None
    place = [item.sequence for item in items].index(0)
    before = [token_id for item in items[:place] for token_id in item.ids]
    behind = [token_id for item in items[place + 1 :] for token_id in item.ids]
    encoding.pad(len(rows) + 1)
    return Frame(tuple(items), n_added, before, behind, encoding.sequence_ids[-1])
