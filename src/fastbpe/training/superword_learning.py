"""Training of superwords, the second stage of `train(superwords=)`.

The first stage is an ordinary run. The second stage reads the source again, twice or more: it counts which ids are
neighbours, then the runs of ids that frequent merges can join (see `_core.train.run_counter`), and learns
from these runs. The count of the last merge is not known beforehand. So runs are cut for merges of some minimum
count; if these are too few, the count is halved and the runs are counted again.
"""

from __future__ import annotations

import warnings
from array import array
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from fastbpe._core.cache.two_phases import TwoPhases
from fastbpe._core.ids.sequences import Sequences
from fastbpe._core.merge.merge_piece import recover_merges
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.split import composite
from fastbpe._core.split.by_character import ByText
from fastbpe._core.train.byte_learner import Learner
from fastbpe._core.train.run_counter import NeighbourCounts, sequences_of
from fastbpe._core.train.superword_counter import SuperwordCounter
from fastbpe._core.train.token_limits import TokenLimits
from fastbpe._utils.progress import Reporter
from fastbpe._version import __version__
from fastbpe.corpus.source_kinds import Document
from fastbpe.errors import TrainingError, TrainingWarning
from fastbpe.model import N_BYTES, Model
from fastbpe.tokenizer.internals import vocabulary_of
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.base_texts import BaseTexts, texts_of_base
from fastbpe.training.base_vocabulary import (
    BaseVocabulary,
    add_pattern_of_base,
    byte_vocabulary,
    is_plain,
    vocabulary_of_base,
)
from fastbpe.training.bytes import byte_level_ranks, train_bytes
from fastbpe.training.document_counting import texts_of_pattern
from fastbpe.training.documents_again import SourcesAgain, read_again
from fastbpe.training.options import ByteOptions, Run, whole_number_of_ids
from fastbpe.training.piece_counts import table_of
from fastbpe.training.superword_options import Superwords, n_first_ids

_BLOCK_UNITS = 1 << 18  # units of the parts in which a long document of lines is counted
_NEVER_IN_UTF8 = {0xC0, 0xC1, *range(0xF5, 0x100)}
_TEXT_BYTES = 1 << 30  # bytes of a text whose size is not known
_CALLER = 3  # stacklevel of warnings from `train_superwords`: the line that calls `train`

Merge = tuple[int, int, int]  # left id, right id, count


def train_superwords(source: Any, base: Tokenizer | None, run: Run) -> Tokenizer:
    """Learn words and then superwords, or only superwords on top of a base. See `train` and `Superwords`."""
    keywords = dict(run.options)
    superwords = keywords.pop("superwords")
    if not isinstance(superwords, Superwords):
        raise TypeError(f"superwords must be a Superwords or 'boundless', not {superwords!r:.60}")
    if any(isinstance(one, Mapping) for one in (source.values() if run.has_names else (source,))):
        raise TrainingError("superwords= needs the texts: counts of pieces do not say which pieces are neighbours")
    if keywords.get("ties") == "first":
        raise TrainingError(
            'ties="first" cannot be combined with superwords=; choose ties="pair" or "huggingface"'
        )
    vocab_size = whole_number_of_ids(run.vocab_size, None if base is None else base.vocab_size)
    with read_again(source, run) as again:
        if base is None:
            options = ByteOptions(vocab_size=vocab_size, **keywords)
            names = options.special_tokens
            n_first = n_first_ids(superwords, options.vocab_size, len(names))
            texts = again.resolved()
            first = train_bytes(
                texts if run.has_names else texts[None],
                None,
                run._replace(vocab_size=n_first, options=keywords),
                texts=_by_lines(texts_of_pattern(options.pattern, names), superwords, names),
            )
            start = replace(byte_vocabulary(options), tokens=vocabulary_of(first).tokens())
        else:
            options = ByteOptions(vocab_size=vocab_size, **add_pattern_of_base(base, keywords))
            _check_base(base, superwords)
            first, start = base, vocabulary_of_base(base, run.base_special or "keep", options)
        model, n_missing = _second_stage(again, first, start, options, superwords, run)
    if n_missing:
        warnings.warn(
            f"no pair is left to merge that min_count={options.min_count}, max_words={superwords.max_words} and "
            f"forbid={superwords.forbid} allow: the vocabulary has {options.vocab_size - n_missing} entries, not "
            f"the {options.vocab_size} asked for; change a limit, train on more text, or ask for fewer",
            TrainingWarning,
            stacklevel=_CALLER,
        )
    if base is not None:
        warnings.warn(
            "superwords= changes how the base splits text: a text gets other ids than from the base, though the "
            "base's tokens keep their ids; train(base=) without superwords= keeps the ids of old texts",
            TrainingWarning,
            stacklevel=_CALLER,
        )
    return Tokenizer(model)


def _check_base(base: Tokenizer, superwords: Superwords) -> None:
    """Raise TrainingError if superwords cannot be learned on top of a base."""
    if superwords.start is not None:
        raise TrainingError(
            f"start={superwords.start} cannot be combined with base=: superwords then follow the ids of the base; "
            "leave start out"
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
            raise TrainingError(f"base= has two merges that make {token!r}; superwords= needs one for each token")
        made.add(token)


def _second_stage(
    sources: SourcesAgain,
    first: Tokenizer,
    start: BaseVocabulary,
    options: ByteOptions,
    superwords: Superwords,
    run: Run,
) -> tuple[Model, int]:
    """Learn superwords on top of the tokens of a tokenizer.

    Returns:
        The model, and the number of ids that were requested but not learned.
    """
    words = _words(first, start)
    texts = _texts_of(first, options, superwords)
    n_bytes = first.training_report["n_bytes"] if start.model is None else sources.n_bytes() or _TEXT_BYTES
    neighbours = NeighbourCounts(words.n_ids, n_bytes)
    make_counter = partial(SuperwordCounter, phases=TwoPhases(words, array("Q")), neighbours=neighbours)
    counted = sources.count(texts, "counting neighbours", partial(make_counter, least=0), neighbours)
    kept = _kept(words, neighbours, start)
    n_new = options.vocab_size - start.n_known - (len(kept) - N_BYTES if start.model is None else 0)
    least = max(neighbours.nth_largest(n_new) // 2, options.min_count)
    while True:
        runs = sources.count(texts, "counting runs", partial(make_counter, least=least))
        sequences = sequences_of(table_of(runs), words.n_ids)
        merges = _learn(sequences, start, options, superwords, n_new, least, run.reporter)
        if len(merges) == n_new or least == options.min_count:
            break
        least = max(least // 2, options.min_count)
    facts = {
        "pattern": options.pattern,
        "superwords": dict(vars(superwords)),
        "n_merges": len(kept) - N_BYTES + len(merges) if start.model is None else len(merges),
        "n_superword_merges": len(merges),
        "n_dropped_merges": words.n_tokens - len(kept),
        "least_count": least,
    }
    if start.model is None:
        report = first.training_report | facts | {"vocab_size": options.vocab_size}
        places = {old: new for new, old in enumerate(kept)}
        places |= {words.n_ids + i: len(kept) + i for i in range(len(merges))}
        merges = [(places[left], places[right], count) for left, right, count in merges]
        start = replace(start, tokens=[start.tokens[i] for i in kept])
    else:
        report = asdict(options) | {"special_tokens": list(options.special_tokens), "library": __version__} | facts
        report |= {
            "n_bytes": counted.n_bytes,
            "n_skipped": counted.n_skipped,
            "n_files_left_out": sources.n_left_out,
            "base": first.fingerprint,
            **({} if run.weights is None else {"weights": run.weights}),
        }
    run.reporter.summarise(
        {
            "counting runs": f"{counted.n_bytes:,} bytes, runs for merges of at least {least:,} occurrences",
            "learning superwords": f"{len(merges):,} merges",
        }
    )
    model = start.extended(merges, options, report)
    return model._replace(pattern=superwords.pattern, pre_tokenizers=()), n_new - len(merges)


def _words(first: Tokenizer, start: BaseVocabulary) -> Vocabulary:
    """Return the vocabulary of the first stage, which finds a whole token only if merging makes it."""
    vocabulary = vocabulary_of(first)
    if start.model is None:
        return vocabulary
    return Vocabulary(
        **vocabulary.sections(),
        whole_piece_first=False,
        drops_bytes=start.model.drops_bytes,
        code_points=None,
        spelled=None,
        segmenter=None,
    )


def _kept(words: Vocabulary, neighbours: NeighbourCounts, start: BaseVocabulary) -> list[int]:
    """List the ids that stay, in order: all ids of a base, else the bytes and the tokens used in the second stage.

    A merge of the first stage that no text of the second stage uses is left out, as in SuperBPE.
    """
    if start.model is not None:
        return [i for i, token in enumerate(start.tokens) if token]
    makers = recover_merges(words)
    kept = {*range(N_BYTES)}
    waiting = neighbours.ids()
    while waiting:
        if (token_id := waiting.pop()) not in kept:
            kept.add(token_id)
            waiting += makers[token_id]
    return sorted(kept)


def _learn(
    runs: Sequences,
    start: BaseVocabulary,
    options: ByteOptions,
    superwords: Superwords,
    n_new: int,
    least: int,
    reporter: Reporter,
) -> list[Merge]:
    """Learn merges of at least `least` occurrences from counted runs."""
    n_base = len(start.tokens)
    limits = TokenLimits(
        start.tokens,
        max_bytes=options.max_token_bytes,
        max_words=superwords.max_words,
        forbidden=tuple(text.encode() for text in superwords.forbid),
    )
    with reporter.phase("learning superwords", n_new, unit=" merges") as phase:
        learner = Learner(
            runs,
            max_ids=n_base + n_new,
            min_count=least,
            base_ranks=byte_level_ranks() if options.ties == "huggingface" else None,
            n_base=n_base,
            taken=[name.encode() for name in start.names],
            limits=limits,
        )
        learner.learn(lambda n_ids: phase.update(n_ids - n_base - phase.n))
    return learner.merges()


# Documents of lines


def _texts_of(first: Tokenizer, options: ByteOptions, superwords: Superwords) -> BaseTexts:
    """Return the functions that turn documents into the pieces of the second stage."""
    names = (*first.special_tokens, *(name for name in options.special_tokens if name not in first.special_tokens))
    texts = texts_of_pattern(superwords.pattern, names)
    if not is_plain(first):
        texts = replace(texts_of_base(first, options.special_tokens), splitter=texts.splitter, cut=None)
    return _by_lines(texts, superwords, names)


def _by_lines(texts: BaseTexts, superwords: Superwords, names: Collection[str]) -> BaseTexts:
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
