"""Schemas of the JSON files that describe an output, a shard, or an unfinished run."""

from __future__ import annotations

from fastbpe._utils.json_objects import (
    COUNT,
    FLAG,
    NAME,
    OBJECT,
    RELATIVE_PATH,
    SHA256,
    TEXT,
    Kind,
    Schema,
    list_of,
    object_of,
    one_of,
    optional,
)
from fastbpe.corpus.id_headers import HEADERS, ID_BYTES

_IDS = list_of(COUNT)
_ANY_STR = Kind("a string", lambda value: isinstance(value, str))
_STRINGS = list_of(_ANY_STR)
_TOKENIZER = object_of({"fingerprint": TEXT, "n_vocab": COUNT})
_INPUT_OF_RUN = Kind(
    "list that begins with a path", lambda value: isinstance(value, list) and [*map(type, value[:1])] == [str]
)

_PART = object_of({"start": COUNT, "end": COUNT, "unit": one_of("bytes", "unpacked bytes", "rows")})

#: Facts about an output: the metadata of parquet and Arrow, and of a run that moves its files into place.
FINISHING: Schema = {
    "dtype": one_of(*ID_BYTES),
    "count": COUNT,
    "documents": COUNT,
    "tokenizer": optional(_TOKENIZER),
    "before": optional(_IDS),
    "after": optional(_IDS),
    "header": optional(one_of(*HEADERS)),
}
#: IDS.json, next to a file of ids (see `sinks`).
ABOUT: Schema = {**FINISHING, "dtype": TEXT, "offsets": NAME, "byte_order": optional(one_of("little"))}
#: OUT.partial/progress.json.
PROGRESS: Schema = {
    "n_ids": COUNT,
    "n_documents": COUNT,
    **{name: optional(COUNT) for name in ("file", "offset", "number", "n_bytes", "n_skipped")},
    "in_document": optional(FLAG),
    "skipped": optional(_STRINGS),
    **{name: optional(OBJECT) for name in ("earlier", "finishing", "run")},
}
#: OUT.partial/run.json.
RUN: Schema = {
    "inputs": optional(list_of(_INPUT_OF_RUN)),
    "identity": optional(OBJECT),
}
#: The manifest of a shard.
MANIFEST: Schema = {
    "shard": COUNT,
    "shards": COUNT,
    "dtype": TEXT,
    "documents": COUNT,
    "ids": COUNT,
    "text_bytes": COUNT,
    "skipped": COUNT,
    "first_skipped": _STRINGS,
    "plan": TEXT,
    "tokenizer": _TOKENIZER,
    "before": _IDS,
    "after": _IDS,
    "inputs": list_of(
        object_of({"path": RELATIVE_PATH, "size": COUNT, "sha256": SHA256, "part": optional(_PART)})
    ),
    "outputs": list_of(object_of({"path": NAME, "size": COUNT, "sha256": SHA256})),
}
