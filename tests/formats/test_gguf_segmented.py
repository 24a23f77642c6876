"""GGUF files whose model does not merge: "t5" (unigram) and "bert" (WordPiece).

The ids of llama.cpp stand here as it gave them (llama-cpp-python 0.3.36), to the same small files.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, FormatWarning, Tokenizer
from fastbpe.formats.gguf import metadata
from fastbpe.formats.gguf.metadata import BOOL, FLOAT32, INT32, STRING, UINT8, UINT32, Typed
from fastbpe.formats.sentencepiece import model_file
from fastbpe.model import PieceType
from fastbpe.normalization.sentencepiece_rules import charsmap
from helpers.segmented_models import tokenizer_json, unigram_model

NORMAL, UNKNOWN, CONTROL, USER, UNUSED, BYTE = range(1, 7)

T5 = {
    "<pad>": (0.0, CONTROL),
    "</s>": (0.0, CONTROL),
    "<unk>": (0.0, UNKNOWN),
    "▁": (-2.0, NORMAL),
    "▁the": (-1.0, NORMAL),
    "▁ca": (-3.0, NORMAL),
    "t": (-4.0, NORMAL),
    "s": (-4.5, NORMAL),
    "a": (-5.0, NORMAL),
    "c": (-6.0, NORMAL),
    "fi": (-6.0, NORMAL),
    "<x>": (0.0, USER),
    "[PAD12]": (0.0, UNUSED),
}
BERT = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "▁the", "▁un", "aff", "able", "▁,", "▁a", "▁[", "▁漢", "[unused0]")


def strings(*texts: str) -> Typed:
    return Typed(STRING, [text.encode() for text in texts], True)


def written(kind: str, **changes: Any) -> bytes:
    """Write a small file; a change to None leaves a key out."""
    made: dict[str, Any] = {"model": Typed(STRING, kind.encode()), "pre": Typed(STRING, b"default")}
    if kind == "t5":
        scores, types = zip(*T5.values(), strict=True)
        made |= {
            "tokens": strings(*T5),
            "scores": Typed(FLOAT32, scores, True),
            "token_type": Typed(INT32, types, True),
            "add_space_prefix": Typed(BOOL, True),
            "remove_extra_whitespaces": Typed(BOOL, True),
            "precompiled_charsmap": Typed(UINT8, [*charsmap("nmt_nfkc")], True),
        }
    else:
        made |= {
            "tokens": strings(*BERT),
            "token_type": Typed(INT32, [CONTROL] * 4 + [NORMAL] * (len(BERT) - 4), True),
            "unknown_token_id": Typed(UINT32, 1),
            "bos_token_id": Typed(UINT32, 2),
            "seperator_token_id": Typed(UINT32, 3),
        }
    keys = {f"tokenizer.ggml.{key}": value for key, value in (made | changes).items() if value is not None}
    return metadata.write({"general.architecture": Typed(STRING, kind.encode())} | keys)


T5_IDS = {
    "the cats": [4, 5, 6, 7],
    "  the \t cats ": [4, 5, 6, 7],
    "ﬁ the": [3, 10, 4],
    "the<x>the": [4, 11, 4],
    "the x y": [4, 3, 2, 3, 2],
    "xyt": [3, 2, 6],
    "</s>": [3, 2, 7, 2],
    "": [],
    "  ": [],
}
BERT_IDS = {
    "The unaffable": [4, 5, 6, 7],
    "thé, a": [4, 8, 9],
    "unaffablez": [1],
    "a漢a[": [9, 11, 9, 10],
    "[unused0]": [10, 1, 1],
    "": [],
}


@pytest.mark.parametrize("text", T5_IDS)
def test_unigram_file_gives_the_ids_of_llama_cpp(text: str) -> None:
    tokenizer = fastbpe.load(written("t5"))
    assert tokenizer.model_type == "Unigram"
    assert tokenizer.encode_ordinary(text) == T5_IDS[text]
    expected = [1] if text == "</s>" else T5_IDS[text]
    assert tokenizer.encode_with_template(text) == [*expected, 1]


@pytest.mark.parametrize("text", BERT_IDS)
def test_bert_file_gives_the_ids_of_llama_cpp(text: str) -> None:
    tokenizer = fastbpe.load(written("bert"))
    assert tokenizer.model_type == "WordPiece"
    assert tokenizer.encode_ordinary(text) == BERT_IDS[text]
    assert tokenizer.encode_with_template(text) == [2, *BERT_IDS[text], 3]


def test_options_of_bert_are_read() -> None:
    cased = fastbpe.load(written("bert", **{"normalizer.lowercase": Typed(BOOL, False)}))
    assert cased.encode_ordinary("the The thé") == [4, 1, 1]
    stripped = {"normalizer.lowercase": Typed(BOOL, False), "normalizer.strip_accents": Typed(BOOL, True)}
    assert fastbpe.load(written("bert", **stripped)).encode_ordinary("the The thé") == [4, 1, 4]


def test_roles_without_keys_are_those_of_llama_cpp() -> None:
    tokenizer = fastbpe.load(written("t5"))
    assert {role: tokenizer.roles[role] for role in ("eos", "unk", "pad")} == {
        "eos": "</s>",
        "unk": "<unk>",
        "pad": "<pad>",
    }


@pytest.mark.parametrize("kind", ["t5", "bert"])
@pytest.mark.parametrize("format", ["native", "gguf", "huggingface"])
@pytest.mark.filterwarnings("ignore::fastbpe.FormatWarning")
def test_ids_outlast_other_formats(kind: str, format: Any, tmp_path: Path) -> None:
    tokenizer = fastbpe.load(written(kind))
    tokenizer.export(tmp_path / "x.json", format=format)
    again = fastbpe.load(tmp_path / "x.json")
    for text in T5_IDS | BERT_IDS:
        assert again.encode(text, allowed_special="all") == tokenizer.encode(text, allowed_special="all")
        assert again.encode_with_template(text) == tokenizer.encode_with_template(text)
    assert again.special_tokens == tokenizer.special_tokens


def test_unused_tokens_get_a_score_with_which_llama_cpp_never_finds_them(tmp_path: Path) -> None:
    with pytest.warns(FormatWarning, match="single precision"):
        fastbpe.load(written("t5")).export(tmp_path / "x.gguf")
    values = metadata.read((tmp_path / "x.gguf").read_bytes(), "x", "tokenizer.ggml.")
    assert values["tokenizer.ggml.scores"][12] < -1e29


def test_user_defined_token_of_a_unigram_file_keeps_its_spaces(tmp_path: Path) -> None:
    scores, types = zip(*T5.values(), (0.0, USER), strict=True)
    tokens = {
        "tokens": strings(*T5, "x y"),
        "scores": Typed(FLOAT32, scores, True),
        "token_type": Typed(INT32, types, True),
    }
    tokenizer = fastbpe.load(written("t5", **tokens))
    assert tokenizer.encode_ordinary("the x y") == [4, 3, 13]
    with pytest.warns(FormatWarning, match="single precision"):
        tokenizer.export(tmp_path / "x.gguf")
    values = metadata.read((tmp_path / "x.gguf").read_bytes(), "x", "tokenizer.ggml.")
    assert values["tokenizer.ggml.tokens"][13] == b"x y"


DAMAGED: dict[str, tuple[str, dict[str, Any], str]] = {
    "byte": ("t5", {"token_type": Typed(INT32, [0, *[BYTE] * 12], True)}, "token 0 is of the type 0"),
    "bytes": (
        "t5",
        {"token_type": Typed(INT32, [CONTROL, CONTROL, UNKNOWN, *[BYTE] * 10], True)},
        "token 3 is of the type BYTE, but llama.cpp has no byte fallback for the kind 't5'",
    ),
    "unknown": (
        "t5",
        {"unknown_token_id": Typed(UINT32, 4)},
        "expected the id of a token of the type UNKNOWN, found 4",
    ),
    "charsmap": (
        "t5",
        {"precompiled_charsmap": Typed(UINT8, [1, 2, 3], True)},
        "charsmap",
    ),
    "text": ("t5", {"precompiled_charsmap": Typed(STRING, b"x")}, "expected an array of integers, found b'x'"),
    "symbol": (
        "t5",
        {"tokens": Typed(STRING, [b"\xff" if token == "<x>" else token.encode() for token in T5], True)},
        r"tokens: b'\\xff' is not UTF-8",
    ),
    "flag": ("bert", {"normalizer.lowercase": Typed(UINT32, 1)}, "expected true or false, found 1"),
    "equal": (
        "bert",
        {"tokens": strings(*BERT[:-1], "▁the")},
        "the ids 4 and 12 are both the token 'the' in BERT's spelling",
    ),
    "roles": ("bert", {"bos_token_id": None}, r"bos_token_id: expected the id of the bos token, from 0 to 12"),
}


@pytest.mark.parametrize("name", DAMAGED)
def test_damaged_keys_raise_format_error(name: str) -> None:
    kind, changes, message = DAMAGED[name]
    with pytest.raises(FormatError, match=message):
        fastbpe.load(written(kind, **changes)).encode("x")


@pytest.mark.daily
def test_every_truncation_raises_format_error_or_loads() -> None:
    for kind in ("t5", "bert"):
        data = written(kind, precompiled_charsmap=None)
        for end in range(len(data)):
            try:
                fastbpe.load(data[:end])
            except FormatError:
                continue


def unigram(*more: tuple[bytes, float, int], trainer: Any = None, normalizer: Any = None) -> Tokenizer:
    pieces = [(b"<unk>", 0.0, PieceType.UNKNOWN), ("▁".encode(), -1.0, PieceType.NORMAL), *more]
    data = model_file.dump(unigram_model(pieces, trainer, normalizer))
    return fastbpe.load(data)


def stripping_unigram() -> Tokenizer:
    """Return a tokenizer with a token that strips "\\n", as the files beside a model may define it."""
    token = {"content": "<new>", "lstrip": True, "special": True}
    with tempfile.TemporaryDirectory() as folder:
        unigram().export(f"{folder}/spiece.model")
        Path(folder, "tokenizer_config.json").write_text(json.dumps({"added_tokens_decoder": {"2": token}}))
        return fastbpe.load(folder)


REFUSED: dict[str, tuple[Any, str]] = {
    "symbol": (lambda: unigram((b"ab", 0.0, PieceType.USER_DEFINED)), "user-defined piece b'ab'"),
    "bytes": (
        lambda: unigram(
            *((b"<0x%02X>" % byte, 0.0, PieceType.BYTE) for byte in range(256)), trainer={"byte_fallback": True}
        ),
        "byte_fallback of a unigram model",
    ),
    "suffix": (lambda: unigram(trainer={"treat_whitespace_as_suffix": True}), "spaces at the end of words"),
    "stripping": (lambda: stripping_unigram(), "cannot store the flags .* added token '<new>'"),
    "prefix": (
        lambda: unigram(normalizer={"add_dummy_prefix": False}),
        "one of add_dummy_prefix and remove_extra_whitespaces without the other",
    ),
    "spaces": (lambda: unigram(normalizer={"escape_whitespaces": False}), "spaces that are not escaped"),
    "steps": (
        lambda: fastbpe.load(
            tokenizer_json(
                {
                    "type": "WordPiece",
                    "unk_token": "[UNK]",
                    "continuing_subword_prefix": "##",
                    "max_input_chars_per_word": 100,
                    "vocab": {"[UNK]": 0, "a": 1},
                }
            )
        ),
        "only with the steps of BERT .*, but this tokenizer has the steps WhitespaceSplit;",
    ),
    "continuing prefix": (lambda: bert("@@"), "but this tokenizer has the prefix '@@';"),
    "control characters": (lambda: bert(clean_text=False), "but this tokenizer has clean_text=False;"),
    "normalized": (lambda: bert(added={"normalized": True}), r"cannot store the flags .* added token 'a'"),
    "normalized special": (
        lambda: bert(added={"normalized": True, "special": True}),
        r"cannot store the flags .* added token 'a'",
    ),
    "single word": (
        lambda: bert(added={"single_word": True, "special": True}),
        r"cannot store the flags .* added token 'a'",
    ),
    "spaces at both": (
        lambda: bert(added={"id": 3, "rstrip": True, "content": " a"}),
        r"cannot store the flags .* added token ' a'",
    ),
    "roles": (lambda: bert(), r"needs the tokens unk, cls and sep; name them with roles="),
}


def bert(prefix: str = "##", added: Any = None, **options: Any) -> Tokenizer:
    described = json.loads(
        tokenizer_json(
            {
                "type": "WordPiece",
                "unk_token": "[UNK]",
                "continuing_subword_prefix": prefix,
                "max_input_chars_per_word": 100,
                "vocab": {"[UNK]": 0, "a": 1, f"{prefix}b": 2},
            },
            normalizer={
                "type": "BertNormalizer",
                "clean_text": True,
                "handle_chinese_chars": True,
                "strip_accents": None,
                "lowercase": True,
                **options,
            },
        )
    )
    described["pre_tokenizer"] = {"type": "BertPreTokenizer"}
    if added is not None:
        flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized", "special"), False)
        described["added_tokens"] = [{"id": 1, "content": "a", **flags, **added}]
    return fastbpe.load(json.dumps(described).encode())


@pytest.mark.parametrize("name", REFUSED)
def test_tokenizer_that_llama_cpp_runs_otherwise_is_refused(name: str, tmp_path: Path) -> None:
    make, message = REFUSED[name]
    with pytest.raises(FormatError, match=message):
        make().export(tmp_path / "x.gguf", format="gguf")
    assert not (tmp_path / "x.gguf").exists()


def test_white_space_around_a_token_of_bert_needs_no_flags(tmp_path: Path) -> None:
    tokenizer = bert(added={"lstrip": True, "rstrip": True}).with_special_tokens(["[CLS]", "[SEP]"])
    with pytest.warns(FormatWarning, match="words of more than 100 characters"):
        tokenizer.export(tmp_path / "x.gguf", roles={"cls": "[CLS]", "sep": "[SEP]"})
    again = fastbpe.load(tmp_path / "x.gguf")
    for text in ("xa ax", " a  a ", "\u3000a\x0bab"):
        assert again.encode_ordinary(text) == tokenizer.encode_ordinary(text)
