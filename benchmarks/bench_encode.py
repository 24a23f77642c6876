"""Encoding and decoding, part by part: `pytest benchmarks/bench_encode.py`."""

from __future__ import annotations

from typing import Any

import fastbpe

TEXT_BYTES_OF_A_CALL = 100


def bench_split(benchmark: Any, tokenizer: fastbpe.Tokenizer, text: str) -> None:
    benchmark(tokenizer._splitter.ends, text)


def bench_encode_one_text(benchmark: Any, tokenizer: fastbpe.Tokenizer, text: str) -> None:
    benchmark(tokenizer.encode_ordinary, text)


def bench_encode_one_text_to_numpy(benchmark: Any, tokenizer: fastbpe.Tokenizer, text: str) -> None:
    benchmark(tokenizer.encode_to_numpy, text)


def bench_count_one_text(benchmark: Any, tokenizer: fastbpe.Tokenizer, text: str) -> None:
    benchmark(tokenizer.count, text)


def bench_encode_batch_of_documents(benchmark: Any, tokenizer: fastbpe.Tokenizer, text: str) -> None:
    documents = [text[at : at + 2000] for at in range(0, len(text), 2000)]
    benchmark(tokenizer.encode_ordinary_batch, documents)


def bench_encode_short_string(benchmark: Any, tokenizer: fastbpe.Tokenizer, text: str) -> None:
    short = text[5000 : 5000 + TEXT_BYTES_OF_A_CALL]
    benchmark(tokenizer.encode, short)


def bench_merge_one_long_piece(benchmark: Any, unsplit: fastbpe.Tokenizer, text: str) -> None:
    benchmark(unsplit.encode_ordinary, text[:500_000])


def bench_merge_a_run_of_one_letter(benchmark: Any, unsplit: fastbpe.Tokenizer) -> None:
    benchmark(unsplit.encode_ordinary, "a" * 500_000)


def bench_decode(benchmark: Any, tokenizer: fastbpe.Tokenizer, text: str) -> None:
    benchmark(tokenizer.decode, tokenizer.encode_ordinary(text))
