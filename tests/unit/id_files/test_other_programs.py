"""Files of ids that other programs wrote: Megatron-LM's two indexes and llm.c's header say dtype and documents."""

from __future__ import annotations

import pickle
import random
import struct
from array import array
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

from fastbpe import FormatError, Tokenizer, merge_shards, open_ids
from fastbpe.id_files.verifying import verify_ids

#: Code of a dtype in Megatron's index → its name and format.
CODES = {
    1: ("uint8", "B"),
    2: ("int8", "b"),
    3: ("int16", "h"),
    4: ("int32", "i"),
    5: ("int64", "q"),
    8: ("uint16", "H"),
}
DOCUMENTS = [[[1, 2, 3], [4]], [[]], [[5, 6]], [], [[7], [8, 9, 10]]]  # documents of sequences of ids


def write_megatron(
    prefix: Path, documents: list[list[list[int]]], code: int = 8, *, old: bool = False, modes: bool = False
) -> None:
    """Write a dataset as Megatron-LM does; `old`: as it did until 2020."""
    sequences = [sequence for document in documents for sequence in document]
    lengths = [len(sequence) for sequence in sequences]
    ends = [0, *accumulate(len(document) for document in documents)]
    kind = CODES.get(code, ("", "f"))[1]
    size = struct.calcsize(f"<{kind}")
    starts = [0, *accumulate(lengths)]
    n = len(sequences)
    prefix.with_suffix(".bin").write_bytes(b"".join(struct.pack(f"<{len(ids)}{kind}", *ids) for ids in sequences))
    if old:
        index = b"TNTIDX\0\0" + struct.pack("<6q", 1, code, size, n, n, len(ends))
        index += array("q", [*range(n + 1), *starts, *lengths, *ends]).tobytes()
    else:
        index = b"MMIDIDX\0\0" + struct.pack("<QBQQ", 1, code, n, len(ends)) + array("i", lengths).tobytes()
        index += array("q", [start * size for start in starts[:-1]] + ends).tobytes() + bytes(n if modes else 0)
    prefix.with_suffix(".idx").write_bytes(index)


def flat(documents: list[list[list[int]]]) -> list[list[int]]:
    return [[token_id for sequence in document for token_id in sequence] for document in documents]


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("code", CODES)
def test_megatron_index_of_another_program_gives_dtype_and_documents(tmp_path: Path, code: int, old: bool) -> None:
    write_megatron(tmp_path / "theirs", DOCUMENTS, code, old=old, modes=not old and code == 4)
    for ending in (".bin", ".idx"):
        ids = open_ids(tmp_path / f"theirs{ending}")
        assert ids.dtype == CODES[code][0]
        assert [document.tolist() for document in ids] == flat(DOCUMENTS)
        assert ids[-1].tolist() == [7, 8, 9, 10]
        assert [ids.span(i) for i in range(5)] == [(0, 4), (4, 4), (4, 6), (6, 6), (6, 10)]
        assert ids.ids(3, 7).tolist() == [4, 5, 6, 7]
    assert [document.tolist() for document in pickle.loads(pickle.dumps(ids))] == flat(DOCUMENTS)
    assert verify_ids(tmp_path / "theirs.idx") == ((), 1, 5, 10)
    with pytest.raises(FormatError, match=rf"theirs\.bin: its ids are {CODES[code][0]}, not u?int"):
        open_ids(tmp_path / "theirs.bin", dtype="uint64" if code != 5 else "uint32")


@pytest.mark.parametrize("n_bytes", [0, 40])
def test_megatron_index_that_is_cut_after_opening_raises_format_error(tmp_path: Path, n_bytes: int) -> None:
    write_megatron(tmp_path / "theirs", DOCUMENTS)
    ids = open_ids(tmp_path / "theirs.bin")
    index = tmp_path / "theirs.idx"
    index.write_bytes(index.read_bytes()[:n_bytes])
    with pytest.raises(FormatError, match=rf"theirs\.idx: {n_bytes} bytes, but at least .* open it again"):
        ids.span(3)


def test_int32_of_an_index_may_be_read_as_uint32(tmp_path: Path) -> None:
    write_megatron(tmp_path / "theirs", DOCUMENTS, 4)
    ids = open_ids(tmp_path / "theirs.bin", dtype="uint32")
    assert (ids.dtype, [document.tolist() for document in ids]) == ("uint32", flat(DOCUMENTS))


@pytest.mark.parametrize("old", [False, True])
@pytest.mark.parametrize("suffix", [".bin", ".npy", ".idx", ".parquet", ".arrow"])
def test_megatron_dataset_of_another_program_is_converted(tmp_path: Path, suffix: str, old: bool) -> None:
    rng = random.Random(3)
    documents = [[[rng.randrange(50_000) for _ in range(rng.randrange(9))] for _ in range(3)] for _ in range(99)]
    write_megatron(tmp_path / "theirs", documents, 4, old=old)
    summary = merge_shards(tmp_path / "theirs.idx", tmp_path / f"ours{suffix}", progress=False)
    assert (summary.n_documents, summary.n_ids) == (99, sum(map(len, flat(documents))))
    merge_shards(tmp_path / f"ours{suffix}", tmp_path / "again.bin", progress=False)
    again = open_ids(tmp_path / "again.bin")
    assert (again.dtype, [document.tolist() for document in again]) == ("uint32", flat(documents))


def test_huge_lengths_in_an_old_index_are_a_problem_of_the_index(tmp_path: Path) -> None:
    write_megatron(tmp_path / "theirs", DOCUMENTS, 8, old=True)
    index = bytearray((tmp_path / "theirs.idx").read_bytes())
    n = struct.unpack_from("<q", index, 32)[0]
    struct.pack_into("<2q", index, 56 + 16 * (n + 1), 1 << 62, 1 << 62)  # the lengths of the first two sequences
    (tmp_path / "theirs.idx").write_bytes(index)
    problems = verify_ids(tmp_path / "theirs.bin").problems
    assert len(problems) == 1
    assert "theirs.idx: sequences 0 to" in problems[0]
    with pytest.raises(FormatError, match=r"theirs\.idx: sequences 0 to \d+ are not consecutive"):
        merge_shards(tmp_path / "theirs.bin", tmp_path / "ours.bin", progress=False)


def test_negative_ids_of_a_signed_dataset_are_not_converted(tmp_path: Path) -> None:
    write_megatron(tmp_path / "theirs", [[[1, 2], [-100]]], 4)
    with pytest.raises(FormatError, match=r"theirs\.bin: the id at position 2 is -100, but ids are at least 0"):
        merge_shards(tmp_path / "theirs.bin", tmp_path / "ours.bin", progress=False)
    assert not [*tmp_path.glob("ours*")]


def changed(path: Path, at: int, data: bytes) -> None:
    whole = bytearray(path.read_bytes())
    whole[at : at + len(data)] = data
    path.write_bytes(whole)


@pytest.mark.parametrize(
    ("harm", "message"),
    [
        (
            lambda idx: changed(idx, 17, b"\x06"),
            r"its \.bin contains float64 numbers, not ids; pass a dataset of integers",
        ),
        (lambda idx: changed(idx, 17, b"\x63"), r"its \.bin contains items of the unknown type 99"),
        (lambda idx: changed(idx, 9, b"\x02"), r"a Megatron index of version 2; fastbpe reads version 1"),
        (lambda idx: idx.write_bytes(idx.read_bytes()[:-1]), r"\d+ bytes do not fit 6 sequences and 5 documents"),
        (lambda idx: changed(idx, 18, b"\xff" * 8), r"do not fit -1 sequences"),
        (lambda idx: changed(idx, 26, b"\0" * 8), r"do not fit 6 sequences and -1 documents"),
        (
            lambda idx: changed(idx, len(idx.read_bytes()) - 8, b"\x05"),
            "documents cover the sequences 0 to 5 of 6",
        ),
        (
            lambda idx: idx.with_suffix(".bin").write_bytes(b"ab"),
            r"but theirs\.bin has 2 bytes; copy both files again or recreate them",
        ),
        (lambda idx: idx.write_bytes(b"MMIDIDX\0\0"), r"a Megatron index of version 0"),
    ],
)
def test_damaged_megatron_index_is_named(tmp_path: Path, harm: Any, message: str) -> None:
    write_megatron(tmp_path / "theirs", DOCUMENTS)
    harm(tmp_path / "theirs.idx")
    with pytest.raises(FormatError, match=rf"theirs\.idx: .*{message}"):
        open_ids(tmp_path / "theirs.bin")


@pytest.mark.daily
def test_no_change_of_a_megatron_index_gives_another_error(tmp_path: Path) -> None:
    rng = random.Random(5)
    for old in (False, True):
        write_megatron(tmp_path / "theirs", DOCUMENTS, old=old)
        index = tmp_path / "theirs.idx"
        good = index.read_bytes()
        for _ in range(400):
            bad = bytearray(good)
            for _ in range(rng.randrange(1, 3)):
                bad[rng.randrange(9, len(bad))] = rng.choice((0, 1, 2, 127, 128, 255, rng.randrange(256)))
            index.write_bytes(bad)
            verify_ids(index)
            said, n_errors = "", 0
            for call in (
                lambda: [document.tolist() for document in open_ids(tmp_path / "theirs.idx")],
                lambda: merge_shards(
                    tmp_path / "theirs.idx", tmp_path / "out.bin", overwrite=True, progress=False
                ),
            ):
                try:
                    call()
                except FormatError as error:
                    said, n_errors = said + str(error), n_errors + 1
            assert said.count(str(tmp_path)) >= n_errors


# llm.c


def llmc(ids: list[int], magic: int = 20240520, version: int = 1, n: int | None = None) -> bytes:
    """Make a file as dev/data/data_common.py of llm.c does."""
    header = array("i", [magic, version, len(ids) if n is None else n, *[0] * 253])
    return header.tobytes() + array("H" if version == 1 else "I", ids).tobytes()


@pytest.mark.parametrize(("magic", "version"), [(20240520, 1), (20240801, 7), (20240520, 7), (20240801, 1)])
def test_llmc_header_says_the_dtype_and_is_no_id(tmp_path: Path, magic: int, version: int) -> None:
    (tmp_path / "val.bin").write_bytes(llmc([50256, 1, 2], magic, version))
    dtype = "uint16" if version == 1 else "uint32"
    for given in (None, dtype):
        ids = open_ids(tmp_path / "val.bin", dtype=given)
        assert (ids.dtype, ids.n_ids, [document.tolist() for document in ids]) == (dtype, 3, [[50256, 1, 2]])
        assert ids.random_windows(1, 3, seed=0)[0].tolist() == [50256, 1, 2]
    assert verify_ids(tmp_path / "val.bin") == ((), 1, 1, 3)
    with pytest.raises(FormatError, match=rf"val\.bin: its ids are {dtype}, not int8"):
        open_ids(tmp_path / "val.bin", dtype="int8")
    merge_shards(tmp_path / "val.bin", tmp_path / "plain.bin", progress=False)
    assert (tmp_path / "plain.bin").read_bytes() == llmc([50256, 1, 2], magic, version)[1024:]


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (
            llmc([1], version=2),
            r"its llm\.c header has version 2, but fastbpe reads only versions 1 \(uint16\) and 7 \(uint32\)",
        ),
        (llmc([1], magic=20240522), r"llm\.c's multiple-choice questions"),
        (llmc([1, 2], n=3), r"its header says 3 ids, but 2 follow"),
        (llmc([1, 2], n=-1), r"llm\.c's header is cut off or damaged"),
        (llmc([1])[:1000], r"llm\.c's header is cut off or damaged"),
        (llmc([1])[:-1], r"1 byte, is not a multiple of 2, the bytes of one uint16 id; copy"),
    ],
)
def test_damaged_llmc_file_is_named_and_never_read_as_ids(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "val.bin").write_bytes(data)
    for dtype in (None, "uint16"):
        with pytest.raises(FormatError, match=rf"val\.bin: .*{message}"):
            open_ids(tmp_path / "val.bin", dtype=dtype)


def test_ids_of_fastbpe_that_look_like_a_header_stay_ids(tmp_path: Path) -> None:
    """The JSON next to them says that they have no header."""
    magic = {"<a>": 20240520 & 0xFFFF, "<b>": 20240520 >> 16}
    tokenizer = Tokenizer.from_merges([], pattern=None, special_tokens=magic)
    (tmp_path / "a.jsonl").write_text('{"text": ""}\n' * 600)
    options = {"document_start": "<a>", "document_end": "<b>", "progress": False}
    tokenizer.encode_files(tmp_path / "a.jsonl", tmp_path / "a.bin", **options)
    assert (tmp_path / "a.bin").read_bytes().startswith((20240520).to_bytes(4, "little"))
    assert open_ids(tmp_path / "a.bin").n_ids == 1200
    assert verify_ids(tmp_path / "a.bin").problems == ()
