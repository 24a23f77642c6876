"""Columns of rows besides their ids (tokens, words, offsets, masks), each computed when a program reads it."""

from __future__ import annotations

from bisect import bisect_left
from itertools import chain

from fastbpe.huggingface.columns import Encoded, Layout, Span, cuts_of
from fastbpe.huggingface.inputs import Inputs
from fastbpe.huggingface.rows import HandOver, Offsets, Plan, encode_ids, encode_rows

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from fastbpe.huggingface.rows import WordIds
    from fastbpe.tokenizer.families.words import Words


class RowColumns:
    """Source of the columns of a call's rows.

    plan, inputs: as for `encode_rows`.
    layout: origin of the ids of each row.
    samples: for each row, the number of its input (later rows of an input are parts that truncation cut off);
        None: each input is one row.
    of_words: the inputs are lists of words.
    offsets: function that returns the source of offsets.
    words_of: function from a text and its ids to its `Words`.
    names: token of each id.
    word_ids: what `encode_rows` gave to `keep`; None: lists of words are encoded when a column needs them.
    """

    def __init__(
        self,
        plan: Plan,
        inputs: Inputs,
        layout: Layout,
        samples: list[int] | None,
        *,
        of_words: bool,
        offsets: Callable[[], Offsets],
        words_of: Callable[[str, list[int]], Words],
        names: Mapping[int, str],
        word_ids: list[WordIds] | None = None,
    ) -> None:
        self._plan, self._inputs, self._layout, self._samples = plan, inputs, layout, samples
        self._of_words, self._make_offsets, self._words_of, self._names = of_words, offsets, words_of, names
        self._word_ids = word_ids
        self._with_offsets: list[Encoded] | None = None  # the rows, encoded again for their spans
        self._last: tuple[int, list[tuple[list[int], Words]]] | None = None  # input, ids and words of its texts

    def column(self, name: str, i: int, ids: list[int]) -> list[Any] | None:
        """Return a column of row i; None: only encoding the row by itself can compute it.

        name: a key of _OF_LAYOUT, "offsets", "tokens" or "words".
        ids: the ids of the row.
        """
        make = _OF_LAYOUT.get(name)
        if make is not None:
            found: list[Any] = make(self._layout, i)
            return found
        if name == "offsets":
            return self._offsets(i)
        place = self._layout.tokens if name == "tokens" else self._layout.words
        return place(i, self._of_texts(name, i, ids))

    def _offsets(self, i: int) -> list[Span] | None:
        """Return the offsets of row i. The first call encodes all rows again, with offsets."""
        if self._with_offsets is None:
            options: dict[str, Any] = {"words": self._of_words, "overflowing": self._samples is not None}
            try:
                made, _ = encode_rows(self._plan, self._inputs, offsets=self._make_offsets(), **options)
            except HandOver:
                return None
            self._with_offsets = made
        return self._layout.spans(i, self._with_offsets[i])

    def _of_texts(self, name: str, i: int, ids: list[int]) -> list[list[Any]]:
        """Return the tokens or the word numbers of each text of row i."""
        sample = i if self._samples is None else self._samples[i]
        if self._of_words:
            whole = self._of_word_lists(name, sample)
        else:
            last = self._last  # read once: other threads may read other rows
            if last is None or last[0] != sample:
                last = self._last = sample, self._find_words(sample, i, ids)
            if name == "tokens":
                whole = [tokens_of(self._names, its, words) for its, words in last[1]]
            else:
                whole = [words.numbers for _, words in last[1]]
        if self._plan.truncation is None:
            return whole
        cuts = cuts_of([*map(len, whole)], self._plan.truncation)
        assert cuts is not None  # otherwise the row would be an error
        part = 0 if self._samples is None else i - bisect_left(self._samples, sample)
        return [one[start:end] for one, (start, end) in zip(whole, cuts[part], strict=True)]

    def _find_words(self, sample: int, i: int, ids: list[int]) -> list[tuple[list[int], Words]]:
        texts = [one[sample] for one in self._inputs.texts]
        if self._plan.truncation is None:
            places = self._layout.places(i)
            whole = [ids[slice(*places[sequence])] for sequence in range(len(texts))]
        else:
            whole, _ = encode_ids(self._plan.tokenizer, texts, splits=self._plan.splits_special)
        return [(its, self._words_of(text, its)) for text, its in zip(texts, whole, strict=True)]

    def _of_word_lists(self, name: str, sample: int) -> list[list[Any]]:
        """Return the tokens or the word numbers of each list of words of an input, before truncation."""
        if self._word_ids is None:
            made: list[WordIds] = []
            encode_rows(self._plan._replace(truncation=None), self._inputs, words=True, keep=made.append)
            self._word_ids = made
        ids = [rows[sample] for rows in self._word_ids]
        if name == "tokens":
            return [*map(self._tokens_of_words, (rows[sample] for rows in self._inputs.texts), ids)]
        return [[n for n, its in enumerate(of_words) for _ in its] for of_words in ids]

    def _tokens_of_words(self, words: list[str], ids: list[list[int]]) -> list[str]:
        encoded = zip(words, ids, strict=True)
        return [*chain(*(tokens_of(self._names, its, self._words_of(word, its)) for word, its in encoded))]


def tokens_of(names: Mapping[int, str], ids: list[int], words: Words) -> list[str]:
    """Return the tokens of a text. names: token of each id."""
    tokens = [names[i] for i in ids]
    for i, found in words.found.items():
        tokens[i] = found
    return tokens


#: Columns that depend only on the layout of a batch.
_OF_LAYOUT: dict[str, Any] = {
    "type_ids": Layout.type_ids,
    "attention_mask": Layout.attention_mask,
    "special_tokens_mask": Layout.special_mask,
    "sequences": Layout.sequences,
}
