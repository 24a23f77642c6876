"""Texts that made other tokenizers crash, slow down or miscount, through every entry point.

The benchmarks measure speed. Here a quadratic algorithm would not finish: each text has about a megabyte.
"""

import base64
import random
from collections.abc import Callable

import pytest

import fastbpe
from fastbpe import Tokenizer
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe._core.train.byte_learner import Learner
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe._core.train.sentence_store import SentenceStore, sorted_words
from helpers.shared_data import BYTES, published, standard_library, tokens_of

MEGABYTE = 1_000_000


def noise(alphabet: str, n: int) -> str:
    return "".join(random.Random(5).choices(alphabet, k=n))


#: name: (text, number of cl100k tokens, number of o200k tokens); None if the number is not known from
#: elsewhere
HOSTILE: dict[str, tuple[Callable[[], str], int | None, int | None]] = {
    "a": (lambda: "a" * MEGABYTE, None, None),
    "^": (lambda: "^" * MEGABYTE, None, None),
    "A": (lambda: "A" * MEGABYTE, None, None),
    "Aa": (lambda: "Aa" * 300_000, None, None),
    "ab": (lambda: "ab" * 500_000, None, None),
    "spaces": (lambda: " " * MEGABYTE, None, 7813),
    "spaces and x": (lambda: " " * 500_000 + "x", None, 3908),
    "spaces and lines": (lambda: " \n" * 500_000, None, 250_000),
    "lines": (lambda: "\n" * MEGABYTE, 31_250, 62_500),
    "dashes": (lambda: "-" * 1_300_000, None, 20_312),
    "ones": (lambda: "1" * MEGABYTE, 333_334, 333_334),
    "emoji": (lambda: "😀" * 500_000, 1_000_000, None),
    "Han": (lambda: "的" * 300_000, None, 300_000),
    "letters": (lambda: noise("abcdefghijklmnopqrstuvwxyz", 100_000), None, None),
    "base64": (lambda: base64.b64encode(random.Random(6).randbytes(750_000)).decode(), None, None),
    "code on one line": (lambda: standard_library(1_000_000).replace("\n", ";"), None, None),
    "angles": (lambda: "<" * MEGABYTE, None, None),
    "nearly special": (lambda: "<|endofte" * 100_000, None, None),
    "quotes": (lambda: "'" * MEGABYTE, None, None),
    "combining": (lambda: "\u0301" * 500_000, None, None),
    "joiners": (lambda: "\u200d" * 350_000, None, None),
    "no-break spaces": (lambda: "\u00a0" * 500_000, None, None),
    "noise": (lambda: noise("".join(map(chr, range(0x20, 0x800))), 500_000), None, None),
}


def check(tokenizer: Tokenizer, text: str, n_tokens: int | None) -> None:
    ids = tokenizer.encode_ordinary(text)
    assert n_tokens is None or len(ids) == n_tokens
    assert tokenizer.count(text) == len(ids)
    assert tokenizer.encode(text, allowed_special="all") == ids
    assert tokenizer.encode_batch([text, ""]) == [ids, []]
    assert tokenizer.encode_to_numpy(text).tolist() == ids
    assert tokenizer.decode(ids, errors="strict") == text


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_round_trip_without_a_pattern(unsplit_tokenizer: Tokenizer, name: str) -> None:
    tokenizer = unsplit_tokenizer.with_special_tokens({"<|endoftext|>": 600})
    check(tokenizer, HOSTILE[name][0](), None)


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_round_trip_with_cl100k(name: str) -> None:
    make, n_tokens, _ = HOSTILE[name]
    check(published("cl100k_base"), make(), n_tokens)


@pytest.mark.sample(5)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_round_trip_with_o200k(name: str) -> None:
    make, _, n_tokens = HOSTILE[name]
    check(published("o200k_base"), make(), n_tokens)


@pytest.mark.parametrize("name", ["spaces", "no-break spaces", "a", "quotes"])
def test_hostile_texts_round_trip_with_r50k(name: str) -> None:
    check(published("r50k_base"), HOSTILE[name][0](), None)


@pytest.mark.daily
def test_published_vocabularies_encode_a_megabyte_as_one_piece() -> None:
    """The whole text is one piece of a megabyte, with a hundred thousand tokens to match."""
    for name in ("cl100k_base", "o200k_base"):
        tokenizer = Tokenizer.from_ranks(
            {
                token: i
                for i, token in enumerate(published(name).vocab)
                if token and i not in published(name).special_tokens.values()
            },
            pattern=None,
        )
        for trap in ("a", "ab", "spaces", "lines", "emoji", "noise"):
            text = HOSTILE[trap][0]()
            ids = tokenizer.encode(text)
            assert tokenizer.decode(ids) == text, (name, trap)


@pytest.mark.daily
def test_ten_megabytes_on_one_line_round_trip() -> None:
    tokenizer = published("cl100k_base")
    text = base64.b64encode(random.Random(7).randbytes(7_500_000)).decode()
    assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.daily
def test_special_token_that_nearly_matches_everywhere_is_found_only_at_its_end() -> None:
    text = "a" * MEGABYTE
    tokenizer = Tokenizer.from_ranks(BYTES, pattern=None, special_tokens={"a" * 100 + "b": 256})
    assert tokenizer.encode(text) == [97] * MEGABYTE
    assert tokenizer.encode(text + "b", allowed_special="all") == [97] * (MEGABYTE - 100) + [256]


@pytest.mark.parametrize("flags", [1, 2, 3], ids=["lstrip", "rstrip", "both"])
def test_tokens_of_white_space_strip_a_megabyte_of_it(flags: int) -> None:
    found = SpecialMatcher([b" "], [0], flags=bytes([flags])).find_all(b" " * MEGABYTE + b"x")
    assert found[0] == (0, 1 if flags == 1 else MEGABYTE, 0)
    assert len(found) == (1 if flags == 3 else MEGABYTE)


@pytest.mark.daily
def test_sentence_is_encoded_with_400_000_special_tokens() -> None:
    tokenizer = Tokenizer.from_ranks(
        BYTES, pattern="cl100k", special_tokens={f"[SPECIAL_{i}]": 256 + i for i in range(400_000)}
    )
    sentence = "A sentence, with [SPECIAL_399999] in it and [SPECIAL_400000] not."
    for _ in range(50):
        ids = tokenizer.encode(sentence, allowed_special="all")
    assert ids[17] == 256 + 399_999
    assert tokenizer.decode(ids) == sentence


def one_line(n_bytes: int) -> str:
    return (standard_library(2_000_000).replace("\n", " ") * (n_bytes // 1_000_000))[:n_bytes]


@pytest.mark.daily
@pytest.mark.sample(3)
@pytest.mark.parametrize("ties", ["pair", "first"])
@pytest.mark.parametrize("name", ["a", "ab", "spaces", "emoji", "base64", "one line of code"])
def test_training_on_one_long_line_round_trips(ties: str, name: str) -> None:
    text = one_line(10_000_000) if name == "one line of code" else HOSTILE[name][0]()
    n_merges = {"a": 19, "spaces": 19, "ab": 19, "emoji": 20}.get(name, 500)
    tokenizer = fastbpe.train([text], vocab_size=256 + n_merges, pattern=None, ties=ties, progress=False)
    assert tokenizer.vocab_size == 256 + n_merges
    assert tokenizer.decode(tokenizer.encode(text)) == text


@pytest.mark.parametrize("overlaps", [True, False])
def test_training_on_one_repeated_byte_doubles_the_token_length(overlaps: bool) -> None:
    counter = PieceCounter(Splitter())
    counter.add_piece(b"a" * (1 << 20), 1)
    learner = Learner(counter, max_ids=1000, overlaps=overlaps)
    learner.learn()
    tokens = tokens_of((left, right) for left, right, _ in learner.merges())
    assert [len(token) for token in tokens] == [1 << n for n in range(1, 21)]


def test_words_whose_counts_fall_and_rise_are_sorted_by_count() -> None:
    store = SentenceStore()
    for count in (*range(500_000, 0, -2), *range(1, 500_000, 2)):  # the worst order for a quicksort
        store.append(b"%d" % count, count)
    words = sorted_words(store.words())
    assert [words.sentence(i) for i in range(words.n)] == [b"%d" % count for count in range(500_000, 0, -1)]


def test_long_words_that_differ_at_the_end_are_sorted_by_bytes() -> None:
    word, store = b"ab" * MEGABYTE, SentenceStore()
    for end in (b"b", b"", b"a"):
        store.append(word + end, 1)
    words = sorted_words(store.words())
    assert [words.sentence(i) for i in range(3)] == [word, word + b"a", word + b"b"]
