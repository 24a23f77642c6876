"""Compare random tokenizer.json files with tokenizers: `python tools/pipelines_check.py --runs 20000 --seed 0`.

Makes small files of random normalizers, pre-tokenizers, models of a type (--model), decoders, post-processors
and added tokens, with vocabularies that tokenizers has trained or of a few letters, and 30 texts of all scripts.
Loads each file with `fastbpe.load` (`--face tokenizers`: with fastbpe.tokenizers) and with tokenizers, and
compares ids, offsets, words, counts and decoded texts. Prints a table of results, and each difference with the
smallest file and text that show it; exits with 1 if there is one. Needs the [test] extra.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from pathlib import Path

os.environ["TOKENIZERS_PARALLELISM"] = "false"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from helpers import pipeline_check


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=20_000, help="number of files")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first file; the next ones add 1")
    parser.add_argument("--face", choices=[*pipeline_check.FACES], default="load", help="the interface to compare")
    parser.add_argument("--show", type=int, default=10, help="differences to show at most, and to make smaller")
    parser.add_argument(
        "--model", choices=["BPE", "Unigram", "WordPiece", "WordLevel"], default="BPE", help="type of the models"
    )
    args = parser.parse_args()
    counts: Counter[str] = Counter()
    n_shown = n_wrong = 0
    for seed in range(args.seed, args.seed + args.runs):
        wrong = pipeline_check.check(str(seed), args.face, counts, model=args.model, shrinks=n_shown < args.show)
        n_wrong += bool(wrong)
        if wrong and n_shown < args.show:
            n_shown += 1
            print(f"seed {seed}: {wrong}", flush=True)
    for kind, n in counts.most_common():
        print(f"| {kind:<100} | {n:>7,} |")
    print(f"{args.runs:,} files from seed {args.seed}, {n_wrong:,} differences")
    return 1 if n_wrong else 0


if __name__ == "__main__":
    sys.exit(main())
