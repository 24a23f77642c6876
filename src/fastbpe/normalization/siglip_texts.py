"""Changes that SigLIP's class of transformers makes to texts before a sentencepiece model encodes them.

It makes text lower case, as Python does, removes all ASCII punctuation, removes white space at both ends, and
turns each other run of it into one space. U+2581 counts as white space. The text is put after the unknown token,
whose ids are dropped later.
"""

from __future__ import annotations

import re
import string
from itertools import groupby

from fastbpe._core.normalize.text_steps import Changed, Front
from fastbpe.model import METASPACE
from fastbpe.normalization.text_rules import TextRules

_PUNCTUATION = frozenset(string.punctuation)
_DELETED = dict.fromkeys(map(ord, _PUNCTUATION))


def rules(unknown: str) -> TextRules:
    """Return the rules for a model with this unknown token."""
    # The class's tokenize() puts U+2581 before a whole text, after replacing the text's own U+2581.
    inner, first = _Canonical(unknown, ""), _Canonical(unknown, METASPACE)
    front = Front(
        [Changed(inner, inner.sources)],
        first=Front([Changed(first, first.sources)]),
    )
    regexes = [(METASPACE, " "), (f"[{re.escape(string.punctuation)}]", ""), (r"\s+", " ")]
    replaces = [{"type": "Replace", "pattern": {"Regex": regex}, "content": content} for regex, content in regexes]
    strip = {"type": "Strip", "strip_left": True, "strip_right": True}
    return TextRules(front, inner.canonical, [{"type": "Lowercase"}, *replaces, strip])


class _Canonical:
    """Function that changes a text. unknown, lead: texts to put before the result, and before the text itself."""

    def __init__(self, unknown: str, lead: str) -> None:
        self._unknown, self._lead = unknown, lead

    def __call__(self, text: str) -> str:
        return self._unknown + self.canonical(text)

    def canonical(self, text: str) -> str:
        """Return the changed text without the unknown token."""
        lower = (self._lead + text.replace(METASPACE, " ")).lower()
        return re.sub(r"\s+", " ", lower.translate(_DELETED)).strip()

    def sources(self, text: str) -> list[int]:
        """Return for each character of the result the character from which it comes; -1: from none."""
        lead = [(character, -1) for character in self._lead]
        # Lowering one by one gives as many characters: only the form of a sigma depends on its neighbours.
        text = text.replace(METASPACE, " ")
        lower = [*lead, *((character, i) for i, one in enumerate(text) for character in one.lower())]
        kept = [(character.isspace(), i) for character, i in lower if character not in _PUNCTUATION]
        made: list[int] = []
        blank = None
        for is_space, group in groupby(kept, lambda item: item[0]):
            places = [i for _, i in group]
            if is_space:
                blank = places[0] if made else None
                continue
            made += [*([] if blank is None else [blank]), *places]
            blank = None
        return [-1] * len(self._unknown) + made
