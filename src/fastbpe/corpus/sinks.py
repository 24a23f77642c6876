"""Writing of ids into files, which appear only when complete; a killed run can resume.

A run appends ids and document offsets to two files in the folder OUT.partial next to the output OUT. There,
`progress.json` says how many ids and documents are safely on the disk. At the end the files become the output: for
.bin, .npy and .idx the sink renames them; for parquet and Arrow it copies them, one row group at a time, because
such a file cannot be appended to. An output NAME.idx means NAME.bin plus Megatron's index.

Files next to a finished file of ids, IDS (a .bin or .npy):

- IDS.offsets: number of documents + 1 offsets, int64, little-endian. The ids of document i are
  ids[offsets[i]:offsets[i + 1]]. The JSON does not contain the offsets: 100 million offsets are 800 MB.
- IDS.json: dtype, number of ids and documents, the tokenizer and more (`id_schemas.ABOUT`).
- NAME.idx, if the output is NAME.idx; and the manifest of a shard. An output that replaces another removes the
  former one's manifest, and its NAME.idx unless the new output writes one.

A parquet or Arrow file has this JSON in its metadata, under the key "fastbpe", without byte order and offsets.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any

from fastbpe._utils import file_locks
from fastbpe._utils.file_statuses import adding_filename
from fastbpe._utils.json_objects import Schema, check_object
from fastbpe._utils.optional_imports import require_pyarrow
from fastbpe._utils.suggestions import choose_one_of
from fastbpe._utils.threads import CallPool
from fastbpe.corpus.id_headers import ID_BYTES, MAX_LLMC_IDS, header_of
from fastbpe.corpus.id_schemas import FINISHING, PROGRESS, RUN
from fastbpe.corpus.remote import AnyPath, P, beside
from fastbpe.corpus.sink_formats import is_megatron_index, write_arrow, write_megatron_index, write_parquet
from fastbpe.errors import FormatError

SUFFIXES = (".bin", ".npy", ".parquet", ".arrow", ".idx")
TABLES = (".parquet", ".arrow")  # suffixes of files that pyarrow writes
MANIFEST = ".manifest.json"  # suffix of the file next to a shard that describes the shard
DTYPES = ID_BYTES  # name → bytes of an id

#: Function of (noted progress, settings of the run that noted it, settings of this run). Returns the part of the
#: progress that this run can use; None if it can use nothing.
ValidProgress = Callable[[dict[str, Any], Mapping[str, Any], Mapping[str, Any]], dict[str, Any] | None]

_OFFSET_BYTES = 8  # bytes of an int64
_AGAIN = "to begin again, pass overwrite=True"


def ids_path(out: P) -> P:
    """Return the path of the file with the ids of an output.

    >>> ids_path(Path("a/train.idx")).as_posix(), ids_path(Path("train.npy")).as_posix()
    ('a/train.bin', 'train.npy')
    """
    return beside(out, out.stem + ".bin") if out.suffix == ".idx" else out


def paths_of(out: P) -> list[P]:
    """List the files of an output: first the file of ids, then the files that describe it."""
    ids = ids_path(out)
    endings = () if out.suffix in TABLES else (".offsets", ".json")
    return [ids, *(beside(ids, ids.name + ending) for ending in endings), *([out] if ids != out else [])]


def stale_paths(out: P) -> list[P]:
    """List the files next to an output that describe an earlier output and will not be replaced."""
    ids = ids_path(out)
    manifest, index = beside(ids, ids.name + MANIFEST), beside(ids, ids.stem + ".idx")
    found = [manifest] if manifest.exists() else []
    if ids.suffix == ".bin" and index != out and is_megatron_index(index):
        found.append(index)
    return found


def check_suffix(out: AnyPath) -> None:
    """Raise ValueError unless the extension of an output is one of SUFFIXES."""
    if out.suffix not in SUFFIXES:
        raise ValueError(f"{out}: ids are written to {', '.join(SUFFIXES)} files; use one of these extensions")


def check_output(out: AnyPath) -> None:
    """Raise an error for a path to which ids cannot be written.

    The extension is not one of SUFFIXES, the path is a folder, its parent folder does not exist, or the format
    needs pyarrow, which is not installed.
    """
    check_suffix(out)
    if out.is_dir():
        raise IsADirectoryError(f"{out} is a folder; pass the path of a file")
    if out.suffix in TABLES:
        require_pyarrow(out, out.suffix[1:])
    if isinstance(out, Path) and not out.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "no such folder; create it first", str(out.parent))


def check_absent(out: AnyPath) -> None:
    """Raise FileExistsError if a file of an output exists, or an old file that would describe its ids wrongly."""
    for name in paths_of(out):
        if name.exists():
            raise FileExistsError(f"{name} exists; to replace it, pass overwrite=True")
    for name in stale_paths(out):
        raise FileExistsError(f"{name} exists and describes other ids; to remove it, pass overwrite=True")


class Sink:
    """Output of one run that writes ids, such as a run of `encode_files`.

    A run calls `opened`, then `append` and `note` many times, and `finish` at the end.

    Args:
        dtype: str – one of DTYPES.
        settings: dict that identifies the run. If the unfinished output has other settings, `opened` raises
            Mismatch.
        valid_progress: function that tells how much of an output with other settings this run can use; by default
            nothing.
        header: str or None – one of HEADERS, in front of the ids of a .bin.
        n_threads: int – threads that `note` may use; 1: only the calling one.

    Attributes:
        folder: Path – the folder of the unfinished output.
        n_ids, n_documents: int – numbers of ids and of documents that this run and the runs that it resumes
            appended.
    """

    def __init__(
        self,
        out: Path,
        dtype: str,
        settings: Mapping[str, Any],
        valid_progress: ValidProgress = lambda *_: None,
        *,
        header: str | None = None,
        n_threads: int = 1,
    ) -> None:
        self.out = out
        self.folder = out.with_name(out.name + ".partial")
        self._dtype = dtype
        self._header = header
        self._n_header_bytes = len(header_of(out.suffix, header, dtype, 0))
        self._settings = json.loads(json.dumps(settings))  # tuples become lists, as in run.json
        self._valid_progress = valid_progress
        self._n_threads = n_threads
        self.n_ids = self.n_documents = 0

    def is_finishing(self) -> bool:
        """Tell whether this run wrote all ids before, and was interrupted while it moved the files into place."""
        progress = self._read_progress()
        return "finishing" in progress and progress.get("run") == self._settings

    # Beginning

    @contextlib.contextmanager
    def opened(self, *, overwrite: bool) -> Iterator[dict[str, Any]]:
        """Open the files for appending. A run that fails before it has appended anything leaves no files.

        overwrite: remove an unfinished output that has other settings or is damaged, instead of raising an error.

        Returns:
            The last noted progress, as far as this run can use it; {} for a new run.

        Raises:
            Mismatch: there is unfinished output of a run with other settings.
            FormatError: the unfinished output is damaged.
            BlockingIOError: another process is writing this output.
        """
        with _locked(self.folder):
            progress = self._progress(overwrite=overwrite)
            self.n_ids, self.n_documents = progress.get("n_ids", 0), progress.get("n_documents", 0)
            if "finishing" in progress:
                yield progress
                return
            try:
                with self._appendable("ids") as ids, self._appendable("offsets") as offsets:
                    self._ids, self._offsets = ids, offsets
                    ids.truncate(self._n_header_bytes + self.n_ids * DTYPES[self._dtype] if progress else 0)
                    offsets.truncate(_OFFSET_BYTES * (self.n_documents + 1) if progress else 0)
                    ids.seek(0, os.SEEK_END)
                    offsets.seek(0, os.SEEK_END)
                    if not progress:
                        ids.write(bytes(self._n_header_bytes))
                        offsets.write(bytes(_OFFSET_BYTES))
                    yield progress
            except BaseException:  # also Ctrl-C, which may come before the first batch is written
                if not self.n_ids and not self.n_documents:
                    with contextlib.suppress(OSError):  # do not hide the first error
                        self._clear()
                raise

    @contextlib.contextmanager
    def _appendable(self, name: str) -> Iterator[IO[bytes]]:
        """Open a file of the folder, without truncating it."""
        path = self.folder / name
        file = open(path, "r+b" if path.exists() else "w+b")  # noqa: SIM115
        try:
            yield file
        except BaseException:  # also Ctrl-C: the first error is raised, not the one of close()
            with contextlib.suppress(OSError):  # close() flushes again what a full disk refused before
                file.close()
            raise
        file.close()

    def _progress(self, *, overwrite: bool) -> dict[str, Any]:
        """Read the progress to resume from, and prepare the folder for this run."""
        try:
            progress = self._read_progress()
            former = progress.pop("run", None) or self._read("run.json", RUN)  # settings of the unfinished run
        except FormatError:
            if not overwrite:
                raise
            progress, former = {}, {}
        if former is not None:
            differing = [name for name, value in self._settings.items() if former.get(name) != value]
            if not differing:
                with contextlib.suppress(*([FormatError] if overwrite else ())):  # damaged: removed below
                    return self._checked(progress)
            is_finishing = "finishing" in progress
            # If nothing was noted, a resumed run would drop all ids anyway.
            overwrite |= not is_finishing and not progress.get("n_ids") and not progress.get("n_documents")
            valid = None if overwrite or is_finishing else self._valid_progress(progress, former, self._settings)
            if valid is not None:
                # before run.json changes: this progress is valid for the former settings too
                self._replace("progress.json", valid)
                self._replace("run.json", self._settings)
                return self._checked(valid)
            if not overwrite:
                raise Mismatch(self.folder, differing, former, self._settings)
        for path in list(self.folder.iterdir()):  # even without run.json: progress.json may be another run's
            if path.name != "lock":
                path.unlink()
        # Not synced: if the machine crashes and loses this file, the run counts as not begun.
        os.replace(self._put("run.json.new", self._settings), self.folder / "run.json")
        return {}

    # Appending

    def append(self, ids: bytes | bytearray | memoryview, n_ids: int, ends: bytes | bytearray) -> None:
        """Append ids and ends of documents.

        Args:
            ids: n_ids ids in the dtype of the output, little-endian.
            ends: a little-endian int64 for each document that ends: the number of ids of the output up to there.

        Raises:
            FormatError: more ids than llm.c's header can count.
        """
        if self._header == "llm.c" and self.n_ids + n_ids > MAX_LLMC_IDS:
            raise FormatError(
                f"{self.out}: more than {MAX_LLMC_IDS:,} ids, which llm.c's header cannot count; write shards "
                "(shard=)"
            )
        with adding_filename(self.folder):
            self._ids.write(ids)
            self._offsets.write(ends)
        self.n_ids += n_ids
        self.n_documents += len(ends) // _OFFSET_BYTES

    def write_out(self) -> None:
        """Write appended ids to the disk (fsync), so that the next `note` does not have to wait for them.

        Runs in another thread, with a separate file descriptor: the system reports a write error once per
        descriptor, and `note` must also see the error.
        """
        _sync(self.folder / "ids")

    def note(self, progress: Mapping[str, Any]) -> None:
        """Store the progress on the disk: after a crash of process or machine, a run can resume from here.

        progress: the caller's position in the inputs; n_ids and n_documents are added to it.
        """
        counts = {"n_ids": self.n_ids, "n_documents": self.n_documents}
        noted = self._put("progress.json.new", {**progress, **counts})
        with adding_filename(self.folder):
            self._ids.flush()
            self._offsets.flush()
            syncs = [partial(os.fsync, file.fileno()) for file in (self._ids, self._offsets)]
            syncs += [partial(_sync, path) for path in (self.folder / "json", noted) if path.exists()]
            # All at the same time: the file system then writes its journal once, not once per file.
            with CallPool(len(syncs) - 1 if self._n_threads > 1 else 0) as pool:
                for done in [pool.submit(sync) for sync in syncs]:
                    pool.result(done)
        os.replace(noted, self.folder / "progress.json")

    def _replace(self, name: str, value: Mapping[str, Any]) -> None:
        """Replace a JSON file of the folder atomically, and sync it."""
        put = self._put(name + ".new", value)
        _sync(put)
        os.replace(put, self.folder / name)

    def _put(self, name: str, value: Mapping[str, Any]) -> Path:
        """Write a JSON file of the folder, without a sync."""
        path = self.folder / name
        with adding_filename(self.folder):
            path.write_text(json.dumps(value), encoding="utf-8")
        return path

    def _read_progress(self) -> dict[str, Any]:
        """Read the last noted progress; {} before the first note."""
        progress = self._read("progress.json", PROGRESS)
        if progress is None:
            return {}
        place = f"{self.folder / 'progress.json'}"
        for name, schema in (("earlier", PROGRESS), ("finishing", FINISHING), ("run", RUN)):
            if progress.get(name) is not None:  # null means the same as a missing key
                check_object(progress[name], schema, place, _AGAIN, f"{name}.")
        done = progress.get("finishing") or {"count": progress["n_ids"], "documents": progress["n_documents"]}
        if (done["count"], done["documents"]) != (progress["n_ids"], progress["n_documents"]):
            raise FormatError(
                f"{place}: the counts in 'finishing' differ from 'n_ids' and 'n_documents'; {_AGAIN}"
            )
        if progress.get("earlier") is not None:
            progress["earlier"] = _without_nulls(progress["earlier"])
        return _without_nulls(progress)

    def _checked(self, progress: dict[str, Any]) -> dict[str, Any]:
        """Return the progress. Raises FormatError if files are shorter than it says: resuming would add zeros."""
        if not progress or "finishing" in progress:
            return progress
        for name, n_bytes in (
            ("ids", self._n_header_bytes + progress["n_ids"] * DTYPES[self._dtype]),
            ("offsets", _OFFSET_BYTES * (progress["n_documents"] + 1)),
        ):
            path = self.folder / name
            if (size := path.stat().st_size if path.exists() else 0) < n_bytes:
                raise FormatError(
                    f"{path}: the file has {size} bytes, fewer than the {n_bytes} in progress.json; {_AGAIN}"
                )
        return progress

    def _read(self, name: str, schema: Schema) -> dict[str, Any] | None:
        """Read a JSON file of the folder; None if it is missing or incomplete."""
        path = self.folder / name
        try:
            value = json.loads(path.read_bytes())
        except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
            return None  # incomplete, if the machine crashed before the file was on the disk
        check_object(value, schema, str(path), _AGAIN)
        return value  # type: ignore[no-any-return]

    # The end

    def finish(
        self, progress: Mapping[str, Any], facts: Mapping[str, Any], at_end: Callable[[], object] = lambda: None
    ) -> None:
        """Turn the appended files into the output.

        Completes these files, and then notes "finishing". If the run is interrupted after that, a later run
        calls `move_into_place`.

        facts: more content of the output's JSON.
        """
        about = {"dtype": self._dtype, "count": self.n_ids, "documents": self.n_documents, **facts}
        if self._header is not None:
            about["header"] = self._header
        if self._n_header_bytes:
            self._ids.seek(0)
            self._ids.write(header_of(self.out.suffix, self._header, self._dtype, self.n_ids))
        if self.out.suffix not in TABLES:
            offsets = ids_path(self.out).name + ".offsets"
            self._put("json", {**about, "byte_order": "little", "offsets": offsets})
        # progress.json gets the settings of the run, so that it alone identifies the run and can be removed last.
        self.note({**progress, "finishing": about, "run": self._settings})
        self._ids.close()
        self._offsets.close()
        self.move_into_place(about, at_end)

    def move_into_place(self, about: Mapping[str, Any], at_end: Callable[[], object] = lambda: None) -> None:
        """Move the finished files into place. After an interruption it can be called again.

        Args:
            about: content of the output's JSON.
            at_end: function to call when the output is in place, before the run counts as finished.
        """
        ids, offsets, out = self.folder / "ids", self.folder / "offsets", ids_path(self.out)
        if ids.exists():
            for path in stale_paths(self.out):
                path.unlink()  # first: the file describes the former ids
        if out.suffix in TABLES:
            if ids.exists():
                write = write_parquet if out.suffix == ".parquet" else write_arrow
                write(self.folder / "table", ids, offsets, about)
                _sync(self.folder / "table")
                file_locks.replace(self.folder / "table", out)
                ids.unlink()
        elif ids.exists():
            if self.out != out and offsets.exists():
                write_megatron_index(self.folder / "idx", offsets, self._dtype)
                _sync(self.folder / "idx")
                file_locks.replace(self.folder / "idx", self.out)
            if offsets.exists():
                file_locks.replace(offsets, out.with_name(out.name + ".offsets"))
            if (described := self.folder / "json").exists():
                file_locks.replace(described, out.with_name(out.name + ".json"))
            file_locks.replace(ids, out)  # last: while they are in the folder, a restarted run moves the others
        # A run that restarts after this line finds no ids, calls at_end, and removes the folder.
        at_end()
        self._clear()

    def _clear(self) -> None:
        """Remove the folder. progress.json is removed last, since it identifies the run."""
        for path in list(self.folder.iterdir()):
            if path.name != "progress.json" and not (path.name == "lock" and file_locks.keeps_open_files()):
                path.unlink()
        (self.folder / "progress.json").unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # another run may have begun here since the lock file was removed
            self.folder.rmdir()


class Mismatch(Exception):
    """Error for an unfinished output of a run with other settings.

    Attributes:
        folder: Path – the folder of the unfinished output.
        differing: list of (name, value there, value in this run) – the settings that differ.
    """

    def __init__(
        self, folder: Path, differing: list[str], before: Mapping[str, Any], now: Mapping[str, Any]
    ) -> None:
        super().__init__(folder, differing)
        self.folder = folder
        self.differing = [(name, before.get(name), now[name]) for name in differing]


def _without_nulls(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _sync(path: Path) -> None:
    with open(path, "rb+") as file, adding_filename(path):
        os.fsync(file.fileno())


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Create a folder, and lock it against other processes within the context.

    Raises:
        BlockingIOError: another run is writing into the folder.
    """
    folder.mkdir(exist_ok=True)
    if not file_locks.has_locks():
        yield
        return
    try:
        with open(folder / "lock", "wb") as file:
            if not _is_own(file):
                raise BlockingIOError(errno.EAGAIN, "another run is writing here; wait until it ends", str(folder))
            yield
    finally:
        if file_locks.keeps_open_files():
            _remove_lock_alone(folder)


def _is_own(file: IO[bytes]) -> bool:
    """Lock a file. Returns False if another run has it. A file system without locks keeps no run away."""
    try:
        file_locks.lock(file.fileno())
        # Another run may have ended and removed the file between open and lock.
        return os.path.samestat(os.fstat(file.fileno()), os.stat(file.name))
    except (BlockingIOError, FileNotFoundError):
        return False
    except OSError:
        return True


def _remove_lock_alone(folder: Path) -> None:
    """Remove a folder that contains only its lock. If another run holds the lock, keep the folder."""
    with contextlib.suppress(OSError):
        if [path.name for path in folder.iterdir()] == ["lock"]:
            (folder / "lock").unlink()
            folder.rmdir()


def choose_dtype(dtype: str | None, n_vocab: int) -> str:
    """Choose the type of the ids in an output.

    Args:
        dtype: str or None – type that the caller wants; None: the smallest type that fits all ids.
        n_vocab: int – greatest id + 1.

    Returns:
        One of DTYPES.

    Raises:
        ValueError: the type is not one that files of ids may have, or it is too small.

    >>> choose_dtype(None, 50257)
    'uint16'
    """
    if dtype not in (None, *DTYPES):
        raise ValueError(choose_one_of("dtype", dtype, DTYPES, ", or None"))
    if dtype == "uint16" and n_vocab > 1 << 16:
        raise ValueError(f'dtype="uint16" is too small for the id {n_vocab - 1}: choose "uint32"')
    return dtype or ("uint16" if n_vocab <= 1 << 16 else "uint32")
