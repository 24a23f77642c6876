"""Print how many statements of Cython and lines of C headers ran, file by file, as gcov counted: see .ci/coverage.

    python tools/core_coverage.py FOLDER

FOLDER is a tree that was built with FASTBPE_COVERAGE=1 and whose tests ran. gcov counts lines of the generated C,
where Cython puts a comment with file and line before the code of each statement: a statement ran if the first line
of its code did.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

_STATEMENT = re.compile(r'\s*/\* "(fastbpe/[^"]+)":(\d+)$')


def main() -> None:
    """Print a table, worst file first, and the total."""
    hits = lines_run(Path(sys.argv[1]).resolve())
    rows = sorted((sum(lines.values()) / len(lines), name, lines) for name, lines in hits.items())
    for share, name, lines in rows:
        if share < 1:
            print(f"{name:<64} {len(lines):>6} {len(lines) - sum(lines.values()):>6} {share:>6.1%}")
    n, n_run = sum(map(len, hits.values())), sum(sum(lines.values()) for lines in hits.values())
    print(f"{'Cython and C':<64} {n:>6} {n - n_run:>6} {n_run / n if n else 0:>6.1%}")


def lines_run(folder: Path) -> dict[str, dict[int, bool]]:
    """Tell of each line of each source if it ran in any of the modules that include it: file → line → ran."""
    found: dict[str, dict[int, bool]] = defaultdict(dict)
    for notes in sorted(folder.glob("build/temp.*/**/*.gcno")):
        for name, line, ran in _lines(notes, folder):
            found[name][line] = found[name].get(line, False) or ran
    return found


def _lines(notes: Path, folder: Path) -> Iterator[tuple[str, int, bool]]:
    """Yield (file, line, ran) of one compiled module; nothing ran of a module that was never imported."""
    command = ["gcov", "--json-format", "--stdout", str(notes)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    for file in json.loads(done.stdout)["files"]:
        counts = {line["line_number"]: line["count"] for line in file["lines"]}
        if file["file"].startswith("src/fastbpe/"):
            for line, count in counts.items():
                yield file["file"].removeprefix("src/"), line, count > 0
        elif file["file"].startswith("build/cython/"):
            yield from _statements((folder / file["file"]).read_text(encoding="utf-8"), counts)


def _statements(generated: str, counts: dict[int, int]) -> Iterator[tuple[str, int, bool]]:
    """Yield (file, line, ran) of the statements of generated C. counts: of its lines that have code."""
    statement: tuple[str, int] | None = None
    for number, text in enumerate(generated.split("\n"), 1):
        if found := _STATEMENT.match(text):
            statement = found[1], int(found[2])
        elif statement and number in counts:
            yield *statement, counts[number] > 0
            statement = None


if __name__ == "__main__":
    main()
