"""The `.tiktoken` format: a line a token, its bytes in base64, a space, its rank. Nothing else is in it.

Neither the split pattern nor the special tokens are in the file, so they must be given, or be known for a file
with these very contents (the published SHA-256 of OpenAI's vocabularies).
"""

from __future__ import annotations

import binascii
import re
from collections.abc import Mapping, Sequence
from functools import partial

from fastbpe.errors import FormatError
from fastbpe.formats import _ranks
from fastbpe.formats.limits import check_entries
from fastbpe.model import Buffer, Model
from fastbpe.patterns import PatternLike

# sha256 of the file → name of the encoding, name of its pattern, special tokens; all as published by OpenAI.
_KNOWN: Mapping[str, tuple[str, str, Mapping[str, int]]] = {
    "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930": (
        "r50k_base",
        "gpt2",
        {"<|endoftext|>": 50256},
    ),
    "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069": (
        "p50k_base",
        "gpt2",
        {"<|endoftext|>": 50256},
    ),
    "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7": (
        "cl100k_base",
        "cl100k",
        {
            "<|endoftext|>": 100257,
            "<|fim_prefix|>": 100258,
            "<|fim_middle|>": 100259,
            "<|fim_suffix|>": 100260,
            "<|endofprompt|>": 100276,
        },
    ),
    "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d": (
        "o200k_base",
        "o200k",
        {"<|endoftext|>": 199999, "<|endofprompt|>": 200018},
    ),
}
_LINE = re.compile(rb"[A-Za-z0-9+/]+={0,2} [0-9]+\r?")
_MAX_RANK = (1 << 24) - 1  # of the core: ids index flat arrays


def recognise(data: Buffer) -> bool:
    """Whether the first line that is not blank looks like one of this format."""
    for line in bytes(data[:4096]).split(b"\n"):
        if line.strip():
            return _LINE.fullmatch(line) is not None
    return False


def parse(data: Buffer, where: str, *, pattern: PatternLike, special_tokens: Mapping[str, int] | None) -> Model:
    """The model in a file's bytes. pattern: as the caller gave it, None where it was not given."""
    import hashlib  # here: 2 ms that no other format needs

    check_entries(data, where, b"\n")
    known = _KNOWN.get(hashlib.sha256(data).hexdigest())
    if pattern is None and known is None:
        raise FormatError(
            f"{where}: a .tiktoken file does not hold its split pattern; give it, e.g. "
            'load(path, pattern="cl100k", special_tokens={...}), or pattern="none" for no splitting '
            "(--pattern, --special)"
        )
    tokens, tables = None, None
    plain = _ranks.parse(data)
    if plain is not None:
        tables = dict(zip(("token_bytes", "token_ends"), plain, strict=True))
    else:
        tokens = list_tokens(parse_ranks(bytes(data), where))
    name, known_pattern, known_special = known or (None, None, {})
    return Model(
        tokens=tokens,
        tables=tables,
        pattern=known_pattern if pattern is None else pattern,
        special_tokens=known_special if special_tokens is None else special_tokens,
        name=name,
    )


def list_tokens(ranks: Mapping[bytes, int]) -> list[bytes]:
    """The token of each rank, b"" where there is none."""
    tokens = [b""] * (max(ranks.values()) + 1)
    for token, rank in ranks.items():
        tokens[rank] = token
    return tokens


def parse_ranks(data: bytes, where: str) -> dict[bytes, int]:
    """Token bytes to rank. Blank lines and CRLF line ends are let pass.

    The slow twin of `_ranks.parse`, which leaves to it whatever looks odd.
    """
    ranks: dict[bytes, int] = {}
    lines_of: dict[int, int] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line or line == b"\r":
            continue
        token, rank = _parse_line(line, f"{where}:{number}")
        if token in ranks:
            raise FormatError(
                f"{where}:{number}: token {token!r} stands on line {lines_of[ranks[token]]} already; "
                "re-export the vocabulary"
            )
        if rank in lines_of:
            raise FormatError(
                f"{where}:{number}: rank {rank} stands on line {lines_of[rank]} already; re-export the vocabulary"
            )
        ranks[token] = rank
        lines_of[rank] = number
    if not ranks:
        raise FormatError(f"{where}: no line holds a token; a .tiktoken file has 256 or more")
    return ranks


def _parse_line(line: bytes, where: str) -> tuple[bytes, int]:
    fields = line.split()
    if len(fields) != 2:
        found = "no rank" if len(fields) == 1 else f"{len(fields)} fields"
        raise FormatError(f"{where}: expected a token in base64, a space and its rank, found {found}: {line!r}")
    import base64  # here: files without an error do not need it

    try:
        token = base64.b64decode(fields[0], validate=True)
    except binascii.Error as error:
        raise FormatError(f"{where}: {fields[0]!r} is not base64: {error}") from None
    if not token:
        raise FormatError(f"{where}: the token is empty")
    if not fields[1].isdigit() or int(fields[1][:20]) > _MAX_RANK:
        raise FormatError(f"{where}: rank {fields[1]!r} is not a number from 0 to {_MAX_RANK}")
    return token, int(fields[1])


def dump(tokens: Sequence[bytes]) -> bytes:
    """The file's bytes, from the bytes of each id (b"" where an id is no ordinary token), whose ranks decide."""
    check_tokens(tokens)
    as_base64 = partial(binascii.b2a_base64, newline=False)
    return b"".join(b"%s %d\n" % (as_base64(token), rank) for rank, token in enumerate(tokens) if token)


def check_tokens(tokens: Sequence[bytes]) -> None:
    """Raise FormatError for a token that has two ids."""
    first: dict[bytes, int] = {}
    for token_id, token in enumerate(tokens):
        if token and first.setdefault(token, token_id) != token_id:
            raise FormatError(
                f"tokens {first[token]} and {token_id} are both {token!r}; .tiktoken can hold it once only: "
                "export it as native"
            )
