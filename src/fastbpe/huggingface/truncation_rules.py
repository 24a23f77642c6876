"""Truncation by the rules of tokenizers: strategies, sides, and the parts that are cut off."""

from __future__ import annotations

from fastbpe._utils.named_tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

Part = tuple[int, int]  # indices of the first id of a part and of the id after its last


class Truncation(NamedTuple):
    """Truncation of texts that get a frame of ids.

    limit: maximum number of ids of a text, or of two together, without the frame.
    stride: number of ids that a part shares with the part before it.
    strategy: "longest_first", "only_first" or "only_second"; which text of a pair is cut. `parts_of` ignores it.
    left: cut ids off at the start of the text, not at its end.
    """

    limit: int
    stride: int
    strategy: str
    left: bool


def read_truncation(settings: Mapping[str, Any], n_added: int) -> Truncation | None:
    """Read the settings of a `tokenizers.Tokenizer`; None if that library must apply them or raise an error.

    In the result, the limit is positive and the stride is smaller than the limit.

    settings: value of its property `truncation`. n_added: number of ids of the frame.
    """
    limit = settings["max_length"] - n_added
    if limit <= 0 or settings["stride"] >= limit:
        return None
    return Truncation(limit, settings["stride"], settings["strategy"], settings["direction"] == "left")


def lengths_of_pair(truncation: Truncation, n_first: int, n_second: int) -> tuple[int, int] | None:
    """Return how many ids of two texts are kept; None if the strategy would leave no id of the text that it cuts.

    For None, tokenizers raises an error. It also raises one if a text is cut to no more ids than the stride, which
    the caller must check. Requires: the limit is positive.
    """
    limit, strategy = truncation.limit, truncation.strategy
    n_over = n_first + n_second - limit
    if n_over <= 0:
        return n_first, n_second
    if strategy == "only_first":
        return (n_first - n_over, n_second) if n_first > n_over else None
    if strategy == "only_second":
        return (n_first, n_second - n_over) if n_second > n_over else None
    # Longest first: the shorter text is kept whole, unless both are longer than half of the limit. Then each gets
    # half, and the longer one gets the odd id; of equally long ones, the second.
    short = min(n_first, n_second)
    long = limit - short
    if long < short:
        short, long = limit // 2, limit - limit // 2
    return (short, long) if n_first <= n_second else (long, short)


def parts_of(truncation: Truncation, n: int, limit: int) -> list[Part]:
    """Return (start, end) of the part of n ids that is kept, and of the parts cut off, in tokenizers' order.

    limit: maximum number of ids of a part. In a pair it is the text's share of `truncation.limit`, which is not
    read here. Requires: n <= limit, or the stride is smaller than limit.
    """
    if n <= limit:
        return [(0, n)]
    step = limit - truncation.stride
    parts = []
    if truncation.left:
        for end in range(n, 0, -step):
            parts.append((max(end - limit, 0), end))
            if end <= limit:
                break
    else:
        for start in range(0, n, step):
            parts.append((start, min(start + limit, n)))
            if start + limit >= n:
                break
    return parts


def pairs_of_parts(firsts: list[Part], seconds: list[Part]) -> list[tuple[Part, Part]]:
    """Pair the parts of two texts, in tokenizers' order: first the kept parts, then pairs with a part cut off.

    firsts, seconds: results of `parts_of`, so the first item of each is the kept part.
    """
    kept_first, kept_second = firsts[0], seconds[0]
    return [
        (kept_first, kept_second),
        *((first, second) for first in firsts[1:] for second in seconds),
        *((kept_first, second) for second in seconds[1:]),
    ]
