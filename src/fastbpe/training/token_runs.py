"""Runs of tokens: the ids into which the first stage encodes longer pieces.

Superwords are learned from them; see `superword_learning`.
"""

from __future__ import annotations

from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from fastbpe._core.cache.two_phases import TwoPhases
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.split import composite
from fastbpe._core.split.by_character import ByText
from fastbpe._core.train.superword_counters import SuperwordCounter
from fastbpe._utils.progress import Reporter
from fastbpe._utils.short_reprs import short_repr
from fastbpe.corpus.corpora import Source
from fastbpe.corpus.source_kinds import Document
from fastbpe.errors import TrainingError
from fastbpe.model import N_BYTES
from fastbpe.tokenizer.internals import vocabulary_of
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.base_texts import BaseTexts, texts_of_base
from fastbpe.training.base_vocabulary import BaseVocabulary, add_pattern_of_base, is_plain, vocabulary_of_base
from fastbpe.training.count_checks import NEIGHBOURS
from fastbpe.training.document_counting import count_documents, texts_of_pattern
from fastbpe.training.options import ByteOptions, ReadingOptions
from fastbpe.training.piece_counts import PieceCounts, counts_of_table
from fastbpe.training.superword_options import Superwords
from fastbpe.training.word_runs import neighbours_in

_BLOCK_UNITS = 1 << 18  # units of the parts in which a long document of lines is counted
_CUT = " cut "  # after the name of runs: the level, and facts about the neighbours
_NEVER_IN_UTF8 = {0xC0, 0xC1, *range(0xF5, 0x100)}


def count_token_runs(
    source: Source,
    base: Tokenizer,
    superwords: Superwords,
    neighbours: PieceCounts | Literal["count"] | None,
    reading: ReadingOptions,
    reporter: Reporter,
) -> PieceCounts:
    """Count the runs of tokens from which superwords are learned on top of a base. See `count_pieces`.

    Raises TrainingError: superwords cannot be learned on top of the base, the source is counts, or the neighbours
        were not counted in such runs.
    """
    if isinstance(source, Mapping):
        raise TrainingError("superwords= needs the texts, not counts of their pieces or runs")
    check_base(base, superwords)
    options = ByteOptions(vocab_size=base.vocab_size + 1, **add_pattern_of_base(base, {}))
    words = words_of_stage(base, vocabulary_of_base(base, "keep", options))
    make = partial(SuperwordCounter, phases=TwoPhases(words, array("Q")))
    name = name_of_runs(base, superwords)
    if isinstance(neighbours, PieceCounts):
        least = _level_of(neighbours, name, superwords)
        make = partial(make, neighbours=neighbours_in(neighbours, words.n_ids), least=least)
        name += _CUT + f"{least} {_facts(neighbours)}"
    elif neighbours is not None:
        make, name = partial(make, by_pairs=True), name + NEIGHBOURS
    texts = texts_of_stage(base, options, superwords)
    table, n_bytes, n_skipped = count_documents(reading.open(source), texts, reading, reporter, "counting", make)
    return counts_of_table(
        table,
        superwords.pattern,
        tuple(base.special_tokens),
        n_bytes=n_bytes,
        n_skipped=n_skipped,
        runs_of=name,
    )


def name_of_runs(base: Tokenizer, superwords: Superwords) -> str:
    """Name the facts that whole runs must have in common, besides the pattern, so that they can be added up."""
    return f"{base.fingerprint} {superwords.documents}"


def base_of_runs(runs: PieceCounts, base: Tokenizer | None, superwords: Superwords) -> Tokenizer:
    """Return the base. Raises TrainingError if the runs were counted with another one, or with other options."""
    name = (runs.runs_of or "").partition(_CUT)[0].removesuffix(NEIGHBOURS)
    if base is None or name != name_of_runs(base, superwords) or runs.pattern != superwords.pattern:
        raise TrainingError(
            "these runs do not fit base= and superwords=: pass their tokenizer as base=, and "
            "superwords=Superwords(…) with their split pattern and documents, or "
            'superwords="boundless" for runs of words'
        )
    return base


def level_of_runs(runs: PieceCounts) -> int:
    """Return the count below which neighbours were cut; 1: the runs are whole.

    Raises TrainingError: the counts are neighbours, or runs of another text than the neighbours that cut them.
    """
    name, is_cut, facts = (runs.runs_of or "").partition(_CUT)
    if name.endswith(NEIGHBOURS):
        raise TrainingError(
            "these counts are neighbours, not runs: count the runs with count_pieces(…, neighbours=these), "
            "and pass their sum"
        )
    if not is_cut:
        return 1
    level, n_bytes, *_ = map(int, facts.split())
    if runs.n_bytes != n_bytes:
        raise TrainingError(
            f"these runs come from {runs.n_bytes:,} bytes of text, but were cut by the neighbours of {n_bytes:,} "
            "bytes: add up the neighbours of all parts of the text, count the runs of each part with this "
            "sum, and pass the sum of the runs of all these parts"
        )
    return level


def _facts(neighbours: PieceCounts) -> str:
    return f"{neighbours.n_bytes} {neighbours.n_pieces} {len(neighbours)}"


def _level_of(neighbours: PieceCounts, name: str, superwords: Superwords) -> int:
    """Return the lowest count of neighbours.

    Raises TrainingError if all were pruned, or if they were not counted for the runs called `name` with the
        pattern of `superwords`.
    """
    if neighbours.runs_of != name + NEIGHBOURS or neighbours.pattern != superwords.pattern:
        raise TrainingError(
            'neighbours= must be counts made with the same base= and superwords=, and with neighbours="count"'
        )
    if neighbours.n_pruned and not neighbours:
        raise TrainingError("neighbours= is empty, because all were pruned as rare: prune with a lower min_count=")
    return min(neighbours.values(), default=1)


def check_base(base: Tokenizer, superwords: Superwords) -> None:
    """Raise TrainingError if superwords cannot be learned on top of a base."""
    if superwords.start is not None:
        raise TrainingError(
            f"start={superwords.start} cannot be combined with base=: superwords then follow the ids of the base; "
            "pass superwords=Superwords(), without a start"
        )
    if base._pipeline.phases is not None:
        raise TrainingError("base= already has superwords; pass the tokenizer on which they were learned")
    vocabulary = vocabulary_of(base)
    missing = {byte for byte in range(N_BYTES) if base.token_to_id(bytes([byte])) is None} - _NEVER_IN_UTF8
    if missing:
        raise TrainingError(
            f"base= has no token for the byte 0x{min(missing):02x}; superwords= needs one for each byte of UTF-8"
        )
    tokens = vocabulary.tokens()
    made: set[bytes] = set()
    for left, right in base.merges:
        token = tokens[left] + tokens[right]
        if token in made:
            raise TrainingError(
                f"base= has two merges that make {short_repr(token)}, but superwords= needs a base with one merge "
                "per token"
            )
        made.add(token)


def words_of_stage(first: Tokenizer, start: BaseVocabulary) -> Vocabulary:
    """Return the vocabulary of the first stage, which finds a whole token only if merging makes it."""
    vocabulary = vocabulary_of(first)
    if start.model is None:
        return vocabulary
    return Vocabulary(**vocabulary.sections(), whole_piece_first=False, drops_bytes=start.model.drops_bytes)


# Documents of lines


def texts_of_stage(first: Tokenizer, options: ByteOptions, superwords: Superwords) -> BaseTexts:
    """Return the functions that turn documents into the pieces of the second stage."""
    names = (*first.special_tokens, *(name for name in options.special_tokens if name not in first.special_tokens))
    texts = texts_of_pattern(superwords.pattern, names)
    if not is_plain(first):
        texts = replace(texts_of_base(first, options.special_tokens), splitter=texts.splitter, cut=None)
    return by_lines(texts, superwords, names)


def by_lines(texts: BaseTexts, superwords: Superwords, names: Collection[str]) -> BaseTexts:
    """Make each line a separate text, if the superwords are learned from lines.

    Args:
        names: tokens that cut the text before it is split. If one contains a line feed, documents are not divided.
    """
    if superwords.documents != "lines":
        return texts
    lines = composite.Regrouped(ByText(b"\n", "matches"), "merged_with_previous")
    texts = replace(texts, splitter=composite.Sequence(lines, texts.splitter))
    if texts.stretches is not None or any("\n" in name for name in names):
        return replace(texts, cut=None)
    return replace(texts, cut=_after_last_line, divide=_divided)


def _after_last_line(data: bytes) -> int:
    """Return the offset after the last line feed, or 0."""
    return data.rfind(b"\n") + 1


def _divided(documents: Iterable[Document]) -> Iterator[Document]:
    """Cut long documents after line feeds."""
    for document in documents:
        newline: Any = "\n" if isinstance(document, str) else b"\n"
        at, n = 0, len(document)
        while n - at > _BLOCK_UNITS:
            end = document.rfind(newline, at, at + _BLOCK_UNITS) + 1
            end = end or document.find(newline, at + _BLOCK_UNITS) + 1
            if not end:
                break
            yield document[at:end]
            at = end
        if at < n or not n:
            yield document[at:] if at else document
