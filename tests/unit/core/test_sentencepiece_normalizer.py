"""The sentencepiece normalizer of the core: worked examples, damaged charsmaps."""

import random
import struct
from typing import Any

import pytest

from fastbpe._core.normalize.sentencepiece_normalizer import Normalizer
from fastbpe.errors import FormatError
from reference.normalization import Normalizer as Twin

DEFAULTS: dict[str, Any] = {
    "add_dummy_prefix": True,
    "remove_extra_whitespaces": True,
    "escape_whitespaces": True,
}
KEEP = {**DEFAULTS, "remove_extra_whitespaces": False}


@pytest.mark.parametrize(
    ("flags", "text", "expected"),
    [
        (DEFAULTS, " a  b ", "▁a▁b"),
        (DEFAULTS, "   ", ""),
        (DEFAULTS, "", ""),
        (DEFAULTS, "▁a", "▁▁a"),
        (DEFAULTS, "▁▁a▁", "▁▁▁a"),
        (KEEP, " a  b ", "▁▁a▁▁b▁"),
        ({**KEEP, "add_dummy_prefix": False}, " a  b ", "▁a▁▁b▁"),
        ({**DEFAULTS, "treat_whitespace_as_suffix": True}, " a  b ", "a▁b▁"),
        ({**KEEP, "treat_whitespace_as_suffix": True}, " a  b ", "▁a▁▁b▁▁"),
        ({**DEFAULTS, "symbols": [b"NEW york"]}, "NEW york", "▁NEW▁york"),
        ({**DEFAULTS, "escape_whitespaces": False}, " a  b ", " a b"),
    ],
)
def test_flags_normalize_as_in_the_worked_examples(flags: dict[str, Any], text: str, expected: str) -> None:
    assert Normalizer(b"", **flags).normalize(text.encode()).decode() == expected
    assert Twin(**flags).normalize(text.encode())[0].decode() == expected


def test_words_of_every_length_and_position_equal_the_slow_twin() -> None:
    """The normalizer copies words eight bytes at a time: try each length, words in a row, at the end, and before
    non-ASCII."""
    ours, twin = Normalizer(b"", **DEFAULTS), Twin(**DEFAULTS)
    for n_before in range(10):
        for n_bytes in range(20):
            for behind in (b"", b" ", b"\x7f", "é".encode(), b"\xff", b" a" * 20):
                text = b"a" * n_before + b"\t" + bytes(range(0x41, 0x41 + n_bytes)) + behind
                assert ours.normalize_with_offsets(text) == twin.normalize(text)


def unit(offset: int, label: int, *, has_value: bool = False) -> int:
    return offset << 10 | has_value << 8 | label


def charsmap(units: dict[int, int], replacements: bytes = b"x\0", n_units: int = 256) -> bytes:
    """Return a charsmap with these units by index; all other units lead nowhere."""
    table = [units.get(i, 0x80000000) for i in range(n_units)]
    return struct.pack(f"<I{n_units}I", 4 * n_units, *table) + replacements


def test_rule_of_a_charsmap_is_applied() -> None:
    # "a" is a child of the root, counted from 1; its value is in unit 2.
    data = charsmap({0: unit(1, 0), 1 ^ 0x61: unit(1 ^ 0x61 ^ 2, 0x61, has_value=True)}, b"xyz\0")
    assert Normalizer(data, **DEFAULTS).normalize(b"banana") == "▁bxyznxyznxyz".encode()


@pytest.mark.parametrize(
    "data",
    [
        b"abc",
        b"\0\0\0\0",
        b"\0\0\0\0a\0",
        struct.pack("<II", 4, 0) + b"a\0",
        struct.pack("<I", 0xFFFFFFFF) + bytes(100),
        charsmap({0: unit(1, 0)}, b""),
        charsmap({0: unit(1, 0)}, b"x"),
        charsmap({0: unit(1 << 20, 0)}),
        charsmap({0: unit(1, 0), 0x60: unit(1 << 12, 0x61)}),
        charsmap({0: unit(1, 0), 0x60: unit(0x60 ^ 2, 0x61, has_value=True), 2: 0x80000002}),
        charsmap({0: unit(1, 0), 0x60: unit(0x60 ^ 1, 0x61)}),
        charsmap({0: unit(0x61, 0x61)}),
    ],
)
def test_damaged_charsmap_raises_format_error(data: bytes) -> None:
    with pytest.raises(FormatError, match="precompiled_charsmap"):
        Normalizer(data, **DEFAULTS)


@pytest.mark.daily
def test_random_charsmaps_never_hang_or_crash() -> None:
    """Loading and normalizing end for arbitrary units."""
    rng = random.Random(1)
    texts = [bytes(rng.choices(range(256), k=300)), b"a" * 1000, "é日😀".encode() * 100]
    n_loaded = 0
    for _ in range(3000):
        units = {
            rng.randrange(512): unit(
                rng.choice([1, rng.randrange(600)]), rng.randrange(256), has_value=rng.random() < 0.3
            )
            for _ in range(rng.randrange(300))
        }
        units[0] = unit(rng.randrange(512), 0)
        data = charsmap(units, b"ab\0 \0" + b"\0", 512)
        try:
            normalizer = Normalizer(data, **DEFAULTS)
        except FormatError:
            continue
        n_loaded += 1
        normalizer.words_stay()
        for text in texts:
            normalized, offsets = normalizer.normalize_with_offsets(text)
            assert len(offsets) == len(normalized) + 1
    assert n_loaded > 50


def test_wrong_argument_types_raise_type_error() -> None:
    with pytest.raises(TypeError):
        Normalizer(None, **DEFAULTS)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        Normalizer(b"", **DEFAULTS).normalize("text")  # type: ignore[arg-type]
