"""The native format, `.fbpe`: a container (see container.py) of the core's tables, to be mapped and used in place.

In mode "codepoint" it contains the `.model` file of the same vocabulary, the merges if the model lists them, a
name, a training report and the parts of `native_extras`.

The sections "pieces" and "pair_lines" are hash tables for look-ups; "pairs" replaces "pair_lines" if merges are
listed or there are many ids. If a file lacks them (as a pickle does), or has "ranked_pairs" (an older layout), the
tables are built from the tokens. On a big-endian processor the hashes differ, so fastbpe neither reads nor writes
these tables there.
"""

from __future__ import annotations

import sys
from array import array
from math import isnan

from fastbpe.errors import FormatError
from fastbpe.formats import limits
from fastbpe.formats.container import Kind, check_sections, pack, unpack
from fastbpe.model import BYTES_PER_MERGE, Buffer, Model

TYPE_CHECKING = False
if TYPE_CHECKING:  # imported at run time only for code-point models
    from collections.abc import Mapping
    from typing import Any

    from fastbpe.model import CodePointModel

KIND = Kind("tokenizer", 1, "a fastbpe file", {"token_ends": 4, "merges": 4, "supermerges": 4, "scores": 8})
MAGIC = KIND.magic
_TOKENS = ("token_bytes", "token_ends")
_LOOK_UPS = ("pieces", "pairs", "pair_lines")  # a file has "pairs" or "pair_lines"
_FORMER = "ranked_pairs"  # older layout of "pair_lines"
_BYTE: Mapping[str, type | tuple[type, ...]] = {
    "pattern": (str, list, type(None)),
    "merges_rule": str,
    "whole_piece_first": bool,
    "special_tokens": dict,
    "name": (str, type(None)),
    "fingerprint": str,
    "training": dict,
}
_CODEPOINT: Mapping[str, type | tuple[type, ...]] = {"name": (str, type(None)), "training": dict}


def dump(model: Model, *, look_ups: bool = True) -> bytes:
    """Return the bytes of the file.

    Args:
        model: its `tables` contain every table.
        look_ups: write the hash tables, too, unless the processor is big-endian; False: the reader builds them.
    """
    from fastbpe.formats import native_extras  # here and below: reading most files does not need it

    assert model.tables is not None
    parts: dict[str, Buffer] = {name: model.tables[name] for name in _TOKENS}
    parts["merges"] = model.merges
    if model.scores:
        parts["scores"] = model.scores
    if model.supermerges is not None:
        parts["supermerges"] = model.supermerges.merges
    if look_ups and sys.byteorder == "little":
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
        **native_extras.describe(model),
        **native_extras.describe_own(model.roles, model.pair_template),
        **native_extras.describe_chat(model.chat),
        **native_extras.describe_spelling(model.spelling),
        **native_extras.describe_supermerges(model.supermerges),
        **native_extras.describe_symbols(model.symbols),
    }
    return b"".join(pack(KIND, header, parts))


def dump_code_points(model: CodePointModel) -> bytes:
    """Return the bytes of the file of a code-point vocabulary."""
    from fastbpe.formats import native_extras
    from fastbpe.formats.sentencepiece import model_file  # here: importing it takes as long as loading a file

    header = {"mode": "codepoint", "name": model.name, "training": dict(model.training)}
    parts: dict[str, Buffer] = {"model": model_file.dump(_as_sentencepiece(model))}
    if model.merges:
        parts["merges"] = model.merges
    header |= native_extras.describe_code_points(model) | native_extras.describe_unnumbered(model)
    header |= native_extras.describe_own(model.roles, model.pair_template)
    header |= native_extras.describe_chat(model.chat)
    return b"".join(pack(KIND, header, parts))


def _as_sentencepiece(model: CodePointModel) -> CodePointModel:
    return model._replace(added_tokens=(), merges=b"", conventions=None)


def parse(data: Buffer, where: str) -> Model | CodePointModel:
    """Read the model in a file's bytes.

    The tables of a byte-level model are views of these bytes; merges, superword merges and scores are copied.

    Raises:
        FormatError: a damaged file, or one from a newer fastbpe.
    """
    header, sections = unpack(KIND, data, where, {"byte": _BYTE, "codepoint": _CODEPOINT})
    extras: dict[str, Any] = {}
    if header["mode"] == "codepoint":
        from fastbpe.formats import native_extras
        from fastbpe.formats.sentencepiece import model_file

        check_sections(sections, {"model"}, where, ("merges",))
        # Extras: the model may come from a tokenizer.json, whose pieces sentencepiece would not all load.
        model = model_file.parse(sections["model"], where, any_text="extras" in header)
        if "extras" in header:
            extras = native_extras.read_code_points(header["extras"], model.n_pieces, where)
        extras |= native_extras.read_own(header, where) | native_extras.read_chat(header, where)
        extras |= native_extras.read_unnumbered(header, where)
        merges = bytes(sections.get("merges", b""))
        if len(merges) % BYTES_PER_MERGE:
            raise FormatError(
                f"{where}: the size of its section 'merges' is not a multiple of the size of a merge"
            )
        return model._replace(name=header["name"], training=header["training"], merges=merges, **extras)
    n_special = len(header["special_tokens"])
    if n_special > limits.MAX_SPECIAL_TOKENS:
        raise FormatError(f"{where}: {n_special} special tokens: the limit is {limits.MAX_SPECIAL_TOKENS}")
    if header["merges_rule"] not in ("ranks", "merges"):
        raise FormatError(
            f"{where}: merges_rule {header['merges_rule']!r} is not known to this version of fastbpe; upgrade "
            "fastbpe"
        )
    check_sections(sections, {*_TOKENS, "merges"}, where, ("scores", "supermerges", *_LOOK_UPS, _FORMER))
    if header["merges_rule"] == "ranks" and len(sections["merges"]):
        raise FormatError(f"{where}: it has merges that its merges_rule 'ranks' does not use")
    if header["merges_rule"] == "merges":
        for name in ("pair_lines", _FORMER):
            if name in sections:
                raise FormatError(f"{where}: it has a section {name!r} that its merges_rule 'merges' does not use")
    for name in (_FORMER, *(_LOOK_UPS if sys.byteorder != "little" else ())):
        sections.pop(name, None)
    # A copy, as threads would share the count of views of the mapped file, which CPython changes without a lock.
    merges = bytes(sections.pop("merges"))
    if len(merges) % BYTES_PER_MERGE:
        raise FormatError(f"{where}: the size of its section 'merges' is not a multiple of the size of a merge")
    if "spelling" not in header:  # with one, the right token may lose a prefix, so only the ids are checked, below
        _check_merges(merges, sections, where)
    supermerges = sections.pop("supermerges", None)
    scores = sections.pop("scores", None)
    if supermerges is not None or {"extras", "own_tokens", "chat", "spelling", "supermerges"} & header.keys():
        from fastbpe.formats import native_extras

        spelling = native_extras.read_spelling(header, where)
        if "extras" in header:
            extras = native_extras.read(header["extras"], where, has_spelling=spelling is not None)
        extras["spelling"] = spelling
        if spelling is not None and spelling.kind == "BPE":
            symbols = extras["symbols"] = native_extras.read_symbols(header, where)
            n_ids = len(sections["token_ends"]) // 4 if symbols is None else len(symbols.texts)
            greatest = max(memoryview(merges).cast("I"), default=-1)
            if greatest >= n_ids:
                raise FormatError(f"{where}: its section 'merges' names an id that is not a token, {greatest}")
        if spelling is not None and spelling.kind == "Unigram":
            extras["scores"] = _checked_scores(scores, sections, where)
        extras |= native_extras.read_own(header, where) | native_extras.read_chat(header, where)
        extras |= native_extras.read_supermerges(header, supermerges, where)
    if scores is not None and "scores" not in extras:
        raise FormatError(f"{where}: it has a section 'scores' that its model does not use")
    return Model(
        tokens=None,
        pattern=header["pattern"],
        special_tokens=header["special_tokens"],
        merges=merges,
        merges_rule=header["merges_rule"],
        whole_piece_first=header["whole_piece_first"],
        tables=sections,
        name=header["name"],
        fingerprint=header["fingerprint"],
        training=header["training"],
        **extras,
    )


def _checked_scores(scores: Buffer | None, sections: Mapping[str, Buffer], where: str) -> bytes:
    """Return the scores of a Unigram model: a float64 for each id, without NaN."""
    data = b"" if scores is None else bytes(scores)
    if len(data) != 2 * len(sections["token_ends"]) or any(map(isnan, array("d", data))):
        raise FormatError(f"{where}: its section 'scores' does not have a number for each id")
    return data


def _check_merges(merges: bytes, sections: Mapping[str, Buffer], where: str) -> None:
    """Raise FormatError unless each merge joins two tokens into a token: its ids then index the tables safely."""
    if not merges:
        return
    from fastbpe.formats import merges_as_scores

    token_bytes, token_ends = (bytes(sections[name]) for name in _TOKENS)
    bad = merges_as_scores.first_bad(token_bytes, token_ends, memoryview(merges).cast("I"))
    if bad == -1:
        raise FormatError(
            f"{where}: its section 'token_ends' does not divide {len(token_bytes)} bytes into tokens"
        )
    if bad is not None:
        raise FormatError(f"{where}: merge {bad} does not join two tokens into a token")
