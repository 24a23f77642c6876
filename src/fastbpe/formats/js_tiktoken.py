"""Ranks for ports of tiktoken to JavaScript (js-tiktoken, @dqbd/tiktoken): JSON with pattern and special tokens.

Each row of `bpe_ranks` is "!", a space, the rank of its first token, and tokens in base64, each one rank higher.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from fastbpe.errors import FormatError
from fastbpe.formats import tiktoken
from fastbpe.formats.json_object import loads
from fastbpe.formats.limits import check_entries
from fastbpe.model import Buffer, Model
from fastbpe.patterns import as_regex

_HEAD_BYTES = 1 << 16  # the pattern and the special tokens come before the ranks
_RANKS = re.compile(rb'"bpe_ranks"\s*:\s*"')
_ROW = re.compile(r"! ([0-9]{1,9}) ([A-Za-z0-9+/= ]+)")


def recognise(data: Buffer) -> bool:
    """Tell whether a JSON object begins like such a file."""
    return _RANKS.search(bytes(data[:_HEAD_BYTES])) is not None


def parse(data: Buffer, where: str, *, special_tokens: Mapping[str, int] | None = None) -> Model:
    """Read the model in a file's bytes."""
    check_entries(data, where, b" ")
    try:
        document = loads(bytes(data))
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{where}: not JSON: {error}") from None
    pattern, rows, special = (document.get(key) for key in ("pat_str", "bpe_ranks", "special_tokens"))
    if not isinstance(pattern, str) or not isinstance(rows, str) or not isinstance(special, dict):
        raise FormatError(
            f"{where}: expected pat_str (a regex), special_tokens (an object) and bpe_ranks (a string), as in "
            "files of js-tiktoken"
        )
    for name, token_id in special.items():
        if type(token_id) is not int or not 0 <= token_id <= tiktoken.MAX_RANK:
            raise FormatError(
                f"{where}: special_tokens: {name!r:.60} has the id {token_id!r:.40}, which is not an integer from "
                f"0 to {tiktoken.MAX_RANK}"
            )
    lines: list[str] = []
    for number, row in enumerate(rows.split("\n"), 1):
        found = _ROW.fullmatch(row)
        if found:
            lines += [f"{token} {rank}\n" for rank, token in enumerate(found[2].split(" "), int(found[1]))]
        elif row:
            raise FormatError(f"{where}: bpe_ranks: row {number}: expected '! RANK TOKEN ...', found {row[:40]!r}")
    return tiktoken.parse(
        "".join(lines).encode(),
        f"{where}: bpe_ranks, one token per line",
        pattern=as_regex(pattern),
        special_tokens=special if special_tokens is None else special_tokens,
    )
