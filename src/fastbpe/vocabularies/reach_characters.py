"""Decide for each piece of a code-point vocabulary whether some text produces it.

`reach` states the proofs. A character that is in no piece of two or more characters separates the text before it
from the text after it. So a piece that merging makes from its own characters nearly always has a text: such a
character, then the piece.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, islice

from fastbpe._core.merge.merge_piece import merge_alone
from fastbpe.model import METASPACE
from fastbpe.vocabularies.material import Described, Kind, Material
from fastbpe.vocabularies.trial import Reach, Reason, Trial

# Texts to put before a piece; characters that are in no piece of two or more characters work best.
_SEPARATORS = ("", "\x01", "a", "\ue000", '"', "\u3002", " ", "\n", "1", "\u4e2d", "\u0378")
_BEHIND = ("", "\x01", "a", " a", "\ue000", " \x01", "\u3002")
_MAX_TEXTS = 1 << 12  # characters to try for a byte: about the maximum
_FIRST_TEXTS = 16  # characters that are tried first: nearly always, one of them gives the byte
_MAX_LETTERS = 8  # characters that are put around a piece
_MAX_ALL_TEXTS = 1 << 21  # texts that are tried for all pieces together: some seconds
UNUSABLE_BYTES = frozenset((0xC0, 0xC1, *range(0xF5, 0x100)))  # bytes that UTF-8 never contains


def judge_pieces(tokenizer: Described, material: Material, reach: Reach) -> None:
    """Judge all tokens except names."""
    trial = Trial(tokenizer, reach)
    pieces = {
        i: material.tokens[i].decode(errors="replace")
        for i, kind in enumerate(material.kinds)
        if kind is Kind.TEXT
    }
    for before in _SEPARATORS:
        for behind in _BEHIND:
            trial.all((i, before + piece + behind) for i, piece in pieces.items())
    # Where a normalizer removes a space, it may keep U+2581, which becomes the same symbol.
    for behind in _BEHIND:
        trial.all((i, f"\x01{piece.replace(' ', METASPACE)}{behind}") for i, piece in pieces.items())
    n_texts_left = _MAX_ALL_TEXTS
    bytes_stand_in = Kind.BYTE in material.kinds
    for i, kind in enumerate(material.kinds):
        if kind in (Kind.NAME, Kind.NONE) or i in reach.witnesses:
            continue
        reason = None
        if kind is Kind.TEXT:
            reason = _judge_piece(material, i, pieces[i])
            if reason is None and n_texts_left > 0:
                n_texts_left -= _search(trial, i, pieces[i])
        elif kind is Kind.UNUSED:
            reason = Reason.UNUSED
        elif kind is Kind.UNKNOWN and bytes_stand_in:
            reason = Reason.UNKNOWN
        elif kind is Kind.UNKNOWN:
            trial.one(i, [f"a{chr(code)}" for code in chain((0x378, 0xE000), _spread(1, 0xD800))])
        elif kind is Kind.BYTE:
            reason = _judge_byte(material, trial, i)
        reach.settle(i, reason)


def _judge_piece(material: Material, token_id: int, piece: str) -> Reason | None:
    if material.vocabulary.segmenter is None:
        symbol = material.symbols.get(token_id)
        if symbol is None or merge_alone(material.vocabulary, material.symbol_bytes[symbol]) != [token_id]:
            return Reason.MERGES
    if material.holds_name(material.tokens[token_id]):
        return Reason.NAME
    if material.keeps is not None and not material.keeps(piece):
        return Reason.NORMALIZER
    return None


def _search(trial: Trial, token_id: int, piece: str) -> int:
    """Try texts in which characters of a piece, or a few others, precede and follow it. Returns their number."""
    letters = [*dict.fromkeys([*piece, "\x01", "a", " ", METASPACE])][:_MAX_LETTERS]
    sides = [*letters, *(left + right for left in letters for right in letters)]
    n_texts = 0
    for around in (["", *letters], ["", *sides]):
        texts = [
            before + form + behind
            for form in dict.fromkeys([piece, piece.replace(" ", METASPACE)])
            for before in around
            for behind in around
        ]
        n_texts += len(texts)
        if trial.one(token_id, texts):
            break
    return n_texts


def _judge_byte(material: Material, trial: Trial, token_id: int) -> Reason | None:
    """Judge an id that represents a byte: it needs a character without a piece."""
    byte = material.tokens[token_id][0]
    if byte in UNUSABLE_BYTES:
        return Reason.BYTES
    unknown = (text for text in characters_with(byte) if not _has_piece(material, text))
    kept = (text for text in unknown if _is_kept(material, text))
    first = [*islice(kept, _FIRST_TEXTS)]
    # True if characters_with yields all characters of the byte, so that a proof is possible.
    is_complete = byte < 0x80 or (byte >= 0xC0 and len(range(*_range_of(byte))) <= _MAX_TEXTS)
    if is_complete and not first:
        has_unknown = not all(_has_piece(material, text) for text in characters_with(byte))
        return Reason.NORMALIZER if has_unknown else Reason.BYTE
    if trial.one(token_id, first) or trial.one(token_id, rest := [*kept]):
        return None
    trial.one(token_id, [f"a{text}a" for text in first + rest])  # normalizing may remove white space at the ends
    return None


def _is_kept(material: Material, character: str) -> bool:
    """Tell whether a character may occur in normalized text."""
    if character == " " and material.escapes_spaces:
        return False
    return material.keeps is None or material.keeps(character)


def _has_piece(material: Material, character: str) -> bool:
    symbol = material.vocabulary.find(character)
    if symbol is None or material.symbol_ids is None:
        return False
    token_id = material.symbol_ids[symbol]
    return token_id < len(material.kinds) and material.kinds[token_id] in (Kind.TEXT, Kind.NAME)


def characters_with(byte: int) -> Iterator[str]:
    """Yield characters whose UTF-8 begins with a byte, or ends with it if it is a continuation byte.

    If there are many, only some of them.
    """
    if byte < 0x80:
        yield chr(byte)
    elif byte < 0xC0:
        for code in _spread(0x80, 0x110000):
            text = _character(code & ~0x3F | byte & 0x3F)
            if text:
                yield text
    else:
        for code in _spread(*_range_of(byte)):
            if text := _character(code):
                yield text


def _range_of(lead: int) -> tuple[int, int]:
    """Return the range (first, end) of code points whose UTF-8 begins with a byte."""
    n = 1 if lead < 0xE0 else 2 if lead < 0xF0 else 3
    first = (lead & (0x3F >> n)) << 6 * n
    return max(first, (0, 0x80, 0x800, 0x10000)[n]), min(first + (1 << 6 * n), 0x110000)


def _character(code: int) -> str:
    return "" if 0xD800 <= code < 0xE000 else chr(code)


def _spread(first: int, end: int) -> range:
    """Return the code points from first to end; if there are very many, some thousands, evenly spread."""
    return range(first, end, max((end - first) // _MAX_TEXTS, 1))
