"""User-defined pieces of a sentencepiece model in a tokenizer.json that puts U+2581 before texts.

Added tokens would not work: tokenizers puts no U+2581 before a text that begins with an added token. So a Split
separates the pieces from the text, and ignore_merges turns each part that is a token into that token. But the
names of control symbols and bytes are also tokens, although no merges make them. A second Split cuts such a name
at a place that merging never crosses.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeVar

from fastbpe.formats import merges_as_scores
from fastbpe.formats.huggingface.step_json import split
from fastbpe.model import BYTES_PER_MERGE, PieceType, pack_pieces

Merges = Mapping[tuple[str, str], int]
_Symbol = TypeVar("_Symbol", str, int)

_MAX_CHARACTERS = 256  # of a name to cut, as in `merges_as_scores`: `merged` takes quadratic time


def pre_tokenizer(
    pieces: Sequence[str], types: bytes, merges: bytes, *, added: Collection[int], fuses: bool
) -> tuple[dict[str, Any] | None, str]:
    """Describe the pre-tokenizer for a model's user-defined pieces.

    Args:
        pieces: the pieces that the vocabulary lists, by id; types and merges are as in a model.
        added: ids of added tokens.
        fuses: several unknown characters in a row become one token.

    Returns:
        (pre-tokenizer, ""); (None, "") without such pieces; or (None, piece) with a piece that must be cut
        but cannot. No piece of more than 256 characters can be cut.
    """
    types = types[: len(pieces)]
    fuses = fuses and PieceType.BYTE not in types  # with byte tokens, no character is unknown
    # Pieces with a space are left out: spaces have become U+2581, so no text contains such a piece.
    symbols = {
        piece
        for i, piece in enumerate(pieces)
        if types[i] == PieceType.USER_DEFINED and i not in added and " " not in piece
    }
    if not symbols:  # a Split with an empty regex would split between all characters
        return None, ""
    triples = memoryview(merges).cast("I")
    packed = pack_pieces(piece.encode() for piece in pieces)
    unmade = merges_as_scores.unmade(*packed, types, triples, int.from_bytes(os.urandom(8), "little"))
    if unmade is None:
        return None, max(pieces, key=len)
    apart = {pieces[i] for i in unmade}
    apart |= {
        piece
        for i, piece in enumerate(pieces)
        if types[i] != PieceType.NORMAL and piece not in symbols and len(piece) > 1 and " " not in piece
    }
    order = {
        (pieces[triples[i]], pieces[triples[i + 1]]): i for i in range(0, len(merges) // BYTES_PER_MERGE * 3, 3)
    }
    characters = frozenset(
        piece for i, piece in enumerate(pieces) if len(piece) == 1 and types[i] == PieceType.NORMAL
    )
    cuts, bad = find_cuts(sorted(apart), order, characters, apart=frozenset(apart), fuses=fuses)
    return (describe(symbols, cuts), "") if bad is None else (None, bad)


def describe(symbols: Iterable[str], cuts: Mapping[str, str]) -> dict[str, Any]:
    """Return the pre-tokenizer.

    Args:
        symbols: user-defined pieces.
        cuts: each name that must be cut → its part to cut off.
    """
    steps = [split("|".join(map(escaped, longest_first(symbols))))]
    if cuts:
        rests: dict[str, list[str]] = {}
        for name, first in sorted(cuts.items()):
            rests.setdefault(first, []).append(escaped(name[len(first) :]))
        parts = (f"{escaped(first)}(?=(?:{'|'.join(rest)})\\z)" for first, rest in rests.items())
        steps.append(split(f"\\A(?:{'|'.join(parts)})"))
    return {"type": "Sequence", "pretokenizers": steps}


def read(described: Any) -> list[str] | None:
    """Return the symbols if this pre-tokenizer may come from `describe`, else None.

    To be sure, the caller calls `describe` with them and compares.
    """
    match described:
        case {"type": "Sequence", "pretokenizers": [{"type": "Split", "pattern": {"Regex": str(regex)}}, *rest]}:
            if len(rest) < 2:
                return [_unescaped(part) for part in re.findall(r"(?:\\.|[^\\|])+", regex, re.DOTALL)]
    return None


def find_cuts(
    names: Iterable[str],
    merges: Mapping[tuple[str, str], int],
    characters: frozenset[str],
    *,
    apart: frozenset[str],
    fuses: bool,
) -> tuple[dict[str, str], str | None]:
    """Find places to cut the names that must not become a token.

    Args:
        names: tokens that text must not become.
        merges: pair of tokens → its index in the list of merges.
        characters: single characters that are tokens.
        apart: texts that must not remain as a part after a cut.
        fuses: unknown characters in a row become one token, and cannot be cut apart.

    Returns:
        (name → its part to cut off, first name that cannot be cut or None).
    """
    cuts: dict[str, str] = {}
    for name in names:
        tokens = merged(name, merges) if len(name) <= _MAX_CHARACTERS else []
        at = 0
        for left, right in pairwise(tokens):
            at += len(left)
            is_fused = fuses and len(left) == len(right) == 1 and not {left, right} & characters
            if not is_fused and name[:at] not in apart and name[at:] not in apart:
                cuts[name] = name[:at]
                break
        else:
            return cuts, name
    return cuts, None


def merged(symbols: Iterable[_Symbol], order: Mapping[tuple[_Symbol, _Symbol], int]) -> list[_Symbol]:
    """Join neighbours with +, the pair with the lowest number in `order` first, the leftmost of equal ones."""
    left = list(symbols)
    numbers = [order.get(pair, math.inf) for pair in pairwise(left)]
    while (best := min(numbers, default=math.inf)) < math.inf:
        at = numbers.index(best)
        left[at : at + 2] = [left[at] + left[at + 1]]
        before = max(at - 1, 0)
        numbers[before : at + 2] = [order.get(pair, math.inf) for pair in pairwise(left[before : at + 2])]
    return left


def longest_first(symbols: Iterable[str]) -> list[str]:
    """Sort texts by length, the longest first, then by characters."""
    return sorted(symbols, key=lambda symbol: (-len(symbol), symbol))


def escaped(text: str) -> str:
    """Return an Oniguruma regex that matches a text."""
    plain = re.compile(r"[^\W_]|[^\x00-\x7f]")
    return "".join(c if plain.match(c) else f"\\{c}" if c.isprintable() else f"\\x{{{ord(c):X}}}" for c in text)


def _unescaped(regex: str) -> str:
    return re.sub(r"\\x\{([0-9A-F]+)\}|\\(.)", lambda match: match[2] or chr(int(match[1], 16)), regex)
