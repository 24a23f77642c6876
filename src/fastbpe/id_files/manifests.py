"""Manifests of shards: the inputs of each shard, and the hashes of its files."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from fastbpe._utils.json_objects import read_object
from fastbpe.corpus.encoding_run import Job
from fastbpe.corpus.file_encoding import FilesSummary
from fastbpe.corpus.file_parts import FilePart
from fastbpe.corpus.id_schemas import MANIFEST as SCHEMA
from fastbpe.corpus.remote import AnyPath
from fastbpe.corpus.sinks import MANIFEST
from fastbpe.errors import FormatError
from fastbpe.formats import atomic_files
from fastbpe.id_files.parts import Part

_READ_BYTES = 1 << 20  # bytes read at a time
_VERSION = 1
_SETTINGS = (
    *("tokenizer", "dtype", "before", "after", "separator", "text_field", "input_format", "header"),
    *("shard", "shards", "plan"),
)
_READING = ("on_error", "errors")  # without effect on a shard if all its documents can be read
_SHOWN = {
    "before": "document_start",
    "after": "document_end",
    "input_format": "format",
    "plan": "inputs, in name or size",
}


def settings_of(job: Job, shard: tuple[int, int], plan: str) -> dict[str, Any]:
    """Return the settings that must be the same for a shard to count as done.

    on_error and errors may differ if errors was "strict" and no document was skipped.

    plan: hash of the names and sizes of all inputs; "": the shard was not made from files.
    """
    index, n = shard
    settings = {
        "tokenizer": job.identity,
        "dtype": job.dtype,
        "before": job.before,
        "after": job.after,
        "separator": job.separator,
        "text_field": job.text_field,
        "header": job.header,
        "input_format": job.format,
        "on_error": job.on_error,
        "errors": job.errors,
        "shard": index,
        "shards": n,
        "plan": plan,
    }
    return json.loads(json.dumps(settings))  # type: ignore[no-any-return]  # tuples become lists, as in files


def write(
    place: Path,
    settings: Mapping[str, Any],
    summary: FilesSummary,
    inputs: Sequence[tuple[str, AnyPath | FilePart]],
    outputs: Sequence[Path],
) -> None:
    """Write the manifest of a shard next to it, as the last of its files.

    settings: result of `settings_of`; inputs: (name in the plan, path) of each input file, or of its part that
        belongs to the shard; outputs: the shard's files.
    """
    manifest = {
        "format": "fastbpe shard",
        "version": _VERSION,
        **settings,
        "documents": summary.n_documents,
        "ids": summary.n_ids,
        "text_bytes": summary.n_bytes,
        "skipped": summary.n_skipped,
        "first_skipped": summary.skipped,
        "inputs": [_described(name, path) for name, path in inputs],
        "outputs": [_described(path.name, path) for path in outputs],
    }
    atomic_files.write(place, _data(manifest))


def renamed(
    manifest: Mapping[str, Any], shard: tuple[int, int], names: Mapping[str, str], changed: AnyPath
) -> bytes:
    """Return the manifest of a shard under a new number and new names.

    names: name → new name of each file of the shard; changed: the file whose content differs from the manifest.
    """
    index, n = shard
    outputs = [
        _described(names[output["path"]], changed)
        if output["path"] == changed.name
        else {**output, "path": names[output["path"]]}
        for output in manifest["outputs"]
    ]
    return _data({**manifest, "shard": index, "shards": n, "outputs": outputs})


def _data(manifest: Mapping[str, Any]) -> bytes:
    return json.dumps(manifest, indent=1).encode() + b"\n"


def done_before(path: AnyPath, place: AnyPath, settings: Mapping[str, Any]) -> FilesSummary | None:
    """Return the summary of a shard that is already done; None if it is not done. place: its manifest.

    Raises:
        FileExistsError: the shard was made with other settings, or one of its files is missing or has another
            size.
        FormatError: the manifest is damaged.
    """
    if not place.exists():
        return None
    manifest = read_object(place, SCHEMA, "to encode the shard again, pass overwrite=True")
    is_clean = not manifest.get("skipped") and manifest.get("errors") == "strict"
    names = _SETTINGS if is_clean else (*_SETTINGS, *_READING)
    differing = [name for name in names if manifest.get(name) != settings[name]]
    if differing:
        said = ", ".join(_SHOWN.get(name, name) for name in differing)
        raise FileExistsError(
            f"{place}: the shard exists and was made with other settings ({said}); to replace it, pass "
            "overwrite=True"
        )
    for output in manifest["outputs"]:
        file = path.with_name(output["path"])
        if not file.exists() or file.stat().st_size != output["size"]:
            raise FileExistsError(
                f"{file}: missing, or its size is not the {output['size']} bytes in {place.name}; to encode the "
                "shard again, pass overwrite=True"
            )
    return FilesSummary(
        cast("Path", path),
        manifest["documents"],
        manifest["ids"],
        manifest["text_bytes"],
        0.0,
        manifest["skipped"],
        (*manifest["first_skipped"],),
    )


def check_hashes(part: Part) -> None:
    """Compare the files of a shard with the hashes in its manifest. Reads all of the files.

    Raises:
        FormatError: a file has a different hash; the message names the file.
    """
    for output in part.manifest.get("outputs", []):
        file = part.path.with_name(output["path"])
        if (found := sha256_of(file)) != output["sha256"]:
            raise FormatError(
                f"{file}: this file was changed or damaged: its SHA-256 is {found[:16]}…, but "
                f"{part.path.name}{MANIFEST} has {output['sha256'][:16]}…; encode this shard again, with "
                "overwrite=True if encode_files made it"
            )


def check_inputs(part: Part, folder: Path) -> None:
    """Compare the inputs of a shard, files or parts of them, with the hashes in its manifest. Reads all inputs.

    folder: the folder that contains all inputs of all shards.

    Raises:
        FormatError: the shard has no manifest of input files, or an input is missing or differs in size or hash.
    """
    place = f"{part.path.name}{MANIFEST}"
    if not part.manifest or not part.manifest["plan"]:
        raise FormatError(
            f"{part.path}: no manifest next to it names input files; only a shard that was encoded from files has "
            "such a manifest"
        )
    for described in part.manifest["inputs"]:
        file = folder / described["path"]
        if not file.is_file():
            raise FormatError(f"{file}: no such file, but {place} names it as an input of the shard")
        if (size := file.stat().st_size) != described["size"]:
            raise FormatError(
                f"{file}: {size} bytes, but {described['size']} in {place}: it was changed after it was encoded; "
                "restore it, or encode the shard again"
            )
        hashed: AnyPath | FilePart = file
        if (place_in_it := described.get("part")) is not None and place_in_it["unit"] == "bytes":
            hashed = FilePart(file, "text", "", place_in_it["start"], place_in_it["end"])
        if (found := sha256_of(hashed)) != described["sha256"]:
            raise FormatError(
                f"{hashed}: its SHA-256 is {found[:16]}…, but {described['sha256']:.16}… in {place}: it was "
                "changed after it was encoded; restore it, or encode the shard again"
            )


def sha256_of(path: AnyPath | FilePart) -> str:
    """Return the SHA-256 of a file in hexadecimal digits."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_READ_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _described(name: str, path: AnyPath | FilePart) -> dict[str, Any]:
    """Describe a file: its size and hash; for a part, the size of the file, the part, and a hash.

    If the part is measured in bytes, its own bytes are hashed, otherwise the whole file.
    """
    if not isinstance(path, FilePart):
        return {"path": name, "size": path.stat().st_size, "sha256": sha256_of(path)}
    unit = "rows" if path.is_table else "unpacked bytes" if path.packing else "bytes"
    return {
        "path": name,
        "size": path.whole.stat().st_size,
        "sha256": sha256_of(path if unit == "bytes" else path.whole),
        "part": {"start": path.start, "end": path.end, "unit": unit},
    }
