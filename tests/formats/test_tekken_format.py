"""tekken.json, with mistral-common as the judge."""

from __future__ import annotations

import base64
import json
import random
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import PATTERNS, FormatError, Tokenizer
from fastbpe.formats import tekken
from helpers.bounds import within
from helpers.sampling import rounds
from helpers.shared_data import BYTES, corpus, data_file, random_texts

TEXTS = ["Hello, wörld! 你好 12345\n\n  code()", "<s>[INST] no </s>", "", "🌍 é I'm DON'T", " \t\n x\r\n"]


def document(**changes: Any) -> dict[str, Any]:
    """Return a small file; changes are dotted by two underscores, as in config__pattern."""
    tokens = [*BYTES, b"ab", b"abc", b" a"]
    made: dict[str, Any] = {
        "config": {
            "pattern": r"\w+| \w+|\W",
            "num_vocab_tokens": len(tokens),
            "default_vocab_size": len(tokens) + 3,
            "default_num_special_tokens": 4,
            "version": "v11",
        },
        "vocab": [
            {"rank": i, "token_bytes": base64.b64encode(token).decode(), "token_str": None}
            for i, token in enumerate(tokens)
        ],
        "special_tokens": [
            {"rank": i, "token_str": name, "is_control": True} for i, name in enumerate(["<unk>", "<s>", "</s>"])
        ],
    }
    for path, value in changes.items():
        outer, _, inner = path.partition("__")
        if inner:
            made[outer][inner] = value
        else:
            made[outer] = value
    return made


def dumped(made: Any) -> bytes:
    return json.dumps(made).encode()


def peer(path: Path) -> Any:
    pytest.importorskip("mistral_common")
    from mistral_common.tokens.tokenizers.tekken import Tekkenizer

    return Tekkenizer.from_file(path)


def test_file_is_read_with_special_tokens_before_the_ordinary_ones() -> None:
    tokenizer = fastbpe.load(dumped(document()))
    assert tokenizer.special_tokens == {"<unk>": 0, "<s>": 1, "</s>": 2, "<SPECIAL_3>": 3}
    assert tokenizer.n_vocab == 4 + 258  # default_vocab_size leaves out the last token
    assert tokenizer.encode("abc a") == [4 + 257, 4 + 32, 4 + 97]
    assert tokenizer.encode("<s>ab", allowed_special="all") == [1, 4 + 256]
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id) == (1, 2, 0)
    assert tokenizer.encode_with_template("ab") == [1, 260]
    assert tokenizer.pattern == r"\w+| \w+|\W"


def test_settings_may_stand_behind_the_tokens() -> None:
    made = document()
    made = {key: made[key] for key in ("vocab", "special_tokens", "config")}
    assert fastbpe.load(dumped(made)) == fastbpe.load(dumped(document()))


def test_special_tokens_of_the_caller_take_the_place_of_those_in_the_file() -> None:
    assert fastbpe.load(dumped(document()), special_tokens={"<x>": 3}).special_tokens == {"<x>": 3}
    with pytest.raises(FormatError, match="contains its own split pattern"):
        fastbpe.load(dumped(document()), pattern="gpt2")


def test_tokens_named_like_settings_of_tekken_are_read_from_a_tokenizer_json(tmp_path: Path) -> None:
    ranks = {**BYTES, b"num_vocab_tokens": 256, b"pattern": 257}
    tokenizer = Tokenizer.from_ranks(ranks, pattern="gpt2")
    tokenizer.export(tmp_path / "tokenizer.json")
    assert fastbpe.load(tmp_path / "tokenizer.json") == tokenizer


def test_written_file_is_read_back_equal_and_by_mistral_common(tmp_path: Path) -> None:
    tokenizer = fastbpe.load(dumped(document()))
    path = tmp_path / "tekken.json"
    verification = tokenizer.export(path, format="tekken")
    assert verification is not None
    assert fastbpe.load(path) == tokenizer
    assert fastbpe.load(tmp_path) == tokenizer  # found in a folder
    other = peer(path)
    assert other.n_words == tokenizer.n_vocab
    for text in TEXTS:
        assert other.encode(text, bos=True, eos=True) == [1, *tokenizer.encode_ordinary(text), 2]
    assert [other.id_to_byte_piece(i) for i in range(4, other.n_words)] == tokenizer.vocab[4:]


@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
@pytest.mark.parametrize("seed", rounds(4, 100))
def test_random_vocabularies_have_the_ids_of_mistral_common(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    texts = random_texts(rng)
    pattern = rng.choice([r"\w+|\W", PATTERNS["tekken"], r"[\s\S]"])
    learned = fastbpe.train(iter(texts), vocab_size=256 + rng.randint(0, 30), pattern=pattern, progress=False)
    names = ["<unk>", "<s>", "</s>", "[INST]", "é"][: rng.randint(0, 5)]
    shift = len(names)
    ranks = {token: shift + i for i, token in enumerate(learned.vocab)}
    tokenizer = Tokenizer.from_ranks(
        ranks, pattern=pattern, special_tokens={name: i for i, name in enumerate(names)}
    )
    path = tmp_path / "tekken.json"
    tokenizer.export(path, format="tekken")
    assert fastbpe.load(path) == tokenizer
    other = peer(path)
    for text in [*texts, *TEXTS, " ".join(random_texts(rng))]:
        assert other.encode(text, bos=False, eos=False) == tokenizer.encode_ordinary(text)


@pytest.mark.skipif(find_spec("mistral_common") is None, reason="mistral-common is not installed")
@pytest.mark.parametrize("name", ["tekken_240718.json", "tekken_240911.json"])
def test_published_file_has_the_ids_of_mistral_common(name: str) -> None:
    import mistral_common

    path = Path(mistral_common.__file__).parent / "data" / name
    tokenizer, other = fastbpe.load(path), peer(path)
    assert tokenizer.n_vocab == other.n_words == 131_072
    assert tokenizer.pattern == PATTERNS["tekken"]
    assert [tokenizer.bos_token_id, tokenizer.eos_token_id] == [other.bos_id, other.eos_id]
    for text in [*TEXTS, corpus("multilingual.txt", 50_000), corpus("english.txt", 50_000)]:
        assert tokenizer.encode_ordinary(text) == other.encode(text, bos=False, eos=False)


@pytest.mark.skipif(find_spec("mistral_common") is None, reason="mistral-common is not installed")
def test_published_file_equals_its_conversion_to_tiktoken_lines() -> None:
    import mistral_common

    path = Path(mistral_common.__file__).parent / "data" / "tekken_240911.json"
    converted = fastbpe.load(data_file("vocab", "mistral_tekken_v3.tiktoken"))
    loaded = fastbpe.load(path)
    assert loaded.vocab[1000:] == converted.vocab[1000:]
    assert [*loaded.special_tokens.values()] == [*range(1000)]


DAMAGE: dict[str, tuple[Any, str]] = {
    "bad pattern": ({"config__pattern": "("}, "the group is not closed"),
    "size": ({"config__default_vocab_size": "12"}, r"config\.default_vocab_size: expected a number .*'12'"),
    "true": ({"config__default_num_special_tokens": True}, "default_num_special_tokens: expected a number"),
    "negative": ({"config__default_num_special_tokens": -1}, "expected a number of tokens, found -1"),
    "too many special": ({"config__default_num_special_tokens": 10**12}, "special tokens: the limit is"),
    "few special": ({"config__default_num_special_tokens": 2}, "3 special tokens, but config"),
    "more than listed": ({"config__default_vocab_size": 10**9}, "is 999999996, but vocab lists only 259;"),
    "too few": ({"config__default_vocab_size": 200}, "special tokens, is 196, but it must be at least 256;"),
    "no list": ({"special_tokens": None}, "files of version 'v11' must list them"),
    "object": ({"special_tokens": {}}, "special_tokens: expected a list, found dict"),
    "rank": ({"special_tokens": [{"rank": 1, "token_str": "<s>"}]}, r"special_tokens\[0\]: expected a token_str"),
    "no text": ({"special_tokens": [{"rank": 0}]}, r"special_tokens\[0\]: expected a token_str"),
    "twice": ({"special_tokens": [{"rank": i, "token_str": "<s>"} for i in range(2)]}, "'<s>' appears twice"),
    "filler": ({"special_tokens": [{"rank": 0, "token_str": "<SPECIAL_3>"}]}, "'<SPECIAL_3>' appears twice"),
    "vocab": ({"vocab": {}}, "vocab: expected a list of tokens, found dict"),
    "entry": ({"vocab": [5] * 300}, r"vocab\[0\]: expected token_bytes and the rank 0, found 5"),
}  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_file_raises_format_error_with_the_place(kind: str) -> None:
    changes, message = DAMAGE[kind]
    with pytest.raises(FormatError, match=message):
        fastbpe.load(dumped(document(**changes)))


@pytest.mark.parametrize(
    ("at", "entry", "message"),
    [
        (257, {"rank": 256, "token_bytes": "YWI="}, r"vocab\[257\]: expected token_bytes and the rank 257"),
        (257, {"rank": 257, "token_bytes": "YWI=", "x": 1}, r"vocab\[257\]: b'ab' already has the rank 256"),
        (257, {"rank": 257, "token_bytes": "Y_I="}, r"vocab\[257\]: 'Y_I=' is not base64"),
        (257, {"rank": 257, "token_bytes": "é"}, r"vocab\[257\]: 'é' is not base64"),
        (257, {"rank": 257, "token_bytes": ""}, r"vocab\[257\]: expected a token, found b''"),
        (257, {"rank": 257.0, "token_bytes": "YWI="}, r"vocab\[257\]: expected token_bytes"),
        (65, {"rank": 65, "token_bytes": "YQ=="}, r"vocab\[65\]: expected the byte 65, found b'a'"),
    ],
)
def test_damaged_token_raises_format_error_with_its_rank(at: int, entry: dict[str, Any], message: str) -> None:
    made = document()
    made["vocab"][at] = entry
    with pytest.raises(FormatError, match=message):
        fastbpe.load(dumped(made))


def test_settings_of_wrong_type_raise_format_error() -> None:
    with pytest.raises(FormatError, match=r"x: config\.pattern: expected a regex, found 5"):
        tekken.parse(dumped(document(config__pattern=5)), "x")
    with pytest.raises(FormatError, match="x: config: expected an object"):
        tekken.parse(dumped(document(config=["a"])), "x")
    with pytest.raises(FormatError, match="x: not JSON"):
        tekken.parse(b"[" * 100_000, "x")


def test_truncated_file_raises_format_error() -> None:
    data = dumped(document())
    for end in range(40, len(data), 97):
        with pytest.raises(FormatError):
            fastbpe.load(data[:end])


@pytest.mark.parametrize(
    ("special", "pattern", "message"),
    [
        ({"<s>": 300}, r"\w+|\W", "the special tokens have the first ids"),
        ({}, None, "one regex as its split pattern"),
        ({}, ["gpt2", r"\d"], "one regex as its split pattern"),
    ],
)
def test_vocabulary_that_the_format_cannot_hold_is_refused(
    special: dict[str, int], pattern: Any, message: str, tmp_path: Path
) -> None:
    tokenizer = Tokenizer.from_ranks(BYTES, pattern=pattern, special_tokens=special)
    with pytest.raises(FormatError, match=message):
        tokenizer.export(tmp_path / "x", format="tekken")
    assert not (tmp_path / "x").exists()


def test_merges_that_ranks_cannot_say_are_refused(tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_merges([(97, 98), (98, 99), (256, 99), (97, 257)], pattern="gpt2")
    with pytest.raises(FormatError, match=r"a tekken\.json can store a token only once"):
        tokenizer.export(tmp_path / "x", format="tekken")


def test_repeated_special_token_is_found_in_linear_time() -> None:
    """The last of the names for the ids that the file does not list is also the first listed name."""
    n = 1 << 17
    changes = {"config__default_num_special_tokens": n, "config__default_vocab_size": n + 256}
    listed = [{"rank": 0, "token_str": f"<SPECIAL_{n - 1}>", "is_control": True}]
    with within(5), pytest.raises(FormatError, match=f"'<SPECIAL_{n - 1}>' appears twice"):  # takes a tenth of it
        fastbpe.load(dumped(document(**changes, special_tokens=listed)))
