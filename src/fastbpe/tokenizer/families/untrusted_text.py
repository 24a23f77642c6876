"""Ids that untrusted text must never become although merging may make them, and the ids that replace them.

A trained vocabulary may contain the text of an added token as an ordinary token, or (in a sentencepiece model) as
a user-defined symbol. `encode_parts` replaces these by smaller pieces. Three kinds of ids stay: white space, the
unknown token, and base symbols (a byte, a character), because no other ids can represent them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe.errors import NoUnknownTokenError
from fastbpe.model import METASPACE, CodePointModel, Model, PieceType
from fastbpe.splitting.charset import blanks
from fastbpe.tokenizer.families.token_spelling import merged_ids, spell_bytes, spell_characters, symbols_of
from fastbpe.tokenizer.families.unigram_tables import found_whole

if TYPE_CHECKING:
    from fastbpe.tokenizer.families.codepoint_tables import Parts


def spelled_bytes(vocabulary: Vocabulary, added: Collection[int]) -> dict[int, list[int]]:
    """Map ids of added tokens that are also in the vocabulary to the ids of smaller pieces with the same bytes."""
    guarded = {token_id for token_id in added if vocabulary.has(token_id)}
    if not guarded:
        return {}
    tokens = vocabulary.tokens()
    spelled = {}
    for token_id in guarded:
        token = tokens[token_id]
        if len(token) > 1 and token.decode("utf-8", "replace").strip(blanks()):
            spelled[token_id] = spell_bytes(token, vocabulary, lambda merged: merged not in guarded)
    return spelled


def spelled_symbols(
    model: Model, vocabulary: Vocabulary, merging: Vocabulary, added: Collection[int]
) -> dict[int, list[int]]:
    """Map ids of added tokens that are also in a character-level vocabulary to the ids of their base symbols.

    If the vocabulary lacks one of the symbols, the ids are the same as for the token's text as a word of its own.
    merging: the vocabulary that merges; nearly always equal to `vocabulary`.
    """
    from fastbpe._core.merge.spelling import base_symbols  # here: few tokenizers have one

    spelling = model.spelling
    assert spelling is not None
    tokens = vocabulary.tokens()
    spelled: dict[int, list[int]] = {}
    for token_id in added:
        if not vocabulary.has(token_id) or token_id == spelling.unknown:
            continue
        symbols = symbols_of(tokens[token_id], spelling)
        whole = tokens[token_id].decode()
        text = whole.removesuffix(spelling.suffix).removeprefix(spelling.prefix) or whole
        if len(symbols) == 1 or not text.strip(blanks()):
            continue
        found = [vocabulary.find(symbol) for symbol in symbols]
        if model.symbols is None and None not in found:
            spelled[token_id] = [symbol_id for symbol_id in found if symbol_id is not None]
            continue
        try:
            spelled[token_id] = base_symbols(merging, text.encode())
        except NoUnknownTokenError as error:
            spelled[token_id] = _Refused(str(error))
    return spelled


class _Refused(list[int]):
    """In place of ids that a model lacks, as it has no unknown token: only a text that needs them is an error."""

    def __init__(self, message: str) -> None:
        self._message = message

    def __iter__(self) -> Iterator[int]:
        raise NoUnknownTokenError(self._message)


def spelled_characters(model: CodePointModel, parts: Parts) -> dict[int, list[int]]:
    """Map ids of added tokens and user-defined symbols to the ids of smaller pieces with the same text."""
    guarded = {token.id for token in model.added_tokens}
    if model.conventions is None:
        guarded.update(i for i, kind in enumerate(model.types) if kind == PieceType.USER_DEFINED)
    ids = parts.symbol_ids()
    usable = merged_ids(model) - guarded
    spelled = {}
    made = {*ids}  # by merging; a table also finds runs of unknown characters as a whole
    for token_id in guarded & (made | found_whole(model)):
        text = model.piece(token_id).decode("utf-8", "replace")
        if model.types[token_id] == PieceType.UNKNOWN or len(text) == 1 or not text.strip(blanks() + METASPACE):
            continue
        spelled[token_id] = spell_characters(text, parts, ids, usable) if token_id in made else [parts.unknown]
    return spelled
