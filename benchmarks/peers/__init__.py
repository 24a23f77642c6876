"""Adapters of other libraries for compare.py: one small module each, imported only where it is asked for.

An adapter gives every workload in the fastest form that its library documents. What the library cannot do raises
`Unsupported`, and compare.py leaves it out with that note.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vocabularies import Vocabulary

Ids = list[int]

#: Adapters that encode, in the order of the tables: module here → distribution that it needs.
ENCODERS = {
    "fastbpe": "fastbpe-tokenizer",
    "tiktoken": "tiktoken",
    "tokenizers": "tokenizers",
    "gigatoken": "gigatoken",
    "fastokens": "fastokens",
    "quicktok": "quicktok-v1",
    "splintr": "splintr-rs",
    "rs_bpe": "rs-bpe",
    "kitoken": "kitoken",
    "sentencepiece": "sentencepiece",
}


class Unsupported(Exception):
    """The library has no such workload, or not with this vocabulary; the text says which."""


class Peer:
    """One library with one vocabulary. Texts are str; special tokens in them are just text.

    Outputs: a list of ids; an array of uint32; for flat forms an array of the ids end to end and one of offsets.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        raise NotImplementedError

    def text_to_list(self, text: str) -> Ids:
        raise Unsupported("no encoding to a list")

    def text_to_numpy(self, text: str) -> Any:
        raise Unsupported("no encoding to an array")

    def short_encoder(self) -> Callable[[str], Ids]:
        """What encodes one short string to a list: the library's own callable where that gives a list."""
        return self.text_to_list

    def documents_to_lists(self, documents: list[str], threads: int) -> list[Ids]:
        raise Unsupported("no encoding of several documents")

    def documents_to_flat(self, documents: list[str], threads: int) -> tuple[Any, Any]:
        raise Unsupported("no encoding of several documents to one array")

    def count_documents(self, documents: list[str], threads: int) -> Sequence[int]:
        raise Unsupported("no counting")

    def lengths(self, documents: list[str], threads: int) -> Sequence[int]:
        """Ids of each document by the fastest means: counting, or encoding to one array and throwing that away."""
        try:
            return self.count_documents(documents, threads)
        except Unsupported:
            offsets = self.documents_to_flat(documents, threads)[1]
            return (offsets[1:] - offsets[:-1]).tolist()

    def ids_to_text(self, ids: Ids) -> str:
        raise Unsupported("no decoding")

    def lists_to_texts(self, batch: list[Ids], threads: int) -> list[str]:
        raise Unsupported("no decoding of several lists")

    def files_to_bin(self, source: Path, out: Path, threads: int) -> None:
        """Ids of a .txt (one document) or .jsonl (one a line, field "text") to a file of uint32, nothing else.

        For libraries that read no files: what one writes around them.
        """
        import numpy

        with open(source, encoding="utf-8", newline="") as file:
            documents = [json.loads(line)["text"] for line in file] if source.suffix == ".jsonl" else [file.read()]
        try:
            one = source.suffix == ".txt"
            ids = self.text_to_numpy(documents[0]) if one else self.documents_to_flat(documents, threads)[0]
        except Unsupported:
            lists = self.documents_to_lists(documents, threads)
            ids = numpy.fromiter(chain.from_iterable(lists), dtype=numpy.uint32)
        ids.tofile(out)


def pool_size() -> int:
    """The threads of a library that always takes all it can: rayon's pool. compare.py sets it by --threads."""
    return int(os.environ.get("RAYON_NUM_THREADS") or os.cpu_count() or 1)


def flat_of_bytes(ids: bytes, offsets: bytes) -> tuple[Any, Any]:
    """Arrays over the bytes in which splintr and fastokens give ids and offsets."""
    import numpy

    return numpy.frombuffer(ids, dtype=numpy.uint32), numpy.frombuffer(offsets, dtype=numpy.uint64)


def load(name: str, vocabulary: Vocabulary) -> Peer:
    """The adapter of a peer with a vocabulary. Raises ImportError or Unsupported."""
    peer: Peer = import_module(f"peers.{name}").Adapter(vocabulary)
    return peer


def load_all(names: Iterable[str], vocabulary: Vocabulary) -> tuple[dict[str, Peer], dict[str, str]]:
    """Peers by name, and for those that cannot be had, the reason."""
    loaded: dict[str, Peer] = {}
    missing: dict[str, str] = {}
    for name in names:
        try:
            loaded[name] = load(name, vocabulary)
        except ImportError as error:
            missing[name] = f"not installed ({error})"
        except Exception as error:
            # Whatever a peer, or fastbpe, thinks of this vocabulary is a line of the report.
            missing[name] = (
                f"{type(error).__name__}: {error}" if not isinstance(error, Unsupported) else str(error)
            )
    return loaded, missing


def versions() -> dict[str, str]:
    """Installed versions of all packages that compare.py knows."""
    found = {}
    for package in [*ENCODERS.values(), "rustbpe", "bpeasy", "regex", "numpy"]:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
