"""Building of fastbpe's tokenizer from the JSON of components, with the reader of tokenizer.json."""

from __future__ import annotations

from operator import itemgetter

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.errors import FastbpeError
from fastbpe.model import AddedToken
from fastbpe.tokenizer.tokenizer import Tokenizer as Native
from fastbpe.tokenizers import components, decoders, document
from fastbpe.tokenizers.base_model import Model
from fastbpe.tokenizers.written import WrittenEngine, is_written

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

#: Decoder with which fastbpe's reader of tokenizer.json may choose code-point mode, which is faster than
#: character mode. A decoder does not change the ids of a text.
_LLAMA_DECODER = {
    "type": "Sequence",
    "decoders": [
        {"type": "Replace", "pattern": {"String": "\u2581"}, "content": " "},
        {"type": "ByteFallback"},
        {"type": "Fuse"},
    ],
}


class Built(NamedTuple):
    """Tokenizer that was built from a definition.

    state: model, components and added tokens from which it was built.
    native: fastbpe's tokenizer; a WrittenEngine if a component is written in Python or the model has dropout.
    decodes: True if `native` decodes as the decoder of the definition does.
    names: id → token.
    """

    state: tuple[Any, ...]
    native: Native | WrittenEngine
    decodes: bool
    names: dict[int, str]


def build(described: Mapping[str, Any], model: Model, names: dict[int, str], state: tuple[Any, ...]) -> Built:
    """Build fastbpe's tokenizer.

    described: JSON with the model's outline, without truncation, padding and post-processor.
    names, state: for `Built`.

    Raises ImportError if fastbpe cannot run the tokenizer, and the errors of `Model.check`.
    """
    model.check()
    try:
        if is_written(described) or described["model"].get("dropout"):
            return Built(state, WrittenEngine(described, model), False, names)
        if not _has_ids_of_a_file(described):
            # False: no proof that `native` decodes such ids as tokenizers does; `decode_slowly` does as it does
            return Built(state, with_added({**described, "model": model.state()}), False, names)
        made = None
        for decoder, decodes in _tries(described):
            tried = {**described, "decoder": decoder}
            is_unigram = described["model"]["type"] == "Unigram"  # its scores must not become JSON
            native = document.native_of(tried, "tokenizer") if is_unigram else _load(tried, model)
            is_fast = native.mode != "character"
            if is_fast or decodes:
                made = Built(state, native, decodes, names)
            if is_fast:
                break
        assert made is not None  # one of the tries decodes
        return made
    except FastbpeError as error:
        reason = str(error).removeprefix("<bytes>: ")
        raise ImportError(
            f"fastbpe cannot run this tokenizer: {reason}; to run it unchanged, use the original library, "
            "tokenizers 0.23"
        ) from error


def _load(described: Mapping[str, Any], model: Model) -> Native:
    """Load a tokenizer from JSON; vocabulary and merges come from `model`. Raises FastbpeError."""
    from fastbpe.tokenizer.loading import load, load_rest  # here: they import the readers of all formats

    if model.entries is not None:
        rest = {**described, "model": {**described["model"], "vocab": {}}}
        loaded = load_rest(document.to_bytes(rest), model.entries)
        if loaded is not None:
            return loaded
    return load(document.to_bytes({**described, "model": model.state()}))


def _has_ids_of_a_file(described: Mapping[str, Any]) -> bool:
    """Tell whether the added tokens have the ids that they would get when a file with them is loaded."""
    vocab = described["model"]["vocab"]
    following = len(vocab)
    if isinstance(vocab, (list, tuple)):
        vocab = dict(zip(map(itemgetter(0), vocab), range(following), strict=True))
    for token in described["added_tokens"]:
        if token["id"] != vocab.get(token["content"], following):
            return False
        following += token["content"] not in vocab
    return True


def with_added(described: Mapping[str, Any]) -> Native:
    """Build a tokenizer whose added tokens may have ids that they could not have in a file, as after training.

    Raises FastbpeError if fastbpe cannot run it.
    """
    added = [AddedToken(**one) for one in described["added_tokens"]]
    special = {token.content: token.id for token in added if token.special}
    model = document.model_of({**described, "added_tokens": []}, "tokenizer")
    return Native(model._replace(special_tokens=special, added_tokens=added))


def _tries(described: Mapping[str, Any]) -> list[tuple[Any, bool]]:
    """Return decoders to try in order, each with True if it decodes like the decoder in `described`.

    With another decoder, fastbpe's reader of tokenizer.json may choose a faster mode than character mode.
    """
    own_decoder, pre_tokenizer, model = described["decoder"], described["pre_tokenizer"], described["model"]
    # Only character mode has other models, suffixes and prefixes.
    if model["type"] != "BPE" or model["end_of_word_suffix"] or model["continuing_subword_prefix"]:
        return [(own_decoder, True)]
    kinds = set() if pre_tokenizer is None else {step["type"] for step in components.flat(pre_tokenizer)}
    if "ByteLevel" in kinds:
        steps = [step["type"] for step in components.flat(own_decoder)] if own_decoder is not None else []
        # ByteLevel leaves one text, so a Fuse after it changes nothing.
        if steps[:1] == ["ByteLevel"] and {*steps[1:]} <= {"Fuse"}:
            return [(decoders.ByteLevel().state(), True)]
        return [(decoders.ByteLevel().state(), False), (own_decoder, True)]
    may_be_llama = kinds <= {"Metaspace", "Split"}  # the pre-tokenizers that code-point mode can have
    return [(own_decoder, True), *([(_LLAMA_DECODER, False)] if may_be_llama else [])]
