"""Writing of files by a sequence tokenizer: files of ids, and vocabularies in other formats."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from fastbpe._core.encode.sequence_merging import Merged
from fastbpe._core.ids.sequences import Sequences
from fastbpe._core.merge.sequence_vocabulary import SequenceVocabulary
from fastbpe._utils.plurals import counted
from fastbpe._utils.suggestions import choose_one_of
from fastbpe.corpus.encode_sequences import encode_sequences
from fastbpe.corpus.file_encoding import FilesSummary
from fastbpe.corpus.id_headers import check_header
from fastbpe.corpus.remote import is_remote
from fastbpe.corpus.sinks import check_output, ids_path
from fastbpe.errors import FormatError
from fastbpe.tokenizer.files.file_jobs import job_of
from fastbpe.tokenizer.sequences import sequence_files
from fastbpe.tokenizer.sequences.sequence_batches import merge

if TYPE_CHECKING:
    from fastbpe.tokenizer.export.verify_export import Verification

_BYTES = 256  # symbols that can be bytes


class Described(Protocol):
    """The parts of a `SequenceTokenizer` that this module needs."""

    @property
    def fingerprint(self) -> str: ...
    @property
    def base_size(self) -> int: ...
    @property
    def n_vocab(self) -> int: ...
    @property
    def merges(self) -> list[tuple[int, int]]: ...
    @property
    def special_tokens(self) -> dict[str, int]: ...
    def save(self, path: str | os.PathLike[str]) -> None: ...


def encode_files(
    tokenizer: Described,
    vocabulary: SequenceVocabulary,
    inputs: Any,
    out: str | os.PathLike[str],
    field: str,
    job: Mapping[str, Any],
    **options: Any,
) -> FilesSummary:
    """Encode the sequences of files; see `SequenceTokenizer.encode_files`.

    job: the arguments of that method that decide the bytes of the output; options: its other arguments.
    """
    if is_remote(out):
        raise FormatError(
            f"{os.fspath(out)}: ids of sequences can only be written on this machine; copy the result there"
        )
    path = Path(out)
    check_output(path)
    check_header(job["header"], path)
    made = job_of(tokenizer.fingerprint, tokenizer.n_vocab, tokenizer.special_tokens, text_field=field, **job)
    files = sequence_files.files_of(inputs)
    if (same := next((file for file in files if file.resolve() == ids_path(path).resolve()), None)) is not None:
        raise ValueError(f"{same} is both the output and an input; choose another output")

    def merged(sequences: Sequences, n_threads: int) -> tuple[Any, Any]:
        result = Merged(vocabulary)
        merge(vocabulary, sequences, n_threads, result)
        return result.arrays()

    return encode_sequences(_each(files, field), files, path, made, tokenizer.base_size, merged, **options)


def _each(files: Sequence[Path], field: str) -> Iterator[tuple[str, Any, int]]:
    """Yield (place, sequence, total bytes of the files before the sequence's file)."""
    n_before = 0
    for file in files:
        for where, sequence in sequence_files.read(file, field):
            yield where, sequence, n_before
        n_before += file.stat().st_size


def export(
    tokenizer: Described, path: str | os.PathLike[str], format: str | None, *, verify: bool
) -> Verification | None:
    """Write a tokenizer in a format; see `SequenceTokenizer.export`."""
    from fastbpe.formats.endings import format_of
    from fastbpe.tokenizer.export.export import FORMATS
    from fastbpe.tokenizer.tokenizer import Tokenizer

    chosen = format or ("native" if Path(path).suffix in ("", ".fbpe") else format_of(path, "byte"))
    if chosen == "native":
        tokenizer.save(path)
        return None
    if chosen not in FORMATS:
        raise FormatError(choose_one_of("format", chosen, FORMATS))
    if tokenizer.base_size != _BYTES:
        raise FormatError(
            f"{os.fspath(path)}: the symbols of {chosen} are the {_BYTES} bytes, but this tokenizer has "
            f'{counted(tokenizer.base_size, "symbol")}; use format="native" (.fbpe)'
        )
    special = tokenizer.special_tokens
    of_bytes = Tokenizer.from_merges(tokenizer.merges, pattern=None, special_tokens=special)
    return of_bytes.export(path, format=cast("Any", chosen), verify=verify)
