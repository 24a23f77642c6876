"""Formats of documents: told by content where the name does not say, by hand, and never wrong in silence."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
import zstandard

import fastbpe
from fastbpe import FormatError, OptionError, Tokenizer, open_ids
from fastbpe.corpus.document_files import format_of
from fastbpe.corpus.listing import Listing, files_of
from fastbpe.corpus.sources import read, read_stream

TEXTS = ["one two", "drei\nvier", "пять 👍"]
LINES = "".join(json.dumps({"id": i, "text": text}) + "\n" for i, text in enumerate(TEXTS)).encode()


def texts(path: Path, **how: Any) -> list[str]:
    found = [text for stretch in read(path, **how) for text in stretch.documents()]
    return [text if isinstance(text, str) else text.decode() for text in found]


def streamed(data: bytes, **how: Any) -> list[str]:
    file = io.BytesIO(b"PAR1" + data)  # another program has read the beginning
    file.seek(4)
    found = [text for stretch in read_stream(file, "<stdin>", **how) for text in stretch.documents()]
    return [text if isinstance(text, str) else text.decode() for text in found]


def parquet(**columns: Any) -> bytes:
    sink = io.BytesIO()
    pyarrow.parquet.write_table(pyarrow.table(columns), sink)
    return sink.getvalue()


def arrow(table: Any, *, stream: bool = False) -> bytes:
    sink = io.BytesIO()
    with (pyarrow.ipc.new_stream if stream else pyarrow.ipc.new_file)(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=2)
    return sink.getvalue()


# Lines of JSON by name and by content.


@pytest.mark.parametrize(
    "name",
    [
        "a.json",
        "a.jl",
        "a.jsonlines",
        "a.ndjson",
        "a.jsonl.txt",
        "a.json.txt",
        "a.jsonl.bak",
        "a",
        "part-00000",
        "A.JSON",
        "c4-train.00000-of-01024.json.gz",
        "a.json.gz",
        "a.jl.gz",
        "a.jsonl.gzip",
        "a.jsonl.zstd",
        "a.json.zst",
        "packed.jsonl",
        "packed",
    ],
)
def test_lines_of_json_are_documents_under_every_name(
    code_tokenizer: Tokenizer, tmp_path: Path, name: str
) -> None:
    path, data = tmp_path / name, LINES
    if path.suffix in (".gz", ".gzip") or "packed" in name:
        data = gzip.compress(data)
    elif path.suffix in (".zst", ".zstd"):
        data = zstandard.compress(data)
    path.write_bytes(data)
    assert texts(path) == TEXTS
    summary = code_tokenizer.encode_files(path, tmp_path / "out.bin", progress=False)
    assert summary.n_documents == 3
    assert fastbpe.count_pieces(path, progress=False) == fastbpe.count_pieces(iter(TEXTS), progress=False)
    with pytest.raises(FormatError, match=r":1: no object with a field 'body'; its fields are 'id', 'text'"):
        texts(path, field="body")


@pytest.mark.parametrize(
    "text",
    [
        "{ a text that begins with a brace",
        "{ and goes on\n{ with another",
        '{"json": 1} and then prose\n',
        '{"version": 3, "file": "out.js"}\n',
        '{\n  "text": "pretty"\n}\n',
        '[{"text": "an array"}]\n',
        '{"a": 1}\nprose\n',
        "",
        "\n\n",
        "PAR1 is a word\n",
        "a word is PAR1",
        "BZh is no archive",
    ],
)
def test_other_text_without_a_telling_name_stays_text(tmp_path: Path, text: str) -> None:
    for name in ("notes", "a.md", "a.py"):
        (tmp_path / name).write_text(text)
        assert texts(tmp_path / name) == [text]


def test_text_stays_text_by_its_name_or_by_hand(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(LINES)
    (tmp_path / "a.json").write_bytes(LINES)
    assert texts(tmp_path / "a.txt") == texts(tmp_path / "a.json", format="text") == [LINES.decode()]
    assert texts(tmp_path / "a.txt", format="jsonl") == TEXTS


def test_lines_with_another_field_are_recognised_by_the_second(tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text('{"body": "x"}\n{"body": "y"}\n')
    with pytest.raises(FormatError, match=r"a\.log:1: no object with a field 'text'; its fields are 'body'"):
        texts(tmp_path / "a.log")
    assert texts(tmp_path / "a.log", field="body") == ["x", "y"]


@pytest.mark.parametrize("n", [30, 63, 64, 65, 128, 4160, 4161])
def test_lines_are_recognised_wherever_reading_ahead_ends(tmp_path: Path, n: int) -> None:
    """The first reads end at 64 and 4,160 bytes."""
    path = tmp_path / "a.log"
    for field, second, found in (
        ("text", "", "lines"),
        ("text", "prose", "lines"),
        ("body", '{"text": 1}', "lines"),
        ("body", "prose", "text"),
        ("body", "", "text"),
    ):
        line = json.dumps({field: "x" * (n - 13)})
        path.write_text(f"{line}\n{second}")
        assert len(line) + 1 == n
        assert format_of(path, None, "text") == ("jsonl" if found == "lines" else "text"), (field, second)


def test_long_first_line_is_recognised(tmp_path: Path) -> None:
    text = "word " * 500_000
    (tmp_path / "a.json").write_text(json.dumps({"text": text}) + "\n" + json.dumps({"text": "b"}))
    assert texts(tmp_path / "a.json") == [text, "b"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (
            '[\n {"text": "a"},\n {"text": "b"}\n]',
            r"a\.json: one JSON array, .*jq -c '\.\[\]' FILE.*format=.text",
        ),
        ('[{"text": "a"}]', r"a\.json: one JSON array"),
        ('{\n  "text": "a"\n}\n', r"a\.json: a JSON object on several lines, .*jq -c \. FILE.*format=.text"),
        ('{"data":\n ["a"]}', r"a\.json: a JSON object on several lines"),
        ("some prose", r"a\.json:1: not a line of JSON: .*format=.text"),
        ('{"data": prose}', r"a\.json:1: not a line of JSON: .*format=.text"),
        ('{"data": 1}', r"a\.json:1: no object with a field 'text'"),
    ],
)
def test_json_that_is_not_lines_is_refused_with_the_way_out(
    code_tokenizer: Tokenizer, tmp_path: Path, content: str, said: str
) -> None:
    path = tmp_path / "a.json"
    path.write_text(content)
    for call in (
        lambda: texts(path),
        lambda: fastbpe.train(path, vocab_size=260),
        lambda: code_tokenizer.encode_files(path, tmp_path / "out.bin", progress=False),
    ):
        with pytest.raises(FormatError, match=said):
            call()
    assert texts(path, format="text") == [content]
    (tmp_path / "empty.json").touch()
    assert texts(tmp_path / "empty.json") == []


@pytest.mark.parametrize("name", ["a.parquet", "a.pq", "a", "a.arrow", "a.feather", "stream.arrow", "stream"])
def test_tables_are_read_under_every_name(tmp_path: Path, name: str) -> None:
    table = pyarrow.table({"text": TEXTS, "id": [1, 2, 3]})
    data = parquet(text=TEXTS) if "p" in name or name == "a" else arrow(table, stream="stream" in name)
    (tmp_path / name).write_bytes(data)
    assert texts(tmp_path / name) == TEXTS
    with pytest.raises(FormatError, match="no column 'body'; its columns are 'text'"):
        texts(tmp_path / name, field="body")


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"BZh91AY&SY\0", "bzip2"),
        (b"\xfd7zXZ\0", "xz"),
        (b"PK\3\4", "zip"),
        (b"7z\xbc\xaf\x27\x1c", "7z"),
        (b"\x04\x22\x4d\x18", "lz4"),
    ],
)
def test_packed_files_under_other_names_are_named(tmp_path: Path, data: bytes, name: str) -> None:
    for file in ("a.txt", "a.jsonl", "a"):
        (tmp_path / file).write_bytes(data + b"\0" * 100)
        with pytest.raises(FormatError, match=rf"the file format is {name}; decompress it"):
            texts(tmp_path / file)


# Nested fields.


@pytest.mark.parametrize(
    ("record", "field", "text"),
    [
        ({"doc": {"text": "a"}}, "doc.text", "a"),
        ({"doc.text": "literal", "doc": {"text": "a"}}, "doc.text", "literal"),
        ({"doc": {"text": "a"}, "doc.text": "literal"}, "doc.text", "literal"),
        ({"a": {"b": {"c": "deep"}}, "id": 1}, "a.b.c", "deep"),
        ({"a.b": {"c": "mixed"}}, "a.b.c", "mixed"),
        ({"a": {"b.c": "mixed"}}, "a.b.c", "mixed"),
        ({"doc": {"text": 'é\n"q"'}, "z": [{"text": "no"}]}, "doc.text", 'é\n"q"'),
    ],
)
def test_nested_field_is_found_in_lines_and_tables(
    code_tokenizer: Tokenizer, tmp_path: Path, record: dict[str, Any], field: str, text: str
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text((json.dumps(record) + "\n") * 2)
    assert texts(path, field=field) == [text] * 2
    code_tokenizer.encode_files(path, tmp_path / "out.bin", text_field=field, progress=False)
    assert open_ids(tmp_path / "out.bin")[1].tolist() == code_tokenizer.encode_ordinary(text)
    table = pyarrow.Table.from_pylist([record] * 2)
    (tmp_path / "a.parquet").write_bytes(parquet(**dict(zip(table.schema.names, table.columns, strict=True))))
    (tmp_path / "a.arrow").write_bytes(arrow(table))
    assert texts(tmp_path / "a.parquet", field=field) == texts(tmp_path / "a.arrow", field=field) == [text] * 2


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ('{"doc": {"txt": "a"}}', "no object with a field 'doc.text'; its fields are 'doc'"),
        ('{"doc": "text"}', "no object with a field 'doc.text'"),
        ('{"doc": {"text": 5}}', "its field 'doc.text' is int, not a string"),
        ('{"doc.text": null, "doc": {"text": "a"}}', "its field 'doc.text' is null, not a string"),
    ],
)
def test_missing_nested_field_is_named(tmp_path: Path, line: str, said: str) -> None:
    (tmp_path / "a.jsonl").write_text(line)
    with pytest.raises(FormatError, match=rf"a\.jsonl:1: {said}"):
        texts(tmp_path / "a.jsonl", field="doc.text")


# By hand.


def test_format_by_hand_reads_files_and_streams(tmp_path: Path) -> None:
    table = pyarrow.table({"text": TEXTS})
    data = {
        "jsonl": LINES,
        "parquet": parquet(text=TEXTS),
        "arrow": arrow(table, stream=True),
        "text": b"one two",
    }
    for format, content in data.items():
        (tmp_path / "a.txt").write_bytes(content)
        wanted = TEXTS if format != "text" else ["one two"]
        assert texts(tmp_path / "a.txt", format=format) == wanted
        assert streamed(content, format=format) == wanted
    assert streamed(gzip.compress(LINES), format="jsonl") == streamed(zstandard.compress(LINES), format="jsonl")
    with pytest.warns(
        fastbpe.FormatWarning, match="<stdin>: the input looks like JSON Lines, but is read as text"
    ):
        assert streamed(LINES) == [LINES.decode()]
    assert streamed(LINES, format="text") == [LINES.decode()]


def test_unknown_format_is_refused(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a")
    for call in (
        lambda: fastbpe.train(tmp_path / "a.txt", vocab_size=257, format="csv"),
        lambda: fastbpe.count_pieces(tmp_path / "a.txt", format="csv"),
        lambda: code_tokenizer.encode_files(tmp_path / "a.txt", tmp_path / "out.bin", format="csv"),
        lambda: fastbpe.changed_texts(code_tokenizer, code_tokenizer, tmp_path / "a.txt", format="csv"),
    ):
        with pytest.raises(ValueError, match="format='csv': choose one of 'text', 'jsonl', 'parquet', 'arrow'"):
            call()


@pytest.mark.parametrize(
    ("name", "options", "said"),
    [
        (
            "a.txt",
            {"text_field": "body"},
            r"text_field='body' has no effect: .* files are text; ",
        ),
        (
            "a.jsonl",
            {"separator": "\n"},
            r"separator='\\n' has no effect: .* files are jsonl; ",
        ),
        ("a.json", {"separator": "\n"}, r"separator='\\n' has no effect"),
        ("a.parquet", {"separator": "\n"}, r"separator='\\n' .* files are parquet; leave separator= out$"),
        ("a.md", {"text_field": "body"}, r"text_field='body' .* pass format=\"jsonl\""),
        ("a.jsonl", {"text_field": "body", "format": "text"}, "text_field='body' has no effect"),
        ("a.txt", {"separator": "x", "format": "jsonl"}, "separator='x' has no effect"),
    ],
)
def test_option_without_effect_is_refused(
    code_tokenizer: Tokenizer, tmp_path: Path, name: str, options: dict[str, str], said: str
) -> None:
    path = tmp_path / name
    path.write_bytes(parquet(text=TEXTS) if name == "a.parquet" else b"prose" if name[2] in "tm" else LINES)
    for call in (
        lambda: fastbpe.train(path, vocab_size=260, **options),
        lambda: fastbpe.train([path], vocab_size="characters", mode="codepoint", **options),
        lambda: fastbpe.count_pieces(str(path), **options),
        lambda: code_tokenizer.encode_files(path, tmp_path / "out.bin", **options),
        lambda: fastbpe.changed_texts(code_tokenizer, code_tokenizer, path, **options),
    ):
        with pytest.raises(OptionError, match=said):
            call()
    assert not (tmp_path / "out.bin").exists()


@pytest.mark.parametrize("options", [{"text_field": "body"}, {"separator": "\n"}, {"format": "jsonl"}])
@pytest.mark.parametrize("make", [list, iter, tuple])
def test_options_of_files_are_refused_for_texts(make: Callable[[Any], Any], options: dict[str, str]) -> None:
    name, value = next(iter(options.items()))
    for call in (fastbpe.count_pieces, lambda source, **how: fastbpe.train(source, vocab_size=260, **how)):
        with pytest.raises(
            OptionError, match=rf"{name}={value!r} has no effect: .* source contains texts".replace("\\", r"\\")
        ):
            call(make(["some text"]), **options)


def test_options_are_taken_if_one_file_of_several_has_a_use(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("x\ny\n")
    (tmp_path / "b.jsonl").write_text('{"body": "z"}\n')
    counts = fastbpe.count_pieces(tmp_path, text_field="body", separator="\n", progress=False)
    assert dict(counts) == {b"x": 1, b"y": 1, b"z": 1}


# Folders.


def put(folder: Path, files: dict[str, bytes]) -> None:
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)


def test_folder_counts_what_it_leaves_out(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    put(
        folder,
        {
            "a.txt": b"text",
            "b.json.gz": gzip.compress(LINES),
            "c.json": b'{\n"pretty": 1}',
            "d.json": b'{"dtype": "uint16", "count": 5}',
            "e.md": b"prose",
            "sub/f.jl": LINES,
            "sub/g.txt.bz2": b"BZh",
            ".hidden.txt": b"no",
            ".git/h.txt": b"no",
            "sub/.ipynb_checkpoints/i.txt": b"no",
        },
    )
    summary = code_tokenizer.encode_files(folder, tmp_path / "out.bin", progress=False)
    assert (summary.n_documents, summary.n_left_out) == (7, 4)
    assert [Path(name).name for name in summary.left_out] == ["c.json", "d.json", "e.md", "g.txt.bz2"]
    for mode, size in (("byte", 256), ("codepoint", "characters")):
        report = fastbpe.train(folder, vocab_size=size, mode=mode, progress=False).training_report
        assert report["n_files_left_out"] == 4
        named = {"a": folder, "b": folder}
        report = fastbpe.train(named, weights={"b": 3}, vocab_size=size, mode=mode, progress=False).training_report
        assert report["n_files_left_out"] == 8
    shard = code_tokenizer.encode_files(folder, tmp_path / "shards.bin", shard=(0, 1), progress=False)
    again = code_tokenizer.encode_files(folder, tmp_path / "shards.bin", shard=(0, 1), progress=False)
    assert shard.n_left_out == again.n_left_out == 4


def test_folder_with_a_format_stands_for_what_names_do_not_deny(tmp_path: Path) -> None:
    put(tmp_path, {"part-0": LINES, "a.json": LINES, "b.jsonl": LINES, "c.txt": b"x", ".d": LINES})
    listing = Listing("jsonl")
    assert [path.name for path in listing.files(tmp_path)] == ["a.json", "b.jsonl", "part-0"]
    assert (listing.left_out.n, Path(listing.left_out.first[0]).name) == (1, "c.txt")
    assert [path.name for path in Listing("text").files(tmp_path)] == ["c.txt", "part-0"]


def test_folder_without_files_of_a_format_advises_another_format(tmp_path: Path) -> None:
    put(tmp_path, {"a.txt": b"x"})
    with pytest.raises(
        FileNotFoundError, match=r"format parquet \(the folder has 1 other file, .*\); .* or change format="
    ):
        Listing("parquet").files(tmp_path)


def test_empty_folder_names_what_it_left_out(tmp_path: Path) -> None:
    put(tmp_path, {"a.md": b"x", "b.json": b'{"content": "x"}'})
    with pytest.raises(
        FileNotFoundError, match=r"in this folder \(the folder has 2 other files, such as a\.md\); .*format="
    ):
        files_of(tmp_path)


def test_hidden_files_and_folders_are_left_out_of_folders_and_patterns(tmp_path: Path) -> None:
    names = ["a.txt", "b/c.txt", ".d.txt", ".git/e.txt", "b/.ipynb_checkpoints/f.txt", "b/.g/h/i.txt"]
    put(tmp_path, dict.fromkeys(names, b"x"))
    visible = [tmp_path / "a.txt", tmp_path / "b" / "c.txt"]
    assert files_of(tmp_path) == files_of(str(tmp_path / "**" / "*.txt")) == visible
    assert files_of(tmp_path / ".git") == [tmp_path / ".git" / "e.txt"]  # named by hand
    assert files_of(str(tmp_path / ".git" / "*")) == [tmp_path / ".git" / "e.txt"]
    assert files_of(tmp_path / ".d.txt") == [tmp_path / ".d.txt"]


def test_file_given_twice_is_said(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    put(tmp_path, {"a.txt": b"x", "b.txt": b"y"})
    for inputs in ([tmp_path / "a.txt", str(tmp_path / "a.txt")], [tmp_path, tmp_path / "a.txt"]):
        with pytest.warns(fastbpe.FormatWarning, match=r"a\.txt: listed twice, so it is read twice"):
            code_tokenizer.encode_files(inputs, tmp_path / "out.bin", progress=False, overwrite=True)
        with pytest.warns(fastbpe.FormatWarning, match=r"a\.txt: listed twice, so it is read twice"):
            fastbpe.count_pieces([Path(path) for path in inputs], progress=False)
    (tmp_path / "c.txt").symlink_to(tmp_path / "b.txt")
    with pytest.warns(fastbpe.FormatWarning, match=r"c\.txt: listed twice"):
        fastbpe.count_pieces(tmp_path, progress=False)


# Byte-order marks and other encodings.

BOM = b"\xef\xbb\xbf"


@pytest.mark.parametrize("pack", [bytes, gzip.compress, zstandard.compress], ids=["plain", "gzip", "zstd"])
@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.jsonl", "a.json", "a.csv"])
@pytest.mark.parametrize("errors", ["strict", "replace"])
def test_byte_order_mark_is_not_text(tmp_path: Path, pack: Any, name: str, errors: str) -> None:
    is_json = "json" in name
    data = LINES if is_json else b"one\ntwo\n"
    path = tmp_path / name
    path.write_bytes(pack(BOM + data))
    assert texts(path, errors=errors) == (TEXTS if is_json else ["one\ntwo\n"])
    if not is_json:
        assert texts(path, errors=errors, separator=b"\n") == ["one", "two"]
        path.write_bytes(pack(BOM))
        assert texts(path, errors=errors) == [""]
        path.write_bytes(pack(BOM + BOM))
        assert texts(path, errors=errors) == ["\ufeff"]
    assert streamed(pack(BOM + data), errors=errors, format="jsonl" if is_json else None) == (
        TEXTS if is_json else ["one\ntwo\n"]
    )


def test_byte_order_mark_is_not_learned_or_encoded(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(BOM + b"ab ab")
    assert dict(fastbpe.count_pieces(path, progress=False)) == {b"ab": 1, b" ab": 1}
    code_tokenizer.encode_files(path, tmp_path / "out.bin", progress=False)
    assert open_ids(tmp_path / "out.bin")[0].tolist() == code_tokenizer.encode_ordinary("ab ab")


def test_reading_resumes_behind_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(BOM + b"one\ntwo\n")
    [stretch] = read(path, separator=b"\n")
    assert stretch.offset == len(BOM) + 8
    assert next(read(path, separator=b"\n", offset=len(BOM) + 4)).documents() == [b"two"]


@pytest.mark.parametrize("encoding", ["UTF-16", "UTF-16LE", "UTF-16BE", "UTF-32", "UTF-32LE", "UTF-32BE"])
@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.json", "a.csv", "a.txt.gz"])
@pytest.mark.parametrize("errors", ["strict", "replace"])
def test_utf16_and_utf32_are_named(tmp_path: Path, encoding: str, name: str, errors: str) -> None:
    data = ('{"text": "a text that is long enough"}\n' * 3).encode(encoding)
    (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith("gz") else data)
    said = rf"it is {encoding}, not UTF-8; convert it first: iconv -f {encoding} -t UTF-8 FILE"
    with pytest.raises(FormatError, match=rf"{name}: {said}"):
        texts(tmp_path / name, errors=errors)
    with pytest.raises(FormatError, match=rf"<stdin>: {said}"):
        streamed(data, errors=errors)


def test_zeros_are_text(tmp_path: Path) -> None:
    for text in ("\0" * 64, "a\0b\0", "\0\0a", "x\0" * 5, "a\0" * 20 + "bc"):
        (tmp_path / "a.txt").write_text(text)
        assert texts(tmp_path / "a.txt") == [text]


# Text that is not UTF-8.


@pytest.mark.parametrize("separator", ["\n", "<s>", None])
@pytest.mark.parametrize("name", ["a.txt", "a.txt.gz"])
def test_text_that_is_not_utf8_is_skipped_by_document(
    code_tokenizer: Tokenizer, tmp_path: Path, separator: str | None, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack = gzip.compress if name.endswith("gz") else bytes
    ends = (separator or "\n").encode()
    documents = [b"good one", b"caf\xe9 bad", b"good \xc3\xa9", b"\xff", b"cut \xf0\x9f", "last 👍".encode()]
    (tmp_path / name).write_bytes(pack(ends.join(documents)))
    (tmp_path / "b.txt").write_text("b")
    good = [0, 2, 5] if separator else []
    wanted = [*(code_tokenizer.encode_ordinary(documents[i]) for i in good), code_tokenizer.encode_ordinary("b")]
    for block in (1, 7, 1 << 20):
        monkeypatch.setattr("fastbpe.corpus.sources.BLOCK", block)
        inputs = [tmp_path / name, tmp_path / "b.txt"]
        options: dict[str, Any] = {"separator": separator, "on_error": "skip", "progress": False}
        summary = code_tokenizer.encode_files(inputs, tmp_path / "out.bin", overwrite=True, **options)
        assert [document.tolist() for document in open_ids(tmp_path / "out.bin")] == wanted
        assert summary.n_skipped == (3 if separator else 1)
        line = 2 if separator == "\n" or separator is None else 1
        assert summary.skipped[0].startswith(f"{tmp_path / name}:{line}: not UTF-8: invalid byte 0xe9 at offset ")
        assert summary.skipped[0].endswith('convert it first, or pass errors="replace"')
        counts = fastbpe.count_pieces(inputs, **options)
        assert counts.n_skipped == summary.n_skipped
        with pytest.raises(FormatError, match=rf"{name}:{line}: not UTF-8: .* errors=.replace."):
            fastbpe.count_pieces(inputs, separator=separator, progress=False)
    assert texts(tmp_path / name, errors="replace") == [ends.join(documents).decode(errors="replace")]


def test_line_of_json_that_is_not_utf8_names_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(b'{"text": "a"}\n{"text": "\xe9"}\n')
    with pytest.raises(FormatError, match=r"a\.jsonl:2: not a line of JSON: not UTF-8: .* errors=.replace."):
        texts(tmp_path / "a.jsonl")


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_rows_that_are_not_utf8_are_named_skipped_or_replaced(tmp_path: Path, kind: str) -> None:
    column = pyarrow.array([b"good", b"caf\xe9", "пять".encode()])
    path = tmp_path / f"a.{kind}"
    path.write_bytes(parquet(text=column) if kind == "parquet" else arrow(pyarrow.table({"text": column})))
    with pytest.raises(FormatError, match=rf"a\.{kind}: row 1: its 'text' is not UTF-8: .*errors=.replace."):
        texts(path)
    errors: list[FormatError] = []
    assert texts(path, skip=errors.append) == ["good", "пять"]
    assert len(errors) == 1
    assert texts(path, errors="replace") == ["good", "caf\ufffd", "пять"]


# Columns of every type of text.

KINDS = [
    pyarrow.string(),
    pyarrow.large_string(),
    pyarrow.string_view(),
    pyarrow.binary(),
    pyarrow.large_binary(),
    pyarrow.binary_view(),
    pyarrow.dictionary(pyarrow.int32(), pyarrow.string()),
    pyarrow.dictionary(pyarrow.int8(), pyarrow.large_string()),
    pyarrow.dictionary(pyarrow.int16(), pyarrow.binary()),
]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("form", ["parquet", "file", "stream"])
def test_columns_of_every_type_of_text_are_read(tmp_path: Path, kind: pyarrow.DataType, form: str) -> None:
    rows = [*TEXTS, TEXTS[0], None, "", TEXTS[1]]
    if pyarrow.types.is_dictionary(kind):
        column = pyarrow.array(rows, kind.value_type).dictionary_encode().cast(kind)
    else:
        column = pyarrow.array(rows, kind)
    path = tmp_path / ("a.parquet" if form == "parquet" else "a.arrow")
    data = (
        parquet(text=column)
        if form == "parquet"
        else arrow(pyarrow.table({"text": column}), stream=form == "stream")
    )
    path.write_bytes(data)
    with pytest.raises(FormatError, match="row 4: its 'text' is null"):
        texts(path)
    errors: list[FormatError] = []
    assert texts(path, skip=errors.append) == [row for row in rows if row is not None]
    assert len(errors) == 1


@pytest.mark.parametrize("stream", [False, True])
def test_arrow_reading_can_resume_after_any_part(tmp_path: Path, stream: bool) -> None:
    (tmp_path / "a.arrow").write_bytes(arrow(pyarrow.table({"text": TEXTS * 4}), stream=stream))
    whole = list(read(tmp_path / "a.arrow"))
    assert len(whole) == 6
    for i, stretch in enumerate(whole):
        rest = read(tmp_path / "a.arrow", offset=stretch.offset)
        assert [text for part in rest for text in part.documents()] == [
            text for part in whole[i + 1 :] for text in part.documents()
        ]


def test_format_of_a_file_is_known_without_reading_it(tmp_path: Path) -> None:
    assert format_of(tmp_path / "missing.jsonl", None, "text") == "jsonl"
    with pytest.raises(FileNotFoundError):
        format_of(tmp_path / "missing", None, "text")
