"""fastbpe compare: counts by group, differences, parity."""

from __future__ import annotations

import csv
import io
import json
import math
from pathlib import Path

import pytest

import fastbpe
from fastbpe.cli import plots
from fastbpe.cli.comparison import script_of


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts" / "more").mkdir(parents=True)
    (tmp_path / "texts" / "a.txt").write_bytes("low lower\nnaïve\n".encode())
    (tmp_path / "texts" / "more" / "b.txt").write_bytes("東京 です\nслово\n12\n".encode())
    (tmp_path / "texts" / "c.jsonl").write_text('{"text": "low low"}\n{"text": "lower"}\n')
    small = fastbpe.train(["low lower"] * 9, vocab_size=260, pattern="gpt2", progress=False)
    small.save("small.fbpe")
    small.export("small.json", format="huggingface")
    fastbpe.train(["low lower"] * 9, vocab_size=256, pattern="gpt2", progress=False).save("bytes.fbpe")
    points = {"mode": "codepoint", "vocab_size": 300, "hard_vocab_limit": False, "byte_fallback": True}
    fastbpe.train(["low lower"] * 9, progress=False, **points).save("points.fbpe")
    return tmp_path


BOTH = ("-m", "small.fbpe", "-m", "bytes.fbpe")


def rows(done):
    assert (done.status, done.err) == (0, "")
    return json.loads(done.out)["rows"]


def test_counts_equal_the_library(run, here):
    found = rows(run("compare", *BOTH, "-m", "points.fbpe", "texts/a.txt", "texts/c.jsonl", "--json"))
    data = {"texts/a.txt": ["low lower\nnaïve\n"], "texts/c.jsonl": ["low low", "lower"]}
    data["total"] = data["texts/a.txt"] + data["texts/c.jsonl"]
    assert len(found) == 9
    for row in found:
        texts, tokenizer = data[row["texts"]], fastbpe.load(row["model"])
        assert row["n_tokens"] == sum(tokenizer.count(text) for text in texts)
        assert row["n_characters"] == sum(map(len, texts))
        assert row["n_bytes"] == sum(len(text.encode()) for text in texts)
        assert row["n_texts"] == len(texts)
        best = min(other["n_tokens"] for other in found if other["texts"] == row["texts"])
        assert row["cost"] == round(row["n_tokens"] / best, 4)


@pytest.mark.parametrize(
    ("by", "groups"),
    [
        ("input", ["texts"]),
        ("file", ["texts/a.txt", "texts/c.jsonl", "texts/more/b.txt", "total"]),
        ("folder", ["texts", "texts/more", "total"]),
        ("ending", [".txt", ".jsonl", "total"]),
        ("script", ["Latin", "Hiragana", "Han", "Cyrillic", "Common", "total"]),
    ],
)
def test_texts_are_grouped_as_asked(by, groups, run, here):
    found = rows(run("compare", "-m", "small.fbpe", "texts", "--by", by, "--json"))
    names = [row["texts"] for row in found]
    assert len(names) == len(set(names))
    if by == "script":  # a tie of two letters each goes to either
        assert set(names) <= set(groups)
        assert {"Latin", "Cyrillic", "Common", "total"} <= set(names)
    else:
        assert names == groups


def test_script_equals_most_letters():
    assert script_of("аб abc") == "Latin"
    assert script_of("!? 12") == "Common"
    assert script_of("ꯀꯁ") == "Meeteimayek"
    assert script_of("a漢漢 1") == "Han"


@pytest.mark.parametrize("flags", [(), ("--parallel",), ("--plot", "total.svg")])
def test_file_named_total_keeps_its_row(run, here, flags):
    if "--plot" in flags:
        pytest.importorskip("matplotlib")
    (here / "total").write_text("low\n")
    (here / "low").write_text("lower\n")
    found = rows(run("compare", "-m", "small.fbpe", "total", "low", "--json", *flags))
    assert [(row["texts"], row["n_bytes"]) for row in found] == [("total", 4), ("low", 6), ("total", 10)]


def test_csv_has_the_rows_of_json(run, here):
    done = run("compare", *BOTH, "texts", "--csv")
    as_csv = list(csv.DictReader(io.StringIO(done.out.decode())))
    as_json = rows(run("compare", *BOTH, "texts", "--json"))
    assert as_csv == [{name: str(value) for name, value in row.items()} for row in as_json]


def test_csv_spells_names_that_are_not_unicode_as_each_system_does(run, here, monkeypatch):
    monkeypatch.setattr("sys.getfilesystemencodeerrors", lambda: "surrogatepass")  # Windows
    monkeypatch.setattr("fastbpe.cli.compare.folder_of", lambda name: "a\ud800")
    done = run("compare", *BOTH, "texts", "--csv", "--by", "folder")
    assert done.out.splitlines()[1].startswith(b"a\xed\xa0\x80,")


def test_first_difference_names_the_place_and_the_pieces(run, here):
    done = run("compare", *BOTH, "texts/a.txt", "--json")
    differences = json.loads(done.out)["differences"]
    assert differences["n_differing"] == 1
    first = differences["first"]
    assert (first["where"], first["line"], first["column"]) == ("texts/a.txt", 1, 1)
    assert [pieces[0] for pieces in first["pieces"]] == ["low", "l"]
    table = run("compare", *BOTH, "texts/a.txt").out.decode()
    assert "token boundaries differ in 1 of 2 lines" in table


@pytest.mark.daily
@pytest.mark.parametrize("name", ["out.png", "out.svg"])
def test_plot_is_written(name, run, here):
    pytest.importorskip("matplotlib")
    assert run("compare", *BOTH, "texts", "--by", "ending", "--plot", name).status == 0
    assert (here / name).read_bytes()[:5] in (b"\x89PNG\r", b"<?xml")
    assert run("compare", *BOTH, "texts", "--plot", "out.pdf").failed_with(".png or .svg")


@pytest.mark.daily
def test_legend_of_a_plot_hides_no_bar(run, here, monkeypatch):
    pytest.importorskip("matplotlib")
    drawn = []
    monkeypatch.setattr(plots, "save", lambda figure, name: drawn.append(figure))
    assert run("compare", "-m", "small.fbpe", "-m", "small.json", "texts", "--plot", "out.png").status == 0
    (figure,) = drawn
    figure.canvas.draw()
    (legend,) = figure.legends
    assert not legend.get_window_extent().overlaps(figure.axes[0].get_window_extent())


class TestParity:
    def test_conversion_has_parity(self, run, here):
        done = run("compare", "-m", "small.fbpe", "-m", "small.json", "texts", "--parity")
        assert (done.status, done.err) == (0, "")
        assert done.out.startswith(b"the same ids for 4 texts: ")

    def test_first_text_that_differs_is_named(self, run, here):
        done = run("compare", *BOTH, "texts/c.jsonl", "texts/a.txt", "--parity")
        assert done.status == 1
        said = done.out.decode()
        assert said.startswith("the ids differ\nfirst in texts/c.jsonl, line 1, character 1:\n")
        assert "small.fbpe: low|" in said
        done = run("compare", *BOTH, "texts/a.txt", "--parity", "--json")
        assert (done.status, json.loads(done.out)["first"]["line"]) == (1, 1)

    def test_late_difference_has_its_line_and_column(self, run, here):
        (here / "a.txt").write_text("x y\nzé low\n")
        done = run("compare", *BOTH, "a.txt", "--parity", "--json")
        first = json.loads(done.out)["first"]
        assert (first["line"], first["column"]) == (2, 3)

    def test_wrong_usage_is_refused(self, run, here):
        assert run("compare", *BOTH, "texts", "--parity", "--judge").status == 2
        assert run("compare", "-m", "small.fbpe", "texts/a.txt", "--parallel").status == 2
        assert (
            run("compare", "-m", "small.fbpe", "texts/a.txt", "texts", "--parallel", "--by", "script").status == 2
        )
        assert run("compare", "-m", "small.fbpe", "texts", "--parity").status == 2
        assert run("compare", *BOTH, "texts", "--parity", "--csv").status == 2
        assert run("compare", *BOTH, "texts", "--json", "--csv").status == 2


class TestJudging:
    def test_superwords_efficiency_and_unused_tokens_equal_their_definitions(self, run, here):
        text = "in the end of the day the end of the end\n"
        fastbpe.train(
            [text * 9], vocab_size=273, superwords=fastbpe.Superwords(265), special_tokens=["<s>"], progress=False
        ).save("super.fbpe")
        (here / "end.txt").write_text(text)
        found = rows(run("compare", "-m", "super.fbpe", "end.txt", "texts/a.txt", "--judge", "--json"))
        tokenizer = fastbpe.load("super.fbpe")
        both = tokenizer.encode(text), tokenizer.encode((here / "texts" / "a.txt").read_text())
        for row, ids in zip(found, [*both, [*both[0], *both[1]]], strict=True):
            tokens = tokenizer.decode_tokens_bytes(ids)
            n_superwords = sum(b" " in token.strip() for token in tokens)
            assert row["superword_share"] == round(n_superwords / len(ids), 4)
            assert row["n_unused"] == 272 - len({*ids})
            powers = sum((ids.count(i) / len(ids)) ** 2.5 for i in {*ids})
            assert row["renyi_efficiency"] == round(math.log(powers) / -1.5 / math.log(273), 4)
        assert found[0]["superword_share"] > 0

    def test_parallel_texts_have_tokens_per_line_and_a_gini_coefficient(self, run, here):
        (here / "en.txt").write_text("low\nlower\n")
        (here / "de.txt").write_text("niedrig\nniedriger")
        found = rows(run("compare", *BOTH, "en.txt", "de.txt", "--parallel", "--json"))
        for number in (0, 1):
            a, b, total = found[number::2]
            assert a["tokens_per_line"] == a["n_tokens"] / 2
            assert b["tokens_per_line"] == b["n_tokens"] / 2
            assert (a["gini"], b["gini"]) == (None, None)
            difference = abs(a["n_tokens"] - b["n_tokens"])
            assert total["gini"] == round(difference / (a["n_tokens"] + b["n_tokens"]) / 2, 4)
            assert total["tokens_per_line"] == (a["tokens_per_line"] + b["tokens_per_line"]) / 2

    def test_texts_of_other_numbers_of_lines_are_not_parallel(self, run, here):
        (here / "one.txt").write_text("low")
        done = run("compare", *BOTH, "one.txt", "texts/a.txt", "--parallel")
        assert done.failed_with("one.txt has 1, texts/a.txt has 2")

    def test_table_has_the_columns_that_were_asked_for(self, run, here):
        done = run("compare", "-m", "small.fbpe", "texts/a.txt", "texts/a.txt", "--parallel", "--judge")
        heads = done.out.splitlines()[0].split()
        assert heads[-5:] == [b"superwords", b"Renyi", b"unused", b"tokens/line", b"gini"]
        assert (
            run("compare", "-m", "small.fbpe", "texts", "--judge", "--csv")
            .out.splitlines()[0]
            .endswith(b"n_unused")
        )


class TestFilesThatCannotBeRead:
    def test_unreadable_file_counts_nowhere_and_ends_with_status_1(self, run, here):
        (here / "texts" / "bad.txt").write_bytes(b"low\nlower\n\xff\n")
        whole = rows(run("compare", *BOTH, "texts/a.txt", "--lines", "--json"))
        done = run("compare", *BOTH, "texts/bad.txt", "none", "texts/a.txt", "--lines", "--json")
        assert done.status == 1
        assert [line.split(":")[2].strip() for line in done.err.splitlines()] == ["texts/bad.txt", "none"]
        found = json.loads(done.out)
        assert found["rows"] == whole
        assert (found["differences"]["n_texts"], found["differences"]["first"]["where"]) == (2, "texts/a.txt:1")

    @pytest.mark.parametrize("flag", ["--csv", "--json", "--by=file", "--plot=out.svg"])
    def test_unreadable_files_alone_end_with_status_1(self, flag, run, here):
        pytest.importorskip("matplotlib")
        assert run("compare", *BOTH, "none", flag).failed_with("none")

    def test_pattern_takes_files_of_any_ending(self, run, here):
        (here / "texts" / "code.py").write_text("low")
        found = rows(run("compare", "-m", "small.fbpe", "texts/**/*.*", "--by", "ending", "--json"))
        assert [row["texts"] for row in found] == [".txt", ".jsonl", ".py", "total"]

    def test_parity_is_not_claimed(self, run, here):
        assert run("compare", *BOTH, "texts/a.txt", "none", "--parity").status == 1
