"""Text and tokenizers shared by the benchmarks: a few megabytes of the standard library's sources."""

from __future__ import annotations

import sysconfig
from pathlib import Path

import pytest

import fastbpe

N_CHARACTERS = 2_000_000


@pytest.fixture(scope="session")
def text() -> str:
    parts, size = [], 0
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        part = path.read_text(encoding="utf-8", errors="ignore")
        parts.append(part)
        size += len(part)
        if size > N_CHARACTERS:
            break
    return "".join(parts)[:N_CHARACTERS]


@pytest.fixture(scope="session")
def tokenizer(text: str) -> fastbpe.Tokenizer:
    return fastbpe.train([text], vocab_size=8192, progress=False)


@pytest.fixture(scope="session")
def unsplit(tokenizer: fastbpe.Tokenizer) -> fastbpe.Tokenizer:
    """The same vocabulary without a split pattern, to measure merging alone."""
    ranks = {token: rank for rank, token in enumerate(tokenizer.vocab)}
    return fastbpe.Tokenizer.from_ranks(ranks, pattern=None)
