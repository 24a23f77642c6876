"""Readings: what `tokens()`, `word_ids()` and the like of a BatchEncoding return, computed by fastbpe."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from fastbpe.huggingface.columns import lay_out
from fastbpe.huggingface.encoding import Encoding, of_columns
from fastbpe.huggingface.row_columns import RowColumns
from fastbpe.huggingface.rows import HandOver, Plan, encode_rows
from fastbpe.tokenizer.families.words import Words
from fastbpe.tokenizer.internals import find_words
from fastbpe.transformers.engine import Engine
from fastbpe.transformers.handled_call import Call
from fastbpe.transformers.plans import make_offsets

TYPE_CHECKING = False
if TYPE_CHECKING:
    from fastbpe.huggingface.rows import WordIds

#: Methods of BatchEncoding that only read its encodings.
_METHODS = (
    *("tokens", "sequence_ids", "word_ids", "token_to_sequence", "token_to_word", "word_to_tokens"),
    *("token_to_chars", "char_to_token", "word_to_chars", "char_to_word"),
)


def readings_of(call: Call) -> list[Encoding]:
    """Return an encoding for each row of a call; it computes its columns when a program reads them.

    Raises HandOver as `encode_rows` does.
    """
    plan, inputs = call.plan, call.inputs
    word_ids: list[WordIds] = []
    rows, samples = encode_rows(plan, inputs, words=call.words, overflowing=call.overflowing, keep=word_ids.append)
    layout = lay_out(rows, plan.frame, plan.padding)
    columns = RowColumns(
        plan,
        inputs,
        layout,
        samples if call.overflowing else None,
        of_words=call.words,
        offsets=functools.partial(make_offsets, call.engine, plan),
        words_of=functools.partial(_words_of, call.engine, plan),
        names=call.engine.names,
        word_ids=word_ids,
    )
    ids = [layout.ids(i, [*row.ids]) for i, row in enumerate(rows)]
    return [of_columns(_Columns(columns, i, its), layout.ranges(i)) for i, its in enumerate(ids)]


class _Columns(dict[str, list[Any]]):
    """Columns of row i of a call, each computed when a program reads it. ids: the column of ids."""

    def __init__(self, source: RowColumns, i: int, ids: list[int]) -> None:
        super().__init__(ids=ids)
        self._source, self._i = source, i

    def __missing__(self, name: str) -> list[Any]:
        found = self._source.column(name, self._i, self["ids"])
        if found is None:
            raise HandOver("a column that fastbpe does not compute")
        self[name] = found
        return found


def _words_of(engine: Engine, plan: Plan, text: str, ids: list[int]) -> Words:
    allowed = frozenset() if plan.splits_special else "all"
    words = find_words(plan.tokenizer, text, ids, engine.names, allowed)
    if words is None:
        raise HandOver("words of a text with the name of a control symbol between user-defined symbols")
    return words


@functools.cache
def batch_encoding() -> Any:
    """Return the class of results: a subclass of transformers' BatchEncoding, pickled and copied as that class.

    The methods in _METHODS read fastbpe's encodings, if there are any. `encodings` and `[i]` are still objects of
    tokenizers, which a program may change.
    """
    from transformers.tokenization_utils_base import BatchEncoding

    def __reduce_ex__(self: Any, protocol: Any) -> tuple[Any, ...]:
        return object.__new__, (BatchEncoding,), self.__getstate__()

    body: dict[str, Any] = {
        "__module__": BatchEncoding.__module__,
        "__qualname__": BatchEncoding.__qualname__,
        "__doc__": BatchEncoding.__doc__,
        "__reduce_ex__": __reduce_ex__,
    }
    # A later version of transformers may drop a method.
    body |= {name: _reading(BatchEncoding, name) for name in _METHODS if hasattr(BatchEncoding, name)}
    return type(BatchEncoding.__name__, (BatchEncoding,), body)


def _reading(base: Any, name: str) -> Callable[..., Any]:
    """Return a method that does what the method of `base` does, with fastbpe's encodings if there are any."""
    original = getattr(base, name)

    @functools.wraps(original)
    def read(self: Any, *args: Any, **options: Any) -> Any:
        own = getattr(self._encodings, "own", None)
        found = None if own is None else own()
        if found is not None:
            view = object.__new__(base)
            view.data, view._encodings, view._n_sequences = self.data, found, self._n_sequences
            try:
                return original(view, *args, **options)
            except HandOver:
                pass
        return original(self, *args, **options)

    return read
