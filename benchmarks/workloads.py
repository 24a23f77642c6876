"""Rows of compare.py: the workload of every peer, its input, and the bar of fastbpe."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from peers import Ids, Peer
from texts import cut, fresh

DOCUMENT_BYTES = 2000
SHORT_BYTES = 100
ALL_CORES = ", all cores"
SHORT_TEXT_BYTES = 4_000_000  # of short strings; the time of each does not depend on their number


class Material:
    """A text, cut in every way that the rows need, with the ids of one peer, the reference."""

    def __init__(self, text: str, reference: Peer, threads: int) -> None:
        self.text = text
        self.n_bytes = len(text.encode())
        self.documents = cut(text, DOCUMENT_BYTES)
        self.short = cut(text[:SHORT_TEXT_BYTES], SHORT_BYTES)
        self.reference = reference
        self.threads = threads
        self._folder = tempfile.TemporaryDirectory(prefix="fastbpe-bench-")

    @cached_property
    def ids(self) -> Ids:
        return self.reference.text_to_list(self.text)

    @cached_property
    def lists(self) -> list[Ids]:
        encode = self.reference.short_encoder()
        return [encode(document) for document in self.documents]

    @cached_property
    def decoded(self) -> str:
        return self.reference.ids_to_text(self.ids)

    @cached_property
    def decoded_documents(self) -> list[str]:
        return [self.reference.ids_to_text(ids) for ids in self.lists]

    @cached_property
    def txt(self) -> Path:
        path = Path(self._folder.name) / "text.txt"
        path.write_text(self.text, encoding="utf-8", newline="")
        return path

    @cached_property
    def jsonl(self) -> Path:
        path = Path(self._folder.name) / "documents.jsonl"
        with open(path, "w", encoding="utf-8") as file:
            file.writelines(json.dumps({"text": document}) + "\n" for document in self.documents)
        return path

    def out(self) -> Path:
        """Return the path to write to; no file exists there, because deleting an old one must not be timed."""
        path = Path(self._folder.name) / "ids.bin"
        for made in path.parent.glob(path.name + "*"):
            made.unlink()
        return path


@dataclass(frozen=True)
class Row:
    """One row of a table.

    Fields:
        command: command of compare.py that shows the row.
        title: first column of the table.
        bar: speed of fastbpe / speed of the best peer, at least.
        dream: the ratio hoped for.
        inputs: make the input of a call, outside the clock.
        run: the timed call.
        plain: convert an output into the form in which peers are compared.
        expected: output of the reference in that form.
        threads: number of threads; 0 for compare.py's argument.
        against: bars against peers by name, in place of `bar`.
        n_bytes: bytes of text that a call works on.
    """

    command: str
    title: str
    bar: float
    dream: float
    inputs: Callable[[Material], Any]
    run: Callable[[Peer, Any, int], Any]
    plain: Callable[[Any], Any]
    expected: Callable[[Material], Any]
    threads: int = 0
    against: Mapping[str, float] = field(default_factory=dict)
    n_bytes: Callable[[Material], int] = lambda material: material.n_bytes


def rows(command: str, threads: int, model_type: str = "") -> list[Row]:
    """Return the rows of a command; with one thread, rows for all cores are left out as duplicates.

    Args:
        command: command of compare.py.
        threads: number of threads of the run.
        model_type: type of a model of sentencepiece or a tokenizer.json, whose bars count; "": ranks.
    """
    chosen = [row for row in _ROWS if row.command == command]
    if model_type:
        bars = _AGAINST.get(model_type, {})
        chosen = [replace(row, against=bars.get(row.title, {})) for row in chosen]
    return [row for row in chosen if threads > 1 or not row.title.endswith(ALL_CORES)]


def _text(material: Material) -> str:
    return fresh(material.text)


def _documents(material: Material) -> list[str]:
    return [fresh(document) for document in material.documents]


def _short(material: Material) -> list[str]:
    return [fresh(string) for string in material.short]


def _to_list(peer: Peer, text: str, threads: int) -> Ids:
    return peer.text_to_list(text)


def _to_numpy(peer: Peer, text: str, threads: int) -> Any:
    return peer.text_to_numpy(text)


def _lists(peer: Peer, documents: list[str], threads: int) -> list[Ids]:
    return peer.documents_to_lists(documents, threads)


def _flat(peer: Peer, documents: list[str], threads: int) -> tuple[Any, Any]:
    return peer.documents_to_flat(documents, threads)


def _counts(peer: Peer, documents: list[str], threads: int) -> Any:
    return peer.count_documents(documents, threads)


def _lengths(peer: Peer, documents: list[str], threads: int) -> Any:
    return peer.lengths(documents, threads)


def _one_by_one(peer: Peer, strings: list[str], threads: int) -> list[Ids]:
    encode = peer.short_encoder()
    return [encode(string) for string in strings]


def _decoded(peer: Peer, ids: Ids, threads: int) -> str:
    return peer.ids_to_text(ids)


def _all_decoded(peer: Peer, batch: list[Ids], threads: int) -> list[str]:
    return peer.lists_to_texts(batch, threads)


def _jsonl(material: Material) -> tuple[Path, Path]:
    return material.jsonl, material.out()


def _txt(material: Material) -> tuple[Path, Path]:
    return material.txt, material.out()


def _to_file(peer: Peer, paths: tuple[Path, Path], threads: int) -> Path:
    peer.files_to_bin(*paths, threads)
    return paths[1]


def _ids_in_file(path: Path) -> Ids:
    return memoryview(path.read_bytes()).cast("I").tolist()


def _plain_ids(ids: Any) -> Ids:
    return ids if isinstance(ids, list) else ids.tolist()


def _plain_flat(output: tuple[Any, Any]) -> list[Any]:
    return [output[0].tolist(), output[1].tolist()]


def _flat_of_lists(material: Material) -> list[Any]:
    ids: Ids = []
    offsets = [0]
    for part in material.lists:
        ids += part
        offsets.append(len(ids))
    return [ids, offsets]


def _flat_ids(material: Material) -> Ids:
    return _flat_of_lists(material)[0]


def _lengths_of_lists(material: Material) -> list[int]:
    return [len(ids) for ids in material.lists]


def _ids_of_short(material: Material) -> list[Ids]:
    encode = material.reference.short_encoder()
    return [encode(string) for string in material.short]


def _bytes_of_short(material: Material) -> int:
    return sum(len(string.encode()) for string in material.short)


def _all_cores_and_one_thread(command: str, title: str, bar: float, dream: float, *how: Any) -> list[Row]:
    """Return the row twice: on all cores, and on one thread."""
    return [
        Row(command, title + ALL_CORES, bar, dream, *how),
        Row(command, f"{title}, one thread", bar, dream, *how, threads=1),
    ]


_ROWS = [
    Row("encode", "one long str → list", 1.5, 2, _text, _to_list, _plain_ids, lambda m: m.ids),
    Row("encode", "one long str → numpy", 1.5, 2, _text, _to_numpy, _plain_ids, lambda m: m.ids),
    *_all_cores_and_one_thread(
        "batch", "2 KB documents → lists", 1.5, 2, _documents, _lists, list, lambda m: m.lists
    ),
    *_all_cores_and_one_thread(
        "batch", "2 KB documents → flat numpy", 1.3, 2, _documents, _flat, _plain_flat, _flat_of_lists
    ),
    *_all_cores_and_one_thread(
        "count", "count 2 KB documents by what counts", 5, 8, _documents, _counts, list, _lengths_of_lists
    ),
    *_all_cores_and_one_thread(
        "count", "count 2 KB documents by any means", 1.3, 2, _documents, _lengths, list, _lengths_of_lists
    ),
    Row(
        "short",
        "100-byte strings one by one → list",
        3,
        5,
        _short,
        _one_by_one,
        list,
        _ids_of_short,
        threads=1,
        n_bytes=_bytes_of_short,
    ),
    Row(
        "decode", "one long list → str", 3, 5, lambda m: list(m.ids), _decoded, str, lambda m: m.decoded, threads=1
    ),
    *_all_cores_and_one_thread(
        "decode",
        "2 KB documents' lists → strs",
        3,
        5,
        lambda m: m.lists,
        _all_decoded,
        list,
        lambda m: m.decoded_documents,
    ),
    Row("files", ".jsonl of 2 KB documents → .bin", 1.3, 2, _jsonl, _to_file, _ids_in_file, _flat_ids),
    Row("files", ".txt, one document → .bin", 1.3, 2, _txt, _to_file, _ids_in_file, lambda m: m.ids),
]
# Bars by type of model: speed of fastbpe / speed of each of these peers.
_OF_BPE: Mapping[str, Mapping[str, float]] = {
    "one long str → list": {"sentencepiece": 100, "gigatoken": 4},
    "one long str → numpy": {"gigatoken": 2.5},
    "2 KB documents → flat numpy" + ALL_CORES: {"gigatoken": 5},
    "2 KB documents → lists" + ALL_CORES: {"sentencepiece": 25},
    "100-byte strings one by one → list": {"sentencepiece": 20, "gigatoken": 4, "kitoken": 4, "tokenizers": 4},
    "one long list → str": {"sentencepiece": 10},
}
_OF_UNIGRAM: Mapping[str, Mapping[str, float]] = {
    "one long str → list": {"sentencepiece": 3},
    "100-byte strings one by one → list": {"sentencepiece": 3},
}
_OF_WORDPIECE: Mapping[str, Mapping[str, float]] = {
    title: {"tokenizers": 10, "nanotoken": 1, "laghu": 1, "tokie": 1, "kitoken": 1}
    for title in (
        "one long str → list",
        "2 KB documents → lists" + ALL_CORES,
        "2 KB documents → lists, one thread",
        "100-byte strings one by one → list",
    )
}
_AGAINST = {"BPE": _OF_BPE, "Unigram": _OF_UNIGRAM, "WordPiece": _OF_WORDPIECE}
COMMANDS = tuple(dict.fromkeys(row.command for row in _ROWS))
