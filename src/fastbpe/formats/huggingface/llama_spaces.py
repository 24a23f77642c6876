"""White space in a tokenizer.json of a sentencepiece model, BPE or unigram: the normalizers for each option.

The normalizers use regexes, because tokenizers' Strip removes all white space, and sentencepiece only spaces. An
empty text stays empty: tokenizers' Replace does not change it, even with a regex that matches it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.formats.huggingface.step_json import ESCAPE, replace
from fastbpe.model import METASPACE

PREPEND = {"type": "Prepend", "prepend": METASPACE}
_COLLAPSE = replace("Regex", " {2,}", " ")
_TRIM = replace("Regex", r"\A | \z", "")
# sentencepiece removes the spaces at the end of its output, where each is a U+2581: so it also removes a U+2581
# with which the text itself ends. At the beginning it removes only the spaces of the text.
_TRIM_MARKS = replace("Regex", rf"{METASPACE}+\z", "")
_APPEND = replace("Regex", r"\z", METASPACE)
_TRIM_MARKS_AND_APPEND = replace("Regex", rf"{METASPACE}*\z", METASPACE)


class Spaces(NamedTuple):
    """sentencepiece's add_dummy_prefix, remove_extra_whitespaces and treat_whitespace_as_suffix.

    Without `dummy`, `suffix` has no effect.
    """

    dummy: bool
    trims: bool = False
    suffix: bool = False


def describe(spaces: Spaces) -> list[dict[str, Any]]:
    """Return the normalizers in the order in which they run."""
    steps = [_COLLAPSE, _TRIM] if spaces.trims else []
    if spaces.dummy and not spaces.suffix:
        steps.append(PREPEND)
    steps.append(ESCAPE)
    if spaces.dummy and spaces.suffix:
        steps.append(_TRIM_MARKS_AND_APPEND if spaces.trims else _APPEND)
    elif spaces.trims:
        steps.append(_TRIM_MARKS)
    return steps


def read(steps: Sequence[Mapping[str, Any]]) -> Spaces | None:
    """Read what `describe` wrote; None if it is anything else."""
    for flags in product((False, True), repeat=3):
        spaces = Spaces(*flags)
        if describe(spaces) == [*steps]:
            return spaces  # without a dummy prefix, suffix=False, which comes first
    return None
