"""Encoding of a corpus in shards: one call per shard, on any machine.

Every call lists all inputs, and encodes the files of its shard. These are a contiguous range, so that the joined
shards contain the documents in the order of a single run. All bytes are divided into n equal parts: a file belongs
to the part that contains its middle. A file that is larger than a part and has several documents is divided: a
document belongs to the part in which it begins. The manifest is written as the last file of a shard. A call that
finds a manifest with the same settings does nothing; one that finds the remains of a killed run resumes it.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from pathlib import Path
from typing import Any, cast

from fastbpe._core.encode.encoder import Encoder
from fastbpe._utils import file_locks
from fastbpe._utils.arguments import integer
from fastbpe._utils.json_objects import read_object
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.own_places import own_folder, remove_leftovers
from fastbpe._utils.progress import Progress
from fastbpe._utils.short_reprs import short_repr
from fastbpe.corpus import file_encoding as whole
from fastbpe.corpus.dividing import divide
from fastbpe.corpus.encode_texts import encode_texts
from fastbpe.corpus.encoding_run import Job
from fastbpe.corpus.file_encoding import FilesSummary, checked_files
from fastbpe.corpus.file_parts import FilePart
from fastbpe.corpus.id_headers import check_header
from fastbpe.corpus.id_schemas import ABOUT
from fastbpe.corpus.id_schemas import MANIFEST as SCHEMA
from fastbpe.corpus.listing import Path_
from fastbpe.corpus.remote import AnyPath, RemotePath, as_path, staged
from fastbpe.corpus.sinks import MANIFEST, check_absent, check_suffix, ids_path, paths_of, stale_paths
from fastbpe.corpus.source_kinds import Cut, Document
from fastbpe.formats import atomic_files
from fastbpe.id_files import manifests
from fastbpe.id_files.parts import beside, shard_of, shard_path

Shard = tuple[int, int]


def checked_shard(shard: object) -> Shard:
    """Check the number of a shard and the number of shards.

    Raises:
        TypeError: shard is not a tuple or list of two integers.
        ValueError: there is no such shard.

    >>> checked_shard((0, 4))
    (0, 4)
    """
    try:
        if not isinstance(shard, (tuple, list)):
            raise TypeError
        index, n = (integer("shard", number) for number in shard)
    except (TypeError, ValueError):
        raise TypeError(
            f"shard={short_repr(shard)}: must be (number of the shard, number of shards), such as (0, 4)"
        ) from None
    if not 0 <= index < n:
        needed = f"shards of {n} are numbered from 0 to {n - 1}" if n > 0 else "there must be at least one shard"
        raise ValueError(f"shard=({index}, {n}): there is no such shard; {needed}")
    return index, n


class Share(NamedTuple):
    """Part of a file that belongs to a shard.

    name: str – the file's name relative to the common folder of all files, whose path may differ between machines.
    path: the file.
    start, end: positions in the stored file between which the documents of the shard begin; None: the whole file.
    """

    name: str
    path: AnyPath
    start: int | None = None
    end: int | None = None


def plan(
    files: Sequence[AnyPath], shard: Shard, is_divisible: Callable[[AnyPath], bool] = lambda _: False
) -> tuple[list[Share], str]:
    """Choose the files of a shard, and parts of files that are larger than a shard's equal share.

    is_divisible: function that tells whether a file can be divided between documents.

    Returns:
        The shares of the shard, and a hash of the names and sizes of all files.
    """
    index, n = shard
    parts = [path.parts if isinstance(path, RemotePath) else path.absolute().parts for path in files]
    folders = [*zip(*(names[:-1] for names in parts), strict=False)]  # at each depth, the folder of each file
    n_common = next((i for i, at_depth in enumerate(folders) if len({*at_depth}) > 1), len(folders))
    names = ["/".join(names[n_common:]) for names in parts]
    sizes = [path.stat().st_size for path in files]
    total = sum(sizes)
    shares = []
    for name, path, size, end in zip(names, files, sizes, accumulate(sizes), strict=True):
        if size * n > total and is_divisible(path):
            begin = end - size
            # The ends of the shard, i * total / n rounded up, as positions in the file.
            first, last = (min(max(-(-i * total // n) - begin, 0), size) for i in (index, index + 1))
            if first < last:
                shares.append(Share(name, path, first, last))
        # The middle of the file is at (2 * end - size) / 2. If all files are empty, total is 0.
        elif min((2 * end - size) * n // (2 * total or 1), n - 1) == index:
            shares.append(Share(name, path))
    return shares, hashlib.sha256(json.dumps([*zip(names, sizes, strict=True)]).encode()).hexdigest()


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
        cut: function that finds safe cuts in long documents; None: long documents are kept whole in memory.
        shard: (number of the shard, number of all shards); None: write one file.
    """
    target = as_path(out)
    check_suffix(target)
    check_header(job.header, target)
    number = None if shard is None else checked_shard(shard)
    path = target if number is None else shard_path(target, number)
    files, left_out = checked_files(inputs, path, job)
    mine: Sequence[AnyPath | FilePart] = files
    at_end: whole.AtEnd = whole.nothing_more
    if number is not None:
        for file in files:
            if (found := shard_of(file)) is not None and found[0].resolve() == target.resolve():
                raise ValueError(f"{file} is both a shard of the output and an input; choose another output")
        shares, digest = plan(files, number, job.is_divisible)
        settings = manifests.settings_of(job, number, digest)
        if isinstance(path, Path):
            remove_leftovers([path, beside(ids_path(path), MANIFEST)])
        if (done := _done(path, settings, overwrite=overwrite)) is not None:
            return replace(done, n_left_out=left_out.n, left_out=(*left_out.first,))
        named = [(share.name, part) for share in shares if (part := _part_of(share, job)) is not None]
        mine = [file for _, file in named]
        at_end = _Manifest(settings, named)
    if isinstance(path, RemotePath) and not overwrite:
        check_absent(path)
    with staged(path) as (local, uploads):
        made = whole.encode_files(
            mine,
            local,
            job,
            encoder,
            cut,
            num_threads=num_threads,
            progress=progress,
            overwrite=overwrite,
            at_end=at_end,
        )
        if isinstance(path, RemotePath):
            _remove(stale_paths(path))
        uploads += _all_files(local)
    return replace(made, path=cast("Path", path), n_left_out=left_out.n, left_out=(*left_out.first,))


def _part_of(share: Share, job: Job) -> AnyPath | FilePart | None:
    """Return the file of a share, or the part with the documents that begin in it; None if no document does."""
    if share.start is None or share.end is None:
        return share.path
    return divide(share.path, share.start, share.end, job.format, job.text_field, job.separator)


def _done(path: AnyPath, settings: Mapping[str, Any], *, overwrite: bool) -> FilesSummary | None:
    """Return the summary of a shard that needs no work; None if it needs work. overwrite: remove its manifest."""
    manifest = beside(ids_path(path), MANIFEST)
    if overwrite:
        manifest.unlink(missing_ok=True)  # first: it would not fit the new files
        return None
    done = manifests.done_before(path, manifest, settings)
    if done is not None and isinstance(path, Path):
        rest = beside(path, ".partial")
        if (rest / "progress.json").exists():  # the run was killed while it removed files, and resumes
            return None
        with contextlib.suppress(OSError):
            rest.rmdir()
    return done


class _Manifest:
    """Function that writes a shard's manifest, at the end of its run. inputs: as for `manifests.write`.

    Raises ValueError if an input has changed since the function was created.
    """

    def __init__(self, settings: Mapping[str, Any], inputs: Sequence[tuple[str, AnyPath | FilePart]]) -> None:
        self._settings, self._inputs = settings, inputs
        self._times = [file.stat().st_mtime_ns for _, file in inputs]

    def __call__(self, summary: FilesSummary) -> None:
        for (_, file), was in zip(self._inputs, self._times, strict=True):
            if file.stat().st_mtime_ns != was:
                raise ValueError(
                    f"{file}: changed while it was encoded; encode the shard again with overwrite=True"
                )
        place = beside(ids_path(summary.path), MANIFEST)
        manifests.write(place, self._settings, summary, self._inputs, _outputs(summary.path))


def write_shard(
    texts: Iterable[Document | None],
    out: Path_,
    shard: object,
    job: Job,
    encoder: Encoder,
    *,
    num_threads: int | None,
) -> FilesSummary:
    """Encode texts into one shard; see `fastbpe.write_shard`.

    The files are written in a separate folder and then renamed, the manifest last, so two tasks that write the
    same shard at the same time do not interfere. A shard that already exists with the same manifest stays complete
    at every moment, because a scheduler such as Spark's may kill the slower of two tasks at any time.
    """
    started = time.perf_counter()
    check_suffix(target := as_path(out))
    path = shard_path(target, number := checked_shard(shard))
    if isinstance(path, Path) and not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder; create it first", str(path.parent))
    settings = manifests.settings_of(job, number, "")
    where = path.parent if isinstance(path, Path) else tempfile.gettempdir()
    with own_folder(os.path.join(where, path.name)) as folder:
        made = encode_texts(texts, Path(folder, path.name), job, encoder, num_threads=num_threads)
        manifest = beside(ids_path(made.path), MANIFEST)
        manifests.write(manifest, settings, made, (), _outputs(made.path))
        _put(made.path, path)
    return replace(made, path=cast("Path", path), seconds=time.perf_counter() - started)


def rename_shard(source: AnyPath, out: Path_, shard: object) -> None:
    """Move a finished shard to another output, with the bytes that `write_shard` would have written there.

    source: the shard, which was made from texts. It is on the same file system as the output.
    """
    path = shard_path(as_path(out), number := checked_shard(shard))
    names = {old.name: new.name for old, new in zip(paths_of(source), paths_of(path), strict=True)}
    ids, again = ids_path(source), "write the shard again"
    about = beside(ids, ".json")
    if about.exists():  # parquet and Arrow files have no JSON next to them
        content = {**read_object(about, ABOUT, again), "offsets": names[beside(ids, ".offsets").name]}
        _rewrite(about, json.dumps(content).encode())
    manifest = beside(ids, MANIFEST)
    _rewrite(manifest, manifests.renamed(read_object(manifest, SCHEMA, again), number, names, about))
    _put(source, path)


def _rewrite(file: AnyPath, data: bytes) -> None:
    if isinstance(file, Path):
        atomic_files.write(file, data)
    else:
        file.write_bytes(data)


def _put(source: AnyPath, path: AnyPath) -> None:
    """Move the files of a shard to their place, the manifest last."""
    manifest, former = (beside(ids_path(place), MANIFEST) for place in (source, path))
    if not (former.exists() and former.read_bytes() == manifest.read_bytes()):
        _remove(stale_paths(path))  # first: until the new manifest is there, the shard is unfinished
    pairs = [
        (file, target) for file, target in zip(paths_of(source), paths_of(path), strict=True) if file.exists()
    ]
    for file, target in [*pairs[::-1], (manifest, former)]:
        if isinstance(target, Path):
            file_locks.replace(file, target)
        elif isinstance(file, Path):
            target.upload(file)
        else:
            file.rename(target)


def _remove(paths: Iterable[AnyPath]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _outputs(path: Path) -> list[Path]:
    """List the existing files of a shard, except its manifest."""
    return [file for file in paths_of(path) if file.exists()]


def _all_files(path: Path) -> list[Path]:
    """List the files of an output in the order to write them: ids after their descriptions, manifest last."""
    manifest = beside(ids_path(path), MANIFEST)
    return [*_outputs(path)[::-1], *([manifest] if manifest.exists() else [])]
