"""Split random hard texts with every scanner, the engine and the slow splitter, until one differs or time is up.

    python tools/fuzz_splitting.py --seconds 60
    python tools/fuzz_splitting.py --bytes        # bytes that are not UTF-8; worth most under `just sanitize`

With --bytes, the scanners, the engine and the words of a code-point vocabulary get bytes that no door lets
through: their ends must rise and end where the bytes do, and AddressSanitizer must see no read past them.

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
    parser.add_argument("--bytes", action="store_true", help="split bytes that are not UTF-8, and look for faults")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    if arguments.bytes:
        return split_bytes(arguments.seed, time.monotonic() + arguments.seconds)
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


def split_bytes(seed: int, end: float) -> int:
    """Split bytes until the time `end`; return the exit status."""
    splitters = split_oracles.all_splitters()
    n_texts = 0
    for data in split_oracles.random_bytes(seed):
        for splitter in splitters:
            if found := split_oracles.fault(splitter, data):
                print(f"seed {seed}, text {n_texts}: {found}", file=sys.stderr)
                return 1
        n_texts += 1
        if time.monotonic() > end:
            break
    print(f"{n_texts:,} texts of bytes, {len(splitters)} splitters: no fault")
    return 0


if __name__ == "__main__":
    sys.exit(main())
