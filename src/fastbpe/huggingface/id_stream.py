"""DecodeStream: a stream of ids that knows the text of most of them.

The class of tokenizers keeps the last ids and decodes all of them at each step; the new text is the decoded text
without a prefix, which is the text of the ids kept before. After the first text, an id that decodes to whole
characters adds only its own text, so a table of texts is enough. All other ids (parts of a character, the first
ids, skipped ones) go to a slow stream: an object of that class, which starts with the ids that it would have kept.

Those are not always the ids since the last text. Ids passed to the constructor have no prefix if they end within a
character or have no text: then they belong to the first text and are kept with it.
"""

from __future__ import annotations

from operator import index

from fastbpe._utils.named_tuples import NamedTuple

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

REPLACEMENT = "\ufffd"
_HEXADECIMAL = frozenset("0123456789ABCDEFabcdef")


class Changed(Exception):
    """Raised if the tokenizer has changed since the texts were found."""


class Texts(NamedTuple):
    """Texts that ids add to a stream.

    counter: list of one int, which changes when the tokenizer changes.
    known: id → its text; None: the text depends on the ids before.
    find: function of the last ids and an id that returns the id's text, or None. Raises Changed.
    """

    counter: list[int]
    known: dict[int, str | None]
    find: Callable[[list[int], int], str | None]


def text_after(decode: Callable[[list[int]], str], before: list[int], id: int) -> str | None:
    """Return the text that an id adds after other ids; None if the text depends on them."""
    start, whole, single = decode(before), decode([*before, id]), decode([id])  # decode_batch would wake threads
    if not start or not whole.startswith(start) or REPLACEMENT in whole:
        return None
    added = whole[len(start) :]
    return (added if added in (single, f" {single}") else None) or None


def is_byte_token(token: str) -> bool:
    """Tell whether a token represents a single byte, as <0x0A> does."""
    return token[:3] == "<0x" and token[5:] == ">" and _HEXADECIMAL.issuperset(token[3:5])


class DecodeStream:
    """Stream that decodes ids as they arrive, with the arguments and results of tokenizers' class.

    Args:
        ids: ids that came before.
        skip_special_tokens: leave special tokens out.
    """

    #: Class of the slow stream.
    slow: Any

    __slots__ = (
        "_counter",
        "_has_prefix",
        "_kept",
        "_known",
        "_last",
        "_n_prefix",
        "_quick",
        "_seen",
        "_skips",
        "_slow",
        "_texts",
        "_tokenizer",
    )

    def __init__(self, ids: Any = None, skip_special_tokens: bool | None = False) -> None:
        self._slow: Any = self.slow(ids, skip_special_tokens)
        self._skips = skip_special_tokens
        self._kept: list[int] = [] if ids is None else [*ids]  # ids that `_slow` keeps
        self._n_prefix = 0  # number of the first of these whose text is its prefix
        self._has_prefix = False  # the prefix is known not to be empty: then it stays until the next text
        self._last: list[int] | int = 0  # ids that `_slow` would keep after the last text
        self._tokenizer: Any = None
        self._quick: Any = None  # the tokenizer while the table may answer; None while `_slow` is at work
        self._texts: Texts | None = None
        self._known: dict[int, str | None] = {}
        self._counter = [0]
        self._seen = -1

    def step(self, tokenizer: Any, id: Any) -> str | None:
        """Add an id, or a list of ids, and return the text that it completes; None if it completes none."""
        if tokenizer is self._quick and self._counter[0] == self._seen:
            try:
                text = self._known[id]
            except (KeyError, TypeError):
                text = self._look_up(id)
            if text is not None:
                self._last = id
                return text
        return self._step(tokenizer, id)

    def _recent(self) -> list[int]:
        return self._last if isinstance(self._last, list) else [self._last]

    def _step(self, tokenizer: Any, id: Any) -> str | None:
        """Let the slow stream decode the id."""
        if self._quick is not None:
            self._kept, self._quick = [*self._recent()], None
            self._n_prefix, self._has_prefix = len(self._kept), False
            self._slow = self.slow(self._kept, self._skips)
        if not self._has_prefix and len(self._kept) > self._n_prefix:
            self._find_prefix(tokenizer)
        text: str | None = self._slow.step(tokenizer, id)
        self._kept += _ids_of(id)
        if text is None:
            return None
        del self._kept[: self._n_prefix]
        self._n_prefix, self._has_prefix = len(self._kept), False
        self._last = [*self._kept]
        if tokenizer is not self._tokenizer or self._counter[0] != self._seen:
            self._attach(tokenizer)
        if self._texts is not None and text and self._last:
            self._quick = tokenizer
        return text

    def _find_prefix(self, tokenizer: Any) -> None:
        """Find the prefix as tokenizers does: an empty one becomes the text of the kept ids, if that is whole."""
        skips = bool(self._skips)
        if tokenizer.decode(self._kept[: self._n_prefix], skip_special_tokens=skips):
            self._has_prefix = True
            return
        text = tokenizer.decode(self._kept, skip_special_tokens=skips)
        if not text.endswith(REPLACEMENT):
            self._n_prefix, self._has_prefix = len(self._kept), bool(text)

    @staticmethod
    def texts_of(tokenizer: Any, *, skips: bool) -> Texts | None:
        """Return the texts of a tokenizer's ids; None: the slow stream must decode all ids."""
        raise NotImplementedError

    def _attach(self, tokenizer: Any) -> None:
        """Find the texts of a tokenizer."""
        self._tokenizer, self._texts = tokenizer, self.texts_of(tokenizer, skips=bool(self._skips))
        if self._texts is not None:
            self._counter, self._known = self._texts.counter, self._texts.known
            self._seen = self._counter[0]

    def _look_up(self, id: Any) -> str | None:
        """Find the text that an id adds after others; None if it depends on them."""
        if self._texts is None or type(id) is not int:
            return None
        try:
            text = self._texts.find(self._recent()[-1:], id)
        except Changed:
            self._seen = -1
            return None
        self._known[id] = text
        return text

    def __copy__(self) -> DecodeStream:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> DecodeStream:
        from copy import deepcopy  # here: few programs copy a stream

        made = type(self).__new__(type(self))
        for name in DecodeStream.__slots__:
            setattr(made, name, getattr(self, name))
        made._slow, made._kept = deepcopy(self._slow), [*self._kept]
        return made


def _ids_of(id: Any) -> list[int]:
    """List the ids of a step. `id` is an id, a list or an array, and tokenizers has accepted it."""
    try:
        return [index(id)]
    except TypeError:
        return [*map(index, id)]
