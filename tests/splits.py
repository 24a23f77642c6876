"""Texts that are hard to split, and the comparison of every scanner path with the `regex` splitter."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import asdict

from fastbpe._core.scanner import Scanner, paths
from fastbpe._core.splitter import RegexSplitter, Splitter
from fastbpe.patterns import PATTERNS
from fastbpe.splitting.recognise import recognise
from fastbpe.splitting.to_regex import compile_regex

NAMES = [name for name, text in PATTERNS.items() if isinstance(text, str) and name != "llama4"]  # llama4 is o200k

WHITE_SPACE = [*"\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000", *map(chr, range(0x2000, 0x200B))]
ALPHABETS = [
    "'stmdlvreSTMDLVRE ſKaZ09.",
    "'sſ aB",
    " \n\r\t.a1/",
    [*WHITE_SPACE, "\x1c", "\x1d", "\x1e", "\x1f", "\u180e", "\u200b", "a", ".", "1"],
    "09٣०²½Ⅷ𝟘a .,\n",
    "aA éÉßẞǅʰªºאあ漢한ابक्ा\u0301\u0303.'s",
    "!/\n\r a/;",
    ["\u0301", "\u200d", "\ufe0f", "\u20e3", "😀", "👍", "🏽", "a", "A", " ", "!", "\n", "'", "s"],
    ["𐐀", "𐐨", "𝒳", "𝓍", "𞤀", "𞤢", "𠮷", "ꝏ", "Ꝏ", "a", "B", "'", "s", " "],
    ["\u0378", "\ue000", "\U0010ffff", "\ufffd", "\0", "\x7f", "\u0080", "a", " ", "\n", "."],
    [*"abcdefghijklmnopqrstuvwxyz", *" " * 6, *".,'\n", "I", "A", "1", "“", "”", "—", "é"],
]


def pattern_text(name: str) -> str:
    text = PATTERNS[name]
    assert isinstance(text, str)
    return text


def scanners(text: str) -> list[Scanner]:
    """A scanner of the pattern for each instruction set of this machine."""
    spec = recognise(text)
    assert spec is not None
    return [Scanner(**asdict(spec), path=path) for path in paths()]


def oracle(text: str) -> Splitter:
    """The slow splitter of the pattern."""
    return RegexSplitter(compile_regex(text))


def difference(name: str, wanted: list[int], scanner: Scanner, text: str) -> str | None:
    """What the scanner does otherwise than wanted, in words; None if nothing."""
    got = scanner.ends(text)
    if got == wanted:
        return None
    at = next(i for i, (a, b) in enumerate(zip([*got, -1], [*wanted, -1], strict=False)) if a != b)
    begin = wanted[at - 1] if at else 0
    shown = text.encode()[max(begin - 20, 0) : begin + 60]
    return (
        f"{name}, {scanner.path}: piece {at} from byte {begin} should end at {wanted[at : at + 1]}, "
        f"ends at {got[at : at + 1]}; around it {shown!r}; the text is {text[:400]!r}"
    )


def random_texts(seed: int) -> Iterator[str]:
    """Endless texts of 0 to 200 characters, from one alphabet or from several, with runs."""
    generator = random.Random(seed)
    everything = [character for alphabet in ALPHABETS for character in alphabet]
    while True:
        alphabet = generator.choice([*ALPHABETS, everything])
        length = generator.randrange(201)
        if generator.random() < 0.3:
            parts = [generator.choice(alphabet) * generator.randrange(1, 90) for _ in range(length // 20)]
        else:
            parts = generator.choices(alphabet, k=length)
        # Shifts everything against the blocks of 64 bytes.
        yield "x" * generator.randrange(64) + "".join(parts) if generator.random() < 0.5 else "".join(parts)
