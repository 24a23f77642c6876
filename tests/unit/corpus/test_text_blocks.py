"""Blocks of text that several threads read: the same documents as reading in order, wherever blocks end."""

from __future__ import annotations

import gzip
import os
import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import PATTERNS, FormatError
from fastbpe.corpus import encoding_run, open_files, sources, text_blocks
from fastbpe.corpus.sources import read
from fastbpe.corpus.text_documents import Stretch
from fastbpe.splitting import make_splitter
from fastbpe.splitting.cutting import MAX_TOKEN_BYTES, make_cutter
from helpers.sampling import rounds

PARTS = [
    "a",
    "bc",
    " ",
    "de fg",
    "\n",
    "\r\n",
    "\r",
    "\n\n",
    "é",
    "漢字",
    "👍",
    "<sep>",
    "<se",
    "\ufeff",
    "12",
    "<|end|>",
]
SEPARATORS = [None, "\n", "\n\n", "<sep>", "aa", "👍", "<|end|>"]
SPECIAL = ["<|end|>", "<sep>"]


def documents_of(text: str, separator: str | None) -> list[str]:
    """Return the documents of a text, found in memory."""
    text = text.removeprefix("\ufeff")
    if separator is None:
        return [text]
    *whole, rest = text.split(separator)
    if separator == "\n":
        whole = [document.removesuffix("\r") for document in whole]
    return [*whole, rest] if rest else whole


def joined(stretches: Iterator[Stretch]) -> list[str]:
    """Return the documents of a file, with the parts of each joined."""
    found, parts = [], b""
    for stretch in stretches:
        documents = stretch.documents()
        for number, text in enumerate(documents, 1):
            parts += text if isinstance(text, bytes) else text.encode()
            if number < len(documents) or stretch.ends:
                found.append(parts.decode())
                parts = b""
    assert not parts
    return found


def random_text(rng: random.Random) -> str:
    chosen = rng.sample(PARTS, rng.randrange(1, len(PARTS)))
    return "".join(rng.choices(chosen, k=rng.randrange(200)))


@pytest.mark.parametrize("separator", SEPARATORS)
def test_blocks_hold_the_documents_of_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, separator: str | None
) -> None:
    rng = random.Random(f"blocks {separator!r}")
    ends = None if separator is None else separator.encode()
    cutter = make_cutter(make_splitter(PATTERNS["cl100k"]), SPECIAL)
    for number in rounds(15, 2000):
        text = random_text(rng)
        path = tmp_path / f"{number}.txt"
        path.write_bytes(text.encode())
        monkeypatch.setattr(sources, "BLOCK", rng.choice([1, 2, 7, 30, 100]))
        monkeypatch.setattr(text_blocks, "WINDOW_BYTES", rng.choice([16, 24, 40, 1 << 15]))
        wanted = documents_of(text, separator)
        for cut in (None, cutter, lambda data: data.rfind(b"\n") + 1):
            stretches = list(read(path, separator=ends, cut=cut))
            assert joined(iter(stretches)) == wanted, (text, sources.BLOCK, text_blocks.WINDOW_BYTES)
            if text:
                at = rng.randrange(len(stretches))
                rest = [*stretches[: at + 1], *read(path, separator=ends, cut=cut, offset=stretches[at].offset)]
                assert joined(iter(rest)) == wanted
        skipped: list[FormatError] = []
        assert joined(read(path, separator=ends, cut=cutter, skip=skipped.append)) == wanted
        assert not skipped


@pytest.mark.parametrize("separator", SEPARATORS)
def test_threads_and_kinds_of_files_do_not_change_ids_or_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, separator: str | None
) -> None:
    rng = random.Random(f"threads {separator!r}")
    monkeypatch.setattr(sources, "SMALL_BLOCK", 1)
    tokenizer = fastbpe.train(["ab bc de fg <se"] * 9, vocab_size=262, special_tokens=SPECIAL, progress=False)
    end = tokenizer.special_tokens["<|end|>"]
    for number in rounds(4, 200):
        text = random_text(rng) * 3
        monkeypatch.setattr(sources, "BLOCK", rng.choice([5, 30, 100]))
        monkeypatch.setattr(text_blocks, "WINDOW_BYTES", rng.choice([16, 1 << 15]))
        plain, packed = tmp_path / f"{number}.txt", tmp_path / f"{number}.txt.gz"
        plain.write_bytes(text.encode())
        packed.write_bytes(gzip.compress(text.encode()))
        documents = documents_of(text, separator)
        ids = [i for document in documents for i in [*tokenizer.encode_ordinary(document), end]]
        counts = fastbpe.count_pieces(documents, special_tokens=SPECIAL)
        words = fastbpe.count_pieces(documents, mode="codepoint")
        for path in (plain, packed):
            for n_threads in (1, 2, 5):
                out = tmp_path / "ids.bin"
                tokenizer.encode_files(
                    path,
                    out,
                    separator=separator,
                    document_end="<|end|>",
                    num_threads=n_threads,
                    overwrite=True,
                    progress=False,
                )
                assert list(memoryview(out.read_bytes()).cast("H")) == ids
                how = {"separator": separator, "num_threads": n_threads}
                found = fastbpe.count_pieces(path, special_tokens=SPECIAL, **how)
                assert [*found.items()] == [*counts.items()]
                assert fastbpe.count_pieces(path, mode="codepoint", **how) == words


def test_run_that_stops_after_an_empty_file_does_not_repeat_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = fastbpe.train(["a"], vocab_size=257, special_tokens=["<|end|>"], progress=False)
    (tmp_path / "a.txt").write_bytes(b"")
    (tmp_path / "b.txt").write_bytes(b"a b" * 9)
    monkeypatch.setattr(sources, "SMALL_BLOCK", 1)
    monkeypatch.setattr(encoding_run, "PROGRESS_INTERVAL", 0.0)
    write, n_written = encoding_run.Run._write, 0

    def stop(run: encoding_run.Run, *arguments: Any) -> None:
        nonlocal n_written
        write(run, *arguments)
        n_written += 1
        if n_written == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(encoding_run.Run, "_write", stop)
    files, out = [tmp_path / "a.txt", tmp_path / "b.txt"], tmp_path / "ids.bin"
    with pytest.raises(KeyboardInterrupt):
        tokenizer.encode_files(files, out, document_end="<|end|>", num_threads=1, progress=False)
    summary = tokenizer.encode_files(files, out, document_end="<|end|>", num_threads=1, progress=False)
    assert (summary.n_documents, summary.n_ids, n_written > 2) == (2, 29, True)


def test_named_pipe_is_read_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "BLOCK", 16)
    path = tmp_path / "pipe.txt"
    os.mkfifo(path)
    text = "one two\r\n" * 50
    writer = threading.Thread(target=path.write_bytes, args=(text.encode(),))
    writer.start()
    try:
        assert joined(read(path, separator=b"\n")) == ["one two"] * 50
    finally:
        writer.join()


@pytest.mark.parametrize("packing", [".gz", ".zst"])
def test_empty_pipe_is_not_a_packed_file(tmp_path: Path, packing: str) -> None:
    path = tmp_path / f"pipe.txt{packing}"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_bytes, args=(b"",))
    writer.start()
    try:
        with pytest.raises(FormatError, match=r"damaged .* file: it (is empty|ends too early)"):
            joined(read(path))
    finally:
        writer.join()


def test_reads_are_the_same_without_pread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "pread", raising=False)
    monkeypatch.setattr(sources, "BLOCK", 16)
    path = tmp_path / "a.txt"
    path.write_bytes(b"one two\n" * 99)
    assert joined(read(path, separator=b"\n")) == ["one two"] * 99


def test_file_that_becomes_shorter_raises_format_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "BLOCK", 16)
    path = tmp_path / "a.txt"
    path.write_bytes(b"one two\n" * 9)
    stretches = list(read(path, separator=b"\n"))
    path.write_bytes(b"one")
    with pytest.raises(
        FormatError, match=r"a\.txt: the file now ends at byte 3, but was longer when reading began"
    ):
        joined(iter(stretches))


def test_special_token_longer_than_a_window_leaves_documents_whole(tmp_path: Path) -> None:
    token = "x" * (MAX_TOKEN_BYTES + 1)
    assert make_cutter(make_splitter(PATTERNS["cl100k"]), [token]) is None
    assert make_cutter(make_splitter(PATTERNS["cl100k"]), [token[1:]]) is not None
    assert 2 * MAX_TOKEN_BYTES <= text_blocks.WINDOW_BYTES


def test_separators_that_overlap_for_a_whole_block_are_found_from_the_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "BLOCK", 1000)
    monkeypatch.setattr(text_blocks, "WINDOW_BYTES", 64)
    path = tmp_path / "a.txt"
    for n in (4000, 4001):
        path.write_bytes(b"a" + b"\n" * n + b"b")
        assert joined(read(path, separator=b"\n\n")) == documents_of("a" + "\n" * n + "b", "\n\n")


@pytest.mark.parametrize("n_threads", [1, 3])
def test_first_bad_line_is_reported_with_its_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_threads: int
) -> None:
    monkeypatch.setattr(sources, "BLOCK", 64)
    monkeypatch.setattr(sources, "SMALL_BLOCK", 1)
    monkeypatch.setattr(open_files, "_COUNT_BYTES", 100)
    path = tmp_path / "a.txt"
    lines = [b"one two three"] * 99
    lines[50], lines[70] = b"\xff one", b"two \xfe"
    path.write_bytes(b"\n".join(lines))
    for separator in (None, "\n", "two"):
        with pytest.raises(FormatError, match=r"a\.txt:51: not UTF-8: invalid byte 0xff at offset 700;"):
            fastbpe.count_pieces(path, separator=separator, num_threads=n_threads)
    counts = fastbpe.count_pieces(path, separator="\n", num_threads=n_threads, on_error="skip")
    assert (counts.n_skipped, counts[b" three"]) == (2, 97)
    summary = fastbpe.train(["a"], vocab_size=256).encode_files(
        path, tmp_path / "a.bin", separator="\n", on_error="skip", num_threads=n_threads, progress=False
    )
    assert [skipped.split(": ")[0] for skipped in summary.skipped] == [f"{path}:51", f"{path}:71"]
