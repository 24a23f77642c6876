"""Work with tokens, each method compared with the plain encode of the same text: `compare.py tokens`.

Surgery on vocabularies follows (surgery.py). One thread. Each round times a method right before its plain encode,
so that a slow moment affects both. The ratio is the time of the plain encode divided by the time of the method,
from the medians.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import fastbpe
from surgery import surgery_rows
from texts import cut
from vocabularies import Vocabulary

DOCUMENT_BYTES = 2000
PUSH_CHARACTERS = 1 << 14  # text of one push of a stream
MESSAGE_CHARACTERS = 100
HISTORY_CHARACTERS = 900_000  # about 200,000 tokens of English
N_APPENDS = 500
APPEND_BAR = 50e-6  # seconds at most for an append to the history


@dataclass(frozen=True)
class Row:
    """A method, the plain encode that it is compared with, the least ratio, and a check of its result."""

    title: str
    method: Callable[[], Any]
    plain: Callable[[], Any]
    bar: float
    is_right: Callable[[Any], bool]


def compare_token_work(vocabulary: Vocabulary, text: str, rounds: int) -> list[dict[str, Any]]:
    """Check and time every row, print a table, and return the rows.

    Args:
        vocabulary: the vocabulary.
        text: text to encode.
        rounds: number of timed calls of each method.
    """
    tokenizer = vocabulary.load()
    print(f"{len(text.encode()):,} bytes, {rounds} rounds, one thread")
    print("\n| method | ms, median | plain encode, ms | ratio | bar |")
    print("|---|---:|---:|---:|---:|")
    rows = [_measured(row, rounds) for row in _rows(tokenizer, text)]
    rows.append(_append_row(tokenizer, text))
    rows += surgery_rows(text, vocabulary, rounds)
    missed = [row["row"] for row in rows if not row["met"]]
    print(f"bars: {'missed by ' + '; '.join(missed) if missed else 'met'}")
    return rows


def _rows(tokenizer: fastbpe.Tokenizer, text: str) -> list[Row]:
    documents = cut(text, DOCUMENT_BYTES)
    ids = tokenizer.encode_ordinary(text, num_threads=1)
    n_most = len(ids) // 2

    def to_numpy() -> Any:
        return tokenizer.encode_to_numpy(text, disallowed_special=(), num_threads=1)

    def to_list() -> Any:
        return tokenizer.encode(text, disallowed_special=(), num_threads=1)

    def batch_to_numpy() -> Any:
        return tokenizer.encode_batch_to_numpy(documents, disallowed_special=(), num_threads=1)

    def one_by_one() -> Any:
        return [tokenizer.encode_to_numpy(one, disallowed_special=(), num_threads=1) for one in documents]

    pushes = [text[at : at + PUSH_CHARACTERS] for at in range(0, len(text), PUSH_CHARACTERS)]

    def stream() -> list[int]:
        encoder = tokenizer.encoder(disallowed_special=())
        out: list[int] = []
        for one in pushes:
            out += encoder.push(one)
        out += encoder.finish()
        return out

    def is_cut(parts: list[str]) -> bool:
        return parts == [tokenizer.truncate(one, 256) for one in documents]

    return [
        Row("count, one text", lambda: tokenizer.count(text, num_threads=1), to_numpy, 1.2, len(ids).__eq__),
        Row(
            "count_batch, 2 KB documents",
            lambda: tokenizer.count_batch(documents, num_threads=1),
            batch_to_numpy,
            1.2,
            lambda counts: [*counts] == [tokenizer.count(one) for one in documents],
        ),
        Row(
            "truncate to half, one text",
            lambda: tokenizer.truncate(text, n_most),
            to_numpy,
            1.2,
            lambda part: text.startswith(part) and tokenizer.fits(part, n_most) and len(part) > len(text) // 4,
        ),
        Row(
            "truncate_batch to 256 ids, 2 KB documents",
            lambda: tokenizer.truncate_batch(documents, 256),
            one_by_one,
            1.2,
            is_cut,
        ),
        Row(
            "encode_with_offsets, lists of tuples",
            lambda: tokenizer.encode_with_offsets(text, disallowed_special=()),
            to_list,
            0,  # most of the time goes into making the tuples
            lambda found: found[0] == ids,
        ),
        Row(
            "encode_with_offsets, numpy",
            lambda: tokenizer.encode_with_offsets(text, disallowed_special=(), as_numpy=True),
            to_numpy,
            0.5,
            lambda found: found[0].tolist() == ids,
        ),
        Row("encoder, pushes of 16,384 characters", stream, to_list, 0.7, ids.__eq__),
    ]


def _measured(row: Row, rounds: int) -> dict[str, Any]:
    if not row.is_right(row.method()):
        raise SystemExit(f"{row.title}: the result is wrong")
    times: list[tuple[float, float]] = [(_seconds(row.method), _seconds(row.plain)) for _ in range(rounds)]
    method, plain = (statistics.median(side) for side in zip(*times, strict=True))
    ratio = plain / method
    print(f"| {row.title} | {1e3 * method:.2f} | {1e3 * plain:.2f} | {ratio:.2f} | {row.bar:g} |")
    return {"row": row.title, "bar": row.bar, "ratio": ratio, "met": ratio >= row.bar, "seconds": times}


def _append_row(tokenizer: fastbpe.Tokenizer, text: str) -> dict[str, Any]:
    """Time messages that are appended to a long history, one by one."""
    n = len(text)
    history = (text * (HISTORY_CHARACTERS // n + 1))[:HISTORY_CHARACTERS]
    conversation = tokenizer.conversation(disallowed_special=())
    conversation.append(history)
    n_history = conversation.n_tokens
    messages = [text[at : at + MESSAGE_CHARACTERS] for at in range(0, n, MESSAGE_CHARACTERS)][:N_APPENDS]
    times = [_seconds(lambda one=message: conversation.append(one)) for message in messages]
    if conversation.ids != tokenizer.encode_ordinary(conversation.text):
        raise SystemExit("conversation: the ids are wrong")
    median = statistics.median(times)
    title = f"conversation.append, 100 characters behind {n_history:,} ids"
    print(f"| {title} | {1e3 * median:.4f} | – | – | {1e3 * APPEND_BAR:g} ms |")
    return {"row": title, "bar": APPEND_BAR, "met": median <= APPEND_BAR, "seconds": times}


def _seconds(call: Callable[[], Any]) -> float:
    """Return the seconds of one call. Its result is dropped outside the clock."""
    gc.disable()
    try:
        started = time.perf_counter()
        result = call()
        seconds = time.perf_counter() - started
    finally:
        gc.enable()
    del result
    return seconds
