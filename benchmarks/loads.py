"""Loading a vocabulary, each format compared with the library of the format, also with a first encode."""

from __future__ import annotations

import gc
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import fastbpe
from peers.splitters import for_oniguruma
from texts import DATA

BAR = 2.0  # seconds of the format's library / seconds of fastbpe, at least
NATIVE_BAR_SECONDS = 0.005  # maximum for 100,000 entries of a native file, which no other library reads
TEXT = "Hello world, how are you? 1234567 naïve 日本語\n" * 3
N_MERGES = 2000  # merges to learn for minbpe's file

Load = Callable[[], Any]
Encode = Callable[[Any], list[int]]


@dataclass
class Loading:
    """A file with the functions that load it and encode with it on both sides.

    The owner is the library whose format it is. `theirs` is None for the native format, which has no owner.
    """

    name: str
    owner: str
    ours: Load
    theirs: Load | None
    encode_theirs: Encode
    encode_ours: Encode = field(default=lambda tokenizer: tokenizer.encode(TEXT, allowed_special="all"))


def compare_loading(formats: Sequence[str], rounds: int) -> list[dict[str, Any]]:
    """Time loading of every file, with and without a first encode, print a table, and return the rows.

    Args:
        formats: keys of FILES.
        rounds: number of timed loads of each file.
    """
    os.environ["TIKTOKEN_CACHE_DIR"] = ""  # otherwise tiktoken would read its own copy of the file
    print("\n| file | owner | fastbpe, ms, median | best | owner, median | best | × owner | and encoding |")
    print("|---|---|---:|---:|---:|---:|---:|---:|")
    rows = []
    with tempfile.TemporaryDirectory(prefix="fastbpe-bench-") as folder:
        for name, make, files in _files(formats):
            try:
                rows.append(_measured(make(files, Path(folder)), rounds))
            except ImportError as error:
                print(f"left out: {name}: {error}")
    missed = [row["row"] for row in rows if not row["met"]]
    print(
        f"bar {BAR:g}× the owner, {NATIVE_BAR_SECONDS * 1e3:g} ms for 100,000 entries of .fbpe, best loads: "
        f"{'missed by ' + '; '.join(missed) if missed else 'met'}"
    )
    return rows


def _measured(loading: Loading, rounds: int) -> dict[str, Any]:
    sides: list[tuple[Load, Encode]] = [(loading.ours, loading.encode_ours)]
    if loading.theirs is not None:
        sides.append((loading.theirs, loading.encode_theirs))
    loaded = [load() for load, _ in sides]
    outputs = [encode(tokenizer) for tokenizer, (_, encode) in zip(loaded, sides, strict=True)]
    if any(output != outputs[0] for output in outputs):
        raise SystemExit(f"{loading.name}: {loading.owner} gives other ids")
    seconds: list[list[float]] = [[] for _ in sides]
    encoded: list[list[float]] = [[] for _ in sides]
    for number in range(rounds):
        for which in range(len(sides)) if number % 2 else reversed(range(len(sides))):
            load, both = _seconds(*sides[which])
            seconds[which].append(load)
            encoded[which].append(both)
    row: dict[str, Any] = {
        "row": f"{loading.name}, {loading.owner}",
        "bar": BAR,
        "seconds": seconds,
        "encoded": encoded,
    }
    shown = [f"{1e3 * value:.2f}" for times in seconds for value in (statistics.median(times), min(times))]
    if len(sides) == 2:
        row["ratio"], row["ratio_encoded"] = min(seconds[1]) / min(seconds[0]), min(encoded[1]) / min(encoded[0])
        row["met"] = row["ratio"] >= BAR
        shown += [f"{row['ratio']:.2f}", f"{row['ratio_encoded']:.2f}"]
    else:
        allowed = NATIVE_BAR_SECONDS * max(loaded[0].n_vocab, 100_000) / 100_000
        row |= {"bar": allowed, "met": min(seconds[0]) <= allowed}
        shown += ["–", "–", "–", "–"]
    print(f"| {loading.name} | {loading.owner} | {' | '.join(shown)} |")
    return row


def _seconds(load: Load, encode: Encode) -> tuple[float, float]:
    """Return the processor seconds of loading, and of loading and encoding. The result is dropped outside the
    clock."""
    gc.collect()
    gc.disable()
    try:
        started = time.process_time()
        tokenizer = load()
        loaded = time.process_time()
        encode(tokenizer)
        return loaded - started, time.process_time() - started
    finally:
        gc.enable()


def _files(formats: Sequence[str]) -> Iterator[tuple[str, Make, Sequence[Path]]]:
    """Yield every existing file of these formats, with its name and function; report those that are missing."""
    for make, names in (FILES[format_] for format_ in formats):
        for name in names:
            files = [DATA / "vocab" / part for part in name.split()]
            if all(path.exists() for path in files):
                yield name or "minbpe", make, files
            else:
                print(f"left out: {name}: not in {DATA / 'vocab'}")


def _tiktoken(files: Sequence[Path], folder: Path) -> Loading:
    import tiktoken
    from tiktoken.load import load_tiktoken_bpe

    path = files[0]
    known = fastbpe.load(path)

    def load() -> Any:
        ranks = load_tiktoken_bpe(str(path))
        return tiktoken.Encoding(
            path.name, pat_str=known.pattern, mergeable_ranks=ranks, special_tokens=known.special_tokens
        )

    return Loading(
        path.name,
        "tiktoken",
        lambda: fastbpe.load(path),
        load,
        lambda loaded: loaded.encode(TEXT, allowed_special="all"),
    )


def _tokenizer_json(files: Sequence[Path], folder: Path) -> Loading:
    import tokenizers

    path = files[0]
    return Loading(
        path.name,
        "tokenizers",
        lambda: fastbpe.load(path),
        lambda: tokenizers.Tokenizer.from_file(str(path)),
        _ids_of_tokenizers,
    )


def _gpt2(files: Sequence[Path], folder: Path) -> Loading:
    from tokenizers import Regex, models, pre_tokenizers
    from tokenizers import Tokenizer as Theirs

    vocab, merges = files
    pattern = fastbpe.PATTERNS[vocab.name.partition("_")[0]]
    assert isinstance(pattern, str)

    def load() -> Any:
        loaded = Theirs(models.BPE.from_file(str(vocab), str(merges)))
        split = pre_tokenizers.Split(Regex(for_oniguruma(pattern)), "isolated")
        bytes_ = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
        loaded.pre_tokenizer = pre_tokenizers.Sequence([split, bytes_])
        return loaded

    return Loading(
        f"{vocab.name}, {merges.name}", "tokenizers", lambda: fastbpe.load(vocab), load, _ids_of_tokenizers
    )


def _ids_of_tokenizers(loaded: Any) -> list[int]:
    ids: list[int] = loaded.encode(TEXT, add_special_tokens=False).ids
    return ids


def _sentencepiece(files: Sequence[Path], folder: Path) -> Loading:
    import sentencepiece

    path = files[0]
    return Loading(
        path.name,
        "sentencepiece",
        lambda: fastbpe.load(path),
        lambda: sentencepiece.SentencePieceProcessor(model_file=str(path)),
        lambda loaded: loaded.encode(TEXT),
        lambda tokenizer: tokenizer.encode(TEXT),
    )


def _native(files: Sequence[Path], folder: Path) -> Loading:
    path = folder / f"{files[0].stem}.fbpe"
    fastbpe.load(files[0]).save(path)
    return Loading(path.name, "none", lambda: fastbpe.load(path), None, lambda _: [])


def _minbpe(files: Sequence[Path], folder: Path) -> Loading:
    import minbpe  # in no package index; it may be on the path

    ours = fastbpe.minbpe.RegexTokenizer()
    ours.train("".join(f"{number} and some words " for number in range(20_000)), 256 + N_MERGES)
    ours.save(str(folder / "trained"))
    path = folder / "trained.model"

    def load() -> Any:
        loaded = minbpe.RegexTokenizer()
        loaded.load(str(path))
        return loaded

    return Loading(path.name, "minbpe", lambda: fastbpe.load(path), load, lambda loaded: loaded.encode(TEXT))


Make = Callable[[Sequence[Path], Path], Loading]  # from the files and a folder to write in

#: For each format the function that makes a Loading, and file names; two that belong together are joined by a
#: space. The file of minbpe is learned.
FILES: Mapping[str, tuple[Make, Sequence[str]]] = {
    "tiktoken": (_tiktoken, ("r50k_base.tiktoken", "cl100k_base.tiktoken", "o200k_base.tiktoken")),
    "tokenizer.json": (
        _tokenizer_json,
        [
            f"{name}_tokenizer.json"
            for name in ("falcon", "phi2", "whisper_large_v3", "phi3_mini", "openllama_zh_en")
        ],
    ),
    "gpt2": (_gpt2, ("gpt2_encoder.json gpt2_vocab.bpe", "qwen2_vocab.json qwen2_merges.txt")),
    "sentencepiece": (
        _sentencepiece,
        ("llama2_tokenizer.model", "mistral_v3_tokenizer.model", "bpemb_en_wiki_vs100000.model"),
    ),
    "minbpe": (_minbpe, ("",)),
    "native": (_native, ("cl100k_base.tiktoken", "whisper_large_v3_tokenizer.json", "llama2_tokenizer.model")),
}
