"""Measure bytes a token against the size of the vocabulary, on text that training did not see.

    python tools/vocabulary_sizes.py TEXT... --json benchmarks/records/DATE-vocabulary-sizes.json

Of each text the last tenth is held out, the rest is trained on. tools/draw_docs.py draws the chart of the guide
from the record.
"""

from __future__ import annotations

import argparse
import json
import sys
from datetime import datetime, timezone
from pathlib import Path

import fastbpe

SIZES = (300, 500, 1000, 2000, 4000, 8000, 16_000, 32_000, 64_000, 128_000)
MAX_CHARACTERS = 20_000_000  # of each text


def bytes_per_token(path: Path) -> dict[str, float]:
    """Return size of the vocabulary → bytes a token on the held-out tenth of a text."""
    text = path.read_text(encoding="utf-8", errors="replace")[:MAX_CHARACTERS]
    at = len(text) * 9 // 10
    counts = fastbpe.count_pieces([text[:at]], pattern="cl100k")
    found = {}
    for size in SIZES:
        tokenizer = fastbpe.train(counts, vocab_size=size, pattern="cl100k", progress=False)
        found[str(size)] = round(len(text[at:].encode()) / tokenizer.count(text[at:]), 3)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="+", type=Path, metavar="TEXT", help="UTF-8 text")
    parser.add_argument("--json", type=Path, required=True, metavar="FILE", help="record to write")
    chosen = parser.parse_args()
    record = {
        "run": {
            "date": datetime.now(timezone.utc).date().isoformat(),
            "command": " ".join(["python", "tools/vocabulary_sizes.py", *(path.name for path in chosen.texts)]),
            "version": fastbpe.__version__,
        },
        "bytes_per_token": {path.stem: bytes_per_token(path) for path in chosen.texts},
    }
    chosen.json.write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
