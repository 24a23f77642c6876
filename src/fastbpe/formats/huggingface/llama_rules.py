"""Normalization rules that a tokenizer.json cannot hold, and a text that shows the difference.

The normalizer Precompiled of tokenizers runs the rules of a sentencepiece model, but differently: it replaces a
character together with the combining marks after it if they have fewer than six bytes. sentencepiece replaces the
longest source of a rule and keeps the rest.
"""

from __future__ import annotations

from fastbpe.formats.charsmap import Charsmap

_ACCENT = "\u0301"  # a combining mark, two bytes of UTF-8
#: Characters of at most three bytes of UTF-8 that many sets of rules change.
_LIKELY = ("\ufb01", "\u00a0", "\u3000", *map(chr, range(0x20, 0x3100)))


def shown_apart(charsmap: bytes) -> str:
    """Describe a text that tokenizers and sentencepiece normalize differently; "" if none is found."""
    rules = Charsmap(charsmap)
    for character in _LIKELY:
        target = rules.find(character)
        if target is None or rules.find(character + _ACCENT) is not None or rules.find(_ACCENT) is not None:
            continue
        return (
            f": of the text {character + _ACCENT!a} they make {target + _ACCENT!a}, and the normalizer "
            f"Precompiled of tokenizers {target!a}"
        )
    return ""
