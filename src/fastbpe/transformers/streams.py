"""DecodeStream: a stand-in for `tokenizers.decoders.DecodeStream` that knows the text of most ids.

The class of tokenizers keeps ids and decodes them all at each step: the text that they had when it last gave text
is its prefix. Then it keeps the ids behind the prefix. From there on, an id whose text is whole by itself gives
just that text, so a table answers. All other ids (parts of a character, the first ids, skipped ones) go to a
stream of tokenizers that begins with the ids which the class would keep.

Those are not always the ids since the last text. Ids given at the beginning have no prefix if they end within a
character or have no text: then they belong to the first text and are kept with it.
"""

from __future__ import annotations

import copy
import re
from operator import index
from typing import Any

import tokenizers.decoders

from fastbpe.transformers.engine import Engine, engine_for
from fastbpe.transformers.panics import BackendPanic, as_errors

STOCK: Any = tokenizers.decoders.DecodeStream

_BYTE = re.compile(r"<0x[0-9A-Fa-f]{2}>")
_REPLACEMENT = "\ufffd"


class DecodeStream:
    """Stream that decodes ids as they come, with the arguments and results of tokenizers' class.

    Args:
        ids: ids that came before.
        skip_special_tokens: leave special tokens out.
    """

    __slots__ = (
        "_counter",
        "_engine",
        "_has_prefix",
        "_kept",
        "_last",
        "_n_prefix",
        "_quick",
        "_seen",
        "_skips",
        "_stock",
        "_texts",
        "_tokenizer",
    )

    def __init__(self, ids: Any = None, skip_special_tokens: bool | None = False) -> None:
        self._stock: Any = STOCK(ids, skip_special_tokens)
        self._skips = skip_special_tokens
        self._kept: list[int] = [] if ids is None else [*ids]  # ids that `_stock` keeps
        self._n_prefix = 0  # of these, the first ones whose text is its prefix
        self._has_prefix = False  # the prefix is known not to be empty: then it stays until the next text
        self._last: list[int] | int = 0  # ids that `_stock` would keep after the last text
        self._tokenizer: Any = None
        self._quick: Any = None  # the tokenizer while the table may answer; None while `_stock` is at work
        self._engine: Engine | None = None
        self._texts: dict[int, str | None] = {}
        self._counter = [0]
        self._seen = -1

    def step(self, tokenizer: Any, id: Any) -> str | None:
        """Add an id, or a list of ids, and return the text that it completes; None if it completes none."""
        if tokenizer is self._quick and self._counter[0] == self._seen:
            try:
                text = self._texts[id]
            except (KeyError, TypeError):
                text = self._look_up(id)
            if text is not None:
                self._last = id
                return text
        return self._step(tokenizer, id)

    def _recent(self) -> list[int]:
        return self._last if isinstance(self._last, list) else [self._last]

    def _step(self, tokenizer: Any, id: Any) -> str | None:
        """Let a stream of tokenizers decode the id."""
        if self._quick is not None:
            self._kept, self._quick = [*self._recent()], None
            self._n_prefix, self._has_prefix = len(self._kept), False
            self._stock = STOCK(self._kept, self._skips)
        if not self._has_prefix and len(self._kept) > self._n_prefix:
            self._find_prefix(tokenizer)
        text: str | None = self._stock.step(tokenizer, id)
        self._kept += _ids_of(id)
        if text is None:
            return None
        del self._kept[: self._n_prefix]
        self._n_prefix, self._has_prefix = len(self._kept), False
        self._last = [*self._kept]
        if tokenizer is not self._tokenizer or self._counter[0] != self._seen:
            self._attach(tokenizer)
        if self._engine is not None and text and self._last:
            self._quick = tokenizer
        return text

    def _find_prefix(self, tokenizer: Any) -> None:
        """Find the prefix as tokenizers does: while it is empty, the ids kept become it if their text is whole."""
        skips = bool(self._skips)
        if tokenizer.decode(self._kept[: self._n_prefix], skip_special_tokens=skips):
            self._has_prefix = True
            return
        text = tokenizer.decode(self._kept, skip_special_tokens=skips)
        if not text.endswith(_REPLACEMENT):
            self._n_prefix, self._has_prefix = len(self._kept), bool(text)

    def _attach(self, tokenizer: Any) -> None:
        """Find the engine of a tokenizer."""
        self._tokenizer, self._engine = tokenizer, engine_for(tokenizer)
        engine = self._engine
        if engine is None:
            return
        self._counter, self._seen = engine.n_changes, engine.n_changes[0]
        if engine.ready() is None or not engine.decodes:
            self._engine = None
        else:
            self._texts = engine.texts[bool(self._skips)]

    def _look_up(self, id: Any) -> str | None:
        """Find the text that an id adds after others; None if it depends on them."""
        engine = self._engine
        if engine is None or type(id) is not int:
            return None
        tokenizer = engine.ready()
        if tokenizer is None or engine.texts[bool(self._skips)] is not self._texts:
            self._seen = -1  # the texts were made again in the meantime
            return None
        token = engine.original.id_to_token(id) if 0 <= id < 1 << 32 else None
        text: str | None = None
        if token is not None and not (tokenizer.mode != "byte" and _BYTE.fullmatch(token)):
            before = self._recent()[-1:]
            decode, skips = engine.original.decode, bool(self._skips)
            try:
                with as_errors():  # one by one: decode_batch would wake threads for three lists
                    start = decode(before, skip_special_tokens=skips)
                    whole = decode([*before, id], skip_special_tokens=skips)
                    single = decode([id], skip_special_tokens=skips)
            except BackendPanic:
                return None
            if start and whole.startswith(start) and _REPLACEMENT not in whole:
                added = whole[len(start) :]
                text = added if added in (single, f" {single}") else None
        self._texts[id] = text or None
        return text or None

    def __copy__(self) -> DecodeStream:
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> DecodeStream:
        made = type(self).__new__(type(self))
        for name in DecodeStream.__slots__:
            setattr(made, name, getattr(self, name))
        made._stock, made._kept = copy.deepcopy(self._stock), [*self._kept]
        return made


def _ids_of(id: Any) -> list[int]:
    """List the ids of a step. `id` is an id, a list or an array, and tokenizers has accepted it."""
    try:
        return [index(id)]
    except TypeError:
        return [*map(index, id)]
