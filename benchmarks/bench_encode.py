"""Benchmarks of encoding and decoding, part by part: `pytest benchmarks/bench_encode.py`."""

from __future__ import annotations

from typing import Any

import pytest

import fastbpe
from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.split.scanner import Scanner, paths
from fastbpe.splitting.recognise import recognise

SHORT_TEXT_CHARACTERS = 100


def bench_split(benchmark: Any, tokenizer: fastbpe.Tokenizer, text: str) -> None:
    benchmark(tokenizer._splitter.ends, text)


@pytest.mark.parametrize("path", paths())
@pytest.mark.parametrize("pattern", ["gpt2", "cl100k", "o200k"])
def bench_scan(benchmark: Any, text: str, pattern: str, path: str) -> None:
    """Count piece ends only. The text is ASCII: converting other text to UTF-8 would cost more than that."""
    spec = recognise(fastbpe.PATTERNS[pattern])
    benchmark(Scanner(**spec._asdict(), path=path).count, text.encode("ascii", "ignore").decode())


def bench_encode_one_text(benchmark: Any, tokenizer: fastbpe.Tokenizer, text: str) -> None:
    benchmark(tokenizer.encode_ordinary, text)


def bench_encode_one_text_to_numpy(benchmark: Any, tokenizer: fastbpe.Tokenizer, text: str) -> None:
    benchmark(tokenizer.encode_to_numpy, text)


def bench_lists_of_one_text(benchmark: Any, tokenizer: fastbpe.Tokenizer, text: str) -> None:
    """Use one thread. The time beyond bench_ids_of_one_text goes into the list."""
    benchmark(tokenizer.encode_ordinary, text, num_threads=1)


def bench_ids_of_one_text(benchmark: Any, tokenizer: fastbpe.Tokenizer, text: str) -> None:
    benchmark(tokenizer.encode_to_numpy, text, num_threads=1)


def bench_count_one_text(benchmark: Any, tokenizer: fastbpe.Tokenizer, text: str) -> None:
    benchmark(tokenizer.count, text)


def bench_encode_batch_of_documents(benchmark: Any, tokenizer: fastbpe.Tokenizer, text: str) -> None:
    documents = [text[at : at + 2000] for at in range(0, len(text), 2000)]
    benchmark(tokenizer.encode_ordinary_batch, documents)


def bench_encode_short_string(benchmark: Any, tokenizer: fastbpe.Tokenizer, text: str) -> None:
    short = text[5000 : 5000 + SHORT_TEXT_CHARACTERS]
    benchmark(tokenizer.encode, short)


def bench_merge_every_piece(benchmark: Any, tokenizer: fastbpe.Tokenizer, text: str) -> None:
    """Merge every piece: the cache is too small to hold any."""
    encoder = Encoder(tokenizer._vocabulary, tokenizer._splitter, cache_bytes=0)
    benchmark(encoder.count, text, num_threads=1)


def bench_merge_one_long_piece(benchmark: Any, unsplit: fastbpe.Tokenizer, text: str) -> None:
    benchmark(unsplit.encode_ordinary, text[:500_000])


def bench_merge_a_run_of_one_letter(benchmark: Any, unsplit: fastbpe.Tokenizer) -> None:
    benchmark(unsplit.encode_ordinary, "a" * 500_000)


def bench_decode(benchmark: Any, tokenizer: fastbpe.Tokenizer, text: str) -> None:
    benchmark(tokenizer.decode, tokenizer.encode_ordinary(text))


def bench_decode_array(benchmark: Any, tokenizer: fastbpe.Tokenizer, text: str) -> None:
    benchmark(tokenizer.decode, tokenizer.encode_to_numpy(text))


def bench_decode_batch_of_documents(benchmark: Any, tokenizer: fastbpe.Tokenizer, text: str) -> None:
    documents = [text[at : at + 2000] for at in range(0, len(text), 2000)]
    benchmark(tokenizer.decode_batch, tokenizer.encode_ordinary_batch(documents))
