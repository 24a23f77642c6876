"""The stream decoder equals its slow twin push by push, and `decode` as a whole."""

from __future__ import annotations

import contextlib
import copy
import json
import pickle
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbpe
from fastbpe import InvalidTokenError, Tokenizer
from fastbpe._core.decode.decoder import Decoder
from fastbpe._core.decode.stream_decoder import StreamDecoder
from fastbpe.model import PieceType
from fastbpe.tokenizer.families.codepoint_decoding import HuggingFaceDecoding
from fastbpe.tokenizer.families.codepoint_tables import EACH_BYTE
from helpers.codepoint_models import model_of
from helpers.tokenizer_json import METASPACE, added, dumped, llama_document, small
from reference.streaming import SlowStream

FALLBACK = [f"<0x{byte:02X}>" for byte in range(256)]
UNKNOWN = [-1, 900, 1 << 31, 1 << 32, 1 << 40, 1 << 70, -(1 << 70)]


def byte_level() -> Tokenizer:
    return fastbpe.load(dumped(small([added(262, "<s>", special=True), added(263, "<think>")])))


def llama(decoder: str, *, strips: bool = True) -> Tokenizer:
    vocab = {
        token: i
        for i, token in enumerate(
            ["<unk>", *FALLBACK, METASPACE, "a", f"{METASPACE}a", f"a{METASPACE}", "é", "漢"]
        )
    }
    made: dict[str, Any] = llama_document(vocab, [f"{METASPACE} a", f"a {METASPACE}"])
    made["model"]["byte_fallback"] = True
    following = len(vocab)
    made["added_tokens"] += [added(following, "<s>", special=True), added(following + 1, "<think>")]
    made["added_tokens"] += [added(following + 2, f"{METASPACE}x{METASPACE}y", special=True)]
    if not strips:
        made["decoder"]["decoders"].pop()
    if decoder == "Metaspace":
        made["normalizer"] = None
        step = {"type": "Metaspace", "replacement": METASPACE, "prepend_scheme": "always", "split": False}
        made["pre_tokenizer"] = made["decoder"] = step
    return fastbpe.load(json.dumps(made).encode())


def model(**normalizer: bool) -> Tokenizer:
    pieces = [(b"<unk>", 0.0, PieceType.UNKNOWN), (b"<s>", 0.0, PieceType.CONTROL)]
    pieces += [(name.encode(), 0.0, PieceType.BYTE) for name in FALLBACK]
    for i, piece in enumerate([METASPACE, "a", f"{METASPACE}a", "é", f"{METASPACE}{METASPACE}"]):
        pieces.append((piece.encode(), -float(i), PieceType.NORMAL))
    return fastbpe.load(model_of(pieces, {"byte_fallback": True}, normalizer))


TOKENIZERS = {
    "bytes": byte_level(),
    "llama": llama("ByteFallback"),
    "llama without Strip": llama("ByteFallback", strips=False),
    "Metaspace": llama("Metaspace"),
    "model": model(),
    "trimming model": model(remove_extra_whitespaces=True),
    "plain model": model(add_dummy_prefix=False, remove_extra_whitespaces=False),
}
ERRORS = ("replace", "ignore", "backslashreplace", "strict")


def twin(tokenizer: Tokenizer, errors: str, unknown_ids: str, *, skips: bool) -> SlowStream:
    decoding = tokenizer._skipping if skips else tokenizer._decoding
    if isinstance(decoding, Decoder):
        return SlowStream(decoding.token, errors, unknown_ids)
    parts = tokenizer._family.parts
    is_huggingface = isinstance(decoding, HuggingFaceDecoding)
    return SlowStream(
        decoding._decoder.token,
        EACH_BYTE if errors == "replace" else errors,
        unknown_ids,
        joins=is_huggingface,
        leading=parts.leading,
        space_keepers=parts.space_keepers,
        byte_ids=decoding._byte_ids if is_huggingface and errors == "replace" else None,
        first_texts=decoding._first_texts if is_huggingface else None,
    )


def ids_of(tokenizer: Tokenizer, rng: random.Random, *, unknown: bool) -> list[int]:
    """Return ids of texts, or arbitrary ids, and some unknown ids. Many form no characters."""
    n = tokenizer.n_vocab
    texts = ["é", "漢", "👍", " a", "  ", "a"]
    ids: list[int] = []
    for _ in range(rng.randint(0, 8)):
        kind = rng.random()
        if kind < 0.5:
            ids += tokenizer.encode_ordinary(rng.choice(texts))[: rng.choice([1, 2, 3, 9])]
        elif kind < 0.8 or not unknown:
            ids.append(rng.choice([rng.randrange(n), n - 1 - rng.randrange(9), 0, 1]))
        else:
            ids.append(rng.choice([*UNKNOWN, n]))
    return ids


def outcome(give: Any, *args: Any, **options: Any) -> Any:
    try:
        return give(*args, **options)
    except (UnicodeDecodeError, InvalidTokenError) as error:
        return type(error)


@pytest.mark.daily
@pytest.mark.sample(2)
@pytest.mark.parametrize("name", TOKENIZERS)
@given(st.randoms(use_true_random=False), st.sampled_from(ERRORS), st.booleans())
@settings(max_examples=60, deadline=None)
def test_stream_equals_its_slow_twin_and_decode(name: str, rng: random.Random, errors: str, skips: bool) -> None:
    tokenizer = TOKENIZERS[name]
    for unknown_ids in ("skip", "replace", "raise"):
        ids = ids_of(tokenizer, rng, unknown=unknown_ids != "raise")
        options: Any = {"errors": errors, "unknown_ids": unknown_ids, "skip_special_tokens": skips}
        stream, slow = tokenizer.decoder(**options), twin(tokenizer, errors, unknown_ids, skips=skips)
        given_out = []
        at = 0
        while at < len(ids):
            group = ids[at : at + rng.choice([1, 1, 1, 2, 5])]
            at += len(group)
            given_out.append(outcome(stream.push, group[0] if len(group) == 1 and rng.random() < 0.7 else group))
            assert given_out[-1] == outcome(slow.push, group), (ids, at)
            if given_out[-1] is UnicodeDecodeError:
                return  # the slow twin may have consumed part of the group
        given_out.append(outcome(stream.finish))
        assert given_out[-1] == outcome(slow.finish)
        if UnicodeDecodeError in given_out:
            return
        whole = tokenizer.decode(ids, **options)
        if "\ufffd" not in whole or tokenizer.mode != "codepoint":
            assert "".join(given_out) == whole, ids
        first = outcome(tokenizer.decode, ids[:1], **options)
        batch = outcome(tokenizer.decode_batch, [ids, ids[:1]], **options)
        assert batch == ([whole, first] if isinstance(first, str) else first)


@pytest.mark.sample(2)
@pytest.mark.parametrize("name", TOKENIZERS)
@given(st.randoms(use_true_random=False), st.booleans())
@settings(max_examples=40, deadline=None)
def test_unknown_ids_are_skipped_or_replaced(name: str, rng: random.Random, skips: bool) -> None:
    tokenizer = TOKENIZERS[name]
    ids = ids_of(tokenizer, rng, unknown=True)
    n = tokenizer.n_vocab
    known = [token_id for token_id in ids if 0 <= token_id < n]
    options: Any = {"skip_special_tokens": skips}
    for given_ids in (ids, tuple(ids)):
        assert tokenizer.decode(given_ids, unknown_ids="skip", **options) == tokenizer.decode(known, **options)
    shown = tokenizer.decode(ids, unknown_ids="replace", **options)
    assert shown.count("\ufffd") >= len(ids) - len(known)
    if len(known) < len(ids):
        with pytest.raises(InvalidTokenError, match="is not a token of this vocabulary"):
            tokenizer.decode(ids, **options)


def test_each_unknown_id_becomes_one_replacement_character() -> None:
    tokenizer = TOKENIZERS["bytes"]
    text = "\ufffd".join(["a"] * (len(UNKNOWN) + 1))
    ids = [97]
    for unknown in UNKNOWN:
        ids += [unknown, 97]
    a = tokenizer.encode("a")[0]
    ids = [a if token_id == 97 else token_id for token_id in ids]
    assert tokenizer.decode(ids, unknown_ids="replace") == text
    stream = tokenizer.decoder(unknown_ids="replace")
    assert "".join(map(stream.push, ids)) == text
    array: Any = np.array([a, 10**6, -1, a])
    assert tokenizer.decode(array, unknown_ids="replace") == "a\ufffd\ufffda"
    assert tokenizer.decode(array, unknown_ids="skip") == "aa"
    assert tokenizer.decoder(unknown_ids="skip").push(array) == "aa"
    batch = [[a, 900], [900], [], [a]] * 40_000
    assert tokenizer.decode_batch(batch, unknown_ids="skip", num_threads=2) == ["a", "", "", "a"] * 40_000
    assert tokenizer.decode([a, 900] * 150_000, unknown_ids="replace", num_threads=2) == "a\ufffd" * 150_000
    for what in ("raise", "skip", "replace"):
        with pytest.raises(TypeError, match="ids must be integers"):
            tokenizer.decode([a, 1.5], unknown_ids=what)  # type: ignore[list-item]


def test_skipped_unknown_ids_do_not_break_a_character() -> None:
    tokenizer = Tokenizer.from_ranks({bytes([i]): i for i in range(256)}, pattern=None)
    lead, trail = "é".encode()
    for unknown_ids, shown in (("skip", ["", "", "é"]), ("replace", ["", "\ufffd\ufffd", "\ufffd"])):
        stream = tokenizer.decoder(unknown_ids=unknown_ids)
        assert [stream.push(lead), stream.push(1000), stream.push(trail)] == shown
    stream = tokenizer.decoder()
    stream.push(lead)
    for bad in (1000, [1000], [97, 1000]):
        with pytest.raises(InvalidTokenError):
            stream.push(bad)
    assert stream.push(trail) == "é"


@pytest.mark.parametrize("name", TOKENIZERS)
def test_wrong_choice_for_unknown_ids_raises_value_error(name: str) -> None:
    tokenizer = TOKENIZERS[name]
    message = "unknown_ids='ignore': choose one of 'raise', 'skip', 'replace'"
    for call in (
        lambda: tokenizer.decode([], unknown_ids="ignore"),
        lambda: tokenizer.decode_batch([], unknown_ids="ignore"),
        lambda: tokenizer.decoder(unknown_ids="ignore"),
        lambda: tokenizer.decode([], unknown_ids="ignore", skip_special_tokens=True),
    ):
        with pytest.raises(ValueError, match="unknown_ids=") as caught:
            call()
        assert str(caught.value) == message


def test_skip_special_tokens_keeps_added_tokens() -> None:
    for name in ("bytes", "llama", "Metaspace"):
        tokenizer = TOKENIZERS[name]
        special, thinks = tokenizer.token_to_id("<s>"), tokenizer.token_to_id("<think>")
        a = tokenizer.token_to_id("a")
        assert special is not None
        assert thinks is not None
        assert a is not None
        ids = [special, a, thinks, special]
        assert tokenizer.decode(ids) == "<s>a<think><s>"
        assert tokenizer.decode(ids, skip_special_tokens=True) == "a<think>"
        assert tokenizer.decode_batch([ids], skip_special_tokens=True) == ["a<think>"]
        assert tokenizer.decoder(skip_special_tokens=True).push(ids) == "a<think>"
        assert tokenizer.id_to_token(special) == b"<s>"
        assert tokenizer.vocab[special] == b"<s>"
        assert special in tokenizer.special_tokens.values()
        assert thinks not in tokenizer.special_tokens.values()


def test_control_symbols_have_names_and_decode_to_nothing() -> None:
    tokenizer = TOKENIZERS["model"]
    assert tokenizer.id_to_token(1) == b"<s>"
    assert tokenizer.id_to_token(0) == b"<unk>"
    assert tokenizer.decode([1]) == tokenizer.decode([1], skip_special_tokens=True) == ""
    assert tokenizer.vocab[1] == b""
    assert [tokenizer.token_to_id("<s>"), tokenizer.token_to_id(b"<s>")] == [1, 1]


@pytest.mark.parametrize("name", TOKENIZERS)
def test_copy_of_a_stream_is_independent(name: str) -> None:
    tokenizer = TOKENIZERS[name]
    ids = tokenizer.encode_ordinary("a 👍")
    stream = tokenizer.decoder()
    before = stream.push(ids[:-1])
    for other in (copy.copy(stream), copy.deepcopy(stream)):
        assert isinstance(other, StreamDecoder)
        assert before + other.push(ids[-1:]) + other.finish() == tokenizer.decode(ids)
    assert before + stream.push(ids[-1:]) + stream.finish() == tokenizer.decode(ids)


def test_pickling_a_stream_raises_type_error() -> None:
    with pytest.raises(TypeError, match="a StreamDecoder cannot be pickled: pickle its Tokenizer"):
        pickle.dumps(TOKENIZERS["bytes"].decoder())


def test_error_within_a_group_leaves_the_stream_unchanged() -> None:
    tokenizer = TOKENIZERS["model"]
    stream = tokenizer.decoder(errors="strict")
    first = 2  # the id of <0x00>
    assert stream.push(first + 0xC3) == ""
    with pytest.raises(UnicodeDecodeError):
        stream.push([first + 0xA9, first + 0xFF])
    with contextlib.suppress(UnicodeDecodeError):
        stream.push(first + 0x41)
    assert stream.push(first + 0xA9) == "é"
