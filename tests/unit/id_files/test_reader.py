"""open_ids: documents, ranges and windows equal what was encoded; files that do not fit are named."""

from __future__ import annotations

import gc
import json
import os
import pickle
import random
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import fastbpe
from fastbpe import FormatError, StoredIds, Tokenizer, open_ids
from fastbpe.id_files import reader

TEXTS = ["one two", "", "drei vier", "пять 👍", "x" * 500]


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    return path


def wanted(tokenizer: Tokenizer) -> list[list[int]]:
    return [tokenizer.encode_ordinary(text) for text in TEXTS]


@pytest.mark.parametrize("suffix", [".bin", ".npy"])
@pytest.mark.parametrize("dtype", ["uint16", "uint32"])
def test_documents_and_ranges_are_those_that_were_encoded(
    code_tokenizer: Tokenizer, text: Path, tmp_path: Path, suffix: str, dtype: str
) -> None:
    out = tmp_path / f"out{suffix}"
    code_tokenizer.encode_files(text, out, dtype=dtype)
    stored, documents = open_ids(out, tokenizer=code_tokenizer, dtype=dtype), wanted(code_tokenizer)
    flat = [token_id for document in documents for token_id in document]
    assert [document.tolist() for document in stored] == documents
    assert [stored[i].tolist() for i in range(-5, 5)] == documents * 2
    assert [document.tolist() for document in stored[1:4]] == documents[1:4]
    assert (len(stored), stored.n_documents, stored.n_ids) == (5, 5, len(flat))
    assert (stored.dtype, stored.paths, stored.fingerprint) == (dtype, (out,), code_tokenizer.fingerprint)
    assert stored.ids().tolist() == flat
    for _ in range(50):
        start, end = sorted(random.choices(range(len(flat) + 1), k=2))
        assert stored.ids(start, end).tolist() == flat[start:end]
    assert [stored.ids(*stored.span(i)).tolist() for i in range(5)] == documents
    assert [code_tokenizer.decode(document) for document in stored] == TEXTS
    assert "5 documents" in repr(stored)


@pytest.mark.parametrize("index", [5, -6, 10**30])
def test_index_without_document_raises_index_error(
    code_tokenizer: Tokenizer, text: Path, tmp_path: Path, index: int
) -> None:
    code_tokenizer.encode_files(text, tmp_path / "out.bin")
    stored = open_ids(tmp_path / "out.bin")
    with pytest.raises(IndexError, match=f"document index {index} is out of range; number of documents: 5"):
        stored[index]
    with pytest.raises(IndexError, match=f"document index {index} is out of range; number of documents: 5"):
        stored.span(index)
    for start, end in ((-1, 2), (3, 2), (0, stored.n_ids + 1)):
        with pytest.raises(IndexError, match=f"ids {start} to {end}: start must be at least 0, and end"):
            stored.ids(start, end)


def test_numpy_arrays_are_views_and_windows_are_one_array(
    code_tokenizer: Tokenizer, text: Path, tmp_path: Path
) -> None:
    numpy = pytest.importorskip("numpy")
    code_tokenizer.encode_files(text, tmp_path / "out.bin")
    plain, stored = open_ids(tmp_path / "out.bin"), open_ids(tmp_path / "out.bin", as_numpy=True)
    assert [document.tolist() for document in stored] == wanted(code_tokenizer)
    assert all(document.dtype == numpy.uint16 for document in stored)
    assert stored[0].base is not None
    assert not stored[0].flags.writeable
    windows = stored.random_windows(7, 4, seed="a")
    assert windows.shape == (7, 4)
    assert windows.tolist() == [window.tolist() for window in plain.random_windows(7, 4, seed="a")]
    with mock.patch.dict(sys.modules, {"numpy": None}):
        with pytest.raises(ImportError, match="needs numpy: pip install numpy"):
            open_ids(tmp_path / "out.bin", as_numpy=True)
        assert plain.random_windows(1, 1, seed=1)


def test_windows_depend_on_seed_and_reach_both_ends(code_tokenizer: Tokenizer, text: Path, tmp_path: Path) -> None:
    code_tokenizer.encode_files(text, tmp_path / "out.bin")
    stored = open_ids(tmp_path / "out.bin")
    flat = stored.ids().tolist()
    length = len(flat) - 3
    windows = [window.tolist() for window in stored.random_windows(200, length, seed=0)]
    assert {tuple(window) for window in windows} == {tuple(flat[i : i + length]) for i in range(4)}
    assert windows == [window.tolist() for window in stored.random_windows(200, length, seed=0)]
    assert windows != [window.tolist() for window in stored.random_windows(200, length, seed=1)]
    for n, wrong in ((1, 0), (1, len(flat) + 1), (-1, 1)):
        with pytest.raises(ValueError, match=r"length=|n=-1"):
            stored.random_windows(n, wrong, seed=0)


@pytest.mark.daily
def test_reader_works_in_threads_after_pickling_and_without_its_object(
    code_tokenizer: Tokenizer, text: Path, tmp_path: Path
) -> None:
    code_tokenizer.encode_files(text, tmp_path / "out.bin")
    stored: StoredIds = pickle.loads(pickle.dumps(open_ids(tmp_path / "out.bin")))
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(stored.__getitem__, [0, 1, 2, 3, 4] * 80)]
    assert [*map(memoryview.tolist, found)] == wanted(code_tokenizer) * 80
    view = stored[0]
    del stored, found
    gc.collect()
    assert view.tolist() == wanted(code_tokenizer)[0]


def test_empty_output_has_no_documents(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").touch()
    for suffix in (".bin", ".npy"):
        code_tokenizer.encode_files(tmp_path / "a.jsonl", tmp_path / f"out{suffix}")
        stored = open_ids(tmp_path / f"out{suffix}", as_numpy=True)
        assert (len(stored), [*stored], stored.ids().tolist()) == (0, [], [])
        with pytest.raises(ValueError, match="length=1"):
            stored.random_windows(1, 1, seed=0)


def test_file_without_neighbours_is_one_document_of_the_given_dtype(tmp_path: Path) -> None:
    (tmp_path / "raw.bin").write_bytes(b"\x01\0\x02\0\xff\xff")
    assert [document.tolist() for document in open_ids(tmp_path / "raw.bin", dtype="uint16")] == [[1, 2, 65535]]
    assert open_ids(tmp_path / "raw.bin", dtype="int16")[0].tolist() == [1, 2, -1]
    assert len(open_ids(tmp_path / "raw.bin", dtype="uint8")[0]) == 6
    with pytest.raises(ValueError, match="which states the dtype"):
        open_ids(tmp_path / "raw.bin")
    with pytest.raises(FormatError, match=r"6 bytes, is not a multiple of 4, .* uint32 id; pass another dtype="):
        open_ids(tmp_path / "raw.bin", dtype="uint32")
    with pytest.raises(ValueError, match="dtype='float'"):
        open_ids(tmp_path / "raw.bin", dtype="float")


@pytest.mark.parametrize("dtype", ["uint8", "uint16", "int32", "int64", "uint64"])
def test_npy_file_of_another_program_is_read(tmp_path: Path, dtype: str) -> None:
    numpy = pytest.importorskip("numpy")
    numpy.save(tmp_path / "a.npy", numpy.array([1, 2, 3], dtype=dtype))
    stored = open_ids(tmp_path / "a.npy")
    assert (stored.dtype, stored[0].tolist()) == (dtype, [1, 2, 3])


@pytest.mark.parametrize("value", ["[1.5]", "[[1], [2]]", "numpy.array([1], '>u2')", "numpy.array([True])", "5"])
def test_npy_file_of_anything_but_ids_raises_format_error(tmp_path: Path, value: str) -> None:
    numpy = pytest.importorskip("numpy")
    numpy.save(tmp_path / "a.npy", eval(value))
    with pytest.raises(FormatError, match=r"a\.npy: not a one-dimensional array of little-endian integers"):
        open_ids(tmp_path / "a.npy")


def damage(path: Path, **change: Any) -> None:
    about = json.loads(path.read_bytes())
    path.write_text(json.dumps({name: value for name, value in {**about, **change}.items() if value is not None}))


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (
            lambda out: out.write_bytes(out.read_bytes()[:-1]),
            r"out\.bin: .* one uint16 id; encode the documents again",
        ),
        (lambda out: out.write_bytes(out.read_bytes()[:-2]), r"out\.bin\.json: it says .* ids, but out\.bin has"),
        (lambda out: damage(Path(f"{out}.json"), dtype="uint32"), r"\.json: it says|bytes of one uint32 id"),
        (lambda out: damage(Path(f"{out}.json"), dtype="float"), r"\.json: the dtype is 'float'"),
        (
            lambda out: damage(Path(f"{out}.json"), count=None),
            r"\.json: 'count' is missing or null, not an integer",
        ),
        (lambda out: damage(Path(f"{out}.json"), documents=-1), r"\.json: 'documents' is -1"),
        (
            lambda out: damage(Path(f"{out}.json"), documents=9),
            r"\.offsets: it has 48 bytes, but the 9 documents of out",
        ),
        (lambda out: Path(f"{out}.json").write_text("{"), r"out\.bin\.json: not JSON"),
        (lambda out: Path(f"{out}.json").write_text("[]"), r"out\.bin\.json: expected a JSON object, found list"),
        (
            lambda out: Path(f"{out}.offsets").write_bytes(bytes(48)),
            r"\.offsets: its offsets run from 0 to 0, but should run from 0",
        ),
        (lambda out: Path(f"{out}.offsets").unlink(), r"out\.bin\.offsets"),
    ],
)
def test_neighbour_that_does_not_fit_is_named(
    code_tokenizer: Tokenizer, text: Path, tmp_path: Path, harm: Any, message: str
) -> None:
    out = tmp_path / "out.bin"
    code_tokenizer.encode_files(text, out)
    harm(out)
    with pytest.raises((FormatError, FileNotFoundError), match=message):
        open_ids(out)


def test_damaged_offset_raises_format_error_when_read(
    code_tokenizer: Tokenizer, text: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out.bin"
    code_tokenizer.encode_files(text, out)
    offsets = bytearray(Path(f"{out}.offsets").read_bytes())
    offsets[8:16] = (10**9).to_bytes(8, "little")
    Path(f"{out}.offsets").write_bytes(offsets)
    stored = open_ids(out)
    for i in (0, 1):
        with pytest.raises(FormatError, match=rf"out\.bin\.offsets: document {i} goes from"):
            stored[i]


@pytest.mark.parametrize("ending", [".bin", ".bin.offsets"])
@pytest.mark.parametrize("n_bytes", [0, 7, 8, 4000])
def test_file_of_another_size_than_when_opened_raises_format_error(
    code_tokenizer: Tokenizer, text: Path, tmp_path: Path, ending: str, n_bytes: int
) -> None:
    code_tokenizer.encode_files(text, tmp_path / "out.bin")
    stored = open_ids(tmp_path / "out.bin")
    (tmp_path / f"out{ending}").write_bytes(bytes(n_bytes))
    with pytest.raises(FormatError, match=f"{ending}: {n_bytes} bytes, but .* open it again"):
        stored[0]


def test_wrong_tokenizer_dtype_or_path_is_refused(code_tokenizer: Tokenizer, text: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.bin"
    code_tokenizer.encode_files(text, out)
    other = Tokenizer.from_merges([], pattern=None)
    with pytest.raises(FormatError, match=r"out\.bin: its ids were made by the tokenizer .*; pass the tokenizer"):
        open_ids(out, tokenizer=other)
    with pytest.raises(FormatError, match=r"out\.bin: its ids are uint16, not uint32"):
        open_ids(out, dtype="uint32")
    with pytest.raises(FileNotFoundError, match=r"no\.bin"):
        open_ids(tmp_path / "no.bin")
    with pytest.raises(FormatError, match=r"texts\.jsonl: not a file of ids; pass one \(\.bin, \.npy\)"):
        open_ids(text)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("suffix", [".bin", ".npy"])
def test_pipe_is_refused_before_it_is_opened(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{suffix}"
    os.mkfifo(path)
    with pytest.raises(FormatError, match=rf"a\{suffix}: a pipe or device, but files of ids are mapped"):
        open_ids(path, dtype="uint16")


def test_folder_holds_one_set_of_files(code_tokenizer: Tokenizer, text: Path, tmp_path: Path) -> None:
    folder = tmp_path / "ids"
    folder.mkdir()
    with pytest.raises(FileNotFoundError, match=r"no file of ids \(\.bin, \.npy\) in this folder"):
        open_ids(folder)
    code_tokenizer.encode_files(text, folder / "train.bin")
    assert [document.tolist() for document in open_ids(folder)] == wanted(code_tokenizer)
    code_tokenizer.encode_files(text, folder / "val.bin")
    with pytest.raises(FormatError, match=r"several sets of files \(train\.bin, val\.bin\): pass the path"):
        open_ids(folder)


def test_few_parts_stay_mapped(code_tokenizer: Tokenizer, text: Path, tmp_path: Path) -> None:
    code_tokenizer.encode_files(text, tmp_path / "out.bin")
    part = open_ids(tmp_path / "out.bin")._parts[0]
    stored = StoredIds([part] * (3 * reader._MAX_MAPPED))
    flat = [token_id for document in wanted(code_tokenizer) for token_id in document]
    assert [document.tolist() for document in stored] == wanted(code_tokenizer) * (3 * reader._MAX_MAPPED)
    assert stored.ids().tolist() == flat * (3 * reader._MAX_MAPPED)
    assert len(stored._maps) == reader._MAX_MAPPED


def test_import_of_fastbpe_loads_no_reader() -> None:
    from helpers.child_processes import run_python

    assert run_python("import sys, fastbpe; print('fastbpe.id_files.reader' in sys.modules)").strip() == "False"
    assert fastbpe.open_ids is open_ids
