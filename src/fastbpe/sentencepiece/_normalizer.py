"""SentencePieceNormalizer: rules from a model, a file, a name or a list, and options for white space."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from fastbpe._core.normalize.sentencepiece_normalizer import Normalizer
from fastbpe._core.text.utf8_text import has_surrogates
from fastbpe.errors import FormatError
from fastbpe.formats.sentencepiece import protobuf, specs
from fastbpe.model import Spec
from fastbpe.normalization import sentencepiece_rules
from fastbpe.sentencepiece._arguments import flag, is_vector
from fastbpe.sentencepiece._dropped import raise_missing
from fastbpe.sentencepiece._errors import ArgumentError, ArgumentTypeError, ModelError
from fastbpe.sentencepiece._files import proto_bytes, read_model
from fastbpe.sentencepiece._messages import normalized_in_characters
from fastbpe.sentencepiece._model import to_bytes

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_NORMALIZER_SPEC = 3  # field number in a model
_FLAGS = ("add_dummy_prefix", "escape_whitespaces", "remove_extra_whitespaces")


class SentencePieceNormalizer:
    """Normalize text as a model does before it encodes. `Normalize` and `Decompile` are other names of methods.

    The rules come from one of the arguments up to norm_map: the first in this list that is given.

    Args:
        model_file, model_proto: a model of any type: its file, or its bytes.
        normalizer_spec: bytes of a NormalizerSpec, the part of a model that has the rules.
        rule_tsv: file with one rule per line: code points of a text, a tab, code points of its replacement; all in
            hexadecimal, with spaces between them.
        rule_name: "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf" or "identity".
        norm_map: list of (text, its replacement).
        add_dummy_prefix, escape_whitespaces, remove_extra_whitespaces: None: the setting of the model or of
            normalizer_spec, or True without either.

    Raises:
        RuntimeError: the rules cannot be read or compiled, or there is no rule_name of this name.
        ValueError: no rules are given, a rule is invalid, or rule_name has characters other than a to z, _ and -.
        TypeError: an argument has the wrong type.

    >>> SentencePieceNormalizer(rule_name="nfkc").normalize("Ａ  b")
    '▁A▁b'
    """

    def __init__(
        self,
        model_file: str | bytes | os.PathLike[str] | None = None,
        model_proto: Any = None,
        normalizer_spec: Any = None,
        rule_tsv: str | bytes | os.PathLike[str] | None = None,
        rule_name: str | bytes | None = None,
        norm_map: Iterable[tuple[str | bytes, str | bytes]] | None = None,
        add_dummy_prefix: bool | None = None,
        escape_whitespaces: bool | None = None,
        remove_extra_whitespaces: bool | None = None,
    ) -> None:
        spec: Mapping[str, Any] = {}
        if model_file:
            message = _spec_of_model(*read_model(model_file))
        elif model_proto:
            message = _spec_of_model(proto_bytes(model_proto), "<bytes>")
        elif normalizer_spec:
            message = proto_bytes(normalizer_spec)
        else:
            message = b""
            spec = _rules(rule_tsv, rule_name, norm_map)
        read = _spec(message)
        flags = zip(_FLAGS, (add_dummy_prefix, escape_whitespaces, remove_extra_whitespaces), strict=True)
        given = {name: flag(name, value) for name, value in flags if value is not None}
        self._spec = read.with_values({**read.values, **spec, **given})
        self._normalizer = self._make()

    def _make(self) -> Normalizer:
        try:
            return Normalizer(self._spec["precompiled_charsmap"], **{name: self._spec[name] for name in _FLAGS})
        except FormatError as error:
            raise ModelError(f"INTERNAL: {error}") from error

    def normalize(self, input: Any, with_offsets: bool | None = None) -> Any:
        """Normalize a text (str or bytes), or each text of a list.

        with_offsets: return (text, offsets). For each character of the result (for bytes: each byte), and for its
            end, offsets has the position in the given text from which it comes.
        """
        return normalize(self._normalizer, input, with_offsets)

    def decompile(self) -> list[tuple[str, str]]:
        """Return all rules, sorted: (text, its replacement).

        Raises:
            RuntimeError: there are no rules.
        """
        charsmap = self._spec["precompiled_charsmap"]
        if not charsmap:
            raise ModelError("INTERNAL: No precompiled charsmap found in model.")
        return sorted(sentencepiece_rules.decompile_rules(charsmap).items())

    def serialized_normalizer_spec(self) -> bytes:
        """Return the bytes of the NormalizerSpec, the part of a model that has rules and options."""
        return specs.write(specs.NORMALIZER, self._spec)

    def serialized_model_proto(self) -> bytes:
        """Return the bytes of a model that contains only this normalizer's rules and options."""
        return protobuf.bytes_field(_NORMALIZER_SPEC, self.serialized_normalizer_spec())

    def __getstate__(self) -> bytes:
        return self.serialized_model_proto()

    def __setstate__(self, serialized_model_proto: bytes) -> None:
        self._spec = _spec(_spec_of_model(serialized_model_proto, "<pickle>"))
        self._normalizer = self._make()

    if not TYPE_CHECKING:  # type checkers report names that are not there

        def __getattr__(self, name):
            raise_missing(self, name)

    Normalize = normalize
    Decompile = decompile


def _spec_of_model(data: bytes, where: str) -> bytes:
    """Return the bytes of a model's NormalizerSpec; several are joined, which merges them, as in protobuf."""
    try:
        found = [
            data[field.start : field.end]
            for field in protobuf.fields(data, 0, len(data))
            if (field.number, field.wire) == (_NORMALIZER_SPEC, protobuf.BYTES)
        ]
    except protobuf.Damaged as damaged:
        raise ModelError(f"INTERNAL: {where}: not a model: byte {damaged.at}: {damaged.reason}") from None
    return b"".join(found)


def _spec(message: bytes) -> Spec:
    try:
        return specs.read(specs.NORMALIZER, message)
    except protobuf.Damaged as damaged:
        raise ModelError(f"INTERNAL: not a normalizer_spec: byte {damaged.at}: {damaged.reason}") from None


def _rules(rule_tsv: Any, rule_name: Any, norm_map: Any) -> dict[str, Any]:
    """Return the options of a NormalizerSpec with the rules of the first argument that is given."""
    if rule_tsv:
        data, where = read_model(rule_tsv)
        try:
            rules = sentencepiece_rules.parse_rules(data, where)
        except FormatError as error:
            raise ModelError(f"INTERNAL: {error}") from error
        return {"name": "user_defined", "precompiled_charsmap": _compiled(rules), "normalization_rule_tsv": where}
    if rule_name:
        if not isinstance(rule_name, (str, bytes)):
            raise ArgumentTypeError(f"rule_name must be a str, not {type(rule_name).__name__}")
        name = rule_name if isinstance(rule_name, str) else rule_name.decode("utf-8", "replace")
        if has_surrogates(name):
            raise ArgumentTypeError("rule_name contains surrogates, which UTF-8 cannot encode")
        if name not in sentencepiece_rules.RULE_NAMES:
            names = ", ".join(sentencepiece_rules.RULE_NAMES)
            if not re.fullmatch(r"[a-z_-]+", name):
                raise ArgumentError(f"INVALID_ARGUMENT: Invalid charsmap name {name}; the names are {names}")
            raise ModelError(f"NOT_FOUND: No precompiled charsmap is found: {name}; the names are {names}")
        return {"name": name, "precompiled_charsmap": sentencepiece_rules.charsmap(name)}
    if norm_map:
        return {"precompiled_charsmap": _compiled(_listed(norm_map))}
    raise ArgumentError("no model is specified")


def _listed(norm_map: Any) -> dict[str, str]:
    """Check a norm_map, and return it as text → replacement."""
    if not is_vector(norm_map):
        raise ArgumentTypeError("norm_map must be a list of (text, replacement) pairs")
    try:
        pairs = [*norm_map]
    except TypeError:  # an array without dimensions
        raise ArgumentTypeError("norm_map must be a list of (text, replacement) pairs") from None
    rules: dict[str, str] = {}
    for pair in pairs:
        try:
            source, target = (text.decode() if isinstance(text, (bytes, bytearray)) else text for text in pair)
            source.encode(), target.encode()
        except UnicodeDecodeError as error:
            raise ArgumentError(f"INVALID_ARGUMENT: norm_map: {error.object!r:.60} is not UTF-8") from None
        except (AttributeError, TypeError, ValueError):
            raise ArgumentTypeError(
                f"norm_map must be a list of (text, replacement) pairs, but contains {pair!r:.60}"
            ) from None
        if source in rules:
            raise ArgumentError(f"INVALID_ARGUMENT: Duplicate source string in map: {source}")
        rules[source] = target
    return rules


def _compiled(rules: Mapping[str, str]) -> bytes:
    """Compile rules into a charsmap, with sentencepiece's errors."""
    if "" in rules:
        raise ArgumentError("INVALID_ARGUMENT: Source string cannot be empty.")
    for source, target in rules.items():
        if source == target:
            raise ArgumentError(f"INVALID_ARGUMENT: {source!r}: Identity conversion is not allowed.")
    try:
        return sentencepiece_rules.compile_rules(rules)
    except ValueError as error:
        raise ModelError(f"INTERNAL: {error}") from error


def normalize(normalizer: Normalizer, input: Any, with_offsets: bool | None) -> Any:
    """Normalize a text, or each text of a list.

    with_offsets: return (text, positions in the input from which its characters and its end come).
    """
    if isinstance(input, list):
        return [_normalized(normalizer, text, with_offsets) for text in input]
    return _normalized(normalizer, input, with_offsets)


def _normalized(normalizer: Normalizer, text: Any, with_offsets: bool | None) -> Any:
    if not isinstance(text, (str, bytes)):
        raise ArgumentTypeError("Input must be str or bytes")
    data = to_bytes(text)
    if not with_offsets:
        normalized = normalizer.normalize(data)
        return normalized if isinstance(text, bytes) else normalized.decode()
    normalized, places = normalizer.normalize_with_offsets(data)
    if isinstance(text, bytes):
        return normalized, places
    return normalized.decode(), normalized_in_characters(data, normalized, places)
