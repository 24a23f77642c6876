"""count_pieces and PieceCounts: exact for any number of threads and any memory limit; sums, files, bad input."""

from __future__ import annotations

import contextlib
import errno
import gzip
import json
import pickle
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

import fastbpe
from fastbpe import FormatError, PatternError, PieceCounts, Tokenizer, TrainingError, count_pieces
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.train.piece_counter import PieceCounter
from fastbpe.training import counting_threads
from helpers.child_processes import run_python
from helpers.shared_data import BYTES, standard_library

WORDS = r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+"


@pytest.fixture
def _small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make small inputs take the path of large ones."""
    monkeypatch.setattr(counting_threads, "BATCH_UNITS", 50)
    monkeypatch.setattr(counting_threads, "LONG_TEXT_UNITS", 200)
    monkeypatch.setattr(counting_threads, "MIN_TABLE_BYTES", 1)


def count(source: Any, **options: Any) -> PieceCounts:
    return count_pieces(source, progress=False, **{"pattern": WORDS, **options})


def counted_slowly(texts: list[str], pattern: str) -> list[tuple[bytes, int]]:
    """Count pieces by splitting, in the order of their first appearance."""
    tokenizer = Tokenizer.from_ranks(BYTES, pattern=pattern)
    encoded = [text.encode() for text in texts]
    return list(Counter(text[a:b] for text in encoded for a, b in tokenizer._family.splitter.pieces(text)).items())


# Counting.


@pytest.mark.sample(3)
@pytest.mark.usefixtures("_small_batches")
@pytest.mark.parametrize("max_memory_bytes", [None, 1])
@pytest.mark.parametrize("num_threads", [1, 2, 5])
@pytest.mark.parametrize("pattern", ["cl100k", "o200k", WORDS])
def test_counts_and_their_order_equal_plain_counting(
    pattern: str, num_threads: int, max_memory_bytes: int | None
) -> None:
    text = standard_library(30_000) + "ärger ñandú 中文字 👍🏽 " * 50
    texts = [text, "", text[:100], *text[:5000].splitlines(True), "a", "x" * 1000, "x" * 1000, text[5000:9000]]
    expected = counted_slowly(texts, pattern)
    options: dict[str, Any] = {"num_threads": num_threads, "max_memory_bytes": max_memory_bytes}
    found = count(texts, pattern=pattern, **options)
    assert list(found.items()) == expected
    assert list(count([text.encode() for text in texts], pattern=pattern, **options).items()) == expected
    assert found.n_bytes == sum(len(text.encode()) for text in texts)
    assert found.n_pieces == sum(number for _, number in expected)


def test_pieces_of_every_length_are_counted() -> None:
    pieces = [b"x" * n for n in range(1, 70)] + [b"y" * 14 + b"\0", b"y" * 14, b"y" * 15, b"\0", b"\0\0"]
    counter = PieceCounter(Splitter())
    for times in range(3):
        for number, piece in enumerate(pieces):
            if number % (times + 1) == 0:
                counter.add_text(piece)
                counter.add_piece(piece, 2**40)
    expected = [
        (piece, sum(number % n == 0 for n in (1, 2, 3)) * (2**40 + 1)) for number, piece in enumerate(pieces)
    ]
    assert counter.items() == expected
    assert [counter.count_of(piece) for piece in pieces] == [number for _, number in expected]
    assert counter.count_of(b"absent") == counter.count_of(b"x" * 100) == 0


def test_many_pieces_are_counted_and_added() -> None:
    rng = random.Random(5)
    words = ["".join(rng.choices("abcdefgh", k=rng.randint(1, 24))) for _ in range(30_000)]
    counts = count([" ".join(words)])
    assert list(counts.items()) == counted_slowly([" ".join(words)], WORDS)
    again = counts + counts + PieceCounts({"new": 1, words[0]: 1}, pattern=WORDS)
    assert again[words[0]] == 2 * counts[words[0]] + 1
    assert list(again)[:-1] == list(counts)


def test_special_tokens_split_the_text_and_are_not_counted() -> None:
    counts = count(["ab<|x|>ab", "<|x|>"], special_tokens=["<|x|>"])
    assert dict(counts) == {b"ab": 2}
    assert (counts.n_bytes, counts.special_tokens) == (14, ("<|x|>",))


@pytest.mark.usefixtures("_small_batches")
@pytest.mark.parametrize("num_threads", [1, 2])
def test_files_of_every_kind_are_counted(tmp_path: Path, num_threads: int) -> None:
    texts = [line for line in standard_library(20_000).splitlines() if line.strip()]
    (tmp_path / "a.txt").write_text("\n".join(texts))
    (tmp_path / "b.jsonl").write_text("\n".join(json.dumps({"body": text}) for text in texts))
    (tmp_path / "c.jsonl.gz").write_bytes(gzip.compress((tmp_path / "b.jsonl").read_bytes()))
    expected = counted_slowly(["\n".join(texts), *texts, *texts], WORDS)
    assert list(count(tmp_path, text_field="body", num_threads=num_threads).items()) == expected


def test_progress_is_reported() -> None:
    told: list[tuple[str, int, int | None]] = []
    count_pieces(["abc"] * 5, progress=lambda *args: told.append(args))
    assert told[0] == ("counting", 0, None)
    assert told[-1] == ("counting", 15, None)


# Bad input.


def test_empty_text_gives_no_counts() -> None:
    assert len(count([])) == len(count([""])) == 0
    for source in ([], [""], [b""]):
        with pytest.raises(TrainingError, match="contains no documents, or only empty ones"):
            fastbpe.train(source, vocab_size=300, progress=False)
    assert dict(count([" \n "])) == {b" \n ": 1}


@pytest.mark.parametrize("bad", [None, 5, ["a"]])
def test_document_of_wrong_type_is_named(bad: Any) -> None:
    with pytest.raises(TypeError, match=rf"document 1 of .* \(counted from 0\) is {type(bad).__name__}, not "):
        count(["a", bad])


@pytest.mark.usefixtures("_small_batches")
@pytest.mark.parametrize("num_threads", [1, 2])
def test_invalid_utf8_in_bytes_is_named_or_replaced(num_threads: int) -> None:
    source = [b"good " * 30, b"ok", b"bad \xff", b"\xfe"] + [b"good"] * 100
    with pytest.raises(ValueError, match=r"document 2 of .* \(counted from 0\) is not UTF-8: .* 0xff at offset 4"):
        count(source, num_threads=num_threads)
    long = b"word " * 100 + b"\xc3("
    with pytest.raises(
        ValueError, match=r"document 1 of .* \(counted from 0\) is not UTF-8: .* 0xc3 at offset 500"
    ):
        count(["a", long], pattern="cl100k", num_threads=num_threads)
    found = count([*source, long], errors="replace", num_threads=num_threads)
    assert list(found.items()) == counted_slowly(
        [text.decode(errors="replace") for text in [*source, long]], WORDS
    )


def test_invalid_utf8_in_a_file_is_named_or_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.txt"
    data = "aé ü ".encode() * 20 + b"\xff x\xe2\x82 " + "中".encode() * 10 + b"\xe4\xb8"
    path.write_bytes(data)
    with pytest.raises(FormatError, match="invalid byte 0xff at offset 140"):
        count(path)
    for block in (1, 2, 3, 7, 1 << 20):
        monkeypatch.setattr(fastbpe.corpus.sources, "BLOCK", block)
        assert list(count(path, errors="replace").items()) == counted_slowly(
            [data.decode(errors="replace")], WORDS
        )


def test_lines_and_rows_without_text_are_refused_or_skipped(tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_bytes(b'{"text": "good"}\n{"text": \n{"txt": "no"}\n[]\n{"text": 5}\n\n{"text": "good\xff"}\n')
    with pytest.raises(FormatError, match=r"a\.jsonl:2: not a line of JSON"):
        count(path)
    counts = count(path, on_error="skip")
    assert (dict(counts), counts.n_skipped) == ({b"good": 1}, 5)
    counts = count(path, on_error="skip", errors="replace")
    assert (dict(counts), counts.n_skipped) == ({b"good": 2, "\ufffd".encode(): 1}, 4)
    rows = tmp_path / "a.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"text": ["good", None, "good"]}), rows)
    counts = count(rows, on_error="skip")
    assert (dict(counts), counts.n_skipped) == ({b"good": 2}, 1)
    tokenizer = fastbpe.train(rows, vocab_size=258, on_error="skip", progress=False)
    assert tokenizer.training_report["n_skipped"] == 1


@pytest.mark.usefixtures("_small_batches")
@pytest.mark.parametrize("num_threads", [1, 3])
@pytest.mark.parametrize("error", [KeyError("mine"), KeyboardInterrupt()], ids=["KeyError", "KeyboardInterrupt"])
def test_error_of_the_source_is_passed_on(error: BaseException, num_threads: int) -> None:
    def source() -> Iterator[str]:
        for _ in range(50):
            yield "some words " * 20
        raise error

    before = threading.active_count()
    with pytest.raises(type(error)) as caught:
        count(source(), num_threads=num_threads, max_memory_bytes=1)
    assert caught.value is error
    assert count(["a b"] * 1000, num_threads=num_threads).n_pieces == 2000  # the thread pool is free again
    assert threading.active_count() <= max(before, 1 + 256)


@pytest.mark.usefixtures("_small_batches")
def test_first_bad_document_is_named_for_any_number_of_threads() -> None:
    source = [b"words and words " * 10 for _ in range(300)]
    for number in (150, 151, 155, 299):
        source[number] = b"\xff"
    for num_threads in (1, 2, 4):
        for _ in range(10):
            with pytest.raises(ValueError, match="document 150 of the source"):
                count(source, num_threads=num_threads)


@pytest.mark.parametrize("key", [5, 1 << 60, None, 1.5, (1,)])
def test_key_of_another_type_is_no_piece(key: Any) -> None:
    counts = PieceCounts({"low": 5})
    assert key not in counts
    with pytest.raises(KeyError):
        counts[key]


def test_source_is_not_read_to_its_end_after_an_error() -> None:
    documents = iter([b"\xff" * counting_threads.BATCH_UNITS] * 99)
    with pytest.raises(ValueError, match="document 0"):
        count_pieces(documents, num_threads=1, progress=False)
    assert len([*documents]) > 90


def test_late_thread_still_reports_the_first_bad_batch() -> None:
    class Late(counting_threads.CountingThreads[Any]):
        def _count(self, counter: Any, batch: counting_threads.Batch) -> None:
            if batch.number == 2:
                time.sleep(0.1)
            super()._count(counter, batch)

    def add(counter: PieceCounter, batch: counting_threads.Batch) -> None:
        if batch.number >= 2:
            raise ValueError(f"batch {batch.number} is bad")

    splitter = Splitter()
    crew = Late(lambda: PieceCounter(splitter), add)
    with pytest.raises(ValueError, match="batch 2 is bad"):
        crew.count((counting_threads.Batch(number, [], 0, None) for number in range(50)), 2, lambda n_bytes: None)


def test_failure_to_make_a_counter_is_raised() -> None:
    """The error is raised in a worker thread, since the calling thread has made its counter."""

    class Slow:
        n_bytes = 0

        def abandon(self) -> None:
            raise AssertionError

    caller = threading.get_ident()

    def make() -> Slow:
        if threading.get_ident() != caller:
            raise MemoryError("no memory for a counter")
        return Slow()

    crew = counting_threads.CountingThreads(make, lambda counter, batch: time.sleep(0.002))
    with pytest.raises(MemoryError, match="no memory for a counter"):
        crew.count((counting_threads.Batch(i, [], 0, None) for i in range(500)), 2, lambda n_bytes: None)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"mode": "words"}, TrainingError, "mode='words'"),
        ({"num_threads": 0}, ValueError, "num_threads=0"),
        ({"max_memory_bytes": 0}, ValueError, "max_memory_bytes=0"),
        ({"max_memory_bytes": 1.5}, TypeError, "max_memory_bytes must be an integer, not float"),
        ({"on_error": "ignore"}, ValueError, "on_error='ignore': choose one of 'raise', 'skip'"),
        ({"errors": "ignore"}, ValueError, "errors='ignore': choose one of 'strict', 'replace'"),
        ({"special_tokens": "<|x|>"}, TrainingError, "pass a list"),
        ({"pattern": "gpt9"}, ValueError, "no split pattern named"),
    ],
)
def test_invalid_options_are_refused(options: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        count(["a"], **options)


# Memory.


def test_spill_files_are_removed_after_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting_threads, "MIN_TABLE_BYTES", 1)
    opened: list[Any] = []
    real = counting_threads.Spill.__call__

    def seen(self: counting_threads.Spill, table: Any) -> None:
        real(self, table)
        opened.extend(self._files.values())

    def source() -> Iterator[str]:
        for number in range(2000):
            yield f"{number} {number * number} some words " * 20
        raise RuntimeError("mine")

    monkeypatch.setattr(counting_threads.Spill, "__call__", seen)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with pytest.raises(RuntimeError, match="mine"):
        count(source(), max_memory_bytes=1, num_threads=2)
    assert opened
    assert all(file.closed for file in opened)
    assert not list(tmp_path.iterdir())


def test_texts_before_a_block_are_a_batch_before_it() -> None:
    block: Any = object()
    found = counting_threads.batches(iter(["a", "b", block, "c"]), lambda document, index: None)
    assert [(batch.number, batch.texts, batch.first, batch.block) for batch in found] == [
        (0, ["a", "b"], 0, None),
        (1, [], 2, block),
        (2, ["c"], 3, None),
    ]


@pytest.mark.parametrize("n_shared", [0, 1000, 3000])
def test_tables_that_outgrow_the_limit_only_together_lose_no_count(n_shared: int) -> None:
    """Each thread stays below its limit, so nothing is spilled before their tables are added up."""
    expected: Counter[bytes] = Counter()
    with contextlib.closing(counting_threads.Spill()) as files:
        tables = [PieceCounter(Splitter(), spill=files, limit=1 << 19) for _ in range(3)]
        for number, table in enumerate(tables):
            for i in range(3000):
                owner = 0 if i < n_shared else number
                piece = b"%d.%d%s" % (owner, i, b" long piece" if i % 3 else b"")
                table.add_piece(piece, i + 1)
                expected[piece] += i + 1
        assert not files.is_used()
        assert sum(table.used_bytes for table in tables) > 1 << 19
        total = counting_threads.merged_tables(tables, files)
        assert dict(total.items()) == expected


def test_full_disk_is_reported() -> None:
    """A limit on file size plays the full disk."""
    pytest.importorskip("resource")
    code = """
import errno, resource
import fastbpe
from fastbpe.training import counting_threads
counting_threads.MIN_TABLE_BYTES = 1
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    fastbpe.count_pieces((f"word{n} " * 3 for n in range(100_000)), max_memory_bytes=100_000, num_threads=2)
except OSError as error:
    print(error.errno == errno.EFBIG, "cannot store the counts in" in str(error), "TMPDIR" in str(error))
print(fastbpe.count_pieces(["a b"] * 10, num_threads=2).n_pieces)
"""
    assert run_python(code) == "True True True\n20\n"
    assert errno.EFBIG


@pytest.mark.daily
def test_one_long_line_takes_bounded_memory(tmp_path: Path) -> None:
    pytest.importorskip("resource")
    path = tmp_path / "line.txt"
    with open(path, "wb") as file:
        for number in range(64):
            file.write(b"some words %d, and more of them; " % number * (1 << 15))
    code = f"""
import resource
import fastbpe
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
counts = fastbpe.count_pieces({str(path)!r}, num_threads=2)
assert counts.n_bytes == {path.stat().st_size}
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) >> 10)
"""
    assert int(run_python(code)) < 40  # MB; the line has 70


# PieceCounts.


def test_piece_counts_are_made_from_a_mapping() -> None:
    counts = PieceCounts({"low": 5, b"lower": 2, "none": 0}, pattern="gpt2", special_tokens=["<|x|>"])
    assert (dict(counts), counts.pattern) == ({b"low": 5, b"lower": 2}, fastbpe.PATTERNS["gpt2"])
    assert (counts["low"], counts[b"lower"], len(counts)) == (5, 2, 2)
    assert (counts.n_pieces, counts.n_bytes, counts.special_tokens) == (7, 25, ("<|x|>",))
    assert "low" in counts
    assert b"lo" not in counts
    assert PieceCounts([("a", 1), (b"a", 2)])[b"a"] == 3
    assert "2 distinct pieces" in repr(counts)
    with pytest.raises(KeyError):
        counts["absent"]


@pytest.mark.parametrize(
    ("counts", "error", "message"),
    [
        ({5: 1}, TypeError, "piece 5 is int, not bytes or str"),
        ({"a": 1.5}, TypeError, "count of b'a' must be an integer, not float"),
        ({"a": True}, TypeError, "not bool"),
        ({"a": -1}, ValueError, "count of b'a' is -1"),
        ({"a": 2**63}, OverflowError, "count of b'a' is 9223372036854775808"),
        ({"a": 10**5000}, OverflowError, r"count of b'a' is an integer of 16,610 bits: more than 2\*\*63 - 1"),
        ({"a": -(10**5000)}, ValueError, "count of b'a' is an integer of 16,610 bits: too small"),
        ({"a" * 1000: -1}, ValueError, r"count of b'a{60}'\.\.\. 1,000 bytes is -1"),
        ({"a" * 1000: 2**63}, OverflowError, r"count of b'a{60}'\.\.\. 1,000 bytes is 92"),
        ({("a",) * 1000: 1}, TypeError, r"piece \('a', 'a', 'a', 'a', \.\.\. 1,000 in all\) is tuple"),
        ([("a", 2**62), ("a", 2**62)], OverflowError, "more than"),
    ],
)
def test_invalid_counts_are_refused(counts: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        PieceCounts(counts)


def test_counts_beyond_32_bits_are_exact() -> None:
    for number in (2**31, 3_000_000_000, 5_000_000_000, 2**40):
        tokenizer = fastbpe.train(PieceCounts({"the": number, "aa": number - 1}), vocab_size=258, progress=False)
        assert tokenizer.vocab[256:] == [b"he", b"the"]
    tokenizer = fastbpe.train(PieceCounts({" " * 80 + "x\n": 30_000_000}), vocab_size=257, progress=False)
    assert tokenizer.vocab[256:] == [b"  "]
    with pytest.raises(OverflowError, match="2\\*\\*63"):
        fastbpe.train(PieceCounts({"the": 2**62, "aa": 2**62}), vocab_size=258, progress=False)
    with pytest.raises(OverflowError, match="more than"):
        PieceCounts({"a": 2**62}) + PieceCounts({"a": 2**62})


def test_sums_equal_counting_all_texts() -> None:
    texts = [standard_library(9000)[start : start + 1000] for start in range(0, 9000, 1000)]
    a, b, c = (count(texts[start : start + 3]) for start in (0, 3, 6))
    whole = count(texts)
    assert a + b + c == a + (b + c) == (c + a) + b == sum([b, a, c]) == whole != a
    assert list((a + b + c).items()) == list(whole.items())
    assert (a + b + c).n_bytes == whole.n_bytes
    assert a == count(texts[:3])  # unchanged
    with pytest.raises(TypeError):
        a + 1  # type: ignore[operator]
    for other in (count(["a"], pattern="gpt2"), count(["a"], special_tokens=["<|x|>"])):
        with pytest.raises(TrainingError, match="counted with the"):
            a + other
        assert a != other


def test_check_made_by_resolves_both_patterns() -> None:
    counts = PieceCounts({"a": 1}, pattern="gpt2")
    counts.check_made_by("gpt2", [])
    counts.check_made_by(fastbpe.PATTERNS["gpt2"], [])
    PieceCounts({"a": 1}, pattern=["a", "b"]).check_made_by(["a", "b"], [])
    with pytest.raises(PatternError, match="no split pattern named 'foo'"):
        counts.check_made_by("foo", [])


def test_patterns_that_differ_late_are_told_apart() -> None:
    names = {regex: name for name, regex in reversed([*fastbpe.PATTERNS.items()])}  # of equal ones, the first
    for one, other in combinations(names.values(), 2):
        with pytest.raises(TrainingError, match=f"with the split pattern {one}, not {other}: use"):
            PieceCounts({"a": 1}, pattern=one).check_made_by(other, [])
    other = fastbpe.PATTERNS["gpt2"] + "|x" * 100
    with pytest.raises(TrainingError, match=r"pattern gpt2, not ….{60}…: use") as caught:
        PieceCounts({"a": 1}, pattern="gpt2").check_made_by(other, [])
    assert "s|x|x|x" in str(caught.value)
    base = Tokenizer.from_merges([], pattern="cl100k")
    with pytest.raises(TrainingError, match="pattern=gpt2 is not the base's, cl100k: old ids"):
        fastbpe.train(["a"], vocab_size=257, base=base, pattern="gpt2", progress=False)


def test_special_tokens_that_differ_are_shown_shortly() -> None:
    counts = PieceCounts({"a": 1}, special_tokens=[f"<{i}>" for i in range(2000)])
    message = (
        "the pieces were counted with the special tokens ['<0>', '<1000>', '<1001>', '<1002>', ... 1,999 in all], "
        "not ['<x>'] (besides 1 that both have): use"
    )
    with pytest.raises(TrainingError, match=re.escape(message)):
        counts.check_made_by(None, ["<1>", "<x>"])


def test_merge_says_how_the_named_file_was_counted(tmp_path: Path) -> None:
    for name, pattern in (("a", "gpt2"), ("b", "cl100k")):
        PieceCounts({"a": 1}, pattern=pattern).save(tmp_path / f"{name}.pieces")
    with pytest.raises(TrainingError, match=r"b\.pieces: the pieces were counted with .* cl100k, not gpt2: use"):
        PieceCounts.merge(tmp_path, tmp_path / "all.pieces")
    for name, rules in (("a", "nmt_nfkc"), ("b", "identity")):
        options: Any = {"mode": "codepoint", "normalization_rule_name": rules, "progress": False}
        fastbpe.count_pieces(["a"], **options).save(tmp_path / f"{name}.pieces")
    message = r"b\.pieces: the words were counted with normalization_rule_name='identity', not 'nmt_nfkc': count"
    with pytest.raises(TrainingError, match=message):
        PieceCounts.merge(tmp_path, tmp_path / "all.pieces")


@pytest.mark.parametrize(
    ("name", "default", "other"),
    [
        ("split_digits", False, True),
        ("add_dummy_prefix", True, False),
        ("max_sentence_length", 4192, 100),
        ("user_defined_symbols", [], ["x"]),
    ],
)
def test_counts_with_a_default_that_is_given_and_not_given_are_added(
    name: str, default: object, other: object
) -> None:
    options: Any = {"mode": "codepoint", "progress": False}
    plain = fastbpe.count_pieces(["low 12"], **options)
    given = fastbpe.count_pieces(["low 12"], **options, **{name: default})
    assert plain == given
    assert dict(plain + given) == dict(given + plain) == dict(2 * plain)
    changed = fastbpe.count_pieces(["low 12"], **options, **{name: other})
    for one, two in ((plain, changed), (changed, plain)):
        with pytest.raises(TrainingError) as caught:
            one + two
        assert "None" not in str(caught.value)


def test_normalization_rules_of_a_file_are_named(tmp_path: Path) -> None:
    (tmp_path / "rules.tsv").write_text("61\t7A\n")
    options: Any = {"mode": "codepoint", "progress": False}
    counts = fastbpe.count_pieces(["a b"], **options, normalization_rule_tsv=str(tmp_path / "rules.tsv"))
    for call in (
        lambda: counts + fastbpe.count_pieces(["a b"], **options),
        lambda: fastbpe.train(counts, vocab_size=20, normalization_rule_name="identity", **options),
    ):
        with pytest.raises(TrainingError, match=r"normalization_rule_tsv=|other normalization rules"):
            call()
    with pytest.raises(TrainingError, match=r"other normalization rules: pass the same .*normalization_rule_tsv="):
        fastbpe.count_pieces(["a b"], **options) + counts


def test_pruned_drops_rare_pieces_and_counts_them() -> None:
    counts = PieceCounts({"low": 5, "lower": 1, "lowest": 2, "new": 1})
    pruned = counts.pruned(2)
    assert (dict(pruned), pruned.n_pruned, pruned.n_bytes) == ({b"low": 5, b"lowest": 2}, 2, counts.n_bytes)
    assert counts.pruned(1) == counts
    assert (pruned + pruned).pruned(5).n_pruned == 8
    tokenizer = fastbpe.train(pruned, vocab_size=258, progress=False)
    assert tokenizer.training_report["n_pruned"] == 2
    with pytest.raises(ValueError, match="min_count=0"):
        counts.pruned(0)


def test_training_from_counts_equals_training_from_texts() -> None:
    text = standard_library(50_000)
    shards = [count([text[start : start + 10_000]]) for start in range(0, 50_000, 10_000)]
    for ties in ("pair", "huggingface", "first"):
        expected = fastbpe.train(
            [text[start : start + 10_000] for start in range(0, 50_000, 10_000)],
            vocab_size=600, pattern=WORDS, ties=ties, progress=False,
        )  # fmt: skip
        found = fastbpe.train(sum(shards), vocab_size=600, ties=ties, progress=False)
        assert found == expected
        assert (found.pattern, found.training_report["n_bytes"]) == (WORDS, len(text.encode()))
    assert (
        fastbpe.train(shards[0], vocab_size=300, pattern=WORDS, special_tokens=[], progress=False).n_vocab == 300
    )
    with pytest.raises(TrainingError, match="counted with the split pattern"):
        fastbpe.train(shards[0], vocab_size=300, pattern="gpt2", progress=False)
    whole = fastbpe.count_pieces(["a b"], pattern=None, progress=False)
    with pytest.raises(
        TrainingError, match=r"counted with the split pattern none, not .*: use the same split pattern"
    ):
        fastbpe.train(whole, vocab_size=300, pattern="gpt2", progress=False)
    with pytest.raises(TrainingError, match="counted with the special tokens"):
        fastbpe.train(shards[0], vocab_size=300, special_tokens=["<|x|>"], progress=False)
    with pytest.raises(TrainingError, match="leave out num_threads=, errors="):
        fastbpe.train(shards[0], vocab_size=300, num_threads=2, errors="replace", progress=False)
    with pytest.raises(TrainingError, match="no text to learn from"):
        fastbpe.train(PieceCounts(), vocab_size=300, progress=False)


def test_training_uses_the_special_tokens_of_the_counts() -> None:
    counts = count(["ab ab<|x|>ab"], special_tokens=["<|x|>"])
    tokenizer = fastbpe.train(counts, vocab_size=258, progress=False)
    assert tokenizer.special_tokens == {"<|x|>": 257}
    more = fastbpe.train(counts, vocab_size=259, base=tokenizer, progress=False)
    assert more.special_tokens == {"<|x|>": 257}


# The file.


def made() -> PieceCounts:
    return count([standard_library(5000) + "é中👍 " + "x" * 100], special_tokens=["<|x|>"])


def test_counts_survive_save_and_load(tmp_path: Path) -> None:
    path = tmp_path / "counts.pieces"
    counts = made()
    counts.save(path)
    loaded = PieceCounts.load(path)
    assert loaded == counts == pickle.loads(pickle.dumps(counts))
    assert list(loaded.items()) == list(counts.items())
    assert PieceCounts({"a": 1, "b": 2}).pruned(2)._plain()[2:5] == (3, 0, 1)
    assert loaded._plain() == counts._plain()
    assert (loaded.n_bytes, loaded.special_tokens) == (counts.n_bytes, counts.special_tokens)
    assert loaded + counts == counts + counts
    PieceCounts().save(path)
    assert PieceCounts.load(path) == PieceCounts()
    several = PieceCounts({"a": 1}, pattern=[r"\d", "gpt2"])
    several.save(path)
    assert PieceCounts.load(path) == several
    assert [file.name for file in tmp_path.iterdir()] == ["counts.pieces"]


def test_damaged_counts_file_raises_format_error(tmp_path: Path) -> None:
    path = tmp_path / "counts.pieces"
    made().save(path)
    data = path.read_bytes()
    rng = random.Random(3)
    cuts = [data[:n] for n in (0, 10, 63, 64, 100, 2000, len(data) // 2, len(data) - 1)]
    changes = [bytearray(data) for _ in range(200)]
    for changed in changes:
        changed[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    for damaged in [*cuts, *changes, data + b"\0", b"not a file"]:
        path.write_bytes(damaged)
        with pytest.raises(FormatError, match=r"counts\.pieces"):
            PieceCounts.load(path)
    path.write_bytes(data.replace(b"pieces v1", b"pieces v2"))
    with pytest.raises(FormatError, match="newer fastbpe"):
        PieceCounts.load(path)
    path.write_bytes(data)
    with pytest.raises(FormatError, match=r"counts of pieces \(count_pieces\), not a vocabulary: train learns a"):
        fastbpe.load(path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"counts": b"\0" * 8}, "the count 0"),
        ({"counts": b"\xff" * 8}, "the count -1"),
        ({"counts": b""}, "do not match"),
        ({"lengths": b"\3\0\0\0"}, "3 bytes: both must be at least 1, and the file has 2 more bytes of pieces"),
        ({"lengths": b"\1\0\0\0"}, "extra bytes after its last piece: 1"),
        ({"lengths": b"\0\0\0\0"}, "has the count 1 and 0 bytes"),
        ({"pieces": b"aa", "lengths": b"\1\0\0\0" * 2, "counts": b"\1\0\0\0\0\0\0\0" * 2}, "twice"),
        ({"special_tokens": [5]}, "special_tokens"),
    ],
)
def test_inconsistent_counts_file_raises_format_error(
    change: dict[str, Any], message: str, tmp_path: Path
) -> None:
    from fastbpe.formats import piece_counts_file

    plain = PieceCounts({"ab": 1})._plain()._replace(**change)
    (tmp_path / "a.pieces").write_bytes(b"".join(piece_counts_file.dump(plain)))
    with pytest.raises(FormatError, match=message):
        PieceCounts.load(tmp_path / "a.pieces")


def test_to_parquet_writes_all_rows(tmp_path: Path) -> None:
    counts = made()
    counts.to_parquet(tmp_path / "counts.parquet")
    rows = pyarrow.parquet.read_table(tmp_path / "counts.parquet").to_pylist()
    assert [(row["piece"], row["count"]) for row in rows] == list(counts.items())


@pytest.mark.daily
def test_ctrl_c_stops_within_a_second() -> None:
    code = """
import os, signal, threading, time
import fastbpe
def source():
    while True:
        yield "the other three threads " * 20_000
threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
signal.alarm(60)
try:
    fastbpe.count_pieces(source(), num_threads=3)
except KeyboardInterrupt:
    print("stopped")
print(fastbpe.count_pieces(["a b"] * 10, num_threads=2).n_pieces)
"""
    assert run_python(code) == "stopped\n20\n"


def test_a_thread_has_one_counter_though_it_found_no_piece() -> None:
    def make() -> PieceCounter:
        return PieceCounter(Splitter())

    crew = counting_threads.CountingThreads(make, lambda counter, batch: time.sleep(0.002))
    batches = (counting_threads.Batch(number, [""], number, None) for number in range(50))
    crew.count(batches, 1, lambda n_bytes: None)
    assert len(crew.counters) <= 2
