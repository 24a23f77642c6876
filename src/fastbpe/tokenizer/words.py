"""Words of a text as Hugging Face's tokenizers number them: each added token, and each piece between two.

Every piece has a number, even if it has no ids.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from fastbpe._core.encode.offsets import word_ends
from fastbpe.model import METASPACE, Conventions, PieceType
from fastbpe.tokenizer.tokenizer import Special, Tokenizer

if TYPE_CHECKING:
    from fastbpe.tokenizer.codepoint import CodePointTokenizer


class Words(NamedTuple):
    """Words of a text.

    numbers: number of the word of each id.
    found: text of each special or added token, by the index of its id.
    """

    numbers: list[int]
    found: dict[int, str]


def find_words(
    tokenizer: Tokenizer, text: str, ids: Sequence[int], tokens: Sequence[str], *, allowed_special: Special
) -> Words | None:
    """Find the words of a text.

    Args:
        tokenizer: one that a tokenizer.json describes.
        text: the text.
        ids: its ids.
        tokens: the tokens of these, as the vocabulary spells them.
        allowed_special: as in `Tokenizer.encode`; special tokens in the text are not an error.

    Returns:
        None if the pre-tokenizer finds user-defined symbols of sentencepiece, and what lies between two of them is
        spelled like a token that no text becomes: where that is cut is not known here.
    """
    allowed, _ = tokenizer._special.choose(allowed_special, ())
    if tokenizer.mode == "codepoint":
        tokenizer._prepare()
    ends, found = word_ends(tokenizer._pipeline, text, allowed)
    named = dict(found)
    if tokenizer.mode != "codepoint":
        return Words(_numbers(ends, None), named)
    codepoint = cast("CodePointTokenizer", tokenizer)
    conventions = codepoint._source.conventions or Conventions()
    if conventions.escapes:  # a token found in normalized text
        normalized = {token.id for token in codepoint.added_tokens if token.normalized}
        named = {i: one.replace(" ", METASPACE) if ids[i] in normalized else one for i, one in named.items()}
    if conventions.symbols:
        symbols = _symbols(codepoint, ids, named)
        if _holds_name(codepoint, tokens, ends, symbols):
            return None
        return Words(_numbers(ends, lambda i: i in symbols or i - 1 in symbols), named)
    return Words(_numbers(ends, lambda i: conventions.splits and tokens[i].startswith(METASPACE)), named)


def _symbols(tokenizer: CodePointTokenizer, ids: Sequence[int], named: Mapping[int, str]) -> set[int]:
    """Return the indices of the ids that the pre-tokenizer finds."""
    types, added = tokenizer._source.types, {token.id for token in tokenizer.added_tokens}
    defined = PieceType.USER_DEFINED
    return {i for i, one in enumerate(ids) if i not in named and types[one] == defined and one not in added}


def _holds_name(
    tokenizer: CodePointTokenizer, tokens: Sequence[str], ends: Sequence[int], symbols: Collection[int]
) -> bool:
    """Tell whether some text between two symbols is spelled like a control symbol, a byte or an unknown piece."""
    model = tokenizer._source
    names = {piece for piece, kind in zip(model.pieces, model.types, strict=True) if kind != PieceType.NORMAL}
    start = 0
    for end in ends:
        run = ""
        for i in range(start, end):
            if i in symbols:
                if run.encode() in names:
                    return True
                run = ""
            else:
                run += tokens[i]
        if run.encode() in names and end - start > 1:
            return True
        start = end
    return False


def _numbers(ends: Sequence[int], begins: Callable[[int], bool] | None) -> list[int]:
    """Number words.

    Args:
        ends: for each section, the number of tokens up to its end.
        begins: function that tells whether a token begins a new word of its section; None: no token does.
    """
    numbers: list[int] = []
    number = start = 0
    for end in ends:
        if begins is None:
            numbers += [number] * (end - start)
        else:
            for i in range(start, end):
                number += i > start and begins(i)
                numbers.append(number)
        number, start = number + 1, end
    return numbers
