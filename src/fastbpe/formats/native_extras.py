"""Optional parts of a native file's header: details from a tokenizer.json, under the key "extras", and others.

The others are token roles, the template for two texts, chat templates, spelling, symbols, superwords and pieces
without an id. Few files have any of these parts. The reader checks all of them, because a checksum does not prove
who wrote a file.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import chain, repeat
from math import isfinite
from typing import Any

from fastbpe._utils.arguments import is_text
from fastbpe.errors import FormatError
from fastbpe.formats import limits
from fastbpe.formats.huggingface import read_segmented, step_parts, templates
from fastbpe.formats.huggingface.read import KEPT
from fastbpe.formats.huggingface.step_parts import Part
from fastbpe.model import (
    BYTES_PER_MERGE,
    PAIR,
    ROLES,
    SUPERMERGES_KINDS,
    TEXT,
    AddedToken,
    Buffer,
    Chat,
    CodePointModel,
    Conventions,
    Model,
    Spelling,
    Supermerges,
    Symbols,
)

_MAX_IDS = 1 << 24  # the core's limit, `MAX_IDS` in _core/merge/vocabulary
_FLAGS = AddedToken._fields[2:]
# Keys of the extras, by mode.
_BYTE = ("drops_bytes", "pre_tokenizers", "normalizers", "prefix_space", "added_tokens", "template", "huggingface")
_CODEPOINT = ("added_tokens", "template", "conventions")
_NEWER = ("symbols", "cleans_up")  # conventions that older files lack
# Keys of the header, apart from the extras.
_OWN, _CHAT, _SPELLING, _SUPERMERGES, _UNNUMBERED = "own_tokens", "chat", "spelling", "supermerges", "unnumbered"
_SYMBOLS = "symbols"


def describe(model: Model) -> dict[str, Any]:
    """Return {"extras": …} for a byte-level or character-level vocabulary; {} for most of them."""
    return _under_key(
        {
            "drops_bytes": model.drops_bytes,
            "pre_tokenizers": [*model.pre_tokenizers],
            "normalizers": [*model.normalizers],
            "prefix_space": model.prefix_space,
            "added_tokens": _described(model.added_tokens),
            "template": _described_template(model.template),
            "huggingface": dict(model.huggingface),
        }
    )


def describe_code_points(model: CodePointModel) -> dict[str, Any]:
    """Return {"extras": …} for a code-point vocabulary; {} for most vocabularies."""
    return _under_key(
        {
            "added_tokens": _described(model.added_tokens),
            "template": [] if model.template is None else [[*side] for side in model.template],
            "conventions": None if model.conventions is None else _described_conventions(model.conventions),
        }
    )


def describe_unnumbered(model: CodePointModel) -> dict[str, Any]:
    """Return the pieces without an id, under a separate key; {} for most vocabularies."""
    return {_UNNUMBERED: [[*item] for item in model.unnumbered]} if model.unnumbered else {}


def read_unnumbered(header: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Read what `describe_unnumbered` wrote. Returns arguments of a model; {} if the header has no such key.

    Raises:
        FormatError: the entry is not a list of pieces with scores.
    """
    if _UNNUMBERED not in header:
        return {}
    listed = header[_UNNUMBERED]
    if not isinstance(listed, list) or not all(map(_is_scored, listed)):
        raise FormatError(f"{where}: its header has no valid {_UNNUMBERED!r}: {listed!r:.80}")
    return {_UNNUMBERED: [(piece, score) for piece, score in listed]}


def _is_scored(item: Any) -> bool:
    is_pair = isinstance(item, list) and [*map(type, item)] == [str, float]
    return is_pair and item[0] != "" and is_text(item[0]) and isfinite(item[1])


def describe_spelling(spelling: Spelling | None) -> dict[str, Any]:
    """Return the spelling of a character-level vocabulary, under a separate key; {} for any other vocabulary."""
    return {} if spelling is None else {_SPELLING: {**spelling._asdict(), "byte_ids": [*spelling.byte_ids]}}


def read_spelling(header: Mapping[str, Any], where: str) -> Spelling | None:
    """Read what `describe_spelling` wrote; None if there is no such key. Raises FormatError for anything else."""
    if _SPELLING not in header:
        return None
    top = Part(header[_SPELLING], where, _SPELLING)
    if top.value.keys() != {*Spelling._fields}:
        top.fail(f"it must have {', '.join(Spelling._fields)}, not {', '.join(top.value)}")
    unknown, byte_ids = top.get("unknown", int), top.get("byte_ids", list)
    if len(byte_ids) not in (0, 256) or not all(
        type(i) is int and -1 <= i < _MAX_IDS for i in (unknown, *byte_ids)
    ):
        top.fail(f"ids must be in -1..{_MAX_IDS - 1}, and byte_ids must have 0 or 256 of them")
    name = top.get("unknown_token", str, None)
    prefix, suffix = top.get("prefix", str), top.get("suffix", str)
    for text in filter(None, (name, prefix, suffix)):
        if not is_text(text):
            top.fail(f"{text!r:.60} contains a surrogate, which UTF-8 cannot express")
    kind, longest = top.get("kind", str), top.get("longest", int)
    if kind not in ("BPE", *read_segmented.TYPES) or not 0 <= longest < 1 << 63:
        top.fail(
            f"kind {kind!r:.60} with longest {longest} is not known to this version of fastbpe; upgrade fastbpe"
        )
    return Spelling(prefix, suffix, name, unknown, top.get("fuses", bool), byte_ids, kind, longest)


def describe_symbols(symbols: Symbols | None) -> dict[str, Any]:
    """Return the symbols that merge instead of tokens, under a separate key; {} for most vocabularies."""
    return {} if symbols is None else {_SYMBOLS: [[*symbols.texts], [*symbols.ids], symbols.lowers]}


def read_symbols(header: Mapping[str, Any], where: str) -> Symbols | None:
    """Read what `describe_symbols` wrote; None if there is no such key. Raises FormatError for anything else."""
    found = header.get(_SYMBOLS)
    match found:
        case None:
            return None
        case [[*texts], [*ids], bool(lowers)] if (
            len(texts) == len(ids)
            and all(texts)
            and all(map(is_text, texts))
            and all(type(i) is int and 0 <= i < _MAX_IDS for i in ids)
        ):
            return Symbols(texts, ids, lowers)
    raise FormatError(f"{where}: its header has no valid {_SYMBOLS!r}: {found!r:.80}")


def read(extras: Any, where: str, *, has_spelling: bool) -> dict[str, Any]:
    """Read what `describe` wrote, as arguments of `Model`. has_spelling: the vocabulary is character-level.

    Raises:
        FormatError: the extras are invalid.
    """
    top = _top(extras, where, _BYTE)
    kept = top.part("huggingface")
    if kept is None:
        top.fail("it must be an object", "huggingface")
    unknown = kept.value.keys() - {*KEPT, "empty_token", "dropout"}
    if unknown:
        kept.fail("is unknown", min(unknown))
    for key in KEPT:  # from here to the normalizers, calls only raise for bad values
        kept.part(key)
    kept.get("empty_token", int, 0)
    step_parts.dropout_of(kept)
    templates.read(kept)
    normalizers = top.get("normalizers", list)
    steps = top.get("pre_tokenizers", list)
    part = Part({"type": "Sequence", "normalizers": normalizers}, where, "extras")
    if step_parts.normalizers(part) != normalizers:
        top.fail("the steps are not written as fastbpe writes them", "normalizers")
    # In a vocabulary of bytes, "prefix_space" has the add_prefix_space of the first step.
    left_out = {"trim_offsets": False} if has_spelling else {"trim_offsets": False, "add_prefix_space": False}
    whole = [{**left_out, **step} if isinstance(step, dict) else step for step in steps]
    part = Part({"type": "Sequence", "pretokenizers": whole}, where, "extras")
    made = step_parts.any_pre_tokenizers(part) if has_spelling else step_parts.pre_tokenizers(part)[0]
    if made != steps:
        top.fail("the steps are not written as fastbpe writes them", "pre_tokenizers")
    return {
        "drops_bytes": top.get("drops_bytes", bool),
        "pre_tokenizers": steps,
        "normalizers": normalizers,
        "prefix_space": top.get("prefix_space", bool),
        "added_tokens": _read_added_tokens(top, _MAX_IDS),
        "template": _read_template(top),
        "huggingface": kept.value,
    }


def read_code_points(extras: Any, n_pieces: int, where: str) -> dict[str, Any]:
    """Read what `describe_code_points` wrote, as arguments of `CodePointModel`. Raises FormatError as `read`."""
    top = _top(extras, where, _CODEPOINT)
    conventions = _read_conventions(extras["conventions"], where)
    template = _read_template(top)
    has_template = conventions is not None or extras["template"]  # without one, the model's options decide
    return {
        "added_tokens": _read_added_tokens(top, n_pieces),
        "template": template if has_template else None,
        "conventions": conventions,
    }


def describe_own(roles: Mapping[str, str], pair_template: Sequence[int] | None) -> dict[str, Any]:
    """Return token roles and the template for two texts, under a separate key that older readers ignore.

    {} without roles, if the template only joins the two texts.
    """
    pair = [] if pair_template is None or tuple(pair_template) == (TEXT, PAIR) else [*pair_template]
    return {_OWN: {"roles": dict(roles), "pair_template": pair}} if roles or pair else {}


def read_own(header: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Read what `describe_own` wrote. Returns arguments of a model; {} if the header has no such key.

    Raises FormatError if the entry is invalid.
    """
    if _OWN not in header:
        return {}
    top = Part(header[_OWN], where, _OWN)
    roles = top.get("roles", dict)
    if not {*roles} <= {*ROLES} or not {str}.issuperset(map(type, roles.values())):
        top.fail(f"it must be an object of roles ({', '.join(ROLES)}) and tokens, not {roles!r:.80}", "roles")
    pair = top.get("pair_template", list)
    if not all(type(item) is int and PAIR <= item < _MAX_IDS for item in pair):
        top.fail("it must be a list of ids", "pair_template")
    return {"roles": roles, **({"pair_template": pair} if pair else {})}


def describe_supermerges(supermerges: Supermerges | None) -> dict[str, Any]:
    """Return the header's entries about merges of whole words; {} for a vocabulary without them."""
    if supermerges is None:
        return {}
    return {_SUPERMERGES: {"kind": supermerges.kind, "pattern": supermerges.pattern}}


def read_supermerges(header: Mapping[str, Any], merges: Buffer | None, where: str) -> dict[str, Any]:
    """Read what `describe_supermerges` wrote. Returns arguments of `Model`; {} if the header has no such key.

    merges: the section of the file with the merges; None: the file has no such section.

    Raises:
        FormatError: the entry is invalid, or header and section do not match.
    """
    if _SUPERMERGES not in header:
        if merges is not None:
            raise FormatError(f"{where}: it has a section 'supermerges' that its header does not describe")
        return {}
    top = Part(header[_SUPERMERGES], where, _SUPERMERGES)
    kind, pattern = top.get("kind", str), top.get("pattern", str)
    if kind not in SUPERMERGES_KINDS:
        top.fail(f"{kind!r:.60} is not known to this version of fastbpe; upgrade fastbpe", "kind")
    if merges is None or len(merges) % BYTES_PER_MERGE:
        raise FormatError(f"{where}: its section 'supermerges' is missing, or ends in the middle of a merge")
    return {_SUPERMERGES: Supermerges(bytes(merges), kind, pattern)}


def describe_chat(chat: Chat | None) -> dict[str, Any]:
    """Return chat templates, under a separate key that older readers ignore; {} without templates."""
    return {} if chat is None else {_CHAT: {"templates": dict(chat.templates), "tokens": dict(chat.tokens)}}


def read_chat(header: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Read what `describe_chat` wrote. Returns arguments of a model; {} if the header has no such key.

    Raises FormatError if the entry is invalid.
    """
    if _CHAT not in header:
        return {}
    top = Part(header[_CHAT], where, _CHAT)
    found = {key: top.get(key, dict) for key in ("templates", "tokens")}
    for key, texts in found.items():
        if not {str}.issuperset(map(type, texts.values())):
            top.fail("it must be an object of names and texts", key)
    return {_CHAT: Chat(**found)}


def _under_key(extras: dict[str, Any]) -> dict[str, Any]:
    return {"extras": extras} if any(extras.values()) else {}


def _top(extras: Any, where: str, keys: Collection[str]) -> Part:
    top = Part(extras, where, "extras")
    if extras.keys() != {*keys}:
        top.fail(f"it must have {', '.join(keys)}, not {', '.join(extras)}")
    return top


def _described(tokens: Sequence[AddedToken]) -> dict[str, list[Any]]:
    """Return columns: contents, ids, and each flag that some token has. (There may be thousands of tokens.)"""
    # Without tokens, zip(*tokens) yields no columns.
    columns = dict(zip(AddedToken._fields, map(list, zip(*tokens, strict=True)), strict=False))
    return {name: column for name, column in columns.items() if name in ("content", "id") or any(column)}


def _read_added_tokens(top: Part, n_ids: int) -> list[AddedToken]:
    described = top.part("added_tokens")
    columns = {} if described is None else described.value
    if described is None or (columns and not {"content", "id"} <= columns.keys() <= {*AddedToken._fields}):
        top.fail(f"it must have content, id, and flags, not {', '.join(columns)!r:.80}", "added_tokens")
    if not columns:
        return []
    n_tokens = len(described.get("content", list))
    limits.check_added_tokens(n_tokens, top.where)
    for name in columns:
        kind = {"content": str, "id": int}.get(name, bool)
        column = described.get(name, list)
        if len(column) != n_tokens or {*map(type, column)} - {kind}:
            described.fail(f"it must have {n_tokens} values of the type {kind.__name__}", name)
    ids = columns["id"]
    if not all(columns["content"]) or min(ids, default=0) < 0 or max(ids, default=0) >= n_ids:
        described.fail(f"some token is empty, or has an id that is not in 0..{n_ids - 1}")
    try:
        "".join(columns["content"]).encode()
    except UnicodeEncodeError as error:
        described.fail(f"some token contains a surrogate, {error.object[error.start]!r}", "content")
    flags = [columns.get(name, repeat(False)) for name in _FLAGS]
    return [*map(AddedToken._make, zip(columns["content"], ids, *flags, strict=False))]  # `repeat` does not end


def _described_template(template: tuple[Sequence[int], Sequence[int]]) -> list[list[int]]:
    return [[*side] for side in template] if any(template) else []


def _read_template(top: Part) -> tuple[Sequence[int], Sequence[int]]:
    sides = top.get("template", list)
    if not sides:
        return (), ()
    if [*map(type, sides)] != [list, list] or not all(type(i) is int and 0 <= i < _MAX_IDS for i in chain(*sides)):
        top.fail("it must be two lists of ids", "template")
    return sides[0], sides[1]


def _described_conventions(conventions: Conventions) -> dict[str, Any]:
    """Return the conventions as a dict; those in _NEWER, unknown to older readers, only if they are True."""
    return {name: value for name, value in conventions._asdict().items() if value or name not in _NEWER}


def _read_conventions(values: Any, where: str) -> Conventions | None:
    if values is None:
        return None
    kinds = {name: type(value) for name, value in Conventions()._asdict().items()}
    if isinstance(values, dict):
        values = {**dict.fromkeys(_NEWER, False), **values}
    if not isinstance(values, dict) or {name: type(value) for name, value in values.items()} != kinds:
        raise FormatError(f"{where}: its header has no valid 'conventions': {values!r:.80}")
    return Conventions(**values)
