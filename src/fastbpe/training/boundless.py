"""Training of BoundlessBPE, `train(superwords="boundless")`: superwords share the ids with words, by their counts.

The rules are those of the second version of its reference (arXiv 2604.05192), without deletions. First words are
learned, with the count of each merge. Then the source is read twice more. Superwords are learned from runs of two
or more neighbouring pieces that are each one token with a letter in it. A merge of superwords is done while its
count is greater than that of the next merge of words, until the ids are full; the other words are left out.

So no superword is as rare as the last word, c times. A merge across the border of two words happens at most as
often as these are neighbours, now and later: runs are cut between neighbours that occur c times or less.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from fastbpe._core.ids.sequences import Sequences
from fastbpe._core.split.composite import Uncut
from fastbpe._core.train.byte_learner import Learner
from fastbpe._core.train.superword_counter import NeighbourCounts, sequences_of
from fastbpe._core.train.token_limits import TokenLimits
from fastbpe._core.train.word_run_counter import WordRunCounter
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.progress import Reporter
from fastbpe._version import __version__
from fastbpe.corpus.source_kinds import Document
from fastbpe.corpus.sources import Source
from fastbpe.errors import TrainingError, TrainingWarning
from fastbpe.model import N_BYTES, Model, Supermerges, pack_merges
from fastbpe.splitting.charset import CharSet
from fastbpe.tokenizer.internals import vocabulary_of
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.base_texts import BaseTexts
from fastbpe.training.base_vocabulary import byte_vocabulary
from fastbpe.training.bytes import counted_pieces
from fastbpe.training.documents_again import read_again
from fastbpe.training.options import ByteOptions, ReadingOptions, Run, whole_number_of_ids
from fastbpe.training.piece_counting import count_documents, texts_of_pattern
from fastbpe.training.piece_counts import PieceCounts, table_of
from fastbpe.training.superwords import BOUNDLESS

_BLOCK_UNITS = 1 << 18  # units of the parts in which a long document is counted
_LINE_END = r"[0-9A-Za-z](?=[\r\n])"  # no piece goes on behind this character; see _core.text.safe_cuts
_TAIL_BYTES = 1 << 16  # bytes at the end of a text that are searched for a cut first
_CALLER = 3  # stacklevel of warnings from `train_boundless`: the line that calls `train`


class Merge(NamedTuple):
    """A merge that was learned: ids of its two parts, occurrences, and the id that it makes."""

    left: int
    right: int
    n: int
    merged: int


def train_boundless(source: Source | PieceCounts, base: Tokenizer | None, run: Run) -> Tokenizer:
    """Learn words and superwords together. See `train`."""
    keywords = {name: value for name, value in run.options.items() if name != "superwords"}
    _check(source, base, keywords)
    options = ByteOptions(vocab_size=whole_number_of_ids(run.vocab_size, None), **keywords)
    start = byte_vocabulary(options)
    names = options.special_tokens
    reporter = run.reporter
    with read_again(source, run.reading) as (texts, reading):
        resolved = reading.resolve(texts)
        counts = counted_pieces(resolved, start, options, run._replace(reading=reading), "the source")
        n_merges = options.vocab_size - start.n_known
        words = _learn_words(counts, n_merges, options, reporter)
        tokens = _tokens_of(words)
        superwords: list[Merge] = []
        if words:
            superwords = _learn_superwords(
                partial(_count_runs, texts, tokens, options, reading, reporter, counts.n_bytes),
                words,
                tokens,
                options,
            )
    kept_words, kept_superwords = mixed(words, superwords)
    model = _model(kept_words, kept_superwords, options)
    n_missing = n_merges - len(words)
    report = asdict(options) | {
        "ties": "bytes",
        "special_tokens": list(names),
        "superwords": BOUNDLESS,
        "library": __version__,
        "n_bytes": counts.n_bytes,
        "n_pieces": sum(count for _, count in counts.items()),
        "n_distinct_pieces": len(counts),
        "n_skipped": counts.n_skipped,
        "n_files_left_out": resolved.left_out.n,
        "n_merges": len(kept_words) + len(kept_superwords),
        "n_superword_merges": len(kept_superwords),
        "least_count": words[-1].n if words else None,
    }
    reporter.summarise(
        {
            "counting": f"{counts.n_bytes:,} bytes, {len(counts):,} distinct pieces",
            "learning superwords": f"{len(kept_words):,} merges of words, {len(kept_superwords):,} of superwords",
        }
    )
    if n_missing:
        warnings.warn(
            f"no pair is left to merge that min_count={options.min_count} and "
            f"max_token_bytes={options.max_token_bytes} allow: the vocabulary has "
            f"{options.vocab_size - n_missing} entries, not the {options.vocab_size} "
            "asked for; change a limit, give more text, or ask for fewer",
            TrainingWarning,
            stacklevel=_CALLER,
        )
    return Tokenizer(model._replace(training=report))


def _check(source: object, base: object, keywords: Collection[str]) -> None:
    """Raise TrainingError if an argument does not go with superwords="boundless"."""
    if base is not None:
        raise TrainingError(
            'superwords="boundless" learns words and superwords together, and base= has its words; leave '
            "base= out, or give superwords=Superwords(), which learns superwords on top of a base"
        )
    if hasattr(source, "items"):
        raise TrainingError("superwords= needs the texts: counts of pieces do not say which are neighbours")
    if "ties" in keywords:
        raise TrainingError(
            'superwords="boundless" has an order of its own: of two equally frequent pairs it merges the one '
            "whose left token, then right token, is less as bytes; leave ties= out"
        )


# Words


def _learn_words(counts: PieceCounts, n_merges: int, options: ByteOptions, reporter: Reporter) -> list[Merge]:
    """Learn merges of bytes in pieces."""
    with reporter.phase("learning words", n_merges, unit=" merges") as phase:
        learner = Learner(
            table_of(counts),
            max_ids=N_BYTES + n_merges,
            min_count=options.min_count,
            limits=TokenLimits([bytes([byte]) for byte in range(N_BYTES)], max_bytes=options.max_token_bytes),
            ties_bytes=True,
            overlaps=False,
        )
        learner.learn(lambda n_ids: phase.update(n_ids - N_BYTES - phase.n))
    return [Merge(*merge, N_BYTES + i) for i, merge in enumerate(learner.merges())]


def _tokens_of(words: Sequence[Merge]) -> list[bytes]:
    """List the tokens of all ids: bytes, and what the merges make."""
    tokens = [bytes([byte]) for byte in range(N_BYTES)]
    for left, right, _, _ in words:
        tokens.append(tokens[left] + tokens[right])
    return tokens


# Runs


def _count_runs(
    source: Source,
    tokens: list[bytes],
    options: ByteOptions,
    reading: ReadingOptions,
    reporter: Reporter,
    n_bytes: int,
    least: int,
) -> Sequences:
    """Count the runs of words in a source, cut between neighbours that occur less often than `least`."""
    tokenizer = Tokenizer(Model(tokens=tokens, pattern=options.pattern, special_tokens={}))
    words = vocabulary_of(tokenizer)
    members = members_of(tokenizer)
    texts = _texts(options, [token for token, is_member in zip(tokens, members, strict=True) if is_member])
    neighbours = NeighbourCounts(words.n_ids, n_bytes)
    make = partial(WordRunCounter, words=words, members=members, neighbours=neighbours)
    count_documents(
        reading.resolve(source), texts, reading, reporter, "counting neighbours", partial(make, least=0)
    )
    table, _, _ = count_documents(
        reading.resolve(source), texts, reading, reporter, "counting runs", partial(make, least=least)
    )
    return sequences_of(table, words.n_ids)


def members_of(tokenizer: Tokenizer) -> bytes:
    """Tell by id which tokens of a tokenizer of words may be part of a run: 1, else 0.

    They hold a letter, and encode to themselves.
    """
    letters = CharSet.category("L")
    tokens = vocabulary_of(tokenizer).tokens()
    members = bytearray(len(tokens))
    texts: dict[int, str] = {}
    for i, token in enumerate(tokens):
        try:
            text = token.decode()
        except UnicodeDecodeError:
            continue  # no piece of a text
        if any(character in letters for character in text):
            texts[i] = text
    for i, ids in zip(texts, tokenizer.encode_ordinary_batch([*texts.values()]), strict=True):
        members[i] = ids == [i]
    return bytes(members)


def _texts(options: ByteOptions, members: Iterable[bytes]) -> BaseTexts:
    """Make the functions that turn documents into pieces, where no run is cut."""
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
    """Return the offset before the last line end that follows a letter or digit of ASCII, or 0."""
    for n in (_TAIL_BYTES, len(data)):
        start = max(len(data) - n, 0)
        found = [match.end() for match in re.finditer(_LINE_END.encode(), data[start:])]
        if found:
            return start + found[-1]
    return 0


def _divided(documents: Iterable[Document]) -> Iterator[Document]:
    """Cut long documents before line ends."""
    for document in documents:
        pattern: Any = re.compile(_LINE_END if isinstance(document, str) else _LINE_END.encode())
        at = 0
        while len(document) - at > _BLOCK_UNITS and (found := pattern.search(document, at + _BLOCK_UNITS)):
            yield document[at : found.end()]
            at = found.end()
        yield document[at:] if at else document


# Superwords


def _learn_superwords(
    count_runs: Callable[[int], Sequences], words: Sequence[Merge], tokens: list[bytes], options: ByteOptions
) -> list[Merge]:
    """Learn merges of superwords. Their tokens are appended to `tokens`.

    Args:
        count_runs: counts the runs of words, cut for merges of a least count.
        words: the merges of words.
        tokens: token of each id of the words.
        options: the options of the run.
    """
    least = words[-1].n + 1
    learner = _learner(
        count_runs(least), tokens, options, n_new=len(words), least=least, shares=[word.n for word in words]
    )
    learner.learn()
    if learner.known_pair is not None:
        return _learn_spelled_alike(count_runs(1), len(words), tokens, options)
    return _numbered(learner, tokens)


def _learn_spelled_alike(runs: Sequences, n_new: int, tokens: list[bytes], options: ByteOptions) -> list[Merge]:
    """Do the work of `_learn_superwords` where a superword has the bytes of a word, or another superword.

    Such a merge makes the token that exists, so counts of pairs may rise, and more borders than one lie between
    the parts of a pair: the runs are not cut, and after such a merge learning begins anew.
    """
    merges: list[Merge] = []
    while len(merges) < n_new:
        learner = _learner(runs, tokens, options, n_new=n_new - len(merges), least=options.min_count)
        learner.learn()
        merges += _numbered(learner, tokens)
        if learner.known_pair is None:
            break
        left, right, count = learner.known_pair
        merged = tokens.index(tokens[left] + tokens[right])
        merges.append(Merge(left, right, count, merged))
        n_new += 1
        runs = learner.sequences(left, right, merged)
    return merges


def _numbered(learner: Learner, tokens: list[bytes]) -> list[Merge]:
    """List the merges of a learner, and append their tokens."""
    merges = []
    for left, right, count in learner.merges():
        merges.append(Merge(left, right, count, len(tokens)))
        tokens.append(tokens[left] + tokens[right])
    return merges


def _learner(
    runs: Sequences,
    tokens: list[bytes],
    options: ByteOptions,
    *,
    n_new: int,
    least: int,
    shares: Sequence[int] = (),
) -> Learner:
    return Learner(
        runs,
        max_ids=len(tokens) + n_new,
        min_count=least,
        n_base=len(tokens),
        limits=TokenLimits(tokens, max_bytes=options.max_token_bytes),
        ties_bytes=True,
        overlaps=False,
        shares=shares,
        stops_at_known=True,
    )


def mixed(words: Sequence[Merge], superwords: Sequence[Merge]) -> tuple[list[Merge], list[Merge]]:
    """Choose the merges whose tokens fill as many ids as the words would, by their counts.

    A merge of superwords is done before one of words that is rarer.

    Returns:
        Merges of words, and of superwords, in the order in which ids are given: `merged` of each is the id then.
    """
    places = {i: i for i in range(N_BYTES)}
    kept: tuple[list[Merge], list[Merge]] = ([], [])
    n_ids = N_BYTES + len(words)
    i = k = 0
    while len(places) < n_ids and (i < len(words) or k < len(superwords)):
        is_superword = k < len(superwords) and (i == len(words) or superwords[k].n > words[i].n)
        merge = superwords[k] if is_superword else words[i]
        i, k = i + (not is_superword), k + is_superword
        places.setdefault(merge.merged, len(places))
        kept[is_superword].append(Merge(places[merge.left], places[merge.right], merge.n, places[merge.merged]))
    return kept


def _model(words: Sequence[Merge], superwords: Sequence[Merge], options: ByteOptions) -> Model:
    """Make the model of words and superwords that were chosen."""
    made = [bytes([byte]) for byte in range(N_BYTES)]
    for merge in sorted((*words, *superwords), key=lambda merge: merge.merged):
        if merge.merged == len(made):
            made.append(made[merge.left] + made[merge.right])
    return Model(
        tokens=made,
        pattern=options.pattern,
        special_tokens={name: len(made) + i for i, name in enumerate(options.special_tokens)},
        merges=pack_merges((left, right, merged) for left, right, _, merged in words),
        merges_rule="merges",
        whole_piece_first=False,
        supermerges=Supermerges(pack_merges((left, right, merged) for left, right, _, merged in superwords)),
    )
