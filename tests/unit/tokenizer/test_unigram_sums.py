"""Excuses for ids that differ because libraries add the scores of a unigram model differently."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe.tokenizer.export.unigram_sums import OtherSums


def test_bound_of_sums_grows_with_the_normalized_text() -> None:
    """NFKC writes U+FDFA as 18 characters, so each library adds and rounds up to 18 scores."""

    def long_form(text: str) -> str:
        return text.replace("\ufdfa", "x" * 18)

    # By 20 characters of normalized text, sums may differ by 0.000143; by three of the text, by 0.000021.
    sums = OtherSums((long_form, long_form), [], [-10.0, -10.0 - 5e-5, -20.0])
    assert sums.excuse("\ufdfa", [0], [1]) == "sums"
    assert sums.excuse("x", [0], [1]) == ""


def test_warning_gives_each_changed_text_its_own_reason(tmp_path: Path) -> None:
    options: dict[str, Any] = {"normalization_rule_name": "nmt_nfkc", "remove_extra_whitespaces": False}
    tokenizer = fastbpe.train(["a b c"] * 9, mode="unigram", vocab_size=7, progress=False, **options)
    # The rules remove U+0001. sentencepiece then keeps the space before the text, and tokenizers nothing.
    with pytest.warns(fastbpe.FormatWarning) as warned:
        tokenizer.export(tmp_path / "a.json", format="huggingface", verify_text="\x01")
    (space,) = tokenizer.encode("\x01")
    text = repr("\x01")
    said = f". A text that the normalization rules remove or change differently gets other ids, such as {text}: "
    assert f"nearly tie may get other ids{said}[] instead of [{space}]" in str(warned[0].message)
