"""fastbpe at the prompt: help, dir, and reprs that fit a screen."""

from __future__ import annotations

from pathlib import Path

import pytest

import fastbpe

TEXT = "low lower lowest newest widest " * 200
MAX_REPR = 300  # characters: four lines of a terminal


@pytest.fixture(scope="module")
def tokenizer() -> fastbpe.Tokenizer:
    return fastbpe.train([TEXT], vocab_size=280, special_tokens=[f"<{i}>" for i in range(9)], progress=False)


def test_help_is_a_tour_of_twenty_lines_with_existing_names(tokenizer: fastbpe.Tokenizer) -> None:
    lines = (fastbpe.__doc__ or "").strip().splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 115
    for line in lines:
        call = line.strip().partition("(")[0]
        if call.startswith("tokenizer."):
            assert hasattr(tokenizer, call.removeprefix("tokenizer."))
        elif call.startswith("fastbpe.") and " " not in call:
            assert hasattr(fastbpe, call.removeprefix("fastbpe.").strip(",;"))


def test_dir_lists_public_names_only() -> None:
    for name in dir(fastbpe):
        assert not name.startswith("_") or name.startswith("__"), name
        assert name.startswith("__") or hasattr(fastbpe, name)


@pytest.mark.daily
def test_reprs_fit_a_screen(tokenizer: fastbpe.Tokenizer, tmp_path: Path) -> None:
    other = fastbpe.train([TEXT], vocab_size=262, pattern=r"[a-z]+|\s|" * 99 + "x", progress=False)
    (tmp_path / "a.txt").write_text(TEXT)
    out = tmp_path / "a.bin"
    things = [
        tokenizer,
        other,
        fastbpe.SequenceTokenizer.from_merges([(i, i + 1) for i in range(200)], base_size=300),
        fastbpe.count_pieces([TEXT], progress=False),
        fastbpe.count_pieces([TEXT], pattern=r"[a-z]+|\s|" * 99 + "x", progress=False),
        fastbpe.vocabulary_report(tokenizer),
        tokenizer.explain(TEXT),
        fastbpe.changed_texts(tokenizer, other, [TEXT] * 99),
        fastbpe.merge_tree(tokenizer, "low"),
        fastbpe.show(tokenizer, TEXT),
        fastbpe.merge_vocabularies(tokenizer, tokenizer)[1],
        fastbpe.Superwords(pattern="[a-z]" * 99, forbid=[": "] * 99),
        fastbpe.Parity(dev={"en": [TEXT]}, window=9),
        tokenizer.interval_counter(TEXT),
        tokenizer.encode_files(tmp_path / "a.txt", out, progress=False),
        fastbpe.open_ids(out),
        tokenizer.export(tmp_path / "a.json"),
        *tokenizer.chunk(TEXT, 700, with_spans=True),
    ]
    for thing in things:
        assert len(repr(thing)) <= MAX_REPR, repr(thing)[:600]
        assert "\n" not in repr(thing)
    assert repr(fastbpe.PATTERNS).startswith("<fastbpe.PATTERNS: gpt2, cl100k, o200k, ")
    assert len(repr(fastbpe.PATTERNS)) < 500


@pytest.mark.daily
def test_reports_comparisons_and_explanations_have_html(tokenizer: fastbpe.Tokenizer) -> None:
    for thing in (
        fastbpe.vocabulary_report(tokenizer),
        tokenizer.explain("lower <b>"),
        fastbpe.changed_texts(tokenizer, tokenizer, ["low"]),
        fastbpe.merge_tree(tokenizer, "low"),
        fastbpe.show(tokenizer, "lower"),
    ):
        html = thing._repr_html_()
        assert html.startswith("<"), html
        assert "<b>" not in html
