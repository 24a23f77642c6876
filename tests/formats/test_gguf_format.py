"""GGUF's tokenizer.ggml keys, with the package gguf as the judge of files, and the originals as judges of ids."""

from __future__ import annotations

import contextlib
import random
import struct
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import PATTERNS, AddedToken, FormatError, Tokenizer
from fastbpe.formats.gguf import metadata
from fastbpe.formats.gguf.metadata import BOOL, FLOAT32, INT32, STRING, UINT32, Typed
from fastbpe.formats.gguf.split_patterns import PRE_TOKENIZERS
from fastbpe.model import CodePointModel
from fastbpe.splitting import make_splitter
from helpers.codepoint_models import published_model, published_processor
from helpers.sampling import rounds
from helpers.shared_data import BYTES, corpus, data_file, published, random_texts
from helpers.tokenizer_json import SHOWN

TEXTS = ["Hello, wörld! 你好 12345\n\n  code()", "<s>[INST] no </s>", "", "🌍 é I'm DON'T", " \t\n x\r\n"]
NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = range(1, 7)
needs_gguf = pytest.mark.skipif(find_spec("gguf") is None, reason="gguf is not installed")


def strings(*texts: str) -> Typed:
    return Typed(STRING, [text.encode() for text in texts], True)


def keys(**changes: Any) -> dict[str, Typed]:
    """Return the keys of a small byte-level file; a change to None leaves a key out."""
    tokens = [*SHOWN, "ab", "abc", "<|end|>", "[PAD259]", "<extra>"]
    made: dict[str, Any] = {
        "model": Typed(STRING, b"gpt2"),
        "pre": Typed(STRING, b"llama-bpe"),
        "tokens": strings(*tokens),
        "token_type": Typed(INT32, [NORMAL] * 258 + [CONTROL, UNUSED, USER], True),
        "merges": strings("a b", "ab c"),
        "bos_token_id": Typed(UINT32, 258),
    } | changes
    return {f"tokenizer.ggml.{key}": value for key, value in made.items() if value is not None}


def written(**changes: Any) -> bytes:
    return metadata.write({"general.architecture": Typed(STRING, b"llama")} | keys(**changes))


def point_keys(**changes: Any) -> dict[str, Any]:
    pieces = [
        "<unk>",
        "<s>",
        "</s>",
        *(f"<0x{byte:02X}>" for byte in range(256)),
        "▁",
        "a",
        "b",
        "ab",
        "▁ab",
        "<u v>",
    ]
    types = [UNKNOWN, CONTROL, CONTROL] + [BYTE] * 256 + [NORMAL] * 5 + [USER]
    return {
        "model": Typed(STRING, b"llama"),
        "pre": None,
        "tokens": strings(*pieces),
        "token_type": Typed(INT32, types, True),
        "scores": Typed(FLOAT32, [0.0] * 262 + [-1.0, -2.0, 0.0], True),
        "merges": None,
        "bos_token_id": Typed(UINT32, 1),
        "eos_token_id": Typed(UINT32, 2),
    } | changes


def test_byte_level_file_is_read() -> None:
    tokenizer = fastbpe.load(written())
    assert tokenizer.special_tokens == {"<|end|>": 258}
    assert tokenizer.pattern == PATTERNS["llama3"]
    assert tokenizer.encode("abc<|end|>", allowed_special="all") == [257, 258]
    assert tokenizer.encode("abc<extra>") == [257, 260]
    assert tokenizer.id_to_token(257) == b"abc"
    assert tokenizer.bos_token_id == 258
    assert tokenizer.encode_with_template("ab") == [258, 256]  # llama-bpe adds it unless the file says no
    without = fastbpe.load(written(add_bos_token=Typed(BOOL, False)))
    assert without.encode_with_template("ab") == [256]
    with pytest.raises(fastbpe.InvalidTokenError):
        tokenizer.decode([259])  # a filler is not a token


def test_of_two_equal_merges_the_first_counts() -> None:
    """As in llama.cpp."""
    tokens, types = strings(*SHOWN, "ab", "bc"), Typed(INT32, [NORMAL] * 258, True)
    for merges, ids in ((("a b", "b c", "a b"), [256, 99]), (("b c", "a b", "b c"), [97, 257])):
        made = written(tokens=tokens, token_type=types, merges=strings(*merges), bos_token_id=None)
        assert fastbpe.load(made).encode("abc") == ids


@pytest.mark.parametrize("pre", ["gpt-2", "llama-bpe"])  # the second one looks for whole pieces first
def test_normal_token_of_a_character_that_stands_for_no_byte_is_not_found_in_text(pre: str) -> None:
    """Command R has U+200D twice, as the stand-ins of its bytes and as itself; llama.cpp finds the first only."""
    shown = "".join(SHOWN[byte] for byte in "\u200d".encode())
    tokens = [*SHOWN, shown[:2], shown, "<|end|>", "\u200d", "☀"]
    types = Typed(INT32, [NORMAL] * 258 + [CONTROL, NORMAL, NORMAL], True)
    merges = strings(f"{shown[0]} {shown[1]}", f"{shown[:2]} {shown[2]}")
    made = written(pre=Typed(STRING, pre.encode()), tokens=strings(*tokens), token_type=types, merges=merges)
    tokenizer = fastbpe.load(made)
    assert tokenizer.special_tokens == {"<|end|>": 258}
    assert tokenizer.encode("\u200d☀<|end|>", allowed_special="all") == [257, *"☀".encode(), 258]


def test_code_point_file_is_read() -> None:
    tokenizer = fastbpe.load(written(**point_keys()))
    assert tokenizer.mode == "codepoint"
    assert tokenizer.encode_ordinary("ab b") == [263, 259, 261]
    assert tokenizer.encode_ordinary("a<u v>é") == [259, 260, 264, 3 + 0xC3, 3 + 0xA9]
    assert (tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.unk_token_id) == (1, 2, 0)
    assert tokenizer.encode_with_template("ab") == [1, 263]
    bare = fastbpe.load(written(**point_keys(add_space_prefix=Typed(BOOL, False))))
    assert bare.encode_ordinary("ab") == [262]
    both = fastbpe.load(written(**point_keys(add_eos_token=Typed(BOOL, True))))
    assert both.encode_with_template("ab") == [1, 263, 2]


@pytest.mark.parametrize("adds_bos", [False, True])
@pytest.mark.parametrize("adds_eos", [False, True])
def test_flags_of_bos_and_eos_outlast_native_files(adds_bos: bool, adds_eos: bool, tmp_path: Path) -> None:
    flags = {"add_bos_token": Typed(BOOL, adds_bos), "add_eos_token": Typed(BOOL, adds_eos)}
    tokenizer = fastbpe.load(written(**point_keys(**flags)))
    expected = [1] * adds_bos + [263] + [2] * adds_eos
    for made in (tokenizer, tokenizer.with_special_tokens(["<x>"])):
        made.save(tmp_path / "a.fbpe")
        loaded = fastbpe.load(tmp_path / "a.fbpe")
        assert made.encode_with_template("ab") == loaded.encode_with_template("ab") == expected
    tokenizer.export(tmp_path / "b.gguf")
    assert fastbpe.load(tmp_path / "b.gguf").encode_with_template("ab") == expected


def test_special_tokens_and_patterns_of_the_caller_are_used_or_refused() -> None:
    assert fastbpe.load(written(), special_tokens={"<x>": 258}).special_tokens == {"<x>": 258}
    assert fastbpe.load(written(), special_tokens={"<x>": 300}).template == ([], [])  # the id of bos has no token
    with pytest.raises(FormatError, match=r"contains its own split pattern \(llama-bpe\)"):
        fastbpe.load(written(), pattern="gpt2")
    unknown = written(pre=Typed(STRING, b"parrot"))
    assert fastbpe.load(unknown, pattern="gpt2").pattern == PATTERNS["gpt2"]
    with pytest.raises(FormatError, match="contains its own special tokens"):
        fastbpe.load(written(**point_keys()), special_tokens={"<x>": 3})


@pytest.mark.parametrize("name", PRE_TOKENIZERS)
def test_patterns_of_all_names_split_text_whole(name: str) -> None:
    splitter = make_splitter(PRE_TOKENIZERS[name].pattern)
    for text in TEXTS:
        assert "".join(text[start:end] for start, end in splitter.pieces(text)) == text


# Files that fastbpe writes.


def read_by_gguf(path: Path) -> dict[str, Any]:
    from gguf import GGUFReader

    return {
        key: field.contents() for key, field in GGUFReader(path).fields.items() if key.startswith("tokenizer.")
    }


def byte_tokenizers() -> dict[str, Tokenizer]:
    plain = Tokenizer.from_merges([(97, 98), (256, 99)], pattern="qwen2", special_tokens={"<s>": 300, "é ": 301})
    ranks = {**BYTES, b"ab": 256, b"xyz": 257}  # xyz occurs only as a whole piece
    return {
        "merges": plain,
        "added": plain.with_tokens([AddedToken("<extra> x", 260)]),
        "ranks": Tokenizer.from_ranks(ranks, pattern="llama3", special_tokens={"<s>": 258}),
        "steps": Tokenizer.from_merges([(97, 98)], pattern=[r"\p{N}", "gpt2"]),
    }


@needs_gguf
@pytest.mark.parametrize("kind", ["merges", "added", "ranks", "steps"])
def test_written_byte_level_file_is_read_back_equal_and_by_gguf(kind: str, tmp_path: Path) -> None:
    tokenizer, path = byte_tokenizers()[kind], tmp_path / "x.gguf"
    assert tokenizer.export(path) is not None
    again = fastbpe.load(path)
    for text in [*TEXTS, "abc<s>xyz<extra> xab é "]:
        assert again.encode(text, allowed_special="all") == tokenizer.encode(text, allowed_special="all")
    assert again.vocab[: tokenizer.n_vocab] == tokenizer.vocab
    told = read_by_gguf(path)
    assert told["tokenizer.ggml.model"] == "gpt2"
    assert len(told["tokenizer.ggml.tokens"]) == len(told["tokenizer.ggml.token_type"]) == tokenizer.n_vocab
    assert told["tokenizer.ggml.merges"][0] == "a b"
    assert PRE_TOKENIZERS[told["tokenizer.ggml.pre"]].pattern == tokenizer.pattern


@needs_gguf
def test_file_that_gguf_writes_is_read(tmp_path: Path) -> None:
    from gguf import GGUFWriter, TokenType

    path = tmp_path / "x.gguf"
    writer = GGUFWriter(path, "llama")
    writer.add_context_length(4096)
    writer.add_array("some.floats", [1.5, 2.5])
    writer.add_array("some.strings", ["a", "b"])
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("qwen2")
    writer.add_token_list([*SHOWN, "ab", "<|end|>"])
    writer.add_token_types([TokenType.NORMAL] * 257 + [TokenType.CONTROL])
    writer.add_token_merges(["a b"])
    writer.add_eos_token_id(257)
    writer.add_add_bos_token(False)
    writer.add_chat_template("{{ messages }}")
    import numpy as np

    writer.add_tensor("weights", np.ones((64, 64), dtype=np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    tokenizer = fastbpe.load(path)
    assert tokenizer == fastbpe.load(tmp_path)
    assert tokenizer.eos_token_id == 257
    assert tokenizer.encode("ab ab12") == [256, 32, 256, 49, 50]
    assert tokenizer.pattern == PATTERNS["qwen2"]


@pytest.mark.daily
@needs_gguf
@pytest.mark.parametrize("name", ["llama2", "mistral_v3"])
def test_published_code_points_keep_the_ids_of_sentencepiece(name: str, tmp_path: Path) -> None:
    model: CodePointModel = published_model(name)
    path = tmp_path / "x.gguf"
    tokenizer = fastbpe.load(data_file("vocab", f"{name}_tokenizer.model"))
    tokenizer.export(path)
    again, peer = fastbpe.load(path), published_processor(name)
    assert again.special_tokens == {"<unk>": 0} | tokenizer.special_tokens  # llama.cpp finds it in texts
    assert again.vocab == tokenizer.vocab
    for text in [*TEXTS, corpus("multilingual.txt", 50_000)]:
        assert again.encode_ordinary(text) == peer.encode(text)
    told = read_by_gguf(path)
    assert told["tokenizer.ggml.token_type"] == list(model.types)
    assert told["tokenizer.ggml.scores"] == list(memoryview(model.scores).cast("f"))
    assert told["tokenizer.ggml.tokens"] == [piece.decode() for piece in model.pieces]
    assert (told["tokenizer.ggml.add_bos_token"], told["tokenizer.ggml.add_eos_token"]) == (True, False)


@pytest.mark.daily
@pytest.mark.parametrize("name", ["r50k_base", "qwen2", "llama3"])
def test_published_byte_level_vocabularies_are_read_back_equal(name: str, tmp_path: Path) -> None:
    tokenizer = published(name)
    tokenizer.export(tmp_path / "x.gguf", verify=False)
    again = fastbpe.load(tmp_path / "x.gguf")
    assert again == tokenizer
    text = corpus("multilingual.txt", 50_000)
    assert again.encode_ordinary(text) == tokenizer.encode_ordinary(text)


@pytest.mark.filterwarnings("ignore::fastbpe.TrainingWarning")
@pytest.mark.parametrize("seed", rounds(6, 200))
def test_random_vocabularies_are_read_back_with_the_same_ids(seed: int) -> None:
    rng = random.Random(seed)
    texts = random_texts(rng)
    pattern = rng.choice(["gpt2", "llama3", "qwen2", "o200k", "deepseek_v3", [r"\p{N}", "gpt2"]])
    options = {"vocab_size": 258 + rng.randint(0, 40), "special_tokens": ["<s>", "é x"][: rng.randint(0, 2)]}
    tokenizer = fastbpe.train(iter(texts), pattern=pattern, progress=False, **options)  # type: ignore[arg-type]
    again = fastbpe.load(bytes(tokenizer._family.dump(tokenizer, "gguf")))  # type: ignore[arg-type]
    for text in [*TEXTS, *texts, " ".join(random_texts(rng)), "aé xb<s>"]:
        assert again.encode(text, allowed_special="all") == tokenizer.encode(text, allowed_special="all")


# Files that are refused.


DAMAGE: dict[str, tuple[dict[str, Any], str]] = {
    "no tokenizer": ({"model": None}, r"it contains no tokenizer \(no tokenizer\.ggml\.model\)"),
    "rwkv": ({"model": Typed(STRING, b"rwkv")}, "of the kind 'rwkv'; fastbpe reads gpt2, llama, t5, bert, gemma4"),
    "model of a number": ({"model": Typed(UINT32, 5)}, "model: expected a string, found 5"),
    "unknown pre": ({"pre": Typed(STRING, b"parrot")}, "pre: 'parrot' is not the name of a split pattern"),
    "pre that is not UTF-8": ({"pre": Typed(STRING, b"\xff")}, r"pre: b'\\xff' is not UTF-8"),
    "no tokens": ({"tokens": None}, "tokens: expected an array of strings, but the key is missing"),
    "tokens of numbers": ({"tokens": Typed(UINT32, [1, 2], True)}, "tokens: expected an array of strings"),
    "one token twice": ({"tokens": strings(*SHOWN, "ab", "ab", *"xyz")}, "the ids 256 and 257 are both the token"),
    "types": ({"token_type": Typed(INT32, [1], True)}, "token_type: 1 items for 261 tokens"),
    "unknown type": ({"token_type": Typed(INT32, [9] * 261, True)}, "token 0 is of the type 9"),
    "no merges": ({"merges": None}, "merges: expected an array of strings"),
    "merge without a token": ({"merges": strings("a zz")}, "merge 0, b'a zz': expected two tokens"),
    "merge to no token": ({"merges": strings("a c")}, "merge 0, b'a c': expected two tokens"),
    "merge of one token": ({"merges": strings("ab")}, "merge 0, b'ab': expected two tokens"),
    "flag of a number": ({"add_bos_token": Typed(UINT32, 1)}, "add_bos_token: expected true or false, found 1"),
}  # fmt: skip
POINT_DAMAGE: dict[str, tuple[dict[str, Any], str]] = {
    "no scores": ({"scores": None}, "scores: expected an array of floats"),
    "few scores": ({"scores": Typed(FLOAT32, [0.0], True)}, "scores: 1 items for 265 tokens"),
    "empty piece": ({"tokens": strings("", *"abc"), "token_type": Typed(INT32, [1] * 4, True),
                     "scores": Typed(FLOAT32, [0.0] * 4, True)}, "piece 0 is empty"),
    "no unknown piece": ({"tokens": strings("a"), "token_type": Typed(INT32, [1], True),
                          "scores": Typed(FLOAT32, [0.0], True)}, "no piece is of type UNKNOWN"),
}  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGE)
def test_damaged_byte_level_keys_raise_format_error(kind: str) -> None:
    changes, message = DAMAGE[kind]
    with pytest.raises(FormatError, match=message):
        fastbpe.load(written(**changes))


@pytest.mark.parametrize("kind", POINT_DAMAGE)
def test_damaged_code_point_keys_raise_format_error(kind: str) -> None:
    changes, message = POINT_DAMAGE[kind]
    with pytest.raises(FormatError, match=message):
        fastbpe.load(written(**point_keys(**changes)))


def test_ids_of_roles_beyond_the_tokens_are_passed_over() -> None:
    tokenizer = fastbpe.load(written(bos_token_id=Typed(UINT32, 5000)))
    assert tokenizer.bos_token_id is None
    assert tokenizer.encode_with_template("ab") == [256]


def head(n_keys: int, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, 0, n_keys)


def key(name: bytes, kind: int) -> bytes:
    return struct.pack("<Q", len(name)) + name + struct.pack("<I", kind)


BYTES_OF_FILES = {
    "truncated head": (b"GGUF\3\0\0\0\1", "byte 8: the file ends here, 7 bytes too early"),
    "version 1": (head(0, 1), "GGUF: version 1; fastbpe reads the versions 2 and 3"),
    "big-endian": (b"GGUF" + struct.pack(">IQQ", 3, 0, 0), "GGUF: a big-endian file"),
    "many keys": (head(1 << 60), "1152921504606846976 keys; the limit is"),
    "missing key": (head(1), "byte 24: the file ends here, 8 bytes too early"),
    "long key": (head(1) + struct.pack("<Q", 1 << 63), "the file ends here"),
    "huge key": (head(1) + struct.pack("<Q", 70_000) + b"k" * 70_000, "a key of 70000 bytes"),
    "same key": (head(2) + (key(b"tokenizer.ggml.a", 4) + bytes(4)) * 2, "'tokenizer.ggml.a' appears twice"),
    "unknown type": (head(1) + key(b"a", 77), "'a' has the unknown type 77"),
    "array of arrays": (
        head(1) + key(b"a", 9) + struct.pack("<IQ", 9, 1),
        "items of the type 9, which fastbpe cannot read",
    ),
    "array of nothing": (head(1) + key(b"a", 9) + struct.pack("<IQ", 99, 1), "items of the type 99"),
    "long array": (head(1) + key(b"a", 9) + struct.pack("<IQ", 12, 1 << 61), "the file ends here"),
    "long array that is kept": (
        head(1) + key(b"tokenizer.ggml.scores", 9) + struct.pack("<IQ", 6, 1 << 40),
        "more than .* entries",
    ),
    "many strings": (head(1) + key(b"a", 9) + struct.pack("<IQ", 8, 1 << 40), "more than .* entries"),
    "strings that end": (head(1) + key(b"a", 9) + struct.pack("<IQ", 8, 1 << 20), "the file ends here, 8 bytes"),
}


@pytest.mark.parametrize("kind", BYTES_OF_FILES)
def test_damaged_metadata_raises_format_error(kind: str) -> None:
    data, message = BYTES_OF_FILES[kind]
    with pytest.raises(FormatError, match=message):
        fastbpe.load(data)


def test_every_truncation_and_random_damage_raises_format_error_or_loads() -> None:
    data = written()
    end = len(data.rstrip(b"\0"))
    for at in range(8, end, 41):
        with pytest.raises(FormatError):
            fastbpe.load(data[:at])
    rng = random.Random(7)
    for original in (data, written(**point_keys())):
        for _ in rounds(60, 3000):
            damaged = bytearray(original)
            for _ in range(rng.randint(1, 4)):
                damaged[rng.randrange(4, len(damaged))] = rng.randrange(256)
            with contextlib.suppress(FormatError):
                fastbpe.load(bytes(damaged)).encode("abc ab")


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Tokenizer.from_merges([(97, 98)], pattern="cl100k"),
            "llama.cpp has no name for the pattern of this tokenizer",
        ),
        (lambda: Tokenizer.from_merges([(97, 98)], pattern=None), "llama.cpp knows gpt2, o200k, llama3"),
        (lambda: Tokenizer.from_merges([(97, 98)], pattern="tekken"), "with the split pattern tekken, llama.cpp"),
        (
            lambda: Tokenizer.from_ranks({**BYTES, b"xyz": 256}, pattern="qwen2"),
            "no merge produces 1 of this tokenizer's tokens, b'xyz'",
        ),
        (
            lambda: Tokenizer.from_merges([], pattern="qwen2").with_tokens([AddedToken("<x>", 256, lstrip=True)]),
            r"cannot store the flags \(.*\) of the added token '<x>'",
        ),
        (
            lambda: Tokenizer.from_merges([], pattern="qwen2", special_tokens={"Ġ": 256}),
            "the ids 32 and 256 would both be written as 'Ġ'",
        ),
        (
            lambda: fastbpe.load(data_file("vocab", "bpemb_en_wiki_vs100000.model")),
            "the removal of extra white space",
        ),
        (
            lambda: fastbpe.load(data_file("vocab", "phi3_mini_tokenizer.json")),
            "a GGUF file cannot store the added token '</s>', whose flags",
        ),
    ],
)
def test_vocabulary_that_the_format_cannot_hold_is_refused(make: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=message):
        make().export(tmp_path / "x.gguf")
    assert not (tmp_path / "x.gguf").exists()


def test_tensors_are_not_read(tmp_path: Path) -> None:
    """A sparse file of 1 TB stands for a model with its tensors."""
    path = tmp_path / "x.gguf"
    path.write_bytes(written())
    try:
        with open(path, "r+b") as file:
            file.truncate(1 << 40)
    except OSError:
        pytest.skip("this file system has no sparse files of 1 TB")
    assert fastbpe.load(path) == fastbpe.load(written())
