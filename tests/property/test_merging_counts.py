"""Merging files of counts gives the file of their sum, to the byte, within a limit of memory."""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

import pytest

from fastbpe import FormatError, PieceCounts, TrainingError, count_pieces
from fastbpe.formats import piece_counts_file as counts_format
from fastbpe.training import count_checks, counting_threads, merge_counts
from helpers.child_processes import run_python
from helpers.sampling import rounds

MODES: list[dict[str, Any]] = [{"pattern": r" ?\w+|\W"}, {"mode": "codepoint"}]


def shards(rng: random.Random, folder: Path, **options: Any) -> list[Path]:
    """Count random parts of a random text into files."""
    words = ["".join(rng.choices("abcdé新1 ", k=rng.choice([1, 3, 9, 30]))) for _ in range(rng.choice([3, 300]))]
    paths = []
    for number in range(rng.randint(1, 9)):
        text = " ".join(rng.choices(words, k=rng.choice([0, 5, 500])))
        counts = count_pieces([text], progress=False, **options)
        if rng.random() < 0.2:
            counts = counts.pruned(2)
        paths.append(folder / f"{number}.pieces")
        counts.save(paths[-1])
    return paths


def summed(paths: Sequence[Path]) -> PieceCounts:
    return reduce(add, map(PieceCounts.load, paths))


@pytest.mark.parametrize("options", MODES, ids=["byte", "codepoint"])
@pytest.mark.parametrize("spilling", [False, True])
def test_merged_file_equals_the_sum_to_the_byte(
    options: dict[str, Any], spilling: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if spilling:
        monkeypatch.setattr(merge_counts, "MIN_TABLE_BYTES", 1)
        monkeypatch.setattr(count_checks, "_ROWS", 100)
        monkeypatch.setattr(merge_counts, "_STRETCHES_PER_HASH_FILE", 3)
    for number in rounds(5, 400):
        rng = random.Random(f"merging {number}")
        paths = shards(rng, tmp_path, **options)
        summary = PieceCounts.merge(paths, tmp_path / "merged", max_memory_bytes=1 << (17 if spilling else 30))
        expected = summed(paths)
        expected.save(tmp_path / "expected")
        assert (tmp_path / "merged").read_bytes() == (tmp_path / "expected").read_bytes()
        assert summary[1:] == (
            len(paths), len(expected), expected.n_pieces, expected.n_bytes, 0, 0, expected.n_pruned,
            "word" if "mode" in options else "piece",
        )  # fmt: skip


@pytest.mark.parametrize("options", MODES, ids=["byte", "codepoint"])
@pytest.mark.parametrize("min_count", [1, 2, 5, 10**9])
def test_min_count_is_of_all_files_together(options: dict[str, Any], min_count: int, tmp_path: Path) -> None:
    for number in rounds(3, 200):
        rng = random.Random(f"pruning {number}")
        paths = shards(rng, tmp_path, **options)
        for limit in (1, 1 << 30):
            summary = PieceCounts.merge(paths, tmp_path / "merged", min_count=min_count, max_memory_bytes=limit)
            expected = summed(paths).pruned(min_count)
            expected.save(tmp_path / "expected")
            assert (tmp_path / "merged").read_bytes() == (tmp_path / "expected").read_bytes()
            assert summary.n_pruned == expected.n_pruned
            assert summary.n_distinct_pruned == len(summed(paths)) - len(expected)


@pytest.mark.daily
def test_merging_many_files_stays_within_its_memory(tmp_path: Path) -> None:
    """250 MB of tables, if they were all held, in a process that may have 60 MB more than at its start."""
    for number in range(20):
        pieces = (
            (b"%d %x" % (i * 7919 % 3_000_017, i), i + 1)
            for i in range(number * 90_000, number * 90_000 + 100_000)
        )
        PieceCounts(pieces).save(tmp_path / f"{number:03}.pieces")
    code = f"""
import resource, sys
import fastbpe
from fastbpe import PieceCounts
import fastbpe.training.merge_counts
status = dict(line.split(":") for line in open("/proc/self/status") if line.startswith("VmData"))
data = int(status["VmData"].split()[0]) * 1024
resource.setrlimit(resource.RLIMIT_DATA, (data + 60_000_000, -1))
paths, out = {str(tmp_path)!r}, {str(tmp_path / "all")!r}
summary = PieceCounts.merge(paths, out, max_memory_bytes=20_000_000, progress=False)
print(summary.n_distinct, summary.n_pieces)
try:
    counts = PieceCounts.load(out)
except MemoryError:
    print("too large to load")
"""
    n = 19 * 90_000 + 100_000
    words = run_python(code).split()
    assert int(words[0]) == n
    assert " ".join(words[2:]) == "too large to load"  # else the limit would prove nothing


def test_folder_stands_for_its_files_by_name(tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for name in "cab":
        PieceCounts({name: 1}).save(tmp_path / "parts" / f"{name}.pieces")
    (tmp_path / "parts" / "notes.txt").write_text("no counts")
    PieceCounts.merge(tmp_path / "parts", tmp_path / "all")
    assert list(PieceCounts.load(tmp_path / "all")) == [b"a", b"b", b"c"]
    PieceCounts.merge([tmp_path / "all", tmp_path / "parts"], tmp_path / "all")
    assert dict(PieceCounts.load(tmp_path / "all")) == {b"a": 2, b"b": 2, b"c": 2}
    told: list[tuple[Any, ...]] = []
    PieceCounts.merge(tmp_path / "parts", tmp_path / "all", progress=lambda *said: told.append(said))
    assert told[-1][0] == "merging"


def test_bad_input_is_refused_and_nothing_written(tmp_path: Path) -> None:
    good = tmp_path / "good.pieces"
    PieceCounts({"a": 1}).save(good)
    (tmp_path / "cut.pieces").write_bytes(good.read_bytes()[:-9])
    PieceCounts({"a": 1}, pattern="gpt2").save(tmp_path / "gpt2.pieces")
    count_pieces(["a"], mode="codepoint").save(tmp_path / "words.pieces")
    count_pieces(["a"], mode="codepoint", split_digits=True).save(tmp_path / "digits.pieces")
    (tmp_path / "empty").mkdir()
    out = tmp_path / "out"
    for paths, options, error, message in (
        ([], {}, TrainingError, "no count files"),
        (tmp_path / "empty", {}, FileNotFoundError, "no file whose name"),
        (tmp_path / "missing", {}, FileNotFoundError, "missing"),
        ([good, tmp_path / "cut.pieces"], {}, FormatError, r"cut\.pieces: damaged"),
        ([good, tmp_path / "gpt2.pieces"], {}, TrainingError, r"gpt2\.pieces: the pieces were counted"),
        (
            [good, tmp_path / "words.pieces"],
            {},
            TrainingError,
            r"words\.pieces: cannot combine counts of mode='codepoint' with",
        ),
        (
            [tmp_path / "words.pieces", tmp_path / "digits.pieces"],
            {},
            TrainingError,
            r"digits\.pieces.*split_digits",
        ),
        ([good], {"min_count": 0}, ValueError, "min_count=0"),
        ([good], {"min_count": "x"}, TypeError, "min_count"),
        ([good], {"max_memory_bytes": 0}, ValueError, "max_memory_bytes=0"),
        (b"x", {}, TypeError, "bytes"),
        ([5], {}, TypeError, "int"),
    ):
        with pytest.raises(error, match=message):
            PieceCounts.merge(paths, out, **options)  # type: ignore[arg-type]
        assert not out.exists()


def test_counts_beyond_64_bits_are_an_overflow_error(tmp_path: Path) -> None:
    PieceCounts({"a": 2**62}).save(tmp_path / "a.pieces")
    with pytest.raises(OverflowError, match="more than"):
        PieceCounts.merge([tmp_path / "a.pieces"] * 2, tmp_path / "out")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": b"\0" * 8}, "the count 0"),
        ({"lengths": b"\3\0\0\0"}, "3 bytes: both must be at least 1, and the file has 2 more bytes of pieces"),
        ({"lengths": b"\1\0\0\0"}, "extra bytes after its last piece: 1"),
    ],
)
def test_inconsistent_file_raises_format_error(change: dict[str, Any], message: str, tmp_path: Path) -> None:
    plain = PieceCounts({"ab": 1})._plain()._replace(**change)
    (tmp_path / "a.pieces").write_bytes(b"".join(counts_format.dump(plain)))
    with pytest.raises(FormatError, match=message):
        PieceCounts.merge([tmp_path / "a.pieces"], tmp_path / "out")


def test_full_disk_names_the_folder_of_temporary_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Full:
        def __init__(self, **options: Any) -> None:
            raise OSError(28, "No space left on device")

    PieceCounts((b"%d" % i, 1) for i in range(20_000)).save(tmp_path / "a.pieces")
    monkeypatch.setattr("tempfile.TemporaryFile", Full)
    with pytest.raises(OSError, match="TMPDIR"):
        PieceCounts.merge([tmp_path / "a.pieces"], tmp_path / "out", max_memory_bytes=1)
    assert counting_threads.MIN_TABLE_BYTES < 20_000 * 32
