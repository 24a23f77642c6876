"""Files that paths, folders and patterns refer to, files that a folder leaves out, and files listed twice."""

from __future__ import annotations

import glob
import os
from collections.abc import Callable, Iterable
from pathlib import Path

from fastbpe._utils.plurals import counted
from fastbpe._utils.warn import warn
from fastbpe.corpus.document_files import has_texts
from fastbpe.corpus.document_formats import named
from fastbpe.corpus.remote import AnyPath, RemotePath, as_path
from fastbpe.corpus.skipping import Skipped
from fastbpe.errors import FormatWarning

Path_ = str | os.PathLike[str]


class Listing:
    """Lister of the files that one call reads. It warns of a file listed twice.

    A folder means all files below it with the extension .txt, .jsonl, .ndjson, .jsonlines, .jl, .parquet or
    .arrow, possibly followed by .gz, .gzip, .zst or .zstd. It also means .json files of JSON lines that have the
    field. The files are sorted by name. With a format, a folder means the files with an extension of that format,
    with an unknown extension, or with none; .json counts as JSON lines.

    A pattern (`**` matches any folders) means the files that match, sorted by name. Folders and patterns leave out
    hidden files (names that begin with a dot, and all below folders with such names), unless the part of a pattern
    for such a name begins with a dot, too. A path like "s3://bucket/folder/" is remote; see `corpus.remote`.

    Args:
        format: the caller's format, or None.
        field: field that contains the text.
        is_taken: function that tells, in place of the rules above, whether a file of a folder is taken.
        kinds: words for the files that it takes, for the error.

    Attributes:
        left_out: visible files in folders, except the listed ones: their number, and the first names.
    """

    def __init__(
        self,
        format: str | None = None,
        field: str = "text",
        is_taken: Callable[[AnyPath], bool] | None = None,
        kinds: str = "",
    ) -> None:
        self._format, self._field = format, field
        self._is_taken, self._kinds = is_taken or self._has_documents, kinds
        self._seen: set[object] = set()
        self.left_out = Skipped()

    def files(self, item: Path_) -> list[AnyPath]:
        """List the files that a path, folder or pattern refers to.

        Raises:
            FileNotFoundError: the path is "", a folder contains no such file, or no file matches a pattern.

        Warns:
            FormatWarning: a file was listed before.
        """
        path = as_path(item)
        if item == "":  # Path("") is the current folder
            raise FileNotFoundError('"" is not a path; pass one, or "." for this folder')
        if path.is_dir():
            found = self._below(path)
        elif not path.exists() and glob.has_magic(os.fspath(item)):
            found = _matching(path)
            if not found:
                raise FileNotFoundError(f"{path}: no file matches this pattern")
        else:
            found = [path]
        for file in found:
            resolved = file.resolve()
            if resolved in self._seen:
                warn(f"{file}: listed twice, so it is read twice", FormatWarning)
            self._seen.add(resolved)
        return found

    def _below(self, folder: AnyPath) -> list[AnyPath]:
        """List the files of a folder that are taken; the other visible ones go into `left_out`."""
        n_parts = len(folder.parts)
        found: list[AnyPath] = []
        left_out: list[AnyPath] = []
        below: list[AnyPath] = [*folder.rglob("*")]
        # By parts, so that the order is the same with the separator of Windows.
        for path in sorted(below, key=lambda path: path.parts):
            is_hidden = any(part.startswith(".") for part in path.parts[n_parts:])
            if not is_hidden and path.is_file():
                (found if self._is_taken(path) else left_out).append(path)
        self.left_out.add(len(left_out), map(str, left_out))
        if not found:
            others = (
                f" (the folder has {counted(len(left_out), 'other file')}, such as {left_out[0].name})"
                if left_out
                else ""
            )
            if self._format:
                raise FileNotFoundError(
                    f"{folder}: by their names, no files in this folder have the format {self._format}{others}; "
                    f"select files with a pattern such as '{folder}/**/*', or change format="
                )
            if self._kinds:
                raise FileNotFoundError(
                    f"{folder}: no file of {self._kinds} in this folder{others}; select other files with a "
                    f"pattern such as '{folder}/**/*'"
                )
            raise FileNotFoundError(
                f"{folder}: no text (.txt), JSON lines, .parquet or .arrow file in this folder{others}; select "
                f"other files with a pattern such as '{folder}/**/*.py', or set their format with format="
            )
        return found

    def _has_documents(self, path: AnyPath) -> bool:
        by_name, _ = named(path)
        if self._format:
            return by_name in ("", self._format) or (by_name == "json" and self._format == "jsonl")
        return has_texts(path, self._field) if by_name == "json" else by_name != ""


def _matching(path: AnyPath) -> list[AnyPath]:
    """List the visible files that match a pattern."""
    found: list[AnyPath]
    if isinstance(path, RemotePath):
        found = [*path.glob_itself()]
    else:
        names = {*glob.iglob(str(path), recursive=True)}  # a set: glob finds files again for each further `**`
        found = [Path(name) for name in names if os.path.isfile(name)]
    return sorted(found, key=lambda path: path.parts)


def files_of(inputs: Path_ | Iterable[Path_]) -> list[AnyPath]:
    """List the files that paths, folders and patterns refer to, in the order given; see `Listing`."""
    listing = Listing()
    if isinstance(inputs, (str, os.PathLike)):
        inputs = (inputs,)
    return [path for item in inputs for path in listing.files(item)]
