"""Encoding of a corpus in shards, each by its own call, on whatever machine.

Every call lists all inputs, and takes its own: a contiguous run of files, so that the shards, one after another,
hold the documents in the order of a single run. Cut all bytes into n equal parts: a file belongs to the part in
which its middle lies. A shard gets a manifest as the last of its files. A call that finds the manifest of the same
settings does nothing; one that finds the rest of a killed run resumes it.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path

from fastbpe._core.encode.encoder import Encoder
from fastbpe._utils.progress import Progress
from fastbpe.corpus import encode_files as whole
from fastbpe.corpus.encode_files import FilesSummary, Job, checked_files
from fastbpe.corpus.encode_texts import encode_texts
from fastbpe.corpus.sinks import SUFFIXES, ids_path, paths_of
from fastbpe.corpus.sources import Cut, Document, Path_
from fastbpe.id_files import manifests
from fastbpe.id_files.parts import MANIFEST, beside, shard_of, shard_path

Shard = tuple[int, int]


def checked_shard(shard: object) -> Shard:
    """Check the number of a shard and how many there are.

    Raises:
        TypeError: it is no tuple of two int.
        ValueError: there is no such shard.

    >>> checked_shard((0, 4))
    (0, 4)
    """
    if not isinstance(shard, (tuple, list)) or len(shard) != 2 or not all(type(i) is int for i in shard):
        raise TypeError(f"shard={shard!r}: give (number of the shard, number of all), such as (0, 4)")
    index, n = shard
    if not 0 <= index < n:
        raise ValueError(f"shard=({index}, {n}): there is none; shards of {n} are numbered from 0 to {n - 1}")
    return index, n


def plan(files: Sequence[Path], shard: Shard) -> tuple[list[tuple[str, Path]], str]:
    """Choose the files of a shard.

    Args:
        files: all input files, in order.
        shard: number of the shard, and how many there are.

    Returns:
        (name, path) of each file of the shard, and a hash of the names and sizes of all files. Names are relative
        to the folder that all have in common, so that machines may have it at different places.
    """
    index, n = shard
    places = [os.path.abspath(path) for path in files]
    root = os.path.commonpath([os.path.dirname(place) for place in places])
    names = [Path(os.path.relpath(place, root)).as_posix() for place in places]
    sizes = [path.stat().st_size for path in files]
    total = sum(sizes)
    mine = []
    for name, path, size, end in zip(names, files, sizes, accumulate(sizes), strict=True):
        if min((2 * end - size) * n // (2 * total or 1), n - 1) == index:
            mine.append((name, path))
    return mine, hashlib.sha256(json.dumps([*zip(names, sizes, strict=True)]).encode()).hexdigest()


def encode_files(
    inputs: Path_ | Iterable[Path_],
    out: Path_,
    job: Job,
    encoder: Encoder,
    cut: Cut | None,
    num_threads: int | None,
    progress: Progress,
    *,
    overwrite: bool,
    shard: object,
) -> FilesSummary:
    """Encode the documents of files, or one shard of them; see `Tokenizer.encode_files`.

    Args:
        inputs: path, folder, pattern, or a list of these; for a shard, the inputs of all shards.
        out: the output, or the path from which the name of the shard is made.
        job: what decides the bytes of the output.
        encoder: encodes texts.
        cut: finds safe cuts in long documents; None: they are held whole.
        num_threads, progress, overwrite: as for `Tokenizer.encode_files`.
        shard: number of the shard, and how many there are; None: all is one file.
    """
    if shard is None:
        path = Path(out)
        files = checked_files(inputs, path)
        return whole.encode_files(
            files, path, job, encoder, cut, num_threads=num_threads, progress=progress, overwrite=overwrite
        )
    number = checked_shard(shard)
    path = shard_path(Path(out), number)
    files = checked_files(inputs, path)
    for file in files:
        if (found := shard_of(file)) is not None and found[0].resolve() == Path(out).resolve():
            raise ValueError(f"{file} is a shard of the output and one of the inputs; write to another place")
    mine, digest = plan(files, number)
    settings = manifests.settings_of(job, number, digest)
    manifest = beside(ids_path(path), MANIFEST)
    times = [file.stat().st_mtime_ns for _, file in mine]
    if overwrite:
        manifest.unlink(missing_ok=True)  # first: it would not fit the new files
    elif (done := manifests.done_before(path, manifest, settings)) is not None:
        rest = beside(path, ".partial")
        if not (rest / "progress.json").exists():  # else the run was killed while it cleared up, and goes on
            with contextlib.suppress(OSError):
                rest.rmdir()
            return done

    def at_end(summary: FilesSummary) -> None:
        for (_, file), was in zip(mine, times, strict=True):
            if file.stat().st_mtime_ns != was:
                raise ValueError(
                    f"{file}: changed while it was encoded; encode the shard again with overwrite=True"
                )
        manifests.write(manifest, settings, summary, mine, _outputs(path))

    return whole.encode_files(
        [file for _, file in mine],
        path,
        job,
        encoder,
        cut,
        num_threads=num_threads,
        progress=progress,
        overwrite=overwrite,
        at_end=at_end,
    )


def write_shard(
    texts: Iterable[Document],
    out: Path_,
    shard: object,
    job: Job,
    encoder: Encoder,
    *,
    num_threads: int | None,
) -> FilesSummary:
    """Encode texts into one shard; see `Tokenizer.write_shard`.

    The files are written in a folder of their own and renamed, the manifest last: two tasks that write the same
    shard at the same time do not meet.

    Args:
        texts: the documents.
        out, shard, job, encoder, num_threads: as for `encode_files`.
    """
    started = time.perf_counter()
    number = checked_shard(shard)
    path = shard_path(Path(out), number)
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{path}: ids are written to {', '.join(SUFFIXES)} files; give it one of these endings")
    settings = manifests.settings_of(job, number, "")
    with _own_folder(path) as folder:
        made = encode_texts(texts, folder / path.name, job, encoder, num_threads=num_threads)
        outputs = _outputs(made.path)
        manifest = beside(ids_path(made.path), MANIFEST)
        manifests.write(manifest, settings, made, (), outputs)
        for file in (*outputs[::-1], manifest):  # the ids after what describes them
            os.replace(file, path.with_name(file.name))
    return FilesSummary(path, made.n_documents, made.n_ids, made.n_bytes, time.perf_counter() - started)


@contextlib.contextmanager
def _own_folder(path: Path) -> Iterator[Path]:
    """Make a folder beside a file, and remove it in the end with all that is left in it."""
    folder = path.with_name(f".{path.name}.{os.urandom(8).hex()}.fastbpe")
    folder.mkdir()
    try:
        yield folder
    finally:
        for file in [*folder.rglob("*")][::-1]:
            file.rmdir() if file.is_dir() else file.unlink()
        folder.rmdir()


def _outputs(path: Path) -> list[Path]:
    """List the files of a shard that are there, its manifest excepted."""
    return [file for file in paths_of(path) if file.exists()]
