"""mode="ids" against the slow twin, against byte mode, and against itself: threads, weights, order."""

from __future__ import annotations

import random
from array import array
from typing import Any, Literal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbpe
from fastbpe import SequenceTokenizer
from fastbpe.tokenizer.sequences import sequence_batches
from helpers.sampling import SEED
from reference import sequences as reference

TIES: tuple[Literal["pair", "first"], ...] = ("pair", "first")


@st.composite
def corpora(draw: st.DrawFn) -> tuple[int, list[list[int]]]:
    base_size = draw(st.sampled_from([1, 2, 3, 5, 40]))
    symbol = st.integers(0, base_size - 1)
    one = st.lists(symbol, max_size=60) | st.lists(symbol, max_size=4).map(lambda part: part * 12)
    return base_size, draw(st.lists(one, min_size=1, max_size=8).filter(any))


def train(source: Any, base_size: int, n_merges: int, **options: Any) -> SequenceTokenizer:
    return fastbpe.train(
        source, mode="ids", base_size=base_size, vocab_size=base_size + n_merges, progress=False, **options
    )


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
@settings(deadline=None)
@given(corpora(), st.sampled_from(TIES), st.integers(1, 3), st.none() | st.integers(1, 9), st.data())
def test_merges_and_ids_equal_the_slow_twin(
    corpus: tuple[int, list[list[int]]],
    ties: Literal["pair", "first"],
    min_count: int,
    longest: int | None,
    data: st.DataObject,
) -> None:
    base_size, sequences = corpus
    options: dict[str, Any] = {"ties": ties, "min_count": min_count, "max_token_length": longest}
    tokenizer = train(sequences, base_size, 30, **options)
    assert tokenizer.merges == reference.train(sequences, base_size=base_size, n_merges=30, **options)
    other = data.draw(st.lists(st.integers(0, base_size - 1), max_size=200))
    for sequence in [*sequences, other]:
        ids = tokenizer.encode(sequence)
        assert ids == reference.encode(tokenizer.merges, base_size, sequence)
        assert tokenizer.decode(ids) == sequence == reference.decode(tokenizer.merges, base_size, ids)
        assert tokenizer.count(sequence) == len(ids)
    for token_id in range(tokenizer.n_vocab):
        token = tokenizer.id_to_token(token_id)
        assert tokenizer.token_to_id(token) == token_id
        assert tokenizer.encode(token) == [token_id]


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
@settings(deadline=None)
@given(st.lists(st.binary(max_size=80), min_size=1, max_size=6).filter(any), st.sampled_from(TIES))
def test_bytes_give_the_merges_and_ids_of_byte_mode(documents: list[bytes], ties: str) -> None:
    ascii_only = [bytes(byte & 0x7F for byte in document) for document in documents]
    of_bytes = fastbpe.train(iter(ascii_only), vocab_size=290, pattern=None, ties=ties, progress=False)
    of_ids = train(ascii_only, 256, 34, ties=ties)
    assert of_ids.merges == of_bytes.merges
    assert of_ids.encode_batch(ascii_only) == of_bytes.encode_batch(ascii_only)


@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
def test_order_of_sequences_decides_nothing_but_ties_first() -> None:
    rng = random.Random(SEED)
    sequences = [[rng.randrange(6) for _ in range(rng.randrange(40))] for _ in range(60)]
    shuffled = rng.sample(sequences, len(sequences))
    assert train(sequences, 6, 50).merges == train(shuffled, 6, 50).merges, SEED
    counted: dict[tuple[int, ...], int] = {}
    for sequence in sequences:
        counted[tuple(sequence)] = counted.get(tuple(sequence), 0) + 1
    for ties in TIES:
        assert train(sequences, 6, 50, ties=ties).merges == train(counted, 6, 50, ties=ties).merges, SEED


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
@settings(deadline=None)
@given(
    st.dictionaries(st.lists(st.integers(0, 3), max_size=12).map(tuple), st.integers(0, 5), min_size=1).filter(
        lambda counts: any(counts)
    ),
    st.sampled_from(TIES),
)
def test_counts_weigh_sequences(counts: dict[tuple[int, ...], int], ties: Literal["pair", "first"]) -> None:
    merges = reference.train(counts, base_size=4, n_merges=20, ties=ties)
    assert train(counts, 4, 20, ties=ties).merges == merges


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
@settings(deadline=None)
@given(corpora(), st.sampled_from(TIES), st.integers(1, 3), st.none() | st.integers(1, 9), st.data())
def test_merges_behind_a_base_equal_the_slow_twin(
    corpus: tuple[int, list[list[int]]],
    ties: Literal["pair", "first"],
    min_count: int,
    longest: int | None,
    data: st.DataObject,
) -> None:
    base_size, sequences = corpus
    base = SequenceTokenizer.from_merges(data.draw(merge_lists(base_size)), base_size=base_size)
    options: dict[str, Any] = {"ties": ties, "min_count": min_count, "max_token_length": longest}
    extended = fastbpe.train(sequences, mode="ids", base=base, vocab_size="+12", progress=False, **options)
    assert isinstance(extended, SequenceTokenizer)
    learned = reference.train(sequences, base_size=base_size, n_merges=12, base=base.merges, **options)
    assert extended.merges == [*base.merges, *learned]
    assert extended.base_size == base_size
    for sequence in sequences:
        ids = extended.encode(sequence)
        assert ids == reference.encode(extended.merges, base_size, sequence)
        assert extended.decode(ids) == sequence
        init_from = extended.id_map(base).init_from  # the new merges only shorten what the base gives
        assert [old for i in ids for old in init_from[i]] == base.encode(sequence)


@st.composite
def merge_lists(draw: st.DrawFn, base_size: int) -> list[tuple[int, int]]:
    """Draw merges of any origin: different ones may make the same symbols, or symbols that no text reaches."""
    merges: list[tuple[int, int]] = []
    for n_ids in range(base_size, base_size + draw(st.integers(0, 8))):
        pair = draw(st.tuples(st.integers(0, n_ids - 1), st.integers(0, n_ids - 1)))
        if pair in merges:
            break
        merges.append(pair)
    return merges


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
@settings(deadline=None)
@given(corpora(), st.sampled_from(TIES), st.integers(0, 9), st.integers(0, 9))
def test_training_in_two_steps_is_training_in_one(
    corpus: tuple[int, list[list[int]]], ties: str, first: int, second: int
) -> None:
    base_size, sequences = corpus
    base = train(sequences, base_size, first, ties=ties)
    total = base.vocab_size + second
    extended = fastbpe.train(sequences, mode="ids", base=base, vocab_size=total, ties=ties, progress=False)
    if base.vocab_size == base_size + first:  # else the first step has left no pair to merge
        assert extended == train(sequences, base_size, first + second, ties=ties)
    assert extended == fastbpe.train(
        sequences, mode="ids", base=base, base_size=base_size, vocab_size=f"+{second}", ties=ties, progress=False
    )


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
@settings(deadline=None)
@given(st.lists(st.binary(max_size=80), min_size=2, max_size=6).filter(all), st.sampled_from(TIES))
def test_bytes_behind_a_base_give_the_merges_of_byte_mode(documents: list[bytes], ties: str) -> None:
    texts = [bytes(byte & 0x7F for byte in document) for document in documents]
    options: dict[str, Any] = {"ties": ties, "progress": False}
    of_bytes = fastbpe.train(iter(texts[:1]), vocab_size=262, pattern=None, **options)
    of_ids = train(texts[:1], 256, 6, ties=ties)
    more_bytes = fastbpe.train(iter(texts[1:]), base=of_bytes, vocab_size="+9", **options)
    more_ids = fastbpe.train(texts[1:], mode="ids", base=of_ids, vocab_size="+9", **options)
    made = [more_ids.id_to_token(i) for i in range(more_ids.n_vocab)]
    if len({*made}) == len(made):  # byte mode skips a pair that makes the bytes of a token
        assert more_ids.merges == more_bytes.merges


def skewed(rng: random.Random, base_size: int, n: int) -> array[int]:
    return array("H", (int(base_size * rng.random() ** 3) for _ in range(n)))


@pytest.mark.daily
@pytest.mark.parametrize(("base_size", "n_merges"), [(4, 300), (20, 1000), (1024, 3000)])
def test_threads_give_the_ids_of_one_thread(base_size: int, n_merges: int) -> None:
    rng = random.Random(SEED)
    tokenizer = train(skewed(rng, base_size, 60_000), base_size, n_merges)
    long = skewed(rng, base_size, 1_400_000)
    batch = [long[:5], long, long[:0], long[7:900_000], *(long[i : i + 99] for i in range(0, 300_000, 99))]
    one = tokenizer.encode_batch(batch, num_threads=1)
    assert tokenizer.encode_batch(batch, num_threads=4) == one, SEED
    assert one[1] == tokenizer.encode(long, num_threads=3)
    assert tokenizer.decode_batch(one)[1] == long.tolist()


def test_parts_without_a_token_in_common_are_merged_as_a_whole() -> None:
    """Make tokens of three symbols over equal symbols: parts that begin at no multiple of three never meet."""
    tokenizer = SequenceTokenizer.from_merges([(0, 0), (1, 0)], base_size=1)
    n = (1 << 20) + 1
    ids = tokenizer.encode([0] * n, num_threads=2)
    assert ids == tokenizer.encode([0] * n, num_threads=1)
    assert tokenizer.decode(ids) == [0] * n


def test_batches_larger_than_the_read_ahead_are_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequence_batches, "_BATCH_SYMBOLS", 50)
    tokenizer = SequenceTokenizer.from_merges([(0, 1), (4, 4)], base_size=4)
    batch = [[0, 1] * (i % 9) for i in range(80)]
    assert tokenizer.encode_batch(batch) == [tokenizer.encode(sequence) for sequence in batch]
    with pytest.raises(ValueError, match="4 at position 1 of sequence 80 is not a symbol"):
        tokenizer.encode_batch([*batch, [0, 4]])


@pytest.mark.daily
def test_long_sequences_take_linear_time_and_equal_the_slow_twin() -> None:
    """Encode sequences that buckets and several windows serve."""
    rng = random.Random(SEED)
    sequence = [int(6 * rng.random() ** 2) for _ in range(60_000)] + [0] * 9_000 + [1, 2] * 9_000
    tokenizer = train([sequence[:30_000]], 6, 200)
    ids = reference.encode(tokenizer.merges, 6, sequence)
    assert tokenizer.encode(sequence) == ids, SEED
    large = SequenceTokenizer.from_merges(
        [(a + 900_000, b + 900_000) for a, b in [(0, 1), (2, 1)]], base_size=1 << 20
    )
    shifted = [900_000 + symbol for symbol in sequence]
    assert large.encode(shifted) == reference.encode(large.merges, 1 << 20, shifted)
