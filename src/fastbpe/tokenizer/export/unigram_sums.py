"""Conversion of unigram models between libraries: texts that may get other ids, and the warning about them.

sentencepiece adds scores in single precision over the whole text, tokenizers in double precision over each piece.
So if the two best segmentations of a text nearly tie, the libraries may choose different ones. Also, tokenizers'
normalizer Precompiled applies the rules of a sentencepiece model grapheme by grapheme. So the libraries normalize
some combining marks differently.
"""

from __future__ import annotations

import base64
from array import array
from collections.abc import Callable, Sequence
from math import fsum

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
Changed = tuple[str, Sequence[int], Sequence[int]]


class OtherSums(NamedTuple):
    """Texts whose ids may change in a conversion between sentencepiece and tokenizers.

    normalize: functions that apply the normalization rules, one for each library.
    names: names of special tokens that only one of the libraries finds in ordinary text.
    scores: score of each id.
    """

    normalize: tuple[Normalize, Normalize]
    names: Sequence[str]
    scores: Sequence[float]

    def excuses(self, text: str, expected: Sequence[int], found: Sequence[int]) -> bool:
        """Tell whether two lists of ids of a text may differ.

        They may if the libraries normalize the text in different ways or to nothing, or if only one of them finds
        a special token in it. They also may if the sums of scores are equal except for rounding.
        """
        normalized, by_other = (normalize(text) for normalize in self.normalize)
        # If the rules remove a whole text, sentencepiece may keep the space that it put before the text.
        if normalized != by_other or (text and not normalized) or any(name in normalized for name in self.names):
            return True
        if max(*expected, *found, 0) >= len(self.scores):
            return False  # an id without a score, so sums cannot explain the difference
        lowest = min(self.scores)
        # No sum is greater: it has at most one score for each character, or for a space put before or after them.
        greatest = (abs(lowest) + _UNKNOWN) * (len(normalized) + 2)
        sums = [fsum(self.scores[i] for i in ids) for ids in (expected, found)]
        return abs(sums[0] - sums[1]) <= _EPSILON * greatest * (len(expected) + len(found))


def warning(tokenizer: Exportable, format: str, changed: Sequence[Changed]) -> str | None:
    """Return a sentence about texts, such as the changed ones, that may get other ids; None if all ids stay."""
    model = tokenizer._family.model
    # llama.cpp differs from both: it adds as tokenizers does, but applies the rules as sentencepiece does.
    others = ("huggingface", "gguf") if _is_of_sentencepiece(model) else ("sentencepiece", "gguf")
    if format not in others or not (_is_of_sentencepiece(model) or _is_of_tokenizers(model)):
        return None
    charsmap = _charsmap(model)
    # A GGUF file stores the charsmap itself; a tokenizer.json applies it by its normalizer Precompiled.
    changes_rules = charsmap and not (_is_of_sentencepiece(model) and format == "gguf")
    apart = shown_apart(charsmap) if changes_rules else ""
    # tokenizers finds any entry of the vocabulary in text. A tokenizer.json from sentencepiece cuts their names.
    names = [] if _is_of_sentencepiece(model) else [*tokenizer.special_tokens]
    named = [change for change in changed if any(name in change[0] for name in names)]
    sentence = described([change for change in changed if change not in named])
    if named:
        sentence += f". The name of a special token gets other ids in ordinary text{_shown(named)}"
    return sentence + (f". The normalization rules differ on some combining marks{apart}" if apart else "")


def _shown(changed: Sequence[Changed]) -> str:
    """Show the first change as a phrase; "" without changes."""
    return "".join(
        f", such as {text!r:.60}: {[*found]} instead of {[*expected]}" for text, expected, found in changed[:1]
    )


def described(changed: Sequence[Changed]) -> str:
    """Return a sentence that says why ids differ, with one of the texts. changed: as in `warning`."""
    return (
        "sentencepiece adds scores in single precision, tokenizers and llama.cpp in double: a text whose best two "
        f"ways to cut nearly tie may get other ids{_shown(changed)}"
    )


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
