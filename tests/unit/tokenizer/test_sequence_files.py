"""Tokenizers of integers: special tokens, files of sequences to files of ids, export."""

from __future__ import annotations

import contextlib
import gzip
import json
import os
import pickle
import random
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import fastbpe
from fastbpe import FormatError, InvalidTokenError, SequenceTokenizer, SpecialTokenError, TrainingError, open_ids
from fastbpe.corpus import encode_sequences, encoding_run
from fastbpe.id_files.verifying import verify_ids
from helpers.tensor_items import tensor_items

CODES = [[0, 1, 2, 3, 0, 1, 2], [3, 0, 1, 2], [], [0, 1, 0, 1]]
INPUTS = (
    "a.jsonl",
    "fields.jsonl",
    "a.jsonl.gz",
    "a.parquet",
    "a.arrow",
    "a.txt",
    "rows.npy",
    "ids.bin",
    "ids.npy",
)


@pytest.fixture
def tokenizer() -> SequenceTokenizer:
    return SequenceTokenizer.from_merges([(0, 1), (4, 2)], base_size=4, special_tokens=["<start>", "<end>"])


def write(folder: Path, name: str, codes: list[list[int]]) -> Path:
    path = folder / name
    if name == "rows.npy":
        numpy = pytest.importorskip("numpy")
        numpy.save(path, numpy.array(codes[:1] * 2, "int16"))
    elif name.startswith("ids."):
        SequenceTokenizer.from_merges([], base_size=4).encode_files(
            write(folder, "for_ids.jsonl", codes), path, progress=False
        )
    elif name.endswith(".parquet"):
        arrow = pytest.importorskip("pyarrow")
        pytest.importorskip("pyarrow.parquet").write_table(arrow.table({"input_ids": codes}), path)
    elif name.endswith(".arrow"):
        arrow = pytest.importorskip("pyarrow")
        table = arrow.table({"input_ids": codes})
        with arrow.ipc.new_stream(str(path), table.schema) as writer:
            writer.write_table(table)
    elif name == "a.txt":
        path.write_text("".join(" ".join(map(str, one)) + "\n" for one in codes))
    else:
        lines = (json.dumps({"codes": one} if name.startswith("fields") else one) for one in codes)
        data = "\n".join(lines).encode()
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize("name", INPUTS)
def test_every_kind_of_file_is_encoded(tokenizer: SequenceTokenizer, tmp_path: Path, name: str) -> None:
    source = write(tmp_path, name, CODES)
    options: dict[str, Any] = {"field": "codes"} if name.startswith("fields") else {}
    summary = tokenizer.encode_files(
        source, tmp_path / "out.bin", document_start="<start>", document_end="<end>", progress=False, **options
    )
    codes = CODES[:1] * 2 if name == "rows.npy" else CODES
    expected = [[6, *tokenizer.encode(one), 7] for one in codes]
    ids = open_ids(tmp_path / "out.bin", tokenizer=tokenizer)
    assert [document.tolist() for document in ids] == expected
    assert (summary.n_documents, summary.n_ids) == (len(codes), ids.n_ids)
    assert [tokenizer.decode(document, skip_special_tokens=True) for document in ids] == codes
    assert verify_ids(tmp_path / "out.bin", tokenizer=tokenizer).problems == ()
    assert not (tmp_path / "out.bin.partial").exists()


@pytest.mark.parametrize("suffix", [".bin", ".npy", ".idx", ".parquet", ".arrow"])
def test_every_output_has_the_ids(tokenizer: SequenceTokenizer, tmp_path: Path, suffix: str) -> None:
    codes = [[i % 4, (i // 3) % 4, (i // 7) % 4] * (i % 50) for i in range(3000)]
    source = write(tmp_path, "a.jsonl", codes)
    tokenizer.encode_files([source], tmp_path / f"out{suffix}", dtype="uint32", num_threads=2, progress=False)
    fastbpe.merge_shards(tmp_path / f"out{suffix}", tmp_path / "all.npy", progress=False)
    assert [document.tolist() for document in open_ids(tmp_path / "all.npy")] == tokenizer.encode_batch(codes)
    with pytest.raises(FileExistsError, match="exists; to replace it, pass overwrite=True"):
        tokenizer.encode_files(source, tmp_path / f"out{suffix}", progress=False)
    told: list[Any] = []
    tokenizer.encode_files(
        source, tmp_path / f"out{suffix}", overwrite=True, progress=lambda *said: told.append(said)
    )
    size = source.stat().st_size
    assert (told[0], told[-1]) == (("encoding", 0, size), ("encoding", size, size))


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.jsonl", "[1]\n[4]", r"a\.jsonl:2: 4 at position 0 is not a symbol: a base size of 4 allows 0 to 3"),
        ("a.jsonl", "[1]\n[1.5]", r"a\.jsonl:2: .*position 0"),
        ("a.jsonl", "[1]\n{", r"a\.jsonl:2: not a line of JSON"),
        ("a.jsonl", '{"ids": [1]}', r"a\.jsonl:1: no field 'input_ids'; its fields are 'ids'; use field="),
        ("a.jsonl", '{"input_ids": "x"}', r"a\.jsonl:1: the sequence is str, not a list of integers"),
        ("a.txt", "1 x", r"a\.txt:1: 'x' at position 1 is not a symbol or id"),
        (
            "a.txt",
            "1 " + "9" * 19,
            r"a\.txt:1: '9{19}' at position 1 .*: these are integers .*, of at most 18 digits",
        ),
        ("a.npy", "nothing", r"a\.npy: not a valid \.npy file"),
        ("a.parquet", "nothing", r"a\.parquet: not a valid parquet file"),
        ("a.bin", "nothing!", r"a\.bin: needs a\.bin\.json, which states the dtype .*, or save the integers as"),
        ("a.parquet.gz", "", r"a\.parquet\.gz: parquet files have their own compression; decompress this"),
        ("a.npy.gz", "", r"a\.npy\.gz: fastbpe reads \.npy files only uncompressed; decompress it first"),
    ],
)
def test_file_that_holds_no_symbols_is_named_and_nothing_is_written(
    tokenizer: SequenceTokenizer, tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        tokenizer.encode_files(tmp_path / name, tmp_path / "out.bin", progress=False)
    assert [path.name for path in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("is_killed", [False, True])
def test_run_after_an_interrupted_one_begins_again(
    tokenizer: SequenceTokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_killed: bool
) -> None:
    source, out = write(tmp_path, "a.jsonl", CODES), tmp_path / "out.bin"
    with monkeypatch.context() as patched:
        patched.setattr(encoding_run, "PROGRESS_INTERVAL", 0)
        patched.setattr(encode_sequences, "BATCH_BYTES", 1)
        patched.setattr(encoding_run.Run, "_write_out", mock.Mock(side_effect=[None, KeyboardInterrupt]))
        if is_killed:
            patched.setattr(encode_sequences.shutil, "rmtree", mock.Mock())
        with pytest.raises(KeyboardInterrupt):
            tokenizer.encode_files(source, out, num_threads=1, progress=False)
    assert out.with_name("out.bin.partial").exists() == is_killed
    assert tokenizer.encode_files(source, out, progress=False).n_documents == len(CODES)
    assert [document.tolist() for document in open_ids(out)] == [*map(tokenizer.encode, CODES)]


def test_run_killed_at_its_end_is_finished_by_the_next(tokenizer: SequenceTokenizer, tmp_path: Path) -> None:
    source = write(tmp_path, "a.jsonl", CODES)
    whole = tokenizer.encode_files(source, tmp_path / "whole.bin", progress=False)
    with (
        mock.patch.object(encode_sequences.Sink, "move_into_place", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        tokenizer.encode_files(source, tmp_path / "out.bin", progress=False)
    summary = tokenizer.encode_files(source, tmp_path / "out.bin", progress=False)
    assert (summary.n_documents, summary.n_bytes) == (whole.n_documents, whole.n_bytes)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
def test_pipe_of_symbols_is_named(tokenizer: SequenceTokenizer, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.npy")
    with pytest.raises(FormatError, match=r"a\.npy: a pipe or device, but files of ids are mapped"):
        tokenizer.encode_files(tmp_path / "a.npy", tmp_path / "out.bin", progress=False)


def test_wrong_arguments_are_refused(tokenizer: SequenceTokenizer, tmp_path: Path) -> None:
    source = write(tmp_path, "a.jsonl", CODES)
    for options, error, message in (
        ({"out": tmp_path / "out.txt"}, ValueError, r"ids are written to \.bin"),
        ({"out": tmp_path}, ValueError, r"ids are written to|is a folder"),
        ({"out": tmp_path / "no" / "out.bin"}, FileNotFoundError, "no such folder; create it first"),
        ({"document_end": "<no>"}, SpecialTokenError, "<no>"),
        ({"dtype": "uint8"}, ValueError, "dtype='uint8'"),
        ({"header": "x"}, ValueError, "header='x'"),
        ({"inputs": tmp_path / "no.jsonl"}, FileNotFoundError, r"No such file or directory: .*no\.jsonl"),
        ({"inputs": tmp_path / "no*.jsonl"}, FileNotFoundError, r"no\*\.jsonl: no file matches this pattern"),
        ({"inputs": ""}, FileNotFoundError, '"" is not a path; pass one, or "." for this folder'),
        ({"inputs": "s3://bucket/a.jsonl"}, FormatError, "files of sequences must be on this machine; copy this"),
        ({"inputs": [[0, 1]]}, TypeError, "an input is list, not a path; encode_batch accepts sequences"),
        ({"inputs": []}, ValueError, "inputs is empty"),
    ):
        arguments: dict[str, Any] = {"inputs": source, "out": tmp_path / "out.bin", "progress": False, **options}
        with pytest.raises(error, match=message):
            tokenizer.encode_files(**arguments)
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def encoded(inputs: Any, **options: Any) -> list[list[int]]:
    """Return the sequences that encode_files finds, as the ids of a tokenizer without merges."""
    out = Path(inputs[0] if isinstance(inputs, list) else inputs).parent.parent / "out.npy"
    SequenceTokenizer.from_merges([], base_size=256).encode_files(
        inputs, out, overwrite=True, progress=False, **options
    )
    return [document.tolist() for document in open_ids(out)]


def test_folder_is_listed_as_for_documents(tmp_path: Path) -> None:
    (folder := tmp_path / "in").mkdir()
    with pytest.raises(FileNotFoundError, match=r"in: no file of sequences \(\.npy, .*\) in this folder; select"):
        encoded(folder)
    (folder / "a.jsonl.gz").write_bytes(gzip.compress(b"[1]"))
    (folder / "b.txt.gz").write_bytes(gzip.compress(b"2"))
    (folder / "c.TXT").write_text("3")
    (folder / ".hidden.txt").write_text("4")
    (folder / "notes.md").write_text("5")
    (folder / "sub.txt").mkdir()
    (folder / "sub.txt" / "d.ndjson").write_text("[6]")
    assert encoded(folder) == [[1], [2], [3], [6]]
    assert encoded(folder / "*") == [[1], [2], [3], [5]]  # without the folder sub.txt
    with pytest.warns(fastbpe.errors.FormatWarning, match="listed twice"):
        assert encoded([folder / "c.TXT", folder / "*.TXT"]) == [[3], [3]]


def test_megatron_index_is_not_a_second_file(tmp_path: Path) -> None:
    (folder := tmp_path / "in").mkdir()
    (tmp_path / "codes.txt").write_text("1 2\n3\n")
    SequenceTokenizer.from_merges([], base_size=256).encode_files(
        tmp_path / "codes.txt", folder / "m.idx", progress=False
    )
    assert {path.name for path in folder.iterdir()} >= {"m.bin", "m.idx"}
    for inputs in (folder, folder / "m.bin", folder / "m.idx", [folder / "m.idx", folder / "m.bin"]):
        assert encoded(inputs) == [[1, 2], [3]]


def test_blank_lines_and_marks_of_text_and_json(tmp_path: Path) -> None:
    (folder := tmp_path / "in").mkdir()
    (folder / "a.txt").write_bytes(b"\xef\xbb\xbf1\n\n2\n")
    (folder / "a.jsonl").write_bytes(b"\xef\xbb\xbf[1]\n\n[2]\n")
    assert encoded(folder / "a.txt") == [[1], [], [2]]
    assert encoded(folder / "a.jsonl") == [[1], [2]]
    (folder / "a.txt").write_bytes(b"1\n\xef\xbb\xbf2\n")
    with pytest.raises(ValueError, match=r"a\.txt:2: '\\ufeff2' at position 0"):
        encoded(folder / "a.txt")


def test_damaged_header_of_an_array_is_a_format_error(tmp_path: Path) -> None:
    numpy = pytest.importorskip("numpy")
    (folder := tmp_path / "in").mkdir()
    path = folder / "a.npy"
    numpy.save(path, numpy.array([1, 2], "int16"))
    good = path.read_bytes()
    assert encoded(path) == [[1, 2]]
    for old, new in ((b"'shape': (2,)", b"'shape': (2,("), (b"{'descr'", b"{'desc\0'"), (b"'<i2'", b"'|O8'")):
        assert old in good
        path.write_bytes(good.replace(old, new))
        with pytest.raises(FormatError, match=r"a\.npy: not a valid \.npy file: "):
            encoded(path)
    with open(path, "wb") as file:
        numpy.savez(file, a=numpy.array([1]))
    with pytest.raises(FormatError, match=r"a\.npy: not a valid \.npy file: it is not an array of numbers"):
        encoded(path)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_columns_of_a_table_are_checked(tmp_path: Path, suffix: str) -> None:
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    (folder := tmp_path / "in").mkdir()
    path = folder / f"a{suffix}"

    def write_table(*columns: Any) -> None:
        table = arrow.table(list(columns), ["input_ids"] * len(columns))
        if suffix == ".parquet":
            parquet.write_table(table, path)
        else:
            with arrow.ipc.new_file(str(path), table.schema) as writer:
                writer.write_table(table)

    integers = arrow.array([1, 2, 1])
    for column, message in (
        (integers.dictionary_encode(), "is (dictionary<.*|int64), not lists of integers; use field="),
        (integers, "is int64, not lists of integers"),
        (arrow.array([["a"]]), "is list<.*, not lists of integers"),
        (arrow.array([[1], None]), "row 1: 'input_ids' must be a list of integers, but is null or contains null"),
        (arrow.array([[1], [2, None]]), "row 1: 'input_ids' must be a list of integers"),
    ):
        write_table(column)
        with pytest.raises(FormatError, match=rf"a\{suffix}: .*{message}"):
            encoded(path)
    if suffix == ".arrow":
        write_table(arrow.RunEndEncodedArray.from_arrays(arrow.array([3], arrow.int32()), arrow.array([1])))
        with pytest.raises(FormatError, match=r"is run_end_encoded<.*, not lists of integers"):
            encoded(path)
    write_table(arrow.array([[1]]), arrow.array([[2]]))
    with pytest.raises(FormatError, match="several columns are named 'input_ids'; keep one"):
        encoded(path)
    for kind in (arrow.list_(arrow.uint8()), arrow.large_list(arrow.int64()), arrow.list_(arrow.int16(), 2)):
        write_table(arrow.array([[1, 2], [3, 4]], kind))
        assert encoded(path) == [[1, 2], [3, 4]]


def test_nested_fields_of_tables_and_lines_have_dotted_names(tmp_path: Path) -> None:
    arrow = pytest.importorskip("pyarrow")
    (folder := tmp_path / "in").mkdir()
    pytest.importorskip("pyarrow.parquet").write_table(arrow.table({"a": [{"b": [1, 2]}]}), folder / "a.parquet")
    (folder / "b.jsonl").write_text('{"a": {"b": [3]}}')
    assert encoded(folder, field="a.b") == [[1, 2], [3]]


@pytest.mark.parametrize("seed", range(40))
def test_damaged_parquet_is_named(tmp_path: Path, seed: int) -> None:
    (folder := tmp_path / "in").mkdir()
    path = write(folder, "a.parquet", CODES)
    data, places = bytearray(path.read_bytes()), random.Random(seed)
    for _ in range(8):
        data[places.randrange(4, len(data) - 4)] = 0xFF
    path.write_bytes(data)
    with contextlib.suppress(FormatError):
        encoded(path)


# Special tokens


def test_special_tokens_are_kept_and_stand_for_no_symbols(tokenizer: SequenceTokenizer, tmp_path: Path) -> None:
    assert (tokenizer.special_tokens, tokenizer.vocab_size, tokenizer.n_vocab) == (
        {"<start>": 6, "<end>": 7},
        8,
        8,
    )
    assert (tokenizer.token_to_id("<end>"), tokenizer.is_special_token(7), tokenizer.is_special_token(5)) == (
        7,
        True,
        False,
    )
    tokenizer.save(tmp_path / "a.fbpe")
    for again in (fastbpe.load(tmp_path / "a.fbpe"), pickle.loads(pickle.dumps(tokenizer))):
        assert again == tokenizer
        assert hash(again) == hash(tokenizer)
        assert (again.fingerprint, again.special_tokens) == (tokenizer.fingerprint, tokenizer.special_tokens)
    plain = SequenceTokenizer.from_merges([(0, 1), (4, 2)], base_size=4)
    assert plain != tokenizer
    assert plain.fingerprint != tokenizer.fingerprint
    assert tokenizer.id_map(plain).new_to_old.tolist() == [0, 1, 2, 3, 4, 5, -1, -1]
    assert "(2 special)" in repr(tokenizer)
    with pytest.raises(
        InvalidTokenError, match="id 7 at position 1 is the special token '<end>', which stands for"
    ):
        tokenizer.decode([4, 7])
    with pytest.raises(InvalidTokenError, match="id 7 at position 0 of sequence 1 is the special token"):
        tokenizer.decode_batch([[4], [7]])
    with pytest.raises(InvalidTokenError, match="id 8 at position 2"):
        tokenizer.decode([7, 4, 8], skip_special_tokens=True)
    with pytest.raises(TypeError, match="'a' at position 1 of sequence 0"):
        tokenizer.decode_batch([[7, "a"]], skip_special_tokens=True)
    assert tokenizer.decode_batch([[6, 4, 7], []], skip_special_tokens=True) == [[0, 1], []]
    assert tokenizer.decode(tensor_items([7, 4]), skip_special_tokens=True) == [0, 1]
    holes = plain.with_special_tokens({"<pad>": 100})
    assert (holes.n_vocab, holes.vocab_size) == (101, 7)
    assert holes.with_special_tokens(["<x>"]).special_tokens["<x>"] == 101


@pytest.mark.parametrize(
    ("special", "message"),
    [
        ({"<a>": 5}, r"special token '<a>' has the id 5: not in 6\.\.\d+, the ids after the symbols and merges"),
        ({"<a>": 9, "<b>": 9}, "special tokens '<a>' and '<b>' have the same id 9"),
        ([""], "the special token '': its name must be"),
        ({5: 9}, "the special token 5: its name must be"),
    ],
)
def test_wrong_special_tokens_are_named(special: Any, message: str) -> None:
    plain = SequenceTokenizer.from_merges([(0, 1), (4, 2)], base_size=4)
    with pytest.raises(SpecialTokenError, match=message):
        plain.with_special_tokens(special)
    with pytest.raises(SpecialTokenError, match="'<a>' is already a special token, with the id 6"):
        plain.with_special_tokens(["<a>"]).with_special_tokens(["<a>"])
    with pytest.raises(TypeError, match="special_tokens is a str: pass a list of names"):
        plain.with_special_tokens("<a>")


def test_training_counts_special_tokens() -> None:
    options: dict[str, Any] = {"mode": "ids", "base_size": 4, "progress": False}
    plain: Any = fastbpe.train(CODES, vocab_size=6, **options)
    special: Any = fastbpe.train(CODES, vocab_size=8, special_tokens=["<s>", "</s>"], **options)
    assert (special.merges, special.special_tokens) == (plain.merges, {"<s>": 6, "</s>": 7})
    assert special.training_report["special_tokens"] == ["<s>", "</s>"]
    with pytest.raises(TrainingError, match="at least 6, for 4 symbols and 2 special tokens"):
        fastbpe.train(CODES, vocab_size=5, special_tokens=["<s>", "</s>"], **options)
    with pytest.raises(TrainingError, match="the base has special tokens, whose ids new merges would take"):
        fastbpe.train(CODES, vocab_size=9, base=special, mode="ids", progress=False)


# Export


def test_bytes_are_exported_in_the_formats_of_bytes(tmp_path: Path) -> None:
    texts = [b"low lower lowest", b"slow slower"]
    tokenizer: Any = fastbpe.train(
        texts, mode="ids", base_size=256, vocab_size=270, special_tokens=["<|end|>"], progress=False
    )
    for name, options in (
        ("a.json", {}),
        ("a.tiktoken", {"pattern": "none", "special_tokens": tokenizer.special_tokens}),
        ("a.model", {}),
        ("b.fbpe", {}),
    ):
        tokenizer.export(tmp_path / name)
        again: Any = fastbpe.load(tmp_path / name, **options)
        text = texts[0] if name == "b.fbpe" else texts[0].decode()
        assert again.encode(text) == tokenizer.encode(texts[0]), name
        assert again.special_tokens == tokenizer.special_tokens, name


def test_integers_have_no_format_but_the_native_one(tokenizer: SequenceTokenizer, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="format='foo': choose one of 'native'"):
        tokenizer.export(tmp_path / "a.json", format="foo")
    with pytest.raises(FormatError, match=r"a\.json: the symbols of huggingface are the 256 bytes, .* 4 symbols"):
        tokenizer.export(tmp_path / "a.json")
    assert [*tmp_path.iterdir()] == []
    assert tokenizer.export(tmp_path / "a.fbpe") is None
    assert fastbpe.load(tmp_path / "a.fbpe") == tokenizer
