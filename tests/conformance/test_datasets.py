"""Accelerated tokenizers in datasets: the same columns as with stock ones, and fingerprints that stay the same."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import fastbpe

datasets = pytest.importorskip("datasets")
transformers = pytest.importorskip("transformers")

TEXTS = ["the cat sat on the mat", "", "a mat, a cat: é 你好", "the the the"] * 20
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("datasets")
    trained = fastbpe.train(
        ["the cat sat on the mat"] * 50, vocab_size=265, special_tokens=["<pad>"], progress=False
    )
    trained.export(folder / "tokenizer.json")
    return folder


@pytest.fixture(autouse=True)
def _quiet(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    datasets.disable_progress_bars()
    yield
    datasets.enable_progress_bars()


def stock(folder: Path) -> Any:
    return transformers.PreTrainedTokenizerFast(
        tokenizer_file=str(folder / "tokenizer.json"), pad_token="<pad>", model_max_length=12
    )


def accelerated(folder: Path) -> Any:
    from fastbpe.transformers import accelerate

    return accelerate(stock(folder))


def mapped(tokenizer: Any, **options: Any) -> Any:
    rows = datasets.Dataset.from_dict({"text": TEXTS})
    return rows.map(lambda rows: tokenizer(rows["text"], truncation=True), batched=True, **options)


@pytest.mark.filterwarnings("ignore")  # of multiprocess: this process has threads
@pytest.mark.parametrize("options", [{}, {"num_proc": 2}, {"batch_size": 7}, {"remove_columns": ["text"]}])
def test_map_gives_the_columns_of_stock(options: dict[str, Any], folder: Path) -> None:
    expected, found = mapped(stock(folder), **options), mapped(accelerated(folder), **options)
    assert found.features == expected.features
    assert found[:] == expected[:]


USES: dict[str, Callable[[Any], Any]] = {
    "encode": lambda t: t("the cat"),
    "batch": lambda t: t(["the cat", "a"]),
    "padded": lambda t: t(["the cat", "a"], padding=True, truncation=True),
    "offsets": lambda t: t("the cat", return_offsets_mapping=True),
    "words": lambda t: t("the cat").word_ids(),
    "decode": lambda t: t.decode(t.encode("the cat")),
    "batch_decode": lambda t: t.batch_decode([[1, 2], [3]]),
    "status": lambda t: __import__("fastbpe.transformers").transformers.status(t),
}


@pytest.mark.parametrize("use", USES)
def test_fingerprint_is_the_same_before_and_after_use(use: str, folder: Path) -> None:
    hasher = datasets.fingerprint.Hasher
    tokenizer = accelerated(folder)
    before = hasher.hash(tokenizer)
    USES[use](tokenizer)
    assert hasher.hash(tokenizer) == before
    assert hasher.hash(accelerated(folder)) == before


def test_fingerprint_is_the_same_before_and_after_use_while_patched(folder: Path) -> None:
    from fastbpe.transformers import patch, unpatch

    hasher = datasets.fingerprint.Hasher
    patch()
    try:
        tokenizer = stock(folder)
        before = hasher.hash(tokenizer)
        tokenizer(["the cat"])
        assert hasher.hash(tokenizer) == before
    finally:
        unpatch()


def test_fingerprint_tells_tokenizers_apart(folder: Path) -> None:
    hasher = datasets.fingerprint.Hasher
    tokenizer = accelerated(folder)
    before = hasher.hash(tokenizer)
    tokenizer.add_tokens(["<new>"])
    assert hasher.hash(tokenizer) != before


@pytest.mark.daily
def test_fingerprint_is_the_same_in_another_process(folder: Path) -> None:
    code = """
import sys
from datasets.fingerprint import Hasher
from transformers import PreTrainedTokenizerFast
from fastbpe.transformers import accelerate
path = sys.argv[1]
tokenizer = accelerate(PreTrainedTokenizerFast(tokenizer_file=path, pad_token="<pad>", model_max_length=12))
print(Hasher.hash(tokenizer))
"""
    path = str(folder / "tokenizer.json")
    done = subprocess.run(
        [sys.executable, "-c", code, path], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.split()[-1] == datasets.fingerprint.Hasher.hash(accelerated(folder))


def test_second_map_comes_from_the_cache(folder: Path, tmp_path: Path) -> None:
    datasets.Dataset.from_dict({"text": TEXTS}).save_to_disk(tmp_path / "rows")
    rows, tokenizer = datasets.load_from_disk(tmp_path / "rows"), accelerated(folder)

    def encode(rows: Any) -> Any:
        return tokenizer(rows["text"])

    first = rows.map(encode, batched=True)
    assert rows.map(encode, batched=True)._fingerprint == first._fingerprint
    assert len([*(tmp_path / "rows").glob("cache-*.arrow")]) == 1


def test_tokenizer_of_fastbpe_has_a_stable_fingerprint_too(folder: Path) -> None:
    hasher = datasets.fingerprint.Hasher
    tokenizer = fastbpe.load(folder / "tokenizer.json")
    before = hasher.hash(tokenizer)
    tokenizer.encode("the cat"), tokenizer.count("a"), tokenizer.vocab
    assert hasher.hash(tokenizer) == before == hasher.hash(fastbpe.load(folder / "tokenizer.json"))


def test_arrow_recipe_gives_the_ids_of_the_tokenizer(folder: Path) -> None:
    import pyarrow

    tokenizer = fastbpe.load(folder / "tokenizer.json")

    def encode(table: Any) -> Any:
        return pyarrow.table({"input_ids": tokenizer.to_arrow(table["text"])})

    rows = datasets.Dataset.from_dict({"text": TEXTS}).with_format("arrow")
    encoded = rows.map(encode, batched=True, remove_columns=["text"]).with_format(None)
    assert encoded["input_ids"][:] == [stock(folder)(text)["input_ids"] for text in TEXTS]
