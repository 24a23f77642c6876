"""Forged native files with extras: a FormatError, or a tokenizer that keeps its promises.

Anyone who can write a checksum can write any contents. `test_native` has the tables of a byte-level vocabulary.
"""

from __future__ import annotations

import contextlib
import json
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, Tokenizer
from fastbpe.formats import limits, native
from fastbpe.model import pack_merges
from helpers.native_files import parts, sealed
from helpers.sampling import FULL
from helpers.tokenizer_json import METASPACE, added, llama_document, small

EVERY = 1 if FULL else 17  # bytes from one altered byte to the next
MASK = {"SpecialToken": {"id": "<m>", "type_id": 0}}
TEXT = {"Sequence": {"id": "A", "type_id": 0}}
TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [MASK, TEXT],
    "pair": [TEXT, {"Sequence": {"id": "B", "type_id": 1}}],
    "special_tokens": {"<m>": {"id": "<m>", "ids": [262], "tokens": ["<m>"]}},
}


def byte_level() -> dict[str, Any]:
    made = small()
    made["added_tokens"] += [
        added(262, "<m>", special=True, lstrip=True),
        added(263, "new", normalized=True),
        added(264, "word", single_word=True, rstrip=True),
    ]
    made["normalizer"] = {"type": "Sequence", "normalizers": [{"type": "NFC"}, {"type": "Lowercase"}]}
    return made | {"post_processor": TEMPLATE}


def code_points() -> dict[str, Any]:
    made = llama_document({"<unk>": 0, "a": 1, "b": 2, "ab": 3, METASPACE: 4}, ["a b"])
    made["added_tokens"] += [added(5, "<m>", special=True), added(6, "zz", lstrip=True)]
    return made


@pytest.fixture(scope="module", params=[byte_level, code_points], ids=["bytes", "code points"])
def data(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("native") / "made.fbpe"
    fastbpe.load(json.dumps(request.param()).encode()).save(path)
    return path.read_bytes()


def check_safe(tokenizer: Tokenizer) -> None:
    """Make the calls that a caller may rely on, for any vocabulary that a file claims to hold."""
    ids = tokenizer.encode("abc ab <m> new w ZZ é zz", allowed_special="all")
    tokenizer.decode(ids)
    tokenizer.decode_bytes(ids)
    tokenizer.encode("ab <m>", disallowed_special=())
    tokenizer.encode_with_offsets("abc ab w <m>", allowed_special="all")
    with contextlib.suppress(ValueError):
        tokenizer.encode("hello <m>")
    assert len(tokenizer.vocab) == tokenizer.n_vocab
    assert all(0 <= i < tokenizer.n_vocab for pair in tokenizer.merges for i in pair)
    assert [type(i) for side in tokenizer.template for i in side] == [int] * sum(map(len, tokenizer.template))
    assert tokenizer.fingerprint
    assert {*map(type, tokenizer.encode_with_template("ab", "b"))} <= {int}
    for name in ("bos", "eos", "pad", "unk"):
        assert type(getattr(tokenizer, f"{name}_token_id")) in (int, type(None))
    assert repr(tokenizer)
    assert pickle.loads(pickle.dumps(tokenizer)).special_tokens == tokenizer.special_tokens


def is_refused(forged: bytes) -> bool:
    try:
        tokenizer = fastbpe.load(forged)
    except FormatError:
        return True
    check_safe(tokenizer)
    return False


def test_extras_round_trip(data: bytes) -> None:
    assert not is_refused(data)
    assert not is_refused(sealed(*parts(data)))
    described = parts(data)[0]["extras"]["added_tokens"]
    assert (described["content"][-1], described["id"][-1]) in (("word", 264), ("zz", 6))
    assert "lstrip" in described
    assert "special" in described
    check_safe(fastbpe.load(data))


def places(node: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    inner = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    for key, value in inner:
        yield from places(value, (*path, key))


VALUES = (
    None, -1, 0, 1, 300, 2**24, 2**32, 2**70, 1.5, True, False, "", "x", "\ud800", "a" * 10_000, [], [[]], [1], {},
    {"a": 1}, [[0], [0]], [[-1], []], ["a", 300], ["\ud800", "b", "c"], ["", "b", "c"], [3, 4, -1], [3, 4, 2**40],
    [3, 4, 2**70], [0, 0, 0], ["a", "a", "a"], [True, False, True], {"content": ["q"], "id": [3]},
    {"content": ["q"], "id": [-1]}, {"content": ["q"], "id": []}, {"content": [], "id": []}, {"content": ["q"]},
    {"content": ["q"], "id": [3], "special": [1]}, {"content": ["q"], "id": [3], "odd": [True]},
)  # fmt: skip


@pytest.mark.sample(3)
@pytest.mark.parametrize("value", VALUES, ids=lambda value: repr(value)[:30])
def test_any_replaced_header_value_is_refused_or_safe(data: bytes, value: Any) -> None:
    header, tables = parts(data)
    for path in places(header):
        changed = json.loads(json.dumps(header))
        inner = changed
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = value
        is_refused(sealed(changed, tables))


def test_missing_or_unknown_extras_are_refused(data: bytes) -> None:
    header, tables = parts(data)
    for key in header["extras"]:
        rest = {name: value for name, value in header["extras"].items() if name != key}
        assert is_refused(sealed(header | {"extras": rest}, tables)), key
    assert is_refused(sealed(header | {"extras": header["extras"] | {"more": 1}}, tables))
    assert is_refused(sealed(header | {"extras": {}}, tables))


def test_any_altered_header_byte_is_refused_or_safe(data: bytes) -> None:
    _, tables = parts(data)
    raw = bytearray(data[64 : len(data) - len(tables)].rstrip())
    for at in range(0, len(raw), EVERY):
        for change in (0x01, 0x08, 0x20, 0x80):
            raw[at] ^= change
            is_refused(sealed(None, tables, raw=bytes(raw)))
            raw[at] ^= change


@pytest.mark.daily
def test_any_altered_table_byte_is_refused_or_safe(data: bytes) -> None:
    header, whole = parts(data)
    tables = bytearray(whole)
    for at in range(0, len(tables), EVERY if len(tables) > 1000 else 1):
        for change in (0x01, 0x80, 0xFF):
            tables[at] ^= change
            is_refused(sealed(header, bytes(tables)))
            tables[at] ^= change


def test_altered_byte_without_a_new_checksum_raises_format_error(data: bytes) -> None:
    altered = bytearray(data)
    for at in range(len(data)):
        altered[at] ^= 0x04
        with pytest.raises(FormatError):
            fastbpe.load(altered)
        altered[at] ^= 0x04


def test_truncated_or_overlapping_sections_are_refused_or_safe(data: bytes) -> None:
    header, tables = parts(data)
    sections = header["sections"]
    for name, (offset, size) in sections.items():
        moved = [[offset, size - 1], [offset, size // 2], [offset, 0], [offset, -size], [-1, size]]
        for place in (*moved, *sections.values()):
            is_refused(sealed(header | {"sections": sections | {name: place}}, tables))
        assert size == 0 or is_refused(sealed(header, tables[: offset + size - 1]))


@pytest.mark.parametrize("key", ["extras", "training", "name", "sections", "pattern", "special_tokens", "new"])
@pytest.mark.parametrize("bracket", ["[]", "{}"])
def test_deeply_nested_header_is_refused(data: bytes, key: str, bracket: str) -> None:
    header, tables = parts(data)
    opening = "[" if bracket == "[]" else '{"a":'
    deep = opening * 100_000 + "1" + bracket[1] * 100_000
    raw = json.dumps(header | {key: "HERE"}).replace('"HERE"', deep).encode()
    assert is_refused(sealed(None, tables, raw=raw))


@pytest.mark.parametrize(
    "raw", [b'{"mode": "\xff"}', b'"\xff\xfe"', "{}".encode("utf-16"), b"\0", b'{"mode": "byte']
)
def test_header_of_invalid_text_is_refused(data: bytes, raw: bytes) -> None:
    assert is_refused(sealed(None, parts(data)[1], raw=raw))


def test_too_many_added_tokens_raise_format_error(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_ADDED_TOKENS", 1000)
    header, tables = parts(data)
    many = {"content": [f"[{i}]" for i in range(1001)], "id": [*range(265, 1266)]}
    with pytest.raises(FormatError, match="more than 1000 added tokens"):
        fastbpe.load(sealed(header | {"extras": header["extras"] | {"added_tokens": many}}, tables))


def test_exceeded_limits_raise_format_error(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    header, tables = parts(data)
    sections = {str(i): [0, 0] for i in range(65)}
    with pytest.raises(FormatError, match="its header names 65 'sections': the limit is 64"):
        fastbpe.load(sealed(header | {"sections": sections}, tables))
    with pytest.raises(FormatError, match="its header claims to have 67108928 bytes; the limit is 67108864"):
        fastbpe.load(data[:28] + b"%08x" % (2**26 + 64) + data[36:])
    monkeypatch.setattr(limits, "MAX_SPECIAL_TOKENS", 10)
    if header["mode"] == "byte":
        with pytest.raises(FormatError, match="11 special tokens: the limit is 10"):
            fastbpe.load(sealed(header | {"special_tokens": {f"<{i}>": 300 + i for i in range(11)}}, tables))


def test_altered_merges_are_refused_or_safe(tmp_path: Any) -> None:
    tokenizer = Tokenizer.from_merges([(97, 98), (256, 99)], pattern=None)
    tokenizer.save(tmp_path / "merges.fbpe")
    header, tables = parts((tmp_path / "merges.fbpe").read_bytes())
    assert fastbpe.load(sealed(header, tables)).merges == [(97, 98), (256, 99)]
    at = header["sections"]["merges"][0]
    for number in range(24):
        forged = bytearray(tables)
        forged[at + number] ^= 0x01
        with pytest.raises(FormatError, match=r"merge [01] does not join two tokens into a token"):
            fastbpe.load(sealed(header, bytes(forged)))


OWN = {"roles": {"bos": "<m>"}, "pair_template": [-2, 5, -1]}


@pytest.mark.parametrize("merge", [(0, 9, 2), (0, 1, 9)])
def test_merges_of_characters_that_are_no_tokens_raise_format_error(merge: tuple[int, int, int]) -> None:
    model = {"type": "BPE", "vocab": {"a": 0, "b": 1, "ab": 2}, "merges": ["a b"]}
    loaded = fastbpe.load(json.dumps({"version": "1.0", "added_tokens": [], "model": model}).encode())
    changed = loaded._family.model._replace(merges=pack_merges([merge]))
    with pytest.raises(FormatError, match="merges' names an id that is not a token, 9"):
        fastbpe.load(native.dump(changed))


def test_roles_and_templates_are_read(data: bytes) -> None:
    header, tables = parts(data)
    made = fastbpe.load(sealed({**header, "own_tokens": OWN}, tables))
    check_safe(made)
    assert made.bos_token_id == made.special_tokens["<m>"]
    assert made.encode_with_template("a", "b") == [*made.encode("b"), 5, *made.encode("a")]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"roles": None}, "own_tokens: it has no 'roles'"),
        ({"roles": {"go": "a"}}, r"own_tokens\.roles: it must be an object of roles"),
        ({"roles": {"bos": 3}}, r"own_tokens\.roles: it must be an object of roles"),
        ({"pair_template": {}}, r"own_tokens\.pair_template: must be a list"),
        ({"pair_template": [-3]}, r"own_tokens\.pair_template: it must be a list of ids"),
        ({"pair_template": [True]}, r"own_tokens\.pair_template: it must be a list of ids"),
        ({"pair_template": [1 << 24]}, r"own_tokens\.pair_template: it must be a list of ids"),
    ],
)
def test_invalid_roles_and_templates_raise_format_error(
    data: bytes, changes: dict[str, Any], message: str
) -> None:
    header, tables = parts(data)
    with pytest.raises(FormatError, match=message):
        fastbpe.load(sealed({**header, "own_tokens": {**OWN, **changes}}, tables))


@pytest.mark.parametrize("template", [0, "", False, {}, None])
def test_template_that_is_no_list_raises_format_error(data: bytes, template: Any) -> None:
    header, tables = parts(data)
    extras = {**header["extras"], "template": template}
    if "conventions" in extras:
        extras["conventions"] = None
    with pytest.raises(FormatError, match="template"):
        fastbpe.load(sealed({**header, "extras": extras}, tables))


def test_template_with_unknown_id_is_not_exported(tmp_path: Path) -> None:
    made = fastbpe.load(json.dumps(code_points()).encode())
    made.save(tmp_path / "a.fbpe")
    header, tables = parts((tmp_path / "a.fbpe").read_bytes())
    own = {"roles": {}, "pair_template": [-1, 999, -2]}
    made = fastbpe.load(sealed({**header, "own_tokens": own}, tables))
    with pytest.raises(
        FormatError, match="the template has the id 999, which is not a token; export this tokenizer as native"
    ):
        made.export(tmp_path / "tokenizer.json", format="huggingface")
