"""Paths of remote files (s3://, gs://, hf:// and so on), read and written through fsspec.

A `RemotePath` has the methods of pathlib.Path that reading text and writing ids need. fsspec is optional, and
imported when a remote path is used.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import os
import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any, Protocol, TypeVar, cast

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.optional_imports import require_fsspec
from fastbpe._utils.own_places import own_folder

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")  # at least two characters: C:// is a drive


class Stat(NamedTuple):
    """Facts about a remote file or a part of a file, under the names of os.stat_result.

    st_size: int – size in bytes; for a part of a table, in rows.
    st_mtime_ns: int – a number that differs for each version of the file; for a remote file, not a time.
    """

    st_size: int
    st_mtime_ns: int


class RemotePath(os.PathLike[str]):
    """A remote file or folder, accessed through fsspec.

    >>> path = RemotePath("s3://bucket/corpus/a.txt.gz")
    >>> path.name, path.suffix, path.suffixes, str(path.with_name("b.bin"))
    ('a.txt.gz', '.gz', ['.txt', '.gz'], 's3://bucket/corpus/b.bin')
    """

    def __init__(self, url: str) -> None:
        self.url = url
        scheme, _, rest = url.partition("://")
        self._scheme, self._path = scheme, PurePosixPath(rest)
        self.name, self.stem = self._path.name, self._path.stem
        self.suffix, self.suffixes = self._path.suffix, self._path.suffixes
        self.parts = (scheme, *self._path.parts)

    def __str__(self) -> str:
        return self.url

    @property
    def address(self) -> str:
        """Return the URL, which is the same on every machine."""
        return self.url

    def __repr__(self) -> str:
        return f"RemotePath({self.url!r})"

    def __fspath__(self) -> str:
        return self.url

    def __eq__(self, other: object) -> bool:
        return isinstance(other, RemotePath) and self.url == other.url

    def __hash__(self) -> int:
        return hash(self.url)

    def with_name(self, name: str) -> RemotePath:
        return RemotePath(f"{self._scheme}://{self._path.with_name(name)}")

    def with_suffix(self, suffix: str) -> RemotePath:
        return self.with_name(self.stem + suffix)

    def resolve(self) -> RemotePath:
        """Return the path itself: remote paths have no links."""
        return self

    def exists(self) -> bool:
        with self._accessed() as (files, place):
            return bool(files.exists(place))

    def is_dir(self) -> bool:
        with self._accessed() as (files, place):
            return bool(files.isdir(place))

    def is_file(self) -> bool:
        with self._accessed() as (files, place):
            return bool(files.isfile(place))

    def stat(self) -> Stat:
        """Return size and version of a file.

        Raises:
            FileNotFoundError: there is no such file.
            OSError: the server does not report the size.
        """
        with self._accessed() as (files, place):
            size, version = files.info(place).get("size"), str(files.ukey(place))
        if size is None:
            raise OSError(f"{self.url}: the server does not report the size of this file; download it first")
        import hashlib  # here: local files do not need it

        digest = hashlib.sha256(version.encode()).digest()
        # 48 bits: errors show the number, and two versions hardly have the same.
        return Stat(size, int.from_bytes(digest[:6], "big"))

    def open(self, mode: str = "rb") -> IO[bytes]:
        with self._accessed() as (files, place):
            stream: IO[bytes] = files.open(place, mode)
        return stream

    def read_bytes(self) -> bytes:
        with self._accessed() as (files, place):
            return bytes(files.cat_file(place))

    def unlink(self, missing_ok: bool = False) -> None:
        with self._accessed() as (files, place):
            if not missing_ok or files.exists(place):
                files.rm_file(place)

    def rglob(self, pattern: str = "*") -> list[RemotePath]:
        """List all files below a folder, with paths that begin with its parts; the pattern is always "*"."""
        with self._accessed() as (files, place):
            return self._below(files, place, files.find(place))

    def glob_itself(self) -> list[RemotePath]:
        """List the visible files that match the path as a pattern, as glob does."""
        folder = RemotePath(re.split(r"[*?[]", self.url, maxsplit=1)[0].rpartition("/")[0] + "/")
        with self._accessed() as (files, place):
            # For glob, stars within a name are one star; fsspec refuses several.
            parts = [part if part == "**" else re.sub(r"\*+", "*", part) for part in place.split("/")]
            matches = files.glob("/".join(parts), detail=True)  # with folders and hidden files
            found = [
                match
                for match, facts in matches.items()
                if facts["type"] != "directory" and _matches(match.split("/"), place.split("/"))
            ]
            return folder._below(files, folder._opened()[1], found)

    def _below(self, files: Any, place: str, found: list[str]) -> list[RemotePath]:
        """Create the paths of files that were found below this folder. place: the folder's path on the server.

        They begin with the folder's address, because fsspec's own addresses may lack the host (sftp:///a.txt for
        sftp://host/a.txt) or have one more "/" (memory:///a.txt). These are used only for a path that the server
        spells in another way than `place`.
        """
        folder = self.url if self.url.endswith("/") else f"{self.url}/"
        return [
            RemotePath(
                folder + name[len(place) :].lstrip("/") if name.startswith(place) else files.unstrip_protocol(name)
            )
            for name in found
        ]

    def rename(self, target: RemotePath) -> None:
        """Rename a file on the same server; if the server cannot rename, copy and remove it."""
        with self._accessed() as (files, place):
            files.mv(place, target._opened()[1])

    def remove_folder(self) -> None:
        """Remove a folder with all that is in it, if it exists."""
        with self._accessed() as (files, place):
            if files.exists(place):
                files.rm(place, recursive=True)

    def write_bytes(self, data: bytes) -> None:
        with self._accessed() as (files, place):
            files.pipe_file(place, data)

    def upload(self, path: Path) -> None:
        """Write a file with the content of a local file."""
        with self._accessed() as (files, place):
            files.makedirs(str(PurePosixPath(place).parent), exist_ok=True)
            files.put_file(str(path), place)

    @contextlib.contextmanager
    def _accessed(self) -> Iterator[tuple[Any, str]]:
        """Give access to the file system and the path within it, with errors that name the address.

        fsspec's error for a missing file has no reason and no address. The packages for servers raise errors of
        their own, for example if there are no credentials: these become OSError. An OSError keeps its class, and
        gets the address, which s3fs's lack. A ValueError or ImportError is about the address or the packages;
        `_opened` names the address.
        """
        try:
            yield self._opened()
        except FileNotFoundError:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), self.url) from None
        except OSError as error:
            if error.errno is None:
                error.args = (f"{self.url}: {error}",)
            else:
                error.filename = self.url
            raise
        except (ImportError, ValueError, MemoryError):
            raise
        except Exception as error:
            raise OSError(f"{self.url}: {type(error).__name__}: {error}") from error

    def _opened(self) -> tuple[Any, str]:
        """Return the file system, without a cache of listings, and the path within it."""
        fsspec = require_fsspec(self.url)
        try:
            files, place = fsspec.core.url_to_fs(self.url, use_listings_cache=False)
        except (ValueError, ImportError) as error:  # an unknown scheme, or a missing package that it needs
            raise type(error)(f"{self.url}: {error}") from None
        return files, place


#: A file on this machine, or a remote one.
AnyPath = Path | RemotePath
P = TypeVar("P", bound=AnyPath)


def _matches(names: list[str], pattern: list[str]) -> bool:
    """Tell whether the parts of a path match the parts of a pattern, by the rules of glob.

    Only a part with a leading dot matches a hidden name.
    """
    if not pattern or not names:
        return pattern == names or pattern == ["**"]
    is_hidden = names[0].startswith(".")
    if pattern[0] == "**":  # no name, or a visible name and perhaps more
        return _matches(names, pattern[1:]) or (not is_hidden and _matches(names[1:], pattern))
    return (
        (not is_hidden or pattern[0].startswith("."))
        and fnmatch.fnmatchcase(names[0], pattern[0])
        and _matches(names[1:], pattern[1:])
    )


def beside(path: P, name: str) -> P:
    """Return the path of another file in the same folder."""
    return cast("P", path.with_name(name))


def is_remote(path: object) -> bool:
    """Tell whether a path is an address that fsspec reads.

    >>> is_remote("s3://bucket/a.txt"), is_remote("corpus/a.txt"), is_remote("C://a.txt"), is_remote("file:///a")
    (True, False, False, False)
    """
    if isinstance(path, RemotePath):
        return True
    match = _URL.match(path) if isinstance(path, str) else None
    return match is not None and match[1].lower() != "file"


def as_path(path: str | os.PathLike[str]) -> AnyPath:
    """Create a path from a caller's argument; file:// is a path on this machine.

    >>> as_path("s3://bucket/a.txt"), as_path("file:///corpus/a%20b.txt").as_posix()
    (RemotePath('s3://bucket/a.txt'), '/corpus/a%20b.txt')
    """
    if isinstance(path, RemotePath):
        return path
    if isinstance(path, str):
        if is_remote(path):
            return RemotePath(path)
        if _URL.match(path):
            return Path(path.partition("://")[2])
    return Path(path)


class Addressed(Protocol):
    """Path that is not a pathlib.Path, with an address."""

    @property
    def address(self) -> str:
        """Return the place of the file."""


def absolute(path: Path | Addressed) -> str:
    """Return the absolute path of a file, or its address."""
    return os.path.abspath(path) if isinstance(path, Path) else path.address


@contextlib.contextmanager
def staged(path: AnyPath) -> Iterator[tuple[Path, list[Path]]]:
    """Provide a local place for an output, and upload files at the end.

    Returns:
        A context manager for (local path, list). The caller appends to the list the local files to upload, in
        order. If the output is local, the path is the output itself and the list has no effect.
    """
    uploads: list[Path] = []
    if isinstance(path, Path):
        yield path, uploads
        return
    import tempfile  # here: local files do not need it

    with own_folder(os.path.join(tempfile.gettempdir(), path.name)) as folder:
        yield Path(folder, path.name), uploads
        for file in uploads:
            path.with_name(file.name).upload(file)
