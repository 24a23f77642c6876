"""First passes over a text: each measurement runs in a new process that has never seen the text.

Importing the library (fastbpe is imported already) and loading the tokenizer are timed separately. The text is
read, decoded and cut before the clock starts; the pass is timed once.

Peak memory is the value of memory.py minus the output: the bytes of an array, or 8 bytes per entry and 32 per
distinct int of a list. So it is the memory that the library needs besides tokenizer, text and ids. It may be
slightly negative if the library reuses memory freed after loading.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import peers
import processes
from memory import peak_above, reset_peak
from peers import Peer, Unsupported
from report import print_notes, verdict
from rounds import turned
from texts import cut
from vocabularies import Vocabulary
from workloads import DOCUMENT_BYTES

COLD_BYTES = 16_000_000
SETTLING_SECONDS = 0.3  # the threads of numpy's BLAS keep a core busy for about the first tenth of a second

Form = Callable[[Peer, str, list[str], int], Any]

# Peers that read a tokenizer.json, at least of some vocabularies.
TOKENIZER_JSON_PEERS = {
    *("tokenizers", "tokenizers_rc", "fastokens", "gigatoken", "iree", "kitoken", "laghu", "nanotoken"),
    *("snaptokens", "tokie"),
}

# Name in the worker's arguments → title, bar, dream, and the call to time.
FORMS: dict[str, tuple[str, float, float, Form]] = {
    "flat": (
        "2 KB documents → flat numpy",
        3,
        5,
        lambda peer, _, documents, threads: peer.documents_to_flat(documents, threads)[0],
    ),
    "lists": (
        "2 KB documents → lists",
        1.5,
        3,
        lambda peer, _, documents, threads: peer.documents_to_lists(documents, threads),
    ),
    "text": ("one long str → list", 1.5, 3, lambda peer, text, _, __: peer.text_to_list(text)),
}


@dataclass
class Cold:
    """Measured passes of one peer in one form."""

    seconds: list[float] = field(default_factory=list)
    load_seconds: list[float] = field(default_factory=list)
    peak_bytes: list[float] = field(default_factory=list)
    cores: list[float] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)  # SHA-256 digests of the ids


def compare_cold(
    names: Sequence[str], vocabulary: Vocabulary, text: str, forms: Sequence[str], threads: int, rounds: int
) -> list[dict[str, Any]]:
    """Measure every peer in every form, print tables, and return the rows for JSON.

    Args:
        names: peers to measure.
        vocabulary: vocabulary that each of them loads.
        text: text to encode.
        forms: keys of FORMS.
        threads: maximum number of threads.
        rounds: number of passes of each peer in each form.
    """
    with tempfile.TemporaryDirectory(prefix="fastbpe-bench-") as folder:
        path = Path(folder) / "text.txt"
        path.write_text(text, encoding="utf-8", newline="")
        n_bytes = path.stat().st_size
        return [_compare_form(form, names, vocabulary, path, n_bytes, threads, rounds) for form in forms]


def _compare_form(
    form: str, names: Sequence[str], vocabulary: Vocabulary, path: Path, n_bytes: int, threads: int, rounds: int
) -> dict[str, Any]:
    options = ["--vocab", vocabulary.argument, "--pattern", vocabulary.pattern_name]
    found: dict[str, Cold] = {}
    notes: dict[str, str] = {}
    for number in range(rounds):
        for name in turned(names, number):
            if name in notes:
                continue
            result = processes.run(["cold-worker", name, form, str(path), *options, "--threads", str(threads)])
            if "note" in result:
                notes[name] = result["note"]
                continue
            cold = found.setdefault(name, Cold())
            cold.seconds.append(result["seconds"])
            cold.load_seconds.append(result["load_seconds"])
            cold.cores.append(result["cores"])
            cold.ids.add(result["ids"])
            if result["peak_bytes"] is not None:
                cold.peak_bytes.append(result["peak_bytes"])
    reference = "tiktoken" if "tiktoken" in found else next(iter(found), "")
    for name in [name for name in found if found[name].ids != found[reference].ids]:
        notes[name] = f"ids differ from {reference}'s; `compare.py encode` and `batch` say where"
        del found[name]
    return _report(form, found, notes, n_bytes, threads)


def _report(
    form: str, found: dict[str, Cold], notes: dict[str, str], n_bytes: int, threads: int
) -> dict[str, Any]:
    title, bar, dream, _ = FORMS[form]
    speeds = {name: n_bytes / statistics.median(cold.seconds) / 1e6 for name, cold in found.items()}
    best_peer = max((speed for name, speed in speeds.items() if name != "fastbpe"), default=0)
    ratio = speeds["fastbpe"] / best_peer if "fastbpe" in speeds and best_peer else None
    print(f"\ncold, {title}, {n_bytes / 1e6:.1f} MB, at most {threads} threads\n")
    print("| library | MB/s, median | best | × best peer | cores | peak MB above text and ids | loading, ms |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for name, cold in sorted(found.items(), key=lambda item: -speeds[item[0]]):
        peak = f"{statistics.median(cold.peak_bytes) / 1e6:,.0f}" if cold.peak_bytes else "–"
        by_best = f"{speeds[name] / best_peer:.2f}" if best_peer else "–"
        print(
            f"| {name} | {speeds[name]:,.1f} | {n_bytes / min(cold.seconds) / 1e6:,.1f} | {by_best} "
            f"| {statistics.median(cold.cores):.2f} | {peak} | {statistics.median(cold.load_seconds) * 1e3:,.0f} |"
        )
    print_notes(notes)
    print(verdict(ratio, bar, dream))
    results = {
        name: {
            "mb_per_s": speeds[name],
            "seconds": cold.seconds,
            "load_seconds": cold.load_seconds,
            "peak_bytes": cold.peak_bytes,
            "cores": cold.cores,
        }
        for name, cold in found.items()
    }
    return {
        "row": f"cold, {title}",
        "n_bytes": n_bytes,
        "bar": bar,
        "dream": dream,
        "ratio": ratio,
        "notes": notes,
        "results": results,
    }


def work(name: str, form: str, path: Path, vocabulary: Vocabulary, threads: int) -> None:
    """Run in a worker process: load, encode once, print one line of JSON."""
    text = path.read_text(encoding="utf-8")
    documents = cut(text, DOCUMENT_BYTES)
    # Files that we make from the vocabulary are not part of a library's loading time.
    _ = vocabulary.special_tokens
    if name in TOKENIZER_JSON_PEERS:
        vocabulary.tokenizer_json()
    import numpy  # noqa: F401 - some libraries would otherwise import it during the first call

    time.sleep(SETTLING_SECONDS)
    try:
        started = time.perf_counter()
        peer = peers.load(name, vocabulary)
        load_seconds = time.perf_counter() - started
        resident = reset_peak()
        busy, started = time.process_time(), time.perf_counter()
        output = FORMS[form][3](peer, text, documents, threads)
        seconds, busy = time.perf_counter() - started, time.process_time() - busy
        peak = peak_above(resident)
    except (ImportError, Unsupported) as reason:
        print(json.dumps({"note": str(reason)}))
        return
    if peak is not None:
        peak -= _size(output)
    result = {"seconds": seconds, "load_seconds": load_seconds, "cores": busy / seconds, "peak_bytes": peak}
    print(json.dumps({**result, "ids": _digest(output)}))


def _size(output: Any) -> int:
    """Return the bytes of an array, a list or a list of lists of ids; shared ints count once."""
    if not isinstance(output, list):
        return int(output.nbytes)
    lists = output if output and isinstance(output[0], list) else [output]
    distinct = {id(token) for ids in lists for token in ids}
    return sum(sys.getsizeof(ids) for ids in lists) + 32 * len(distinct)


def _digest(output: Any) -> str:
    import numpy

    if isinstance(output, list) and output and isinstance(output[0], list):
        output = [token for ids in output for token in ids]
    return hashlib.sha256(numpy.asarray(output, dtype=numpy.uint32).tobytes()).hexdigest()
