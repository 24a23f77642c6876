"""Words of a text as Hugging Face's tokenizers number them: each added token, and each piece between two.

The number of a piece counts, as do those of all pieces, even if it has no ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, cast

from fastbpe._core.encode.offsets import word_ends
from fastbpe.formats.huggingface.llama_spaces import METASPACE
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
    tokenizer: Tokenizer, text: str, tokens: Sequence[str], *, allowed_special: Special
) -> Words | None:
    """Find the words of a text.

    Args:
        tokenizer: one that a tokenizer.json describes.
        text: the text.
        tokens: its tokens, as the vocabulary spells them.
        allowed_special: as in `Tokenizer.encode`; special tokens in the text are no error.

    Returns:
        None if the pre-tokenizer finds user-defined symbols of sentencepiece: what it splits is not known here.
    """
    allowed, _ = tokenizer._special.choose(allowed_special, ())
    if tokenizer.mode != "codepoint":
        ends, found = word_ends(tokenizer._pipeline, text, allowed)
        return Words(_numbers([(end, True) for end in ends], tokens), dict(found))
    codepoint = cast("CodePointTokenizer", tokenizer)
    conventions = codepoint._source.conventions
    if conventions is None or conventions.symbols:
        return None
    sections = codepoint._places.section_ends(text, allowed)
    numbers = _numbers([(end, one is not None or not conventions.splits) for end, one in sections], tokens)
    return Words(numbers, {end - 1: one for end, one in sections if one is not None})


def _numbers(ends: Iterable[tuple[int, bool]], tokens: Sequence[str]) -> list[int]:
    """Number words.

    Args:
        ends: for each section, the number of tokens up to its end, and whether it is one word. In others, a word
            begins at each U+2581.
        tokens: the tokens.
    """
    numbers: list[int] = []
    number = start = 0
    for end, is_whole in ends:
        for i in range(start, end):
            number += i > start and not is_whole and tokens[i].startswith(METASPACE)
            numbers.append(number)
        number, start = number + 1, end
    return numbers
