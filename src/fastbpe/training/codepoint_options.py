"""Options of code-point training: names, defaults and limits as in sentencepiece 0.2.3."""

from __future__ import annotations

import operator
import re
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, SupportsIndex

from fastbpe._utils.file_statuses import status_of
from fastbpe._utils.short_reprs import short_repr
from fastbpe._utils.suggestions import choose_one_of
from fastbpe.errors import FormatError, SpecError
from fastbpe.formats.sentencepiece import specs
from fastbpe.formats.sentencepiece.specs import OF_UNIGRAM, WITHOUT_EFFECT, Option
from fastbpe.model import PieceType, Spec
from fastbpe.normalization import sentencepiece_rules

DEFAULT_RULES = "nmt_nfkc"
NO_PRETOKENIZER = "PretokenizerForTraining is only supported in UNIGRAM or BPE mode."  # for other types
FORMATS = ("", "text", "tsv")
_MODES = {"bpe": "codepoint", "unigram": "unigram"}  # type of model → mode of `train`

# Smallest and largest value of numeric options, both allowed.
_RANGES: dict[str, tuple[float, float]] = {
    "character_coverage": (0.98, 1.0),
    "max_sentencepiece_length": (1, 512),
    "num_sub_iterations": (1, 10),
    "num_threads": (1, 1024),
    "shrinking_factor": (0.5, 0.95),
    "max_sentence_length": (10, 1 << 30),
}
_INTEGERS = {"int32": (-specs.MAX_INT32 - 1, specs.MAX_INT32), "uint64": (0, (1 << 64) - 1)}
#: Options that `train` accepts in code-point mode, in addition to vocab_size and num_threads.
NAMES = {
    *specs.TRAINER,
    *specs.NORMALIZER,
    "normalization_rule_name",
    "denormalization_rule_tsv",
} - {*WITHOUT_EFFECT, *OF_UNIGRAM, "precompiled_charsmap", "vocab_size", "num_threads"}
_TRUE = ("1", "t", "true", "y", "yes", "")  # "": a flag without a value
_FALSE = ("0", "f", "false", "n", "no")

Metas = dict[int, tuple[str, int]]


@dataclass(frozen=True, kw_only=True)
class CodePointOptions:
    """Checked options of one run of code-point training, in the form stored in the model.

    Attributes:
        trainer: options of the trainer.
        normalizer: options and rules of the normalizer.
        denormalizer: options and rules of the denormalizer; None: there is no denormalizer.
        metas: id → (name, type) – pieces that are not learned: unknown, control, user-defined symbols, bytes.
        only_characters: bool – whether to learn no merges; vocab_size is then the number of symbols and
            characters.
    """

    trainer: Spec
    normalizer: Spec
    denormalizer: Spec | None
    metas: Metas
    only_characters: bool = False

    @classmethod
    def of(
        cls,
        options: Mapping[str, Any],
        normalizer: Spec | None = None,
        model_types: Sequence[str] = ("bpe",),
        default_type: str | None = "bpe",
    ) -> CodePointOptions:
        """Check options.

        Args:
            options: name → value, with sentencepiece's names. Values are Python objects, or text as on
                sentencepiece's command line; a list of names may be text with commas.
            normalizer: a whole spec that replaces the options about normalization; None: use the options.
            model_types: the types of models that the caller can train.
            default_type: model type if no option sets it; None: sentencepiece's default, unigram, which its
                files then omit.

        Raises:
            SpecError: an option has an unknown name or an invalid value, or is passed together with normalizer
                although that replaces it.

        >>> CodePointOptions.of({"vocab_size": 500, "unk_id": "3"}).trainer["unk_id"]
        3
        """
        trainer: dict[str, Any] = {}
        rules: dict[str, Any] = {}
        denormalizing: dict[str, Any] = {}
        for given, value in options.items():
            name = "name" if given == "normalization_rule_name" else given
            if name == "denormalization_rule_tsv":
                path = parsed(given, specs.NORMALIZER["normalization_rule_tsv"], value)
                denormalizing = _rules_of_file(path, {}) if path else {}
            elif name in specs.TRAINER:
                trainer[name] = parsed(name, specs.TRAINER[name], value)
            elif name in specs.NORMALIZER and name != "precompiled_charsmap":
                if normalizer is not None:
                    raise SpecError(
                        f"{given}={value!r}: a whole normalizer was passed, too; leave one of the two out",
                        "Cannot specify both _serialized_normalizer_spec and normalizer-specific argument: "
                        + given,
                        "INVALID_ARGUMENT",
                    )
                rules[name] = parsed(given, specs.NORMALIZER[name], value)
            else:
                raise SpecError(
                    f"{given!r} is not an option of training in codepoint or unigram mode",
                    f'unknown field name "{given}" in TrainerSpec.',
                    "NOT_FOUND",
                )
        trainer = {name: value for name, value in trainer.items() if value != []}
        if default_type is not None:
            trainer = {"model_type": default_type} | trainer
        spec = specs.make(specs.TRAINER, trainer)
        _check_model_type(spec, model_types)
        _check(spec)
        flags = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
        denormalizer = specs.make(specs.NORMALIZER, denormalizing | dict.fromkeys(flags, False))
        normalizer = _normalizer(rules) if normalizer is None else _completed(normalizer)
        if not normalizer["escape_whitespaces"]:
            raise SpecError(
                "escape_whitespaces=False: pieces are learned from text in which spaces are written as U+2581; "
                "leave it out",
                "[normalizer_spec_.escape_whitespaces()] ",
            )
        return cls(
            trainer=spec,
            normalizer=normalizer,
            denormalizer=denormalizer if denormalizing else None,
            metas=_meta_pieces(spec),
        )


def parsed(name: str, option: Option, value: Any) -> Any:
    """Convert the value of an option into Python's type for its kind.

    Args:
        name: str – the option, for the error.
        option: sentencepiece's description of the option.
        value: the caller's value.

    Raises:
        SpecError: the value is not of the option's kind.
    """
    kind = option.kind
    try:
        if isinstance(value, str):
            return _from_text(kind, value)
        if kind == "bool" and isinstance(value, bool):
            return value
        if kind in _INTEGERS and isinstance(value, SupportsIndex) and not isinstance(value, bool):
            return _in_range(kind, operator.index(value))
        if kind == "float" and isinstance(value, (int, float)) and not isinstance(value, bool):
            return float32(value)
        if kind == "strings" and isinstance(value, (list, tuple)):
            return [_name(item) for item in value]
    except ValueError:
        pass
    expected = {"strings": "a list of names", "string": "text", "bool": "True or False", "float": "a number"}
    if kind == "model_type":
        raise SpecError(
            f"{name}={short_repr(value)}: sentencepiece has only the types "
            f"{', '.join(map(repr, specs.MODEL_TYPES.values()))}; in fastbpe.train, mode= decides the type",
            f'unknown enumeration value of "{value}" as kModelType_Map',
            "INVALID_ARGUMENT",
        )
    low, high = _INTEGERS.get(kind, (0, 0))
    raise SpecError(
        f"{name}={short_repr(value)}: must be {expected.get(kind, f'an integer, {low} to {high}')}",
        f'cannot parse "{value}" as {"bool" if kind == "bool" else "int"}.',
        "INVALID_ARGUMENT",
    )


def _from_text(kind: str, text: str) -> Any:
    """Convert text as absl's flags do; ValueError for text that is not a value of this kind."""
    text.encode()  # raises UnicodeEncodeError, a ValueError, for a surrogate
    if kind == "string":
        return text
    if kind == "strings":
        return names_in(text)
    if kind == "bool":
        if text.lower() not in _TRUE + _FALSE:
            raise ValueError
        return text.lower() in _TRUE
    if kind == "model_type":
        if text.lower() not in specs.MODEL_TYPES.values():
            raise ValueError
        return text.lower()
    text = text.strip(" \t\n\v\f\r")
    if kind == "float":
        if "_" in text:
            raise ValueError
        return float32(float.fromhex(text) if "x" in text.lower() else float(text))
    if not re.fullmatch(r"[+-]?[0-9]+", text):
        raise ValueError
    return _in_range(kind, int(text))


def _name(item: object) -> str:
    if not isinstance(item, str):
        raise ValueError
    item.encode()  # as in _from_text
    return item


def names_in(text: str) -> list[str]:
    """Split a line at its commas.

    A field that begins with a quotation mark ends at the next one that is not doubled; a doubled mark inside means
    a single one.

    >>> names_in('a,"b,c",d')
    ['a', 'b,c', 'd']
    """
    found, start = [], 0
    while start < len(text):
        if text[start] == '"':
            match = re.compile(r'"((?:[^"]|"")*)').match(text, start)
            assert match is not None
            found.append(match[1].replace('""', '"'))
            end = text.find(",", match.end())
        else:
            end = text.find(",", start)
            found.append(text[start : end if end >= 0 else None])
        if end < 0:
            break
        start = end + 1
    return found


def _in_range(kind: str, number: int) -> int:
    low, high = _INTEGERS[kind]
    if not low <= number <= high:
        raise ValueError
    return number


def float32(number: float) -> float:
    """Round a number to a C float, as sentencepiece stores it; a number that is too large becomes infinite."""
    try:
        return float(struct.unpack("f", struct.pack("f", number))[0])
    except OverflowError:
        return float("inf")


def checked_trainer(values: Mapping[str, Any], base: Spec) -> Spec:
    """Combine the trainer options of a model with new ones, and check them.

    Raises SpecError: a value is invalid.
    """
    checked = {name: parsed(name, specs.TRAINER[name], value) for name, value in values.items()}
    spec = specs.make(specs.TRAINER, checked, base.unknown)
    _check_model_type(spec, ("bpe",))
    _check(spec)
    return spec


def _check_model_type(trainer: Spec, model_types: Sequence[str]) -> None:
    """Raise SpecError unless the model has one of these types."""
    model_type = trainer["model_type"]
    if model_type in model_types:
        return
    way_out = "; fastbpe.sentencepiece trains word and char models"
    if model_type in _MODES:
        way_out = f'; pass mode="{_MODES[model_type]}" to train'
    elif model_type == "char":
        way_out += ', and mode="codepoint" with vocab_size="characters" gives the same ids'
    raise SpecError(
        f"model_type={model_type!r}: this run trains only {', '.join(map(repr, model_types))}{way_out}",
        f"fastbpe trains --model_type={' or '.join(model_types)} only.",
    )


def _check(trainer: Spec) -> None:
    """Raise SpecError if no model can be trained with these options."""
    if trainer["vocab_size"] <= 0:
        raise SpecError(
            f"vocab_size={trainer['vocab_size']}: must be at least 1", "[(trainer_spec.vocab_size()) > (0)] "
        )
    is_learned = trainer["model_type"] in ("bpe", "unigram")
    if trainer["use_all_vocab"] and is_learned:
        raise SpecError(
            "use_all_vocab=True is only for word and char models; leave it out",
            "--use_all_vocab=true is valid for WORD/CHAR model.",
        )
    if trainer["pretokenization_delimiter"] and not is_learned:
        raise SpecError(
            "pretokenization_delimiter is for BPE and unigram models, not for type "
            f"{trainer['model_type']}; leave it out",
            NO_PRETOKENIZER,
        )
    if trainer["seed_sentencepieces_file"] and trainer["model_type"] != "unigram":
        raise SpecError(
            "seed_sentencepieces_file is for unigram models; leave it out",
            "seed_sentencepieces_file is only supported for UNIGRAM model.",
        )
    for name, (low, high) in _RANGES.items():
        value = trainer[name]
        if not low <= value <= high:
            raise SpecError(
                f"{name}={f'{value:.7g}' if isinstance(value, float) else value}: must be {low} to {high}",
                f"[trainer_spec.{name}() >= {low} && trainer_spec.{name}() <= {high}] ",
            )
    if 0 < trainer["input_sentence_size"] <= 100:
        raise SpecError(
            f"input_sentence_size={trainer['input_sentence_size']}: must be more than 100, or 0 for all sentences",
            "[trainer_spec.input_sentence_size() <= 0 || trainer_spec.input_sentence_size() > 100] ",
        )
    for name in ("unk_piece", "bos_piece", "eos_piece", "pad_piece"):
        if not trainer[name]:
            raise SpecError(f"{name}= must not be empty", f"[!trainer_spec.{name}().empty()] ")
    if trainer["auto_character_coverage"]:
        _refuse_auto_coverage(trainer)
    if trainer["input_format"] not in FORMATS:
        raise SpecError(
            f"input_format={trainer['input_format']!r}: choose 'text' or 'tsv'",
            "Supported formats are 'text' and 'tsv'.",
        )


def _refuse_auto_coverage(trainer: Spec) -> None:
    detail = "fastbpe does not search for --character_coverage by itself."
    if trainer["model_type"] == "unigram":
        detail = "--auto_character_coverage in UNIGRAM mode requires --use_sparse_pruning=true."
    elif trainer["model_type"] != "bpe":
        detail = "--auto_character_coverage is only supported in UNIGRAM or BPE model mode."
    elif not trainer["byte_fallback"]:
        detail = "--auto_character_coverage requires --byte_fallback=true."
    elif trainer["required_chars"]:
        detail = (
            "--auto_character_coverage cannot be used together with --required_chars or --required_chars_file."
        )
    raise SpecError("auto_character_coverage=True is not supported; pass character_coverage=", detail)


def _normalizer(rules: dict[str, Any]) -> Spec:
    """Return the spec of a normalizer.

    Args:
        rules: name → value – options about normalization; "normalization_rule_tsv" is the path of a file of rules,
            "name" the name of a standard set.

    Raises:
        SpecError: there is no such set, or the file cannot be read or has an invalid rule.
    """
    if path := rules.get("normalization_rule_tsv"):
        return specs.make(specs.NORMALIZER, _rules_of_file(path, rules))
    name = rules.get("name") or DEFAULT_RULES
    if name not in sentencepiece_rules.RULE_NAMES:
        is_name = re.fullmatch(r"[a-z_-]+", name)
        raise SpecError(
            choose_one_of("normalization_rule_name", name, sentencepiece_rules.RULE_NAMES),
            f"No precompiled charsmap is found: {name}" if is_name else f"Invalid charsmap name {name}",
            "NOT_FOUND" if is_name else "INVALID_ARGUMENT",
        )
    values = rules | {"name": name, "precompiled_charsmap": sentencepiece_rules.charsmap(name)}
    return specs.make(specs.NORMALIZER, values)


def _completed(normalizer: Spec) -> Spec:
    """Return a spec with its rules; a spec without rules gets the rules of its name."""
    if not normalizer["precompiled_charsmap"]:
        return _normalizer(dict(normalizer.values))
    return specs.make(specs.NORMALIZER, {"name": DEFAULT_RULES, **normalizer.values}, normalizer.unknown)


def _rules_of_file(path: str, values: dict[str, Any]) -> dict[str, Any]:
    """Compile a file of rules, and add the result to the values of a spec."""
    try:
        charsmap = sentencepiece_rules.compile_rules(
            sentencepiece_rules.parse_rules(Path(path).read_bytes(), path)
        )
    except OSError as error:
        detail = f'"{path}": {error.strerror}'
        raise SpecError(f"{path}: {error.strerror}", detail, status_of(error)) from None
    except FormatError as error:
        raise SpecError(str(error), str(error)) from None
    except ValueError as error:
        raise SpecError(f"{path}: {error}", f"{path}: {error}") from None
    return values | {
        "name": "user_defined",
        "precompiled_charsmap": charsmap,
        "normalization_rule_tsv": path,
    }


def _meta_pieces(trainer: Spec) -> Metas:
    """List the pieces that are not learned: first those with a given id, then the others with the free ids.

    Raises:
        SpecError: two pieces have the same id or name, an id is too large, a name is empty or contains a NUL, or
            the unknown piece is missing.
    """
    metas: Metas = {}
    unknown = trainer["unk_piece"]
    for kind in ("unk", "bos", "eos", "pad"):
        i, name = trainer[f"{kind}_id"], trainer[f"{kind}_piece"]
        if i < 0:
            continue
        if i >= trainer["vocab_size"] or i in metas or (kind != "unk" and name == unknown):
            if i >= trainer["vocab_size"]:
                reason = f"the id must be below vocab_size={trainer['vocab_size']}"
            elif i in metas:
                reason = f"{metas[i][0]!r} has this id already; choose another id"
            else:
                reason = "the unknown piece has this name; choose another name"
            raise SpecError(
                f"{kind}_id={i}, {kind}_piece={name!r}: {reason}",
                f"[insert_id(trainer_spec_.{kind}_id(), trainer_spec_.{kind}_piece())] ",
            )
        metas[i] = name, PieceType.UNKNOWN if kind == "unk" else PieceType.CONTROL
    if trainer["unk_id"] < 0 and not trainer["byte_fallback"]:
        raise SpecError(
            f"unk_id={trainer['unk_id']}: a model without byte_fallback needs an unknown piece; use 0 or more, or "
            "byte_fallback=True",
            f"[has_unk] {unknown} must be defined.",
        )
    _add_symbols(trainer, metas)
    for name, _ in metas.values():
        if "\0" in name:
            raise SpecError(
                f"the symbol {name!r} contains a NUL, which no model file stores; leave it out",
                "piece must not include null character.",
            )
    return metas


def _add_symbols(trainer: Spec, metas: Metas) -> None:
    """Assign the lowest free ids to control symbols, user-defined symbols and bytes."""
    # Name → id of the pieces that _meta_pieces has added. If two have the same name, the later one counts here.
    own = {
        trainer[f"{kind}_piece"]: trainer[f"{kind}_id"]
        for kind in ("pad", "eos", "bos")
        if trainer[f"{kind}_id"] >= 0
    }
    symbols = [(name, PieceType.CONTROL) for name in trainer["control_symbols"]]
    for name in trainer["user_defined_symbols"]:
        symbols.append((name, PieceType.USER_DEFINED))
        if trainer["model_type"] == "word" and not name.startswith("\u2581"):
            symbols.append(("\u2581" + name, PieceType.USER_DEFINED))  # a whole word, as encoding looks it up
    if trainer["byte_fallback"]:
        symbols += [(f"<0x{byte:02X}>", PieceType.BYTE) for byte in range(256)]
    seen = set()
    free = 0
    for name, type_ in symbols:
        if not name:
            raise SpecError(
                "control_symbols= or user_defined_symbols= contains an empty name; leave it out",
                "[!sp->piece().empty()] ",
            )
        if name == trainer["unk_piece"]:
            raise SpecError(
                f"{name!r} is the unknown piece; leave it out of control_symbols= and user_defined_symbols=",
                f"{name} must not be defined with --control_symbols and --user_defined_symbols.",
            )
        if name in seen:
            raise SpecError(
                f"symbol {name!r} is given twice (by control_symbols=, user_defined_symbols= or byte_fallback=); "
                "leave one out",
                f"{name} is already defined. duplicated symbols are not allowed.",
            )
        seen.add(name)
        if name in own:  # bos, eos or pad is listed again: it keeps its id, but its type changes
            metas[own[name]] = name, type_
            continue
        while free in metas:
            free += 1
        metas[free] = name, type_
