"""Boundaries of lines, sentences and words against the slow twin."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastbpe.tokenizer.cutting.boundaries import KINDS, Boundaries, line_start, pattern_of
from helpers.sampling import n_rounds
from reference.boundaries import boundaries

CHARACTERS = "ab Z1.,!?…।'\"”“‘(«「」、。！ 中文カー゙・\u0301\n\r\u2028\x85\t\u3000👍-—;)\ud83d"
lively = st.text(st.sampled_from(CHARACTERS), max_size=40)


def found(text: str, kind: str) -> list[int]:
    return [match.end() for match in pattern_of(kind).finditer(text) if match.end() < len(text)]


@given(text=lively, kind=st.sampled_from(KINDS))
@settings(max_examples=n_rounds(500, 1500))
def test_boundaries_equal_the_slow_twin(text: str, kind: str) -> None:
    assert found(text, kind) == boundaries(text, kind)


@given(text=lively)
@settings(max_examples=n_rounds(100, 300))
def test_a_line_ends_a_sentence_and_a_word(text: str) -> None:
    line, sentence, word = (set(boundaries(text, kind)) for kind in KINDS)
    assert line <= sentence
    assert line <= word


@given(
    text=st.builds(lambda text, n: text * n, lively, st.integers(1, 20)),
    kind=st.sampled_from(KINDS),
    data=st.data(),
)
@settings(max_examples=n_rounds(100, 300))
def test_first_and_last_boundaries_equal_the_list(text: str, kind: str, data: st.DataObject) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("fastbpe.tokenizer.cutting.boundaries._BLOCK", data.draw(st.integers(1, 40)))
        begin = line_start(text, data.draw(st.integers(0, len(text))))
        assert begin == 0 or begin in boundaries(text + "x", "line")
        all_of_them = [at for at in boundaries(text, kind) if at > begin]
        searched = Boundaries(text, kind, begin)
        for _ in range(4):
            low = data.draw(st.integers(begin, len(text)))
            high = data.draw(st.integers(low, len(text)))
            inside = [at for at in all_of_them if low < at <= high and at < len(text)]
            got = searched.last(low, high)
            assert got == (inside[-1] if inside else None) or got == len(text) == high
            from_low = [at for at in all_of_them if low <= at < high]
            assert searched.first(low, high) == (from_low[0] if from_low else None)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("run", [".", ".)", " ", "(", "。", "。.", ". \n", "「"])
@pytest.mark.parametrize("end", ["x", "\n"])
def test_long_runs_take_linear_time(run: str, end: str, kind: str) -> None:
    """Quadratic time would be minutes."""
    text = run * 100_000 + end
    assert len(found(text, kind)) in {0, 1, 99_999, 100_000}
