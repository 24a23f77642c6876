"""Arguments of the scanners of named patterns, by the text of the pattern: no pattern needs to be parsed."""

from __future__ import annotations

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.patterns import PATTERNS, Pattern

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Literal


class ScannerSpec(NamedTuple):
    """Arguments of a `Scanner`, under the names that its docstring explains."""

    family: Literal["gpt2", "cl100k", "o200k", "deepseek"]
    n_digits: int
    contractions: bool = True
    end_is_one_piece: bool = False


NAMED = {
    "gpt2": ScannerSpec("gpt2", 0),
    "cl100k": ScannerSpec("cl100k", 3, end_is_one_piece=True),
    "o200k": ScannerSpec("o200k", 3),
    "llama3": ScannerSpec("cl100k", 3),
    "llama4": ScannerSpec("o200k", 3),
    "qwen2": ScannerSpec("cl100k", 1),
    "tekken": ScannerSpec("o200k", 1, contractions=False),
    "deepseek_v3": ScannerSpec("deepseek", 3, contractions=False),
}
SPECS_OF_TEXTS: dict[Pattern, ScannerSpec] = {PATTERNS[name]: spec for name, spec in NAMED.items()}
