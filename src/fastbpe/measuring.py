"""Texts measured by their ids: whether they fit, the part that does, and chunks.

Safe cuts bound the place (`_core.limits.window`); between two of them it is found by trying, from the longest part
on. Where there are none for a long stretch, the places between tokens are tried: merging leaves the ids before
them alone, so the first one holds unless the split pattern looks ahead. Where a text is changed first, ids are but
counted, for places closer and closer to where they become too many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sized
from functools import cache
from typing import TypeVar

from fastbpe._core.encoder import Encoder
from fastbpe._core.limits import takes_plain_text, window
from fastbpe._core.spans import pieces, sizes_of_tokens
from fastbpe._core.text import to_utf8

TRIED = 64  # characters without a safe cut of which every place is tried
_MOST = 1 << 60  # ids: no text has so many
_FURTHER = 8  # characters
_SPARE_IDS = 8  # behind the place: what is cut off may change the ids just before it
_GUESSES = 8  # then halves: guesses alone may come closer in small steps
_MOST_GROWN = 16  # times, at once: few tokens tell little of what follows

Tokens = TypeVar("Tokens", bound=Sized)  # one for each, or one more


class MeasuringEncoder(Encoder):
    """An encoder that cuts texts by their ids; special tokens are just text, as in `encode_ordinary`."""

    def pieces(self, text: str | bytes) -> list[tuple[int, int]]:
        """(start, end) in characters of each piece that the split pattern makes of a text. No merge crosses them.

        >>> from fastbpe import Tokenizer
        >>> ranks = {bytes([i]): i for i in range(256)}
        >>> Tokenizer.from_ranks(ranks, pattern="gpt2").pieces("It's 5 o'clock")
        [(0, 2), (2, 4), (4, 6), (6, 8), (8, 9), (9, 14)]
        """
        return pieces(self._pipeline.splitter, text)

    def fits(self, text: str | bytes, n: int) -> bool:
        """Whether a text has at most n ids; no more of it is read than that takes."""
        return self.count(text, limit=n) <= n

    def truncate(self, text: str | bytes, max_tokens: int, *, side: str = "right") -> str:
        """The longest part of a text that has at most max_tokens ids, from its beginning on.

        It is cut between characters, and encoded by itself it has no more ids than that. It is the longest there
        is; but in text that goes on for more than 64 characters without the end of a word or a number, or with a
        pattern that has no scanner, it may be a few characters shorter. The time grows with what is kept, not with
        the text.

        Args:
            text: str, or bytes of UTF-8.
            max_tokens: 0 or more.
            side: what is cut off: "right", or "left" for the longest part at the end.

        >>> from fastbpe import Tokenizer
        >>> ranks = {bytes([i]): i for i in range(256)} | {b"ab": 256}
        >>> tokenizer = Tokenizer.from_ranks(ranks, pattern=None)
        >>> tokenizer.truncate("ababab", 2), tokenizer.truncate("abé", 2), tokenizer.truncate("éa", 2, side="left")
        ('abab', 'ab', 'a')
        """
        if side not in ("right", "left"):
            raise ValueError(f"side={side!r}: choose 'right' or 'left'")
        if max_tokens < 0:
            raise ValueError(f"max_tokens={max_tokens}: give 0 or more")
        text = _as_str(text)
        n_ids = min(max_tokens, _MOST)
        if side == "right":
            return text[: self._prefix_end(text, 0, len(text), n_ids)]
        return text[self._suffix_start(text, 0, len(text), n_ids) :]

    def chunk(self, text: str | bytes, max_tokens: int, *, overlap: int = 0) -> Iterator[str]:
        """Cut a text into parts of at most max_tokens ids each, as `truncate` would, one after another.

        Args:
            text: str, or bytes of UTF-8.
            max_tokens: 1 or more; a ValueError says if a single character has more ids.
            overlap: each part begins with the end of the one before, as much as has at most so many ids; less
                where that would leave no room for anything new. Below max_tokens.

        >>> from fastbpe import Tokenizer
        >>> ranks = {bytes([i]): i for i in range(256)}
        >>> tokenizer = Tokenizer.from_ranks(ranks, pattern=None)
        >>> list(tokenizer.chunk("abcdefg", 3)), list(tokenizer.chunk("abcdef", 3, overlap=1))
        (['abc', 'def', 'g'], ['abc', 'cde', 'ef'])
        """
        if max_tokens < 1:
            raise ValueError(f"max_tokens={max_tokens}: give 1 or more")
        if not 0 <= overlap < max_tokens:
            raise ValueError(f"overlap={overlap}: give 0 or more, and less than max_tokens, {max_tokens}")
        return _chunks(self, _as_str(text), min(max_tokens, _MOST), min(overlap, _MOST - 1))

    def _prefix_end(self, text: str, start: int, end: int, n_ids: int) -> int:
        """Where the longest text[start:place] with at most n_ids ids ends, no later than `end`."""
        return _prefix_end(self, text, start, end, n_ids)

    def _suffix_start(self, text: str, start: int, end: int, n_ids: int) -> int:
        """Where the longest text[place:end] with at most n_ids ids begins, no earlier than `start`."""
        return _suffix_start(self, text, start, end, n_ids)


def _prefix_end(encoder: Encoder, text: str, start: int, end: int, n_ids: int) -> int:
    """Where the longest text[start:place] with at most n_ids ids ends, no later than `end`.

    Exact, but for stretches of more than TRIED characters without a safe cut: there it may be a little shorter.
    """
    if not takes_plain_text(encoder._pipeline):
        return _searched(encoder, text, start, end, n_ids)
    near, n_near, far = window(encoder._pipeline, text, start, end, n_ids, False)
    room = n_ids - n_near
    if near == far or not room:
        return near
    if far - near > TRIED:
        return _at_token(encoder, text, near, far, room)
    for place in range(far, near, -1):
        if not inside(text, place) and encoder.count(text[near:place], limit=room) <= room:
            return place
    return near


def _suffix_start(encoder: Encoder, text: str, start: int, end: int, n_ids: int) -> int:
    """Where the longest text[place:end] with at most n_ids ids begins, no earlier than `start`; as exact."""
    if not takes_plain_text(encoder._pipeline):
        return _searched(encoder, text, end, start, n_ids)
    near, n_near, far = window(encoder._pipeline, text, start, end, n_ids, True)
    room = n_ids - n_near
    if near == far or not room:
        return near
    if near - far > TRIED:
        return _at_token(encoder, text, near, far, room)
    for place in range(far, near):
        if not inside(text, place) and encoder.count(text[place:near], limit=room) <= room:
            return place
    return near


def _chunks(encoder: MeasuringEncoder, text: str, max_tokens: int, overlap: int) -> Iterator[str]:
    """Parts of at most max_tokens ids, each beginning with the end of the one before, of at most overlap ids."""
    start = end = 0
    while end < len(text):
        start, end = _next_chunk(encoder, text, start, end, max_tokens, overlap)
        yield text[start:end]


def _next_chunk(
    encoder: MeasuringEncoder, text: str, start: int, end: int, max_tokens: int, overlap: int
) -> tuple[int, int]:
    """What follows text[start:end]. It shares less where all of the overlap leaves no room for anything new."""
    while True:
        new_start = encoder._suffix_start(text, start, end, overlap) if overlap else end
        new_end = encoder._prefix_end(text, new_start, len(text), max_tokens)
        if new_end > end:
            return new_start, new_end
        if not overlap:
            raise ValueError(
                f"max_tokens={max_tokens}: the character {text[end]!r} at {end} alone has more tokens"
            )
        overlap //= 2


def _searched(encoder: Encoder, text: str, near: int, far: int, n_ids: int) -> int:
    """The place, from near on towards far, up to which there are at most n_ids ids, and which the next exceeds.

    For tokenizers that change texts first: found by guesses from how many characters an id has, then by bisection.
    A few places further on are tried, too, for longer text may have fewer ids.
    """
    step = 1 if near <= far else -1

    def place(size: int) -> int:
        at = near + step * size
        return at - step if inside(text, at) else at

    @cache
    def count(size: int) -> int:
        return encoder.count(_between(text, near, place(size)), limit=2 * n_ids + _SPARE_IDS)

    most = abs(far - near)
    low, high = 0, most + 1
    size = min(n_ids + _SPARE_IDS, most)
    stride = n_guesses = 1
    while high - low > 1:
        n = count(size)
        low, high = (size, high) if n <= n_ids else (low, size)
        guess = min(size * (2 * n_ids + 1) // max(2 * n, 1), _MOST_GROWN * size, most)  # amid the last of the ids
        is_near = high - low <= size // max(n, 1)
        size = min(max(guess, low + stride), high - stride)
        stride *= 1 if size == guess else 2
        if is_near or n_guesses > _GUESSES or not low < size < high:
            size = (low + high) // 2 if high <= most else min(2 * low + 1, most)
        n_guesses += 1
    further = range(min(low + _FURTHER, most), low, -1)
    return place(next((size for size in further if count(size) <= n_ids), low))


def _as_str(text: str | bytes) -> str:
    return text if isinstance(text, str) else to_utf8(text).decode()


def inside(text: str, place: int) -> bool:
    """Whether a place lies between the two halves of a character."""
    return (
        0 < place < len(text) and "\udc00" <= text[place] <= "\udfff" and "\ud800" <= text[place - 1] <= "\udbff"
    )


def _between(text: str, near: int, far: int) -> str:
    return text[near:far] if near <= far else text[far:near]


def _at_token(encoder: Encoder, text: str, near: int, far: int, room: int) -> int:
    """A place between tokens, from near on towards far, up to which there are at most so many ids."""
    _, sizes = sample(
        lambda part: sizes_of_tokens(encoder._pipeline, part, near > far), text, near, far, room + _SPARE_IDS
    )
    if len(sizes) - 1 <= room:
        return far
    kept = room
    while kept:
        place = near + sizes[kept] if near <= far else near - sizes[kept]
        if encoder.count(_between(text, near, place), limit=room) <= room:
            return place
        kept = kept * 7 // 8
    return near


def sample(read: Callable[[str], Tokens], text: str, near: int, far: int, n_ids: int) -> tuple[str, Tokens]:
    """Text from near on, towards far, that has more than n_ids ids, or all of it; and what reading it gave."""
    size = n_ids
    least = 0
    while True:
        size = min(size, abs(far - near))
        part = _between(text, near, near + size if near <= far else near - size)
        tokens = read(part)
        n = len(tokens)
        if size == abs(far - near) or n > n_ids + 1:
            return part, tokens
        size += min(size * (n_ids * 9 // 8 + 2 - n) // max(n - 2, 1), _MOST_GROWN * size) + 1  # 2 at its ends
        size = max(least, size)
        least = 2 * size
