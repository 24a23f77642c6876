"""Texts, vocabularies and peers. A test that asks for a file of the shared data skips where that is missing."""

from __future__ import annotations

import os
import random
import sysconfig
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

import pytest

import fastbpe
from fastbpe import PATTERNS, Tokenizer
from fastbpe._core.merge.table_builder import build_tables
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.train.byte_learner import Learner
from fastbpe._core.train.piece_counter import PieceCounter
from reference import STAND_IN_ORDER

if TYPE_CHECKING:
    import tiktoken  # tests of a wheel have no peers

DATA = Path(os.environ.get("FASTBPE_DATA", Path(__file__).parents[2] / "../shared/data"))

BYTES = {bytes([byte]): byte for byte in range(256)}

#: Texts in which pairs overlap, and the tokens that are learned from each, one after another.
OVERLAPS = [
    ("aaaa", ["aa", "aaaa"]),
    ("aaaaa", ["aa", "aaa", "aaaaa"]),
    ("aaa aaa", ["aa", "aaa", " aaa"]),
    ("abababab", ["ab", "abab", "abababab"]),
    ("aaaaa aaaa", ["aa", "aaaa", " aaaa", "aaaaa"]),
]

# As their publishers spell them, not as fastbpe does.
LLAMA3 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
LLAMA4 = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*"
    r"|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_META = {
    # encoding: (file, name of the pattern in fastbpe, the pattern, special tokens)
    "llama3": ("llama3_tokenizer.model", "llama3", LLAMA3, {"<|begin_of_text|>": 128000}),
    "llama4": ("llama4_tokenizer.model", "llama4", LLAMA4, {"<|begin_of_text|>": 200000}),
    "qwen2": ("qwen2.tiktoken", "qwen2", QWEN2, {"<|endoftext|>": 151643, "<|im_start|>": 151644}),
}
OPENAI = ("r50k_base", "p50k_base", "cl100k_base", "o200k_base")
PUBLISHED = (*OPENAI, *_META)

#: The texts of the shared data.
CORPORA = (
    "english.txt",
    "multilingual.txt",
    "json_yaml.txt",
    "emoji_mixed.txt",
    "taylorswift.txt",
    "botchan.txt",
    "wagahaiwa_nekodearu.txt",
    "tinyshakespeare.txt",
    "french_entre_nous.txt",
)


def data_file(*parts: str) -> Path:
    """Return the path of a file of the shared data; skip the test if it is missing."""
    path = DATA.joinpath(*parts)
    if not path.exists():
        pytest.skip(f"needs {'/'.join(parts)} of the test data: set FASTBPE_DATA to the folder that holds it")
    return path


@lru_cache
def published(name: str) -> Tokenizer:
    """A published vocabulary as fastbpe loads it. (lru_cache keeps no skip: that is an exception.)"""
    if name in OPENAI:
        return fastbpe.load(data_file("vocab", f"{name}.tiktoken"))
    file, pattern, _, special = _META[name]
    return fastbpe.load(data_file("vocab", file), pattern=pattern, special_tokens=special)


@lru_cache
def published_peer(name: str) -> tiktoken.Encoding:
    """Load the same vocabulary with tiktoken; OpenAI's by its own constructors, without the download."""
    import tiktoken
    import tiktoken_ext.openai_public
    from tiktoken.load import load_tiktoken_bpe

    if name in OPENAI:
        path = data_file("vocab", f"{name}.tiktoken")
        ranks = load_tiktoken_bpe(str(path))
        with mock.patch.object(tiktoken_ext.openai_public, "load_tiktoken_bpe", return_value=ranks):
            return tiktoken.Encoding(**getattr(tiktoken_ext.openai_public, name)())
    file, _, pattern, special = _META[name]
    ranks = load_tiktoken_bpe(str(data_file("vocab", file)))
    return tiktoken.Encoding(name, pat_str=pattern, mergeable_ranks=ranks, special_tokens=special)


def ranks_of(tokenizer: Tokenizer) -> dict[bytes, int]:
    """Token bytes to rank, without the special tokens: what tiktoken's constructor takes."""
    special = set(tokenizer.special_tokens.values())
    return {token: i for i, token in enumerate(tokenizer.vocab) if token and i not in special}


def peer_of(tokenizer: Tokenizer) -> tiktoken.Encoding:
    """tiktoken with the ranks, the pattern and the special tokens of a tokenizer of ours.

    tiktoken drops text that the pattern does not match, such as commas by BLOOM's. An alternative keeps it, which
    matches up to the next match of the pattern: Hugging Face's Split with "isolated", as ours.
    """
    import tiktoken

    pattern = tokenizer.pattern if isinstance(tokenizer.pattern, str) else r"[\s\S]+"
    if pattern in (PATTERNS["bloom"], PATTERNS["superbpe_lines"]):
        pattern = rf"{pattern}|[\s\S]+?(?={pattern}|\z)"
    return tiktoken.Encoding(
        "peer",
        pat_str=pattern,
        mergeable_ranks=ranks_of(tokenizer),
        special_tokens=tokenizer.special_tokens,
    )


def vocabulary(tokens: Mapping[bytes, int], merges: list[tuple[int, int, int]] | None = None) -> Vocabulary:
    """A core vocabulary of token bytes and ids, with all pairs the ranks give or just the merges listed."""
    listed: list[bytes] = [b""] * (max(tokens.values()) + 1)
    for token, token_id in tokens.items():
        listed[token_id] = token
    tables = build_tables(listed, merges)
    return Vocabulary(**tables, whole_piece_first=merges is None, drops_bytes=False)


@lru_cache
def standard_library(n_bytes: int) -> str:
    """Python source that every machine has; ASCII for the most part."""
    text, size = [], 0
    for path in sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py")):
        text.append(path.read_text(encoding="utf-8")[: n_bytes // 20])
        size += len(text[-1])
        if size >= n_bytes:
            break
    return "".join(text)[:n_bytes]


def corpus(name: str, n_bytes: int) -> str:
    """The first lines of a text of the shared data, about n_bytes of them."""
    with open(data_file("corpus", name), "rb") as file:
        data = file.read(n_bytes)
    return data[: data.rfind(b"\n") + 1].decode()


def random_texts(rng: random.Random) -> list[str]:
    """Some words over one to four letters, put together at random: ties and overlaps everywhere."""
    letters = "abcd"[: rng.randint(1, 4)]
    longest = rng.choice([3, 8, 25])
    words = ["".join(rng.choices(letters, k=rng.randint(1, longest))) for _ in range(rng.randint(1, 7))]
    words += ["".join(rng.choices(words, k=2)) for _ in range(rng.randint(0, 4))]
    return [rng.choice(["", " "]).join(rng.choices(words, k=rng.randint(1, 8))) for _ in range(3)]


def counted(pieces: Mapping[bytes, int] | Iterable[tuple[bytes, int]]) -> PieceCounter:
    """A counter that holds these pieces, in this order."""
    counter = PieceCounter(Splitter())
    for piece, count in pieces.items() if isinstance(pieces, Mapping) else pieces:
        counter.add_piece(piece, count)
    return counter


def learned(
    pieces: Mapping[bytes, int] | Iterable[tuple[bytes, int]],
    n_merges: int,
    *,
    ties: str = "pair",
    min_count: int = 1,
    max_token_bytes: int | None = None,
) -> list[tuple[int, int]]:
    """The merges that the fast engine learns from counted pieces, as pairs of ids."""
    learner = Learner(
        counted(pieces),
        max_ids=256 + n_merges,
        ties_first=ties == "first",
        min_count=min_count,
        max_token_length=max_token_bytes,
        base_ranks=[STAND_IN_ORDER.index(byte) for byte in range(256)] if ties == "huggingface" else None,
    )
    learner.learn()
    return [(left, right) for left, right, _ in learner.merges()]


def tokens_of(merges: Iterable[tuple[int, int]]) -> list[bytes]:
    """The bytes of every token that merges make, after the 256 bytes."""
    tokens = [*BYTES]
    for left, right in merges:
        tokens.append(tokens[left] + tokens[right])
    return tokens[256:]
