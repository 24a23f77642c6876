"""Character-level tokenizers, as in most tokenizer.json, compared with the library tokenizers.

Each row compares ids, offsets or loading. tokenizers makes four files from the text: BPE of words between white
space, BPE of words after U+2581 as its SentencePieceBPETokenizer makes them, WordPiece as in BERT, and Unigram as
in T5. Others are given by path.
"""

from __future__ import annotations

import gc
import statistics
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tokenizers
from tokenizers import decoders, models, normalizers, pre_tokenizers, trainers

import fastbpe
from calls import Row, compare
from texts import cut
from workloads import DOCUMENT_BYTES

STOCK = "tokenizers"
VOCAB_SIZE = 8_000
TRAINING_BYTES = 2_000_000


def _documents(_: Any, text: str) -> list[str]:
    return cut(text, DOCUMENT_BYTES)


def _ids(tokenizer: Any, documents: list[str]) -> Any:
    if isinstance(tokenizer, tokenizers.Tokenizer):
        return [one.ids for one in tokenizer.encode_batch(documents, add_special_tokens=False)]
    return tokenizer.encode_batch(documents, allowed_special="all")


def _offsets(tokenizer: Any, documents: list[str]) -> Any:
    if isinstance(tokenizer, tokenizers.Tokenizer):
        return [(one.ids, one.offsets) for one in tokenizer.encode_batch(documents, add_special_tokens=False)]
    return tokenizer.encode_batch_with_offsets(documents, allowed_special="all")


def compare_zoo(paths: Sequence[Path], text: str, rounds: int) -> list[dict[str, Any]]:
    """Compare ids, offsets and loading of each file; print tables, and return the rows.

    Each call is timed twice: with a text whose pieces are in the caches of both libraries, and with new text.

    Args:
        paths: files of tokenizers beside the four that are made.
        text: text to encode.
        rounds: timed calls of each library in each row.
    """
    results = []
    with tempfile.TemporaryDirectory(prefix="fastbpe-bench-") as folder:
        for path in [*_made(text[:TRAINING_BYTES], Path(folder)), *paths]:
            name = path.parent.name if path.name == "tokenizer.json" else path.stem
            both = {"fastbpe": fastbpe.load(path), STOCK: tokenizers.Tokenizer.from_file(str(path))}
            calls = [("ids", 20, _ids), ("ids and offsets", 5, _offsets)]
            size = len(text) // len(calls) // (rounds + 1)
            parts = [text[i * size : (i + 1) * size] for i in range(len(calls) * (rounds + 1))]
            for what, bar, call in calls:
                title = f"{name}: 2 KB documents → {what}"
                new = [parts.pop() for _ in range(rounds + 1)]
                # The answers are compared on the first part, so its pieces are in the caches of both.
                for words, floor, texts in ((", text seen before", bar, new[:1] * (rounds + 1)), ("", 1, new)):
                    row = Row(title + words, floor, _documents, call, dream=bar)
                    results.append(compare(row, both, texts, both[STOCK]))
            results.append(_compare_loading(name, path, rounds))
    return results


def _made(text: str, folder: Path) -> list[Path]:
    """Train and save the four files."""
    words: Any = tokenizers.Tokenizer(models.BPE(unk_token="[UNK]"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    spaces: Any = tokenizers.Tokenizer(models.BPE(unk_token="<unk>"))
    spaces.normalizer, spaces.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
    spaces.decoder = decoders.Metaspace()
    bert: Any = tokenizers.Tokenizer(models.WordPiece(unk_token="[UNK]"))
    bert.normalizer, bert.pre_tokenizer = normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()
    bert.decoder = decoders.WordPiece()
    unigram: Any = tokenizers.Tokenizer(models.Unigram())
    unigram.normalizer, unigram.pre_tokenizer = normalizers.NFKC(), pre_tokenizers.Metaspace()
    unigram.decoder = decoders.Metaspace()
    options: dict[str, Any] = {"vocab_size": VOCAB_SIZE, "show_progress": False}
    made = []
    for name, one, trainer in (
        ("Whitespace", words, trainers.BpeTrainer(special_tokens=["[UNK]"], **options)),
        ("SentencePieceBPE", spaces, trainers.BpeTrainer(special_tokens=["<unk>"], **options)),
        ("WordPiece", bert, trainers.WordPieceTrainer(special_tokens=["[UNK]"], **options)),
        ("Unigram", unigram, trainers.UnigramTrainer(special_tokens=["<unk>"], unk_token="<unk>", **options)),
    ):
        one.train_from_iterator([text], trainer)
        made.append(folder / f"{name}.json")
        one.save(str(made[-1]))
    return made


def _compare_loading(name: str, path: Path, rounds: int) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for library, load in (("fastbpe", fastbpe.load), (STOCK, tokenizers.Tokenizer.from_file)):
        seconds = []
        for _ in range(rounds):
            gc.collect()
            started = time.perf_counter()
            load(str(path))
            seconds.append(time.perf_counter() - started)
        results[library] = {"seconds": seconds}
    shown = ", ".join(
        f"{one} {1000 * statistics.median(result['seconds']):,.1f} ms" for one, result in results.items()
    )
    print(f"\n{name}: load: {shown}")
    return {"row": f"{name}: load", "results": results, "notes": {}}
