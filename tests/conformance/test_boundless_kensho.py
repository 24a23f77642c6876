"""BoundlessBPE trains as its reference does, and each reads the other's files with the same ids.

The reference (fastboundlessbpe of Kensho Technologies) is in no package index: these tests run where its Python
package `boundlessbpe` can be imported.
"""

from __future__ import annotations

import contextlib
import io
import json
import random
import warnings
from pathlib import Path

import pytest

import fastbpe
from helpers.sampling import SEED, n_rounds

peer = pytest.importorskip("boundlessbpe")
if not hasattr(peer, "BoundlessBpeTrainer"):
    pytest.skip("boundlessbpe is its first version", allow_module_level=True)

N_TEXTS = n_rounds(100, 2000)
PARTS = 4
_REST = r"|[\s\S]"  # the reference drops text that a pattern does not match
PATTERNS = ["cl100k", "o200k", "gpt2", r" ?[a-z]+|\s+|[^a-z\s]+", r"ab(?=a)|[a-z]| +" + _REST]
PATTERNS += [r"aa(?=b)|ab(?=b)|a|b| ?[a-z]" + _REST, r" ?[a-z]{1,2}(?= )| ?[a-z]|\s" + _REST]


def random_texts(rng: random.Random) -> list[str]:
    letters = "abcA"[: rng.randint(1, 4)]
    words = ["".join(rng.choices(letters, k=rng.randint(1, 3))) for _ in range(rng.randint(1, 6))]
    between = rng.choice([[" "], [" ", "  "], [" ", ", "], [" ", "\n"], ["", "-", " "], [" é ", " ", "7"]])
    return [
        "".join(rng.choice(words) + rng.choice(between) for _ in range(rng.choice([5, 40, 120])))
        for _ in range(rng.randint(1, 4))
    ]


def trained_by_peer(texts: list[str], pattern: str, n: int, folder: Path) -> Path | None:
    """Train with the reference; None: it fails, as it does where no pair is left."""
    source = folder / "texts.jsonl"
    source.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    quiet = {"checkpoint_iterations": 0, "verbose": False, "progress_interval": 0}
    with contextlib.redirect_stdout(io.StringIO()):
        words = peer.BpeTrainer(peer.Pretokenizer(main_regex=pattern))
        try:
            words.train(1.1, str(source), str(folder / "w"), len(texts), 243 + n, 0, False, **quiet)
        except AssertionError:
            return None
        words.save(str(folder / "words"))
        trainer = peer.BoundlessBpeTrainer(peer.Pretokenizer(main_regex=pattern))
        trainer.train(str(source), str(folder / "b"), len(texts), 0, str(folder / "words.model"), **quiet)
        trainer.save(str(folder / "peer"))
    return folder / "peer.model"


def loaded_by_peer(path: Path) -> peer.Tokenizer:
    with contextlib.redirect_stdout(io.StringIO()):
        return peer.Tokenizer.from_file(str(path))


def merges_of(tokenizer: fastbpe.Tokenizer) -> list[list[tuple[bytes, bytes]]]:
    model, tokens = tokenizer._family.own, tokenizer.vocab
    lists = model.merge_list(), model.supermerges.merge_list()
    return [[(tokens[left], tokens[right]) for left, right, _ in merges] for merges in lists]


@pytest.mark.parametrize("part", range(PARTS))
def test_training_and_files_are_those_of_the_reference(part: int, tmp_path: Path) -> None:
    for number in range(part, N_TEXTS, PARTS):
        rng = random.Random(f"kensho {SEED} {number}")
        texts, n = random_texts(rng), rng.choice([1, 3, 8, 20, 60])
        name = rng.choice(PATTERNS)
        pattern = fastbpe.PATTERNS.get(name, name)
        context = (SEED, number, texts, pattern, n)
        path = trained_by_peer(texts, str(pattern), n, tmp_path)
        if path is None:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", fastbpe.TrainingWarning)
            ours = fastbpe.train(texts, vocab_size=256 + n, pattern=pattern, superwords="boundless")
        theirs = fastbpe.load(path)
        # The reference stops when no superword is left to merge, and leaves the other ids empty.
        for mine, expected in zip(merges_of(ours), merges_of(theirs), strict=True):
            assert mine[: len(expected)] == expected, context
        assert ours.vocab[256 : 13 + theirs.vocab_size] == theirs.vocab[243:], context
        ours.export(tmp_path / "ours.model")
        again = loaded_by_peer(tmp_path / "ours.model")
        expected = loaded_by_peer(path)
        for text in [*texts, *random_texts(rng)]:
            assert theirs.encode(text) == expected.encode_ordinary(text), (text, context)
            assert ours.encode(text) == again.encode_ordinary(text), (text, context)
