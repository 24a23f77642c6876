"""The native file: round trips, and a FormatError for every damaged or forged file."""

import errno
import os
import pickle
import struct
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, Tokenizer
from fastbpe.model import Model
from helpers.native_files import parts, sealed
from helpers.shared_data import BYTES, published
from helpers.unwritable_files import refuse_writing

RANKS = {**BYTES, b"ab": 256, b"abc": 257, b"bc": 259}
SPECIAL = {"<|endoftext|>": 261, "<ü\n>": 260}


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    """A tokenizer with 261 ids; id 258 is unused."""
    return Tokenizer.from_ranks(RANKS, pattern="cl100k", special_tokens=SPECIAL, name="small")


needs_hash_tables = pytest.mark.skipif(sys.byteorder == "big", reason="such a processor writes no hash tables")


def saved(tokenizer: Tokenizer, folder: Path) -> bytes:
    path = folder / "small.fbpe"
    tokenizer.save(path)
    return path.read_bytes()


@pytest.fixture
def data(tokenizer: Tokenizer, tmp_path: Path) -> bytes:
    return saved(tokenizer, tmp_path)


def check_same(again: Tokenizer, tokenizer: Tokenizer) -> None:
    assert again == tokenizer
    for fact in (
        "vocab",
        "merges",
        "special_tokens",
        "pattern",
        "name",
        "fingerprint",
        "n_vocab",
        "vocab_size",
    ):
        assert getattr(again, fact) == getattr(tokenizer, fact), fact
    text = "abc ab bc <|endoftext|> é日😀\r\n 123"
    assert again.encode(text, allowed_special="all") == tokenizer.encode(text, allowed_special="all")


# Round trips.


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_file_loads_from_a_pipe(tokenizer: Tokenizer, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(data,))
    writer.start()
    try:
        check_same(fastbpe.load(path), tokenizer)
    finally:
        writer.join()


def test_file_loads_from_every_kind_of_source(tokenizer: Tokenizer, data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "small.fbpe"
    shifted = bytearray(b"x" + data)
    for source in (path, str(path), data, bytearray(data), memoryview(data), memoryview(shifted)[1:]):
        check_same(fastbpe.load(source), tokenizer)


def test_trained_tokenizer_round_trips(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    again = fastbpe.load(saved(code_tokenizer, tmp_path))
    check_same(again, code_tokenizer)
    assert again.training_report == code_tokenizer.training_report


@pytest.mark.parametrize("pattern", [None, "gpt2", r"\w+|é|\W", "日本|."])
def test_patterns_round_trip(pattern: str | None, tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_ranks(BYTES, pattern=pattern)
    check_same(fastbpe.load(saved(tokenizer, tmp_path)), tokenizer)


@pytest.mark.parametrize("name", [None, "", 'with "quotes" and \n ü', "x" * 1000])
def test_names_round_trip(name: str | None, tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_ranks(BYTES, pattern=None, name=name)
    assert fastbpe.load(saved(tokenizer, tmp_path)).name == name


def test_merge_lists_round_trip(tmp_path: Path) -> None:
    tokens = [*BYTES, b"ab", b"xyz"]
    for whole_piece_first in (True, False):
        tokenizer = Tokenizer(
            Model(
                tokens=tokens, pattern=None, special_tokens={}, merges=struct.pack("=III", 97, 98, 256),
                merges_rule="merges", whole_piece_first=whole_piece_first,
            )
        )  # fmt: skip
        again = fastbpe.load(saved(tokenizer, tmp_path))
        check_same(again, tokenizer)
        assert again.merges == [(97, 98)]
        assert again.encode("xyz") == ([257] if whole_piece_first else [*b"xyz"])


def test_vocabulary_of_characters_without_tokens_round_trips(tmp_path: Path) -> None:
    empty = fastbpe.load(b'{"model": {"type": "BPE", "vocab": {}, "merges": []}}')
    saved(empty, tmp_path)
    assert fastbpe.load(tmp_path / "small.fbpe") == empty


@pytest.mark.daily
@pytest.mark.parametrize("name", ["r50k_base", "o200k_base", "llama3"])
def test_published_vocabularies_round_trip(name: str, tmp_path: Path) -> None:
    tokenizer = published(name)
    tokenizer.save(tmp_path / "published.fbpe")
    check_same(fastbpe.load(tmp_path / "published.fbpe"), tokenizer)


def test_saving_twice_gives_equal_bytes(tokenizer: Tokenizer, tmp_path: Path, data: bytes) -> None:
    assert saved(tokenizer, tmp_path) == data
    assert saved(fastbpe.load(data), tmp_path) == data
    same = Tokenizer.from_ranks(
        dict(reversed(RANKS.items())),
        pattern="cl100k",
        special_tokens=dict(reversed(SPECIAL.items())),
        name="small",
    )
    assert saved(same, tmp_path) == data


def test_export_writes_the_same_file(tokenizer: Tokenizer, tmp_path: Path, data: bytes) -> None:
    tokenizer.export(tmp_path / "exported.any", format="native")
    assert (tmp_path / "exported.any").read_bytes() == data


def test_header_is_readable_json(data: bytes) -> None:
    assert data.startswith(b"fastbpe tokenizer v1 ")
    assert data[63:64] == b"\n"
    header, _ = parts(data)
    assert header["name"] == "small"
    assert header["pattern"] == fastbpe.PATTERNS["cl100k"]
    assert header["special_tokens"] == SPECIAL


def test_special_tokens_may_be_replaced_but_the_pattern_not(data: bytes) -> None:
    again = fastbpe.load(data, special_tokens={"<new>": 300})
    assert again.special_tokens == {"<new>": 300}
    assert again.encode("<new>", allowed_special="all") == [300]
    with pytest.raises(FormatError, match="contains its own split pattern; leave pattern= out"):
        fastbpe.load(data, pattern="gpt2")


def test_loaded_tokenizer_outlives_its_file(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "small.fbpe"
    tokenizer.save(path)
    again = fastbpe.load(path)
    path.unlink()
    Tokenizer.from_ranks(BYTES, pattern=None).save(path)
    check_same(again, tokenizer)
    assert fastbpe.load(path) != tokenizer


def test_loaded_file_may_be_overwritten(tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "small.fbpe"
    tokenizer.save(path)
    again = fastbpe.load(path)
    again.save(path)
    check_same(fastbpe.load(path), tokenizer)


# Damage.


def test_file_truncated_at_any_length_raises_format_error(data: bytes) -> None:
    for n_bytes in range(len(data)):
        with pytest.raises(FormatError):
            fastbpe.load(data[:n_bytes])


def test_truncated_file_error_names_the_file_and_the_way_out(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "cut.fbpe"
    for n_bytes in (0, 5, 40, 63, 64, 200, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:n_bytes])
        with pytest.raises(FormatError, match=r"cut\.fbpe: "):
            fastbpe.load(path)
        if n_bytes >= 40:
            with pytest.raises(FormatError, match=r"damaged.*copy the file again or recreate it"):
                fastbpe.load(path)


def test_file_with_extra_bytes_raises_format_error(data: bytes) -> None:
    for more in (b"\0", b"x" * 64, data):
        with pytest.raises(FormatError, match="damaged"):
            fastbpe.load(data + more)


@pytest.mark.daily
def test_any_altered_byte_raises_format_error(data: bytes) -> None:
    altered = bytearray(data)
    for at in range(len(data)):
        for change in (0x01, 0x20, 0x80, 0xFF):
            altered[at] ^= change
            with pytest.raises(FormatError):
                fastbpe.load(altered)
            altered[at] ^= change
    assert altered == data


@pytest.mark.daily
def test_any_altered_byte_of_the_first_line_raises_format_error(data: bytes) -> None:
    altered = bytearray(data)
    for at in range(64):
        for value in range(256):
            if value != data[at]:
                altered[at] = value
                with pytest.raises(FormatError):
                    fastbpe.load(altered)
        altered[at] = data[at]


def test_zeroed_bytes_raise_format_error(data: bytes) -> None:
    for at in range(0, len(data) - 64, 61):
        altered = data[:at] + bytes(64) + data[at + 64 :]
        if altered != data:
            with pytest.raises(FormatError):
                fastbpe.load(altered)


@pytest.mark.parametrize("version", [2, 3, 10, 12345678901234567890])
def test_newer_version_error_says_to_upgrade(data: bytes, version: int) -> None:
    newer = data.replace(b"tokenizer v1 ", b"tokenizer v%d " % version, 1)
    with pytest.raises(FormatError, match=f"version {version}.*newer fastbpe.*upgrade"):
        fastbpe.load(newer)
    with pytest.raises(FormatError, match="newer fastbpe"):
        fastbpe.load(newer[:70])


@pytest.mark.parametrize(
    "start",
    [
        b"\0" * 64,
        b"Fastbpe tokenizer v1",
        b"PK\x03\x04",
        b"{}",
        b"fastbpe tokenizer v0",
        b"fastbpe tokenizer v ",
        b"\xef\xbb\xbf",
    ],
)
def test_unknown_first_bytes_raise_format_error(data: bytes, start: bytes) -> None:
    for source in (start, start + data[len(start) :], start + data):
        with pytest.raises(FormatError):
            fastbpe.load(source)


# Forgery: a valid checksum over invalid contents.


def test_file_with_a_renewed_checksum_loads(tokenizer: Tokenizer, data: bytes) -> None:
    check_same(fastbpe.load(sealed(*parts(data))), tokenizer)


def refused(forged: bytes, match: str | None = None) -> None:
    with pytest.raises(FormatError, match=match) as caught:
        fastbpe.load(forged)
    assert str(caught.value).startswith("<bytes>: ")


def check_safe(tokenizer: Tokenizer) -> None:
    """Check the promises to callers: a forged file can be any tokenizer, but none that breaks them."""
    assert len(tokenizer.vocab) == tokenizer.n_vocab
    assert all(0 <= i < tokenizer.n_vocab for pair in tokenizer.merges for i in pair)
    ids = tokenizer.encode_ordinary("abc ab bc xyz <|endoftext|> é" * 5 + "abc" * 99)
    assert max(ids) < tokenizer.n_vocab
    tokenizer.decode_bytes(ids)
    assert pickle.loads(pickle.dumps(tokenizer)).vocab == tokenizer.vocab


def check_refused_or_safe(forged: bytes) -> None:
    try:
        tokenizer = fastbpe.load(forged)
    except FormatError:
        return
    check_safe(tokenizer)


@pytest.mark.parametrize("header", [None, [], "text", 5, 1.5, True, {}, [{}]])
def test_header_of_wrong_type_raises_format_error(data: bytes, header: Any) -> None:
    refused(sealed(header, parts(data)[1]))


@pytest.mark.parametrize(
    "raw", [b"", b"{", b"{'a': 1}", b"\xff", b'{"a": 1}{"b": 2}', b"[" * 100_000, b'{"mode": NaN}']
)
def test_invalid_json_header_raises_format_error(data: bytes, raw: bytes) -> None:
    refused(sealed(None, parts(data)[1], raw=raw))


KEYS = (
    "mode",
    "pattern",
    "merges_rule",
    "whole_piece_first",
    "special_tokens",
    "name",
    "fingerprint",
    "training",
    "sections",
)


@pytest.mark.parametrize("key", KEYS)
def test_missing_header_key_is_named(data: bytes, key: str) -> None:
    header, tables = parts(data)
    del header[key]
    refused(sealed(header, tables), key)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("value", [None, 5, 1.5, [], "text", {}, {"a": 1}, True])
def test_header_value_of_wrong_type_raises_format_error(data: bytes, key: str, value: Any) -> None:
    header, tables = parts(data)
    sound = {
        "pattern": (str, type(None)), "name": (str, type(None)), "fingerprint": str,
        "whole_piece_first": bool, "special_tokens": dict, "training": dict,
    }  # fmt: skip
    forged = sealed({**header, key: value}, tables)
    if not isinstance(value, sound.get(key, ())):
        refused(forged)
        return
    check_refused_or_safe(forged)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("mode", "words", "mode 'words' is not known"),
        ("merges_rule", "luck", "merges_rule 'luck' is not known"),
        ("pattern", "(", None),
        ("pattern", "a*", None),
        ("pattern", "no_such_9", None),
        ("special_tokens", {"<s>": "260"}, None),
        ("special_tokens", {"<s>": 260, "<t>": None}, None),
        ("special_tokens", {"<s>": [260]}, None),
        ("special_tokens", {"<s>": {}}, None),
        ("special_tokens", {"<s>": 260.5}, None),
        ("special_tokens", {"<s>": True}, None),
        ("special_tokens", {"<s>": 97}, None),
        ("special_tokens", {"<s>": -1}, None),
        ("special_tokens", {"<s>": 2**70}, None),
        ("special_tokens", {"<s>": 300, "<t>": 300}, None),
        ("special_tokens", {"": 300}, None),
        ("special_tokens", {"a": 300}, None),
        ("special_tokens", {"\ud83d": 300}, None),
    ],
)
def test_invalid_header_value_raises_format_error(data: bytes, key: str, value: Any, message: str | None) -> None:
    header, tables = parts(data)
    refused(sealed({**header, key: value}, tables), message)


HASH_TABLES = ("pieces", "pair_lines") if sys.byteorder == "little" else ()
SECTIONS = ("token_bytes", "token_ends", "merges", *HASH_TABLES)


@pytest.mark.parametrize("name", SECTIONS)
@pytest.mark.parametrize(
    "place",
    [
        [-1, 4], [-64, 64], [0, -1], [0, 2**31], [2**31, 0], [2**62, 2**62], [2**64, 1], [0, 2**64],
        [10**30, 10**30],
        [0], [], [0, 0, 0], None, 5, "0 64", {}, [0, "64"], ["0", 64], [0.0, 64], [None, None],
    ],
    ids=str,
)  # fmt: skip
def test_section_outside_the_file_is_named(data: bytes, name: str, place: Any) -> None:
    header, tables = parts(data)
    header["sections"][name] = place
    refused(sealed(header, tables), name)


@pytest.mark.parametrize("name", SECTIONS)
@pytest.mark.parametrize("move", [1, 2, 4, 8, 12, 60, 64, 128])
def test_moved_section_is_refused_or_safe(data: bytes, name: str, move: int) -> None:
    for forward, longer in ((move, 0), (0, move), (0, -move), (-move, 0), (move, -move)):
        header, tables = parts(data)
        offset, size = header["sections"][name]
        header["sections"][name] = [offset + forward, size + longer]
        check_refused_or_safe(sealed(header, tables))


@pytest.mark.parametrize("name", ["token_bytes", "token_ends", "merges"])
def test_missing_section_is_named(data: bytes, name: str) -> None:
    header, tables = parts(data)
    del header["sections"][name]
    refused(sealed(header, tables), f"no section '{name}'")


@needs_hash_tables
@pytest.mark.parametrize("missing", [["pieces"], ["pair_lines"], ["pieces", "pair_lines"]])
def test_missing_look_up_tables_are_built_or_refused(
    tokenizer: Tokenizer, data: bytes, missing: list[str]
) -> None:
    header, tables = parts(data)
    for name in missing:
        del header["sections"][name]
    forged = sealed(header, tables)
    if missing == ["pieces", "pair_lines"]:
        check_same(fastbpe.load(forged), tokenizer)
        return
    check_refused_or_safe(forged)


@needs_hash_tables
def test_files_with_the_former_pair_table_load(
    tokenizer: Tokenizer, listed: Tokenizer, data: bytes, tmp_path: Path
) -> None:
    """fastbpe ignores the former table and builds it again; files with merge lists never had it."""
    header, tables = parts(data)
    header["sections"]["ranked_pairs"] = header["sections"].pop("pair_lines")
    check_same(fastbpe.load(sealed(header, tables)), tokenizer)
    header["sections"]["ranked_pairs"] = [0, 0]
    check_same(fastbpe.load(sealed(header, tables)), tokenizer)
    header, tables = parts(saved(listed, tmp_path))
    header["sections"]["ranked_pairs"] = [0, 0]
    refused(sealed(header, tables), "'ranked_pairs' that its merges_rule 'merges' does not use")


def test_unknown_section_is_refused_or_safe(data: bytes) -> None:
    header, tables = parts(data)
    header["sections"]["extra"] = [0, 64]
    check_refused_or_safe(sealed(header, tables))


def drop_hash_tables(header: Any) -> None:
    for name in ("pieces", "pairs", "pair_lines"):
        header["sections"].pop(name, None)


def with_table(data: bytes, name: str, change: Callable[[bytearray], None]) -> bytes:
    header, tables = parts(data)
    offset, size = header["sections"][name]
    table = bytearray(tables[offset : offset + size])
    change(table)
    assert len(table) == size
    return sealed(header, tables[:offset] + table + tables[offset + size :])


def fill(value: bytes) -> Callable[[bytearray], None]:
    def change(table: bytearray) -> None:
        table[:] = (value * len(table))[: len(table)]

    return change


def put(at: int, *numbers: int) -> Callable[[bytearray], None]:
    def change(table: bytearray) -> None:
        struct.pack_into(f"<{len(numbers)}I", table, at, *numbers)

    return change


NONE = 2**32 - 1


@pytest.mark.parametrize("look_ups", [True, False])
@pytest.mark.parametrize(
    "change",
    [
        put(0, NONE), put(0, 2), put(400, 0), put(400, 50),
        put(4 * 259, 263 + 4), put(4 * 259, 0), put(4 * 257, NONE - 1),
        fill(b"\0"), fill(b"\xff"), fill(b"\x01\0\0\0"),
    ],
    ids=range(10),
)  # fmt: skip
def test_invalid_token_ends_raise_format_error(
    data: bytes, change: Callable[[bytearray], None], look_ups: bool
) -> None:
    forged = with_table(data, "token_ends", change)
    if not look_ups:
        header, tables = parts(forged)
        drop_hash_tables(header)
        forged = sealed(header, tables)
    refused(forged)


@needs_hash_tables
@pytest.mark.parametrize(
    "change",
    [fill(b"\0"), fill(b"\xff"), fill(b"\x01\0\0\0"), put(4, 260), put(4, NONE - 1), put(4, 2**31)],
    ids=range(6),
)
def test_invalid_piece_table_raises_format_error(data: bytes, change: Callable[[bytearray], None]) -> None:
    """No empty slot to stop at, or unknown ids."""
    refused(with_table(data, "pieces", change))


def ranked(left: int, right: int, merged: int) -> int:
    return left << 42 | right << 21 | merged


def put_word(at: int, word: int) -> Callable[[bytearray], None]:
    return put(at, word & NONE, word >> 32)


@needs_hash_tables
@pytest.mark.parametrize(
    "change",
    [
        fill(b"\0"), fill(b"\x01\0\0\0"), fill(b"\x61"),
        put_word(0, ranked(97, 98, 260)), put_word(8, ranked(97, 98, 258)), put_word(8, ranked(97, 98, 2**21 - 1)),
        put_word(0, 2**64 - 2), put_word(8, 2**63), put_word(16, 2**63 | ranked(97, 98, 256)),
    ],
    ids=range(9),
)  # fmt: skip
def test_invalid_pair_lines_raise_format_error(data: bytes, change: Callable[[bytearray], None]) -> None:
    """No empty slot, unknown ids (258 is unused and could not be decoded), or half-empty slots."""
    refused(with_table(data, "pair_lines", change))


@needs_hash_tables
def test_ranked_pair_with_unused_id_raises_format_error(data: bytes) -> None:
    def change(table: bytearray) -> None:
        at = table.index(struct.pack("<Q", ranked(97, 98, 256)))
        struct.pack_into("<Q", table, at, ranked(97, 98, 258))

    refused(with_table(data, "pair_lines", change))


@pytest.fixture(scope="module")
def listed() -> Tokenizer:
    """A tokenizer with a merge list, whose pairs have slots of four numbers; id 258 is unused."""
    return Tokenizer(
        Model(
            tokens=[*BYTES, b"ab", b"abc", b"", b"bc"], pattern=None, special_tokens={},
            merges=struct.pack("=6I", 97, 98, 256, 256, 99, 257), merges_rule="merges",
        )
    )  # fmt: skip


@needs_hash_tables
@pytest.mark.parametrize(
    "change",
    [
        fill(b"\0"), fill(b"\x01\0\0\0"),
        put(0, 97, 98, 256, 260), put(0, 97, 98, 256, 258),
        put(0, 97, 98, 256, NONE), put(0, 97, 98, 256, NONE - 1),
        put(0, 97, 98, 256, 2**31), put(16, 0, 0, 0, NONE - 1),
    ],
    ids=range(8),
)  # fmt: skip
def test_invalid_table_of_listed_pairs_raises_format_error(
    listed: Tokenizer, tmp_path: Path, change: Callable[[bytearray], None]
) -> None:
    data = saved(listed, tmp_path)
    check_same(fastbpe.load(data), listed)
    refused(with_table(data, "pairs", change))


@needs_hash_tables
def test_listed_pair_with_unused_id_raises_format_error(listed: Tokenizer, tmp_path: Path) -> None:
    def change(table: bytearray) -> None:
        at = table.index(struct.pack("<4I", 97, 98, 0, 256))
        struct.pack_into("<4I", table, at, 97, 98, 0, 258)

    refused(with_table(saved(listed, tmp_path), "pairs", change))


@needs_hash_tables
@pytest.mark.parametrize("change", ["wide as ranked", "ranked as wide", "both"])
def test_pair_table_of_the_wrong_kind_raises_format_error(
    tokenizer: Tokenizer, listed: Tokenizer, tmp_path: Path, change: str
) -> None:
    header, tables = parts(saved(listed if change == "wide as ranked" else tokenizer, tmp_path))
    sections = header["sections"]
    if change == "wide as ranked":
        sections["pair_lines"] = sections.pop("pairs")
        refused(sealed(header, tables), "'pair_lines' that its merges_rule 'merges' does not use")
    elif change == "both":
        sections["pairs"] = sections["pair_lines"]
        refused(sealed(header, tables), "one table of pairs")
    else:
        sections["pairs"] = sections.pop("pair_lines")
        check_refused_or_safe(sealed(header, tables))


@pytest.mark.parametrize("name", SECTIONS)
def test_random_tables_neither_crash_nor_hang(data: bytes, name: str) -> None:
    header, tables = parts(data)
    offset, size = header["sections"][name]
    for seed in range(0, size, max(1, size // 150)):
        at = offset + seed
        for value in (0, 1, 0xFF):
            check_refused_or_safe(sealed(header, tables[:at] + bytes([value]) + tables[at + 1 :]))


@needs_hash_tables
def test_random_tables_of_listed_pairs_neither_crash_nor_hang(listed: Tokenizer, tmp_path: Path) -> None:
    header, tables = parts(saved(listed, tmp_path))
    offset, size = header["sections"]["pairs"]
    for at in range(offset, offset + size):
        for value in (0, 1, 0xFF):
            check_refused_or_safe(sealed(header, tables[:at] + bytes([value]) + tables[at + 1 :]))


def test_merges_of_wrong_length_or_unknown_ids_raise_format_error(tmp_path: Path) -> None:
    tokenizer = Tokenizer(
        Model(
            tokens=[*BYTES, b"ab"], pattern=None, special_tokens={},
            merges=struct.pack("=III", 97, 98, 256), merges_rule="merges",
        )
    )  # fmt: skip
    data = saved(tokenizer, tmp_path)
    for merges in ((97, 98, 257), (300, 98, 256), (97, 98, NONE)):
        header, tables = parts(with_table(data, "merges", put(0, *merges)))
        drop_hash_tables(header)
        refused(sealed(header, tables), "merge 0 does not join two tokens into a token")
    header, tables = parts(data)
    header["sections"]["merges"][1] -= 1
    refused(sealed(header, tables), "the size of its section 'merges' is not a multiple")
    for n_cut in (1, 4, 8):  # the end of the last token, "ab"
        header, tables = parts(data)
        header["sections"]["token_ends"][1] -= n_cut
        refused(sealed(header, tables), "'token_ends' does not divide" if n_cut == 1 else "merge 0 does not join")
    for number, end in ((0, 3), (256, 255), (256, 259), (3, NONE)):
        refused(with_table(data, "token_ends", put(4 * number, end)), "'token_ends' does not divide 258 bytes")


# Writing: all or nothing.


def listing(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("method", ["save", "native", "tiktoken"])
class TestWriting:
    @staticmethod
    def write(method: str, tokenizer: Tokenizer, path: Any) -> None:
        if method == "save":
            tokenizer.save(path)
        else:
            tokenizer.export(path, format=method)

    def test_old_file_is_replaced(self, method: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
        path = tmp_path / "out"
        path.write_bytes(b"old")
        self.write(method, tokenizer, path)
        assert path.read_bytes() != b"old"
        assert listing(tmp_path) == ["out"]
        self.write(method, tokenizer, str(path))
        assert listing(tmp_path) == ["out"]

    def test_read_only_file_is_kept(
        self, method: str, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "out"
        path.write_bytes(b"old")
        for number in (errno.EACCES, errno.EROFS):
            refuse_writing(monkeypatch, "out", number)
            with pytest.raises(OSError, match="out") as caught:
                self.write(method, tokenizer, path)
            assert caught.value.errno == number
        assert listing(tmp_path) == ["out"]
        assert path.read_bytes() == b"old"

    def test_writing_to_a_folder_raises(self, method: str, tokenizer: Tokenizer, tmp_path: Path) -> None:
        (tmp_path / "folder").mkdir()
        error = FormatError if method == "save" else OSError  # a folder selects GPT-2's two files
        with pytest.raises(error, match="folder"):
            self.write(method, tokenizer, tmp_path / "folder")
        assert listing(tmp_path) == ["folder"]
        assert listing(tmp_path / "folder") == []

    def test_writing_to_a_missing_folder_raises_and_names_the_path(
        self, method: str, tokenizer: Tokenizer, tmp_path: Path
    ) -> None:
        path = tmp_path / "missing" / "out.fbpe"
        with pytest.raises(FileNotFoundError) as caught:
            self.write(method, tokenizer, path)
        assert str(path) in str(caught.value), "the error names the file that was asked for"
        assert listing(tmp_path) == []

    def test_writing_below_a_file_raises_and_names_the_path(
        self, method: str, tokenizer: Tokenizer, tmp_path: Path
    ) -> None:
        (tmp_path / "file").write_bytes(b"old")
        path = tmp_path / "file" / "out.fbpe"
        with pytest.raises(NotADirectoryError) as caught:
            self.write(method, tokenizer, path)
        assert str(path) in str(caught.value), "the error names the file that was asked for"
        assert (tmp_path / "file").read_bytes() == b"old"

    def test_failed_rename_keeps_the_old_file(
        self, method: str, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = tmp_path / "out"
        path.write_bytes(b"old")

        def fail(*_: Any, **__: Any) -> None:
            raise OSError("the disk is gone")

        monkeypatch.setattr(os, "replace", fail)
        with pytest.raises(OSError, match="the disk is gone"):
            self.write(method, tokenizer, path)
        assert listing(tmp_path) == ["out"]
        assert path.read_bytes() == b"old"

    @pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
    def test_failed_write_keeps_the_old_file(
        self,
        method: str,
        tokenizer: Tokenizer,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        error: BaseException,
    ) -> None:
        path = tmp_path / "out"
        path.write_bytes(b"old")

        def fail(_: int) -> None:
            raise error

        monkeypatch.setattr(os, "fsync", fail)
        with pytest.raises(type(error)):
            self.write(method, tokenizer, path)
        assert listing(tmp_path) == ["out"]
        assert path.read_bytes() == b"old"

    @pytest.mark.parametrize("path", [None, 5, b"out"])
    def test_writing_to_a_non_path_raises_type_error(
        self, method: str, tokenizer: Tokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: Any
    ) -> None:
        monkeypatch.chdir(tmp_path)
        with pytest.raises(TypeError):
            self.write(method, tokenizer, path)
        assert listing(tmp_path) == []


def test_unknown_format_raises_format_error(tokenizer: Tokenizer, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="format='zip': choose one of 'native', 'tiktoken'"):
        tokenizer.export(tmp_path / "out", format="zip")
    assert listing(tmp_path) == []
