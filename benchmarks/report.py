"""Output of compare.py: the machine, tables, JSON, a bar chart."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import fastbpe
import peers
from rounds import Outcome, times


def machine(threads: int) -> dict[str, Any]:
    """Return all facts about this run on which figures depend."""
    return {
        "date": datetime.now(timezone.utc).date().isoformat(),
        "commit": _commit(),
        "command": " ".join(["python", *sys.argv]),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": threads,
        # The load that other processes make; the "cores" of a row tell more precisely.
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": peers.versions(),
    }


def print_machine(facts: Mapping[str, Any]) -> None:
    print(
        f"fastbpe {fastbpe.__version__}, Python {facts['python']}, {facts['processor']}, {facts['cores']} cores",
        end="",
    )
    print(f", all cores: {facts['threads']} threads, load {facts['load']}")
    print(", ".join(f"{package} {version}" for package, version in facts["versions"].items()))


def print_outcome(outcome: Outcome) -> None:
    """Print a row as a table, fastest first, with a verdict on its bar."""
    print(f"\n{outcome.row.title}\n")
    print("| library | MB/s, median | best | × best peer | cores | MB of text |\n|---|---:|---:|---:|---:|---:|")
    others = [timing.speed for name, timing in outcome.timings.items() if name != "fastbpe"]
    base = max(others, default=0)
    for name, timing in sorted(outcome.timings.items(), key=lambda item: -item[1].speed):
        by_best = f"{timing.speed / base:.2f}" if base else "–"
        cores = statistics.median(timing.cores)
        print(
            f"| {name} | {timing.speed:,.1f} | {timing.best:,.1f} | {by_best} | {cores:.2f} "
            f"| {timing.n_bytes / 1e6:.2f} |"
        )
    print_notes(outcome.notes)
    for peer, bar in outcome.row.against.items():
        ratio = times(outcome, peer)
        if ratio is not None:
            print(f"fastbpe is {ratio:.1f}× {peer}; bar {bar:g}×: {'met' if ratio >= bar else 'missed'}")
    if not outcome.row.against:
        print(verdict(outcome.ratio, outcome.row.bar, outcome.row.dream))


def print_notes(notes: Mapping[str, str]) -> None:
    """Print the peers that were left out, one line for each reason."""
    by_note: dict[str, list[str]] = {}
    for name, note in notes.items():
        by_note.setdefault(note, []).append(name)
    for note, names in by_note.items():
        print(f"left out: {', '.join(names)}: {note}")


def verdict(ratio: float | None, bar: float, dream: float) -> str:
    """Return one line about fastbpe's speed and its bar.

    Args:
        ratio: speed of fastbpe / speed of the best peer, or None without peers.
        bar: the least ratio required.
        dream: the ratio hoped for.
    """
    if ratio is None:
        return f"bar {bar:g}×, dream {dream:g}×: nothing to compare"
    how = "dream met" if ratio >= dream else "bar met" if ratio >= bar else "bar missed"
    return f"fastbpe is {ratio:.2f}× the best peer; bar {bar:g}×, dream {dream:g}×: {how}" + (
        "; fastbpe LOSES here" if ratio < 1 else ""
    )


def as_json(outcome: Outcome) -> dict[str, Any]:
    """Return the row with every measurement, as JSON stores it."""
    return {
        "row": outcome.row.title,
        "bar": outcome.row.bar,
        "against": dict(outcome.row.against),
        "dream": outcome.row.dream,
        "ratio": outcome.ratio,
        "notes": outcome.notes,
        "results": {
            name: {
                "mb_per_s": timing.speed,
                "best_mb_per_s": timing.best,
                "n_bytes": timing.n_bytes,
                "seconds": timing.seconds,
                "cores": timing.cores,
            }
            for name, timing in outcome.timings.items()
        },
    }


def write_json(path: Path, run: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the facts of a run and its rows, each fact and each row on a line of its own."""
    facts = ",\n".join(f"{json.dumps(name)}: {json.dumps(fact)}" for name, fact in run.items())
    lines = ",\n".join(map(json.dumps, rows))
    path.write_text(f'{{"run": {{\n{facts}\n}},\n"rows": [\n{lines}\n]}}\n', encoding="utf-8")


def need_matplotlib() -> None:
    """Exit with a clear message if matplotlib is missing, before the measurements and not after."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise SystemExit("--plot needs matplotlib: pip install matplotlib") from None


def plot(path: Path, title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Draw one bar chart per row: MB/s by library, with fastbpe in another colour. Rows without MB/s are left out.

    Args:
        path: image file to write.
        title: title of the figure.
        rows: rows as for JSON.
    """
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    speeds = [
        (row["row"], {name: found["mb_per_s"] for name, found in row["results"].items()})
        for row in rows
        if "results" in row and all("mb_per_s" in found for found in row["results"].values())
    ]
    if not speeds:
        print(f"no row has MB/s of libraries: {path} is not drawn")
        return
    height = sum(len(by_name) for _, by_name in speeds) * 0.28 + len(speeds) * 0.7 + 0.6
    figure, axes = pyplot.subplots(
        len(speeds),
        1,
        figsize=(8, height),
        squeeze=False,
        height_ratios=[len(by_name) + 1 for _, by_name in speeds],
    )
    for axis, (row, by_name) in zip(axes[:, 0], speeds, strict=True):
        ordered = sorted(by_name.items(), key=lambda item: item[1])
        colours = ["tab:orange" if name.startswith("fastbpe") else "tab:gray" for name, _ in ordered]
        bars = axis.barh([name for name, _ in ordered], [speed for _, speed in ordered], color=colours)
        axis.bar_label(bars, fmt="{:,.0f}", padding=2, fontsize=8)
        axis.set_title(row, fontsize=9, loc="left")
        axis.tick_params(labelsize=8)
        axis.margins(x=0.12)
        axis.spines[["top", "right"]].set_visible(False)
    figure.suptitle(f"{title}: MB of UTF-8 per second", fontsize=10)
    figure.tight_layout()
    figure.savefig(path)


def _commit() -> str | None:
    """Return the short name of the commit that is checked out; None outside a repository."""
    command = ["git", "-C", Path(__file__).parent, "rev-parse", "--short", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or "unknown processor"
