"""Unigram models from a .model to a tokenizer.json and back, without the libraries that own the formats."""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, FormatWarning, Tokenizer
from fastbpe.cli.command_line import main
from fastbpe.formats.sentencepiece import model_file
from fastbpe.normalization.sentencepiece_rules import charsmap
from helpers.segmented_models import tokenizer_json, unigram_model

NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = range(1, 7)
Piece = tuple[str, float, int]
UNK, BOS, SPACE = ("<unk>", 0.0, UNKNOWN), ("<s>", 0.0, CONTROL), ("▁", -2.0, NORMAL)
LETTERS = [(letter, -3.0 - i / 8, NORMAL) for i, letter in enumerate("abs<>")]
pytestmark = pytest.mark.filterwarnings("ignore:.*single precision:fastbpe.FormatWarning")


def of(pieces: Sequence[Piece], trainer: Any = None, normalizer: Any = None) -> Tokenizer:
    packed = [(piece.encode(), score, kind) for piece, score, kind in pieces]
    return fastbpe.load(model_file.dump(unigram_model(packed, trainer, normalizer)))


def written(tokenizer: Tokenizer, folder: Path) -> dict[str, Any]:
    tokenizer.export(folder / "x.json", format="huggingface")
    described: dict[str, Any] = json.loads((folder / "x.json").read_text(encoding="utf-8"))
    return described


def test_names_in_text_are_cut_as_in_sentencepiece(tmp_path: Path) -> None:
    tokenizer = of([UNK, BOS, SPACE, *LETTERS, ("s>", -4.0, NORMAL), ("▁a", -4.0, NORMAL)])
    described = written(tokenizer, tmp_path)
    again = fastbpe.load(tmp_path / "x.json")
    assert again.model_type == "Unigram"
    for text in ("<s>", "a<s>b", "<s> a", "s>a<", "<unk>", "<s><s>"):
        assert again.encode_ordinary(text) == tokenizer.encode_ordinary(text)
    assert again.encode("<s>", allowed_special="all") == [1]
    metaspace, split = described["pre_tokenizer"]["pretokenizers"]
    assert (metaspace["type"], split["behavior"]) == ("Metaspace", "MergedWithPrevious")
    assert split["pattern"] == {"Regex": r"\<(?=s|u)"}


def test_name_of_unknown_characters_is_one_unknown_piece(tmp_path: Path) -> None:
    tokenizer = of([UNK, BOS, SPACE, ("b", -3.0, NORMAL)])
    steps = written(tokenizer, tmp_path)["normalizer"]["normalizers"]
    assert steps[-1] == {"type": "Replace", "pattern": {"String": "<s>"}, "content": "<"}
    again = fastbpe.load(tmp_path / "x.json")
    for text in ("<s>", "b<s>b", "x<s>x", "<s>"):
        assert again.encode_ordinary(text) == tokenizer.encode_ordinary(text)


def test_model_file_leaves_out_the_rule_for_spaces_in_decoded_text(tmp_path: Path) -> None:
    of([UNK, SPACE, *LETTERS, (".", -4.0, NORMAL)]).export(tmp_path / "tokenizer.json", format="huggingface")
    (tmp_path / "tokenizer_config.json").write_text('{"clean_up_tokenization_spaces": true}')
    loaded = fastbpe.load(tmp_path)
    ids = loaded.encode("a .")
    loaded.export(tmp_path / "x.model", format="sentencepiece")
    again = fastbpe.load(tmp_path / "x.model")
    assert (again.encode("a ."), loaded.decode(ids), again.decode(ids)) == (ids, "a.", "a .")


def test_words_are_split_only_if_no_piece_goes_over_a_space(tmp_path: Path) -> None:
    assert (
        written(of([UNK, SPACE, *LETTERS]), tmp_path)["pre_tokenizer"]["pretokenizers"][0]["type"] == "Metaspace"
    )
    spanning = of([UNK, SPACE, *LETTERS, ("a▁b", -4.0, NORMAL)])
    assert written(spanning, tmp_path)["pre_tokenizer"]["type"] == "Split"
    assert fastbpe.load(tmp_path / "x.json").encode("a b") == spanning.encode("a b") == [1, 7]


def test_user_defined_pieces_keep_the_score_of_sentencepiece(tmp_path: Path) -> None:
    tokenizer = of([UNK, SPACE, *LETTERS, ("abé", -90.0, USER)], normalizer={"add_dummy_prefix": False})
    vocabulary = dict(written(tokenizer, tmp_path)["model"]["vocab"])
    assert round(vocabulary["abé"], 6) == 0.3
    assert fastbpe.load(tmp_path / "x.json").encode("aabéb") == tokenizer.encode("aabéb")


def test_user_defined_piece_of_two_words_stays_one(tmp_path: Path) -> None:
    tokenizer = of([UNK, SPACE, *LETTERS, ("as▁ab", 0.0, USER)], normalizer=RULES)
    written(tokenizer, tmp_path)
    again = fastbpe.load(tmp_path / "x.json")
    for text in ("b as ab", "as ab as▁ab", "as  ab", "as ▁ab", "ａs ab"):
        assert again.encode(text) == tokenizer.encode(text)
    with pytest.raises(FormatError, match="user-defined piece '▁ab', which its normalization rules change"):
        of([UNK, SPACE, *LETTERS, ("▁ab", 0.0, USER)], normalizer=RULES).export(tmp_path / "y.json")


RULES = {"precompiled_charsmap": charsmap("nmt_nfkc"), "name": "nmt_nfkc"}
REFUSED: dict[str, tuple[Sequence[Piece], Any, Any, str]] = {
    "symbol": (
        [UNK, SPACE, ("Ａ", 0.0, USER)],
        None,
        RULES,
        "user-defined piece 'Ａ', which its normalization rules change",
    ),
    "name": ([UNK, BOS, SPACE, *LETTERS, ("<s", -1.0, NORMAL), ("s>", -1.0, NORMAL)], None, None, "'<s>' of type"),
    "character": ([UNK, ("x", 0.0, CONTROL), SPACE], None, None, "'x' of type CONTROL, which a text may contain"),
    "unused": ([UNK, SPACE, *LETTERS, ("ab", -1.0, UNUSED), ("bab", -1.0, NORMAL)], None, None, "of type UNUSED"),
    "scores": ([UNK, ("▁", 1.0, NORMAL)], None, None, "without a normal piece whose score is 0 or below"),
    "equal": ([UNK, BOS, SPACE, ("<s>", -1.0, NORMAL)], None, None, "equal pieces"),
    "spaces": ([UNK, SPACE], None, {"escape_whitespaces": False}, r"spaces that do not become U\+2581"),
    "a space": ([UNK, SPACE, ("a b", -1.0, NORMAL)], None, None, "pieces with spaces"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_model_without_an_equal_is_refused(name: str, tmp_path: Path) -> None:
    pieces, trainer, normalizer, message = REFUSED[name]
    with pytest.raises(FormatError, match=f"{message}.*export this tokenizer as sentencepiece"):
        of(pieces, trainer, normalizer).export(tmp_path / "x.json", format="huggingface")
    assert not (tmp_path / "x.json").exists()


def test_piece_that_is_not_utf8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.model"
    of([UNK, SPACE, ("Q", -1.0, NORMAL)]).export(path, format="sentencepiece")
    path.write_bytes(path.read_bytes().replace(b"\x0a\x01Q", b"\x0a\x01\xff"))
    with pytest.raises(
        FormatError, match=r"the piece b'\\xff', which is not UTF-8.*export this tokenizer as sentencepiece"
    ):
        fastbpe.load(path).export(tmp_path / "x.json", format="huggingface")


# Scores with which sentencepiece cuts five dashes into 3 + 2, and a sum in double precision into 2 + 3.
TIED = [UNK, SPACE, ("-", -5.0, NORMAL), ("--", -3.3, NORMAL), ("---", -4.9, NORMAL)]


def test_texts_whose_scores_tie_are_named_in_a_warning(tmp_path: Path) -> None:
    tokenizer = of(TIED)
    with pytest.warns(FormatWarning, match=r"x\.json: .* such as '-----': \[1, 3, 4\] instead of \[1, 4, 3\]"):
        done = tokenizer.export(tmp_path / "x.json", format="huggingface")
    assert done is not None
    assert done.n_changed == 2
    assert done.changed[0] == ("-----", [1, 4, 3], [1, 3, 4])
    with pytest.warns(FormatWarning, match=r"x\.model: .* such as '-----': \[1, 4, 3\] instead of \[1, 3, 4\]"):
        fastbpe.load(tmp_path / "x.json").export(tmp_path / "x.model", format="sentencepiece")
    assert fastbpe.load(tmp_path / "x.model").encode("-----") == [1, 4, 3]


def test_same_library_gives_no_warning(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for format in ("native", "sentencepiece"):
            done = of(TIED).export(tmp_path / "x", format=format)
            assert done is not None
            assert done.n_changed == 0


def test_verify_command_names_texts_whose_scores_tie(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    of(TIED).export(tmp_path / "x.model", format="sentencepiece")
    of(TIED).export(tmp_path / "x.json", format="huggingface")
    assert main(["verify", "-m", str(tmp_path / "x.model"), str(tmp_path / "x.json")]) == 0
    assert "2 of 44 texts get other ids" in capsys.readouterr().err
    # A model with other scores is reported as wrong.
    of([*TIED[:3], ("--", -4.0, NORMAL), ("---", -4.9, NORMAL)]).export(tmp_path / "y.json", format="huggingface")
    assert main(["verify", "-m", str(tmp_path / "x.model"), str(tmp_path / "y.json")]) != 0


def test_verify_text_asks_tokenizers_about_a_unigram(tmp_path: Path) -> None:
    pytest.importorskip("tokenizers")
    of(TIED).export(tmp_path / "x.json", format="huggingface")
    done = fastbpe.load(tmp_path / "x.json").export(tmp_path / "y.json", verify_text="a - -- -----\n")
    assert done is not None
    assert done.owner == "tokenizers"


@pytest.mark.parametrize("rule_name", ["identity", "nmt_nfkc"])
def test_model_that_comes_back_is_the_same(rule_name: str, tmp_path: Path) -> None:
    pieces = [UNK, BOS, SPACE, *LETTERS, ("ab", -3.5, NORMAL), ("[x]", -1.0, USER), ("</s>", 0.0, CONTROL)]
    spec = {"precompiled_charsmap": charsmap(rule_name), "name": rule_name}
    for more in ({}, {"add_dummy_prefix": False}, {"remove_extra_whitespaces": False}):
        tokenizer = of(pieces, {"unk_id": 0, "bos_id": 1, "eos_id": len(pieces) - 1}, {**spec, **more})
        written(tokenizer, tmp_path)
        fastbpe.load(tmp_path / "x.json").export(tmp_path / "x.model")
        tokenizer.export(tmp_path / "y.model")
        one, again = (model_file.parse((tmp_path / name).read_bytes(), name) for name in ("y.model", "x.model"))
        assert (again.pieces, again.types, again.templates) == (one.pieces, one.types, one.templates)
        kinds = (NORMAL, BYTE)
        scores = [memoryview(model.scores).cast("f").tolist() for model in (one, again)]
        for i, kind in enumerate(one.types):
            assert kind not in kinds or scores[0][i] == scores[1][i]


JSON_REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "steps": ({}, {"normalizer": {"type": "Lowercase"}}, "the steps Lowercase, WhitespaceSplit of this"),
    "decoder": ({}, {"decoder": {"type": "BPEDecoder", "suffix": "x"}, "pre_tokenizer": None}, "the steps none"),
    "below": ({"vocab": [["<unk>", -9.0], ["▁", -1.0]]}, {}, "the score -9.0 of '<unk>', which is below"),
    "score": (
        {"vocab": [["<unk>", 0.0], ["▁", -1e300]]},
        {},
        "a score that is too large for single precision|the steps",
    ),
}


def test_tokenizer_json_without_an_unknown_piece_is_refused(tmp_path: Path) -> None:
    described = written(of([UNK, SPACE, *LETTERS]), tmp_path)
    described["model"]["unk_id"] = None
    tokenizer = fastbpe.load(json.dumps(described).encode())
    with pytest.raises(
        FormatError, match=r"no piece is of type UNKNOWN.*; export this tokenizer as native or huggingface"
    ):
        tokenizer.export(tmp_path / "x.model", format="sentencepiece")


@pytest.mark.parametrize("name", JSON_REFUSED)
def test_tokenizer_json_without_an_equal_is_refused(name: str, tmp_path: Path) -> None:
    model, parts, message = JSON_REFUSED[name]
    vocabulary = {"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["▁", -1.0]], **model}
    described = json.loads(tokenizer_json(vocabulary)) | parts
    tokenizer = fastbpe.load(json.dumps(described).encode())
    with pytest.raises(
        FormatError, match=f"sentencepiece has no equivalent of (?:{message}).*as native or huggingface"
    ):
        tokenizer.export(tmp_path / "x.model", format="sentencepiece")


STRIP = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
MARKS_AS_SPACES = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
TO_BYTES = [MARKS_AS_SPACES, {"type": "ByteFallback"}, {"type": "Fuse"}]
METASPACE = {"type": "Metaspace", "replacement": "▁", "split": True}


@pytest.mark.parametrize("adds_prefix", [True, False])
@pytest.mark.parametrize(
    ("decoder", "drops"),
    [
        ({"type": "Sequence", "decoders": TO_BYTES}, False),
        ({"type": "Sequence", "decoders": [*TO_BYTES, STRIP]}, True),
        ({**METASPACE, "prepend_scheme": "never"}, False),
        ({**METASPACE, "prepend_scheme": "first"}, True),
    ],
)
def test_decoder_must_treat_a_space_at_the_start_as_sentencepiece_does(
    decoder: dict[str, Any], drops: bool, adds_prefix: bool, tmp_path: Path
) -> None:
    spaces = {"add_dummy_prefix": adds_prefix, "remove_extra_whitespaces": False}
    described = written(of([UNK, SPACE, *LETTERS], normalizer=spaces), tmp_path) | {"decoder": decoder}
    tokenizer = fastbpe.load(json.dumps(described).encode())
    ids = tokenizer.encode(" a b")
    if drops == adds_prefix:
        tokenizer.export(tmp_path / "x.model", format="sentencepiece")
        assert fastbpe.load(tmp_path / "x.model").decode(ids) == tokenizer.decode(ids)
        return
    rule = f"the rule that decoding {'drops' if drops else 'keeps'} a space at the start"
    with pytest.raises(FormatError, match=f"sentencepiece has no equivalent of {rule}; export"):
        tokenizer.export(tmp_path / "x.model", format="sentencepiece")


def test_decoder_that_writes_names_of_bytes_is_refused(tmp_path: Path) -> None:
    pieces = [UNK, SPACE, *LETTERS, *((f"<0x{byte:02X}>", 0.0, BYTE) for byte in range(256))]
    described = written(of(pieces, {"byte_fallback": True}), tmp_path)
    tokenizer = fastbpe.load(json.dumps(described).encode())
    tokenizer.export(tmp_path / "x.model", format="sentencepiece")
    described["decoder"] = {**METASPACE, "prepend_scheme": "always"}
    tokenizer = fastbpe.load(json.dumps(described).encode())
    with pytest.raises(FormatError, match="no equivalent of a decoder that writes byte pieces by their names"):
        tokenizer.export(tmp_path / "x.model", format="sentencepiece")


@pytest.mark.parametrize("flag", ["lstrip", "rstrip", "single_word", "normalized"])
def test_added_token_with_flags_is_refused(flag: str, tmp_path: Path) -> None:
    described = written(of([UNK, BOS, SPACE, *LETTERS]), tmp_path)
    described["added_tokens"][1][flag] = True
    tokenizer = fastbpe.load(json.dumps(described).encode())
    with pytest.raises(FormatError, match="the added token '<s>', which has flags or is not special"):
        tokenizer.export(tmp_path / "x.model", format="sentencepiece")
