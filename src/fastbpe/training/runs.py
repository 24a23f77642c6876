"""Runs of ids, from which superwords are learned, and how they are counted.

A run of words is two or more adjacent pieces, each a single token that contains a letter (`boundless`). A run of
tokens is the ids into which the first stage encodes a longer piece (`superword_learning`).
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Literal

from fastbpe._core.cache.two_phases import TwoPhases
from fastbpe._core.ids.sequences import Sequences
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.split import composite
from fastbpe._core.split.by_character import ByText
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._core.train.run_counter import NeighbourCounts, cut_runs, sequences_of
from fastbpe._core.train.superword_counters import SuperwordCounter, WordRunCounter
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.progress import Reporter
from fastbpe._utils.short_reprs import short_repr
from fastbpe.corpus.corpora import Corpus, ReadingOptions, Source
from fastbpe.corpus.source_kinds import Document
from fastbpe.errors import TrainingError
from fastbpe.model import N_BYTES
from fastbpe.patterns import resolve_pattern
from fastbpe.splitting.charset import CharSet
from fastbpe.tokenizer.internals import vocabulary_of
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.base_vocabulary import BaseVocabulary, add_pattern_of_base, is_plain, vocabulary_of_base
from fastbpe.training.count_checks import NEIGHBOURS
from fastbpe.training.document_counting import (
    BaseTexts,
    SourcesAgain,
    count_documents,
    texts_of_base,
    texts_of_pattern,
)
from fastbpe.training.options import ByteOptions
from fastbpe.training.piece_counts import PieceCounts, table_of
from fastbpe.training.superword_options import WORDS, Superwords

_BLOCK_UNITS = 1 << 18  # units of the parts in which a long document is counted
_LINE_END = r"[0-9A-Za-z](?=[\r\n])"  # no piece continues after this character; see _core.text.safe_cuts
_PIECES_AT_ONCE = 1 << 16
_UNREACHED = 1 << 62  # count that no pair of neighbours reaches
_TAIL_BYTES = 1 << 16  # bytes at the end of a text that are searched for a cut first
_CUT = " cut "  # after the name of runs: the level, and facts about the neighbours
_NEVER_IN_UTF8 = {0xC0, 0xC1, *range(0xF5, 0x100)}


# Runs of words


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
    texts = _texts_of_words(options, tokens, members)
    make = partial(WordRunCounter, words=vocabulary_of(words), members=members)
    facts = resolve_pattern(options.pattern)[1], options.special_tokens, words.fingerprint
    return count_documents(Corpus(source, reading), texts, reporter, "counting", make, *facts)


def check_ids(runs: PieceCounts, n_ids: int) -> None:
    """Raise TrainingError unless each piece is a run of two or more ids below n_ids.

    A file of counts may contain any bytes, and `sequences_of` and the learner do not check ids.
    """
    last = n_ids - 1
    greatest = (last >> 16, last >> 8 & 0xFF, last & 0xFF)  # an id takes three bytes, the lowest first
    pieces = (piece for piece, _ in table_of(runs).items())
    while batch := [*islice(pieces, _PIECES_AT_ONCE)]:
        data = b"".join(batch)
        are_runs = all(len(piece) >= 6 and len(piece) % 3 == 0 for piece in batch)
        if not are_runs or max(zip(data[2::3], data[1::3], data[::3], strict=True)) > greatest:
            raise TrainingError(
                "these counts contain pieces that are not runs of the tokenizer's ids; count the runs again"
            )


def runs_of_sum(runs: PieceCounts, n_ids: int, least: int) -> Sequences:
    """Cut counted runs between neighbours that occur together fewer than `least` times.

    Requires: `check_ids` has checked the runs.

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
    no_runs = PieceCounter(Splitter())  # gets nothing, because every run is cut into single ids
    cut_runs(table_of(runs), no_runs, found, _UNREACHED)
    return found


def count_cut_runs(sources: SourcesAgain, tokenizer: Tokenizer, options: ByteOptions, least: int) -> Sequences:
    """Count the runs of words in sources, cut between neighbours that occur together fewer than `least` times."""
    words = vocabulary_of(tokenizer)
    members = members_of(tokenizer)
    tokens = words.tokens()
    texts = _texts_of_words(options, tokens, members)
    neighbours = NeighbourCounts(words.n_ids, int(tokenizer.training_report["n_bytes"]))
    make = partial(WordRunCounter, words=words, members=members, neighbours=neighbours)
    sources.count(texts, "counting neighbours", partial(make, least=0), neighbours)  # 0: count no runs
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


def _texts_of_words(options: ByteOptions, tokens: Sequence[bytes], members: bytes) -> BaseTexts:
    """Return the functions that turn documents into pieces without cutting runs.

    Long documents are cut before line endings, where pieces end, if no piece that begins with a line ending may be
    part of a run.
    """
    names = options.special_tokens
    texts = texts_of_pattern(options.pattern, names)
    is_cut = (
        texts.splitter.cuttable
        and not any(
            token[:1] in (b"\r", b"\n") for token, is_member in zip(tokens, members, strict=True) if is_member
        )
        and not any("\r" in name or "\n" in name for name in names)
    )
    return replace(
        texts,
        splitter=composite.Uncut(texts.splitter),  # otherwise, `count_texts` would cut long documents within runs
        cut=_before_last_line_end if is_cut else None,
        divide=_cut_before_line_ends if is_cut else None,
    )


def _before_last_line_end(data: bytes) -> int:
    """Return the offset before the last line ending that follows an ASCII letter or digit, or 0."""
    for n in (_TAIL_BYTES, len(data)):
        start = max(len(data) - n, 0)
        found = [match.end() for match in re.finditer(_LINE_END.encode(), data[start:])]
        if found:
            return start + found[-1]
    return 0


def _cut_before_line_ends(documents: Iterable[Document]) -> Iterator[Document]:
    """Cut long documents before line endings that follow an ASCII letter or digit."""
    for document in documents:
        pattern: Any = re.compile(_LINE_END if isinstance(document, str) else _LINE_END.encode())
        start = 0
        while len(document) - start > _BLOCK_UNITS and (found := pattern.search(document, start + _BLOCK_UNITS)):
            yield document[start : found.end()]
            start = found.end()
        yield document[start:]


# Runs of tokens


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
    options = ByteOptions(vocab_size=base.vocab_size, **add_pattern_of_base(base, {}))
    words = words_of_stage(base, vocabulary_of_base(base, "keep", options))
    make = partial(SuperwordCounter, phases=TwoPhases(words, array("Q")))  # empty: no pair is in a superword yet
    name = name_of_runs(base, superwords)
    if isinstance(neighbours, PieceCounts):
        least = _level_of(neighbours, name, superwords)
        make = partial(make, neighbours=neighbours_in(neighbours, words.n_ids), least=least)
        name += _CUT + f"{least} {_facts(neighbours)}"
    elif neighbours is not None:
        make, name = partial(make, by_pairs=True), name + NEIGHBOURS
    texts = texts_of_stage(base, options, superwords)
    facts = superwords.pattern, tuple(base.special_tokens), name
    return count_documents(Corpus(source, reading), texts, reporter, "counting", make, *facts)


def name_of_runs(base: Tokenizer, superwords: Superwords) -> str:
    """Name the facts that whole runs must have in common, besides the pattern, so that they can be added up."""
    return f"{base.fingerprint} {superwords.documents}"


def check_runs(
    runs: PieceCounts, base: Tokenizer | None, superwords: Superwords, special_tokens: Iterable[str]
) -> None:
    """Raise TrainingError if runs were counted with another base, or with other options or special tokens."""
    assert runs.runs_of is not None
    name = runs.runs_of.partition(_CUT)[0].removesuffix(NEIGHBOURS)
    if base is None or name != name_of_runs(base, superwords) or runs.pattern != superwords.pattern:
        raise TrainingError(
            "these runs do not fit base= and superwords=. Pass as base= the tokenizer with which they were "
            'counted. For runs of words, pass also superwords="boundless". For runs of tokens, pass also '
            "superwords=Superwords(…) with the split pattern of superwords and the documents= with which they "
            "were counted"
        )
    if new := [name for name in special_tokens if name not in base.special_tokens]:
        raise TrainingError(
            f"special_tokens={new} were not special tokens when these counts were made; train without them, "
            "then add them with with_special_tokens"
        )


def level_of_runs(runs: PieceCounts) -> int:
    """Return the count below which neighbours were cut; 1: the runs are whole.

    Raises TrainingError: the counts are neighbours, or runs of another text than the neighbours that cut them.
    """
    assert runs.runs_of is not None
    name, is_cut, facts = runs.runs_of.partition(_CUT)
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
    """Return facts by which sums of neighbours differ, so that runs cut by different sums cannot be added up."""
    return f"{neighbours.n_bytes} {neighbours.n_pieces} {len(neighbours)}"


def _level_of(neighbours: PieceCounts, name: str, superwords: Superwords) -> int:
    """Return the lowest count of neighbours that pruning left; 1 if none were pruned.

    Raises TrainingError if all were pruned, or if they were not counted for the runs called `name` with the
        pattern of `superwords`.
    """
    if neighbours.runs_of != name + NEIGHBOURS or neighbours.pattern != superwords.pattern:
        raise TrainingError(
            'neighbours= must be counts made with the same base= and superwords=, and with neighbours="count"'
        )
    if neighbours.n_pruned and not neighbours:
        raise TrainingError("neighbours= is empty, because all were pruned as rare: prune with a lower min_count=")
    return min(neighbours.values()) if neighbours.n_pruned else 1


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
    merged: set[bytes] = set()
    for left, right in base.merges:
        token = tokens[left] + tokens[right]
        if token in merged:
            raise TrainingError(
                f"base= has two merges that make {short_repr(token)}, but superwords= needs a base with one merge "
                "per token"
            )
        merged.add(token)


def words_of_stage(first: Tokenizer, start: BaseVocabulary) -> Vocabulary:
    """Return the vocabulary of the first stage: only merges make tokens, even if a whole piece is a token."""
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
        # The base's cuts are safe only with its own splitter.
        texts = replace(texts_of_base(first, options.special_tokens), splitter=texts.splitter, cut=None)
    return by_lines(texts, superwords, names)


def by_lines(texts: BaseTexts, superwords: Superwords, names: Collection[str]) -> BaseTexts:
    """Make each line a separate text, if the superwords are learned from lines.

    Long documents are then read in parts, unless the base changes texts (it may put a space before each), or a
    name has a line feed.

    names: tokens that cut the text before it is split.
    """
    if superwords.documents != "lines":
        return texts
    lines = composite.Regrouped(ByText(b"\n", "matches"), "merged_with_previous")
    texts = replace(texts, splitter=composite.Sequence(lines, texts.splitter))
    if texts.stretches is not None or any("\n" in name for name in names):
        return replace(texts, cut=None)
    return replace(texts, cut=_after_last_line, divide=_cut_after_line_feeds)


def _after_last_line(data: bytes) -> int:
    """Return the offset after the last line feed, or 0."""
    return data.rfind(b"\n") + 1


def _cut_after_line_feeds(documents: Iterable[Document]) -> Iterator[Document]:
    """Cut long documents after line feeds."""
    for document in documents:
        newline: Any = "\n" if isinstance(document, str) else b"\n"
        start, n = 0, len(document)
        while n - start > _BLOCK_UNITS:
            end = document.rfind(newline, start, start + _BLOCK_UNITS) + 1
            end = end or document.find(newline, start + _BLOCK_UNITS) + 1
            if not end:
                break
            yield document[start:end]
            start = end
        yield document[start:]
