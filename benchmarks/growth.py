"""Cost by size: time and memory per byte of text as texts, calls, vocabularies and special tokens grow.

Each point of a curve is measured in a process of its own, and written to the file of --json at once: a run that is
stopped resumes there. Texts are prefixes of one that grow.py makes, so that new words keep coming. The first
call counts, with the caches that it fills. Processor time is compared, since other work on the machine hardly
changes it.

A curve over texts may rise by 10 % from 10 MB on, in time and in memory; the verdict names those that rise more.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import fastbpe
import processes
import texts
from grow import grow
from memory import peak_above, reset_peak
from vocabularies import Vocabulary

SIZES = (1_000_000, 10_000_000, 100_000_000, 1_000_000_000)  # bytes of text
CALL_SIZES = (10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)  # bytes of text in a call
VOCABULARY_SIZES = (1_000, 10_000, 100_000, 1_000_000)
SPECIAL_TOKENS = (0, 10, 100, 1_000, 10_000, 100_000)
TEXT_BYTES = 10_000_000  # text of the curves over calls, vocabularies and special tokens
COUNTED_BYTES = 300_000_000  # text from which the vocabularies are trained
TRAINED_IDS = 32_000
FROM_BYTES, MAX_GROWTH = 10_000_000, 1.10  # the bar
WARM_BYTES = 2_000_000  # text that fills caches before the curves over calls and vocabularies
DOCUMENT_BYTES = 2_000

#: What a worker measures: a call without arguments, and the bytes of text that it reads.
Measured = tuple[Callable[[], object], int]


class Place(NamedTuple):
    """Material of a run.

    folder: holds the texts and vocabularies, made once.
    vocab: name or path of the vocabulary that encodes.
    pattern: its split pattern, if it is a .tiktoken file.
    """

    folder: Path
    vocab: str
    pattern: str

    def text(self, n_bytes: int) -> Path:
        """Return the path of a text of a size."""
        return self.folder / f"text-{n_bytes}.txt"

    def read(self, n_bytes: int) -> str:
        """Read a text of a size."""
        return self.text(n_bytes).read_bytes().decode()

    def tokenizer(self) -> fastbpe.Tokenizer:
        """Load the vocabulary."""
        return Vocabulary(self.vocab, self.pattern).load()

    def vocabulary(self, n_ids: int) -> Path:
        """Return the path of a trained vocabulary, trained at the first need."""
        path = self.folder / f"vocabulary-{n_ids}.fbpe"
        if not path.exists():
            counts = self.folder / "counts.fbpe-counts"
            if not counts.exists():
                most = max(n for n in (*SIZES, COUNTED_BYTES) if n <= COUNTED_BYTES and self.text(n).exists())
                fastbpe.count_pieces(self.text(most), pattern="cl100k", progress=False).save(counts)
            fastbpe.train(fastbpe.PieceCounts.load(counts), vocab_size=n_ids, progress=False).save(path)
        return path


def _encode(place: Place, size: int, threads: int) -> Measured:
    tokenizer, text = place.tokenizer(), place.read(size)
    return lambda: tokenizer.encode_to_numpy(text, disallowed_special=(), num_threads=threads), size


def _count(place: Place, size: int, threads: int) -> Measured:
    tokenizer, documents = place.tokenizer(), texts.cut(place.read(size), DOCUMENT_BYTES)
    return lambda: tokenizer.count_batch(documents, num_threads=threads), size


def _encode_files(place: Place, size: int, threads: int) -> Measured:
    tokenizer, out = place.tokenizer(), place.folder / "ids.bin"
    how = {"num_threads": threads, "overwrite": True, "progress": False}
    return lambda: tokenizer.encode_files(place.text(size), out, **how), size


def _count_pieces(place: Place, size: int, threads: int) -> Measured:
    return (
        lambda: fastbpe.count_pieces(place.text(size), pattern="cl100k", num_threads=threads, progress=False),
        size,
    )


def _training(mode: str) -> Callable[[Place, int, int], Measured]:
    def make(place: Place, size: int, threads: int) -> Measured:
        # One megabyte of text may have fewer pieces than TRAINED_IDS.
        lenient = {} if mode == "byte" else {"hard_vocab_limit": False}
        how: Any = {"mode": mode, **lenient, "vocab_size": TRAINED_IDS, "num_threads": threads, "progress": False}
        return lambda: fastbpe.train(place.text(size), **how), size

    return make


def _calls(place: Place, size: int, threads: int) -> Measured:
    tokenizer, text = place.tokenizer(), place.read(TEXT_BYTES)
    parts = texts.cut(text, size)
    tokenizer.encode_to_numpy(text[:WARM_BYTES], disallowed_special=(), num_threads=threads)

    def run() -> None:
        for part in parts:
            tokenizer.encode(part, num_threads=threads) if threads > 1 else tokenizer.encode(part)

    return run, TEXT_BYTES


def _vocabularies(place: Place, n_ids: int, threads: int) -> Measured:
    tokenizer, text = fastbpe.load(place.vocabulary(n_ids)), place.read(TEXT_BYTES)
    return lambda: tokenizer.encode_to_numpy(text, num_threads=threads), TEXT_BYTES


def _special_tokens(place: Place, n_tokens: int, threads: int) -> Measured:
    names = [f"<|special {number}|>" for number in range(n_tokens)]
    tokenizer, text = place.tokenizer(), place.read(TEXT_BYTES)
    if names:
        tokenizer = tokenizer.with_special_tokens(names)
    return lambda: tokenizer.encode_to_numpy(text, allowed_special="all", num_threads=threads), TEXT_BYTES


class Curve(NamedTuple):
    """A curve: a measured call, and the quantity that grows from point to point.

    over: that quantity; only curves over "bytes of text" have a bar.
    xs: its points.
    threads: numbers of threads.
    make: makes the call of a point.
    """

    over: str
    xs: Sequence[int]
    threads: Sequence[int]
    make: Callable[[Place, int, int], Measured]


CURVES: Mapping[str, Curve] = {
    "encode one str → numpy": Curve("bytes of text", SIZES, (1, 2), _encode),
    "count 2 KB documents": Curve("bytes of text", SIZES, (1, 2), _count),
    ".txt → .bin": Curve("bytes of text", SIZES, (1, 2), _encode_files),
    "count pieces of a file": Curve("bytes of text", SIZES, (1, 2), _count_pieces),
    "train bytes": Curve("bytes of text", SIZES, (1, 2), _training("byte")),
    "train code points": Curve("bytes of text", SIZES, (1, 2), _training("codepoint")),
    "train unigram": Curve("bytes of text", SIZES, (1, 2), _training("unigram")),
    "encode in calls": Curve("bytes in a call", CALL_SIZES, (1,), _calls),
    "encode with a vocabulary": Curve("ids", VOCABULARY_SIZES, (1,), _vocabularies),
    "encode with special tokens": Curve("special tokens", SPECIAL_TOKENS, (1,), _special_tokens),
}


class Point(NamedTuple):
    """A measured point: (curve, x, threads) and its figures; figures has "note" if it failed."""

    curve: str
    x: int
    threads: int
    n_bytes: int
    seconds: list[float]
    processor_seconds: list[float]
    peak_bytes: list[int]

    def cost(self) -> float:
        """Return the nanoseconds of processor time per byte."""
        return statistics.median(self.processor_seconds) / self.n_bytes * 1e9

    def memory(self) -> float:
        """Return the bytes of peak memory per byte of text; 0 where it is not known."""
        return statistics.median(self.peak_bytes) / self.n_bytes if self.peak_bytes else 0.0


def compare_growth(
    place: Place, source: str, most_bytes: int, rounds: int, minutes: float, known: Sequence[Mapping[str, Any]]
) -> Iterator[list[dict[str, Any]]]:
    """Measure all points that are not known, smallest first, and yield all rows after each.

    Args:
        place: material of the run; its folder is filled.
        source: corpus that is grown.
        most_bytes: largest text.
        rounds: runs of each point up to 100 MB; one for larger ones.
        minutes: no point begins later than this.
        known: rows of an earlier run; those that failed are measured again.
    """
    rows = {(row["curve"], row["x"], row["threads"]): dict(row) for row in known if "note" not in row}
    started = time.monotonic()
    _make_texts(place, source, most_bytes)
    wanted = [
        (x, name, threads)
        for name, curve in CURVES.items()
        for x in curve.xs
        for threads in curve.threads
        if curve.over != "bytes of text" or x <= most_bytes
    ]
    for x, name, threads in sorted(
        wanted, key=lambda one: one[0] if CURVES[one[1]].over == "bytes of text" else 0
    ):
        if (name, x, threads) in rows:
            continue
        if time.monotonic() - started > 60 * minutes:
            print(f"{minutes:g} minutes are over: run the command again to measure the rest", file=sys.stderr)
            break
        row: dict[str, Any] = {"curve": name, "over": CURVES[name].over, "x": x, "threads": threads, "n_bytes": 0}
        row |= {"seconds": [], "processor_seconds": [], "peak_bytes": []}
        for _ in range(rounds if x <= SIZES[2] else 1):
            found = processes.run(_worker(place, name, x, threads))
            if "note" in found:
                row["note"] = found["note"]
                break
            row["n_bytes"] = found["n_bytes"]
            for key in ("seconds", "processor_seconds"):
                row[key].append(found[key])
            row["peak_bytes"] += [] if found["peak_bytes"] is None else [found["peak_bytes"]]
        print(_shown(row), file=sys.stderr)
        rows[name, x, threads] = row
        yield [*rows.values()]
    yield [*rows.values()]


def _worker(place: Place, name: str, x: int, threads: int) -> list[str]:
    arguments = [str(place.folder), name, str(x), "--vocab", place.vocab, "--pattern", place.pattern]
    return ["growth-worker", *arguments, "--threads", str(threads)]


def work(place: Place, name: str, x: int, threads: int) -> None:
    """Run in a worker process: measure a point once, print one line of JSON."""
    call, n_bytes = CURVES[name].make(place, x, threads)
    resident = reset_peak()
    busy, started = time.process_time(), time.perf_counter()
    call()
    seconds, busy = time.perf_counter() - started, time.process_time() - busy
    found = {"seconds": seconds, "processor_seconds": busy, "peak_bytes": peak_above(resident), "n_bytes": n_bytes}
    print(json.dumps(found))


def _make_texts(place: Place, source: str, most_bytes: int) -> None:
    """Grow the largest text, and cut the smaller ones from its beginning."""
    place.folder.mkdir(parents=True, exist_ok=True)
    most_bytes = max(most_bytes, TEXT_BYTES)  # the curves over calls, ids and special tokens read it
    missing = [n for n in (*SIZES, COUNTED_BYTES) if n <= most_bytes and not place.text(n).exists()]
    files = [(n, place.text(n).with_suffix(".part").open("wb")) for n in missing]
    n_done = 0
    for part in grow(texts.read(source, texts.ALL), max(missing), seed=0) if missing else ():
        for n, file in files:
            if n_done < n:
                whole = part if n_done + len(part) <= n else part[: n - n_done].decode(errors="ignore").encode()
                file.write(whole)
        n_done += len(part)
    for n, file in files:
        file.close()
        place.text(n).with_suffix(".part").replace(place.text(n))


def points(rows: Sequence[Mapping[str, Any]]) -> list[Point]:
    """Return the points of a record that were measured."""
    return [Point(**{key: row[key] for key in Point._fields}) for row in rows if "note" not in row]


def print_growth(rows: Sequence[Mapping[str, Any]]) -> bool:
    """Print a table of each curve and the verdict; tell whether every curve over texts keeps the bar."""
    print(
        "\n| curve | threads | over | processor time, ns per byte | peak, bytes per byte |\n|---|---:|---|---|---|"
    )
    risen = []
    found = points(rows)
    for name, curve in CURVES.items():
        for threads in curve.threads:
            line = sorted(point for point in found if (point.curve, point.threads) == (name, threads))
            if not line:
                continue
            times = " · ".join(f"{point.x:,}: {point.cost():.2f}" for point in line)
            memory = " · ".join(f"{point.memory():.2f}" for point in line)
            print(f"| {name} | {threads} | {curve.over} | {times} | {memory} |")
            if curve.over == "bytes of text":
                risen += _risen(line)
    for row in rows:
        if "note" in row:
            print(f"left out: {row['curve']}, {row['x']:,}, {row['threads']} threads: {row['note']}")
    print("\n" + ("\n".join(risen) or "no curve over texts rises by more than 10 % from 10 MB on"))
    return not risen


def _risen(line: Sequence[Point]) -> list[str]:
    """Say which points cost more per byte than the bar allows, compared with the best of the smaller ones."""
    barred = [point for point in line if point.x >= FROM_BYTES]
    said = []
    for number, point in enumerate(barred[1:], 1):
        smaller = barred[:number]
        for what, cost, best in (
            ("time", point.cost(), min(one.cost() for one in smaller)),
            ("memory", point.memory(), min(one.memory() for one in smaller)),
        ):
            if best and cost > MAX_GROWTH * best:
                where = f"{point.curve}, {point.threads} threads: at {point.x:,}"
                said.append(f"{where} {cost / best:.2f} × the {what} per byte")
    return said


def _shown(row: Mapping[str, Any]) -> str:
    seconds = ", ".join(f"{second:.2f}" for second in row["processor_seconds"])
    return f"{row['curve']}, {row['x']:,}, {row['threads']} threads: {row.get('note') or seconds + ' s'}"
