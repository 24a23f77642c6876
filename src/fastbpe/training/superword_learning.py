"""Training of superwords, the second stage of `train(superwords=)`.

The first stage is an ordinary run. The second stage reads the source again, twice or more: it counts which ids are
neighbours, then the runs of ids that frequent merges can join (see `_core.train.run_counter`), and learns
from these runs. The count of the last merge is not known beforehand. So runs are cut between neighbours that are
rarer than some minimum, and only merges of at least that count are learned; if these are too few, the minimum is
halved and the runs are counted again.
"""

from __future__ import annotations

import contextlib
from array import array
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from functools import partial
from typing import Any

from fastbpe._core.cache.two_phases import TwoPhases
from fastbpe._core.ids.sequences import Sequences
from fastbpe._core.merge.merge_piece import recover_merges
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.train.byte_learner import Learner
from fastbpe._core.train.run_counter import NeighbourCounts, sequences_of
from fastbpe._core.train.superword_counters import SuperwordCounter
from fastbpe._core.train.token_limits import TokenLimits
from fastbpe._utils.progress import Reporter
from fastbpe._utils.warn import warn
from fastbpe._version import __version__
from fastbpe.errors import TrainingError, TrainingWarning
from fastbpe.model import N_BYTES, Model
from fastbpe.tokenizer.internals import vocabulary_of
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.base_vocabulary import (
    BaseVocabulary,
    add_pattern_of_base,
    byte_vocabulary,
    vocabulary_of_base,
)
from fastbpe.training.bytes import byte_level_ranks, train_bytes
from fastbpe.training.count_checks import check_neighbours_known
from fastbpe.training.document_counting import BaseTexts, SourcesAgain, read_again, texts_of_pattern
from fastbpe.training.options import ByteOptions, Run, limits_of, too_few_within, whole_number_of_ids
from fastbpe.training.piece_counts import PieceCounts, table_of
from fastbpe.training.runs import (
    by_lines,
    check_base,
    check_ids,
    check_runs,
    level_of_runs,
    neighbours_in,
    runs_of_sum,
    texts_of_stage,
    words_of_stage,
)
from fastbpe.training.superword_options import Superwords, n_first_ids

_TEXT_BYTES = 1 << 30  # bytes that a text of unknown size is assumed to have

Merge = tuple[int, int, int]  # left id, right id, count


def train_superwords(sources: Mapping[Any, Any], base: Tokenizer | None, run: Run) -> Tokenizer:
    """Learn words and then superwords, or only superwords on top of a base. See `train` and `Superwords`.

    sources: name → source; the name is None in a run without names.
    """
    keywords = dict(run.options)
    superwords = keywords.pop("superwords")
    if not isinstance(superwords, Superwords):
        raise TypeError(f"superwords must be a Superwords, 'boundless' or 'words', not {superwords!r:.60}")
    runs: Any = sources.get(None)
    is_runs = isinstance(runs, PieceCounts) and runs.runs_of is not None
    if not is_runs:
        for source in sources.values():
            check_neighbours_known("superwords=Superwords(…)", source)
    if keywords.get("ties") == "first":
        raise TrainingError('ties="first" cannot be combined with superwords=; leave ties= out')
    vocab_size = whole_number_of_ids(run.vocab_size, None if base is None else base.vocab_size)
    if is_runs:
        check_runs(runs, base, superwords, keywords.get("special_tokens", ()))
        run.reading.check_unused()
    with contextlib.nullcontext(runs) if is_runs else read_again(sources, run) as again:
        if base is None:
            options = ByteOptions(vocab_size=vocab_size, **keywords)
            names = options.special_tokens
            n_first = n_first_ids(superwords, options.vocab_size, len(names))
            first = train_bytes(
                again.opened(),
                None,
                run._replace(vocab_size=n_first, options=keywords),
                texts=by_lines(texts_of_pattern(options.pattern, names), superwords, names),
            )
            start = replace(byte_vocabulary(options), tokens=vocabulary_of(first).tokens())
        else:
            options = ByteOptions(vocab_size=vocab_size, **add_pattern_of_base(base, keywords))
            check_base(base, superwords)
            first, start = base, vocabulary_of_base(base, run.base_special or "keep", options)
        model, n_missing = _second_stage(again, first, start, options, superwords, run)
    if n_missing:
        limits: dict[str, object] = {**limits_of(options)}
        limits |= {} if superwords.max_words is None else {"max_words": superwords.max_words}
        limits |= {"forbid": [*superwords.forbid]} if superwords.forbid else {}
        said = too_few_within(limits, options.vocab_size - n_missing, options.vocab_size, "text")
        warn(said, TrainingWarning)
    if base is not None:
        warn(
            "superwords= changes how the base splits text, so texts may get other ids, even texts that contain "
            "no superword; the base's ordinary tokens keep their ids; base= without superwords= keeps the base's "
            "split pattern",
            TrainingWarning,
        )
    return Tokenizer(model)


def _second_stage(
    sources: SourcesAgain | PieceCounts,
    first: Tokenizer,
    start: BaseVocabulary,
    options: ByteOptions,
    superwords: Superwords,
    run: Run,
) -> tuple[Model, int]:
    """Learn superwords on top of the tokens of a tokenizer.

    sources: the texts, or runs of the tokenizer's tokens.

    Returns:
        The model, and the number of ids that were requested but not learned.
    """
    words = words_of_stage(first, start)
    if isinstance(sources, PieceCounts):
        check_ids(sources, words.n_ids)
        counted, count_runs = sources, partial(runs_of_sum, sources, words.n_ids)
        neighbours = neighbours_in(sources, words.n_ids)
        floor = max(level_of_runs(sources), options.min_count)
    else:
        floor = options.min_count
        n_bytes = first.training_report["n_bytes"] if start.model is None else sources.n_bytes() or _TEXT_BYTES
        neighbours = NeighbourCounts(words.n_ids, n_bytes)
        texts = texts_of_stage(first, options, superwords)
        phases = TwoPhases(words, array("Q"))  # empty: no pair is in a superword yet
        make = partial(SuperwordCounter, phases=phases, neighbours=neighbours)
        counted = sources.count(texts, "counting neighbours", partial(make, least=0), neighbours)  # 0: no runs
        count_runs = partial(_count_cut_runs, sources, texts, make, words.n_ids)
    kept = _kept(words, neighbours, start)
    n_new = options.vocab_size - start.n_known - (len(kept) - N_BYTES if start.model is None else 0)
    # The n-th merge is usually rarer than the n-th most frequent pair: merges lower the counts of other pairs.
    least = max(neighbours.nth_largest(n_new) // 2, floor)
    while True:
        merges = _learn(count_runs(least), start, options, superwords, n_new, least, run.reporter)
        if len(merges) == n_new or least == floor:
            break
        least = max(least // 2, floor)
    if len(merges) < n_new and floor > options.min_count:
        advised = max(floor // 4, 1)  # the minimum is halved twice, as in the search above
        raise TrainingError(
            f"the runs were cut where neighbours occur fewer than {floor} times, and only {len(merges):,} of "
            f"{n_new:,} superwords are that frequent: count the runs again with all neighbours whose "
            f"count is {advised} or more, or lower vocab_size="
        )
    facts = {
        "pattern": options.pattern,
        "superwords": dict(vars(superwords)),
        "n_merges": len(kept) - N_BYTES + len(merges) if start.model is None else len(merges),
        "n_superword_merges": len(merges),
        "n_dropped_merges": words.n_tokens - len(kept),
        "least_count": merges[-1][2] if merges else None,
    }
    if start.model is None:
        report = first.training_report | facts | {"vocab_size": options.vocab_size}
        new_ids = {old: new for new, old in enumerate(kept)}
        new_ids |= {words.n_ids + i: len(kept) + i for i in range(len(merges))}
        merges = [(new_ids[left], new_ids[right], count) for left, right, count in merges]
        start = replace(start, tokens=[start.tokens[i] for i in kept])
    else:
        report = asdict(options) | {"special_tokens": list(options.special_tokens), "library": __version__} | facts
        report |= {
            "n_bytes": counted.n_bytes,
            "n_skipped": counted.n_skipped,
            "n_files_left_out": 0 if isinstance(sources, PieceCounts) else sources.n_left_out,
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


def _count_cut_runs(
    sources: SourcesAgain, texts: BaseTexts, make: Callable[..., SuperwordCounter], n_ids: int, least: int
) -> Sequences:
    """Count runs, cut between neighbours that occur together fewer than `least` times."""
    return sequences_of(table_of(sources.count(texts, "counting runs", partial(make, least=least))), n_ids)


def _kept(words: Vocabulary, neighbours: NeighbourCounts, start: BaseVocabulary) -> list[int]:
    """List the ids that stay, in order.

    With a base, these are the ids of its ordinary tokens; else the bytes, the tokens used in the second stage, and
    all tokens that merge into one of these.

    A merge of the first stage that no text of the second stage uses is left out, as in SuperBPE.
    """
    if start.model is not None:
        return [i for i, token in enumerate(start.tokens) if token]
    parts_of = recover_merges(words)
    kept = {*range(N_BYTES)}
    waiting = neighbours.ids()
    while waiting:
        if (token_id := waiting.pop()) not in kept:
            kept.add(token_id)
            waiting += parts_of[token_id]
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
        learner.learn(lambda n_ids: phase.reach(n_ids - n_base))
    return learner.merges()
