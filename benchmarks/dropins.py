"""The methods of the drop-ins beside fastbpe's own: how much the other names cost."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from fastbpe import Tokenizer, minbpe, tiktoken
from texts import cut
from vocabularies import Vocabulary
from workloads import DOCUMENT_BYTES, SHORT_BYTES

BAR = 1.1  # times the seconds of fastbpe's own method
LONG_CALLS = 10  # one after another: the first finds the cache full of the other's tables
N_MERGES = 2000  # learned for minbpe's tokenizers

Method = Callable[[Any], Any]


def compare_dropins(vocabulary: Vocabulary, text: str, rounds: int) -> list[dict[str, Any]]:
    """Seconds of every method on the same inputs, printed as tables and returned as rows."""
    results = _compare("fastbpe.tiktoken", _tiktoken(vocabulary, text), rounds)
    return results + _compare("fastbpe.minbpe", _minbpe(text), rounds)


def _tiktoken(vocabulary: Vocabulary, text: str) -> dict[str, tuple[Method, Method, Sequence[Any]]]:
    ours = vocabulary.load()
    ranks = {token: i for i, token in enumerate(ours.vocab) if token and not ours.is_special_token(i)}
    assert isinstance(ours.pattern, str)
    theirs = tiktoken.Encoding(
        "bench", pat_str=ours.pattern, mergeable_ranks=ranks, special_tokens=ours.special_tokens
    )
    short, documents = cut(text, SHORT_BYTES), cut(text, DOCUMENT_BYTES)
    short_ids = ours.encode_ordinary_batch(short)
    return {
        "encode_ordinary, long": (ours.encode_ordinary, theirs.encode_ordinary, [text] * LONG_CALLS),
        "encode_ordinary, short": (ours.encode_ordinary, theirs.encode_ordinary, short),
        "encode, short": (_plain(ours), _plain(theirs), short),
        "encode with all allowed, short": (_allowing(ours), _allowing(theirs), short),
        "encode_to_numpy, short": (
            lambda text: ours.encode_to_numpy(text, disallowed_special=()),
            lambda text: theirs.encode_to_numpy(text, disallowed_special=()),
            short,
        ),
        "encode_ordinary_batch": (
            ours.encode_ordinary_batch,
            theirs.encode_ordinary_batch,
            [documents] * LONG_CALLS,
        ),
        "encode_single_token, token_to_id": (
            ours.token_to_id,
            theirs.encode_single_token,
            list(ranks)[: len(short)],
        ),
        "decode, long": (ours.decode, theirs.decode, [ours.encode_ordinary(text)] * LONG_CALLS),
        "decode, short": (ours.decode, theirs.decode, short_ids),
        "decode_bytes, short": (ours.decode_bytes, theirs.decode_bytes, short_ids),
        "decode_tokens_bytes, short": (ours.decode_tokens_bytes, theirs.decode_tokens_bytes, short_ids),
        "decode_with_offsets, short": (ours.decode_with_offsets, theirs.decode_with_offsets, short_ids),
        "decode_batch": (ours.decode_batch, theirs.decode_batch, [short_ids] * LONG_CALLS),
    }


def _plain(tokenizer: Tokenizer | tiktoken.Encoding) -> Method:
    """encode with nothing allowed or forbidden, for a text may hold anything."""
    return lambda text: tokenizer.encode(text, disallowed_special=())


def _allowing(tokenizer: Tokenizer | tiktoken.Encoding) -> Method:
    return lambda text: tokenizer.encode(text, allowed_special="all")


def _minbpe(text: str) -> dict[str, tuple[Method, Method, Sequence[Any]]]:
    theirs = minbpe.RegexTokenizer()
    theirs.train(text[: 1 << 20], 256 + _n_merges(text))
    ours = Tokenizer.from_merges(theirs.merges, pattern=theirs.pattern)
    short = cut(text, SHORT_BYTES)
    return {
        "encode_ordinary, long": (ours.encode_ordinary, theirs.encode_ordinary, [text] * LONG_CALLS),
        "encode_ordinary, short": (ours.encode_ordinary, theirs.encode_ordinary, short),
        "encode, short": (ours.encode, theirs.encode, short),
        "decode, long": (ours.decode, theirs.decode, [ours.encode_ordinary(text)] * LONG_CALLS),
        "decode, short": (ours.decode, theirs.decode, ours.encode_ordinary_batch(short)),
    }


def _n_merges(text: str) -> int:
    return min(N_MERGES, len(text) // 100)  # a short text has no more pairs


def _compare(
    title: str, methods: dict[str, tuple[Method, Method, Sequence[Any]]], rounds: int
) -> list[dict[str, Any]]:
    print(f"\n{title}\n")
    print("| method | calls | fastbpe, s | drop-in, s | drop-in : fastbpe |\n|---|---:|---:|---:|---:|")
    rows = []
    for name, (ours, theirs, inputs) in methods.items():
        if any(_listed(ours(item)) != _listed(theirs(item)) for item in inputs):
            raise SystemExit(f"{title}: {name} gives something else than fastbpe's own method")
        seconds: tuple[list[float], list[float]] = ([], [])
        for number in range(2 * rounds):  # in turning order, as what comes second finds a warmer cache
            for which in (0, 1) if number % 2 else (1, 0):
                seconds[which].append(_seconds((ours, theirs)[which], inputs))
        own, other = map(statistics.median, seconds)
        ratio = min(seconds[1]) / min(seconds[0])
        print(f"| {name} | {len(inputs)} | {own:.6f} | {other:.6f} | {ratio:.2f} |")
        rows.append({"row": f"{title}: {name}", "bar": BAR, "ratio": ratio, "seconds": seconds})
    missed = [row["row"] for row in rows if row["ratio"] > BAR]
    print(f"bar {BAR:g}, by the best calls: {'missed by ' + '; '.join(missed) if missed else 'met'}")
    return rows


def _seconds(method: Method, inputs: Sequence[Any]) -> float:
    started = time.process_time()  # of the processor: another name costs work, and no waiting
    for item in inputs:
        method(item)
    return time.process_time() - started


def _listed(output: Any) -> Any:
    return output.tolist() if hasattr(output, "tolist") else output
