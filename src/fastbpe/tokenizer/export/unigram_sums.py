"""Conversion of unigram models between libraries: texts that may get other ids, and the warning about them.

sentencepiece adds scores in single precision over the whole text, tokenizers in double precision over each piece.
So if the two best segmentations of a text nearly tie, the libraries may choose different ones. Also, tokenizers'
normalizer Precompiled applies the rules of a sentencepiece model grapheme by grapheme. So the libraries normalize
some combining marks differently.
"""

from __future__ import annotations

import base64
from array import array
from collections.abc import Callable, Mapping, Sequence
from math import fsum
from typing import Literal

from fastbpe._core.normalize.sentencepiece_normalizer import Normalizer
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.formats.charsmap import shown_apart
from fastbpe.model import CodePointModel, Model, PieceType
from fastbpe.tokenizer.export.exportable import Exportable

# Error that an id adds to a sum, relative to the greatest sum: its score was rounded to single precision, then the
# sum. A rounding is off by at most 2**-24.
_EPSILON = 2 * 2.0**-24
_UNKNOWN = 10.0  # an unknown character scores this much below the worst piece, in both libraries

Normalize = Callable[[str], str]
#: Reason why a text may get other ids; "": no known reason.
Excuse = Literal["", "rules", "names", "sums"]
#: The first text with each excuse, its ids, and its ids after the conversion.
Examples = Mapping[Excuse, tuple[str, Sequence[int], Sequence[int]]]


class OtherSums(NamedTuple):
    """Texts whose ids may change in a conversion between sentencepiece and tokenizers.

    normalize: functions that apply the normalization rules, one for each library.
    names: names of special tokens that only one of the libraries finds in ordinary text.
    scores: score of each id.
    """

    normalize: tuple[Normalize, Normalize]
    names: Sequence[str]
    scores: Sequence[float]

    def excuse(self, text: str, expected: Sequence[int], found: Sequence[int]) -> Excuse:
        """Return the reason why two lists of ids of a text may differ; "" if they may not.

        "rules": the libraries normalize the text in different ways, or to nothing. "names": only one of them finds
        a special token in it. "sums": the sums of scores are equal except for rounding.
        """
        normalized, by_other = (normalize(text) for normalize in self.normalize)
        # If the rules remove a whole text, sentencepiece may keep the space that it put before the text.
        if normalized != by_other or (text and not normalized):
            return "rules"
        if any(name in normalized for name in self.names):
            return "names"
        if max(*expected, *found, 0) >= len(self.scores):
            return ""  # an id without a score, so sums cannot explain the difference
        lowest = min(self.scores)
        # No sum is greater: it has at most one score for each character, or for a space put before or after them.
        greatest = (abs(lowest) + _UNKNOWN) * (len(normalized) + 2)
        sums = [fsum(self.scores[i] for i in ids) for ids in (expected, found)]
        is_near = abs(sums[0] - sums[1]) <= _EPSILON * greatest * (len(expected) + len(found))
        return "sums" if is_near else ""


def warning(tokenizer: Exportable, format: str, first: Examples) -> str | None:
    """Return a sentence about texts that may get other ids, such as the first ones; None if all ids stay."""
    model = tokenizer._family.model
    # llama.cpp differs from both: it adds as tokenizers does, but applies the rules as sentencepiece does.
    others = ("huggingface", "gguf") if _is_of_sentencepiece(model) else ("sentencepiece", "gguf")
    if format not in others or not (_is_of_sentencepiece(model) or _is_of_tokenizers(model)):
        return None
    charsmap = _charsmap(model)
    # A GGUF file stores the charsmap itself; a tokenizer.json applies it by its normalizer Precompiled.
    changes_rules = charsmap and not (_is_of_sentencepiece(model) and format == "gguf")
    apart = shown_apart(charsmap) if changes_rules else ""
    sentence = described(first)
    return sentence + (f". The normalization rules differ on some combining marks{apart}" if apart else "")


def described(first: Examples) -> str:
    """Return sentences that say why ids differ, with the first text for each excuse."""
    sentence = (
        "sentencepiece adds scores in single precision, tokenizers and llama.cpp in double: a text whose best two "
        f"ways to cut nearly tie may get other ids{_shown(first, 'sums')}"
    )
    # tokenizers finds any entry of the vocabulary in text. A tokenizer.json from sentencepiece cuts their names.
    if named := _shown(first, "names"):
        sentence += f". The name of a special token gets other ids in ordinary text{named}"
    if ruled := _shown(first, "rules"):
        sentence += f". A text that the normalization rules remove or change differently gets other ids{ruled}"
    return sentence


def _shown(first: Examples, excuse: Excuse) -> str:
    """Show the first text with an excuse as a phrase; "" without one."""
    if excuse not in first:
        return ""
    text, expected, found = first[excuse]
    return f", such as {text!r:.60}: {[*found]} instead of {[*expected]}"


def between(one: Exportable, other: Exportable) -> OtherSums | None:
    """Describe the conversion of a unigram model from one library to the other; None for any other conversion."""
    source, target = one._family.model, other._family.model
    if isinstance(source, CodePointModel) and isinstance(target, Model) and _is_of_tokenizers(target):
        return _conversion(source, target, [])
    if isinstance(target, CodePointModel) and isinstance(source, Model) and _is_of_tokenizers(source):
        return _conversion(target, source, [*one.special_tokens])
    return None


def _is_of_sentencepiece(model: Model | CodePointModel) -> bool:
    return isinstance(model, CodePointModel) and model.trainer["model_type"] == "unigram"


def _is_of_tokenizers(model: Model | CodePointModel) -> bool:
    return isinstance(model, Model) and model.spelling is not None and model.spelling.kind == "Unigram"


def _charsmap(model: Model | CodePointModel) -> bytes:
    if isinstance(model, CodePointModel):
        return bytes(model.normalizer["precompiled_charsmap"])
    encoded = (step["precompiled_charsmap"] for step in model.normalizers if step["type"] == "Precompiled")
    return base64.b64decode(next(encoded, ""))


def _conversion(model: CodePointModel, other: Model, names: Sequence[str]) -> OtherSums | None:
    """Describe the conversion of a model between the libraries; None if `other` is not the same model.

    names: as in OtherSums.
    """
    singles = array("f", model.scores)
    doubles = array("d", bytes(other.scores))
    pairs = zip(singles, doubles, model.types, strict=False)  # a tokenizer.json may lack the last pieces
    if any(kind == PieceType.NORMAL and single != _single(double) for single, double, kind in pairs):
        return None
    charsmap = _charsmap(model)
    normalize: tuple[Normalize, Normalize] = str, str
    if charsmap:
        from fastbpe.normalization.precompiled import Precompiled  # here: few models have rules

        symbols = [p for p, kind in zip(model.pieces, model.types, strict=True) if kind == PieceType.USER_DEFINED]
        rules = Normalizer(
            charsmap,
            add_dummy_prefix=False,
            remove_extra_whitespaces=False,
            escape_whitespaces=False,
            symbols=symbols,
        )
        normalize = (
            lambda text: rules.normalize(text.encode()).decode(errors="replace"),
            Precompiled(base64.b64encode(charsmap).decode()),
        )
    return OtherSums(normalize, names, (*doubles, *singles[len(doubles) :]))


def _single(score: float) -> float:
    """Round a score to single precision."""
    return array("f", [score])[0]
