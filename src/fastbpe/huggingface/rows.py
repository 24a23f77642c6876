"""Rows of a batch: texts, words, or pairs of either, encoded and truncated."""

from __future__ import annotations

from itertools import accumulate, chain, islice, pairwise, repeat

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.huggingface.columns import Encoded, Span, truncate
from fastbpe.huggingface.frames import Frame
from fastbpe.huggingface.inputs import Inputs
from fastbpe.huggingface.truncation_rules import Truncation
from fastbpe.tokenizer.cutting.beginnings import encode_beginnings
from fastbpe.tokenizer.tokenizer import Tokenizer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    #: Ids of each text, and spans of each; None: the call does not ask for spans.
    _Lists = tuple[list[list[int]], list[list[Span]] | None]
    _Encode = Callable[[Sequence[Any]], _Lists]
    #: Ids of each word of each list of words.
    WordIds = list[list[list[int]]]


class HandOver(Exception):
    """Raised if fastbpe does not handle a call: the original library must, or each row must be encoded by itself.

    The message is a noun phrase, by which `Engine.calls` counts the calls. It must not depend on a call's texts.
    """


class Plan(NamedTuple):
    """All settings that decide the ids of a batch.

    frame: ids around each row.
    settings, padding: values of the properties `truncation` and `padding` of a `tokenizers.Tokenizer`.
    truncation: `settings` as `read_truncation` reads them; None: no truncation.
    splits_special: special tokens in texts are treated as ordinary text.
    """

    tokenizer: Tokenizer
    frame: Frame
    settings: Mapping[str, Any] | None
    padding: Mapping[str, Any] | None
    truncation: Truncation | None
    splits_special: bool


class Offsets(NamedTuple):
    """Source of offsets.

    encode: function from texts to the ids of each text and the spans of each text. It uses a tokenizer that
        returns the same ids as `Plan.tokenizer`.
    by_place: the first token of a text is trimmed differently from the others. tokenizers trims after joining
        words and truncating, so its offsets may differ.
    """

    encode: _Encode
    by_place: bool


def check_trimming(truncation: Truncation | None, *, by_place: bool, overflowing: bool = False) -> None:
    """Raise HandOver if trimming after truncation would lead to other offsets. by_place: as in `Offsets`."""
    if truncation is not None and (overflowing or truncation.left) and by_place:
        raise HandOver("offsets that are trimmed after truncation")


def encode_rows(
    plan: Plan,
    inputs: Inputs,
    *,
    words: bool,
    overflowing: bool = False,
    offsets: Offsets | None = None,
    keep: Callable[[WordIds], object] | None = None,
) -> tuple[list[Encoded], list[int] | None]:
    """Encode the texts of each row, and truncate them.

    Returns the rows, and for each row the number of its input; None: each input is one row. Raises HandOver if the
    batch cannot be encoded as a whole, or truncating it is an error.

    words: texts are lists of words.
    overflowing: return the parts that truncation cuts off as additional rows.
    offsets: source of the spans; None: return no spans.
    keep: function of the ids of words. If the texts are lists of words, one call gets the first list of each row;
        with pairs, a second call gets the second list of each row.
    """
    tokenizer, truncation = plan.tokenizer, plan.truncation
    if offsets is not None:
        check_trimming(truncation, by_place=offsets.by_place, overflowing=overflowing)
    limit = None
    if truncation is not None and not words and inputs.seconds is None and not overflowing:
        limit = n_first_ids(truncation)

    def encode_texts(texts: Sequence[str]) -> _Lists:
        if offsets is not None:
            return offsets.encode(texts)
        return encode_ids(tokenizer, texts, splits=plan.splits_special)

    def encode(rows: Sequence[Any]) -> _Lists:
        if words:
            return _encode_words(encode_texts, rows, by_place=offsets is not None and offsets.by_place, keep=keep)
        if limit is not None:
            return encode_beginnings(
                encode_texts, _lengths, tokenizer, rows, limit, splits_special=plan.splits_special
            )
        return encode_texts(rows)

    rows = _pair_up(inputs, encode)
    if truncation is None:
        return rows, None
    cut = truncate(rows, truncation, overflowing=overflowing)
    if cut is None:
        raise HandOver("a truncation that tokenizers refuses, such as a text too short for only_first")
    return [part for parts in cut for part in parts], [i for i, parts in enumerate(cut) for _ in parts]


def _encode_words(
    encode: _Encode, rows: Sequence[Sequence[str]], *, by_place: bool, keep: Callable[[WordIds], object] | None
) -> _Lists:
    """Encode rows of words, each word as a text. by_place: as in `Offsets`. keep: as in `encode_rows`."""
    ids, spans = encode([*chain(*rows)])
    ends = [*accumulate(map(len, rows), initial=0)]
    places = [slice(*place) for place in pairwise(ends)]
    of_words = [ids[here] for here in places]
    if keep is not None:
        keep(of_words)
    joined = [[*chain(*its)] for its in of_words]
    if spans is None:
        return joined, None
    # fastbpe trims each word as a text. In the original, the first token of a row keeps the space that was put
    # before it; the first token of a later word keeps it only if it starts at 0.
    for here in places if by_place else ():
        if any(word[0][0] for word in islice(filter(None, spans[here]), 1, None)):
            raise HandOver("offsets that are trimmed in a word that does not start at 0")
    return joined, [[*chain(*spans[here])] for here in places]


def n_first_ids(truncation: Truncation) -> int | None:
    """Return how many of a text's first ids decide the result of truncating a single text; None: all."""
    # tokenizers raises an error for "only_second" if a text has more ids than the limit.
    return None if truncation.left else truncation.limit + (truncation.strategy == "only_second")


def _pair_up(inputs: Inputs, encode: _Encode) -> list[Encoded]:
    """Encode the first text of each row, and the second text if the row has two."""
    made = [encode(texts) for texts in inputs.texts]
    if len(made) == 1 and made[0][1] is None:  # as nearly always
        return [Encoded((ids,), None) for ids in made[0][0]]
    spans = [its for _, its in made if its is not None]
    rows = zip(*(ids for ids, _ in made), strict=True)
    return [*map(Encoded, rows, zip(*spans, strict=True) if spans else repeat(None))]


def _lengths(made: _Lists) -> list[int]:
    return [*map(len, made[0])]


def encode_ids(tokenizer: Tokenizer, texts: Sequence[str], *, splits: bool) -> _Lists:
    """Encode texts. splits: special tokens in the texts are treated as ordinary text."""
    if splits:
        return tokenizer.encode_ordinary_batch(texts), None
    if len(texts) == 1:  # faster for one text
        return [tokenizer.encode(texts[0], allowed_special="all")], None
    return tokenizer.encode_batch(texts, allowed_special="all"), None


def encode_spans(
    tokenizer: Tokenizer, texts: Sequence[str], *, splits: bool
) -> tuple[list[list[int]], list[list[Span]]]:
    """Encode texts with offsets. splits: as in `encode_ids`."""
    allowed: Any = frozenset() if splits else "all"
    made = tokenizer.encode_batch_with_offsets(texts, allowed_special=allowed, disallowed_special=())
    return [ids for ids, _ in made], [spans for _, spans in made]
