"""Folders with only a sentencepiece `.model`, whose class takes the pieces and has rules of its own."""

from __future__ import annotations

import io
import json
import random
import shutil
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("transformers")
pytest.importorskip("google.protobuf")  # transformers reads such models with it
pytest.importorskip("sentencepiece")

import sentencepiece
import transformers

import fastbpe
from fastbpe import FormatError
from fastbpe.formats import folder
from fastbpe.formats.huggingface import piece_classes
from helpers import saved_peer
from helpers.sampling import SEED, n_rounds

WORDS = ["The cat sat (on the mat), and the dog's 12,345 bones ﬁt in Zürich's gardens.", "a cat can count to 12"]
TEXTS = (
    "The cat  sat\n\non the\tmat ",
    "  Zürich ÉTÉ ﬁ １２ ½ cafe\u0301",
    "日本語 العربية हिन्दी 한국어 emoji 😀 \u200b\u00a0z",
    "<s>x</s> <mask> y<pad><unk> [MASK][CLS] z <extra_id_3> <mask_1> xyz en_XX",
    "``quoted'' text, 12,345",
    "▁▁a ▁",
    "",
)
MODELS: dict[str, dict[str, Any]] = {
    "plain": {},
    "merges": {"model_type": "bpe"},
    "merges and bytes": {"model_type": "bpe", "byte_fallback": True, "vocab_size": 340},
    "symbols": {
        "user_defined_symbols": ["[CLS]", "xyz", "(", ")"],
        "control_symbols": ["[SEP]", "[MASK]", "<sep>", "<cls>"],
        "normalization_rule_name": "nfkc_cf",
    },
    "t5": {"pad_id": 0, "eos_id": 1, "unk_id": 2, "bos_id": -1},
    "albert": {
        "pad_id": 0,
        "unk_id": 1,
        "bos_id": -1,
        "eos_id": -1,
        "normalization_rule_name": "identity",
        "control_symbols": ["[CLS]", "[SEP]", "[MASK]"],
    },
    "bytes": {"byte_fallback": True, "vocab_size": 340},
}
#: Key of tokenizer_config.json → values.
OPTIONS: dict[str, list[Any]] = {
    "do_lower_case": [True, False],
    "keep_accents": [True, False],
    "add_prefix_space": [True, False],
    "split_by_punct": [True, False],
    "extra_ids": [0, 5],
    "offset": [10],
    "mask_token_sent": ["<mask_1>", "<mask_2>", None],
    "src_lang": ["fr_XX", "fra_Latn", None],
    "tgt_lang": ["deu", "<s>", "__fra__", None],
    "add_bos_token": [True, False],
    "add_eos_token": [True],
    "mask_token": ["<mask>", "[MASK]", {"__type": "AddedToken", "content": "<fl>", "lstrip": True}],
    "pad_token": ["<new>", None],
    "cls_token": ["[CLS]"],
    "sep_token": ["<sep>"],
    "additional_special_tokens": [["<x>", "fra_Latn", "eng_Latn", "__fra__"], None],
    "extra_special_tokens": [["<y>"], {"image_token": "<img>"}, None],
    "added_tokens_decoder": [
        {"0": {"content": "<s>", "special": True}, "700": {"content": "<new>", "lstrip": True, "special": False}},
        {"3": {"content": "<mask>", "lstrip": True, "special": True, "normalized": False}},
    ],
}


@lru_cache
def model(name: str) -> bytes:
    made = io.BytesIO()
    options = {"vocab_size": 80, "hard_vocab_limit": False, "minloglevel": 2, **MODELS[name]}
    if options.get("model_type") == "bpe":
        del options["hard_vocab_limit"]
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(WORDS * 9), model_writer=made, **options)
    return made.getvalue()


def load_both(where: Path) -> tuple[Any, Any]:
    """Return the tokenizers of fastbpe and of transformers; None instead of one that refuses the folder."""
    ours = theirs = None
    with suppress(FormatError):
        ours = fastbpe.load(where)
    with suppress(Exception):  # transformers raises anything
        theirs = transformers.AutoTokenizer.from_pretrained(where)
    return ours, theirs


def file_name(class_name: str) -> str:
    return str(getattr(transformers, class_name + "Tokenizer").vocab_files_names["vocab_file"])


def ids_of(theirs: Any, *texts: str, is_plain: bool = False) -> Any:
    """Return the ids of a text or of two, for classes of documents too, which need boxes to encode."""
    if type(theirs).__name__ in ("LayoutXLMTokenizer", "UdopTokenizer"):
        return theirs.backend_tokenizer.encode(*texts, add_special_tokens=not is_plain).ids
    return theirs.encode(*texts, add_special_tokens=not is_plain)


def assert_equal(ours: Any, theirs: Any) -> None:
    for text in TEXTS:
        ids = ids_of(theirs, text, is_plain=True)
        assert ours.encode(text, allowed_special="all") == ids
        for skip in (True, False):
            assert ours.decode(ids, skip_special_tokens=skip) == saved_peer.decode(theirs, ids, skip)
    for texts in (("a cat",), ("a cat", "the dog")):
        assert ours.encode_with_template(*texts) == ids_of(theirs, *texts)
    offsets = theirs.backend_tokenizer.encode("The ﬁt  cat", add_special_tokens=False).offsets
    assert list(map(tuple, ours.encode_with_offsets("The ﬁt  cat")[1])) == offsets


@pytest.mark.parametrize("class_name", [*piece_classes.CLASSES])
def test_ids_are_those_of_the_class(class_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert file_name(class_name) in folder.ALONE
    taken: list[str] = []  # most classes take all models, Pegasus takes one
    names = [name for name in MODELS if class_name != "SeamlessM4T" or name not in ("t5", "albert")]
    for number in range(len(names) + n_rounds(12, 150)):
        rng = random.Random(f"{SEED} {class_name} {number}")
        chosen = names[number] if number < len(names) else rng.choice(taken)
        config: dict[str, Any] = {"tokenizer_class": f"{class_name}Tokenizer"}
        if number >= len(names):
            config |= {key: rng.choice(values) for key, values in OPTIONS.items() if rng.random() < 0.15}
        where = tmp_path / str(number)
        where.mkdir()
        (where / file_name(class_name)).write_bytes(model(chosen))
        (where / "tokenizer_config.json").write_text(json.dumps(config))
        ours, theirs = load_both(where)
        assert (ours is None) == (theirs is None), (chosen, config)
        if ours is not None:
            assert_equal(ours, theirs)
            taken.append(chosen)
        shutil.rmtree(where)
