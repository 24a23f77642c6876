"""Extend a code-point model by a language, prune it, and hand it to sentencepiece and transformers: one whole run.

    python tools/extend_llama.py MODEL TEXT OTHER [--new 8000]

MODEL is a sentencepiece model such as Llama 2's. TEXT holds the language to learn: every other line is learned
from, the lines between are measured. OTHER is a text whose ids must stay. It prints the numbers of
docs/extend-a-model.md and fails if the original libraries give other ids.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import sentencepiece

import fastbpe
from fastbpe import IdMap, Tokenizer
from fastbpe.tokenizer.surgery.changed_texts import TextChanges


class Run(NamedTuple):
    """Tokenizers of a run, and what is known of them.

    base, longer, small: before, after learning, after pruning.
    id_map: from base to small.
    embedding: a random matrix of the base, and resized: small's matrix.
    changes: the lines of the other text that got other ids by learning.
    """

    base: Tokenizer
    longer: Tokenizer
    small: Tokenizer
    id_map: IdMap
    embedding: Any
    resized: Any
    changes: TextChanges


def run(base: Tokenizer, learn: str, other: str, n_new: int, n_columns: int = 64) -> Run:
    """Learn new pieces of one text, keep what the two texts use, and resize an embedding.

    Args:
        base: the model to extend.
        learn: text of the language to learn; each line is a sentence.
        other: text that stands for all that the model knew before.
        n_new: number of new pieces.
        n_columns: width of the embedding.
    """
    longer = fastbpe.train(
        iter([learn]),
        mode="codepoint",
        base=base,
        vocab_size=f"+{n_new}",
        max_sentence_length=1 << 20,
        progress=False,
    )
    changes = fastbpe.changed_texts(base, longer, iter(other.splitlines()))
    small, kept = longer.prune(corpus=iter([learn, other]))
    id_map = longer.id_map(base).then(kept)
    embedding = np.random.default_rng(0).normal(size=(base.n_vocab, n_columns)).astype("float32")
    return Run(base, longer, small, id_map, embedding, id_map.resize(embedding), changes)


def check_owners(tokenizer: Tokenizer, folder: Path, text: str) -> list[str]:
    """Export a tokenizer, load it by its owners and by fastbpe, and compare ids.

    Returns the names of the libraries that agree: transformers is among them if it is installed.

    Raises ValueError: one gives other ids.
    """
    expected = tokenizer.encode(text)
    tokenizer.export(folder / "tokenizer.model", format="sentencepiece")
    (folder / "model").mkdir()
    tokenizer.export(folder / "model", format="huggingface")
    found = {
        "sentencepiece": sentencepiece.SentencePieceProcessor(model_file=f"{folder}/tokenizer.model").encode(text),
        "fastbpe (.model)": fastbpe.load(folder / "tokenizer.model").encode(text),
        "fastbpe (tokenizer.json)": fastbpe.load(folder / "model").encode(text),
    }
    try:
        from transformers import AutoTokenizer
    except ImportError:
        pass
    else:
        owner: Any = AutoTokenizer.from_pretrained(folder / "model")
        found["transformers"] = owner.encode(text, add_special_tokens=False)
    for name, ids in found.items():
        if ids != expected:
            raise ValueError(f"{name} gives other ids")
    return [*found]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("text")
    parser.add_argument("other")
    parser.add_argument("--new", type=int, default=8000)
    args = parser.parse_args()
    lines = Path(args.text).read_text(encoding="utf-8").splitlines(keepends=True)
    learn, held_out = "".join(lines[::2]), "".join(lines[1::2])
    other = Path(args.other).read_text(encoding="utf-8")
    done = run(fastbpe.load(args.model), learn, other, args.new)
    for name, tokenizer in (("base", done.base), ("extended", done.longer), ("pruned", done.small)):
        each = [tokenizer.count(text) / len(text.encode()) for text in (held_out, other)]
        print(f"{name:9} {tokenizer.n_vocab:6,} ids, tokens per byte: {each[0]:.3f} and {each[1]:.3f}")
    print(done.changes)
    print(done.id_map, "embedding", done.embedding.shape, "->", done.resized.shape)
    with tempfile.TemporaryDirectory() as folder:
        print("the same ids:", ", ".join(check_owners(done.small, Path(folder), learn + other)))


if __name__ == "__main__":
    main()
