"""Tokenizers of integers: special tokens, files of sequences to files of ids, export."""

from __future__ import annotations

import gzip
import json
import pickle
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, InvalidTokenError, SequenceTokenizer, SpecialTokenError, TrainingError, open_ids
from fastbpe.id_files.verifying import verify_ids

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
    tokenizer.encode_files(source, tmp_path / f"out{suffix}", overwrite=True, progress=False)


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
        ("a.parquet", "nothing", r"a\.parquet: not a valid \.parquet file"),
    ],
)
def test_file_that_holds_no_symbols_is_named_and_nothing_is_written(
    tokenizer: SequenceTokenizer, tmp_path: Path, name: str, content: str, message: str
) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(ValueError, match=message):
        tokenizer.encode_files(tmp_path / name, tmp_path / "out.bin", progress=False)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_wrong_arguments_are_refused(tokenizer: SequenceTokenizer, tmp_path: Path) -> None:
    source = write(tmp_path, "a.jsonl", CODES)
    for options, error, message in (
        ({"out": tmp_path / "out.txt"}, ValueError, r"ids are written to \.bin"),
        ({"out": tmp_path}, ValueError, r"ids are written to|is a folder"),
        ({"out": tmp_path / "no" / "out.bin"}, FileNotFoundError, "no such folder; create it first"),
        ({"document_end": "<no>"}, SpecialTokenError, "<no>"),
        ({"dtype": "uint8"}, ValueError, "dtype='uint8'"),
        ({"header": "x"}, ValueError, "header='x'"),
        ({"inputs": tmp_path / "no.jsonl"}, FileNotFoundError, "no file of sequences matches"),
        ({"inputs": [[0, 1]]}, TypeError, "an input is list, not a path; encode_batch accepts sequences"),
        ({"inputs": []}, ValueError, "inputs is empty"),
    ):
        arguments: dict[str, Any] = {"inputs": source, "out": tmp_path / "out.bin", "progress": False, **options}
        with pytest.raises(error, match=message):
            tokenizer.encode_files(**arguments)
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


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
    with pytest.raises(InvalidTokenError, match=r"id 7 is the special token '<end>', which stands for no symbols"):
        tokenizer.decode([4, 7])
    with pytest.raises(InvalidTokenError, match="id 8 at position 1"):
        tokenizer.decode([4, 8], skip_special_tokens=True)
    assert tokenizer.decode_batch([[6, 4, 7], []], skip_special_tokens=True) == [[0, 1], []]
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
