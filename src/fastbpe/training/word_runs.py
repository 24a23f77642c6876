"""Runs of words: two or more adjacent pieces, each a single token that contains a letter. See `boundless`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from fastbpe._core.ids.sequences import Sequences
from fastbpe._core.split.composite import Uncut
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._core.train.run_counter import NeighbourCounts, cut_runs, sequences_of
from fastbpe._core.train.superword_counters import WordRunCounter
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.progress import Reporter
from fastbpe.corpus.corpora import Source
from fastbpe.corpus.source_kinds import Document
from fastbpe.errors import TrainingError
from fastbpe.model import N_BYTES
from fastbpe.patterns import resolve_pattern
from fastbpe.splitting.charset import CharSet
from fastbpe.tokenizer.internals import vocabulary_of
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.base_texts import BaseTexts
from fastbpe.training.document_counting import count_documents, texts_of_pattern
from fastbpe.training.documents_again import SourcesAgain
from fastbpe.training.options import ByteOptions, ReadingOptions
from fastbpe.training.piece_counts import PieceCounts, counts_of_table, table_of
from fastbpe.training.superword_options import WORDS

_BLOCK_UNITS = 1 << 18  # units of the parts in which a long document is counted
_LINE_END = r"[0-9A-Za-z](?=[\r\n])"  # no piece continues after this character; see _core.text.safe_cuts
_NEVER = 1 << 62  # count that no pair of neighbours reaches
_TAIL_BYTES = 1 << 16  # bytes at the end of a text that are searched for a cut first


class Merge(NamedTuple):
    """A learned merge: ids of its two parts, number of occurrences, and the id that it makes."""

    left: int
    right: int
    n: int
    merged: int


def words_of(words: Tokenizer) -> tuple[ByteOptions, list[Merge]]:
    """Return the options and the merges of a word tokenizer.

    Raises TrainingError: the tokenizer was not made by superwords="words".
    """
    report = words.training_report
    if report.get("superwords") != WORDS or len(report["word_counts"]) != len(words.merges):
        raise TrainingError(
            'this tokenizer does not store how often its words occur; train one with superwords="words"'
        )
    names = ("vocab_size", "pattern", "special_tokens", "min_count", "max_token_bytes")
    options = ByteOptions(**{name: report[name] for name in names})
    rows = zip(words.merges, report["word_counts"], strict=True)
    return options, [Merge(left, right, n, N_BYTES + i) for i, ((left, right), n) in enumerate(rows)]


def tokens_of(words: Sequence[Merge]) -> list[bytes]:
    """List the tokens of all ids: the bytes, and the results of the merges."""
    tokens = [bytes([byte]) for byte in range(N_BYTES)]
    for left, right, _, _ in words:
        tokens.append(tokens[left] + tokens[right])
    return tokens


def count_runs(source: Source, words: Tokenizer, reading: ReadingOptions, reporter: Reporter) -> PieceCounts:
    """Count the runs of words of a source. See `count_pieces`.

    Raises TrainingError: the tokenizer is not a word tokenizer, or the source is counts.
    """
    if isinstance(source, Mapping):
        raise TrainingError("superwords= needs the texts, not counts of their pieces or runs")
    options, merges = words_of(words)
    tokens = tokens_of(merges)
    members = members_of(words)
    texts = _texts(options, [token for token, is_member in zip(tokens, members, strict=True) if is_member])
    make = partial(WordRunCounter, words=vocabulary_of(words), members=members)
    table, n_bytes, n_skipped = count_documents(reading.open(source), texts, reading, reporter, "counting", make)
    return counts_of_table(
        table,
        resolve_pattern(options.pattern)[1],
        options.special_tokens,
        n_bytes=n_bytes,
        n_skipped=n_skipped,
        runs_of=words.fingerprint,
    )


def runs_of_sum(runs: PieceCounts, n_ids: int, least: int) -> Sequences:
    """Cut counted runs between neighbours that occur together fewer than `least` times.

    n_ids: one more than the greatest id.
    """
    table = table_of(runs)
    if least > 1:
        table = PieceCounter(Splitter())
        cut_runs(table_of(runs), table, NeighbourCounts(n_ids, runs.n_bytes), least)
    return sequences_of(table, n_ids)


def neighbours_in(runs: PieceCounts, n_ids: int) -> NeighbourCounts:
    """Count the neighbours in counted runs, or in counted pairs. n_ids: one more than the greatest id."""
    found = NeighbourCounts(n_ids, runs.n_bytes)
    cut_runs(table_of(runs), PieceCounter(Splitter()), found, _NEVER)
    return found


def count_cut_runs(sources: SourcesAgain, tokenizer: Tokenizer, options: ByteOptions, least: int) -> Sequences:
    """Count the runs of words in sources, cut between neighbours that occur together fewer than `least` times."""
    words = vocabulary_of(tokenizer)
    members = members_of(tokenizer)
    tokens = words.tokens()
    texts = _texts(options, [token for token, is_member in zip(tokens, members, strict=True) if is_member])
    neighbours = NeighbourCounts(words.n_ids, int(tokenizer.training_report["n_bytes"]))
    make = partial(WordRunCounter, words=words, members=members, neighbours=neighbours)
    sources.count(texts, "counting neighbours", partial(make, least=0), neighbours)
    runs = sources.count(texts, "counting runs", partial(make, least=least))
    return sequences_of(table_of(runs), words.n_ids)


def members_of(tokenizer: Tokenizer) -> bytes:
    """Return 1 for each id of a word tokenizer whose token may be part of a run, 0 for the others.

    These tokens contain a letter, and encode to themselves.
    """
    letters = CharSet.category("L")
    tokens = vocabulary_of(tokenizer).tokens()
    members = bytearray(len(tokens))
    texts: dict[int, str] = {}
    for i, token in enumerate(tokens):
        try:
            text = token.decode()
        except UnicodeDecodeError:
            continue  # a piece of a text is UTF-8
        if any(character in letters for character in text):
            texts[i] = text
    for i, ids in zip(texts, tokenizer.encode_ordinary_batch([*texts.values()]), strict=True):
        members[i] = ids == [i]
    return bytes(members)


def _texts(options: ByteOptions, members: Iterable[bytes]) -> BaseTexts:
    """Return the functions that turn documents into pieces without cutting runs."""
    names = options.special_tokens
    texts = texts_of_pattern(options.pattern, names)
    is_cut = (
        texts.splitter.cuttable
        and not any(token[:1] in (b"\r", b"\n") for token in members)
        and not any("\r" in name or "\n" in name for name in names)
    )
    return replace(
        texts,
        splitter=Uncut(texts.splitter) if texts.splitter.cuttable else texts.splitter,
        cut=_before_last_line_end if is_cut else None,
        divide=_divided if is_cut else None,
    )


def _before_last_line_end(data: bytes) -> int:
    """Return the offset before the last line ending that follows an ASCII letter or digit, or 0."""
    for n in (_TAIL_BYTES, len(data)):
        start = max(len(data) - n, 0)
        found = [match.end() for match in re.finditer(_LINE_END.encode(), data[start:])]
        if found:
            return start + found[-1]
    return 0


def _divided(documents: Iterable[Document]) -> Iterator[Document]:
    """Cut long documents before line endings that follow an ASCII letter or digit."""
    for document in documents:
        pattern: Any = re.compile(_LINE_END if isinstance(document, str) else _LINE_END.encode())
        at = 0
        while len(document) - at > _BLOCK_UNITS and (found := pattern.search(document, at + _BLOCK_UNITS)):
            yield document[at : found.end()]
            at = found.end()
        yield document[at:] if at else document
