"""Merging of shards and of finished runs into one file, which equals the file of a single run byte for byte."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from fastbpe._core.ids.little_endian import pack_offsets
from fastbpe._utils.choices import Header
from fastbpe._utils.progress import Progress, Reporter
from fastbpe._utils.warn import warn
from fastbpe.corpus.file_encoding import FilesSummary
from fastbpe.corpus.id_headers import check_header
from fastbpe.corpus.listing import Path_
from fastbpe.corpus.remote import is_remote
from fastbpe.corpus.sinks import DTYPES, TABLES, Sink, check_absent, check_output, ids_path
from fastbpe.corpus.skipping import Skipped
from fastbpe.errors import FormatError, FormatWarning
from fastbpe.id_files.blocks import KnownIds, ends_of
from fastbpe.id_files.manifests import check_hashes
from fastbpe.id_files.parts import SUFFIXES as MAPPED
from fastbpe.id_files.parts import Part, check_like, find_parts, read_part

_UNSIGNED = {"int16": "uint16", "int32": "uint32"}  # dtypes in which an id, never negative, has the same bytes


def merge_shards(
    path: Path_ | Iterable[Path_],
    out: str | os.PathLike[str],
    *,
    progress: Progress = None,
    overwrite: bool = False,
    header: Header | None = None,
) -> FilesSummary:
    """Merge shards, or finished runs of one tokenizer, into the file that a single run would write.

    Documents keep their order. Files with a manifest are compared with its hashes first. If the files record the
    tokenizer, an id above the greatest one of its vocabulary is an error. A run that fails writes no
    output, and leaves at most the folder OUT.partial; a file that it was to replace stays. The output may have
    another format than the inputs; merging one file converts it.

    Args:
        path: a folder of shards; or the path that was passed as out= to the calls of `encode_files` or
            `write_shard` that wrote shards; or one file of ids (.bin, .idx, .npy, .parquet, .arrow); or a list of
            these, joined in its order.
        out: the merged file; its extension sets the format, as for `encode_files`.
        progress: as for `encode_files`; the phase is "merging", in bytes of ids.
        overwrite: replace an output that exists.
        header: as for `encode_files`.

    Raises:
        FormatError: a file is damaged, was made by another tokenizer or with other ids around documents, or has
            ids of a dtype that cannot be written; the message names it. Or the output is a URL.
        FileNotFoundError: a file, a shard or the folder of the output is missing.
        FileExistsError: the output exists.
        ValueError: the output is one of the inputs, its extension is not known, or there are no inputs.
        ImportError: a file is parquet or Arrow, and pyarrow is not installed.

    >>> import fastbpe, pathlib, tempfile
    >>> tokenizer = fastbpe.Tokenizer.from_merges([], pattern=None)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for i, texts in enumerate((["one", "two"], ["three"])):
    ...         _ = fastbpe.write_shard(tokenizer, texts, f"{folder}/a.bin", (i, 2))
    ...     summary = fastbpe.merge_shards(f"{folder}/a.bin", f"{folder}/all.bin", progress=False)
    ...     twice = [f"{folder}/a-00001-of-00002.bin", f"{folder}/all.bin"]
    ...     joined = fastbpe.merge_shards(twice, f"{folder}/more.npy", progress=False)
    ...     summary.n_documents, summary.n_ids, joined.n_documents
    (3, 11, 4)
    """
    started = time.perf_counter()
    if is_remote(out):
        raise FormatError(
            f"{os.fspath(out)}: the merged file must be on this machine; write to a local path, then copy the file"
        )
    target = Path(out)
    check_header(header, target)
    parts = _parts_of([path] if isinstance(path, (str, os.PathLike)) else [*path])
    _check_output(target, parts)
    dtype = _UNSIGNED.get(parts[0].dtype, parts[0].dtype)
    n_bytes = sum(part.manifest.get("text_bytes", 0) for part in parts)
    about = parts[0].about
    facts = {name: about[name] for name in ("tokenizer", "before", "after") if name in about}
    settings = {
        "merged": [[os.path.abspath(part.path), part.path.stat().st_mtime_ns] for part in parts],
        "header": header,
    }
    sink = Sink(target, dtype, settings, header=header)
    if not overwrite and not sink.is_finishing():
        check_absent(target)
    n_item = DTYPES[dtype]
    total = sum(part.n_ids for part in parts) * n_item
    known = KnownIds((about.get("tokenizer") or {}).get("n_vocab"))  # the files record no gaps between its ids
    with Reporter(progress).phase("merging", total, unit="B", unit_scale=True) as phase:
        for part in parts:
            check_hashes(part)
        with sink.opened(overwrite=True) as done:
            if "finishing" in done:
                sink.move_into_place(done["finishing"])
            else:
                for part in parts:
                    for block in known.check(part):
                        sink.append(block, len(block) // n_item, b"")
                        phase.update(len(block))
                    first_id = sink.n_ids - part.n_ids  # position of the part's first id in the output
                    for ends in ends_of(part):
                        sink.append(b"", 0, pack_offsets(ends, first_id))
                sink.finish({}, facts)
    skipped = Skipped()
    for part in parts:
        skipped.add(part.manifest.get("skipped", 0), part.manifest.get("first_skipped", ()))
    seconds = time.perf_counter() - started
    return FilesSummary(target, sink.n_documents, sink.n_ids, n_bytes, seconds, skipped.n, (*skipped.first,))


def _parts_of(paths: Sequence[Path_]) -> list[Part]:
    """Describe the files of all inputs, in order, and check that they can be joined. Warns of files given twice.

    Raises:
        FormatError: a file is damaged, or does not match the first one.
        ValueError: there are no files.
    """
    parts: list[Part] = []
    for path in paths:
        found = [read_part(file) for file in find_parts(path, (*MAPPED, *TABLES))]
        for part in found:
            check_like(part, found[0])
            check_like(part, (parts or found)[0], is_same_run=False)
        if twice := {part.path.resolve() for part in parts} & {part.path.resolve() for part in found}:
            said = f"{min(twice)} is given twice, so the output contains its documents twice"
            warn(said, FormatWarning)
        parts += found
    if not parts:
        raise ValueError("no files to merge: the list of paths is empty")
    return parts


def _check_output(out: Path, parts: Sequence[Part]) -> None:
    """Do all checks that are possible before reading ids."""
    check_output(out)
    if parts[0].dtype not in (*DTYPES, *_UNSIGNED):
        raise FormatError(
            f"{parts[0].path}: its ids are {parts[0].dtype}; only {' and '.join(DTYPES)} can be written"
        )
    for part in parts:
        if part.path.resolve() == ids_path(out).resolve():
            raise ValueError(f"{out} is both the output and an input; choose another output")
