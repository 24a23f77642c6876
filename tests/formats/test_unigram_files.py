"""Parts of a tokenizer.json with a Unigram model that tokenizers reads in its own way."""

import pytest

from fastbpe import FormatError, load
from fastbpe.formats.huggingface import read_segmented
from helpers.segmented_models import tokenizer_json, unigram_of_numbers
from reference.numbers import json_number


def test_byte_fallback_of_null_raises_format_error() -> None:
    model = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["a", -1.0]], "byte_fallback": None}
    with pytest.raises(FormatError, match="byte_fallback"):
        load(tokenizer_json(model))


def test_integers_of_more_than_64_bits_are_read_as_by_the_slow_twin() -> None:
    numbers = ["27421189109738426919178", "-35849443238457764917535", "16671267996498320630564"]
    model = read_segmented.parse(unigram_of_numbers(numbers), "numbers")
    assert model is not None
    assert [*memoryview(model.scores).cast("B").cast("d")] == [json_number(number) for number in numbers]
