"""What every test shares: hypothesis that repeats itself, and small tokenizers learned from real code."""

import pytest
from hypothesis import settings

from fastbpe import Tokenizer, train
from helpers.shared_data import standard_library

settings.register_profile("fastbpe", derandomize=True, deadline=None, database=None, print_blob=True)
settings.load_profile("fastbpe")


@pytest.fixture(scope="session")
def code_tokenizer() -> Tokenizer:
    """1,000 entries and two special tokens, learned from 300 kB of Python."""
    return train(
        [standard_library(300_000)],
        vocab_size=1000,
        pattern="cl100k",
        special_tokens=["<|endoftext|>", "<|sep|>"],
        progress=False,
    )


@pytest.fixture(scope="session")
def unsplit_tokenizer() -> Tokenizer:
    """600 entries learned without a split pattern, so that any text is one piece."""
    return train([standard_library(60_000)], vocab_size=600, pattern=None, progress=False)
