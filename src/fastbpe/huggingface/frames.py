"""Frame of ids that a post-processor puts around one text or two, with their tokens and type ids."""

from __future__ import annotations

from fastbpe._utils.named_tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Item(NamedTuple):
    """Part of a frame: ids, or the place of a text.

    sequence: 0 or 1 for the first or second text; None for ids of the frame.
    ids, tokens: ids of the frame, and their tokens.
    type_id: type id of these ids, or of the ids of the text.
    """

    sequence: int | None
    ids: tuple[int, ...]
    tokens: tuple[str, ...]
    type_id: int


class Frame(NamedTuple):
    """Frame around one text or two: its items, in order.

    n_added: number of ids of the frame.
    before, behind: ids before and after the text, in a frame of one text.
    padding_sequence: number of the text that `sequence_ids` returns for padding; None: it returns None.
    """

    items: tuple[Item, ...]
    n_added: int
    before: list[int]
    behind: list[int]
    padding_sequence: int | None


def frame_of(encoding: Any, *, pair: bool, probe: str) -> Frame | None:
    """Return the frame that a post-processor has put around a text of one token.

    The frame of other texts is the same: no post-processor of tokenizers chooses its ids by the tokens of a text.

    None if the frame has a text twice or not at all, does not have one token per id, or is not exactly what
    special_tokens_mask marks.

    encoding: the encoding of the text in its frame. This function pads the encoding.
    pair: the frame is around two texts, each of the same token.
    probe: this token.
    """
    if len(encoding.tokens) != len(encoding.ids):
        return None
    items: list[Item] = []
    rows = [*zip(encoding.ids, encoding.tokens, encoding.type_ids, encoding.special_tokens_mask, strict=True)]
    for sequence, (token_id, token, type_id, masked) in zip(encoding.sequence_ids, rows, strict=True):
        if masked != (sequence is None) or (sequence is not None and token != probe):
            return None
        if sequence is None:
            items.append(Item(None, (token_id,), (token,), type_id))
        elif not items or items[-1].sequence != sequence:
            items.append(Item(sequence, (), (), type_id))
    if [item.sequence for item in items if item.sequence is not None] != [0, 1][: 1 + pair]:
        return None
    n_added = sum(len(item.ids) for item in items)
    if len(rows) != n_added + 1 + pair:  # a step of a Sequence took ids of the step before for the text
        return None
    place = [item.sequence for item in items].index(0)
    before = [token_id for item in items[:place] for token_id in item.ids]
    behind = [token_id for item in items[place + 1 :] for token_id in item.ids]
    encoding.pad(len(rows) + 1)  # by one id, whose sequence id is then the last
    return Frame(tuple(items), n_added, before, behind, encoding.sequence_ids[-1])
