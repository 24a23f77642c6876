"""Decoders of Hugging Face's tokenizers as tables: steps that change each token by itself, and steps after them.

`tokenizer.step_decoding` builds the table itself, which has the bytes of each id.
"""

from __future__ import annotations

from collections.abc import Sequence

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.normalization.decoder_steps import ByteFallback, ByteLevel, EachToken, Fuse, Step


class Plan(NamedTuple):
    """Plan for decoding with a table of bytes.

    each: steps that change each token by itself, possibly with ByteFallback among them.
    as_bytes: the last of these steps, if it turns tokens into bytes; else None.
    after: steps that change the joined text.
    knows_ends: the first or last token may change differently from others.
    has_bytes: byte tokens exist; they are not in the table.
    before, behind: steps before and after ByteFallback, if runs of byte tokens can be decoded separately.
    """

    each: list[Step]
    as_bytes: ByteLevel | ByteFallback | None
    after: list[Step]
    knows_ends: bool = False
    has_bytes: bool = False
    before: list[EachToken] | None = None
    behind: Sequence[EachToken] = ()


def find_plan(steps: Sequence[Step]) -> Plan | None:
    """Return the plan that is equivalent to some steps; None if a table of bytes cannot replace them."""
    each: list[Step] = []
    left = [*steps]
    while left and isinstance(left[0], (EachToken, ByteFallback)):
        each.append(left.pop(0))
    knows_ends = _knows_ends(each)
    n_fallbacks = sum(isinstance(step, ByteFallback) for step in each)
    if left and isinstance(left[0], ByteLevel):
        return None if knows_ends or n_fallbacks else Plan(each, left[0], left[1:])
    if left and not isinstance(left[0], Fuse):
        return None
    plan = Plan(each, None, left[1:], knows_ends, n_fallbacks > 0)
    if n_fallbacks != 1:
        return plan
    [at] = [i for i, step in enumerate(each) if isinstance(step, ByteFallback)]
    before, behind = ([step for step in part if isinstance(step, EachToken)] for part in (each[:at], each[at:]))
    if _knows_ends(before):
        return plan
    plan = plan._replace(before=before, behind=behind)
    return plan if behind else plan._replace(each=each[:-1], as_bytes=ByteFallback(), has_bytes=False)


def _knows_ends(steps: Sequence[Step]) -> bool:
    return any(isinstance(step, EachToken) and (step.knows_first or step.knows_last) for step in steps)
