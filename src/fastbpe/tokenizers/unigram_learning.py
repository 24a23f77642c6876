"""Learning of scores from counted words, as tokenizers' UnigramTrainer learns them.

The algorithm is sentencepiece's with other details: seed strings come from distinct words, sums are in
double precision, and the vocabulary gets the first tokens in the order in which pruning leaves them, not the ones
with the best scores. tokenizers goes through the words in the order of a hash table; here they are in Unicode
order.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from math import log
from typing import Any

from fastbpe._core.train.double_unigram_learner import DoubleUnigramLearner, add_doubles
from fastbpe._core.train.piece_table import PieceTable
from fastbpe._core.train.seed_pieces import SeedFinder
from fastbpe._core.train.sentence_store import SentenceStore
from fastbpe._utils.progress import Reporter
from fastbpe._utils.threads import usable_threads
from fastbpe.errors import TrainingError
from fastbpe.tokenizers.segmenting_trainers import UnigramTrainer

_N_CODE_POINTS = 0x110000
_WORD_END = b"\xfe"  # byte after each word in the core's SeedFinder, where it is named NO_SENTENCE
_UNKNOWN = "<UNK>"  # tokenizers' name of unknown characters while it learns; never in the result
_DELTA = 0.0001  # difference between the scores of successive characters that pruning has dropped
_N_SLOTS = 16  # parts of the words that are summed separately; with another number, sums would round differently
_BLOCK = 1 << 12  # tokens that a thread examines at once

_Map = Callable[[Callable[[Any], Any], Iterable[Any]], Iterator[Any]]  # Python's map, or a thread pool's
_Scored = list[tuple[str, float]]


def learn_scores(words: Mapping[str, int], trainer: UnigramTrainer) -> tuple[_Scored, int | None]:
    """Learn tokens and their scores. words: word → count, in the order of summation.

    Returns the tokens, special tokens first, and the id of the unknown token, or None.

    Raises TrainingError if vocab_size is smaller than the number of characters.
    """
    characters = sorted({*trainer.initial_alphabet}.union(*words))
    if len(characters) > trainer.vocab_size:
        raise TrainingError(
            "The vocabulary is not large enough to contain all chars: "
            f"vocab_size={trainer.vocab_size}, and there are {len(characters)} characters; raise vocab_size"
        )
    special = [token.content for token in trainer.special_tokens]
    unknown = trainer.options()["unk_token"]
    if unknown is not None and unknown not in special:
        special.insert(0, unknown)
    n_threads = usable_threads(None)
    with ThreadPoolExecutor(n_threads) if n_threads > 1 else nullcontext() as pool:
        learner = _learned(words, trainer, map if pool is None else pool.map)
    listed = _final(learner, characters, trainer.vocab_size - len(special))
    return [*((token, 0.0) for token in special), *listed], None if unknown is None else special.index(unknown)


def _learned(words: Mapping[str, int], trainer: UnigramTrainer, run: _Map) -> DoubleUnigramLearner:
    """Learn scores, and drop tokens until at most 1.1 * vocab_size are left. run: `map`, or a thread pool's."""
    options = trainer.options()
    store = SentenceStore(split_by_whitespace=False)
    for word, count in words.items():
        if word:
            store.append(word.encode(), count)
    seeds = _seeds(words, store, options["max_piece_length"], options["seed_size"], run)
    log_total = log(sum(weight for _, weight in seeds)) if seeds else 0.0
    scores = array("d", [0.0, *(log(weight) - log_total for _, weight in seeds)])
    # The learner reads neither the first piece nor its score: there, a model has the unknown token.
    learner = DoubleUnigramLearner([b"", *(piece.encode() for piece, _ in seeds)], scores, store)
    bounds = [store.n * slot // _N_SLOTS for slot in range(_N_SLOTS + 1)]
    n_wanted = trainer.vocab_size * 11 // 10

    def summed(work: Callable[[int, int], array[float]]) -> array[float]:
        """Return the sum of a function's results for all words, which gets words first to end - 1 at a time."""
        parts = iter(run(lambda slot: work(bounds[slot], bounds[slot + 1]), range(_N_SLOTS)))
        total: array[float] = next(parts)
        for part in parts:
            add_doubles(total, part)
        return total

    with Reporter(trainer.progress()).phase("learning", learner.n_pieces - n_wanted, unit=" pieces") as phase:
        try:
            n_before, is_stuck = 0, False
            while True:
                for _ in range(options["n_sub_iterations"]):
                    learner.maximize(summed(learner.expect))
                # tokenizers may never end if there are too many characters, which pruning keeps. Even if pruning
                # dropped nothing, `maximize` may have dropped rare pieces since.
                if learner.n_pieces <= n_wanted or (is_stuck and learner.n_pieces == n_before):
                    return learner
                n_before = learner.n_pieces
                learner.prune(
                    summed(learner.count_best),
                    [*run(lambda i: learner.alternatives(i, i + _BLOCK), range(0, n_before, _BLOCK))],
                    n_least=n_wanted,
                    shrinking_factor=options["shrinking_factor"],
                )
                phase.update(n_before - learner.n_pieces)
                is_stuck = learner.n_pieces == n_before
        except BaseException:
            learner.abandon()
            raise


def _seeds(
    words: Mapping[str, int], store: SentenceStore, max_length: int, n_seeds: int, run: _Map
) -> list[tuple[str, int]]:
    """Return the tokens to begin with and their weights.

    First come all characters, by number of occurrences; then strings that repeat in the distinct words, by count
    times length.
    """
    found = sorted(((n, chr(c)) for c, n in store.characters().items()), reverse=True)
    finder = SeedFinder(
        bytes(_N_CODE_POINTS),  # any characters may be adjacent
        max_length=max_length,
        n_kept=n_seeds,
        split_by_whitespace=False,
        by_characters=True,
    )
    units = PieceTable()
    for word in words:
        if word:
            units.add_piece(word.encode() + _WORD_END, 1)
    parts = finder.begin(units, _N_SLOTS)
    try:
        finder.end([*run(lambda part: finder.search(*part), parts)])
    except BaseException:
        finder.abandon()
        raise
    strings = ((piece.decode(), count) for piece, count in finder.strings())
    weighed = sorted(((count * len(text), text) for text, count in strings), reverse=True)
    n_strings = max(n_seeds - len(found), 1)  # tokenizers adds a string before it compares with seed_size
    return [(text, n) for n, text in [*found, *weighed[:n_strings]]]


def _final(learner: DoubleUnigramLearner, characters: list[str], n_free: int) -> _Scored:
    """Choose the tokens of the model: all characters, then tokens in the learner's order. Returns the best first.

    n_free: number of tokens to choose.
    """
    learned = {piece.decode(): score for piece, score in learner.pieces()}
    final: dict[str, float] = {}
    penalty = 0.0
    for character in characters:
        if (score := learned.get(character)) is None:
            final[character] = learner.lowest + penalty
            penalty += _DELTA
        else:
            final[character] = score
    for token, score in learned.items():
        if token in final or token == _UNKNOWN:
            continue
        final[token] = score
        if len(final) == n_free:  # `==`: tokenizers keeps all tokens if there are more characters than n_free
            break
    return sorted(final.items(), key=lambda item: -item[1])
