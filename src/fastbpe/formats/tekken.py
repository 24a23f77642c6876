"""Mistral's `tekken.json`: the split pattern, the special tokens, and tokens in base64 by rank.

Special tokens have the first ids; the id of an ordinary token is its rank plus their number. A file may list more
tokens than fit into `default_vocab_size`: the last ones have no ids. It may list fewer special tokens than
`default_num_special_tokens`: a missing one with the id 20 is called <SPECIAL_20>. Files of some versions may list
no special tokens: this module has a list.
"""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from fastbpe.errors import FormatError
from fastbpe.formats.json_object import loads
from fastbpe.formats.limits import MAX_SPECIAL_TOKENS, check_entries, check_number
from fastbpe.formats.tiktoken import check_tokens
from fastbpe.model import N_BYTES, Buffer, Model, around
from fastbpe.patterns import Pattern, as_regex

_HEAD_BYTES, _TAIL_BYTES = 1 << 12, 1 << 16  # at the start and end of a file, where the settings may be
_WAY_OUT = "export this tokenizer as native or huggingface"  # advice in errors
_PATTERN = re.compile(rb'"pattern"\s*:\s*"')  # unlike a tokenizer.json, where an object or a number follows
_FILLER = "<SPECIAL_{}>"
# Special tokens of files that list none, in the order of their ids.
_FIRST_SPECIAL = (
    *("<unk>", "<s>", "</s>", "[INST]", "[/INST]", "[AVAILABLE_TOOLS]", "[/AVAILABLE_TOOLS]"),
    *("[TOOL_RESULTS]", "[/TOOL_RESULTS]", "[TOOL_CALLS]", "[IMG]", "<pad>", "[IMG_BREAK]", "[IMG_END]"),
    *("[PREFIX]", "[MIDDLE]", "[SUFFIX]", "[SYSTEM_PROMPT]", "[/SYSTEM_PROMPT]", "[TOOL_CONTENT]"),
)
_WITHOUT_LIST = ("v1", "v2", "v3", "v7")  # versions whose files may list no special tokens
_VERSION = "v3"  # the version to write: mistral-common reads it with any special tokens
_ROLES = {"bos": "<s>", "eos": "</s>", "pad": "<pad>", "unk": "<unk>"}


def recognise(data: Buffer) -> bool:
    """Tell whether a JSON object has the settings of a tekken.json at its start or end."""
    parts = bytes(data[:_HEAD_BYTES]), bytes(data[-_TAIL_BYTES:])
    return any(b'"num_vocab_tokens"' in part and _PATTERN.search(part) for part in parts)


def parse(data: Buffer, where: str, *, special_tokens: Mapping[str, int] | None = None) -> Model:
    """Read the model in a file's bytes. Raises FormatError if it is damaged or too large."""
    check_entries(data, where, b'"rank"')
    try:
        document = loads(bytes(data))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where}: not JSON: {error}") from None
    config = document.get("config") if isinstance(document, dict) else None
    if not isinstance(config, dict):
        raise FormatError(f"{where}: config: expected an object with the pattern and the sizes")
    pattern = config.get("pattern")
    if not isinstance(pattern, str):
        raise FormatError(f"{where}: config.pattern: expected a regex, found {pattern!r:.40}")
    n_special = _size(config, "default_num_special_tokens", where)
    if n_special > MAX_SPECIAL_TOKENS:
        raise FormatError(f"{where}: {n_special} special tokens: the limit is {MAX_SPECIAL_TOKENS}")
    n_tokens = _size(config, "default_vocab_size", where) - n_special
    names = _special_names(document.get("special_tokens"), config.get("version"), n_special, where)
    own_special_tokens = {name: i for i, name in enumerate(names)}
    bos = own_special_tokens.get(_ROLES["bos"])
    templates = around(() if bos is None else (bos,), ())
    return Model(
        tokens=[b""] * n_special + _tokens(document.get("vocab"), n_tokens, where),
        pattern=as_regex(pattern),
        special_tokens=own_special_tokens if special_tokens is None else special_tokens,
        template=((), ()) if bos is None else ((bos,), ()),
        pair_template=templates.pair,
        roles={role: name for role, name in _ROLES.items() if name in own_special_tokens},
    )


def _size(config: Mapping[str, Any], name: str, where: str) -> int:
    value = config.get(name)
    if type(value) is not int or value < 0:
        raise FormatError(f"{where}: config.{name}: expected a number of tokens, found {value!r:.40}")
    return value


def _special_names(listed: object, version: object, n: int, where: str) -> list[str]:
    """Return the texts of the special tokens by id."""
    names = list(_FIRST_SPECIAL)
    if listed is None and version not in _WITHOUT_LIST:
        raise FormatError(
            f"{where}: special_tokens: missing, and files of version {version!r:.20} must list them; download "
            "the file again"
        )
    if listed is not None:
        if not isinstance(listed, list):
            raise FormatError(f"{where}: special_tokens: expected a list, found {type(listed).__name__}")
        names = []
        for i, entry in enumerate(listed):
            name = entry.get("token_str") if isinstance(entry, dict) else None
            if not isinstance(name, str) or entry.get("rank") != i or type(entry["rank"]) is not int:
                raise FormatError(
                    f"{where}: special_tokens[{i}]: expected a token_str and the rank {i}, found {entry!r:.80}"
                )
            names.append(name)
    if len(names) > n:
        raise FormatError(f"{where}: {len(names)} special tokens, but config.default_num_special_tokens is {n}")
    names += [_FILLER.format(i) for i in range(len(names), n)]
    if len({*names}) != n:
        known: dict[str, int] = {}
        twice = next(name for i, name in enumerate(names) if known.setdefault(name, i) != i)
        raise FormatError(f"{where}: special_tokens: {twice!r:.80} appears twice")
    return names


def _tokens(listed: object, n: int, where: str) -> list[bytes]:
    """Return the first n tokens by rank."""
    if not isinstance(listed, list):
        raise FormatError(f"{where}: vocab: expected a list of tokens, found {type(listed).__name__}")
    check_number(len(listed), where)
    if not N_BYTES <= n <= len(listed):
        limit = f"vocab lists only {len(listed)}" if n > len(listed) else f"it must be at least {N_BYTES}"
        raise FormatError(
            f"{where}: config.default_vocab_size, less the special tokens, is {n}, but {limit}; copy the file "
            "again or recreate it"
        )
    tokens: list[bytes] = []
    for rank, entry in enumerate(listed[:n]):
        text = entry.get("token_bytes") if isinstance(entry, dict) else None
        if not isinstance(text, str) or entry.get("rank") != rank or type(entry["rank"]) is not int:
            raise FormatError(
                f"{where}: vocab[{rank}]: expected token_bytes and the rank {rank}, found {entry!r:.80}"
            )
        try:
            token = base64.b64decode(text, validate=True)
        except ValueError as error:
            raise FormatError(f"{where}: vocab[{rank}]: {text!r:.80} is not base64: {error}") from None
        if not token or (rank < N_BYTES and token != bytes([rank])):
            expected = f"the byte {rank}" if rank < N_BYTES else "a token"
            raise FormatError(f"{where}: vocab[{rank}]: expected {expected}, found {token!r:.80}")
        tokens.append(token)
    if len({*tokens}) != n:
        first: dict[bytes, int] = {}
        i, token = next((i, token) for i, token in enumerate(tokens) if first.setdefault(token, i) != i)
        raise FormatError(f"{where}: vocab[{i}]: {token!r:.80} already has the rank {first[token]}")
    return tokens


def dump(tokens: Sequence[bytes], pattern: Pattern, special_tokens: Mapping[str, int]) -> bytes:
    """Return the bytes of a file. Its version is always v3.

    Raises FormatError if such a file cannot store the vocabulary.
    """
    n_special = next((i for i, token in enumerate(tokens) if token), len(tokens))
    names = {token_id: name for name, token_id in special_tokens.items()}
    if not isinstance(pattern, str):
        raise FormatError(
            "a tekken.json stores one regex as its split pattern, but this tokenizer's pattern is not one regex; "
            f"{_WAY_OUT}"
        )
    if len(names) != len(special_tokens) or sorted(names) != [*range(n_special)]:
        raise FormatError(
            "in a tekken.json the special tokens have the first ids, one id each; here the first ordinary token "
            f"has the id {n_special}, and the special ones have {sorted(special_tokens.values())!s:.80}; "
            f"{_WAY_OUT}"
        )
    ordinary = [*tokens[n_special:]]
    while ordinary and not ordinary[-1]:
        ordinary.pop()
    if ordinary[:N_BYTES] != [bytes([byte]) for byte in range(N_BYTES)]:
        raise FormatError(
            f"in a tekken.json the first ordinary tokens are the 256 bytes in order; here they are not; {_WAY_OUT}"
        )
    if not all(ordinary):
        raise FormatError(
            f"the id {n_special + ordinary.index(b'')} has no token, but a tekken.json cannot have gaps; "
            f"{_WAY_OUT}"
        )
    check_tokens(ordinary, "a tekken.json")
    document = {
        "config": {
            "pattern": pattern,
            "num_vocab_tokens": len(ordinary),
            "default_vocab_size": n_special + len(ordinary),
            "default_num_special_tokens": n_special,
            "version": _VERSION,
        },
        "vocab": [_entry(rank, token) for rank, token in enumerate(ordinary)],
        "special_tokens": [{"rank": i, "token_str": names[i], "is_control": True} for i in range(n_special)],
    }
    return json.dumps(document, ensure_ascii=False, indent=1).encode()


def _entry(rank: int, token: bytes) -> dict[str, Any]:
    try:
        text: str | None = token.decode()
    except UnicodeDecodeError:
        text = None
    return {"rank": rank, "token_bytes": base64.b64encode(token).decode(), "token_str": text}
