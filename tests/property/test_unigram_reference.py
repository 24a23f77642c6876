"""Unigram models against their slow twin: ids, pieces, offsets, n best ways, and the trie below them."""

import math
import random
from array import array
from collections import Counter
from itertools import accumulate

import pytest

import fastbpe.sentencepiece as face
from fastbpe import FormatError, Tokenizer, load
from fastbpe._core.segment.segmenter import Trie
from fastbpe.errors import VocabularyError
from fastbpe.formats.huggingface import read_segmented
from fastbpe.formats.huggingface.serde_numbers import serde_float
from fastbpe.formats.sentencepiece import model_file as sentencepiece_format
from fastbpe.model import PieceType
from helpers.sampling import n_rounds
from helpers.segmented_models import (
    LETTERS,
    SCORE_STYLES,
    random_number,
    random_score,
    random_text,
    random_unigram,
    tokenizer_json,
    twin_of,
    unigram_model,
    unigram_of_numbers,
)
from reference.lattice import float32
from reference.numbers import json_number
from reference.unigram import ScoredPieces, Unigram

SEEDS = range(6)
NORMAL, UNKNOWN = PieceType.NORMAL, PieceType.UNKNOWN


@pytest.fixture(autouse=True)
def unlimited_time() -> None:
    """Set the process's limit for n-best encoding, which other tests lower to milliseconds."""
    face.set_nbest_timeout(0)


@pytest.mark.parametrize("style", SCORE_STYLES)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_models_encode_as_the_slow_twin(style: str, seed: int) -> None:
    rng = random.Random(f"{style} {seed}")
    for _ in range(n_rounds(40, 400)):
        model = random_unigram(rng, style)
        twin = twin_of(model)
        processor = face.SentencePieceProcessor(model_proto=sentencepiece_format.dump(model))
        for _ in range(12):
            text = random_text(rng)
            tokens = twin.tokens(text.encode())
            found = processor.encode(text.encode(), return_type="offset_mapping")
            assert found["ids"] == [token.id for token in tokens], (model, text)
            assert found["pieces"] == [token.piece for token in tokens], (model, text)
            assert found["offsets"] == [(token.begin, token.end) for token in tokens], (model, text)
            assert processor.encode(text) == found["ids"], (model, text)
            assert processor.decode(found["ids"], return_type=bytes) == twin.decode(found["ids"]), (model, text)


@pytest.mark.parametrize("style", SCORE_STYLES)
@pytest.mark.parametrize("seed", SEEDS)
def test_best_ways_come_in_the_order_of_the_slow_twin(style: str, seed: int) -> None:
    rng = random.Random(f"{style} {seed} n-best")
    for _ in range(n_rounds(40, 400)):
        model = random_unigram(rng, style)
        twin = twin_of(model)
        processor = face.SentencePieceProcessor(model_proto=sentencepiece_format.dump(model))
        for _ in range(6):
            text, n = random_text(rng, 14), rng.choice([1, 2, 3, 8, 20])
            assert processor.nbest_encode(text, nbest_size=n) == twin.n_best(text.encode(), n), (model, text, n)


@pytest.mark.daily
@pytest.mark.parametrize(("most", "seed"), [(2, 0), (4, 9), (8, 7)])
def test_search_for_the_best_ways_of_a_long_text_gives_up_as_the_slow_twin(most: int, seed: int) -> None:
    """Nearly all ways are equally good, so the agenda is cut again and again; after ten cuts one way is left."""
    rng = random.Random(seed)
    near = [-length + rng.choice([0, 1e-6, -1e-6]) for length in range(1, most + 1)]
    pieces = [(b"a" * length, float32(score), NORMAL) for length, score in enumerate(near, 1)]
    model = unigram_model([(b"<unk>", 0.0, UNKNOWN), *pieces], None, {"add_dummy_prefix": False})
    processor = face.SentencePieceProcessor(model_proto=sentencepiece_format.dump(model))
    for length, n in ((60, 2), (200, 2), (200, 30)):
        text = "a" * length
        assert processor.nbest_encode(text, nbest_size=n) == twin_of(model).n_best(text.encode(), n), (length, n)


@pytest.mark.parametrize("seed", SEEDS)
def test_totals_of_long_texts_are_rounded_and_reset_as_in_the_slow_twin(seed: int) -> None:
    """Near ties far from the beginning of a text, in one word and in many, and beyond a total of 100,000."""
    rng = random.Random(f"long {seed}")
    style = rng.choice(["near ties", "any", "resets"])
    texts = {"".join(rng.choices("ab▁", k=rng.randint(1, 5))) for _ in range(30)} | {"a", "b"}
    scored = [(text.encode(), random_score(rng, style), NORMAL) for text in sorted(texts)]
    model = unigram_model([(b"<unk>", 0.0, UNKNOWN), *scored], None, {"remove_extra_whitespaces": False})
    twin, tokenizer = twin_of(model), Tokenizer(model)
    for characters in ("ab", "ab c", "abab "):
        text = "".join(rng.choices(characters, k=n_rounds(8_000, 80_000)))
        assert tokenizer.encode(text) == twin.encode(text.encode()), (seed, style, characters)


@pytest.mark.parametrize("seed", SEEDS)
def test_total_goes_on_from_word_to_word(seed: int) -> None:
    """The same words again and again: the cache holds them, and rounding still decides as in the whole text."""
    rng = random.Random(f"words {seed}")
    pieces = {"".join(rng.choices("ab", k=rng.randint(1, 4))) for _ in range(12)} | {"a", "b", "▁"}
    scored = [(piece.encode(), random_score(rng, "near ties"), NORMAL) for piece in sorted(pieces)]
    model = unigram_model([(b"<unk>", 0.0, UNKNOWN), *scored])
    words = ["".join(rng.choices("ab", k=rng.randint(1, 7))) for _ in range(8)]
    text = " ".join(rng.choices(words, k=n_rounds(3_000, 30_000)))
    expected = twin_of(model).encode(text.encode())
    tokenizer = Tokenizer(model)
    assert tokenizer.encode(text) == expected
    assert tokenizer.encode(text) == expected
    assert Tokenizer(model, cache_bytes=0).encode(text) == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_random_unigram_files_encode_as_the_slow_twin(seed: int) -> None:
    rng = random.Random(f"files {seed}")
    for _ in range(n_rounds(120, 1_000)):
        letters = rng.sample(LETTERS, rng.randint(1, 5))
        style = rng.choice(SCORE_STYLES)
        texts = ["".join(rng.choices(letters, k=rng.randint(1, 4))) for _ in range(rng.randint(1, 25))]
        pieces = [(text, random_score(rng, style)) for text in texts]  # some are equal
        if rng.random() < 0.5:
            pieces.append(("<unk>", rng.choice([0.0, -3.0])))
        falls_back = rng.random() < 0.5
        if falls_back:
            pieces += [(f"<0x{byte:02X}>", 0.0) for byte in range(256) if rng.random() < 0.95]
        rng.shuffle(pieces)
        unknown = rng.choice([None, rng.randrange(len(pieces))])
        model = {"type": "Unigram", "unk_id": unknown, "vocab": pieces, "byte_fallback": falls_back}
        twin = ScoredPieces([(piece, json_number(repr(score))) for piece, score in pieces], unknown, falls_back)
        tokenizer = load(tokenizer_json(model, "whole"))
        for _ in range(10):
            text = random_text(rng, 20, others=" x<unk>")
            try:
                tokens = twin.encode(text) if text else []
            except KeyError:
                with pytest.raises(VocabularyError):
                    tokenizer.encode(text)
                continue
            expected = [token for token, _, _ in tokens], [(begin, end) for _, begin, end in tokens]
            assert tokenizer.encode_with_offsets(text) == expected, (model, text)
            assert tokenizer.encode(text) == expected[0], (model, text)


@pytest.mark.parametrize("nbest_size", [-1, 3, 100])
def test_random_ways_are_as_likely_as_their_scores_say(nbest_size: int) -> None:
    """The share of each way is near exp(alpha * score) over the sum of all, or of the best ones."""
    scores = {"a": -1.0, "b": -1.5, "ab": -2.0, "ba": -3.0, "aba": -3.25, "bab": -4.0}
    pieces = [(piece.encode(), score, NORMAL) for piece, score in scores.items()]
    model = unigram_model([(b"<unk>", 0.0, UNKNOWN), *pieces], None, {"add_dummy_prefix": False})
    processor = face.SentencePieceProcessor(model_proto=sentencepiece_format.dump(model))
    ways = twin_of(model).n_best(b"ababa", 100 if nbest_size < 0 else nbest_size)
    weights = [math.exp(0.6 * sum([*scores.values()][token - 1] for token in way)) for way in ways]
    n_draws = 20_000
    face.set_random_generator_seed(7)
    drawn = Counter(
        tuple(processor.encode("ababa", enable_sampling=True, nbest_size=nbest_size, alpha=0.6))
        for _ in range(n_draws)
    )
    assert set(drawn) <= {*map(tuple, ways)}
    for way, weight in zip(ways, weights, strict=True):
        share = weight / sum(weights)
        deviation = math.sqrt(n_draws * share * (1 - share))
        assert abs(drawn[tuple(way)] - n_draws * share) < 5 * deviation, (way, share)


# Parts


@pytest.mark.parametrize("seed", SEEDS)
def test_trie_finds_the_tokens_of_a_dict(seed: int) -> None:
    rng = random.Random(f"trie {seed}")
    for _ in range(n_rounds(60, 1_000)):
        letters = rng.choice([b"ab", bytes(range(256)), b"\x00\xff", b"abcdefgh"])
        n = rng.choice([0, 1, 5, 300])
        tokens = {bytes(rng.choices(letters, k=rng.randint(1, rng.choice([2, 4, 30])))) for _ in range(n)}
        order = sorted(tokens, key=lambda token: rng.random())
        ids = dict(zip(order, rng.sample(range(1 << 20), len(order)), strict=True))
        ends = array("I", accumulate(map(len, order))).tobytes()
        trie = Trie(b"".join(order), ends, array("I", ids.values()).tobytes(), bytes(4 * len(order)))
        for _ in range(40):
            text = rng.choice([*order, b""]) + bytes(rng.choices(letters, k=rng.randint(0, 9)))
            text = text[rng.randint(0, 1) :]
            expected = [(n, ids[text[:n]]) for n in range(1, len(text) + 1) if text[:n] in ids]
            assert trie.prefixes(text) == expected, (order, text)


@pytest.mark.parametrize("seed", SEEDS)
def test_numbers_are_read_as_by_the_slow_twin(seed: int) -> None:
    rng = random.Random(f"numbers {seed}")
    sound = []
    for number in (random_number(rng) for _ in range(n_rounds(4_000, 40_000))):
        try:
            expected = json_number(number)
        except OverflowError:
            with pytest.raises(ValueError, match="too large"):
                serde_float(number)
            with pytest.raises(FormatError):
                load(unigram_of_numbers([number]))
            continue
        assert serde_float(number) == expected, number
        assert expected == pytest.approx(float(number), rel=1e-15, abs=1e-300), number
        sound.append(number)
    model = read_segmented.parse(unigram_of_numbers(sound), "numbers")
    assert model is not None
    assert [*memoryview(model.scores).cast("B").cast("d")] == [json_number(number) for number in sound]


# Time

TRAPS = {
    "one letter": ("a", [("a", -1.0), ("aa", -1.9), ("aaa", -2.8)]),
    "long tokens that are never complete": ("a", [("a", -1.0), ("a" * 60 + "b", -1.0)]),
    "unknown characters": ("x", [("a", -1.0)]),
    "totals that are reset all the time": ("ab", [("a", -60_000.0), ("b", -50_000.0), ("ab", -120_000.0)]),
    "resets and far reaching tokens": ("ab", [("a", -200_000.0), ("b", -9.0), ("ab" * 16, -5.0)]),
}


@pytest.mark.daily
@pytest.mark.parametrize("trap", TRAPS)
def test_a_long_word_is_encoded(trap: str) -> None:
    """Time grows with the length of a word: if it grew with the square, each of these would take minutes."""
    letters, scored = TRAPS[trap]
    pieces = [(b"<unk>", 0.0, UNKNOWN), *((piece.encode(), score, NORMAL) for piece, score in scored)]
    vocabulary = [["<unk>", 0.0], *map(list, scored)]
    of_file = load(tokenizer_json({"type": "Unigram", "unk_id": 0, "vocab": vocabulary}, "whole"))
    text = letters * (2_000_000 // len(letters))
    for tokenizer in (Tokenizer(unigram_model(pieces)), of_file):
        assert tokenizer.count(text) == len(tokenizer.encode(text))


def test_twin_is_not_a_model_that_merges() -> None:
    """A check of the test itself: a piece that no merge of pieces makes is found."""
    model = unigram_model([(b"<unk>", 0.0, UNKNOWN), (b"abc", -1.0, NORMAL)], None, {"add_dummy_prefix": False})
    assert isinstance(twin_of(model), Unigram)
    assert twin_of(model).encode(b"abc") == Tokenizer(model).encode("abc") == [1]
