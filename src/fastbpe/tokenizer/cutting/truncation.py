"""The longest part of a text with at most n ids, and division of a text into chunks of at most n ids.

`count_limits.cut_range` bounds the position between two safe cuts. `furthest_place` tries every position between
them, from the longest part down. If the cuts are more than TRIED characters apart:

- Tokenizers without a normalizer try positions between tokens. Merging does not change the ids before such a
  position, so the first one tried fits, unless the split pattern looks ahead. A part that ends within the next
  token may fit, too, if its last ids merge in another way; no such part is tried.
- Tokenizers that normalize text take such a position as a first guess. A search then counts the ids up to other
  positions, until it is close to the limit.

Positions are in characters. One end of the part is given: `origin`. The search finds the other end. Of the two
cuts, `near` is nearer to `origin`, and `far` is further from it. `room` is the number of ids that may lie between
`near` and the position found.
"""

# Tried and rejected: encoding a text once and cutting several chunks from its tokens: wrong where normalization
# turns one character into several.

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, partial
from typing import Any, cast

from fastbpe._core.encode.count_limits import (
    count_part,
    cut_range,
    furthest_place,
    inside,
    parts_within,
    takes_plain_text,
)
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.encode.offsets import sizes_of_tokens
from fastbpe._core.encode.text_cuts import may_cut
from fastbpe._core.text.utf8_text import plain, to_utf8
from fastbpe._utils.arguments import integer
from fastbpe._utils.batches import items_in
from fastbpe._utils.choices import Boundary, Side
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.short_reprs import fields_repr
from fastbpe._utils.suggestions import choose_one_of
from fastbpe.errors import VocabularyError, note_place
from fastbpe.tokenizer.cutting.boundaries import KINDS, SIDES, Boundaries, line_start

TRIED = 64  # characters between two safe cuts, up to which every position is tried
_MAX_IDS = 1 << 60  # ids of a text: more than fit in memory
_MAX_TRIED_BOUNDARIES = 8  # boundaries of a kind that are tried before finer ones
_MAX_LONGER = 2  # characters to try beyond the position found: a longer text may have fewer ids
_SPARE_IDS = 8  # ids to look beyond the limit: cutting a text may change the ids just before the cut
_MAX_GUESSES = 8  # guesses before bisection: guesses may approach the limit in small steps only
_MAX_GROWTH = 16  # factor by which a size may grow at once: a few tokens say little about the text after them
_END_SEARCH_IDS = 200  # with this room or more, most guesses count only the end of the part again
_END_MARGIN = 128  # characters to count before the end searched: after them, tokens rarely differ from the whole's
_END_FRACTION = 16  # only the end is searched once a guess is wrong by at most 1/16 of the part

#: Counts the ids from the cut `near` to a position, at most one more than the limit: (position, limit) -> n_ids.
Counter = Callable[[int, int], int]
#: Counts the ids of the text between two positions, encoded by itself: (start, end) -> n_ids.
PartCounter = Callable[[int, int], int]


class Chunk(NamedTuple):
    """Part of a text: text[start:end], which has n_tokens ids when encoded by itself."""

    text: str
    start: int
    end: int
    n_tokens: int

    def __repr__(self) -> str:
        return fields_repr(self)


def truncate(
    encoder: Encoder, text: str | bytes, max_tokens: int, side: Side, boundary: Boundary, *, with_total: bool
) -> str | tuple[str, int]:
    """Truncate a text. See `Tokenizer.truncate`."""
    n_ids, kinds = _checked(max_tokens, side, boundary)
    plain_text = _as_str(text)
    if not with_total and (found := _parts_within(encoder, [plain_text], n_ids, side, kinds)[0]) is not None:
        return found
    part, total = _truncated(encoder, plain_text, n_ids, side, kinds, with_total=with_total)
    return part if total is None else (part, total)


def truncate_batch(
    encoder: Encoder, texts: Iterable[str | bytes], max_tokens: int, side: Side, boundary: Boundary
) -> list[str]:
    """Truncate texts. See `Tokenizer.truncate_batch`."""
    n_ids, kinds = _checked(max_tokens, side, boundary)
    if isinstance(texts, (str, bytes)):
        raise TypeError("texts must be a list of texts, not one text: pass [text]")
    listed = list(items_in(texts))
    parts = _parts_within(encoder, listed, n_ids, side, kinds)
    for index, part in enumerate(parts):
        if part is not None:
            continue
        try:
            parts[index] = _truncated(encoder, _as_str(listed[index]), n_ids, side, kinds, with_total=False)[0]
        except (TypeError, ValueError) as error:
            note_place(error, f"texts[{index}]")
            raise
    return cast("list[str]", parts)


def _parts_within(
    encoder: Encoder, texts: list[Any], n_ids: int, side: Side, kinds: Sequence[str]
) -> list[str | None]:
    """Truncate those texts that need no search and no boundary; return None in place of each other text."""
    pipeline = encoder._pipeline
    if kinds or not (takes_plain_text(pipeline) and may_cut(pipeline, None, None)):
        return [None] * len(texts)
    return parts_within(pipeline, texts, n_ids, side == "left", TRIED)


def _checked(max_tokens: int, side: Side, boundary: Boundary) -> tuple[int, Sequence[str]]:
    """Return the maximum number of ids, and the kinds of boundaries to try, for arguments of `truncate`.

    Raises ValueError if an argument is out of range, TypeError if max_tokens is not an integer.
    """
    if side not in SIDES:
        raise ValueError(choose_one_of("side", side, SIDES))
    max_tokens = integer("max_tokens", max_tokens)
    if max_tokens < 0:
        raise ValueError(f"max_tokens={max_tokens}: must be at least 0")
    return min(max_tokens, _MAX_IDS), _kinds(boundary)


def _kinds(boundary: Boundary) -> Sequence[str]:
    """Return the kinds of boundaries to try: the given one, then finer ones; none for "token".

    Raises ValueError for an unknown kind.
    """
    if boundary == "token":
        return ()
    if boundary not in KINDS:
        raise ValueError(choose_one_of("boundary", boundary, ("token", *reversed(KINDS))))
    return KINDS[KINDS.index(boundary) :]


def _truncated(
    encoder: Encoder, text: str, n_ids: int, side: Side, kinds: Sequence[str], *, with_total: bool
) -> tuple[str, int | None]:
    """Truncate a text; if with_total, also return the number of ids of the whole text, else None."""
    origin, last = (0, len(text)) if side == "right" else (len(text), 0)
    pipeline = encoder._pipeline
    near, n_near, far = cut_range(pipeline, text, 0, len(text), n_ids, last < origin)
    reached = _reach_within(encoder, text, origin, last, n_ids, near, n_near, far)
    total = n_near + count_part(pipeline, text, origin, near, last, _MAX_IDS) if with_total else None
    if side == "right":
        found = [Boundaries(text, kind) for kind in kinds]
        return text[: _end(encoder, text, 0, 0, reached, n_ids, found)], total
    # Boundaries are found from the start of a line on; the line before `reached` may end right there.
    begin = line_start(text, max(reached - 1, 0)) if kinds else 0
    found = [Boundaries(text, kind, begin) for kind in kinds]
    return text[_start(encoder, text, reached, len(text), n_ids, found) :], total


def chunk(
    encoder: Encoder, text: str | bytes, max_tokens: int, overlap: int, boundary: Boundary, *, with_spans: bool
) -> Iterator[str] | Iterator[Chunk]:
    """Check the arguments now; return an iterator that cuts one chunk at a time. See `Tokenizer.chunk`."""
    max_tokens, overlap = integer("max_tokens", max_tokens), integer("overlap", overlap)
    if max_tokens < 1:
        raise ValueError(f"max_tokens={max_tokens}: must be at least 1")
    if not 0 <= overlap < max_tokens:
        raise ValueError(f"overlap={overlap}: must be at least 0, and less than max_tokens, {max_tokens}")
    kinds, plain_text = _kinds(boundary), _as_str(text)
    spans = _chunks(encoder, plain_text, min(max_tokens, _MAX_IDS), min(overlap, _MAX_IDS - 1), kinds)
    if not with_spans:
        return (plain_text[start:end] for start, end in spans)
    count = partial(count_part, encoder._pipeline, plain_text)
    return (Chunk(plain_text[start:end], start, end, count(start, start, end, _MAX_IDS)) for start, end in spans)


def _chunks(
    encoder: Encoder, text: str, max_tokens: int, overlap: int, kinds: Sequence[str]
) -> Iterator[tuple[int, int]]:
    start = end = 0
    found = [Boundaries(text, kind) for kind in kinds]
    while end < len(text):
        start, end = _next_chunk(encoder, text, start, end, max_tokens, overlap, found)
        yield start, end


def _next_chunk(
    encoder: Encoder, text: str, start: int, end: int, max_tokens: int, overlap: int, found: Sequence[Boundaries]
) -> tuple[int, int]:
    """Find the (start, end) of the chunk after text[start:end].

    If the overlap takes all max_tokens, halve it until a new character fits. Raises ValueError if it never does,
    and NoUnknownTokenError if the rest of the text has no ids.
    """
    while True:
        new_start = end
        if overlap:
            new_start = _start(encoder, text, _reach(encoder, text, end, start, overlap), end, overlap, found)
        new_end = _reach(encoder, text, new_start, len(text), max_tokens)
        if new_end > end:
            return new_start, _end(encoder, text, new_start, end, new_end, max_tokens, found)
        if not overlap:
            count_part(encoder._pipeline, text, end, end, len(text), _MAX_IDS)  # raises if the rest has no ids
            raise ValueError(
                f"max_tokens={max_tokens}: the character {text[end]!r} at position {end} alone has more tokens; "
                "raise max_tokens"
            )
        overlap //= 2


def _end(
    encoder: Encoder, text: str, start: int, low: int, high: int, n_ids: int, found: Sequence[Boundaries]
) -> int:
    """Find the last boundary in (low, high] up to which the text fits, of the coarsest kind with one; else high.

    If high is the end of the text, return it at once. Try at most _MAX_TRIED_BOUNDARIES of each kind.

    Requires: text[start:high] fits. found: boundaries by kind, from coarse to fine.
    """
    if high == len(text):
        return high
    for boundaries in found:
        position = boundaries.last(low, high)
        for _ in range(_MAX_TRIED_BOUNDARIES):
            if position is None:
                break
            # A cut within a piece may change the ids before it: text up to an earlier position may have more ids.
            if position == high or _count_fitting(encoder, text, start, start, position, n_ids) <= n_ids:
                return position
            position = boundaries.last(low, position - 1)
    return high


def _start(encoder: Encoder, text: str, low: int, end: int, n_ids: int, found: Sequence[Boundaries]) -> int:
    """Find the first boundary in [low, end) from which the text fits, of the coarsest kind with one; else low.

    If low is 0, return it at once. Otherwise as `_end`. Requires: text[low:end] fits.
    """
    if low == 0:
        return low
    for boundaries in found:
        position = boundaries.first(low, end)
        for _ in range(_MAX_TRIED_BOUNDARIES):
            if position is None:
                break
            if position == low or _count_fitting(encoder, text, position, position, end, n_ids) <= n_ids:
                return position
            position = boundaries.first(position + 1, end)
    return low


def _reach(encoder: Encoder, text: str, origin: int, last: int, n_ids: int) -> int:
    """Find the position furthest from origin, towards last, with at most n_ids ids in between.

    If the safe cuts around it are more than TRIED characters apart, a closer position may be found instead.
    """
    near, n_near, far = cut_range(
        encoder._pipeline, text, min(origin, last), max(origin, last), n_ids, last < origin
    )
    return _reach_within(encoder, text, origin, last, n_ids, near, n_near, far)


def _reach_within(
    encoder: Encoder, text: str, origin: int, last: int, n_ids: int, near: int, n_near: int, far: int
) -> int:
    """Find the position as `_reach` does, given the safe cuts around it (the result of `cut_range`)."""
    pipeline = encoder._pipeline
    room = n_ids - n_near
    # If not plain, normalization may leave no ids of some text after `near`. A split pattern may leave out text,
    # too: a part without room for more ids ends before such text.
    is_plain = takes_plain_text(pipeline)
    if near == far or (is_plain and not room):
        return near
    if abs(far - near) > TRIED:
        position = _search(encoder, text, origin, near, far, room)
    else:
        try:
            position = furthest_place(pipeline, text, origin, near, far, room)
        except VocabularyError:
            position = _furthest_fitting(encoder, text, origin, near, far, room)
    # A normalizer may put a space before a text, so that a part has more ids by itself than within a longer text.
    may_exceed = position == near and last < origin and not is_plain
    if may_exceed and count_part(pipeline, text, origin, origin, near, n_ids) > n_ids:
        return _reach(encoder, text, origin, near, n_ids)
    return position


def _count_fitting(encoder: Encoder, text: str, origin: int, near: int, place: int, limit: int) -> int:
    """Count as `count_part` does; more than the limit for a part that the vocabulary cannot encode.

    A model without an unknown token may be able to encode the text, but not a part that ends within a special
    token.
    """
    try:
        return int(count_part(encoder._pipeline, text, origin, near, place, limit))
    except VocabularyError:
        return limit + 1


def _furthest_fitting(encoder: Encoder, text: str, origin: int, near: int, far: int, room: int) -> int:
    """Find the position as `furthest_place` does, if the vocabulary cannot encode some of the parts."""
    for place in range(far, near, -1 if near <= far else 1):
        if not inside(text, place) and _count_fitting(encoder, text, origin, near, place, room) <= room:
            return place
    return near


def _search(encoder: Encoder, text: str, origin: int, near: int, far: int, room: int) -> int:
    """Find a position between near and far with at most room ids after near, trying only some positions."""
    pipeline = encoder._pipeline

    def count(position: int, limit: int) -> int:
        return _count_fitting(encoder, text, origin, near, position, limit)

    def count_alone(start: int, end: int) -> int:
        return _count_fitting(encoder, text, start, start, end, _MAX_IDS)

    sizes = _sizes_of_first_tokens(encoder, text, near, far, room + _SPARE_IDS)
    if takes_plain_text(pipeline):
        return _search_tokens(count, sizes, near, far, room)
    guess = sizes[room] if room < len(sizes) else abs(far - near)
    return _search_normalized(count, count_alone, text, near, far, room, guess)


def _sizes_of_first_tokens(encoder: Encoder, text: str, near: int, far: int, n_ids: int) -> Sequence[int]:
    """Return the numbers of characters in the first 0, 1, 2, ... tokens, from near towards far.

    The last item is the length of the text that was read. Ensures: more than n_ids tokens, or all of them.
    """
    size = n_ids
    min_size = 0
    while True:
        size = min(size, abs(far - near))
        part = text[near : near + size] if near <= far else text[near - size : near]
        try:
            sizes = _sizes_of_tokens(encoder, part, near > far)
        except VocabularyError:  # the part may end within a special token
            if size == abs(far - near):
                raise
            size *= 2
            continue
        n = len(sizes)
        if size == abs(far - near) or n > n_ids + 1:
            return sizes
        # Read as many characters as 1/8 more tokens than needed have at their average size so far. From the second
        # time on, at least double them: then all readings take at most about twice as long as the last one.
        # Two entries are not tokens: the 0 at the beginning, and the last token, which the cut may have changed.
        size += min(size * (n_ids * 9 // 8 + 2 - n) // max(n - 2, 1), _MAX_GROWTH * size) + 1
        size = max(min_size, size)
        min_size = 2 * size


def _sizes_of_tokens(encoder: Encoder, text: str, backward: bool) -> Sequence[int]:
    """Return the number of characters before token 0, 1, 2, ... and the length. backward: count from the end."""
    if encoder._pipeline.normalizing is None:
        return sizes_of_tokens(encoder._pipeline, text, backward)
    spans = memoryview(encoder._encode_with_spans((text,), (), (), "char")[1])
    if backward:
        return [len(text) - end for end in spans[::-2].tolist()] + [len(text)]
    return [*spans[::2].tolist(), len(text)]


# Text that is encoded without normalization


def _search_tokens(count: Counter, sizes: Sequence[int], near: int, far: int, room: int) -> int:
    """Try the ends of `room` tokens, then of fewer and fewer; return the first position with at most `room` ids.

    Returns far if the text has at most `room` tokens, near if no tried position fits.

    sizes: result of `_sizes_of_first_tokens`; near, far, room: as in `_search`.
    """
    if len(sizes) - 1 <= room:
        return far
    n_tokens = room
    while n_tokens:
        position = near + sizes[n_tokens] if near <= far else near - sizes[n_tokens]
        if count(position, room) <= room:
            return position
        n_tokens = n_tokens * 7 // 8
    return near


# Text that is normalized first


def _search_normalized(
    count_to: Counter, count_alone: PartCounter, text: str, near: int, far: int, room: int, guess: int
) -> int:
    """Find a position with at most `room` ids between near and it; as a rule, the next position has more.

    Begin with a guess, in characters from near on. If room is large, most guesses count only the end of the part.
    """
    step = 1 if near <= far else -1
    max_size = abs(far - near)

    def position(size: int) -> int:
        at = near + step * size
        return at - step if inside(text, at) else at

    @cache
    def count(size: int) -> int:
        # Up to twice the room, because the next guess depends on how far off this one is.
        return count_to(position(size), 2 * room + _SPARE_IDS)

    def count_end(start: int, size: int) -> int:
        return count_alone(position(start), position(size))

    size = _longest_by_end(count, count_end, max_size, room, guess) if room >= _END_SEARCH_IDS else None
    return position(_longest(count, max_size, room, guess) if size is None else size)


def _longest(count: Callable[[int], int], max_size: int, room: int, first: int) -> int:
    """Find a size with at most `room` ids; as a rule, the next size has more. Returns max_size if that fits.

    Begin with the guess `first`. Guess again from the average number of characters per id, then bisect. Then try a
    few longer sizes, because a longer text may have fewer ids.
    """
    low, high = 0, max_size + 1  # low fits; high does not, or is beyond the text
    size = min(max(first, 1), max_size)
    stride = n_guesses = 1
    while high - low > 1:
        n = count(size)
        low, high = (size, high) if n <= room else (low, size)
        guess = _guess(size, n, max_size, room)
        is_near = high - low <= size // max(n, 1)
        # If guesses stay on one side, approach the bound on the other side in doubling strides.
        size = min(max(guess, low + stride), high - stride)
        stride *= 1 if size == guess else 2
        if is_near or n_guesses > _MAX_GUESSES or not low < size < high:
            # Bisect; as long as every size has fitted, double.
            size = (low + high) // 2 if high <= max_size else min(2 * low + 1, max_size)
        n_guesses += 1
    longer = range(min(low + _MAX_LONGER, max_size), low, -1)
    return next((size for size in longer if count(size) <= room), low)


def _guess(size: int, n: int, max_size: int, room: int) -> int:
    """Guess the size with room + 1/2 ids, given that `size` characters have n ids."""
    return min(size * (2 * room + 1) // max(2 * n, 1), _MAX_GROWTH * size, max_size)


def _longest_by_end(
    count: Callable[[int], int], count_end: Callable[[int, int], int], max_size: int, room: int, first: int
) -> int | None:
    """Find a size as `_longest` does, but count only a stretch before the position for most guesses.

    Returns None if no guess comes close, or if a count from the beginning of the part contradicts the result.
    """
    size = min(max(first, 1), max_size)
    for _ in range(_MAX_GUESSES // 2):
        n = count(size)
        off = abs(n - room) * size // max(n, 1)
        if off <= size // _END_FRACTION:
            break
        size = _guess(size, n, max_size, room + _SPARE_IDS)
    else:
        return None
    start = max(size - 2 * off - _END_MARGIN, 0)
    room_of_end = max(room - n + count_end(start, size), 0)  # ids that may lie after `start`
    found = start + _longest(
        cache(lambda size_of_end: count_end(start, start + size_of_end)),
        max_size - start,
        room_of_end,
        size - start,
    )
    is_right = count(found) <= room and (found == max_size or count(found + 1) > room)
    return found if is_right else None


def _as_str(text: str | bytes) -> str:
    return plain(text) if isinstance(text, str) else to_utf8(text).decode()
