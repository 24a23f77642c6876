"""Folders with a tokenizer.json whose class builds other steps: fastbpe.load gives the ids of AutoTokenizer."""

from __future__ import annotations

import json
import random
import tempfile
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")

import transformers
from transformers import TokenizersBackend
from transformers.models.auto import tokenization_auto

import fastbpe
from fastbpe import FormatError
from fastbpe.formats.huggingface import class_settings, class_steps, piece_classes
from helpers import folder_grid, saved_peer, tokenizer_json
from helpers.sampling import SEED, n_rounds

ROLE_LIST = (
    "<s> </s> <unk> <pad> <mask> [CLS] [SEP] [UNK] [PAD] [MASK] <cls> <sep> <bos> <eos> <|endoftext|> "
    "<|startoftext|> <UNK> <PAD> . [QUESTION] en_XX eng_Latn __fra__ <mask_2> <unk_7> <extra_id_3> "
    "<|startoftranscript|>"
)
ROLES = ROLE_LIST.split()
WORD_LIST = "the cat ##s un ##able é e Cat 中 国 a b ##b , x ##x E É ab bc 1 2 12 ca at"
SPACED_LIST = "▁ ▁the ▁cat s un able é e Cat ▁a ▁b b a ab ▁ab bc , . x E 1 2 12 ▁▁ c t h 中 \" ' `"
TEXTS = (
    "the Cats  unable é 中国 <x>",
    "a ab abc <s> b</s> [CLS] ab <mask> <|endoftext|>x",
    " Éé cats. , 12 thecat\n\nuncats it's",
    "``a'' ﬁ １２ ½ cafe\u0301 \t b  ",
    "▁a ▁▁b  [MASK] <unk> <new> <n0> <n1><n2>",
    "",
)
#: The tokens of Whisper's prompts; those of languages follow the first.
PROMPT = ["<|startoftranscript|>", "<|en|>", "<|zh|>", "<|de|>", "<|translate|>", "<|transcribe|>"]
NORMALIZERS: list[Any] = [
    None,
    {"type": "NFC"},
    {"type": "Lowercase"},
    {"type": "Replace", "pattern": {"String": "a"}, "content": "b"},
    {"type": "Sequence", "normalizers": [{"type": "NFKC"}, {"type": "Lowercase"}]},
]
SPELLS = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
SPACES = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "first", "split": False}
PRE_TOKENIZERS: list[Any] = [
    None,
    SPELLS,
    {**SPELLS, "add_prefix_space": True},
    SPACES,
    {"type": "BertPreTokenizer"},
    {"type": "Sequence", "pretokenizers": [{"type": "Digits", "individual_digits": True}, SPELLS]},
]
DECODERS: list[Any] = [
    None,
    {**SPELLS, "trim_offsets": False},
    {"type": "WordPiece", "prefix": "@@", "cleanup": False},
]
OPTIONS: dict[str, list[Any]] = {
    "do_lower_case": [True, False],
    "keep_accents": [True, False],
    "strip_accents": [True, False, None],
    "tokenize_chinese_chars": [True, False],
    "clean_text": [True, False],
    "wordpieces_prefix": ["##", "@@"],
    "add_prefix_space": [True, False],
    "trim_offsets": [True, False],
    "legacy": [True, False],
    "legacy_behaviour": [True, False],
    "split_by_punct": [True, False],
    "extra_ids": [0, 5],
    "offset": [10],
    "unk_id": [0, 2],
    "src_lang": ["en_XX", "eng_Latn", None],
    "tgt_lang": ["fra", "__fra__"],
    "add_bos_token": [True, False],
    "add_eos_token": [True, False],
    "predict_timestamps": [True],
    "language": ["english", "DE", "Mandarin"],
    "task": ["transcribe", "translate"],
    "padding_side": ["left", "right"],
    "clean_up_tokenization_spaces": [True, True, False],
    "mask_token": ["<mask>", "[MASK]", {"__type": "AddedToken", "content": "<new>", "lstrip": True}],
    "pad_token": ["<pad>", "<new>", None],
    "cls_token": ["[CLS]", "<cls>"],
    "eos_token": ["</s>", "<eos>"],
    "unk_token": ["<unk>", "x"],
    "additional_special_tokens": [["<x>", "en_XX"], None],
    "extra_special_tokens": [["<x>"], {"image_token": "<img>"}, None],
    "added_tokens_decoder": [
        {"2": {"content": "<unk>", "special": True}, "700": {"content": "<new>", "lstrip": True}}
    ],
}
CLASSES = sorted({*class_steps.CLASSES, *piece_classes.WITH_JSON})


def test_every_class_that_builds_its_own_steps_is_known() -> None:
    for name in {*tokenization_auto.TOKENIZER_MAPPING_NAMES.values(), "FNetTokenizer", "ConvBertTokenizer"} - {
        None
    }:
        found = tokenization_auto.tokenizer_class_from_name(name.removesuffix("Fast"))
        if found in (None, TokenizersBackend) or not issubclass(found, TokenizersBackend):
            continue
        plain = class_settings.plain_name(name)
        is_known = plain in class_steps.UNKNOWN or plain in CLASSES
        assert is_known == ("__init__" in found.__dict__ or found.__init__ is not TokenizersBackend.__init__), name


def kind_of(name: str) -> str:
    if name in class_steps.CLASSES:
        return class_steps.CLASSES[name].kind or {"ConvBert": "WordPiece", "FNet": "Unigram"}[name]
    return "BPE" if piece_classes.WITH_JSON[name].merges else "Unigram"


def names(rng: random.Random) -> list[str]:
    """Draw the tokens with a role, most of them."""
    return [name for name in ROLES if rng.random() < 0.9]


def model_of(rng: random.Random, kind: str, name: str) -> dict[str, Any]:
    own = names(rng)
    if name == "Whisper":
        own = [*(one for one in own if one not in PROMPT), *PROMPT]
    if kind == "WordPiece":
        tokens = own + WORD_LIST.split()
        options = {
            "unk_token": "[UNK]",
            "continuing_subword_prefix": "##",
            "max_input_chars_per_word": rng.choice([3, 100]),
        }
        return {"type": kind, **options, "vocab": {token: i for i, token in enumerate(tokens)}}
    if kind == "Unigram":
        scores = {token: -rng.random() * 8 - len(token) for token in SPACED_LIST.split()}
        listed = [(token, 0.0) for token in own] + [*scores.items()]
        return {"type": kind, "unk_id": rng.choice([0, 2]), "byte_fallback": False, "vocab": listed}
    is_spaced = not class_steps.CLASSES[name].settings.pattern if name in class_steps.CLASSES else True
    made = json.loads(folder_grid.llama_json())["model"] if is_spaced else dict(tokenizer_json.small()["model"])
    if name in ("CLIP", "OpenAIGPT", "Herbert"):
        made["vocab"] = {
            **made["vocab"],
            **{f"{one}</w>": len(made["vocab"]) + i for i, one in enumerate("abcxt")},
        }
        made["merges"] = [*made["merges"], "a b</w>"]
        made["vocab"]["ab</w>"] = len(made["vocab"])
    new = [one for one in own if one not in made["vocab"]]
    made["vocab"] = {**made["vocab"], **{one: len(made["vocab"]) + i for i, one in enumerate(new)}}
    return {**made, "ignore_merges": False, "fuse_unk": rng.random() < 0.5}


def processor(rng: random.Random, described: dict[str, Any]) -> Any:
    """Draw a post-processor."""
    vocab = described["model"]["vocab"]
    ids = {one[0]: i for i, one in enumerate(vocab)} if isinstance(vocab, list) else vocab
    if rng.random() < 0.3 or not {"<s>", "</s>"} <= ids.keys():
        return rng.choice([None, {**SPELLS, "trim_offsets": False}])
    flags = {"trim_offsets": True, "add_prefix_space": False}
    return {"type": "RobertaProcessing", "sep": ["</s>", ids["</s>"]], "cls": ["<s>", ids["<s>"]], **flags}


def draw(rng: random.Random, name: str) -> dict[str, Any]:
    """Draw the files of a folder."""
    model = model_of(rng, kind_of(name), name)
    vocab = model["vocab"]
    listed = [one[0] for one in vocab] if isinstance(vocab, list) else [*vocab]
    ids = {one: i for i, one in enumerate(listed)} if isinstance(vocab, list) else vocab
    chosen = [one for one in ROLES[:12] if one in ids and rng.random() < 0.4]
    flags = ("normalized", "lstrip", "rstrip", "single_word")
    added = [
        {
            "id": ids[one],
            "content": one,
            "special": rng.random() < 0.8,
            **{flag: rng.random() < 0.15 for flag in flags},
        }
        for one in chosen
    ]
    if rng.random() < 0.2:  # ids that contradict tokenizers' own: the class adds the tokens in their order
        places = rng.sample(range(3), 3)
        added += [tokenizer_json.added(len(listed) + place, f"<n{i}>") for i, place in enumerate(places)]
        rng.shuffle(added)
    else:
        added.sort(key=lambda one: one["id"])
    described: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": added,
        "normalizer": rng.choice(NORMALIZERS),
        "pre_tokenizer": rng.choice(PRE_TOKENIZERS),
        "decoder": rng.choice(DECODERS),
        "model": model,
    }
    described["post_processor"] = processor(rng, described)
    config: dict[str, Any] = {"tokenizer_class": f"{name}Tokenizer"}
    if name == "MarkupLM":
        config["tags_dict"] = {"a": 0}
    config |= {key: rng.choice(values) for key, values in OPTIONS.items() if rng.random() < 0.12}
    files: dict[str, Any] = {"tokenizer.json": described, "tokenizer_config.json": config}
    if rng.random() < 0.2:
        roles = {"unk_token": "<unk>", "mask_token": {"content": "<mask>", "lstrip": True}, "eos_token": "</s>"}
        files["special_tokens_map.json"] = {key: value for key, value in roles.items() if rng.random() < 0.5}
        if rng.random() < 0.5:
            files["special_tokens_map.json"]["additional_special_tokens"] = ["<y>", "en_XX", "<mask_1>"]
    if rng.random() < 0.2:
        files["added_tokens.json"] = {"<new>": 500, "<mask>": ids.get("<mask>", 501)}
    if rng.random() < 0.1:
        padding = {"strategy": "BatchLongest", "direction": "Right", "pad_id": 0, "pad_type_id": 0}
        described["padding"] = {**padding, "pad_token": "<x>"}
    return files


def ids_of(theirs: Any, *texts: str, is_plain: bool = False) -> Any:
    """Return the ids of a text or of two, for classes of documents too, which need boxes to encode."""
    return theirs.backend_tokenizer.encode(*texts, add_special_tokens=not is_plain).ids


def load_both(folder: Path) -> tuple[Any, Any]:
    """Return the tokenizers of fastbpe and of transformers; an error instead of one that refuses the folder."""
    ours: Any
    try:
        ours = fastbpe.load(folder)
    except FormatError as error:
        ours = error
    try:
        theirs = transformers.AutoTokenizer.from_pretrained(folder)
    except Exception as error:  # transformers raises anything
        theirs = error
    return ours, theirs


def decode(theirs: Any, ids: list[int], skip: bool) -> str:
    """Return the text of ids. Lasr's own method reads ids of sound, and leaves some out."""
    if type(theirs).__name__ == "LasrTokenizer":
        text = theirs.backend_tokenizer.decode(ids, skip_special_tokens=skip)
        return saved_peer.cleaned_up(theirs, text)
    return saved_peer.decode(theirs, ids, skip)


def or_none(encode: Callable[[], list[int]]) -> list[int] | None:
    """Return ids; None if the unknown token is missing."""
    try:
        return encode()
    except Exception:  # tokenizers raises this class for every error
        return None


def difference(ours: Any, theirs: Any) -> str:
    """Say how two tokenizers differ; "": in nothing."""
    theirs.backend_tokenizer.no_padding()
    theirs.backend_tokenizer.no_truncation()
    for text in TEXTS:
        ids = or_none(partial(ids_of, theirs, text, is_plain=True))
        found = or_none(partial(ours.encode, text, allowed_special="all"))
        if found != ids:
            return f"{text!r} is {found}, not {ids}"
        if ids is None:
            continue
        offsets = theirs.backend_tokenizer.encode(text, add_special_tokens=False).offsets
        if (told := [*map(tuple, ours.encode_with_offsets(text, allowed_special="all")[1])]) != offsets:
            return f"{text!r} has the offsets {told}, not {offsets}"
        for skip in (True, False):
            decoded = decode(theirs, ids, skip)
            told = ours.decode(ids, skip_special_tokens=skip)
            if told != decoded:
                return f"{ids} decode to {told!r}, not {decoded!r}, skipping: {skip}"
    for texts in (("a cat",), ("a cat", "the ab")):
        found, ids = or_none(partial(ours.encode_with_template, *texts)), or_none(partial(ids_of, theirs, *texts))
        if found != ids:
            return f"{texts!r} is {found} with the template, not {ids}"
    return ""


def check(name: str, draw_files: Callable[[random.Random, str], dict[str, Any]]) -> None:
    """Compare random folders of a class with transformers, until n_rounds of them were equal."""
    counts: Counter[str] = Counter()
    rounds = n_rounds(8, 300)
    for number in range(4 * rounds + 20):  # transformers refuses up to a quarter of the folders of a class
        if counts["equal"] == rounds:
            break
        seed = f"{SEED} {name} {number}"
        files = draw_files(random.Random(seed), name)
        with tempfile.TemporaryDirectory() as folder:
            folder_grid.write(files, Path(folder))
            ours, theirs = load_both(Path(folder))
        if isinstance(theirs, Exception):
            counts["refused by transformers"] += 1
            continue
        assert not isinstance(ours, Exception), f"{seed}: {ours}: {files}"
        found = difference(ours, theirs)
        assert not found, f"{seed}: {found}: {files}"
        counts["equal"] += 1
    print(f"{name}: {dict(counts)}")
    assert counts["equal"] == rounds


@pytest.mark.filterwarnings("ignore::fastbpe.errors.FormatWarning")
@pytest.mark.parametrize("name", CLASSES)
def test_ids_are_those_of_the_class(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    check(name, draw)


def draw_lines(rng: random.Random, name: str) -> dict[str, Any]:
    """Draw the files of a folder with a vocab.txt instead of a tokenizer.json."""
    files = draw(rng, name)
    vocab = files.pop("tokenizer.json")["model"]["vocab"]
    end = rng.choice(["\n", "\r\n"])
    return {**files, "vocab.txt": (end.join(vocab) + rng.choice(["", end])).encode()}


@pytest.mark.parametrize("name", class_steps.WORDS)
def test_lines_of_a_vocabulary_have_the_steps_of_the_class(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    check(name, draw_lines)


def draw_pair(rng: random.Random, name: str) -> dict[str, Any]:
    """Draw the files of a folder with two files instead of a tokenizer.json."""
    files = draw(rng, name)
    model = files.pop("tokenizer.json")["model"]
    lines = [merge if isinstance(merge, str) else " ".join(merge) for merge in model["merges"]]
    return {**files, "vocab.json": model["vocab"], "merges.txt": "\n".join(["#version: 0.2", *lines, ""]).encode()}


@pytest.mark.parametrize("name", class_steps.PAIRS)
def test_two_files_have_the_steps_of_the_class(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    check(name, draw_pair)
