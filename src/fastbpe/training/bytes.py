"""Training with mode="byte": merges over the bytes of pieces."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from fastbpe._core.text.bytes_to_unicode import bytes_to_unicode
from fastbpe._core.train.byte_learner import Learner
from fastbpe._utils import plurals
from fastbpe._utils.progress import Reporter
from fastbpe._utils.warn import warn
from fastbpe._version import __version__
from fastbpe.corpus.corpora import Corpus
from fastbpe.errors import TrainingError, TrainingWarning
from fastbpe.model import N_BYTES
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.base_vocabulary import (
    BaseVocabulary,
    add_pattern_of_base,
    byte_vocabulary,
    vocabulary_of_base,
)
from fastbpe.training.document_counting import BaseTexts
from fastbpe.training.named_sources import Parity, facts_of_parity
from fastbpe.training.options import ByteOptions, Run, too_few_merges, whole_number_of_ids
from fastbpe.training.piece_counting import count_source
from fastbpe.training.piece_counts import PieceCounts, added_up, counts_of_table, table_of

if TYPE_CHECKING:
    from fastbpe._core.train.parity_learner import ParityLearner

_NO_WINDOW = 1 << 62  # the learner's greatest window in merges, longer than any run


def train_bytes(
    sources: Mapping[Any, Any], base: Tokenizer | None, run: Run, texts: BaseTexts | None = None
) -> Tokenizer:
    """Count the pieces of sources, and learn merges from them. See `train`.

    sources: name → source; the name is None in a run without names.
    texts: functions that turn documents into pieces, for the first stage of a run with superwords: there is no
        warning if this stage learns fewer merges than requested. None: use the pattern and the special tokens, or
        the base.
    """
    vocab_size = whole_number_of_ids(run.vocab_size, None if base is None else base.vocab_size)
    dev_texts = {} if run.parity is None or run.parity.dev is None else run.parity.dev
    _check_are_pieces((*sources.values(), *dev_texts.values()))
    keywords = _with_options_of_counts(sources.values(), base, run.options)
    facts: dict[str, Any] = {}
    if base is None:
        options = ByteOptions(vocab_size=vocab_size, **keywords)
        start = byte_vocabulary(options)
    else:
        options = ByteOptions(vocab_size=vocab_size, **add_pattern_of_base(base, keywords))
        facts = {"base": base.fingerprint, "base_special": run.base_special or "keep"}
        start = vocabulary_of_base(base, facts["base_special"], options)
    if texts is not None:
        start = replace(start, texts=texts)
    reporter = run.reporter
    if all(isinstance(text, PieceCounts) for text in (*sources.values(), *dev_texts.values())):
        run.reading.check_unused()
    counted, n_files_left_out = all_counted(sources, start, options, run)
    if run.weights is not None:
        facts["weights"] = run.weights
    counts = added_up([*counted.values()])
    n_bytes, n_distinct, n_skipped, n_pruned = counts.n_bytes, len(counts), counts.n_skipped, counts.n_pruned
    learner: Learner | ParityLearner
    report = asdict(options)
    if run.parity is None:
        last_reference = [counts]
        del counts, counted
        learner = _learn(last_reference, start, options, reporter, warns=texts is None)
        n_pieces = learner.n_pieces
    else:
        dev, _ = all_counted(dev_texts, start, options, run._replace(weights=None), "the dev text of ")
        learner = _learn_parity(counted, dev, counts, start, options, run)
        n_pieces = counts.n_pieces
        del report["ties"]
        facts |= _facts_of_parity(learner, [*counted], run.parity)
    merges = learner.merges()
    del learner  # its memory is free for the tokenizer
    report |= {
        "special_tokens": list(options.special_tokens),
        "library": __version__,
        "n_bytes": n_bytes,
        "n_pieces": n_pieces,
        "n_distinct_pieces": n_distinct,
        "n_skipped": n_skipped,
        "n_files_left_out": n_files_left_out,
        "n_pruned": n_pruned,
        "n_merges": len(merges),
        **facts,
    }
    reporter.summarise(
        {
            "counting": f"{n_bytes:,} bytes, {n_pieces:,} pieces, {n_distinct:,} distinct"
            + (f", {plurals.counted(n_skipped, 'document')} skipped" if n_skipped else "")
            + (f", {plurals.counted(n_files_left_out, 'file')} in folders not read" if n_files_left_out else "")
            + (f", {plurals.counted(n_pruned, 'piece')} pruned" if n_pruned else ""),
            "learning": f"{len(merges):,} merges",
        }
    )
    return Tokenizer(start.extended(merges, options, report))


def _check_are_pieces(sources: Iterable[Any]) -> None:
    """Raise TrainingError if a source is counts of another mode, or of runs."""
    found = [source for source in sources if isinstance(source, PieceCounts)]
    if other := next((counts.mode for counts in found if counts.mode != "byte"), None):
        raise TrainingError(
            f'these counts were counted with mode="{other}"; pass mode="{other}", or leave mode= out'
        )
    if any(counts.runs_of is not None for counts in found):
        raise TrainingError(
            "these counts are runs. Pass as base= the tokenizer with which they were counted. For runs of words, "
            'pass also superwords="boundless". For runs of tokens, pass also superwords=Superwords(…) with the '
            "split pattern of superwords and the documents= with which they were counted"
        )


def _with_options_of_counts(
    sources: Iterable[Any], base: Tokenizer | None, options: Mapping[str, Any]
) -> dict[str, Any]:
    """Add the first counts' pattern and special tokens to the caller's options, which come before them."""
    first = next((source for source in sources if isinstance(source, PieceCounts)), None)
    if first is None:
        return dict(options)
    known = () if base is None else base.special_tokens
    new = [name for name in first.special_tokens if name not in known]
    return {"pattern": first.pattern, "special_tokens": new, **options}


def all_counted(
    sources: Mapping[Any, Any], start: BaseVocabulary, options: ByteOptions, run: Run, what: str = ""
) -> tuple[dict[Any, PieceCounts], int]:
    """Count the pieces of each source, and multiply each count by the source's weight.

    what: description of the sources, for errors.

    Returns:
        The counts, and the number of unread files in the sources' folders.
    """
    counted, n_left_out = {}, 0
    for name, source in sources.items():
        opened = source if isinstance(source, (Mapping, Corpus)) else Corpus(source, run.reading)
        named = "the source" if name is None else f"{what or 'the source '}{name!r}"
        counted[name] = _counted_pieces(opened, start, options, run, named) * run.weight(name)
        n_left_out += opened.left_out.n if isinstance(opened, Corpus) else 0
    return counted, n_left_out


def _counted_pieces(
    source: Corpus | Mapping[Any, int],
    start: BaseVocabulary,
    options: ByteOptions,
    run: Run,
    named: str,
) -> PieceCounts:
    """Count the pieces of a source, or check that given counts were made with these options.

    named: name of the source in errors.

    Raises:
        TrainingError: there is nothing to learn from, or the counts do not fit the options or the base.
    """
    special_tokens = (*start.kept_special_tokens, *start.special_tokens_at_end)
    if isinstance(source, PieceCounts):
        if start.texts is not None:
            raise TrainingError(
                "base= has added tokens, a normalizer or pre-tokenizers, which were not used for counting: pass "
                "the texts themselves"
            )
        source.check_made_by(options.pattern, special_tokens)
        counts = source
        with run.reporter.phase("counting", 0):  # every run reports the phase, even without work
            pass
    else:
        counts = count_source(source, options.pattern, special_tokens, run.reading, run.reporter, start.texts)
    has_pieces = len(counts) > 0
    if start.model is not None and start.model.drops_bytes:
        counts = _without_bytes(counts, {bytes([byte]) for byte in range(N_BYTES)}.difference(start.tokens))
    if not len(counts):
        raise TrainingError(f"there is no text to learn from: {_why_none(counts, named, has_pieces=has_pieces)}")
    return counts


def _why_none(counts: PieceCounts, named: str, *, has_pieces: bool) -> str:
    """Return the reason why counts are empty.

    has_pieces: they had pieces before `_without_bytes`.
    """
    if has_pieces:
        return f"the base has no token for any byte of {named}"
    if counts.n_pruned:
        return f"all pieces of {named} were left out as rare; prune with a lower min_count="
    return f"{named} contains " + ("only special tokens" if counts.n_bytes else "no documents, or only empty ones")


def _without_bytes(counts: PieceCounts, left_out: Collection[bytes]) -> PieceCounts:
    """Remove bytes without a token in the base from pieces, as the base does when it encodes.

    Only the learner reads the result, so it lacks the pattern and the special tokens of the counts.
    """
    no_token = b"".join(left_out)
    kept = PieceCounts((piece.translate(None, no_token), n) for piece, n in counts.items())
    return counts_of_table(
        table_of(kept), None, (), n_bytes=counts.n_bytes, n_skipped=counts.n_skipped, n_pruned=counts.n_pruned
    )


def _learn(
    last_reference: list[PieceCounts],
    start: BaseVocabulary,
    options: ByteOptions,
    reporter: Reporter,
    *,
    warns: bool,
) -> Learner:
    """Learn the merges.

    Args:
        last_reference: a list of the counts, which is emptied: if nothing else has the counts, their memory is
            freed when the learner has copied the pieces.
        start: the initial vocabulary.
        options: options of the run.
        reporter: shows the progress.
        warns: warn if fewer merges are learned than requested.
    """
    n_merges = options.vocab_size - start.n_known
    n_base = len(start.tokens)
    with reporter.phase("learning", n_merges, unit=" merges") as phase:
        learner = Learner(
            table_of(last_reference.pop()),
            max_ids=n_base + n_merges,
            ties_first=options.ties == "first",
            min_count=options.min_count,
            max_token_length=options.max_token_bytes,
            base_ranks=byte_level_ranks() if options.ties == "huggingface" else None,
            base=start.vocabulary,
            n_base=n_base,
            taken=[name.encode() for name in start.names],
        )
        learner.learn(lambda n_ids: phase.reach(n_ids - n_base))
    if warns:
        _warn_of_few(phase.n, learner, start, options)
    return learner


def _learn_parity(
    counted: Mapping[str, PieceCounts],
    dev: Mapping[str, PieceCounts],
    whole: PieceCounts,
    start: BaseVocabulary,
    options: ByteOptions,
    run: Run,
) -> ParityLearner:
    """Learn the merges of several languages.

    Args:
        counted: language → pieces of its text.
        dev: language → pieces of its dev text; empty: no dev texts.
        whole: pieces of all languages.
        start: the initial vocabulary.
        options: options of the run.
        run: the other arguments of the run.
    """
    from fastbpe._core.train.parity_learner import ParityLearner  # here: few trainings need it

    parity = run.parity
    assert parity is not None
    n_merges = options.vocab_size - start.n_known
    with run.reporter.phase("learning", n_merges, unit=" merges") as phase:
        learner = ParityLearner(
            [table_of(counts) for counts in counted.values()],
            [bytes([rank]) for rank in byte_level_ranks()],  # texts of the bytes, which order ties
            n_merges=n_merges,
            dev=None if not dev else [table_of(dev[name]) for name in counted],
            ratio=None if parity.ratio is None else [parity.ratio[name] for name in counted],
            window=None if parity.window is None else min(parity.window, _NO_WINDOW),
            alpha=parity.alpha,
            whole=table_of(whole),
            global_merges=min(parity.global_merges, n_merges),
            min_count=options.min_count,
            max_token_length=options.max_token_bytes,
        )
        learner.learn(phase.reach)
    _warn_of_few(phase.n, learner, start, options)
    return learner


def _facts_of_parity(learner: ParityLearner, languages: Sequence[str], parity: Parity) -> dict[str, Any]:
    """Return the training report's entries about parity."""
    n_merges, n_tokens = Counter(learner.chosen()), learner.n_symbols()
    numbers = {name: {"n_merges": n_merges[i], "n_tokens": n_tokens[i]} for i, name in enumerate(languages)}
    return {"parity": facts_of_parity(parity), "languages": numbers}


def _warn_of_few(
    n_learned: int, learner: Learner | ParityLearner, start: BaseVocabulary, options: ByteOptions
) -> None:
    """Warn if fewer merges were learned than requested."""
    if n_learned < options.vocab_size - start.n_known:
        text = too_few_merges(options, "max_token_bytes", learner.limits_met(), start.n_known + n_learned, "text")
        warn(text, TrainingWarning)


def byte_level_ranks() -> list[int]:
    """Return the rank of each byte in tokenizers: the order of GPT-2's characters for the bytes."""
    order = list(bytes_to_unicode())
    return [order.index(byte) for byte in range(N_BYTES)]
