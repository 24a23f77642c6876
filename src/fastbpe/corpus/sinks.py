"""Where ids go: .bin, .npy and parquet files that appear whole or not at all, whatever stops the writing.

Ids and document offsets are appended to two files in a folder beside the output, NAME.partial; what has been
written safely is noted there in a small JSON. At the end they become the output: for .bin and .npy they are
renamed; for parquet they are copied, row group by row group, since a parquet file cannot be appended to.

What a finished .bin or .npy has beside it:

- NAME.offsets: little-endian int64, one more than there are documents: the ids of document i are those from
  offsets[i] to offsets[i + 1]. A file of its own, for 100 million of them are 800 MB, which no JSON should be.
- NAME.json: what the two hold, and by which tokenizer.

A parquet file holds the same JSON as its metadata, under "fastbpe".
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from fastbpe._utils.optional_imports import require_pyarrow

SUFFIXES = (".bin", ".npy", ".parquet")
DTYPES = {"uint16": 2, "uint32": 4}  # and their bytes

#: Of progress, the settings it was made with, and others: the progress that holds for these too, or None.
Kept = Callable[[dict[str, Any], Mapping[str, Any], Mapping[str, Any]], dict[str, Any] | None]

_NPY_HEADER = 128  # bytes, as numpy writes for any shape of one dimension
_ROW_GROUP_IDS, _ROW_GROUP_ROWS = 1 << 22, 1 << 16

try:
    import fcntl
except ImportError:  # Windows: the caller sees to it that there is one writer
    fcntl = None  # type: ignore[assignment]


class Sink:
    """The unfinished output of one run, and its end.

    A run is known by `settings`: one that finds the output of another is refused by `Mismatch`, unless `kept` says
    how much of it holds for this one too.
    """

    def __init__(self, out: Path, dtype: str, settings: Mapping[str, Any], kept: Kept = lambda *_: None) -> None:
        self.out = out
        self.folder = out.with_name(out.name + ".partial")
        self._dtype = dtype
        self._header = _NPY_HEADER if out.suffix == ".npy" else 0
        self._settings = json.loads(json.dumps(settings))  # as it comes back
        self._kept = kept
        self.n_ids = self.n_documents = 0

    def places(self) -> list[Path]:
        """The files that it ends in."""
        beside = () if self.out.suffix == ".parquet" else (".offsets", ".json")
        return [self.out, *(self.out.with_name(self.out.name + ending) for ending in beside)]

    def is_finishing(self) -> bool:
        """Whether an earlier run had written everything and was about to put it in its place."""
        return "finishing" in (self._read("progress.json") or {})

    # Beginning

    @contextlib.contextmanager
    def begun(self, *, afresh: bool) -> Iterator[dict[str, Any]]:
        """The files open for appending, and the progress noted last ({} for a new run).

        afresh: throw away what an unfinished run with other settings has left, rather than raise Mismatch. A run
        that ends by an error before anything is appended leaves nothing.
        """
        with _locked(self.folder):
            progress = self._progress(afresh=afresh)
            self.n_ids, self.n_documents = progress.get("n_ids", 0), progress.get("n_documents", 0)
            if "finishing" in progress:
                yield progress
                return
            try:
                with self._appendable("ids") as ids, self._appendable("offsets") as offsets:
                    self._ids, self._offsets = ids, offsets
                    ids.truncate(self._header + self.n_ids * DTYPES[self._dtype] if progress else 0)
                    offsets.truncate(8 * (self.n_documents + 1) if progress else 0)
                    ids.seek(0, os.SEEK_END)
                    offsets.seek(0, os.SEEK_END)
                    if not progress:
                        ids.write(bytes(self._header))
                        offsets.write(bytes(8))
                    yield progress
            except BaseException:
                if not self.n_ids and not self.n_documents:
                    with contextlib.suppress(OSError):  # the error that is on its way says more
                        self._clear()
                raise

    @contextlib.contextmanager
    def _appendable(self, name: str) -> Iterator[IO[bytes]]:
        path = self.folder / name
        file = open(path, "r+b" if path.exists() else "w+b")  # noqa: SIM115
        try:
            yield file
        except BaseException:
            with contextlib.suppress(OSError):  # as when what was not written before is tried once more
                file.close()
            raise
        file.close()

    def _progress(self, *, afresh: bool) -> dict[str, Any]:
        progress = self._read("progress.json") or {}
        noted = progress.pop("run", None) or self._read("run.json")
        if noted is not None:
            differing = [name for name, value in self._settings.items() if noted.get(name) != value]
            if not differing:
                return progress
            is_finishing = "finishing" in progress
            has_nothing = not is_finishing and not progress.get("n_ids") and not progress.get("n_documents")
            afresh = afresh or has_nothing  # what was appended and not noted is no loss: no run goes on from it
            kept = None if afresh or is_finishing else self._kept(progress, noted, self._settings)
            if kept is not None:
                self._replace("progress.json", kept)  # first: it holds for the former settings as well
                self._replace("run.json", self._settings)
                return kept
            if not afresh:
                raise Mismatch(self.folder, differing, noted, self._settings)
            for path in list(self.folder.iterdir()):
                if path.name != "lock":
                    path.unlink()
        # Lost with the machine, it is as if the run had never begun.
        os.replace(self._put("run.json.new", self._settings), self.folder / "run.json")
        return {}

    # Going on

    def append(self, ids: bytes | bytearray | memoryview, n_ids: int, ends: bytes | bytearray) -> None:
        """Append ids, and where documents end in all that was appended, both as the files have them."""
        with _naming(self.folder):
            self._ids.write(ids)
            self._offsets.write(ends)
        self.n_ids += n_ids
        self.n_documents += len(ends) // 8

    def write_out(self) -> None:
        """Have the disk take what was appended, so that a note need not wait. For a thread of its own."""
        _sync(self.folder / "ids")  # as a file of its own: each is told of an error once, and a note must be

    def note(self, progress: Mapping[str, Any]) -> None:
        """Note how far the run has come: it can go on from here, whatever happens to the process or machine."""
        counts = {"n_ids": self.n_ids, "n_documents": self.n_documents}
        noted = self._put("progress.json.new", {**progress, **counts})
        with _naming(self.folder):
            self._ids.flush()
            self._offsets.flush()
            # One after the other, but written before: of fsyncs in a row only the first waits for the disk.
            os.fsync(self._ids.fileno())
            os.fsync(self._offsets.fileno())
        for path in (self.folder / "json", noted):
            if path.exists():
                _sync(path)
        os.replace(noted, self.folder / "progress.json")

    def _replace(self, name: str, value: Mapping[str, Any]) -> None:
        put = self._put(name + ".new", value)
        _sync(put)
        os.replace(put, self.folder / name)

    def _put(self, name: str, value: Mapping[str, Any]) -> Path:
        path = self.folder / name
        with _naming(self.folder):
            path.write_text(json.dumps(value), encoding="utf-8")
        return path

    def _read(self, name: str) -> dict[str, Any] | None:
        try:
            return json.loads((self.folder / name).read_bytes())  # type: ignore[no-any-return]
        except (FileNotFoundError, NotADirectoryError):
            return None
        except ValueError:  # the machine stopped before the disk had it
            return None

    # The end

    def finish(self, progress: Mapping[str, Any], facts: Mapping[str, Any]) -> None:
        """Make the output of what was appended. facts: what its JSON says besides.

        It is noted first that this has begun, so that a run that is stopped in between can call `settle`.
        """
        about = {"dtype": self._dtype, "count": self.n_ids, "documents": self.n_documents, **facts}
        if self._header:
            self._ids.seek(0)
            self._ids.write(_npy_header(self._dtype, self.n_ids))
        if self.out.suffix != ".parquet":
            self._put("json", {**about, "byte_order": "little", "offsets": self.out.name + ".offsets"})
        # With all that tells whose it is, so that this one file can go last.
        self.note({**progress, "finishing": about, "run": self._settings})
        self._ids.close()
        self._offsets.close()
        self.settle(about)

    def settle(self, about: Mapping[str, Any]) -> None:
        """Put what is finished in its place. May be called again after any interruption of itself."""
        ids, offsets, out = self.folder / "ids", self.folder / "offsets", self.out
        if out.suffix == ".parquet":
            if ids.exists():
                _write_parquet(self.folder / "parquet", ids, offsets, about)
                os.replace(self.folder / "parquet", out)
                ids.unlink()
        elif ids.exists():
            beside = out.with_name(out.name + ".offsets")
            if offsets.exists():
                os.replace(offsets, beside)
            if (described := self.folder / "json").exists():
                os.replace(described, out.with_name(out.name + ".json"))
            os.replace(ids, out)
        # From here on a restarted run finds no ids, and only clears up.
        self._clear()

    def _clear(self) -> None:
        for path in list(self.folder.iterdir()):
            if path.name != "progress.json":
                path.unlink()
        (self.folder / "progress.json").unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # another run may have begun here, as soon as there was no lock
            self.folder.rmdir()


class Mismatch(Exception):
    """An unfinished run was made with other settings. differing: their names, with what was and what is."""

    def __init__(
        self, folder: Path, differing: list[str], before: Mapping[str, Any], now: Mapping[str, Any]
    ) -> None:
        super().__init__(folder, differing)
        self.folder = folder
        self.differing = [(name, before.get(name), now[name]) for name in differing]


def _sync(path: Path) -> None:
    with open(path, "rb+") as file:
        os.fsync(file.fileno())


@contextlib.contextmanager
def _naming(folder: Path) -> Iterator[None]:
    """Errors of files that are open, as of a full disk, do not say where: let them name the folder."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or os.fspath(folder)
        raise


@contextlib.contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Make a folder, and let nobody else write there while this process lives."""
    folder.mkdir(exist_ok=True)
    if fcntl is None:
        yield
        return
    with open(folder / "lock", "wb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(file.fileno()), os.stat(file.name)):  # of a run that has just ended
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), file.name)
        except OSError as error:
            raise BlockingIOError(error.errno, "another run is writing here; wait for it", str(folder)) from None
        yield


def _npy_header(dtype: str, n: int) -> bytes:
    """What numpy.save writes before n items; of one length, so that it can be filled in at the end."""
    said = f"{{'descr': '<u{DTYPES[dtype]}', 'fortran_order': False, 'shape': ({n},), }}"
    length = _NPY_HEADER - 10
    return b"\x93NUMPY\x01\x00" + length.to_bytes(2, "little") + said.ljust(length - 1).encode() + b"\n"


def choose_dtype(dtype: str | None, n_vocab: int) -> str:
    """What ids below n_vocab are written as. Raises ValueError for what cannot hold them."""
    if dtype not in (None, *DTYPES):
        raise ValueError(f"dtype={dtype!r}: choose one of {', '.join(map(repr, DTYPES))}, or None")
    if dtype == "uint16" and n_vocab > 1 << 16:
        raise ValueError(f'dtype="uint16" holds ids up to 65535, not {n_vocab - 1}: choose "uint32"')
    return dtype or ("uint16" if n_vocab <= 1 << 16 else "uint32")


def _write_parquet(path: Path, ids: Path, offsets: Path, about: Mapping[str, Any]) -> None:
    """A row a document, with the column input_ids: lists of uint16 or uint32."""
    arrow = require_pyarrow(path)
    item = arrow.field("element", getattr(arrow, str(about["dtype"]))(), nullable=False)
    schema = arrow.schema([arrow.field("input_ids", arrow.large_list(item), nullable=False)])
    # In arrow's memory lists may be large; without its schema in the file they are read back as plain ones.
    with (
        arrow.parquet.ParquetWriter(path, schema, store_schema=False, compression="zstd") as writer,
        open(ids, "rb") as id_file,
    ):
        for starts in _row_groups(offsets):
            n_ids = starts[-1] - starts[0]
            data = arrow.py_buffer(id_file.read(n_ids * DTYPES[about["dtype"]]))
            values = arrow.Array.from_buffers(item.type, n_ids, [None, data])
            ends = arrow.py_buffer(array("q", [start - starts[0] for start in starts]))
            rows = arrow.LargeListArray.from_buffers(
                schema.field(0).type, len(starts) - 1, [None, ends], children=[values]
            )
            writer.write_table(arrow.Table.from_arrays([rows], schema=schema))
        writer.add_key_value_metadata({"fastbpe": json.dumps(about)})


def _row_groups(path: Path) -> Iterator[Sequence[int]]:
    """Where the documents of each row group begin and its last ends; a document that is too long is one alone."""
    with open(path, "rb") as file:
        starts = array("q")
        while True:
            block = array("q", file.read(8 * (_ROW_GROUP_ROWS + 1 - len(starts))))
            if sys.byteorder == "big":
                block.byteswap()
            starts += block
            if len(starts) < 2:
                return
            n_rows = max(bisect_right(starts, starts[0] + _ROW_GROUP_IDS) - 1, 1)
            yield starts[: n_rows + 1]
            starts = starts[n_rows:]
