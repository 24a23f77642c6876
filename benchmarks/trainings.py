"""Training, each run in a separate process; trainers with the same rule must learn the same tokens.

Texts are in memory, cut into documents, before the clock starts; trainers of code points read
their file within the measured time. Peak memory is the memory above that at the start (memory.py).
"""

from __future__ import annotations

import hashlib
import json
import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import processes
from memory import peak_above, reset_peak
from peers import Unsupported
from peers.trainers import CODE_POINTS, TRAINERS, documents_of
from report import print_notes, verdict
from rounds import turned

DOCUMENT_BYTES = 10_000
BAR, DREAM = 4, 8  # seconds of the best trainer of the same kind / seconds of fastbpe, at least
MEMORY_BAR_BYTES = 160_000_000  # maximum above the text


@dataclass
class Training:
    """Runs of one trainer."""

    seconds: list[float] = field(default_factory=list)
    peak_bytes: list[int] = field(default_factory=list)
    cores: list[float] = field(default_factory=list)
    phases: dict[str, list[float]] = field(
        default_factory=dict
    )  # seconds of each phase, for trainers that report them
    tokens: str = ""  # SHA-256 digest of the learned tokens
    n_learned: int = 0


def compare_training(
    names: Sequence[str], text: str, vocab_size: int, pattern: str | None, threads: int, rounds: int
) -> list[dict[str, Any]]:
    """Run every trainer, print the table, and return the row for JSON.

    Args:
        names: keys of TRAINERS.
        text: text to train on.
        vocab_size: number of tokens to learn.
        pattern: name of the split pattern, or None for code points; then all read the text from its file, which
            is fastest for sentencepiece.
        threads: maximum number of threads.
        rounds: number of runs of each trainer.
    """
    found: dict[str, Training] = {}
    notes: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="fastbpe-bench-") as folder:
        path = Path(folder) / "text.txt"
        path.write_text(text, encoding="utf-8", newline="")
        n_bytes = path.stat().st_size
        for number in range(rounds):
            for name in turned(names, number):
                if name not in notes:
                    arguments = ["train-worker", name, str(path), str(vocab_size), pattern or "none"]
                    arguments += [] if pattern else ["--from-file"]
                    _run(name, arguments, threads, found, notes)
    _compare(found, notes)
    what = f"pattern {pattern}" if pattern else "code points, from the file"
    return [_report(found, notes, n_bytes, f"train, {vocab_size} ids, {what}")]


def _run(name: str, arguments: list[str], threads: int, found: dict[str, Training], notes: dict[str, str]) -> None:
    result = processes.run([*arguments, "--threads", str(threads)])
    if "note" in result:
        notes[name] = result["note"]
        return
    training = found.setdefault(name, Training(tokens=result["tokens"], n_learned=result["n_learned"]))
    training.seconds.append(result["seconds"])
    training.cores.append(result["cores"])
    for phase, seconds in result["phases"].items():
        training.phases.setdefault(phase, []).append(seconds)
    if result["peak_bytes"] is not None:
        training.peak_bytes.append(result["peak_bytes"])


def _compare(found: dict[str, Training], notes: dict[str, str]) -> None:
    """Remove trainers that learned other tokens than fastbpe by the same rule."""
    for name in list(found):
        rule = TRAINERS[name][0]
        ours = next((n for n in found if n.startswith("fastbpe") and TRAINERS[n][0] == rule), None)
        if ours and found[name].tokens != found[ours].tokens:
            notes[name] = f"learns other tokens than {ours} ({found[name].n_learned:,} of them)"
            del found[name]


def _report(found: dict[str, Training], notes: dict[str, str], n_bytes: int, title: str) -> dict[str, Any]:
    medians = {name: statistics.median(training.seconds) for name, training in found.items()}
    ours = next((name for name in ("fastbpe", "fastbpe, mode=codepoint") if name in medians), None)
    rivals = [
        s for name, s in medians.items() if ours and not name.startswith("fastbpe") and _same_kind(name, ours)
    ]
    ratio = min(rivals) / medians[ours] if rivals and ours else None
    print(f"\n{title}, {n_bytes / 1e6:.1f} MB\n")
    print(
        "| trainer | seconds, median | best | cores | peak MB above text | tokens |\n|---|---:|---:|---:|---:|---|"
    )
    for name, seconds in sorted(medians.items(), key=lambda item: item[1]):
        training = found[name]
        peak = f"{statistics.median(training.peak_bytes) / 1e6:,.0f}" if training.peak_bytes else "–"
        tokens = f"ties: {TRAINERS[name][0]}" if ours and _same_kind(name, ours) else "another kind"
        print(
            f"| {name} | {seconds:.2f} | {min(training.seconds):.2f} | {statistics.median(training.cores):.2f} "
            f"| {peak} | {tokens} |"
        )
    print_notes(notes)
    print(verdict(ratio, BAR, DREAM))
    for name in found:
        if found[name].phases:
            phases = {phase: statistics.median(runs) for phase, runs in found[name].phases.items()}
            print(f"{name}: " + ", ".join(f"{phase} {seconds:.3f} s" for phase, seconds in phases.items()))
    if ours and found[ours].peak_bytes:
        met = statistics.median(found[ours].peak_bytes) <= MEMORY_BAR_BYTES
        print(f"memory: bar {MEMORY_BAR_BYTES / 1e6:.0f} MB above the text: {'met' if met else 'missed'}")
    results = {
        name: {
            "mb_per_s": n_bytes / medians[name] / 1e6,
            "seconds": training.seconds,
            "peak_bytes": training.peak_bytes,
            "cores": training.cores,
            "phases": training.phases,
        }
        for name, training in found.items()
    }
    return {"row": title, "n_bytes": n_bytes, "bar": BAR, "dream": DREAM, "ratio": ratio, "notes": notes} | {
        "results": results
    }


def _same_kind(name: str, other: str) -> bool:
    return (TRAINERS[name][0] == CODE_POINTS) == (TRAINERS[other][0] == CODE_POINTS)


def work(name: str, path: Path, vocab_size: int, pattern: str, *, from_file: bool) -> None:
    """Run in a worker process: train once, print one line of JSON."""
    documents = path if from_file else documents_of(path, DOCUMENT_BYTES)
    try:
        resident = reset_peak()
        busy, started = time.process_time(), time.perf_counter()
        tokens, phases = TRAINERS[name][1](documents, vocab_size, pattern)
        seconds, busy = time.perf_counter() - started, time.process_time() - busy
        peak = peak_above(resident)
    except (ImportError, Unsupported) as reason:
        print(json.dumps({"note": str(reason)}))
        return
    digest = hashlib.sha256(b"".join(len(token).to_bytes(4, "little") + token for token in tokens)).hexdigest()
    result = {"seconds": seconds, "cores": busy / seconds, "peak_bytes": peak, "phases": phases}
    print(json.dumps({**result, "tokens": digest, "n_learned": len(tokens)}))
