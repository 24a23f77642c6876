"""Speed on 1, 2, 4 … threads, and what bounds it; latency of calls from several Python threads.

A row runs with each number of threads, in rounds that take turns. The table has its speeds and its serial share:
the part of the work on one thread that more threads do not shorten, by Amdahl's law. Two rows without a tokenizer
show the bounds: copying memory with as many threads, and making the lists of ids, which needs the GIL. On a
free-threaded Python, PYTHON_GIL=0 and PYTHON_GIL=1 compare the calls of Python threads without and with the GIL.
"""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy

import fastbpe
import peers
from rounds import first_difference, timed, turned
from texts import cut, fresh
from workloads import DOCUMENT_BYTES

TAIL_THREADS = (1, 4, 16)
PERCENTILES = (50, 99, 99.9)
CALLS_PER_ROUND = 4_000  # latencies of each peer, shared among its threads
COPY_BYTES = 256_000_000

Run = Callable[[int], Any]  # number of threads → result


def thread_counts(most: int) -> list[int]:
    """Return 1, 2, 4 … and the greatest number.

    >>> thread_counts(12)
    [1, 2, 4, 8, 12]
    """
    counts = [1]
    while counts[-1] * 2 <= most:
        counts.append(counts[-1] * 2)
    return counts if counts[-1] == most else [*counts, most]


def serial_share(speeds: dict[int, float]) -> float | None:
    """Return the share of the work on one thread that more threads do not shorten; None if only one is measured.

    >>> serial_share({1: 100.0, 4: 400.0}), serial_share({1: 100.0, 2: 100.0})
    (0.0, 1.0)
    """
    most = max(speeds)
    if most == 1:
        return None
    gain = speeds[most] / speeds[1]
    return max(0.0, (most / gain - 1) / (most - 1))


def compare_cores(tokenizer: fastbpe.Tokenizer, text: str, most: int, rounds: int) -> list[dict[str, Any]]:
    """Measure each row with each number of threads; print a table, and return the rows.

    Args:
        tokenizer: vocabulary to encode with.
        text: text to encode and to count for training.
        most: greatest number of threads.
        rounds: timed calls of each row and number.
    """
    documents, n_bytes = cut(text, DOCUMENT_BYTES), len(text.encode())
    block = numpy.zeros(COPY_BYTES // 8)
    lists = tokenizer.encode_ordinary_batch(documents)
    arrays = [numpy.asarray(ids, dtype=numpy.uint32) for ids in lists]
    with tempfile.TemporaryDirectory(prefix="fastbpe-bench-") as folder:
        source, out = Path(folder, "text.txt"), Path(folder, "ids.bin")
        source.write_text(text, encoding="utf-8", newline="")
        measured: list[tuple[str, int, Run]] = [
            (
                "2 KB documents → flat numpy",
                n_bytes,
                lambda n: tokenizer.encode_batch_to_numpy(documents, num_threads=n),
            ),
            (
                "2 KB documents → lists",
                n_bytes,
                lambda n: tokenizer.encode_ordinary_batch(documents, num_threads=n),
            ),
            (
                "2 KB strs → lists, a call each, by Python threads",
                n_bytes,
                lambda n: _in_parts(
                    lambda start, end: [tokenizer.encode_ordinary(one) for one in documents[start:end]],
                    len(documents),
                    n,
                ),
            ),
            ("count 2 KB documents", n_bytes, lambda n: tokenizer.count_batch(documents, num_threads=n)),
            (
                "one long str → numpy",
                n_bytes,
                lambda n: tokenizer.encode_to_numpy(text, disallowed_special=(), num_threads=n),
            ),
            (
                ".txt → .bin",
                n_bytes,
                lambda n: tokenizer.encode_files(source, out, num_threads=n, progress=False, overwrite=True),
            ),
            (
                "count pieces for training",
                n_bytes,
                lambda n: fastbpe.count_pieces(source, pattern="cl100k", num_threads=n, progress=False),
            ),
            ("bound: copy of memory", COPY_BYTES, lambda n: _copy(block, n)),
            ("bound: lists of ids from arrays", n_bytes, lambda n: [ids.tolist() for ids in arrays]),
        ]
        results = [_scaled(title, size, run, thread_counts(most), rounds) for title, size, run in measured]
    _print_cores(results, thread_counts(most))
    return results


def _scaled(title: str, n_bytes: int, run: Run, counts: Sequence[int], rounds: int) -> dict[str, Any]:
    """Time a row with each number of threads, after one call with each that fills the caches."""
    seconds: dict[int, list[float]] = {n: [] for n in counts}
    cores: dict[int, list[float]] = {n: [] for n in counts}
    for n in counts:
        run(n)
    for number in range(rounds):
        for n in turned(counts, number):
            elapsed, used = timed(partial(run, n))
            seconds[n].append(elapsed)
            cores[n].append(used)
    speeds = {n: n_bytes / statistics.median(times) / 1e6 for n, times in seconds.items()}
    return {
        "row": title,
        "mb_per_s": speeds,
        "seconds": seconds,
        "cores": {n: statistics.median(found) for n, found in cores.items()},
        "serial_share": serial_share(speeds),
    }


def _copy(block: Any, n: int) -> None:
    """Copy a block of memory, a part by each of n threads."""
    made = numpy.empty_like(block)

    def part(start: int, end: int) -> None:
        made[start:end] = block[start:end]

    _in_parts(part, len(block), n)


def _in_parts(work: Callable[[int, int], Any], size: int, n: int) -> None:
    """Call `work` with the start and end of n parts of range(size), each in a thread of its own."""
    step = -(-size // n)
    threads = [
        threading.Thread(target=work, args=(start, min(size, start + step))) for start in range(0, size, step)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def _print_cores(results: Sequence[dict[str, Any]], counts: Sequence[int]) -> None:
    heads = " | ".join(f"{n} thread{'s' * (n > 1)}" for n in counts)
    print(f"\nMB/s by threads, and × one thread\n\n| row | {heads} | serial share |")
    print(f"|---|{'---:|' * (len(counts) + 1)}")
    for result in results:
        speeds, share = result["mb_per_s"], result["serial_share"]
        cells = " | ".join(f"{speeds[n]:,.0f} ({speeds[n] / speeds[1]:.2f}×)" for n in counts)
        print(f"| {result['row']} | {cells} | {'–' if share is None else f'{100 * share:.1f} %'} |")


def compare_tails(loaded: dict[str, peers.Peer], text: str, rounds: int) -> list[dict[str, Any]]:
    """Measure latencies of calls that encode 2 KB, from 1, 4 and 16 threads; print a table, and return the rows.

    Args:
        loaded: adapters by name.
        text: text whose documents are encoded.
        rounds: rounds of CALLS_PER_ROUND calls of each peer.
    """
    documents = cut(text, DOCUMENT_BYTES)
    expected = [next(iter(loaded.values())).short_encoder()(document) for document in documents[:50]]
    results = []
    for n_threads in TAIL_THREADS:
        row: dict[str, Any] = {"row": f"2 KB calls from {n_threads} threads", "results": {}, "notes": {}}
        encoders = {}
        for name, peer in loaded.items():
            try:
                encode = peer.short_encoder()
                difference = first_difference([encode(document) for document in documents[:50]], expected)
            except peers.Unsupported as reason:
                row["notes"][name] = str(reason)
            else:
                if difference is None:
                    encoders[name] = encode
                else:
                    row["notes"][name] = f"ids differ: {difference}"
        latencies: dict[str, list[float]] = {name: [] for name in encoders}
        for number in range(rounds):
            for name in turned([*encoders], number):
                latencies[name] += _latencies(encoders[name], documents, n_threads)
        for name, found in latencies.items():
            microseconds = numpy.percentile(numpy.asarray(found) * 1e6, PERCENTILES).tolist()
            row["results"][name] = {
                f"p{p:g}_us": value for p, value in zip(PERCENTILES, microseconds, strict=True)
            }
        results.append(row)
    _print_tails(results)
    return results


def _latencies(encode: Callable[[str], Any], documents: Sequence[str], n_threads: int) -> list[float]:
    """Return the seconds of each of CALLS_PER_ROUND calls, shared among threads that start together."""
    together = threading.Barrier(n_threads)
    found: list[float] = []

    def work(number: int) -> None:
        # 7919 is a prime: each thread begins at another document.
        mine = [
            fresh(documents[(number * 7919 + i) % len(documents)]) for i in range(CALLS_PER_ROUND // n_threads)
        ]
        times = []
        together.wait()
        for document in mine:
            started = time.perf_counter()
            encode(document)
            times.append(time.perf_counter() - started)
        found.extend(times)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(n_threads)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def _print_tails(results: Sequence[dict[str, Any]]) -> None:
    heads = " | ".join(f"p{p:g}, µs" for p in PERCENTILES)
    for row in results:
        print(f"\n{row['row']}\n\n| library | {heads} |\n|---|{'---:|' * len(PERCENTILES)}")
        for name, one in sorted(row["results"].items(), key=lambda item: item[1]["p50_us"]):
            print(f"| {name} | " + " | ".join(f"{one[f'p{p:g}_us']:,.1f}" for p in PERCENTILES) + " |")
        for name, note in row["notes"].items():
            print(f"left out: {name}: {note}")
