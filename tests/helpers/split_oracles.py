"""Texts that are hard to split; scanners, engines and the `regex` splitter for a pattern, and their comparison."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fastbpe._core.merge.codepoint_symbols import CodePoints
from fastbpe._core.split.by_character import FixedLength
from fastbpe._core.split.scanner import Scanner, WordScanner, paths
from fastbpe._core.split.splitter import RegexSplitter, Splitter
from fastbpe._core.split.superbpe_lines import SuperbpeLines
from fastbpe.model import PieceType, pack_pieces
from fastbpe.patterns import PATTERNS
from fastbpe.splitting import chain, engine_of
from fastbpe.splitting.named import NAMED
from fastbpe.splitting.recognise import recognise
from fastbpe.splitting.scripts import make_script_splitter
from fastbpe.splitting.to_regex import compile_regex

if TYPE_CHECKING:
    import regex

NAMES = [name for name in NAMED if name != "llama4"]  # llama4 is o200k
ONE_REGEX = [name for name in NAMES if isinstance(PATTERNS[name], str)]

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
    "aZé,(“ \n\x00\x1f\x7f\u200b1漢字かナ゠・゛゙\u3040〇龥龦",
    ["\u0378", "\ue000", "\U0010ffff", "\ufffd", "\0", "\x7f", "\u0080", "a", " ", "\n", "."],
    [*"abcdefghijklmnopqrstuvwxyz", *" " * 6, *".,'\n", "I", "A", "1", "“", "”", "—", "é"],
]


def pattern_text(name: str) -> str:
    text = PATTERNS[name]
    assert isinstance(text, str)
    return text


def scanners(pattern: str | tuple[str, ...]) -> list[Scanner]:
    """A scanner of the pattern for each instruction set of this machine."""
    spec = recognise(pattern)
    assert spec is not None
    return [Scanner(**spec._asdict(), path=path) for path in paths()]


def engines(pattern: str | tuple[str, ...]) -> list[Splitter]:
    """The engine for the pattern, or a chain of them, if it takes it."""
    parts = (pattern,) if isinstance(pattern, str) else pattern
    made = [engine for part in parts if (engine := engine_of(part)) is not None]
    return [chain(made)] if len(made) == len(parts) else []


def oracle(pattern: str | tuple[str, ...]) -> Splitter:
    """The slow splitter of the pattern, or of several one after another."""
    if isinstance(pattern, str):
        return RegexSplitter(compile_regex(pattern))
    return chain([RegexSplitter(compile_regex(part)) for part in pattern])


def difference(name: str, wanted: list[int], splitter: Splitter, text: str) -> str | None:
    """Describe the first piece that the splitter ends elsewhere than wanted; None if all are equal."""
    got = splitter.ends(text)
    if got == wanted:
        return None
    at = next(i for i, (a, b) in enumerate(zip([*got, -1], [*wanted, -1], strict=False)) if a != b)
    begin = wanted[at - 1] if at else 0
    shown = text.encode()[max(begin - 20, 0) : begin + 60]
    return (
        f"{name}, {splitter!r}: piece {at} from byte {begin} should end at {wanted[at : at + 1]}, "
        f"ends at {got[at : at + 1]}; around it {shown!r}; the text is {text[:400]!r}"
    )


def all_splitters() -> list[Splitter]:
    """The scanners and engines of all patterns, the splitters by character, and the scanners of the words of a
    code-point vocabulary."""
    made: list[Splitter] = [make_script_splitter(), FixedLength(1), FixedLength(3)]
    for pattern in (PATTERNS[name] or "" for name in NAMES):
        made += [*scanners(pattern), *engines(pattern)]
    made.append(SuperbpeLines())
    pieces = ["<unk>", "▁", "a", "ab", "▁a", "กข", "ああ", "é", "😀a"]
    piece_bytes, piece_ends = pack_pieces(piece.encode() for piece in pieces)
    scores = struct.pack(f"<{len(pieces)}f", *range(len(pieces)))
    types = bytes([PieceType.UNKNOWN, *[PieceType.NORMAL] * (len(pieces) - 1)])
    for escapes in (True, False):
        words = CodePoints(piece_bytes, piece_ends, scores, types, escapes=escapes, unknown_id=0, byte_ids=None)
        made += [WordScanner(words, path=path) for path in paths()]
    return made


def fault(splitter: Splitter, data: bytes) -> str | None:
    """Describe an end that does not rise, or that is outside the bytes; None if all ends are right."""
    ends = splitter.ends_in(data)
    if ends == sorted(set(ends)) and ends[-1:] == ([len(data)] if data else []):
        return None
    return f"{splitter!r} splits {data!r} at {ends}"


def random_bytes(seed: int) -> Iterator[bytes]:
    """Endless texts whose bytes are changed, cut out and put in, so that most are not UTF-8."""
    generator = random.Random(seed)
    leads = [*range(0x80, 0x100)]
    for text in random_texts(seed):
        data = bytearray(text.encode())
        for _ in range(generator.randrange(6)):
            at = generator.randrange(len(data) + 1)
            match generator.randrange(4):
                case 0:
                    data[at : at + generator.randrange(4)] = b""
                case 1:
                    data[at:at] = bytes(generator.choices(leads, k=generator.randrange(1, 5)))
                case 2:
                    data[at : at + 3] = bytes(generator.choices(range(256), k=3))
                case 3:  # the end of the text is where reading goes wrong
                    data += bytes(generator.choices(leads, k=generator.randrange(1, 5)))
        yield bytes(data)


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
        # The run of x shifts the rest against the blocks of 64 bytes.
        yield "x" * generator.randrange(64) + "".join(parts) if generator.random() < 0.5 else "".join(parts)


def find_pieces(compiled: regex.Pattern[str], text: str) -> list[str]:
    """Return the matches of a compiled split pattern, from left to right; text between them is left out."""
    return [match.group() for match in compiled.finditer(text)]
