"""`Superwords`: options with which `train` learns tokens that span several words."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

from fastbpe._utils.arguments import integer
from fastbpe._utils.short_reprs import short_repr
from fastbpe._utils.suggestions import choose_one_of
from fastbpe.errors import TrainingError
from fastbpe.model import N_BYTES
from fastbpe.patterns import PatternLike, resolve_pattern

BOUNDLESS: Literal["boundless"] = "boundless"  # in place of options: words and superwords are learned together
WORDS: Literal["words"] = "words"  # learn only the words; many machines can then count runs of them
Documents = Literal["lines", "whole"]
DOCUMENTS = ("lines", "whole")


class Superwords:
    """Options for learning superwords: tokens that span several words, such as " of the".

    `train(superwords=Superwords(…))` learns in two stages, as SuperBPE does (arXiv 2503.13423). The first learns
    words with the split pattern of `train`. The second applies their merges to longer pieces, across word
    boundaries, and continues learning there. The tokenizer splits text as the second stage does.

    Args:
        start: int, float or None – number of ids before the first superword, without special tokens; a number
            below 1 is a fraction of vocab_size without special tokens. None: 0.9, or with base= all ids of the
            base.
        pattern: str, list of str or None – the split pattern of the second stage. Default: "superbpe_lines", the
            pattern of SuperBPE's script. A piece is a group of up to three digits; a run of two or more
            punctuation marks, with the space before it; or a run of spaces without its last one. Each stretch
            between these pieces is one piece, too.
        max_words: int or None – maximum number of words (parts between spaces) in a new token. Default: 4. None:
            no limit.
        forbid: list of str – texts that no new token may contain. Default: a colon followed by a space.
        documents: str – "lines" (the default): each line, with its line ending, is a document, as SuperBPE reads
            text, so that no token continues after a line ending. "whole": documents are not divided.

    Raises:
        TrainingError: an option has an invalid value.
        TypeError: an option has the wrong type.
        PatternError: the pattern is a misspelled name.

    >>> import fastbpe
    >>> text = ["in the end of the day of the week"] * 9
    >>> tokenizer = fastbpe.train(text, vocab_size=275, superwords=fastbpe.Superwords(start=270))
    >>> tokenizer.vocab[270:]
    [b' of the', b' the end', b' wee', b'in the end', b' day of the']
    """

    def __init__(
        self,
        start: float | None = None,
        pattern: PatternLike = "superbpe_lines",
        *,
        max_words: int | None = 4,
        forbid: Iterable[str] = (": ",),
        documents: Documents = "lines",
    ) -> None:
        self.start = _start(start)
        self.pattern = resolve_pattern(pattern)[1]
        self.max_words = None if max_words is None else integer("max_words", max_words)
        if self.max_words is not None and self.max_words < 1:
            raise TrainingError(f"max_words={max_words}: must be at least 1, or None")
        if isinstance(forbid, str):
            raise TrainingError(f"forbid={short_repr(forbid)}: must be a list of texts")
        self.forbid = tuple(forbid)
        for text in self.forbid:
            if not isinstance(text, str):
                raise TypeError(f"forbid must be a list of str, not of {type(text).__name__}")
            if not text:
                raise TrainingError("forbid=[''] forbids every token; leave the empty text out")
            text.encode()  # raises UnicodeEncodeError, a ValueError, for a surrogate
        if documents not in DOCUMENTS:
            raise TrainingError(choose_one_of("documents", documents, DOCUMENTS))
        self.documents = documents

    def __repr__(self) -> str:
        return f"Superwords({', '.join(f'{name}={short_repr(value)}' for name, value in vars(self).items())})"

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if isinstance(other, Superwords) else NotImplemented

    __hash__ = None  # type: ignore[assignment]


def n_first_ids(superwords: Superwords, vocab_size: int, n_special: int) -> int:
    """Return the number of ids at the end of the first stage, including special tokens.

    Raises TrainingError if the bytes do not fit into the first stage, or no id is left for a superword.
    """
    start = 0.9 if superwords.start is None else superwords.start
    n_first = int(start * (vocab_size - n_special)) if start < 1 else int(start)
    if n_first < N_BYTES:
        raise TrainingError(
            f"start={start} puts the first superword at id {n_first}, but the bytes have the first {N_BYTES} ids; "
            "raise start=" + ("" if start >= 1 else ", or vocab_size=")
        )
    if n_first + n_special >= vocab_size:
        raise TrainingError(
            f"start={start} puts the first superword at id {n_first}, but vocab_size={vocab_size} has only "
            f"{vocab_size - n_special} ids for tokens that are not special; lower start=, or raise vocab_size="
        )
    return n_first + n_special


def _start(start: float | None) -> float | None:
    """Check a start: an integer, or a fraction."""
    if start is None:
        return None
    is_fraction = isinstance(start, float)
    start = start if is_fraction else integer("start", start)
    if not (0 < start < 1 if is_fraction else start >= 1):
        raise TrainingError(
            f"start={start}: must be the first superword's id (an integer, at least 1), or a fraction between 0 "
            "and 1"
        )
    return start
