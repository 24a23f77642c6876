"""Encoding concurrently with an event loop.

A thread of the loop's executor encodes into an array, mostly without the GIL, and then converts it to lists in
small steps, so that the loop can run in between. A short text takes less time than handing it to a thread, so the
loop's own thread encodes it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable

from fastbpe._core.ids.id_lists import lists_in_turns
from fastbpe._utils.batches import OneText
from fastbpe.tokenizer.internals import check_tokenizers
from fastbpe.tokenizer.tokenizer import Tokenizer

_SHORT_UNITS = 1024  # characters of a str, or bytes: encoding no more takes less time than a switch of threads

Text = str | bytes
Special = str | Collection[str]


async def aencode(
    tokenizer: Tokenizer,
    text: Text,
    *,
    allowed_special: Special = frozenset(),
    disallowed_special: Special = "all",
    num_threads: int | None = None,
) -> list[int]:
    """Encode a text as `Tokenizer.encode` does, in a thread unless it is short, and leave the event loop free.

    A text of millions of ids blocks the loop for a few milliseconds at most, or longer if the split pattern needs
    the `regex` package. If the task is cancelled, the thread still runs to its end.

    Args:
        tokenizer: Tokenizer.
        text, allowed_special, disallowed_special, num_threads: as in `Tokenizer.encode`.

    Raises:
        SpecialTokenError, ValueError, TypeError: as in `Tokenizer.encode`.

    >>> import asyncio, fastbpe
    >>> tokenizer = fastbpe.Tokenizer.from_merges([(97, 98)], pattern=None)
    >>> asyncio.run(fastbpe.aencode(tokenizer, "abc"))
    [256, 99]
    """
    check_tokenizers(tokenizer=tokenizer)
    # The first call may build the tables, which would block the loop: a thread does that.
    if tokenizer._is_ready and isinstance(text, (str, bytes)) and len(text) <= _SHORT_UNITS:
        return tokenizer.encode(
            text, allowed_special=allowed_special, disallowed_special=disallowed_special, num_threads=num_threads
        )
    lists = await asyncio.to_thread(
        _lists, tokenizer, OneText((text,)), allowed_special, disallowed_special, num_threads
    )
    return lists[0]


async def aencode_batch(
    tokenizer: Tokenizer,
    texts: Iterable[Text],
    *,
    num_threads: int | None = None,
    allowed_special: Special = frozenset(),
    disallowed_special: Special = "all",
) -> list[list[int]]:
    """Encode each text, in order, as `Tokenizer.encode_batch` does, in a thread, and leave the event loop free.

    Args:
        tokenizer: Tokenizer.
        texts, num_threads, allowed_special, disallowed_special: as in `Tokenizer.encode_batch`. The thread
            iterates over the texts.

    Raises:
        SpecialTokenError, ValueError, TypeError: as in `Tokenizer.encode_batch`.

    >>> import asyncio, fastbpe
    >>> tokenizer = fastbpe.Tokenizer.from_merges([(97, 98)], pattern=None)
    >>> asyncio.run(fastbpe.aencode_batch(tokenizer, ["ab", "abc"]))
    [[256], [256, 99]]
    """
    check_tokenizers(tokenizer=tokenizer)
    return await asyncio.to_thread(_lists, tokenizer, texts, allowed_special, disallowed_special, num_threads)


def _lists(
    tokenizer: Tokenizer,
    texts: Iterable[Text],
    allowed_special: Special,
    disallowed_special: Special,
    num_threads: int | None,
) -> list[list[int]]:
    return lists_in_turns(*tokenizer._encode_to_array(texts, allowed_special, disallowed_special, num_threads))
