"""Reading added tokens in batches gives the same result as reading them one by one."""

from __future__ import annotations

import random
import warnings
from collections.abc import Mapping
from typing import Any

import pytest

from fastbpe import FormatError
from fastbpe.formats.huggingface import byte_vocabulary
from fastbpe.formats.huggingface.step_parts import Part
from fastbpe.model import AddedToken
from helpers.tokenizer_json import added

VOCABULARY = {"a": 0, "b": 1, "ab": 2, "<s>": 3}


def values_of(rng: random.Random) -> list[Any]:
    """Return added tokens as files have them; some lists have an unusual or wrong token."""
    values: list[Any] = []
    following = len(VOCABULARY)
    for _ in range(rng.randint(0, 30)):
        content = rng.choice([*VOCABULARY, "x", "", "é", "\u2581"]) if rng.random() < 0.1 else f"<{following}>"
        values.append(added(VOCABULARY.get(content, following), content, special=rng.random() < 0.5))
        following += content not in VOCABULARY
    if values and rng.random() < 0.5:
        wrong: list[Any] = [
            None, 5, [], {}, {**added(3, "y"), "id": True}, {**added(3, "y"), "id": None}, added(99, "y"),
            added(following, "\ud800"), {**added(following, "y"), "lstrip": 1}, {"id": following, "content": "y"},
            {**added(following, "y"), "special": None}, {**added(0, "y"), "content": 7},
        ]  # fmt: skip
        values[rng.randrange(len(values))] = rng.choice(wrong)
    return values


def outcome(values: list[Any]) -> tuple[list[AddedToken] | str, list[str]]:
    """Return the tokens or the refusal, and the warnings."""
    found: list[AddedToken] | str
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            found = byte_vocabulary.read_added_tokens(Part({"added_tokens": values}, "file", ""), VOCABULARY)
        except FormatError as error:
            found = str(error)
    return found, [str(warning.message) for warning in told]


@pytest.mark.daily
def test_added_tokens_in_batches_equal_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(7)
    documents = [values_of(rng) for _ in range(3000)]
    found = []
    for batch in (1, 3, 4096):
        monkeypatch.setattr(byte_vocabulary, "_BATCH", batch)
        found.append([outcome(values) for values in documents])

    def none_at_once(*_: Any) -> None:
        return None

    monkeypatch.setattr(byte_vocabulary, "_take_all", none_at_once)
    one_by_one = [outcome(values) for values in documents]
    assert found == [one_by_one] * 3
    n_refused = sum(isinstance(found, str) for found, _ in one_by_one)
    n_warned = sum(bool(told) for _, told in one_by_one)
    assert 500 < n_refused < 2500
    assert n_warned > 200


@pytest.mark.parametrize("odd", [True, 1.0, "1", None, [], {}, -1, 1 << 22])
def test_invalid_id_in_a_vocabulary_raises_format_error(odd: Any) -> None:
    ids: Mapping[str, Any] = {"a": 0, "b": odd}
    with pytest.raises(FormatError, match="has the id"):
        byte_vocabulary.check_vocabulary(Part({"vocab": ids}, "file", "model"))
