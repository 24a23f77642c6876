"""Texts that grow and are edited, with their ids at any time: `Tokenizer.conversation`.

The text is kept as segments that end at cuts (`stream_cuts` has the proof). The two characters next to a position
decide whether it is a cut. So an edit does not affect the cuts before its first and after its last character, and
mostly only the segments between these two are encoded again. Segments are found from the nearer end.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from itertools import chain
from typing import NoReturn

from fastbpe._core.encode.text_cuts import encode_part
from fastbpe._core.text.utf8_text import has_surrogates, plain, to_utf8
from fastbpe._utils.arguments import integer
from fastbpe._utils.choices import Side
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.suggestions import choose_one_of
from fastbpe.errors import VocabularyError
from fastbpe.tokenizer.cutting.boundaries import SIDES
from fastbpe.tokenizer.streams.stream_cuts import BEFORE, GrowingText

_N_SHOWN = 40  # characters that a repr shows
_SEGMENT_CHARACTERS = 256  # a longer segment ends at its first cut
_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_NOWHERE = sys.maxsize  # after every text; also more ids than any text has


class _Segment(NamedTuple):
    """Part of the text between two cuts."""

    text: str
    ids: list[int]
    after_fused: bool  # as `encode_part` returns it


class _Place(NamedTuple):
    """Index of a segment, and the numbers of characters and ids before it."""

    segment: int  # its index
    n_characters: int
    n_ids: int


class Conversation(GrowingText):
    """Text that grows and can be edited, with its current ids. `Tokenizer.conversation` creates it.

    The ids always equal `encode`'s for the whole text. Only one thread may use a conversation at a time. An error
    leaves it unchanged. `copy.copy` returns an independent copy. It cannot be pickled.

    >>> from fastbpe import Tokenizer
    >>> conversation = Tokenizer.from_merges([(97, 98), (256, 99)], pattern="gpt2").conversation()
    >>> conversation.append("ab ab"), conversation.append("c")
    ((0, [256, 32, 256]), (2, [257]))
    >>> conversation.text, conversation.ids
    ('ab abc', [256, 32, 257])
    """

    def _reset(self) -> None:
        self._segments: list[_Segment] = []
        self._n_characters = self._n_ids = 0

    def __repr__(self) -> str:
        """Show the size and the end of the text."""
        end = "".join([segment.text for segment in self._segments[-2:]])[-_N_SHOWN:]
        shown = f" that end with {end!r}" if self._n_characters > len(end) else f" {end!r}"
        return f"<fastbpe.Conversation of {self._n_ids:,} ids, {self._n_characters:,} characters{shown}>"

    def __copy__(self) -> Conversation:
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__, _segments=[*self._segments])
        return made

    def __reduce__(self) -> NoReturn:
        raise TypeError(
            "a Conversation cannot be pickled: pickle its Tokenizer and its text, and append the text to a new "
            "conversation()"
        )

    @property
    def text(self) -> str:
        """The whole text."""
        return "".join([segment.text for segment in self._segments])

    @property
    def ids(self) -> list[int]:
        """New list of the ids of the whole text."""
        return list(chain.from_iterable([segment.ids for segment in self._segments]))

    @property
    def n_tokens(self) -> int:
        """Number of ids of the whole text."""
        return self._n_ids

    def __len__(self) -> int:
        """Return the number of characters of the whole text, the unit of `replace`."""
        return self._n_characters

    def append(self, text: str | bytes) -> tuple[int, list[int]]:
        """Add text at the end.

        Args:
            text: str, or bytes of UTF-8.

        Returns:
            (replace_from, ids): the ids before replace_from stay, the ids from there on become `ids`. The first of
            `ids` differs from the id that it replaces.

        Raises:
            SpecialTokenError (a ValueError): the whole text would contain a disallowed special token.
            ValueError: the bytes are not UTF-8.
            TypeError: the text is not str or bytes.
        """
        place, old, new = self._replace(self._n_characters, self._n_characters, text)
        n_same = _n_same(old, new)
        return place + n_same, new[n_same:]

    def replace(self, start: int, end: int, text: str | bytes) -> tuple[int, int, list[int]]:
        """Replace text[start:end]. The time depends on the distance to the nearer end of the text.

        Args:
            start, end: int – positions in the whole text, in characters, as in a slice.
            text: str, or bytes of UTF-8; "" to delete.

        Returns:
            (replace_from, replace_to, ids): the old ids[replace_from:replace_to] are replaced by `ids`, all others
            stay.

        Raises:
            SpecialTokenError, ValueError, TypeError: as in `append`.
        """
        start, end, _ = slice(start, end).indices(self._n_characters)
        place, old, new = self._replace(start, max(start, end), text)
        n_same = _n_same(old, new)
        old, new = old[n_same:], new[n_same:]
        n_after = _n_same(old[::-1], new[::-1])
        n_old, n_new = len(old) - n_after, len(new) - n_after
        return place + n_same, place + n_same + n_old, new[:n_new]

    def truncate_to(self, max_tokens: int, *, side: Side = "right") -> tuple[int, int, list[int]]:
        """Cut off text so that at most max_tokens ids are left. With one more character, there would be more.

        No special or added token is cut in two.

        Args:
            max_tokens: int – maximum number of ids of the text that stays, 0 or more.
            side: side to cut off: "right", or "left" to drop the oldest text.

        Returns:
            The same tuple as `replace`.

        Raises:
            ValueError: max_tokens is negative, or side has another value.
        """
        if side not in SIDES:
            raise ValueError(choose_one_of("side", side, SIDES))
        max_tokens = integer("max_tokens", max_tokens)
        if max_tokens < 0:
            raise ValueError(f"max_tokens={max_tokens}: must be at least 0")
        if self._n_ids <= max_tokens:
            return self._n_ids, self._n_ids, []
        if side == "right":
            return self.replace(self._last_fitting(max_tokens), self._n_characters, "")
        return self.replace(0, self._first_fitting(max_tokens), "")

    # Replacing

    def _replace(self, start: int, end: int, text: str | bytes) -> tuple[int, list[int], list[int]]:
        """Replace text[start:end]; return the number of ids before the changed segments, their old and new ids."""
        new = plain(text) if isinstance(text, str) else to_utf8(text).decode()
        segments = self._segments
        first = self._find(start - 1)  # a cut right before `start` depends on the character there
        last = self._find(end)
        old_text = "".join([segment.text for segment in segments[first.segment : last.segment + 1]])
        head, tail = old_text[: start - first.n_characters], old_text[end - first.n_characters :]
        self._check(first, head, new, tail, last)
        state = first.segment > 0 and segments[first.segment - 1].after_fused
        made = self._encoded(first.segment, head + new + tail, last.segment + 1, state)
        n = last.segment + 1  # the segments before this index change
        # Encode the next segment again if it begins in another state. If there is one, `made` is not empty: it has
        # at least the character at `end`.
        while n < len(segments) and made[-1].after_fused != segments[n - 1].after_fused:
            made += self._encoded(n, segments[n].text, n + 1, made[-1].after_fused)
            n += 1
        old_ids = list(chain.from_iterable([segment.ids for segment in segments[first.segment : n]]))
        new_ids = list(chain.from_iterable([segment.ids for segment in made]))
        segments[first.segment : n] = made
        self._n_characters += len(new) - (end - start)
        self._n_ids += len(new_ids) - len(old_ids)
        return first.n_ids, old_ids, new_ids

    def _find(self, position: int) -> _Place:
        """Find the segment of a character: the first one for -1, the last one after the text."""
        segments, n_segments = self._segments, len(self._segments)
        if 2 * position < self._n_characters:
            index = n_characters = n_ids = 0
            while index < n_segments and n_characters + len(segments[index].text) <= position:
                n_characters += len(segments[index].text)
                n_ids += len(segments[index].ids)
                index += 1
            return _Place(index, n_characters, n_ids)
        index, n_characters, n_ids = n_segments, self._n_characters, self._n_ids
        while index and (index == n_segments or n_characters > position):
            index -= 1
            n_characters -= len(segments[index].text)
            n_ids -= len(segments[index].ids)
        return _Place(index, n_characters, n_ids)

    def _encoded(self, index: int, text: str, after: int, state: bool) -> list[_Segment]:
        """Return the segments of a text that is to replace the segments from `index` up to `after`.

        state: as `after_fused` of encode_part, at the beginning of the text.
        """
        before = BEFORE if index else ""
        behind = self._segments[after].text[0] if after < len(self._segments) else ""
        at, end = len(before), len(before) + len(text)
        whole = before + text + behind
        made = []
        while at < end:
            cut = end
            if self._near is not None and end - at > _SEGMENT_CHARACTERS:
                cut = min(self._near(whole, at, at + _SEGMENT_CHARACTERS), end)
            ids, state = encode_part(self._pipeline, whole, at, cut, self._allowed, state)
            made.append(_Segment(whole[at:cut], ids, state))
            at = cut
        return made

    def _check(self, first: _Place, head: str, new: str, tail: str, last: _Place) -> None:
        """Raise SpecialTokenError if a disallowed special token lies in the new text or across one of its ends."""
        if self._disallowed is None:
            return
        n, index = self._overlap, first.segment
        while len(head) < n and index:
            index -= 1
            head = self._segments[index].text + head
        index = last.segment + 1
        while len(tail) < n and index < len(self._segments):
            tail += self._segments[index].text
            index += 1
        self._refuse(head[-n:] + new + tail[:n])

    # Truncating

    def _last_fitting(self, max_tokens: int) -> int:
        """Find the last position up to which the text has at most max_tokens ids; one further, it has more.

        Requires: the text has more than max_tokens ids.
        """
        segments = self._segments
        # Find the segment whose ids exceed the maximum; n_ids and n_characters count what is before it.
        index, n_ids, n_characters = len(segments), self._n_ids, self._n_characters
        while n_ids > max_tokens:
            index -= 1
            n_ids -= len(segments[index].ids)
            n_characters -= len(segments[index].text)
        text, before = segments[index].text, BEFORE if index else ""
        state = index > 0 and segments[index - 1].after_fused
        places = self._places(text)
        low, high = 0, len(places) - 1  # text up to places[low] fits, up to places[high] it does not
        while high - low > 1:
            middle = (low + high) // 2
            part = before + text[: places[middle]]
            if n_ids + len(self._ids_of_part(part, len(before), len(part), state)[0]) <= max_tokens:
                low = middle
            else:
                high = middle
        return n_characters + places[low]

    def _first_fitting(self, max_tokens: int) -> int:
        """Find the first position from which the text has at most max_tokens ids; one before, it has more.

        Requires: the text has more than max_tokens ids.
        """
        segments = self._segments
        index, n_characters, n_after = 0, 0, self._n_ids - len(segments[0].ids)
        while n_after > max_tokens:
            n_characters += len(segments[index].text)
            index += 1
            n_after -= len(segments[index].ids)
        # A normalizer may change the beginning of a text, so that a part has other ids by itself. The next two
        # loops move to a segment from whose beginning the text does not fit, but from whose end it does.
        while index and self._count_from(index, 0, n_after) <= max_tokens:
            n_after += len(segments[index].ids)
            index -= 1
            n_characters -= len(segments[index].text)
        while index + 1 < len(segments):
            n_behind = n_after - len(segments[index + 1].ids)
            if self._count_from(index + 1, 0, n_behind) <= max_tokens:
                break
            n_characters += len(segments[index].text)
            index, n_after = index + 1, n_behind
        places = self._places(segments[index].text)
        low, high = 0, len(places) - 1  # text from places[low] on does not fit, from places[high] on it does
        while high - low > 1:
            middle = (low + high) // 2
            if self._count_from(index, places[middle], n_after) <= max_tokens:
                high = middle
            else:
                low = middle
        return n_characters + places[high]

    def _count_from(self, index: int, start: int, n_after: int) -> int:
        """Count the ids of the text from a position in a segment on; n_after of them are in later segments."""
        segments = self._segments
        n_ids, state, before = 0, False, ""
        while True:
            text = before + segments[index].text[start:]
            n_text = len(text)
            if index + 1 < len(segments):
                text += segments[index + 1].text[0]
            ids, state = self._ids_of_part(text, len(before), n_text, state)
            n_ids += len(ids)
            if index + 1 == len(segments) or state == segments[index].after_fused:
                return n_ids + n_after
            index, start, before = index + 1, 0, BEFORE
            n_after -= len(segments[index].ids)

    def _ids_of_part(self, text: str, start: int, end: int, state: bool) -> tuple[Sequence[int], bool]:
        """Encode text[start:end] as encode_part does; more ids than fit in memory if the vocabulary lacks some.

        A model without an unknown token may lack ids for a text that ends within an added token.
        """
        try:
            return encode_part(self._pipeline, text, start, end, self._allowed, state)
        except VocabularyError:
            return range(_NOWHERE), state

    def _places(self, text: str) -> Sequence[int]:
        """Return the positions of a segment, including 0 and its length, that are not inside a character or token.

        Tokens are the special and added tokens that are found in text.
        """
        matcher = self._pipeline.always if self._allowed is None else self._allowed
        found = [] if matcher is None else matcher.find_all(text)
        if not found and not has_surrogates(text):
            return range(len(text) + 1)
        places: list[int] = []
        tokens = iter([*found, (_NOWHERE, _NOWHERE, 0)])
        start, end, _ = next(tokens)  # in bytes
        n_bytes = position = 0
        while position < len(text):
            while n_bytes >= end:
                start, end, _ = next(tokens)
            if n_bytes <= start:
                places.append(position)
            size = 2 if _PAIR.match(text, position) else 1
            n_bytes += len(to_utf8(text[position : position + size]))
            position += size
        return [*places, len(text)]


def _n_same(a: list[int], b: list[int]) -> int:
    """Return the length of the common prefix of two lists of ids."""
    n = 0
    for first, second in zip(a, b, strict=False):
        if first != second:
            break
        n += 1
    return n
