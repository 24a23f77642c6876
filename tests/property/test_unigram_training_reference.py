"""Unigram training against its slow twin, to the last bit of each score, on small random corpora."""

import random
import warnings
from pathlib import Path

import pytest

import fastbpe
from fastbpe.errors import SpecError
from fastbpe.training import unigram
from helpers.sampling import n_rounds, share_of
from helpers.segmented_models import (
    kept_sentences,
    learned_model,
    learned_pieces,
    random_options,
    random_sentences,
    twin_trainer,
)

SEEDS = range(8)


@pytest.mark.daily
@pytest.mark.parametrize("seed", SEEDS)
def test_random_trainings_equal_the_slow_twin(seed: int) -> None:
    rng = random.Random(seed)
    n_compared = 0
    for _ in range(n_rounds(60, 600)):
        sentences, options = random_sentences(rng), random_options(rng)
        try:
            model = learned_model(sentences, options, num_threads=rng.choice([1, 3]))
        except SpecError:
            continue  # refusals are compared with sentencepiece elsewhere
        n_compared += 1
        pieces = twin_trainer(options).learn(kept_sentences(sentences))
        assert learned_pieces(model) == pieces, (sentences, options)
    assert n_compared > share_of(20)


@pytest.mark.parametrize("seed", SEEDS)
def test_chunks_of_text_give_the_seeds_of_the_slow_twin(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk ends in the sentence that fills it, and only the best strings go on to the next chunk."""
    rng = random.Random(f"chunks {seed}")
    n_compared = 0
    for _ in range(n_rounds(40, 400)):
        sentences = random_sentences(rng) + random_sentences(rng)
        options = random_options(rng) | {"seed_sentencepiece_size": rng.choice([0, 1, 2, 5])}
        n_bytes = rng.choice([1, 7, 20, 60])
        monkeypatch.setattr(unigram, "CHUNK_BYTES", n_bytes)
        try:
            model = learned_model(sentences, options)
        except SpecError:
            continue
        n_compared += 1
        pieces = twin_trainer(options, chunk_bytes=n_bytes).learn(kept_sentences(sentences))
        assert learned_pieces(model) == pieces, (sentences, options, n_bytes)
    assert n_compared > share_of(12)


@pytest.mark.parametrize("seed", range(4))
def test_seeds_of_a_file_equal_the_slow_twin(seed: int, tmp_path: Path) -> None:
    rng = random.Random(f"seed file {seed}")
    path = tmp_path / "seeds.tsv"
    for _ in range(n_rounds(40, 400)):
        sentences, options = random_sentences(rng), random_options(rng)
        options["seed_sentencepiece_size"] = rng.choice([1, 4, 10, 1_000])
        words = b" ".join(sentences).decode().replace("\0", "").split() or ["a"]
        lines = [
            (rng.choice(["▁", ""]) + word[: rng.randint(1, 6)], rng.randint(1, 9))
            for word in rng.choices(words, k=12)
        ]
        path.write_text("".join(f"{piece}\t{count}\n" for piece, count in lines), encoding="utf-8")
        try:
            model = learned_model(sentences, {**options, "seed_sentencepieces_file": str(path)})
        except SpecError:
            continue
        pieces = twin_trainer(options, seed_lines=lines).learn(kept_sentences(sentences))
        assert learned_pieces(model) == pieces, (sentences, options, lines)


@pytest.mark.daily
@pytest.mark.parametrize("seed", range(4))
def test_long_words_equal_the_slow_twin(seed: int) -> None:
    """Words of more than 255 characters, and sentences that are not cut at all."""
    rng = random.Random(f"long {seed}")
    for splits in (True, False):
        words = ["".join(rng.choices("abé", k=n)) for n in (300, 40, 5)]
        sentences = [" ".join(rng.sample(words, 3)).encode() for _ in range(3)]
        options = {
            "vocab_size": 30,
            "hard_vocab_limit": False,
            "num_threads": rng.choice([1, 3]),
            "split_by_whitespace": splits,
            "normalization_rule_name": "identity",
            "max_sentencepiece_length": rng.choice([4, 16, 300]),
        }
        pieces = twin_trainer(options).learn(kept_sentences(sentences))
        assert learned_pieces(learned_model(sentences, options)) == pieces, (sentences, options)


@pytest.mark.parametrize("seed", range(4))
def test_counted_sentences_equal_the_slow_twin(seed: int) -> None:
    """Sentences with a tab and their count (input_format="tsv"), and a mapping of sentences to counts."""
    rng = random.Random(f"counts {seed}")
    for _ in range(n_rounds(20, 200)):
        sentences = [sentence for sentence in random_sentences(rng) if sentence.strip() and b"\0" not in sentence]
        counts = {sentence: rng.choice([1, 2, 3, 40]) for sentence in sentences}
        lines = [b"%s\t%d" % line for line in counts.items()]
        options = random_options(rng)
        try:
            model = learned_model(lines, {**options, "input_format": "tsv"})
        except SpecError:
            continue
        pieces = twin_trainer(options).learn(counts.items())
        assert learned_pieces(model) == pieces, (lines, options)
        options["num_threads"] = 16
        public = {name: value for name, value in options.items() if name not in ("vocab_size", "num_threads")}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fastbpe.TrainingWarning)
            tokenizer = fastbpe.train(
                {sentence.decode(): count for sentence, count in counts.items()},
                vocab_size=options["vocab_size"],
                mode="unigram",
                progress=False,
                **public,
            )
        assert tokenizer == fastbpe.Tokenizer(learned_model(lines, {**options, "input_format": "tsv"}))


def test_threads_that_share_the_search_for_seeds_learn_the_same_model() -> None:
    """The text has more strings than one part of the search takes."""
    rng = random.Random("parts of the search")
    words = ["".join(rng.choices("abcdeéяж新漢ア1.", k=rng.randint(2, 12))) for _ in range(9000)]
    sentences = [" ".join(rng.choices(words, k=12)).encode() for _ in range(1500)]
    options = {"vocab_size": 400, "seed_sentencepiece_size": 9000, "num_sub_iterations": 1}
    one = learned_model(sentences, options, num_threads=1)
    for num_threads in (2, 3):
        assert learned_pieces(learned_model(sentences, options, num_threads=num_threads)) == learned_pieces(one)


def test_refused_trainings_raise_spec_error() -> None:
    """No text, too few pieces for the characters, and a seed file that cannot be read."""
    for sentences, options in (
        ([], {}),
        ([b""], {}),
        ([b"abcdefgh"], {"vocab_size": 5}),
        ([b"ab"], {"seed_sentencepieces_file": "/no/such/file"}),
        ([b"ab"], {"vocab_size": 4_000, "hard_vocab_limit": True}),
    ):
        with pytest.raises(SpecError):
            learned_model(sentences, {"vocab_size": 10, "hard_vocab_limit": False, **options})
