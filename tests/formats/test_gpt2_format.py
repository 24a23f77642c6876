"""GPT-2's two files, read and written, compared with the readers of tokenizers and tiktoken."""

import json
import random
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
import tiktoken
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st
from tiktoken.load import data_gym_to_mergeable_bpe_ranks
from tokenizers.models import BPE
from tokenizers.pre_tokenizers import ByteLevel, Sequence, Split

import fastbpe
import fastbpe.tokenizer.families.ranked_merges
from fastbpe import FormatError, SpecialTokenError, Tokenizer
from fastbpe.formats import _gpt2, gpt2
from fastbpe.formats.byte_level import bytes_of, text_of
from fastbpe.model import Model, pack_merges
from helpers.sampling import n_rounds
from helpers.shared_data import corpus, data_file, published, published_peer, ranks_of

ALPHABET = {text_of(bytes([byte])): byte for byte in range(256)}
MERGES = "#version: 0.2\na b\nab c\nĠ ab\n"
VOCAB: dict[str, int] = {**ALPHABET, "ab": 256, "abc": 257, "Ġab": 258, "<|endoftext|>": 259}


def write_pair(folder: Path, vocab: Mapping[str, int] | str, merges: str) -> Path:
    folder.mkdir(exist_ok=True)
    text = vocab if isinstance(vocab, str) else json.dumps(vocab)
    (folder / "vocab.json").write_bytes(text.encode())
    (folder / "merges.txt").write_bytes(merges.encode())
    return folder


def peer_of(folder: Path, pattern: str, names: tuple[str, str] = gpt2.NAMES) -> tokenizers.Tokenizer:
    """Return a tokenizers peer that reads the two files of a folder.

    Oniguruma has no {n,m}+ and takes $ as the end of a line; greedy repetitions are enough here.
    """
    for possessive, greedy in (("?+", "?"), ("++", "+"), ("*+", "*"), ("3}+", "3}"), ("$", r"\z")):
        pattern = pattern.replace(possessive, greedy)
    tokenizer = tokenizers.Tokenizer(BPE.from_file(*(str(folder / name) for name in names)))
    tokenizer.pre_tokenizer = Sequence(
        [Split(tokenizers.Regex(pattern), "isolated"), ByteLevel(add_prefix_space=False, use_regex=False)]
    )
    return tokenizer


def test_byte_characters_equal_tokenizers() -> None:
    assert set(ALPHABET) == set(ByteLevel.alphabet())
    tokenizer = ByteLevel(add_prefix_space=False, use_regex=False)
    for byte in range(128):
        assert tokenizer.pre_tokenize_str(chr(byte))[0][0] == text_of(bytes([byte]))
    for character in "\xa0\xad\xffĀ\u07ff日\U0010ffff":
        assert tokenizer.pre_tokenize_str(character)[0][0] == text_of(character.encode())


@pytest.mark.daily
@pytest.mark.parametrize("given_file", ["gpt2_encoder.json", "gpt2_vocab.bpe"])
def test_published_gpt2_files_load(given_file: str) -> None:
    path = data_file("vocab", given_file)
    tokenizer = fastbpe.load(path)
    assert tokenizer == published("r50k_base")
    assert tokenizer.special_tokens == {"<|endoftext|>": 50256}
    assert (tokenizer.pattern, tokenizer.name) == (fastbpe.PATTERNS["gpt2"], "gpt2")
    ranks = data_gym_to_mergeable_bpe_ranks(
        str(path.parent / "gpt2_vocab.bpe"), str(path.parent / "gpt2_encoder.json")
    )
    assert ranks_of(tokenizer) == ranks
    text = corpus("multilingual.txt", 500_000)
    assert tokenizer.encode_ordinary(text) == published_peer("r50k_base").encode_ordinary(text)


@pytest.mark.daily
@pytest.mark.parametrize("given_file", ["qwen2_vocab.json", "qwen2_merges.txt"])
def test_published_qwen2_files_load(given_file: str) -> None:
    path = data_file("vocab", given_file)
    special = {"<|endoftext|>": 151643, "<|im_start|>": 151644}
    tokenizer = fastbpe.load(path, special_tokens=special)
    assert tokenizer == published("qwen2")
    peer = peer_of(path.parent, published_peer("qwen2")._pat_str, ("qwen2_vocab.json", "qwen2_merges.txt"))
    for line in corpus("emoji_mixed.txt", 100_000).splitlines(keepends=True):
        assert tokenizer.encode_ordinary(line) == peer.encode(line).ids


@pytest.mark.daily
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["r50k_base", "cl100k_base", "o200k_base", "qwen2"])
def test_written_files_equal_tokenizers(name: str, tmp_path: Path) -> None:
    tokenizer = published(name)
    tokenizer.export(tmp_path / "ours", format="gpt2")
    peer = peer_of(tmp_path / "ours", published_peer(name)._pat_str)
    text = corpus("emoji_mixed.txt", 300_000) + corpus("english.txt", 100_000)
    assert peer.encode(text).ids == tokenizer.encode_ordinary(text)
    for special, token_id in tokenizer.special_tokens.items():
        assert peer.token_to_id(special) == token_id
    (tmp_path / "theirs").mkdir()
    peer.model.save(str(tmp_path / "theirs"))
    for file in gpt2.NAMES:
        assert (tmp_path / "ours" / file).read_bytes() == (tmp_path / "theirs" / file).read_bytes()
    again = fastbpe.load(tmp_path / "ours", pattern=tokenizer.pattern)
    assert again == tokenizer
    assert again.special_tokens == tokenizer.special_tokens


def test_trained_tokenizer_round_trips(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    code_tokenizer.export(tmp_path, format="gpt2")
    again = fastbpe.load(tmp_path, pattern="cl100k")
    assert again == code_tokenizer
    assert again.merges == code_tokenizer.merges
    pattern = code_tokenizer.pattern
    assert isinstance(pattern, str)
    text = Path(__file__).read_text(encoding="utf-8")
    assert peer_of(tmp_path, pattern).encode(text).ids == code_tokenizer.encode_ordinary(text)


def test_files_load_by_every_path_and_name(tmp_path: Path) -> None:
    folder = write_pair(tmp_path / "a", VOCAB, MERGES)
    expected = fastbpe.load(folder, pattern="gpt2")
    assert expected.special_tokens == {"<|endoftext|>": 259}
    assert expected.encode("abc abab<|endoftext|>", allowed_special="all") == [257, 258, 256, 259]
    for path in (folder / "vocab.json", str(folder / "merges.txt")):
        assert fastbpe.load(path, pattern="gpt2") == expected
    for prefix, names in (
        ("", ("encoder.json", "vocab.bpe")),
        ("small-", gpt2.NAMES),
        ("x.", ("encoder.json", "vocab.bpe")),
    ):
        other = tmp_path / f"b{prefix}{names[0]}"
        other.mkdir()
        for old, new in zip(gpt2.NAMES, names, strict=True):
            (other / f"{prefix}{new}").write_bytes((folder / old).read_bytes())
        for name in names:
            assert fastbpe.load(other / f"{prefix}{name}", pattern="gpt2") == expected
    with pytest.raises(FormatError, match=r"does not store its split pattern.* pattern=\.\.\."):
        fastbpe.load(folder)
    with pytest.raises(FormatError, match="this is one of two files"):
        fastbpe.load((folder / "vocab.json").read_bytes(), pattern="gpt2")
    (folder / "merges.txt").rename(folder / "mine.txt")
    with pytest.raises(FormatError, match=r"merges\.txt is missing"):
        fastbpe.load(folder / "vocab.json", pattern="gpt2")
    with pytest.raises(FormatError, match="a file with the ids is missing"):
        fastbpe.load(folder / "mine.txt", pattern="gpt2")


@pytest.mark.parametrize(
    "merges",
    [
        MERGES.removeprefix("#version: 0.2\n"),
        MERGES.replace("\n", "\r\n"),
        MERGES.rstrip("\n"),
        MERGES.replace("ab c", "#version: 3\nab c"),
    ],
)
def test_version_lines_and_line_ends_do_not_matter(merges: str, tmp_path: Path) -> None:
    folder = write_pair(tmp_path / "a", VOCAB, merges)
    tokenizer = fastbpe.load(folder, pattern="gpt2")
    assert tokenizer == fastbpe.load(write_pair(tmp_path / "b", VOCAB, MERGES), pattern="gpt2")
    text = "abc abab\n"
    assert tokenizer.encode(text) == peer_of(folder, fastbpe.PATTERNS["gpt2"]).encode(text).ids  # type: ignore[arg-type]
    blank = fastbpe.load(write_pair(tmp_path / "c", VOCAB, merges + "\n\n"), pattern="gpt2")
    assert blank == tokenizer


@pytest.mark.parametrize(
    ("vocab", "merges"),
    [
        ({**ALPHABET, "ab": 300, "abc": 257, "Ġab": 400}, MERGES),  # ids in another order than the merges
        ({**ALPHABET, "ab": 300, "abc": 301}, "ab c\na b\n"),  # a merge before the one that makes its part
        ({**ALPHABET, "ab": 300, "bc": 301, "abc": 302}, "a b\nb c\na bc\nab c\n"),  # two ways to make one token
        ({**ALPHABET, "ab": 256, "abcd": 257, "cd": 258}, "a b\nc d\nab cd\n"),
        ({**ALPHABET, "bc": 256, "ab": 257, "abc": 258}, "b c\na b\nab c\n"),  # "abc" is never made: a|bc
        ({text: 1000 - i for text, i in ALPHABET.items()} | {"ab": 3, "abab": 2}, "a b\nab ab\n"),
    ],
)
def test_merge_lists_without_ranks_equal_tokenizers(vocab: dict[str, int], merges: str, tmp_path: Path) -> None:
    tokenizer = fastbpe.load(write_pair(tmp_path, vocab, merges), pattern="none")
    peer = peer_of(tmp_path, r"[\s\S]+")
    rng = random.Random(5)
    for _ in range(300):
        text = "".join(rng.choices("abcd ", k=rng.randint(1, 12)))
        assert tokenizer.encode(text) == peer.encode(text).ids
    tokenizer.export(tmp_path / "again", format="gpt2")
    assert fastbpe.load(tmp_path / "again", pattern="none") == tokenizer


@pytest.mark.daily
@given(st.data())
@settings(max_examples=150)
def test_random_merge_lists_equal_tokenizers(data: st.DataObject) -> None:
    """Ranks if they give the same ids, else the list: either way the ids equal tokenizers'."""
    tokens = dict.fromkeys("abc")
    merges = []
    for _ in range(data.draw(st.integers(1, 8))):
        left, right = data.draw(st.tuples(*[st.sampled_from(list(tokens))] * 2))
        if (left, right) not in merges and len(left + right) < 12:
            merges.append((left, right))
            tokens[left + right] = None
    new = [token for token in tokens if len(token) > 1]
    if data.draw(st.booleans()):
        new = data.draw(st.permutations(new))
    if data.draw(st.booleans()):
        merges = data.draw(st.permutations(merges))
    ids = ALPHABET | {token: 256 + i for i, token in enumerate(new)}
    model = gpt2.parse(
        json.dumps(ids).encode(),
        "\n".join(f"{left} {right}" for left, right in merges).encode(),
        ("vocab.json", "merges.txt"),
        pattern="none",
        special_tokens=None,
    )
    tokenizer = Tokenizer(fastbpe.tokenizer.families.ranked_merges.by_ranks(model))
    peer = tokenizers.Tokenizer(BPE(ids, list(merges)))
    for _ in range(10):
        text = data.draw(st.text("abc", max_size=20))
        assert tokenizer.encode(text) == Tokenizer(model).encode(text) == peer.encode(text).ids


def test_usual_merge_list_becomes_ranks() -> None:
    model = gpt2.parse(
        json.dumps(VOCAB).encode(), MERGES.encode(), ("a", "b"), pattern="none", special_tokens=None
    )
    assert (model.merges_rule, model.whole_piece_first) == ("merges", False)
    ranked = fastbpe.tokenizer.families.ranked_merges.by_ranks(model)
    assert (ranked.merges_rule, ranked.whole_piece_first, bytes(ranked.merges)) == ("ranks", True, b"")
    assert fastbpe.tokenizer.families.ranked_merges.by_ranks(ranked) is ranked
    listed = Tokenizer(model)
    assert Tokenizer(ranked).merges == listed.merges == [(97, 98), (256, 99), (32, 256)]


# Special tokens.


def test_tokens_without_a_merge_become_special_by_their_names() -> None:
    vocab = {
        **VOCAB,
        "[MASK]": 260,
        "<s>": 261,
        "word": 262,
        "Ġhello": 263,
        "<|a b|>": 264,
        "｜日｜": 265,
        "<a>b": 266,
    }
    model = gpt2.parse(
        json.dumps(vocab).encode(), MERGES.encode(), ("a", "b"), pattern="none", special_tokens=None
    )
    tokenizer = Tokenizer(model)
    names = ("<|endoftext|>", "[MASK]", "<s>", "<|a b|>", "｜日｜")
    assert tokenizer.special_tokens == {name: vocab[name] for name in names}
    assert tokenizer.decode([262, 263, 259, 264, 265, 266]) == "word hello<|endoftext|><|a b|>｜日｜<a>b"
    assert 262 not in tokenizer.encode("word hello")
    assert tokenizer.n_vocab == 267


def test_given_special_tokens_replace_those_of_the_file(tmp_path: Path) -> None:
    folder = write_pair(tmp_path, VOCAB, MERGES)
    given_ = fastbpe.load(folder, pattern="gpt2", special_tokens={"<|endoftext|>": 259, "<new>": 300})
    assert given_.special_tokens == {"<|endoftext|>": 259, "<new>": 300}
    none = fastbpe.load(folder, pattern="gpt2", special_tokens={})
    assert none.special_tokens == {}
    assert none.encode("<|endoftext|>") == [ALPHABET[c] for c in "<|endoftext|>"]
    assert none.decode([259]) == "<|endoftext|>"
    with pytest.raises(SpecialTokenError, match="is also the ordinary token 259"):
        fastbpe.load(folder, pattern="gpt2", special_tokens={"<|endoftext|>": 300})
    with pytest.raises(SpecialTokenError, match="which another"):
        fastbpe.load(folder, pattern="gpt2", special_tokens={"<s>": 259})


# The fast reader and its slow twin.


@pytest.mark.daily
def test_fast_reader_reads_published_files() -> None:
    for names in (("gpt2_encoder.json", "gpt2_vocab.bpe"), ("qwen2_vocab.json", "qwen2_merges.txt")):
        vocab, merges = (data_file("vocab", name).read_bytes() for name in names)
        fast = _gpt2.read(vocab, merges)
        slow = gpt2.read_slowly(vocab, merges, names)
        assert fast is not None
        assert fast[:3] == slow[:3]
        assert fast[4] == slow.unmade


_CHARACTERS = st.sampled_from('abĠ\u0143\u0144é日😀"\\/ \n\x00\x7f')


@given(st.data())
@settings(max_examples=n_rounds(100, 300))
def test_fast_and_slow_reader_agree(data: st.DataObject) -> None:
    """On files of any kind, unless it leaves them to the twin."""
    texts = data.draw(st.lists(st.text(_CHARACTERS, max_size=4), max_size=6))
    entries = [(text, data.draw(st.integers(0, 12))) for text in [*"abĠ", *texts]]
    lines = [f"{json.dumps(text, ensure_ascii=data.draw(st.booleans()))}: {i}" for text, i in entries]
    vocab = bytearray(("{" + data.draw(st.sampled_from([",", ", ", "\n,\t"])).join(lines) + "}").encode())
    pairs = data.draw(st.lists(st.tuples(*[st.sampled_from(["a", "b", "Ġ", *texts])] * 2), max_size=4))
    merges = bytearray("\n".join(f"{left} {right}" for left, right in pairs).encode())
    for part in (vocab, merges):
        if part and data.draw(st.booleans()):
            part[data.draw(st.integers(0, len(part) - 1))] = data.draw(st.integers(0, 255))
    fast = _gpt2.read(bytes(vocab), bytes(merges))
    if fast is None:
        return
    try:
        names = {json.loads(text): i for text, i in fast[3]}
    except ValueError:
        with pytest.raises(FormatError):
            gpt2.read_slowly(bytes(vocab), bytes(merges), ("v", "m"))
        return
    if len(names) == len(fast[3]):
        slow = gpt2.read_slowly(bytes(vocab), bytes(merges), ("v", "m"))
        assert (*fast[:3], names, fast[4]) == (*slow[:3], slow.names, slow.unmade)


def test_ids_are_dropped_from_the_token_table() -> None:
    flat, ends = b"abbccc", b"".join(i.to_bytes(4, sys.byteorder) for i in (1, 1, 3, 6))
    assert _gpt2.without(flat, ends, []) == (flat, ends)
    for dropped, expected in (([0], b"bbccc"), ([2], b"accc"), ([3], b"abb"), ([0, 2, 3], b""), ([0, 3], b"bb")):
        left, new_ends = _gpt2.without(flat, ends, dropped)
        assert left == expected
        assert new_ends[-4:] == len(expected).to_bytes(4, sys.byteorder)


# Damage.

_PAIRS = json.dumps(ALPHABET)[:-1]
BAD = [
    ("{}", "a b\n", "merges.txt:1: 'a' is not a token of the vocabulary"),
    ("[1]", "", "vocab.json: expected a JSON object of tokens and ids, found list"),
    ('{"a": 1', "", "vocab.json: not JSON"),
    ('{"a": {"b": ' * 100_000, "", "vocab.json: it is nested too deep"),
    (
        '{"a": 1, "b": {"c": 1}}',
        "",
        "vocab.json: token 'b' has the id {...}, which is not an integer from 0 to 16777215",
    ),
    (_PAIRS + ', "ab": -1}', "", "token 'ab' has the id -1"),
    (_PAIRS + ', "ab": 1.5}', "", "token 'ab' has the id 1.5"),
    (_PAIRS + ', "ab": true}', "", "token 'ab' has the id True"),
    (_PAIRS + ', "ab": 4294967296}', "", "token 'ab' has the id 4294967296"),
    (_PAIRS + ', "ab": 97}', "", "tokens 'a' and 'ab' have the same id 97"),
    (_PAIRS + ', "<s> ": 97}', "", "tokens 'a' and '<s> ' have the same id 97"),
    (_PAIRS + ', "ab": 256, "ab": 257}', "", "token 'ab' appears twice, with the ids 256 and 257"),
    (_PAIRS + ', "a b": 256, "a b": 257}', "", "token 'a b' appears twice, with the ids 256 and 257"),
    (_PAIRS + ', "ab": 256}', "a b\nab c\n", "merges.txt:2: 'abc' is not a token of the vocabulary"),
    (_PAIRS + ', "ab": 256}', "#version: 0.2\nxy c\n", "merges.txt:2: 'xy' is not a token of the vocabulary"),
    (_PAIRS + ', "ab": 256}', "a b\na xy\n", "merges.txt:2: 'xy' is not a token of the vocabulary"),
    (_PAIRS + ', "ab": 256}', "a b\na b\n", "merges.txt:2: this merge is already on line 1"),
    (_PAIRS + ', "ab": 256}', "a b c\n", "merges.txt:1: expected two tokens with a space between, found 'a b c'"),
    (_PAIRS + ', "ab": 256}', "a  b\n", "merges.txt:1: expected two tokens"),
    (_PAIRS + ', "ab": 256}', " b\n", "merges.txt:1: expected two tokens"),
    (_PAIRS + ', "ab": 256}', "a b \n", "merges.txt:1: expected two tokens"),
    (_PAIRS + ', "ab": 256}', "# mine\n", "merges.txt:1: 'mine' is not a token of the vocabulary"),
    (_PAIRS + ', "ab": 256}', "a 日\n", "merges.txt:1: '日' has a character that stands for no byte, so"),
    ("{}", "", "vocab.json: it contains no tokens"),
    ('{"": 0}', "", "vocab.json: it contains no tokens"),
]


@pytest.mark.parametrize(("vocab", "merges", "message"), BAD, ids=[message[:50] for _, _, message in BAD])
def test_damage_is_named_with_file_and_line(vocab: str, merges: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError) as error:
        fastbpe.load(write_pair(tmp_path, vocab, merges), pattern="gpt2")
    assert message in str(error.value)
    assert str(tmp_path) in str(error.value)


def test_invalid_utf8_is_named_with_its_line(tmp_path: Path) -> None:
    write_pair(tmp_path, VOCAB, "")
    (tmp_path / "merges.txt").write_bytes(b"a b\n\xff b\n")
    with pytest.raises(FormatError, match=r"merges\.txt:2: not UTF-8"):
        fastbpe.load(tmp_path, pattern="gpt2")


def test_truncated_file_raises_format_error(tmp_path: Path) -> None:
    whole = json.dumps(VOCAB)
    for at in (0, 1, len(whole) // 2, len(whole) - 1):
        with pytest.raises(FormatError):
            fastbpe.load(write_pair(tmp_path, whole[:at], MERGES), pattern="gpt2")


# Tokenizers that cannot be written.

RANKS = {bytes([byte]): byte for byte in range(256)}
LISTED = Model(
    tokens=[*RANKS, b"ab", b"abc"],
    pattern=None,
    special_tokens={},
    merges=pack_merges([(97, 98, 256)]),
    merges_rule="merges",
    whole_piece_first=True,
)
LOSSES = [
    (
        Tokenizer.from_ranks({**RANKS, b"abc": 256}, pattern=None),
        "no merge produces 1 of this tokenizer's tokens, b'abc' (256)",
    ),
    (
        Tokenizer.from_ranks(RANKS, pattern=None, special_tokens={"Ġ": 300}),
        "in vocab.json, the special token 'Ġ' and the token b' ' (id 32) would have the same text",
    ),
    (
        Tokenizer.from_merges([(97, 98), (98, 99), (256, 99), (97, 257)], pattern=None),
        "the ids 258 and 259 are both the token",
    ),
    (Tokenizer(LISTED), "no merge produces 1 of this tokenizer's tokens"),
]


@pytest.mark.parametrize(("tokenizer", "message"), LOSSES, ids=[message for _, message in LOSSES])
def test_export_error_names_the_loss(tokenizer: Tokenizer, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError) as error:
        tokenizer.export(tmp_path / "x", format="gpt2")
    assert message in str(error.value)
    assert not list(tmp_path.iterdir())


@pytest.mark.daily
def test_export_refuses_llama3_tokens_without_merges(tmp_path: Path) -> None:
    with pytest.raises(
        FormatError, match=r"no merge produces 588 of this tokenizer's tokens.*the text .*việc' is \[100769\]"
    ):
        published("llama3").export(tmp_path / "x", format="gpt2")


def test_written_files_give_the_ids_of_tiktoken(code_tokenizer: Tokenizer, tmp_path: Path) -> None:
    code_tokenizer.export(tmp_path, format="gpt2")
    vocab = json.loads((tmp_path / "vocab.json").read_text(encoding="utf-8"))
    ranks = {bytes_of(text): i for text, i in vocab.items() if text not in code_tokenizer.special_tokens}
    pattern = code_tokenizer.pattern
    assert isinstance(pattern, str)
    peer = tiktoken.Encoding(
        "x", pat_str=pattern, mergeable_ranks=ranks, special_tokens=code_tokenizer.special_tokens  # type: ignore[arg-type]
    )  # fmt: skip
    text = Path(__file__).read_text(encoding="utf-8")
    assert peer.encode_ordinary(text) == code_tokenizer.encode_ordinary(text)


def test_bytes_without_a_token_are_left_out_as_in_tokenizers(tmp_path: Path) -> None:
    vocab = {"a": 0, "b": 1, "\u0120": 2, "ab": 3, "\u0120a": 4}
    folder = write_pair(tmp_path, vocab, "a b\n\u0120 a\n")
    ours, peer = (
        fastbpe.load(folder / "vocab.json", pattern="gpt2"),
        peer_of(tmp_path, fastbpe.PATTERNS["gpt2"] or ""),
    )
    for text in ("ab", "abc ab", "xyz", " a\u00e9b", "a\x01b", "acb"):
        assert ours.encode(text) == peer.encode(text).ids


CLIP_LIKE = {c + end: i for i, (c, end) in enumerate((c, e) for e in ("", "</w>") for c in "abcd")}


@pytest.mark.parametrize(
    ("vocab", "merges"),
    [
        ({**CLIP_LIKE, "ab</w>": 8}, "#version: 0.2\na b</w>\n"),
        (CLIP_LIKE, "#version: 0.2\n"),
        ({**CLIP_LIKE, "\u2022": 9, "\u2022</w>": 10}, "#version: 0.2\n"),
    ],
)
def test_vocabulary_that_marks_the_ends_of_words_is_one_of_characters(
    vocab: dict[str, int], merges: str, tmp_path: Path
) -> None:
    write_pair(tmp_path, vocab, merges)
    for source in (tmp_path, tmp_path / "merges.txt"):
        tokenizer = fastbpe.load(source)
        assert tokenizer.mode == "character"
        assert tokenizer.encode("ab a") == ([8, 4] if "ab</w>" in vocab else [0, 5, 4])
        with pytest.raises(FormatError, match="contains its own split pattern"):
            fastbpe.load(source, pattern="gpt2")


@pytest.mark.parametrize("character", ["é", "日", "😀", '"', "\\"])
def test_escaped_characters_with_word_ends_are_recognised(character: str) -> None:
    vocab = {character: 0, f"{character}</w>": 1}
    for ensure_ascii in (True, False):
        data = json.dumps(vocab, ensure_ascii=ensure_ascii).encode()
        assert gpt2.marks_words(data, b"")
        assert not gpt2.marks_words(data, f"{character} </w>\n".encode())


def test_vocabulary_that_has_learned_word_ends_in_html_loads(tmp_path: Path) -> None:
    vocab = {text_of(bytes([i])): i for i in range(256)}
    merges = ["< /", "</ w", "</w >", "n </w>", "b </w>"]
    vocab |= {merge.replace(" ", ""): 256 + i for i, merge in enumerate(merges)}
    write_pair(tmp_path, vocab, "\n".join(merges) + "\n")
    ours = fastbpe.load(tmp_path, pattern="none")
    assert ours.encode("n</w>b</w>") == peer_of(tmp_path, r"[\s\S]+").encode("n</w>b</w>").ids == [259, 260]


def test_vocabulary_of_characters_is_refused(tmp_path: Path) -> None:
    vocab = {text_of(bytes([i])): i for i in range(256)} | {"\u65e5": 256}
    write_pair(tmp_path, vocab, "")
    with pytest.raises(FormatError, match="token 256, '\u65e5', is a character that stands for no byte"):
        fastbpe.load(tmp_path, pattern="gpt2")
