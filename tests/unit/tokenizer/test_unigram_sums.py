"""Excuses for ids that differ because libraries add the scores of a unigram model differently."""

from __future__ import annotations

from fastbpe.tokenizer.export.unigram_sums import OtherSums


def test_bound_of_sums_grows_with_the_normalized_text() -> None:
    """NFKC writes U+FDFA as 18 characters, so each library adds and rounds up to 18 scores."""

    def long_form(text: str) -> str:
        return text.replace("\ufdfa", "x" * 18)

    # By 20 characters of normalized text, sums may differ by 0.000143; by three of the text, by 0.000021.
    sums = OtherSums((long_form, long_form), [], [-10.0, -10.0 - 5e-5, -20.0])
    assert sums.excuses("\ufdfa", [0], [1])
    assert not sums.excuses("x", [0], [1])
