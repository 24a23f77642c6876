"""Sources with names: weights, parity, and what does not fit."""

from __future__ import annotations

import json
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

import fastbpe
from fastbpe import Parity, PieceCounts, TrainingError

TEXTS = {"en": ["the cat sat, the hat"] * 3, "de": ["die Katze saß, der Hut"]}


def repeated(**times: int) -> list[str]:
    return [text for name, texts in TEXTS.items() for text in texts * times.get(name, 1)]


@pytest.mark.parametrize("ties", ["pair", "huggingface", "first"])
@pytest.mark.parametrize("weights", [{}, {"en": 1, "de": 1}, {"de": 7}, {"en": 2, "de": 5}])
def test_weights_equal_repeated_texts(weights: dict[str, int], ties: Any) -> None:
    weighted = fastbpe.train(TEXTS, vocab_size=272, ties=ties, weights=weights)
    plain = fastbpe.train(repeated(**weights), vocab_size=272, ties=ties)
    assert weighted.vocab == plain.vocab
    for number in ("n_bytes", "n_pieces", "n_distinct_pieces"):
        assert weighted.training_report[number] == plain.training_report[number]
    assert weighted.training_report["weights"] == {"en": 1, "de": 1, **weights}


@pytest.mark.parametrize("weights", [{}, {"de": 7}, {"en": 2, "de": 5}])
def test_weights_equal_repeated_texts_in_code_points(weights: dict[str, int]) -> None:
    options: Any = {
        "vocab_size": 40,
        "mode": "codepoint",
        "character_coverage": 0.99,
        "user_defined_symbols": ["ß,"],
    }
    weighted = fastbpe.train(TEXTS, weights=weights, **options)
    plain = fastbpe.train(repeated(**weights), **options)
    assert weighted.vocab == plain.vocab
    assert weighted.training_report["n_sentences"] == plain.training_report["n_sentences"]
    assert weighted.training_report["left_out"] == plain.training_report["left_out"]


LINES = {
    "en": ["in the end of the day the end\nof the week, in the end\n", "the day of the week"],
    "de": ["am Ende der Woche am Ende\ndes Monats, am Ende der Woche"],
}


@pytest.mark.parametrize("superwords", [fastbpe.Superwords(266), "boundless", "words"])
@pytest.mark.parametrize("weights", [{}, {"de": 7}, {"en": 2, "de": 5}])
def test_weights_equal_repeated_texts_with_superwords(
    superwords: Any, weights: dict[str, int], tmp_path: pathlib.Path
) -> None:
    options: Any = {"vocab_size": 282, "superwords": superwords}
    times = {"en": 1, "de": 1, **weights}
    plain = fastbpe.train([text for name in LINES for text in LINES[name] * times[name]], **options)
    files = {name: tmp_path / f"{name}.jsonl" for name in LINES}
    for name, path in files.items():
        path.write_text("".join(json.dumps({"doc": text}) + "\n" for text in LINES[name]), encoding="utf-8")
    sources: list[Any] = [
        LINES,
        {name: iter(texts) for name, texts in LINES.items()},
        {"en": iter(LINES["en"]), "de": LINES["de"]},
        files,
        {name: iter([path]) for name, path in files.items()},
    ]
    for i, source in enumerate(sources):
        field = {"text_field": "doc"} if i > 2 else {}
        weighted = fastbpe.train(source, weights=weights, **options, **field)
        assert weighted.vocab == plain.vocab
        assert weighted.merges == plain.merges
        for number in ("n_bytes", "n_pieces", "n_distinct_pieces", "word_counts", "least_count"):
            assert weighted.training_report.get(number) == plain.training_report.get(number), number
        assert weighted.training_report["weights"] == times
    if superwords == "words":
        counts = {name: fastbpe.count_pieces(texts) for name, texts in LINES.items()}
        assert fastbpe.train(counts, weights=weights, **options).merges == plain.merges
    elif superwords != "boundless":
        base = fastbpe.train(LINES["en"], vocab_size=270)
        options = {"vocab_size": "+9", "superwords": fastbpe.Superwords(), "base": base}
        with pytest.warns(fastbpe.TrainingWarning, match="texts may get other ids"):
            extended = fastbpe.train(LINES, weights=weights, **options)
        repeated = [text for name in LINES for text in LINES[name] * times[name]]
        with pytest.warns(fastbpe.TrainingWarning, match="texts may get other ids"):
            assert extended.vocab == fastbpe.train(repeated, **options).vocab
        assert extended.training_report["n_bytes"] == sum(len(text.encode()) for text in repeated)
        assert extended.training_report["weights"] == times


def test_weights_extend_a_base() -> None:
    base = fastbpe.train(["the hat"], vocab_size=260)
    weighted = fastbpe.train(TEXTS, vocab_size="+9", base=base, weights={"de": 3})
    assert weighted.vocab == fastbpe.train(repeated(de=3), vocab_size="+9", base=base).vocab
    points = fastbpe.train(["the hat"], vocab_size=14, mode="codepoint")
    weighted = fastbpe.train(TEXTS, vocab_size=40, base=points, weights={"de": 3})
    assert weighted.vocab == fastbpe.train(repeated(de=3), vocab_size=40, base=points).vocab


def test_sources_may_be_files_and_counts(tmp_path: pathlib.Path) -> None:
    (tmp_path / "en.txt").write_text("\n".join(TEXTS["en"]), encoding="utf-8")
    german = fastbpe.count_pieces(TEXTS["de"], special_tokens=["<s>"])
    mixed: Any = {"en": tmp_path / "en.txt", "de": german}
    found = fastbpe.train(mixed, vocab_size=270, weights={"de": 2}, separator="\n", roles={"bos": "<s>"})
    expected = fastbpe.train(repeated(de=2), vocab_size=270, special_tokens=["<s>"])
    assert found.vocab == expected.vocab
    assert found.special_tokens == {"<s>": 269}
    counted = {name: fastbpe.count_pieces(texts, mode="codepoint") for name, texts in TEXTS.items()}
    points = fastbpe.train(counted, vocab_size=40, weights={"de": 2})
    assert points.vocab == fastbpe.train(repeated(de=2), vocab_size=40, mode="codepoint").vocab
    sentences: Any = {"en": TEXTS["en"], "de": dict.fromkeys(TEXTS["de"], 1)}
    assert fastbpe.train(sentences, vocab_size=40, weights={"de": 2}, mode="codepoint").vocab == points.vocab


def test_parity_reads_counts_files_and_special_tokens(tmp_path: pathlib.Path) -> None:
    (tmp_path / "en.txt").write_text("the cat\nthe hat", encoding="utf-8")
    (tmp_path / "de.txt").write_text("die Katze\nder Hut", encoding="utf-8")
    texts: Any = {"en": ["the cat<s>the hat"], "de": ["die<s>Katze"]}
    dev: Any = {"en": ["the cat", "the hat"], "de": ["die Katze", "der Hut"]}
    files: Any = {name: [tmp_path / f"{name}.txt"] for name in dev}
    from_texts = fastbpe.train(texts, vocab_size=266, special_tokens=["<s>"], parity=Parity(dev=dev))
    counted = {name: fastbpe.count_pieces(some, special_tokens=["<s>"]) for name, some in texts.items()}
    from_counts = fastbpe.train(counted, vocab_size=266, parity=Parity(dev=files), separator="\n")
    assert from_texts.vocab == from_counts.vocab
    assert from_texts.special_tokens == from_counts.special_tokens == {"<s>": 265}
    assert "ties" not in from_texts.training_report


def test_report_of_parity_is_kept(tmp_path: pathlib.Path) -> None:
    parity = Parity(ratio={"en": 1, "de": 2.5}, window=10, alpha=1.5, global_merges=3)
    made = fastbpe.train(TEXTS, vocab_size=270, parity=parity)
    made.save(tmp_path / "a.fbpe")
    report = fastbpe.load(tmp_path / "a.fbpe").training_report
    assert report == made.training_report
    options = {"dev": False, "ratio": {"en": 1.0, "de": 2.5}, "window": 10, "alpha": 1.5, "global_merges": 3}
    assert report["parity"] == options
    assert 3 + sum(one["n_merges"] for one in report["languages"].values()) == report["n_merges"] == 14


def test_fewer_merges_than_asked_for_warn() -> None:
    with pytest.warns(
        fastbpe.TrainingWarning, match=r"min_count=9 leaves no pair to merge: .* not the 300 asked for"
    ) as caught:
        fastbpe.train(TEXTS, vocab_size=300, min_count=9, parity=Parity())
    assert caught[0].filename == __file__
    with pytest.warns(fastbpe.TrainingWarning) as caught:
        fastbpe.train(["a"], vocab_size=300)
    assert caught[0].filename == __file__


def parity(**options: Any) -> Callable[[], Any]:
    return lambda: fastbpe.train(TEXTS, vocab_size=300, parity=Parity(**options))


def train(source: Any = TEXTS, **options: Any) -> Callable[[], Any]:
    return lambda: fastbpe.train(source, vocab_size=300, **options)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (train(), TypeError, r"a dict of names to sources, pass also weights= or parity="),
        (train({"en": pathlib.Path("en")}), TypeError, "a dict of names to sources"),
        (train(["a"], weights={"en": 1}), TrainingError, "a run with weights= must be a dict .*, not list"),
        (train("a.txt", parity=Parity()), TrainingError, "a run with parity= must be a dict .*, not str"),
        (train({"a": 1}, parity=Parity()), TrainingError, "a run with parity= must be a dict .*, not counts"),
        (train(PieceCounts({"a": 1}), parity=Parity()), TrainingError, "must be a dict .*, not counts"),
        (train({}, parity=Parity()), TrainingError, "is empty: pass a dict of names to sources"),
        (train({1: ["a"]}, parity=Parity()), TypeError, "the names in .* must be str, not int"),
        (train({"en": ["a"], "de": []}, parity=Parity()), TrainingError, "the source 'de' contains no documents"),
        (train({"en": ["a"], "de": []}, weights={}), TrainingError, "the source 'de' contains no documents"),
        (train(weights={"ed": 2}), TrainingError, "weights= has 'ed', which is not a source: .* 'en', 'de'"),
        (train(weights={"EN": 2}), TrainingError, "did you mean 'en'"),
        (train(weights={"en": 0}), TrainingError, "the weight of 'en' is 0: use 1 or more, or leave"),
        (train(weights={"en": 0.5}), TypeError, "the weight of 'en' must be an integer, not float"),
        (train(weights=[1, 2]), TypeError, "weights must be a dict of names to integers, not list"),
        (train(weights={"en": 2}, mode="unigram"), TrainingError, "weights= cannot be used with mode='unigram'"),
        (
            train(weights={"en": 2}, mode="ids", base_size=3),
            TrainingError,
            "weights= cannot be used with mode='ids'",
        ),
        (train(weights={"en": 2}, mode="codepoint", input_sentence_size=2), TrainingError, "input_sentence_size"),
        (train({"en": PieceCounts({"a": 2**62})}, weights={"en": 4}), OverflowError, "occurs more than"),
        (
            train({**TEXTS, "fr": PieceCounts({"a": 1})}, weights={}, superwords="boundless"),
            TrainingError,
            'superwords="boundless" needs the texts, or counts of runs',
        ),
        (
            train({**TEXTS, "fr": {"a": 1}}, weights={}, superwords=fastbpe.Superwords(270)),
            TrainingError,
            "superwords=Superwords.* needs the texts, or counts of runs",
        ),
        (
            train(parity=Parity(), superwords=fastbpe.Superwords(270)),
            TrainingError,
            "superwords= cannot be combined with parity=",
        ),
        (train(parity={"dev": TEXTS}), TypeError, r"parity must be a fastbpe\.Parity, not dict"),
        (
            train(parity=Parity(), mode="codepoint"),
            TrainingError,
            "only with mode=.byte., not with mode=.codepoint.",
        ),
        (train(parity=Parity(), ties="pair"), TrainingError, "leave ties= out"),
        (
            lambda: train(parity=Parity(), base=fastbpe.train(["a b"], vocab_size=256))(),
            TrainingError,
            "cannot extend base=",
        ),
        (parity(dev={"en": ["a"]}), TrainingError, "dev= lacks 'de'"),
        (parity(dev={**TEXTS, "fr": ["a"]}), TrainingError, "dev= has 'fr', which is not a source"),
        (parity(dev={**TEXTS, "de": [""]}), TrainingError, "the dev text of 'de' contains no documents"),
        (
            train(
                parity=Parity(dev=dict.fromkeys(TEXTS, fastbpe.count_pieces(["a b"], mode="codepoint"))),
                pattern=None,
            ),
            TrainingError,
            'were counted with mode="codepoint"',
        ),
        (parity(dev=["a"]), TrainingError, "dev must be a dict of names to sources, .* not list"),
        (parity(ratio={"en": 1}), TrainingError, "ratio= lacks 'de'"),
        (parity(ratio={"en": 1, "de": 0}), TrainingError, "ratio of 'de' is 0: .* finite number above 0"),
        (parity(ratio={"en": 1, "de": float("nan")}), TrainingError, "ratio of 'de' is nan"),
        (parity(ratio={"en": "1"}), TypeError, "ratio of 'en' must be a number, not str"),
        (parity(ratio=[1, 2]), TypeError, "ratio must be a dict of languages to numbers"),
        (parity(dev=TEXTS, ratio={"en": 1, "de": 1}), TrainingError, "pass one of them"),
        (parity(window=0), TrainingError, "window=0: must be at least 1, or None"),
        (parity(window=2.5), TypeError, "window must be an integer"),
        (parity(alpha=1.0), TrainingError, "pass window=, too"),
        (parity(window=5, alpha=0), TrainingError, "alpha is 0: it must be a finite number above 0"),
        (parity(window=5, alpha=10**400), TrainingError, "it must be a finite number above 0"),
        (parity(window=5, alpha="2"), TypeError, "alpha must be a number"),
        (parity(global_merges=-1), TrainingError, "global_merges=-1: must be at least 0"),
    ],
)
def test_arguments_that_do_not_fit_are_named(call: Callable[[], Any], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        call()


def test_counts_times_a_number() -> None:
    counts = PieceCounts({"low": 5, "er": 1}).pruned(2)
    assert counts * 6 == 6 * counts == sum([counts] * 6)
    assert ((3 * counts).n_bytes, (3 * counts).n_pruned) == (3 * counts.n_bytes, 3)
    assert 1 * counts == counts
    for wrong in (0, -1):
        with pytest.raises(ValueError, match="multiplied by 1 or more"):
            _ = counts * wrong
    with pytest.raises(TypeError):
        _ = counts * 1.5  # type: ignore[operator]


def test_huge_numbers_are_no_limits() -> None:
    huge = fastbpe.train(TEXTS, vocab_size=270, parity=Parity(window=1 << 70, alpha=0.5))
    assert huge.vocab == fastbpe.train(TEXTS, vocab_size=270, parity=Parity()).vocab
    all_global = fastbpe.train(TEXTS, vocab_size=270, parity=Parity(global_merges=1 << 70))
    assert all_global.vocab == fastbpe.train(TEXTS, vocab_size=270, parity=Parity(global_merges=14)).vocab


def test_progress_tells_of_each_source_and_seconds_add_up(capsys: pytest.CaptureFixture[str]) -> None:
    told: list[tuple[str, int, int | None]] = []
    fastbpe.train(TEXTS, vocab_size=270, weights={}, progress=lambda *state: told.append(state))
    assert [phase for phase, done, _ in told if not done] == ["counting", "counting", "learning"]
    fastbpe.train(TEXTS, vocab_size=270, parity=Parity(dev=TEXTS), progress=True)
    assert capsys.readouterr().err.count("counting: ") > 0


def test_parity_is_shown() -> None:
    assert repr(Parity()) == "Parity()"
    assert (
        repr(Parity(dev=TEXTS, window=3, global_merges=2)) == "Parity(dev=…, window=3, alpha=2.0, global_merges=2)"
    )
