"""A tokenizer.json as the original writes it: settings, added tokens, components, model."""

from __future__ import annotations

from array import array

from fastbpe._utils import late_json as json
from fastbpe._utils.optional_imports import find_orjson
from fastbpe.errors import FormatError
from fastbpe.formats.huggingface import settings
from fastbpe.tokenizers import components
from fastbpe.tokenizers.encoding import check_direction

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from fastbpe.formats.huggingface._vocab_json import Entries
    from fastbpe.model import Model as NativeModel
    from fastbpe.tokenizer.tokenizer import Tokenizer as Native

_FILE = "<tokenizer.json>"  # in errors
PARTS = ("normalizer", "pre_tokenizer", "post_processor", "decoder")
_STRATEGIES = {"longest_first": "LongestFirst", "only_first": "OnlyFirst", "only_second": "OnlySecond"}
_STRATEGY_NAMES = {value: key for key, value in _STRATEGIES.items()}
_DIRECTIONS = {"right": "Right", "left": "Left"}
_DIRECTION_NAMES = {value: key for key, value in _DIRECTIONS.items()}


def read(data: bytes) -> tuple[dict[str, Any], Entries | None]:
    """Parse a tokenizer.json, with the scores of a Unigram as tokenizers has them.

    Returns:
        The document, and vocabulary and merges, which are empty in it; or the whole document, and None, if the
        fast reader does not read them.

    Raises:
        FormatError: it is damaged.
    """
    from fastbpe.formats.huggingface._vocab_json import Entries
    from fastbpe.formats.huggingface.read import checked_top, read_json
    from fastbpe.formats.huggingface.read_segmented import read_apart, scored
    from fastbpe.formats.huggingface.scored_vocab import ScoredVocab
    from fastbpe.formats.huggingface.step_parts import Part  # here: they bring all of the format

    whole, apart = read_apart(data, _FILE)
    document: dict[str, Any] = checked_top(whole, _FILE).value
    model = document.get("model")
    entries = apart if isinstance(apart, Entries) else None
    if entries is not None and not _is_plain(model):
        document, entries = read_json(data, _FILE), None
        model = document["model"]
    if model is None:
        raise FormatError("Model missing.")
    if document.get("added_tokens", []) is None:
        raise FormatError("added_tokens: must be a list, not null")
    if isinstance(model, dict) and isinstance(model.get("vocab"), list):
        part = Part(model, "tokenizer.json", "model")
        found = (apart.pieces, apart.scores) if isinstance(apart, ScoredVocab) else scored(part, data)
        model["vocab"] = [*zip(found[0], array("d", found[1]), strict=True)]
    return document, entries


def _is_plain(model: Any) -> bool:
    """Tell whether vocabulary and merges of a model mean what the fast reader reads."""
    if not isinstance(model, dict):
        return False
    kind = model.get("type", "BPE" if "merges" in model else None)
    return kind in ("WordPiece", "WordLevel") or (kind == "BPE" and not model.get("continuing_subword_prefix"))


def dump(document: Mapping[str, Any], *, pretty: bool) -> str:
    """Return the text of a tokenizer.json. pretty: with line breaks."""
    if pretty:
        return components.with_short_exponents(json.dumps(document, ensure_ascii=False, indent=2))
    return components.compact(document).decode()


def native_of(described: Mapping[str, Any], name: str) -> Native:
    """Create fastbpe's tokenizer for a whole tokenizer.json that works on characters. name: its name in errors."""
    from fastbpe.tokenizer.tokenizer import Tokenizer as Native

    return Native(model_of(described, name))


def model_of(described: Mapping[str, Any], name: str) -> NativeModel:
    """Create fastbpe's model for a whole tokenizer.json that works on characters.

    A Unigram model gets its scores directly, because they could lose a bit as JSON.

    Args:
        described: the tokenizer.json.
        name: its name in errors.
    """
    from fastbpe.formats.huggingface import read_characters, read_segmented  # here: few programs need it

    data = to_bytes(described)
    model = read_segmented.parse(data, name)
    if model is None:
        return read_characters.parse(data, name)
    if described["model"]["type"] == "Unigram":
        scores = array("d", [score for _, score in described["model"]["vocab"]])
        return model._replace(scores=scores.tobytes())
    return model


def to_bytes(document: Mapping[str, Any]) -> bytes:
    """Return a tokenizer.json as bytes. Uses orjson if it is installed. Surrogates raise FormatError."""
    orjson = find_orjson()
    try:
        return components.compact(document) if orjson is None else bytes(orjson.dumps(document))
    except (TypeError, UnicodeEncodeError) as error:
        raise FormatError(
            f"a token, or a string in a component of the tokenizer, contains a lone surrogate, which UTF-8 cannot "
            f"express: {error}; remove the surrogate"
        ) from None


def show(document: Mapping[str, Any], limits: components.Limits) -> str:
    """Return a tokenizer as `repr` or `str` shows it."""
    shown = []
    for key, value in document.items():
        if key == "truncation" and value is not None:
            value = {"type": "TruncationParams", **value}
        if key == "padding" and value is not None:
            value = {"type": "PaddingParams", **value}
            if isinstance(value["strategy"], dict):
                value["strategy"] = f"Fixed({value['strategy']['Fixed']})"
        shown.append(f"{key}={components.show(value, limits, key)}")
    return f"Tokenizer({', '.join(shown)})"


# Truncation and padding: between a file and the properties of a tokenizer


def read_truncation(described: Any) -> dict[str, Any] | None:
    """Return the value of the property `truncation` for the settings in a file."""
    checked = settings.canonical("truncation", described, _FILE)
    if checked is None:
        return None
    return {
        "max_length": checked["max_length"],
        "stride": checked["stride"],
        "strategy": _STRATEGY_NAMES[checked["strategy"]],
        "direction": _DIRECTION_NAMES[checked["direction"]],
    }


def dump_truncation(settings: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the settings in a file for the value of the property `truncation`."""
    if settings is None:
        return None
    return {
        "direction": _DIRECTIONS[settings["direction"]],
        "max_length": settings["max_length"],
        "strategy": _STRATEGIES[settings["strategy"]],
        "stride": settings["stride"],
    }


def read_padding(described: Any) -> dict[str, Any] | None:
    """Return the value of the property `padding` for the settings in a file."""
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


def dump_padding(settings: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return the settings in a file for the value of the property `padding`."""
    if settings is None:
        return None
    return {
        "strategy": "BatchLongest" if settings["length"] is None else {"Fixed": settings["length"]},
        "direction": _DIRECTIONS[settings["direction"]],
        "pad_to_multiple_of": settings["pad_to_multiple_of"],
        "pad_id": settings["pad_id"],
        "pad_type_id": settings["pad_type_id"],
        "pad_token": settings["pad_token"],
    }


def checked_truncation(
    max_length: Any, stride: Any, strategy: Any, direction: Any, n_added: int
) -> dict[str, Any]:
    """Return the value of the property `truncation`. Accepts the arguments of `enable_truncation`.

    n_added: number of ids that the template adds to a text.
    """
    max_length, stride = components.number(max_length), components.number(stride)
    if components.of_type(strategy, str) not in _STRATEGIES:
        known = "`longest_first`, `only_first`, or `only_second`"
        raise ValueError(f"Unknown `strategy`: `{strategy}`. Use one of {known}")
    direction = check_direction(direction, "Unknown `direction`: `{}`. Use one of `left` or `right`.")
    if 0 <= max_length - n_added < stride:
        raise ValueError(
            f"tokenizer stride set to {stride}, which is greater than or equal to its effective max length of "
            f"{max_length - n_added} (= {max_length} original max length - {n_added} added special tokens), "
        )
    return {"max_length": max_length, "stride": stride, "strategy": str(strategy), "direction": direction}


def checked_padding(
    direction: Any, pad_id: Any, pad_type_id: Any, pad_token: Any, length: Any, pad_to_multiple_of: Any
) -> dict[str, Any]:
    """Return the value of the property `padding`. Accepts the arguments of `enable_padding`."""
    return {
        "length": None if length is None else components.number(length),
        "pad_to_multiple_of": None if pad_to_multiple_of is None else components.number(pad_to_multiple_of),
        "pad_id": components.token_id(pad_id),
        "pad_token": components.of_type(pad_token, str),
        "pad_type_id": components.token_id(pad_type_id),
        "direction": check_direction(direction),
    }
