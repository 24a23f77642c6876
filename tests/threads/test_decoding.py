"""Decoding on several threads gives the texts and errors of a loop, even while other threads change the lists."""

import codecs
import random
import threading
from typing import Any

import numpy as np
import pytest

from fastbpe import InvalidTokenError, Tokenizer, tokenizers, train
from helpers.shared_data import BYTES

THREADS = (1, 2, 3, 8)
LONG = " ".join(["long"] * 9)
IDS = range(263)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    words = ["é", "Ж", "語", "👍", "ab", LONG]
    return Tokenizer.from_ranks(
        {**BYTES, **{word.encode(): 256 + i for i, word in enumerate(words)}},
        pattern=None,
        special_tokens={"<s>": 262},
    )


def batch_of(rng: random.Random, n: int) -> list[Any]:
    """Return texts of each width, some of them invalid UTF-8, as lists, tuples and arrays; too many for one
    thread."""
    batch: list[Any] = []
    for number in range(n):
        greatest = rng.choice([128, 128, 257, 258, 259, 263])
        known = [i for i in IDS if i < 128 or 256 <= i < greatest] if number % 7 else IDS
        ids = rng.choices(known, k=rng.choice([0, 1, 20, 2000]))
        batch.append(rng.choice([ids, tuple(ids), np.array(ids, dtype="u2")]))
    assert sum(map(len, batch)) > 200_000
    return batch


@pytest.mark.parametrize("errors", ["replace", "ignore", "surrogateescape"])
def test_large_batch_decodes_like_a_loop(tokenizer: Tokenizer, errors: str) -> None:
    batch = batch_of(random.Random(3), 600)
    expected = [tokenizer.decode(ids, errors=errors) for ids in batch]
    for num_threads in THREADS:
        assert tokenizer.decode_batch(batch, errors=errors, num_threads=num_threads) == expected
        assert tokenizer.decode_batch(iter(batch), errors=errors, num_threads=num_threads) == expected


@pytest.mark.sample(4)
@pytest.mark.parametrize("greatest", [128, 257, 258, 259, 260, 263, 0])
@pytest.mark.parametrize("errors", ["replace", "ignore", "surrogateescape"])
def test_long_list_decodes_as_on_one_thread(tokenizer: Tokenizer, greatest: int, errors: str) -> None:
    """greatest: limit of the ids in use, besides the bytes of whole characters; 0 adds invalid UTF-8."""
    rng = random.Random(greatest)
    parts = [[i] for i in IDS if i < 128 or 256 <= i < greatest]
    if greatest > 256:
        last = ["é", "Ж", "語", "👍"][min(greatest, 260) - 257]
        parts += [[*last.encode()]] * 50
    if not greatest:
        parts += [[0xE8], [0xAA], [0x9E]] * 20
    ids = [i for part in rng.choices(parts, k=150_000) for i in part]
    expected = b"".join(tokenizer.decode_tokens_bytes(ids)).decode(errors=errors)
    for num_threads in THREADS:
        assert tokenizer.decode(ids, errors=errors, num_threads=num_threads) == expected
    assert tokenizer.decode(tuple(ids), errors=errors) == expected


def test_long_list_may_have_parts_without_a_character_start(tokenizer: Tokenizer) -> None:
    ids = [97] * 10_000 + [0xAA] * 150_000 + [98]
    assert tokenizer.decode(ids) == "a" * 10_000 + "\ufffd" * 150_000 + "b"
    with pytest.raises(UnicodeDecodeError, match="byte 0xaa in position 10000"):
        tokenizer.decode(ids, errors="strict")


def test_long_list_with_unknown_id_raises_invalid_token_error(tokenizer: Tokenizer) -> None:
    ids: list[Any] = [97] * 150_000
    ids[140_000] = np.int64(98)
    assert tokenizer.decode(ids) == "a" * 140_000 + "b" + "a" * 9_999
    ids[149_000] = 2**40
    with pytest.raises(InvalidTokenError, match=r"at position 149000 "):
        tokenizer.decode(ids)
    with pytest.raises(ValueError, match="num_threads=0"):
        tokenizer.decode([97], num_threads=0)


@pytest.mark.daily
def test_long_list_of_code_point_ids_decodes_as_on_one_thread() -> None:
    learned = train(
        [" a b é 語 語語 ab"] * 9, mode="codepoint", vocab_size=270, byte_fallback=True, progress=False
    )
    rng = random.Random(9)
    for known in (range(learned.n_vocab), [i for i in range(learned.n_vocab) if i > 2]):
        ids = rng.choices(known, k=150_000)
        for begin in ([], [learned.token_to_id("▁") or 0] * 40_000, [1] * 40_000):
            assert learned.decode(begin + ids, num_threads=4) == learned.decode(begin + ids, num_threads=1)


@pytest.mark.parametrize("num_threads", THREADS)
def test_error_of_the_first_bad_text_is_raised(tokenizer: Tokenizer, num_threads: int) -> None:
    batch = [[97] * 1000 for _ in range(300)]
    batch[150] = [97, 98, 10**6]
    with pytest.raises(InvalidTokenError, match=r"^id 1000000 at position 2 "):
        tokenizer.decode_batch(batch, num_threads=num_threads)
    batch[149] = [97, 0xFF]
    with pytest.raises(UnicodeDecodeError, match="byte 0xff in position 1"):
        tokenizer.decode_batch(batch, errors="strict", num_threads=num_threads)
    with pytest.raises(InvalidTokenError, match=r"^id 1000000 at position 2 "):
        tokenizer.decode_batch(batch, num_threads=num_threads)
    batch[100] = [2**70]
    with pytest.raises(InvalidTokenError, match=f"^id {2**70} at position 0 "):
        tokenizer.decode_batch(batch, num_threads=num_threads)
    batch[99] = "ab"  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="ids must be a sequence of integers, not str"):
        tokenizer.decode_batch(batch, num_threads=num_threads)


@pytest.mark.parametrize("num_threads", THREADS)
def test_error_of_the_callers_handler_names_its_text(tokenizer: Tokenizer, num_threads: int) -> None:
    def refuse(_: UnicodeError) -> tuple[str, int]:
        raise ValueError("refused")

    codecs.register_error("refuse", refuse)
    batch = [[97] * 1000 for _ in range(300)]
    batch[150] = [0xFF]
    with pytest.raises(ValueError, match="refused") as caught:
        tokenizer.decode_batch(batch, errors="refuse", num_threads=num_threads)  # type: ignore[arg-type]
    assert caught.value.__notes__ == ["for batch[150]"]


def test_num_threads_below_one_raises_value_error(tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match="num_threads=0"):
        tokenizer.decode_batch([[97]], num_threads=0)


@pytest.mark.daily
def test_lists_changed_by_another_thread_never_crash(tokenizer: Tokenizer) -> None:
    batch = [[97] * 1000 for _ in range(300)]
    done = threading.Event()

    def change() -> None:
        rng = random.Random(5)
        while not done.is_set():
            ids = batch[rng.randrange(300)]
            ids.extend([98] * rng.randrange(2000))
            ids[:1000] = [99]
            del ids[500:]

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(100):
            assert {*"".join(tokenizer.decode_batch(batch, num_threads=2))} <= {*"abc"}
    finally:
        done.set()
        thread.join()


@pytest.mark.daily
def test_eight_threads_may_decode_at_once(tokenizer: Tokenizer) -> None:
    batches = [batch_of(random.Random(seed), 500) for seed in range(8)]
    expected = [[tokenizer.decode(ids) for ids in batch] for batch in batches]
    found: list[list[str]] = [[]] * 8

    def work(number: int) -> None:
        for _ in range(3):
            found[number] = tokenizer.decode_batch(batches[number])

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == expected


def test_change_by_another_thread_gives_no_mixture_of_two_decoders(monkeypatch: pytest.MonkeyPatch) -> None:
    ids = {"Ġ": 0, "a": 1, "▁a": 2}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(ids, []))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel()
    definition = tokenizer._definition
    ready = definition.ready

    def ready_before_a_change() -> object:
        setup = ready()
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Metaspace()
        tokenizer.decoder = tokenizers.decoders.Metaspace()
        ready()
        return setup

    before = tokenizer.decode([2, 1])
    monkeypatch.setattr(definition, "ready", ready_before_a_change)
    during = tokenizer.decode([2, 1])
    monkeypatch.undo()
    after = tokenizer.decode([2, 1])
    assert during in (before, after)
    assert (before, after) == ("▁a a", "aa")
