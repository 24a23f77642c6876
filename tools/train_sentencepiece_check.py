"""Train on random corpora with random options, with fastbpe and sentencepiece; compare the files to the byte.

    python tools/train_sentencepiece_check.py [--runs 2000] [--seed N] [--type unigram] [--twin]

--twin compares the slow twin of BPE, too. Prints the seed; for a difference it prints the corpus and options that
made it, and exits with 1. The comparison itself is in tests/helpers/random_training.py.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from helpers.random_training import difference


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2000, help="number of corpora (2000)")
    parser.add_argument(
        "--seed", type=int, default=random.SystemRandom().randrange(1 << 32), help="seed of the first corpus"
    )
    parser.add_argument("--type", choices=("bpe", "unigram"), default="bpe", help="type of the models (bpe)")
    parser.add_argument("--twin", action="store_true", help="compare with the slow twin of BPE, too")
    arguments = parser.parse_args()
    print(f"{arguments.runs} corpora from seed {arguments.seed} on", flush=True)
    for seed in range(arguments.seed, arguments.seed + arguments.runs):
        found = difference(seed, model_type=arguments.type, with_twin=arguments.twin)
        if found:
            print(found)
            return 1
    print("all equal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
