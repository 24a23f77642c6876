"""Counting of the ids of a corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby

from fastbpe._core.text.utf8_text import utf8_size
from fastbpe._utils.progress import Reporter
from fastbpe.corpus.corpora import Corpus
from fastbpe.vocabularies.material import Described, Kind, Material, cutter_of, decoded

_CONTINUATION = bytes(range(0x80, 0xC0))  # bytes after the first of a character


@dataclass
class Usage:
    """Ids of a corpus.

    n_bytes: int – bytes of the corpus, as UTF-8.
    whole: id → number of occurrences, for tokens of whole characters.
    runs: ids of parts of characters, up to the first place where a character ends → number of occurrences.
    """

    n_bytes: int = 0
    whole: Counter[int] = field(default_factory=Counter)
    runs: Counter[tuple[int, ...]] = field(default_factory=Counter)

    def counts(self, n_ids: int) -> list[int]:
        """Return the number of occurrences of each id."""
        counts = [0] * n_ids
        for token_id, n in self.whole.items():
            counts[token_id] += n
        for run, n in self.runs.items():
            for token_id in run:
                counts[token_id] += n
        return counts


def count_ids(tokenizer: Described, material: Material, corpus: Corpus, reporter: Reporter) -> Usage:
    """Encode the documents of a corpus, with special tokens as ordinary text, and count their ids.

    reporter: gets the phase "counting".
    """
    usage = Usage()
    missing = {i: _missing_bytes(material.tokens[i]) for i in partial_tokens(material)}
    with reporter.phase("counting", corpus.n_bytes, unit="B", unit_scale=True) as phase:
        for texts in corpus.batches(cutter_of(tokenizer)):
            n_bytes = utf8_size(texts)
            usage.n_bytes += n_bytes
            for ids in tokenizer.encode_ordinary_batch(texts):
                _count(usage, ids, missing)
            phase.update(n_bytes)
    return usage


def _count(usage: Usage, ids: list[int], missing: Mapping[int, int]) -> None:
    """Count the ids of a document. `missing` has the result of _missing_bytes for each part of a character."""
    if missing.keys().isdisjoint(ids):
        usage.whole.update(ids)
        return
    for is_partial, group in groupby(ids, missing.__contains__):
        if not is_partial:
            usage.whole.update(group)
            continue
        run: list[int] = []
        n_missing = 0
        for token_id in group:
            run.append(token_id)
            n_missing = missing[token_id] + (n_missing if missing[token_id] < 0 else 0)
            if n_missing <= 0:
                usage.runs[tuple(run)] += 1
                run = []
        if run:  # the vocabulary drops the other bytes of the character
            usage.runs[tuple(run)] += 1


def _missing_bytes(token: bytes) -> int:
    """Return how many bytes its last character lacks; if it only continues a character, minus its length."""
    following = len(token) - len(token.rstrip(_CONTINUATION))
    if following == len(token):
        return -following
    first = token[-following - 1]
    return (first >= 0xC0) + (first >= 0xE0) + (first >= 0xF0) - following


def partial_tokens(material: Material) -> list[int]:
    """List the tokens that contain a part of a character."""
    return [
        i
        for i, (kind, token) in enumerate(zip(material.kinds, material.tokens, strict=True))
        if (kind is Kind.BYTE and token[0] >= 0x80) or (kind is Kind.TEXT and decoded(token) is None)
    ]
