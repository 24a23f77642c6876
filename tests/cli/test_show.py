"""fastbpe show: the tokens that encode gives, for people and for programs."""

from __future__ import annotations

import json

import pytest

import fastbpe
from fastbpe.display.layout import n_columns

TEXT = "low lower\n<script>\u202e\x00漢"


def test_show_prints_counts_and_tokens(run, model):
    done = run("show", "-m", model, "--text", "low\nlower", "--ids")
    assert (done.status, done.err) == (0, "")
    shown = fastbpe.show(fastbpe.load(model), "low\nlower", ids=True)
    assert done.out.decode() == f"{model}: {shown.summary}\n{shown}\n"


@pytest.mark.parametrize("from_stdin", [True, False])
def test_json_holds_the_ids_of_encode(from_stdin, run, model, tmp_path):
    (tmp_path / "a.txt").write_text(TEXT)
    words = () if from_stdin else (tmp_path / "a.txt",)
    done = run("show", "-m", model, "-m", model, "--json", *words, stdin=TEXT.encode() if from_stdin else b"")
    assert done.status == 0
    rows = [json.loads(line) for line in done.out.splitlines()]
    assert len(rows) == 2
    tokenizer = fastbpe.load(model)
    assert [token["id"] for token in rows[0]["tokens"]] == tokenizer.encode_ordinary(TEXT)
    assert b"".join(bytes.fromhex(token["bytes"]) for token in rows[0]["tokens"]) == TEXT.encode()
    assert rows[0]["file"] == ("<stdin>" if from_stdin else str(tmp_path / "a.txt"))


def test_several_tokenizers_stand_below_each_other(run, model, tmp_path):
    fastbpe.train(["x"], vocab_size=256, progress=False).save(tmp_path / "b.fbpe")
    done = run("show", "-m", model, "-m", tmp_path / "b.fbpe", "--text", "low")
    assert [line for line in done.out.decode().split("\n") if ": " in line] == [
        f"{model}: 1 token, 3 characters, 3 bytes",
        f"{tmp_path / 'b.fbpe'}: 3 tokens, 3 characters, 3 bytes",
    ]


def test_special_tokens_are_allowed_by_name(run, model):
    plain, allowed = (
        [json.loads(run("show", "-m", model, "--json", "--text", "x<|end|>", *flags).out) for flags in chosen]
        for chosen in ([()], [("--allow-special", "<|end|>"), ("--allow-special", "all")])
    )
    assert plain[0]["n_tokens"] > 2
    assert [row["tokens"][-1]["kind"] for row in allowed] == ["special", "special"]
    assert run("show", "-m", model, "--text", "x", "--allow-special", "<no>").failed_with("'<no>'")


def test_colour_is_chosen_by_flag_and_environment(run, model, monkeypatch):
    assert b"\x1b" not in run("show", "-m", model, "--text", "low").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert b"\x1b[" in run("show", "-m", model, "--text", "low", "--color", "always").out
    assert b"\x1b" not in run("show", "-m", model, "--text", "low", "--color", "never").out


def test_html_page_holds_every_text(run, model, tmp_path):
    (tmp_path / "a.txt").write_text("low\n<script>\n")
    page = tmp_path / "a.html"
    done = run("show", "-m", model, tmp_path / "a.txt", "--lines", "--html", page)
    assert (done.status, done.out) == (0, b"")
    assert done.err.startswith(f"{page}: a page for a browser, ")
    text = page.read_text()
    assert text.count("<section>") == 2
    assert "<script" not in text


def test_wrong_usage_is_refused(run, model, tmp_path):
    assert run("show", "-m", model, "--text", "a", "b.txt").status == 2
    for flags in (["--lines"], ["--separator", "a"], ["--text-field", "a"], ["--format", "text"]):
        done = run("show", "-m", model, "--text", "a", *flags)
        assert done.status == 2
        assert "--format: they are for files, but --text is the text itself" in done.err
    assert run("show", "-m", model, "--json", "--html", tmp_path / "a.html", "--text", "a").status == 2
    assert run("show", "-m", model, "--html", tmp_path / "no" / "a.html", "--text", "a").failed_with(
        "No such file"
    )
    assert run("show", "-m", model, stdin=b"\xff").failed_with("<stdin>")


def test_marks_take_no_column(run, tmp_path):
    text = "ที่ हिन्दी \u1112\u1161\u11ab x"
    points = fastbpe.train([text], mode="codepoint", vocab_size=60, hard_vocab_limit=False, progress=False)
    points.save(tmp_path / "points.fbpe")
    done = run("show", "-m", tmp_path / "points.fbpe", "--ids", "--text", text)
    tokens, ids = done.out.decode().splitlines()[1:]
    assert "\u0e35" in tokens, "characters, not bytes"
    ends = [[n_columns(line[:at]) for at, sign in enumerate(line) if sign == "|"] for line in (tokens, ids)]
    assert ends[0] == ends[1]


def test_narrow_terminal_gets_no_lines_of_spaces(run, model, tmp_path, monkeypatch):
    fastbpe.train(["establishment"] * 9, vocab_size=268, pattern=None, progress=False).save(tmp_path / "e.fbpe")
    monkeypatch.setenv("COLUMNS", "20")
    done = run("show", "-m", tmp_path / "e.fbpe", "--bytes", "--color", "always", "--text", "establishment")
    _, token, data = done.out.decode().splitlines()
    assert token.endswith("establishment\x1b[0m")
    assert data == b"establishment".hex()
