"""Texts measured by their ids: whether they fit, the part that does, and chunks.

Cuts bound the place (`_core.encode.count_limits.cut_range`); between two of them it is found by trying, from the
longest part on.
Where there are none for a long stretch, the places between tokens are tried: merging leaves the ids before them
alone, so the first one holds unless the split pattern looks ahead. Where a text is changed first, ids are but
counted, for places closer and closer to where they become too many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache

from fastbpe._core.encode.count_limits import count_part, cut_range, furthest_place, inside, takes_plain_text
from fastbpe._core.encode.decoding_encoder import DecodingEncoder
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.encode.offsets import pieces, sizes_of_tokens
from fastbpe._core.text.utf8_text import plain, to_utf8
from fastbpe._utils.arguments import integer

TRIED = 64  # characters without a cut of which every place is tried
_MOST = 1 << 60  # ids: no text has so many
_FURTHER = 8  # characters
_SPARE_IDS = 8  # behind the place: what is cut off may change the ids just before it
_GUESSES = 8  # then halves: guesses alone may come closer in small steps
_MAX_GROWTH = 16  # times, at once: few tokens tell little of what follows
_MANY = 200  # ids: to count these again and again takes longer than to look for the place among their ends
_END = 128  # characters, within which tokens nearly always are those of the whole text again
_CLOSE = 16  # what part of a text its end may be

#: How many ids there are up to a place, at most one more than the limit.
Counted = Callable[[int, int], int]
#: How many ids the text from one place to another has by itself.
CountedEnd = Callable[[int, int], int]


class MeasuringEncoder(DecodingEncoder):
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
        """Tell whether a text has at most n ids; read no more of it than that takes. n: 0 or more."""
        n = integer("n", n)
        if n < 0:
            raise ValueError(f"n={n}: give how many ids may fit, 0 or more")
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
        max_tokens = integer("max_tokens", max_tokens)
        if max_tokens < 0:
            raise ValueError(f"max_tokens={max_tokens}: give 0 or more")
        text = _as_str(text)
        n_ids = min(max_tokens, _MOST)
        if side == "right":
            return text[: self._reach(text, 0, len(text), n_ids)]
        return text[self._reach(text, len(text), 0, n_ids) :]

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
        max_tokens, overlap = integer("max_tokens", max_tokens), integer("overlap", overlap)
        if max_tokens < 1:
            raise ValueError(f"max_tokens={max_tokens}: give 1 or more")
        if not 0 <= overlap < max_tokens:
            raise ValueError(f"overlap={overlap}: give 0 or more, and less than max_tokens, {max_tokens}")
        return _chunks(self, _as_str(text), min(max_tokens, _MOST), min(overlap, _MOST - 1))

    def _reach(self, text: str, origin: int, last: int, n_ids: int) -> int:
        """The place, from origin on towards last, which may lie before it, up to which text has at most n_ids ids.

        The furthest, but for stretches of more than TRIED characters without a cut.
        """
        if self._pipeline is None:
            self._prepare()
        pipeline = self._pipeline
        near, n_near, far = cut_range(pipeline, text, min(origin, last), max(origin, last), n_ids, last < origin)
        room = n_ids - n_near
        is_plain = takes_plain_text(pipeline)
        if near == far or (is_plain and not room):
            return near
        if abs(far - near) > TRIED:
            place = self._searched_place(text, origin, near, far, room)
        else:
            place = furthest_place(pipeline, text, origin, near, far, room)
        # What a text begins with may be put before it, so that it has more ids alone than within a longer one.
        may_exceed = place == near and last < origin and not is_plain
        if may_exceed and count_part(pipeline, text, origin, origin, near, n_ids) > n_ids:
            return self._reach(text, origin, near, n_ids)
        return place

    def _searched_place(self, text: str, origin: int, near: int, far: int, room: int) -> int:
        """A place from near on towards far up to which there are at most room ids; not every place is tried."""
        pipeline = self._pipeline

        def count(place: int, limit: int) -> int:
            return count_part(pipeline, text, origin, near, place, limit)

        def count_end(start: int, place: int) -> int:
            return count_part(pipeline, text, start, start, place, _MOST)

        if takes_plain_text(pipeline):
            return _at_token(self, count, text, near, far, room)
        return _searched(count, count_end, text, near, far, room)


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
        new_start = encoder._reach(text, end, start, overlap) if overlap else end
        new_end = encoder._reach(text, new_start, len(text), max_tokens)
        if new_end > end:
            return new_start, new_end
        if not overlap:
            raise ValueError(
                f"max_tokens={max_tokens}: the character {text[end]!r} at {end} alone has more tokens"
            )
        overlap //= 2


def _searched(counted: Counted, counted_end: CountedEnd, text: str, near: int, far: int, room: int) -> int:
    """The place, from near on towards far, up to which there are at most so many ids, and which the next exceeds.

    For tokenizers that change texts first. Of many ids only the last are counted again and again.
    """
    step = 1 if near <= far else -1
    most = abs(far - near)

    def place(size: int) -> int:
        at = near + step * size
        return at - step if inside(text, at) else at

    @cache
    def count(size: int) -> int:
        return counted(place(size), 2 * room + _SPARE_IDS)

    def count_end(start: int, size: int) -> int:
        return counted_end(place(start), place(size))

    size = _longest_by_end(count, count_end, most, room) if room >= _MANY else None
    return place(_longest(count, most, room) if size is None else size)


def _longest(count: Callable[[int], int], most: int, room: int) -> int:
    """Of how many characters there are at most so many ids, and of one more there are not.

    Found by guesses from how many characters an id has, then by bisection. A few sizes more are tried, too, for
    longer text may have fewer ids.
    """
    low, high = 0, most + 1
    size = min(room + _SPARE_IDS, most)
    stride = n_guesses = 1
    while high - low > 1:
        n = count(size)
        low, high = (size, high) if n <= room else (low, size)
        guess = _guess(size, n, most, room)
        is_near = high - low <= size // max(n, 1)
        size = min(max(guess, low + stride), high - stride)
        stride *= 1 if size == guess else 2
        if is_near or n_guesses > _GUESSES or not low < size < high:
            size = (low + high) // 2 if high <= most else min(2 * low + 1, most)
        n_guesses += 1
    further = range(min(low + _FURTHER, most), low, -1)
    return next((size for size in further if count(size) <= room), low)


def _guess(size: int, n: int, most: int, room: int) -> int:
    """Amid the last of the ids that there is room for, if so many characters have n."""
    return min(size * (2 * room + 1) // max(2 * n, 1), _MAX_GROWTH * size, most)


def _longest_by_end(
    count: Callable[[int], int], count_end: Callable[[int, int], int], most: int, room: int
) -> int | None:
    """The same, looked for among ends, from some way before it on; None where all of the text says otherwise."""
    size = min(room + _SPARE_IDS, most)
    for _ in range(_GUESSES // 2):
        n = count(size)
        off = abs(n - room) * size // max(n, 1)
        if off <= size // _CLOSE:
            break
        size = _guess(size, n, most, room + _SPARE_IDS)
    else:
        return None
    start = max(size - 2 * off - _END, 0)
    of_end = room - n + count_end(start, size)
    found = start + _longest(cache(lambda more: count_end(start, start + more)), most - start, max(of_end, 0))
    is_right = count(found) <= room and (found == most or count(found + 1) > room)
    return found if is_right else None


def _as_str(text: str | bytes) -> str:
    return plain(text) if isinstance(text, str) else to_utf8(text).decode()


def _at_token(encoder: Encoder, counted: Counted, text: str, near: int, far: int, room: int) -> int:
    """A place between tokens, from near on towards far, up to which there are at most so many ids."""
    sizes = _first_sizes(encoder, text, near, far, room + _SPARE_IDS)
    if len(sizes) - 1 <= room:
        return far
    kept = room
    while kept:
        place = near + sizes[kept] if near <= far else near - sizes[kept]
        if counted(place, room) <= room:
            return place
        kept = kept * 7 // 8
    return near


def _first_sizes(encoder: Encoder, text: str, near: int, far: int, n_ids: int) -> Sequence[int]:
    """How many characters the first tokens take, from near on towards far: of more than n_ids, or of all."""
    size = n_ids
    least = 0
    while True:
        size = min(size, abs(far - near))
        part = text[near : near + size] if near <= far else text[near - size : near]
        sizes = sizes_of_tokens(encoder._pipeline, part, near > far)
        n = len(sizes)
        if size == abs(far - near) or n > n_ids + 1:
            return sizes
        size += min(size * (n_ids * 9 // 8 + 2 - n) // max(n - 2, 1), _MAX_GROWTH * size) + 1  # 2 at its ends
        size = max(least, size)
        least = 2 * size
