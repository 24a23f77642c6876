"""Words of a text, numbered as in Hugging Face's tokenizers: each added token, and each other piece.

Every piece has a number, even if it has no ids.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from fastbpe._core.encode.encoder import Encoder
from fastbpe._core.encode.offsets import numbers_of_words, word_ends
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.model import METASPACE, CodePointModel, Conventions, PieceType
from fastbpe.tokenizer.special_token_rules import SpecialTokens


class Words(NamedTuple):
    """Words of a text.

    numbers: word number of each id.
    found: index of an id → its text, for special and added tokens and Unigram's unknown token.
    """

    numbers: list[int]
    found: dict[int, str]


def words_of_pieces(
    encoder: Encoder, special: SpecialTokens, text: str, allowed_special: str | Collection[str]
) -> Words:
    """Find the words of a text that a splitter cuts into pieces (byte and character mode).

    special: special and added tokens of the tokenizer.
    allowed_special: as in `Tokenizer.encode`; other special tokens in the text are not an error.
    """
    ends, found = word_ends(encoder._pipeline, text, special.choose(allowed_special, ())[0])
    return Words(numbers_of_words(ends), dict(found))


def words_of_code_points(
    encoder: Encoder,
    special: SpecialTokens,
    model: CodePointModel,
    text: str,
    ids: Sequence[int],
    names: Mapping[int, str],
    allowed_special: str | Collection[str],
) -> Words | None:
    """Find the words of a text in code-point mode. ids: the ids of the text. names: id → text of its token.

    The model comes from a tokenizer.json; the other arguments are as in `words_of_pieces`. None if the
    pre-tokenizer finds user-defined symbols of sentencepiece, and the text before, between or after them is
    spelled like a control symbol, a byte piece or the unknown piece: where such text is cut is not known here.
    """
    ends, found = word_ends(encoder._pipeline, text, special.choose(allowed_special, ())[0])
    named = dict(found)
    conventions = model.conventions or Conventions()
    if conventions.escapes:  # a token found in normalized text
        normalized = {token.id for token in special.added if token.normalized}
        named = {i: text.replace(" ", METASPACE) if ids[i] in normalized else text for i, text in named.items()}
    if conventions.symbols:
        added = {token.id for token in special.added}
        symbols = _symbols(model, added, ids, named)
        if _holds_name(model, [names[token_id] for token_id in ids], ends, symbols):
            return None
        return Words(_numbers(ends, lambda i: i in symbols or i - 1 in symbols), named)
    if conventions.splits:
        return Words(_numbers(ends, lambda i: names[ids[i]].startswith(METASPACE)), named)
    return Words(numbers_of_words(ends), named)


def _symbols(
    model: CodePointModel, added: Collection[int], ids: Sequence[int], named: Mapping[int, str]
) -> set[int]:
    """Return the indices of the ids of user-defined symbols, which the pre-tokenizer finds."""
    defined = {token_id for token_id in {*ids} - {*added} if model.types[token_id] == PieceType.USER_DEFINED}
    return {i for i, token_id in enumerate(ids) if token_id in defined and i not in named}


def _holds_name(
    model: CodePointModel, tokens: Sequence[str], ends: Sequence[int], symbols: Collection[int]
) -> bool:
    """Tell whether a text before, between or after symbols is the name of a piece that is not ordinary text."""
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
        if run.encode() in names and end - start > 1:  # a text of one id is one word, whatever its name
            return True
        start = end
    return False


def _numbers(ends: Sequence[int], begins: Callable[[int], bool]) -> list[int]:
    """Number words.

    ends: for each special or added token, and each text between two of them, the number of ids up to its end.
    begins: function that tells whether the id at an index begins a new word within its text.
    """
    numbers: list[int] = []
    number = start = 0
    for end in ends:
        for i in range(start, end):
            number += i > start and begins(i)
            numbers.append(number)
        number, start = number + 1, end
    return numbers
