"""Encode random texts by random unigram models, with fastbpe and sentencepiece; compare ids and n best ways.

    python tools/unigram_check.py [--models 2000] [--seed N]

Each model gets ten texts. Prints the seed; for a difference it prints the model and the text, and exits with 1.
Models and texts come from tests/helpers/segmented_models.py.
"""

from __future__ import annotations

import argparse
import random
import sys
from pathlib import Path

import sentencepiece

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import fastbpe.sentencepiece as face
from fastbpe.formats.sentencepiece import model_file
from helpers.segmented_models import SCORE_STYLES, random_text, random_unigram

TEXTS = 10  # for each model


def difference(seed: int) -> str | None:
    """Describe the first difference for the model and the texts of a seed."""
    rng = random.Random(seed)
    model = random_unigram(rng, rng.choice(SCORE_STYLES))
    data = model_file.dump(model)
    theirs = sentencepiece.SentencePieceProcessor(model_proto=data)
    ours = face.SentencePieceProcessor(model_proto=data)
    for _ in range(TEXTS):
        text = random_text(rng, rng.choice([6, 14, 40]))
        n_best = rng.choice([1, 2, 3, 8, 20])
        for name, arguments in (("encode", {}), ("nbest_encode", {"nbest_size": n_best})):
            expected, found = (getattr(processor, name)(text, **arguments) for processor in (theirs, ours))
            if expected != found:
                return f"seed {seed}: {name}({text!r}, {arguments}) of {model}\n{expected}\n{found}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--models", type=int, default=2000, help="number of models (2000)")
    parser.add_argument(
        "--seed", type=int, default=random.SystemRandom().randrange(1 << 32), help="seed of the first model"
    )
    arguments = parser.parse_args()
    sentencepiece.set_min_log_level(2)
    print(f"{arguments.models} models from seed {arguments.seed} on", flush=True)
    for seed in range(arguments.seed, arguments.seed + arguments.models):
        if found := difference(seed):
            print(found)
            return 1
    print("all equal")
    return 0


if __name__ == "__main__":
    sys.exit(main())
