"""Compare parity-aware training with tokenizers' ParityBpeTrainer, and with ordinary training.

    python benchmarks/languages.py FILE FILE… [--n-merges 8000] [--characters 500000] [--rounds 3]

Each file is the text of a language: every fifth line is dev text, the others are training text. Every run is
a process of its own with one thread. The figure is the least processor time of a kind of run, from texts in memory
to the learned vocabulary; the merges of both libraries must be equal.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ONE_THREAD = {"TOKENIZERS_PARALLELISM": "0", "RAYON_NUM_THREADS": "1", "FASTBPE_NUM_THREADS": "1"}
KINDS = ("tokenizers, parity", "fastbpe, parity", "fastbpe, ordinary")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--n-merges", type=int, default=8000)
    parser.add_argument("--characters", type=int, default=500_000, help="characters to read of each file")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--kind", choices=KINDS, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.kind:
        print(json.dumps(_run(chosen)))
        return 0
    runs: dict[str, list[dict[str, Any]]] = {kind: [] for kind in KINDS}
    for _ in range(chosen.rounds):
        for kind in KINDS:
            command = [sys.executable, *sys.argv, "--kind", kind]
            done = subprocess.run(command, env=os.environ | ONE_THREAD, capture_output=True, text=True, check=True)
            runs[kind].append(json.loads(done.stdout))
    digests = {run["digest"] for kind in KINDS[:2] for run in runs[kind]}
    for kind, some in runs.items():
        print(f"{kind:20} {some[0]['n_merges']:>7,} merges {min(run['seconds'] for run in some):>8.2f} s")
    print("the merges are equal" if len(digests) == 1 else "the merges DIFFER")
    return int(len(digests) != 1)


def _run(chosen: argparse.Namespace) -> dict[str, Any]:
    lines = [path.read_text(encoding="utf-8")[: chosen.characters].split("\n") for path in chosen.files]
    train = [[line for i, line in enumerate(some) if i % 5] for some in lines]
    dev = [some[::5] for some in lines]
    started = time.process_time()
    if chosen.kind == KINDS[0]:
        merges = _tokenizers(train, dev, chosen.n_merges)
    else:
        merges = _fastbpe(train, dev if chosen.kind == KINDS[1] else None, chosen.n_merges)
    seconds = time.process_time() - started
    digest = hashlib.sha256("\n".join(merges).encode()).hexdigest()
    return {"n_merges": len(merges), "seconds": seconds, "digest": digest}


def _tokenizers(train: list[list[str]], dev: list[list[str]], n_merges: int) -> list[str]:
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.ParityBpeTrainer(num_merges=n_merges, show_progress=False)
    trainer.train_from_iterator(tokenizer, [*map(iter, train)], [*map(iter, dev)])
    return ["".join(pair) for pair in json.loads(tokenizer.to_str())["model"]["merges"]]


def _fastbpe(train: list[list[str]], dev: list[list[str]] | None, n_merges: int) -> list[str]:
    import fastbpe
    from fastbpe.formats.byte_level import text_of

    options: Any = {"vocab_size": 256 + n_merges, "pattern": "gpt2", "progress": False}
    if dev is None:
        tokenizer = fastbpe.train((line for some in train for line in some), **options)
    else:
        parity = fastbpe.Parity(dev={str(i): iter(some) for i, some in enumerate(dev)})
        sources = {str(i): iter(some) for i, some in enumerate(train)}
        tokenizer = fastbpe.train(sources, parity=parity, **options)
    return [text_of(token) for token in tokenizer.vocab[256:]]


if __name__ == "__main__":
    sys.exit(main())
