"""Every vocabulary of the shared data on every corpus, line by line, against the original library.

Ids with and without special tokens, decoded text (whole and streamed), and offsets if the library has them.
FASTBPE_FULL=1 takes all lines; otherwise the first ones. test_huggingface.py has the byte-level tokenizer.json
files.
"""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import pytest
import sentencepiece
import tiktoken
import tokenizers
from tiktoken.load import load_tiktoken_bpe
from tokenizers import AddedToken, Regex, models, pre_tokenizers

import fastbpe
from fastbpe import Tokenizer
from helpers import codepoint_models
from helpers.sampling import FULL, SEED
from helpers.shared_data import CORPORA, DATA, QWEN2, data_file, published, published_peer
from helpers.tokenizer_json import PUBLISHED as BYTE_LEVEL

SHORT_BYTES = 10_000
LINES_AT_ONCE = 20_000
FILES = (*CORPORA, "english.jsonl")
Ids = list[list[int]]
Places = list[list[tuple[int, int]]] | None  # None: the library has no offsets
Special = dict[str, int]


@dataclass(frozen=True)
class Pair:
    """A vocabulary in fastbpe, and the functions of the original library.

    encode: return the ids of lines, with special tokens allowed or as text, and their offsets.
    """

    tokenizer: Tokenizer
    encode: Callable[[list[str], bool], tuple[Ids, Places]]
    decode: Callable[[Ids], list[str]]


# tiktoken

RANKED = {
    "r50k_base": "r50k_base.tiktoken",
    "p50k_base": "p50k_base.tiktoken",
    "cl100k_base": "cl100k_base.tiktoken",
    "o200k_base": "o200k_base.tiktoken",
    "llama3": "llama3_tokenizer.model",
    "llama4": "llama4_tokenizer.model",
    "qwen2": "qwen2.tiktoken",
}
# The publishers use several patterns or special tokens among the ranks; here only the ranks matter.
RANKS = {"deepseek_v3": ("deepseek_v3.tiktoken", "llama3"), "tekken": ("mistral_tekken_v3.tiktoken", "tekken")}


def ranked(name: str) -> Pair:
    if name in RANKED:
        return with_tiktoken(published(name), published_peer(name))
    file, pattern = RANKS[name]
    path = data_file("vocab", file)
    ranks = load_tiktoken_bpe(str(path))
    special = {"<|one|>": max(ranks.values()) + 1, "<|two|>": max(ranks.values()) + 7}
    tokenizer = fastbpe.load(path, pattern=pattern, special_tokens=special)
    peer = tiktoken.Encoding(name, pat_str=str(tokenizer.pattern), mergeable_ranks=ranks, special_tokens=special)
    return with_tiktoken(tokenizer, peer)


def with_tiktoken(tokenizer: Tokenizer, peer: tiktoken.Encoding) -> Pair:
    def encode(lines: list[str], special: bool) -> tuple[Ids, Places]:
        if special:
            return peer.encode_batch(lines, num_threads=1, allowed_special="all"), None
        return peer.encode_ordinary_batch(lines, num_threads=1), None

    return Pair(tokenizer, encode, lambda batch: [peer.decode(ids) for ids in batch])


# tokenizers

LISTED = {
    "gpt2 files": ("gpt2_encoder.json", "gpt2_vocab.bpe", None, {"<|endoftext|>": 50256}),
    "qwen2 files": ("qwen2_vocab.json", "qwen2_merges.txt", QWEN2, {"<|endoftext|>": 151643}),
}
LLAMA_KIND = {"phi3": "phi3_mini_tokenizer.json", "openllama": "openllama_zh_en_tokenizer.json"}


def listed(name: str) -> Pair:
    vocab, merges, pattern, special = LISTED[name]
    path = data_file("vocab", vocab)
    peer = tokenizers.Tokenizer(models.BPE.from_file(str(path), str(data_file("vocab", merges))))
    byte_level = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=pattern is None)
    split = [pre_tokenizers.Split(Regex(pattern), "isolated")] if pattern else []
    peer.pre_tokenizer = pre_tokenizers.Sequence([*split, byte_level])
    peer.decoder = tokenizers.decoders.ByteLevel()
    peer.add_special_tokens([AddedToken(token, normalized=False) for token in special])
    return with_tokenizers(fastbpe.load(path, special_tokens=special), peer)


def llama_kind(name: str) -> Pair:
    data = data_file("vocab", LLAMA_KIND[name]).read_bytes()
    return with_tokenizers(fastbpe.load(data), tokenizers.Tokenizer.from_str(data.decode()))


def with_tokenizers(tokenizer: Tokenizer, peer: tokenizers.Tokenizer) -> Pair:
    peer.no_truncation()
    peer.no_padding()

    def encode(lines: list[str], special: bool) -> tuple[Ids, Places]:
        peer.encode_special_tokens = not special
        encodings = peer.encode_batch(lines, add_special_tokens=False)
        return [encoding.ids for encoding in encodings], [encoding.offsets for encoding in encodings]

    def decode(batch: Ids) -> list[str]:
        return peer.decode_batch(batch, skip_special_tokens=False)

    return Pair(tokenizer, encode, decode)


# sentencepiece


def scored(name: str) -> Pair:
    data = codepoint_models.published_bytes(name)
    peer = sentencepiece.SentencePieceProcessor(model_proto=data)

    def encode(lines: list[str], special: bool) -> tuple[Ids, Places]:
        if not special:
            found = peer.encode(lines, out_type="offset_mapping")
            return [each["ids"] for each in found], [each["offsets"] for each in found]
        out, names = [], tokenizer.special_tokens
        for line in lines:  # sentencepiece finds no control symbols; the text between them is a text of its own
            parts = _cut(line, names)
            out.append([i for text, token in parts for i in (peer.encode(text) if token is None else [token])])
        return out, None

    tokenizer = fastbpe.load(data)
    return Pair(tokenizer, encode, peer.decode)


@lru_cache
def _any_of(names: frozenset[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(re.escape, sorted(names, key=len, reverse=True))))


def _cut(line: str, special: Special) -> Iterator[tuple[str, int | None]]:
    """Yield text and special tokens in turn; the leftmost longest token wins."""
    at = 0
    for match in _any_of(frozenset(special)).finditer(line):
        yield line[at : match.start()], None
        yield match[0], special[match[0]]
        at = match.end()
    yield line[at:], None


MAKERS: dict[str, Callable[[str], Pair]] = {
    **dict.fromkeys((*RANKED, *RANKS), ranked),
    **dict.fromkeys(LISTED, listed),
    **dict.fromkeys(LLAMA_KIND, llama_kind),
    **dict.fromkeys(codepoint_models.PUBLISHED, scored),
}


@lru_cache(2)
def pair_of(name: str) -> Pair:
    return MAKERS[name](name)


def test_every_vocabulary_and_corpus_is_covered() -> None:
    known = {*RANKED.values(), *codepoint_models.PUBLISHED.values(), *LLAMA_KIND.values()}
    known |= {file for file, _ in RANKS.values()} | {file for files in LISTED.values() for file in files[:2]}
    known |= {f"{name}_tokenizer.json" for name in BYTE_LEVEL}
    known |= {"sp_test_model.model", "sp_test_ja_model.model"}  # unigram models, which are refused
    assert {path.name for path in data_file("vocab").iterdir()} == known
    assert {path.name for path in (DATA / "corpus").iterdir()} == {*FILES}


def batches(name: str) -> Iterator[list[str]]:
    """Yield the lines of a corpus with their ends, or the documents of a jsonl file; without FASTBPE_FULL only
    the first."""
    with open(data_file("corpus", name), encoding="utf-8", newline="") as file:
        left = float("inf") if FULL else SHORT_BYTES
        while left > 0 and (lines := list(itertools.islice(file, LINES_AT_ONCE if FULL else 40))):
            left -= sum(map(len, lines))
            yield [json.loads(line)["text"] for line in lines] if name.endswith(".jsonl") else lines


def with_special(lines: Sequence[str], special: Special, rng: random.Random) -> list[str]:
    """Return the lines, each with a special token inserted at a random position."""
    out = []
    for line in lines:
        at = rng.randint(0, len(line))
        name = rng.choice([*special])
        out.append(line[:at] + rng.choice(["", " ", "  "]) + name + rng.choice(["", " "]) + line[at:])
    return out


def first_difference(ours: Sequence[object], theirs: Sequence[object], lines: Sequence[str]) -> str:
    """Return a message about the first difference; pytest would take minutes to compare long lists."""
    found = next((i for i, (a, b) in enumerate(zip(ours, theirs, strict=True)) if a != b), None)
    return "" if found is None else f"{lines[found]!a}: {ours[found]} is not {theirs[found]}"


def streamed(tokenizer: Tokenizer, ids: list[int], rng: random.Random) -> str:
    stream, at, text = tokenizer.decoder(), 0, []
    while at < len(ids):
        size = rng.choice((1, 1, 2, 7, 40))
        text.append(stream.push(ids[at] if size == 1 else ids[at : at + size]))
        at += size
    return "".join(text) + stream.finish()


def check(pair: Pair, lines: list[str], special: bool, rng: random.Random) -> int:
    """Compare ids, texts and offsets, and return the number of ids."""
    tokenizer = pair.tokenizer
    expected, places = pair.encode(lines, special)
    allowed = {"allowed_special": "all" if special else (), "disallowed_special": ()}
    found = tokenizer.encode_batch(lines, **allowed) if special else tokenizer.encode_ordinary_batch(lines)
    if found != expected:
        pytest.fail(f"ids of {first_difference(found, expected, lines)}")
    texts = pair.decode(expected)
    decoded = tokenizer.decode_batch(found)
    if decoded != texts:
        pytest.fail(f"text of {first_difference(decoded, texts, lines)}")
    streams = [streamed(tokenizer, ids, rng) for ids in found]
    if streams != texts:
        pytest.fail(f"streamed text of {first_difference(streams, texts, lines)}")
    if places is not None:
        both = [tokenizer.encode_with_offsets(line, **allowed) for line in lines]
        wanted = list(zip(expected, places, strict=True))
        if both != wanted:
            pytest.fail(f"offsets of {first_difference(both, wanted, lines)}")
    return sum(map(len, found))


@pytest.mark.sample(26)
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("name", MAKERS)
def test_lines_of_corpora_equal_the_original_library(name: str, file: str) -> None:
    pair = pair_of(name)
    rng = random.Random(f"{SEED} {name} {file}")
    n_lines = n_ids = 0
    for lines in batches(file):
        n_lines += len(lines)
        n_ids += check(pair, lines, False, rng)
        if pair.tokenizer.special_tokens:
            n_ids += check(pair, with_special(lines, pair.tokenizer.special_tokens, rng), True, rng)
    print(f"{name} on {file}: {n_lines} lines, {n_ids} ids")  # shown by pytest -s
