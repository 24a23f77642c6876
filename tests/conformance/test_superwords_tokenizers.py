"""Tokenizers with superwords give the same ids and offsets in tokenizers, with both pre-tokenizers of SuperBPE."""

from __future__ import annotations

import json
import random
import warnings
from pathlib import Path

import pytest

import fastbpe

tokenizers = pytest.importorskip("tokenizers")

WORDS = [
    *("the", "of", "and", "in", "day", "end", "week:", "month,", "Ünïcode", "漢字", "12345", "1234567", "x1y22"),
    *("…", "--", "don't\u00a0a", "\t\t", "", "."),
]
# SuperBPE's published models cut numbers into threes from the right.
PUBLISHED = {
    "type": "Sequence",
    "pretokenizers": [
        {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}
        for pattern in (r"\p{N}+", r"(?=(\d{3})+(?!\d))")
    ]
    + [{"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": False}],
}


def text(rng: random.Random, n: int) -> str:
    return "".join(rng.choice(WORDS) + rng.choice([" ", " ", " ", "\n", "  "]) for _ in range(n))


@pytest.mark.parametrize("pre_tokenizer", [None, PUBLISHED], ids=["script", "published"])
@pytest.mark.parametrize("seed", range(6))
def test_ids_and_offsets_are_those_of_tokenizers(
    seed: int, pre_tokenizer: dict[str, object] | None, tmp_path: Path
) -> None:
    rng = random.Random(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fastbpe.TrainingWarning)
        made = fastbpe.train(
            [text(rng, 400)],
            vocab_size=rng.choice([400, 500]),
            pattern="superbpe_words",
            ties="huggingface",
            superwords=fastbpe.Superwords(0.8, documents=rng.choice(["lines", "whole"])),
        )
    path = tmp_path / "tokenizer.json"
    made.export(path)
    if pre_tokenizer is not None:
        path.write_text(json.dumps(json.loads(path.read_text()) | {"pre_tokenizer": pre_tokenizer}))
    peer, ours = tokenizers.Tokenizer.from_file(str(path)), fastbpe.load(path)
    assert ours._pipeline.phases is not None
    for _ in range(200):
        one = text(rng, rng.randint(0, 60))
        expected = peer.encode(one)
        ids, offsets = ours.encode_with_offsets(one)
        assert [*ids] == expected.ids, one
        assert [*offsets] == expected.offsets, one
        assert ours.decode(ids) == peer.decode(expected.ids), one
