"""changed_texts: the texts of a corpus whose ids change with the vocabulary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fastbpe._core.text.utf8_text import utf8_size
from fastbpe._utils.arguments import integer
from fastbpe._utils.choices import DocumentFormat
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.optional_imports import require_numpy
from fastbpe._utils.progress import Progress, Reporter
from fastbpe._utils.short_reprs import fields_repr, html_text
from fastbpe.corpus.corpora import Corpus, ReadingOptions, Source
from fastbpe.corpus.source_kinds import Document
from fastbpe.tokenizer.internals import check_tokenizers
from fastbpe.tokenizer.shown.alignment import align
from fastbpe.tokenizer.tokenizer import Tokenizer

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

_N_SHOWN = 10  # parts that the table shows
_MAX_SHOWN = 60  # characters of a part that the table shows


class ChangedText(NamedTuple):
    """Text whose ids changed.

    number: int – its index in the corpus, from 0.
    n_old: int – its number of ids before.
    n_new: int – its number of ids now.
    """

    number: int
    n_old: int
    n_new: int


class ChangedPart(NamedTuple):
    """Shortest part of a text whose ids changed and at whose ends both tokenizers have a token boundary.

    text: str – the part.
    times: int – number of occurrences with these ids in the aligned texts.
    old: tuple of int – its ids before.
    new: tuple of int – its ids now, in the new tokenizer.
    """

    text: str
    times: int
    old: tuple[int, ...]
    new: tuple[int, ...]

    def __repr__(self) -> str:
        return fields_repr(self)


@dataclass(frozen=True)
class TextChanges:
    """Texts of a corpus whose ids changed with the vocabulary. `print` shows a table.

    Attributes:
        n_texts, n_bytes: int – size of the corpus: texts, bytes of UTF-8.
        n_old, n_new: int – number of ids of all its texts before and now.
        texts: tuple of ChangedText – the texts whose ids changed, in the order of the corpus.
        n_aligned: int – number of these texts, from the start, that were aligned to find `parts`.
        parts: tuple of ChangedPart – the parts of the aligned texts that changed; the parts that add or save the
            most ids, over all their occurrences, come first.

    >>> import fastbpe
    >>> old = fastbpe.Tokenizer.from_merges([(97, 98)], pattern="gpt2")
    >>> new = old.with_tokens(["<x>"])
    >>> changes = fastbpe.changed_texts(old, new, ["ab", "ab<x> <x>"])
    >>> changes.texts
    (ChangedText(number=1, n_old=8, n_new=4),)
    >>> changes.parts
    (ChangedPart(text='<x>', times=2, old=(60, 120, 62), new=(257,)),)
    >>> print(changes)
    texts   1 of 2 get other ids (fewer: 1, more: 0, as many: 0)
    ids     9 before, 5 now (-44.4%)
    parts   that changed in these texts
            times  before  now  text
                2       3    1  '<x>'
    """

    n_texts: int
    n_bytes: int
    n_old: int
    n_new: int
    texts: tuple[ChangedText, ...]
    n_aligned: int
    parts: tuple[ChangedPart, ...]

    def __repr__(self) -> str:
        n = len(self.texts)
        return (
            f"<fastbpe.TextChanges: {n:,} of {self.n_texts:,} texts get other ids, {self.n_old:,} ids before, "
            f"{self.n_new:,} now>"
        )

    def _repr_html_(self) -> str:
        return html_text(str(self))

    def to_dict(self) -> dict[str, Any]:
        """Return the report as dicts, lists, numbers and texts, for JSON."""
        texts = [text._asdict() for text in self.texts]
        parts = [{**part._asdict(), "old": [*part.old], "new": [*part.new]} for part in self.parts]
        return {**vars(self), "texts": texts, "parts": parts}

    def __str__(self) -> str:
        signs = Counter((text.n_new > text.n_old) - (text.n_new < text.n_old) for text in self.texts)
        share = f" ({(self.n_new - self.n_old) / self.n_old:+.1%})" if self.n_old else ""
        lines = [
            f"texts   {len(self.texts):,} of {self.n_texts:,} get other ids (fewer: {signs[-1]:,}, "
            f"more: {signs[1]:,}, as many: {signs[0]:,})",
            f"ids     {self.n_old:,} before, {self.n_new:,} now{share}",
        ]
        if self.parts:
            all_ = self.n_aligned == len(self.texts)
            which = "these texts" if all_ else f"the first {self.n_aligned:,} of these texts"
            lines += [f"parts   that changed in {which}", *self._rows()]
        return "\n".join(lines)

    def _rows(self) -> Iterator[str]:
        yield "        times  before  now  text"
        for part in self.parts[:_N_SHOWN]:
            text = part.text if len(part.text) <= _MAX_SHOWN else part.text[: _MAX_SHOWN - 1] + "…"
            yield f"        {part.times:5,}  {len(part.old):6,}  {len(part.new):3,}  {text!r}"
        if len(self.parts) > _N_SHOWN:
            yield f"        and {len(self.parts) - _N_SHOWN:,} others"


def changed_texts(
    old: Tokenizer,
    new: Tokenizer,
    corpus: Source,
    *,
    align_first: int = 1000,
    separator: str | None = None,
    text_field: str = "text",
    format: DocumentFormat | None = None,
    num_threads: int | None = None,
    progress: Progress = None,
) -> TextChanges:
    """Find the texts of a corpus that get other ids after a change, and the ids that they gain or lose.

    Meant for a tokenizer that was extended (`train(base=…)`, `with_tokens`), pruned or merged, and the one from
    which it was made, but any two tokenizers can be compared. A text keeps its ids if its new ids are
    its old ids, translated by `new.id_map(old)`. Special tokens in the texts are ordinary text, as in
    `encode_ordinary`.

    Args:
        old: Tokenizer – the tokenizer before the change, of any mode.
        new: Tokenizer – the tokenizer after it.
        corpus: texts or paths, as for `train`. Each document must fit in memory.
        align_first: int – number of changed texts, from the start, that are aligned to find the changed parts; 0:
            none. Aligning a text takes some hundred times as long as encoding it.
        separator: str – text between the documents of a text file, as for `train`; "\\n": each line is a text.
            None: the file is one text.
        text_field: str – field of a JSON line, or column of a table, that contains the text, as for `train`.
        format: str – format of all files, as for `train`.
        num_threads: int – as for `encode_batch`.
        progress: bool, function or None – as for `train`; the one phase is "comparing", in bytes.

    Returns:
        A report. For each changed text, it has the index in the corpus, and the numbers of ids before and now.
        `print` shows it as a table.

    Raises:
        TypeError: old or new is not a Tokenizer (a SequenceTokenizer has no texts).
        ValueError: align_first is negative; a text is not UTF-8.
        FileNotFoundError, FormatError: the corpus cannot be read, as in `train`.
        ImportError: numpy is not installed.

    >>> import fastbpe
    >>> old = fastbpe.train(["low lower"], vocab_size=258, progress=False)
    >>> new = fastbpe.train(["newer wider"], base=old, vocab_size="+2", progress=False)
    >>> changes = fastbpe.changed_texts(old, new, ["low", "newer"])
    >>> [*map(tuple, changes.texts)], changes.n_old, changes.n_new
    ([(1, 5, 4)], 6, 5)
    """
    check_tokenizers(old=old, new=new)
    n_to_align = integer("align_first", align_first)
    if n_to_align < 0:
        raise ValueError(f"align_first={align_first}: must be a number of texts, at least 0")
    require_numpy("changed_texts")
    comparison = _Comparison(old, new, n_to_align, num_threads)
    read = Corpus(corpus, ReadingOptions(separator=separator, text_field=text_field, format=format))
    with Reporter(progress).phase("comparing", read.n_bytes, unit="B", unit_scale=True) as phase:
        for texts in read.batches():
            phase.update(comparison.add(texts))
    return comparison.result()


class _Comparison:
    """Comparison of the ids of texts in batches."""

    def __init__(self, old: Tokenizer, new: Tokenizer, n_to_align: int, num_threads: int | None) -> None:
        self._old, self._new = old, new
        self._old_to_new = new.id_map(old).old_to_new
        self._n_to_align, self._num_threads = n_to_align, num_threads
        self._changed: list[ChangedText] = []
        self._parts: Counter[tuple[str, tuple[int, ...], tuple[int, ...]]] = Counter()
        self._n_texts = self._n_bytes = self._n_old = self._n_new = 0

    def add(self, texts: Sequence[Document]) -> int:
        """Compare the ids of texts. Returns the size of the texts in bytes."""
        n_bytes = utf8_size(texts)
        sides = [self._ids(tokenizer, texts) for tokenizer in (self._old, self._new)]
        (old_ids, old_ends), (new_ids, new_ends) = sides
        translated = self._old_to_new[old_ids]
        spans = zip(_spans(old_ends), _spans(new_ends), strict=True)
        for number, (text, (was, now)) in enumerate(zip(texts, spans, strict=True)):
            n_old, n_new = was.stop - was.start, now.stop - now.start
            if n_old != n_new or not (translated[was] == new_ids[now]).all():
                if len(self._changed) < self._n_to_align:
                    self._align(text if isinstance(text, str) else text.decode())
                self._changed.append(ChangedText(self._n_texts + number, n_old, n_new))
        self._n_texts += len(texts)
        self._n_bytes += n_bytes
        self._n_old += len(old_ids)
        self._n_new += len(new_ids)
        return n_bytes

    def _ids(
        self, tokenizer: Tokenizer, texts: Sequence[Document]
    ) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.int64]]:
        return tokenizer.encode_batch_to_numpy(texts, num_threads=self._num_threads, disallowed_special=())

    def _align(self, text: str) -> None:
        """Count the parts of a text whose ids changed."""
        for part in align(text, self._old, self._new):
            if self._old_to_new[part.first].tolist() != part.second:
                self._parts[text[part.start : part.end], tuple(part.first), tuple(part.second)] += 1

    def result(self) -> TextChanges:
        parts = [ChangedPart(text, n, was, now) for (text, was, now), n in self._parts.items()]
        parts.sort(key=lambda part: (-part.times * abs(len(part.new) - len(part.old)), -part.times, part.text))
        n_aligned = min(len(self._changed), self._n_to_align)
        numbers = self._n_texts, self._n_bytes, self._n_old, self._n_new
        return TextChanges(*numbers, tuple(self._changed), n_aligned, tuple(parts))


def _spans(ends: npt.NDArray[np.int64]) -> Iterator[slice]:
    listed = ends.tolist()
    return map(slice, listed, listed[1:])
