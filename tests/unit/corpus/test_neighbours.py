"""Files beside a file of ids describe the ids that are there: an output that is replaced leaves none behind."""

from __future__ import annotations

import contextlib
import itertools
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

import fastbpe
from fastbpe import Tokenizer
from fastbpe.corpus import sinks
from fastbpe.id_files.verifying import verify_ids

FORMER, LATER = ["one two three", "four"], ["five", "six", "seven eight nine ten"]
SUFFIXES = (".bin", ".npy", ".idx", ".parquet", ".arrow")


def by_files(tokenizer: Tokenizer, texts: list[str], out: Path, *, overwrite: bool = True) -> None:
    source = out.parent / "text.txt"
    source.write_text("\n".join(texts))
    tokenizer.encode_files(source, out, separator="\n", overwrite=overwrite, progress=False)
    source.unlink()


def by_one_of_the_shards(tokenizer: Tokenizer, texts: list[str], out: Path, *, overwrite: bool = True) -> None:
    source = out.parent / "text.txt"
    source.write_text("\n".join(texts))
    whole = out.with_name(f"whole{out.suffix}")
    tokenizer.encode_files(source, whole, separator="\n", overwrite=overwrite, shard=(0, 1), progress=False)
    source.unlink()


def by_texts(tokenizer: Tokenizer, texts: list[str], out: Path) -> None:
    fastbpe.write_shard(tokenizer, texts, out.with_name(f"whole{out.suffix}"), (0, 1))


def by_merging(tokenizer: Tokenizer, texts: list[str], out: Path, *, overwrite: bool = True) -> None:
    folder = out.parent / "shards"
    folder.mkdir()
    fastbpe.write_shard(tokenizer, texts, folder / "a.bin", (0, 1))
    try:
        fastbpe.merge_shards(folder, out, overwrite=overwrite, progress=False)
    finally:
        for path in folder.iterdir():
            path.unlink()
        folder.rmdir()


WRITERS: tuple[Callable[..., None], ...] = (by_files, by_one_of_the_shards, by_texts, by_merging)
NAME = "whole-00000-of-00001"  # a name that all of them can write


def files_of(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("former", "later", "suffixes"),
    [
        *((former, later, (".idx", ".bin")) for former in WRITERS for later in WRITERS),
        *((by_files, by_texts, (suffix, suffix)) for suffix in SUFFIXES),
        *((by_one_of_the_shards, by_merging, (suffix, suffix)) for suffix in SUFFIXES),
        (by_files, by_files, (".bin", ".idx")),
    ],
)
def test_replaced_output_leaves_the_files_of_a_first_run(
    code_tokenizer: Tokenizer,
    tmp_path: Path,
    former: Callable[..., None],
    later: Callable[..., None],
    suffixes: tuple[str, str],
) -> None:
    replaced, fresh = tmp_path / "replaced", tmp_path / "fresh"
    for folder in (replaced, fresh):
        folder.mkdir()
    former(code_tokenizer, FORMER, replaced / f"{NAME}{suffixes[0]}")
    for folder in (replaced, fresh):
        later(code_tokenizer, LATER, folder / f"{NAME}{suffixes[1]}")
    assert files_of(replaced) == files_of(fresh)


@pytest.mark.parametrize(
    ("left", "told"),
    [
        (".idx", "and describes other ids; to remove it"),
        (".bin.json", "; to replace it"),
        (".bin.offsets", "; to replace it"),
        (".bin.manifest.json", "and describes other ids; to remove it"),
    ],
)
@pytest.mark.parametrize("write", [by_files, by_merging])
def test_neighbour_without_ids_is_an_output_that_exists(
    code_tokenizer: Tokenizer, tmp_path: Path, left: str, told: str, write: Callable[..., None]
) -> None:
    by_one_of_the_shards(code_tokenizer, FORMER, tmp_path / f"{NAME}.idx")
    for path in tmp_path.iterdir():
        if path.name != f"{NAME}{left}":
            path.unlink()
    with pytest.raises(FileExistsError, match=f"{NAME}{left} exists ?{told}, pass overwrite=True"):
        write(code_tokenizer, LATER, tmp_path / f"{NAME}.bin", overwrite=False)


def test_file_of_another_kind_with_the_name_of_an_index_is_kept(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "train.idx").write_bytes(b"mine")
    for overwrite in (False, True):
        by_files(code_tokenizer, LATER, tmp_path / "train.bin", overwrite=overwrite)
    assert (tmp_path / "train.idx").read_bytes() == b"mine"
    assert verify_ids(tmp_path / "train.bin").problems == ()


@pytest.mark.parametrize("n_steps", range(8))
def test_run_killed_while_it_replaces_ends_with_the_files_of_a_first_run(
    code_tokenizer: Tokenizer, tmp_path: Path, n_steps: int
) -> None:
    """A kill after each renaming or removal: the next run clears up what the first one left."""
    replaced, fresh = tmp_path / "replaced", tmp_path / "fresh"
    for folder in (replaced, fresh):
        folder.mkdir()
    by_one_of_the_shards(code_tokenizer, FORMER, replaced / f"{NAME}.idx")
    by_files(code_tokenizer, LATER, fresh / f"{NAME}.bin")
    text = replaced / "text.txt"
    text.write_text("\n".join(LATER))
    options: dict[str, Any] = {"separator": "\n", "overwrite": True, "progress": False}
    left = itertools.count(n_steps, -1)

    def then(step: Callable[..., Any]) -> Callable[..., Any]:
        def killed(*arguments: Any, **named: Any) -> Any:
            if next(left) <= 0:
                raise KeyboardInterrupt
            return step(*arguments, **named)

        return killed

    with (
        mock.patch.object(sinks.os, "replace", then(sinks.os.replace)),
        mock.patch.object(Path, "unlink", then(Path.unlink)),
        contextlib.suppress(KeyboardInterrupt),
    ):
        code_tokenizer.encode_files(text, replaced / f"{NAME}.bin", **options)
    code_tokenizer.encode_files(text, replaced / f"{NAME}.bin", **options)
    text.unlink()
    assert files_of(replaced) == files_of(fresh)


def killed_at_replacement(n: int, folder: Path) -> Any:
    """Have the process end before it puts its n-th file, counted from 0, into a folder."""
    replace, left = os.replace, itertools.count(n, -1)

    def killed(source: str | Path, target: str | Path) -> None:
        if Path(target).parent == folder and next(left) <= 0:
            raise KeyboardInterrupt
        replace(source, target)

    return mock.patch("os.replace", killed)


@pytest.mark.parametrize("n", range(4))
def test_task_killed_while_it_replaces_another_shard_leaves_it_unfinished(
    code_tokenizer: Tokenizer, tmp_path: Path, n: int
) -> None:
    """Sizes may agree by chance: a manifest of former ids must be gone before the first file is replaced."""
    by_texts(code_tokenizer, ["1 2"], tmp_path / "whole.bin")
    with killed_at_replacement(n, tmp_path), pytest.raises(KeyboardInterrupt):
        fastbpe.write_shard(code_tokenizer, ["2 1"], tmp_path / "whole.bin", (0, 1))
    with pytest.raises(FileNotFoundError, match="the shard is not finished"):
        fastbpe.open_ids(tmp_path / f"{NAME}.bin")


@pytest.mark.parametrize("n", range(4))
def test_task_killed_while_it_repeats_a_finished_shard_leaves_it_finished(
    code_tokenizer: Tokenizer, tmp_path: Path, n: int
) -> None:
    """An engine kills the slower of two tasks for the same shard."""
    by_texts(code_tokenizer, LATER, tmp_path / "whole.bin")
    with killed_at_replacement(n, tmp_path), pytest.raises(KeyboardInterrupt):
        by_texts(code_tokenizer, LATER, tmp_path / "whole.bin")
    assert verify_ids(tmp_path / "whole.bin") == ((), 1, 3, verify_ids(tmp_path / "whole.bin").n_ids)


@pytest.mark.parametrize("damage", ["another", "shorter", "last byte"])
def test_index_that_does_not_fit_is_named_by_verify(
    code_tokenizer: Tokenizer, tmp_path: Path, damage: str
) -> None:
    by_files(code_tokenizer, FORMER, tmp_path / "former.idx")
    by_files(code_tokenizer, LATER, tmp_path / "train.idx")
    for name in ("train.bin", "train.idx"):
        assert verify_ids(tmp_path / name).problems == ()
    index = tmp_path / "train.idx"
    data = index.read_bytes()
    former = (tmp_path / "former.idx").read_bytes()
    index.write_bytes({"another": former, "shorter": data[:-8], "last byte": data[:-1] + b"\1"}[damage])
    for name in ("train.bin", "train.idx"):
        (problem,) = verify_ids(tmp_path / name).problems
        assert problem.startswith(f"{index}: this is not the index of train.bin; ")
