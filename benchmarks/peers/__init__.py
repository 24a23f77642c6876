"""Adapters of other libraries for compare.py: one small module each, imported only when needed.

An adapter uses the fastest documented way of its library for every workload. If the library lacks a workload, the
adapter raises `Unsupported`, and compare.py reports it and leaves the library out.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from vocabularies import Vocabulary

Ids = list[int]

#: Distributions whose module has the same name as the module of an adapter: adapter → distribution.
FORKS = {"gigatoken": "gigatoken-cachefix"}

#: Adapters that encode, in the order of the tables: module in this package → distribution that it needs.
ENCODERS = {
    "fastbpe": "fastbpe-tokenizer",
    "tiktoken": "tiktoken",
    "tokenizers": "tokenizers",
    "tokenizers_rc": "tokenizers",
    "gigatoken": "gigatoken",
    "fastokens": "fastokens",
    "snaptokens": "snaptokens",
    "toktok": "toktok-rs",
    "quicktok": "quicktok-v1",
    "splintr": "splintr-rs",
    "rs_bpe": "rs-bpe",
    "kitoken": "kitoken",
    "tokie": "tokie",
    "nanotoken": "nanotoken",
    "laghu": "laghu-rs",
    "iree": "iree-tokenizer",
    "sentencepiece": "sentencepiece",
}


class Unsupported(Exception):
    """The library lacks this workload, or lacks it for this vocabulary; the message says which."""


class Peer:
    """One library with one vocabulary. Texts are str; special tokens in them are plain text.

    Outputs are a list of ids, an array of uint32, or, for flat forms, an array of all ids and one of offsets.
    """

    def __init__(self, vocabulary: Vocabulary) -> None:
        raise NotImplementedError

    def text_to_list(self, text: str) -> Ids:
        raise Unsupported("no encoding to a list")

    def text_to_numpy(self, text: str) -> Any:
        raise Unsupported("no encoding to an array")

    def short_encoder(self) -> Callable[[str], Ids]:
        """Return a function that encodes one short string to a list; the library's own callable if it returns a
        list."""
        return self.text_to_list

    def documents_to_lists(self, documents: list[str], threads: int) -> list[Ids]:
        raise Unsupported("no encoding of several documents")

    def documents_to_flat(self, documents: list[str], threads: int) -> tuple[Any, Any]:
        raise Unsupported("no encoding of several documents to one array")

    def count_documents(self, documents: list[str], threads: int) -> Sequence[int]:
        raise Unsupported("no counting")

    def lengths(self, documents: list[str], threads: int) -> Sequence[int]:
        """Return the number of ids of each document in the fastest way: counting, or encoding to one array."""
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
        """Write the ids of a .txt (one document) or .jsonl (one per line, field "text") to a file of uint32 only.

        For libraries that read no files, this is the code that a user would write around them.
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


class DecodingPeer(Peer):
    """A library whose tokenizer has decode, which makes a text of ids."""

    tokenizer: Any

    def ids_to_text(self, ids: Ids) -> str:
        return self.tokenizer.decode(ids)


class OrdinaryPeer(DecodingPeer):
    """A library with bundled vocabularies and tiktoken's names, whose batches become one flat array only."""

    bundled: Mapping[str, str] = {}  # short name → the library's name

    def __init__(self, vocabulary: Vocabulary) -> None:
        if vocabulary.short_name not in self.bundled:
            raise Unsupported(f"brings only {', '.join(self.bundled)}")
        self.tokenizer = self.opened(self.bundled[vocabulary.short_name])

    def opened(self, name: str) -> Any:
        raise NotImplementedError

    def text_to_list(self, text: str) -> Ids:
        return self.tokenizer.encode_ordinary(text)

    def short_encoder(self) -> Callable[[str], Ids]:
        return self.tokenizer.encode_ordinary

    def documents_to_lists(self, documents: list[str], threads: int) -> list[Ids]:
        if threads != 1:
            raise Unsupported("batches become one flat array only")
        encode = self.tokenizer.encode_ordinary
        return [encode(document) for document in documents]

    def lists_to_texts(self, batch: list[Ids], threads: int) -> list[str]:
        if threads != 1:
            raise Unsupported("decodes on one thread")
        return self.tokenizer.decode_batch(batch)


def pool_size() -> int:
    """Return the number of threads of libraries that use all cores: rayon's pool, which --threads limits."""
    return int(os.environ.get("RAYON_NUM_THREADS") or os.cpu_count() or 1)


def on_all_cores(threads: int) -> bool:
    """Tell whether to use all cores, not one thread. Raises Unsupported for another number of threads."""
    if threads not in (1, pool_size()):
        raise Unsupported("works on one thread or on all cores")
    return threads > 1


def need_all_cores(threads: int) -> None:
    """Raise Unsupported unless all cores are wanted."""
    if threads != pool_size():
        raise Unsupported("takes all cores; --threads 1 holds it to one")


def flat_of_bytes(ids: bytes, offsets: bytes) -> tuple[Any, Any]:
    """Return arrays over the bytes in which splintr and fastokens return ids and offsets."""
    import numpy

    return numpy.frombuffer(ids, dtype=numpy.uint32), numpy.frombuffer(offsets, dtype=numpy.uint64)


def load(name: str, vocabulary: Vocabulary) -> Peer:
    """Return the adapter of a peer with a vocabulary. Raises ImportError or Unsupported."""
    peer: Peer = import_module(f"peers.{name}").Adapter(vocabulary)
    return peer


def load_all(names: Iterable[str], vocabulary: Vocabulary) -> tuple[dict[str, Peer], dict[str, str]]:
    """Return peers by name, and for those that fail to load, the reason."""
    loaded: dict[str, Peer] = {}
    missing: dict[str, str] = {}
    for name in names:
        try:
            loaded[name] = load(name, vocabulary)
        except ImportError as error:
            missing[name] = f"not installed ({error})"
        except Exception as error:
            # Any error of a peer, or of fastbpe, with this vocabulary becomes a line of the report.
            missing[name] = (
                f"{type(error).__name__}: {error}" if not isinstance(error, Unsupported) else str(error)
            )
    return loaded, missing


def distribution(name: str, found: Mapping[str, str]) -> str:
    """Return the distribution that an adapter uses: its fork if that is installed."""
    fork = FORKS.get(name, "")
    return fork if fork in found else ENCODERS[name]


def versions() -> dict[str, str]:
    """Return the installed versions of all packages that compare.py knows."""
    found = {}
    for package in [
        *ENCODERS.values(),
        *FORKS.values(),
        "transformers",
        "rustbpe",
        "bpeasy",
        "gigabpe",
        "regex",
        "numpy",
    ]:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found
