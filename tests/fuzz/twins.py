"""Fuzz targets of scanners, merges, decoders and training: the slow twins of tests/reference find the same."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise

import fastbpe
import reference.encoding
import reference.sequences
import reference.training
from fastbpe import PatternError, SequenceTokenizer, Tokenizer
from fastbpe._core.split.splitter import Splitter
from fastbpe.errors import TrainingError
from fastbpe.patterns import PATTERNS
from fastbpe.splitting import engine_of
from fastbpe.splitting.make import make_splitter
from fuzz.parsers import SEPARATOR
from helpers import split_oracles

MAX_PIECE = 200  # bytes of a piece that the slow twins merge
TEXTS = ("", "ab", "The cat's 12 naïve\n\n  漢字 x1.", "aaaaaaaabbbb \t\r\n", "\u0301e\u200d😀 A's'LL", "ſ K İ ǅ")


@cache
def _splitters() -> list[tuple[str, Splitter, list[Splitter]]]:
    return [
        (name, split_oracles.oracle(pattern), [*split_oracles.scanners(pattern), *split_oracles.engines(pattern)])
        for name, pattern in ((name, PATTERNS[name] or "") for name in split_oracles.NAMES)
    ]


@cache
def _all_splitters() -> list[Splitter]:
    return split_oracles.all_splitters()


def splitting(data: bytes) -> None:
    """Split a text by the scanners and engines of all patterns, and by the `regex` package."""
    text = data[: 1 << 10].decode("utf-8", "replace")
    for name, slow, fast in _splitters():
        wanted = slow.ends(text)
        for splitter in fast:
            found = split_oracles.difference(name, wanted, splitter, text)
            assert found is None, found


def raw_bytes(data: bytes) -> None:
    """Split bytes that are not UTF-8: ends rise and stay within the bytes."""
    for splitter in _all_splitters():
        found = split_oracles.fault(splitter, data)
        assert found is None, found


def regex(data: bytes) -> None:
    """Parse a split pattern; the engine splits as the `regex` package does."""
    pattern = data[:48].decode("utf-8", "ignore")
    try:
        make_splitter(pattern)
        engine = engine_of(pattern)
    except PatternError:
        return
    if engine is None:
        return
    slow = split_oracles.oracle(pattern)
    for text in TEXTS:
        with contextlib.suppress(PatternError):  # documented: a pattern that takes too many steps
            ends = engine.ends(text)
            wanted = slow.ends(text)
            assert ends == wanted, (pattern, text, ends, wanted)


def _vocabulary(data: bytes) -> tuple[dict[bytes, int], list[tuple[int, int]], bytes]:
    """Join tokens, which pairs of bytes of the first part name. Return ranks, merges and the second part."""
    given, _, text = data.partition(SEPARATOR)
    tokens = [bytes([i]) for i in range(256)]
    known, merges = set(tokens), []
    for left, right in zip(given[::2], given[1::2], strict=False):
        # The second half of the numbers means the newest tokens, so that long ones are made.
        pair = tuple(at if at < 128 or len(tokens) <= 256 else len(tokens) - 1 - at % 8 for at in (left, right))
        token = tokens[pair[0]] + tokens[pair[1]]
        if token not in known and len(token) <= 64:
            known.add(token)
            tokens.append(token)
            merges.append((pair[0], pair[1]))
    return {token: i for i, token in enumerate(tokens)}, merges, text[:MAX_PIECE]


def merging(data: bytes) -> None:
    """Merge a text by ranks and by a list of merges; count, cut and measure it."""
    ranks, merges, raw = _vocabulary(data)
    text = raw.decode("utf-8", "replace")
    tokenizer = Tokenizer.from_ranks(ranks, pattern=None)
    ids = tokenizer.encode_ordinary(text)
    assert ids == reference.encoding.encode(text, ranks), text
    assert tokenizer.encode_ordinary_batch([text, text], num_threads=1) == [ids, ids]
    assert tokenizer.count(text) == len(ids)
    assert [i for i, _ in zip(*tokenizer.encode_with_offsets(text), strict=True)] == ids
    assert "".join(text[start:end] for start, end in tokenizer.pieces(text)) == text
    for limit in (1, len(ids) // 2, len(ids)):
        assert len(tokenizer.encode_ordinary(tokenizer.truncate(text, limit))) <= limit
    listed = Tokenizer.from_merges(merges, pattern=None)
    pairs = {pair: (i, 256 + i) for i, pair in enumerate(merges)}
    assert listed.encode_ordinary(text) == reference.encoding.merge_pairs(pairs, text.encode()), text
    stream = tokenizer.encoder()
    parts = [i for character in text for i in stream.push(character)] + stream.finish()
    assert parts == ids


def sequences(data: bytes) -> None:
    """Merge a sequence of integers."""
    _, merges, symbols = _vocabulary(data)
    tokenizer = SequenceTokenizer.from_merges(merges, base_size=256)
    ids = tokenizer.encode(list(symbols))
    assert ids == reference.sequences.encode(merges, 256, symbols)
    assert list(tokenizer.decode(ids)) == list(symbols)


def decoding(data: bytes) -> None:
    """Decode ids in one call, in a batch and one by one."""
    ranks, _, raw = _vocabulary(data)
    tokenizer = Tokenizer.from_ranks(ranks, pattern=None)
    ids = [i if i < 128 else len(ranks) - 1 - i % 128 for i in raw]  # the second half: the newest tokens
    joined = reference.encoding.decode(ids, [*ranks])
    assert tokenizer.decode_bytes(ids) == joined
    assert tokenizer.decode_tokens_bytes(ids) == [[*ranks][i] for i in ids]
    text = joined.decode("utf-8", "replace")
    assert tokenizer.decode(ids) == text
    assert tokenizer.decode_batch([ids, ids, []]) == [text, text, ""]
    decoder = tokenizer.decoder()
    assert "".join(map(decoder.push, ids)) + decoder.finish() == text
    with contextlib.suppress(UnicodeDecodeError):
        assert tokenizer.decode(ids, errors="strict") == joined.decode()


def training(data: bytes) -> None:
    """Learn merges from words."""
    words = [word for word in data[:400].decode("utf-8", "replace").split("\n") if word]
    try:
        tokenizer = fastbpe.train(iter(words), vocab_size=266, pattern=None, progress=False, num_threads=1)
    except TrainingError:
        return
    found = reference.training.train([(word.encode(), 1) for word in words], n_merges=10)
    assert tokenizer.vocab[256:] == found.tokens[256:], (words, tokenizer.vocab[256:], found.tokens[256:])


def characters(data: bytes) -> None:
    """Take a text apart in any form: str of each width, bytes, lone surrogates."""
    for text in _texts(data):
        ids = _plain().encode_ordinary(text)
        whole = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        assert bytes(ids) == whole.encode(), text
        ends = [end for _, end in _plain().encode_with_offsets(text)[1]]
        assert all(a <= b for a, b in pairwise(ends)), text
        assert ends[-1:] in ([], [len(text)]), text


def _texts(data: bytes) -> Iterator[str]:
    yield data.decode("utf-8", "replace")
    yield data.decode("latin-1")
    yield data[: len(data) // 2 * 2].decode("utf-16-le", "surrogatepass")


@cache
def _plain() -> Tokenizer:
    return Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern="cl100k")


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target for target in (splitting, raw_bytes, regex, merging, decoding, training, characters)
} | {"merging_sequences": sequences}
