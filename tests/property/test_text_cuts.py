"""Streams and interval counts equal encoding the whole text, however it is cut."""

from __future__ import annotations

import random

import pytest

from fastbpe import SpecialTokenError
from helpers.streaming import BITS, NAMES, made


def texts(n: int, most: int) -> list[str]:
    rng = random.Random(most)
    return ["".join(rng.choices(BITS, k=rng.randrange(most))) for _ in range(n)]


@pytest.mark.parametrize("name", NAMES)
def test_text_cut_at_every_position_has_the_ids_of_the_whole(name: str) -> None:
    tokenizer = made(name)
    for text in texts(40, 14):
        whole = tokenizer.encode(text, allowed_special="all")
        stream = tokenizer.encoder(allowed_special="all")
        for at in range(len(text) + 1):
            assert stream.push(text[:at]) + stream.push(text[at:]) + stream.finish() == whole, (text, at)
        ids = [i for character in text for i in stream.push(character)]
        assert ids + stream.finish() == whole, text
        if "\ud83d" not in text:
            ids = [i for byte in text.encode() for i in stream.push(bytes([byte]))]
            assert ids + stream.finish() == whole, text


@pytest.mark.parametrize("name", NAMES)
def test_interval_counts_equal_counts_of_slices(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fastbpe.tokenizer.streams.interval_counts._STEP", 3)
    tokenizer = made(name)
    for text in texts(15, 25):
        counter = tokenizer.interval_counter(text)
        for start in range(-2, len(text) + 1):
            for end in range(len(text) + 2):
                assert counter(start, end) == tokenizer.count(text[start:end]), (text, start, end)


@pytest.mark.parametrize("name", ["gpt2", "none", "codepoint"])
def test_errors_leave_the_stream_as_it_was(name: str) -> None:
    tokenizer = made(name)
    stream = tokenizer.encoder()
    ids = stream.push("ab ab<")
    with pytest.raises(SpecialTokenError):
        stream.push("e>")
    with pytest.raises(ValueError, match="utf-8"):
        stream.push(b"\xff")
    with pytest.raises(TypeError, match="str or bytes, not int"):
        stream.push(5)  # type: ignore[arg-type]
    ids += stream.push(b"e \xc3")
    for call in (stream.finish, lambda: stream.push("x")):
        with pytest.raises(ValueError, match="within a character"):
            call()
    assert ids + stream.push(b"\xa9") + stream.finish() == tokenizer.encode("ab ab<e é")


@pytest.mark.parametrize("name", ["gpt2", "cl100k", "steps", "added", "NFC", "codepoint"])
@pytest.mark.parametrize("text", ["ab abc 12, ", "1 22 333 ", "½ Ⅷ ١٢٣ "])
def test_endless_text_takes_bounded_memory(name: str, text: str) -> None:
    stream = made(name).encoder()
    for _ in range(200):
        stream.push(text * 10)
        assert sum(map(len, stream._held)) < 20


def test_disallowed_special_token_with_a_cut_inside_holds_nothing_back() -> None:
    tokenizer = made("gpt2").with_special_tokens(["<a b>"])
    stream = tokenizer.encoder()
    assert stream.push("ab <a") == tokenizer.encode("ab")
    with pytest.raises(SpecialTokenError):
        stream.push(" b>")
    assert stream.push(" c>") + stream.finish() == tokenizer.encode("ab <a c>")[1:]
    assert tokenizer.encoder(allowed_special="all").push("ab <a") == []
