"""Call: facts about a call that fastbpe has handled, to compute the encodings of its result later."""

from __future__ import annotations

from typing import Any

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.threads import ForkSafeLock
from fastbpe.huggingface.inputs import Inputs
from fastbpe.huggingface.rows import Plan
from fastbpe.transformers.engine import Engine
from fastbpe.transformers.panics import as_errors
from fastbpe.transformers.snapshot import Twin

_lock = ForkSafeLock()  # twins are shared, and their settings change from call to call


class Call(NamedTuple):
    """A call that fastbpe has handled.

    epoch: EPOCH[0] at the call.
    twin: copy of the original.
    words: the texts are lists of words.
    adds_special: add_special_tokens of the call.
    overflowing: list the parts that truncation cut off as separate encodings.
    """

    engine: Engine
    epoch: object
    twin: Twin
    plan: Plan
    inputs: Inputs
    words: bool
    adds_special: bool
    overflowing: bool

    def encode(self) -> list[Any]:
        """Encode the batch with the copy of the original.

        Raises BackendPanic if tokenizers panics, and ValueError as `Twin.get` does.
        """
        plan = self.plan
        with _lock, as_errors():
            tokenizer = self.twin.get()
            tokenizer.encode_special_tokens = plan.splits_special
            if plan.settings is None:
                tokenizer.no_truncation()
            else:
                tokenizer.enable_truncation(**plan.settings)
            if plan.padding is None:
                tokenizer.no_padding()
            else:
                tokenizer.enable_padding(**plan.padding)
            made = tokenizer.encode_batch(
                self.inputs.batch, add_special_tokens=self.adds_special, is_pretokenized=self.words
            )
        if not self.overflowing:
            return list(made)
        return [part for encoding in made for part in (encoding, *encoding.overflowing)]
