"""fastbpe's tokenizer for the JSON of a whole one, made by the reader of tokenizer.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fastbpe.errors import FastbpeError
from fastbpe.tokenizer.load import load
from fastbpe.tokenizer.tokenizer import Tokenizer as Native
from fastbpe.tokenizers.own import components, decoders, document

#: Decoder that fastbpe's reader takes for a vocabulary of code points; it does not change ids.
_LLAMA_DECODER = {
    "type": "Sequence",
    "decoders": [
        {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ],
}


class Built(NamedTuple):
    """fastbpe's tokenizer.

    state: all for which it was made.
    native: the tokenizer.
    decodes: it decodes as the decoder asks.
    names: token of each id.
    """

    state: tuple[Any, ...]
    native: Native
    decodes: bool
    names: dict[int, str]


def build(described: Mapping[str, Any], names: dict[int, str], state: tuple[Any, ...]) -> Built:
    """Make fastbpe's tokenizer.

    Args:
        described: JSON of the whole tokenizer, without settings and post-processor.
        names, state: for the result.

    Raises:
        ImportError: fastbpe does not run it.
    """
    own_decoder, pre_tokenizer = described["decoder"], described["pre_tokenizer"]
    if pre_tokenizer is not None and any(step["type"] == "ByteLevel" for step in components.flat(pre_tokenizer)):
        steps = {step["type"] for step in components.flat(own_decoder)} if own_decoder is not None else set()
        tries = [(decoders.ByteLevel().state(), "ByteLevel" in steps and steps <= {"ByteLevel", "Fuse"})]
    else:
        tries = [(own_decoder, True), (_LLAMA_DECODER, False)]
    errors = []
    for decoder, decodes in tries:
        try:
            native = load(document.to_bytes({**described, "decoder": decoder}))
        except FastbpeError as error:
            errors.append(error)
        else:
            return Built(state, native, decodes, names)
    reason = str(errors[-1]).removeprefix("<bytes>: ")
    raise ImportError(
        f"fastbpe does not run this tokenizer by itself ({reason}); the original does: "
        "pip install 'tokenizers>=0.23,<0.24'"
    ) from errors[-1]
