"""Properties of a code-point tokenizer that take more code, and checks of its model."""

from __future__ import annotations

import binascii
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fastbpe.errors import VocabularyError
from fastbpe.formats import merges_as_scores
from fastbpe.formats.byte_order import little_endian
from fastbpe.model import METASPACE, CodePointModel, PieceType
from fastbpe.tokenizer.families.codepoint_tables import pieces_of

if TYPE_CHECKING:
    from fastbpe.normalization.text_rules import TextRules

_NORMALIZER_OPTIONS = (
    "precompiled_charsmap",
    "add_dummy_prefix",
    "remove_extra_whitespaces",
    "escape_whitespaces",
)


def normalizers_of(model: CodePointModel) -> list[dict[str, Any]]:
    """Describe how text is changed before merging, as normalizers of a tokenizer.json.

    If the model puts a space after a text, the list leaves this out: a tokenizer.json has no step for it.
    """
    spec = model.normalizer
    steps: list[dict[str, Any]] = []
    if (rules := text_rules(model)) is not None:
        steps += rules.described
    if spec["precompiled_charsmap"]:
        charsmap = binascii.b2a_base64(spec["precompiled_charsmap"], newline=False).decode()
        steps.append({"type": "Precompiled", "precompiled_charsmap": charsmap})
    if spec["remove_extra_whitespaces"]:
        steps.append({"type": "Strip", "strip_left": True, "strip_right": True})
        steps.append({"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "})
    if spec["add_dummy_prefix"] and not model.trainer["treat_whitespace_as_suffix"]:
        steps.append({"type": "Prepend", "prepend": METASPACE if spec["escape_whitespaces"] else " "})
    if spec["escape_whitespaces"] and (model.conventions is None or model.conventions.escapes):
        steps.append({"type": "Replace", "pattern": {"String": " "}, "content": METASPACE})
    return steps


def text_rules(model: CodePointModel) -> TextRules | None:
    """Return the changes to texts before the rules of a model; None: no changes."""
    if not model.changes_texts:
        return None
    from fastbpe.normalization import gpt_sw3_texts, siglip_texts  # here: few tokenizers have them

    return siglip_texts.rules(model.trainer["unk_piece"]) if model.is_behind_unknown else gpt_sw3_texts.rules()


def fingerprint_of(model: CodePointModel) -> str:
    import hashlib  # here: encoding does not need it

    options = [model.normalizer[name] for name in _NORMALIZER_OPTIONS]
    options += [model.trainer[name] for name in ("treat_whitespace_as_suffix", "byte_fallback")]
    if model.trainer["model_type"] == "unigram":
        options.append("unigram")
    if model.added_tokens:
        options.append([tuple(token) for token in model.added_tokens])
    if model.conventions is not None:
        options.append(tuple(model.conventions))
    if model.unnumbered:
        options.append([*map(tuple, model.unnumbered)])
    digest = hashlib.sha256(repr(("codepoint", options)).encode())
    numbers = (model.piece_ends, 4), (model.piece_bytes, 1), (model.scores, 4), (model.types, 1), (model.merges, 4)
    for part, n_bytes in numbers:
        digest.update(little_endian(part, n_bytes))
    return digest.hexdigest()


def ids_by_text(model: CodePointModel) -> dict[str, int]:
    """Map the text of each piece that is UTF-8 to its id, once with U+2581 and once with spaces in its place."""
    texts = [(i, piece.decode("utf-8", "replace")) for piece, i in model.ids.items()]
    texts = [(i, text) for i, text in texts if "\ufffd" not in text]
    return {text.replace(METASPACE, " "): i for i, text in texts} | {text: i for i, text in texts}


def named_roles(model: CodePointModel) -> Mapping[str, str]:
    """Return role → token, from `model.roles` or else from the pieces.

    The unknown piece has the role unk. Without conventions, control symbols have the roles bos, eos and pad.
    """
    named: dict[str, str] = {}
    if model.conventions is None:
        ids = {role: model.control_id(role) for role in ("bos", "eos", "pad")}
        named = {
            role: model.piece(i).decode() for role, i in ids.items() if i is not None and _is_utf8(model.piece(i))
        }
    for piece in pieces_of(model, PieceType.UNKNOWN).values():
        named["unk"] = piece.decode("utf-8", "replace")
    return {**named, **model.roles}


def with_roles(model: CodePointModel, roles: Mapping[str, str], ids: Mapping[str, int]) -> CodePointModel:
    """Return a model with these tokens for roles.

    A control symbol for bos, eos or pad also sets the options of this role, such as bos_id and bos_piece.
    """
    options = dict(model.trainer.values)
    for role in {*roles} & {"bos", "eos", "pad"}:
        if model.types[ids[roles[role]]] == PieceType.CONTROL:
            options |= {f"{role}_id": ids[roles[role]], f"{role}_piece": roles[role]}
    return model._replace(
        roles={**model.roles, **roles}, trainer=model.trainer.with_values(options), serialized=b""
    )


def special_tokens_of(model: CodePointModel) -> dict[str, int]:
    """Map control symbols that are UTF-8, and the special tokens of a tokenizer.json, to their ids.

    In a class that transformers runs in Python, control symbols are found in text only if they are added tokens.
    """
    pieces = {} if model.runs_in_python else pieces_of(model, PieceType.CONTROL)
    special = {piece.decode(): i for i, piece in pieces.items() if _is_utf8(piece)}
    return special | {token.content: token.id for token in model.added_tokens if token.special}


def _is_utf8(piece: bytes) -> bool:
    return "\ufffd" not in piece.decode("utf-8", "replace")


def check_merges(model: CodePointModel) -> None:
    """Raise VocabularyError unless each listed merge joins two pieces into a third one."""
    merges = memoryview(model.merges).cast("B").cast("I")
    bad = merges_as_scores.first_bad(model.piece_bytes, model.piece_ends, merges)
    if bad == -1:
        raise VocabularyError(
            f"piece_ends must be uint32s that do not decrease and are at most {len(model.piece_bytes)}, the "
            "length of piece_bytes"
        )

    if bad is not None:
        raise VocabularyError(f"merge {bad} does not join two pieces into a third one")


class NoTokens:
    """Vocabulary without tokens, for SpecialTokens: control symbols are pieces themselves, so none can clash."""

    n_ids = 0

    def has(self, token_id: int) -> bool:
        return False

    def find(self, token: bytes) -> int | None:
        return None
