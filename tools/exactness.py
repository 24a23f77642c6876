"""Compare ids and merges with the original libraries, on real vocabularies and texts.

    python tools/exactness.py [--quick]

Prints a table: the comparison, the text, the number of ids or merges, and the number that differ; exits with 1 if
any differs. Needs the [test] extra, and a folder of vocabularies and texts named by FASTBPE_DATA (default
../shared/data beside the project): vocab/*.tiktoken and corpus/*.txt. Takes about eight minutes; --quick takes
the first 2 MB of each text.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import hypothesis
import hypothesis.strategies as st
import tiktoken

import fastbpe
from fastbpe._utils.choices import Ties
from fastbpe.splitting import make_splitter

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("FASTBPE_DATA", ROOT.parent / "shared" / "data"))
sys.path.insert(0, str(ROOT / "tests"))

from helpers import peer_trainers, split_oracles  # noqa: E402  (modules of the tests)

VOCABULARIES = {
    "r50k_base.tiktoken": "gpt2",
    "p50k_base.tiktoken": "gpt2",
    "cl100k_base.tiktoken": "cl100k",
    "o200k_base.tiktoken": "o200k",
    "llama3_tokenizer.model": "llama3",
    "llama4_tokenizer.model": "llama4",
    "qwen2.tiktoken": "qwen2",
}
N_RANDOM_TEXTS = 20_000
VOCAB_SIZE = 4096
TRAINING_BYTES = 3_000_000

totals: dict[tuple[str, str], list[int]] = {}


def report(what: str, text: str, unit: str, n: int, n_different: int, seconds: float) -> None:
    """Print one row of the table, and add it to the summary.

    Args:
        what: the comparison, as "subject / peer".
        text: name of the text.
        unit: ids, merges or pieces.
        n: number of units compared.
        n_different: number of units that differ.
        seconds: time of the comparison.
    """
    total = totals.setdefault((what, unit), [0, 0, 0])
    for i, value in enumerate((1, n, n_different)):
        total[i] += value
    print(f"| {what:<34} | {text:<24} | {n:>12,} {unit:<6} | {n_different:>11,} | {seconds:>7.1f} |", flush=True)


def summarise() -> int:
    """Print the table again with all texts of a row together, and return the number of differences."""
    print("\n| compared | texts | how many | different |\n|---|---:|---:|---:|")
    for (what, unit), (n_texts, n, n_different) in totals.items():
        print(f"| {what} | {n_texts} | {n:,} {unit} | {n_different:,} |")
    return sum(n_different for _, _, n_different in totals.values())


def texts_of(path: Path, limit: int | None) -> list[str]:
    """Return the documents of a jsonl file, or the lines of a text with their ends.

    Args:
        path: file to read.
        limit: number of bytes to read, or None for all.
    """
    data = path.read_bytes()[:limit].decode(errors="ignore")
    if path.suffix == ".jsonl":
        lines = data.split("\n")[: None if limit is None else -1]
        return [json.loads(line)["text"] for line in lines if line]
    return data.splitlines(keepends=True)


def random_texts() -> Iterator[str]:
    """Return texts of all scripts, with lone marks, emoji, controls, runs of white space, NULs and lone
    surrogates."""
    odd = st.sampled_from(
        ["\u0301", "\u200d", "\ufe0f", "\0", "\x1c", "\x85", "\u180e", "\u3000", "\r\n", "\n\n", "  ", "\t ",
         "'s", "'RE", "\u017f", "\u212a", "ǅ", "😀", "👨‍👩‍👧", "٣", "Ⅷ", "½", "\ud83d", "\udc4d", "/", "//\n"]
    )  # fmt: skip
    runs = st.builds(lambda c, n: c * n, st.sampled_from(" \n\t\r\u00a0'a1é漢ا/"), st.integers(1, 40))
    characters = st.characters(codec=None)
    text = st.lists(st.one_of(odd, runs, st.text(characters, max_size=8)), max_size=20).map("".join)
    made: list[str] = []

    @hypothesis.settings(
        max_examples=N_RANDOM_TEXTS,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(text)
    def collect(example: str) -> None:
        made.append(example)

    while len(made) < N_RANDOM_TEXTS:
        collect()
    return iter(made[:N_RANDOM_TEXTS])


def compare_encoding(limit: int | None) -> None:
    """Compare every vocabulary on every text with tiktoken, and check that decoding returns every text."""
    random = list(random_texts())
    for name, pattern in VOCABULARIES.items():
        tokenizer = fastbpe.load(DATA / "vocab" / name, pattern=pattern, special_tokens={})
        peer = tiktoken.Encoding(
            name,
            pat_str=str(tokenizer.pattern),
            mergeable_ranks={token: i for i, token in enumerate(tokenizer.vocab) if token},
            special_tokens={},
        )
        for path in [*sorted((DATA / "corpus").iterdir()), None]:
            started = time.perf_counter()
            texts = random if path is None else texts_of(path, limit)
            n_ids = n_different = 0
            for text, ids in zip(texts, tokenizer.encode_ordinary_batch(texts), strict=True):
                n_ids += len(ids)
                n_different += ids != peer.encode_ordinary(text)
                whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode()
                n_different += tokenizer.decode_bytes(ids) != whole
            where = path.name if path else f"{N_RANDOM_TEXTS:,} random texts"
            report(f"{name} / tiktoken", where, "ids", n_ids, n_different, time.perf_counter() - started)


def compare_splitting(limit: int | None) -> None:
    """Compare every way of splitting by a named pattern with the `regex` splitter, on whole texts."""
    for name in split_oracles.NAMES:
        pattern = fastbpe.PATTERNS[name] or ""
        slow = split_oracles.oracle(pattern)
        fast = [*split_oracles.scanners(pattern), *split_oracles.engines(pattern)]
        for path in sorted((DATA / "corpus").glob("*.txt")):
            started = time.perf_counter()
            text = path.read_bytes()[:limit].decode(errors="ignore")
            wanted = slow.ends(text)
            n_different = sum(splitter.ends(text) != wanted for splitter in fast)
            what = f"split by {name} / regex tier"
            report(what, path.name, "pieces", len(wanted) * len(fast), n_different, time.perf_counter() - started)


def compare_training(limit: int | None) -> None:
    """Compare learned merges, each rule for ties with the library that has it."""
    pattern = peer_trainers.WORDS
    rules: list[tuple[Ties, str, Callable[[str], list[tuple[bytes, bytes]]]]] = [
        ("pair", "rustbpe", lambda text: peer_trainers.rustbpe_merges([text], VOCAB_SIZE, pattern)),
        ("pair", "bpeasy", lambda text: peer_trainers.bpeasy_merges([text], VOCAB_SIZE, pattern)),
        ("huggingface", "tokenizers", lambda text: peer_trainers.huggingface_merges([text], VOCAB_SIZE, pattern)),
        (
            "first",
            "minbpe's rule",
            lambda text: peer_trainers.minbpe_merges(pieces_of(text, pattern), VOCAB_SIZE - 256),
        ),
    ]
    for name in ("english.txt", "multilingual.txt"):
        data = (DATA / "corpus" / name).read_bytes()[: min(limit or TRAINING_BYTES, TRAINING_BYTES)]
        text = data.decode(errors="ignore")
        for ties, peer, merges_of_peer in rules:
            started = time.perf_counter()
            ours = fastbpe.train([text], vocab_size=VOCAB_SIZE, pattern=pattern, ties=ties, progress=False)
            vocab = ours.vocab
            merges = [(vocab[left], vocab[right]) for left, right in ours.merges]
            theirs = merges_of_peer(text)
            n_different = sum(a != b for a, b in zip(merges, theirs, strict=False))
            n_different += abs(len(merges) - len(theirs))
            report(f"train {ties} / {peer}", name, "merges", len(merges), n_different,
                   time.perf_counter() - started)  # fmt: skip


def pieces_of(text: str, pattern: str) -> Counter[bytes]:
    """Return the counted pieces of a text, in order of first appearance."""
    ends = make_splitter(pattern).ends(text)
    data = text.encode()
    return Counter(data[start:end] for start, end in pairwise([0, *ends]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="take only the first 2 MB of each text")
    limit = 2_000_000 if parser.parse_args().quick else None
    if not DATA.is_dir():
        print(f"no folder {DATA}: set FASTBPE_DATA", file=sys.stderr)
        return 2
    print(f"| {'compared':<34} | {'text':<24} | {'how many':<19} | different   | seconds |")
    print(f"|{'-' * 36}|{'-' * 26}|{'-' * 21}|{'-' * 13}|{'-' * 9}|")
    compare_training(limit)
    compare_splitting(limit)
    compare_encoding(limit)
    return int(summarise() > 0)


if __name__ == "__main__":
    sys.exit(main())
