"""The piece cache against merging each piece on its own: small caches, full ones, and ones that evict all the
time."""

import base64
import pickle
import random
from collections.abc import Iterator
from functools import cache
from itertools import pairwise, product
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given, settings

import fastbpe
from fastbpe import SpecialTokenError, Tokenizer, load
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.split.splitter import Splitter
from fastbpe.splitting import make_splitter
from helpers.child_processes import run_python
from helpers.shared_data import BYTES, random_texts, vocabulary
from reference import Merges, train

#: Lengths around the cache's limits: short and long table, batched merging, and too long to be kept.
LENGTHS = [1, 2, 3, 7, 8, 9, 14, 15, 16, 17, 31, 32, 33, 63, 64, 65, 255, 256, 1023, 1024, 1025, 2000]
LETTERS = "ab\0é"

#: Ranked vocabularies with ids around 2**20 (up to there an entry packs six), of 21 bits, and of more (other
#: tables); and one with a merge list. Name → how far the ids of learned tokens are moved.
KINDS = {
    "ranks": 0,
    "ranks of 20 bits and 21": (1 << 20) - 400,
    "high ranks": (1 << 21) - 700,
    "wide ranks": 1 << 21,
    "merges": 0,
}


@cache
def learned() -> Merges:
    pieces = {text.encode(): 1 for seed in range(30) for text in random_texts(random.Random(seed)) if text}
    return train(pieces, n_merges=300)


@cache
def vocabulary_of(kind: str) -> Vocabulary:
    ranks = {token: rank + (rank > 255) * KINDS[kind] for rank, token in enumerate(learned().tokens)}
    return vocabulary(ranks, learned().merges) if kind == "merges" else vocabulary(ranks)


@cache
def encode_alone(kind: str, piece: str) -> list[int]:
    """Encode a piece in an encoder that has seen no other (test_merge compares that with the specification)."""
    return Encoder(vocabulary_of(kind), Splitter()).encode(piece)


def encoder(kind: str, splitter: Splitter | None = None, cache_bytes: int = 0) -> Encoder:
    return Encoder(vocabulary_of(kind), splitter or make_splitter(r"[^|]+|\|"), cache_bytes=cache_bytes)


def expected(kind: str, pieces: list[str]) -> list[int]:
    return [i for piece in pieces for i in [*encode_alone(kind, piece), ord("|")]]


def random_piece(rng: random.Random, letters: str = "abcd") -> str:
    n = rng.choice(LENGTHS) if rng.random() < 0.2 else rng.randint(1, 40)
    return "".join(rng.choices(letters, k=n))


@pytest.mark.daily
@pytest.mark.sample(4)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_known", [0, 1, 9])
def test_many_new_pieces_at_once_are_encoded_as_specified(kind: str, n_known: int) -> None:
    """The cache is large enough for long groups: more pieces than one batch merges, some of them repeated."""
    rng = random.Random(n_known)
    fast = encoder(kind, cache_bytes=1 << 26)
    pieces = ["a"]
    for _ in range(9_000):
        pieces.append("".join(rng.choices("abcdéfg", k=rng.randint(1, 12))))
        pieces += rng.choices(pieces, k=n_known)
    assert fast.encode("|".join(pieces)) == expected(kind, pieces)[:-1]
    assert fast.encode("|".join(pieces)) == expected(kind, pieces)[:-1]


@pytest.mark.parametrize("kind", ["ranks", "merges"])
@pytest.mark.parametrize("cache_bytes", [1 << 20, 1 << 24, 1 << 26])
def test_growing_cache_keeps_ids_correct_and_stays_within_its_limit(kind: str, cache_bytes: int) -> None:
    """Pieces are found again after each growth: in a table of 64 KB, in one of megabytes, and at the limit."""
    fast, most_used = encoder(kind, cache_bytes=cache_bytes), 0
    for n in (1_000, 20_000, 150_000):
        text = "|".join(f"a{i:x}b" for i in range(n))
        wanted = encoder(kind).encode(text)
        assert fast.encode(text) == wanted
        assert fast.encode(text) == wanted
        most_used = max(most_used, fast._pipeline.used_bytes)
    assert 1 << 18 < most_used <= cache_bytes


@pytest.mark.daily
def test_cache_grows_in_later_passes_until_it_is_large_enough() -> None:
    """At two thirds full it grows in later passes, but no further once it is large enough for the pieces.

    The table doubles from 4 to 16 MB. The arena beside it takes half a MB or one: its ids belong to the entries
    that stay, and which ones stay depends on the random seed of the hashes.
    """
    fast = encoder("ranks", cache_bytes=1 << 28)
    text = "|".join(f"a{i:x}b" for i in range(85_000))
    wanted, used = fast.encode(text), []
    for n_passes in (1, 60, 60):
        for _ in range(n_passes):
            assert fast.encode(text) == wanted
        used.append(fast._pipeline.used_bytes)
    assert used[0] < 6 << 20 < 16 << 20 < used[1] <= used[2] < 18 << 20


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_of_every_length_at_text_ends_are_encoded_as_specified(kind: str) -> None:
    rng = random.Random(1)
    fast = encoder(kind)
    for n in LENGTHS:
        for letters in ("a", "ab", "abcd", "\0", "a\0"):
            piece = "".join(rng.choices(letters, k=n))
            for pieces in ([piece], [piece, piece], [piece, "a", piece], ["a" * 100, piece]):
                for _ in range(2):  # first a cache miss, then a hit
                    assert fast.encode("|".join(pieces)) == expected(kind, pieces)[:-1], (n, letters)


@pytest.mark.daily
@pytest.mark.sample(1)
@pytest.mark.parametrize("kind", KINDS)
def test_full_cache_gives_correct_ids(kind: str) -> None:
    """Thirty times more pieces than fit: entries evict each other, and the arena is cleared within groups."""
    rng = random.Random(2)
    fast = encoder(kind)
    known = [random_piece(rng) for _ in range(300)]
    for _ in range(20):
        pieces = [rng.choice(known) if rng.random() < 0.5 else random_piece(rng) for _ in range(1500)]
        assert fast.encode("".join(piece + "|" for piece in pieces)) == expected(kind, pieces)
        assert fast._pipeline.used_bytes <= 1 << 18  # the minimum size of a cache


@pytest.mark.daily
@pytest.mark.parametrize("kind", KINDS)
def test_short_pieces_with_many_ids_may_fill_the_arena(kind: str) -> None:
    """The arena of ids fills up while the table of long pieces, cleared together with it, does not exist."""
    rng = random.Random(3)
    fast = encoder(kind)
    for _ in range(8):
        pieces = ["".join(rng.choices("uvwxyz", k=rng.randint(5, 15))) for _ in range(2000)]
        assert fast.encode("".join(piece + "|" for piece in pieces)) == expected(kind, pieces)


@pytest.mark.parametrize("kind", KINDS)
def test_pieces_that_differ_only_at_their_ends_are_distinguished(kind: str) -> None:
    fast = encoder(kind, cache_bytes=1 << 20)
    for n in LENGTHS:
        pieces = ["a" * (n - 1) + last for last in "abcd\0"] * 3
        pieces += [first + "a" * (n - 1) for first in "bcd\0"] * 2
        pieces += ["a" * k for k in (n, n + 1, max(n - 1, 1))]  # the same zero padding, another length
        assert fast.encode("".join(piece + "|" for piece in pieces)) == expected(kind, pieces), n


@pytest.mark.daily
@settings(max_examples=150)
@given(
    st.lists(
        st.tuples(
            st.text(LETTERS, min_size=1, max_size=4), st.integers(1, 12), st.sampled_from(["", "a", "b", "\0"])
        ),
        min_size=1,
        max_size=300,
    ),
    st.sampled_from(sorted(KINDS)),
)
def test_arbitrary_pieces_are_encoded_as_specified(parts: list[tuple[str, int, str]], kind: str) -> None:
    pieces = [word * n + end for word, n, end in parts]
    fast = shared_encoder(kind)  # shared by all examples, so it has seen some of the pieces
    text = "".join(piece + "|" for piece in pieces)
    assert fast.encode(text) == fast.encode(text) == expected(kind, pieces)


@cache
def shared_encoder(kind: str) -> Encoder:
    return encoder(kind)


@pytest.mark.daily
@pytest.mark.parametrize("kind", KINDS)
def test_unmatched_text_has_no_ids(kind: str) -> None:
    rng = random.Random(4)
    fast = encoder(kind, make_splitter(r"[^|]+", drop_unmatched=True))
    for _ in range(20):
        pieces = [random_piece(rng) for _ in range(300)]
        text = "".join("|" * rng.randint(1, 2000 if rng.random() < 0.05 else 3) + piece for piece in pieces)
        assert fast.encode(text + "|||") == [i for piece in pieces for i in encode_alone(kind, piece)]


def test_caches_stay_within_cache_bytes() -> None:
    ranks = {**BYTES, b"ab": 256}
    lines = [base64.b64encode(token) + b" %d\n" % rank for token, rank in ranks.items()]
    text = "".join(" " + "".join(letters) for letters in product("abcdefghijklmno", repeat=4))
    made = [
        Tokenizer.from_ranks(ranks, pattern="cl100k", cache_bytes=1 << 20),
        load(b"".join(lines), pattern="cl100k", cache_bytes=1 << 20),
        Tokenizer.from_merges([(97, 98)], pattern="cl100k", cache_bytes=1 << 20),
    ]
    for tokenizer in [*made, *(tokenizer.with_special_tokens({"<s>": 300}) for tokenizer in made)]:
        tokenizer.encode_ordinary(text, num_threads=1)
        assert tokenizer._pipeline.used_bytes <= 1 << 20
    freely = Tokenizer.from_ranks(ranks, pattern="cl100k")
    freely.encode_ordinary(text, num_threads=1)
    assert freely._pipeline.used_bytes > 1 << 20


def test_cache_may_grow_again_when_other_threads_have_gone() -> None:
    """A nested call encodes as another thread would, and release_memory() frees what it leaves behind."""
    tokenizer = Tokenizer.from_ranks(BYTES, pattern=r"[^|]+|\|", cache_bytes=4 << 20)
    text = "|".join(f"{i:x}" for i in range(200_000))

    def parts(n_nested: int) -> Iterator[tuple[str, bool]]:
        if n_nested:
            tokenizer.encode_parts(parts(n_nested - 1))
        else:
            fastbpe.release_memory()
        yield "a", False

    tokenizer.encode_ordinary(text, num_threads=1)
    used = tokenizer._pipeline.used_bytes
    assert used > 1 << 20
    tokenizer.encode_parts(parts(3))  # four at a time: a quarter of the memory for each
    tokenizer.encode_parts(parts(0))
    tokenizer.encode_ordinary(text, num_threads=1)
    assert tokenizer._pipeline.used_bytes == used


def test_negative_cache_bytes_raise_value_error() -> None:
    with pytest.raises(
        ValueError, match=r"cache_bytes=-1: must be the number of bytes for piece caches, at least 0"
    ):
        Tokenizer.from_ranks(BYTES, pattern=None, cache_bytes=-1)


@pytest.mark.parametrize("wrong", [1.5, None, "64 MiB", True])
def test_cache_bytes_that_are_no_integer_raise_type_error(wrong: Any) -> None:
    with pytest.raises(TypeError, match=f"cache_bytes must be an integer, not {type(wrong).__name__}"):
        Tokenizer.from_ranks(BYTES, pattern=None, cache_bytes=wrong)


# Cache misses are merged in batches, also across texts: no caller may see the gaps that they leave until then.

#: The minimum size, where new pieces evict pending ones, a middle size, and the default.
SIZES = [0, 1 << 22, 1 << 26]


def batch(rng: random.Random, n_texts: int) -> list[list[str]]:
    """Return pieces of texts: none, a few, more misses than one batch merges, or one miss with all the gaps."""
    known = ["ab"]
    texts = []
    for _ in range(n_texts):
        kind, pieces = rng.random(), []
        if kind < 0.7:
            for _ in range(rng.randint(0, 30)):
                if rng.random() < 0.3:
                    n = rng.choice(LENGTHS[:15]) if rng.random() < 0.1 else rng.randint(1, 20)
                    known.append("".join(rng.choices("abcdéfg", k=n)))
                    pieces.append(known[-1])
                else:
                    pieces.append(rng.choice(known))
        elif kind < 0.75:
            pieces = [
                "".join(rng.choices("abcdéfg", k=rng.randint(1, 15))) for _ in range(rng.choice([127, 128, 400]))
            ]
        elif kind < 0.78:
            pieces = ["".join(rng.choices("abcdefg", k=12))] * rng.choice([1023, 1024, 1025, 3000])
        texts.append(pieces)
    return texts


@pytest.mark.sample(8)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("cache_bytes", SIZES)
@pytest.mark.parametrize("num_threads", [1, 3])
def test_texts_with_some_new_pieces_are_encoded_as_specified(
    kind: str, cache_bytes: int, num_threads: int
) -> None:
    rng = random.Random(f"{kind} {cache_bytes} {num_threads}")
    fast = encoder(kind, cache_bytes=cache_bytes)
    for _ in range(3):
        pieces = batch(rng, 150)
        texts = ["|".join(of_one) for of_one in pieces]
        expected = []
        for of_one in pieces:
            expected.append([i for piece in of_one for i in [*encode_alone(kind, piece), ord("|")]][:-1])
        fresh = encoder(kind, cache_bytes=cache_bytes)
        assert list(memoryview(fresh._count_to_array(texts, num_threads))) == [len(ids) for ids in expected]
        ids, offsets = map(list, map(memoryview, fast._encode_to_array(texts, set(), (), num_threads)))
        assert [ids[a:b] for a, b in pairwise(offsets)] == expected
        assert fast.encode_ordinary_batch(texts, num_threads=num_threads) == expected
        one = "|".join(texts)
        assert (
            encoder(kind, cache_bytes=cache_bytes).encode(one, num_threads=num_threads)
            == [i for ids in expected for i in [*ids, ord("|")]][:-1]
        )


def test_error_in_a_batch_leaves_pending_pieces_correct(code_tokenizer: Tokenizer) -> None:
    """Texts before the error have gaps that stay unfilled; their new pieces are merged correctly later all the
    same."""
    rng, fresh = random.Random(5), code_tokenizer
    for n in range(100):
        texts = [" ".join("".join(rng.choices("abcdefgh", k=7)) for _ in range(20)) for _ in range(4)]
        wanted = [code_tokenizer.encode_ordinary(text) for text in texts]
        if n % 10 == 0:
            fresh = pickle.loads(pickle.dumps(code_tokenizer))
        with pytest.raises(SpecialTokenError, match=r"texts\[3\]"):
            fresh.encode_batch_to_numpy([*texts[:3], "<|sep|>", *texts[3:]], num_threads=1 + n % 2)
        assert fresh.encode_ordinary_batch(texts, num_threads=1 + n % 2) == wanted


@pytest.mark.daily
@pytest.mark.parametrize(("work", "n"), [("count_batch", 8_000_000), ("encode_batch_to_numpy", 2_000_000)])
def test_long_texts_keep_no_second_copy_of_their_ids(work: str, n: int) -> None:
    """Only new pieces at the beginning wait; counting does not keep even one copy of the ids."""
    assert int(run_python(LONG_TEXTS % (n, work, work))) < 16 << 20


LONG_TEXTS = """
import resource
from fastbpe import Tokenizer

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

tokenizer = Tokenizer.from_ranks({bytes([byte]): byte for byte in range(256)}, pattern="[^|]+|[|]")
tokenizer.count_batch(["ab|" * 300_000] * 2, num_threads=2)
texts = ["ab|" * %d] * 2
if "count" not in %r:
    tokenizer.encode_batch_to_numpy(texts, num_threads=2)
texts = ["new" + text for text in texts]
before = peak()
tokenizer.%s(texts, num_threads=2)
print(peak() - before)
"""
