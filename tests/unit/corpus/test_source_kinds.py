"""One rule tells whether a source holds paths, texts or counts, in train, count_pieces and encode_files."""

from __future__ import annotations

import os
import warnings
from collections import Counter, deque
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import PieceCounts, Tokenizer, TrainingError, TrainingWarning

WORDS = r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+"


def train(source: Any, *, n_merges: int | None = None, **options: Any) -> Tokenizer:
    """Train without warnings; n_merges=None learns all merges there are."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        vocab_size = 256 + (500 if n_merges is None else n_merges)
        return fastbpe.train(source, vocab_size=vocab_size, progress=False, **{"pattern": WORDS, **options})


def learned_text(source: Any, **options: Any) -> list[str]:
    return [token.decode() for token in train(source, **options).vocab[256:]]


def trains_the_same(source: Any, documents: Any, **options: Any) -> bool:
    """Return True if a source trains the same tokenizer as these documents."""
    one, other = train(source, **options), train(documents)
    return one == other and one.training_report["n_bytes"] == other.training_report["n_bytes"]


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "name",
    ["no.txt", "no.JSONL", "no.parquet", "a b.txt.gz", "no.zst", "no/", "no/*", "no-?", "no[1]", "no.xz"],
)
def test_list_items_that_look_like_paths_are_paths(name: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.txt").write_text("abab")
    for source in ([name], ("a.txt", name), [Path("a.txt"), name], [b"text", name]):
        for call in (train, fastbpe.count_pieces):
            with pytest.raises(
                FileNotFoundError, match=r"read as paths; pass texts as iter\(list\)\): 'a? ?"
            ) as caught:
                call(source)
            assert caught.value.filename == name
    assert trains_the_same(iter([name]), [name, ""])


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "text",
    [
        *("a text", "see *this* one", "why is that?", "a.txt\n", "x" * 1020 + ".txt", "a\0.txt", ""),
        "nonsense://is.not/looked-up",
    ],
)
def test_list_items_that_do_not_look_like_paths_are_texts(text: str, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert trains_the_same([text, "ab"], iter([text, "ab"]))
    assert trains_the_same([text, "no.txt"], iter([text, "no.txt"]))


def test_a_text_longer_than_any_path_is_not_looked_up(monkeypatch: Any) -> None:
    text = "see https://example.org/ and " * 2000
    looked_up: list[str] = []
    exists = os.path.exists
    monkeypatch.setattr(os.path, "exists", lambda name: looked_up.append(name) or exists(name))
    assert trains_the_same([text], iter([text]))
    assert not [name for name in looked_up if len(str(name)) > 1000]


def test_path_objects_are_paths_in_any_iterable(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.txt").write_text("abab")
    for source in ("folder", "folder/*.txt", ["folder/"], ("folder/a.txt",), ["folder/*"], iter([Path("folder")])):
        assert trains_the_same(source, ["abab"])
        if not hasattr(source, "__next__"):
            assert fastbpe.count_pieces(source) == fastbpe.count_pieces(["abab"])
    for texts in (iter(["folder"]), {"folder"}, deque(["folder"])):
        assert trains_the_same(texts, [b"folder"])


def test_list_item_naming_a_file_without_looking_like_a_path_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.txt").write_text("abab")
    (tmp_path / "a.txt").write_text("abab")
    (tmp_path / "a folder").mkdir()
    for source, name in ((["corpus"], "corpus"), (["a.txt", "corpus"], "corpus"), (["a.txt", "a fol*"], "a fol*")):
        with pytest.raises(
            TrainingError, match=f"{name!r} names a file or a folder.*Path.*iter.texts.".replace("*'", r"\*'")
        ):
            train(source)


@pytest.mark.parametrize(
    ("source", "name"),
    [
        (["s3://bucket/a.txt", "s3://bucket/README"], "s3://bucket/README"),
        (["https://example.org/a", "nonsense://b"], "https://example.org/a"),
    ],
)
def test_list_of_addresses_that_do_not_all_look_like_paths_is_refused_without_a_look(
    source: list[str], name: str, monkeypatch: Any
) -> None:
    monkeypatch.setattr("fastbpe.corpus.remote.RemotePath.exists", lambda self: pytest.fail("looked up"))
    with pytest.raises(TrainingError, match=f"'{name}' is an address, .* pass it alone.*iter.texts."):
        train(source)
    assert trains_the_same([*source, "see s3://bucket/README"], iter([*source, "see s3://bucket/README"]))


def test_mappings_are_counts_of_pieces() -> None:
    counts = {"the": 10, b"cat": 5, "at": 0}
    assert learned_text(counts) == ["he", "the", "at", "cat"]
    assert trains_the_same(Counter({"the": 10, "cat": 5}), PieceCounts({"the": 10, "cat": 5}, pattern=WORDS))
    assert learned_text({"a b": 3}, n_merges=2) == [" b", "a b"]  # the pattern does not split counted pieces
    counted = fastbpe.count_pieces({"the": 10, "cat": 5}, pattern="gpt2", special_tokens=["<s>"])
    assert counted == PieceCounts({"the": 10, "cat": 5}, pattern="gpt2", special_tokens=["<s>"])
    tokenizer = train(counts, n_merges=2)
    extended = fastbpe.train({"the the": 2}, vocab_size=259, base=tokenizer, progress=False)
    assert extended.vocab[258] == b" the"
    told: list[Any] = []
    train(counts, n_merges=1)
    fastbpe.count_pieces({"a": 1}, progress=lambda *said: told.append(said))
    assert [phase for phase, *_ in told] == ["counting", "counting"]


@pytest.mark.parametrize(
    ("counts", "error", "message"),
    [
        ({"the": "x"}, TypeError, "count of b?'the' must be an integer, not str"),
        ({"the": -1}, ValueError, "count of b'the' is -1: it must not be negative"),
        ({5: 1}, TypeError, "piece 5 is int, not bytes or str"),
        ({}, TrainingError, "no text to learn from"),
        ({"a": 1 << 63}, OverflowError, "more than"),
    ],
)
def test_invalid_counts_are_named_in_the_error(counts: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        train(counts)


@pytest.mark.parametrize(
    "option",
    [{"text_field": "a"}, {"separator": "a"}, {"on_error": "skip"}, {"errors": "replace"}, {"num_threads": 2}],
)
def test_reading_options_are_refused_for_counts(option: dict[str, Any]) -> None:
    for call in (train, fastbpe.count_pieces):
        with pytest.raises(TrainingError, match=f"counted already: leave out {next(iter(option))}"):
            call({"a": 1}, **option)
    with pytest.raises(TrainingError, match="counted already"):
        fastbpe.count_pieces(PieceCounts({"a": 1}))


def test_separator_ends_documents(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"ab<|end|>ab\r\nab")
    for separator, documents in (("<|end|>", ["ab", "ab\r\nab"]), ("\n", ["ab<|end|>ab", "ab"])):
        assert trains_the_same(tmp_path / "a.txt", documents, separator=separator)
        counted = fastbpe.count_pieces(tmp_path / "a.txt", pattern=None, separator=separator)
        assert counted == fastbpe.count_pieces(documents, pattern=None)
    for wrong, error in (("", ValueError), (b"a", TypeError)):
        with pytest.raises(error, match="separator"):
            train(tmp_path / "a.txt", separator=wrong)
    with pytest.raises(TypeError, match="text_field must be str, not int"):
        train(tmp_path / "a.txt", text_field=5)


def test_counts_in_code_point_mode_count_sentences() -> None:
    options: dict[str, Any] = {"mode": "codepoint", "vocab_size": 10, "hard_vocab_limit": False, "progress": False}
    counted = fastbpe.train({"ab ab": 3, b"ac": 2, "x": 0}, **options)
    assert counted == fastbpe.train(["ab ab\n" * 3 + "ac\n" * 2], **options)
    assert fastbpe.train({"ab\nab": 1}, **options).training_report["n_sentences"] == 1
    for source, more, error, message in (
        ({"a\tb": 1}, {}, TrainingError, "'a.tb' contains a tab, but fastbpe reads what follows a tab"),
        ({"a": -1}, {}, ValueError, "must not be negative"),
        ({5: 1}, {}, TypeError, "sentence 5 is int, not bytes or str"),
        (
            {"a": 1},
            {"input_format": "text"},
            TrainingError,
            "input_format='text': for sentences with counts, use 'tsv'",
        ),
        ({"a": 1}, {"separator": "x"}, TrainingError, "counted already: leave out separator="),
        (PieceCounts({"a": 1}), {}, TrainingError, "these counts are for"),
    ):
        with pytest.raises(error, match=message):
            fastbpe.train(source, **options, **more)
    with pytest.raises(TrainingError, match="for sentences with counts, use 'tsv'"):  # it was ignored
        fastbpe.train({"ab": 9}, base=counted, vocab_size="+1", input_format="text")


def test_encode_files_takes_every_str_as_a_path(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.txt").write_text("ab")
    (tmp_path / "b").write_text("abc")
    tokenizer = train(["ab"])
    for inputs, n_bytes in (
        ("corpus", 2), ("corpus/*", 2), (["corpus/", "b"], 5), (iter(["b"]), 3), ([Path("corpus")], 2)
    ):  # fmt: skip
        assert tokenizer.encode_files(inputs, "a.bin", overwrite=True).n_bytes == n_bytes
    for wrong in (["some text"], "some text", ["no.txt"], iter(["no.txt"])):
        with pytest.raises(FileNotFoundError, match="every str is a path here; texts are encoded by encode_batch"):
            tokenizer.encode_files(wrong, "b.bin")
    with pytest.raises(TypeError, match="inputs must be a path, a folder, or a list of paths, not dict"):
        tokenizer.encode_files({"b": 1}, "b.bin")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.bin",
        "a.bin.json",
        "a.bin.offsets",
        "b",
        "corpus",
    ]
