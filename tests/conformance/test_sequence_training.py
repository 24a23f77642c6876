"""mode="ids" with ties="pair" against the BpeTrainer of tokenizers, a character standing for each symbol."""

from __future__ import annotations

import contextlib
import random

import pytest

import fastbpe
from helpers.sampling import SEED, rounds

tokenizers = pytest.importorskip("tokenizers")


def test_merges_equal_tokenizers() -> None:
    rng = random.Random(SEED)
    for _ in rounds(20, 200):
        base_size, n_merges = rng.choice([2, 5, 300]), rng.choice([3, 40])
        sequences = [
            [int(base_size * rng.random() ** 2) for _ in range(rng.randrange(2, 80))]
            for _ in range(rng.randrange(1, 9))
        ]
        alphabet = [chr(0x4E00 + symbol) for symbol in range(base_size)]
        peer = tokenizers.Tokenizer(tokenizers.models.BPE())
        trainer = tokenizers.trainers.BpeTrainer(
            vocab_size=base_size + n_merges, initial_alphabet=alphabet, show_progress=False
        )
        peer.train_from_iterator(
            ["".join(alphabet[symbol] for symbol in sequence) for sequence in sequences], trainer
        )
        is_short = peer.get_vocab_size() < base_size + n_merges
        with pytest.warns(fastbpe.TrainingWarning) if is_short else contextlib.nullcontext():
            tokenizer = fastbpe.train(
                sequences, mode="ids", base_size=base_size, vocab_size=base_size + n_merges, progress=False
            )
        named = peer.get_vocab()
        tokens = [
            "".join(alphabet[symbol] for symbol in tokenizer.id_to_token(i)) for i in range(tokenizer.n_vocab)
        ]
        assert named == {token: i for i, token in enumerate(tokens)}, (SEED, sequences)
