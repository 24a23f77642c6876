"""Export random vocabularies in every format: `python tools/export_check.py --runs 20000 --seed 0`.

Draws small vocabularies of all kinds (ranks with tokens that no merges make, merge lists with several merges for
one token, tokenizer.json files, code points), exports each in every format, reads it back, and compares ids on
texts made of its own tokens. For every tenth vocabulary the original libraries (tokenizers, tiktoken,
sentencepiece, minbpe's rule) are compared too. Prints a table of the files written, refused and compared, then
each difference; exits with 1 if there is one. Needs the [test] extra.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from helpers import random_exports

COMPARE_WITH_OWNER_EVERY = 10


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=20_000, help="number of vocabularies")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first vocabulary; the next ones add 1")
    args = parser.parse_args()
    counts: Counter[tuple[str, str, str]] = Counter()
    wrong = []
    for seed in range(args.seed, args.seed + args.runs):
        found = random_exports.check(seed, counts, owners=seed % COMPARE_WITH_OWNER_EVERY == 0)
        for line in found:
            print(line, flush=True)
        wrong += found
    for (kind, format, outcome), n in sorted(counts.items()):
        print(f"| {kind:<9} | {format:<13} | {outcome:<28} | {n:>12,} |")
    print(f"{args.runs:,} vocabularies, {len(wrong):,} differences")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
