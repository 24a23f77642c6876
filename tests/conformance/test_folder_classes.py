"""Folders without a tokenizer.json: the ids are those of the class in transformers, or the error names it."""

from __future__ import annotations

import hashlib
import inspect
import json
import random
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")

import transformers
from transformers.models.auto import configuration_auto, tokenization_auto
from transformers.models.whisper import tokenization_whisper
from transformers.tokenization_python import PythonBackend

import fastbpe
from fastbpe import FormatError
from fastbpe.errors import NoUnknownTokenError
from fastbpe.formats import folder, gpt2
from fastbpe.formats.huggingface import class_settings, model_types, whisper_prompt
from helpers import folder_grid
from helpers.sampling import SEED, n_rounds

MODEL_TYPES = {kind: name for kind, name in tokenization_auto.TOKENIZER_MAPPING_NAMES.items() if name}
CLASSES = sorted({*MODEL_TYPES.values(), "XLMTokenizer", "CTRLTokenizer", "MyOwnTokenizer"})
TEXTS = ("a b  abc ab", "b'a 12 ab\n\n é", "")
TOKENS = ("a", "b", "b</w>", "ab</w>", "<unk>", "a</w>", "<s>", "</s>", "<|endoftext|>")
CHARACTERS = {
    "vocab.json": json.dumps({name: i for i, name in enumerate(TOKENS)}).encode(),
    "merges.txt": b"#version: 0.2\na b</w>\n",
}
LINES = {"vocab.txt": b"[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\nb\n##b\nab\n<unk>\n<s>\n</s>"}


def as_by_mistral_or_not(name: str) -> str:
    """Return the name that a class has if mistral-common is not installed, whether it is or not."""
    return "TokenizersBackend" if name == "MistralCommonBackend" else name


def load_both(folder: Path) -> tuple[Any, Any]:
    """Return the tokenizers of fastbpe and of transformers; an error instead of one that refuses the folder."""
    found: list[Any] = []
    for load in (fastbpe.load, transformers.AutoTokenizer.from_pretrained):
        try:
            found.append(load(folder))
        except Exception as error:  # transformers raises anything
            found.append(error)
    return found[0], found[1]


def their_ids(tokenizer: Any, text: str) -> list[int]:
    """Return the ids of transformers. Classes with boxes of words (LayoutLM, MarkupLM) take no plain text."""
    if "boxes" in inspect.signature(tokenizer._encode_plus).parameters:
        tokenizer = tokenizer.backend_tokenizer
        return list(tokenizer.encode(text, add_special_tokens=False).ids)
    return list(tokenizer.encode(text, add_special_tokens=False))


def test_model_types_have_the_classes_of_transformers() -> None:
    for kind, name in MODEL_TYPES.items():
        assert model_types.class_of(kind) == class_settings.plain_name(as_by_mistral_or_not(name)), kind
        is_wrong = kind in tokenization_auto.MODELS_WITH_INCORRECT_HUB_TOKENIZER_CLASS
        assert model_types.corrects(kind) == (is_wrong and name != "TokenizersBackend"), kind
    assert model_types.class_of("of_my_own") is None
    assert model_types.class_of(None) is None


@pytest.mark.parametrize(
    "files", [folder_grid.two_files(), CHARACTERS, LINES], ids=["bytes", "characters", "lines"]
)
@pytest.mark.parametrize("key", ["tokenizer_config.json", "config.json", "model_type"])
def test_class_decides_or_is_refused_by_name(
    files: dict[str, bytes], key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The merges are taken for published ones: without a class, GPT-2's pattern would split the texts."""
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    merges = files.get("merges.txt", b"")
    monkeypatch.setattr(gpt2, "_KNOWN", {hashlib.sha256(merges).hexdigest(): ("gpt2", "gpt2")})
    folder_grid.write(files, tmp_path)
    n_equal = 0
    names = [*MODEL_TYPES] if key == "model_type" else CLASSES
    for name in random.Random(SEED).sample(names, min(n_rounds(60, 1000), len(names))):
        config = {"model_type": name} if key == "model_type" else {"tokenizer_class": name}
        if key == "config.json":
            config["model_type"] = "gpt2"  # its class is GPT2Tokenizer, but the named one counts
        file = "config.json" if key == "model_type" else key
        (tmp_path / file).write_text(json.dumps(config))
        ours, theirs = load_both(tmp_path)
        if isinstance(ours, Exception):
            assert isinstance(ours, FormatError), name
            read = MODEL_TYPES[name] if key == "model_type" else name
            known = "GPT2, " in str(ours) or "CLIP, " in str(ours) or "Bert, " in str(ours)
            assert class_settings.plain_name(read) + "Tokenizer" in str(ours) or not known, name
            continue
        if key == "model_type" and name not in configuration_auto.CONFIG_MAPPING_NAMES:
            continue  # transformers has no configuration of this type, and so creates no class
        if class_settings.plain_name(MODEL_TYPES.get(name, name)) == "Qwen3_5":
            continue  # transformers reads no file but a tokenizer.json for it; tested below
        if name in ("nougat", "markuplm", "MarkupLMTokenizer"):
            continue  # transformers has no class for a config.json of nougat; MarkupLM's needs a tags_dict
        if isinstance(theirs, Exception):  # a name without rules: the files decide
            assert class_settings.plain_name(MODEL_TYPES.get(name, name)) in (
                *class_settings.ANY_CLASS,
                "MistralCommonBackend",
            ), name
            continue
        for text in TEXTS:
            try:
                ids = ours.encode(text, allowed_special="all")
            except NoUnknownTokenError:  # the files lack the unknown token of the class, such as GPT-1's
                with pytest.raises(Exception, match=r"Unk token .* not found in the vocabulary"):
                    their_ids(theirs, text)
            else:
                assert ids == their_ids(theirs, text), name
        n_equal += 1
    print(f"{n_equal} of {len(names)} classes have equal ids")


@pytest.mark.parametrize("options", [{}, {"add_prefix_space": True}, {"trim_offsets": False}])
@pytest.mark.parametrize("name", ["Roberta", "Bart", "Longformer", "Luke", "Deberta", "GPT2", "CodeGen"])
def test_two_files_have_the_offsets_of_the_class(name: str, options: dict[str, bool], tmp_path: Path) -> None:
    """RoBERTa's offsets leave out the space before a word. Without a tokenizer.json, `load` once put it in."""
    config = {"tokenizer_class": f"{name}Tokenizer", **options}
    folder_grid.write({**folder_grid.two_files(), "tokenizer_config.json": config}, tmp_path)
    loaded, theirs = fastbpe.load(tmp_path), transformers.AutoTokenizer.from_pretrained(tmp_path)
    loaded.save(tmp_path / "own.fbpe")
    ours = fastbpe.load(tmp_path / "own.fbpe")
    for text in (*TEXTS, " ab  ab", "a b\n c ", "ab ab ", "\n", "  "):
        made = theirs(text, add_special_tokens=False, return_offsets_mapping=True)
        assert ours.encode_with_offsets(text, allowed_special="all") == (made["input_ids"], made["offset_mapping"])
        assert ours.encode_with_template(text, "ab") == theirs.encode(text, "ab")


@pytest.mark.parametrize("timestamps", [True, False])
def test_two_files_of_whisper_put_the_prompt_before_texts(
    timestamps: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    tokens = ["<|startoftranscript|>", "<|en|>", "<|notimestamps|>"]
    config: dict[str, Any] = {"tokenizer_class": "WhisperTokenizer", "additional_special_tokens": tokens}
    files = {**folder_grid.two_files(), "tokenizer_config.json": {**config, "predict_timestamps": timestamps}}
    folder_grid.write(files, tmp_path)
    ours, theirs = fastbpe.load(tmp_path), transformers.AutoTokenizer.from_pretrained(tmp_path)
    for text in TEXTS:
        assert ours.encode_with_template(text) == theirs.encode(text)
        assert ours.encode_with_template(text, "ab") == theirs.encode(text, "ab")
    folder_grid.write({"tokenizer_config.json": {**config, "language": "English"}}, tmp_path)
    ours, theirs = fastbpe.load(tmp_path), transformers.AutoTokenizer.from_pretrained(tmp_path)
    assert ours.encode_with_template("ab") == theirs.encode("ab")


def test_tokens_of_whispers_prompt_may_be_in_added_tokens_json(tmp_path: Path) -> None:
    """Files of transformers 4.2x: the tokens are not special there, and once became the unknown token."""
    tokens = ["<|startoftranscript|>", "<|notimestamps|>", "<|0.00|>"]
    files = {
        **folder_grid.two_files(),
        "tokenizer_config.json": {"tokenizer_class": "WhisperTokenizer"},
        "special_tokens_map.json": {"additional_special_tokens": tokens[:2]},
        "added_tokens.json": {token: 1000 + i for i, token in enumerate(tokens)},
    }
    folder_grid.write(files, tmp_path)
    ours, theirs = fastbpe.load(tmp_path), transformers.AutoTokenizer.from_pretrained(tmp_path)
    start, no_times = theirs.convert_tokens_to_ids(tokens[:2])
    assert ours.encode_with_template("ab")[:2] == [start, no_times] == [*map(ours.token_to_id, tokens[:2])]
    for text in TEXTS:
        assert ours.encode_with_template(text, "ab") == theirs.encode(text, "ab")


def test_languages_of_whisper_have_the_tokens_of_transformers(tmp_path: Path) -> None:
    names = ["<|startoftranscript|>", *(f"<|{code}|>" for code in tokenization_whisper.LANGUAGES)]
    names += ["<|translate|>", "<|transcribe|>", "<|notimestamps|>"]
    ids = {name: 7 + i for i, name in enumerate(names)}
    made = transformers.WhisperTokenizer(vocab=ids, merges=[])
    known = {*tokenization_whisper.TO_LANGUAGE_CODE, *tokenization_whisper.LANGUAGES}
    for language in [None, *known]:
        for task in (None, "translate", "transcribe"):
            config = {"language": language, "task": task, "predict_timestamps": language == "en"}
            made.language, made.task, made.predict_timestamps = config.values()
            found = whisper_prompt.tokens(config, "", ids.__getitem__)
            assert [ids[name] for name in found] == made.prefix_tokens, config


def test_absent_tokens_of_whispers_prompt_are_named(tmp_path: Path) -> None:
    config = {"tokenizer_class": "WhisperTokenizer", "unk_token": None}
    folder_grid.write({**folder_grid.two_files(), "tokenizer_config.json": config}, tmp_path)
    with pytest.raises(FormatError, match=r"added tokens lack <\|startoftranscript\|>; add"):
        fastbpe.load(tmp_path)


@pytest.mark.parametrize("name", ["GPT2Tokenizer", "RobertaTokenizer", "CodeGenTokenizer"])
def test_two_files_count_before_a_model_if_the_class_takes_them(name: str, tmp_path: Path) -> None:
    files = {**folder_grid.two_files(), "spiece.model": folder_grid.pieces()}
    folder_grid.write({**files, "tokenizer_config.json": {"tokenizer_class": name}}, tmp_path)
    ours, theirs = fastbpe.load(tmp_path), transformers.AutoTokenizer.from_pretrained(tmp_path)
    for text in TEXTS:
        assert ours.encode(text, allowed_special="all") == theirs.encode(text, add_special_tokens=False)


def test_two_files_of_qwen35_have_the_rules_of_its_class(tmp_path: Path) -> None:
    files = {**folder_grid.two_files(), "tokenizer_config.json": {"tokenizer_class": "Qwen3_5Tokenizer"}}
    folder_grid.write(files, tmp_path)
    merges = [tuple(line.split()) for line in files["merges.txt"].decode().splitlines()[1:]]
    theirs = transformers.Qwen3_5Tokenizer(vocab=json.loads(files["vocab.json"]), merges=merges)
    ours = fastbpe.load(tmp_path)
    assert ours.n_vocab == len(theirs)
    for text in (*TEXTS, "हिन्दी e\u0301 <|endoftext|>"):
        assert ours.encode(text, allowed_special="all") == theirs.encode(text)


@pytest.mark.parametrize("name", ["LasrTokenizer", "GPT2Tokenizer"])
def test_model_whose_class_has_other_ids_is_refused(name: str, tmp_path: Path) -> None:
    pytest.importorskip("google.protobuf")  # transformers reads such models with it
    path = tmp_path / ("tokenizer.model" if name == "GPT2Tokenizer" else "spiece.model")
    path.write_bytes(folder_grid.pieces(normalizes=True))
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": name}))
    text = "A ab,  \u0301abc\n\nB"
    ids = fastbpe.load(path).encode(text)
    assert transformers.AutoTokenizer.from_pretrained(tmp_path).encode(text, add_special_tokens=False) != ids
    with pytest.raises(FormatError, match=f"the class {name} gives other ids than this model.*: load the tok"):
        fastbpe.load(tmp_path)
    for kind, class_name in [("xglm", "XGLMTokenizer"), ("m2m_100", "M2M100Tokenizer")]:
        (tmp_path / "tokenizer_config.json").write_text("{}")
        (tmp_path / "config.json").write_text(json.dumps({"model_type": kind}))
        with pytest.raises(FormatError, match=f"the class {class_name} gives other ids"):
            fastbpe.load(tmp_path)


def test_classes_in_python_with_files_of_their_own_are_those_of_transformers() -> None:
    names = {*folder.ALONE, folder.BERT_VOCABULARY, "merges.txt", "source.spm", "bpe.codes"} - {"tokenizer.json"}
    found: set[str] = set()
    for name in sorted({*model_types._classes().values()}):
        kind = getattr(transformers, f"{name}Tokenizer", None)
        if kind is not None and issubclass(kind, PythonBackend):
            found |= {name} if {*kind.vocab_files_names.values()} & names else set()
    assert found == {*class_settings.IN_PYTHON}
