"""DecodeStream: a stream of ids that knows the text of most of them.

DecodeStream of the tokenizers library keeps the last ids and decodes all of them at each step; the new text is
what follows the prefix, the text of the ids that were kept before. After the first text, most ids add the same
text whichever ids are before them, so a table of texts is enough. All other ids (parts of a character, the first
ids, skipped ones, all ids if the decoder changes more than single tokens) go to a slow stream, which follows the
rules of that class. It starts with the ids that the class would have kept.

The class does not always keep only the ids since the last text. Ids passed to the constructor have no prefix if
they end within a character or have no text: then they belong to the first text and are kept with it.
"""

from __future__ import annotations

from operator import index

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.huggingface._id_stream import QuickStream
from fastbpe.tokenizer.internals import family_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from fastbpe.tokenizer.tokenizer import Tokenizer

REPLACEMENT = "\ufffd"
_QUICK = ("_quick", "_counter", "_seen", "_known", "_last")  # attributes of QuickStream


class Texts(NamedTuple):
    """Texts that ids add to a stream.

    counter: list of one object, which a change of the tokenizer replaces.
    seen: the object for which the texts are valid.
    known: id → its text; None: the text depends on the ids before.
    find: function of an id that returns its text, or None.
    """

    counter: list[Any]
    seen: object
    known: dict[int, str | None]
    find: Callable[[int], str | None]


def text_within(tokenizer: Tokenizer, id: int, *, skips: bool) -> str | None:
    """Return the text that an id adds after any other ids; None: the text depends on them, or is empty."""
    text = family_of(tokenizer).text_within(id)
    if text is None or REPLACEMENT in text:  # at the end of a text, it may be the beginning of a character
        return None
    # Twice, because the first token of a text may become nothing.
    return text if not skips or tokenizer.decode([id, id], skip_special_tokens=True) else None


class DecodeStream(QuickStream):
    """Stream that decodes ids as they arrive, with the arguments and results of tokenizers' class.

    ids: ids that come before the first step.
    skip_special_tokens: leave special tokens out.
    """

    #: Class of the slow stream.
    slow: Any

    __slots__ = ("_has_prefix", "_kept", "_n_prefix", "_skips", "_slow", "_texts", "_tokenizer")

    def __init__(self, ids: Any = None, skip_special_tokens: bool | None = False) -> None:
        self._slow: Any = self.slow(ids, skip_special_tokens)
        self._skips = skip_special_tokens
        self._kept: list[int] = [] if ids is None else [*ids]  # ids that `_slow` keeps
        self._n_prefix = 0  # number of ids at the start of `_kept` whose text is the prefix
        self._has_prefix = False  # the prefix is known not to be empty: then it stays until the next text
        self._tokenizer: Any = None
        self._texts: Texts | None = None

    def _step(self, tokenizer: Any, id: Any) -> str | None:
        """Let the slow stream decode an id, or a list of ids. Returns the text as `step` does."""
        if not hasattr(tokenizer, "decode"):
            raise TypeError(f"{type(tokenizer).__name__!r} object is not an instance of 'Tokenizer'")
        self._quick = None
        if self._last is not None:  # the table has answered since the last text of `_slow`
            self._kept, self._last = [self._last], None
            self._n_prefix, self._has_prefix = 1, False
            self._slow = self.slow(self._kept, self._skips)
        if not self._has_prefix and len(self._kept) > self._n_prefix:
            self._find_prefix(tokenizer)
        text: str | None = self._slow.step(tokenizer, id)
        self._kept += _ids_of(id)
        if text is None:
            return None
        del self._kept[: self._n_prefix]
        self._n_prefix, self._has_prefix = len(self._kept), False
        if tokenizer is not self._tokenizer or self._counter[0] is not self._seen:
            self._attach(tokenizer)
        if self._texts is not None and self._kept:  # [] after step(tokenizer, []), once the tokenizer has changed
            self._quick = tokenizer
        return text

    def _find_prefix(self, tokenizer: Any) -> None:
        """Find the prefix as tokenizers does: an empty one becomes the text of the kept ids.

        A text that ends within a character does not become the prefix.
        """
        skips = bool(self._skips)
        # Without ids, the decoder of a backend may panic, as a Strip after a Fuse does.
        if self._n_prefix and tokenizer.decode(self._kept[: self._n_prefix], skip_special_tokens=skips):
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
        self._tokenizer, self._texts = tokenizer, self.texts_of(tokenizer, skips=bool(self._skips))
        if self._texts is not None:
            self._counter, self._seen, self._known, _ = self._texts

    def _look_up(self, id: int) -> str | None:
        assert self._texts is not None
        text = self._known[id] = self._texts.find(id)
        return text

    def __copy__(self) -> DecodeStream:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> DecodeStream:
        from copy import deepcopy  # here: few programs copy a stream

        made = type(self).__new__(type(self))
        for name in (*DecodeStream.__slots__, *_QUICK):
            setattr(made, name, getattr(self, name))
        made._slow, made._kept = deepcopy(self._slow), [*self._kept]
        return made


def _ids_of(id: Any) -> list[int]:
    """Return the ids of a step as a list. id: an id, a list or an array, which the slow stream has accepted."""
    try:
        return [index(id)]
    except TypeError:
        return [*map(index, id)]
