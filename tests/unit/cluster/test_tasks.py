"""Tasks of an engine, run here in any order and division: the bytes of a single machine, or a named error."""

from __future__ import annotations

import json
import pickle
import random
import sysconfig
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import fastbpe
import fastbpe.ray
import fastbpe.spark
from fastbpe import FormatError, PieceCounts
from fastbpe.cluster.counting import Counting, check_options, count_texts, counts_of_rows, reduce_rows
from fastbpe.cluster.writing import Writing, check_shards, summary_of_rows, write_texts
from helpers.child_processes import run_python
from helpers.sampling import SEED, rounds

pyarrow = pytest.importorskip("pyarrow")

RNG = random.Random(11)
WORDS = ["".join(RNG.choices("abcdeéя新👍1", k=RNG.randint(1, 7))) for _ in range(6000)]
TEXTS = [" ".join(RNG.choices(WORDS, k=RNG.randint(0, 60))) for _ in range(300)]
MODES: dict[str, dict[str, Any]] = {
    "byte": {"pattern": "gpt2", "special_tokens": ["<|end|>"]},
    "codepoint": {"split_digits": True, "user_defined_symbols": ["新"]},
    "unigram": {"split_digits": True, "user_defined_symbols": ["新"]},
}
SIZES = {"byte": 500, "codepoint": 150, "unigram": 120}
TIES = {"byte": ("pair", "huggingface", "first"), "codepoint": (None,), "unigram": (None,)}


def divided(texts: Sequence[str], rng: random.Random) -> list[Sequence[str]]:
    """Divide texts into any number of parts, some of them empty."""
    cuts = sorted(rng.choices(range(len(texts) + 1), k=rng.choice((0, 1, 3, 12))))
    return [texts[a:b] for a, b in zip([0, *cuts], [*cuts, len(texts)], strict=True)]


def counted_by_tasks(parts: Sequence[Sequence[str]], options: dict[str, Any], rng: random.Random) -> PieceCounts:
    """Count as an engine does: tasks in any order, then sums in any grouping and order."""
    how = Counting("text", options, False, rng.randint(1, 5), rng.randrange(1 << 32))
    knows_number = rng.random() < 0.5  # as a task of Spark; a result of Ray gets its number afterwards
    rows = []
    for number in rng.sample(range(len(parts)), len(parts)):
        table = pyarrow.table({"text": pyarrow.array(parts[number], "string")})
        for part, data in count_texts([table], how, number if knows_number else 0, ""):
            rows += [(part, some) for some in reduce_rows(part, [(0 if knows_number else number, data)])]
    rng.shuffle(rows)
    for _ in range(rng.randrange(3)):
        some, rows = rows[: len(rows) // 2], rows[len(rows) // 2 :]
        for part in {part for part, _ in some}:
            rows += [(part, data) for data in reduce_rows(part, [(0, data) for p, data in some if p == part])]
    return counts_of_rows(rows, check_options(options, "raise"))


def test_column_of_nulls_has_rows_without_text() -> None:
    rows = count_texts([pyarrow.table({"text": pyarrow.nulls(2)})], Counting("text", {}, True, 1, 0), 0, "")
    assert counts_of_rows(rows, check_options({}, "skip")).n_skipped == 2


def test_tasks_cut_at_the_special_tokens_of_an_iterator() -> None:
    options: dict[str, Any] = {"pattern": None, "special_tokens": iter(["<x>"])}
    empty = check_options(options, "raise")
    rows = count_texts([pyarrow.table({"text": ["a<x>b"]})], Counting("text", options, False, 1, 0), 0, "")
    assert dict(counts_of_rows(rows, empty)) == {b"a": 1, b"b": 1}


def test_runs_of_words_of_parts_are_those_of_the_whole() -> None:
    rng = random.Random(SEED)
    pieces = counted_by_tasks(divided(TEXTS, rng), {"pattern": "gpt2"}, rng)
    words = fastbpe.train(pieces, vocab_size=600, superwords="words", progress=False)
    runs = counted_by_tasks(divided(TEXTS, rng), {"superwords": words}, rng)
    assert runs == fastbpe.count_pieces(TEXTS, superwords=words, progress=False)
    assert len(runs) > 100
    made = fastbpe.train(runs, vocab_size=600, superwords="boundless", base=words, progress=False)
    assert made == fastbpe.train(TEXTS, vocab_size=600, pattern="gpt2", superwords="boundless", progress=False)


def test_runs_of_tokens_of_parts_are_those_of_the_whole() -> None:
    rng = random.Random(SEED)
    base = fastbpe.train(counted_by_tasks(divided(TEXTS, rng), {"pattern": "gpt2"}, rng), vocab_size=500)
    options = {"base": base, "superwords": fastbpe.Superwords()}
    runs = counted_by_tasks(divided(TEXTS, rng), options, rng)
    assert runs == fastbpe.count_pieces(TEXTS, progress=False, **options)
    with pytest.warns(fastbpe.TrainingWarning, match="other ids"):
        made = fastbpe.train(runs, vocab_size="+50", progress=False, **options)
    with pytest.warns(fastbpe.TrainingWarning, match="other ids"):
        whole = fastbpe.train(TEXTS, vocab_size="+50", progress=False, **options)
    assert made == whole
    neighbours = counted_by_tasks(divided(TEXTS, rng), {**options, "neighbours": "count"}, rng)
    assert neighbours == fastbpe.count_pieces(TEXTS, neighbours="count", progress=False, **options)
    cutting = {"neighbours": neighbours.pruned(whole.training_report["least_count"])}
    cut = counted_by_tasks(divided(TEXTS, rng), {**options, **cutting}, rng)
    assert cut == fastbpe.count_pieces(TEXTS, progress=False, **options, **cutting)
    assert sum(map(len, cut)) < sum(map(len, runs))
    with pytest.warns(fastbpe.TrainingWarning, match="other ids"):
        assert fastbpe.train(cut, vocab_size="+50", progress=False, **options) == whole


def vocabulary(source: Any, mode: str, ties: str | None, folder: Path, **options: Any) -> bytes:
    """Learn a vocabulary and return the bytes of its file."""
    options = {"ties": ties, **options} if ties else options
    made = fastbpe.train(source, vocab_size=SIZES[mode], progress=False, mode=mode, **options)
    made.save(folder / "made.fbpe")
    return (folder / "made.fbpe").read_bytes()


@pytest.mark.daily
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("max_memory_bytes", [None, 1], ids=["in memory", "spilled"])
def test_vocabulary_has_the_same_bytes_by_tasks_threads_and_files(
    mode: str, max_memory_bytes: int | None, tmp_path: Path
) -> None:
    rng = random.Random(SEED)
    options = {"mode": mode, **MODES[mode], **({"max_memory_bytes": max_memory_bytes} if max_memory_bytes else {})}
    for _ in rounds(1, 20):
        parts = divided(TEXTS, rng)
        for number, part in enumerate(parts):
            counts = fastbpe.count_pieces(iter(part), num_threads=1, progress=False, **options)
            counts.save(tmp_path / f"{number:03}.pieces")
        places = [tmp_path / f"{number:03}.pieces" for number in range(len(parts))]
        PieceCounts.merge(
            places, tmp_path / "all.pieces", progress=False, max_memory_bytes=max_memory_bytes or 1 << 30
        )
        ways = {
            "tasks": counted_by_tasks(parts, options, rng),
            "threads": fastbpe.count_pieces(iter(TEXTS), num_threads=3, progress=False, **options),
            "files": PieceCounts.load(tmp_path / "all.pieces"),
        }
        facts = [counts._words for counts in ways.values()]
        assert facts[0] == facts[1] == facts[2]  # the last word, too
        others = rng.sample(TEXTS[:-1], len(TEXTS) - 1)  # a unigram model depends on which sentence is last
        shuffled = counted_by_tasks(divided([*others, TEXTS[-1]], rng), options, rng)
        for ties in TIES[mode]:
            one = vocabulary(iter(TEXTS), mode, ties, tmp_path, num_threads=1, **MODES[mode])
            for way, counts in ways.items():
                assert vocabulary(counts, mode, ties, tmp_path) == one, (way, ties)
            if ties != "first":  # the rule "first" depends on the order of documents
                assert vocabulary(shuffled, mode, ties, tmp_path) == one, ties


@pytest.mark.parametrize("mode", MODES)
def test_ids_have_the_same_bytes_by_tasks_shards_threads_and_one_run(mode: str, tmp_path: Path) -> None:
    rng = random.Random(SEED)
    tokenizer = fastbpe.train(
        iter(TEXTS),
        vocab_size=SIZES[mode],
        progress=False,
        mode=mode,
        **MODES[mode],
    )
    for name in ("corpus", "tasks", "shards"):
        (tmp_path / name).mkdir()
    parts = divided([text for text in TEXTS if text], rng)
    for number, part in enumerate(parts):
        lines = "".join(json.dumps({"text": text}) + "\n" for text in part)
        (tmp_path / "corpus" / f"{number:03}.jsonl").write_text(lines)
    for num_threads in (1, 3):
        out = tmp_path / f"threads-{num_threads}.bin"
        tokenizer.encode_files(tmp_path / "corpus", out, num_threads=num_threads, progress=False)
    how = Writing(
        "text",
        lambda: pickle.dumps(tokenizer),
        tokenizer.fingerprint,
        str(tmp_path / "tasks" / "a.bin"),
        len(parts),
        {},
    )
    check_shards(tokenizer, how.out, {})
    tables = [pyarrow.table({"text": pyarrow.array(part, "string")}) for part in parts]
    order = rng.sample(range(len(parts)), len(parts))
    rows = [write_texts([tables[i]], how, i, "") for i in [*order, *order[:2]]][: len(parts)]  # two run twice
    assert summary_of_rows(rows, Path(how.out), len(parts)).n_documents == sum(map(len, parts))
    for i in range(4):
        out = tmp_path / "shards" / "a.bin"
        tokenizer.encode_files(tmp_path / "corpus", out, shard=(i, 4), num_threads=1, progress=False)
    for name in ("tasks", "shards"):
        fastbpe.merge_shards(tmp_path / name, tmp_path / f"{name}.bin", progress=False)
    for ending in ("", ".offsets"):
        one, *others = (
            (tmp_path / f"{name}.bin{ending}").read_bytes()
            for name in ("threads-1", "threads-3", "tasks", "shards")
        )
        assert others == [one] * 3


def test_error_of_a_task_is_raised_and_wrong_numbers_of_tasks_are_named(tmp_path: Path) -> None:
    made = fastbpe.train(["ab"], vocab_size=256, progress=False)
    how = Writing("text", lambda: pickle.dumps(made), made.fingerprint, str(tmp_path / "a.bin"), 2, {})
    good = write_texts([pyarrow.table({"text": ["a"]})], how, 0, "part 0")
    bad = write_texts([pyarrow.table({"text": ["a", None]})], how, 1, "part 1")
    with pytest.raises(FormatError, match="row 1 of part 1 is null"):
        summary_of_rows([good, bad], Path(how.out), 2)
    announced = "although it announced one for each of the shards 0 to"
    for rows, n_shards, said in (([good], 2, "0 tasks for shard 1"), ([good, good], 2, "2 tasks for shard 0")):
        with pytest.raises(FormatError, match=f"ran {said}, {announced} {n_shards - 1}"):
            summary_of_rows(rows, Path(how.out), n_shards)
    with pytest.raises(FormatError, match=f"ran 1 task for shard 1, {announced} 0"):
        summary_of_rows([good, (1, good[1])], Path(how.out), 1)
    assert not [*tmp_path.glob("a-00001*")]


def test_sum_of_counts_without_memory_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def reduce_rows(*_: object) -> Any:
        raise MemoryError

    table = pyarrow.table({"part": pyarrow.array([3], "int32"), "data": pyarrow.array([b""])})
    for module, task, name in (
        (fastbpe.spark, lambda: fastbpe.spark._reduce(table), "part 3 of the counts"),
        (fastbpe.ray, lambda: fastbpe.ray._add_up([(3, b"")]), "the sum of the counts"),
    ):
        monkeypatch.setattr(module, "reduce_rows", reduce_rows)
        with pytest.raises(MemoryError, match=f"{name}: no memory for its pieces; give tasks more memory"):
            task()


def test_results_of_ray_beyond_the_numbers_of_their_table_are_refused() -> None:
    numbers = b'{"n_bytes": 0, "n_skipped": 0, "last": [0, ""]}'
    table = pyarrow.table({"part": pyarrow.array([-1] * 4097, "int32"), "data": [numbers] * 4097})
    last = json.loads(fastbpe.ray._number(1, table.slice(0, 4096))[-1][1])["last"]
    assert last == [2 * 4096 - 1, ""]
    with pytest.raises(ValueError, match="over 4,096 blocks"):
        fastbpe.ray._number(1, table)


LITTLE_MEMORY = """
import pickle, resource, sys
import fastbpe.ray, pyarrow
from fastbpe.cluster.counting import Counting
from fastbpe.cluster.writing import Writing
tokenizer = fastbpe.Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern="gpt2")
count = Counting("text", {"num_threads": 1}, False, 1, 0)
write = Writing("text", lambda: pickle.dumps(tokenizer), tokenizer.fingerprint, sys.argv[1] + "/a.bin", 3, {})
small, large = (pyarrow.table({"text": ["some words, 123; " * n]}) for n in (10, 4_000_000))
calls = lambda table: (
    lambda: fastbpe.ray._count(count, table).num_rows,
    lambda: fastbpe.ray._write(write, 1, table)[0],
)
for call in calls(small):
    call()
used = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + 50_000_000, resource.RLIM_INFINITY))
for call in calls(large):
    try:
        call()
    except MemoryError as error:
        print(error)
resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
print(*(call() for call in calls(large)))
"""


@pytest.mark.daily
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="no /proc to read the used memory from")
@pytest.mark.skipif(bool(sysconfig.get_config_var("Py_GIL_DISABLED")), reason="reserves memory before it needs it")
def test_task_without_memory_names_its_block_and_succeeds_with_memory(tmp_path: Path) -> None:
    lines = run_python(LITTLE_MEMORY, str(tmp_path)).splitlines()
    block = "a block of 1 row and 68,000,004 bytes"
    assert [line.partition(": no memory")[0] for line in lines[:2]] == [block, "block 1, shard 1"]
    assert lines[2].split()[1] == "1"
    assert {path.name.partition(".bin")[0] for path in tmp_path.iterdir()} == {"a-00001-of-00003"}


def test_wrong_extension_of_shards_is_reported_with_their_path(tmp_path: Path) -> None:
    tokenizer = fastbpe.Tokenizer.from_merges([], pattern=None)
    with pytest.raises(ValueError, match=r"ids\.txt: ids are written to \.bin") as caught:
        check_shards(tokenizer, tmp_path / "ids.txt", {})
    assert str(caught.value).startswith(str(tmp_path / "ids.txt"))
