"""Folders of ByT5, which have no vocabulary: the ids of a text are those of its bytes.

The tokens of three roles have the first ids, the bytes the next ones. transformers runs this class in Python; see
`python_backend`. tests/conformance/test_byte_folders.py compares folders with transformers 5.24.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from fastbpe.errors import FormatError
from fastbpe.formats.huggingface import class_settings, named_tokens, python_backend, tokenizer_config
from fastbpe.formats.huggingface.class_settings import Settings
from fastbpe.formats.huggingface.named_tokens import CONFIG, MAP, Definition, NamedTokens
from fastbpe.formats.json_object import read_object
from fastbpe.formats.sentencepiece import specs
from fastbpe.model import N_BYTES, PAIR, TEXT, CodePointModel, Conventions, Model, PieceType, pack_pieces

_ROLES = {"eos": "</s>", "unk": "<unk>", "pad": "<pad>"}
_FIRST = ("pad", "eos", "unk")  # roles of the first ids
_N_EXTRA = 125  # extra_ids
_ADDITIONAL = "additional_special_tokens"
_NO_ROLES = dict.fromkeys(("unk_id", "bos_id", "eos_id", "pad_id"), -1)
_OPTIONS = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
_BYTES = [f"<0x{byte:02X}>" for byte in range(N_BYTES)]


def read(
    folder: str, config: Mapping[str, Any], special_tokens: Mapping[str, int] | None = None
) -> Model | CodePointModel:
    """Make the model of a folder.

    Args:
        folder: the folder.
        config: content of its tokenizer_config.json.
        special_tokens: must be None: the class has its own.

    Raises:
        FormatError: the other files are invalid, or name tokens that fastbpe cannot express.
    """
    where = os.path.join(folder, CONFIG)

    def fail(what: str) -> NoReturn:
        raise FormatError(f"{where}: {what}; {class_settings.WAY_OUT}")

    if special_tokens is not None:
        raise FormatError(f"{where}: the class has its own special tokens; load it without special_tokens=")
    named = named_tokens.read(folder, Settings(_ROLES))
    named = named._replace(extra=_extra(folder, config, named, fail))
    named = named._replace(decoder=_decoder(named, fail))
    vocab = {chr(byte): len(_FIRST) + byte for byte in range(N_BYTES)}
    added = python_backend.added_tokens(named, vocab, fail, may_strip=True)
    rows = [*(token.content for token in added[: len(_FIRST)]), *_BYTES]
    kinds = bytes([PieceType.CONTROL] * len(_FIRST) + [PieceType.BYTE] * N_BYTES)
    for token in added:
        if len(token.content) == 1 or token.content in _BYTES or token.content.strip() != token.content:
            fail(f"the token {token.content!r:.60} is one character, a byte, or has white space at an end")
        if token.id >= len(rows):
            if token.id > len(rows):
                fail(f"no token has the id {len(rows)}, but {token.content!r:.60} has the id {token.id}")
            rows.append(token.content)
            kinds += bytes([PieceType.CONTROL if token.special else PieceType.USER_DEFINED])
    eos = next(token.id for token in added if token.content == named.roles["eos"])
    piece_bytes, piece_ends = pack_pieces(map(str.encode, rows))
    model = CodePointModel(
        piece_bytes=piece_bytes,
        piece_ends=piece_ends,
        scores=bytes(4 * len(rows)),
        types=kinds,
        trainer=specs.make(specs.TRAINER, {"model_type": "char", "byte_fallback": True, **_NO_ROLES}),
        normalizer=specs.make(specs.NORMALIZER, dict.fromkeys(_OPTIONS, False)),
        added_tokens=added,
        template=((), (eos,)),
        pair_template=(TEXT, eos, PAIR, eos),
        conventions=Conventions(decoder="ByT5"),
    )
    return tokenizer_config.with_own_tokens(model, folder, named, is_bare=False)


def _extra(
    folder: str, config: Mapping[str, Any], named: NamedTokens, fail: Callable[[str], NoReturn]
) -> Sequence[Definition]:
    """Return the special tokens without a role: those that a file lists, or else <extra_id_0> and so on."""
    n = config.get("extra_ids", _N_EXTRA)
    if type(n) is not int or n > 1 << 16:
        fail(f"extra_ids must be an integer up to {1 << 16}, not {n!r:.60}")
    older = {} if "added_tokens_decoder" in config else read_object(os.path.join(folder, MAP))
    listed = older.get(_ADDITIONAL, config.get(_ADDITIONAL) if config.get("extra_special_tokens") else None)
    found = {str(token) for token in listed or () if "extra_id" in str(token)}
    if listed and 0 < n != len(found):
        fail(f"{_ADDITIONAL} has {len(found)} tokens <extra_id_…>, but extra_ids is {n}")
    if named.has_extra or _ADDITIONAL in config or listed is not None:
        return named.extra
    return [Definition(f"<extra_id_{i}>", is_text=True) for i in range(n)]


def _decoder(named: NamedTokens, fail: Callable[[str], NoReturn]) -> dict[int, Definition]:
    """Return id → token: the tokens of roles, without the flags of another definition, and those of the files."""
    found = {token.content: token for token in named.decoder.values()}
    first: dict[int, Definition] = {}
    for i, role in enumerate(_FIRST):
        token = named.named.get(f"{role}_token")
        if token is None:
            fail(f"the class ByT5Tokenizer needs a {role}_token")
        own = token._replace(lstrip=True, rstrip=True) if token.is_text else token
        first[i] = found.get(token.content, own)
    made = {**first, **named.decoder}
    if len({token.content for token in made.values()}) < len(made):
        fail("two ids have the same token")
    return made
