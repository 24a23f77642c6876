from __future__ import annotations

from itertools import product

import pytest

from fastbpe.patterns import PATTERNS
from fastbpe.splitting import make_splitter
from fastbpe.tokenizer.export.certain_matches import perhaps_unmatched

TEXTS = ["".join(letters) for n in range(1, 5) for letters in product("abc", repeat=n)]


@pytest.mark.parametrize(
    ("pattern", "perhaps"),
    [
        (r"[^b]|(?<=a)b", "b"),
        (r"[^b]|b(?=a)", "b"),
        (r"[^a]|a{2}", "a"),
        (r"[^a]|a?+[ab]", "a"),
        (r"[^a]|(?>a?)[ab]", "a"),
        (r"[^a]|(?>a?b?)a", "a"),
        (r"[^a]|(?:(?>a?b?)){1,2}a", "a"),
        (r"[^ab]|(a)b\1", "a"),
        (r"[^a]|a?[ab]", ""),
        (r"[^a]|[bc]?+a", ""),
        (r"[^ab]|(?:ab?|b)+c*", ""),
        (r"[^ab]|(?>a|b)", ""),
    ],
)
def test_pattern_is_certain_only_if_it_matches_all_texts(pattern: str, perhaps: str) -> None:
    assert perhaps_unmatched(pattern) == perhaps
    splitter = make_splitter(pattern, drop_unmatched=True)
    is_covered = all(sum(end - start for start, end in splitter.pieces(text)) == len(text) for text in TEXTS)
    assert is_covered == (perhaps == "")


@pytest.mark.parametrize("name", [name for name, pattern in PATTERNS.items() if isinstance(pattern, str)])
def test_named_patterns_are_certain(name: str) -> None:
    # BLOOM's drops commas, and the lines of superbpe_lines match only a few characters.
    assert (perhaps_unmatched(str(PATTERNS[name])) == "") == (name not in ("bloom", "superbpe_lines"))
