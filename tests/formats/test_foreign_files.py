"""Files that are often mistaken for a vocabulary: the error names each kind and the way out."""

import io
import json
import pickle
import struct
import zipfile
from pathlib import Path

import pytest
import tiktoken

import fastbpe
from fastbpe import FormatError, Tokenizer
from fastbpe.formats.tiktoken import dump
from helpers.shared_data import BYTES

POINTER = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"ab" * 32 + b"\nsize 17209920\n"
WEIGHTS = "it contains the weights of a model; its vocabulary is another file of its folder: pass that folder"


def safetensors() -> bytes:
    header = json.dumps({"w": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    return struct.pack("<Q", len(header)) + header + bytes(4)


def archive(name: str) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as out:
        out.writestr(name, b"x" * 100)
    return file.getvalue()


ENCODING = tiktoken.Encoding(
    "mine", pat_str=r"\w+|\W+", mergeable_ranks={bytes([i]): i for i in range(256)}, special_tokens={"<e>": 256}
)
FILES = {
    "pointer": (
        POINTER,
        "a Git LFS pointer, not a vocabulary: it stands for 17,209,920 bytes with the SHA-256 abab",
    ),
    "empty": (b"", "an empty file, not a vocabulary: it was not copied or downloaded to its end; fetch it again"),
    "blank": (b" \n\n", "an empty file, not a vocabulary"),
    "html": (
        b"\n<!DOCTYPE html>\n<html>",
        "an HTML page, not a vocabulary: the address leads to a page, or asked for",
    ),
    "html without doctype": (b"<html lang=en>", "download the file itself (/resolve/ on huggingface.co, /raw/ on"),
    "xml": (
        b"<?xml version='1.0'?><Error><Code>AccessDenied</Code></Error>",
        "an XML message, not a vocabulary: a server",
    ),
    "xml alone": (b"<Error>no</Error>", "a server answered '<Error>no</Error>'; download the file again"),
    "json": (
        b'{"error": "Invalid credentials"}',
        "a JSON message, not a vocabulary: a server answered error: 'Invalid",
    ),
    "json of github": (b'{"message": "Not Found", "status": "404"}', "a server answered message: 'Not Found'"),
    "settings": (
        b'{"tokenizer_class": "GPT2Tokenizer"}',
        "a model's settings, not a vocabulary: pass tokenizer.json, or",
    ),
    "safetensors": (safetensors(), f"a safetensors file, not a vocabulary: {WEIGHTS}"),
    "BoundlessBPE 1": (
        b'word v1\n"\\\\w+"\n256\n',
        "a model of the first version of BoundlessBPE ('word v1'). fastbpe runs only the second",
    ),
    "pytorch": (archive("archive/data.pkl"), f"a PyTorch file, not a vocabulary: {WEIGHTS}"),
    "zip": (archive("vocab.txt"), "a zip archive, not a vocabulary: unpack it, and pass the vocabulary in it"),
    "pickle": (pickle.dumps({"a": 1}), f"a pickle, not a vocabulary: if it is an older PyTorch file, {WEIGHTS}"),
    **{
        f"encoding of tiktoken, protocol {protocol}": (
            pickle.dumps(ENCODING, protocol),
            "a pickled Encoding of tiktoken, not a vocabulary: fastbpe unpickles nothing, since a pickle can run "
            "any program. If you trust the file, read it in Python as encoding = pickle.load(file), with tiktoken",
        )
        for protocol in (2, 3, 4, 5)
    },
    "gzip": (b"\x1f\x8b\x08\0", "compressed by gzip, not a vocabulary: decompress it first"),
    "zstd": (b"\x28\xb5\x2f\xfd\0", "compressed by zstd, not a vocabulary: decompress it first"),
    "numpy": (b"\x93NUMPY\x01\0", "a numpy array, not a vocabulary"),
}


@pytest.mark.parametrize(
    "name", ["x.bin", "x.tiktoken", "tokenizer.model", "tokenizer.json", "merges.txt", "x.fbpe"]
)
@pytest.mark.parametrize("kind", FILES)
def test_foreign_file_error_names_its_kind_and_the_way_out(kind: str, name: str, tmp_path: Path) -> None:
    data, message = FILES[kind]
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(FormatError) as error:
        fastbpe.load(path)
    assert str(error.value).startswith(f"{path}: ")
    assert message in str(error.value)
    with pytest.raises(FormatError) as error:
        fastbpe.load(data)
    assert message in str(error.value)


def test_way_out_for_a_pickled_encoding_gives_its_ids(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.pkl").write_bytes(pickle.dumps(ENCODING))
    with pytest.raises(FormatError, match=r"Tokenizer\.from_ranks\(.*save\('tokenizer\.fbpe'\)") as error:
        fastbpe.load(tmp_path / "tokenizer.pkl")
    with pytest.raises(FormatError, match=r"looked for .*; tokenizer\.pkl is a pickle: load it by its path"):
        fastbpe.load(tmp_path)
    program = str(error.value)
    program = program[program.index("Tokenizer.from_ranks") :].replace("tokenizer.fbpe", str(tmp_path / "a.fbpe"))
    exec(program, {"Tokenizer": Tokenizer, "encoding": ENCODING})
    text = "a b<e>"
    assert fastbpe.load(tmp_path / "a.fbpe").encode(text, allowed_special="all") == ENCODING.encode(
        text, allowed_special="all"
    )


def test_git_lfs_pointer_in_a_folder_is_named(tmp_path: Path) -> None:
    Tokenizer.from_ranks(BYTES, pattern="gpt2").export(tmp_path / "model", format="gpt2")
    for name in ("vocab.json", "merges.txt"):
        kept = (tmp_path / "model" / name).read_bytes()
        (tmp_path / "model" / name).write_bytes(POINTER)
        for path in (tmp_path / "model", tmp_path / "model" / "vocab.json"):
            with pytest.raises(
                FormatError, match=rf"{name}: a Git LFS pointer, not a vocabulary: .*run `git lfs pull`"
            ):
                fastbpe.load(path, pattern="gpt2")
        (tmp_path / "model" / name).write_bytes(kept)
    (tmp_path / "model" / "tokenizer.json").write_bytes(POINTER)
    with pytest.raises(FormatError, match=r"tokenizer\.json: a Git LFS pointer"):
        fastbpe.load(tmp_path / "model")


def test_folder_without_a_tokenizer_raises_format_error(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(safetensors())
    with pytest.raises(
        FormatError, match=r"no tokenizer in this folder; looked for tokenizer\.json, tokenizer\.model"
    ):
        fastbpe.load(tmp_path)


@pytest.mark.parametrize("start", [b"GGUF", b"UEsD", b"PAR1"])
def test_vocabulary_that_begins_like_a_foreign_file_is_read(start: bytes) -> None:
    data = dump([*BYTES])
    assert fastbpe.load(start + b" 256\n" + data, pattern="none").vocab_size == 257


def test_tokens_named_like_config_keys_are_read(tmp_path: Path) -> None:
    Tokenizer.from_ranks(BYTES, pattern="gpt2").export(tmp_path, format="gpt2")
    vocab = json.loads((tmp_path / "vocab.json").read_bytes())
    vocab |= {"error": 256, "model_type": 257, "tokenizer_class": 258}
    (tmp_path / "vocab.json").write_text(json.dumps(vocab))
    assert fastbpe.load(tmp_path, pattern="gpt2").n_vocab == 259


@pytest.mark.parametrize("data", [b"\x80", b"G", b"{", b"<", b"PK"])
def test_few_bytes_raise_format_error(data: bytes) -> None:
    with pytest.raises(FormatError):
        fastbpe.load(data)
