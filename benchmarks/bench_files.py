"""Benchmarks of loading and saving: `pytest benchmarks/bench_files.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fastbpe


def bench_load_native(benchmark: Any, tokenizer: fastbpe.Tokenizer, tmp_path: Path) -> None:
    tokenizer.save(tmp_path / "v.fbpe")
    benchmark(fastbpe.load, tmp_path / "v.fbpe")


def bench_load_tiktoken(benchmark: Any, tokenizer: fastbpe.Tokenizer, tmp_path: Path) -> None:
    tokenizer.export(tmp_path / "v.tiktoken", format="tiktoken")
    benchmark(fastbpe.load, tmp_path / "v.tiktoken", pattern="cl100k")
