"""Calls of transformers, stock and over faster backends, on documents that no tokenizer has met before.

Each round has its own part of the text, which every library gets once. Answers are compared with stock's on the
first part, outside the clock.
"""

from __future__ import annotations

import gc
import json
import shutil
import tempfile
import time
from pathlib import Path
from typing import Any

import report
from calls import Row, compare
from fastbpe.transformers import accelerate, patch, status, unpatch
from fastbpe.transformers.decode_stream import STOCK as STOCK_STREAM
from fastbpe.transformers.decode_stream import DecodeStream
from texts import cut
from vocabularies import Vocabulary
from workloads import DOCUMENT_BYTES, SHORT_BYTES

STOCK = "transformers"


def _documents(_: Any, text: str) -> list[str]:
    return cut(text, DOCUMENT_BYTES)


def _short(_: Any, text: str) -> list[str]:
    return cut(text, SHORT_BYTES)


def _ids(stock: Any, text: str) -> list[list[int]]:
    return stock(cut(text, DOCUMENT_BYTES), add_special_tokens=False)["input_ids"]


def _stream(tokenizer: Any, rows: list[list[int]]) -> list[str | None]:
    kind = DecodeStream if status(tokenizer)["accelerated"] else STOCK_STREAM
    stream, backend = kind(skip_special_tokens=False), tokenizer._tokenizer
    return [stream.step(backend, token_id) for ids in rows for token_id in ids]


def _word_ids(batch: Any) -> list[list[int | None]]:
    return [batch.word_ids(i) for i in range(len(batch["input_ids"]))]


CUT = {"truncation": True, "max_length": 512, "padding": True, "return_tensors": "np"}
ROWS = (
    Row("2 KB documents → input_ids", 2, _documents, lambda t, x: t(x)["input_ids"]),
    Row("one long str → input_ids", 2, lambda _, text: text, lambda t, x: t(x)["input_ids"]),
    Row("100-byte strs one by one → input_ids", 2, _short, lambda t, x: [t(one)["input_ids"] for one in x]),
    Row("100-byte strs one by one, truncated → input_ids", 2, _short,
        lambda t, x: [t(one, truncation=True, max_length=512)["input_ids"] for one in x]),
    Row("100-byte strs one by one → offsets", 2, _short,
        lambda t, x: [t(one, return_offsets_mapping=True)["offset_mapping"] for one in x]),
    Row("100-byte strs one by one → word_ids", 2, _short, lambda t, x: [t(one).word_ids() for one in x]),
    Row("100-byte strs one by one → tokens", 2, _short, lambda t, x: [t.tokenize(one) for one in x]),
    Row("documents cut to 512 and padded → numpy", 2, _documents, lambda t, x: t(x, **CUT)["input_ids"]),
    Row("20 KB documents cut to 512 and padded → numpy", 2, lambda _, text: cut(text, 10 * DOCUMENT_BYTES),
        lambda t, x: t(x, **CUT)["input_ids"]),
    Row("2 KB documents → offsets", 2, _documents,
        lambda t, x: t(x, return_offsets_mapping=True)["offset_mapping"]),
    Row("2 KB documents → word_ids", 2, _documents, lambda t, x: _word_ids(t(x))),
    Row("lists of words → word_ids", 2, lambda _, text: [one.split() for one in cut(text, DOCUMENT_BYTES)],
        lambda t, x: _word_ids(t(x, is_split_into_words=True))),
    Row("lists of ids → texts", 2, _ids, lambda t, x: t.batch_decode(x)),
)  # fmt: skip


def compare_calls(vocabulary: str, pattern: str, text: str, rounds: int) -> list[dict[str, Any]]:
    """Compare the kinds of calls, loading, and the face of tokenizers; print tables, and return the rows.

    Args:
        vocabulary: name of a vocabulary, or the path of a tokenizer.json.
        pattern: split pattern of a .tiktoken file.
        text: text to encode.
        rounds: timed calls of each library in each row.
    """
    with tempfile.TemporaryDirectory(prefix="fastbpe-bench-") as folder:
        if vocabulary.endswith(".json"):
            shutil.copy(vocabulary, f"{folder}/tokenizer.json")
        else:
            Vocabulary(vocabulary, pattern).load().export(folder, format="huggingface")
            if vocabulary in ("llama3", "llama4"):
                _begin_texts(Path(folder) / "tokenizer.json", "<|begin_of_text|>")
        found, missing = _load_all(Path(folder))
        report.print_notes(missing)
        rows = [*ROWS, _STREAM]
        size = len(text) // (len(rows) + 1) // (rounds + 1)
        parts = [text[i * size : (i + 1) * size] for i in range((len(rows) + 1) * (rounds + 1))]
        results = []
        for row in rows:
            some = found if row is not _STREAM else {name: found[name] for name in ("fastbpe", STOCK)}
            results.append(compare(row, some, [parts.pop() for _ in range(rounds + 1)], found[STOCK]))
        face = {"fastbpe": _face(folder, ours=True), "tokenizers": _face(folder, ours=False)}
        results.append(compare(_FACE, face, [parts.pop() for _ in range(rounds + 1)], face["tokenizers"]))
        return [*results, _compare_loading(Path(folder), rounds)]


def _begin_texts(file: Path, token: str) -> None:
    """Add a template that begins each text with a token, as Llama's files do. A file of ranks has no template."""
    written = json.loads(file.read_text(encoding="utf-8"))
    (token_id,) = (added["id"] for added in written["added_tokens"] if added["content"] == token)

    def step(kind: str, name: str, type_id: int) -> dict[str, Any]:
        return {kind: {"id": name, "type_id": type_id}}

    single = [step("SpecialToken", token, 0), step("Sequence", "A", 0)]
    written["post_processor"] = {
        "type": "TemplateProcessing",
        "single": single,
        "pair": [*single, step("SpecialToken", token, 1), step("Sequence", "B", 1)],
        "special_tokens": {token: {"id": token, "ids": [token_id], "tokens": [token]}},
    }
    file.write_text(json.dumps(written, ensure_ascii=False), encoding="utf-8")


_STREAM = Row("ids one by one → DecodeStream", 2, _ids, _stream)
_FACE = Row(
    "2 KB documents → ids, tokenizers' own calls", 2, _documents, lambda t, x: [e.ids for e in t.encode_batch(x)]
)


def _face(folder: str, *, ours: bool) -> Any:
    import tokenizers

    import fastbpe.tokenizers

    module: Any = fastbpe.tokenizers if ours else tokenizers
    return module.Tokenizer.from_file(f"{folder}/tokenizer.json")


def _stock(folder: Path) -> Any:
    from transformers import PreTrainedTokenizerFast

    made: Any = PreTrainedTokenizerFast.from_pretrained(folder)
    if made.pad_token is None:
        made.pad_token = made.convert_ids_to_tokens(2)  # any token: the same for all libraries
    return made


def _accelerated(folder: Path) -> Any:
    return accelerate(_stock(folder))


def _patched(folder: Path) -> Any:
    patch()
    return _stock(folder)


def _fastokens(folder: Path) -> Any:
    import fastokens

    fastokens.patch_transformers()
    try:
        return _stock(folder)
    finally:
        fastokens.unpatch_transformers()


def _gigatoken(folder: Path) -> Any:
    import gigatoken

    return gigatoken.Tokenizer(_stock(folder)).as_hf()


LOADERS = {"fastbpe": _accelerated, STOCK: _stock, "fastokens": _fastokens, "gigatoken": _gigatoken}


def _load_all(folder: Path) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the tokenizers by name, and why others are missing."""
    found, missing = {}, {}
    for name, load in LOADERS.items():
        try:
            found[name] = load(folder)
        except Exception as error:  # a library is missing, or does not take the vocabulary
            missing[name] = f"{type(error).__name__}: {error}"
    return found, missing


def _compare_loading(folder: Path, rounds: int) -> dict[str, Any]:
    """Time loading with the first encode."""
    results: dict[str, Any] = {}
    print("\nload and encode the first text\n\n| library | ms, median | best |\n|---|---:|---:|")
    for name, load in (("fastbpe", _accelerated), ("fastbpe, patch()", _patched), (STOCK, _stock)):
        seconds = []
        for _ in range(rounds):
            gc.collect()
            started = time.perf_counter()
            load(folder)("Hello, world!")
            seconds.append(time.perf_counter() - started)
            unpatch()
        results[name] = {"seconds": seconds}
        print(f"| {name} | {1000 * sorted(seconds)[len(seconds) // 2]:,.0f} | {1000 * min(seconds):,.0f} |")
    return {"row": "load and encode the first text", "results": results, "notes": {}}
