"""A file of ids with the files next to it: finding, describing and checking.

`encode_files` writes NAME (.bin or .npy), NAME.json with dtype and counts, and NAME.offsets. A `Part` contains
the facts of these files, after all checks that need not read the ids: sizes, counts, and the first and last offset
agree.
`find_parts` lists the parts for a path: a file, or all shards of a set.
"""

from __future__ import annotations

import ast
import errno
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from fastbpe._utils.json_objects import read_object
from fastbpe._utils.plurals import counted
from fastbpe._utils.suggestions import choose_one_of
from fastbpe.corpus import remote
from fastbpe.corpus.id_headers import LLMC_BYTES, read_llmc_header
from fastbpe.corpus.id_schemas import ABOUT
from fastbpe.corpus.id_schemas import MANIFEST as MANIFEST_SCHEMA
from fastbpe.corpus.remote import P
from fastbpe.corpus.sink_formats import is_megatron_index
from fastbpe.corpus.sinks import MANIFEST, TABLES, ids_path
from fastbpe.errors import FormatError
from fastbpe.id_files import id_tables
from fastbpe.id_files.id_tables import AGAIN
from fastbpe.id_files.megatron import MegatronIndex, read_index

#: Name of a dtype that can be read → (bytes of an id, format of a memoryview).
READABLE = {
    "uint8": (1, "B"),
    "uint16": (2, "H"),
    "uint32": (4, "I"),
    "uint64": (8, "Q"),
    "int8": (1, "b"),
    "int16": (2, "h"),
    "int32": (4, "i"),
    "int64": (8, "q"),
}
SUFFIXES = (".bin", ".npy")  # suffixes of files that can be mapped
OFFSET_BYTES = 8  # bytes of an int64

_SHARD_STEM = re.compile(r"(?P<stem>.*)-(?P<index>\d{5,})-of-(?P<n>\d{5,})\Z", re.DOTALL)
_NPY_MAGIC = b"\x93NUMPY"
_MAX_NPY_HEADER = 1 << 16  # bytes; numpy itself refuses longer ones
_SHARD_AGAIN = "encode the shard again with overwrite=True"


@dataclass(frozen=True)
class Part:
    """A file of ids, checked against the files next to it.

    Attributes:
        path: the file.
        dtype: str – a key of READABLE.
        start: int – number of bytes before the first id.
        n_ids: int – number of ids in the file.
        n_documents: int – number of documents in the file.
        offsets: file of n_documents + 1 offsets; None: `index` or the table defines the documents, or there is
            only one.
        about: content of the JSON next to the file; {}: no such file.
        manifest: content of the shard's manifest; {}: the file is not a shard.
        index: Megatron's index from another program, which defines the documents.
    """

    path: Path
    dtype: str
    start: int
    n_ids: int
    n_documents: int
    offsets: Path | None
    about: Mapping[str, Any] = field(default_factory=dict)
    manifest: Mapping[str, Any] = field(default_factory=dict)
    index: MegatronIndex | None = None

    @property
    def is_table(self) -> bool:
        """True if the file is parquet or Arrow, which can only be read from start to end."""
        return self.path.suffix in TABLES

    @property
    def fingerprint(self) -> str | None:
        """Fingerprint of the tokenizer that made the ids; None if the files do not record it."""
        tokenizer = self.about.get("tokenizer")
        return tokenizer.get("fingerprint") if isinstance(tokenizer, dict) else None


def shard_path(out: P, shard: tuple[int, int]) -> P:
    """Return the path of one shard of an output.

    >>> shard_path(Path("ids/train.bin"), (3, 10)).as_posix()
    'ids/train-00003-of-00010.bin'
    """
    index, n = shard
    return remote.beside(out, f"{out.stem}-{index:05d}-of-{n:05d}{out.suffix}")


def shard_of(path: P) -> tuple[P, int, int] | None:
    """Parse the name of a shard into output, number and count of shards; None if it is not one.

    >>> output, index, n = shard_of(Path("ids/train-00003-of-00010.bin"))
    >>> output.as_posix(), index, n, shard_of(Path("train.bin"))
    ('ids/train.bin', 3, 10, None)
    """
    match = _SHARD_STEM.match(path.stem)
    if match is None:
        return None
    return remote.beside(path, match["stem"] + path.suffix), int(match["index"]), int(match["n"])


def beside(path: P, ending: str) -> P:
    """Return the path of a file next to another one.

    >>> beside(Path("train.bin"), ".json").name
    'train.bin.json'
    """
    return remote.beside(path, path.name + ending)


# Finding


def find_parts(path: str | os.PathLike[str], suffixes: Sequence[str] = SUFFIXES) -> list[Path]:
    """List the files of ids for a path, in order.

    Args:
        path: a .bin, .idx or .npy file; the output that shards were written for ("train.bin" for
            "train-00000-of-00010.bin" and so on); or a folder that contains one such file or one set of shards.
        suffixes: extensions of the files to find.

    Raises:
        FileNotFoundError: there is no such file, or some shards of the set are missing.
        FormatError: the extension is not in `suffixes`, the path is a URL or a pipe, the folder contains more
            than one set of files, or a shard's number is not below the number of shards.
    """
    output, n, found = find_set(path, suffixes)
    if missing := [index for index in range(n) if index not in found]:
        some = ", ".join(map(str, missing[:10])) + (", …" if len(missing) > 10 else "")
        name = shard_path(output, (missing[0], n))
        said = (
            f"shards {some} of {n} are missing: encode them"
            if len(missing) > 1
            else "this shard is missing: encode it"
        )
        raise FileNotFoundError(errno.ENOENT, said, str(name))
    return [found[index] for index in sorted(found)]


def find_set(
    path: str | os.PathLike[str], suffixes: Sequence[str] = SUFFIXES
) -> tuple[Path, int, dict[int, Path]]:
    """Find the files of ids for a path, even if some are missing.

    Returns:
        The output, the number of its shards (0 for a file that is not a shard), and number → file.

    Raises:
        FileNotFoundError: there is no such file.
        FormatError: as for `find_parts`.
    """
    if remote.is_remote(path):
        raise FormatError(
            f"{os.fspath(path)}: files of ids are mapped into memory; copy them to this machine first"
        )
    place = ids_path(Path(path))
    if place.is_dir():
        # Tables count only if there is no .bin or .npy: they may be the texts that were encoded.
        sets = _sets(place.iterdir(), SUFFIXES) or _sets(place.iterdir(), suffixes)
        if not sets:
            raise FileNotFoundError(
                errno.ENOENT, f"no file of ids ({', '.join(suffixes)}) in this folder", str(place)
            )
        if len(sets) > 1:
            names = ", ".join(output.name + (f" in {n} shards" if n else "") for output, n in sorted(sets))
            raise FormatError(
                f"{place}: this folder has several sets of files ({names}): pass the path of one, or move the "
                "others elsewhere"
            )
    elif place.suffix not in suffixes:
        if place.suffix in TABLES:
            raise FormatError(
                f"{place}: this format cannot be mapped into memory; convert it to .bin: fastbpe merge "
                f"{place.name} -o NEW.bin"
            )
        raise FormatError(f"{place}: not a file of ids; pass one ({', '.join(suffixes)}), or a folder of them")
    elif place.exists():
        check_mappable(place)
        sets = {(place, 0): {0: place}}
    else:
        found_beside = _sets(place.parent.iterdir(), suffixes) if place.parent.is_dir() else {}
        sets = {key: found for key, found in found_beside.items() if key[0] == place and key[1]}
        if not sets:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(place))
        if len(sets) > 1:
            counts = " and of ".join(str(n) for _, n in sorted(sets))
            raise FormatError(f"{place}: its folder has sets of {counts} shards; keep one, and move the others")
    (output, n), found = next(iter(sets.items()))
    if strange := [(index, path) for index, path in found.items() if n and index >= n]:
        index, path = strange[0]
        raise FormatError(
            f"{path}: its name says shard {index} of {n}, but the numbers go from 0 to {n - 1}; restore its name, "
            "or remove it"
        )
    return output, n, found


def check_mappable(path: Path) -> None:
    """Raise FormatError for a pipe or device."""
    if path.exists() and not path.is_file():
        raise FormatError(
            f"{path}: a pipe or device, but files of ids are mapped into memory; copy it to a file first"
        )


def _sets(paths: Any, suffixes: Sequence[str]) -> dict[tuple[Path, int], dict[int, Path]]:
    """Group files of ids: (output, number of shards; 0 for a file that is not a shard) → number → path."""
    sets: dict[tuple[Path, int], dict[int, Path]] = {}
    for path in paths:
        if path.suffix in suffixes and not path.name.startswith(".") and path.is_file():
            output, index, n = shard_of(path) or (path, 0, 0)
            sets.setdefault((output, n), {})[index] = path
    return sets


# Describing and checking


def read_part(path: Path, dtype: str | None = None) -> Part:
    """Describe a file of ids, and check all that can be checked without reading its ids.

    Args:
        path: the file.
        dtype: type of the ids, a key of READABLE. None: the type that the file's header, the JSON next to it or
            Megatron's index states.

    Raises:
        FormatError: the files are inconsistent, or have another dtype; the message names the file.
        FileNotFoundError: the file or one that belongs to it is missing.
        ValueError: dtype is not a key of READABLE, or it is None and no file states the dtype.
    """
    check_dtype(dtype)
    if path.suffix in TABLES:
        return _read_table(path, dtype)
    described = beside(path, ".json")
    about = read_object(described, ABOUT, AGAIN) if described.exists() else {}
    start, stated, n_stated, index = _header(path, about)  # stated: the dtype that the files name, if any
    if about:
        if stated is not None and about["dtype"] != stated:
            raise FormatError(f"{described}: the dtype is {about['dtype']}, but {stated} in {path.name}; {AGAIN}")
        stated = about["dtype"]
    if stated is not None and stated not in READABLE:
        raise FormatError(f"{described}: the dtype is {stated!r}, not one of {', '.join(READABLE)}")
    if dtype is not None and stated is not None and dtype != stated:
        # Ids have the same bytes as uint32 and as int32, and indexes say int32.
        if index is None or dtype.lstrip("u") != stated.lstrip("u"):
            raise FormatError(f"{path}: its ids are {stated}, not {dtype}; leave dtype= out")
        stated = dtype
    dtype = dtype or stated
    if dtype is None:
        raise ValueError(
            f"{path}: needs {path.name}.json, which states the dtype of the ids; copy that file, too, or pass "
            "dtype=, such as 'uint16'"
        )
    size = READABLE[dtype][0]
    n_bytes = path.stat().st_size - start
    n_ids, rest = divmod(n_bytes, size)
    way_out = AGAIN if about else "copy the file again or recreate it"
    if rest:
        if stated is None:
            way_out = f"pass another dtype=, or, if {dtype} is right, copy the file again or recreate it"
        raise FormatError(
            f"{path}: the size of its ids, {counted(n_bytes, 'byte')}, is not a multiple of {size}, the bytes of "
            f"one {dtype} id; {way_out}"
        )
    if n_stated is not None and n_stated != n_ids:
        raise FormatError(f"{path}: its header says {n_stated} ids, but {n_ids} follow; {way_out}")
    if not about:
        return Part(path, dtype, start, n_ids, 1 if index is None else index.n_documents, None, index=index)
    if about["count"] != n_ids:
        raise FormatError(f"{described}: it says {about['count']} ids, but {path.name} has {n_ids}; {AGAIN}")
    offsets = path.with_name(about["offsets"])
    _check_offsets(offsets, n_ids, about["documents"], described.name)
    return Part(path, dtype, start, n_ids, about["documents"], offsets, about, _manifest(path, about))


def check_dtype(dtype: str | None) -> None:
    """Raise ValueError unless dtype is None or a key of READABLE."""
    if dtype is not None and dtype not in READABLE:
        raise ValueError(choose_one_of("dtype", dtype, READABLE, ", or None"))


def _header(path: Path, about: Mapping[str, Any]) -> tuple[int, str | None, int | None, MegatronIndex | None]:
    """Read the header of a file of ids, or another program's index for it.

    Returns:
        (bytes before the first id, dtype and number of ids from the header, Megatron's index); None for unknown
        values.
    """
    if path.suffix == ".npy":
        return *_npy_header(path), None
    if not about or "header" in about:  # else encode_files wrote ids alone; they may equal llm.c's magic number
        with open(path, "rb") as file:
            found = read_llmc_header(file.read(LLMC_BYTES), str(path))
        if found is not None:
            return LLMC_BYTES, *found, None
    if about:
        if about.get("header") is not None:
            raise FormatError(
                f"{path}: it lacks the {about['header']} header that {path.name}.json says it has; {AGAIN}"
            )
        return 0, None, None, None
    beside_it = path.with_suffix(".idx")
    if is_megatron_index(beside_it):
        index = read_index(beside_it, {name: size for name, (size, _) in READABLE.items()}, path.stat().st_size)
        return 0, index.dtype, None, index
    return 0, None, None, None


def _read_table(path: Path, dtype: str | None) -> Part:
    about = id_tables.read_about(path)
    if dtype not in (None, about["dtype"]):
        raise FormatError(f"{path}: its ids are {about['dtype']}, not {dtype}; leave dtype= out")
    return Part(path, about["dtype"], 0, about["count"], about["documents"], None, about, _manifest(path, about))


def check_alike(parts: Sequence[Part]) -> None:
    """Raise FormatError if parts have several dtypes, tokenizers, ids around documents, or plans of shards."""
    for part in parts[1:]:
        check_like(part, parts[0])


def check_like(part: Part, first: Part, *, is_same_run: bool = True) -> None:
    """Raise FormatError if two parts cannot be joined; the message contains both names.

    is_same_run: whether they must be shards of one run; False: they need only have the same tokenizer, dtype, and
        ids around each document.
    """
    if bool(part.fingerprint) != bool(first.fingerprint):
        known, unknown = (part, first) if part.fingerprint else (first, part)
        raise FormatError(
            f"{unknown.path}: no file says which tokenizer made its ids, but the tokenizer of {known.path.name} "
            "is known: encode both in the same way, or keep them apart"
        )
    plans = (first.manifest.get("plan"), part.manifest.get("plan")) if is_same_run else (None, None)
    for name, expected, found in (
        ("tokenizer", first.fingerprint, part.fingerprint),
        ("dtype", first.dtype, part.dtype),
        ("list of ids before each document", first.about.get("before"), part.about.get("before")),
        ("list of ids after each document", first.about.get("after"), part.about.get("after")),
        ("hash of the names and sizes of all inputs", *plans),
    ):
        if expected != found:
            raise FormatError(
                f"{part.path}: its {name} is {_short(found)}, but {_short(expected)} in {first.path.name}: "
                "encode both in the same way, or keep them apart"
            )


def _short(value: object) -> object:
    return f"{value[:12]}…" if isinstance(value, str) and len(value) > 16 else value


def _check_offsets(path: Path, n_ids: int, n_documents: int, said_by: str) -> None:
    """Check size, first and last item of a file of offsets."""
    size, expected = path.stat().st_size, OFFSET_BYTES * (n_documents + 1)
    if size != expected:
        raise FormatError(
            f"{path}: it has {size} bytes, but the {n_documents} documents of {said_by} need {expected}; {AGAIN}"
        )
    with open(path, "rb") as file:
        first = read_offset(file)
        file.seek(-OFFSET_BYTES, os.SEEK_END)
        last = read_offset(file)
    if first != 0 or last != n_ids:
        raise FormatError(
            f"{path}: its offsets run from {first} to {last}, but should run from 0 to {n_ids}; {AGAIN}"
        )


def read_offset(file: IO[bytes]) -> int:
    """Read the next offset of a file."""
    return int.from_bytes(file.read(OFFSET_BYTES), "little", signed=True)


def _manifest(path: Path, about: Mapping[str, Any]) -> dict[str, Any]:
    """Read the manifest of a shard, and compare it with the files next to it; {} for a file that is not a shard.

    Raises FileNotFoundError if a file with the name of a shard lacks its manifest.
    """
    place = beside(path, MANIFEST)
    if not place.exists():
        if shard_of(path) is None:
            return {}
        raise FileNotFoundError(
            errno.ENOENT, "the shard is not finished: encode it again with overwrite=True", str(place)
        )
    manifest = read_object(place, MANIFEST_SCHEMA, _SHARD_AGAIN)
    for name, other in (
        ("dtype", "dtype"),
        ("documents", "documents"),
        ("ids", "count"),
        ("tokenizer", "tokenizer"),
    ):
        if manifest[name] != about.get(other):
            raise FormatError(
                f"{place}: {name!r} is {manifest[name]!r:.70}, but {other!r} is {about.get(other)!r:.70} in "
                f"{path.name}.json; {_SHARD_AGAIN}"
            )
    for output in manifest["outputs"]:
        file = path.with_name(output["path"])
        if (size := file.stat().st_size) != output["size"]:
            raise FormatError(f"{file}: {size} bytes, but {output['size']} in {place.name}; {_SHARD_AGAIN}")
    named = shard_of(path)
    if named is not None and named[1:] != (manifest["shard"], manifest["shards"]):
        raise FormatError(
            f"{place}: it describes shard {manifest['shard']}/{manifest['shards']}, but its name says "
            f"{named[1]}/{named[2]}; rename the files back"
        )
    return manifest


def _npy_header(path: Path) -> tuple[int, str, int]:
    """Read the header of a .npy file: (its length in bytes, dtype, number of ids)."""
    with open(path, "rb") as file:
        magic = file.read(8)
        if magic[:6] != _NPY_MAGIC or magic[6:] not in (b"\x01\x00", b"\x02\x00", b"\x03\x00"):
            raise FormatError(f"{path}: not a .npy file: it begins with {magic!r}")
        n_bytes = 2 if magic[6] == 1 else 4
        length = int.from_bytes(file.read(n_bytes), "little")
        header = file.read(min(length, _MAX_NPY_HEADER))
    try:
        said = ast.literal_eval(header.decode("latin-1").strip())
        descr, shape = said["descr"], said["shape"]
        kind, bits = {"u": "uint", "i": "int"}[descr[1]], 8 * int(descr[2:])
        (n_ids,) = shape
        if type(n_ids) is not int or descr[0] not in "<|" or f"{kind}{bits}" not in READABLE:
            raise ValueError
    except (ValueError, SyntaxError, KeyError, TypeError, IndexError, RecursionError, MemoryError):
        raise FormatError(
            f"{path}: not a one-dimensional array of little-endian integers; its header is {header[:100]!r}"
        ) from None
    return 8 + n_bytes + length, f"{kind}{bits}", n_ids
