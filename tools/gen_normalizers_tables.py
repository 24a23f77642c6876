"""Write the tables of the normalizers of Hugging Face's tokenizers, or check that they are up to date.

    python tools/gen_normalizers_tables.py            write the file
    python tools/gen_normalizers_tables.py --check    exit with 1 if it would change

tokenizers 0.23 is asked about every code point: its text in each form, whether a mark is reordered with others,
its lower case, whether it is an accent, and where graphemes end at it. Composition is asked for the pairs that
Python's unicodedata decomposes, and the order of marks likewise. tokenizers has Unicode 9 there; newer characters
are left out.
"""

from __future__ import annotations

import argparse
import struct
import sys
import textwrap
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import tokenizers
from tokenizers import normalizers

from fastbpe._core.normalize.charsmap_builder import build_trie
from fastbpe.splitting.charset import CharSet
from gen_unicode_tables import base36, gaps_and_lengths

PATH = Path(__file__).resolve().parents[1] / "src" / "fastbpe" / "normalization" / "huggingface_tables.py"
VERSION = "0.23"
CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000 and c != 0x0A]
SYLLABLES = range(0xAC00, 0xD7A4)
LEADS, VOWELS, TAILS = range(0x1100, 0x1113), range(0x1161, 0x1176), range(0x11A8, 0x11C3)
IOTA_BELOW = "\u0345"  # combining class 240: sorts after every other mark


def ask(name: str, texts: Iterable[str]) -> list[str]:
    """Return the results of a normalizer for texts without line feeds."""
    made: str = getattr(normalizers, name)().normalize_str("\n".join(texts))
    return made.split("\n")


def changed_by(name: str) -> list[int]:
    return [c for c, made in zip(CODE_POINTS, ask(name, map(chr, CODE_POINTS)), strict=True) if made != chr(c)]


def becomes(normalizer: normalizers.Normalizer, result: str) -> list[int]:
    """Return the characters that become a text, of all but surrogates."""
    return [c for c in (*CODE_POINTS, 0x0A) if normalizer.normalize_str(f"a{chr(c)}b") == f"a{result}b"]


def orders() -> dict[int, int]:
    marks = [c for c in CODE_POINTS if unicodedata.combining(chr(c))]
    made = ask("NFD", (f"a{IOTA_BELOW}{chr(c)}" for c in marks))
    known = [c for c, text in zip(marks, made, strict=True) if text[-1] == IOTA_BELOW and text[1] != IOTA_BELOW]
    return {c: unicodedata.combining(chr(c)) for c in [*known, ord(IOTA_BELOW)]}


def pairs() -> list[tuple[int, int]]:
    """Return the pairs of characters that compose to one, except Hangul."""
    whole = [c for c in CODE_POINTS if c not in SYLLABLES and len(decomposition(c)) == 2]
    made = ask("NFC", map(decomposition, whole))
    return [tuple(map(ord, decomposition(c))) for c, text in zip(whole, made, strict=True) if text == chr(c)]  # type: ignore[misc]


def decomposition(c: int) -> str:
    found = unicodedata.decomposition(chr(c))
    return "" if found.startswith("<") else "".join(chr(int(word, 16)) for word in found.split())


def constant(name: str, comment: str, words: Iterable[int] | str) -> str:
    text = words if isinstance(words, str) else gaps_and_lengths(words)
    lines = textwrap.wrap(text, 108, break_on_hyphens=False, break_long_words=False)
    if not lines[1:] and len(lines[0]) + len(name) < 110:
        return f'# {comment}\n{name} = "{lines[0]} "'
    return "\n".join([f"# {comment}", f"{name} = (", *(f'    "{line} "' for line in lines), ")"])


def case_table(name: str, comment: str, cases: Iterable[tuple[str, str]]) -> str:
    """Return the source of a constant: runs `first.count.step.distance`, then `character+its other case`."""
    runs: list[list[int]] = []
    longer = []
    for one, other in cases:
        if one == other:
            continue
        if len(other) > 1:
            longer.append("+".join(base36(ord(c)) for c in one + other))
            continue
        first, distance = ord(one), ord(other) - ord(one)
        if runs and runs[-1][3] == distance:
            start, count, step, _ = runs[-1]
            gap = first - (start + (count - 1) * step)
            if gap in (1, 2) and (count == 1 or gap == step):
                runs[-1][1:3] = count + 1, gap
                continue
        runs.append([first, 1, 1, distance])
    words = [".".join(f"{'-' * (number < 0)}{base36(abs(number))}" for number in run) for run in runs]
    return constant(name, comment, " ".join([*words, *longer]))


def bert(**options: bool) -> normalizers.Normalizer:
    """Return a BertNormalizer of these steps alone."""
    off = dict.fromkeys(("clean_text", "handle_chinese_chars", "strip_accents", "lowercase"), False)
    return normalizers.BertNormalizer(**{**off, **options})


MARK, CONSONANT, LINKER, ZWJ = "\u0301", "\u0915", "\u094d", "\u200d"


def parted(rules: dict[str, str], text_of: Callable[[str], str]) -> dict[int, str]:
    """Return what Precompiled makes, by some rules, of a text with each code point.

    A character and what belongs to it (a grapheme) become the target of the character's rule if they have fewer
    than six bytes. So a mark that is left, or is not, tells where a grapheme begins.
    """
    targets, starts = b"", []
    for source in sorted(rules, key=str.encode):
        starts.append(len(targets))
        targets += rules[source].encode() + b"\0"
    trie = build_trie(sorted(rule.encode() for rule in rules), starts)
    normalizer = normalizers.Precompiled(struct.pack("<I", len(trie)) + trie + targets)
    made = normalizer.normalize_str("\n".join(text_of(chr(c)) for c in CODE_POINTS)).split("\n")
    return dict(zip(CODE_POINTS, made, strict=True))


def joined(rules: dict[str, str], text_of: Callable[[str], str], end: str) -> set[int]:
    """Return the code points for which `parted` gives a text with this end."""
    return {c for c, made in parted(rules, text_of).items() if made.endswith(end)}


def graphemes() -> dict[str, tuple[str, set[int]]]:
    """Return the classes of characters that decide where graphemes end: name → comment, code points."""
    joining = {c for c, made in parted({"a": "X"}, lambda c: "a" + c).items() if made == "X"}
    breaks = parted({MARK: "Z"}, lambda c: c + MARK + MARK)
    before = parted({"a": "X", MARK: "Z"}, lambda c: c + "a" + MARK)
    prepended = {c for c, made in before.items() if made == chr(c) + "XZ"}
    after_joiner = parted({"\xa9": "X"}, lambda c: "\xa9" + ZWJ + c)
    pictures = {c for c, made in after_joiner.items() if made == "X" + ZWJ + chr(c)} - joining | {0xA9}
    sun = {"\u2600": "S", MARK: "Z"}
    extending = joined(sun, lambda c: "\u2603" + c + ZWJ + "\u2600" + MARK, "SZ") - pictures
    indic = {CONSONANT: "K", MARK: "Z"}
    consonants = joined(indic, lambda c: c + LINKER + CONSONANT + MARK, "KZ") - joining - prepended
    return {
        "GRAPHEME_BREAKS": (
            "Characters that are a grapheme by themselves, except in CR LF.",
            {c for c, made in breaks.items() if made == chr(c) + "Z"} | {0x0A},
        ),
        "GRAPHEME_JOINING": (
            "Characters that belong to the grapheme before: difference from category M.",
            joining ^ {*map(ord, CharSet.category("M"))},
        ),
        "GRAPHEME_EXTENDING": (
            "Joining characters that may stand before U+200D: difference from categories Mn and Me.",
            extending ^ {*map(ord, CharSet.category("Mn") | CharSet.category("Me"))},
        ),
        "GRAPHEME_PREPENDED": ("Characters that belong to the grapheme after them.", prepended),
        "GRAPHEME_PICTURES": ("Characters that U+200D joins into one grapheme.", pictures),
        "GRAPHEME_CONSONANTS": ("Consonants that a linker joins into one grapheme.", consonants),
        "GRAPHEME_LINKERS": (
            "Linkers of consonants.",
            joined(indic, lambda c: CONSONANT + c + CONSONANT + MARK, "KZ") - prepended,
        ),
        "GRAPHEME_VOWELS": (
            "Vowels of Hangul, and others that are joined like them.",
            joined({"\u11a8": "H", MARK: "Z"}, lambda c: c + "\u11a8" + MARK, "HZ")
            & joined({"\u1161": "H", MARK: "Z"}, lambda c: c + "\u1161" + MARK, "HZ") - prepended - {*SYLLABLES},
        ),
        "GRAPHEME_LEADS": (
            "Consonants that begin a syllable of Hangul.",
            joined({"\u1100": "H", MARK: "Z"}, lambda c: c + "\u1100" + MARK, "HZ") - prepended,
        ),
        "GRAPHEME_TAILS": (
            "Consonants that end a syllable of Hangul.",
            joined({"\u11a8": "H", MARK: "Z"}, lambda c: c + "\u11a8" + MARK, "HZ")
            - joined({"\u1161": "H", MARK: "Z"}, lambda c: c + "\u1161" + MARK, "HZ")
            - prepended
            - {*SYLLABLES},
        ),
    }


def upper_case() -> Iterator[tuple[str, str]]:
    """Yield each character with its upper case."""
    asked = tokenizers.NormalizedString("\n".join(map(chr, CODE_POINTS)))
    asked.uppercase()
    yield from zip(map(chr, CODE_POINTS), asked.normalized.split("\n"), strict=True)


def generate() -> str:
    order = orders()
    composed = pairs()
    whole = {c for c in changed_by("NFD") if c not in SYLLABLES} - {*changed_by("NFC")}
    lower = [(chr(c), made) for c, made in zip(CODE_POINTS, ask("Lowercase", map(chr, CODE_POINTS)), strict=True)]
    parts = [
        '"""Characters for the normalizers of tokenizers. '
        "Generated by tools/gen_normalizers_tables.py: edit that, not this.\n\n"
        f'Made by asking tokenizers {VERSION}. Ranges are in base 36; splitting/charset.py unpacks them.\n"""',
        constant(
            "ORDERS",
            "Combining class and its marks, one after another.",
            " : ".join(
                f"{base36(value)} : {gaps_and_lengths(c for c in order if order[c] == value)}"
                for value in sorted({*order.values()})
            ),
        ),
        constant(
            "FORWARD",
            "Characters that may combine with the next, or whose decomposition ends with a mark; no Hangul.",
            {*(first for first, _ in composed), *LEADS, *whole},
        ),
        constant(
            "MAYBE",
            "Characters that may combine with the previous one.",
            {*(second for _, second in composed), *VOWELS, *TAILS},
        ),
    ]
    forms = ("NFC", "NFD", "NFKC", "NFKD")
    for form in forms:
        comment = f"Characters that {form} changes."
        parts.append(constant(f"_NOT_{form}", comment, changed_by(form)))
    parts += [
        "NOT = {" + ", ".join(f'"{form}": _NOT_{form}' for form in forms) + "}",
        constant(
            "ACCENTS",
            "Characters that StripAccents removes.",
            changed_by("StripAccents"),
        ),
        constant(
            "MARKS", "Characters that BertNormalizer removes as accents.", becomes(bert(strip_accents=True), "")
        ),
        constant(
            "UNCLEAN",
            "Characters that BertNormalizer removes because they are not text.",
            becomes(bert(clean_text=True), ""),
        ),
        constant(
            "BLANKS", "Characters that BertNormalizer replaces with a space.", becomes(bert(clean_text=True), " ")
        ),
        constant(
            "IDEOGRAPHS",
            "Characters that BertNormalizer puts spaces around.",
            (c for c in CODE_POINTS if len(bert(handle_chinese_chars=True).normalize_str(chr(c))) > 1),
        ),
        constant("NMT_REMOVED", "Characters that Nmt removes.", becomes(normalizers.Nmt(), "")),
        constant("NMT_SPACES", "Characters that Nmt replaces with a space.", becomes(normalizers.Nmt(), " ")),
        *[constant(name, comment, found) for name, (comment, found) in graphemes().items()],
        "# Below: first.count.step.distance to the other case, or a character+its other case.",
        case_table("LOWER", "Characters with a lower case.", lower),
        case_table("UPPER", "Characters with an upper case.", upper_case()),
    ]
    return "\n\n".join(parts) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Write or check the tables of the normalizers.")
    parser.add_argument("--check", action="store_true", help="exit status 1 if the file would change")
    arguments = parser.parse_args()
    if not tokenizers.__version__.startswith(VERSION + "."):
        print(
            f"tokenizers {tokenizers.__version__} is installed; the tables are made with {VERSION}",
            file=sys.stderr,
        )
        return 2
    text = generate()
    if arguments.check:
        if PATH.read_text(encoding="utf-8") != text:
            print(f"{PATH} is not what {Path(__file__).name} writes", file=sys.stderr)
            return 1
        return 0
    PATH.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
