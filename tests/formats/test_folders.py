"""Folders of models, and files of every format recognised by their contents."""

import json
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, Tokenizer
from fastbpe.formats import chat_templates
from fastbpe.formats.sentencepiece import model_file
from fastbpe.model import PieceType
from fastbpe.normalization.sentencepiece_rules import charsmap
from helpers.bounds import within
from helpers.codepoint_models import model_of
from helpers.segmented_models import unigram_model
from helpers.shared_data import BYTES, data_file, published

RANKS = {**BYTES, b"ab": 256, b"abc": 257}
PLAIN = Tokenizer.from_ranks(RANKS, pattern="gpt2")
SPECIAL = {"<|a|>": 300, "<|b|>": 301}


def fill(folder: Path, **files: Any) -> Path:
    """Write JSON files named by the keyword arguments."""
    for name, value in files.items():
        text = value if isinstance(value, str) else json.dumps(value)
        (folder / f"{name}.json").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize("format", ["native", "tiktoken", "gpt2", "minbpe"])
@pytest.mark.parametrize("name", ["tokenizer.model", "any.name", "tokenizer.json"])
def test_format_is_recognised_by_contents(format: str, name: str, tmp_path: Path) -> None:
    """The file name does not matter."""
    arguments: dict[str, Any] = {} if format in ("native", "minbpe") else {"pattern": "gpt2"}
    if format == "gpt2":
        PLAIN.export(tmp_path, format=format)
        (tmp_path / "merges.txt").rename(tmp_path / "x-merges.txt")
        (tmp_path / "vocab.json").rename(tmp_path / "x-vocab.json")
        assert fastbpe.load(tmp_path / "x-vocab.json", **arguments) == PLAIN
        return
    PLAIN.export(tmp_path / name, format=format)
    assert fastbpe.load(tmp_path / name, **arguments) == PLAIN
    assert fastbpe.load((tmp_path / name).read_bytes(), **arguments) == PLAIN


@pytest.mark.parametrize(
    ("format", "name"),
    [
        ("native", "x.fbpe"),
        ("tiktoken", "x.tiktoken"),
        ("tiktoken", "tokenizer.model"),
        ("minbpe", "tokenizer.model"),
    ],
)
def test_folder_with_one_tokenizer_file_loads(format: str, name: str, tmp_path: Path) -> None:
    PLAIN.export(tmp_path / name, format=format)
    (tmp_path / "README.md").write_text("# a model")
    assert fastbpe.load(tmp_path, **({"pattern": "gpt2"} if format == "tiktoken" else {})) == PLAIN


def test_folder_with_several_formats_prefers_in_a_fixed_order(tmp_path: Path) -> None:
    others = [Tokenizer.from_ranks({**RANKS, b"x" * n: 258}, pattern="gpt2") for n in range(2, 6)]
    others[0].export(tmp_path / "x.fbpe", format="native")
    assert fastbpe.load(tmp_path) == others[0]
    others[1].export(tmp_path / "x.tiktoken", format="tiktoken")
    assert fastbpe.load(tmp_path, pattern="gpt2") == others[1]
    PLAIN.export(tmp_path, format="gpt2")
    assert fastbpe.load(tmp_path, pattern="gpt2") == PLAIN
    others[2].export(tmp_path / "tokenizer.model", format="tiktoken")
    assert fastbpe.load(tmp_path, pattern="gpt2") == others[2]


def test_folder_without_or_with_several_tokenizers_raises_format_error(tmp_path: Path) -> None:
    with pytest.raises(
        FormatError, match=r"no tokenizer in this folder; looked for tokenizer\.json.*\*\.fbpe"
    ) as error:
        fastbpe.load(tmp_path)
    assert str(tmp_path) in str(error.value)
    for name in ("a.fbpe", "b.fbpe"):
        PLAIN.save(tmp_path / name)
    with pytest.raises(FormatError, match=r"2 \*\.fbpe files: a\.fbpe, b\.fbpe; pass the path of one"):
        fastbpe.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "named"),
    [("source.spm", "MarianTokenizer"), ("bpe.codes", "PhoBERT"), ("vocab.json", "Wav2Vec2CTCTokenizer")],
)
def test_folder_with_half_a_tokenizer_says_what_its_file_is(name: str, named: str, tmp_path: Path) -> None:
    (tmp_path / name).touch()
    with pytest.raises(FormatError, match=f"no tokenizer in this folder that fastbpe reads; {name} is .*{named}"):
        fastbpe.load(tmp_path)


def test_vocabulary_beside_codes_is_not_read_as_berts(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("lo@@ 1\nw 2\n[UNK] 3\n")
    (tmp_path / "bpe.codes").write_text("l o 1\n")
    with pytest.raises(FormatError, match=r"bpe\.codes is .*PhoBERT's folder also needs vocab\.txt"):
        fastbpe.load(tmp_path)


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"tokenizer_class": "MyT5Tokenizer"}, r"the class MyT5Tokenizer \(it needs no vocabulary"),
        (
            {"tokenizer_class": "Wav2Vec2CTCTokenizer"},
            r"Wav2Vec2CTCTokenizer \(its tokens are characters\): load the",
        ),
        (
            {"tokenizer_class": "CanineTokenizer"},
            r"CanineTokenizer \(its ids are code points, without a vocabulary",
        ),
    ],
)
def test_folder_without_a_file_that_is_read_says_what_its_class_does(
    config: dict[str, str], said: str, tmp_path: Path
) -> None:
    fill(tmp_path, tokenizer_config=config)
    with pytest.raises(FormatError, match=said):
        fastbpe.load(tmp_path)


def test_special_tokens_are_read_from_files_beside_gpt2_files(tmp_path: Path) -> None:
    """As transformers does: ids in the files give the order, and the class names <|endoftext|>."""
    PLAIN.export(tmp_path, format="gpt2")
    decoder = {"300": {"content": "<|a|>", "special": True, "lstrip": False}, "301": {"content": "<t>"}}
    fill(tmp_path, tokenizer_config={"tokenizer_class": "GPT2Tokenizer", "added_tokens_decoder": decoder})
    loaded = fastbpe.load(tmp_path)
    assert loaded.special_tokens == {"<|a|>": 258, "<|endoftext|>": 260}
    assert loaded.encode("ab<t>") == [256, 259]
    assert loaded.decode([256, 259, 258], skip_special_tokens=True) == "ab<t>"
    fill(tmp_path, tokenizer_config={"tokenizer_class": "GPT2TokenizerFast"}, added_tokens={"<t>": 300})
    fill(tmp_path, special_tokens_map={"eos_token": {"content": "<|a|>", "lstrip": True}, "bos_token": "<|a|>"})
    loaded = fastbpe.load(tmp_path)
    assert loaded.special_tokens == {"<|a|>": 259, "<|endoftext|>": 260}
    assert loaded.encode("ab <t>", allowed_special="all") == [256, 32, 258]
    assert loaded.eos_token_id == 259
    assert fastbpe.load(tmp_path, special_tokens={"<|z|>": 400}).special_tokens == {"<|z|>": 400}


def test_tokens_that_look_special_are_not_unless_a_known_class_names_them(tmp_path: Path) -> None:
    PLAIN.with_special_tokens({"END": 300, "<|a|>": 301}).export(tmp_path, format="gpt2")
    assert fastbpe.load(tmp_path, pattern="gpt2").special_tokens == {"<|a|>": 301}
    fill(tmp_path, special_tokens_map={"pad_token": "END", "additional_special_tokens": ["<|a|>"]})
    again = fastbpe.load(tmp_path, pattern="gpt2")
    assert again.special_tokens == {"END": 300, "<|a|>": 301}
    assert again.encode("abEND", allowed_special="all") == [256, 300]
    fill(tmp_path, special_tokens_map={"eos_token": "END"}, tokenizer_config={"tokenizer_class": "GPT2Tokenizer"})
    again = fastbpe.load(tmp_path)
    assert again.special_tokens.keys() == {"END", "<|endoftext|>"}
    assert again.decode(again.encode("<|a|>")) == "<|a|>" == again.decode([301])


def test_special_tokens_are_read_from_files_beside_ranks(tmp_path: Path) -> None:
    """As transformers does: tokens with ids keep them, and the ids between become reserved tokens."""
    PLAIN.export(tmp_path / "tokenizer.model", format="tiktoken")
    decoder = {"259": {"content": "<think>", "special": False}, "260": {"content": "<e>", "special": True}}
    fill(tmp_path, tokenizer_config={"added_tokens_decoder": decoder, "eos_token": "<e>", "bos_token": "<s>"})
    loaded = fastbpe.load(tmp_path, pattern="gpt2")
    assert loaded.special_tokens == {"<|reserved_token_258|>": 258, "<e>": 260, "<s>": 261}
    assert loaded.encode("ab<think>") == [256, 259]
    assert loaded.decode([256, 259, 260], skip_special_tokens=True) == "ab<think>"
    assert (loaded.eos_token_id, loaded.bos_token_id) == (260, 261)
    assert fastbpe.load(tmp_path, pattern="gpt2", special_tokens={"<s>": 400}).special_tokens == {"<s>": 400}


def test_token_far_beyond_the_ranks_raises_format_error(tmp_path: Path) -> None:
    PLAIN.export(tmp_path / "tokenizer.model", format="tiktoken")
    fill(tmp_path, added_tokens={"<|a|>": 1 << 30})
    with pytest.raises(
        FormatError, match="id 1073741824, far beyond its 258 ranks; the ids between become reserved tokens"
    ):
        fastbpe.load(tmp_path, pattern="gpt2")


@pytest.mark.daily
def test_llama3_and_qwen2_load_as_folders(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.model").symlink_to(data_file("vocab", "llama3_tokenizer.model").resolve())
    fill(tmp_path, added_tokens={"<|begin_of_text|>": 128000}, tokenizer_config={"bos_token": "<|begin_of_text|>"})
    assert fastbpe.load(tmp_path, pattern="llama3") == published("llama3")
    qwen = tmp_path / "qwen"
    qwen.mkdir()
    for name in ("vocab.json", "merges.txt"):
        (qwen / name).symlink_to(data_file("vocab", f"qwen2_{name}").resolve())
    decoder = {
        "151643": {"content": "<|endoftext|>", "special": True},
        "151644": {"content": "<|im_start|>", "special": True},
    }
    config = {"tokenizer_class": "Qwen2Tokenizer", "pad_token": "<|endoftext|>", "added_tokens_decoder": decoder}
    fill(qwen, tokenizer_config=config)
    loaded, known = fastbpe.load(qwen), published("qwen2")
    assert loaded.special_tokens == known.special_tokens
    assert loaded.encode("Ünïcode 123 e\u0301") == known.encode("Ünïcode 123 \u00e9")  # its class applies NFC


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"tokenizer_config": "{"}, "tokenizer_config.json: not JSON"),
        ({"tokenizer_config": "[" * 100_000}, "tokenizer_config.json: not JSON"),
        ({"special_tokens_map": "[]"}, "special_tokens_map.json: expected a JSON object, found list"),
        ({"added_tokens": {"<s>": "1"}}, "added_tokens.json: '<s>' has the id '1', which is not an integer"),
        (
            {"tokenizer_config": {"added_tokens_decoder": {"x": "<s>"}}},
            "added_tokens_decoder: expected an id from 0 to 2147483647 and an object with content and flags, "
            "found 'x'",
        ),
        *(
            (
                {"tokenizer_config": {"added_tokens_decoder": {key: {"content": "<e>"}}}},
                "and an object with content and flags, found",
            )
            for key in ("0" * 11 + "9" * 100, "0" * 11 + "9" * 5000, "1e3", "-1", "")
        ),
        (
            {"special_tokens_map": {"extra_special_tokens": {"image_token": 5}}},
            "special_tokens_map.json: image_token: transformers accepts a text, or an object",
        ),
        (
            {"tokenizer_config": {"added_tokens_decoder": {"5": 6}}},
            "an object with content and flags, found '5': 6",
        ),
        (
            {"tokenizer_config": {"tokenizer_class": "Qwen2Tokenizer", "add_prefix_space": True}},
            "would put a space before each piece, which fastbpe does not support",
        ),
        (
            {"tokenizer_config": {"eos_token": {"content": "<e>"}}},
            'eos_token: transformers accepts a text, or an object with "__type": "AddedToken"',
        ),
        (
            {"special_tokens_map": {"additional_special_tokens": [{"content": "<e>"}]}},
            "special_tokens_map.json: additional_special_tokens[0]: transformers accepts a text, or an object",
        ),
        (
            {"special_tokens_map": {"extra_special_tokens": [{"content": "<e>", "special": True}]}},
            "special_tokens_map.json: extra_special_tokens: a token here must not have the key 'special'",
        ),
        (
            {"special_tokens_map": {"additional_special_tokens": {"content": "<e>"}}},
            "additional_special_tokens: transformers accepts only a list of tokens in this file, not an object",
        ),
        (
            {"tokenizer_config": {"additional_special_tokens": 5}},
            "tokenizer_config.json: additional_special_tokens: transformers accepts only a list of tokens",
        ),
        (
            {"tokenizer_config": {"extra_special_tokens": 5}},
            "tokenizer_config.json: extra_special_tokens: transformers accepts only a list of tokens",
        ),
        (
            {"tokenizer_config": {"added_tokens_decoder": {"300": {"content": "<e>", "lstrip": 1}}}},
            "tokenizer_config.json: added_tokens_decoder.300: expected a token with a text and flags",
        ),
        (
            {"tokenizer_config": {"tokenizer_class": "RobertaTokenizer", "cls_token": None}},
            "its class puts cls_token and sep_token around texts, but no special token is set as cls_token;",
        ),
    ],
)
def test_damage_is_named_with_its_file(files: dict[str, Any], message: str, tmp_path: Path) -> None:
    PLAIN.export(tmp_path, format="gpt2")
    fill(tmp_path, **files)
    with pytest.raises(FormatError) as error:
        fastbpe.load(tmp_path, pattern="gpt2")
    assert message in str(error.value)
    assert str(tmp_path) in str(error.value)


def test_chat_template_whose_name_is_no_text_is_ignored(tmp_path: Path) -> None:
    named = {"name": "tool", "template": "{{ messages }}"}
    fill(tmp_path, tokenizer_config={"chat_template": [{**named, "name": ["tool"]}, named]})
    chat = chat_templates.find(tmp_path)
    assert chat is not None
    assert chat.templates == {"tool": "{{ messages }}"}


def test_equal_tokens_of_two_files_count_once(tmp_path: Path) -> None:
    PLAIN.export(tmp_path, format="gpt2")
    names = [f"<{i}>" for i in range(20_000)]
    older = {"extra_special_tokens": [*names[10_000:], "<x>"]}
    fill(tmp_path, tokenizer_config={"extra_special_tokens": names}, special_tokens_map=older)
    tokenizer = fastbpe.load(tmp_path, pattern="gpt2")
    assert [*tokenizer.special_tokens] == [*names, "<x>"]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"hello",
        b"\n\n\n",
        b"{}",
        b"[1, 2]",
        b'{"version": "1.0"}',
        b"\x00" * 100,
        b"\x7fELF",
        b"a b c\n",
        b"\n\x05\n",
    ],
)
def test_file_without_a_tokenizer_raises_format_error(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "x.bin"
    path.write_bytes(data)
    for source in (path, data):
        with pytest.raises(FormatError):
            fastbpe.load(source, pattern="gpt2")


def test_special_tokens_are_read_from_files_beside_a_sentencepiece_model(tmp_path: Path) -> None:
    pieces = [(b"<unk>", 0.0, PieceType.UNKNOWN), (b"<s>", 0.0, PieceType.CONTROL), (b"a", -1.0, PieceType.NORMAL)]
    (tmp_path / "tokenizer.model").write_bytes(model_of(pieces))
    fill(tmp_path, special_tokens_map={"bos_token": "<s>", "unk_token": "<unk>", "pad_token": "<pad>"})
    assert fastbpe.load(tmp_path).special_tokens == {"<s>": 1, "<pad>": 3}
    fill(tmp_path, added_tokens={"<x>": 7, "<pad>": 8})
    loaded = fastbpe.load(tmp_path)
    assert loaded.special_tokens == {"<unk>": 0, "<s>": 1, "<pad>": 4}
    assert loaded.encode("a<x>")[-1] == 3
    assert loaded.decode([3, 4], skip_special_tokens=True) == "<x>"
    (tmp_path / "added_tokens.json").unlink()
    pad = {"content": "<pad>", "normalized": True}
    fill(tmp_path, special_tokens_map={"pad_token": pad})
    with pytest.raises(
        FormatError, match="set flags of the added token '<pad>' that fastbpe does not support in a model with a "
    ):
        fastbpe.load(tmp_path)
    fill(tmp_path, special_tokens_map={"pad_token": "a\0"})
    with pytest.raises(
        FormatError, match=r"the files next to it name the token 'a\\x00': no piece may contain a NUL"
    ):
        fastbpe.load(tmp_path)


@pytest.mark.parametrize("side", ["lstrip", "rstrip"])
def test_normalized_token_that_strips_is_refused_beside_a_model_with_escaped_spaces(
    tmp_path: Path, side: str
) -> None:
    """Only where spaces have become U+2581 are such tokens searched, so transformers strips none."""
    pieces = [(b"<unk>", 0.0, PieceType.UNKNOWN), (b"<s>", 0.0, PieceType.CONTROL), (b"a", -1.0, PieceType.NORMAL)]
    plain = {"add_dummy_prefix": False, "remove_extra_whitespaces": False}
    (tmp_path / "tokenizer.model").write_bytes(model_of(pieces, normalizer=plain))
    token = {"content": "<x>", "normalized": False, side: True}
    fill(tmp_path, special_tokens_map={"pad_token": token})
    ids = {"lstrip": [2, 3, 0, 2], "rstrip": [2, 0, 3, 2]}[side]  # 0: spaces, which the model lacks
    assert fastbpe.load(tmp_path).encode("a  <x>  a", allowed_special="all") == ids
    fill(tmp_path, special_tokens_map={"pad_token": {**token, "normalized": True}})
    with pytest.raises(FormatError, match=r"added token '<x>' that fastbpe does not support in a model with U\+2"):
        fastbpe.load(tmp_path)


def test_sentencepiece_models_are_recognised() -> None:
    for name in ("llama2_tokenizer.model", "mistral_v3_tokenizer.model", "bpemb_en_wiki_vs100000.model"):
        assert fastbpe.load(data_file("vocab", name)).mode == "codepoint"
    assert fastbpe.load(data_file("vocab", "sp_test_model.model")).model_type == "Unigram"


@pytest.mark.parametrize("name", ["spiece.model", "sentencepiece.bpe.model", "tokenizer.model.v3"])
def test_sentencepiece_model_under_another_name_loads_as_folder(name: str, tmp_path: Path) -> None:
    pieces = [(b"<unk>", 0.0, PieceType.UNKNOWN), (b"<s>", 0.0, PieceType.CONTROL), (b"a", -1.0, PieceType.NORMAL)]
    (tmp_path / name).write_bytes(model_of(pieces))
    fill(tmp_path, tokenizer_config={"pad_token": "<pad>"})
    assert fastbpe.load(tmp_path).special_tokens == {"<s>": 1, "<pad>": 3}


def test_two_versions_of_a_model_are_named(tmp_path: Path) -> None:
    for version in "12":
        (tmp_path / f"tokenizer.model.v{version}").write_bytes(b"x")
    with pytest.raises(
        FormatError,
        match=r"2 tokenizer\.model\.v\* files: tokenizer\.model\.v1, tokenizer\.model\.v2; pass the path",
    ):
        fastbpe.load(tmp_path)


def test_kimi_folder_is_split_as_kimi(tmp_path: Path) -> None:
    PLAIN.export(tmp_path / "tiktoken.model", format="tiktoken")
    decoder = {"258": {"content": "[BOS]", "special": True}, "259": {"content": "<think>"}}
    fill(tmp_path, tokenizer_config={"tokenizer_class": "TikTokenTokenizer", "added_tokens_decoder": decoder})
    loaded = fastbpe.load(tmp_path)
    assert loaded.pattern == fastbpe.PATTERNS["kimi"]
    assert loaded.encode("ab<think>") == [256, 259]


@pytest.mark.daily
def test_kimi_k2_loads_as_folder(tmp_path: Path) -> None:
    (tmp_path / "tiktoken.model").symlink_to(data_file("zoo", "kimi-k2/ranks.tiktoken").resolve())
    decoder = {"163584": {"content": "[BOS]", "special": True}, "163839": {"content": "[PAD]", "special": True}}
    fill(tmp_path, tokenizer_config={"tokenizer_class": "TikTokenTokenizer", "added_tokens_decoder": decoder})
    loaded = fastbpe.load(tmp_path)
    assert (loaded.pattern, loaded.n_vocab) == (fastbpe.PATTERNS["kimi"], 163840)
    assert loaded.decode(loaded.encode("日本語 text 123")) == "日本語 text 123"


CONTROLS = [(b"<s>", 0.0, PieceType.CONTROL), (b"</s>", 0.0, PieceType.CONTROL)]
SCORES = {"▁": -2.0, "a": -2.0, "b": -2.0, "▁a": -1.0}
PIECES = [(piece.encode(), score, PieceType.NORMAL) for piece, score in SCORES.items()]
FAIRSEQ = [(b"<unk>", 0.0, PieceType.UNKNOWN), *CONTROLS, *PIECES]
T5 = [(b"<pad>", 0.0, PieceType.CONTROL), CONTROLS[1], (b"<unk>", 0.0, PieceType.UNKNOWN), *PIECES]


# The ids of transformers 5.24; tests/conformance/test_piece_folders.py compares more with transformers itself.
@pytest.mark.parametrize(
    ("name", "pieces", "config", "expected", "around"),
    [
        ("XLMRoberta", FAIRSEQ, {}, [7, 4, 6, 3], ((0,), (2,))),
        ("Camembert", FAIRSEQ, {}, [10, 7, 9, 3], ((5,), (6,))),
        ("MBart", FAIRSEQ, {}, [7, 4, 6, 3], ((), (2, 11))),
        ("MBart", FAIRSEQ, {"src_lang": "fr_XX"}, [7, 4, 6, 3], ((), (2, 15))),
        ("MBart50", FAIRSEQ, {}, [7, 4, 6, 3], ((11,), (2,))),
        ("Nllb", FAIRSEQ, {"extra_special_tokens": ["eng_Latn"]}, [7, 4, 6, 3], ((9,), (2,))),
        ("T5", T5, {}, [6, 3, 5, 2], ((), (1,))),
        ("Pegasus", T5, {}, [109, 106, 108, 105], ((), (1,))),
        ("BigBird", FAIRSEQ, {}, [6, 3, 5, 0], ((9,), (7,))),
        ("LayoutXLM", FAIRSEQ, {}, [7, 4, 6, 3], ((0,), (2,))),
        ("MLuke", FAIRSEQ, {}, [6, 3, 5, 0], ((1,), (2,))),
        ("SeamlessM4T", FAIRSEQ, {"extra_special_tokens": ["__fra__"]}, [7, 4, 6, 1], ((3, 8), (3,))),
        ("Udop", T5, {}, [6, 3, 5, 2], ((), (1,))),
        ("VideoPrism", T5, {}, [6, 3, 5, 2], ((), ())),
        ("Tipsv2", FAIRSEQ, {}, [6, 3, 5], ((), ())),
    ],
)
def test_model_of_a_class_has_the_ids_of_the_class(
    name: str, pieces: Any, config: dict[str, Any], expected: list[int], around: Any, tmp_path: Path
) -> None:
    (tmp_path / "spiece.model").write_bytes(model_file.dump(unigram_model(pieces, {"unk_id": 0}, None)))
    fill(tmp_path, tokenizer_config={"tokenizer_class": f"{name}Tokenizer", **config})
    tokenizer = fastbpe.load(tmp_path)
    assert tokenizer.encode("a bc") == expected
    assert tokenizer.encode_with_template("a bc") == [*around[0], *expected, *around[1]]


@pytest.mark.parametrize(
    ("name", "key", "is_special"),
    [
        ("T5", "additional_special_tokens", False),  # as in the folders of mT5
        ("T5", "extra_special_tokens", False),
        ("Udop", "extra_special_tokens", True),
    ],
)
def test_null_leaves_out_the_control_symbols_of_a_model_if_its_class_says_so(
    name: str, key: str, is_special: bool, tmp_path: Path
) -> None:
    pieces = [*T5, (b"<ctl>", 0.0, PieceType.CONTROL)]
    (tmp_path / "spiece.model").write_bytes(model_file.dump(unigram_model(pieces, {"unk_id": 2}, None)))
    fill(tmp_path, tokenizer_config={"tokenizer_class": f"{name}Tokenizer", key: None})
    assert ("<ctl>" in fastbpe.load(tmp_path).special_tokens) == is_special


def test_model_with_a_long_piece_takes_linear_time(tmp_path: Path) -> None:
    pieces = [(b"<unk>", 0.0, PieceType.UNKNOWN), *PIECES, (b"b" * 1_000_000, -9.0, PieceType.NORMAL)]
    (tmp_path / "spiece.model").write_bytes(model_of(pieces))
    fill(tmp_path, tokenizer_config={"tokenizer_class": "ReformerTokenizer"})
    with within(10):  # takes a fifth of a second
        assert fastbpe.load(tmp_path).encode("a") == [4]


def test_model_without_the_unknown_piece_of_its_class_is_refused(tmp_path: Path) -> None:
    (tmp_path / "spiece.model").write_bytes(model_file.dump(unigram_model(FAIRSEQ, None, None)))
    fill(tmp_path, tokenizer_config={"tokenizer_class": "PegasusTokenizer"})
    with pytest.raises(FormatError, match=r"spiece\.model: transformers cannot make a PegasusTokenizer from this"):
        fastbpe.load(tmp_path)


def test_blenderbot_puts_a_space_before_texts_whatever_its_tokenizer_json_says(tmp_path: Path) -> None:
    tokenizer = Tokenizer.from_ranks({**RANKS, b" a": 258}, pattern="gpt2")
    tokenizer.export(tmp_path / "tokenizer.json")
    for config, expected in (({}, [258]), ({"add_prefix_space": False}, [97])):
        fill(tmp_path, tokenizer_config={"tokenizer_class": "BlenderbotTokenizer", **config})
        loaded = fastbpe.load(tmp_path)
        assert loaded.encode("a") == expected
        loaded.export(tmp_path / "again.json", format="huggingface")
        assert fastbpe.load(tmp_path / "again.json").encode("a") == expected


def test_two_files_with_a_space_before_texts_are_exported_as_tokenizer_json(tmp_path: Path) -> None:
    Tokenizer.from_ranks({**RANKS, b" a": 258}, pattern="gpt2").export(tmp_path, format="gpt2")
    fill(tmp_path, tokenizer_config={"tokenizer_class": "BlenderbotTokenizer", "eos_token": "</s>"})
    loaded = fastbpe.load(tmp_path)
    loaded.export(tmp_path / "new.json", format="huggingface")
    steps = json.loads((tmp_path / "new.json").read_text(encoding="utf-8"))["pre_tokenizer"]
    assert (steps["type"], steps["add_prefix_space"]) == ("ByteLevel", True)
    made = fastbpe.load(tmp_path / "new.json")
    for text in ("a", " a", "", "a</s>a", "a a", "</s> a"):
        assert made.encode(text, allowed_special="all") == loaded.encode(text, allowed_special="all")


def test_entry_of_vocab_json_that_stands_for_no_bytes_is_found_only_if_a_file_names_it(tmp_path: Path) -> None:
    PLAIN.export(tmp_path, format="gpt2")
    vocab = json.loads((tmp_path / "vocab.json").read_text(encoding="utf-8"))
    texts = ["<x y>", "<中>", "\u4e2d\u4e2d", " "]
    vocab |= {text: len(vocab) + i for i, text in enumerate(texts)}
    fill(tmp_path, vocab=vocab, tokenizer_config={"tokenizer_class": "GPT2Tokenizer", "pad_token": "<中>"})
    loaded = fastbpe.load(tmp_path)
    for text in texts:
        expected = [vocab[text]] if text == "<中>" else [*text.encode()]
        assert loaded.encode(text, allowed_special={"<中>"}) == expected
        assert loaded.decode([vocab[text]]) == text
    del vocab[" "]
    fastbpe.load(fill(tmp_path, vocab=vocab)).export(tmp_path / "new.json", format="huggingface")
    assert fastbpe.load(tmp_path / "new.json").encode("<x y>") == [*b"<x y>"]
    fill(tmp_path, vocab={**{text: i for text, i in vocab.items() if text != "Ġ"}, " ": vocab["Ġ"]})
    with pytest.raises(FormatError, match=r"vocab\.json: token 32, ' ', is not spelled in GPT-2's characters"):
        fastbpe.load(tmp_path)


def test_native_file_in_a_folder_keeps_its_chat_template(tmp_path: Path) -> None:
    PLAIN.save(tmp_path / "a.fbpe")
    (tmp_path / "chat_template.jinja").write_text("{{ messages }}")
    fastbpe.load(fill(tmp_path, tokenizer_config={"bos_token": "<s>"})).save(tmp_path / "a.fbpe")
    (tmp_path / "chat_template.jinja").unlink()
    chat = fastbpe.load(tmp_path)._family.chat
    assert chat is not None
    assert chat.templates == {"default": "{{ messages }}"}


def test_luke_joins_both_lists_of_special_tokens(tmp_path: Path) -> None:
    PLAIN.export(tmp_path, format="gpt2")
    roles = {f"{role}_token": "a" for role in ("bos", "eos", "unk", "sep", "pad", "cls", "mask")}
    config = {"tokenizer_class": "LukeTokenizer", "extra_special_tokens": ["<x>"], **roles}
    older = {"additional_special_tokens": [{"content": "<y>", "lstrip": True}]}
    fill(tmp_path, tokenizer_config=config, special_tokens_map=older)
    loaded = fastbpe.load(tmp_path)
    assert "<x>" in loaded.special_tokens
    assert loaded.encode("b  <y>") == [
        98,
        next(token.id for token in loaded.added_tokens if token.content == "<y>"),
    ]


@pytest.mark.parametrize("normalizer", [{}, {"name": "x", "precompiled_charsmap": charsmap("nmt_nfkc")}])
def test_gemma_ignores_the_rules_of_its_model(normalizer: dict[str, Any], tmp_path: Path) -> None:
    pieces = [(text.encode(), -float(i), PieceType.NORMAL) for i, text in enumerate(["▁", "a", "▁a", "▁▁"], 1)]
    (tmp_path / "tokenizer.model").write_bytes(
        model_of([(b"<unk>", 0.0, PieceType.UNKNOWN), *pieces], None, normalizer)
    )
    assert fastbpe.load(tmp_path).encode("a   a") == [3, 3]
    fill(tmp_path, tokenizer_config={"tokenizer_class": "GemmaTokenizer"})
    assert fastbpe.load(tmp_path).encode("a   a") == [2, 4, 3]  # as in transformers 5.24


def test_seamless_model_that_would_give_one_id_to_two_tokens_is_refused(tmp_path: Path) -> None:
    (tmp_path / "spiece.model").write_bytes(model_file.dump(unigram_model(T5, None, None)))
    fill(tmp_path, tokenizer_config={"tokenizer_class": "SeamlessM4TTokenizer"})
    with pytest.raises(FormatError, match=r"spiece\.model: the first pieces must be <unk>, <s> and </s>"):
        fastbpe.load(tmp_path)


@pytest.mark.parametrize(
    ("name", "config", "said"),
    [
        ("Albert", {}, r"puts the cls token around texts, but '\[CLS\]' has no id; the class in"),
        ("Nllb", {"eos_token": None}, "puts the eos token around texts, but no file names it; the class in"),
        (
            "Nllb",
            {"src_lang": "zz", "unk_token": None},
            "puts the language token around texts, but 'zz' has no id",
        ),
    ],
)
def test_token_around_texts_without_an_id_is_named(
    name: str, config: dict[str, Any], said: str, tmp_path: Path
) -> None:
    (tmp_path / "spiece.model").write_bytes(model_file.dump(unigram_model(FAIRSEQ, None, None)))
    fill(tmp_path, tokenizer_config={"tokenizer_class": f"{name}Tokenizer", **config})
    with pytest.raises(FormatError, match=said):
        fastbpe.load(tmp_path)


def test_tokenizer_json_beside_the_model_that_its_class_reads_is_ignored(tmp_path: Path) -> None:
    """As in transformers, where these classes read only their own files."""
    spiece = tmp_path / "spiece.model"
    fill(
        tmp_path,
        tokenizer={"added_tokens": [], "model": {"type": "WordLevel", "vocab": {"a": 0}, "unk_token": "a"}},
    )
    for name in ("PLBart", "BertGeneration"):
        fill(tmp_path, tokenizer_config={"tokenizer_class": f"{name}Tokenizer"})
        assert fastbpe.load(tmp_path).n_vocab == 1
    spiece.write_bytes(model_file.dump(unigram_model(FAIRSEQ, {"unk_id": 0}, None)))
    assert fastbpe.load(tmp_path).n_vocab == len(FAIRSEQ) + 2  # <pad> and <::::>, which the class adds
    fill(tmp_path, tokenizer_config={"tokenizer_class": "PLBartTokenizer"})
    with pytest.raises(FormatError, match="the class PLBartTokenizer gives other ids than this model: encode"):
        fastbpe.load(tmp_path)


@pytest.mark.parametrize("name", ["M2M100", "XGLM", "GPT2"])
def test_model_whose_class_has_rules_of_its_own_is_refused_by_name(name: str, tmp_path: Path) -> None:
    (tmp_path / "sentencepiece.bpe.model").write_bytes(model_file.dump(unigram_model(FAIRSEQ, None, None)))
    fill(tmp_path, tokenizer_config={"tokenizer_class": f"{name}Tokenizer"})
    with pytest.raises(
        FormatError, match=f"the class {name}Tokenizer gives other ids.*pass the path of this file"
    ):
        fastbpe.load(tmp_path)


@pytest.mark.parametrize("name", ["LayoutLMv3", "MarkupLM", "Nougat", "GPTNeoX", "Roberta"])
def test_pattern_replaces_only_the_pattern_of_a_class(name: str, tmp_path: Path) -> None:
    names = ["<s>", "</s>", "<unk>", "<pad>", "<mask>", "<|endoftext|>", "<|padding|>"]
    PLAIN.with_special_tokens({token: 258 + i for i, token in enumerate(names)}).export(tmp_path, format="gpt2")
    fill(tmp_path, tokenizer_config={"tokenizer_class": f"{name}Tokenizer"})
    own, other = fastbpe.load(tmp_path), fastbpe.load(tmp_path, pattern="none")
    assert other.pattern is None
    assert other.special_tokens == own.special_tokens
    assert other.roles == own.roles
    text = "ab\uff41e\u0301"  # one piece with either pattern; NFC and NFKC change it
    assert other.encode_ordinary(text) == own.encode_ordinary(text)
    assert other.encode_with_template(text) == own.encode_with_template(text)
    other.save(tmp_path / "x.fbpe")
    assert fastbpe.load(tmp_path / "x.fbpe").encode_with_template(text) == other.encode_with_template(text)


@pytest.mark.parametrize(
    "files", [("vocab.json", "merges.txt"), ("vocab-src.json", "vocab-tgt.json", "merges.txt")]
)
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("Clvp", "it writes numbers and abbreviations as English words, by functions of Python"),
        *((name, "it finds words with sacremoses, by rules of languages") for name in ("BioGpt", "FSMT", "XLM")),
        ("Flaubert", "it finds words with sacremoses, by rules of languages"),
    ],
)
def test_class_with_functions_of_python_is_refused_with_the_reason(
    name: str, reason: str, files: tuple[str, ...], tmp_path: Path
) -> None:
    for file in files:
        (tmp_path / file).write_text("#version\na b</w>\n" if file == "merges.txt" else '{"a": 0, "ab</w>": 1}')
    fill(tmp_path, tokenizer_config={"tokenizer_class": f"{name}Tokenizer"})
    with pytest.raises(
        FormatError, match=f"{reason}.*encode with transformers, whose class writes no tokenizer.j"
    ):
        fastbpe.load(tmp_path)
