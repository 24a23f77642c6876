"""changed_texts over random vocabularies and every change of them, against comparing the ids of each text."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FastbpeError, Tokenizer
from helpers import random_exports
from helpers.sampling import rounds, share_of

pytest.importorskip("numpy")


def changes(rng: random.Random, old: Tokenizer) -> Iterator[Tokenizer]:
    """Yield tokenizers made of one: with more tokens, with fewer, merged, extended, and another altogether."""
    texts = [*random_exports.own_texts(rng, old)]
    other = random_exports.draw(rng)[1]
    for change in (
        lambda: old.with_tokens(["ab<new>", "b a"]),
        lambda: old.with_special_tokens(["<new>"]),
        lambda: old.prune(corpus=iter(texts[:3])).tokenizer,
        lambda: fastbpe.merge_vocabularies(old, other).tokenizer,
        lambda: fastbpe.train(iter(texts), mode=old.mode, base=old, vocab_size="+3", progress=False),
        lambda: other,
    ):
        try:
            yield change()  # type: ignore[no-untyped-call]
        except (FastbpeError, ValueError):
            continue  # refused by rule


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
def test_report_equals_comparing_each_text() -> None:
    n_changed = 0
    for number in rounds(60, 3000):
        rng = random.Random(f"changed {number}")
        old = random_exports.draw(rng)[1]
        texts = ["", *random_exports.own_texts(rng, old)]
        for new in changes(rng, old):
            align_first = rng.choice([0, 2, 1000])
            found = fastbpe.changed_texts(old, new, iter(texts), align_first=align_first)
            translate = new.id_map(old).old_to_new.tolist()
            pairs = [(old.encode_ordinary(text), new.encode_ordinary(text)) for text in texts]
            expected = [
                (i, len(was), len(now))
                for i, (was, now) in enumerate(pairs)
                if [translate[token_id] for token_id in was] != now
            ]
            assert [*map(tuple, found.texts)] == expected, (number, old, new)
            assert (found.n_texts, found.n_bytes) == (len(texts), sum(len(text.encode()) for text in texts))
            assert (found.n_old, found.n_new) == tuple(sum(len(pair[side]) for pair in pairs) for side in (0, 1))
            assert found.n_aligned == min(align_first, len(expected))
            aligned = [expected[i][0] for i in range(found.n_aligned)]
            _check_parts(found, old, new, [texts[i] for i in aligned])
            n_changed += len(expected)
    assert n_changed > share_of(40)


def _check_parts(found: Any, old: Tokenizer, new: Tokenizer, texts: list[str]) -> None:
    """Check that the parts hold all ids that a text gains or loses, and occur as often as said."""
    gained = sum(len(new.encode_ordinary(text)) - len(old.encode_ordinary(text)) for text in texts)
    assert sum(part.times * (len(part.new) - len(part.old)) for part in found.parts) == gained
    assert bool(texts) == bool(found.parts)
    counted = [
        (text[part.start : part.end], tuple(part.first), tuple(part.second))
        for text in texts
        for part in fastbpe.align(text, old, new)
    ]
    for part in found.parts:
        assert counted.count((part.text, part.old, part.new)) == part.times
    saved = [part.times * abs(len(part.new) - len(part.old)) for part in found.parts]
    assert saved == sorted(saved, reverse=True)


def test_extended_tokenizer_changes_texts_with_new_tokens_only() -> None:
    old = fastbpe.train(["low lower lowest"], vocab_size=262, progress=False)
    new = fastbpe.train(["newer newest"], base=old, vocab_size="+3", progress=False)
    texts = ["low", "newer", "lower new", b"newest \xc3\xa9", "\ud800 low"]
    found = fastbpe.changed_texts(old, new, iter(texts))
    assert [text.number for text in found.texts] == [
        i for i, text in enumerate(texts) if max(new.encode(text)) >= old.n_vocab
    ]
    assert found.to_dict()["texts"][0] == {"number": 1, "n_old": 5, "n_new": len(new.encode("newer"))}


def test_no_change_gives_an_empty_report() -> None:
    old = fastbpe.train(["low lower"], vocab_size=258, progress=False)
    found = fastbpe.changed_texts(old, old, ["low", "lower"])
    assert (found.texts, found.parts, found.n_aligned) == ((), (), 0)
    assert str(found).splitlines()[0] == "texts   0 of 2 get other ids (fewer: 0, more: 0, as many: 0)"
    assert str(fastbpe.changed_texts(old, old, [])).splitlines()[1] == "ids     0 before, 0 now"


def test_files_are_read_as_train_reads_them(tmp_path: Path) -> None:
    old = fastbpe.train(["low lower"], vocab_size=258, progress=False)
    new = old.with_tokens(["<x>"])
    (tmp_path / "a.txt").write_text("low\n<x>\nlow", newline="\n")
    (tmp_path / "b.jsonl").write_text('{"body": "<x><x>"}\n', newline="\n")
    heard: list[Any] = []
    found = fastbpe.changed_texts(
        old, new, [tmp_path / "a.txt"], separator="\n", progress=lambda *said: heard.append(said)
    )
    assert [*map(tuple, found.texts)] == [(1, 3, 1)]
    assert heard[-1] == ("comparing", found.n_bytes, 11)
    found = fastbpe.changed_texts(old, new, tmp_path / "b.jsonl", text_field="body", num_threads=1)
    assert [*map(tuple, found.texts)] == [(0, 6, 2)]


def test_bad_arguments_are_refused() -> None:
    old = fastbpe.train(["low lower"], vocab_size=258, progress=False)
    codes = fastbpe.SequenceTokenizer.from_merges([], base_size=4)
    with pytest.raises(TypeError, match=r"new must be a Tokenizer, not SequenceTokenizer; use fastbpe\.load"):
        fastbpe.changed_texts(old, codes, ["a"])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"old must be a Tokenizer, not str; use fastbpe\.load"):
        fastbpe.changed_texts("gpt2", old, ["a"])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="align_first=-1: must be a number of texts"):
        fastbpe.changed_texts(old, old, ["a"], align_first=-1)
    with pytest.raises(FileNotFoundError):
        fastbpe.changed_texts(old, old, Path("nothing.txt"))
    with pytest.raises(ValueError, match="UTF-8"):
        fastbpe.changed_texts(old, old, [b"\xff"])
