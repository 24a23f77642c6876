"""train(): a source of text in, a Tokenizer out."""

from __future__ import annotations

import warnings
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NoReturn

from fastbpe._core.counter import PieceCounter
from fastbpe._core.learner import Learner
from fastbpe._version import __version__
from fastbpe.config import N_BYTES, ByteConfig
from fastbpe.errors import TrainingError, TrainingWarning
from fastbpe.model import Model
from fastbpe.sources import Source, documents, n_bytes
from fastbpe.special import make_matcher
from fastbpe.splitting import make_splitter
from fastbpe.splitting.cutting import make_cutter
from fastbpe.tokenizer import Tokenizer

if TYPE_CHECKING:
    from tqdm import tqdm


def train(
    source: Source, *, vocab_size: int, mode: str = "byte", progress: bool | None = None, **options: Any
) -> Tokenizer:
    """Learn a tokenizer from text.

    Deterministic: the same text and options give the same tokenizer on any machine and in any order of the
    documents (but with ties="first", which asks for the order).

    Args:
        source: a path or a list of paths (.txt, .jsonl or .parquet with a field "text"; also .gz or .zst), a
            folder, a pattern like "data/*.txt", or an iterable of documents (str, or bytes of UTF-8). Files are
            read as a stream: memory does not grow with them.
        vocab_size: the ids to end with: 256 bytes, merges, special tokens, in that order.
        mode: "byte".
        progress: bars on stderr: True, False, or None for only where stderr is a terminal.
        **options: see `ByteConfig`: pattern, special_tokens, ties, min_count, max_token_bytes.

    Raises:
        TrainingError: an option that cannot be met, or no text to learn from.

    Warns:
        TrainingWarning: no pair is left before vocab_size is reached.

    >>> tokenizer = train(["aaabdaaabac"], vocab_size=259, pattern=None)
    >>> tokenizer.encode("aaabdaaabac")
    [258, 100, 258, 97, 99]
    """
    if mode != "byte":
        raise TrainingError(f'mode={mode!r}: this version trains mode="byte"')
    config = ByteConfig(vocab_size=vocab_size, **options)
    hide = None if progress is None else not progress  # tqdm's None: hidden unless stderr is a terminal
    counter, n_read = _count(source, config, hide)
    merges = _learn(counter, config, hide)
    tokens = [bytes([byte]) for byte in range(N_BYTES)]
    for left, right, _ in merges:
        tokens.append(tokens[left] + tokens[right])
    report = asdict(config) | {
        "special_tokens": list(config.special_tokens),
        "library": __version__,
        "n_bytes": n_read,
        "n_pieces": sum(count for _, count in counter.items()),
        "n_distinct_pieces": len(counter),
    }
    return Tokenizer(
        Model(
            tokens=tokens,
            pattern=config.pattern,
            special_tokens={name: len(tokens) + i for i, name in enumerate(config.special_tokens)},
            training=report,
        )
    )


def _count(source: Source, config: ByteConfig, hide: bool | None) -> tuple[PieceCounter, int]:
    """The counted pieces of a source, and its bytes."""
    splitter = make_splitter(config.pattern)
    counter = PieceCounter(splitter)
    special = make_matcher(config.special_tokens, {}) if config.special_tokens else None
    n_read = 0
    with _bar("counting", n_bytes(source), hide, unit="B", unit_scale=True) as bar:
        for document in documents(source, cut=make_cutter(splitter, config.special_tokens)):
            n_here = counter.add_text(document, special)
            n_read += n_here
            bar.update(n_here)
    if not len(counter):
        raise TrainingError(
            "there is no text to learn from: the source holds "
            + ("nothing but special tokens" if n_read else "no document, or only empty ones")
        )
    return counter, n_read


def _learn(counter: PieceCounter, config: ByteConfig, hide: bool | None) -> list[tuple[int, int, int]]:
    """The merges, (left id, right id, count), in order of learning."""
    n_merges = config.vocab_size - N_BYTES - len(config.special_tokens)
    learner = Learner(
        counter,
        max_ids=N_BYTES + n_merges,
        ties_first=config.ties == "first",
        min_count=config.min_count,
        max_token_bytes=config.max_token_bytes,
        base_ranks=_stand_in_ranks() if config.ties == "huggingface" else None,
    )
    with _bar("learning", n_merges, hide, unit=" merges") as bar:
        learner.learn(lambda n_ids: bar.update(n_ids - N_BYTES - bar.n))
    merges = learner.merges()
    if len(merges) < n_merges:
        reached = config.vocab_size - n_merges + len(merges)
        warnings.warn(
            f"no pair is left to merge: the vocabulary has {reached} entries, not the {config.vocab_size} asked "
            "for; give more text, or ask for fewer",
            TrainingWarning,
            stacklevel=3,
        )
    return merges


def _bar(what: str, total: int | None, hide: bool | None, **options: Any) -> tqdm[NoReturn]:
    from tqdm import tqdm  # as long to import as all of fastbpe

    return tqdm(desc=what, total=total, disable=hide, **options)


def _stand_in_ranks() -> list[int]:
    """How tokenizers orders bytes: by the printable characters that stand for them in GPT-2's files.

    Bytes that are printable characters of Latin-1 stand for themselves; the others follow them, in order.
    """
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    order = printable + [byte for byte in range(N_BYTES) if byte not in printable]
    return [order.index(byte) for byte in range(N_BYTES)]
