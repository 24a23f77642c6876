"""Where the tokens of a text lie, found out once: what chunks are cut at, one after another.

What a tokenizer makes of text between two places that no token lies across is what it makes of that text alone,
for no merge crosses them, if the text alone is also split as it was before. Splitting takes a small part of the
time of merging; so the tokens of a stretch are found once, and of what is cut out only the pieces are compared.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import cached_property
from itertools import pairwise

from fastbpe._core.encoder import Encoder
from fastbpe._core.limits import as_split
from fastbpe._core.spans import token_spans

_SPARE_IDS = 8  # behind a place: what is cut off may change the ids just before it
_AHEAD, _TIMES_AHEAD = (
    8192,
    7,
)  # ids at most, and times those asked for: some are read again
_TRIED = 16  # places; then it is not the ends of tokens that make the difference


class TokenPlaces:
    """The tokens of a stretch of one text, which is another one when others are asked for.

    With `ahead`, more is read than is asked for, for what will be asked next.
    """

    def __init__(self, encoder: Encoder, text: str, *, ahead: bool = False) -> None:
        self.text = text
        self._encoder = encoder
        self._most_ahead = _AHEAD if ahead else 0
        self._start = self._end = 0
        self._starts = self._ends = self._byte_ends = memoryview(b"").cast("Q")  # of each token, from _start on

    def prefix_end(self, near: int, far: int, room: int) -> int:
        """Where text[near:place] ends that has at most `room` ids; far if all of text[near:far] has no more."""
        first = self._place_of(near)
        if first is None or not (self._end >= far or len(self._starts) - first >= room + _SPARE_IDS):
            self._read(near, far, room)
            first = 0
        last = bisect_right(self._starts, far - self._start) - 1 if far < self._end else len(self._starts)
        last, n_tried = min(first + room, last), 0
        while last > first:
            while not self._is_place(last):
                last -= 1
            over = self._over(first, last, room) if last > first else 0
            if over <= 0:
                break
            last -= over if n_tried < _TRIED else max(over, (last - first) // 8)
            n_tried += 1
        return self._at(max(last, first))

    def suffix_start(self, near: int, far: int, room: int) -> int:
        """Where text[place:near] begins that has at most `room` ids; far if all of text[far:near] has no more."""
        last = self._place_of(near)
        if last is None or not (self._start <= far or last >= room + _SPARE_IDS):
            self._read(near, far, room)
            last = len(self._starts)
        first, n_tried = max(last - room, bisect_left(self._starts, far - self._start)), 0
        while first < last:
            while not self._is_place(first):
                first += 1
            over = self._over(first, last, room) if first < last else 0
            if over <= 0:
                break
            first += over if n_tried < _TRIED else max(over, (last - first) // 8)
            n_tried += 1
        return self._at(min(first, last))

    def longest_piece(self, start: int, end: int) -> int:
        """The bytes of the longest piece in text[start:end]; 0 if it is not known."""
        first, last = self._place_of(start), self._place_of(end)
        if self._pieces is None or first is None or last is None or first == last:
            return 0
        ends = _ends_between(self._pieces[1], self._byte_ends[first], self._byte_ends[last])
        return max(b - a for a, b in pairwise([0, *ends]))

    def _read(self, near: int, far: int, room: int) -> None:
        """Find the tokens from near on, towards far: more than there is room for, or all."""
        wanted = size = room + _SPARE_IDS
        more = wanted + min(_TIMES_AHEAD * room, self._most_ahead)
        while True:
            start, end = (near, min(near + size, far)) if near < far else (max(near - size, far), near)
            starts, ends, byte_ends = token_spans(self._encoder._pipeline, self.text[start:end])
            if end - start == abs(far - near) or len(starts) >= wanted:
                break
            size = max(2 * size, size * (more + more // 8) // max(len(starts), 1))
        self._start, self._end = start, end
        self._starts, self._ends, self._byte_ends = starts, ends, byte_ends
        self.__dict__.pop("_pieces", None)

    @cached_property
    def _pieces(self) -> tuple[bytes, list[int]] | None:
        """What is split, and where its pieces end; None where that is not all that there is to it."""
        split = as_split(self._encoder._pipeline, self.text[self._start : self._end])
        if split is not None and self._byte_ends[-1] != len(split[0]):
            return None  # a vocabulary that contradicts itself
        return split

    def _at(self, i: int) -> int:
        return self._start + self._starts[i] if i < len(self._starts) else self._end

    def _is_place(self, i: int) -> bool:
        """Whether no token lies across the place where token i begins."""
        return i in (0, len(self._starts)) or self._ends[i - 1] == self._starts[i]

    def _place_of(self, at: int) -> int | None:
        """The token that begins at a place of the text, none lying across it; None: there is none such here."""
        if not self._starts or not self._start <= at <= self._end:
            return None
        i = bisect_left(self._starts, at - self._start)
        return i if self._at(i) == at and self._is_place(i) else None

    def _over(self, first: int, last: int, room: int) -> int:
        """How many ids too many the text of some tokens alone has, which are no more than there is room for."""
        if first == 0 and last == len(self._starts):
            return last - room
        part = self.text[self._at(first) : self._at(last)]
        if self._pieces is not None:
            data, ends = self._pieces
            start, end = self._byte_ends[first], self._byte_ends[last]
            if as_split(self._encoder._pipeline, part) == (data[start:end], _ends_between(ends, start, end)):
                return 0
        return self._encoder.count(part, limit=2 * room) - room


def _ends_between(ends: list[int], start: int, end: int) -> list[int]:
    """Where pieces of data[start:end] end, when it is cut out of data whose pieces end at `ends`."""
    return [*(at - start for at in ends[bisect_right(ends, start) : bisect_left(ends, end)]), end - start]
