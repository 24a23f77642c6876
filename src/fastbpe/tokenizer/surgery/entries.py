"""Entries of a tokenizer (see `between.Entry`): `Tokenizer.id_map` uses them to find equal tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import compress
from typing import TYPE_CHECKING

from fastbpe._core.merge.merge_piece import merge_pieces
from fastbpe._core.merge.segmented import best_ids
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._core.text.utf8_text import n_valid
from fastbpe.model import CodePointModel, PieceType, Spelling
from fastbpe.tokenizer.families.codepoint_tables import METASPACE_UTF8, Parts
from fastbpe.tokenizer.families.token_spelling import merged_ids, spell_characters, spell_token
from fastbpe.tokenizer.special_token_rules import SpecialTokens
from fastbpe.vocabularies.between import Entry, Speller, map_between

if TYPE_CHECKING:
    from fastbpe.tokenizer.families.family import Family
    from fastbpe.vocabularies.id_map import IdMap

_KINDS = {
    PieceType.NORMAL: "text",
    PieceType.UNUSED: "text",
    PieceType.USER_DEFINED: "name",
    PieceType.CONTROL: "name",
    PieceType.UNKNOWN: "name",
    PieceType.BYTE: "byte",
}

#: (mode of the new tokenizer, mode of the old one) → change of the bytes of a token, for entries and for spelling.
#: It applies to names, too: a user-defined symbol that sentencepiece finds in text stores spaces as U+2581. In
#: character mode, tokens are spelled as in their file, so they do not change.
_TRANSLATIONS: dict[tuple[str, str], Callable[[bytes], bytes]] = {
    ("codepoint", "byte"): lambda token: token.replace(METASPACE_UTF8, b" "),
    ("byte", "codepoint"): lambda token: token.replace(b" ", METASPACE_UTF8),
}


def map_families(old: Family, new: Family) -> IdMap:
    """Return the map from the ids of one family's vocabulary to the ids of another's; see `Tokenizer.id_map`."""
    translate = _TRANSLATIONS.get((new.mode, old.mode), bytes)
    entries = ((token_id, (kind, translate(token))) for token_id, (kind, token) in new.entries())
    return map_between(old.entries(), old.n_ids, entries, new.n_ids, old.speller())


def byte_level_entries(vocabulary: Vocabulary, special: SpecialTokens) -> Iterator[tuple[int, Entry]]:
    for token_id, token in enumerate(vocabulary.tokens()):
        if token:
            yield token_id, ("text", token)
    yield from _named(special)


def codepoint_entries(model: CodePointModel, special: SpecialTokens) -> Iterator[tuple[int, Entry]]:
    added_ids = {token.id for token in special.added}
    for piece_id, (piece, number) in enumerate(zip(model.pieces, model.types, strict=True)):
        kind = _KINDS[number]
        if number == PieceType.USER_DEFINED and not model.finds_symbols and piece_id not in added_ids:
            kind = "text"  # it is not found in text by its name
        yield piece_id, (kind, bytes([int(piece[1:-1], 16)]) if kind == "byte" else piece)  # from <0x0A>
    yield from _named(special)


def _named(special: SpecialTokens) -> Iterator[tuple[int, Entry]]:
    tokens = {(token.content, token.id) for token in special.added} | {*special.ids.items()}
    for name, token_id in sorted(tokens, key=lambda token: token[1]):
        yield token_id, ("name", name.encode())


def byte_level_speller(vocabulary: Vocabulary) -> Speller:
    """Return the function that encodes the bytes of tokens with a byte-level vocabulary."""

    def spell(tokens: list[bytes]) -> list[tuple[int, ...]]:
        merged = merge_pieces(vocabulary, tokens)  # a token that no merge makes is found as a whole
        found = map(vocabulary.find, tokens)
        return [ids if whole is None else (whole,) for ids, whole in zip(merged, found, strict=True)]

    return spell


def character_speller(vocabulary: Vocabulary, spelling: Spelling) -> Speller:
    """Return the function that encodes tokens, with their prefix or suffix, with a vocabulary of characters."""
    return lambda tokens: [tuple(spell_token(token, vocabulary, spelling)) for token in tokens]


def codepoint_speller(model: CodePointModel, parts: Parts) -> Speller:
    """Return the function that encodes the bytes of tokens with the pieces of a code-point model.

    It never returns the unknown id: an embedding row for unknown characters says nothing about a token.
    """
    usable = merged_ids(model)
    merges_all = PieceType.UNUSED not in model.types  # merge_pieces() would spell an unused piece by its parts
    symbol_ids = parts.symbol_ids()

    def spell_one(token: bytes) -> list[int]:
        try:
            return spell_characters(token.decode(), parts, symbol_ids, usable)
        except UnicodeDecodeError:
            return [] if parts.byte_ids is None else [parts.byte_ids[byte] for byte in token]

    def spell(tokens: list[bytes]) -> list[tuple[int, ...]]:
        is_fast = [merges_all and n_valid(token) == len(token) for token in tokens]
        spell_all = merge_pieces if parts.vocabulary.segmenter is None else best_ids
        merged = iter(spell_all(parts.vocabulary, [*compress(tokens, is_fast)]))
        spelled = [
            next(merged) if fast else tuple(spell_one(token)) for token, fast in zip(tokens, is_fast, strict=True)
        ]
        if parts.byte_ids is not None:
            return spelled
        return [tuple([i for i in ids if i != parts.unknown]) for ids in spelled]

    return spell
