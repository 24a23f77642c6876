"""Files on Windows, played on Linux: no fcntl, locks by msvcrt; no open or mapped file is renamed or removed."""

from __future__ import annotations

import errno
import gc
import os
import pathlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import fastbpe
from fastbpe import Tokenizer
from fastbpe._utils import file_locks
from fastbpe._utils.own_places import own_file, own_folder, remove_leftovers
from fastbpe.corpus import sinks

fcntl = pytest.importorskip("fcntl")
pytestmark = pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="asks Linux which files are open")

BYTES = Tokenizer.from_merges([], pattern=None)


def in_use(path: str) -> bool:
    """Tell whether this process has a file open or mapped."""
    opened = (f"/proc/self/fd/{number}" for number in os.listdir("/proc/self/fd"))
    links = {os.readlink(link) for link in opened if os.path.islink(link)}
    with open("/proc/self/maps") as maps:
        links |= {line.split(maxsplit=5)[-1].strip() for line in maps}
    return os.path.realpath(path) in links


@pytest.fixture
def windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files behave as on Windows."""

    def locking(file: int, mode: int, n_bytes: int) -> None:
        assert (mode, n_bytes) == (2, 1)
        assert os.lseek(file, 0, os.SEEK_CUR) == (1 << 31) - 2
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise PermissionError(13, "Permission denied") from None

    def refusing(do: Any) -> Any:
        def done(*paths: Any, dir_fd: int | None = None) -> None:
            folder = "" if dir_fd is None else os.readlink(f"/proc/self/fd/{dir_fd}")
            for path in paths:
                if in_use(os.path.join(folder, path)):
                    raise PermissionError(13, "The process cannot access the file", path)
            do(*paths, **({} if dir_fd is None else {"dir_fd": dir_fd}))

        return done

    monkeypatch.setattr(file_locks, "fcntl", None)
    monkeypatch.setattr(file_locks, "msvcrt", SimpleNamespace(LK_NBLCK=2, locking=locking))
    kept = getattr(pathlib, "_normal_accessor", None)  # Path of Python 3.10 calls the functions that are in it
    for name in ("replace", "rename", "unlink", "remove"):
        done = refusing(getattr(os, name))
        monkeypatch.setattr(os, name, done)
        if hasattr(kept, name):
            monkeypatch.setattr(kept, name, done)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.usefixtures("windows")
def test_tokenizer_is_saved_over_the_file_that_it_was_loaded_from(tmp_path: Path) -> None:
    path = tmp_path / "a.fbpe"
    BYTES.save(path)
    loaded = fastbpe.load(path)
    loaded.save(path)
    assert fastbpe.load(path) == loaded == BYTES
    assert names(tmp_path) == ["a.fbpe"]


@pytest.mark.daily
@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize("output", ["a.bin", "a.npy", "a.idx"])
def test_run_that_encodes_files_leaves_its_output_alone(tmp_path: Path, output: str) -> None:
    text = tmp_path / "a.txt"
    text.write_text("one\ntwo\n")
    for _ in range(2):
        BYTES.encode_files(text, tmp_path / output, separator="\n", overwrite=True, progress=False)
        fastbpe.open_ids(tmp_path / output).ids()
        gc.collect()
    assert not [name for name in names(tmp_path) if "partial" in name or name.endswith((".fastbpe", ".lock"))]


@pytest.mark.usefixtures("windows")
def test_second_writer_of_an_output_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "a.bin.partial"
    with sinks._locked(folder):
        with pytest.raises(BlockingIOError, match="another run is writing here"), sinks._locked(folder):
            pytest.fail("two runs have the lock")
        assert names(folder) == ["lock"]
    assert not folder.exists()


def test_file_system_without_locks_keeps_no_run_away(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(file: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(file_locks, "lock", no_locks)
    (tmp_path / "a.txt").write_text("one\n")
    BYTES.encode_files(tmp_path / "a.txt", tmp_path / "a.bin", progress=False)
    assert (tmp_path / "a.bin").stat().st_size == 2 * len("one\n")


@pytest.mark.daily
@pytest.mark.usefixtures("windows")
def test_output_that_is_open_for_reading_is_named_and_replaced_once_it_is_closed(tmp_path: Path) -> None:
    text, out = tmp_path / "a.txt", tmp_path / "a.bin"
    text.write_text("one\n")
    BYTES.encode_files(text, out, progress=False)
    ids = fastbpe.open_ids(out)
    view = ids[0]
    text.write_text("another\n")
    with pytest.raises(PermissionError, match=r"open or mapped; close it there .*a\.bin"):
        BYTES.encode_files(text, out, overwrite=True, progress=False)
    assert bytes(view)[::2] == b"one\n"
    del ids, view
    gc.collect()
    BYTES.encode_files(text, out, overwrite=True, progress=False)
    assert BYTES.decode(fastbpe.open_ids(out)[0]) == "another\n"


@pytest.mark.usefixtures("windows")
def test_shard_and_export_leave_no_temporary_places(tmp_path: Path) -> None:
    fastbpe.write_shard(BYTES, ["one"], tmp_path / "a.bin", (0, 1))
    BYTES.export(tmp_path / "model", format="huggingface")
    assert not [name for name in names(tmp_path) if name.startswith(".")]
    assert names(tmp_path / "model") == ["tokenizer.json", "tokenizer_config.json"]


@pytest.mark.usefixtures("windows")
def test_leftovers_of_a_killed_writer_are_removed_and_places_in_use_stay(tmp_path: Path) -> None:
    target = os.fspath(tmp_path / "a")
    with own_file(target) as place, own_folder(target) as folder:
        Path(place).write_text("content")
        Path(folder, "file").write_text("content")
        in_place = [Path(place).name, Path(folder).name, Path(place).name + ".lock"]
        remove_leftovers([target])
        assert names(tmp_path) == sorted(in_place)
    assert not names(tmp_path)
    for name in in_place:  # as a killed writer leaves them
        (tmp_path / name).mkdir() if name == in_place[1] else (tmp_path / name).touch()
    (tmp_path / in_place[1] / "file").touch()
    remove_leftovers([target])
    assert not names(tmp_path)


def test_system_without_locks_writes_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_locks, "fcntl", None)
    assert file_locks.msvcrt is None
    BYTES.save(tmp_path / "a.fbpe")
    with own_file(os.fspath(tmp_path / "a")) as place:
        assert names(tmp_path) == sorted(["a.fbpe", Path(place).name])  # no lock beside it, as on Windows
    with sinks._locked(tmp_path / "a.partial"), sinks._locked(tmp_path / "a.partial"):
        pass
    assert "a.fbpe" in names(tmp_path)
