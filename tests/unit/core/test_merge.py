"""Merging one piece, by the algorithm for short pieces and that for long ones, against the specification."""

import random
from array import array
from itertools import chain, product
from typing import Any

import pytest

from fastbpe import Tokenizer, VocabularyError
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.merge.merge_long import merge_in_windows
from fastbpe._core.merge.merge_piece import recover_merges, symbol_makers
from fastbpe._core.merge.merges_as_ranks import last_merges, left_apart
from fastbpe._core.merge.sequence_vocabulary import SequenceVocabulary
from fastbpe._core.merge.spelling import base_symbols
from fastbpe._core.merge.table_builder import build_tables
from fastbpe._core.merge.vocabulary import SpelledSymbols, Vocabulary
from fastbpe._core.split.splitter import Splitter
from helpers.sampling import rounds
from helpers.shared_data import BYTES, ranks_of, vocabulary
from reference import last_merge, merge_pairs, merge_ranks
from reference import train as reference_train

#: Lengths around 64 bytes: a search merges pieces up to there, a heap longer ones.
BORDER = [1, 2, 3, 31, 32, 33, 62, 63, 64, 65, 66, 127, 128, 129]


def encode(vocab: Vocabulary, piece: bytes) -> list[int]:
    return Encoder(vocab, Splitter()).encode(piece)


def random_piece(rng: random.Random, letters: bytes, n_bytes: int) -> bytes:
    if rng.random() < 0.3:  # a repeated word
        word = bytes(rng.choices(letters, k=rng.randint(1, 9)))
        return (word * n_bytes)[:n_bytes]
    return bytes(rng.choices(letters, k=n_bytes))


def ranks_in_any_order(rng: random.Random, tokens: set[bytes], is_shuffled: bool) -> dict[bytes, int]:
    """Return ranks of all bytes and the given tokens: rising with the length, or shuffled."""
    ids = rng.sample(range(600), len(tokens) + 256) if is_shuffled else range(len(tokens) + 256)
    return dict(zip([*BYTES, *sorted(tokens, key=len)], ids, strict=True))


def lengths(rng: random.Random) -> list[int]:
    return [*BORDER, *(rng.randint(1, 400) for _ in range(6))]


@pytest.mark.sample(6)
@pytest.mark.parametrize("seed", range(40))
def test_learned_ranks_merge_as_specified(seed: int) -> None:
    rng = random.Random(seed)
    letters = b"abcd"[: 1 + seed % 4]
    corpus = {random_piece(rng, letters, rng.randint(1, 60)): rng.randint(1, 9) for _ in range(5)}
    learned = reference_train(corpus, n_merges=rng.choice([1, 5, 30, 200]))
    ranks = {token: rank for rank, token in enumerate(learned.tokens)}
    merges = {(left, right): (new_id, new_id) for left, right, new_id in learned.merges}
    by_ranks, by_merges = vocabulary(ranks), vocabulary(ranks, learned.merges)
    for n_bytes in lengths(rng):
        piece = random_piece(rng, letters, n_bytes)
        expected = merge_ranks(ranks, piece)
        assert encode(by_ranks, piece) == expected, piece
        assert encode(by_merges, piece) == merge_pairs(merges, piece) == expected, piece


@pytest.mark.parametrize("seed", range(60))
def test_arbitrary_ranks_merge_as_specified(seed: int) -> None:
    """Tokens that no pair makes, that many pairs make, or whose parts have higher ranks."""
    rng = random.Random(seed)
    letters = b"abcd"[: 1 + seed % 4]
    tokens = {
        random_piece(rng, letters, rng.randint(2, rng.choice([3, 5, 9, 80]))) for _ in range(rng.randint(1, 120))
    }
    ids = rng.sample(range(600), len(tokens) + 256)
    ranks = dict(zip([*BYTES, *sorted(tokens)], ids, strict=True))
    vocab = vocabulary(ranks)
    for n_bytes in lengths(rng):
        piece = random_piece(rng, letters, n_bytes)
        assert encode(vocab, piece) == merge_ranks(ranks, piece), piece
    for token in tokens:
        assert encode(vocab, token) == [ranks[token]]


@pytest.mark.parametrize("seed", range(60))
def test_merge_lists_merge_as_specified(seed: int) -> None:
    """Lists in any order: pairs listed before the merges that make their halves, and unused tokens."""
    rng = random.Random(seed)
    letters = b"abcd"[: 1 + seed % 4]
    tokens = [*BYTES]
    listed: list[tuple[int, int, int]] = []
    usable = list(letters)
    for _ in range(rng.randint(1, 60)):
        left, right = rng.choice(usable), rng.choice(usable)
        token = tokens[left] + tokens[right]
        if len(token) > 50 or any((left, right) == (a, b) for a, b, _ in listed):
            continue
        if token not in tokens:
            tokens.append(token)
            usable.append(len(tokens) - 1)
        listed.append((left, right, tokens.index(token)))
    rng.shuffle(listed)
    vocab = Vocabulary(**build_tables(tokens, listed), whole_piece_first=False)
    merges = {(left, right): (priority, new) for priority, (left, right, new) in enumerate(listed)}
    for n_bytes in lengths(rng):
        piece = random_piece(rng, letters, n_bytes)
        assert encode(vocab, piece) == merge_pairs(merges, piece), piece


def test_merge_list_may_look_up_whole_pieces_first() -> None:
    tables = build_tables([*BYTES, b"ab", b"xyz"], [(97, 98, 256)])
    looked_up = Vocabulary(**tables, whole_piece_first=True)
    merged = Vocabulary(**tables, whole_piece_first=False)
    assert encode(looked_up, b"xyz") == [257]
    assert encode(merged, b"xyz") == [*b"xyz"]
    assert encode(looked_up, b"xyzab") == encode(merged, b"xyzab") == [*b"xyz", 256]
    assert looked_up.whole_piece_first
    assert not merged.whole_piece_first


def test_every_short_string_over_two_letters_merges_as_specified() -> None:
    ranks = {
        **BYTES,
        b"aa": 256,
        b"ab": 257,
        b"ba": 258,
        b"aab": 259,
        b"abab": 260,
        b"bba": 261,
        b"aaaa": 262,
    }
    vocab = vocabulary(ranks)
    for n_bytes in range(1, 13):
        for letters in product(b"ab", repeat=n_bytes):
            piece = bytes(letters)
            assert encode(vocab, piece) == merge_ranks(ranks, piece), piece


@pytest.mark.parametrize("n_bytes", [10, 63, 64, 65, 100, 1000, 100_000])
def test_runs_of_one_letter_merge_from_the_left(n_bytes: int) -> None:
    vocab = vocabulary({**BYTES, b"aa": 256, b"aaaa": 257, b"aaaaaaaa": 258})
    expected = [258] * (n_bytes // 8)
    expected += [257] * (n_bytes % 8 // 4) + [256] * (n_bytes % 4 // 2) + [97] * (n_bytes % 2)
    assert encode(vocab, b"a" * n_bytes) == expected


@pytest.mark.parametrize("n_bytes", [64, 65, 100_000])
def test_long_pieces_without_pairs_stay_bytes(n_bytes: int) -> None:
    assert encode(vocabulary({**BYTES, b"ab": 256}), b"a" * n_bytes) == [97] * n_bytes


@pytest.mark.sample(8)
@pytest.mark.parametrize("seed", range(30))
def test_buckets_and_heap_give_the_same_ids(seed: int) -> None:
    """Shuffled ranks, so that better pairs appear later; the same ranks above 2**21 use the heap instead of
    buckets."""
    rng = random.Random(seed)
    letters = b"abcd"[: 1 + seed % 4]
    tokens = {random_piece(rng, letters, rng.randint(2, rng.choice([3, 5, 9, 80]))) for _ in range(120)}
    ranks = ranks_in_any_order(rng, tokens, bool(seed % 2))
    buckets = Tokenizer.from_ranks(ranks, pattern=None)
    heap = Tokenizer.from_ranks({token: rank + 2**21 for token, rank in ranks.items()}, pattern=None)
    for _ in range(2):
        piece = random_piece(rng, letters, rng.randint(1 << 15, 1 << 16))
        assert buckets.encode(piece) == [token - 2**21 for token in heap.encode(piece)], seed


@pytest.mark.parametrize("seed", range(40))
def test_windows_give_the_ids_of_the_whole_piece(seed: int) -> None:
    """Ids of short overlapping windows, joined at a shared token, equal the ids of the whole piece."""
    rng = random.Random(seed)
    letters = b"abcd"[: 1 + seed % 4]
    tokens = {random_piece(rng, letters, rng.randint(2, rng.choice([3, 5, 9, 30]))) for _ in range(60)}
    ranks = ranks_in_any_order(rng, tokens, bool(seed % 2))
    all_tokens = [*BYTES, *sorted(tokens)]
    made = {token: i for i, token in enumerate(all_tokens)}
    listed = [(made[a], made[b], made[a + b]) for a in made for b in made if a + b in tokens]
    rng.shuffle(listed)
    lists = {(left, right): (priority, new) for priority, (left, right, new) in enumerate(listed)}
    by_rank = vocabulary(ranks)
    by_list = Vocabulary(**build_tables(all_tokens, listed), whole_piece_first=False)
    for n_bytes in (1, 15, 16, 17, 100, 400):
        piece = random_piece(rng, letters, n_bytes)
        if piece in ranks:
            continue  # merge_in_windows() does not look up whole pieces
        of_ranks, of_lists = merge_ranks(ranks, piece), merge_pairs(lists, piece)
        for size in (1, 16, 20, 33, 64, 150, 1000):
            assert merge_in_windows(by_rank, piece, size) == of_ranks, (piece, size)
            assert merge_in_windows(by_list, piece, size) == of_lists, (piece, size)


@pytest.mark.daily
def test_windows_grow_until_ids_no_longer_depend_on_later_bytes() -> None:
    """Each pair is better than the one before it, so that all ids depend on the last byte."""
    ranks = {**BYTES, **{bytes([i, i + 1]): 511 - i for i in range(255)}}
    for n_bytes in (255, 256):
        piece = bytes(range(n_bytes))
        expected = merge_ranks(ranks, piece)
        assert expected[:2] == ([511, 509] if n_bytes == 256 else [0, 510])
        for size in (16, 64, 200):
            assert merge_in_windows(vocabulary(ranks), piece, size) == expected
            assert merge_in_windows(vocabulary(ranks), piece * 3, size) == merge_ranks(ranks, piece * 3)


@pytest.mark.daily
def test_ids_up_to_the_limit_are_encoded() -> None:
    top = (1 << 24) - 1
    tokenizer = Tokenizer.from_ranks({**BYTES, b"ab": top, b"abab": top - 1}, pattern=None)
    assert tokenizer.encode("abab") == [top - 1]
    assert tokenizer.encode("ababab" * 40) == [top - 1] * 60
    assert tokenizer.encode_to_numpy("ab").tolist() == [top]
    assert tokenizer.decode([top]) == "ab"
    assert tokenizer.n_vocab == 1 << 24


@pytest.mark.parametrize("n_ids", [2**21 - 1, 2**21, 2**21 + 1])
def test_wider_pair_slots_give_the_same_merges(n_ids: int) -> None:
    """Ranks above the bytes, moved up, give the same ids moved up; from 2**21 ids on a pair needs a wider slot."""
    rng = random.Random(n_ids)
    words = {random_piece(rng, b"ab", rng.randint(2, 9)) for _ in range(60)}
    low = {**BYTES, **{word: 256 + i for i, word in enumerate(sorted(words))}}
    move = n_ids - len(low)
    high = {token: rank + (move if rank > 255 else 0) for token, rank in low.items()}
    vocab = vocabulary(high)
    assert vocab.n_ids == n_ids
    assert ("pair_lines" in vocab.sections()) == (n_ids < 2**21)
    for _ in range(60):
        piece = random_piece(rng, b"abc", rng.randint(1, 100))
        assert encode(vocab, piece) == merge_ranks(high, piece)
    assert vocab.pair(n_ids, 97) is None


def test_recovered_merges_equal_the_learned_merges() -> None:
    rng = random.Random(4)
    for _ in range(40):
        corpus = {random_piece(rng, b"abcd", rng.randint(1, 90)): rng.randint(1, 9) for _ in range(6)}
        learned = reference_train(corpus, n_merges=rng.choice([3, 40, 300]))
        vocab = vocabulary({token: rank for rank, token in enumerate(learned.tokens)})
        assert recover_merges(vocab) == {new: (left, right) for left, right, new in learned.merges}


def test_recovered_merges_omit_tokens_that_merging_cannot_make() -> None:
    vocab = vocabulary({**BYTES, b"ab": 256, b"xyz": 257, b"abab": 258, b"abc": 300})
    assert recover_merges(vocab) == {256: (97, 98), 258: (256, 256), 300: (256, 99)}


def test_recovered_merges_may_use_tokens_with_greater_ids() -> None:
    tokenizer = Tokenizer.from_ranks({**BYTES, b"bc": 256, b"abcd": 257, b"abc": 258}, pattern=None)
    assert tokenizer.merges == [(98, 99), (258, 100), (97, 256)]
    long = b"ab" * 50
    tokenizer = Tokenizer.from_ranks({**BYTES, long: 256, b"ab": 257, long[:50]: 258, b"abab": 259}, pattern=None)
    assert tokenizer.merges == [(97, 98), (257, 257)]
    assert ranks_of(tokenizer)[long] == 256


@pytest.mark.parametrize("seed", rounds(50, 200))
def test_recovered_merges_are_the_last_merges_of_tokens_and_give_the_same_ids(seed: int) -> None:
    rng = random.Random(seed)
    letters = [b"ab", b"abc", b"a"]
    tokens = {random_piece(rng, rng.choice(letters), rng.randint(2, 9)) for _ in range(rng.randint(1, 12))}
    ranks = {**BYTES, **{token: 256 + i for i, token in enumerate(rng.sample([*tokens], len(tokens)))}}
    recovered = recover_merges(vocabulary(ranks))
    expected = {}
    for token, i in ranks.items():
        last = last_merge(lambda left, right: ranks.get(left + right), token)
        if last is not None:
            expected[i] = (ranks[last[0]], ranks[last[1]])
    assert recovered == expected
    pairs = {pair: (i, i) for i, pair in recovered.items()}
    for _ in range(40):
        piece = b"".join(rng.choices([*tokens, b"a", b"b", b"c"], k=rng.randint(1, 5)))
        assert piece in ranks or merge_pairs(pairs, piece) == merge_ranks(ranks, piece)


def test_vocabulary_answers_pairs_and_tokens() -> None:
    vocab = vocabulary({**BYTES, b"ab": 256, b"abc": 258, b"bc": 259})
    assert vocab.pair(97, 98) == (256, 256)
    assert vocab.pair(256, 99) == vocab.pair(97, 259) == (258, 258)
    assert vocab.pair(98, 97) is None
    assert vocab.pair(2**32 - 1, 2**32 - 1) is None
    assert (vocab.n_ids, vocab.n_tokens) == (260, 259)
    assert vocab.has(258)
    assert not vocab.has(257)
    for beyond in (-1, 260, 1 << 32, 1 << 70):
        assert not vocab.has(beyond)
        assert vocab.pair(beyond, 98) is vocab.pair(97, beyond) is None


@pytest.mark.parametrize("other", [1.5, True, "a", None])
def test_vocabulary_takes_integers_alone_as_ids(other: Any) -> None:
    vocab = vocabulary({**BYTES, b"ab": 256})
    for call in (lambda: vocab.has(other), lambda: vocab.pair(other, 98), lambda: vocab.pair(97, other)):
        with pytest.raises(TypeError, match=f"must be an integer, not {type(other).__name__}"):
            call()


@pytest.mark.parametrize(
    ("merges", "message"),
    [
        ([(97, 98, 257)], "merge 0.*names an id that is not a token"),
        ([(97, 300, 256)], "merge 0.*names an id that is not a token"),
        ([(97, 98, 256), (300, 98, 256)], "merge 1.*names an id that is not a token"),
        ([(97, 98, 256), (97, 98, 256)], "merge 1: the pair .97, 98. appears twice"),
        ([(97, 98, 258)], "merge 0"),  # id 258 is unused
        ([(97, 99, 256)], "merge 0"),  # b"a" and b"c" do not make b"ab"
    ],
)
def test_invalid_merge_list_raises_vocabulary_error(merges: list[tuple[int, int, int]], message: str) -> None:
    tokens = [*BYTES, b"ab"] if merges[0][2] != 258 else [*BYTES, b"ab", b"cd", b"", b"ef"]
    with pytest.raises(VocabularyError, match=message):
        Vocabulary(**build_tables(tokens, merges))


@pytest.mark.parametrize(
    ("merges", "message"),
    [
        ([[97, 98, 256], [97, -1, 256]], "merge 1: .97, -1. -> 256 names an id that is not a token, -1"),
        ([(97, 98, 2**32)], "merge 0: .97, 98. -> 4294967296 names an id that is not a token, 4294967296"),
        (b"12345", "merges: 5 bytes, not a multiple of 12"),
    ],
)
def test_merges_that_are_not_triples_of_uint32_raise_vocabulary_error(merges: Any, message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        build_tables([*BYTES, b"ab"], merges)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"unknown_id": 2}, "the unknown token has the id 2, but there are only 2 ids"),
        ({"tokens": bytes(4)}, "the vocabulary has 2 symbols, but 4 bytes"),
        ({"byte_ids": [1] * 255 + [2]}, "the byte 0xff has the id 2, but there are only 2 ids"),
        ({"byte_ids": [0]}, "byte_ids has 1 ids, not 256"),
        ({"prefix": b"#" * 1000}, "a prefix of 1000 bytes and a suffix of 0 bytes: the limit of each is"),
    ],
)
def test_options_of_characters_that_the_tables_contradict_are_refused(options: Any, message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        Vocabulary(**build_tables([b"a", b"b"], []), spelled=SpelledSymbols(**options))


def test_characters_need_a_list_of_merges() -> None:
    with pytest.raises(VocabularyError, match="needs its pairs in the table 'pairs', not 'pair_lines'"):
        Vocabulary(**build_tables([b"a", b"b"]), spelled=SpelledSymbols())


@pytest.mark.parametrize(
    ("base_size", "merges", "message"),
    [
        (0, b"", "base_size=0, with 0 bytes"),
        (2, b"12345", "base_size=2, with 5 bytes"),
        (2**21, b"", "2097152 base symbols and 0 merges: the limit is 2097151"),
    ],
)
def test_bad_sizes_of_a_sequence_vocabulary_are_refused(base_size: int, merges: bytes, message: str) -> None:
    with pytest.raises(VocabularyError, match=message):
        SequenceVocabulary(base_size, merges)


def test_questions_that_a_vocabulary_has_no_answer_to_are_refused() -> None:
    plain = Vocabulary(**build_tables([*BYTES]))
    with pytest.raises(ValueError, match="byte-level, not of code points"):
        symbol_makers(plain)
    with pytest.raises(ValueError, match="not a vocabulary of characters"):
        base_symbols(plain, b"a")
    with pytest.raises(ValueError, match="id 256 is not a token"):
        left_apart(plain, [256])
    with pytest.raises(ValueError, match="merge 0 makes the id 256, which is not a token"):
        last_merges(plain, array("I", [97, 98, 256]).tobytes())


def test_packed_merges_may_lie_anywhere_in_memory() -> None:
    listed = [(97, 98, 256), (256, 99, 257)]
    packed = array("I", chain.from_iterable(listed)).tobytes()
    tokens = [*BYTES, b"ab", b"abc"]
    tables = [build_tables(tokens, merges) for merges in (listed, packed, memoryview(b"x" + packed)[1:])]
    assert tables[0] == tables[1] == tables[2]
    assert build_tables(tokens, []) == build_tables(tokens, b"") != tables[0]


def test_tables_of_less_than_a_line_are_refused() -> None:
    for name, pairs in (("pieces", None), ("pairs", [(97, 98, 256)]), ("pair_lines", None)):
        tables = build_tables([*BYTES, b"ab"], pairs)
        size = 128 if name == "pairs" else 64  # of eight slots
        with pytest.raises(VocabularyError, match=rf"'{name}' has 4 slots: .* at least 8"):
            Vocabulary(**{**tables, name: b"\xff" * (size // 2)})


@pytest.mark.parametrize("seed", range(30))
def test_every_split_of_a_ranked_token_is_a_pair(seed: int) -> None:
    """Include tokens around 64 bytes, from where another algorithm splits them, gaps and repeated tokens."""
    rng = random.Random(seed)
    tokens = [*BYTES]
    for _ in range(rng.choice([20, 100])):
        parts = rng.choices(tokens[rng.choice([0, 97, 256]) :] or tokens, k=2)
        tokens.append(rng.choice([b"a", b"ab", (parts[0] + parts[1])[:70], bytes(rng.choices(b"ab", k=5))]))
        tokens.append(rng.choice([b"", parts[0][:66] + b"a" * rng.randint(0, 66 - min(66, len(parts[0])))]))
    lowest = {token: i for i, token in reversed([*enumerate(tokens)]) if token}
    expected = {
        (lowest[token[:cut]], lowest[token[cut:]]): i
        for token, i in lowest.items()
        for cut in range(1, len(token))
        if token[:cut] in lowest and token[cut:] in lowest
    }
    vocab = Vocabulary(**build_tables(tokens))
    some = {*lowest.values()} - set(range(97)) - set(range(99, 256))
    for pair in {*expected, *product(some, repeat=2)}:
        assert vocab.pair(*pair) == ((expected[pair],) * 2 if pair in expected else None), pair


@pytest.mark.parametrize("line", [0, 7])
def test_overfull_hash_line_continues_in_the_next(line: int) -> None:
    """Pairs of a token and a byte that all hash to one of eight lines; overflow of the last line continues in the
    first."""
    starts = ["ab", "cd", "ef", "gh", "ij", "kl", "mn", "op"]
    letters = "abcdefghijklmnopqrstuvwxyz"
    tokens = starts.copy()
    for i, start in enumerate(starts):
        for c in letters:
            if (256 + i << 21 | ord(c)) * 0x9E3779B97F4A7C15 % 2**64 >> 61 == line:
                tokens.append(start + c)
    assert 21 < len(tokens) <= 42  # so that there are 64 slots
    ranks = {**BYTES, **{token.encode(): 256 + i for i, token in enumerate(tokens)}}
    vocab = vocabulary(ranks)
    for i, start in enumerate(starts):
        for c in letters:
            made = ranks.get((start + c).encode())
            assert vocab.pair(256 + i, ord(c)) == (None if made is None else (made, made))
