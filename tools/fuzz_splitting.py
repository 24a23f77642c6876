"""Split random hard texts with every scanner, the engine and the slow splitter, until one differs or time is up.

    python tools/fuzz_splitting.py --seconds 60

Prints the seed; --seed repeats the same texts. Texts and comparison come from tests/helpers/split_oracles.py.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from itertools import islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from fastbpe.patterns import PATTERNS
from helpers import split_oracles

TEXTS_PER_ROUND = 500


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=60, help="time to run")
    parser.add_argument(
        "--seed", type=int, default=random.SystemRandom().randrange(1 << 32), help="seed of the texts"
    )
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    texts = split_oracles.random_texts(arguments.seed)
    splitters = [
        (name, split_oracles.oracle(pattern), [*split_oracles.scanners(pattern), *split_oracles.engines(pattern)])
        for name, pattern in ((name, PATTERNS[name] or "") for name in split_oracles.NAMES)
    ]
    end, n_texts = time.monotonic() + arguments.seconds, 0
    while time.monotonic() < end:
        for text in islice(texts, TEXTS_PER_ROUND):
            for name, slow, fast in splitters:
                wanted = slow.ends(text)
                for scanner in fast:
                    found = split_oracles.difference(name, wanted, scanner, text)
                    if found:
                        print(f"seed {arguments.seed}, text {n_texts}: {found}", file=sys.stderr)
                        return 1
            n_texts += 1
    kinds = ", ".join(map(repr, splitters[0][2]))
    print(f"{n_texts:,} texts, {len(splitters)} patterns, {kinds}: no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())
