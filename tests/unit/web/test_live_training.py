"""Training on the page, and the shelf of its tokenizers."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.testclient import TestClient

import fastbpe
from fastbpe import Tokenizer
from fastbpe.web.live_training import Trainer, at_size
from fastbpe.web.shelf import MAX_ADDED, Shelf

TEXT = "low lower lowest newer wider <|end|>\n" * 20


def trained(client: TestClient, text: str, query: str) -> list[dict[str, Any]]:
    answer = client.post(f"/api/train?{query}", content=text.encode())
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in answer.text.splitlines()]


def test_trained_vocabulary_equals_train(client: TestClient) -> None:
    reports = trained(client, TEXT, "vocab_size=270&pattern=gpt2&name=mine")
    assert {report["phase"] for report in reports[:-1]} == {"counting", "learning"}
    last = reports[-1]
    tokenizer = fastbpe.train([TEXT], vocab_size=270, pattern="gpt2", progress=False)
    assert [[visible(left), visible(right)] for left, right in last["merges"]] == [
        [tokenizer.vocab[left].decode(), tokenizer.vocab[right].decode()] for left, right in tokenizer.merges
    ]
    entry = last["tokenizer"]
    assert (entry["name"], entry["n_vocab"], entry["is_trained"]) == ("mine", 270, True)
    file = client.post(f"/api/file?with={entry['key']}")
    assert fastbpe.load(file.content) == tokenizer
    listed = client.get("/api/page").json()["tokenizers"]
    assert [one["name"] for one in listed] == ["number 0", "number 1", "mine"]


def visible(parts: list[tuple[str, bool]]) -> str:
    signs = {"·": " ", "↵": "\n"}
    return "".join(signs[text] if is_sign else text for text, is_sign in parts)


@pytest.mark.parametrize("size", [256, 257, 263, 270])
def test_earlier_size_gives_the_vocabulary_of_that_size(client: TestClient, size: int) -> None:
    entry = trained(client, TEXT, "vocab_size=270&pattern=gpt2")[-1]["tokenizer"]
    answer = client.post(f"/api/encode?with={entry['key']}:{size}", content=TEXT.encode())
    before = fastbpe.train([TEXT], vocab_size=size, pattern="gpt2", progress=False)
    assert f'"n_tokens": {before.count(TEXT)}'.encode() in answer.content
    whole = fastbpe.train([TEXT], vocab_size=270, pattern="gpt2", progress=False)
    assert at_size(whole, size).encode_ordinary(TEXT) == before.encode_ordinary(TEXT)


@pytest.mark.parametrize("size", [255, 271])
def test_size_that_training_did_not_have_is_refused(client: TestClient, size: int) -> None:
    entry = trained(client, TEXT, "vocab_size=270&pattern=gpt2")[-1]["tokenizer"]
    assert client.post(f"/api/encode?with={entry['key']}:{size}", content=b"ab").status_code == 400


def test_text_with_few_pairs_ends_early_without_a_warning(client: TestClient) -> None:
    last = trained(client, "ab", "vocab_size=270&pattern=none")[-1]
    assert last["tokenizer"]["n_vocab"] == 257


def test_text_without_pairs_is_an_error_or_a_vocabulary_of_bytes(client: TestClient) -> None:
    last = trained(client, "", "vocab_size=270&pattern=none")[-1]
    assert "error" in last or last["merges"] == []


def test_second_training_at_a_time_is_refused() -> None:
    trainer = Trainer(Shelf([]))
    first = trainer.reports(TEXT.encode(), vocab_size=260, pattern="none", name="a")
    next(first)
    (refused,) = trainer.reports(b"ab", vocab_size=260, pattern="none", name="b")
    assert "another training" in refused["error"]
    assert [*first][-1]["tokenizer"]["name"] == "a"
    assert [*trainer.reports(b"ab", vocab_size=260, pattern="none", name="b")][-1]["tokenizer"]["name"] == "b"


def test_closed_page_ends_its_training() -> None:
    shelf = Shelf([])
    trainer = Trainer(shelf)
    reports = trainer.reports(b"ab" * 1000, vocab_size=260, pattern="none", name="a")
    next(reports)
    reports.close()  # type: ignore[attr-defined]
    assert [*trainer.reports(b"ab", vocab_size=257, pattern="none", name="b")][-1]["tokenizer"]["name"] == "b"


def test_shelf_keeps_the_latest_trained_and_all_that_were_given() -> None:
    made = Tokenizer.from_merges([], pattern=None)
    shelf = Shelf([("given", made)])
    keys = [shelf.add(str(i), made, is_trained=True).key for i in range(MAX_ADDED + 3)]
    assert keys == [*range(1, MAX_ADDED + 4)]
    assert [entry.key for entry in shelf.entries()] == [0, *keys[3:]]
    assert shelf.get(keys[0]) is None


def test_name_is_short_and_visible(client: TestClient) -> None:
    last = trained(client, "ab", "vocab_size=257&pattern=none&name=" + "\u202e<b>" * 40)[-1]
    assert last["tokenizer"]["name"].startswith("⟨U+202E⟩<b>")
    assert len(last["tokenizer"]["name"]) < 300


def test_tokens_of_megabytes_are_drawn_in_part(client: TestClient) -> None:
    """Without a split pattern, tokens of a run of one letter double in length: whole, they would fill the page."""
    text = b"a" * (1 << 20)
    answer = client.post("/api/train?vocab_size=290&pattern=none&name=long", content=text)
    assert len(answer.content) < 100_000
    done = json.loads(answer.text.splitlines()[-1])
    assert [left[-1] == ["…", True] for left, _ in done["merges"]] == [False] * 6 + [True] * 14
    key, n_vocab = done["tokenizer"]["key"], done["tokenizer"]["n_vocab"]
    (drawn,) = client.post(f"/api/tokens?with={key}", json=[n_vocab - 1]).json()
    assert len(drawn["hex"]) < 10_000
    assert drawn["parts"] == [["a" * 2000, False], ["…", True]]
