"""ParityLearner and its parts: order of texts, choice of a language, misuse, Ctrl-C."""

from __future__ import annotations

import gc
import itertools
import threading
from collections.abc import Callable
from typing import Any

import pytest

from fastbpe._core.train.language_choice import LanguageChoice
from fastbpe._core.train.parity_learner import Corpus, ParityLearner, TokenTexts
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe.training.ids import read_sequences
from fastbpe.training.piece_counts import PieceCounts, table_of

BYTES = [bytes([byte]) for byte in range(256)]


def table(counts: dict[bytes, int]) -> PieceCounter:
    return table_of(PieceCounts(counts))  # type: ignore[arg-type]


def learned(*languages: dict[bytes, int], texts: list[bytes] | None = None, **options: Any) -> list[bytes]:
    texts = texts or BYTES
    learner = ParityLearner([table(counts) for counts in languages], texts, **options)
    learner.learn()
    tokens = [*BYTES]
    for left, right, _ in learner.merges():
        tokens.append(tokens[left] + tokens[right])
    return tokens[256:]


@pytest.mark.parametrize("head", [b"", b"1234567", b"12345678", b"123456789"])
def test_of_equally_frequent_pairs_the_greatest_texts_are_merged(head: bytes) -> None:
    """Texts differ in their first bytes, after the eighth, and in their length."""
    tails = [b"", b"\0", b"\0\0", b"a", b"a\0", b"ab", b"b", b"\xff"]
    names = [head + tail for tail in tails]
    pairs = [*itertools.product(range(len(names)), repeat=2)]
    sequences = read_sequences(dict.fromkeys(pairs, 1), len(names), lambda n: None)
    learner = ParityLearner([sequences], names, n_merges=len(pairs))
    learner.learn()
    assert [(left, right) for left, right, _ in learner.merges()] == sorted(
        pairs, key=lambda pair: (names[pair[0]], names[pair[1]]), reverse=True
    )


def test_prefix_of_the_right_text_is_lost_in_joined_texts() -> None:
    sequences = read_sequences({(0, 1, 2): 3, (3, 2): 3}, 4, lambda n: None)
    learner = ParityLearner([sequences], [b"a", b"##b", b"##c", b"ab#"], n_merges=1, prefix=b"##")
    learner.learn()
    assert learner.merges() == [(3, 2, 3)]
    sequences = read_sequences({(0, 1, 2): 3, (3, 2): 1, (0, 1): 1}, 4, lambda n: None)
    learner = ParityLearner([sequences], [b"a", b"##b", b"##c", b"ab#"], n_merges=3, prefix=b"##")
    learner.learn()
    assert learner.merges() == [(0, 1, 4), (4, 2, 3), (3, 2, 1)]


def test_words_of_all_languages_are_freed_before_learning_ends() -> None:
    """Global merges need them. Later merges may take long, and need their memory."""

    def n_corpora() -> int:
        return sum(type(one) is Corpus for one in gc.get_objects())

    languages = [table({b"abab": 3}), table({b"cdcd": 2})]
    whole = table({b"abab": 3, b"cdcd": 2})
    learner = ParityLearner(languages, BYTES, n_merges=3, whole=whole, global_merges=1)
    n_before, reports = n_corpora(), []
    learner.learn(lambda n_merges: reports.append(n_corpora()))
    assert reports[-1] == n_before - 1


def test_counts_are_of_the_chosen_language() -> None:
    learner = ParityLearner([table({b"ab": 5}), table({b"ab": 1, b"cd": 9})], BYTES, n_merges=3)
    learner.learn()
    assert learner.merges() == [(99, 100, 9), (97, 98, 1)]
    assert learner.chosen() == [1, 1]
    assert learner.n_symbols() == [5, 10]


def test_dev_text_may_be_longer_than_the_languages() -> None:
    assert learned({b"ab": 1}, {b"cd": 2}, n_merges=9, dev=[table({b"abcdabcd" * 999: 1}), table({b"x": 1})]) == [
        b"ab",
        b"cd",
    ]


def test_short_dev_text_sees_merges_of_long_languages() -> None:
    languages = [{bytes([a, b]): 1 for a in range(100) for b in range(100)}, {b"zz": 3}]
    dev = [table({b"\1\2": 1}), table({b"q": 1})]
    assert len(learned(*languages, n_merges=20_000, dev=dev)) == 10_001


def test_global_merges_end_with_the_last_pair() -> None:
    whole = table({b"ab": 3, b"cd": 1})
    assert learned({b"ab": 3}, {b"cd": 1}, n_merges=5, whole=whole, global_merges=9, min_count=2) == [b"ab"]


@pytest.mark.parametrize("languages", [[], [{}], [{}, {}], [{b"a": 1}]])
def test_nothing_to_merge_gives_no_merge(languages: list[dict[bytes, int]]) -> None:
    for options in ({}, {"ratio": [1.0] * len(languages)}, {"window": 3, "alpha": 0.1}):
        assert learned(*languages, n_merges=5, **options) == []


def test_language_without_text_ends_with_ratios() -> None:
    """tokenizers never ends here."""
    assert learned({b"ab": 1}, {}, n_merges=5, ratio=[1.0, 1.0]) == [b"ab"]


def test_window_that_leaves_no_language_takes_the_neediest() -> None:
    """tokenizers never ends here: two of three languages are exhausted, and the third had its share."""
    words = {bytes([a, b]): 1 for a in range(10) for b in range(10)}
    assert len(learned(words, {b"x": 1}, {b"y": 1}, n_merges=100, window=10, alpha=0.5)) == 100


@pytest.mark.parametrize(
    ("symbols", "options", "chosen"),
    [
        ([3, 5, 5], {}, [1, 1, 1]),
        ([3, 5, 5], {"window": 10, "alpha": 0.6}, [1, 1, 2, 2, 0, 0, 0, 0]),
        ([4, 4], {"ratio": [2.0, 1.0]}, [0, 0]),
        ([4, 0], {"ratio": [1.0, 1.0]}, [0, 0]),
    ],
)
def test_language_is_chosen_by_need_and_window(
    symbols: list[int], options: dict[str, Any], chosen: list[int]
) -> None:
    choice = LanguageChoice(symbols, **options)
    assert [choice.choose() for _ in chosen] == chosen


def test_exhausted_languages_are_counted_once() -> None:
    choice = LanguageChoice([4, 3])
    for _ in range(2):
        choice.exhaust(0)
    assert (choice.n_exhausted, choice.n_languages, choice.choose()) == (1, 2, 1)
    choice.set_symbols(1, 0)
    assert choice.choose() == 1


@pytest.mark.parametrize(
    "again",
    [
        lambda: (LanguageChoice([1]), ([1],)),
        lambda: (TokenTexts([b"a"]), ([b"a"],)),
        lambda: (ParityLearner([], [], n_merges=0), ([], [])),
    ],
)
def test_an_object_is_made_once(again: Callable[[], Any]) -> None:
    made, arguments = again()
    with pytest.raises((RuntimeError, TypeError)):
        made.__init__(*arguments, **({"n_merges": 0} if isinstance(made, ParityLearner) else {}))


@pytest.mark.daily
def test_progress_is_told_and_its_error_ends_learning() -> None:
    words = {bytes([a, b, c]): 1 for a in range(60) for b in range(60) for c in range(60)}
    told: list[int] = []
    learner = ParityLearner([table(words)], BYTES, n_merges=9_000)
    learner.learn(told.append)
    assert told == sorted(told)
    assert told[-1] == len(learner.merges()) == 9_000
    assert len(told) > 1

    def stop(n_merges: int) -> None:
        raise KeyboardInterrupt

    learner = ParityLearner([table(words)], BYTES, n_merges=9_000)
    with pytest.raises(KeyboardInterrupt):
        learner.learn(stop)
    with pytest.raises(RuntimeError, match="create another one"):
        learner.learn()


def test_other_threads_run_while_a_thread_learns() -> None:
    words = {bytes([a, b, c]): 1 for a in range(40) for b in range(40) for c in range(40)}
    results: list[list[bytes]] = []
    threads = [
        threading.Thread(target=lambda: results.append(learned(words, {b"zz": 1}, n_merges=500))) for _ in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results[0] == results[1] == results[2]
