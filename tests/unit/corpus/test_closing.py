"""Files are closed as soon as a call has failed: neither a cycle nor a traceback leaves that to the collector."""

import gc
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import fastbpe
from fastbpe import FormatError, Tokenizer

OPEN_FILES = Path("/proc/self/fd")
TOKENIZER = Tokenizer.from_merges([(97, 98)], pattern="cl100k")
LINE = b'{"text": "ab ab ab"}\n'
CALLS: dict[str, Callable[[Path, int], object]] = {
    "encode_files": lambda path, n: TOKENIZER.encode_files([path], path.with_suffix(".bin"), num_threads=n),
    "train": lambda path, n: fastbpe.train([path], vocab_size=260, num_threads=n, progress=False),
    "codepoint": lambda path, n: fastbpe.train(
        [path], mode="codepoint", vocab_size=30, num_threads=n, progress=False
    ),
    "count_pieces": lambda path, n: fastbpe.count_pieces([path], num_threads=n, progress=False),
    "vocabulary_report": lambda path, n: fastbpe.vocabulary_report(TOKENIZER, [path]),
}


@pytest.fixture
def no_collector() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def open_below(folder: Path) -> list[str]:
    files = []
    for link in OPEN_FILES.iterdir():
        try:
            files.append(os.readlink(link))
        except FileNotFoundError:  # the folder's own
            continue
    return [file for file in files if file.startswith(str(folder))]


@pytest.mark.daily
@pytest.mark.skipif(not OPEN_FILES.exists(), reason="no /proc to list the open files")
@pytest.mark.parametrize("n_threads", [1, 2])
@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("kind", ["short.jsonl", "long.jsonl", "short.txt", "long.txt"])
def test_failed_call_leaves_no_file_open(
    kind: str, call: str, n_threads: int, tmp_path: Path, no_collector: None
) -> None:
    path = tmp_path / kind
    good = LINE * (120_000 if kind.startswith("long") else 5)  # blocks of a long file are read by threads
    path.write_bytes(good + (b"x\n" if kind.endswith("jsonl") else b"\xff\n") + good)
    with pytest.raises(FormatError) as found:
        CALLS[call](path, n_threads)
    del found
    assert open_below(tmp_path) == []
