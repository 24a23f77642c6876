"""Calls of several libraries on the same parts of a text, compared with one of them and timed in turn."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import report
from rounds import Outcome, Timing, turned


class Row(NamedTuple):
    """Kind of call.

    title: as the table names it.
    bar: speed of fastbpe / speed of the best other library, at least.
    inputs: (stock tokenizer, text) → the input of a call, made outside the clock.
    run: the timed call.
    dream: the ratio hoped for.
    against: bars against libraries by name, in place of `bar`.
    """

    title: str
    bar: float
    inputs: Callable[[Any, str], Any]
    run: Callable[[Any, Any], Any]
    dream: float = 2.0
    against: dict[str, float] = {}  # noqa: RUF012  # never changed


def compare(row: Row, tokenizers: dict[str, Any], parts: list[str], stock: Any) -> dict[str, Any]:
    """Compare answers on the first part, then time each part in each library, in rotating order."""
    outcome = Outcome(row)  # type: ignore[arg-type]  # it reads only title and bars
    expected = _plain(row.run(stock, row.inputs(stock, parts[0])))
    for name, tokenizer in tokenizers.items():
        try:
            same = _plain(row.run(tokenizer, row.inputs(stock, parts[0]))) == expected
        except Exception as error:
            outcome.notes[name] = f"lacks the call: {type(error).__name__}: {error}"[:200]
        else:
            if same:
                outcome.timings[name] = Timing(sum(len(part.encode()) for part in parts[1:]) // len(parts[1:]))
            else:
                outcome.notes[name] = "its answers differ from stock's"
    names = [*outcome.timings]
    for number, part in enumerate(parts[1:]):
        for name in turned(names, number):
            inputs = row.inputs(stock, part)
            gc.collect()
            gc.disable()
            try:
                busy, started = time.process_time(), time.perf_counter()
                row.run(tokenizers[name], inputs)
                seconds, busy = time.perf_counter() - started, time.process_time() - busy
            finally:
                gc.enable()
            outcome.timings[name].seconds.append(seconds)
            outcome.timings[name].cores.append(busy / seconds)
    report.print_outcome(outcome)
    return report.as_json(outcome)


def _plain(answer: Any) -> Any:
    """Return an answer as lists, which can be compared."""
    if hasattr(answer, "tolist"):
        return answer.tolist()
    return [*answer] if isinstance(answer, (list, tuple)) else answer
