"""Check limits in seconds and megabytes, which tests do not assert: `python tools/faults.py`.

Prints a line for each check and exits with 1 if any fails:

- batches: a batch takes at most a tenth longer than a loop over its texts
- interrupts: Ctrl-C ends a long call within a second
- memory: resident memory stays flat over ten million different words
- threads: eight threads that share a tokenizer get the ids of one thread, for thirty seconds
- linear: a hostile text of twice the size takes less than 2.5 times as long, through every entry point. For a
  call that takes longer, the ratio of the next doubling is printed too (a step of the processor's caches occurs
  only once), and the ratio in a process that keeps freed memory, because memory left by other calls changes the
  time.

Needs FASTBPE_DATA (default ../shared/data beside the project). Takes about fifteen minutes; name checks to run
only those.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import os
import random
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import fastbpe
import fastbpe.sentencepiece
import fastbpe.tiktoken
from fastbpe import Tokenizer
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.train.byte_learner import Learner
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe.errors import TrainingError, TrainingWarning
from fastbpe.formats.tiktoken import list_tokens
from fastbpe.model import Model

ROOT = Path(__file__).resolve().parent.parent
DATA = Path(os.environ.get("FASTBPE_DATA", ROOT.parent / "shared" / "data"))
HOSTILE_CHARACTERS = 500_000  # length of a hostile text
N_KEPT_OBJECTS = 10_000_000  # small objects that keep a gigabyte of memory
MALLOPT = {"M_TRIM_THRESHOLD": -1, "M_MMAP_MAX": -4, "M_ARENA_MAX": -8}
MAX_GROWTH_RATIO, MAX_INTERRUPT_SECONDS, MAX_BATCH_RATIO, MAX_GROWN_BYTES = 2.5, 1.0, 1.1, 40 << 20

CODE = [*"abcdefnortx_$(){}[];,.=+!?:0", "function(", "return ", "var ", "=>", ").prototype.", "&&", '"use"']

#: Functions from n to a text of n characters (the texts of tests/unit/test_hostile.py).
HOSTILE: dict[str, Callable[[int], str]] = {
    **{repr(unit): (lambda n, unit=unit: unit * (n // len(unit))) for unit in (  # type: ignore[misc]
        "a", "^", "A", "Aa", " ", " \n", "\n", "-", "1", "😀", "的", "<", "<|endofte", "'", "\u0301", "\u200d",
        "\u00a0", "a b", "x1.", "\u0301\u0316", "▁", "ﬁ",
    )},
    "spaces and x": lambda n: " " * (n - 1) + "x",
    "letters": lambda n: noise("abcdefghijklmnopqrstuvwxyz", n),
    "base64": lambda n: noise("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/", n),
    "characters": lambda n: noise("".join(map(chr, range(0x20, 0x800))), n),
    "code without spaces": lambda n: noise(CODE, n)[:n],
}  # fmt: skip


def noise(alphabet: Sequence[str], n: int) -> str:
    """Return n random items; for all n, the longer text begins with the shorter."""
    return "".join(random.Random(5).choices(alphabet, k=n))


def seconds(call: Callable[..., Any], *arguments: Any) -> float:
    start = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - start


Call = Callable[[str], Any]


def linear(tokenizers: dict[str, Tokenizer]) -> list[str]:
    """Check that twice the text takes less than 2.5 times as long."""
    calls = {f"{kind}, {name}": call for kind, t in tokenizers.items() for name, call in entries(t).items()}
    calls |= drop_in_entries(tokenizers["cl100k"])
    failed = []
    worst = (0.0, "")
    for (entry, call), (name, make) in product(calls.items(), HOSTILE.items()):
        growth = growth_of(call, make, HOSTILE_CHARACTERS)
        worst = max(worst, (growth, f"{entry} of {name}"))
        if growth >= MAX_GROWTH_RATIO:
            failed.append((entry, name, growth, growth_of(call, make, 2 * HOSTILE_CHARACTERS)))
    print(f"linear: {len(HOSTILE) * len(calls)} calls, at worst {worst[0]:.2f} times for twice: {worst[1]}")
    kept = keep_memory()
    lines = [
        f"{entry} of {name}: {growth:.2f} times as long for twice the text, then {further:.2f}; "
        f"{growth_of(calls[entry], HOSTILE[name], HOSTILE_CHARACTERS):.2f} where freed memory is kept"
        for entry, name, growth, further in failed
    ]
    del kept
    return lines


def keep_memory() -> list[tuple[int]]:
    """Make this process keep the memory that it frees from now on, so that every call finds it.

    Otherwise the objects of the shorter text use memory left by other calls, and the longer text's partly
    use pages that the system creates for each call; then even a Python loop that makes tuples grows by 2.5. This
    hides the cost of memory that is new to a call, such as a buffer allocated twice. Python keeps its own memory
    as long as the returned list lives.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):  # without glibc there is no mallopt
        libc = ctypes.CDLL(None)
        for parameter, value in (("M_MMAP_MAX", 0), ("M_TRIM_THRESHOLD", -1), ("M_ARENA_MAX", 1)):
            libc.mallopt(MALLOPT[parameter], value)
    small = [(number,) for number in range(N_KEPT_OBJECTS)]
    return small[::1000]  # one object in each of Python's arenas: an arena is kept while any object in it lives


def growth_of(call: Call, make: Callable[[int], str], n: int) -> float:
    """Return the time for 2n characters divided by that for n: the least of three comparisons.

    Args:
        call: call to time.
        make: function from a length to a text.
        n: number of characters.
    """
    once, twice = make(n), make(2 * n)
    growth = 99.0
    for _ in range(3):  # on a busy machine any one comparison may be wrong
        short = min(seconds(call, once) for _ in range(3))
        long = min(seconds(call, twice) for _ in range(3))
        growth = min(growth, long / short)
        if growth < MAX_GROWTH_RATIO:
            break
    return growth


def eighth(text: str) -> str:
    """Return an eighth of a text, for calls that make an object for each id or chunk."""
    return text[: len(text) // 8]


def entries(t: Tokenizer) -> dict[str, Call]:
    """Return every entry point of a tokenizer by name."""
    return {
        "encode": lambda text: t.encode(text, allowed_special="all"),
        "encode_ordinary": lambda text: t.encode_ordinary(text),
        "encode_to_numpy": lambda text: t.encode_to_numpy(text, disallowed_special=()),
        "encode_batch": lambda text: t.encode_batch([text, text], num_threads=2, disallowed_special=()),
        "count": lambda text: t.count(text),
        "count up to": lambda text: t.count(text, max_tokens=len(text)),
        "encode_batch_to_numpy": lambda text: t.encode_batch_to_numpy([text], disallowed_special=()),
        "encode_with_offsets": lambda text: t.encode_with_offsets(text, disallowed_special=()),
        "pieces": lambda text: t.pieces(text),
        "fits": lambda text: t.fits(text, len(text) // 20),
        "truncate": lambda text: t.truncate(text, len(text) // 20),
        "truncate left": lambda text: t.truncate(text, len(text) // 20, side="left"),
        # A quarter: a chunk of spaces has 64,000 characters, and an eighth of the text would need no search.
        "chunk": lambda text: list(t.chunk(text[: len(text) // 4], 500, overlap=50)),
        "chunk shortly": lambda text: list(t.chunk(eighth(text), 50, overlap=5)),
        "decoder": lambda text: stream(t, eighth(text)),
    }


def stream(t: Tokenizer, text: str) -> str:
    decoder = t.decoder()
    return "".join(map(decoder.push, t.encode_ordinary(text))) + decoder.finish()


def drop_in_entries(cl100k: Tokenizer) -> dict[str, Call]:
    """Return the entry points of the drop-ins that tokenizers lack, and training."""
    special = {*cl100k.special_tokens.values()}
    ranks = {token: i for i, token in enumerate(cl100k.vocab) if token and i not in special}
    encoding = fastbpe.tiktoken.Encoding(
        "cl100k", pat_str=str(cl100k.pattern), mergeable_ranks=ranks, special_tokens=cl100k.special_tokens
    )
    processor = fastbpe.sentencepiece.SentencePieceProcessor(
        model_file=str(DATA / "vocab" / "llama2_tokenizer.model")
    )
    return {
        "tiktoken, encode": lambda text: encoding.encode(text, allowed_special="all"),
        "tiktoken, encode_with_unstable": lambda text: encoding.encode_with_unstable(
            eighth(text) + "th",
            allowed_special="all",  # one ending, because endings differ in the number of tokens that they begin
        ),
        "sentencepiece, encode": lambda text: processor.encode(text),
        "sentencepiece, offsets": lambda text: processor.encode(text, out_type="offset_mapping"),
        "train": lambda text: trained([text], vocab_size=500, pattern="cl100k"),
        "train code points": lambda text: trained(
            [text], vocab_size=3000, mode="codepoint", hard_vocab_limit=False, max_sentence_length=1 << 30
        ),
    }


def trained(documents: list[str], **options: Any) -> None:
    """Train on a text that may be tiny or empty, without warnings and errors."""
    with warnings.catch_warnings(), contextlib.suppress(TrainingError):
        warnings.simplefilter("ignore", TrainingWarning)
        fastbpe.train(documents, progress=False, num_threads=1, **options)


def batches(tokenizers: dict[str, Tokenizer]) -> list[str]:
    t = tokenizers["cl100k"]
    long = "Some words of a long text, again and again. " * 20_000
    shapes = {
        "one short text": ["Some words."],
        "one long text": [long],
        "a million empty texts": [""] * 1_000_000,
        "one huge and 100,000 tiny": [long * 5, *["tiny"] * 100_000],
        "100,000 tiny": ["tiny text"] * 100_000,
        "1,000 of 1 KB": [long[:1000]] * 1000,
        "20 of 100 KB": [long[:100_000]] * 20,
    }
    failed = []
    for name, texts in shapes.items():
        repeats = 2000 if name == "one short text" else 1
        for num_threads in (None, 1):
            ratio = 99.0
            for _ in range(3):  # on a busy machine any one comparison may be wrong
                ratio = min(ratio, batch_to_loop(t, texts, num_threads, repeats))
                if ratio <= MAX_BATCH_RATIO:
                    break
            print(f"batches: {name}, num_threads={num_threads}: {ratio:.2f} of the loop's time")
            if ratio > MAX_BATCH_RATIO:
                failed.append(
                    f"a batch of {name} with num_threads={num_threads}: {ratio:.2f} times the loop's time"
                )
    return failed


def batch_to_loop(t: Tokenizer, texts: list[str], num_threads: int | None, repeats: int) -> float:
    """Return the time of a batch divided by the time of the loop: the median of seven pairs."""
    return median(
        seconds(in_batches, t, texts, num_threads, repeats) / seconds(in_a_loop, t, texts, num_threads, repeats)
        for _ in range(7)
    )


def in_batches(t: Tokenizer, texts: list[str], num_threads: int | None, repeats: int) -> None:
    for _ in range(repeats):
        t.encode_batch(texts, num_threads=num_threads)


def in_a_loop(t: Tokenizer, texts: list[str], num_threads: int | None, repeats: int) -> None:
    for _ in range(repeats):
        _ = [t.encode(text, num_threads=num_threads) for text in texts]


def interrupts(tokenizers: dict[str, Tokenizer]) -> list[str]:
    t, unsplit = tokenizers["cl100k"], tokenizers["unsplit"]
    lines = [noise("abcdefgh   ", 100) for _ in range(20_000)] * 40
    ids = [t.encode(line) for line in lines[:1000]] * 1000
    uncut = "x1." * 20_000_000
    counter = PieceCounter(Splitter())
    for _ in range(1_000_000):
        counter.add_piece(random.randbytes(20), 1)
    # One for each turn below: a learner that was interrupted does not learn again.
    learners = {n: Learner(counter, max_ids=1_000_000) for n in (1, 2, 4)}
    calls: dict[str, Callable[[int], Any]] = {
        "Learner": lambda n: Learner(counter, max_ids=1_000_000),
        "Learner.learn": lambda n: learners[n].learn(),
        "encode": lambda n: t.encode("some words " * 10_000_000, num_threads=n),
        "encode without a cut": lambda n: t.encode(uncut, num_threads=n),
        "encode of one piece": lambda n: unsplit.encode("ab" * 4_000_000, num_threads=n),
        "encode_batch": lambda n: t.encode_batch(lines, num_threads=n),
        "encode_batch of texts without a cut": lambda n: t.encode_batch([uncut, uncut], num_threads=n),
        "encode_batch_to_numpy": lambda n: t.encode_batch_to_numpy(lines, num_threads=n),
        "count_batch": lambda n: t.count_batch(lines * 8, num_threads=n),
        "decode_batch": lambda n: t.decode_batch(ids * 4, num_threads=n),
    }
    failed = []
    worst = 0.0
    for (name, call), n in product(calls.items(), (1, 2, 4)):
        sent: list[float] = []

        def interrupt(sent: list[float] = sent) -> None:
            sent.append(time.perf_counter())
            os.kill(os.getpid(), signal.SIGINT)

        timer = threading.Timer(0.15, interrupt)
        timer.start()
        try:
            call(n)
            timer.cancel()
            timer.join()
            time.sleep(0.01)  # for an interrupt that comes at the last moment
            print(f"interrupts: {name}, num_threads={n}: was done before")
        except KeyboardInterrupt:
            late = time.perf_counter() - sent[0]
            worst = max(worst, late)
            if late > MAX_INTERRUPT_SECONDS:
                failed.append(f"{name} with num_threads={n} went on for {late:.2f} s after Ctrl-C")
    print(f"interrupts: at worst {worst:.2f} s")
    return failed


def memory(tokenizers: dict[str, Tokenizer]) -> list[str]:
    t = tokenizers["cl100k"]
    at: list[int] = []
    for first in range(0, 10_000_000, 100_000):
        words = [f"w{i * 2654435761 % 4294967291:x}" for i in range(first, first + 100_000)]
        t.encode_batch([" ".join(words[i::8]) for i in range(8)], num_threads=2)
        t.encode(" ".join(words))
        at.append(resident())
    grown = at[-1] - at[len(at) // 4]
    print(
        f"memory: {at[-1] >> 20} MB after ten million words, {grown / (1 << 20):+.1f} MB since a quarter of them"
    )
    return [f"{grown >> 20} MB more after ten million different words"] if grown > MAX_GROWN_BYTES else []


def resident() -> int:
    pages = Path("/proc/self/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def threads(tokenizers: dict[str, Tokenizer]) -> list[str]:
    t = tokenizers["cl100k"]
    texts = [noise("abcdefghi   \n.,é", 2000 << number) for number in range(8)]
    expected = [t.encode_ordinary(text, num_threads=1) for text in texts]
    wrong: list[str] = []
    turns = [0] * 8
    until = time.monotonic() + 30

    def work(number: int) -> None:
        text, ids = texts[number], expected[number]
        while time.monotonic() < until and not wrong:
            turns[number] += 1
            if t.encode_batch([text, "", text], num_threads=number % 4 + 1) != [ids, [], ids]:
                wrong.append(f"thread {number}, turn {turns[number]}: other ids than in one thread")
            if t.count(text) != len(ids) or t.decode(ids) != text:
                wrong.append(f"thread {number}, turn {turns[number]}: another count or text")

    workers = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    print(f"threads: {sum(turns)} turns in eight threads")
    return wrong


def normalized(ranks: dict[bytes, int]) -> Tokenizer:
    """Return a tokenizer that applies a Unicode form, changes characters, and puts a space before texts."""
    steps = [{"type": "NFKC"}, {"type": "Lowercase"}]
    return Tokenizer(
        Model(tokens=list_tokens(ranks), pattern="cl100k", special_tokens={}, normalizers=steps, prefix_space=True)
    )


def loaded() -> dict[str, Tokenizer]:
    cl100k = fastbpe.load(DATA / "vocab" / "cl100k_base.tiktoken")
    special = {*cl100k.special_tokens.values()}
    ranks = {token: i for i, token in enumerate(cl100k.vocab) if token and i not in special}
    return {
        "cl100k": cl100k,
        "unsplit": Tokenizer.from_ranks(ranks, pattern=None),
        "normalized": normalized(ranks),
        "llama2": fastbpe.load(DATA / "vocab" / "llama2_tokenizer.model"),
    }


#: `linear` is last, because it makes the process keep freed memory.
CHECKS = {check.__name__: check for check in (batches, interrupts, memory, threads, linear)}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checks", nargs="*", help=f"checks to run: {', '.join(CHECKS)}; default: all")
    chosen = set(parser.parse_args().checks or CHECKS)
    if unknown := chosen - set(CHECKS):
        parser.error(f"no such check: {', '.join(sorted(unknown))}")
    tokenizers = loaded()
    failed = [line for name, check in CHECKS.items() if name in chosen for line in check(tokenizers)]
    for line in failed:
        print(f"FAILED: {line}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
