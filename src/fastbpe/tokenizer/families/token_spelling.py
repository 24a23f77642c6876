"""Encoding of a token's bytes by a vocabulary: merged as one piece, without splitting or normalizing."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe.model import METASPACE, CodePointModel, PieceType, Spelling
from fastbpe.tokenizer.families.symbol_merging import merge_all

if TYPE_CHECKING:
    from fastbpe.tokenizer.families.codepoint_tables import Parts


def spell_bytes(token: bytes, vocabulary: Vocabulary, may_make: Callable[[int], bool]) -> list[int]:
    """Return the ids of a token's bytes, using only merges that `may_make` allows; no id for an unknown byte."""
    found = [vocabulary.find(bytes([byte])) for byte in token]
    symbols, _ = merge_all([symbol for symbol in found if symbol is not None], vocabulary, may_make)
    return symbols


def symbols_of(token: bytes, spelling: Spelling) -> list[bytes]:
    """List the base symbols of a character-level token, spelled as in the vocabulary.

    >>> symbols_of(b"low</w>", Spelling(suffix="</w>"))
    [b'l', b'o', b'w</w>']
    """
    text = token.decode()
    first = spelling.prefix if text.startswith(spelling.prefix) else ""
    last = spelling.suffix if text.endswith(spelling.suffix) else ""
    characters = text[len(first) : len(text) - len(last)]
    if not characters:  # the token is a prefix or suffix alone
        characters, first, last = text, "", ""
    before, behind = [first, *[spelling.prefix] * (len(characters) - 1)], [""] * (len(characters) - 1) + [last]
    return ["".join(one).encode() for one in zip(before, characters, behind, strict=True)]


def spell_token(token: bytes, vocabulary: Vocabulary, spelling: Spelling) -> list[int]:
    """Return the ids of the merged symbols of a character-level token.

    An unknown symbol becomes the ids of its bytes with byte fallback, otherwise no id.
    """
    symbols: list[int] = []
    for symbol in symbols_of(token, spelling):
        found = vocabulary.find(symbol)
        if found is not None:
            symbols.append(found)
        elif spelling.byte_ids and min(in_bytes := [spelling.byte_ids[byte] for byte in symbol]) >= 0:
            symbols += in_bytes
    merged, _ = merge_all(symbols, vocabulary)
    return merged


def spell_characters(text: str, parts: Parts, ids: list[int], usable: Collection[int]) -> list[int]:
    """Return the ids of a text's characters, using only merges that make usable ids.

    An unknown character becomes the ids of its bytes with byte fallback, otherwise the unknown id. Spaces of the
    text may be written as U+2581. ids: id of each symbol, from `parts.symbol_ids()`.
    """
    out: list[int] = []
    run: list[int] = []  # consecutive symbols that are not merged yet

    def end_run() -> None:
        merged, _ = merge_all(run, parts.vocabulary, lambda symbol: ids[symbol] in usable)
        out.extend(ids[symbol] for symbol in merged)
        run.clear()

    for character in text.replace(METASPACE, " ") if parts.marks_spaces else text:
        data = character.encode()
        symbol = parts.vocabulary.find(data)
        if symbol is not None and ids[symbol] < parts.surfaces.n_ids and ids[symbol] != parts.unknown:
            run.append(symbol)
            continue
        end_run()
        out += [parts.unknown] if parts.byte_ids is None else [parts.byte_ids[byte] for byte in data]
    end_run()
    return out


def merged_ids(model: CodePointModel) -> set[int]:
    """Return the ids of pieces that merging may make."""
    return {i for i, kind in enumerate(model.types) if kind in (PieceType.NORMAL, PieceType.USER_DEFINED)}
