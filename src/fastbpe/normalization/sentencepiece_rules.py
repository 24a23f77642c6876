"""Normalization rules of sentencepiece: the standard sets, rules in files, and charsmaps.

A rule replaces a sequence of characters by another; if several rules match, the longest source wins. Models
contain the rules as a charsmap: a double array (Aoe 1989, as in the library Darts-clone) of sources, followed by
the targets, each terminated by a NUL. A unit of the array is a uint32, little-endian.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Mapping
from functools import lru_cache

from fastbpe._core.normalize.charsmap_builder import build_trie
from fastbpe._utils.suggestions import choose_one_of
from fastbpe.errors import FormatError

RULE_NAMES = ("identity", "nfkc", "nmt_nfkc", "nfkc_cf", "nmt_nfkc_cf")

# Bits of a unit of the double array:
_LABEL = 0x800000FF  # byte of the edge to this node; bit 31 is set in units of values, which have no edge
_HAS_VALUE = 0x100  # a source ends at this node
_WIDE_OFFSET = 0x200  # the offset to the children is stored without its low 8 bits
_VALUE = 0x7FFFFFFF  # in the unit of a value: position of the target
_OFFSET_SHIFT = 10  # bits below the offset to the children
#: Limit on the visited nodes of a trie; the largest standard set, nmt_nfkc_cf, has 264,228. Several nodes of a
#: double array may have the same children, so a small file can have exponentially many sources.
_MAX_NODES = 1 << 20
#: Maximum number of sources, each a prefix of the next: sentencepiece reads no more matches at a position.
_MAX_NESTED = 31
#: sentencepiece skips white space around the number, and accepts U+, a plus sign and 0x before its digits.
_CODE_POINT = r"(?:U\+)?[\r\v\f]*\+?(?:0[xX])?([0-9A-Fa-f]+)[\r\v\f]*"


def charsmap(rule_name: str) -> bytes:
    """Return the charsmap of a standard set of rules, as sentencepiece 0.2.3 writes it into models.

    The package contains the charsmaps as files, because compiling one takes about 0.2 s.

    Args:
        rule_name: str – one of RULE_NAMES; "identity" has the charsmap b"".

    Raises:
        ValueError: there is no such set.

    >>> len(charsmap("nmt_nfkc"))
    240007
    """
    if rule_name not in RULE_NAMES:
        raise ValueError(choose_one_of("rule_name", rule_name, RULE_NAMES))
    return _cached_charsmap(rule_name)


@lru_cache
def _cached_charsmap(rule_name: str) -> bytes:
    """Return the unpacked charsmap of a standard set; `release_memory` empties the cache."""
    if rule_name == "identity":
        return b""
    from pkgutil import get_data  # here: a model has its own charsmap

    packed = get_data("fastbpe.normalization", f"charsmaps/{rule_name}.bin")
    assert packed is not None
    return unpack_charsmap(packed)


def unpack_charsmap(packed: bytes) -> bytes:
    """Decompress a file of the package; tools/gen_normalization_tables.py writes it.

    The file has the first bytes of all units of the trie, then the second bytes, and so on: they compress better.
    """
    import zlib  # here, as few models need it

    charsmap = bytearray(zlib.decompress(packed))
    (n,) = struct.unpack_from("<I", charsmap)
    trie = bytes(charsmap[4 : 4 + n])
    for i in range(4):
        charsmap[4 + i : 4 + n : 4] = trie[i * n // 4 : (i + 1) * n // 4]
    return bytes(charsmap)


def parse_rules(data: bytes, where: str) -> dict[str, str]:
    """Read a file of rules, as sentencepiece does.

    A line contains a rule: code points of the source in hexadecimal, a tab, code points of the target. Without a
    target the source is removed from texts. Text after a second tab is ignored. Of several rules for one source,
    the last one is used.

    Returns:
        The rules: source → target.

    Raises:
        FormatError: a line is not a rule, and the message contains its number; or there are no rules.

    >>> parse_rules(b"U+63 U+64\\t65 66\\n67\\n", "rules.tsv")
    {'cd': 'ef', 'g': ''}
    """
    rules = {}
    lines = data.split(b"\n")
    if not lines[-1]:
        lines.pop()
    for number, line in enumerate(lines, 1):
        fields = line.decode("utf-8", "replace").split("\t")
        source = _characters(fields[0], f"{where}:{number}")
        if not source:
            raise FormatError(
                f"{where}:{number}: the rule has no left side; expected code points such as 3000 or U+3000"
            )
        rules[source] = _characters(fields[1], f"{where}:{number}") if len(fields) > 1 else ""
    if not rules:
        raise FormatError(
            f"{where}: no line contains a rule; for no rules, pass normalization_rule_name='identity' instead of "
            "this file"
        )
    return rules


def _characters(text: str, where: str) -> str:
    """Read code points in hexadecimal, such as "U+63 0x64 65".

    Numbers that no text contains are errors. sentencepiece reads 0 as the end, and the others as U+FFFD.
    """
    characters = ""
    for word in filter(None, text.split(" ")):
        match = re.fullmatch(_CODE_POINT, word)
        code_point = int(match[1], 16) if match else -1
        if not 0 < code_point <= 0x10FFFF or 0xD800 <= code_point < 0xE000:
            raise FormatError(
                f"{where}: {word!r:.60} is not a character in hexadecimal, 1 to 10FFFF without surrogates"
            )
        characters += chr(code_point)
    return characters


def compile_rules(rules: Mapping[str, str]) -> bytes:
    """Compile rules (source → target) into a charsmap, byte for byte as sentencepiece 0.2.3 does.

    Raises:
        ValueError: there are no rules; a source is empty, contains a NUL, is longer than 4,096 bytes or equals its
            target; or more than 31 sources form a chain, each a prefix of the next.
    """
    for source, target in rules.items():
        if source == target:
            raise ValueError(f"normalization rules: the rule for {source!r} changes nothing; leave it out")
    positions: dict[str, int] = {}
    n_bytes = 0
    targets = sorted(set(rules.values()))
    for target in targets:
        positions[target] = n_bytes
        n_bytes += len(target.encode()) + 1
    sources = sorted(rules)
    if not sources or not sources[0] or "\0" in "".join(sources):
        raise ValueError(
            "normalization rules: pass at least one; each must replace one character or more, and no NUL"
        )
    keys = [source.encode() for source in sources]
    try:
        trie = build_trie(keys, [positions[rules[source]] for source in sources], max_nested=_MAX_NESTED)
    except ValueError as error:
        raise ValueError(f"the sources of normalization rules: {error}") from None
    return struct.pack("<I", len(trie)) + trie + "\0".join([*targets, ""]).encode()


def decompile_rules(charsmap: bytes) -> dict[str, str]:
    """Read the rules of a charsmap: source → target.

    Requires a charsmap that the compiled `Normalizer` accepts. The result for any other, or the exception, is
    undefined.

    Raises FormatError if there are more than 2**20 sources and beginnings of sources.

    >>> decompile_rules(compile_rules({"a": "b", "ab": ""}))
    {'a': 'b', 'ab': ''}
    """
    n_bytes = struct.unpack_from("<I", charsmap)[0]
    units = struct.unpack_from(f"<{n_bytes // 4}I", charsmap, 4)
    targets = charsmap[4 + n_bytes :]
    children: dict[int, list[int]] = {}  # position that a unit's offset leads to → positions of its children
    for at, unit in enumerate(units):
        label = unit & _LABEL
        if 0 < label < 256:
            children.setdefault(at ^ label, []).append(at)
    rules: dict[str, str] = {}
    todo = [(0, b"")]
    n_nodes = 0
    while todo:
        n_nodes += 1
        if n_nodes > _MAX_NODES:
            raise FormatError(
                f"the charsmap has too many rules: more than {_MAX_NODES:,} nodes of its trie lead to them"
            )
        at, source = todo.pop()
        unit = units[at]
        children_at = at ^ (unit >> _OFFSET_SHIFT << (8 if unit & _WIDE_OFFSET else 0))
        if source and unit & _HAS_VALUE:  # a value of the root would be a rule for the empty text
            start = units[children_at] & _VALUE
            target = targets[start : targets.index(b"\0", start)]
            rules[source.decode("utf-8", "replace")] = target.decode("utf-8", "replace")
        todo += [(child, source + bytes([units[child] & 0xFF])) for child in children.get(children_at, ())]
    return rules
