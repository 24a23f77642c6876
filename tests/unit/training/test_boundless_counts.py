"""Counts for BoundlessBPE: pieces and runs of words of parts, files of them, and training from their sums."""

import copy
import pickle
import random
import warnings
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import PieceCounts, Tokenizer, TrainingError, TrainingWarning, count_pieces, train
from fastbpe.cli.command_line import main
from helpers.sampling import SEED

RARE = " ".join(f"{a}{b}{c}{a}q" for a in "xyz" for b in "uvw" for c in "rst")
TEXTS = [f"in the end of the day the end of the week, the end. {RARE}\n"] * 3 + [
    "of the end of the end\nof the end"
]
PATTERNS = ["cl100k", "gpt2", r" ?[a-z]+|\s+|[^a-z\s]+", r"aa(?=b)|ab(?=b)|a|b| ?[a-z]"]


def words_of(source: Any = TEXTS, vocab_size: int = 300, **options: Any) -> Tokenizer:
    return train(source, vocab_size=vocab_size, superwords="words", **options)


@pytest.fixture(scope="module")
def words() -> Tokenizer:
    return words_of()


@pytest.mark.daily
def test_counts_of_parts_train_the_bytes_of_the_whole(tmp_path: Path) -> None:
    for number in range(60):
        rng = random.Random(f"counts {SEED} {number}")
        parts = ["".join(rng.choices("aab  ,\n", k=rng.randint(1, 300))) for _ in range(rng.randint(1, 4))]
        size, pattern = 257 + rng.choice([1, 3, 8, 20, 60]), rng.choice(PATTERNS)
        options: dict[str, Any] = {"special_tokens": ["<|x|>"], "min_count": rng.choice([1, 1, 2])}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrainingWarning)
            whole = train(parts, vocab_size=size, pattern=pattern, superwords="boundless", **options)
            pieces = [count_pieces([part], pattern=pattern, special_tokens=["<|x|>"]) for part in parts]
            found = words_of(sum(pieces), size, min_count=options["min_count"])
            assert found == words_of(parts, size, pattern=pattern, **options)
        runs = [count_pieces([part], superwords=found, max_memory_bytes=rng.choice([None, 1])) for part in parts]
        folder = tmp_path / str(number)
        folder.mkdir()
        for i, counts in enumerate(runs):
            counts.save(folder / f"{i}.pieces")
        PieceCounts.merge(folder, folder / "all")
        merged = PieceCounts.load(folder / "all")
        assert merged == sum(runs) == pickle.loads(pickle.dumps(merged))
        made = train(merged, vocab_size=size, superwords="boundless", base=copy.copy(found))
        whole.save(folder / "whole.fbpe")
        made.save(folder / "made.fbpe")
        assert (folder / "made.fbpe").read_bytes() == (folder / "whole.fbpe").read_bytes(), number


def test_multiplied_counts_are_weights() -> None:
    a, b = TEXTS[:2], TEXTS[2:]
    words = words_of(3 * count_pieces(a) + count_pieces(b))
    runs = 3 * count_pieces(a, superwords=words) + count_pieces(b, superwords=words)
    made = train(runs, vocab_size=300, superwords="boundless", base=words)
    assert made == train([*a, *a, *a, *b], vocab_size=300, superwords="boundless")


def test_runs_say_whose_words_they_are(words: Tokenizer) -> None:
    runs = count_pieces(TEXTS, superwords=words)
    assert runs.runs_of == words.fingerprint
    assert runs.mode == "byte"
    assert (runs.pattern, runs.n_bytes) == (words.pattern, sum(map(len, TEXTS)))
    assert "distinct runs of words" in repr(runs)
    end = [words.token_to_id(token) or 0 for token in (" the", " end")]
    key = b"".join(i.to_bytes(3, "little") for i in end)
    assert any(key in run for run in runs)
    assert runs.pruned(2).runs_of == runs.runs_of
    assert count_pieces(TEXTS).runs_of is None


def test_texts_without_words_have_no_runs(words: Tokenizer) -> None:
    assert not fastbpe.count_pieces(["", "1 2"], superwords=words, progress=False)


def test_words_alone_are_a_tokenizer_that_files_hold(words: Tokenizer, tmp_path: Path) -> None:
    words.save(tmp_path / "words.fbpe")
    loaded = fastbpe.load(tmp_path / "words.fbpe")
    assert count_pieces(TEXTS, superwords=loaded) == count_pieces(TEXTS, superwords=words)
    assert words.training_report["superwords"] == "words"
    assert len(words.training_report["word_counts"]) == len(words.merges)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda words, runs: runs + count_pieces(TEXTS),
            "cannot combine counts of pieces with counts of runs",
        ),
        (
            lambda words, runs: runs + count_pieces(TEXTS, superwords=words_of(vocab_size=290)),
            "differ in the tokenizer",
        ),
        (
            lambda words, runs: train(runs, vocab_size=300),
            r"are runs\. Pass as base= the tokenizer with which",
        ),
        (lambda words, runs: train(runs, vocab_size=300, superwords="boundless"), "as base="),
        (lambda words, runs: train(runs, vocab_size=300, superwords="words", base=words), "as base="),
        (
            lambda words, runs: train(runs, vocab_size=300, superwords="boundless", base=words_of(vocab_size=290)),
            "as base=",
        ),
        (
            lambda words, runs: train(runs, vocab_size=301, superwords="boundless", base=words),
            "were learned for 300 ids",
        ),
        (
            lambda words, runs: train(runs, vocab_size=300, superwords="boundless", base=words, min_count=2),
            "min_count= cannot be changed, because the words have been learned",
        ),
        (
            lambda words, runs: train(runs, vocab_size=300, superwords="boundless", base=words, num_threads=2),
            "leave out num_threads=",
        ),
        (lambda words, runs: train(count_pieces(TEXTS), vocab_size=300, superwords="boundless"), "are neighbours"),
        (lambda words, runs: count_pieces(TEXTS, superwords=train(TEXTS, vocab_size=300)), "how often its words"),
        (lambda words, runs: count_pieces(TEXTS, superwords=words, pattern="gpt2"), "leave pattern= out"),
        (
            lambda words, runs: count_pieces(TEXTS, superwords=words, special_tokens=["a b"]),
            "leave special_tokens=",
        ),
        (lambda words, runs: count_pieces(TEXTS, superwords=words, base=words), "leave base= out"),
        (lambda words, runs: count_pieces({"a": 1}, superwords=words), "needs the texts, not counts of their"),
        (lambda words, runs: count_pieces(runs, superwords=words), "needs the texts, not counts of their"),
        (
            lambda words, runs: train({"a": runs}, vocab_size=300, superwords="boundless", base=words, weights={}),
            "counts of runs cannot be a named source: add up the counts",
        ),
        (
            lambda words, runs: train({"a": runs}, vocab_size=300, superwords="words", weights={}),
            "counts of runs cannot be a named source: add up the counts",
        ),
        (
            lambda words, runs: count_pieces(TEXTS, superwords=words, mode="codepoint"),
            "available only with mode='byte'",
        ),
    ],
)
def test_counts_that_do_not_fit_are_named(make: Any, message: str, words: Tokenizer) -> None:
    with pytest.raises(TrainingError, match=message):
        make(words, count_pieces(TEXTS, superwords=words))
    with pytest.raises(TypeError, match="superwords must be a Superwords or a Tokenizer, not str"):
        count_pieces(TEXTS, superwords="boundless", base=words)  # type: ignore[arg-type]


def test_files_of_other_runs_are_not_merged(words: Tokenizer, tmp_path: Path) -> None:
    count_pieces(TEXTS, superwords=words).save(tmp_path / "a.pieces")
    count_pieces(TEXTS).save(tmp_path / "b.pieces")
    with pytest.raises(TrainingError, match=r"b\.pieces: cannot combine counts of pieces with counts of runs"):
        PieceCounts.merge(tmp_path, tmp_path / "all")


def test_damaged_header_is_a_format_error(words: Tokenizer, tmp_path: Path) -> None:
    from fastbpe.formats import piece_counts_file

    counted = count_pieces(TEXTS, superwords=words)._plain()
    data = b"".join(bytes(part) for part in piece_counts_file.dump(counted._replace(runs_of=7)))  # type: ignore[arg-type]
    (tmp_path / "a.pieces").write_bytes(data)
    with pytest.raises(fastbpe.FormatError, match="no valid 'runs_of'"):
        PieceCounts.load(tmp_path / "a.pieces")


def test_the_commands_count_runs_and_learn_from_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = []
    for i, text in enumerate(TEXTS):
        Path(f"{i}.txt").write_text(text)
        assert main(["count-pieces", f"{i}.txt", "-o", f"{i}.pieces", "--quiet"]) == 0
        names.append(f"{i}.pieces")
    size = ["--vocab-size", "300", "--quiet"]
    assert main(["train", *names, "-o", "words.fbpe", "--superwords", "words", *size]) == 0
    assert main(["count-pieces", "0.txt", "1.txt", "-o", "a.runs", "--superwords", "words.fbpe", "--quiet"]) == 0
    assert main(["count-pieces", "2.txt", "3.txt", "-o", "b.runs", "--superwords", "words.fbpe", "--quiet"]) == 0
    capsys.readouterr()
    assert main(["info", "words.fbpe"]) == 0
    assert "word_counts" not in capsys.readouterr().out
    base = ["--base", "words.fbpe", "--superwords", "boundless"]
    assert main(["train", "a.runs", "b.runs", "-o", "made.fbpe", *base, *size]) == 0
    assert fastbpe.load("made.fbpe") == train(TEXTS, vocab_size=300, superwords="boundless")


def test_runs_of_more_text_than_the_words_are_refused() -> None:
    texts = ["of the end of the day", "the cat sat on the mat of the day"] * 2
    words = fastbpe.train(texts, vocab_size=275, superwords="words", progress=False)
    runs = fastbpe.count_pieces(texts, superwords=words, progress=False)
    with pytest.raises(TrainingError, match="more often than its words"):
        fastbpe.train(5 * runs, vocab_size=275, superwords="boundless", base=words, progress=False)
