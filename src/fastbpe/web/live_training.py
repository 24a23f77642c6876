"""Training on the page: a small vocabulary, the progress of its training, and its state at any earlier size."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from queue import SimpleQueue
from tempfile import TemporaryDirectory
from threading import Event, Lock, Thread
from typing import Any

from fastbpe.display.layout import parts_of
from fastbpe.display.shown_tokens import KnownTokens
from fastbpe.display.visible import visible_text
from fastbpe.errors import FastbpeError, TrainingWarning
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.training.dispatch import train
from fastbpe.web.answers import pairs
from fastbpe.web.shelf import Entry, Shelf

MAX_VOCAB_SIZE = 32_768  # largest vocabulary trained on the page
MAX_LISTED = 60  # characters of a token in the list of merges

Report = dict[str, Any]  # one line of JSON


class Trainer:
    """Trainer of small vocabularies, one at a time.

    Args:
        shelf: the shelf to which the vocabularies are added.
    """

    def __init__(self, shelf: Shelf) -> None:
        self._shelf = shelf
        self._lock = Lock()

    def reports(self, text: bytes, *, vocab_size: int, pattern: str, name: str) -> Iterator[Report]:
        """Train on a text, and yield the progress; the last report contains the vocabulary, or an error.

        Training ends early if the iterator is closed.

        Args:
            text: the text, in UTF-8.
            vocab_size: target number of ids.
            pattern: name of the split pattern, or "none".
            name: name of the vocabulary on the page.
        """
        if not self._lock.acquire(blocking=False):
            yield {"error": "another training is running; wait until it ends"}
            return
        try:
            yield from self._run(text, vocab_size, pattern, name)
        finally:
            self._lock.release()

    def _run(self, text: bytes, vocab_size: int, pattern: str, name: str) -> Iterator[Report]:
        reports: SimpleQueue[Report | Entry] = SimpleQueue()
        closed = Event()

        def progress(phase: str, done: int, total: int | None) -> None:
            if closed.is_set():
                raise _Closed
            reports.put({"phase": phase, "done": done, "total": total})

        def learn() -> None:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", TrainingWarning)  # the page says that no pair was left
                    tokenizer = train([text], vocab_size=vocab_size, pattern=pattern, progress=progress)
                reports.put(self._shelf.add(name, tokenizer, is_trained=True))
            except (FastbpeError, ValueError, MemoryError) as error:
                reports.put({"error": visible_text(str(error))})
            except _Closed:
                pass
            except BaseException:
                reports.put({"error": "training failed; the terminal of fastbpe web shows the error"})
                raise

        thread = Thread(target=learn, name="fastbpe-web-training")
        thread.start()
        try:
            while not isinstance(report := reports.get(), Entry) and "error" not in report:
                yield report
            yield learned(report) if isinstance(report, Entry) else report
        finally:
            closed.set()
            thread.join()


class _Closed(Exception):
    """Raised to end a training after its page was closed."""


def learned(entry: Entry) -> Report:
    """Describe a trained vocabulary: its merges in order, each as the visible parts of its two tokens."""
    known = KnownTokens(entry.tokenizer)

    def drawn(token_id: int) -> list[tuple[str, bool]]:
        return pairs(parts_of(known.shown(token_id)), MAX_LISTED)

    merges = [(drawn(left), drawn(right)) for left, right in entry.tokenizer.merges]
    return {"tokenizer": entry.as_dict(), "merges": merges}


def at_size(tokenizer: Tokenizer, vocab_size: int) -> Tokenizer:
    """Return a trained tokenizer as it was at an earlier point of its training, with fewer ids.

    Args:
        tokenizer: a tokenizer trained on the page.
        vocab_size: number of ids, from 256 to the tokenizer's own.

    >>> tokenizer = train(["abcabc"], vocab_size=258, pattern=None, progress=False)
    >>> at_size(tokenizer, 257).encode("abc"), at_size(tokenizer, 256).encode("abc")
    ([256, 99], [97, 98, 99])
    """
    ranks = {token: rank for rank, token in enumerate(tokenizer.vocab[:vocab_size])}
    # A small cache: each request makes a tokenizer, and encodes one text with it.
    return Tokenizer.from_ranks(ranks, pattern=tokenizer.pattern, cache_bytes=1 << 20)


def file_of(tokenizer: Tokenizer) -> bytes:
    """Return the bytes of a tokenizer's native file."""
    with TemporaryDirectory(prefix="fastbpe-") as folder:
        path = Path(folder, "trained.fbpe")
        tokenizer.save(path)
        return path.read_bytes()
