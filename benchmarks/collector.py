"""Time calls that make many Python objects, with the garbage collector on: `python benchmarks/collector.py`.

Prints a table: each call, and the median of --calls calls in milliseconds; results are dropped at once.
Compare two builds by running it with each of them in turn, in processes of their own.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import cache

import report
import texts
from vocabularies import NAMES, Vocabulary

N_BYTES = 4_000_000
STRING_CHARACTERS, DOCUMENT_CHARACTERS, SHORT_TEXT_CHARACTERS = 100, 2_000, 1_000_000


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vocab", choices=NAMES, default="cl100k", help="the vocabulary (cl100k)")
    parser.add_argument("--calls", type=int, default=9, help="calls of each kind; their median counts (9)")
    chosen = parser.parse_args()
    report.print_machine(report.machine(threads=2))
    print("\n| call | ms, median |\n|---|---:|")
    for name, call in calls(chosen.vocab).items():
        print(f"| `{name}` | {1000 * median_seconds(call, chosen.calls):.1f} |", flush=True)
    return 0


def calls(vocab: str) -> dict[str, Callable[[], object]]:
    """Name the calls that are timed, those that need lists of ids last: the collector looks through these, too."""
    tokenizer = Vocabulary(vocab).load()
    text = texts.read("english", N_BYTES)
    strings = [text[at : at + STRING_CHARACTERS] for at in range(0, len(text), STRING_CHARACTERS)]
    documents = [text[at : at + DOCUMENT_CHARACTERS] for at in range(0, len(text), DOCUMENT_CHARACTERS)]
    short_text = text[:SHORT_TEXT_CHARACTERS]

    @cache
    def ids() -> list[list[int]]:
        return tokenizer.encode_batch(strings)

    def encode_and_drop() -> None:
        for string in strings:
            tokenizer.encode(string)

    return {
        "for s in strings: t.encode(s)": encode_and_drop,
        "[t.encode(s) for s in strings]": lambda: [tokenizer.encode(string) for string in strings],
        "t.encode_batch(strings)": lambda: tokenizer.encode_batch(strings),
        "t.encode_batch(strings, num_threads=1)": lambda: tokenizer.encode_batch(strings, num_threads=1),
        "t.encode_batch(documents)": lambda: tokenizer.encode_batch(documents),
        "[t.encode(d) for d in documents]": lambda: [tokenizer.encode(document) for document in documents],
        "t.encode(text)": lambda: tokenizer.encode(text),
        "t.encode_with_offsets(short_text)": lambda: tokenizer.encode_with_offsets(short_text),
        "t.pieces(short_text)": lambda: tokenizer.pieces(short_text),
        "t.encode_batch_to_numpy(documents)": lambda: tokenizer.encode_batch_to_numpy(documents),
        "t.decode_batch(ids)": lambda: tokenizer.decode_batch(ids()),
        "[t.decode(one) for one in ids]": lambda: [tokenizer.decode(one) for one in ids()],
    }


def median_seconds(call: Callable[[], object], n_calls: int) -> float:
    """Return the median time of n_calls calls. The first call, which is not counted, fills the caches."""
    call()
    seconds = []
    for _ in range(n_calls):
        started = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - started)
    return statistics.median(seconds)


if __name__ == "__main__":
    raise SystemExit(main())
