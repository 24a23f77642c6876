"""A tokenizer.json with a model that does not merge: Unigram, WordPiece or WordLevel.

This module accepts the files that tokenizers accepts, up to MAX_TOKENS pieces.
"""

from __future__ import annotations

import json
import re
from array import array
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from fastbpe.errors import FormatError
from fastbpe.formats.huggingface import _vocab_json, scored_vocab
from fastbpe.formats.huggingface._vocab_json import Entries
from fastbpe.formats.huggingface.byte_vocabulary import (
    MAX_TOKENS,
    byte_ids,
    check_vocabulary,
    read_added_tokens,
    texts_by_id,
)
from fastbpe.formats.huggingface.decoder_json import is_value
from fastbpe.formats.huggingface.named_tokens import NamedTokens
from fastbpe.formats.huggingface.read import (
    WholeFileNeeded,
    checked_top,
    read_json,
    with_pad_role,
    with_padding,
    with_special,
)
from fastbpe.formats.huggingface.read_characters import model_of
from fastbpe.formats.huggingface.scored_vocab import ScoredVocab
from fastbpe.formats.huggingface.serde_numbers import serde_float
from fastbpe.formats.huggingface.step_parts import Part
from fastbpe.model import Buffer, Model, Spelling, pack_pieces

#: Types of models that merge nothing.
TYPES = ("Unigram", "WordPiece", "WordLevel")
_TYPE = rb'"type"\s*:\s*"(?:Unigram|WordPiece|WordLevel)"'
_LIST = rb'"vocab"\s*:\s*\['
_MAX_LENGTH = (1 << 63) - 1


class _Pieces(dict[str, int]):
    """Dict from piece to id; of equal pieces, the last counts.

    Its length is the length of the list of pieces: tokenizers numbers added tokens from there.
    """

    def __init__(self, pieces: list[str]) -> None:
        super().__init__(zip(pieces, range(len(pieces)), strict=True))
        self._n = len(pieces)

    def __len__(self) -> int:
        return self._n


def recognise(data: bytes) -> bool:
    """Tell whether a tokenizer.json may have such a model: one of these types, a list of pieces, or no merges."""
    return b'"merges"' not in data or re.search(_TYPE, data) is not None or re.search(_LIST, data) is not None


def parse(
    data: Buffer,
    where: str,
    *,
    special_tokens: Mapping[str, int] | None = None,
    named: NamedTokens | None = None,
    entries: Entries | ScoredVocab | None = None,
    may_merge: bool = True,
) -> Model | None:
    """Read the model in a file's bytes. Accepts the arguments of `read.parse`.

    Args:
        may_merge: as in `type_of`.

    Returns:
        The model; None if the file has a model of another type, or no model.

    Raises:
        FormatError: a damaged file, or one that tokenizers refuses.
        WholeFileNeeded: as `read.parse`.
    """
    raw = bytes(data)
    document, apart = read_apart(raw, where) if entries is None else (read_json(raw, where), entries)
    top = checked_top(document, where)
    model = top.part("model")
    kind = None if model is None else type_of(model, may_merge=may_merge)
    if model is None or kind not in TYPES:
        return None
    laid_out = _laid_out(apart, kind)
    if laid_out is None and apart is not None:
        if entries is not None:
            raise WholeFileNeeded
        top, apart = checked_top(read_json(raw, where), where), None
        model = top.part("model")
        assert model is not None
    scores = b""
    vocabulary: dict[str, int] | Entries
    pieces: list[str] = []
    model.value.pop("dropout", None)  # only BPE has it; tokenizers ignores it here
    if kind == "Unigram":
        pieces, scores, vocabulary = scored_pieces(model, raw, apart if isinstance(apart, ScoredVocab) else None)
        spelling = _unigram(model, vocabulary, pieces)
    else:
        vocabulary = apart if isinstance(apart, Entries) else check_vocabulary(model)
        pieces = texts_by_id(vocabulary) if isinstance(vocabulary, dict) else []
        spelling = _of_words(model, kind, vocabulary)
    if laid_out is None:
        laid_out = pack_pieces(map(str.encode, pieces))
    added = read_added_tokens(top, vocabulary, with_padding(named, top))
    result = model_of(top, vocabulary, added, laid_out, spelling)._replace(scores=scores)
    return with_special(with_pad_role(result, named, top), special_tokens)


def read_apart(data: bytes, where: str, *, may_score: bool = True) -> tuple[Any, ScoredVocab | Entries | None]:
    """Parse a tokenizer.json.

    may_score: False if its pieces have no scores: then the fast reader of scores is not tried.

    Returns:
        (document, None), or (document with empty vocabulary and merges, fast reader that has them).

    Raises:
        FormatError: it is not JSON.
    """
    apart = (may_score and scored_vocab.read(data)) or _vocab_json.read(data, needs_merges=False)
    if apart is not None:
        with suppress(FormatError):  # the slow twin raises it, with the right place
            return read_json(apart.rest, where), apart
    return read_json(data, where), None


def _laid_out(apart: ScoredVocab | Entries | None, kind: str) -> tuple[bytes, bytes] | None:
    """Return bytes and ends of the tokens; None if the slow reader must read a model of this type."""
    if isinstance(apart, ScoredVocab) and kind == "Unigram":
        return apart.token_bytes, apart.token_ends
    if isinstance(apart, Entries) and kind != "Unigram" and (pieces := apart.pieces()) is not None:
        return pieces[:2]
    return None


def type_of(model: Part, *, may_merge: bool = True) -> str:
    """Return the type of a model; if the file does not state it, the type that tokenizers assumes.

    may_merge: whether a model without a type can be a BPE; False if reading it as one has failed.
    """
    value = model.value
    if "type" in value:
        named: str = model.get("type", str)
        return named
    if isinstance(value.get("vocab"), list):
        return "Unigram"
    if may_merge and "merges" in value:
        return "BPE"
    longest = value.get("max_input_chars_per_word")
    if isinstance(value.get("continuing_subword_prefix"), str) and is_value("number", longest):
        return "WordPiece"
    return "WordLevel"


def scored_pieces(model: Part, data: bytes, apart: ScoredVocab | None) -> tuple[list[str], bytes, dict[str, int]]:
    """Return the pieces of a Unigram model, their scores, and piece → id. apart: what the fast reader read."""
    if apart is None:
        pieces, scores = scored(model, data)
        return pieces, scores, _Pieces(pieces)
    if apart.ids is None:
        apart.ids = _Pieces(apart.pieces)
    return apart.pieces, apart.scores, apart.ids


def scored(model: Part, data: bytes) -> tuple[list[str], bytes]:
    """Return the pieces of a Unigram model, and their scores (float64) as tokenizers reads them.

    Raises FormatError if there are too many pieces, or one is not a pair of a text and a number.
    """
    listed = model.get("vocab", list)
    if len(listed) > MAX_TOKENS:
        model.fail(f"{len(listed)} pieces: the limit is {MAX_TOKENS}", "vocab")
    # The digits of the numbers: serde_json rounds them in another way than Python and orjson.
    as_texts = json.loads(data, parse_float=str, parse_int=str)["model"]["vocab"]
    pieces: list[str] = []
    scores = array("d")
    for number, (item, text) in enumerate(zip(listed, as_texts, strict=True)):
        is_pair = isinstance(item, list) and len(item) == 2 and isinstance(item[0], str)
        if not is_pair or type(item[1]) not in (int, float):
            model.fail(f"must be [piece, score], not {item!r:.60}", f"vocab[{number}]")
        try:
            score = serde_float(text[1])
        except ValueError as error:
            model.fail(str(error), f"vocab[{number}]")
        pieces.append(item[0])
        scores.append(score)
    return pieces, scores.tobytes()


def _unigram(model: Part, vocabulary: dict[str, int], pieces: list[str]) -> Spelling:
    unknown = model.value.get("unk_id")
    if unknown is not None and (type(unknown) is not int or not 0 <= unknown < len(pieces)):
        model.fail(f"must be the id of a piece, below {len(pieces)}, or null, not {unknown!r:.60}", "unk_id")
    return Spelling(
        kind="Unigram",
        unknown_token=None if unknown is None else pieces[unknown],
        unknown=-1 if unknown is None else unknown,
        fuses=True,
        byte_ids=byte_ids(vocabulary) if model.member("byte_fallback", bool, False) else (),
    )


def _of_words(model: Part, kind: str, vocabulary: dict[str, int] | Entries) -> Spelling:
    """Read the options of WordPiece and WordLevel."""
    unknown = model.get("unk_token", str)
    prefix, longest = "", 0
    if kind == "WordPiece":
        prefix, longest = model.get("continuing_subword_prefix", str), model.get("max_input_chars_per_word", int)
        if not 0 <= longest <= _MAX_LENGTH:
            model.fail(f"must be 0 to 2**63 - 1, not {longest}", "max_input_chars_per_word")
    return Spelling(
        kind=kind,
        prefix=prefix,
        unknown_token=unknown,
        unknown=vocabulary.get(unknown, -1),
        longest=longest,
    )
