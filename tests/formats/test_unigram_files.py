"""Parts of a tokenizer.json with a Unigram model that tokenizers reads in its own way."""

from pathlib import Path

import pytest

from fastbpe import FormatError, load, train
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


@pytest.mark.filterwarnings("ignore:.*single precision:fastbpe.FormatWarning")
@pytest.mark.parametrize("user_defined_symbols", [[], ["ab", "xyz"]])
def test_byte_fallback_without_an_unknown_piece_keeps_its_ids(
    user_defined_symbols: list[str], tmp_path: Path
) -> None:
    tokenizer = train(
        ["ab ab abc", "abcd ab"] * 3,
        mode="unigram",
        vocab_size=268,
        hard_vocab_limit=False,
        user_defined_symbols=user_defined_symbols,
        unk_id=-1,
        byte_fallback=True,
        progress=False,
    )
    texts = ("\u00e9 ab", "<0x00> \0<0xC3>", "zz\U0001f30d\U0001f30d a<unk>", "xyzab\u2581")
    tokenizer.export(tmp_path / "x.json", format="huggingface", verify_text="\n".join(texts))
    again = load(tmp_path / "x.json")
    assert again.special_tokens == tokenizer.special_tokens
    for text in texts:
        assert again.encode_ordinary(text) == tokenizer.encode_ordinary(text)
