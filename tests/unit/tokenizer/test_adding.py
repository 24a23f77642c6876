"""Tokenizer.with_tokens and with_special_tokens: ids, reserved names, padding, and bad input, in both modes."""

from __future__ import annotations

import pickle
import time
from typing import Any

import pytest

import fastbpe
from fastbpe import AddedToken, SpecialTokenError, Tokenizer
from helpers.shared_data import BYTES

MERGED = BYTES | {b"ab": 256, b"abc": 257}
TEXT = ["ab ab abc"]


def byte_level() -> Tokenizer:
    return Tokenizer.from_ranks(MERGED, pattern="gpt2", special_tokens={"<s>": 260})


def code_points() -> Tokenizer:
    return fastbpe.train(TEXT, mode="codepoint", vocab_size=10, progress=False)


BOTH = pytest.mark.parametrize("old", [byte_level(), code_points()], ids=["byte", "codepoint"])


@BOTH
def test_added_tokens_are_found_in_any_text_and_ids_stay(old: Tokenizer) -> None:
    new = old.with_tokens(["<x>", "<xy>"])
    n = old.n_vocab
    assert new.n_vocab == n + 2
    assert new.id_map(old).new_to_old.tolist() == [*range(n), -1, -1]
    for ids in (new.encode("ab<xy>ab<x>"), new.encode_ordinary("ab<xy>ab<x>")):
        assert [i for i in ids if i >= n] == [n + 1, n]
        assert new.decode(ids) == "ab<xy>ab<x>"
    assert [i for i in new.encode_parts([("ab<x>", False)]) if i >= n] == []
    assert old.n_vocab == n


@BOTH
def test_tokenizer_with_added_tokens_can_be_pickled_and_saved(old: Tokenizer) -> None:
    new = old.with_tokens(["<x>"]).with_special_tokens(["<y>"], reserved=3)
    for other in (pickle.loads(pickle.dumps(new)), fastbpe.load(new._family.dump(new, "native"))):
        assert other == new
        assert other.encode("ab<x>") == new.encode("ab<x>")


@BOTH
def test_repeated_addition_changes_nothing(old: Tokenizer) -> None:
    new = old.with_tokens(["<x>"]).with_special_tokens(["<y>"])
    assert new.with_tokens(["<x>"]).with_special_tokens(["<y>"]) == new
    assert new.with_special_tokens({"<y>": new.n_vocab - 1}) == new


@BOTH
def test_reserved_tokens_fill_up_to_a_multiple(old: Tokenizer) -> None:
    new = old.with_special_tokens(["<y>"], reserved=2, reserved_name="<r{}>", pad_to_multiple_of=16)
    n = old.n_vocab
    assert new.n_vocab == -(-(n + 3) // 16) * 16
    assert new.special_tokens["<y>"] == n
    assert [new.special_tokens[f"<r{i}>"] for i in range(new.n_vocab - n - 1)] == list(range(n + 1, new.n_vocab))
    assert new.with_special_tokens([], pad_to_multiple_of=16) == new


@BOTH
def test_reserved_names_skip_new_and_added_tokens(old: Tokenizer) -> None:
    new = old.with_tokens(["<r0>"]).with_special_tokens(["<r1>"], reserved=1, reserved_name="<r{}>")
    assert [*new.special_tokens][-2:] == ["<r1>", "<r2>"]


def test_reserved_names_skip_ordinary_tokens() -> None:
    old = Tokenizer.from_ranks({**BYTES, b"r0": 256}, pattern="gpt2")
    assert [*old.with_special_tokens([], reserved=1, reserved_name="r{}").special_tokens] == ["r1"]


@BOTH
def test_special_token_with_a_space_keeps_it(old: Tokenizer) -> None:
    new = old.with_special_tokens(["<a b>"])
    assert new.encode("<a b>", allowed_special="all")[-1] == new.special_tokens["<a b>"] == old.n_vocab


def test_token_with_the_flags_of_a_known_one_or_with_none_is_that_token() -> None:
    old = byte_level().with_tokens([AddedToken("<x>", lstrip=True)])
    for token in (AddedToken("<x>", lstrip=True), AddedToken("<x>"), "<x>"):
        assert old.with_tokens([token]) == old


@BOTH
def test_reserved_names_continue_after_the_existing_ones(old: Tokenizer) -> None:
    new = old.with_special_tokens(["<r1>"]).with_special_tokens([], reserved=2, reserved_name="<r{}>")
    assert [*new.special_tokens][-3:] == ["<r1>", "<r0>", "<r2>"]


def test_ids_of_a_mapping_may_leave_gaps_in_byte_mode() -> None:
    new = byte_level().with_tokens({"<x>": 300})
    assert new.encode("<x>") == [300]
    assert new.with_tokens(["<y>"]).encode("<y>") == [301]
    with pytest.raises(SpecialTokenError, match="no gaps"):
        code_points().with_tokens({"<x>": 300})


def test_free_ids_between_others_are_not_given_to_a_list() -> None:
    assert byte_level().with_tokens(["<x>"]).encode("<x>") == [261]


def test_ordinary_token_can_be_found_as_a_whole_under_its_id() -> None:
    old = byte_level()
    assert old.encode("xabcx")[1:-1] == [257]
    new = old.with_tokens([AddedToken("ab", 256, single_word=True)])
    assert new.encode("ab abc") == [256, 32, 257]
    assert new.n_vocab == old.n_vocab


def test_added_text_decodes_to_itself_in_byte_mode() -> None:
    new = byte_level().with_tokens(["über", "é"]).with_special_tokens([AddedToken("ö", rstrip=True)])
    text = "über é ö"
    assert new.decode(new.encode(text, allowed_special="all")) == text


def test_special_added_token_is_special() -> None:
    new = byte_level().with_tokens([AddedToken("<y>", special=True, lstrip=True)])
    assert new.special_tokens["<y>"] == 261
    with pytest.raises(SpecialTokenError, match="disallowed special token"):
        new.encode("a <y>")
    assert new.encode("a <y>", allowed_special="all") == [97, 261]


@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        (["<s>"], "'<s>' is already a special token, with the id"),
        ([""], "^a token is empty"),
        (["<x>", "<x>"], "^token '<x>' is given twice; pass it once"),
        ({"<x>": -1}, "has the id -1"),
        ({"<x>": True}, "has the id True"),
        ({"<x>": 2**40}, "has the id"),
        ([AddedToken("<x>", 1)], "has the id|have the same id 1"),
        (["ab"], "'ab' is already in the vocabulary, as the ordinary token"),
        ([5], "is int, not str"),
    ],
)
@BOTH
def test_token_that_collides_raises_special_token_error(old: Tokenizer, tokens: Any, message: str) -> None:
    n = old.n_vocab
    with pytest.raises(SpecialTokenError, match=message):
        old.with_tokens(tokens)
    assert old.n_vocab == n


def test_ordinary_token_of_the_text_is_named_with_the_way_out() -> None:
    old = byte_level()
    ab = old.token_to_id("ab")
    said = rf"^token 'ab' is already in the vocabulary, as the ordinary token {ab}: leave it out"
    with pytest.raises(
        SpecialTokenError, match=said + r", or pass its id, to find it whole within any text: \{'ab': 256\}$"
    ):
        old.with_tokens(["<new>", "ab"])
    assert old.with_tokens({"ab": ab}).encode("xabx") == [120, ab, 120]  # the way out
    with pytest.raises(SpecialTokenError, match=r"^special token 'ab' is also the ordinary token"):
        old.with_special_tokens(["ab"])
    piece = code_points().token_to_id("ab")
    with pytest.raises(
        SpecialTokenError,
        match=rf"^token 'ab' is already in the vocabulary, as the ordinary token {piece}: leave it out$",
    ):
        code_points().with_tokens(["ab"])


@BOTH
def test_added_token_never_changes_its_id_or_flags(old: Tokenizer) -> None:
    new = old.with_tokens(["<x>"])
    with pytest.raises(SpecialTokenError, match=r"'<x>' already has the id \d+"):
        new.with_tokens({"<x>": 1000})
    with pytest.raises(SpecialTokenError, match=r"'<x>' is already an added token"):
        new.with_special_tokens(["<x>"])
    if old.mode == "byte":
        with pytest.raises(SpecialTokenError, match="other flags"):
            new.with_tokens([AddedToken("<x>", lstrip=True)])


def test_sentencepiece_model_refuses_flags() -> None:
    for tokens in ([AddedToken("<x>", lstrip=True)], [AddedToken("<x>", normalized=True)]):
        with pytest.raises(SpecialTokenError, match=r"flag .*, which a sentencepiece model cannot store"):
            code_points().with_tokens(tokens)


@pytest.mark.parametrize("tokens", ["<x>", None, 5, {"<x>"}, AddedToken("<x>"), [AddedToken("<x>", lstrip=1)]])
@BOTH
def test_tokens_of_wrong_type_raise_type_error(old: Tokenizer, tokens: Any) -> None:
    with pytest.raises(TypeError, match="must be"):
        old.with_tokens(tokens)


@pytest.mark.parametrize(
    "arguments",
    [
        {"reserved": -1},
        {"reserved": 1 << 30},
        {"pad_to_multiple_of": 0},
        {"pad_to_multiple_of": 1 << 40},
        {"reserved": 1, "reserved_name": "<r>"},
        {"reserved": 1, "reserved_name": "{}{}"},
    ],
)
@BOTH
def test_impossible_reservation_raises_value_error(old: Tokenizer, arguments: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(reversed(arguments))):
        old.with_special_tokens([], **arguments)


@pytest.mark.parametrize("arguments", [{"reserved": "1"}, {"pad_to_multiple_of": 1.5}, {"reserved_name": 5}])
def test_reservation_of_wrong_type_raises_type_error(arguments: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=next(iter(arguments))):
        byte_level().with_special_tokens([], **arguments)


def test_long_added_tokens_of_one_letter_are_compared_in_seconds() -> None:
    old = byte_level()
    texts = ["a" * 6000 + "b", "a" * 5999 + "c"]
    start = time.process_time()
    new = old.with_tokens([AddedToken(texts[0], normalized=True), AddedToken(texts[1])])
    assert new.encode("".join(texts)) == [old.n_vocab, old.n_vocab + 1]
    assert time.process_time() - start < 5


def test_long_ordinary_token_that_is_also_added_is_spelled_out_in_seconds() -> None:
    text = "xy" * 4000
    old = Tokenizer.from_ranks(BYTES | {b"xy": 256, text.encode(): 257}, pattern=None)
    new = old.with_tokens({text: 257})
    start = time.process_time()
    assert new.encode_parts([(text, True), (text, False)]) == [257] + [256] * 4000
    assert time.process_time() - start < 5
