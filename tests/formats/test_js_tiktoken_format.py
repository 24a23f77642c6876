"""Ranks of tiktoken as JSON, for its ports to JavaScript."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, Tokenizer
from helpers.shared_data import BYTES, published, ranks_of

RANKS = {**BYTES, b"ab": 256, b"abc": 257, b"\xff\xfe\x00": 300, " 日".encode(): 301}
PATTERN = r" ?\p{L}+|\s+|[^\s\p{L}]+"
SPECIAL = {"<s>": 400, "<|end|>": 258}


def rows(ranks: dict[bytes, int]) -> str:
    """Write ranks as js-tiktoken does: a row for each stretch of ranks without gaps."""
    text, last = "", -2
    for token, rank in sorted(ranks.items(), key=lambda item: item[1]):
        text += ("" if rank == last + 1 else f"\n! {rank}") + " " + base64.b64encode(token).decode()
        last = rank
    return text.lstrip("\n")


def content(**changes: Any) -> bytes:
    file = {"explicit_n_vocab": 401, "pat_str": PATTERN, "special_tokens": SPECIAL, "bpe_ranks": rows(RANKS)}
    return json.dumps({**file, **changes}).encode()


def test_file_has_ranks_pattern_and_special_tokens(tmp_path: Path) -> None:
    (tmp_path / "my.json").write_bytes(content())
    loaded = fastbpe.load(tmp_path / "my.json")
    assert loaded == Tokenizer.from_ranks(RANKS, pattern=PATTERN, special_tokens=SPECIAL)
    assert ranks_of(loaded) == RANKS
    assert fastbpe.load(content(bpe_ranks=rows(RANKS) + "\n")) == loaded
    assert fastbpe.load(content(), special_tokens={"<x>": 500}).special_tokens == {"<x>": 500}
    with pytest.raises(FormatError, match="contains its own split pattern"):
        fastbpe.load(content(), pattern="gpt2")


def test_published_vocabulary_is_recognised_by_its_ranks() -> None:
    expected = published("r50k_base")
    loaded = fastbpe.load(
        content(
            pat_str=expected.pattern, special_tokens=expected.special_tokens, bpe_ranks=rows(ranks_of(expected))
        )
    )
    assert loaded.encode("Hello, wörld <|endoftext|>", allowed_special="all") == expected.encode(
        "Hello, wörld <|endoftext|>", allowed_special="all"
    )
    assert loaded.special_tokens == expected.special_tokens


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"pat_str": None}, r"expected pat_str \(a regex\), special_tokens \(an object\) and bpe_ranks"),
        ({"special_tokens": ["<s>"]}, "expected pat_str"),
        ({"special_tokens": {"<s>": "400"}}, "special_tokens: '<s>' has the id '400', which is not an integer"),
        ({"special_tokens": {"<s>": True}}, "'<s>' has the id True"),
        ({"special_tokens": {"<s>": -1}}, "'<s>' has the id -1"),
        (
            {"bpe_ranks": "! 0 IQ==\n? 1 Ig=="},
            r"bpe_ranks: row 2: expected '! RANK TOKEN \.\.\.', found '\? 1 Ig=='",
        ),
        ({"bpe_ranks": "! 0 IQ== IQ=="}, "bpe_ranks, one token per line:2: token b'!' is already on line 1"),
        ({"bpe_ranks": "! 0 IQ"}, "base64"),
        ({"bpe_ranks": "! 0 IQ==  Ig=="}, "bpe_ranks, one token per line:2:"),
        ({"bpe_ranks": "! 999999999 IQ=="}, "bpe_ranks, one token per line:1:"),
        ({"bpe_ranks": ""}, "contains no tokens"),
    ],
)
def test_damaged_file_raises_format_error(changes: dict[str, Any], told: str) -> None:
    with pytest.raises(FormatError, match=f"<bytes>: .*{told}" if "<bytes>" not in told else told):
        fastbpe.load(content(**changes))


def test_truncated_file_raises_format_error() -> None:
    data = content()
    for n in (len(data) - 1, len(data) // 2, len(data) // 2 + 1):
        with pytest.raises(FormatError):
            fastbpe.load(data[:n])
