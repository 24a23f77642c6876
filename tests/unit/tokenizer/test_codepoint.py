"""The interface of Tokenizer in code-point mode, on models small enough to follow by hand."""

import copy
import pickle
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy
import pytest

import fastbpe
from fastbpe._core.encode.count_limits import count_part
from fastbpe.errors import FormatError, SpecialTokenError, TrainingError
from fastbpe.model import CodePointModel, Conventions, PieceType
from fastbpe.tokenizer.cutting import truncation
from fastbpe.tokenizer.internals import code_point_model_of
from fastbpe.tokenizer.tokenizer import Tokenizer
from helpers.codepoint_models import model_of

BYTES = [(b"<0x%02X>" % byte, 0.0, PieceType.BYTE) for byte in range(256)]
TEXTS = ["", " ", "ab abc", "  ab  ", "é x", "▁ab", "\nab\n", "ab<s>ab", "日本"]


def small(*, fallback: bool = False, **normalizer: object) -> Tokenizer:
    pieces = [
        (b"<unk>", 0.0, PieceType.UNKNOWN),
        (b"<s>", 0.0, PieceType.CONTROL),
        (b"</s>", 0.0, PieceType.CONTROL),
        *(BYTES if fallback else []),
        *(
            (piece.encode(), -float(i), PieceType.NORMAL)
            for i, piece in enumerate(["ab", "▁ab", "▁abc", "▁", "a", "b", "c"])
        ),
    ]
    tokenizer = fastbpe.load(model_of(pieces, {"byte_fallback": fallback}, normalizer))
    assert tokenizer.mode == "codepoint"
    return tokenizer


def test_text_is_encoded_and_decoded() -> None:
    tokenizer = small()
    assert tokenizer.encode("ab abc") == [4, 5]
    assert tokenizer.decode([4, 5]) == "ab abc"
    assert tokenizer.encode("ab\u65e5\u672c c") == [4, 0, 6, 9]
    assert tokenizer.decode([4, 0, 6, 9]) == "ab \u2047  c"
    assert tokenizer.mode == "codepoint"
    assert tokenizer.pattern is None


def test_byte_fallback_encodes_unknown_characters() -> None:
    tokenizer = small(fallback=True)
    ids = tokenizer.encode("é")
    assert ids == [262, 3 + 0xC3, 3 + 0xA9]
    assert tokenizer.decode(ids) == "é"
    assert tokenizer.decode(ids[:2]) == "\ufffd"
    assert tokenizer.decode([3 + 0xC3, 1, 3 + 0xA9]) == "\ufffd\ufffd", "a control symbol ends a character"


def test_special_tokens_are_the_control_symbols() -> None:
    tokenizer = small()
    assert tokenizer.special_tokens == {"<s>": 1, "</s>": 2}
    assert tokenizer.encode("<s>ab</s> ab", allowed_special="all") == [1, 4, 2, 4]
    assert tokenizer.decode([1, 4, 2, 4]) == "ab ab"
    assert tokenizer.encode("<s>", disallowed_special=()) == [6, 0]
    with pytest.raises(ValueError, match="disallowed special token '<s>'"):
        tokenizer.encode("a<s>")
    parts = [("<s>ab", True), ("<s>", False), ("</s>", True)]
    assert tokenizer.encode_parts(parts) == [1, 4, 6, 0, 2]


@pytest.mark.parametrize("fallback", [False, True])
@pytest.mark.parametrize("trims", [False, True])
def test_all_entry_points_give_the_same_ids(fallback: bool, trims: bool) -> None:
    tokenizer = small(fallback=fallback, remove_extra_whitespaces=trims)
    expected = [tokenizer.encode_ordinary(text) for text in TEXTS]
    assert tokenizer.encode_ordinary_batch(TEXTS) == expected
    assert tokenizer.encode_batch(TEXTS, disallowed_special=(), num_threads=2) == expected
    assert [tokenizer.encode_to_numpy(text, disallowed_special=()).tolist() for text in TEXTS] == expected
    ids, offsets = tokenizer.encode_batch_to_numpy(TEXTS, disallowed_special=())
    assert [ids[a:b].tolist() for a, b in pairwise(offsets.tolist())] == expected
    assert tokenizer.count_batch(TEXTS).tolist() == [len(ids) for ids in expected]
    assert [tokenizer.count(text) for text in TEXTS] == [len(ids) for ids in expected]
    assert [tokenizer.encode_ordinary(text.encode()) for text in TEXTS] == expected


@pytest.mark.daily
def test_threads_give_the_same_ids_for_long_texts() -> None:
    text = "ab abc  é ▁ab\n" * 100_000
    for tokenizer in (small(), small(fallback=True), small(remove_extra_whitespaces=False)):
        one = tokenizer.encode_to_numpy(text, num_threads=1)
        assert numpy.array_equal(one, tokenizer.encode_to_numpy(text, num_threads=2))
        assert tokenizer.encode_ordinary(text, num_threads=2) == one.tolist()
        assert tokenizer.count(text, num_threads=2) == one.size


def test_lone_surrogates_are_replaced_and_invalid_utf8_is_refused() -> None:
    tokenizer = small(fallback=True)
    assert tokenizer.encode("\ud800") == tokenizer.encode("\ufffd")
    with pytest.raises(ValueError, match="offset 1"):
        tokenizer.encode(b"a\xff")


def test_tokenizer_is_equal_after_pickling_copying_and_saving(tmp_path: Path) -> None:
    tokenizer = small(fallback=True)
    for other in (pickle.loads(pickle.dumps(tokenizer)), copy.deepcopy(tokenizer), small(fallback=True)):
        assert other == tokenizer
        assert hash(other) == hash(tokenizer)
    assert small() != tokenizer
    for name, format_ in (("a.fbpe", "native"), ("a.model", "sentencepiece")):
        tokenizer.export(tmp_path / name, format=format_)
        assert fastbpe.load(tmp_path / name) == tokenizer
    with pytest.raises(FormatError, match="cannot store a vocabulary of code points"):
        tokenizer.export(tmp_path / "a", format="tiktoken")


def test_properties_describe_the_model() -> None:
    tokenizer = small()
    assert (tokenizer.vocab_size, tokenizer.n_vocab) == (10, 10)
    assert tokenizer.vocab == [" \u2047 ".encode(), b"", b"", b"ab", b" ab", b" abc", b" ", b"a", b"b", b"c"]
    assert tokenizer.merges == [(7, 8), (6, 3), (4, 9)]
    assert tokenizer.token_to_id("▁ab") == tokenizer.token_to_id(" ab") == 4
    assert tokenizer.token_to_id("<s>") == 1
    assert tokenizer.token_to_id("x") is None
    assert fastbpe.train(["a ?"], mode="codepoint", vocab_size=6, progress=False).token_to_id("\ud800") is None
    assert "codepoint mode, 10 tokens (2 special)" in repr(tokenizer)


def test_added_special_tokens_are_encoded_and_checked() -> None:
    tokenizer = small()
    more = tokenizer.with_special_tokens({"<x>": 10, "<s>": 1})
    assert more.encode("ab<x>", allowed_special={"<x>"}) == [4, 10]
    assert more.decode([4, 10]) == "ab"
    with pytest.raises(SpecialTokenError, match="so the new tokens need the ids 10 and following"):
        tokenizer.with_special_tokens({"<x>": 12})
    with pytest.raises(SpecialTokenError, match="already has the id 1"):
        tokenizer.with_special_tokens({"<s>": 10})
    with pytest.raises(SpecialTokenError):
        tokenizer.with_special_tokens({"ab": 10})


def test_listed_special_tokens_get_the_next_ids() -> None:
    tokenizer = small()
    more = tokenizer.with_special_tokens(["<x>", "<s>", "<y>"])
    assert more.special_tokens == {"<s>": 1, "</s>": 2, "<x>": 10, "<y>": 11}
    assert more.encode("ab<y>", allowed_special="all") == [4, 11]
    assert tokenizer.with_special_tokens(()) == tokenizer


@pytest.mark.parametrize(
    ("special", "message"),
    [
        ({"\ud83d": 10}, "contains a surrogate, which UTF-8 cannot encode"),
        (["\ud83d"], "contains a surrogate, which UTF-8 cannot encode"),
        ({"<x>": 10, "<y>": 10}, "tokens '<x>' and '<y>' have the same id 10"),
        ({"<x>": "10"}, "token '<x>' has the id '10': ids are integers"),
        ({"": 10}, "a special token is empty"),
        (["<x>", "<x>"], "special token '<x>' is given twice"),
        (["ab"], "special token 'ab' is also the ordinary token 3"),
    ],
)
def test_invalid_special_tokens_are_refused_as_in_byte_mode(special: Any, message: str) -> None:
    with pytest.raises(SpecialTokenError, match=message):
        small().with_special_tokens(special)


def test_trained_tokenizer_encodes_and_pickles() -> None:
    tokenizer = fastbpe.train(
        ["ab ab abc\nabcd ab"], mode="codepoint", vocab_size=12, hard_vocab_limit=False, progress=False
    )
    assert tokenizer.decode(tokenizer.encode("abcd ab")) == "abcd ab"
    assert tokenizer.training_report["n_sentences"] == 2
    assert pickle.loads(pickle.dumps(tokenizer)) == tokenizer
    with pytest.raises(TrainingError, match="base="):
        fastbpe.train(["a"], mode="byte", vocab_size=300, base=tokenizer)
    with pytest.raises(TrainingError, match="choose one of 'byte', 'codepoint', 'unigram', 'ids'"):
        fastbpe.train(["a"], mode="bytes", vocab_size=300)


def test_vocab_size_characters_learns_no_merges() -> None:
    text = "To be, or not to be\nthat is the question"
    tokenizer = fastbpe.train([text], mode="codepoint", vocab_size="characters", progress=False)
    assert tokenizer.vocab_size == 3 + len(set(text) - {"\n"})
    assert tokenizer.merges == []
    assert len(tokenizer.encode("to be")) == len("▁to▁be")


MEASURED = ["", "ab", "ab abc  ab\u00e9 c", "  ab", "cab\u65e5\u672cab ab ", "<s>ab<s>"]


@pytest.mark.parametrize("fallback", [False, True])
@pytest.mark.parametrize("trims", [False, True])
@pytest.mark.parametrize("text", MEASURED)
def test_truncate_returns_the_longest_text_that_fits(text: str, trims: bool, fallback: bool) -> None:
    tokenizer = small(fallback=fallback, remove_extra_whitespaces=trims)
    for n in range(1, 9):
        beginning = tokenizer.truncate(text, n)
        end = tokenizer.truncate(text, n, side="left")
        assert text.startswith(beginning)
        assert text.endswith(end)
        fitting = [i for i in range(len(text) + 1) if tokenizer.count(text[:i]) <= n]
        assert len(beginning) == max(fitting)
        assert len(end) == max(i for i in range(len(text) + 1) if tokenizer.count(text[len(text) - i :]) <= n)
        assert tokenizer.fits(text, n) == (tokenizer.count(text) <= n)
    assert "".join(tokenizer.chunk(text, 6)) == text
    assert tokenizer.pieces(text) == ([(0, len(text))] if text else [])


@pytest.mark.parametrize("text", ["\n", "a", " ", "ab", "abc ab ", "é"])
@pytest.mark.parametrize("side", ["right", "left"])
def test_truncation_counts_a_few_times_for_any_length(
    text: str, side: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    n_counted = 0

    def counting(*arguments: Any) -> int:
        nonlocal n_counted
        n_counted += 1
        return count_part(*arguments)

    monkeypatch.setattr(truncation, "count_part", counting)
    tokenizer = small(fallback=True, remove_extra_whitespaces=False)
    whole = text * 6_000
    for n in (1_000, 5_000):
        n_counted = 0
        part = tokenizer.truncate(whole, n, side=side)
        assert n_counted < 70
        assert n - 3 <= tokenizer.count(part) <= n
    assert "".join(tokenizer.chunk(whole, 500)) == whole


@pytest.mark.parametrize("fallback", [False, True])
def test_offsets_cover_the_characters_of_each_id(fallback: bool) -> None:
    tokenizer = small(fallback=fallback)
    ids, offsets = tokenizer.encode_with_offsets("ab \u00e9<s>c", allowed_special="all")
    assert ids == tokenizer.encode("ab \u00e9<s>c", allowed_special="all")
    accent = [(3, 3), (3, 4)] if fallback else [(3, 4)]
    assert offsets == [(0, 2), (2, 3), *accent, (4, 7), (7, 7), (7, 8)]
    with pytest.raises(ValueError, match="disallowed special token"):
        tokenizer.encode_with_offsets("a<s>")
    assert tokenizer.encode_with_offsets("\ud83d\ude00b", disallowed_special=())[1][-1] == (2, 3)


@pytest.mark.daily
def test_offsets_of_more_than_a_million_ids_are_correct() -> None:
    """Large buffers are handed to the result, not copied; the next text gets new ones."""
    tokenizer = small(fallback=True)
    for text in ("é日" * 230_000, "é", "ab é" * 300_000):
        ids, offsets = tokenizer.encode_with_offsets(text)
        assert ids == tokenizer.encode(text)
        assert len(offsets) == len(ids)
        assert offsets[-1][1] == len(text)
    assert offsets[-3:] == [(1_199_998, 1_199_999), (1_199_999, 1_199_999), (1_199_999, 1_200_000)]


@pytest.mark.parametrize("trims", [False, True])
def test_streams_decode_like_decode(trims: bool) -> None:
    tokenizer = small(fallback=True, remove_extra_whitespaces=trims)
    space, accent = tokenizer.token_to_id("▁"), [3 + 0xC3, 3 + 0xA9]
    for ids in ([1, space, space, 4], [4, *accent, 5], [3 + 0xC3, 1, 3 + 0xA9, 4], [0, 4], [3 + 0x20, 4]):
        assert ids == [token for token in ids if token is not None]
        stream = tokenizer.decoder()
        assert "".join([*map(stream.push, ids), stream.finish()]) == tokenizer.decode(ids)
        assert stream.push(ids) + stream.finish() == tokenizer.decode(ids)


@pytest.mark.parametrize("decoder", ["sentencepiece", "ByteFallback", "GPTSw3"])
@pytest.mark.parametrize(("ids", "message"), [([9999], "id 9999 "), (["x"], "'x' .* is str"), (5, r"\bint\b")])
def test_batch_errors_name_the_sequence_after_bytes_that_are_not_utf8(
    decoder: str, ids: Any, message: str
) -> None:
    model: CodePointModel = code_point_model_of(small(fallback=True))
    if decoder != "sentencepiece":
        model = model._replace(conventions=Conventions(decoder=decoder))
    with pytest.raises((KeyError, TypeError), match=message) as refused:
        Tokenizer(model).decode_batch([[3 + 0xC3], ids])
    assert refused.value.__notes__ == ["for batch[1]"]  # type: ignore[attr-defined]
