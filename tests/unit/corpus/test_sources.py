"""Reading documents from every kind of file: compressed or not, in parts, resumed in the middle, damaged."""

from __future__ import annotations

import errno
import gzip
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

import fastbpe
from fastbpe import PATTERNS, FormatError
from fastbpe._core.text.safe_cuts import last_safe_cut
from fastbpe._core.text.utf8_text import to_utf8
from fastbpe.corpus import sources, table_files
from fastbpe.corpus.listing import files_of
from fastbpe.corpus.sources import read
from fastbpe.corpus.text_documents import Stretch
from fastbpe.splitting import make_splitter
from fastbpe.splitting.cutting import make_cutter
from helpers.shared_data import standard_library
from helpers.text_strategies import as_utf8

TEXTS = ["one two", "", "drei\nvier", "пять 👍", "六", " ", "a\u2028b\x85c"]
PACK: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": lambda data: gzip.compress(data[: len(data) // 2]) + gzip.compress(data[len(data) // 2 :]),
    ".zst": lambda data: zstandard.compress(data[: len(data) // 2]) + zstandard.compress(data[len(data) // 2 :]),
}


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    if "block" in request.fixturenames:
        monkeypatch.setattr(sources, "BLOCK", request.getfixturevalue("block"))


def texts(stretches: Iterator[Stretch]) -> list[str]:
    """Return the documents, with the parts of each joined."""
    found, parts = [], b""
    for stretch in stretches:
        for number, text in enumerate(stretch.documents(), 1):
            parts += text if isinstance(text, bytes) else text.encode()
            if number < len(stretch.documents()) or stretch.ends:
                found.append(parts.decode())
                parts = b""
    assert not parts
    return found


def write_jsonl(path: Path, packing: str) -> None:
    lines = [json.dumps({"id": i, "text": text}, ensure_ascii=i % 2 > 0) for i, text in enumerate(TEXTS)]
    path.write_bytes(PACK[packing]("\n\r\n".join(lines).encode()))


def write_parquet(path: Path, kind: pyarrow.DataType | None = None) -> None:
    table = pyarrow.table({"id": list(range(len(TEXTS))), "text": pyarrow.array(TEXTS, kind or pyarrow.string())})
    pyarrow.parquet.write_table(table, path, row_group_size=3)


@pytest.mark.parametrize("packing", PACK)
@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_text_is_read_whole_by_line_or_by_separator(tmp_path: Path, packing: str, block: int) -> None:
    path = tmp_path / f"a.txt{packing}"
    whole = "one\r\n\ntwo <sep> <se>п\n<sep><sep>end"
    path.write_bytes(PACK[packing](whole.encode()))
    assert texts(read(path)) == [whole]
    assert texts(read(path, separator=b"\n")) == ["one", "", "two <sep> <se>п", "<sep><sep>end"]
    assert texts(read(path, separator=b"<sep>")) == ["one\r\n\ntwo ", " <se>п\n", "", "end"]


def test_final_line_end_adds_no_document(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for data, whole, lines in [
        (b"", [""], []),
        (b"\n", ["\n"], [""]),
        (b"a", ["a"], ["a"]),
        (b"a\n", ["a\n"], ["a"]),
    ]:
        path.write_bytes(data)
        assert texts(read(path)) == whole
        assert texts(read(path, separator=b"\n")) == lines


JSON_LINES = [
    r'{"text": "a\\u00e9\\ud83d\\ude00", "n": 1e400}',
    r'{"text": "lone \\ud83d"}',
    '{"text": "first", "text": "last"}',
    '{"n": NaN, "text": "\u2028"}',
    '{"n": 123456789012345678901234567890, "text": ""}',
    '\ufeff{"text": "after a mark"}',
    '{"text": "a\tb"}',
    '{"text": "a",}',
    '{"text": null}',
    '{"n": 1}',
    "[" * 2000 + "]" * 2000,
    "[" * 200_000,
    "12",
    "nonsense",
]


@pytest.mark.parametrize("line", JSON_LINES)
def test_json_line_equals_the_result_of_the_json_module(tmp_path: Path, line: str) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(line.encode() + b"\n")
    try:
        record = json.loads(line.encode())
    except (ValueError, RecursionError):
        record = None
    if isinstance(record, dict) and isinstance(record.get("text"), str):
        [stretch] = read(path)
        assert to_utf8(stretch.documents()[0]) == as_utf8(record["text"])
    else:
        with pytest.raises(FormatError, match=r"a\.jsonl:1: "):
            texts(read(path))


@pytest.mark.parametrize("packing", PACK)
@pytest.mark.parametrize("block", [1, 7, 1 << 20])
def test_jsonl_documents_are_read_with_their_line_numbers(tmp_path: Path, packing: str, block: int) -> None:
    path = tmp_path / f"a.jsonl{packing}"
    write_jsonl(path, packing)
    assert texts(read(path)) == TEXTS
    path.write_bytes(PACK[packing](b'{"text": "a"}\n' * 40 + b"nonsense\n"))
    with pytest.raises(FormatError, match=r"a\.jsonl\S*:41: not a line of JSON"):
        texts(read(path))


@pytest.mark.parametrize("kind", [pyarrow.string(), pyarrow.large_string(), pyarrow.string_view()], ids=str)
def test_parquet_columns_of_every_string_type_are_read(tmp_path: Path, kind: pyarrow.DataType) -> None:
    write_parquet(tmp_path / "a.parquet", kind)
    assert texts(read(tmp_path / "a.parquet")) == TEXTS


@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz", "a.txt.zst", "a.jsonl", "a.jsonl.zst", "a.parquet"])
@pytest.mark.parametrize("block", [7])
def test_reading_can_resume_after_any_part(
    tmp_path: Path, name: str, block: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / name
    if "txt" in name:
        path.write_bytes(PACK[path.suffix if path.suffix != ".txt" else ""]("\n".join(TEXTS * 3).encode()))
    elif "jsonl" in name:
        write_jsonl(path, path.suffix if path.suffix != ".jsonl" else "")
    else:
        write_parquet(path)
        monkeypatch.setattr(table_files, "_ROWS", 2)
    for separator in (None, b"\n", b"e\n"):
        whole = list(read(path, separator=separator, cut=last_safe_cut))
        assert len(whole) > 3
        for i, stretch in enumerate(whole):
            rest = read(path, separator=separator, cut=last_safe_cut, offset=stretch.offset)
            assert texts(rest) == texts(iter(whole[i + 1 :]))


@pytest.mark.parametrize("pattern", ["gpt2", "o200k", "deepseek_v3"])
@pytest.mark.parametrize("block", [64])
def test_parts_of_a_document_are_split_like_the_whole(tmp_path: Path, pattern: str, block: int) -> None:
    text = standard_library(20_000) + "漢字、かな。" * 50 + "12,34.5 " * 50
    (tmp_path / "a.txt").write_text(text, encoding="utf-8", newline="")
    splitter = make_splitter(PATTERNS[pattern])
    parts = [part.documents()[0] for part in read(tmp_path / "a.txt", cut=make_cutter(splitter))]
    assert len(parts) > 100
    ends, at = [], 0
    for part in parts:
        ends += [at + end for end in splitter.ends(part)]
        at += len(part if isinstance(part, bytes) else part.encode())
    assert ends == splitter.ends(text)


def test_document_without_a_safe_cut_is_read_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "BLOCK", 8)
    (tmp_path / "a.txt").write_bytes(b"-" * 1000 + b"abc")
    assert len(list(read(tmp_path / "a.txt", cut=last_safe_cut))) == 1
    assert make_cutter(make_splitter(r"\w+ \w+")) is None
    assert make_cutter(make_splitter(None)) is None


def test_blocks_are_smaller_for_more_threads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "BLOCK", 1000)
    (tmp_path / "a.txt").write_bytes(b"a word, " * 1000)
    for n_threads, n_bytes in (1, 500), (2, 250), (16, 250):
        found = list(read(tmp_path / "a.txt", cut=last_safe_cut, n_threads=n_threads))
        assert max(len(stretch.documents()[0]) for stretch in found) <= n_bytes
        assert -(-8000 // n_bytes) <= len(found) <= 8000 // (n_bytes - 10) + 1
        assert texts(iter(found)) == ["a word, " * 1000]


def test_safe_cuts_never_split_a_special_token() -> None:
    cut = make_cutter(make_splitter(PATTERNS["gpt2"]), ["<a b c>", "x y"])
    assert cut is not None
    assert cut(b"one two <a b c") == 7  # more text may follow
    assert cut(b"one two <a b c> three") == 7
    assert cut(b"one <a b c>") == cut(b"one <a b c> x y") == 3
    assert cut(b"x y" * 100) == cut(b"<a b c>") == 0
    assert cut(b"one two x yz a b c d e f g h") == len("one two x yz a b c d e")


@pytest.mark.parametrize("n_words", [1, 50, 4_000])
def test_safe_cut_before_a_special_token_of_many_words(n_words: int) -> None:
    token = "<" + "a b " * n_words + ">"
    cut = make_cutter(make_splitter(PATTERNS["gpt2"]), [token])
    assert cut is not None
    text = "one two " * 5_000
    assert len(text) - len(token) - 4 <= cut(text.encode()) <= len(text) - len(token) + 1
    assert cut((text + token).encode()) == cut((text + token[:-1]).encode()) == len(text) - 1


def test_training_reads_every_kind_of_file_in_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = standard_library(60_000).replace("import os", "<a b>")
    options = {"vocab_size": 500, "special_tokens": ["<a b>", "f x in"], "progress": False}
    wanted = fastbpe.train([text], **options)  # type: ignore[arg-type]
    monkeypatch.setattr(sources, "BLOCK", 100)
    for packing, pack in PACK.items():
        (tmp_path / f"a.txt{packing}").write_bytes(pack(text.encode()))
        line = json.dumps({"text": text}).encode()
        (tmp_path / f"a.jsonl{packing}").write_bytes(pack(line))
    pyarrow.parquet.write_table(pyarrow.table({"text": [text]}), tmp_path / "a.parquet")
    files = files_of(tmp_path)
    assert len(files) == 7
    for path in files:
        assert fastbpe.train(path, **options) == wanted, path  # type: ignore[arg-type]
    assert fastbpe.train(tmp_path, **options) == wanted  # type: ignore[arg-type]
    assert fastbpe.train(f"{tmp_path}/*.txt", **options) == wanted  # type: ignore[arg-type]


def test_folders_and_glob_patterns_list_their_files(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    names = ["b/1.txt", "b/2.jsonl.gz", "a.parquet", "a.md", "c.TXT", "b/.hidden.txt", "d[1].txt"]
    for name in names:
        (tmp_path / name).touch()

    def found(inputs: object) -> list[str]:
        return [path.relative_to(tmp_path).as_posix() for path in files_of(inputs)]  # type: ignore[arg-type]

    assert found(tmp_path) == ["a.parquet", "b/1.txt", "b/2.jsonl.gz", "c.TXT", "d[1].txt"]
    assert found(str(tmp_path / "*.[pT]*")) == ["a.parquet", "c.TXT"]
    assert found(tmp_path / "**" / "*.txt") == ["b/1.txt", "d[1].txt"]
    assert found(tmp_path / "**" / "**" / "*.txt") == ["b/1.txt", "d[1].txt"]
    assert found([tmp_path / "a.md", str(tmp_path / "d[1].txt"), tmp_path / "b"]) == [
        "a.md",
        "d[1].txt",
        "b/1.txt",
        "b/2.jsonl.gz",
    ]


# Damage.


@pytest.mark.parametrize("block", [16, 1 << 20])
@pytest.mark.parametrize(("data", "at"), [(b"\xff", 0), (b"abc\xe2\x82", 3), (b"a" * 50 + b"\xed\xa0\x80 b", 50)])
def test_invalid_utf8_error_names_file_and_offset(tmp_path: Path, block: int, data: bytes, at: int) -> None:
    for separator in (None, b"\n"):
        (tmp_path / "bad.txt").write_bytes(b"x y\n" * 20 + data)
        with pytest.raises(FormatError, match=rf"bad\.txt:21: not UTF-8: invalid byte 0x.. at offset {80 + at};"):
            texts(read(tmp_path / "bad.txt", separator=separator, cut=last_safe_cut))


@pytest.mark.parametrize("name", ["a.txt.gz", "a.txt.zst", "a.parquet"])
def test_truncated_or_altered_file_raises_format_error(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name.endswith("parquet"):
        write_parquet(path)
    else:
        path.write_bytes(PACK[path.suffix](standard_library(10_000).encode()))
    whole = path.read_bytes()
    for data in (whole[:-1], whole[: len(whole) // 2], whole[:5], whole + b"rubbish", b"not that at all"):
        path.write_bytes(data)
        with pytest.raises(FormatError, match=rf"{name}: (damaged|not a valid parquet file)"):
            texts(read(path))


@pytest.mark.daily
@pytest.mark.sample(1)
@pytest.mark.parametrize("options", [{}, {"write_checksum": True}, {"level": 19}, {"write_content_size": False}])
def test_truncated_zstd_frame_raises_and_whole_frames_are_read(tmp_path: Path, options: dict[str, int]) -> None:
    path, skippable = tmp_path / "a.txt.zst", b"\x50\x2a\x4d\x18\x03\0\0\0abc"
    for text in (b"", b"a", b"x" * 200, standard_library(400_000).encode()):
        packer = zstandard.ZstdCompressor(**options)  # type: ignore[arg-type]
        stream = packer.compressobj()
        frames = [packer.compress(text), stream.compress(text) + stream.flush()]
        for frame in frames:
            path.write_bytes(frame + skippable + frame)
            assert texts(read(path)) == [(text * 2).decode()]
            for n in {1, 3, 4, 5, 7, 9, len(frame) // 2, len(frame) - 3, len(frame) - 1} & set(range(len(frame))):
                path.write_bytes(frames[0] + frame[:n])
                with pytest.raises(FormatError, match="ends too early"):
                    texts(read(path))


@pytest.mark.parametrize("n", [0, 3, 1_000])
def test_truncated_zstd_frame_after_skippable_frame_raises_format_error(tmp_path: Path, n: int) -> None:
    path, skippable = tmp_path / "a.txt.zst", b"\x50\x2a\x4d\x18" + n.to_bytes(4, "little") + b"a" * n
    frame = PACK[".zst"](standard_library(10_000).encode())
    for before in (skippable, skippable * 2, frame + skippable):
        path.write_bytes(before + frame)
        assert texts(read(path)) == [standard_library(10_000) * (2 if before.startswith(frame) else 1)]
        for cut in {1, 4, 1_000, len(frame) // 2, len(frame) - 5, len(frame) - 1}:
            path.write_bytes(before + frame[:-cut])
            with pytest.raises(FormatError, match="ends too early"):
                texts(read(path))


def test_missing_or_non_text_parquet_column_raises_format_error(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write_parquet(path)
    with pytest.raises(FormatError, match=r"a\.parquet: no column 'body'; its columns are 'id', 'text'"):
        texts(read(path, field="body"))
    with pytest.raises(FormatError, match=r"a\.parquet: its column 'id' is int64, not string"):
        texts(read(path, field="id"))
    pyarrow.parquet.write_table(pyarrow.table({"text": ["a", None]}), path)
    with pytest.raises(FormatError, match=r"a\.parquet: row 1: its 'text' is null"):
        texts(read(path))
    pyarrow.parquet.write_table(pyarrow.table({"text": pyarrow.array([], pyarrow.string())}), path)
    assert list(read(path)) == []


def test_parquet_columns_of_the_same_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    struct = pyarrow.array([{"text": "not this", "id": 1}])
    pyarrow.parquet.write_table(pyarrow.table({"a": struct, "a.text": ["this"]}), path)
    assert texts(read(path, field="a.text")) == ["this"]
    pyarrow.parquet.write_table(pyarrow.table([["one"], ["two"]], names=["text", "text"]), path)
    with pytest.raises(FormatError, match=r"a\.parquet: several columns are named 'text'"):
        texts(read(path))


def test_missing_json_field_error_lists_the_fields(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n{"body": "a", "id": 1}\n')
    with pytest.raises(
        FormatError, match=r"a\.jsonl:2: no object with a field 'text'; its fields are 'body', 'id'"
    ):
        texts(read(tmp_path / "a.jsonl"))
    (tmp_path / "a.jsonl").write_text('{"text": "a"}\n{}\n')
    with pytest.raises(
        FormatError, match=r"a\.jsonl:2: no object with a field 'text'; it is empty; use text_field="
    ):
        texts(read(tmp_path / "a.jsonl"))


@pytest.mark.parametrize("name", ["a.txt.bz2", "a.xz", "a.jsonl.zip", "a.parquet.gz"])
def test_unsupported_compression_raises_format_error(tmp_path: Path, name: str) -> None:
    (tmp_path / name).touch()
    with pytest.raises(FormatError, match=rf"{name}: .*decompress (it|this file)"):
        texts(read(tmp_path / name))


@pytest.mark.skipif(not os.path.exists("/proc/self/mem"), reason="needs a file that opens and cannot be read")
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.txt.gz", "a.arrow"])
def test_error_of_reading_names_the_file(tmp_path: Path, name: str) -> None:
    """The first page of a process is not mapped: reading it fails as on a bad disk."""
    path = tmp_path / name
    path.symlink_to("/proc/self/mem")
    tokenizer = fastbpe.Tokenizer.from_merges([], pattern="gpt2")
    calls: list[Callable[[], object]] = [
        lambda: fastbpe.count_pieces(path, progress=False),
        lambda: tokenizer.encode_files([path], tmp_path / "out.bin", progress=False),
        lambda: fastbpe.load(path),
        lambda: fastbpe.train(path, vocab_size=260, mode="unigram", progress=False),
    ]
    for call in calls:
        with pytest.raises(OSError, match="Input/output error") as error:
            call()
        assert (error.value.errno, error.value.filename) == (errno.EIO, str(path))


@pytest.mark.skipif(not hasattr(os, "pread"), reason="reads at positions with pread")
@pytest.mark.parametrize("block", [1 << 10])
def test_error_in_the_middle_of_a_file_names_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, block: int
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("some words\n" * 9999)
    pread = os.pread

    def failing(file: int, n: int, at: int) -> bytes:
        if at > 9 * block:
            raise OSError(errno.EIO, "the disk fails")
        return pread(file, n, at)

    monkeypatch.setattr(os, "pread", failing)
    with pytest.raises(OSError, match="the disk fails") as error:
        fastbpe.count_pieces(path, pattern="gpt2", progress=False)
    assert error.value.filename == str(path)
