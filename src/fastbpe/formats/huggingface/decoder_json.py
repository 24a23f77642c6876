"""Decoder of a tokenizer.json, as plain data, with the options of each step checked as in tokenizers 0.23."""

from __future__ import annotations

from collections.abc import Mapping

from fastbpe.errors import FormatError
from fastbpe.formats.huggingface.step_json import replace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, NoReturn

#: Kind of step → option → kind of its value. The options are in the order in which tokenizers writes them.
OPTIONS: Mapping[str, Mapping[str, str]] = {
    "BPEDecoder": {"suffix": "text"},
    "ByteLevel": {"add_prefix_space": "flag", "trim_offsets": "flag", "use_regex": "flag"},
    "WordPiece": {"prefix": "text", "cleanup": "flag"},
    "Metaspace": {"replacement": "character", "prepend_scheme": "scheme", "split": "flag"},
    "CTC": {"pad_token": "text", "word_delimiter_token": "text", "cleanup": "flag"},
    "Replace": {"pattern": "pattern", "content": "text"},
    "Fuse": {},
    "Strip": {"content": "character", "start": "number", "stop": "number"},
    "ByteFallback": {},
}
SCHEMES = ("always", "first", "never")
BEHAVIORS = ("Removed", "Isolated", "MergedWithPrevious", "MergedWithNext", "Contiguous")
_NAMES = {"scheme": SCHEMES, "behavior": BEHAVIORS}
_UNTYPED = ("BPEDecoder", "WordPiece", "CTC", "Replace", "Strip")  # tokenizers recognises these by their options
#: Kind of option → description of its values, for errors.
VALUES_OF = {
    "text": "text",
    "flag": "true or false",
    "character": "one character",
    "number": "an integer from 0 to 2**64 - 1",
    "pattern": '{"String": text} or {"Regex": text}',
    "scheme": f"one of {', '.join(SCHEMES)}",
    "behavior": f"one of {', '.join(BEHAVIORS)}",
}
MAX_DEPTH = 62  # levels of nested sequences of steps: tokenizers refuses a file with more

#: (text, replacement) – what transformers replaces in decoded text if clean_up_tokenization_spaces is set.
CLEAN_UP = (
    (" .", "."),
    (" ?", "?"),
    (" !", "!"),
    (" ,", ","),
    (" ' ", "'"),
    (" n't", "n't"),
    (" 'm", "'m"),
    (" 's", "'s"),
    (" 've", "'ve"),
    (" 're", "'re"),
)


def clean_up_steps() -> list[dict[str, Any]]:
    """Return the JSON of decoder steps that replace the texts in CLEAN_UP."""
    return [{"type": "Fuse"}, *(replace("String", old, new) for old, new in CLEAN_UP)]


def flattened(described: Any, place: str = "decoder") -> list[dict[str, Any]] | None:
    """List the steps of a decoder, without sequences around them; None if there is no decoder.

    place: the file and where the decoder is in it, for errors. Raises FormatError if tokenizers would refuse the
        decoder.

    >>> flattened({"type": "Sequence", "decoders": [{"type": "Fuse"}]}), flattened(None)
    ([{'type': 'Fuse'}], None)
    """
    return None if described is None else _flat(canonical(described, place))


def _flat(step: dict[str, Any]) -> list[dict[str, Any]]:
    if step["type"] != "Sequence":
        return [step]
    return [one for inner in step["decoders"] for one in _flat(inner)]


def canonical(described: Any, place: str = "decoder", depth: int = 0) -> dict[str, Any]:
    """Return the JSON of a decoder as tokenizers writes it.

    depth: number of nested sequences around it; other arguments and errors are as in `flattened`.

    If the type is missing or unknown, tokenizers recognises some kinds by their options, also in a list of values.

    >>> canonical({"suffix": "</w>"})
    {'type': 'BPEDecoder', 'suffix': '</w>'}
    """
    kind, found = None, None
    if isinstance(described, Mapping):
        kind = described.get("type")
        if kind == "Sequence":
            steps = described.get("decoders")
            if not isinstance(steps, list) or depth >= MAX_DEPTH:
                fail(place, f"a Sequence needs a list 'decoders', not more than {MAX_DEPTH} levels deep")
            inner = [canonical(step, f"{place}.decoders[{i}]", depth + 1) for i, step in enumerate(steps)]
            return {"type": "Sequence", "decoders": inner}
        if isinstance(kind, str) and kind in OPTIONS:
            if kind == "Metaspace":
                return metaspace(described, place)
            defaults = {"use_regex": True} if kind == "ByteLevel" else {}
            return _checked(kind, {**defaults, **described}, place)
        found = _by_options(described)
    elif isinstance(described, list):
        found = _by_order(described)
    if found is None and isinstance(kind, str):
        fail(place, f"the decoder {kind!r:.60} is unknown; fastbpe knows {', '.join(OPTIONS)} and Sequence")
    if found is None:
        fail(place, f"{described!r:.60} is not a decoder; tokenizers has {', '.join(OPTIONS)} and Sequence")
    return found


def metaspace(described: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return the JSON of a Metaspace, a decoder or a pre-tokenizer, as tokenizers writes it.

    Old files have add_prefix_space, which must not contradict prepend_scheme. Raises FormatError if it does, or if
    an option has a wrong value.
    """
    adds = described.get("add_prefix_space")
    if adds is not None and not isinstance(adds, bool):
        fail(f"{place}.add_prefix_space", f"in Metaspace it must be true or false, not {adds!r:.60}")
    if described.get("str_rep") is not None and not isinstance(described["str_rep"], str):
        fail(f"{place}.str_rep", f"in Metaspace it must be text, not {described['str_rep']!r:.60}")
    scheme = described.get("prepend_scheme", "always")
    if adds is False and scheme != "never":
        fail(f"{place}.add_prefix_space", f"false contradicts the prepend_scheme {scheme!r:.60}")
    split = described.get("split")
    given = {**described, "prepend_scheme": scheme, "split": True if split is None else split}
    return _checked("Metaspace", given, place)


def _checked(kind: str, given: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Return a step with the options of its kind and no others. Raises FormatError for an invalid value."""
    for name, option in OPTIONS[kind].items():
        if not is_value(option, given.get(name)):
            fail(f"{place}.{name}", f"in {kind} it must be {VALUES_OF[option]}, not {given.get(name)!r:.60}")
    return {"type": kind, **{name: given[name] for name in OPTIONS[kind]}}


def _by_options(described: Mapping[str, Any]) -> dict[str, Any] | None:
    """Find the first kind that needs no type and whose options are all here; None: no such kind."""
    for kind in _UNTYPED:
        options = OPTIONS[kind]
        if all(is_value(option, described.get(name)) for name, option in options.items()):
            return {"type": kind, **{name: described[name] for name in options}}
    return None


def _by_order(values: Sequence[Any]) -> dict[str, Any] | None:
    """Find the first kind that needs no type and whose options fit these values; None: no such kind."""
    for kind in _UNTYPED:
        if len(OPTIONS[kind]) == len(values):
            found = _by_options(dict(zip(OPTIONS[kind], values, strict=True)))
            if found is not None and found["type"] == kind:
                return found
    return None


def is_value(kind: str, value: Any) -> bool:
    """Tell whether a value is of a kind: flag, number, pattern, token, text, character, or a key of _NAMES."""
    if kind == "flag":
        return isinstance(value, bool)
    if kind == "number":
        return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 64
    if kind == "pattern":
        return (
            isinstance(value, Mapping)
            and list(value) in (["String"], ["Regex"])
            and all(isinstance(text, str) for text in value.values())
        )
    if kind == "token":
        return isinstance(value, list) and len(value) == 2 and is_value("text", value[0]) and is_id(value[1])
    if not isinstance(value, str):
        return False
    if kind in _NAMES:
        return value in _NAMES[kind]
    return kind == "text" or len(value) == 1


def is_id(value: Any) -> bool:
    """Tell whether a value is an id: an integer from 0 to 2**32 - 1."""
    return is_value("number", value) and value < 1 << 32


def fail(place: str, problem: str) -> NoReturn:
    """Raise FormatError, with the place and the problem of a part of a file."""
    raise FormatError(f"{short(place)}: {problem}")


def short(place: str) -> str:
    """Leave out the middle of a long place. Keeps the name of the file before it."""
    file, colon, within = place.rpartition(": ")
    return place if len(within) <= 100 else f"{file}{colon}{within[:60]}...{within[-37:]}"
