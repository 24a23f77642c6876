"""Texts found in JSON lines: equal to the result of the json module, or the line is left to that module."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fastbpe._core.text.json_lines import n_newlines, texts_of_lines

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.text(st.sampled_from('"\\/\b\f\n\r\t\x00\x7fé語👍\ud83d\ude00'), max_size=20)
)
VALUES = st.recursive(SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)
RECORDS = st.dictionaries(st.sampled_from(["text", "a", "t\u00e9xt", "te", "texts", ""]), VALUES)
ODD = [
    b"",
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b",",
    b":",
    b"\\u",
    b"\\ud83d",
    b"0",
    b"-",
    b".",
    b"e",
    b"\x1f",
    b"\xff",
]


def expected(line: bytes, field: str) -> str | None:
    """Return the text that the json module finds in a line, or None if there is no string or no JSON."""
    try:
        record = json.loads(line.decode())
    except (ValueError, RecursionError):
        return None
    text = record.get(field) if isinstance(record, dict) else None
    return text if isinstance(text, str) else None


def check(lines: list[bytes], field: str = "text", *, is_plain: bool = False) -> None:
    block = b"\n".join(lines)
    texts, others = texts_of_lines(block, field)
    left = dict(others)
    assert len(texts) == len(block.split(b"\n")) - (block[-1:] in (b"", b"\n"))
    for i, (text, line) in enumerate(zip(texts, block.split(b"\n"), strict=False)):
        said = expected(line, field)
        if text is None:
            assert left.pop(i) == line
            assert not is_plain or said is None or "\\ud" in line.decode().lower()
        else:
            assert said is not None
            assert text == said.encode(), line
    assert not left


@pytest.mark.daily
@given(st.lists(RECORDS, max_size=5), st.booleans(), st.sampled_from([None, (",", ":"), (" , ", "\t:\r ")]))
def test_lines_written_by_json_are_read(
    records: list[dict[str, Any]], ascii_only: bool, separators: tuple[str, str] | None
) -> None:
    lines = [json.dumps(record, ensure_ascii=ascii_only, separators=separators) for record in records]
    check([line.encode(errors="replace") for line in lines])
    check([line.encode(errors="replace") for line in lines], "t\u00e9xt")


@pytest.mark.daily
@given(st.lists(st.dictionaries(st.sampled_from(["text", "a"]), st.text() | st.integers(-9, 9)), min_size=1))
def test_plain_lines_are_read_without_the_json_module(records: list[dict[str, Any]]) -> None:
    lines = [json.dumps(record).encode() for record in records]
    check(lines, is_plain=True)
    check([*lines, b""], is_plain=True)


@pytest.mark.parametrize("seed", range(20))
def test_damaged_lines_are_read_as_by_json(seed: int) -> None:
    rng = random.Random(seed)
    record = {"a": [1, -2.5e-7, True, None, {"b": "c\n"}, []], "text": 'x"é\\\u2028👍/', "z": {"text": "no"}}
    good = [json.dumps(record, ensure_ascii=ascii_only).encode() for ascii_only in (True, False)]
    lines = []
    for _ in range(300):
        line = rng.choice(good)
        for _ in range(rng.choice([1, 1, 2, 4])):
            at, behind = sorted(rng.choices(range(len(line) + 1), k=2))
            behind = min(behind, at + rng.choice([0, 0, 1, 2, 9]))
            line = line[:at] + rng.choice(ODD) + line[behind:]
        lines.append(line)
    for line in lines:
        check([line])
    check(lines)


@pytest.mark.parametrize(
    "line",
    [
        b'{"text": "a", "text": "b"}',
        b'{"te\\u0078t": "a"}',
        b'{"text": "a", "n": 01}',
        b'{"text": "a", "n": -}',
        b'{"text": "a", "n": 1.}',
        b'{"text": "a", "n": .5}',
        b'{"text": "a", "n": 1e}',
        b'{"text": "a", "n": NaN}',
        b'{"text": "a", "n": ' + b"9" * 5000 + b"}",
        b'{"text": "a", "n": tru}',
        b'{"text": "\\ud83d\\ude00 \\ude00"}',
        b'{"text": "\\ud83d\\u0041"}',
        b'{"text": "\\ud83d',
        b'{"text": "\\x"}',
        b'{"text": "a"} {}',
        b'{"text": "a"},',
        b'[{"text": "a"}]',
        b'{"a": ' + b"[" * 100 + b"]" * 100 + b', "text": "a"}',
        b'{"a": ' + b'{"a":' * 60 + b"1" + b"}" * 60 + b', "text": "a"}',
        b'{"' + b"\\u0061" * 300 + b'": 1, "text": "a"}',
        b'\xef\xbb\xbf{"text": "a"}',
        b'{"text": "a\x00"}',
        b'{"text": "a\x7f"}',
        b"\xc2\xa0" + b'{"text": "a"}',
        b'{"text": "\xed\xa0\x80"}',
        b'{"text": "\xc3"}',
        b" \t\r",
        b"{}",
        b'{"text"}',
    ],
)
def test_unusual_lines_are_read_as_by_json(line: bytes) -> None:
    check([line])
    check([b'{"text": "before"}', line, b'{"text": "behind"}', b""])


@pytest.mark.parametrize("seed", range(5))
def test_escapes_at_every_position_of_a_vector_are_read(seed: int) -> None:
    rng = random.Random(seed)
    for n in range(100):
        text = "".join(
            rng.choices(["a", "\u00e9", '"', "\\", "\n", "\u2028", "\U0001f44d"], [99, 3, 1, 1, 1, 1, 1], k=n)
        )
        check([json.dumps({"text": text, "a": text}, ensure_ascii=seed % 2 == 0).encode()] * 2, is_plain=True)


@given(st.lists(st.sampled_from([b"\n", b"a" * 254, b"b" * 255, b"\n" * 256, b"c"]), max_size=9))
def test_newlines_are_counted(parts: list[bytes]) -> None:
    block = b"".join(parts)
    assert n_newlines(block) == block.count(b"\n")


def test_truncated_lines_are_read_as_by_json() -> None:
    line = '{"a": [{"b": "\\u00e9"}, -1.5e+3], "text": "é\\ud83d\\ude00\\""}'.encode()
    for n in range(len(line)):
        check([line[:n]])
