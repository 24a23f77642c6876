"""A tokenizer.json as tokenizers writes it: settings, added tokens, components, model."""

from __future__ import annotations

from array import array

from fastbpe._utils.optional_imports import find_orjson
from fastbpe.errors import FormatError
from fastbpe.formats.huggingface import settings
from fastbpe.huggingface import checked_arguments
from fastbpe.huggingface.encoding import check_direction
from fastbpe.tokenizers import component_texts

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fastbpe.formats.huggingface._vocab_json import Entries
    from fastbpe.model import Model as NativeModel
    from fastbpe.tokenizer.tokenizer import Tokenizer as Native

_FILE = "tokenizer.json"  # in errors
PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
_STRATEGIES = {"longest_first": "LongestFirst", "only_first": "OnlyFirst", "only_second": "OnlySecond"}
_STRATEGY_NAMES = {value: key for key, value in _STRATEGIES.items()}
_DIRECTIONS = {"right": "Right", "left": "Left"}
_DIRECTION_NAMES = {value: key for key, value in _DIRECTIONS.items()}


def read(data: bytes) -> tuple[dict[str, Any], Entries | None]:
    """Parse a tokenizer.json, with the scores of a Unigram model as tokenizers parses them. Raises FormatError.

    Returns the document with empty vocabulary and merges, and the `Entries` that has them; or the whole document,
    and None.
    """
    from fastbpe.formats.huggingface._vocab_json import Entries
    from fastbpe.formats.huggingface.read import checked_top, read_json
    from fastbpe.formats.huggingface.read_segmented import read_apart, scored
    from fastbpe.formats.huggingface.scored_vocab import ScoredVocab
    from fastbpe.formats.huggingface.step_parts import Part  # here: they import the whole format

    whole, apart = read_apart(data, _FILE)  # apart: the fast reader that has vocabulary and merges, or None
    document: dict[str, Any] = checked_top(whole, _FILE).value
    model = document.get("model")
    entries = apart if isinstance(apart, Entries) else None
    if entries is not None and not _is_plain(model):
        document, entries = read_json(data, _FILE), None
        model = document["model"]
    if model is None:
        raise FormatError("Model missing.")
    if isinstance(model, dict) and isinstance(model.get("vocab"), list):
        part = Part(model, _FILE, "model")
        found = (apart.pieces, apart.scores) if isinstance(apart, ScoredVocab) else scored(part, data)
        model["vocab"] = [*zip(found[0], array("d", found[1]), strict=True)]
    return document, entries


def _is_plain(model: Any) -> bool:
    """Tell whether the fast reader reads vocabulary and merges of a model as tokenizers does."""
    if not isinstance(model, dict):
        return False
    # The fast reader does not know that, without a type, invalid merges mean another type (see `models.find`), and
    # that the right token of a merge loses a prefix: it would not find that "ab" is missing for "a" and "##b".
    kind = model.get("type")
    return kind in ("WordPiece", "WordLevel") or (kind == "BPE" and not model.get("continuing_subword_prefix"))


def dump(document: Mapping[str, Any], *, pretty: bool) -> str:
    """Return the text of a tokenizer.json. pretty: with line breaks. A lone surrogate raises FormatError."""
    text = component_texts.json_text(document, pretty=pretty)
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise FormatError(
            f"a token, or a string in a component of the tokenizer, contains a lone surrogate, which UTF-8 cannot "
            f"express: {error.object[error.start]!r}; remove the surrogate"
        ) from None
    return text


def native_of(described: Mapping[str, Any], name: str) -> Native:
    """Create fastbpe's tokenizer, in character mode, from the JSON of a whole tokenizer. name: used in errors."""
    from fastbpe.tokenizer.tokenizer import Tokenizer as Native

    return Native(model_of(described, name))


def model_of(described: Mapping[str, Any], name: str) -> NativeModel:
    """Create fastbpe's model, for character mode, from the JSON of a whole tokenizer. name: used in errors.

    A Unigram model gets its scores directly: as JSON they could lose a bit, or be infinite.
    """
    from fastbpe.formats.huggingface import read_characters, read_segmented  # here: few programs need it

    described_model, scores = described["model"], None
    if described_model["type"] == "Unigram":
        scores = array("d", [score for _, score in described_model["vocab"]])
        pieces = [(piece, 0) for piece, _ in described_model["vocab"]]
        described = {**described, "model": {**described_model, "vocab": pieces}}
    data = to_bytes(described)
    model = read_segmented.parse(data, name)
    if model is None:
        return read_characters.parse(data, name)
    return model if scores is None else model._replace(scores=scores.tobytes())


def to_bytes(document: Mapping[str, Any]) -> bytes:
    """Return a tokenizer.json as bytes. Uses orjson if it is installed. A lone surrogate raises FormatError."""
    orjson = find_orjson()
    try:
        if orjson is not None:
            return bytes(orjson.dumps(document))
    except TypeError:
        pass  # `dump` accepts the value, or raises an error that says why not
    return dump(document, pretty=False).encode()


def show(document: Mapping[str, Any], limits: component_texts.Limits) -> str:
    """Return a tokenizer as `repr` or `str` shows it."""
    shown = []
    for key, value in document.items():
        if key == "truncation" and value is not None:
            value = {"type": "TruncationParams", **value}
        if key == "padding" and value is not None:
            value = {"type": "PaddingParams", **value}
            if isinstance(value["strategy"], dict):
                value["strategy"] = f"Fixed({value['strategy']['Fixed']})"
        shown.append(f"{key}={component_texts.show(value, limits, key)}")
    return f"Tokenizer({', '.join(shown)})"


# Truncation and padding: between a file and the properties of a tokenizer


def read_truncation(described: Any) -> dict[str, Any] | None:
    """Return the value of the property `truncation` for the settings in a file; None: off."""
    checked = settings.canonical("truncation", described, _FILE)
    if checked is None:
        return None
    return {
        "max_length": checked["max_length"],
        "stride": checked["stride"],
        "strategy": _STRATEGY_NAMES[checked["strategy"]],
        "direction": _DIRECTION_NAMES[checked["direction"]],
    }


def dump_truncation(value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the settings in a file for the value of the property `truncation`; None: off."""
    if value is None:
        return None
    return {
        "direction": _DIRECTIONS[value["direction"]],
        "max_length": value["max_length"],
        "strategy": _STRATEGIES[value["strategy"]],
        "stride": value["stride"],
    }


def read_padding(described: Any) -> dict[str, Any] | None:
    """Return the value of the property `padding` for the settings in a file; None: off."""
    checked = settings.canonical("padding", described, _FILE)
    if checked is None:
        return None
    strategy = checked["strategy"]
    return {
        "length": None if strategy == "BatchLongest" else strategy["Fixed"],
        "pad_to_multiple_of": checked["pad_to_multiple_of"],
        "pad_id": checked["pad_id"],
        "pad_token": checked["pad_token"],
        "pad_type_id": checked["pad_type_id"],
        "direction": _DIRECTION_NAMES[checked["direction"]],
    }


def dump_padding(value: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the settings in a file for the value of the property `padding`; None: off."""
    if value is None:
        return None
    return {
        "strategy": "BatchLongest" if value["length"] is None else {"Fixed": value["length"]},
        "direction": _DIRECTIONS[value["direction"]],
        "pad_to_multiple_of": value["pad_to_multiple_of"],
        "pad_id": value["pad_id"],
        "pad_type_id": value["pad_type_id"],
        "pad_token": value["pad_token"],
    }


def checked_truncation(
    max_length: Any, stride: Any, strategy: Any, direction: Any, n_added: int
) -> dict[str, Any]:
    """Check arguments of `enable_truncation`, and return the value of the property `truncation`.

    n_added: number of ids that the post-processor adds to a text.
    """
    max_length, stride = checked_arguments.number(max_length), checked_arguments.number(stride)
    strategy = checked_arguments.of_type(strategy, str)
    if strategy not in _STRATEGIES:
        known = "`longest_first`, `only_first`, or `only_second`"
        raise ValueError(f"Unknown `strategy`: `{strategy:.60}`. Use one of {known}")
    direction = check_direction(direction, "Unknown `direction`: `{:.60}`. Use one of `left` or `right`.")
    # With fewer ids than the post-processor adds, tokenizers raises nothing. Its text ends in a comma.
    if 0 <= max_length - n_added < stride:
        raise ValueError(
            f"tokenizer stride set to {stride}, which is greater than or equal to its effective max length of "
            f"{max_length - n_added} (= {max_length} original max length - {n_added} added special tokens), "
        )
    return {"max_length": max_length, "stride": stride, "strategy": strategy, "direction": direction}


def length_of_padding(length: Any, options: dict[str, Any]) -> Any:
    """Return the length given to `enable_padding`. Removes `max_length`, its deprecated name, from the options."""
    if "max_length" not in options:
        return length
    import warnings

    message = "enable_padding(max_length=X) is deprecated, use enable_padding(length=X) instead"
    warnings.warn(message, DeprecationWarning, stacklevel=3)
    older = options.pop("max_length")
    return older if length is None else length


def checked_padding(
    direction: Any, pad_id: Any, pad_type_id: Any, pad_token: Any, length: Any, pad_to_multiple_of: Any
) -> dict[str, Any]:
    """Check arguments of `enable_padding`, and return the value of the property `padding`."""
    return {
        "length": checked_arguments.number_or_none(length),
        "pad_to_multiple_of": checked_arguments.number_or_none(pad_to_multiple_of),
        "pad_id": checked_arguments.token_id(pad_id),
        "pad_token": checked_arguments.of_type(pad_token, str),
        "pad_type_id": checked_arguments.token_id(pad_type_id),
        "direction": check_direction(direction),
    }
