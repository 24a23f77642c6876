"""Merging of shards into one file, byte for byte the file of a single run."""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Sequence
from pathlib import Path

from fastbpe._core.ids.little_endian import pack_offsets
from fastbpe._utils.optional_imports import require_pyarrow
from fastbpe._utils.progress import Progress, Reporter
from fastbpe.corpus.encode_files import FilesSummary
from fastbpe.corpus.remote import is_remote
from fastbpe.corpus.sinks import DTYPES, SUFFIXES, TABLES, Sink, check_absent, ids_path
from fastbpe.corpus.skipping import Skipped
from fastbpe.errors import FormatError
from fastbpe.id_files.blocks import blocks_of, ends_of
from fastbpe.id_files.manifests import check_hashes
from fastbpe.id_files.parts import Part, check_alike, find_parts, read_part


def merge_shards(
    path: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    progress: Progress = None,
    overwrite: bool = False,
) -> FilesSummary:
    """Merge the shards of an output into one file: the bytes that a single run of `encode_files` would write.

    The files of each shard are compared with the hashes in its manifest first. The output appears whole or not at
    all. It may have another format than the shards, and one file is merged, too: that converts it.

    Args:
        path: a folder of shards, the output that they were written for, or one file of ids.
        out: the merged file; its ending chooses the format, as for `encode_files`.
        progress: as for `encode_files`; the phase is "merging", in bytes of ids.
        overwrite: replace an output that exists.

    Raises:
        FormatError: a shard is damaged, or was made by another tokenizer; the message names it.
        FileNotFoundError: a shard is missing.
        FileExistsError: the output exists.
        ValueError: the output is one of the shards, or has another ending.

    >>> import fastbpe, pathlib, tempfile
    >>> tokenizer = fastbpe.Tokenizer.from_merges([], pattern=None)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i, texts in enumerate((["one", "two"], ["three"])):
    ...         _ = tokenizer.write_shard(texts, f"{folder}/a.bin", (i, 2))
    ...     summary = fastbpe.merge_shards(f"{folder}/a.bin", f"{folder}/all.bin", progress=False)
    ...     summary.n_documents, summary.n_ids
    (3, 11)
    """
    started = time.perf_counter()
    if is_remote(out):
        raise FormatError(f"{os.fspath(out)}: merged files are written on this machine; copy the result")
    target = Path(out)
    parts = [read_part(file) for file in find_parts(path)]
    check_alike(parts)
    _check_output(target, parts)
    n_bytes = sum(part.manifest.get("text_bytes", 0) for part in parts)
    about = parts[0].about
    facts = {name: about[name] for name in ("tokenizer", "before", "after") if name in about}
    settings = {"merged": [[os.path.abspath(part.path), part.path.stat().st_mtime_ns] for part in parts]}
    sink = Sink(target, parts[0].dtype, settings)
    if not overwrite and not sink.is_finishing():
        check_absent(target)
    n_item = DTYPES[parts[0].dtype]
    total = sum(part.n_ids for part in parts) * n_item
    with Reporter(progress).phase("merging", total, unit="B", unit_scale=True) as phase:
        for part in parts:
            check_hashes(part)
        with sink.opened(overwrite=True) as done:
            if "finishing" in done:
                sink.move_into_place(done["finishing"])
            else:
                for part in parts:
                    for block in blocks_of(part):
                        sink.append(block, len(block) // n_item, b"")
                        phase.update(len(block))
                    at = sink.n_ids - part.n_ids
                    for ends in ends_of(part):
                        sink.append(b"", 0, pack_offsets(ends, at))
                sink.finish({}, facts)
    skipped = Skipped()
    for part in parts:
        skipped.add(part.manifest.get("skipped", 0), part.manifest.get("first_skipped", ()))
    seconds = time.perf_counter() - started
    return FilesSummary(target, sink.n_documents, sink.n_ids, n_bytes, seconds, skipped.n, (*skipped.first,))


def _check_output(out: Path, parts: Sequence[Part]) -> None:
    """Make all checks that are possible before ids are read."""
    if out.suffix not in SUFFIXES:
        raise ValueError(f"{out}: ids are written to {', '.join(SUFFIXES)} files; give it one of these endings")
    if out.is_dir():
        raise IsADirectoryError(f"{out} is a folder; give the path of a file")
    if not out.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder; make it first", str(out.parent))
    if out.suffix in TABLES:
        require_pyarrow(out)
    if parts[0].dtype not in DTYPES:
        raise FormatError(f"{parts[0].path}: its ids are {parts[0].dtype}; written are {' and '.join(DTYPES)}")
    for part in parts:
        if part.path.resolve() == ids_path(out).resolve():
            raise ValueError(f"{out} is the output and one of the shards; write to another place")
