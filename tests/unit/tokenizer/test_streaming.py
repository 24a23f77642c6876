"""Decoding of streamed ids: the same text for every grouping, and never half a character."""

from __future__ import annotations

import codecs
import json
import random
from array import array
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fastbpe import InvalidTokenError, Tokenizer, load
from fastbpe._core.decode.stream_decoder import StreamDecoder
from helpers.sampling import n_rounds
from helpers.shared_data import BYTES
from helpers.text_strategies import texts
from helpers.tokenizer_json import llama_document

TOKENS = {**BYTES, " \xe2".encode("latin-1"): 256, b"\x98\x83 ": 257, b"\xf0\x9f": 258, b"ab": 259, b" a": 260}
TOKENIZER = Tokenizer.from_ranks(TOKENS, pattern=None, special_tokens={"<|é|>": 300})
PROBES = [
    "삼겹살",
    "ďábelské",
    "ございます",
    "잠 깰 수 있는",
    "北東爿",
    "👨\u200d👩\u200d👧",
    "1️⃣",
    " ☃ ☃ ab<|é|>",
    "engine for LLMs. It",
    "logs and",
]


def streamed(groups: Iterator[list[int]], errors: str = "replace") -> str:
    stream = TOKENIZER.decoder(errors=errors)
    return "".join([stream.push(group[0] if len(group) == 1 else group) for group in groups]) + stream.finish()


def every_grouping(ids: list[int]) -> Iterator[list[list[int]]]:
    for cuts in range(1 << (len(ids) - 1)):
        groups = [[ids[0]]]
        for i, token in enumerate(ids[1:]):
            if cuts >> i & 1:
                groups.append([token])
            else:
                groups[-1].append(token)
        yield groups


@pytest.mark.parametrize("text", PROBES)
def test_text_is_the_same_for_groups_of_every_size(text: str) -> None:
    ids = TOKENIZER.encode(text, allowed_special="all")
    for size in range(1, len(ids) + 1):
        assert streamed(iter([ids[at : at + size] for at in range(0, len(ids), size)])) == text
    for groups in every_grouping(ids[:9]):
        assert streamed(iter(groups)) == TOKENIZER.decode(ids[:9])


@given(st.data())
@settings(max_examples=n_rounds(100, 300))
def test_any_ids_in_any_groups_decode_like_decode(data: st.DataObject) -> None:
    """Use ids of texts, or arbitrary ids, which seldom form characters."""
    text = data.draw(texts)
    any_ids = st.lists(st.sampled_from([*range(0x60, 0x64), *range(0x80, 0x100), *range(256, 261), 300]))
    ids = data.draw(any_ids) if data.draw(st.booleans()) else TOKENIZER.encode(text, allowed_special="all")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(ids)), max_size=8)))
    groups = [ids[start:end] for start, end in zip([0, *cuts], [*cuts, len(ids)], strict=True)]
    for errors in ("replace", "ignore", "backslashreplace"):
        assert streamed(iter(groups), errors) == TOKENIZER.decode(ids, errors=errors)
        assert streamed(([token] for token in ids), errors) == TOKENIZER.decode(ids, errors=errors)


def test_incomplete_characters_are_held_back() -> None:
    stream = TOKENIZER.decoder()
    assert [stream.push(token) for token in (97, 256, 257)] == ["a", " ", "☃ "]
    assert [stream.push(token) for token in "👍".encode()] == ["", "", "", "👍"]
    assert stream.push(258) == ""
    assert stream.finish() == "\ufffd"
    assert stream.finish() == ""
    assert stream.push("é".encode()[1]) == "\ufffd", "what was kept back is gone"
    assert stream.push([]) == ""


def test_invalid_byte_is_replaced_before_valid_ones() -> None:
    stream = TOKENIZER.decoder()
    assert [stream.push(token) for token in (32, 0xE2, 259)] == [" ", "", "\ufffdab"]
    assert [stream.push(token) for token in (0xE2, 260)] == ["", "\ufffd a"]


def test_character_begun_in_the_prompt_ends_in_the_answer() -> None:
    pepper = "🌶".encode()
    stream = TOKENIZER.decoder()
    stream.push([*b"prompt ", *pepper[:2]])
    assert stream.push([*pepper[2:], 97]) == "🌶a"


def test_push_accepts_ints_and_sequences_of_ints() -> None:
    stream = TOKENIZER.decoder()
    for ids in (97, True - 1 + 97, np.uint32(97), [97], (97,), array("i", [97]), np.array([97])):
        assert stream.push(ids) == "a"  # type: ignore[arg-type]
    for bad in ("a", b"a"):
        with pytest.raises(TypeError):
            stream.push(bad)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        stream.push(1.5)  # type: ignore[arg-type]


def test_unknown_id_leaves_the_stream_unchanged() -> None:
    stream = TOKENIZER.decoder()
    assert stream.push(258) == ""
    for bad in (299, -1, 1 << 40, [97, 299]):
        with pytest.raises(InvalidTokenError):
            stream.push(bad)
    assert stream.push([0x91, 0x8D]) == "👍"


def test_errors_option_is_applied() -> None:
    with pytest.raises(LookupError):
        TOKENIZER.decoder(errors="nonsense")
    stream = TOKENIZER.decoder(errors="strict")
    assert stream.push(0xC3) == ""
    with pytest.raises(UnicodeDecodeError):
        stream.push(97)
    stream = TOKENIZER.decoder(errors="strict")
    stream.push(0xC3)
    with pytest.raises(UnicodeDecodeError):
        stream.finish()
    assert stream.push(0xA9) == "é"  # the byte still waited


def _replace_object(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    error.object = b"abc" * len(error.object)
    return "?", 3


def test_error_handler_that_replaces_the_bytes_leaves_none_waiting() -> None:
    codecs.register_error("replacing-object", _replace_object)
    stream = TOKENIZER.decoder(errors="replacing-object")
    assert stream.push([0xFF] * 40) == "?" + "abc" * 39
    assert repr(stream) == "<fastbpe.StreamDecoder that holds no bytes>"
    assert stream.push([97]) + stream.finish() == "a"


def test_long_stream_decodes_like_decode() -> None:
    rng = random.Random(3)
    ids = rng.choices(TOKENIZER.encode("naïve 日本語 👍 ab ☃ "), k=100_000)
    assert streamed([token] for token in ids) == TOKENIZER.decode(ids)


def test_docstrings_name_the_one_difference_from_decode(tmp_path: Path) -> None:
    vocab = {"<unk>": 0, **{f"<0x{byte:02X}>": byte + 1 for byte in range(256)}, "\u2581": 257, "a": 258}
    described = llama_document(vocab, [])
    described["model"]["byte_fallback"] = True
    (tmp_path / "tokenizer.json").write_text(json.dumps(described))
    tokenizer = load(tmp_path / "tokenizer.json")
    ids = [byte + 1 for byte in b"\xc3\xa9\xff"]
    stream = tokenizer.decoder()
    assert [stream.push(i) for i in ids] + [stream.finish()] == ["", "é", "\ufffd", ""]
    assert tokenizer.decode(ids) == "\ufffd\ufffd\ufffd"
    for documented in (Tokenizer.decoder, StreamDecoder):
        said = " ".join((documented.__doc__ or "").split())
        assert "equal the result of `decode` for all ids" in said
        assert "with one exception. A stream cannot take back text" in said
