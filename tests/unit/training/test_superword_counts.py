"""Counts of runs of a base's tokens, from which superwords are learned on top of the base."""

from __future__ import annotations

import heapq
import pickle
import random
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import PieceCounts, Superwords, Tokenizer, TrainingError, TrainingWarning, count_pieces, train
from fastbpe.cli.command_line import main
from fastbpe.formats import piece_counts_file
from fastbpe.training import superword_learning
from helpers.sampling import SEED, n_rounds

TEXTS = ["in the end of the day, the end of the week: the end\n"] * 5 + ["of the end<|x|>of the end\nof the day"]
WORDS = r" ?[a-z]+|\s+|[^a-z\s]+"
PATTERNS = ["superbpe_lines", r"[,:.]+", None]


def learned(source: Any, base: Tokenizer, vocab_size: Any = "+10", **options: Any) -> Tokenizer:
    options = {"superwords": Superwords(), "progress": False, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        return train(source, vocab_size=vocab_size, base=base, **options)


@pytest.fixture(scope="module")
def base() -> Tokenizer:
    return train(count_pieces(TEXTS, special_tokens=["<|x|>"]), vocab_size=270)


def test_runs_of_parts_train_the_tokenizer_of_the_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(superword_learning, "_TEXT_BYTES", 1 << 10)  # a table for 1 GB takes 0.1 s to search
    for number in range(n_rounds(60, 2000)):
        rng = random.Random(f"token runs {SEED} {number}")
        letters = rng.choice(["aab  ,\n", "ab .: ", "a \n", "abc1 é"])
        parts = ["".join(rng.choices(letters, k=rng.randint(1, 300))) for _ in range(rng.randint(1, 4))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrainingWarning)
            words = train(
                iter(parts), vocab_size=257 + rng.choice([0, 3, 12]), pattern=WORDS, special_tokens=["<|x|>"]
            )
        options: dict[str, Any] = {
            "superwords": Superwords(
                pattern=rng.choice(PATTERNS),
                documents=rng.choice(["lines", "whole"]),
                max_words=rng.choice([None, 2, 4]),
            ),
            "min_count": rng.choice([1, 1, 2]),
            "vocab_size": f"+{rng.choice([1, 5, 20])}",
        }
        counted = [
            count_pieces(
                iter([part]), base=words, superwords=options["superwords"], max_memory_bytes=rng.choice([None, 1])
            )
            for part in parts
        ]
        folder = tmp_path / str(number)
        folder.mkdir()
        for i, counts in enumerate(counted):
            counts.save(folder / f"{i}.pieces")
        PieceCounts.merge(folder, folder / "all")
        merged = PieceCounts.load(folder / "all")
        assert merged == sum(counted) == pickle.loads(pickle.dumps(merged)), (SEED, number)
        expected = learned(iter(parts), words, **options)
        made = learned(merged, words, **options)
        assert made.vocab == expected.vocab, (SEED, number, parts)
        assert made.fingerprint == expected.fingerprint, (SEED, number)


@pytest.mark.daily
def test_cut_runs_of_parts_train_the_tokenizer_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neighbours of all parts are counted first, and cut the runs of each part."""
    monkeypatch.setattr(superword_learning, "_TEXT_BYTES", 1 << 10)
    n_learned = 0
    for number in range(n_rounds(300, 2000)):
        rng = random.Random(f"cut runs {SEED} {number}")
        letters = rng.choice(["aab  ,\n", "ab .: ", "a \n", "abc1 é"])
        parts = ["".join(rng.choices(letters, k=rng.randint(1, 300))) for _ in range(rng.randint(1, 4))]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrainingWarning)
            words = train(
                iter(parts), vocab_size=257 + rng.choice([0, 3]), pattern=WORDS, special_tokens=["<|x|>"]
            )
        superwords = Superwords(
            pattern=rng.choice(PATTERNS), documents=rng.choice(["lines", "whole"]), max_words=rng.choice([None, 4])
        )
        options: dict[str, Any] = {"superwords": superwords, "min_count": rng.choice([1, 2])}
        options["vocab_size"] = f"+{rng.choice([1, 5, 20])}"

        def count_parts(
            name: str,
            *,
            number: int = number,
            rng: random.Random = rng,
            parts: list[str] = parts,
            base: Tokenizer = words,
            superwords: Superwords = superwords,
            **counting: Any,
        ) -> PieceCounts:
            """Count parts into files, in random order, and merge the files."""
            folder = tmp_path / f"{number} {name}"
            folder.mkdir()
            for i in rng.sample(range(len(parts)), len(parts)):
                count_pieces(
                    iter([parts[i]]),
                    base=base,
                    superwords=superwords,
                    num_threads=rng.choice([1, 2]),
                    max_memory_bytes=rng.choice([None, 1]),
                    **counting,
                ).save(folder / f"{rng.random()}.pieces")
            PieceCounts.merge(folder, folder / "all")
            return PieceCounts.load(folder / "all")

        neighbours = count_parts("neighbours", neighbours="count")
        expected = learned(iter(parts), words, **options)
        expected.save(tmp_path / "expected.fbpe")
        level = rng.choice([1, 2, 3, expected.training_report["least_count"] or 1])
        frequent = neighbours.pruned(level)
        if frequent.n_pruned and not frequent:
            continue
        level = min(frequent.values()) if frequent.n_pruned else 1
        runs = count_parts("runs", neighbours=frequent)
        n_new, least = expected.vocab_size - words.vocab_size, expected.training_report["least_count"]
        is_proven = n_new == int(options["vocab_size"]) and least >= level
        if not is_proven and level > options["min_count"]:
            with pytest.raises(TrainingError, match="count the runs again"):
                learned(runs, words, **options)
            continue
        learned(runs, words, **options).save(tmp_path / "made.fbpe")
        assert (tmp_path / "made.fbpe").read_bytes() == (tmp_path / "expected.fbpe").read_bytes(), (SEED, number)
        n_learned += 1
    assert n_learned > number / 2


@pytest.mark.daily
def test_cut_runs_are_far_fewer_than_whole_runs() -> None:
    rng = random.Random(SEED)
    vocabulary = ["".join(rng.choices("abcdefghij", k=rng.randint(2, 8))) for _ in range(2000)]
    weights = [1 / (i + 1) for i in range(len(vocabulary))]
    texts = [" ".join(rng.choices(vocabulary, weights, k=12)) for _ in range(n_rounds(10_000, 40_000))]
    words = train(iter(texts), vocab_size=2256, progress=False)
    counting: dict[str, Any] = {"base": words, "superwords": Superwords(), "progress": False}
    neighbours = count_pieces(texts, neighbours="count", **counting)
    level = heapq.nlargest(50, neighbours.values())[-1] // 2
    whole, cut = (count_pieces(texts, **counting, **how) for how in ({}, {"neighbours": neighbours.pruned(level)}))
    assert sum(map(len, cut)) < sum(map(len, whole)) / 4
    assert learned(cut, words, "+50") == learned(iter(texts), words, "+50")


def test_runs_are_a_part_of_the_memory_of_lines(base: Tokenizer) -> None:
    runs = count_pieces(TEXTS, base=base, superwords=Superwords())
    assert len(runs) == 4  # lines, and the parts beside a special token; equal lines count together
    assert (runs.mode, runs.n_bytes, runs.pattern) == ("byte", sum(map(len, TEXTS)), Superwords().pattern)
    assert runs.special_tokens == ("<|x|>",)


def test_multiplied_runs_are_weights(base: Tokenizer) -> None:
    first, second = (count_pieces(texts, base=base, superwords=Superwords()) for texts in (TEXTS[:1], TEXTS[5:]))
    assert learned(3 * first + second, base).vocab == learned([*TEXTS[:3], TEXTS[5]], base).vocab


def counted(base: Tokenizer, **options: Any) -> PieceCounts:
    return count_pieces(TEXTS, base=base, superwords=Superwords(), **options)


def neighbours(base: Tokenizer, **options: Any) -> PieceCounts:
    return count_pieces(TEXTS, base=base, superwords=Superwords(**options), neighbours="count")


def cut(base: Tokenizer, level: int) -> PieceCounts:
    return counted(base, neighbours=neighbours(base).pruned(level))


def learned_words() -> Tokenizer:
    return train(TEXTS, vocab_size=265, superwords="words", progress=False)


def test_multiplied_neighbours_and_runs_are_weights(base: Tokenizer) -> None:
    options: dict[str, Any] = {"base": base, "superwords": Superwords()}
    both = 3 * count_pieces(TEXTS[:1], neighbours="count", **options)
    both += count_pieces(TEXTS[5:], neighbours="count", **options)
    first, second = (count_pieces(texts, neighbours=both.pruned(2), **options) for texts in (TEXTS[:1], TEXTS[5:]))
    assert learned(3 * first + second, base, "+5").vocab == learned([*TEXTS[:3], TEXTS[5]], base, "+5").vocab


@pytest.mark.parametrize("facts", ["cut", "cut 2", "cut 2 3 4 x", "cut 2 3 4 5 6", f"cut {10**20} 3 4 5", "left"])
def test_a_file_with_other_facts_about_its_runs_is_refused(base: Tokenizer, facts: str, tmp_path: Path) -> None:
    cut(base, 6).save(tmp_path / "runs")
    counted = piece_counts_file.parse((tmp_path / "runs").read_bytes(), "runs")
    data = piece_counts_file.dump(counted._replace(runs_of=f"{base.fingerprint} lines {facts}"))
    (tmp_path / "runs").write_bytes(b"".join(bytes(part) for part in data))
    with pytest.raises(fastbpe.FormatError, match="no valid 'runs_of'"):
        PieceCounts.load(tmp_path / "runs")


def test_files_of_neighbours_are_merged_before_rare_ones_are_left_out(base: Tokenizer, tmp_path: Path) -> None:
    (tmp_path / "parts").mkdir()
    for i in range(2):
        neighbours(base).save(tmp_path / "parts" / f"{i}.pieces")
    PieceCounts.merge(tmp_path / "parts", tmp_path / "all", min_count=12)
    assert PieceCounts.load(tmp_path / "all") == (2 * neighbours(base)).pruned(12)
    for pruned in range(2):
        for i in range(2):
            counts = neighbours(base)
            (counts.pruned(6) if i == pruned else counts).save(tmp_path / "parts" / f"{i}.pieces")
        with pytest.raises(TrainingError, match=rf"{pruned}\.pieces: .* add up complete counts"):
            PieceCounts.merge(tmp_path / "parts", tmp_path / "all")


def test_neighbours_of_another_type_are_named(base: Tokenizer) -> None:
    with pytest.raises(TypeError, match="neighbours must be"):
        counted(base, neighbours=True)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda base, runs: count_pieces(TEXTS, superwords=Superwords()), "pass base=, and leave"),
        (
            lambda base, runs: count_pieces(TEXTS, base=base, superwords=Superwords(), pattern="gpt2"),
            "leave pattern=",
        ),
        (lambda base, runs: count_pieces(runs, base=base, superwords=Superwords()), "needs the texts"),
        (
            lambda base, runs: count_pieces(TEXTS, base=base, superwords=Superwords(280)),
            r"pass superwords=Superwords\(\), without a start",
        ),
        (lambda base, runs: train(runs, vocab_size=280, superwords=Superwords()), "Pass as base= the tokenizer"),
        (lambda base, runs: learned(runs, train(TEXTS, vocab_size=260)), "Pass as base= the tokenizer"),
        (
            lambda base, runs: learned(runs, base, superwords=Superwords(documents="whole")),
            "do not fit base= and superwords=",
        ),
        (
            lambda base, runs: learned(runs, base, superwords=Superwords(pattern=None)),
            "do not fit base= and superwords=",
        ),
        (lambda base, runs: learned(runs, base, special_tokens=["<|y|>"]), "with_special_tokens"),
        (lambda base, runs: learned(runs, base, superwords="boundless"), "runs of the tokens of a tokenizer"),
        (lambda base, runs: train(runs, vocab_size=280), "are runs. Pass as base= the tokenizer"),
        (lambda base, runs: runs + count_pieces(TEXTS, base=base), "cannot combine"),
        (
            lambda base, runs: runs + count_pieces(TEXTS, base=base, superwords=Superwords(documents="whole")),
            "differ in the tokenizer",
        ),
        (
            lambda base, runs: count_pieces(TEXTS, base=learned(TEXTS, base), superwords=Superwords()),
            "already has",
        ),
        (lambda base, runs: counted(base, neighbours=runs), "with the same base="),
        (
            lambda base, runs: counted(base, neighbours=neighbours(base, documents="whole")),
            "with the same base=",
        ),
        (
            lambda base, runs: counted(base, neighbours=neighbours(base, pattern=None)),
            "with the same base=",
        ),
        (
            lambda base, runs: counted(base, neighbours=neighbours(learned_words())),
            "with the same base=",
        ),
        (lambda base, runs: cut(base, 99), "lower min_count"),
        (lambda base, runs: 2 * neighbours(base).pruned(6), "add up complete counts, and then prune the sum"),
        (lambda base, runs: count_pieces(TEXTS, neighbours="count"), r"needs superwords=Superwords\(…\)"),
        (
            lambda base, runs: count_pieces(TEXTS, superwords=learned_words(), neighbours="count"),
            r"needs superwords=Superwords\(…\)",
        ),
        (lambda base, runs: learned(neighbours(base), base), "neighbours, not runs"),
        (lambda base, runs: train(neighbours(base), vocab_size=300), "are runs. Pass as base= the tokenizer"),
        (lambda base, runs: neighbours(base) + runs, "or in neighbours="),
        (lambda base, runs: cut(base, 6) + cut(base, 7), "or in neighbours="),
        (lambda base, runs: cut(base, 2) + runs, "or in neighbours="),
        (lambda base, runs: learned(2 * cut(base, 2), base), "add up the neighbours of all parts"),
        (lambda base, runs: learned(cut(base, 7), base), "only 3 of 10 superwords are that frequent"),
    ],
)
def test_counts_that_do_not_fit_are_named(
    make: Callable[[Tokenizer, PieceCounts], Any], message: str, base: Tokenizer
) -> None:
    runs = count_pieces(TEXTS, base=base, superwords=Superwords())
    with pytest.raises(TrainingError, match=message):
        make(base, runs)


@pytest.mark.daily
def test_the_commands_count_runs_and_learn_from_them(
    base: Tokenizer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base.save(tmp_path / "base.fbpe")
    for i, text in enumerate(TEXTS):
        (tmp_path / f"{i}.txt").write_text(text)
    texts, runs = [str(tmp_path / f"{i}.txt") for i in range(len(TEXTS))], str(tmp_path / "all.runs")
    common = ["--base", str(tmp_path / "base.fbpe"), "--superwords", "auto"]
    assert main(["count-pieces", *texts, "-o", runs, *common]) == 0
    assert "distinct runs of tokens" in capsys.readouterr().err
    assert main(["train", runs, "-o", str(tmp_path / "made.fbpe"), "--vocab-size", "+10", *common]) == 0
    assert fastbpe.load(tmp_path / "made.fbpe").vocab == learned(TEXTS, base).vocab
    beside = [str(tmp_path / name) for name in ("first.pairs", "others.pairs", "all.pairs")]
    assert main(["count-pieces", *texts[:1], "-o", beside[0], *common, "--neighbours", "count"]) == 0
    assert "distinct pairs of tokens" in capsys.readouterr().err
    assert main(["count-pieces", *texts[1:], "-o", beside[1], *common, "--neighbours", "count"]) == 0
    assert main(["count-pieces", *beside[:2], "-o", beside[2], "--min-count", "6"]) == 0
    cutting = ["--neighbours", beside[2]]
    assert main(["count-pieces", *texts, "-o", runs, "--force", *common, *cutting]) == 0
    assert main(["train", runs, "-o", str(tmp_path / "cut.fbpe"), "--vocab-size", "+3", *common]) == 0
    assert fastbpe.load(tmp_path / "cut.fbpe").vocab == learned(TEXTS, base, "+3").vocab
    assert main(["count-pieces", *texts, "-o", runs, "--force", "--neighbours", "count"]) == 1
    assert "--neighbours needs --base MODEL" in capsys.readouterr().err
    assert main(["count-pieces", *texts, "-o", runs, "--force", "--superwords", "auto"]) == 1
    assert "--base" in capsys.readouterr().err


@pytest.mark.parametrize("piece", [b"\x05\0\0\xff\xff\xff", b"\x05\0\0", b"\x05\0\0\x05\0\0\x05"])
def test_pieces_that_are_not_runs_of_the_base_are_refused(piece: bytes, tmp_path: Path) -> None:
    base = fastbpe.train(TEXTS, vocab_size=270, progress=False)
    words = fastbpe.train(TEXTS, vocab_size=270, superwords="words", progress=False)
    for tokenizer, superwords, learned in ((base, Superwords(), Superwords()), (words, words, "boundless")):
        based: Any = {"base": tokenizer} if tokenizer is base else {}
        counts = count_pieces(TEXTS, superwords=superwords, progress=False, **based)._plain()
        other = PieceCounts({b"\0\0\0\0\0\0": 1, piece: 3})._plain()
        changed = counts._replace(pieces=other.pieces, lengths=other.lengths, counts=other.counts)
        (tmp_path / "a.pieces").write_bytes(b"".join(piece_counts_file.dump(changed)))
        loaded = PieceCounts.load(tmp_path / "a.pieces")
        with pytest.raises(TrainingError, match="not runs of the tokenizer's ids"):
            fastbpe.train(
                loaded, vocab_size=270 + (tokenizer is base), base=tokenizer, superwords=learned, progress=False
            )


def test_complete_counts_of_neighbours_cut_no_runs_and_learn_as_the_texts_do() -> None:
    """The rarest pair occurs five times, and no pair was pruned: nothing advises to count rarer ones."""
    texts = ["the end of a day", "the end of b"] * 5
    base = train(texts, vocab_size=262)
    neighbours = count_pieces(texts, base=base, superwords=Superwords(), neighbours="count")
    runs = count_pieces(texts, base=base, superwords=Superwords(), neighbours=neighbours)
    from_runs = learned(runs, base, 300)
    assert from_runs == learned(texts, base, 300)
    assert from_runs.vocab_size == 271
