"""Texts measured by their ids: whether they fit, the part that does, and chunks.

Safe cuts bound the place (`_core.limits.window`); between two of them it is found by trying, from the longest part
on. Where there are none for a long stretch, the places between tokens are tried: merging leaves the ids before
them alone, so the first one holds unless the split pattern looks ahead.
"""

from __future__ import annotations

from collections.abc import Iterator

from fastbpe._core.encoder import Encoder
from fastbpe._core.limits import takes_plain_text, window
from fastbpe._core.spans import pieces
from fastbpe._core.text import to_utf8

TRIED = 64  # characters without a safe cut of which every place is tried
_MOST = 1 << 60  # ids: no text has so many
_FURTHER = 8  # characters
_SPARE_IDS = 8  # behind the place: what is cut off may change the ids just before it


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
        return _searched(encoder, text, start, end, n_ids, 1)
    near, n_near, far = window(encoder._pipeline, text, start, end, n_ids, False)
    room = n_ids - n_near
    if near == far or not room:
        return near
    if far - near > TRIED:
        return near + _tokens_before(encoder, text, near, far, room)
    for place in range(far, near, -1):
        if not inside(text, place) and encoder.count(text[near:place], limit=room) <= room:
            return place
    return near


def _suffix_start(encoder: Encoder, text: str, start: int, end: int, n_ids: int) -> int:
    """Where the longest text[place:end] with at most n_ids ids begins, no earlier than `start`; as exact."""
    if not takes_plain_text(encoder._pipeline):
        return _searched(encoder, text, end, start, n_ids, -1)
    near, n_near, far = window(encoder._pipeline, text, start, end, n_ids, True)
    room = n_ids - n_near
    if near == far or not room:
        return near
    if near - far > TRIED:
        return near - _tokens_behind(encoder, text, far, near, room)
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


def _searched(encoder: Encoder, text: str, near: int, far: int, n_ids: int, step: int) -> int:
    """The place, from near on towards far, up to which there are at most n_ids ids, as bisection finds it.

    For tokenizers that change texts first. A few places further on are tried: longer text may have fewer ids.
    """

    def place(size: int) -> int:
        at = near + step * size
        return at - step if inside(text, at) else at

    def fits(size: int) -> bool:
        at = place(size)
        return encoder.count(text[near:at] if step > 0 else text[at:near], limit=n_ids) <= n_ids

    most = abs(far - near)
    low, high = 0, min(4 * n_ids + _FURTHER, most)
    while high < most and fits(high):
        low, high = high, min(2 * high, most)
    if fits(high):
        return place(high)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    further = range(min(low + _FURTHER, most), low, -1)
    return place(next((size for size in further if fits(size)), low))


def _as_str(text: str | bytes) -> str:
    return text if isinstance(text, str) else to_utf8(text).decode()


def inside(text: str, place: int) -> bool:
    """Whether a place lies between the two halves of a character."""
    return (
        0 < place < len(text) and "\udc00" <= text[place] <= "\udfff" and "\ud800" <= text[place - 1] <= "\udbff"
    )


def _tokens_before(encoder: Encoder, text: str, near: int, far: int, room: int) -> int:
    """How many characters of text[near:far], from its beginning on, have at most so many ids."""
    part, offsets = _sample(encoder, text, near, far, room)
    kept = room
    while kept and len(offsets) > room:
        length = offsets[kept][0]
        if encoder.count(part[:length], limit=room) <= room:
            return length
        kept = kept * 7 // 8
    return 0 if len(offsets) > room else len(part)


def _tokens_behind(encoder: Encoder, text: str, far: int, near: int, room: int) -> int:
    """How many characters of text[far:near], at its end, have at most so many ids."""
    part, offsets = _sample(encoder, text, near, far, room)
    kept = room
    while kept and len(offsets) > room:
        start = offsets[-kept - 1][1]
        if encoder.count(part[start:], limit=room) <= room:
            return len(part) - start
        kept = kept * 7 // 8
    return 0 if len(offsets) > room else len(part)


def _sample(encoder: Encoder, text: str, near: int, far: int, room: int) -> tuple[str, list[tuple[int, int]]]:
    """Text from near on, towards far, that has more ids than there is room for, or all of it; and their places."""
    size = wanted = room + _SPARE_IDS
    while True:
        part = text[near : min(near + size, far)] if near < far else text[max(near - size, far) : near]
        _, offsets = encoder._encode_with_places(part, (), ())
        if len(part) == abs(far - near) or len(offsets) > wanted:
            return part, offsets
        size = max(2 * size, 2 * size * wanted // max(len(offsets), 1))
