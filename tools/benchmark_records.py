"""Read the records of benchmarks, and draw them: bars for the site and the README, curves of growth for the site.

    python tools/benchmark_records.py            draw speed.svg, growth.svg and superwords.svg in docs/static
    python tools/benchmark_records.py --check    fail if they are not what the records give

A record is what `compare.py --json` writes, in benchmarks/records/DATE-MACHINE/. Pages of the site take their
figures from here when the site is built (docs/extensions/benchmark_tables.py).
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import sys
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
RECORDS = ROOT / "benchmarks" / "records"
CHART = ROOT / "docs" / "static" / "speed.svg"
GROWTH_CHART = ROOT / "docs" / "static" / "growth.svg"
SUPERWORDS_CHART = ROOT / "docs" / "static" / "superwords.svg"
GROWTH = "growth.json"  # points of `compare.py growth`
SUPERWORDS = "superwords.json"  # training of superwords on texts of several sizes
WITHOUT_PEERS = (GROWTH, SUPERWORDS, "tokens.json")
#: (file, title of a row) of the README's chart.
CHART_ROWS = (
    ("batch", "2 KB documents → lists, all cores"),
    ("short", "100-byte strings one by one → list"),
    ("decode", "one long list → str"),
    ("train-byte", "train, 32000 ids, pattern gpt2"),
)
OURS, PEER = "#d9722b", "#8a8f98"
PANEL_WIDTH, PANEL_HEIGHT, PLOT_WIDTH, PLOT_HEIGHT = 325, 150, 240, 90  # pixels of a panel and of its plot
NAMES, WIDTH, FIGURES, LINE = 185, 360, 110, 20  # pixels: column of names, longest bar, column of figures, height


class Workload(NamedTuple):
    """Row of a record.

    Attributes:
        file: str – name of the record's file, without its ending.
        title: str – the row.
        unit: str – "MB/s", more is better, or "s" or "ms", less is better.
        figures: name of a library → its figure in each round.
        run: facts about the run: date, commit, command, processor, versions.
    """

    file: str
    title: str
    unit: str
    figures: Mapping[str, Sequence[float]]
    run: Mapping[str, Any]

    @property
    def medians(self) -> dict[str, float]:
        """Return the median of each library, best first."""
        found = {name: statistics.median(values) for name, values in self.figures.items()}
        return dict(sorted(found.items(), key=lambda item: item[1], reverse=self.unit == "MB/s"))

    @property
    def ours(self) -> str:
        """Return fastbpe's name in the row."""
        return next(name for name in self.figures if name.startswith("fastbpe"))

    def times(self, peer: str) -> float:
        """Return how many times as fast as a peer fastbpe is, by medians."""
        ours, other = self.medians[self.ours], self.medians[peer]
        return ours / other if self.unit == "MB/s" else other / ours


def newest(file: str = "batch.json") -> Path:
    """Return the newest folder of records that holds a file."""
    return max(path.parent for path in RECORDS.glob(f"*/{file}"))


def read(folder: Path) -> list[Workload]:
    """Read all rows of a folder of records."""
    found = []
    for path in sorted(path for path in folder.glob("*.json") if path.name not in WITHOUT_PEERS):
        record = json.loads(path.read_text(encoding="utf-8"))
        rows, run = record["rows"], record["run"]
        if path.stem == "import":  # a row a library
            figures = {row["row"].rpartition(", ")[2]: _milliseconds(row["seconds"]) for row in rows}
            found.append(Workload(path.stem, "import", "ms", figures, run))
        else:
            found += [_workload(path.stem, row, run) for row in rows if _n_libraries(row) > 1]
    return found


def _workload(file: str, row: Mapping[str, Any], run: Mapping[str, Any]) -> Workload:
    if file == "load":  # fastbpe, and the owner of the format
        title, _, owner = row["row"].rpartition(", ")
        figures = {
            name: _milliseconds(times) for name, times in zip(("fastbpe", owner), row["seconds"], strict=True)
        }
        return Workload(file, title, "ms", figures, run)
    results = row["results"]
    if all("n_bytes" in result for result in results.values()):
        figures = {
            name: [result["n_bytes"] / second / 1e6 for second in result["seconds"]]
            for name, result in results.items()
        }
        return Workload(file, row["row"], "MB/s", figures, run)
    other_kind = "sentencepiece" if file == "train-byte" else ""  # it learns code points: another task
    figures = {name: result["seconds"] for name, result in results.items() if name != other_kind}
    return Workload(file, row["row"], "s", figures, run)


def _n_libraries(row: Mapping[str, Any]) -> int:
    measured = row["results"] if "results" in row else [times for times in row["seconds"] if times]
    return len(measured)


def _milliseconds(seconds: Sequence[float]) -> list[float]:
    return [1000 * second for second in seconds]


def shown(value: float) -> str:
    """Write a figure with three digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def bars(workload: Workload, top: int = 0) -> tuple[str, int]:
    """Draw a workload as SVG elements: a bar a library, and a line from its worst to its best round.

    Args:
        workload: the row.
        top: y of the first line, in pixels.

    Returns:
        (elements, their height in pixels).
    """
    scale = WIDTH / max(max(values) for values in workload.figures.values())
    lines = []
    for number, (name, median) in enumerate(workload.medians.items()):
        values, y = workload.figures[name], top + number * LINE
        middle = y + LINE / 2
        low, high, end = (NAMES + value * scale for value in (min(values), max(values), median))
        colour = OURS if name.startswith("fastbpe") else PEER
        lines += [
            f'<text x="{NAMES - 6}" y="{middle + 4:.0f}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{NAMES}" y="{y + 3}" width="{max(end - NAMES, 1):.1f}" height="{LINE - 6}" '
            f'fill="{colour}"/>',
            f'<path d="M{low:.1f} {middle:.0f}H{high:.1f}M{low:.1f} {y + 6}v8M{high:.1f} {y + 6}v8" '
            'stroke="currentColor"/>',
            f'<text x="{max(high, end) + 6:.0f}" y="{middle + 4:.0f}">{shown(median)} {workload.unit}</text>',
        ]
    return "\n".join(lines), len(workload.figures) * LINE


def svg(elements: str, height: int, *, is_file: bool = False) -> str:
    """Put elements into an SVG; in a file it has a background of its own."""
    width = NAMES + WIDTH + FIGURES
    ground = f'<rect width="{width}" height="{height}" fill="#fff"/>\n' if is_file else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'style="max-width:{width}px;width:100%;color:{"#222" if is_file else "inherit"}" '
        'font-family="system-ui,sans-serif" font-size="12" fill="currentColor">\n'
        f"{ground}{elements}\n</svg>\n"
    )


def readme_chart(workloads: Sequence[Workload]) -> str:
    """Draw the rows of CHART_ROWS, each under its title."""
    by_name = {(workload.file, workload.title): workload for workload in workloads}
    elements, top = [], 6
    for key in CHART_ROWS:
        workload = by_name[key]
        note = "more is better" if workload.unit == "MB/s" else "less is better"
        elements.append(f'<text x="6" y="{top + 14}" font-weight="bold">{escape(workload.title)} ({note})</text>')
        drawn, height = bars(workload, top + LINE)
        elements.append(drawn)
        top += LINE + height + 10
    run = by_name[CHART_ROWS[0]].run
    elements.append(
        f'<text x="6" y="{top + 12}" font-size="11">Medians; lines: slowest to fastest round. {run["date"]}, '
        f"{run['processor']}, {run['cores']} cores</text>"
    )
    return svg("\n".join(elements), top + 20, is_file=True)


def growth_chart(record: Mapping[str, Any]) -> str:
    """Draw the curves of a record of growth: a panel for each, one line for each number of threads.

    Both axes are logarithmic: a level line costs the same per byte at every size.
    """
    lines: dict[str, dict[int, list[tuple[int, float]]]] = {}
    for row in record["rows"]:
        if "note" not in row:
            cost = statistics.median(row["processor_seconds"]) / row["n_bytes"] * 1e9
            lines.setdefault(f"{row['curve']}, by {row['over']}", {}).setdefault(row["threads"], []).append(
                (row["x"], cost)
            )
    note = "Nanoseconds of processor time per byte of text, by size; 1 thread: solid, 2: dashed."
    return _panels(sorted(lines.items()), note, record["run"])


def superwords_chart(record: Mapping[str, Any]) -> str:
    """Draw the time and the memory of training superwords by the size of the text. Both axes are logarithmic."""
    panels: dict[str, dict[int, list[tuple[int, float]]]] = {}
    for row in record["rows"]:
        for name, figure in (("seconds", row["seconds"]), ("peak memory, MB", row["peak_megabytes"])):
            points = panels.setdefault(f"{row['kind']}: {name}", {1: []})[1]
            points.append((row["n_bytes"] // 1_000_000, figure))
    note = "By MB of text, 131,072 ids, two threads."
    return _panels([*panels.items()], note, record["run"])


def _panels(
    panels: Sequence[tuple[str, Mapping[int, Sequence[tuple[int, float]]]]], note: str, run: Mapping[str, Any]
) -> str:
    """Draw panels in two columns, and a note below."""
    elements = []
    for number, (curve, by_threads) in enumerate(panels):
        left, top = number % 2 * PANEL_WIDTH, number // 2 * PANEL_HEIGHT
        elements += _panel(curve, by_threads, left + 50, top + 24)
    bottom = -(-len(panels) // 2) * PANEL_HEIGHT
    elements.append(
        f'<text x="6" y="{bottom + 12}" font-size="11">{note} {run["date"]}, {run["processor"]}, {run["cores"]} '
        "cores</text>"
    )
    return svg("\n".join(elements), bottom + 20, is_file=True)


def _panel(curve: str, by_threads: Mapping[int, Sequence[tuple[int, float]]], left: int, top: int) -> list[str]:
    """Draw a curve in a panel, with its lowest and highest values at the axes."""
    points = [point for line in by_threads.values() for point in line]
    xs, costs = [max(x, 1) for x, _ in points], [cost for _, cost in points]  # no logarithm of 0 special tokens
    low, high = min(costs) / 1.5, max(costs) * 1.5
    elements = [
        f'<text x="{left}" y="{top - 8}" font-weight="bold">{escape(curve)}</text>',
        f'<path d="M{left} {top}v{PLOT_HEIGHT}h{PLOT_WIDTH}" fill="none" stroke="currentColor"/>',
    ]

    def place(x: int, cost: float) -> str:
        share = math.log(max(x, 1) / min(xs)) / max(math.log(max(xs) / min(xs)), 1e-9)
        height = math.log(cost / low) / math.log(high / low)
        return f"{left + share * PLOT_WIDTH:.1f} {top + PLOT_HEIGHT * (1 - height):.1f}"

    for threads, line in sorted(by_threads.items()):
        dashes = ' stroke-dasharray="5 3"' if threads > 1 else ""
        path = "L".join(place(x, cost) for x, cost in sorted(line))
        elements.append(f'<path d="M{path}" fill="none" stroke="{OURS}" stroke-width="2"{dashes}/>')
    for cost in (min(costs), max(costs)):
        height = place(min(xs), cost).split()[1]
        elements.append(f'<text x="{left - 4}" y="{height}" text-anchor="end" font-size="11">{shown(cost)}</text>')
    below = top + PLOT_HEIGHT + 14
    for x, anchor in ((min(xs), "start"), (max(xs), "end")):
        at = place(x, low).split()[0]
        said = min(one for one, _ in points) if x == min(xs) else x
        elements.append(f'<text x="{at}" y="{below}" text-anchor="{anchor}" font-size="11">{said:,}</text>')
    return elements


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare with the files instead of writing them")
    chosen = parser.parse_args()
    growth, superwords = (
        json.loads((newest(name) / name).read_text(encoding="utf-8")) for name in (GROWTH, SUPERWORDS)
    )
    charts = {
        CHART: readme_chart(read(newest())),
        GROWTH_CHART: growth_chart(growth),
        SUPERWORDS_CHART: superwords_chart(superwords),
    }
    if chosen.check:
        return int(any(not path.exists() or path.read_text("utf-8") != chart for path, chart in charts.items()))
    for path, chart in charts.items():
        path.write_text(chart, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
