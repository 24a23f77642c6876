"""minbpe's `.model` and `.vocab` files, compared with a reader and writer made from its description."""

import unicodedata
from pathlib import Path

import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

import fastbpe
from fastbpe import FormatError, Tokenizer
from fastbpe.formats import minbpe
from helpers.shared_data import data_file
from reference import merge_pairs

MERGES = [(97, 98), (256, 256), (256, 99)]
MODEL = b"minbpe v1\n[a-z]+|\\d\n2\n<|end|> 300\n<s> 259\n97 98\n256 256\n256 99\n"


def written(pattern: str, special: dict[str, int], merges: list[tuple[int, int]]) -> str:
    """Write a `.model` file, line by line."""
    out = "minbpe v1\n"
    out += f"{pattern}\n"
    out += f"{len(special)}\n"
    for name, token_id in special.items():
        out += f"{name} {token_id}\n"
    for left, right in merges:
        out += f"{left} {right}\n"
    return out


def read(text: str) -> tuple[str, dict[str, int], dict[tuple[int, int], int]]:
    """Return pattern, special tokens and merges of a `.model` file."""
    lines = iter(text.splitlines(keepends=True))
    assert next(lines).strip() == "minbpe v1"
    pattern = next(lines).strip()
    special = {}
    for _ in range(int(next(lines).strip())):
        name, token_id = next(lines).strip().split()
        special[name] = int(token_id)
    merges = {}
    for merged, line in enumerate(lines, 256):
        left, right = map(int, line.split())
        merges[left, right] = merged
    return pattern, special, merges


def test_model_file_is_parsed() -> None:
    model = minbpe.parse(MODEL, "x.model")
    assert model.pattern == r"[a-z]+|\d"
    assert model.special_tokens == {"<|end|>": 300, "<s>": 259}
    assert model.merge_list() == [(97, 98, 256), (256, 256, 257), (256, 99, 258)]
    assert model.tokens is not None
    assert model.tokens[256:] == [b"ab", b"abab", b"abc"]


def test_ids_follow_the_order_of_merges() -> None:
    tokenizer = fastbpe.load(MODEL)
    merges = {(left, right): (i, 256 + i) for i, (left, right) in enumerate(MERGES)}
    for text in ("abababcabab", "zababc", "a", ""):
        assert tokenizer.encode(text) == merge_pairs(merges, text.encode())
    assert tokenizer.encode("ab<s>", allowed_special="all") == [256, 259]


def test_exported_file_equals_the_original_to_the_byte(tmp_path: Path) -> None:
    path = tmp_path / "out.model"
    fastbpe.load(MODEL).export(path, format="minbpe")
    special = {"<s>": 259, "<|end|>": 300}  # ordered by id
    assert path.read_text() == written(r"[a-z]+|\d", special, MERGES)
    assert read(path.read_text())[2] == {pair: 256 + i for i, pair in enumerate(MERGES)}
    assert fastbpe.load(path) == fastbpe.load(MODEL)


def test_trained_tokenizer_round_trips(tmp_path: Path) -> None:
    text = data_file("corpus", "taylorswift.txt").read_text()
    tokenizer = fastbpe.train([text], vocab_size=700, pattern=r"\w+|\W", ties="first", progress=False)
    tokenizer.export(tmp_path / "a.model", format="minbpe")
    again = fastbpe.load(tmp_path / "a.model")
    assert again == tokenizer
    assert again.merges == tokenizer.merges
    assert (tmp_path / "a.model").read_text() == written(r"\w+|\W", {}, tokenizer.merges)
    pattern, special, merges = read((tmp_path / "a.model").read_text())
    assert (pattern, special, list(merges)) == (r"\w+|\W", {}, tokenizer.merges)
    listed = {pair: (merged, merged) for pair, merged in merges.items()}
    pieces = [piece.encode() for piece in regex.findall(pattern, text[:20_000])]
    assert again.encode(text[:20_000]) == [i for piece in pieces for i in merge_pairs(listed, piece)]


@pytest.mark.daily
@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\r\n\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")),
    st.dictionaries(
        st.from_regex(r"[^\s]{1,8}", fullmatch=True).filter(lambda name: name.isprintable()), st.integers(300, 400)
    ),
    st.lists(st.tuples(st.integers(0, 255), st.integers(0, 255)), unique=True, max_size=20),
)
@settings(max_examples=100)
def test_written_text_equals_minbpe(pattern: str, special: dict[str, int], merges: list[tuple[int, int]]) -> None:
    text = minbpe.model_text(pattern, special, merges)
    assert text == written(pattern, special, merges)
    model = minbpe.parse(text.encode(), "x")
    assert (model.pattern or "", model.special_tokens) == (pattern.strip(), special)
    assert [(left, right) for left, right, _ in model.merge_list() or []] == merges


def test_vocab_file_shows_tokens_and_their_parts() -> None:
    vocab = {i: bytes([i]) for i in range(256)} | {256: b"\xe6\x97", 257: b"\xe6\x97\xa5", 258: b"<|end|>"}
    merges = {(0xE6, 0x97): 256, (256, 0xA5): 257}
    lines = minbpe.vocab_text(vocab, merges).split("\n")
    assert lines[10] == r"[\u000a] 10"
    assert lines[0x7F] == r"[\u007f] 127"
    assert lines[97] == "[a] 97"
    assert lines[256:] == ["[\ufffd][\ufffd] -> [\ufffd] 256", "[\ufffd][\ufffd] -> [日] 257", "[<|end|>] 258", ""]
    assert minbpe.shown("\U000e0001\u200b".encode()) == r"\ue0001\u200b"
    assert unicodedata.category("\u200b") == "Cf"


BAD = [
    (b"", "truncated: it ends after line 0"),
    (b"minbpe v1\nx\n", "truncated: it ends after line 2"),
    (b"minbpe v2\n\n0\n", "x.model:1: expected 'minbpe v1'"),
    (b"minbpe v1\n\nnone\n", "x.model:3: expected the number of special tokens, found 'none'"),
    (b"minbpe v1\n\n-1\n", "x.model:3: expected the number"),
    (b"minbpe v1\n\n99999999999\n", "x.model:3: expected the number"),
    (b"minbpe v1\n\n2\n<s> 300\n", "truncated: it ends after line 4, among its 2 special tokens"),
    (b"minbpe v1\n\n1\n<s>\n", "x.model:4: expected a special token and its id"),
    (b"minbpe v1\n\n1\na b 300\n", "x.model:4: expected a special token and its id"),
    (b"minbpe v1\n\n2\n<s> 300\n<s> 301\n", "x.model:5: special token '<s>' appears twice"),
    (b"minbpe v1\n\n0\n97 98\n97\n", "x.model:5: expected two ids, found '97'"),
    (b"minbpe v1\n\n0\n97 98 99\n", "x.model:4: expected two ids"),
    (b"minbpe v1\n\n0\n-97 98\n", "x.model:4: expected two ids"),
    (b"minbpe v1\n\n0\n97 98\n97 257\n", "x.model:5: no earlier merge creates id 257; this merge creates id 257"),
    (b"minbpe v1\n\n0\n97 98\n97 98\n", "x.model:5: the pair 97 98 is already on line 4"),
    (b"minbpe v1\n\xff\n0\n", "not UTF-8: invalid byte 0xff at offset 10"),
    (
        b"minbpe v1\n\n0\n" + b"".join(b"%d %d\n" % (i, i) for i in [97, *range(256, 300)]),
        "more than 268435456 bytes",
    ),
]


@pytest.mark.parametrize(("data", "message"), BAD, ids=[message[:40] for _, message in BAD])
def test_damage_is_named_with_its_line(data: bytes, message: str) -> None:
    with pytest.raises(FormatError) as error:
        minbpe.parse(data, "x.model")
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"minbpe v1\n\n1\n<s> 256\n97 98\n", "which another token"),
        (b"minbpe v1\n(\n0\n97 98\n", "x.model: "),
    ],
)
def test_unusable_contents_raise_format_error_with_the_path(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "x.model"
    path.write_bytes(data)
    with pytest.raises(FormatError, match=message):
        fastbpe.load(path)


def test_line_ends_do_not_matter_and_pattern_is_refused() -> None:
    assert fastbpe.load(MODEL.replace(b"\n", b"\r\n")) == fastbpe.load(MODEL)
    assert fastbpe.load(MODEL, special_tokens={"<t>": 500}).special_tokens == {"<t>": 500}
    with pytest.raises(FormatError, match="contains its own split pattern"):
        fastbpe.load(MODEL, pattern="gpt2")


RANKS = {bytes([byte]): byte for byte in range(256)}
LOSSES = [
    (
        Tokenizer.from_ranks({bytes([255 - i]): i for i in range(256)}, pattern=None),
        "ids 0 to 255 must be the bytes",
    ),
    (
        Tokenizer.from_ranks({**RANKS, b"ab": 257}, pattern=None),
        "the id 256, but in this vocabulary it makes the id 257",
    ),
    (
        Tokenizer.from_ranks({**RANKS, b"abc": 256}, pattern=None),
        "no merge produces 1 of this tokenizer's tokens, b'abc' (256)",
    ),
    (Tokenizer.from_ranks(RANKS, pattern=["a", "b"]), "it cannot store ('a', 'b')"),
    (Tokenizer.from_ranks(RANKS, pattern="a\n+"), "it cannot store 'a\\n+'"),
    (Tokenizer.from_ranks(RANKS, pattern="a\r+"), "it cannot store 'a\\r+'"),  # minbpe ends lines there, too
    (Tokenizer.from_ranks(RANKS, pattern=" a| "), "it cannot store ' a| '"),
    (
        Tokenizer.from_ranks(RANKS, pattern=None, special_tokens={"a b": 300}),
        "special token 'a b' is empty or contains white space",
    ),
]


@pytest.mark.parametrize(("tokenizer", "message"), LOSSES, ids=[message for _, message in LOSSES])
def test_export_error_names_the_loss(tokenizer: Tokenizer, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError) as error:
        tokenizer.export(tmp_path / "x.model", format="minbpe")
    assert message in str(error.value)
    assert not list(tmp_path.iterdir())


def test_merge_list_without_ranks_keeps_its_order(tmp_path: Path) -> None:
    """ "abc" is made in two ways here: ranks would merge both."""
    merges = [(98, 99), (97, 256), (97, 98), (258, 99)]
    tokenizer = Tokenizer.from_merges(merges, pattern=None)
    tokenizer.export(tmp_path / "x.model", format="minbpe")
    again = fastbpe.load(tmp_path / "x.model")
    assert again == tokenizer
    assert again.merges == merges
