"""Folders with a tokenizer.json whose class in transformers builds other steps than the file's."""

import json
import warnings
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, FormatWarning
from helpers import folder_grid, tokenizer_json

DIGITS = {"type": "Digits", "individual_digits": True}
BYTES = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
SPLIT_DIGITS = {"type": "Sequence", "pretokenizers": [DIGITS, BYTES]}


def fill(folder: Path, name: str, described: dict[str, Any], **config: Any) -> Path:
    files = {
        "tokenizer.json": described,
        "tokenizer_config.json": {"tokenizer_class": f"{name}Tokenizer", **config},
    }
    folder_grid.write(files, folder)
    return folder


def pieces(**parts: Any) -> dict[str, Any]:
    """Return a tokenizer.json that scores pieces, with steps of its own."""
    spaces = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    vocab = [["<pad>", 0.0], ["</s>", 0.0], ["<unk>", 0.0], ["▁", -2.0], ["a", -3.0], ["▁a", -3.0], ["\n", -3.0]]
    return {
        "version": "1.0",
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": spaces,
        "decoder": spaces,
        "post_processor": None,
        "model": {"type": "Unigram", "unk_id": 2, "byte_fallback": False, "vocab": vocab},
        **parts,
    }


def test_class_splits_texts_instead_of_the_file(tmp_path: Path) -> None:
    """GPT-2's pattern keeps the number together, the file's pre-tokenizers do not."""
    fill(tmp_path, "GPT2", tokenizer_json.small(pre_tokenizer=SPLIT_DIGITS))
    twelve = tokenizer_json.small()["model"]["vocab"]["12"]
    loaded = fastbpe.load(tmp_path)
    assert loaded.encode("12") == [twelve]
    assert fastbpe.load(tmp_path / "tokenizer.json").encode("12") == [ord("1"), ord("2")]
    loaded.export(tmp_path / "again.json", format="huggingface")
    assert fastbpe.load(tmp_path / "again.json").encode("12") == [twelve]


def test_t5_removes_line_endings_and_puts_eos_behind_texts(tmp_path: Path) -> None:
    loaded = fastbpe.load(fill(tmp_path, "T5", pieces(), extra_ids=3))
    assert loaded.encode("a\na") == [5, 5]
    assert fastbpe.load(tmp_path / "tokenizer.json").encode("a\na") == [5, 6, 4]
    assert loaded.encode_with_template("a", "a") == [5, 1, 5, 1]
    assert [loaded.special_tokens[f"<extra_id_{i}>"] for i in range(3)] == [7, 8, 9]


def test_setting_of_the_folder_removes_spaces_from_decoded_text(tmp_path: Path) -> None:
    described = pieces()
    described["model"]["vocab"] += [[".", -3.0]]
    loaded = fastbpe.load(fill(tmp_path, "PreTrained", described, clean_up_tokenization_spaces=True))
    ids = loaded.encode("a .")
    loaded.save(tmp_path / "a.fbpe")
    loaded.export(tmp_path / "a.json", format="huggingface")
    for same in (loaded, *map(fastbpe.load, (tmp_path / "a.fbpe", tmp_path / "a.json"))):
        assert same.decode(ids) == "a."
        assert "".join(map((stream := same.decoder()).push, ids)) + stream.finish() == "a."
    assert fastbpe.load(fill(tmp_path, "PreTrained", described)).decode(ids) == "a ."
    described = tokenizer_json.small()
    loaded = fastbpe.load(fill(tmp_path, "GPT2", described, clean_up_tokenization_spaces=True))
    assert loaded.decode(loaded.encode("a .")) == "a ."  # transformers ignores the setting for models that merge


@pytest.mark.parametrize(
    ("config", "expected"), [({}, "▁ab"), ({"legacy": True}, "▁ab"), ({"add_prefix_space": False}, "ab")]
)
def test_llama_puts_a_space_before_texts_as_the_configuration_says(
    config: dict[str, Any], expected: str, tmp_path: Path
) -> None:
    described = json.loads(folder_grid.llama_json())
    fill(tmp_path, "Llama", {**described, "normalizer": None}, **config)
    assert fastbpe.load(tmp_path).encode("ab") == [described["model"]["vocab"][expected]]


def test_llama_with_a_byte_level_file_uses_the_steps_of_the_file(tmp_path: Path) -> None:
    fill(tmp_path, "Llama", tokenizer_json.small(pre_tokenizer=SPLIT_DIGITS))
    loaded = fastbpe.load(tmp_path)
    assert loaded.encode("12") == [ord("1"), ord("2")]
    assert not loaded.special_tokens


def test_class_whose_steps_are_unknown_warns(tmp_path: Path) -> None:
    fill(tmp_path, "RoFormer", tokenizer_json.small())
    with pytest.warns(
        FormatWarning, match=r"RoFormerTokenizer .* its pre-tokenizer finds Chinese words with rjieba"
    ):
        loaded = fastbpe.load(tmp_path)
    assert loaded.encode("a") == [ord("a")]


def test_class_with_another_model_than_the_file_warns(tmp_path: Path) -> None:
    fill(tmp_path, "XLMRoberta", tokenizer_json.small())
    with pytest.warns(FormatWarning, match=r"XLMRobertaTokenizer .* its model is Unigram, but the file has BPE"):
        fastbpe.load(tmp_path)


PROMPT = [
    "<|startoftranscript|>",
    "<|en|>",
    "<|zh|>",
    "<|de|>",
    "<|transcribe|>",
    "<|notimestamps|>",
    "<|endoftext|>",
]


def test_whisper_puts_language_and_task_before_texts(tmp_path: Path) -> None:
    file = tokenizer_json.small()
    first = len(file["model"]["vocab"])
    file["model"]["vocab"] |= {name: first + i for i, name in enumerate(PROMPT)}
    fill(tmp_path, "Whisper", file, language="German", task="transcribe")
    around = [first, first + 3, first + 4, first + 5, ord("x"), first + 6]
    assert fastbpe.load(tmp_path).encode_with_template("x") == around
    fill(tmp_path, "Whisper", file, language="es")
    with pytest.raises(
        FormatError, match=r"puts the id \d+ before texts for 'es', but <\|es\|> does not have this id"
    ):
        fastbpe.load(tmp_path)
    fill(tmp_path, "Whisper", file, language="elvish")
    with pytest.raises(FormatError, match="language: Whisper has no language 'elvish'; it has en, zh, "):
        fastbpe.load(tmp_path)
    fill(tmp_path, "Whisper", file, task="sing")
    with pytest.raises(FormatError, match="task: Whisper has no task 'sing'; it has translate, transcribe"):
        fastbpe.load(tmp_path)


def test_file_that_agrees_with_its_class_loads_without_a_warning(tmp_path: Path) -> None:
    fill(tmp_path, "GPT2", tokenizer_json.small())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert fastbpe.load(tmp_path).encode("abc") == fastbpe.load(tmp_path / "tokenizer.json").encode("abc")


def test_token_around_texts_without_an_id_is_named(tmp_path: Path) -> None:
    fill(tmp_path, "Deberta", tokenizer_json.small(), cls_token=None)
    with pytest.raises(FormatError, match="DebertaTokenizer puts the cls token around texts, but no file names"):
        fastbpe.load(tmp_path)


def test_token_that_a_class_adds_and_the_vocabulary_lacks_is_named(tmp_path: Path) -> None:
    (tmp_path / "vocab.txt").write_text("[PAD]\n[CLS]\n[SEP]\n[MASK]\n[QUESTION]\na\n")
    config = {"tokenizer_class": "SplinterTokenizer", "unk_token": None}
    folder_grid.write({"tokenizer_config.json": config}, tmp_path)
    with pytest.raises(FormatError, match=r"puts the token '\.' into texts, but the vocabulary lacks it"):
        fastbpe.load(tmp_path)


def test_pegasus_without_its_unknown_token_is_refused(tmp_path: Path) -> None:
    fill(tmp_path, "Pegasus", pieces(), unk_token="<x>")
    with pytest.raises(FormatError, match="transformers cannot make a PegasusTokenizer from this"):
        fastbpe.load(tmp_path)


def test_token_keeps_the_flags_of_added_tokens_json_although_the_class_moves_ids(tmp_path: Path) -> None:
    """MBart50 moves <pad> from 3 to 4; added_tokens.json has <mask> there, without the class's lstrip."""
    vocab = [[piece, 0.0] for piece in ("<s>", "</s>", "<unk>", "<pad>", "▁", "a", "▁a")]
    added = [tokenizer_json.added(3, "<pad>", special=True)]
    described = pieces(added_tokens=added, model={**pieces()["model"], "vocab": vocab})
    fill(tmp_path, "MBart50", described, mask_token="<mask>")
    folder_grid.write({"added_tokens.json": {"<mask>": 4}}, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        loaded = fastbpe.load(tmp_path)
        fastbpe.load(tmp_path, special_tokens={"<x>": 61})
    by_name = {token.content: token for token in loaded.added_tokens}
    assert (by_name["<pad>"].id, by_name["<mask>"].lstrip) == (4, False)


@pytest.mark.parametrize("value", ["1", None, -1])
def test_unknown_id_that_is_no_number_is_refused(value: Any, tmp_path: Path) -> None:
    fill(tmp_path, "XLNet", pieces(), unk_id=value)
    with pytest.raises(FormatError, match="unk_id: must be an integer from 0 to 65536"):
        fastbpe.load(tmp_path)


@pytest.mark.filterwarnings("ignore:.*has the id .* in the file, but gets:fastbpe.FormatWarning")
def test_class_adds_the_tokens_of_a_file_in_the_order_of_their_ids_there(tmp_path: Path) -> None:
    """tokenizers numbers them in the order of the list."""
    tokens = [tokenizer_json.added(264, "<y>"), tokenizer_json.added(262, "<x>")]
    fill(tmp_path, "GPT2", tokenizer_json.small(tokens))
    assert fastbpe.load(tmp_path).encode("<x><y>") == [262, 263]
    assert fastbpe.load(tmp_path / "tokenizer.json").encode("<x><y>") == [263, 262]


def test_model_type_decides_if_no_class_is_named(tmp_path: Path) -> None:
    folder_grid.write({"tokenizer.json": pieces(), "config.json": {"model_type": "mt5"}}, tmp_path)
    assert fastbpe.load(tmp_path).encode("a\na") == [5, 5]


def test_dpr_makes_text_lower_case_whatever_the_configuration_says(tmp_path: Path) -> None:
    config = {"tokenizer_class": "DPRReaderTokenizer", "do_lower_case": False}
    (tmp_path / "vocab.txt").write_text("[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n")
    folder_grid.write({"tokenizer_config.json": config}, tmp_path)
    assert fastbpe.load(tmp_path).encode("A") == [5]
