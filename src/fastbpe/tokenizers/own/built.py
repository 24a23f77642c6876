"""fastbpe's tokenizer for the JSON of a whole one, made by the reader of tokenizer.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from fastbpe.errors import FastbpeError
from fastbpe.tokenizer.load import load
from fastbpe.tokenizer.tokenizer import Tokenizer as Native
from fastbpe.tokenizers.own import components, decoders, document
from fastbpe.tokenizers.own.models import BPE
from fastbpe.tokenizers.own.plain_engine import PlainEngine

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
    native: the tokenizer; or, for what fastbpe's core does not run, the engine in Python.
    decodes: it decodes as the decoder asks.
    names: token of each id.
    """

    state: tuple[Any, ...]
    native: Native | PlainEngine
    decodes: bool
    names: dict[int, str]


def build(described: Mapping[str, Any], model: BPE, names: dict[int, str], state: tuple[Any, ...]) -> Built:
    """Make fastbpe's tokenizer.

    Args:
        described: JSON of the whole tokenizer, without settings and post-processor.
        model: its model.
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
    for decoder, decodes in tries:
        try:
            native = load(document.to_bytes({**described, "decoder": decoder}))
        except FastbpeError:
            continue
        if native.mode == "character":
            continue  # rows and columns here know tokens of bytes and code points only
        return Built(state, native, decodes, names)
    try:
        return Built(state, PlainEngine(described, model), False, names)
    except FastbpeError as error:
        reason = str(error).removeprefix("<bytes>: ")
        raise ImportError(
            f"fastbpe does not run this tokenizer by itself ({reason}); the original does: "
            "pip install 'tokenizers>=0.23,<0.24'"
        ) from error
