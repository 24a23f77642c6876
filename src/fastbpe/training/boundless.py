"""Training of BoundlessBPE, `train(superwords="boundless")`: words and superwords compete for ids by count.

The rules are those of the second version of the reference implementation (arXiv 2604.05192), without deletions.
First, words are learned, with the count of each merge. Then the source is read again, twice or more. Superwords
are learned from runs: a run is two or more adjacent pieces that are each a single token with a letter. At each
step, the more frequent of the next superword merge and the next word merge is taken, until all ids are used; the
remaining words are dropped.

Let c be the count of the last word merge that was learned, the rarest one. A superword needs a count above c, and
a merge across the boundary of two words happens at most as often as these are adjacent. So runs are cut between
neighbours that occur at most c times.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from fastbpe._core.ids.sequences import Sequences
from fastbpe._core.train.byte_learner import Learner
from fastbpe._core.train.token_limits import TokenLimits
from fastbpe._utils.progress import Reporter
from fastbpe._utils.warn import warn
from fastbpe._version import __version__
from fastbpe.errors import TrainingError, TrainingWarning
from fastbpe.model import N_BYTES, Model, Supermerges, pack_merges
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.base_vocabulary import byte_vocabulary
from fastbpe.training.bytes import all_counted
from fastbpe.training.count_checks import check_neighbours_known
from fastbpe.training.document_counting import read_again
from fastbpe.training.options import ByteOptions, Run, limits_of, too_few_within, whole_number_of_ids
from fastbpe.training.piece_counts import PieceCounts, added_up, table_of
from fastbpe.training.runs import Merge, check_ids, count_cut_runs, runs_of_sum, tokens_of, words_of
from fastbpe.training.superword_options import BOUNDLESS, WORDS


def train_boundless(sources: Mapping[Any, Any], base: Tokenizer | None, run: Run) -> Tokenizer:
    """Learn words and superwords together, or only one of them. See `train`.

    sources: name → source; the name is None in a run without names.
    """
    keywords = {name: value for name, value in run.options.items() if name != "superwords"}
    runs = sources.get(None)
    if isinstance(runs, PieceCounts) and runs.runs_of is not None:
        return _train_on_runs(runs, base, run, keywords)
    learns_words_alone = run.options["superwords"] == WORDS
    _check(sources.values(), base, keywords, learns_words_alone=learns_words_alone)
    if counted := [source for source in sources.values() if isinstance(source, PieceCounts)]:
        keywords = {"pattern": counted[0].pattern, "special_tokens": counted[0].special_tokens, **keywords}
    options = ByteOptions(vocab_size=whole_number_of_ids(run.vocab_size, None), **keywords)
    if learns_words_alone:
        if len(counted) == len(sources):
            run.reading.check_unused()
        return _train_words(sources, options, run)[0]
    with read_again(sources, run) as again:
        words, merges = _train_words(again.opened(), options, run)
        return _finished(words, merges, options, run.reporter, partial(count_cut_runs, again, words, options))


def _train_on_runs(
    runs: PieceCounts, words: Tokenizer | None, run: Run, keywords: Mapping[str, object]
) -> Tokenizer:
    """Learn superwords from runs that were counted before.

    Raises TrainingError: the runs were not counted with this tokenizer, vocab_size is not the one for which its
    words were learned, or another option is given.
    """
    assert runs.runs_of is not None
    if " " in runs.runs_of:  # more than a fingerprint: see `PieceCounts.runs_of`
        raise TrainingError(
            "these counts are runs of the tokens of a tokenizer: pass this tokenizer as base=, and "
            "superwords=Superwords(…) with the split pattern of superwords and the documents= with which they "
            "were counted"
        )
    if run.options["superwords"] != BOUNDLESS or words is None or words.fingerprint != runs.runs_of:
        raise TrainingError(
            'these counts are runs of the words of a tokenizer: pass superwords="boundless", and this '
            "tokenizer as base="
        )
    options, merges = words_of(words)
    size = whole_number_of_ids(run.vocab_size, words.vocab_size)
    if size != options.vocab_size:
        raise TrainingError(
            f"vocab_size={size}: the words were learned for {options.vocab_size} ids; pass that number"
        )
    if keywords:
        raise TrainingError(
            f"{next(iter(keywords))}= cannot be changed, because the words have been learned; leave it out"
        )
    run.reading.check_unused()
    n_ids = len(tokens_of(merges))
    check_ids(runs, n_ids)
    count = partial(runs_of_sum, runs, n_ids)
    return _finished(words, merges, options, run.reporter, count)


def _check(
    sources: Iterable[object], base: object, keywords: Collection[str], *, learns_words_alone: bool
) -> None:
    """Raise TrainingError if an argument cannot be combined with superwords="boundless" or "words"."""
    argument = f'superwords="{WORDS if learns_words_alone else BOUNDLESS}"'
    for source in sources:
        if isinstance(source, PieceCounts) and learns_words_alone and source.runs_of is None:
            continue
        if isinstance(source, Mapping) and learns_words_alone and not isinstance(source, PieceCounts):
            raise TrainingError(f"{argument} needs the texts or PieceCounts, not a dict of counts")
        check_neighbours_known(argument, source)
    if base is not None:
        raise TrainingError(
            f"{argument} learns its own words, and cannot extend base=; leave base= out, or pass "
            "superwords=Superwords(), which learns superwords on top of a base"
        )
    if "ties" in keywords:
        raise TrainingError(
            f"{argument} has its own order: of two equally frequent pairs it merges the one whose left token "
            "(then right token) comes first in byte order; leave ties= out"
        )


def _train_words(sources: Mapping[Any, Any], options: ByteOptions, run: Run) -> tuple[Tokenizer, list[Merge]]:
    """Learn words. The training report of the tokenizer contains the count of each merge.

    sources: name (or None) → source.
    """
    start = byte_vocabulary(options)
    counted, n_left_out = all_counted(sources, start, options, run)
    counts = added_up([*counted.values()])
    n_merges = options.vocab_size - start.n_known
    merges = _learn_words(counts, n_merges, options, run.reporter)
    if n_missing := n_merges - len(merges):
        said = too_few_within(limits_of(options), options.vocab_size - n_missing, options.vocab_size, "text")
        warn(said, TrainingWarning)
    report = asdict(options) | {
        "ties": "bytes",
        "special_tokens": list(options.special_tokens),
        "superwords": WORDS,
        "library": __version__,
        "n_bytes": counts.n_bytes,
        "n_pieces": counts.n_pieces,
        "n_distinct_pieces": len(counts),
        "n_skipped": counts.n_skipped,
        "n_files_left_out": n_left_out,
        "n_merges": len(merges),
        "word_counts": [merge.n for merge in merges],
        **({} if run.weights is None else {"weights": run.weights}),
    }
    run.reporter.summarise({"counting": f"{counts.n_bytes:,} bytes, {len(counts):,} distinct pieces"})
    tokens = tokens_of(merges)
    special = {name: len(tokens) + i for i, name in enumerate(options.special_tokens)}
    return Tokenizer(
        Model(tokens=tokens, pattern=options.pattern, special_tokens=special, training=report)
    ), merges


def _finished(
    words: Tokenizer,
    merges: Sequence[Merge],
    options: ByteOptions,
    reporter: Reporter,
    count: Callable[[int], Sequences],
) -> Tokenizer:
    """Learn superwords, and mix them with words.

    Args:
        words: the tokenizer of words.
        merges: its merges.
        options: the options of the run.
        reporter: gets the summary.
        count: function that counts runs, cut between neighbours that are rarer than its argument.
    """
    tokens = tokens_of(merges)
    superwords = _learn_superwords(count, merges, tokens, options) if merges else []
    kept_words, kept_superwords = mixed(merges, superwords)
    report = {name: value for name, value in words.training_report.items() if name != "word_counts"} | {
        "superwords": BOUNDLESS,
        "n_merges": len(kept_words) + len(kept_superwords),
        "n_superword_merges": len(kept_superwords),
        "least_count": merges[-1].n if merges else None,
    }
    reporter.summarise(
        {
            "learning superwords": f"{len(kept_words):,} merges of words, {len(kept_superwords):,} of superwords",
        }
    )
    return Tokenizer(_model(kept_words, kept_superwords, options)._replace(training=report))


# Words


def _learn_words(counts: PieceCounts, n_merges: int, options: ByteOptions, reporter: Reporter) -> list[Merge]:
    with reporter.phase("learning words", n_merges, unit=" merges") as phase:
        learner = Learner(
            table_of(counts),
            max_ids=N_BYTES + n_merges,
            min_count=options.min_count,
            limits=TokenLimits([bytes([byte]) for byte in range(N_BYTES)], max_bytes=options.max_token_bytes),
            ties_bytes=True,
            overlaps=False,
        )
        learner.learn(lambda n_ids: phase.reach(n_ids - N_BYTES))
    return [Merge(*merge, N_BYTES + i) for i, merge in enumerate(learner.merges())]


# Superwords


def _learn_superwords(
    count_runs: Callable[[int], Sequences], words: Sequence[Merge], tokens: list[bytes], options: ByteOptions
) -> list[Merge]:
    """Learn merges of superwords. Their tokens are appended to `tokens`.

    Args:
        count_runs: function that counts the runs of words, cut between neighbours rarer than its argument.
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
    """Do the work of `_learn_superwords` if a superword has the same bytes as a word or another superword.

    Such a merge produces the existing token, so counts of pairs may rise, and one pair may occur between different
    neighbouring words, which are each rarer than the pair. Therefore the runs are not cut, and after such a merge
    learning starts again.
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
        n_new += 1  # this merge makes no new token
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
    """Return a learner of superwords, which has not begun.

    Args:
        runs: the runs, which the learner empties.
        tokens: token of each existing id.
        options: the options of the run.
        n_new: maximum number of merges.
        least: minimum count of a merge.
        shares: counts of the merges of words. These merges compete with the learner's merges for the new ids.
    """
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
    """Choose merges by count, until they make as many tokens as `words` has merges.

    A merge of superwords comes before a rarer merge of words.

    Requires: in both lists, a token comes before the merges that use it; each merge of words makes a new token, so
    some are left until the end. A merge is at most as frequent as each of its two tokens, so the words of a
    superword are chosen before it.

    Returns:
        Merges of words, and of superwords, in the order of their ids; `merged` of each is its new id.

    Raises:
        TrainingError: a superword is more frequent than its words, so they were counted in different texts.
    """
    new_ids = {i: i for i in range(N_BYTES)}  # id in the lists → id in the result
    kept: tuple[list[Merge], list[Merge]] = ([], [])
    n_ids = N_BYTES + len(words)
    i = k = 0
    while len(new_ids) < n_ids:
        is_superword = k < len(superwords) and superwords[k].n > words[i].n
        merge = superwords[k] if is_superword else words[i]
        i, k = i + (not is_superword), k + is_superword
        if not new_ids.keys() >= {merge.left, merge.right}:
            raise TrainingError(
                f"a superword occurs {merge.n:,} times in these runs, more often than its words in their text: "
                "count the runs in the text from which the words were learned, each part once"
            )
        new_ids.setdefault(merge.merged, len(new_ids))
        kept[is_superword].append(Merge(new_ids[merge.left], new_ids[merge.right], merge.n, new_ids[merge.merged]))
    return kept


def _model(words: Sequence[Merge], superwords: Sequence[Merge], options: ByteOptions) -> Model:
    """Return the model of the chosen words and superwords."""
    tokens = [bytes([byte]) for byte in range(N_BYTES)]
    for merge in sorted((*words, *superwords), key=lambda merge: merge.merged):
        if merge.merged == len(tokens):  # otherwise, the merge makes an existing token
            tokens.append(tokens[merge.left] + tokens[merge.right])
    return Model(
        tokens=tokens,
        pattern=options.pattern,
        special_tokens={name: len(tokens) + i for i, name in enumerate(options.special_tokens)},
        merges=pack_merges((left, right, merged) for left, right, _, merged in words),
        merges_rule="merges",
        whole_piece_first=False,
        supermerges=Supermerges(pack_merges((left, right, merged) for left, right, _, merged in superwords)),
    )
