"""Spark and Ray give the counts, vocabularies, ids and files of a single machine, for any partitioning."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from cluster.conftest import Cluster
from fastbpe import Tokenizer

pytestmark = [pytest.mark.sample(2), pytest.mark.filterwarnings("ignore")]  # of the engines

RNG = random.Random(5)
WORDS = ["".join(RNG.choices("abcdeéя新👍 1", k=RNG.randint(1, 7))) for _ in range(400)]
TEXTS = [" ".join(RNG.choices(WORDS, k=RNG.randint(0, 60))) for _ in range(400)]
MODES: dict[str, dict[str, Any]] = {
    "byte": {"pattern": "gpt2", "special_tokens": ["<|end|>"]},
    "codepoint": {"mode": "codepoint", "split_digits": True, "user_defined_symbols": ["新"]},
    "unigram": {"mode": "unigram", "split_digits": True, "user_defined_symbols": ["新"]},
}


def learned(source: Any, mode: str, **options: Any) -> Tokenizer:
    size = {"byte": 500, "codepoint": 150, "unigram": 80}[mode]
    return fastbpe.train(source, mode=mode, vocab_size=size, progress=False, **options)


@pytest.fixture(scope="module", params=MODES)
def mode(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def tokenizers() -> dict[str, Tokenizer]:
    return {mode: learned(iter(TEXTS), mode, **strip(options)) for mode, options in MODES.items()}


def strip(options: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if name != "mode"}


@pytest.mark.parametrize("n_parts", [1, 3, 7])
def test_counts_and_vocabularies_equal_one_machine(cluster: Cluster, mode: str, n_parts: int) -> None:
    counts = cluster.module.count_pieces(cluster.table(TEXTS, n_parts), "text", **MODES[mode])
    one = fastbpe.count_pieces(iter(TEXTS), num_threads=1, progress=False, **MODES[mode])
    threads = fastbpe.count_pieces(iter(TEXTS), num_threads=3, progress=False, **MODES[mode])
    assert counts == one == threads
    for name in ("n_bytes", "n_skipped", "n_pruned"):
        assert getattr(counts, name) == getattr(one, name)
    assert (counts._plain().words is None) == (mode == "byte")
    if mode == "byte":
        assert list(counts.items()) == list(one.items())  # also the order of first appearance
        for ties in ("pair", "huggingface", "first"):
            assert learned(counts, mode, ties=ties) == learned(iter(TEXTS), mode, ties=ties, **MODES[mode])
    else:
        assert counts._words == one._words
        whole = learned(iter(TEXTS), mode, **strip(MODES[mode]))
        assert learned(counts, mode) == whole
        assert learned(counts, mode).training_report == whole.training_report


def test_counting_within_little_memory_spills_to_the_same_counts(cluster: Cluster, mode: str) -> None:
    texts = [f"word{i} " * 3 for i in range(9000)]
    counts = cluster.module.count_pieces(cluster.table(texts), "text", max_memory_bytes=1, **MODES[mode])
    one = fastbpe.count_pieces(iter(texts), **MODES[mode])
    assert counts == one
    if mode == "byte":
        assert list(counts.items()) == list(one.items())


def test_order_of_documents_changes_no_byte_of_the_vocabulary(cluster: Cluster, mode: str, tmp_path: Path) -> None:
    others = random.Random(3).sample(TEXTS[:-1], 399)  # a unigram model depends on which sentence is last
    counts = cluster.module.count_pieces(cluster.table([*others, TEXTS[-1]], 3), "text", **MODES[mode])
    for options in [{"ties": "pair"}, {"ties": "huggingface"}] if mode == "byte" else [{}]:
        learned(counts, mode, **options).save(tmp_path / "engine.fbpe")
        learned(iter(TEXTS), mode, **options, **strip(MODES[mode])).save(tmp_path / "one.fbpe")
        assert (tmp_path / "engine.fbpe").read_bytes() == (tmp_path / "one.fbpe").read_bytes()


def test_binary_columns_and_nulls_are_counted(cluster: Cluster) -> None:
    texts = [text.encode() for text in TEXTS[:50]]
    for rows, n_skipped in ((texts, 0), ([*texts[:9], None, *texts[9:], None], 2)):
        counts = cluster.module.count_pieces(cluster.table(rows, kind="binary"), "text", on_error="skip")
        assert counts == fastbpe.count_pieces(iter(texts))
        assert counts.n_skipped == n_skipped


def test_empty_table_has_empty_counts(cluster: Cluster, mode: str) -> None:
    assert len(cluster.module.count_pieces(cluster.table([]), "text", **MODES[mode])) == 0


def test_ids_equal_one_machine(cluster: Cluster, mode: str, tokenizers: dict[str, Tokenizer]) -> None:
    tokenizer = tokenizers[mode]
    texts = [*TEXTS, None, "", "<|end|>"]
    rows = cluster.rows(cluster.module.encode(cluster.table(texts, 3), "text", tokenizer, output="ids"))
    assert [row["text"] for row in rows] == texts
    found = [None if row["ids"] is None else list(row["ids"]) for row in rows]
    assert found == [None if text is None else tokenizer.encode_ordinary(text) for text in texts]
    if mode == "byte":
        table = cluster.table(["a<|end|>"])
        more = cluster.module.encode(table, "text", tokenizer, allowed_special={"<|end|>"}, dtype="int16")
        assert list(cluster.rows(more)[0]["input_ids"]) == tokenizer.encode("a<|end|>", allowed_special="all")


def test_shards_merge_into_the_file_of_one_machine(
    cluster: Cluster, mode: str, tokenizers: dict[str, Tokenizer], tmp_path: Path
) -> None:
    tokenizer = tokenizers[mode]
    texts = [text or "x" for text in TEXTS]
    (tmp_path / "all.txt").write_text("".join(f"{text}\n" for text in texts))
    tokenizer.encode_files(tmp_path / "all.txt", tmp_path / "one.bin", separator="\n", progress=False)
    (tmp_path / "ids").mkdir()
    for n_parts in (3, 3):  # a task that runs twice
        done = cluster.module.write_shards(
            cluster.table(texts, n_parts), "text", tokenizer, tmp_path / "ids" / "a.bin"
        )
    assert (done.n_documents, done.n_ids) == (len(texts), sum(map(len, tokenizer.encode_ordinary_batch(texts))))
    assert sorted(path.name for path in (tmp_path / "ids").glob("*.bin")) == [
        f"a-{i:05d}-of-00003.bin" for i in range(3)
    ]
    fastbpe.merge_shards(tmp_path / "ids" / "a.bin", tmp_path / "merged.bin", progress=False)
    for ending in ("", ".offsets"):
        merged, one = (tmp_path / f"{name}.bin{ending}" for name in ("merged", "one"))
        assert merged.read_bytes() == one.read_bytes()
    assert [list(ids) for ids in fastbpe.open_ids(tmp_path / "ids")] == tokenizer.encode_ordinary_batch(texts)


def test_superwords_of_counts_and_runs_equal_one_machine(cluster: Cluster) -> None:
    """The engine counts pieces, and then runs of the words that were learned from them."""
    options: dict[str, Any] = {"vocab_size": 600, "progress": False}
    table = cluster.table(TEXTS, 3)
    counts = cluster.module.count_pieces(table, "text", pattern="gpt2")
    words = fastbpe.train(counts, superwords="words", **options)
    runs = cluster.module.count_pieces(table, "text", superwords=words)
    assert runs == fastbpe.count_pieces(iter(TEXTS), superwords=words, progress=False)
    assert len(runs) > 100
    found = fastbpe.train(runs, superwords="boundless", base=words, **options)
    assert found == fastbpe.train(iter(TEXTS), pattern="gpt2", superwords="boundless", **options)
    assert any(b" " in token.strip() for token in found.vocab)
    on_top: dict[str, Any] = {"base": words, "superwords": fastbpe.Superwords()}
    runs = cluster.module.count_pieces(table, "text", **on_top)
    assert runs == fastbpe.count_pieces(iter(TEXTS), progress=False, **on_top)
    with pytest.warns(fastbpe.TrainingWarning, match="other ids"):
        found = fastbpe.train(runs, vocab_size="+50", progress=False, **on_top)
    with pytest.warns(fastbpe.TrainingWarning, match="other ids"):
        assert found == fastbpe.train(iter(TEXTS), vocab_size="+50", progress=False, **on_top)
    neighbours = cluster.module.count_pieces(table, "text", neighbours="count", **on_top)
    assert neighbours == fastbpe.count_pieces(iter(TEXTS), neighbours="count", progress=False, **on_top)
    frequent = neighbours.pruned(found.training_report["least_count"])
    cut = cluster.module.count_pieces(table, "text", neighbours=frequent, **on_top)
    assert len(cut) < len(runs)
    with pytest.warns(fastbpe.TrainingWarning, match="other ids"):
        assert fastbpe.train(cut, vocab_size="+50", progress=False, **on_top) == found


def test_shards_of_a_sorted_table_have_the_documents_in_its_order(
    cluster: Cluster, tokenizers: dict[str, Tokenizer], tmp_path: Path
) -> None:
    tokenizer = tokenizers["byte"]
    table = cluster.table(TEXTS, 5)
    mixed = table.repartition(4) if cluster.name == "spark" else table.random_shuffle(seed=1)
    ordered = mixed.orderBy("id") if cluster.name == "spark" else mixed.sort("id")
    cluster.module.write_shards(ordered, "text", tokenizer, tmp_path / "a.bin")
    assert [list(ids) for ids in fastbpe.open_ids(tmp_path / "a.bin")] == tokenizer.encode_ordinary_batch(TEXTS)


def test_tasks_that_read_files_themselves_write_the_shards_of_one_machine(
    cluster: Cluster, tmp_path: Path
) -> None:
    """The engine hands out only numbers, as a job array does."""
    folders = [tmp_path / name for name in ("corpus", "ids", "counts")]
    for folder in folders:
        folder.mkdir()
    corpus, ids, counts = folders
    for i in range(7):
        (corpus / f"{i}.txt").write_text(f"low lower {i} lowest\n" * (i * 30 + 1))
    files = sorted(corpus.iterdir())
    tokenizer = fastbpe.train(corpus, vocab_size=300, progress=False)

    def task(i: int) -> None:
        fastbpe.count_pieces(files[i::3], num_threads=1, progress=False).save(counts / f"{i}.pieces")
        tokenizer.encode_files(corpus, ids / "a.bin", separator="\n", shard=(i, 3), num_threads=1, progress=False)

    if cluster.name == "spark":
        from pyspark.sql import SparkSession

        session = SparkSession.getActiveSession()
        assert session is not None
        session.sparkContext.parallelize(range(3), 3).foreach(task)
    else:
        import ray

        ray.get([ray.remote(task).remote(i) for i in range(3)])
    tokenizer.encode_files(corpus, tmp_path / "single.bin", separator="\n", progress=False)
    fastbpe.merge_shards(ids, tmp_path / "merged.bin", progress=False)
    assert (tmp_path / "merged.bin").read_bytes() == (tmp_path / "single.bin").read_bytes()
    fastbpe.PieceCounts.merge(sorted(counts.iterdir()), tmp_path / "all.pieces", progress=False)
    assert fastbpe.PieceCounts.load(tmp_path / "all.pieces") == fastbpe.count_pieces(corpus, progress=False)
