"""Folders of ByT5, Dia and Perceiver, which have no vocabulary: each byte of a text has an id.

The tokens of some roles have the first ids, and the bytes the next ones. In Dia, byte b has the id b + `offset` of
tokenizer_config.json (default 0), so the first three tokens may share ids with bytes. The id of
any other byte b decodes to chr(b). transformers runs the classes in Python; see `python_backend`.
tests/conformance/test_byte_folders.py compares folders with transformers 5.24.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.plurals import counted
from fastbpe.formats.byte_level import text_of
from fastbpe.formats.huggingface import python_backend, tokenizer_config
from fastbpe.formats.huggingface.byte_vocabulary import BYTE_NAMES
from fastbpe.formats.huggingface.named_tokens import CONFIG, MAP, Definition, NamedTokens
from fastbpe.formats.json_object import read_object
from fastbpe.formats.limits import MAX_EXTRA_IDS
from fastbpe.formats.sentencepiece import specs
from fastbpe.model import (
    N_BYTES,
    PAIR,
    TEXT,
    CodePointModel,
    Conventions,
    Model,
    PieceType,
    Spelling,
    Symbols,
    pack_pieces,
)


class _Kind(NamedTuple):
    """Class of transformers without a vocabulary.

    Attributes:
        first: role of each of the first ids → its token if no file names one.
        before, behind: roles of the tokens around a text.
        strips: a token of `first` has the flags lstrip and rstrip if no file has its flags.
        n_extra: number of tokens <extra_id_…>, unless a file sets extra_ids.
    """

    first: Mapping[str, str]
    before: tuple[str, ...]
    behind: str
    strips: bool = False
    n_extra: int = 0


#: Name without "Tokenizer" → class.
CLASSES: Mapping[str, _Kind] = {
    "ByT5": _Kind({"pad": "<pad>", "eos": "</s>", "unk": "<unk>"}, (), "eos", strips=True, n_extra=125),
    "Perceiver": _Kind(
        {role: f"[{role.upper()}]" for role in ("pad", "bos", "eos", "mask", "cls", "sep")}, ("cls",), "sep"
    ),
}
_OF_DIA = ("<pad>", "[S1]", "[S2]")  # tokens of the first ids
_ADDITIONAL = "additional_special_tokens"
_NO_ROLES = dict.fromkeys(("unk_id", "bos_id", "eos_id", "pad_id"), -1)
_OPTIONS = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")


def read(
    folder: str, config: Mapping[str, Any], class_name: str, special_tokens: Mapping[str, int] | None = None
) -> Model | CodePointModel:
    """Make the model of a folder.

    Args and errors: as for `table_folders.read`.
    """
    where = os.path.join(folder, CONFIG)
    fail = python_backend.failing(where)
    python_backend.refuse_special_tokens(special_tokens, where)
    if class_name == "Dia":
        return _read_dia(folder, config, fail)
    kind = CLASSES[class_name]
    named = python_backend.read_named(folder, kind.first)
    if kind.n_extra:
        named = named._replace(extra=_extra(folder, config, named, kind.n_extra, fail))
    named = named._replace(decoder=_decoder(named, class_name, fail))
    n_first = len(kind.first)
    vocab = {chr(byte): n_first + byte for byte in range(N_BYTES)}
    added = python_backend.added_tokens(named, vocab, fail, may_strip=True)
    first = (token.content for token in added[:n_first])
    rows = python_backend.with_added([*first, *BYTE_NAMES], added, fail)
    types = bytes([PieceType.CONTROL] * n_first + [PieceType.BYTE] * N_BYTES)
    # In the class, each byte is a token of one character; in the model, it is named <0x41>. A space with which a
    # token begins or ends would be stripped next to a token with rstrip or lstrip, such as <pad>.
    for token in added:
        if len(token.content) < 2 or token.content in BYTE_NAMES or token.content.strip() != token.content:
            fail(
                f"the token {token.content!r:.60} has fewer than two characters, names a byte, or has white space "
                "at an end"
            )
        if token.id >= len(types):
            types += bytes([PieceType.CONTROL if token.special else PieceType.USER_DEFINED])
    ids = {token.content: token.id for token in added}
    before = [ids[named.roles[role]] for role in kind.before]
    behind = ids[named.roles[kind.behind]]
    piece_bytes, piece_ends = pack_pieces(map(str.encode, rows))
    model = CodePointModel(
        piece_bytes=piece_bytes,
        piece_ends=piece_ends,
        scores=bytes(4 * len(rows)),
        types=types,
        trainer=specs.make(specs.TRAINER, {"model_type": "char", "byte_fallback": True, **_NO_ROLES}),
        normalizer=specs.make(specs.NORMALIZER, dict.fromkeys(_OPTIONS, False)),
        added_tokens=added,
        template=(before, (behind,)),
        pair_template=(*before, TEXT, behind, PAIR, behind),
        conventions=Conventions(decoder=class_name),
    )
    return tokenizer_config.with_own_tokens(model, folder, named, is_bare=False)


def _read_dia(folder: str, config: Mapping[str, Any], fail: Callable[[str], NoReturn]) -> Model | CodePointModel:
    """Make the model of a folder of Dia: symbols are bytes, and tokens are the texts to which ids decode."""
    offset = config.get("offset", 0)
    if type(offset) is not int or not 0 <= offset <= len(_OF_DIA):
        fail(f"offset must be an integer from 0 to {len(_OF_DIA)}, not {offset!r:.60}")
    named = python_backend.read_named(folder, dict.fromkeys(("pad", "unk"), _OF_DIA[0]))
    if "pad" not in named.roles:
        fail("the class DiaTokenizer needs a pad_token")
    first = [named.named["pad_token"], *(Definition(content, special=False) for content in _OF_DIA[1:])]
    named = named._replace(decoder={**dict(enumerate(first)), **named.decoder})
    rows = [named.decoder[i].content if i in named.decoder else chr(i - offset) for i in range(N_BYTES + offset)]
    vocab = {row: i for i, row in enumerate(rows)}
    if len(vocab) < len(rows):
        fail(f"two ids have the token {next(row for row in rows if rows.count(row) > 1)!r:.60}")
    added = python_backend.added_tokens(named, vocab, fail)
    if (short := next((token.content for token in added if len(token.content) < 2), None)) is not None:
        fail(f"the added token {short!r} has fewer than two characters")
    model = Model(
        tokens=[token.encode() for token in python_backend.with_added(rows, added, fail)],
        pattern=None,
        special_tokens={token.content: token.id for token in added if token.special},
        merges_rule="merges",
        whole_piece_first=False,
        pre_tokenizers=[{"type": "ByteLevel", "add_prefix_space": False, "use_regex": False}],
        added_tokens=added,
        huggingface={"decoder": {"type": "Fuse"}},
        spelling=Spelling(unknown=0),  # no byte is unknown
        symbols=Symbols([text_of(bytes([byte])) for byte in range(N_BYTES)], [*range(offset, offset + N_BYTES)]),
    )
    return tokenizer_config.with_own_tokens(model, folder, named, is_bare=False)


def _extra(
    folder: str, config: Mapping[str, Any], named: NamedTokens, n_extra: int, fail: Callable[[str], NoReturn]
) -> Sequence[Definition]:
    """Return the special tokens without a role: the tokens that a file lists, or else <extra_id_0> and so on.

    As in transformers, additional_special_tokens must then contain all <extra_id_…>, unless it is empty. The class
    does not check extra_special_tokens, as which transformers passes the list of a tokenizer_config.json that does
    not have both.
    """
    n = config.get("extra_ids", n_extra)
    if type(n) is not int or n > MAX_EXTRA_IDS:
        fail(f"extra_ids must be an integer up to {MAX_EXTRA_IDS}, not {n!r:.60}")
    older = {} if "added_tokens_decoder" in config else read_object(os.path.join(folder, MAP))
    listed = older.get(_ADDITIONAL, config.get(_ADDITIONAL) if config.get("extra_special_tokens") else None)
    if listed is not None and not isinstance(listed, list):
        fail(f"{_ADDITIONAL} must be a list, not {listed!r:.60}")
    found = {str(token) for token in listed or () if "extra_id" in str(token)}
    if listed and 0 < n != len(found):
        fail(f"{_ADDITIONAL} has {counted(len(found), 'token')} <extra_id_…>, but extra_ids is {n}")
    if named.has_extra or listed is not None:
        return named.extra
    return [Definition(f"<extra_id_{i}>", is_text=True) for i in range(n)]


def _decoder(named: NamedTokens, class_name: str, fail: Callable[[str], NoReturn]) -> dict[int, Definition]:
    """Return id → token: the tokens of roles have the first ids, unless added_tokens_decoder has others there."""
    defined = {token.content: token for token in named.decoder.values()}
    first: dict[int, Definition] = {}
    kind = CLASSES[class_name]
    for i, role in enumerate(kind.first):
        token = named.named.get(f"{role}_token")
        if token is None:
            fail(f"the class {class_name}Tokenizer needs a {role}_token")
        default = token._replace(lstrip=True, rstrip=True) if token.is_text and kind.strips else token
        first[i] = defined.get(token.content, default)
    return {**first, **named.decoder}
