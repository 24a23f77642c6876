"""Directives that take figures from the records of benchmarks: no page holds a figure that nobody measured.

`record-charts` draws every row of the newest records. `record-speeds LIBRARY` is a table of the rows in which
fastbpe meets a library.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools"))

import benchmark_records as records


class RecordSpeeds(Directive):
    """Table of the rows that a library has in the newest records, with the run that they come from."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        (peer,) = self.arguments
        met = [one for one in records.read(records.newest()) if peer in one.figures]
        if not met:
            raise self.error(f"no row of {records.newest()} has {peer}")
        rows = [
            (
                _title(one),
                f"{records.shown(one.medians[one.ours])} {one.unit}",
                f"{records.shown(one.medians[peer])} {one.unit}",
                f"{one.times(peer):.1f}×" if one.times(peer) >= 1 else f"{one.times(peer):.2f}× (slower)",
            )
            for one in met
        ]
        run = met[0].run
        text = f"Medians of the run of {run['date']}. {_machine(run)}"
        return [_table(("work", "fastbpe", peer, "as fast"), rows), nodes.paragraph(text=text)]


class RecordCharts(Directive):
    """A section for each file of the newest records: command, machine, and a chart of each row."""

    def run(self) -> list[nodes.Node]:
        sections: dict[str, nodes.section] = {}
        for one in records.read(records.newest()):
            if one.file not in sections:
                sections[one.file] = self._section(one)
            text = f"{one.title} ({one.unit}, {'more' if one.unit == 'MB/s' else 'less'} is better)"
            sections[one.file] += nodes.paragraph("", "", nodes.strong(text=text))
            elements, height = records.bars(one)
            chart = nodes.container(classes=["record-chart"])
            chart += nodes.raw("", records.svg(elements, height), format="html")
            sections[one.file] += chart
            best = next((name for name in one.medians if not name.startswith("fastbpe")), None)
            if best and one.times(best) < 1:
                lost = f"fastbpe loses this row: {one.times(best):.2f} times the speed of {best}."
                sections[one.file] += nodes.paragraph(text=lost)
        return [*sections.values()]

    def _section(self, one: records.Workload) -> nodes.section:
        section = nodes.section(names=[nodes.fully_normalize_name(f"record {one.file}")])
        section += nodes.title(text=one.file)
        section += nodes.paragraph(
            "", "", nodes.literal(text=one.run["command"]), nodes.Text(" · " + _machine(one.run))
        )
        self.state.document.note_implicit_target(section)
        return section


def _title(one: records.Workload) -> str:
    models = {
        "llama2-": "Llama 2: ",
        "transformers": "transformers, Llama 3: ",
        "phi3-": "transformers, Phi-3: ",
        "multilingual-": "many languages: ",
    }
    model = next((shown for start, shown in models.items() if one.file.startswith(start)), "")
    return f"load {one.title}" if one.file == "load" else model + one.title  # the title of an import is "import"


def _machine(run: Any) -> str:
    versions = ", ".join(f"{name} {version}" for name, version in run["versions"].items())
    return (
        f"{run['date']}, {run['processor']}, {run['cores']} cores, {run['threads']} threads, "
        f"Python {run['python']}, commit {run['commit']}; {versions}."
    )


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> nodes.table:
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=width) for width in (40, 20, 20, 20)]
    group += nodes.thead("", _row(head))
    group += nodes.tbody("", *[_row(row) for row in rows])
    return nodes.table("", group)


def _row(cells: tuple[str, ...]) -> nodes.row:
    return nodes.row("", *[nodes.entry("", nodes.paragraph(text=cell)) for cell in cells])


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("record-speeds", RecordSpeeds)
    app.add_directive("record-charts", RecordCharts)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
