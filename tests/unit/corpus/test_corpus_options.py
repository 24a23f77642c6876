"""Options of reading in the calls that count or compare a corpus: one rule for all."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import OptionError, Tokenizer
from fastbpe.vocabularies.search import search_tokens

pytest.importorskip("numpy")

TOKENIZER = Tokenizer.from_merges([(97, 98), (256, 99), (120, 121)], pattern=None)
OTHER = Tokenizer.from_merges([(97, 98)], pattern=None)


def used(corpus: Any, **options: Any) -> list[bytes]:
    """Return the tokens of several bytes that a report counts in a corpus."""
    report = fastbpe.vocabulary_report(TOKENIZER, corpus, **options)
    assert report.corpus is not None
    return [report.tokens[i] for i in range(256, 259) if i not in report.corpus.unused]


def found(corpus: Any, **options: Any) -> list[bytes]:
    return [one.token for one in search_tokens(TOKENIZER, corpus=corpus, **options) if one.id > 255 and one.count]


def pruned(corpus: Any, **options: Any) -> list[bytes]:
    made = TOKENIZER.prune(corpus=corpus, **options)
    return [token for i, token in enumerate(made.tokenizer.vocab[256:], 256) if i not in made.report.makers]


def compared(corpus: Any, **options: Any) -> list[bytes]:
    changes = fastbpe.changed_texts(TOKENIZER, OTHER, corpus, align_first=9, **options)
    return [part.text.encode() for part in changes.parts]


CALLS: list[Callable[..., list[bytes]]] = [used, found, pruned, compared]


@pytest.mark.daily
@pytest.mark.parametrize("call", CALLS)
def test_options_of_reading_choose_the_documents(call: Callable[..., list[bytes]], tmp_path: Path) -> None:
    path = tmp_path / "a.dat"
    path.write_text(json.dumps({"doc": {"body": "abc"}, "text": "q"}) + "\n")
    assert call(path, text_field="doc.body") == [b"abc"]
    assert call(path, format="jsonl", text_field="doc.body") == [b"abc"]
    path.write_text(json.dumps({"xy": "abc"}) + "\n")
    assert b"xy" in call(path, format="text")
    path.write_text("abczxy")
    assert call(path, separator="c") in ([b"ab", b"xy"], [b"xy"])  # the other tokenizer has ab, too


@pytest.mark.parametrize("call", CALLS)
def test_options_of_reading_without_effect_are_refused(call: Callable[..., list[bytes]], tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("abc")
    with pytest.raises(OptionError, match=r"text_field='body'.*has no effect: it is for JSON lines and tables"):
        call(path, text_field="body")
    for options in ({"separator": "a"}, {"text_field": "a"}, {"format": "jsonl"}):
        with pytest.raises(OptionError, match="has no effect: it is for files, but the source contains texts"):
            call(["abc"], **options)
    with pytest.raises(ValueError, match="format='json': choose one of 'text'"):
        call(path, format="json")
    with pytest.raises(ValueError, match='separator=""'):
        call(path, separator="")
    with pytest.raises(TypeError, match="text_field must be str, not int"):
        call(path, text_field=3)


@pytest.mark.parametrize("option", [{"separator": "a"}, {"text_field": "a"}, {"format": "jsonl"}])
def test_options_of_reading_without_a_corpus_are_refused(option: dict[str, Any]) -> None:
    calls: list[Callable[..., Any]] = [
        lambda **options: fastbpe.vocabulary_report(TOKENIZER, **options),
        lambda **options: search_tokens(TOKENIZER, **options),
        lambda **options: TOKENIZER.prune(keep=257, **options),
    ]
    for call in calls:
        with pytest.raises(OptionError, match="has no effect: it is for the files of a corpus; pass corpus=, too"):
            call(**option)
