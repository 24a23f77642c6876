"""The native file, `.fbpe`: a container (see container.py) of the core's own tables, mapped and used as they lie.

In mode "codepoint" it is the `.model` file of the same vocabulary, with a name and a report.

The sections "pieces" and "ranked_pairs", or "pairs" where merges are listed or ids are many, are for looking up. A
file may come without them (a pickle does): they are then built from the tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields, replace
from typing import TYPE_CHECKING, Any

from fastbpe.errors import FormatError
from fastbpe.formats.container import Kind, check_sections, pack, unpack
from fastbpe.model import BYTES_PER_MERGE, AddedToken, Buffer, Model

if TYPE_CHECKING:  # code points are imported when they are met
    from fastbpe.codepoint_model import CodePointModel, Conventions

KIND = Kind("tokenizer", 1, "a fastbpe file")
MAGIC = KIND.magic
_TOKENS = ("token_bytes", "token_ends")
_LOOK_UPS = ("pieces", "pairs", "ranked_pairs")  # of pairs, one of the two
_BYTE: Mapping[str, type | tuple[type, ...]] = {
    "pattern": (str, list, type(None)),
    "merges_rule": str,
    "whole_piece_first": bool,
    "special_tokens": dict,
    "name": (str, type(None)),
    "fingerprint": str,
    "training": dict,
}
_FLAGS = AddedToken._fields[2:]
_CODEPOINT: Mapping[str, type | tuple[type, ...]] = {"name": (str, type(None)), "training": dict}


def dump(model: Model, *, look_ups: bool = True) -> bytes:
    """The file's bytes. model.tables holds every table; look_ups=False leaves out those that can be built."""
    assert model.tables is not None
    parts: dict[str, Buffer] = {name: model.tables[name] for name in _TOKENS}
    parts["merges"] = model.merges
    if look_ups:
        parts |= {name: model.tables[name] for name in _LOOK_UPS if name in model.tables}
    header = {
        "mode": "byte",
        "name": model.name,
        "fingerprint": model.fingerprint,
        "pattern": model.pattern,
        "merges_rule": model.merges_rule,
        "whole_piece_first": model.whole_piece_first,
        "special_tokens": dict(model.special_tokens),
        "training": dict(model.training),
        **_extras(model),
    }
    return b"".join(pack(KIND, header, parts))


def _extras(model: Model) -> dict[str, Any]:
    """What a tokenizer.json says beyond that, under one key; nothing for most vocabularies."""
    extras = {
        "drops_bytes": model.drops_bytes,
        "pre_tokenizers": [*model.pre_tokenizers],
        "normalizers": [*model.normalizers],
        "prefix_space": model.prefix_space,
        "added_tokens": [*map(_described, model.added_tokens)],
        "template": [[*side] for side in model.template] if any(model.template) else [],
        "huggingface": dict(model.huggingface),
    }
    return {"extras": extras} if any(extras.values()) else {}


def _read_extras(extras: Any, where: str) -> dict[str, Any]:
    try:
        tokens = _read_added_tokens(extras["added_tokens"])
        before, behind = extras["template"] or ((), ())
        return {**extras, "added_tokens": tokens, "template": (before, behind)}
    except (TypeError, KeyError, ValueError, AttributeError) as error:
        raise FormatError(f"{where}: its header has no valid 'extras': {error!r}") from None


def _described(token: AddedToken) -> list[str | int]:
    """Its content, its id and the names of its flags: vocabularies may have thousands of them."""
    return [token.content, token.id, *(flag for flag in _FLAGS if getattr(token, flag))]


def _read_added_tokens(described: Any) -> list[AddedToken]:
    kinds: dict[tuple[str, ...], list[bool]] = {}  # few, of tokens that may be many
    tokens = []
    for content, token_id, *named in described:
        flags = kinds.get(key := tuple(named))
        if flags is None:
            flags = kinds[key] = [flag in named for flag in _FLAGS]
        if type(content) is not str or type(token_id) is not int or flags.count(True) != len(named):
            raise ValueError(f"{[content, token_id, *named]!r:.80} is no added token")
        tokens.append(AddedToken._make((content, token_id, *flags)))
    return tokens


def _read_conventions(values: Any, where: str) -> Conventions:
    from fastbpe.codepoint_model import Conventions

    kinds = {field.name: bool if field.type == "bool" else str for field in fields(Conventions)}
    if not isinstance(values, dict) or {name: type(value) for name, value in values.items()} != kinds:
        raise FormatError(f"{where}: its header has no valid 'conventions': {values!r:.80}")
    return Conventions(**values)


def dump_code_points(model: CodePointModel) -> bytes:
    """The file's bytes of a code-point vocabulary."""
    from fastbpe.formats import sentencepiece  # here: what it imports takes as long as loading does

    extras = {
        "added_tokens": [*map(_described, model.added_tokens)],
        "template": [[*side] for side in model.template] if any(model.template) else [],
        "conventions": None if model.conventions is None else asdict(model.conventions),
    }
    header = {"mode": "codepoint", "name": model.name, "training": dict(model.training)}
    parts: dict[str, Buffer] = {"model": sentencepiece.dump(_as_sentencepiece(model))}
    if model.merges:
        parts["merges"] = model.merges
    return b"".join(pack(KIND, header | ({"extras": extras} if any(extras.values()) else {}), parts))


def _as_sentencepiece(model: CodePointModel) -> CodePointModel:
    return replace(model, added_tokens=(), merges=b"", conventions=None)


def parse(data: Buffer, where: str) -> Model | CodePointModel:
    """The model in a file's bytes, its tables being views of them. where: what errors call the file."""
    header, sections = unpack(KIND, data, where, {"byte": _BYTE, "codepoint": _CODEPOINT})
    if header["mode"] == "codepoint":
        from fastbpe.formats import sentencepiece

        check_sections(sections, {"model"}, where, ("merges",))
        model = sentencepiece.parse(sections["model"], where, any_text="extras" in header)
        extras = _read_extras(header["extras"], where) if "extras" in header else {}
        if extras.get("conventions"):
            extras["conventions"] = _read_conventions(extras["conventions"], where)
        merges = bytes(sections.get("merges", b""))
        if len(merges) % BYTES_PER_MERGE:
            raise FormatError(f"{where}: its section 'merges' does not hold whole merges")
        return replace(model, name=header["name"], training=header["training"], merges=merges, **extras)
    if header["merges_rule"] not in ("ranks", "merges"):
        raise FormatError(f"{where}: merges_rule {header['merges_rule']!r} is not known to this fastbpe")
    check_sections(sections, {*_TOKENS, "merges"}, where, _LOOK_UPS)
    if header["merges_rule"] == "ranks" and len(sections["merges"]):
        raise FormatError(f"{where}: it has merges that its merges_rule 'ranks' does not use")
    if header["merges_rule"] == "merges" and "ranked_pairs" in sections:
        raise FormatError(f"{where}: it has a section 'ranked_pairs' that its merges_rule 'merges' does not use")
    if len(sections["merges"]) % BYTES_PER_MERGE:
        raise FormatError(f"{where}: its section 'merges' does not hold whole merges")
    return Model(
        tokens=None,
        pattern=header["pattern"],
        special_tokens=header["special_tokens"],
        merges=sections.pop("merges"),
        merges_rule=header["merges_rule"],
        whole_piece_first=header["whole_piece_first"],
        tables=sections,
        name=header["name"],
        fingerprint=header["fingerprint"],
        training=header["training"],
        **(_read_extras(header["extras"], where) if "extras" in header else {}),
    )
