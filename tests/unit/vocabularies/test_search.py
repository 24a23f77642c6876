"""search_tokens: each condition, order, counts, and bad arguments."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest

import fastbpe
from fastbpe import Tokenizer
from fastbpe.model import PieceType
from fastbpe.vocabularies.search import Found, search_tokens
from helpers.codepoint_models import model_of
from helpers.sampling import SEED
from helpers.shared_data import BYTES

TEXT = "low lower lowest naïve 東京 東 12 345 \n\n if x: слово"


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return fastbpe.train([TEXT] * 9, vocab_size=290, pattern="gpt2", special_tokens=["<end>"], progress=False)


def ids_of(found: list[Found]) -> list[int]:
    return [each.id for each in found]


def test_search_without_conditions_lists_every_token(tokenizer: Tokenizer) -> None:
    found = search_tokens(tokenizer)
    assert ids_of(found) == [*range(tokenizer.n_vocab)]
    assert [each.token for each in found] == tokenizer.decode_tokens_bytes(range(290))
    assert found[289] == Found(289, b"<end>", "name", "names")


def test_search_finds_exactly_the_tokens_that_meet_the_conditions(tokenizer: Tokenizer) -> None:
    vocab = [each.token for each in search_tokens(tokenizer)]
    rng = random.Random(SEED)
    for _ in range(30):
        text, low, start = rng.choice(["lo", "w", " ", "東", "ï"]), rng.randint(1, 4), rng.randint(0, 280)
        found = search_tokens(tokenizer, text=text, length=range(low, 6), ids=[range(start), range(280, 290)])
        assert ids_of(found) == [
            i
            for i, token in enumerate(vocab)
            if text.encode() in token and low <= len(token) < 6 and (i < start or i >= 280)
        ]


def test_regex_searches_characters_and_not_escapes(tokenizer: Tokenizer) -> None:
    found = search_tokens(tokenizer, regex=r"^ ?\w{2,}$")
    assert all(re.fullmatch(r" ?\w{2,}", each.token.decode()) for each in found)
    assert {b" low", b"low", "東".encode()} & {each.token for each in found} == {b" low", b"low"}
    assert not search_tokens(tokenizer, regex=r"x[0-9a-f]{2}")  # escapes of bytes are not searched
    assert ids_of(search_tokens(tokenizer, regex="^[\udc80-\udcff]$")) == [*range(0x80, 0x100)]


def test_surrogate_escapes_in_a_search_text_stand_for_bytes(tokenizer: Tokenizer) -> None:
    found = search_tokens(tokenizer, text="\udce6")
    assert {0xE6} <= set(ids_of(found))
    assert all(b"\xe6" in each.token for each in found)


@pytest.mark.parametrize(
    "script", ["Han", "han", "cyrillic", "digits", "white space", "names", "part of a character"]
)
def test_script_name_may_have_any_case(script: str, tokenizer: Tokenizer) -> None:
    found = search_tokens(tokenizer, script=script)
    assert found
    assert {each.script.casefold() for each in found} == {script.casefold()}


def test_unknown_script_error_lists_the_known_scripts(tokenizer: Tokenizer) -> None:
    with pytest.raises(
        ValueError, match=r"no token has the script 'klingon'; the scripts of the vocabulary are .*Cyrillic.*Han"
    ):
        search_tokens(tokenizer, script="klingon")


def test_orders_sort_by_length_or_count(tokenizer: Tokenizer) -> None:
    longest = search_tokens(tokenizer, order="longest")
    assert longest == sorted(search_tokens(tokenizer), key=lambda each: (-len(each.token), each.id))
    rarest = search_tokens(tokenizer, corpus=[TEXT, "low"], order="rarest", progress=False)
    counts = Counter(tokenizer.encode_ordinary(TEXT) + tokenizer.encode_ordinary("low"))
    assert [each.count for each in rarest] == sorted(counts[i] for i in range(tokenizer.n_vocab))
    assert {each.id: each.count for each in rarest if each.count} == counts


def test_code_point_pieces_have_their_kind() -> None:
    pieces = [
        (b"<unk>", 0.0, PieceType.UNKNOWN),
        (b"<s>", 0.0, PieceType.CONTROL),
        *((b"<0x%02X>" % byte, 0.0, PieceType.BYTE) for byte in range(256)),
        ("\u2581ab".encode(), -1.0, PieceType.NORMAL),
        (b"b", -2.0, PieceType.UNUSED),
    ]
    found = search_tokens(fastbpe.load(model_of(pieces, {"byte_fallback": True})))
    assert [each.kind for each in found] == ["unknown", "name", *["byte"] * 256, "text", "unused"]
    assert found[258].to_dict() == {"id": 258, "text": " ab", "n_bytes": 3, "kind": "text", "script": "Latin"}


def test_ids_without_a_token_are_left_out() -> None:
    tokenizer = Tokenizer.from_ranks(BYTES, pattern=None, special_tokens={"<x>": 300})
    assert ids_of(search_tokens(tokenizer, ids=[range(250, 400)])) == [250, 251, 252, 253, 254, 255, 300]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"regex": "("}, r"regex '\(': "),
        ({"regex": "a{99999999999}"}, "the repetition number is too large"),
        ({"regex": "(" * 9_999 + ")" * 9_999}, r"^regex .{60}: "),
        ({"order": "shortest"}, "order='shortest': choose"),
        ({"order": "rarest"}, "order='rarest' counts the tokens in a corpus"),
    ],
)
def test_bad_conditions_raise_value_error(options: dict[str, str], message: str, tokenizer: Tokenizer) -> None:
    with pytest.raises(ValueError, match=message):
        search_tokens(tokenizer, **options)  # type: ignore[arg-type]


def test_other_objects_raise_type_error() -> None:
    with pytest.raises(TypeError, match=r"tokenizer must be a Tokenizer, not int"):
        search_tokens(5)  # type: ignore[arg-type]
