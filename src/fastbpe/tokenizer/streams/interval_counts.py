"""Counting of the ids of any part of one text after one pass over it: `Tokenizer.interval_counter`.

The pass stores the number of ids before each of some cuts. Between two cuts inside a part, the part and the whole
text have the same ids (`stream_cuts` says why), so the difference of two numbers counts them. A call encodes only
the two ends of the part, up to its first cut and from its last cut on; a part without two cuts is encoded whole.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection
from typing import Any

from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.encode.text_cuts import encode_part, may_cut
from fastbpe._core.text.utf8_text import plain
from fastbpe._utils.short_reprs import short_repr
from fastbpe.tokenizer.streams.stream_cuts import BEFORE, NEARBY_CHARACTERS, Near, PairCuts, near_of

#: Approximate number of characters between two cuts that are kept: a call encodes about so many at each end.
_STEP = 256


class IntervalCounter:
    """Function of (start, end) that counts the ids of text[start:end]. `Tokenizer.interval_counter` creates it.

    It is immutable, so threads may share it. It can be pickled.
    """

    def __init__(
        self,
        tokenizer: Encoder,
        text: str,
        pairs: Callable[[], PairCuts | None],
        allowed_special: str | Collection[str],
        disallowed_special: str | Collection[str],
    ) -> None:
        if not isinstance(text, str):
            raise TypeError(f"text must be str, not {type(text).__name__}: start and end count characters")
        text = plain(text)
        self._encoder = tokenizer._finding((text,), allowed_special, disallowed_special)
        self._tokenizer, self._text, self._allowed_special = tokenizer, text, allowed_special
        self._cuts: list[int] = []
        self._sums: list[int] = []  # ids before each cut
        self._states: list[bool] = []  # after_fused at each cut, as `encode_part` returns it
        near = near_of(self._encoder._pipeline, pairs, None)
        if near is not None:
            self._count_all(near)

    def __repr__(self) -> str:
        return f"<fastbpe.IntervalCounter of {len(self._text):,} characters, {short_repr(self._text)}>"

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_encoder"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._encoder = self._tokenizer._finding((), self._allowed_special, ())  # the text has been checked

    def _count_all(self, near: Near) -> None:
        pipeline, text = self._encoder._pipeline, self._text
        searches_all = may_cut(pipeline, None, None)  # near() searches up to the end of the text, not only nearby
        at = n_ids = 0
        state = False
        start = 0  # no cut lies between `at` and here
        while start + _STEP < len(text):
            cut = near(text, start, start + _STEP)
            if cut == len(text):
                if searches_all:
                    break
                start += _STEP + NEARBY_CHARACTERS
                continue
            ids, state = encode_part(pipeline, text, at, cut, None, state)
            n_ids += len(ids)
            at = start = cut
            self._cuts.append(cut)
            self._sums.append(n_ids)
            self._states.append(state)

    def __call__(self, start: int, end: int) -> int:
        """Count the ids of text[start:end], encoded by itself. start, end: as in a slice."""
        start, end, _ = slice(start, end).indices(len(self._text))
        first, last = bisect_right(self._cuts, start), bisect_left(self._cuts, end) - 1
        pipeline, text = self._encoder._pipeline, self._text
        while first < last:
            cut = self._cuts[first]
            # The character after the cut belongs to it: two characters make a cut.
            ids, state = encode_part(pipeline, text[start : cut + 1], 0, cut - start, None, False)
            if state == self._states[first]:  # else the part and the whole text differ after the cut, too
                rest = BEFORE + text[self._cuts[last] : end]
                ids_of_rest, _ = encode_part(pipeline, rest, 1, len(rest), None, self._states[last])
                return len(ids) + self._sums[last] - self._sums[first] + len(ids_of_rest)
            first += 1
        return self._encoder.count(text[start:end], num_threads=1)
