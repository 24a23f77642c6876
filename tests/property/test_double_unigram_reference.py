"""The learner of tokenizers' unigram models against counting all paths and all strings, on short words."""

import random
from array import array
from collections import defaultdict
from math import exp, log

import pytest

from fastbpe._core.train.double_unigram_learner import DoubleUnigramLearner, add_doubles
from fastbpe._core.train.piece_table import PieceTable
from fastbpe._core.train.seed_pieces import SeedFinder
from fastbpe._core.train.sentence_store import SentenceStore
from helpers.sampling import n_rounds

NONE = 0xFFFF_FFFF
PENALTY = 10.0
SEEDS = range(4)


def random_words(rng: random.Random, alphabet: str) -> dict[str, int]:
    return {
        "".join(rng.choices(alphabet, k=rng.randint(1, 7))): rng.randint(1, 9) for _ in range(rng.randint(1, 9))
    }


def stored(words: dict[str, int]) -> SentenceStore:
    store = SentenceStore(split_by_whitespace=False)
    for word, count in words.items():
        store.append(word.encode(), count)
    return store


class Paths:
    """All segmentations of texts into pieces. Piece 0 stands for a character that is no piece."""

    def __init__(self, pieces: list[str], scores: list[float]) -> None:
        self.numbers = {piece: i for i, piece in enumerate(pieces) if i}
        self.scores = [min(scores[1:], default=0.0) - PENALTY, *scores[1:]]

    def of(self, text: str) -> list[list[int]]:
        if not text:
            return [[]]
        found = []
        for end in range(1, len(text) + 1):
            number = self.numbers.get(text[:end], 0)
            if number or end == 1:
                found += [[number, *rest] for rest in self.of(text[end:])]
        return found

    def total(self, path: list[int]) -> float:
        return sum(self.scores[i] for i in path)

    def expected(self, words: dict[str, int]) -> list[float]:
        counts = [0.0] * len(self.scores)
        for word, n in words.items():
            weights = [(path, exp(self.total(path))) for path in self.of(word)]
            whole = sum(weight for _, weight in weights)
            for path, weight in weights:
                for i in path:
                    counts[i] += n * weight / whole
        return counts


def random_model(rng: random.Random, words: dict[str, int]) -> tuple[list[str], list[float]]:
    parts = {word[i:j] for word in words for i in range(len(word)) for j in range(i + 1, len(word) + 1)}
    pieces = ["", *rng.sample(sorted(parts), k=rng.randint(1, len(parts)))]
    return pieces, [0.0, *(rng.uniform(-9, -1) for _ in pieces[1:])]


def learner_of(pieces: list[str], scores: list[float], words: dict[str, int]) -> DoubleUnigramLearner:
    return DoubleUnigramLearner([piece.encode() for piece in pieces], array("d", scores), stored(words))


@pytest.mark.parametrize("seed", SEEDS)
def test_counts_and_alternatives_are_those_of_all_paths(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(n_rounds(40, 400)):
        words = random_words(rng, rng.choice(["ab", "abc", "a\u00e9\u4e16"]))
        pieces, scores = random_model(rng, words)
        learner, paths = learner_of(pieces, scores, words), Paths(pieces, scores)
        cut = rng.randint(0, len(words))
        found = learner.expect(0, cut)
        add_doubles(found, learner.expect(cut, len(words)))
        assert found.tolist() == pytest.approx(paths.expected(words), rel=1e-9, abs=1e-12)

        best = [0.0] * len(pieces)
        for word, n in words.items():
            for i in max(paths.of(word), key=paths.total):
                best[i] += n
        assert learner.count_best(0, len(words)).tolist() == best

        others, numbers = learner.alternatives(1, len(pieces))
        theirs = iter(memoryview(others).cast("B").cast("I") if len(others) else [])
        for piece, number in zip(pieces[1:], numbers, strict=True):
            ordered = sorted(paths.of(piece), key=paths.total, reverse=True)
            expected = NONE if len(ordered[0]) > 1 else len(ordered[1]) if len(ordered) > 1 else 0
            assert number == expected
            if number not in (0, NONE):
                # Of equally good paths, any may come first: "a" "aa" or "aa" "a".
                assert sorted(next(theirs) for _ in range(number)) == sorted(ordered[1])


@pytest.mark.parametrize("seed", SEEDS)
def test_pruning_keeps_the_pieces_without_which_the_text_is_least_likely(seed: int) -> None:
    rng = random.Random(f"prune {seed}")
    for _ in range(n_rounds(40, 400)):
        words = random_words(rng, "abc")
        pieces, scores = random_model(rng, words)
        learner, paths = learner_of(pieces, scores, words), Paths(pieces, scores)
        counts = learner.count_best(0, len(words))
        total, kept, losses = sum(counts), [], []
        for i, piece in enumerate(pieces[1:], 1):
            ordered = sorted(paths.of(piece), key=paths.total, reverse=True)
            if len(ordered) == 1 or (len(ordered[0]) > 1 and counts[i]):
                kept.append(piece)
            elif len(ordered[0]) == 1 and counts[i]:
                moved = log(total + counts[i] * (len(pieces) - 1))
                other = sum(log(counts[k] + counts[i]) - moved for k in ordered[1])
                losses.append((counts[i] / sum(words.values()) * (log(counts[i] / total) - other), piece))
        losses.sort(reverse=True)
        n_least = rng.randint(0, len(pieces))
        n_wanted = max(n_least, int(len(pieces) * 0.5))
        n_more = max(n_wanted - len(kept) - 1, 0)
        alternatives = [learner.alternatives(0, 2), learner.alternatives(2, len(pieces))]
        learner.prune(counts, alternatives, n_least=n_least, shrinking_factor=0.5)
        left = [piece.decode() for piece, _ in learner.pieces()]
        assert left[: len(kept)] == kept
        if len({round(loss, 9) for loss, _ in losses}) == len(losses):
            assert left[len(kept) :] == [piece for _, piece in losses[:n_more]]
        assert learner.n_pieces == len(left) + 1


def test_rare_pieces_are_dropped_and_the_rest_sum_to_less_than_one() -> None:
    learner = learner_of(["", "a", "b", "ab"], [0.0, -1.0, -1.0, -1.0], {"ab": 3, "b": 1})
    learner.maximize(array("d", [5.0, 0.4, 2.0, 3.0]))
    (first, low), (second, high) = learner.pieces()
    assert (first, second) == (b"b", b"ab")
    assert low == learner.lowest
    assert 0.8 < exp(low) + exp(high) < 1


@pytest.mark.parametrize("seed", SEEDS)
def test_seeds_are_strings_that_go_on_in_different_ways(seed: int) -> None:
    rng = random.Random(f"seeds {seed}")
    for _ in range(n_rounds(40, 400)):
        alphabet = rng.choice(["ab", "abc", "a\u00e8\u00e9\u4e16\u4e17\u4e96\u0416\U0001f642\U0001f643"])
        words, max_length = {**random_words(rng, alphabet), **random_words(rng, alphabet)}, rng.randint(2, 6)
        counts: dict[str, int] = defaultdict(int)
        followers: dict[str, set[str]] = defaultdict(set)
        for word in words:
            for i in range(len(word)):
                for j in range(i + 2, min(len(word), i + max_length) + 1):
                    counts[word[i:j]] += 1
                    followers[word[i:j]].add(word[j : j + 1])
        finder = SeedFinder(
            bytes(0x110000), max_length=max_length, n_kept=1000, split_by_whitespace=False, by_characters=True
        )
        units = PieceTable()
        for word in words:
            units.add_piece(word.encode() + b"\xfe", 1)
        finder.end([finder.search(*part) for part in finder.begin(units, 3)])
        found = {piece.decode(): n for piece, n in finder.strings()}
        assert found == {text: n for text, n in counts.items() if len(followers[text]) > 1}


def test_wrong_lengths_are_refused() -> None:
    learner = learner_of(["", "a"], [0.0, -1.0], {"a": 1})
    for call in (
        lambda: learner_of([], [], {}),
        lambda: learner_of(["", "a"], [0.0], {}),
        lambda: learner.expect(0, 2),
        lambda: learner.maximize(array("d", [0.0])),
        lambda: learner.prune(array("d", [0.0]), [], n_least=0, shrinking_factor=0.5),
        lambda: add_doubles(array("d", [0.0]), array("d")),
    ):
        with pytest.raises(ValueError, match=r"cannot add an array of length 0|do not match|there are 1 words"):
            call()
