"""Parts of a tokenizer.json: `Part`, a JSON object with its place for errors; normalizers and pre-tokenizers, as
plain data; checks of settings.

A type or value that fastbpe does not support raises an error with its place. Members that are not options are
ignored, as in tokenizers.
"""

from __future__ import annotations

from fastbpe._utils.warn import warn
from fastbpe.errors import FormatError, FormatWarning
from fastbpe.formats.huggingface import settings
from fastbpe.formats.huggingface.decoder_json import (
    BEHAVIORS,
    MAX_DEPTH,
    VALUES_OF,
    fail,
    flattened,
    is_value,
    metaspace,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from typing import Any, NoReturn

_MISSING = object()  # `default` was not given
_NAMES = {str: "text", bool: "true or false", int: "an integer", dict: "an object", list: "a list"}
_NORMALIZERS: Mapping[str, Mapping[str, type]] = {
    "NFC": {},
    "NFD": {},
    "NFKC": {},
    "NFKD": {},
    "Lowercase": {},
    "StripAccents": {},
    "BertNormalizer": {"clean_text": bool, "handle_chinese_chars": bool, "strip_accents": bool, "lowercase": bool},
    "ByteLevel": {},
    "Nmt": {},
    "Precompiled": {"precompiled_charsmap": str},
    "Strip": {"strip_left": bool, "strip_right": bool},
    "Prepend": {"prepend": str},
    "Replace": {"pattern": dict, "content": str},
}
#: Normalizers that need no type, in the order in which tokenizers tries them.
_UNTYPED_NORMALIZERS = ("BertNormalizer", "Strip", "Sequence", "Replace", "Prepend")
#: Members that each pre-tokenizer must have; `_completed` adds the members with a default.
_PRE_TOKENIZERS: Mapping[str, Mapping[str, type]] = {
    "ByteLevel": {"add_prefix_space": bool, "trim_offsets": bool},
    "Split": {"pattern": dict, "behavior": str, "invert": bool},
    "Digits": {"individual_digits": bool},
    "Punctuation": {},
    "Whitespace": {},
    "WhitespaceSplit": {},
    "CharDelimiterSplit": {"delimiter": str},
    "BertPreTokenizer": {},
    "UnicodeScripts": {},
    "FixedLength": {},
}
_USUAL_LENGTH, _MAX_LENGTH = 5, (1 << 64) - 1  # length of FixedLength's pieces: default, maximum


class Part:
    """JSON object in a file, with its place for errors. Its methods raise FormatError for an invalid value.

    Attributes:
        value: the object.
        where: the name of the file.
        place: path of keys within the file, such as "model.vocab"; "" for the whole file.
    """

    def __init__(self, value: Any, where: str, place: str) -> None:
        self.where = where
        self.place = place
        if not isinstance(value, dict):
            self.fail(f"must be an object, not {value!r:.60}")
        self.value: dict[str, Any] = value

    def fail(self, problem: str, key: str = "") -> NoReturn:
        """Raise a FormatError that names the file and the place."""
        place = self._place_of(key) if key else self.place
        if place:
            fail(f"{self.where}: {place}", problem)
        raise FormatError(f"{self.where}: {problem}") from None

    def get(self, key: str, kind: type, default: Any = _MISSING) -> Any:
        """Return a value of one type; the default if the key is missing or null."""
        value = self.value.get(key)
        if value is None:
            if default is _MISSING:
                self.fail(f"it has no {key!r}")
            return default
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self.fail(f"must be {_NAMES[kind]}, not {value!r:.60}", key)
        return value

    def member(self, key: str, kind: type, default: Any) -> Any:
        """Return a value of one type; the default if the key is missing. null is an error, as in tokenizers."""
        if key not in self.value:
            return default
        if self.value[key] is None:
            self.fail(f"must be {_NAMES[kind]}, not null", key)
        return self.get(key, kind)

    def parts(self, key: str) -> Iterator[Part]:
        """Yield the objects of a list."""
        for number, value in enumerate(self.get(key, list)):
            yield Part(value, self.where, f"{self._place_of(key)}[{number}]")

    def part(self, key: str) -> Part | None:
        """Return an object within this one, or None."""
        value = self.value.get(key)
        return None if value is None else Part(value, self.where, self._place_of(key))

    def needed(self, key: str) -> Part:
        """Return an object within this one. Raises FormatError if the key is missing or null."""
        return Part(self.get(key, dict), self.where, self._place_of(key))

    def pattern(self) -> dict[str, str]:
        """Return `{"String": text}` or `{"Regex": text}`."""
        value = self.get("pattern", dict)
        if not is_value("pattern", value):
            self.fail(f"must be {VALUES_OF['pattern']}, not {value!r:.60}", "pattern")
        return dict(value)

    def _place_of(self, key: str) -> str:
        return f"{self.place}.{key}" if self.place else key


def dropout_of(model: Part) -> float | None:
    """Return the dropout of a model; None: no dropout. Raises FormatError for a value that tokenizers refuses."""
    value = model.value.get("dropout")
    if value is not None and (type(value) not in (int, float) or not 0 <= value <= 1):
        model.fail(f"must be a number from 0 to 1, or null, not {value!r:.60}", "dropout")
    return value or None


def warn_of_settings(top: Part) -> None:
    """Warn if a file sets truncation, padding or dropout, which are not applied."""
    dropout = dropout_of(top.needed("model"))
    if dropout is not None:
        warn(
            f"{top.where}: its dropout, {dropout}, is not applied: encode returns the same ids each time; to skip "
            "merges at random, pass dropout= to Tokenizer.encode",
            FormatWarning,
        )
    ways_out = {"truncation": "use Tokenizer.truncate(text, n)", "padding": "pad batches yourself"}
    asked = [key for key in ways_out if settings.canonical(key, top.value.get(key), top.where) is not None]
    if asked:
        warn(
            f"{top.where}: its {' and '.join(asked)} {'are' if asked[1:] else 'is'} not applied: encode returns "
            f"all ids of a text, without padding; {', and '.join(ways_out[key] for key in asked)}",
            FormatWarning,
        )


def normalizers(part: Part | None) -> list[dict[str, Any]]:
    """Return the normalizers in the order in which they run, with nested sequences flattened.

    Raises FormatError for an unknown or invalid step.
    """
    return [_checked(step, _NORMALIZERS, "normalizer") for step in _flat(part, "normalizers")]


def pre_tokenizers(part: Part | None) -> tuple[list[dict[str, Any]], bool]:
    """Return the pre-tokenizers of a byte-level vocabulary as they run, with nested sequences flattened.

    Returns:
        (steps, prefix_space). prefix_space: the first step puts a space before a text that does not begin with
        one.

    Raises:
        FormatError: a step is unknown or invalid, or a later one puts a space before every piece.
    """
    out, prefix_space = [], False
    for number, step in enumerate(_flat(part, "pretokenizers")):
        made = _completed(step, _PRE_TOKENIZERS)
        if made["type"] == "ByteLevel":
            adds = made.pop("add_prefix_space")
            if adds and number:
                step.fail("a space before every piece is not supported", "add_prefix_space")
            prefix_space = prefix_space or adds
        out.append(made)
    return out, prefix_space


def any_pre_tokenizers(part: Part | None) -> list[dict[str, Any]]:
    """Return the pre-tokenizers of a vocabulary that is not byte-level, with nested sequences flattened.

    Raises FormatError for an unknown or invalid step.
    """
    known = {**_PRE_TOKENIZERS, "Metaspace": {}}
    return [_completed(step, known) for step in _flat(part, "pretokenizers")]


def _completed(step: Part, known: Mapping[str, Mapping[str, type]]) -> dict[str, Any]:
    """Return a pre-tokenizer with all members that have an effect."""
    made = _checked(step, known, "pre-tokenizer")
    if made["type"] == "ByteLevel":
        made["use_regex"] = step.member("use_regex", bool, True)
        del made["trim_offsets"]  # without effect in a pre-tokenizer
    elif made["type"] in ("Split", "Punctuation"):
        made["behavior"] = step.member("behavior", str, "Isolated")
        if made["behavior"] not in BEHAVIORS:
            step.fail(f"{made['behavior']!r} is not {VALUES_OF['behavior']}", "behavior")
    elif made["type"] == "CharDelimiterSplit":
        if len(made["delimiter"]) != 1:
            step.fail(f"must be one character, not {made['delimiter']!r:.60}", "delimiter")
    elif made["type"] == "FixedLength":
        made["length"] = step.member("length", int, _USUAL_LENGTH)
        if not 0 < made["length"] <= _MAX_LENGTH:
            step.fail(f"must be from 1 to 2**64 - 1 characters, not {made['length']}", "length")
    elif made["type"] == "Metaspace":
        made = metaspace(step.value, f"{step.where}: {step.place}")
    return made


def _flat(part: Part | None, key: str, depth: int = 0) -> Iterator[Part]:
    """Yield the steps of a part, with nested sequences flattened.

    Args:
        part: a step or a sequence of steps; None: no steps.
        key: the key of the list in a sequence; with "normalizers", `typed_normalizer` finds a missing type.
        depth: number of nested sequences around this part.
    """
    if part is None:
        return
    if key == "normalizers":
        part = typed_normalizer(part)
    if part.value.get("type") != "Sequence":
        yield part
        return
    if depth >= MAX_DEPTH:
        part.fail(f"sequences are nested more than {MAX_DEPTH} levels deep")
    for inner in part.parts(key):
        yield from _flat(inner, key, depth + 1)


def typed_normalizer(part: Part) -> Part:
    """Return a normalizer with its type, or unchanged if it is not recognised.

    If the type is missing or unknown, tokenizers recognises some kinds by their members.
    """
    kind = part.value.get("type")
    if kind == "Sequence" or (isinstance(kind, str) and kind in _NORMALIZERS):
        return part
    for found in _UNTYPED_NORMALIZERS:
        typed = Part({**part.value, "type": found}, part.where, part.place)
        if found == "Sequence":
            if isinstance(part.value.get("normalizers"), list):
                return typed
            continue
        try:
            _checked(typed, _NORMALIZERS, "normalizer")
        except FormatError:
            continue
        return typed
    return part


def _checked(step: Part, known: Mapping[str, Mapping[str, type]], what: str) -> dict[str, Any]:
    """Return the type and the members in `known`. Raises FormatError for an unknown type or a bad member."""
    kind = step.get("type", str)
    if kind not in known:
        step.fail(f"the {what} {kind!r} is not supported; fastbpe knows {', '.join(known)} and Sequence")
    out: dict[str, Any] = {"type": kind}
    for key, type_ in known[kind].items():
        if key == "pattern":
            out[key] = step.pattern()
        elif key == "strip_accents" and step.value.get(key) is None:  # null: the value of `lowercase` applies
            out[key] = None
        else:
            out[key] = step.get(key, type_)
    return out


def check_byte_decoder(top: Part) -> None:
    """Raise FormatError if the decoder does not produce the bytes of the tokens; then another reader is tried."""
    steps = flattened(top.value.get("decoder"), f"{top.where}: decoder")
    kinds = [step["type"] for step in steps or ()]
    if kinds[:1] != ["ByteLevel"] or {*kinds[1:]} - {"Fuse"}:
        top.fail("must be ByteLevel, and at most Fuse after it", "decoder")
