"""`Corpus`: a source is listed once, and its size is known if it is made of plain files."""

import gzip
import os
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe.corpus.corpora import Corpus
from fastbpe.corpus.listing import Listing


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a.txt").write_bytes(b"ab ab")
    (tmp_path / "b.jsonl").write_bytes(b'{"text": "ab"}\n')
    return tmp_path


@pytest.mark.parametrize("mode", ["byte", "codepoint"])
def test_train_lists_the_files_of_a_folder_once(folder: Path, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    listed: list[object] = []
    real = Listing.files

    def counting(self: Listing, item: Any) -> Any:
        listed.append(item)
        return real(self, item)

    monkeypatch.setattr(Listing, "files", counting)
    totals: list[int | None] = []
    options: dict[str, Any] = {"vocab_size": 257} if mode == "byte" else {"vocab_size": "characters"}
    fastbpe.train(folder, mode=mode, progress=lambda phase, done, total: totals.append(total), **options)
    assert listed == [folder]
    assert totals[0] == 20  # bytes of both files


def test_n_bytes_is_known_for_plain_files_only(folder: Path) -> None:
    assert Corpus(folder / "a.txt").n_bytes == 5
    assert Corpus([str(folder / "a.txt"), folder / "b.jsonl"]).n_bytes == 20
    assert Corpus(["a text"]).n_bytes is None
    assert Corpus([folder / "a.txt", b"a text"]).n_bytes is None
    assert Corpus(iter([folder / "a.txt"])).n_bytes is None
    (folder / "c.txt.gz").write_bytes(gzip.compress(b"ab"))
    assert Corpus(folder).n_bytes is None


def test_missing_file_raises_when_it_is_read(folder: Path) -> None:
    corpus = Corpus([folder / "a.txt", folder / "no.txt"])
    assert corpus.n_bytes is None
    with pytest.raises(FileNotFoundError) as raised:
        list(corpus.documents())
    assert os.fspath(raised.value.filename) == os.fspath(folder / "no.txt")


def test_pattern_with_nul_is_not_there() -> None:
    with pytest.raises(FileNotFoundError, match="no file matches"):
        Corpus("a\0/*.txt")


def test_paths_among_documents_are_listed_when_their_turn_comes(folder: Path) -> None:
    read = Corpus(iter(["first", folder / "later.txt"])).documents()
    assert next(read) == "first"
    (folder / "later.txt").write_bytes(b"second")
    assert list(read) == [b"second"]
