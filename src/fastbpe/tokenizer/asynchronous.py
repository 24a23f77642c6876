"""Encoding beside an event loop: `Tokenizer.aencode` and `Tokenizer.aencode_batch`.

A thread of the loop's executor encodes into an array, mostly without the GIL, and then makes lists of it in turns
with the loop. A short text takes less time than the way to a thread and back: the loop's own thread encodes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable

from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.ids.id_lists import lists_in_turns

_SHORT_UNITS = 1024  # characters of a str, or bytes: about 10 microseconds

Text = str | bytes
Special = str | Collection[str]


async def aencode(
    encoder: Encoder, text: Text, allowed_special: Special, disallowed_special: Special, num_threads: int | None
) -> list[int]:
    """Encode a text. See `Tokenizer.aencode`."""
    if encoder._pipeline is not None and isinstance(text, (str, bytes)) and len(text) <= _SHORT_UNITS:
        return encoder.encode(
            text, allowed_special=allowed_special, disallowed_special=disallowed_special, num_threads=num_threads
        )
    lists = await asyncio.to_thread(_lists, encoder, (text,), allowed_special, disallowed_special, num_threads)
    return lists[0]


async def aencode_batch(
    encoder: Encoder,
    texts: Iterable[Text],
    allowed_special: Special,
    disallowed_special: Special,
    num_threads: int | None,
) -> list[list[int]]:
    """Encode texts. See `Tokenizer.aencode_batch`."""
    return await asyncio.to_thread(_lists, encoder, texts, allowed_special, disallowed_special, num_threads)


def _lists(
    encoder: Encoder,
    texts: Iterable[Text],
    allowed_special: Special,
    disallowed_special: Special,
    num_threads: int | None,
) -> list[list[int]]:
    return lists_in_turns(*encoder._encode_to_array(texts, allowed_special, disallowed_special, num_threads))
