"""Write the Unicode tables of the package, or check that they are up to date.

    python tools/gen_unicode_tables.py            write the file
    python tools/gen_unicode_tables.py --check    exit with 1 if it would change

Source of each table (tests/conformance/test_splitting_tiktoken.py asks tiktoken about every code point):

- General categories: the package unicodedata2, which must have Unicode 16.0.0.
- White_Space: 25 characters, listed below; the property has not changed since Unicode 6.3.
- Scripts, Other_Alphabetic, Other_Lowercase, Other_Uppercase: the `regex` package (of any later Unicode version),
  restricted to the characters assigned in 16.0.0. Unicode hardly ever changes these for an assigned character.
  The one change seen (U+0295 is no longer lower case in 17) is undone by taking Ll from the categories.
- Binary properties (Emoji, XID_Start, …): tiktoken 0.14, whose engine has Unicode 16.0.0.
- Case classes: the simple case folding of `regex` in version 0 mode, restricted likewise, without U+0130 and
  U+0131, which `regex` adds to the class of i but Unicode's simple folding does not.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import groupby
from pathlib import Path

import regex
import tiktoken
import unicodedata2

UNICODE_VERSION = "16.0.0"
PATH = Path(__file__).resolve().parent.parent / "src" / "fastbpe" / "splitting" / "unicode_tables.py"

CODE_POINTS = [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]
ALL_TEXT = "".join(map(chr, CODE_POINTS))
ASSIGNED = frozenset(c for c in CODE_POINTS if unicodedata2.category(chr(c)) != "Cn")
DOTTED_AND_DOTLESS_I = {0x130, 0x131}

WHITE_SPACE = [*range(0x9, 0xE), 0x20, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B)]
WHITE_SPACE += [0x2028, 0x2029, 0x202F, 0x205F, 0x3000]

# ISO 15924 code and long name of each script of Unicode 16.0.0; the tool stops at a script that `regex` lacks.
SCRIPTS = """
adlm:adlam aghb:caucasianalbanian ahom:ahom arab:arabic armi:imperialaramaic armn:armenian avst:avestan bali:balinese
bamu:bamum bass:bassavah batk:batak beng:bengali bhks:bhaiksuki bopo:bopomofo brah:brahmi brai:braille bugi:buginese
buhd:buhid cakm:chakma cans:canadianaboriginal cari:carian cham:cham cher:cherokee chrs:chorasmian copt:coptic
cpmn:cyprominoan cprt:cypriot cyrl:cyrillic deva:devanagari diak:divesakuru dogr:dogra dsrt:deseret dupl:duployan
egyp:egyptianhieroglyphs elba:elbasan elym:elymaic ethi:ethiopic gara:garay geor:georgian glag:glagolitic gong:gunjalagondi
gonm:masaramgondi goth:gothic gran:grantha grek:greek gujr:gujarati gukh:gurungkhema guru:gurmukhi hang:hangul hani:han
hano:hanunoo hatr:hatran hebr:hebrew hira:hiragana hluw:anatolianhieroglyphs hmng:pahawhhmong hmnp:nyiakengpuachuehmong
hung:oldhungarian ital:olditalic java:javanese kali:kayahli kana:katakana kawi:kawi khar:kharoshthi khmr:khmer khoj:khojki
kits:khitansmallscript knda:kannada krai:kiratrai kthi:kaithi lana:taitham laoo:lao latn:latin lepc:lepcha limb:limbu
lina:lineara linb:linearb lisu:lisu lyci:lycian lydi:lydian mahj:mahajani maka:makasar mand:mandaic mani:manichaean
marc:marchen medf:medefaidrin mend:mendekikakui merc:meroiticcursive mero:meroitichieroglyphs mlym:malayalam modi:modi
mong:mongolian mroo:mro mtei:meeteimayek mult:multani mymr:myanmar nagm:nagmundari nand:nandinagari narb:oldnortharabian
nbat:nabataean newa:newa nkoo:nko nshu:nushu ogam:ogham olck:olchiki onao:olonal orkh:oldturkic orya:oriya osge:osage
osma:osmanya ougr:olduyghur palm:palmyrene pauc:paucinhau perm:oldpermic phag:phagspa phli:inscriptionalpahlavi
phlp:psalterpahlavi phnx:phoenician plrd:miao prti:inscriptionalparthian rjng:rejang rohg:hanifirohingya runr:runic
samr:samaritan sarb:oldsoutharabian saur:saurashtra sgnw:signwriting shaw:shavian shrd:sharada sidd:siddham sind:khudawadi
sinh:sinhala sogd:sogdian sogo:oldsogdian sora:sorasompeng soyo:soyombo sund:sundanese sunu:sunuwar sylo:sylotinagri
syrc:syriac tagb:tagbanwa takr:takri tale:taile talu:newtailue taml:tamil tang:tangut tavt:taiviet telu:telugu tfng:tifinagh
tglg:tagalog thaa:thaana thai:thai tibt:tibetan tirh:tirhuta tnsa:tangsa todr:todhri toto:toto tutg:tulutigalari
ugar:ugaritic vaii:vai vith:vithkuqi wara:warangciti wcho:wancho xpeo:oldpersian xsux:cuneiform yezi:yezidi yiii:yi
zanb:zanabazarsquare zinh:inherited zyyy:common
"""  # noqa: E501


# Binary properties, each with its short name.
PROPERTIES = """
Emoji:Emoji Emoji_Presentation:EPres Emoji_Modifier:EMod Emoji_Modifier_Base:EBase Emoji_Component:EComp
Extended_Pictographic:ExtPict XID_Start:XIDS XID_Continue:XIDC ID_Start:IDS ID_Continue:IDC Hex_Digit:Hex
ASCII_Hex_Digit:AHex Dash:Dash Ideographic:Ideo Unified_Ideograph:UIdeo Regional_Indicator:RI
Variation_Selector:VS Join_Control:Join_C Quotation_Mark:QMark Math:Math Extender:Ext
Default_Ignorable_Code_Point:DI
"""


def base36(number: int) -> str:
    digits = ""
    while True:
        number, digit = divmod(number, 36)
        digits = "0123456789abcdefghijklmnopqrstuvwxyz"[digit] + digits
        if not number:
            return digits


def matching(pattern: str) -> set[int]:
    """Return the code points, assigned in Unicode 16, that `regex` matches."""
    return {ord(c) for c in regex.findall(pattern, ALL_TEXT)} & ASSIGNED


def run_lengths(label: Callable[[int], str]) -> str:
    """Return label and length (base 36) of each run over 0..10FFFF, as in `Zs1`."""
    return " ".join(f"{name}{base36(sum(1 for _ in run))}" for name, run in groupby(range(0x110000), key=label))


def gaps_and_lengths(code_points: Iterable[int]) -> str:
    """Return ranges as `gap.length` (base 36); the gap begins at the end of the previous range."""
    words, end, previous_end = [], -1, 0
    start = -1
    for code_point in [*sorted(code_points), 0x7FFFFFFF]:
        if code_point == end:
            end += 1
            continue
        if start >= 0:
            words.append(f"{base36(start - previous_end)}.{base36(end - start)}")
            previous_end = end
        start, end = code_point, code_point + 1
    return " ".join(words)


def script_runs() -> str:
    script_of: dict[int, str] = {}
    for pair in SCRIPTS.split():
        code, name = pair.split(":")
        members = matching(rf"\p{{Script={name}}}")
        if not members or members & script_of.keys():
            raise SystemExit(f"gen_unicode_tables: script {name} is empty or overlaps; correct SCRIPTS")
        script_of.update(dict.fromkeys(members, code))
    # Only private use characters are assigned without a script.
    left = [c for c in ASSIGNED if c not in script_of and unicodedata2.category(chr(c)) != "Co"]
    if left:
        raise SystemExit(f"gen_unicode_tables: U+{left[0]:04X} has no script; a name is missing in SCRIPTS")
    script_of.update(dict.fromkeys(range(0xD800, 0xE000), "----"))
    script = ""
    for c in range(0x110000):  # nobody reads the script of a character without one: it continues the run before it
        script = script_of.setdefault(c, script)
    return run_lengths(script_of.__getitem__)


def case_classes() -> set[tuple[int, ...]]:
    cased = sorted(matching(r"[\p{CWCM}\p{CWCF}\p{Lt}]") - DOTTED_AND_DOTLESS_I)
    text = "".join(map(chr, cased))
    classes = set()
    for code_point in cased:
        alike = regex.findall(regex.escape(chr(code_point)), text, regex.IGNORECASE | regex.VERSION0)
        if len(alike) > 1:
            classes.add(tuple(sorted(map(ord, alike))))
    seen: set[int] = set()
    for members in classes:
        if seen & set(members):
            raise SystemExit(f"gen_unicode_tables: case classes overlap at U+{members[0]:04X}")
        seen |= set(members)
    return classes


def case_runs(classes: set[tuple[int, ...]]) -> tuple[str, str]:
    """Return pairs as `start.count.step.distance` (base 36), and larger classes as `4b+6b+212a` (base 16)."""
    runs: list[list[int]] = []
    for low, high in sorted(members for members in classes if len(members) == 2):
        if runs:
            start, count, step, distance = runs[-1]
            gap = low - (start + (count - 1) * step)
            if distance == high - low and gap in (1, 2) and (count == 1 or gap == step):
                runs[-1] = [start, count + 1, gap, distance]
                continue
        runs.append([low, 1, 1, high - low])
    larger = sorted(members for members in classes if len(members) > 2)
    pairs = " ".join(".".join(map(base36, run)) for run in runs)
    return pairs, " ".join("+".join(f"{c:x}" for c in members) for members in larger)


def property_runs() -> str:
    """Return `name.short:` and the ranges of each property; of ID and XID, where they differ from `id_base`."""
    ranks = {bytes([byte]): byte for byte in range(256)}
    words = []
    for pair in PROPERTIES.split():
        name, short = pair.split(":")
        peer = tiktoken.Encoding(name, pat_str=rf"\p{{{name}}}", mergeable_ranks=ranks, special_tokens={})
        members = {ord(c) for c in bytes(peer.encode_ordinary(ALL_TEXT)).decode()}
        if "ID_" in name:
            members ^= id_base(name)
        words.append(f"{name}.{short}:".lower().replace("_", "") + " " + gaps_and_lengths(members))
    return " ".join(words)


def id_base(name: str) -> set[int]:
    """Return the characters of the categories that a property of identifiers is made of."""
    categories = ("L", "Nl") if "Start" in name else ("L", "Nl", "Mn", "Mc", "Nd", "Pc")
    return {c for c in CODE_POINTS if unicodedata2.category(chr(c)).startswith(categories)}


def wrapped(words: str, width: int = 102) -> Iterator[str]:
    line = ""
    for word in words.split():
        if len(line) + len(word) >= width:
            yield f'    "{line}"'
            line = ""
        line += word + " "
    yield f'    "{line.rstrip()}"'


def constant(name: str, comment: str, words: str) -> str:
    return "\n".join([f"# {comment}", f"{name} = (", *wrapped(words), ")"])


def generate() -> str:
    category = {c: unicodedata2.category(chr(c)) for c in CODE_POINTS}
    in_categories = {
        name: {c for c in CODE_POINTS if category[c].startswith(name)} for name in ("L", "Nl", "Ll", "Lu")
    }
    pairs, larger = case_runs(case_classes())
    alphabetic = matching(r"\p{Alphabetic}") - in_categories["L"] - in_categories["Nl"]
    scripts = [pair.split(":") for pair in SCRIPTS.split()]
    parts = [
        f'"""Unicode {UNICODE_VERSION} as text to decode. '
        "Generated by tools/gen_unicode_tables.py: edit that, not this.\n\n"
        f"Made with unicodedata2 of Unicode {unicodedata2.unidata_version} and regex {regex.__version__}.\n"
        f'Numbers are in base 36 unless noted otherwise; charset.py has the decoders.\n"""',
        f'UNICODE_VERSION = "{UNICODE_VERSION}"',
        constant(
            "CATEGORY_RUNS",
            "General category and length of each run from U+0000 on; the surrogates are Cs.",
            run_lengths(lambda c: category.get(c, "Cs")),
        ),
        constant(
            "SCRIPT_RUNS",
            "Script and length of each run, with characters after it that lack a script; ---- are surrogates.",
            script_runs(),
        ),
        constant("SCRIPT_NAMES", "Code and name of each script.", " ".join(f"{c}:{n}" for c, n in scripts)),
        constant("WHITE_SPACE", "White_Space as gap.length.", gaps_and_lengths(WHITE_SPACE)),
        constant("OTHER_ALPHABETIC", "Alphabetic without L and Nl, as gap.length.", gaps_and_lengths(alphabetic)),
        constant(
            "OTHER_LOWERCASE",
            "Lowercase without Ll, as gap.length.",
            gaps_and_lengths(matching(r"\p{Lowercase}") - in_categories["Ll"]),
        ),
        constant(
            "OTHER_UPPERCASE",
            "Uppercase without Lu, as gap.length.",
            gaps_and_lengths(matching(r"\p{Uppercase}") - in_categories["Lu"]),
        ),
        constant(
            "BINARY_PROPERTIES",
            "Name and short name, then gap.length; id and xid: difference from categories (charset.py).",
            property_runs(),
        ),
        constant(
            "CASE_PAIRS",
            "Pairs of characters that differ only in case: first.count.step.distance within a pair.",
            pairs,
        ),
        constant("CASE_CLASSES", "Sets of three or more characters that differ only in case, in base 16.", larger),
    ]
    return "\n\n".join(parts) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description="Write the Unicode tables of the split patterns.")
    parser.add_argument("--check", action="store_true", help="compare only; exit status 1 on a difference")
    arguments = parser.parse_args()
    if unicodedata2.unidata_version != UNICODE_VERSION:
        print(
            f"gen_unicode_tables: unicodedata2 has Unicode {unicodedata2.unidata_version}, the tables need "
            f"{UNICODE_VERSION}; install unicodedata2=={UNICODE_VERSION}",
            file=sys.stderr,
        )
        return 1
    text = generate()
    if not arguments.check:
        PATH.write_text(text, encoding="ascii", newline="\n")
    elif not PATH.exists() or without_stamp(PATH.read_text(encoding="ascii")) != without_stamp(text):
        print(
            f"gen_unicode_tables: {PATH} differs from what this tool makes with regex {regex.__version__}; "
            "run it without --check, look at the difference, commit it",
            file=sys.stderr,
        )
        return 1
    return 0


def without_stamp(text: str) -> str:
    """Return the text without the version of regex that made it; other versions must give the same tables."""
    return re.sub(r"and regex [0-9.]+", "", text)


if __name__ == "__main__":
    sys.exit(main())
