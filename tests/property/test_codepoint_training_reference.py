"""Code-point training against its slow twin, on small random corpora with random options."""

import random

import pytest

from fastbpe.errors import SpecError
from helpers.random_training import learned_pieces, random_options, random_sentences, twin_pieces
from helpers.sampling import n_rounds


@pytest.mark.daily
@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", range(8))
def test_pieces_of_random_corpora_equal_the_slow_twin(seed: int) -> None:
    rng = random.Random(seed)
    for _ in range(n_rounds(15, 150)):
        sentences = random_sentences(rng)[:4]
        options = random_options(rng, sentences) | {"hard_vocab_limit": False, "byte_fallback": False}
        options["vocab_size"] = 60
        try:
            learned = learned_pieces(sentences, options)
        except SpecError:
            continue  # refusals are compared with sentencepiece elsewhere
        assert learned == twin_pieces(sentences, options), (sentences, options)
