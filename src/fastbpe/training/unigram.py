"""Training of unigram models: learns the same model from sentences as sentencepiece 0.2.3, to the last bit.

Training begins with many pieces, the strings that occur most often in different contexts. It computes the scores
that maximise the likelihood of the text (expectation maximization), drops the pieces whose removal lowers the
likelihood least, and repeats both until few enough are left. The sums depend on the model's option num_threads,
not on the number of threads that work.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, replace
from operator import itemgetter
from pathlib import Path
from typing import Any, TypeVar

from fastbpe._core.train.log_scores import log_probabilities
from fastbpe._core.train.seed_pieces import SeedFinder
from fastbpe._core.train.sentence_store import CountedSentences, SentenceStore, sorted_words
from fastbpe._core.train.unigram_learner import UnigramLearner, add_floats
from fastbpe._utils import plurals
from fastbpe._utils.file_statuses import status_of
from fastbpe._utils.progress import Reporter
from fastbpe._utils.threads import usable_threads
from fastbpe._utils.warn import warn
from fastbpe._version import __version__
from fastbpe.corpus.corpora import ReadingOptions, Source
from fastbpe.errors import SpecError, TrainingError, TrainingWarning
from fastbpe.formats.sentencepiece import specs
from fastbpe.model import CodePointModel, Spec
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.codepoint_counting import character_classes, counted_words, keep_sentences
from fastbpe.training.codepoint_counts import CountedWords, counting_options
from fastbpe.training.codepoint_model import (
    CodePointReport,
    alphabet_of,
    character_counts,
    make_model,
    report_of,
    summarise,
)
from fastbpe.training.codepoint_options import CodePointOptions, float32
from fastbpe.training.options import Run, number_of_ids
from fastbpe.training.piece_counts import PieceCounts
from fastbpe.training.sentences import (
    CHUNK_BYTES,
    UNKNOWN_CHARACTER,
    SentenceSource,
    sentences_of,
    with_tsv,
)

_SPACE = "\u2581"  # first character of words
_PRUNE_TO = 1.1  # times vocab_size: number of pieces at which pruning ends
_DELTA = float32(0.0001)  # difference between the scores of successive characters that pruning has dropped
_FREQUENCY = re.compile(r"[ \v\f\r]*[+-]?[0-9]{1,4000}[ \v\f\r]*")  # int() refuses more than 4,300 digits
_PARTS = 4  # parts per thread of the search for strings: parts take unequal times
_BLOCK = 1 << 12  # pieces that a thread examines at once
#: Options of a model that `_learn_pieces` reads.
_READ = (
    "max_sentencepiece_length",
    "split_by_whitespace",
    "treat_whitespace_as_suffix",
    "allow_whitespace_only_pieces",
    "shrinking_factor",
    "num_sub_iterations",
    "num_threads",
)
_SPLITS = ("split_by_whitespace", "treat_whitespace_as_suffix", "allow_whitespace_only_pieces")

_Scored = dict[bytes, float]
_Map = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]  # Python's map, or a thread pool's
_Number = TypeVar("_Number", int, float)


def train_unigram(source: Source | PieceCounts, base: Tokenizer | None, run: Run) -> Tokenizer:
    """Learn a unigram model from a source. See `train`."""
    if base is not None:
        raise TrainingError(
            "base= adds merges, but a unigram model has no merges, and each score depends on all pieces; "
            "train a new tokenizer, or add tokens with with_tokens"
        )
    vocab_size = number_of_ids(run.vocab_size, None)
    if isinstance(source, PieceCounts):
        counted, facts = counted_words(source, "unigram", run.reading)
        options = facts.options_for(vocab_size, run.options)
        with run.reporter.phase("counting", 0):  # every run reports the phase, even without work
            pass
        model, report = _learn_counted(counted, None, options, run.reading, run.reporter)
    else:
        values = with_tsv(run.options) if isinstance(source, Mapping) else run.options
        options = counting_options({**values, "vocab_size": vocab_size}, "unigram")
        model, report = learn_unigram(sentences_of(source, run.reading), options, run.reading, run.reporter)
    summarise(report, run.reporter, f"{model.n_pieces:,} pieces")
    for note in report.notes(model.trainer):
        warn(note, TrainingWarning)
    return Tokenizer(model._replace(training={"library": __version__, **asdict(report)}))


def learn_unigram(
    sentences: SentenceSource, options: CodePointOptions, reading: ReadingOptions, reporter: Reporter
) -> tuple[CodePointModel, CodePointReport]:
    """Learn a unigram model from sentences.

    Args:
        sentences: the text.
        options: options of training; model_type is "unigram".
        reading: only num_threads and max_memory_bytes are used.
        reporter: gets the phases "counting" and "learning".

    Raises:
        SpecError: there is no text to learn from, or vocab_size cannot be met.
    """
    store, counted = keep_sentences(sentences, options, reading, reporter)
    return _learn_counted(counted, store, options, reading, reporter)


def _learn_counted(
    counted: CountedWords,
    store: SentenceStore | None,
    options: CodePointOptions,
    reading: ReadingOptions,
    reporter: Reporter,
) -> tuple[CodePointModel, CodePointReport]:
    """Learn a unigram model from counted words, or from the sentences if the words are not enough.

    Args:
        counted: the words, or only the counts of characters.
        store: the sentences; None: only their words are known.
        options: options of training.
        reading: only num_threads is used.
        reporter: gets the phase "learning".
    """
    trainer = options.trainer
    counts = character_counts(counted)
    alphabet, left_out = alphabet_of(counts, trainer)
    _check_room(trainer, len(options.metas), len(alphabet))
    if not alphabet:
        raise SpecError(
            "symbols cover all or nearly all characters of the text: pass more text, or fewer symbols",
            "[!required_chars_.empty()] ",
        )
    sentences = _of_alphabet(counted, store, alphabet)
    n_seeds, seeds_file = trainer["seed_sentencepiece_size"], trainer["seed_sentencepieces_file"]
    if not n_seeds and not seeds_file:
        n_seeds = max(100_000, 8 * trainer["vocab_size"])  # what sentencepiece makes of 0
    if n_seeds < 0:
        n_seeds = specs.MAX_INT32  # sentencepiece's size_t makes no limit of a negative number
    final, n_words = _learn_pieces(
        sentences,
        character_classes(options),
        {name: trainer[name] for name in _READ},
        n_free=trainer["vocab_size"] - len(options.metas),
        n_wanted=int(trainer["vocab_size"] * _PRUNE_TO),
        n_seeds=n_seeds,
        alphabet=alphabet,
        seeds_file=seeds_file,
        n_threads=usable_threads(reading.num_threads),
        reporter=reporter,
    )
    model = make_model([piece.decode() for piece in final], list(final.values()), options)
    report = report_of(counted, counts, left_out, n_merges=0)
    return model, replace(report, n_distinct_words=n_words)


def _of_alphabet(
    counted: CountedWords, store: SentenceStore | None, alphabet: list[str]
) -> SentenceStore | CountedSentences:
    """Return the text to learn from, with U+2585 in place of the characters outside the alphabet.

    Raises:
        TrainingError: the sentences are needed, but only their words are known.
    """
    known = [ord(character) for character in alphabet]
    if counted.last_word is not None and _SPACE in alphabet:
        words = CountedSentences(counted.words, counted.last_word, known)
        if words.n_bytes <= CHUNK_BYTES:
            if store is not None:
                store.clear()  # callers still hold it
            return words
        if store is None:
            warn(
                f"the counts are of {words.n_bytes:,} bytes of text: sentencepiece looks for its first pieces in "
                f"parts of {CHUNK_BYTES:,} bytes, in the order of the sentences. Counts have no order, so "
                "sentencepiece's model may differ a little",
                TrainingWarning,
            )
            return words
    if store is None:
        raise TrainingError(
            "U+2581, which stands for spaces, is not in the alphabet. Words are therefore not cut at spaces, and "
            "counts of words are not enough to learn from: raise character_coverage=, or pass the text"
        )
    store.replace_others(known)
    return store


def _learn_pieces(
    store: SentenceStore | CountedSentences,
    classes: bytes,
    options: Mapping[str, Any],
    *,
    n_free: int,
    n_wanted: int,
    n_seeds: int,
    alphabet: Iterable[str],
    seeds_file: str,
    n_threads: int,
    reporter: Reporter,
) -> tuple[dict[bytes, float], int]:
    """Learn pieces and their scores.

    Args:
        store: the sentences, or (with split_by_whitespace) their counted words.
        classes: class of each code point: characters of different classes are never in one piece.
        options: the options in _READ.
        n_free: maximum number of pieces to return. All characters are pieces, even if there are more.
        n_wanted: number of pieces at which pruning ends.
        n_seeds: maximum number of seed strings.
        alphabet: characters that are pieces even if no sentence has them.
        seeds_file: path of a file with the seed strings; "": they come from the sentences.
        n_threads: number of threads; 1: only the calling one.
        reporter: gets the phase "learning".

    Returns:
        The score of each piece, the best first; and the number of distinct words.
    """
    counts = store.characters()
    counts.pop(UNKNOWN_CHARACTER, None)
    required = {chr(c).encode(): n for c, n in counts.items()}
    for character in alphabet:
        required.setdefault(character.encode(), 0)
    with ThreadPoolExecutor(n_threads) if n_threads > 1 else nullcontext() as pool:
        run: _Map = map if pool is None else pool.map
        n_parts = 1 if pool is None else _PARTS * n_threads
        is_cut = options["split_by_whitespace"]
        # A thread sorts words while others search for strings.
        sorting = run(lambda sentences: sorted_words(sentences.words()) if is_cut else sentences, [store])
        pieces, scores = _seeds(store, counts, classes, options, n_seeds, seeds_file, run, n_parts)
        words: SentenceStore = next(sorting)
        learner = UnigramLearner(pieces, scores, words)
        with reporter.phase("learning", len(pieces) - n_wanted, unit=" pieces") as phase:
            _learn(learner, options, n_wanted, run, phase.update)
    return _final(learner.pieces(), [*required.items()], n_free), words.n


def _check_room(trainer: Spec, n_symbols: int, n_characters: int) -> None:
    """Raise SpecError if there are more symbols and characters than vocab_size."""
    vocab_size, n = trainer["vocab_size"], n_symbols + n_characters
    if n > vocab_size:
        raise SpecError(
            f"vocab_size={vocab_size} is too small: {plurals.counted(n_symbols, 'symbol')} and "
            f"{plurals.counted(n_characters, 'character')} need {n} ids; raise it"
            + (", or lower character_coverage=" if n_symbols < vocab_size else ""),
            f"Vocabulary size is smaller than required_chars. {vocab_size} vs {n}. Increase vocab_size or "
            "decrease character_coverage with --character_coverage option.",
        )


# Pieces to begin with


def _seeds(
    store: SentenceStore | CountedSentences,
    counts: Mapping[int, int],
    classes: bytes,
    options: Mapping[str, Any],
    n_seeds: int,
    seeds_file: str,
    run: _Map,
    n_parts: int,
) -> tuple[list[bytes], list[float]]:
    """Find the pieces for the start: all characters, then strings.

    With seeds_file, characters and strings are sorted together, the heaviest first.

    run: function that distributes the search, which has about n_parts parts.

    Returns the pieces, and the logarithm of each one's share of all weights; a weight is count times length.
    """
    characters = _sorted((chr(c).encode(), n) for c, n in counts.items())
    pieces, scores = [piece for piece, _ in characters], [float32(n) for _, n in characters]
    finder = SeedFinder(
        classes,
        max_length=options["max_sentencepiece_length"],
        n_kept=n_seeds,
        **{name: options[name] for name in _SPLITS},
    )
    if seeds_file:
        scored = dict(zip(pieces, scores, strict=True))
        _add_seeds_of_file(scored, seeds_file, finder.is_valid, n_seeds)
        ordered = _sorted(scored.items())
        pieces, scores = [piece for piece, _ in ordered], [score for _, score in ordered]
    else:
        first = 0
        while first < store.n:
            units, first = store.units(first, CHUNK_BYTES)
            try:
                parts = finder.begin(units, n_parts)
                finder.end([*run(lambda part: finder.search(*part), parts)])
            except BaseException:
                finder.abandon()
                raise
        strings, string_scores = finder.best()
        pieces += strings
        scores += string_scores
    if not pieces:
        raise SpecError(
            "symbols cover all or nearly all characters of the text, and the text lacks all of required_chars=: "
            "pass more text, or fewer symbols",
            "[!seed_sentencepieces.empty()] ",
        )
    return pieces, log_probabilities(scores)


def _add_seeds_of_file(scored: _Scored, path: str, is_valid: Callable[[str], bool], size: int) -> None:
    """Add the pieces of a file (lines of a piece, a tab and its frequency) until there are `size` pieces."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise SpecError(
            f"seed_sentencepieces_file={path!r}: {error.strerror}",
            f'"{path}": {error.strerror}',
            status_of(error),
        ) from error
    lines = data.decode("utf-8", "replace").split("\n")
    for number, line in enumerate(lines if lines[-1] else lines[:-1], 1):
        fields = line.split("\t")
        frequency = int(fields[1]) if len(fields) > 1 and _FREQUENCY.fullmatch(fields[1]) else 0
        if not 0 < frequency < 1 << 63:
            raise SpecError(
                f"{path}: line {number}: {line[:200]!r} must be a piece, a tab, and its frequency of 1 or more",
                "[!seed_sentencepieces.empty()] ",
            )
        piece = fields[0].encode()
        if not is_valid(fields[0]) or piece in scored:
            continue
        if len(scored) >= size:
            break
        scored[piece] = float32(frequency * len(fields[0]))


# Learning


def _learn(
    learner: UnigramLearner,
    options: Mapping[str, Any],
    n_wanted: int,
    run: _Map,
    update: Callable[[int], object],
) -> None:
    """Learn scores and drop pieces until few enough are left. run: function that distributes the work."""
    n_slots = options["num_threads"]  # sentencepiece's threads: each adds up floats, so their number matters

    def sum_of_slots(work: Callable[[int, int], array[float]]) -> array[float]:
        parts = iter(run(lambda slot: work(slot, n_slots), range(n_slots)))
        total: array[float] = next(parts)
        for part in parts:
            add_floats(total, part)
        return total

    try:
        while True:
            before = learner.n_pieces
            for _ in range(options["num_sub_iterations"]):
                learner.maximize(sum_of_slots(learner.expect))
            blocks = run(
                lambda first: learner.alternatives(first, first + _BLOCK), range(0, learner.n_pieces, _BLOCK)
            )
            counts = sum_of_slots(learner.count_best)  # while other threads work on the blocks
            learner.prune(
                counts,
                list(blocks),
                n_least=n_wanted,
                shrinking_factor=options["shrinking_factor"],
            )
            update(before - learner.n_pieces)
            if learner.n_pieces <= n_wanted:
                break
    except BaseException:
        learner.abandon()
        raise
    learner.drop_unreachable()


def _final(pieces: list[tuple[bytes, float]], required: list[tuple[bytes, int]], n_free: int) -> _Scored:
    """Choose n_free pieces: all characters of the alphabet, then the best other pieces.

    If there are more characters than n_free, all of them are still chosen. The piece with the highest score
    comes first in the result.
    """
    scores = dict(pieces)
    least = min(scores.values())
    final: _Scored = {}
    penalty = 0.0
    for character, _ in _sorted(required):
        if character in scores:
            final[character] = scores[character]
        else:
            final[character] = float32(least + penalty)
            penalty = float32(penalty + _DELTA)
    for piece, score in _sorted(scores.items()):
        if len(final) >= n_free:
            break
        final[piece] = score  # a character again, with the same score, or another piece
    return dict(_sorted(final.items()))


def _sorted(items: Iterable[tuple[bytes, _Number]]) -> list[tuple[bytes, _Number]]:
    """Sort by numbers, the greatest first, then by bytes."""
    ordered = sorted(items, key=itemgetter(0))
    ordered.sort(key=itemgetter(1), reverse=True)  # keeps the order of equal ones
    return ordered
