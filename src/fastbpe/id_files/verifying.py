"""Verification of files of ids: lists every file with a problem, with the reason."""

from __future__ import annotations

import os
from itertools import accumulate
from pathlib import Path
from typing import Any, Protocol

from fastbpe._utils.choices import AnyIdType
from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.progress import Phase, Progress, Reporter
from fastbpe._utils.short_reprs import fields_repr
from fastbpe.corpus.sink_formats import check_megatron_index, is_megatron_index
from fastbpe.corpus.sinks import TABLES
from fastbpe.errors import FormatError, InvalidTokenError
from fastbpe.id_files.blocks import KnownIds, ends_of
from fastbpe.id_files.manifests import check_hashes, check_inputs
from fastbpe.id_files.parts import SUFFIXES, Part, beside, check_dtype, check_like, find_set, read_part, shard_path
from fastbpe.id_files.reader import HasFingerprint


class Vocabulary(HasFingerprint, Protocol):
    """Part of a tokenizer's interface that verifying its ids needs."""

    @property
    def n_vocab(self) -> int:
        """Greatest id + 1."""

    @property
    def vocab_size(self) -> int:
        """Number of tokens."""

    def id_to_token(self, token_id: int, /) -> Any:
        """Return the token of an id, or raise InvalidTokenError."""


class Verified(NamedTuple):
    """Result of `verify_ids`.

    problems: one sentence per problem, which begins with the path of a file; (): there are no problems.
    n_files, n_documents, n_ids: number of files without a problem, and of their documents and ids.
    """

    problems: tuple[str, ...]
    n_files: int
    n_documents: int
    n_ids: int

    def __repr__(self) -> str:
        return fields_repr(self)


def verify_ids(
    path: str | os.PathLike[str],
    *,
    tokenizer: Vocabulary | None = None,
    dtype: AnyIdType | None = None,
    inputs: str | os.PathLike[str] | None = None,
    progress: Progress = False,
) -> Verified:
    """Verify a file of ids and the files next to it, or all shards of a set.

    This reads all files, and checks sizes, counts, offsets, Megatron's index, hashes of manifests, and ids. All
    files are verified, even after one has a problem.

    Args:
        path: as for `open_ids`; parquet and Arrow files of ids as well.
        tokenizer: the tokenizer that should have made the ids: each id needs a token, and a file that records
            another tokenizer is a problem. None: no id may be above the greatest one of the tokenizer that the
            file records, if any.
        dtype: as for `open_ids`.
        inputs: folder of the corpus, which contains all input files: the inputs of each shard are also compared
            with the hashes in its manifest. None: they are not read.
        progress: True: a bar on stderr; None: if stderr is a terminal; or a function, as for `train`.

    Raises:
        FileNotFoundError: there is no such file.
        FormatError: the path leads to no files of ids, or to several sets of them, or is a URL.
        ValueError: dtype is not a type that `open_ids` accepts, or it is None and no file states the dtype of the
            only file.
        ImportError: a file is parquet or Arrow, and pyarrow is not installed.
    """
    check_dtype(dtype)
    problems: list[str] = []
    output, n, found = find_set(path, (*SUFFIXES, *TABLES))
    for index in range(n):
        if index not in found:
            place = shard_path(output, (index, n))
            partial = [beside(out, ".partial") for out in (place, place.with_suffix(".idx"))]
            state = "unfinished" if any(folder.exists() for folder in partial) else "missing"
            problems.append(f"{place}: {state}: encode shard {index} of {n}")
    parts: list[Part] = []
    ids_of_tokenizer = None if tokenizer is None else _ids_of(tokenizer)
    sizes = {index: found[index].stat().st_size for index in sorted(found)}
    with Reporter(progress).phase("verifying", sum(sizes.values()), unit="B", unit_scale=True) as phase:
        for index, end in zip(sizes, accumulate(sizes.values()), strict=True):
            try:
                part = read_part(found[index], dtype)
                for first in parts[:1]:
                    check_like(part, first)
                if tokenizer is not None and part.fingerprint not in (None, tokenizer.fingerprint):
                    raise FormatError(
                        f"{part.path}: its ids were made by another tokenizer, with the fingerprint "
                        f"{part.fingerprint}; pass that tokenizer"
                    )
                check_hashes(part)
                _check_content(part, ids_of_tokenizer or _recorded_ids(part), phase)
                if inputs is not None:
                    check_inputs(part, Path(inputs))
            except (ValueError, OSError) as error:
                if not n and not isinstance(error, (FormatError, OSError)):
                    raise  # no file states the dtype
                problems.append(_sentence(error, found[index]))
            else:
                parts.append(part)
            phase.reach(end)  # after a problem, or with a header, fewer bytes of ids were read
    counts = (sum(part.n_documents for part in parts), sum(part.n_ids for part in parts))
    return Verified(tuple(problems), len(parts), *counts)


def _sentence(error: Exception, path: Path) -> str:
    """Describe an error as a sentence that begins with a path."""
    if isinstance(error, OSError) and error.strerror:
        return f"{os.fsdecode(error.filename or path)}: {error.strerror}"
    return str(error)


def _check_content(part: Part, known: KnownIds, phase: Phase) -> None:
    """Read all offsets and ids of a part, and raise FormatError for the first invalid one."""
    for _ in ends_of(part):
        pass
    index = part.path.with_suffix(".idx")
    if part.path.suffix == ".bin" and part.offsets is not None and is_megatron_index(index):
        check_megatron_index(index, part.offsets, part.dtype)
    for block in known.check(part):
        if not part.is_table:  # the stored bytes of a table are not its ids
            phase.update(len(block))


def _recorded_ids(part: Part) -> KnownIds:
    """Return the ids of the vocabulary with which a part was made.

    The files record the greatest id, but not the ids below it that have no token.
    """
    return KnownIds((part.about.get("tokenizer") or {}).get("n_vocab"))


def _ids_of(tokenizer: Vocabulary) -> KnownIds:
    """Return the ids that have a token."""

    def has_token(token_id: int) -> bool:
        try:
            tokenizer.id_to_token(token_id)
        except InvalidTokenError:
            return False
        return True

    n_vocab = tokenizer.n_vocab
    return KnownIds(n_vocab, None if tokenizer.vocab_size == n_vocab else has_token)
