"""Texts in the form in which a byte-level base merges them: normalized, and cut at special and added tokens.

Most bases only cut texts at tokens, which the counter finds itself. A base that normalizes text or puts a space
before it, or whose added tokens have flags or are found in normalized text, needs a second tokenizer (`Twin`) with
the same rules but no splitter, whose only ordinary tokens are the bytes. When the twin encodes a text, the ids
between special and added tokens are the bytes that the base would split and merge.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from fastbpe._core.split.splitter import Splitter
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe._core.text.utf8_text import utf8_size
from fastbpe.corpus.source_kinds import Cut, Document
from fastbpe.model import N_BYTES, Model
from fastbpe.tokenizer.internals import cutter_of, model_of, special_of, splitter_of
from fastbpe.tokenizer.tokenizer import Tokenizer


@dataclass(frozen=True)
class BaseTexts:
    """Functions that turn a document into the texts that a base merges.

    splitter: cuts text into pieces.
    special: finder of the tokens that cut a document; None: there are no such tokens, or `stretches` finds them.
    cut: function that finds safe cuts of a long document; None: the document is kept whole in memory.
    stretches: function that returns the normalized texts between the tokens of documents; None: documents are not
        normalized.
    divide: function that divides long documents into several with the same pieces; None: the splitter has safe
        cuts, or no cuts are known.
    """

    splitter: Splitter
    special: SpecialMatcher | None
    cut: Cut | None
    stretches: Callable[[Iterable[Document], Callable[[int], object]], Iterator[bytes]] | None = None
    divide: Callable[[Iterable[Document]], Iterator[Document]] | None = None


def texts_of_base(base: Tokenizer, special_tokens: Iterable[str]) -> BaseTexts:
    """Return the functions with which a base cuts and changes documents before it merges.

    Args:
        base: the byte-level tokenizer.
        special_tokens: new special tokens, which are not tokens of the base. They also cut documents.
    """
    base = base.with_special_tokens([*special_tokens])
    model, names = model_of(base), special_of(base)
    finder = names.trusted
    with_flags = any(token.lstrip or token.rstrip or token.single_word for token in names.added)
    if model.normalizers or model.prefix_space or with_flags or (finder is not None and finder.then is not None):
        twin = Twin(base)
        return BaseTexts(splitter_of(base), None, None, twin.stretches)
    return BaseTexts(splitter_of(base), finder, cutter_of(base, base.special_tokens))


class Twin:
    """Copy of a byte-level tokenizer that neither merges nor splits. Its bytes have ids after all others.

    base: the tokenizer.
    """

    def __init__(self, base: Tokenizer) -> None:
        self._first = base.n_vocab
        model: Model = model_of(base)._replace(
            tokens=[b""] * self._first + [bytes([byte]) for byte in range(N_BYTES)],
            tables=None,
            pattern=None,
            pre_tokenizers=(),
            merges=b"",
            merges_rule="ranks",
            drops_bytes=False,
            template=((), ()),
            pair_template=(),
            roles={},
            huggingface={},
            fingerprint="",
            training={},
        )
        self._tokenizer = Tokenizer(model, cache_bytes=0)

    def stretches(self, documents: Iterable[Document], report: Callable[[int], object]) -> Iterator[bytes]:
        """Yield the texts between tokens of each document, normalized, as UTF-8.

        Args:
            documents: the documents.
            report: function to call with the number of bytes of each document.
        """
        for document in documents:
            report(utf8_size([document]))
            ids = array("I", self._tokenizer.encode(document, allowed_special="all"))
            first = self._first
            start = 0
            for at, token_id in enumerate(ids):
                if token_id < first:
                    if start < at:
                        yield bytes([i - first for i in ids[start:at]])
                    start = at + 1
            if start < len(ids):
                yield bytes([i - first for i in ids[start:]])
