"""Write the standard normalization rules of the package, or check that they are up to date.

    python tools/gen_normalization_tables.py            write the files
    python tools/gen_normalization_tables.py --check    exit with 1 if the rules would change

The rules are facts about code points, in the compiled form that sentencepiece 0.2.3 has. The tool also checks that
the package compiles them to the same bytes.
"""

from __future__ import annotations

import argparse
import struct
import sys
import zlib
from pathlib import Path

import sentencepiece

CHARSMAPS = Path(__file__).resolve().parents[1] / "src" / "fastbpe" / "normalization" / "charsmaps"
VERSION = "0.2.3"


def rules_of(name: str) -> dict[str, str]:
    return dict(sentencepiece.SentencePieceNormalizer(rule_name=name).decompile())


def charsmap_of(name: str) -> bytes:
    """Return field 2 of the spec, which follows field 1, the name."""
    spec: bytes = sentencepiece.SentencePieceNormalizer(rule_name=name).serialized_normalizer_spec()
    at, shift, n_bytes = 3 + len(name), 0, 0
    while True:
        n_bytes |= (spec[at] & 0x7F) << shift
        shift += 7
        at += 1
        if spec[at - 1] < 0x80:
            return spec[at : at + n_bytes]


def pack_charsmap(charsmap: bytes) -> bytes:
    """Compress a charsmap: the first bytes of all units, then the second ones, and so on, deflated.

    The inverse is `fastbpe.normalization.sentencepiece_rules.unpack_charsmap`.
    """
    (n,) = struct.unpack_from("<I", charsmap)
    trie = charsmap[4 : 4 + n]
    return zlib.compress(charsmap[:4] + b"".join(trie[i::4] for i in range(4)) + charsmap[4 + n :], 9)


def wrong_names(names: tuple[str, ...]) -> list[str]:
    """Return the names of sets that the package does not have, or does not compile, as sentencepiece does."""
    from fastbpe.normalization import sentencepiece_rules

    return [
        name
        for name in names
        if not sentencepiece_rules.charsmap(name)
        == charsmap_of(name)
        == sentencepiece_rules.compile_rules(rules_of(name))
    ]


def main() -> int:
    from fastbpe.normalization.sentencepiece_rules import RULE_NAMES

    parser = argparse.ArgumentParser(description="Write the standard normalization rules.")
    parser.add_argument("--check", action="store_true", help="compare only; exit status 1 on a difference")
    arguments = parser.parse_args()
    if sentencepiece.__version__ != VERSION:
        print(f"gen_normalization_tables: needs sentencepiece=={VERSION}", file=sys.stderr)
        return 1
    sentencepiece.set_min_log_level(2)
    names = RULE_NAMES[1:]  # the first, identity, has no rules
    if not arguments.check:
        CHARSMAPS.mkdir(exist_ok=True)
        for name in names:
            (CHARSMAPS / f"{name}.bin").write_bytes(pack_charsmap(charsmap_of(name)))
    wrong = wrong_names(names)  # compare rules, not files: another zlib may compress differently
    if wrong:
        print(f"gen_normalization_tables: the package gives other rules for {', '.join(wrong)}", file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
