"""Verification of files of ids: names every file that does not fit, with the reason."""

from __future__ import annotations

import importlib.util
import os
from array import array
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from fastbpe._utils.optional_imports import require_numpy
from fastbpe._utils.progress import Phase, Progress, Reporter
from fastbpe.corpus.sink_formats import check_megatron_index, is_megatron_index
from fastbpe.errors import FormatError
from fastbpe.id_files.blocks import blocks_of, ends_of
from fastbpe.id_files.manifests import check_hashes, check_inputs
from fastbpe.id_files.parts import READABLE, Part, check_like, find_set, read_part, shard_path
from fastbpe.id_files.reader import HasFingerprint


class Verified(NamedTuple):
    """Result of `verify_ids`.

    problems: one sentence for each problem, which begins with the path of a file; (): there are no problems.
    n_files, n_documents, n_ids: number of files without a problem, and of their documents and ids.
    """

    problems: tuple[str, ...]
    n_files: int
    n_documents: int
    n_ids: int


def verify_ids(
    path: str | os.PathLike[str],
    *,
    tokenizer: HasFingerprint | None = None,
    dtype: str | None = None,
    inputs: str | os.PathLike[str] | None = None,
    progress: Progress = False,
) -> Verified:
    """Verify a file of ids with its neighbours, or all shards of a set; reads all of them.

    Sizes, counts, offsets, Megatron's index, hashes of manifests, and that the vocabulary has each id. All files
    are verified, also after one has a problem.

    Args:
        path: as for `open_ids`.
        tokenizer: the tokenizer that should have made the ids; None: any.
        dtype: as for `open_ids`.
        inputs: folder of the corpus, which contains all input files: the inputs of each shard are
            compared with the hashes in its manifest, too. None: they are not read.
        progress: True: a bar on stderr; None: if stderr is a terminal; or a function, as for `train`.

    Raises:
        FileNotFoundError: there is no such file.
        FormatError: the path stands for no files of ids.
    """
    problems: list[str] = []
    output, n, found = find_set(path)
    for index in range(n):
        if index not in found:
            place = shard_path(output, (index, n))
            state = "unfinished" if place.with_name(f"{place.name}.partial").exists() else "missing"
            problems.append(f"{place}: {state}: encode shard {index} of {n}")
    parts: list[Part] = []
    total = sum(file.stat().st_size for file in found.values())
    with Reporter(progress).phase("verifying", total, unit="B", unit_scale=True) as phase:
        for index in sorted(found):
            try:
                part = read_part(found[index], dtype)
                for first in parts[:1]:
                    check_like(part, first)
                if tokenizer is not None and part.fingerprint not in (None, tokenizer.fingerprint):
                    raise FormatError(f"{part.path}: its ids are of another tokenizer: {part.fingerprint}")
                check_hashes(part)
                _check_content(part, phase)
                if inputs is not None:
                    check_inputs(part, Path(inputs))
            except (FormatError, OSError) as error:
                problems.append(_sentence(error, found[index]))
            else:
                parts.append(part)
    counts = (sum(part.n_documents for part in parts), sum(part.n_ids for part in parts))
    return Verified(tuple(problems), len(parts), *counts)


def _sentence(error: Exception, path: Path) -> str:
    """Describe an error as a sentence that begins with a path."""
    if isinstance(error, OSError) and error.strerror:
        return f"{os.fsdecode(error.filename or path)}: {error.strerror}"
    return str(error)


def _check_content(part: Part, phase: Phase) -> None:
    """Read all offsets and ids of a part, and raise FormatError for the first that is impossible."""
    for _ in ends_of(part):
        pass
    index = part.path.with_suffix(".idx")
    if part.path.suffix == ".bin" and part.offsets is not None and is_megatron_index(index):
        check_megatron_index(index, part.offsets, part.dtype)
    tokenizer = part.about.get("tokenizer")
    n_vocab = tokenizer.get("n_vocab") if isinstance(tokenizer, dict) else None
    size, code = READABLE[part.dtype]
    if not isinstance(n_vocab, int) or n_vocab >= 1 << (8 * size):
        for block in blocks_of(part):
            phase.update(len(block))
        return
    at = 0
    for ids in _arrays(part, code):
        if len(ids) and int(ids.max() if hasattr(ids, "max") else max(ids)) >= n_vocab:
            place, wrong = next((i, int(one)) for i, one in enumerate(ids) if one >= n_vocab)
            raise FormatError(
                f"{part.path}: id {at + place} is {wrong}, and the vocabulary has {n_vocab}; encode it again"
            )
        at += len(ids)
        phase.update(size * len(ids))


def _arrays(part: Part, code: str) -> Iterator[Any]:
    """Read the ids of a part as arrays, of numpy if it is installed: its maximum is faster."""
    if importlib.util.find_spec("numpy") is not None:
        numpy = require_numpy("verify")
        for block in blocks_of(part):
            yield numpy.frombuffer(block, f"<{numpy.dtype(part.dtype).str[1:]}")
        return
    for block in blocks_of(part):
        yield array(code, block)
