"""Entries of a tokenizer, by which `Tokenizer.id_map` finds the tokens that two tokenizers share."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe.model import CodePointModel, PieceType
from fastbpe.tokenizer.codepoint_tables import METASPACE_UTF8, Parts
from fastbpe.tokenizer.special_tokens import SpecialTokens
from fastbpe.tokenizer.spelling import merged_ids, spell_bytes, spell_characters
from fastbpe.vocabularies.between import Entry

_KINDS = {
    PieceType.NORMAL: "text",
    PieceType.UNUSED: "text",
    PieceType.USER_DEFINED: "name",
    PieceType.CONTROL: "name",
    PieceType.UNKNOWN: "name",
    PieceType.BYTE: "byte",
}

#: (mode of the new tokenizer, mode of the old one) → change of the bytes of a token, for entries and for spelling.
TRANSLATIONS: dict[tuple[str, str], Callable[[bytes], bytes]] = {
    ("codepoint", "byte"): lambda token: token.replace(METASPACE_UTF8, b" "),
    ("byte", "codepoint"): lambda token: token.replace(b" ", METASPACE_UTF8),
}


def byte_level_entries(vocabulary: Vocabulary, special: SpecialTokens) -> Iterator[tuple[int, Entry]]:
    """Give the id and the entry of each token."""
    for token_id, token in enumerate(vocabulary.tokens()):
        if token:
            yield token_id, ("text", token)
    yield from _named(special)


def codepoint_entries(model: CodePointModel, special: SpecialTokens) -> Iterator[tuple[int, Entry]]:
    """Give the id and the entry of each piece."""
    for piece_id, (piece, number) in enumerate(zip(model.pieces, model.types, strict=True)):
        kind = _KINDS[PieceType(number)]
        yield piece_id, (kind, bytes([int(piece[1:-1], 16)]) if kind == "byte" else piece)  # from <0x0A>
    yield from _named(special)


def _named(special: SpecialTokens) -> Iterator[tuple[int, Entry]]:
    tokens = {(token.content, token.id) for token in special.added} | {*special.ids.items()}
    for name, token_id in sorted(tokens, key=lambda token: token[1]):
        yield token_id, ("name", name.encode())


def byte_level_speller(vocabulary: Vocabulary) -> Callable[[bytes], list[int]]:
    """Make the function that spells the bytes of a token by a byte-level vocabulary."""

    def spell(token: bytes) -> list[int]:
        whole = vocabulary.find(token)
        return spell_bytes(token, vocabulary, lambda _: True) if whole is None else [whole]

    return spell


def codepoint_speller(model: CodePointModel, parts: Parts) -> Callable[[bytes], list[int]]:
    """Make the function that spells the bytes of a token by the pieces of a code-point model.

    Its ids are never the unknown one: a row for characters that are not known says nothing of a token.
    """
    ids, usable = parts.symbol_ids(), merged_ids(model)

    def spell(token: bytes) -> list[int]:
        try:
            spelled = spell_characters(token.decode(), parts, ids, usable)
        except UnicodeDecodeError:
            spelled = [] if parts.byte_ids is None else [parts.byte_ids[byte] for byte in token]
        return [token_id for token_id in spelled if parts.byte_ids is not None or token_id != parts.unknown]

    return spell
