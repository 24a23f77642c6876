"""Encoding of long texts only as far as their first ids require."""

from __future__ import annotations

from fastbpe._core.encode.text_cuts import cut_near, may_cut
from fastbpe.tokenizer.tokenizer import Tokenizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeVar

    Made = TypeVar("Made")


CHARACTERS_PER_ID = 6  # characters to read per wanted id; in English and in code, an id takes 3 to 5


def encode_beginnings(
    encode: Callable[[Sequence[str]], Made],
    lengths: Callable[[Made], Sequence[int]],
    tokenizer: Tokenizer,
    texts: Sequence[str],
    n_ids: int,
    *,
    splits_special: bool,
) -> Made:
    """Encode texts, each at least up to the end of its first n_ids ids.

    A long text is cut at a safe cut, which does not change the ids before it. If a part has fewer than n_ids ids,
    `encode` runs again on all texts: it gets this text whole, and the others as before.

    encode: function that encodes a list of texts (str without lone surrogates) with the tokenizer.
    lengths: function from the result of `encode` to the number of ids of each text.
    splits_special: `encode` treats special tokens as ordinary text; False: it finds all of them.
    """
    begun = _beginnings(tokenizer, texts, n_ids * CHARACTERS_PER_ID, splits_special=splits_special)
    made = encode(begun)
    if begun is texts:
        return made
    is_short = [
        n < n_ids and len(part) < len(text) for n, part, text in zip(lengths(made), begun, texts, strict=True)
    ]
    if any(is_short):
        made = encode([text if short else part for short, part, text in zip(is_short, begun, texts, strict=True)])
    return made


def _beginnings(
    tokenizer: Tokenizer, texts: Sequence[str], n_characters: int, *, splits_special: bool
) -> Sequence[str]:
    """Cut each text of more than n_characters at a safe cut; return `texts` itself if none can be cut."""
    if all(len(text) <= n_characters for text in texts):
        return texts
    pipeline = tokenizer._pipeline
    finder, _ = tokenizer._special.choose((), ()) if splits_special else tokenizer._special.choose("all", ())
    if not may_cut(pipeline, finder, None):
        return texts
    return [
        text[: cut_near(pipeline, text, 0, n_characters)] if len(text) > n_characters else text for text in texts
    ]
