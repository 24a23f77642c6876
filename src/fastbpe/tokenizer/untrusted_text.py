"""Ids that untrusted text must never become although merging may make them, and the ids to put in their places.

A trained vocabulary may hold the text of an added token as a token of its own, or, in a sentencepiece model, as a
user-defined symbol. `encode_parts` puts smaller pieces in their places. Three kinds of ids stay: white space, the
unknown token, and base symbols (a byte, a character), because no other ids stand for them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import TYPE_CHECKING

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe.model import CodePointModel, PieceType
from fastbpe.splitting.charset import blanks
from fastbpe.tokenizer.codepoint_tables import METASPACE

if TYPE_CHECKING:
    from fastbpe.tokenizer.codepoint_tables import Parts


def spelled_bytes(vocabulary: Vocabulary, added: Collection[int]) -> dict[int, list[int]]:
    """Map ids of added tokens that the vocabulary has, too, to the ids of smaller pieces with the same bytes."""
    guarded = {token_id for token_id in added if vocabulary.has(token_id)}
    if not guarded:
        return {}
    tokens = vocabulary.tokens()
    spelled = {}
    for token_id in guarded:
        token = tokens[token_id]
        if len(token) > 1 and token.decode("utf-8", "replace").strip(blanks()):
            symbols = [vocabulary.find(bytes([byte])) for byte in token]
            known = [symbol for symbol in symbols if symbol is not None]
            spelled[token_id] = _merge(known, vocabulary, lambda merged: merged not in guarded)
    return spelled


def spelled_characters(model: CodePointModel, parts: Parts) -> dict[int, list[int]]:
    """Map ids of added tokens and user-defined symbols to the ids of smaller pieces with the same text."""
    guarded = {token.id for token in model.added_tokens}
    if model.conventions is None:
        guarded.update(i for i, kind in enumerate(model.types) if kind == PieceType.USER_DEFINED)
    ids = parts.symbol_ids()
    usable = {i for i, kind in enumerate(model.types) if kind in (PieceType.NORMAL, PieceType.USER_DEFINED)}
    usable -= guarded
    symbol_of = {token_id: symbol for symbol, token_id in enumerate(ids)}
    spelled = {}
    for token_id in sorted(guarded & symbol_of.keys()):
        text = model.piece(token_id).decode("utf-8", "replace")
        if model.types[token_id] == PieceType.UNKNOWN or len(text) == 1 or not text.strip(blanks() + METASPACE):
            continue
        spelled[token_id] = _spell(text, parts, ids, usable)
    return spelled


def _spell(text: str, parts: Parts, ids: list[int], usable: Collection[int]) -> list[int]:
    """Encode a text by merges that make usable ids only."""
    out: list[int] = []
    run: list[int] = []  # consecutive symbols, yet to be merged

    def end_run() -> None:
        merged = _merge(run, parts.vocabulary, lambda symbol: ids[symbol] in usable)
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


def _merge(symbols: list[int], vocabulary: Vocabulary, may_make: Callable[[int], bool]) -> list[int]:
    """Merge the pairs whose result `may_make` allows, best first, the leftmost of equals."""
    symbols = [*symbols]
    while True:
        pairs = [
            (*pair, at)
            for at in range(len(symbols) - 1)
            if (pair := vocabulary.pair(symbols[at], symbols[at + 1])) is not None and may_make(pair[1])
        ]
        if not pairs:
            return symbols
        _, merged, at = min(pairs, key=lambda pair: (pair[0], pair[2]))
        symbols[at : at + 2] = [merged]
