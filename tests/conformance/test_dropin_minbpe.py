"""fastbpe.minbpe against a plain implementation of minbpe's rules; minbpe itself is in no package index."""

import copy
import math
import pickle
import random
import re
import unicodedata
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import regex

import fastbpe.minbpe as minbpe
from fastbpe.tiktoken import registry
from helpers.shared_data import data_file, published, published_peer, random_texts, standard_library
from helpers.text_strategies import as_utf8
from helpers.unwritable_files import refuse_writing

WORDS = r" ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+"
Pair = tuple[int, int]


class Plain:
    """The rules of minbpe: count all pairs, merge the first of the most frequent ones, and repeat."""

    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.merges: dict[Pair, int] = {}
        self.lines: list[str] = []

    def pieces(self, text: str) -> list[bytes]:
        return [m.encode() for m in regex.findall(self.pattern, text)] if self.pattern else [text.encode()]

    def train(self, text: str, vocab_size: int) -> None:
        pieces = [list(piece) for piece in self.pieces(text)]
        vocab = {byte: bytes([byte]) for byte in range(256)}
        n = vocab_size - 256
        for i in range(n):
            counts = counted(pieces)
            best = max(counts, key=counts.__getitem__)
            self.merges[best] = 256 + i
            vocab[256 + i] = vocab[best[0]] + vocab[best[1]]
            pieces = [merged(piece, best, 256 + i) for piece in pieces]
            made = f"{best} -> {256 + i} ({vocab[256 + i]!r})"
            self.lines.append(f"merge {i + 1}/{n}: {made} had {counts[best]} occurrences")

    def encode(self, text: str) -> list[int]:
        return [i for piece in self.pieces(text) for i in self.encode_piece(list(piece))]

    def encode_piece(self, ids: list[int]) -> list[int]:
        while known := [(self.merges[pair], pair) for pair in pairwise(ids) if pair in self.merges]:
            made, pair = min(known)
            ids = merged(ids, pair, made)
        return ids


def counted(pieces: Iterable[list[int]]) -> dict[Pair, int]:
    counts: dict[Pair, int] = {}
    for piece in pieces:
        for pair in pairwise(piece):
            counts[pair] = counts.get(pair, 0) + 1
    return counts


def merged(ids: list[int], pair: Pair, made: int) -> list[int]:
    out, at = [], 0
    while at < len(ids):
        found = tuple(ids[at : at + 2]) == pair
        out.append(made if found else ids[at])
        at += 1 + found
    return out


def trained(pattern: str | None, text: str, vocab_size: int) -> minbpe.Tokenizer:
    tokenizer = minbpe.BasicTokenizer() if pattern is None else minbpe.RegexTokenizer(pattern)
    tokenizer.train(text, vocab_size)
    return tokenizer


@pytest.mark.parametrize("pattern", [None, WORDS, minbpe.GPT2_SPLIT_PATTERN, minbpe.GPT4_SPLIT_PATTERN, "[a-c]+"])
def test_merges_and_ids_equal_the_plain_rules(pattern: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    for seed in range(25):
        rng = random.Random(seed)
        text = " ".join(random_texts(rng)) + rng.choice(["", " é日😉 ", "123\n\n  x"])
        plain = Plain(pattern or "")
        try:
            plain.train(text, 256 + rng.randint(0, 12))
            size = 256 + len(plain.merges)
        except ValueError:  # no pair is left
            size = 256 + len(plain.merges)
            with pytest.raises(ValueError, match="no pair is left"):
                trained(pattern, text, size + 1)
            plain = Plain(pattern or "")
            plain.train(text, size)
        tokenizer = minbpe.BasicTokenizer() if pattern is None else minbpe.RegexTokenizer(pattern)
        tokenizer.train(text, size, verbose=True)
        assert tokenizer.merges == plain.merges
        assert list(tokenizer.merges) == list(plain.merges)
        assert capsys.readouterr().out.splitlines() == plain.lines
        other = " ".join(random_texts(rng)) + "xyz é"
        for string in (text, other, ""):
            ids = tokenizer.encode(string)
            assert ids == plain.encode(string)
            assert tokenizer.decode(ids) == "".join(piece.decode() for piece in plain.pieces(string))


@pytest.mark.daily
@pytest.mark.parametrize("pattern", [None, minbpe.GPT4_SPLIT_PATTERN])
def test_real_text_trains_and_encodes_by_the_plain_rules(pattern: str | None) -> None:
    text = data_file("corpus", "taylorswift.txt").read_text(encoding="utf-8")[:30_000]
    plain = Plain(pattern or "")
    plain.train(text, 280)
    tokenizer = trained(pattern, text, 280)
    assert tokenizer.merges == plain.merges
    assert tokenizer.encode(text) == plain.encode(text)
    assert tokenizer.decode(tokenizer.encode(text)) == text


def test_default_pattern_equals_gpt4() -> None:
    assert minbpe.RegexTokenizer().pattern == minbpe.RegexTokenizer(None).pattern == minbpe.GPT4_SPLIT_PATTERN
    assert minbpe.BasicTokenizer().pattern == ""
    with pytest.raises(ValueError, match="position"):
        minbpe.RegexTokenizer("a(")


def test_vocab_size_below_256_raises_assertion_error() -> None:
    for tokenizer in (minbpe.BasicTokenizer(), minbpe.RegexTokenizer()):
        with pytest.raises(AssertionError, match="vocab_size=255"):
            tokenizer.train("abc", 255)
        tokenizer.train("abc", 256)
        assert tokenizer.merges == {}
        assert tokenizer.vocab == {byte: bytes([byte]) for byte in range(256)}
        assert tokenizer.encode("é") == [195, 169]


# Special tokens.


@pytest.fixture
def special() -> minbpe.RegexTokenizer:
    tokenizer = minbpe.RegexTokenizer()
    tokenizer.train(standard_library(20_000), 300)
    tokenizer.register_special_tokens({"<|end|>": 400, "<|sep|>": 401, "<|sep|>>": 402})
    return tokenizer


def split_and_encode(tokenizer: minbpe.RegexTokenizer, text: str, allowed: dict[str, int]) -> list[int]:
    """Encode as minbpe does: split at the special tokens, the first in order that matches, and encode the text
    between."""
    if not allowed:
        return tokenizer.encode_ordinary(text)
    parts = re.split("(" + "|".join(map(re.escape, allowed)) + ")", text)
    return [i for part in parts for i in ([allowed[part]] if part in allowed else tokenizer.encode_ordinary(part))]


def test_allowed_special_selects_special_tokens_as_in_minbpe(special: minbpe.RegexTokenizer) -> None:
    rng = random.Random(0)
    known = special.special_tokens
    for _ in range(200):
        text = "".join(rng.choices(["<|end|>", "<|sep|>", "<|sep|>>", ">", "<|", "end", " import", "é"], k=8))
        assert special.encode(text, allowed_special="all") == split_and_encode(special, text, known)
        assert special.encode(text, allowed_special="none") == special.encode_ordinary(text)
        for some in ({"<|end|>"}, {"<|sep|>>"}, {"<|sep|>>", "<|sep|>"}, set(), {"unknown", "<|sep|>"}):
            chosen = {name: i for name, i in known.items() if name in some}
            assert special.encode(text, allowed_special=some) == split_and_encode(special, text, chosen)
        if any(name in text for name in known):
            with pytest.raises(AssertionError):
                special.encode(text)
        else:
            assert special.encode(text) == special.encode(text, "none_raise") == special.encode_ordinary(text)
        ids = special.encode(text, allowed_special="all")
        assert special.decode(ids) == text


def test_first_matching_special_token_wins(special: minbpe.RegexTokenizer) -> None:
    special.register_special_tokens({"<|sep|>>": 402, "<|sep|>": 401})
    assert special.encode("<|sep|>>", allowed_special="all") == [402]
    special.register_special_tokens({"<|sep|>": 401, "<|sep|>>": 402})
    assert special.encode("<|sep|>>", allowed_special="all") == [401, 62]


@pytest.mark.parametrize("wrong", ["some", None, 5, ["<|end|>"], ""])
def test_invalid_allowed_special_raises_value_error(special: minbpe.RegexTokenizer, wrong: Any) -> None:
    with pytest.raises(ValueError, match="not understood"):
        special.encode("a", allowed_special=wrong)


def test_registering_replaces_all_special_tokens(special: minbpe.RegexTokenizer) -> None:
    special.register_special_tokens({"<|new|>": 500})
    assert special.inverse_special_tokens == {500: "<|new|>"}
    assert special.encode("<|new|>", allowed_special="all") == [500]
    assert 400 not in special.encode("<|end|>", allowed_special="all")
    special.register_special_tokens({"<|new|>": 256})
    with pytest.raises(ValueError, match="256"):
        special.encode("a")


def test_shared_special_id_decodes_to_the_last_name_as_in_minbpe(
    special: minbpe.RegexTokenizer, tmp_path: Path
) -> None:
    for names in (["<b>", "<a>"], ["<a>", "<c>", "<b>"]):
        special.register_special_tokens({"<first>": 300, **dict.fromkeys(names, 301)})
        special.save(tmp_path / "shared")
        loaded = minbpe.RegexTokenizer()
        loaded.load(tmp_path / "shared.model")
        for tokenizer in (special, loaded):
            assert [tokenizer.encode(name, allowed_special="all") for name in names] == [[301]] * len(names)
            assert tokenizer.inverse_special_tokens == {300: "<first>", 301: names[-1]}
            assert tokenizer.decode([301, 300]) == f"{names[-1]}<first>"
        assert loaded.vocab[301] == names[-1].encode()


def test_unknown_ids_raise_as_in_minbpe(special: minbpe.RegexTokenizer) -> None:
    for ids in ([104, 399], iter([104, 399]), iter([104.0, 399])):
        with pytest.raises(ValueError, match="invalid token id: 399"):
            special.decode(ids)
    basic = minbpe.BasicTokenizer()
    with pytest.raises(KeyError):
        basic.decode([256])
    for number in (97.5, math.inf, math.nan, None):
        with pytest.raises(KeyError):
            basic.decode([97, number])
    assert basic.decode([97.0, 98]) == basic.decode(iter([97.0, 98])) == "ab"
    assert basic.decode([0xF0, 0x9F]) == "\ufffd"


def test_replaced_merges_are_used() -> None:
    tokenizer = minbpe.BasicTokenizer()
    assert tokenizer.encode("aab") == [97, 97, 98]
    tokenizer.merges = {(97, 97): 256, (256, 98): 257}
    assert tokenizer.encode("aab") == [257]
    tokenizer.merges = {(97, 98): 300, (97, 97): 256}  # the lowest id is merged first, in any order
    assert tokenizer.encode("aab") == [256, 98]
    assert tokenizer.decode([300, 97]) == "aba"


def test_copies_are_equal_and_independent(special: minbpe.RegexTokenizer) -> None:
    for again in (pickle.loads(pickle.dumps(special)), copy.copy(special), copy.deepcopy(special)):
        assert again.encode("import<|end|>", "all") == special.encode("import<|end|>", "all")
        assert vars(again) == vars(special)
        again.register_special_tokens({})
        assert special.encode("<|end|>", "all") == [400]


def test_calls_add_no_attributes(special: minbpe.RegexTokenizer) -> None:
    names = {"merges", "vocab", "pattern", "special_tokens", "inverse_special_tokens"}
    assert special.decode(special.encode("import<|end|>", "all")) == "import<|end|>"
    assert special._encode_chunk(b"import")
    assert vars(special).keys() == names


# Files.


@pytest.mark.parametrize("pattern", ["ab", "kimi", "none", "a|b", ""])
def test_pattern_of_a_file_is_kept_as_it_stands(pattern: str, tmp_path: Path) -> None:
    made = minbpe.RegexTokenizer(pattern or "x")
    made.pattern = pattern
    made.save(tmp_path / "a")
    again = minbpe.RegexTokenizer()
    again.load(tmp_path / "a.model")
    assert again.pattern == pattern
    again.save(tmp_path / "b")
    assert (tmp_path / "b.model").read_bytes() == (tmp_path / "a.model").read_bytes()


def rendered(token: bytes) -> str:
    text = token.decode(errors="replace")
    return "".join(f"\\u{ord(c):04x}" if unicodedata.category(c)[0] == "C" else c for c in text)


def test_read_only_files_are_kept(
    special: minbpe.RegexTokenizer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "m.model").write_bytes(b"old")
    refuse_writing(monkeypatch, "m.model")
    with pytest.raises(PermissionError):  # as minbpe, which opens the file
        special.save(str(tmp_path / "m"))
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"old"]


def test_saved_files_have_the_format_of_minbpe(special: minbpe.RegexTokenizer, tmp_path: Path) -> None:
    special.save(str(tmp_path / "x"))
    model = ["minbpe v1", special.pattern, "3", "<|end|> 400", "<|sep|> 401", "<|sep|>> 402"]
    model += [f"{left} {right}" for left, right in special.merges]
    assert (tmp_path / "x.model").read_bytes() == "".join(line + "\n" for line in model).encode()
    parts = {i: pair for pair, i in special.merges.items()}
    vocab = []
    for i, token in special.vocab.items():
        made = "".join(f"[{rendered(special.vocab[part])}]" for part in parts.get(i, ()))
        vocab.append(f"{made} -> [{rendered(token)}] {i}\n" if made else f"[{rendered(token)}] {i}\n")
    assert (tmp_path / "x.vocab").read_bytes() == "".join(vocab).encode()
    assert "[\\u000a] 10\n" in vocab

    for again in (minbpe.RegexTokenizer("x+"), minbpe.BasicTokenizer()):
        again.load(str(tmp_path / "x.model"))
        assert (again.merges, again.pattern) == (special.merges, special.pattern)
        assert again.special_tokens == special.special_tokens
        assert again.vocab == special.vocab | {i: name.encode() for name, i in special.special_tokens.items()}
        again.save(str(tmp_path / "y"))
        assert (tmp_path / "y.model").read_bytes() == (tmp_path / "x.model").read_bytes()
        assert (tmp_path / "y.vocab").read_text(encoding="utf-8").endswith("[<|sep|>>] 402\n")
    loaded = minbpe.RegexTokenizer("x+")
    loaded.load(str(tmp_path / "x.model"))
    text = standard_library(3000) + "<|end|>"
    assert loaded.encode(text, "all") == special.encode(text, "all")
    assert loaded.decode([400]) == "<|end|>"
    assert loaded.inverse_special_tokens == special.inverse_special_tokens


def test_basic_tokenizer_files_have_the_format_of_minbpe(tmp_path: Path) -> None:
    tokenizer = minbpe.BasicTokenizer()
    tokenizer.train("aaabdaaabac", 259)
    tokenizer.save(tmp_path / "x")
    assert (tmp_path / "x.model").read_text() == "minbpe v1\n\n0\n97 97\n256 97\n257 98\n"
    assert (tmp_path / "x.vocab").read_text().endswith("[aa][a] -> [aaa] 257\n[aaa][b] -> [aaab] 258\n")
    again = minbpe.BasicTokenizer()
    again.load(tmp_path / "x.model")
    assert again.encode("aaabdaaabac") == [258, 100, 258, 97, 99]


def test_invalid_model_file_is_refused(tmp_path: Path) -> None:
    tokenizer = minbpe.RegexTokenizer()
    with pytest.raises(AssertionError, match=r"\.model"):
        tokenizer.load("x.vocab")
    with pytest.raises(FileNotFoundError):
        tokenizer.load(str(tmp_path / "absent.model"))
    (tmp_path / "bad.model").write_text("minbpe v1\n\n0\n97 300\n")
    with pytest.raises(ValueError, match=":4:"):
        tokenizer.load(str(tmp_path / "bad.model"))
    assert tokenizer.merges == {}


# GPT-4.


@pytest.fixture
def gpt4(monkeypatch: pytest.MonkeyPatch) -> minbpe.GPT4Tokenizer:
    import fastbpe.tiktoken

    peer = published_peer("cl100k_base")
    encoding = fastbpe.tiktoken.Encoding(
        "cl100k_base",
        pat_str=peer._pat_str,
        mergeable_ranks=peer._mergeable_ranks,
        special_tokens=peer._special_tokens,
    )
    monkeypatch.setitem(registry.ENCODINGS, "cl100k_base", encoding)
    return minbpe.GPT4Tokenizer()


@pytest.mark.daily
def test_gpt4_tokenizer_equals_tiktoken(gpt4: minbpe.GPT4Tokenizer, tmp_path: Path) -> None:
    peer = published_peer("cl100k_base")
    text = data_file("corpus", "taylorswift.txt").read_text(encoding="utf-8") + "hello123!!!? (안녕하세요!) 😉"
    assert gpt4.encode(text) == peer.encode(text)
    whole = "<|endoftext|>Hello world<|endofprompt|>"
    assert gpt4.encode(whole, allowed_special="all") == peer.encode(whole, allowed_special="all")
    with pytest.raises(AssertionError):
        gpt4.encode(whole)
    assert gpt4.decode(gpt4.encode(text)) == text
    with pytest.raises(KeyError):
        gpt4.decode([100256])

    ranks = peer._mergeable_ranks
    assert len(gpt4.merges) == len(ranks) - 256
    tokens = {rank: token for token, rank in ranks.items()}
    assert all(tokens[left] + tokens[right] == tokens[made] for (left, right), made in gpt4.merges.items())
    assert gpt4.byte_shuffle == {byte: ranks[bytes([byte])] for byte in range(256)}
    assert gpt4.inverse_byte_shuffle == {ranks[bytes([byte])]: byte for byte in range(256)}
    assert bytes(gpt4.inverse_byte_shuffle[b] for b in gpt4.vocab[15339]) == tokens[15339] == b"hello"
    gpt4.save_vocab(tmp_path / "gpt4.vocab")
    lines = (tmp_path / "gpt4.vocab").read_text(encoding="utf-8").split("\n")
    assert lines[0] == "[!] 0"
    left, right = next(pair for pair, made in gpt4.merges.items() if made == 15339)
    assert f"[{rendered(tokens[left])}][{rendered(tokens[right])}] -> [hello] 15339" in lines
    for call in (lambda: gpt4.train("a", 300), lambda: gpt4.save("x"), lambda: gpt4.load("x.model")):
        with pytest.raises(NotImplementedError):
            call()


@pytest.mark.daily
def test_gpt4_tokenizer_equals_fastbpe(gpt4: minbpe.GPT4Tokenizer) -> None:
    text = standard_library(100_000) + " naïve 日本語"
    assert gpt4.encode(text) == published("cl100k_base").encode(text)
    assert gpt4.decode(gpt4.encode(text)).encode() == as_utf8(text)
