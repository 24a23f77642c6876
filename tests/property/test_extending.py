"""Training on top of another vocabulary, against the specification and against merging by rank."""

import random
import warnings

import pytest

import fastbpe
from fastbpe import AddedToken, SpecialTokenError, Tokenizer, TrainingError, TrainingWarning
from fastbpe._core.train.byte_learner import Learner
from helpers.sampling import SEED, rounds
from helpers.shared_data import PUBLISHED, corpus, counted, peer_of, published, random_texts, vocabulary
from reference import train as reference_train

BYTES = {bytes([byte]): byte for byte in range(256)}
CORPORA = rounds(250, 5000)


def extend(source: object, base: Tokenizer, n_merges: int, **options: object) -> Tokenizer:
    n_special = len(options.get("special_tokens", ()))  # type: ignore[arg-type]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        return fastbpe.train(
            iter(source) if isinstance(source, list) else source,  # type: ignore[arg-type]
            vocab_size=base.vocab_size + n_special + n_merges,
            base=base,
            progress=False,
            **options,  # type: ignore[arg-type]
        )


def strange_ranks(rng: random.Random) -> dict[bytes, int]:
    """Return ranks that training would never give: random tokens in any order, with unused ids."""
    ranks = dict(BYTES)
    for _ in range(rng.randint(0, 12)):
        token = bytes(rng.choices(b"abcd", k=rng.randint(2, 5)))
        ranks.setdefault(token, max(ranks.values()) + rng.choice([1, 1, 1, 4]))
    return ranks


@pytest.mark.parametrize("ties", ["pair", "first"])
def test_extending_any_base_equals_the_specification(ties: str) -> None:
    for number in CORPORA:
        rng = random.Random(f"{SEED} {ties} {number}")
        ranks = strange_ranks(rng)
        pieces = {
            bytes(rng.choices(b"abcd"[: rng.randint(1, 4)], k=rng.randint(1, 12))): rng.randint(1, 5)
            for _ in range(rng.randint(1, 8))
        }
        n_merges = rng.choice([1, 5, 40])
        min_count, longest = rng.choice([1, 1, 3]), rng.choice([None, None, 3, 6])
        n_base = max(ranks.values()) + 1
        learner = Learner(
            counted(pieces),
            max_ids=n_base + n_merges,
            ties_first=ties == "first",
            base=vocabulary(ranks),
            n_base=n_base,
            min_count=min_count,
            max_token_length=longest,
        )
        learner.learn()
        expected = reference_train(
            pieces, n_merges=n_merges, ties=ties, base=ranks, min_count=min_count, max_token_bytes=longest
        )
        found = [(left, right) for left, right, _ in learner.merges()]
        wanted = [(left, right) for left, right, _ in expected.merges]
        assert found == wanted, (SEED, ties, number, ranks, pieces, n_merges, min_count, longest)


@pytest.mark.daily
def test_training_in_two_steps_equals_one_step() -> None:
    """Training in two steps with the same text and options gives the merges of one step."""
    for number in range(100):
        rng = random.Random(f"{SEED} {number}")
        texts = random_texts(rng)
        for ties in ("pair", "first"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TrainingWarning)
                whole = fastbpe.train(iter(texts), vocab_size=300, ties=ties, progress=False)
                half = fastbpe.train(iter(texts), vocab_size=260, ties=ties, progress=False)
            again = extend(texts, half, 300 - half.vocab_size, ties=ties)
            assert again.vocab == whole.vocab, (SEED, number, ties)
            assert again == whole


@pytest.mark.daily
def test_extending_a_merge_list_keeps_the_list() -> None:
    for number in range(100):
        rng = random.Random(f"{SEED} {number}")
        texts, others = random_texts(rng), random_texts(rng)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrainingWarning)
            ranked = fastbpe.train(iter(texts), vocab_size=270, progress=False)
        listed = Tokenizer.from_merges(ranked.merges, pattern="cl100k")
        longer, twin = extend(others, listed, 20), extend(others, ranked, 20)
        assert longer.vocab == twin.vocab
        assert longer.merges[: len(listed.merges)] == listed.merges
        assert longer.merges == twin.merges
        for text in texts + others:
            assert longer.encode(text) == twin.encode(text)


@pytest.mark.daily
@pytest.mark.sample(2)
@pytest.mark.parametrize("name", [*PUBLISHED])
def test_extended_published_vocabulary_keeps_every_id(name: str) -> None:
    base = published(name)
    text = corpus("multilingual.txt", 400_000)
    extended = extend([text[: len(text) // 2]], base, 300, special_tokens=["<|new|>"])
    assert extended.vocab_size == base.vocab_size + 301
    assert extended.vocab[: base.n_vocab] == base.vocab
    assert extended.special_tokens == {**base.special_tokens, "<|new|>": extended.n_vocab - 1}
    assert extended.pattern == base.pattern
    peer = peer_of(extended)
    fewer = 0
    for line in text.splitlines(keepends=True)[::7]:
        ids = extended.encode_ordinary(line)
        assert ids == peer.encode_ordinary(line)
        old = base.encode_ordinary(line)
        fewer += len(old) - len(ids)
        if max(ids) < base.n_vocab:
            assert ids == old
    assert fewer > 0
    assert base.vocab_size == published(name).vocab_size


def base_with_specials() -> Tokenizer:
    return Tokenizer.from_ranks({**BYTES, b"ab": 256}, pattern=r"\w+|\W", special_tokens={"<s>": 257, "<t>": 300})


def test_special_tokens_of_the_base_keep_their_ids() -> None:
    extended = extend(["abc abc <s> abd"], base_with_specials(), 2, special_tokens=["<u>"])
    assert extended.special_tokens == {"<s>": 257, "<t>": 300, "<u>": 303}
    assert [extended.token_to_id(token) for token in (b"ab", b"abc", b"abd")] == [256, 301, 302]
    assert extended.encode("abc<t>abd", allowed_special="all") == [301, 300, 302]


def test_base_special_end_moves_special_tokens_to_the_end() -> None:
    extended = extend(["abc abc <s> abd"], base_with_specials(), 2, special_tokens=["<u>"], base_special="end")
    assert extended.special_tokens == {"<s>": 259, "<t>": 260, "<u>": 261}
    assert [extended.token_to_id(token) for token in (b"ab", b"abc", b"abd")] == [256, 257, 258]
    assert extended.vocab_size == extended.n_vocab == 262


def test_special_tokens_of_the_base_are_not_learned_from() -> None:
    extended = extend(["<s>" * 9 + "xy"], base_with_specials(), 9)
    assert extended.vocab[301:] == [b"xy"]


def test_extending_by_zero_merges_gives_the_base() -> None:
    base = base_with_specials()
    assert extend(["abc"], base, 0) == base


def test_training_report_names_the_base() -> None:
    base = base_with_specials()
    report = extend(["abc"], base, 1, base_special="end").training_report
    assert report["base"] == base.fingerprint
    assert report["base_special"] == "end"
    assert (report["n_merges"], report["n_pieces"], report["vocab_size"]) == (1, 1, 260)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"pattern": "gpt2"}, TrainingError, "is not the base's"),
        ({"pattern": None}, TrainingError, "pattern=none is not the base's"),
        ({"ties": "huggingface"}, TrainingError, 'ties="huggingface" cannot be combined with base='),
        ({"vocab_size": 258}, TrainingError, "the base has 259 tokens"),
        ({"vocab_size": 259, "special_tokens": ["<u>"]}, TrainingError, "1 special token is new"),
        (
            {"special_tokens": ["<s>"]},
            SpecialTokenError,
            "the base already has the special token '<s>', with the id 257",
        ),
        ({"special_tokens": ["ab"]}, SpecialTokenError, "also the ordinary token 256"),
        ({"base_special": "begin"}, TrainingError, "choose one of 'keep', 'end'"),
        ({"base": "cl100k"}, TypeError, "base must be a Tokenizer, not str"),
        ({"base": None, "base_special": "end"}, TrainingError, "base_special='end'"),
    ],
)
def test_options_that_contradict_the_base_are_refused(
    options: dict[str, object], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        fastbpe.train(["abc"], **{"vocab_size": 300, "base": base_with_specials(), **options})  # type: ignore[arg-type]


def test_no_merge_makes_the_text_of_an_added_token() -> None:
    """The name `bc` may not be next to letters, so the text has it as ordinary bytes, which could be merged."""
    base = Tokenizer.from_ranks(BYTES, pattern=None).with_tokens([AddedToken("bc", single_word=True)])
    texts = ["xbcy zbcw"] * 9
    assert extend(texts, Tokenizer.from_ranks(BYTES, pattern=None), 1).vocab[256:] == [b"bc"]
    longer = extend(texts, base, 3)
    assert b"bc" not in longer.vocab[base.n_vocab :]
    assert longer.n_vocab == base.n_vocab + 3
    assert longer.encode("bc") == base.encode("bc") == [256]


def test_pattern_equal_to_that_of_the_base_is_accepted() -> None:
    base = Tokenizer.from_ranks(BYTES, pattern="gpt2")
    assert extend(["abab"], base, 1, pattern="gpt2") == extend(["abab"], base, 1)
