"""Folders of classes with a table, such as BARTpho and BertGeneration: what makes them, what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, InvalidTokenError
from fastbpe.formats import native
from helpers import folder_grid
from helpers.codepoint_models import model_of
from helpers.tensor_items import tensor_items

NORMAL, UNKNOWN, CONTROL, USER_DEFINED, UNUSED = range(1, 6)
PIECES = [
    (b"<unk>", 0.0, UNKNOWN),
    (b"</s>", 0.0, CONTROL),
    ("\u2581".encode(), -3.0, NORMAL),
    ("\u2581a".encode(), -1.0, NORMAL),
    (b"a", -2.0, NORMAL),
    (b"b", -2.0, NORMAL),
]
TOKENS = ["</s>", "<unk>", "\u2581a", "a", "\u2581", "\u4e2d\u56fd", ">>fra<<", "<pad>", "<s>"]
VOCABULARY = {token: i for i, token in enumerate(TOKENS)}


def fill(
    folder: Path, name: str = "Marian", /, pieces: Any = PIECES, vocab: Any = VOCABULARY, **config: Any
) -> Path:
    options = {"model_type": "unigram", **config.pop("trainer", {})}
    data = model_of(pieces, options)
    files = {"source.spm": data, "target.spm": data} if name == "Marian" else {"sentencepiece.bpe.model": data}
    config = {"tokenizer_class": f"{name}Tokenizer", **config}
    folder_grid.write({**files, "vocab.json": vocab, "tokenizer_config.json": config}, folder)
    return folder


def test_table_gives_the_ids_of_pieces_and_of_runs(tmp_path: Path) -> None:
    loaded = fastbpe.load(fill(tmp_path))
    assert (loaded.mode, loaded.model_type, loaded.n_vocab) == ("codepoint", "Unigram", 9)
    assert loaded.encode("a") == [2]
    assert loaded.encode("abb") == [2, 1, 1]  # the table lacks "b"
    assert loaded.encode("\u4e2d\u56fda") == [4, 5, 3]  # one run of characters that the model lacks
    assert loaded.encode("\u4e2d") == loaded.encode("\u4e2d\u56fd\u4e2d") == [4, 1]
    assert loaded.encode(">>fra<< a") == [6, 2]
    assert loaded.encode(">>x<<a") == [1, 2]
    assert loaded.encode_with_template("a", "aa") == [2, 2, 3, 0]
    assert loaded.encode_with_offsets("\u4e2d\u56fda") == ([4, 5, 3], [(0, 1), (0, 2), (2, 3)])
    assert loaded.decode([2, 0, 2]) == "a</s> a"
    assert loaded.decode([2, 0, 2], skip_special_tokens=True) == "a a"
    assert loaded.decode(tensor_items([2, 0, 2]), skip_special_tokens=True) == "a a"
    with pytest.raises(InvalidTokenError, match="id 99 at position 2 is not a token"):
        loaded.decode([2, 0, 99])
    with pytest.raises(ValueError, match="leaves out white space at the end of the decoded text: use decode"):
        loaded.decoder()


@pytest.mark.parametrize("name", ["Marian", "M2M100", "Speech2Text"])
def test_untrusted_text_is_no_special_token_of_the_table(name: str, tmp_path: Path) -> None:
    loaded = fastbpe.load(fill(tmp_path, name))
    assert loaded.encode_parts([("a", True), ("</s>", True)])[-1] == loaded.special_tokens["</s>"]
    for text in ("</s>", "a</s> a</s>"):
        assert loaded.special_tokens["</s>"] not in loaded.encode_parts([(text, False)])
    assert loaded.encode_parts([("\u4e2d\u56fd", False)]) == loaded.encode("\u4e2d\u56fd") == [4, 5]


@pytest.mark.parametrize("model_type", ["unigram", "bpe"])
def test_batch_on_two_threads_has_the_ids_of_each_text(tmp_path: Path, model_type: str) -> None:
    loaded = fastbpe.load(fill(tmp_path, trainer={"model_type": model_type}))
    texts = ["ab \u4e2d\u56fdb a", "\u4e2da\u56fd", "ba"] * 24_000  # enough characters for threads
    expected = [loaded.encode(text) for text in texts[:3]]
    assert loaded.encode_batch(texts, num_threads=2) == expected * 24_000
    assert list(loaded.count_batch(texts, num_threads=2)) == [len(ids) for ids in expected] * 24_000


def test_tokens_that_only_the_table_finds_are_not_reported_as_unused(tmp_path: Path) -> None:
    report = fastbpe.vocabulary_report(fastbpe.load(fill(tmp_path, vocab={**VOCABULARY, "ca": 9})))
    assert {TOKENS.index("\u4e2d\u56fd"), TOKENS.index(">>fra<<")} <= {*report.witnesses}
    assert [*report.impossible] == [9]


def test_model_type_of_the_config_names_the_class(tmp_path: Path) -> None:
    fill(tmp_path)
    folder_grid.write({"tokenizer_config.json": {}, "config.json": {"model_type": "marian"}}, tmp_path)
    assert fastbpe.load(tmp_path).encode("\u4e2d\u56fd") == [4, 5]


def test_added_tokens_take_the_white_space_around_them(tmp_path: Path) -> None:
    token = {"content": "<mask>", "lstrip": True, "rstrip": True, "special": False}
    loaded = fastbpe.load(fill(tmp_path, added_tokens_decoder={"9": token}))
    assert loaded.encode("a \x1c<mask>\u3000\na") == [2, 9, 2]  # white space as in Python


def test_language_of_m2m100_is_put_before_texts(tmp_path: Path) -> None:
    loaded = fastbpe.load(fill(tmp_path, "M2M100", src_lang="am"))
    assert loaded.n_vocab == 9 + 100
    assert loaded.encode_with_template("a") == [10, 2, 0]


def test_pieces_of_speecht5_keep_their_ids(tmp_path: Path) -> None:
    data = model_of([piece for piece in PIECES if len(piece[0].decode()) != 2], {"model_type": "char"})
    config = {"tokenizer_class": "SpeechT5Tokenizer"}
    folder_grid.write({"spm_char.model": data, "tokenizer_config.json": config}, tmp_path)
    loaded = fastbpe.load(tmp_path)
    assert loaded.model_type == "Char"
    assert loaded.encode_with_template("ab \u4e2d\u56fd") == [2, 3, 4, 2, 0, 1]
    assert loaded.decode([2, 3, 2, 4, 1, 2]) == "a b</s>"
    data = model_of(
        [piece for piece in PIECES if len(piece[0].decode()) != 2],
        {"model_type": "char"},
        {"add_dummy_prefix": False, "remove_extra_whitespaces": False},
    )
    folder_grid.write({"spm_char.model": data}, tmp_path)
    loaded = fastbpe.load(tmp_path)
    assert loaded.encode("acc") == loaded.encode("acc", allowed_special="all") == [3, 0]
    assert loaded.encode_batch(["ccb"]) == [[0, 4]]
    folder_grid.write({"tokenizer_config.json": {**config, "normalize": True}}, tmp_path)
    with pytest.raises(FormatError, match="with normalize, the class writes numbers as words before"):
        fastbpe.load(tmp_path)


@pytest.mark.parametrize("symbols", [[], [(b"<::::>", 0.0, USER_DEFINED)]])
def test_bert_generation_adds_its_tokens_and_cleans_up(symbols: Any, tmp_path: Path) -> None:
    data = model_of([*PIECES, ("\u2581.".encode(), -4.0, NORMAL), *symbols], {"model_type": "unigram"})
    config = {"tokenizer_class": "BertGenerationTokenizer", "clean_up_tokenization_spaces": True}
    folder_grid.write({"spiece.model": data, "tokenizer_config.json": config}, tmp_path)
    loaded = fastbpe.load(tmp_path)
    n, roles = len(PIECES) + 1, loaded.roles
    assert (loaded.n_vocab, roles["pad"], roles["sep"]) == (n + 3, "<pad>", "<::::>")
    assert loaded.encode_with_template("a", "a .") == [*loaded.encode("a"), *loaded.encode("a .")]
    assert loaded.encode("<::::>a<pad>", allowed_special="all")[:1] == [loaded.special_tokens["<::::>"]]
    assert loaded.decode(loaded.encode("a a .")) == "a a."
    folder_grid.write({"tokenizer_config.json": {**config, "clean_up_tokenization_spaces": False}}, tmp_path)
    assert fastbpe.load(tmp_path).decode(loaded.encode("a a .")) == "a a ."
    loaded.save(tmp_path / "a.fbpe")
    assert fastbpe.load(tmp_path / "a.fbpe") == loaded
    with pytest.raises(FormatError, match=r"cannot store (a table|the rules of the class SentencePieceBackend)"):
        loaded.export(tmp_path / "x.json", format="huggingface")


def test_unreachable_piece_is_found_as_a_run_of_unknown_characters(tmp_path: Path) -> None:
    """sentencepiece joins unknown characters to one token, whose text may be a piece that no merge makes."""
    run = ("\u4e2d\u56fd".encode(), -1.0, NORMAL)
    long = ("\u4e2d\u56fd\u4eba".encode(), -1.0, NORMAL)
    data = model_of([*PIECES, run, long], {"model_type": "char"})
    config = {"tokenizer_class": "SpeechT5Tokenizer"}
    folder_grid.write({"spm_char.model": data, "tokenizer_config.json": config}, tmp_path)
    assert fastbpe.load(tmp_path).encode("a\u4e2d\u56fd") == [2, 4, 6]
    vocab = {**VOCABULARY, long[0].decode(): 9}
    loaded = fastbpe.load(fill(tmp_path, pieces=[*PIECES, long], vocab=vocab, trainer={"model_type": "bpe"}))
    assert loaded.encode("\u4e2d\u56fd\u4eba") == [4, 9]


def test_types_of_models_that_a_table_numbers(tmp_path: Path) -> None:
    for kind, ids in {"unigram": [2, 1, 3], "bpe": [2, 1, 3], "char": [4, 3, 1, 3]}.items():
        loaded = fastbpe.load(fill(tmp_path, trainer={"model_type": kind}))
        assert loaded.encode("aba") == ids
        assert loaded.encode("\u4e2d\u56fd") == [4, 5]


PROGRAMS = [(b"<unk>", 0.0, UNKNOWN), (b"<s>", 0.0, CONTROL), (b"</s>", 0.0, CONTROL), *PIECES[2:]]
PROGRAMS += [("\u2581.".encode(), -4.0, NORMAL), (b".", -5.0, NORMAL)]


def fill_plbart(folder: Path, pieces: Any = PROGRAMS, kind: str = "bpe", **config: Any) -> Path:
    return fill(folder, "PLBart", pieces, {}, trainer={"model_type": kind}, **config)


def test_plbart_moves_pieces_and_puts_the_language_behind(tmp_path: Path) -> None:
    loaded = fastbpe.load(fill_plbart(tmp_path, src_lang="java", tgt_lang="python"))
    assert (loaded.n_vocab, loaded.model_type, loaded.roles["mask"]) == (14, "BPE", "<mask>")
    assert loaded.encode_with_template("ab", "a.") == [5, 7, 5, 9, 2, 10]
    assert loaded.encode("<mask>a__en_XX__<s>x", allowed_special="all") == [13, 5, 12, 0, 4, 3]
    assert loaded.encode_with_offsets("ab x") == ([5, 7, 4, 3], [(0, 1), (1, 2), (2, 3), (3, 4)])
    assert loaded.decode([0, 5, 8, 4, 13, 5, 2, 10]) == "<s> a. <mask> a</s>__java__"
    assert loaded.decode([0, 5, 8, 4, 13, 5, 2, 10], skip_special_tokens=True) == "a.  a"
    assert fastbpe.load(fill_plbart(tmp_path)).encode_with_template("a") == [5, 2]
    loaded = fastbpe.load(fill_plbart(tmp_path, kind="unigram", clean_up_tokenization_spaces=False))
    assert loaded.decode([5, 8]) == "a ."


def test_setting_of_the_folder_removes_spaces_from_decoded_text(tmp_path: Path) -> None:
    vocab = {**VOCABULARY, ".": 9, "\u2581'": 10, "s": 11}
    assert fastbpe.load(fill(tmp_path, vocab=vocab)).decode([2, 4, 9, 10, 11]) == "a . 's"
    loaded = fastbpe.load(fill(tmp_path, vocab=vocab, clean_up_tokenization_spaces=True))
    loaded.save(tmp_path / "a.fbpe")
    for same in (loaded, fastbpe.load(tmp_path / "a.fbpe"), pickle.loads(pickle.dumps(loaded))):
        assert same.decode([2, 4, 9, 10, 11]) == "a.'s"
        assert same.decode_batch([[2, 4, 9], [9]]) == ["a.", "."]
        assert same.decode_bytes([2, 4, 9]) == b"a."
    with pytest.raises(ValueError, match="removes spaces before punctuation from the whole decoded text: use dec"):
        loaded.decoder()
    for value in (False, None, 0, ""):
        found = fastbpe.load(fill(tmp_path, vocab=vocab, clean_up_tokenization_spaces=value))
        assert found.decode([2, 4, 9]) == "a ."
        assert fastbpe.load(fill_plbart(tmp_path, clean_up_tokenization_spaces=value)).decode([5, 8]) == "a ."


def test_plbart_of_more_languages_has_no_own_id_for_the_mask_token(tmp_path: Path) -> None:
    loaded = fastbpe.load(fill_plbart(tmp_path, language_codes="multi"))
    loaded.save(tmp_path / "a.fbpe")
    for same in (loaded, fastbpe.load(tmp_path / "a.fbpe"), pickle.loads(pickle.dumps(loaded))):
        assert same.n_vocab == 17
        assert same.encode("a<mask>__go__<unk>", allowed_special="all", with_template=True) == [5, 3, 16, 3, 2, 12]
        assert same.decode([3, 5]) == "<unk> a"
        assert same.decode([3, 5], skip_special_tokens=True) == "a"
        assert same.id_to_token(3) == b"<unk>"


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"pieces": PROGRAMS[:2] + PROGRAMS[3:]}, "the first pieces must be <unk>, <s> and </s>, because"),
        ({"pieces": [*PROGRAMS, (b"<mask>", 0.0, CONTROL)]}, "the piece <mask> is also a token of the class"),
        ({"language_codes": "x"}, "language_codes 'x', but transformers knows base, multi"),
        ({"src_lang": "go"}, "src_lang 'go', which is not a language of the class"),
        ({"eos_token": None}, "puts the eos_token after texts, but a file sets it to null"),
        (
            {"legacy": False},
            "with legacy=false in tokenizer_config.json, the class changes the options of the .model",
        ),
        (
            {"added_tokens_decoder": {"14": {"content": "<x>", "lstrip": True}}},
            "the token '<x>' has the flag lstrip",
        ),
        ({"bos_token": "a"}, "the token 'a' would share the id 5 with another token"),
        ({"mask_token": "<x>"}, "the token '<x>' would share the id 11 with another token"),
        ({"extra_special_tokens": ["<x>", "<y>"]}, "the token '<x>' would share the id 12 with another token"),
        (
            {"mask_token": "<x>", "added_tokens_decoder": {"13": {"content": "<mask>"}, "14": {"content": "<x>"}}},
            "the token <mask> has an id in the files, but is not a special token",
        ),
    ],
)
def test_unsupported_folder_of_plbart_names_the_reason(config: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=said):
        fastbpe.load(fill_plbart(tmp_path, **config))


def fill_bartpho(folder: Path, dictionary: bytes = b"\xe2\x96\x81a 9\r\na 8\n", **config: Any) -> Path:
    files = {"sentencepiece.bpe.model": model_of(PIECES, {"model_type": "unigram"}), "dict.txt": dictionary}
    config = {"tokenizer_class": "BartphoTokenizer", **config}
    folder_grid.write({**files, "tokenizer_config.json": config}, folder)
    return folder


def test_dictionary_of_bartpho_gives_the_ids_of_pieces(tmp_path: Path) -> None:
    loaded = fastbpe.load(fill_bartpho(tmp_path, "\u2581a 9\na 8\n\u4e2d\u56fd 1".encode()))
    assert [loaded.id_to_token(i) for i in range(4, 8)] == [b" a", b"a", "\u4e2d\u56fd".encode(), b"<mask>"]
    assert loaded.encode_with_template("aab\u4e2d\u56fd", "a") == [0, 4, 5, 3, 6, 2, 2, 4, 2]
    assert loaded.decode([4, 7, 3, 4]) == "a<mask><unk> a"
    assert loaded.roles["mask"] == "<mask>"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"dictionary": b"a 1\n\nb 1\n"}, r"dict\.txt: line 2 has no token"),
        (
            {"dictionary": b"a 1\na 2\n"},
            r"dict\.txt: it lists the token 'a' twice, or its class in transformers adds this token itself",
        ),
        (
            {"dictionary": b"a 1\n</s> 2\n"},
            r"dict\.txt: it lists the token '</s>' twice, or its class in transformers adds this token itself",
        ),
        ({"dictionary": b"a\xff 1\n"}, r"dict\.txt: not UTF-8: invalid byte 0xff at offset 1"),
        ({"pad_token": None}, "the class BartphoTokenizer needs a pad_token"),
        (
            {"legacy": False},
            "with legacy=false in tokenizer_config.json, the class changes the options of the .model",
        ),
        ({"additional_special_tokens": ["<x>"]}, "dict.txt lacks the token '<x>'"),
        ({"added_tokens_decoder": {"8": {"content": "<x>"}}}, "the token '<s>' would share the id 8 with another"),
    ],
)
def test_unsupported_folder_of_bartpho_names_the_reason(files: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=said):
        fastbpe.load(fill_bartpho(tmp_path, **files))


def fill_siglip(folder: Path, normalizer: Any = (), **config: Any) -> Path:
    pieces = [*PIECES, (b"<", -4.0, NORMAL), (b">b", -1.0, NORMAL), (b">", -2.0, NORMAL)]
    data = model_of(pieces, {"model_type": "unigram"}, dict(normalizer))
    config = {"tokenizer_class": "SiglipTokenizer", **config}
    folder_grid.write({"spiece.model": data, "tokenizer_config.json": config}, folder)
    return folder


def test_siglip_encodes_each_text_behind_the_unknown_token(tmp_path: Path) -> None:
    loaded = fastbpe.load(fill_siglip(tmp_path))
    assert (loaded.n_vocab, loaded.roles) == (9, {"eos": "</s>", "unk": "<unk>", "pad": "</s>"})
    assert loaded.encode_with_template("A, (b) a!", "\u2581A") == [3, 2, 5, 3, 1, 2, 3, 1]
    assert loaded.encode_with_offsets("A, (b) a!") == ([3, 2, 5, 3], [(0, 2), (2, 4), (4, 6), (6, 9)])
    # The pieces of <unk> are the space, <, one unknown run and >: after a token, the last of them is ">b".
    assert loaded.encode("</s>ba", allowed_special="all") == [1, 4]
    assert loaded.encode("</s> a", allowed_special="all") == [1, 4]
    assert loaded.encode("") == loaded.encode("!?") == []
    assert loaded.decode([3, 1, 3, 0]) == "a</s> a<unk>"
    assert loaded.decode([3, 1, 3, 0], skip_special_tokens=True) == "a a"
    loaded.save(tmp_path / "a.fbpe")
    assert fastbpe.load(tmp_path / "a.fbpe").encode("</s>ba", allowed_special="all") == [1, 4]
    assert [step["type"] for step in fastbpe.steps(loaded)["normalizers"]][:2] == ["Lowercase", "Replace"]


@pytest.mark.parametrize(
    ("config", "said"),
    [
        ({"do_lower_case": False}, "without do_lower_case, the class does not make texts lower case"),
        ({"normalizer": {"remove_extra_whitespaces": False}}, "a model that keeps spaces at the ends is not"),
        ({"unk_token": "a"}, "the unk_token 'a' is not the unknown piece of the .model"),
        ({"unk_token": "<nope>"}, r"spiece\.model lacks the unk_token '<nope>'"),
        ({"bos_token": "a b"}, "the token 'a b' contains white space, or U"),
        ({"bos_token": "\u2581a"}, "contains white space, or U"),
        (
            {"legacy": False},
            "with legacy=false in tokenizer_config.json, the class changes the options of the .model",
        ),
    ],
)
def test_unsupported_folder_of_siglip_names_the_reason(config: dict[str, Any], said: str, tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=said):
        fastbpe.load(fill_siglip(tmp_path, **config))


def test_native_file_keeps_the_table(tmp_path: Path) -> None:
    loaded = fastbpe.load(fill(tmp_path))
    loaded.save(tmp_path / "a.fbpe")
    for again in (fastbpe.load(tmp_path / "a.fbpe"), pickle.loads(pickle.dumps(loaded))):
        assert again == loaded
        assert again.encode("abb\u4e2d\u56fd") == loaded.encode("abb\u4e2d\u56fd") == [2, 1, 1, 5]
        assert again.decode([2, 0, 2]) == "a</s> a"
    other = loaded._family.own._replace(unnumbered=[("b", -9.0)])
    assert native.dump_code_points(other) != native.dump_code_points(loaded._family.own)
    for piece in [("b", "x"), ("b", 1), ("", -1.0), ("\ud800", -1.0), ("b", float("-inf")), ("b",), "b"]:
        broken = native.dump_code_points(loaded._family.own._replace(unnumbered=[piece]))
        with pytest.raises(FormatError, match="its header has no valid 'unnumbered'"):
            fastbpe.load(broken)


@pytest.mark.parametrize("format", ["huggingface", "sentencepiece", "gguf", "tiktoken"])
def test_other_formats_refuse_a_table(format: str, tmp_path: Path) -> None:
    loaded = fastbpe.load(fill(tmp_path))
    with pytest.raises(FormatError, match=r"cannot store a table of ids.*export this tokenizer as native"):
        loaded.export(tmp_path / "x.json", format=format)


def test_tokens_can_be_added_and_removed(tmp_path: Path) -> None:
    loaded = fastbpe.load(fill(tmp_path))
    more = loaded.with_tokens(["<new>"])
    assert more.encode("abb<new>\u4e2d\u56fd") == [2, 1, 1, 9, 4, 5]
    fewer = loaded.without_tokens(["\u2581a"]).tokenizer
    assert [fewer.id_to_token(i) for i in fewer.encode("ab\u4e2d\u56fd")] == [
        b" ",
        b"a",
        b"<unk>",
        "\u4e2d\u56fd".encode(),
    ]


@pytest.mark.parametrize(
    ("name", "config", "said"),
    [
        ("Marian", {"separate_vocabs": True}, "input texts and the model's output have different"),
        ("Marian", {"sp_model_kwargs": {"alpha": 1}}, "sp_model_kwargs in tokenizer_config.json may make ids"),
        ("Marian", {"trainer": {"model_type": "word"}}, "a model of type word, which only fastbpe"),
        ("Marian", {"pieces": [*PIECES, (b"c", 0.0, UNUSED)]}, "a model with unused pieces is not supported"),
        ("Marian", {"pieces": [*PIECES, (b"c", 0.0, USER_DEFINED)]}, "a model with user-defined pieces is not"),
        ("Marian", {"vocab": {"<unk>": 0, "</s>": 2}}, "it must give each token, none of them empty, a"),
        ("Marian", {"vocab": {"</s>": 0}}, "vocab.json lacks the unk_token '<unk>'"),
        ("Marian", {"unk_token": None}, "the class MarianTokenizer needs an unk_token"),
        ("M2M100", {"unk_token": None}, "the class M2M100Tokenizer needs an unk_token"),
        (
            "Marian",
            {"vocab": b'{"<unk>": 0, "\\ud800": 1}'},
            r"vocab\.json: .*UTF-8 cannot encode the lone surrogate",
        ),
        (
            "Marian",
            {"vocab": b'{"<unk>": 0, "\\udc80": 1}'},
            r"vocab\.json: .*UTF-8 cannot encode the lone surrogate",
        ),
        ("Marian", {"eos_token": None}, "puts the eos_token after texts, but a file sets it to null"),
        (
            "Marian",
            {"added_tokens_decoder": {"9": {"content": "<x>", "single_word": True}}},
            "the token '<x>' has the flag single_word, which is not supported for this class",
        ),
        (
            "Marian",
            {"added_tokens_decoder": {"2": {"content": "<x>"}}},
            "the token '<x>' would share the id 2 with another token",
        ),
        (
            "Marian",
            {"added_tokens_decoder": {"9": {"content": "a"}}},
            "the added token 'a' has the id 9, but 3 in the vocabulary",
        ),
        (
            "Marian",
            {"added_tokens_decoder": {"10": {"content": "<x>"}}},
            "no token has the id 9, but '<x>' has the id 10",
        ),
        ("M2M100", {"src_lang": "tlh"}, "src_lang 'tlh', which is not a language of the class"),
        ("M2M100", {"language_codes": "x"}, "language_codes 'x', but transformers knows m2m100, wmt21"),
        ("M2M100", {"language_codes": ["en"]}, r"language_codes \['en'\], but transformers knows m2m100, wmt21"),
        ("M2M100", {"language_codes": {}}, "language_codes {}, but transformers knows m2m100, wmt21"),
        ("M2M100", {"extra_special_tokens": ["__am__"]}, "the token '__a[fm]__' of a language must have the id"),
        ("Speech2Text", {"lang_codes": "mustc"}, "with lang_codes, the class takes ids of the .model"),
        ("Speech2Text", {"do_upper_case": True}, "with do_upper_case, the class decodes to upper case"),
    ],
)
def test_unsupported_folder_names_the_reason(name: str, config: dict[str, Any], said: str, tmp_path: Path) -> None:
    fill(tmp_path, name, **config)
    with pytest.raises(FormatError, match=said):
        fastbpe.load(tmp_path)


WRONG = [[], ["x"], {}, {"a": 1}, {"content": []}, 1, -1, 1.5, 10**30, None, True, False, "", "x", [[1]], [None]]
KEYS = [
    "separate_vocabs",
    "lang_codes",
    "do_upper_case",
    "normalize",
    "legacy",
    "sp_model_kwargs",
    "language_codes",
    "do_lower_case",
    "src_lang",
    "clean_up_tokenization_spaces",
    "chat_template",
    "additional_special_tokens",
    "extra_special_tokens",
    "added_tokens_decoder",
    "add_bos_token",
    "image_token",
    "model_type",
    "bos_token",
    "eos_token",
    "unk_token",
    "sep_token",
    "pad_token",
    "cls_token",
    "mask_token",
]


@pytest.mark.parametrize("name", ["Marian", "M2M100", "Speech2Text", "Bartpho", "PLBart", "Siglip"])
def test_values_of_wrong_types_raise_only_format_error(name: str, tmp_path: Path) -> None:
    own = {"Bartpho": fill_bartpho, "PLBart": fill_plbart, "Siglip": fill_siglip}
    folder = own[name](tmp_path) if name in own else fill(tmp_path, name)
    n_refused = 0
    for key in KEYS:
        for value in WRONG:
            config = {"tokenizer_class": f"{name}Tokenizer", key: value}
            folder_grid.write({"tokenizer_config.json": config}, folder)
            try:
                fastbpe.load(folder)
            except FormatError:
                n_refused += 1
    assert n_refused >= len(KEYS)


def test_arguments_that_the_files_decide_are_refused(tmp_path: Path) -> None:
    folder_grid.check_refused_arguments(fill(tmp_path))
