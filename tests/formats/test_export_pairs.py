"""Every kind of tokenizer in every format: it is written and read back, or refused with a reason and a way out."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, Tokenizer
from fastbpe.normalization.sentencepiece_rules import charsmap
from helpers.segmented_models import tokenizer_json

TEXTS = ["low lower", "<s>", "wer slow", "", "ow", "漢 l"]
DOCUMENTS = ["low lower lowest low newer slow"] * 5
FORMATS = ("native", "tiktoken", "gpt2", "minbpe", "tekken", "sentencepiece", "huggingface", "gguf")
METASPACE = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
NAMED = {
    "single_word": False,
    "lstrip": False,
    "rstrip": False,
    "normalized": False,
    "special": True,
}
BERT_STEPS = {
    "normalizer": {
        "type": "BertNormalizer",
        "clean_text": True,
        "handle_chinese_chars": True,
        "strip_accents": None,
        "lowercase": True,
    },
    "added_tokens": [{"id": i, "content": text, **NAMED} for i, text in enumerate(("[UNK]", "[CLS]", "[SEP]"))],
}


def of_code_points(**options: Any) -> Tokenizer:
    options = {"vocab_size": 25, "hard_vocab_limit": False, "progress": False, **options}
    return fastbpe.train(DOCUMENTS, **options)


def of_json(model: dict[str, Any], pre_tokenizer: Any = None, **parts: Any) -> Tokenizer:
    described = json.loads(tokenizer_json(model, **parts))
    if pre_tokenizer is not None:
        described["pre_tokenizer"] = pre_tokenizer
    return fastbpe.load(json.dumps(described).encode())


def word_piece(**parts: Any) -> Tokenizer:
    tokens = ["[UNK]", "[CLS]", "[SEP]", "low", "##er", "slow", "##w"]
    model = {
        "type": "WordPiece",
        "unk_token": "[UNK]",
        "continuing_subword_prefix": "##",
        "max_input_chars_per_word": 100,
        "vocab": {token: i for i, token in enumerate(tokens)},
    }
    return of_json(model, **parts)


def unigram() -> Tokenizer:
    """Return a tokenizer with the steps of T5."""
    import base64

    pieces = ["<unk>", "▁", "▁low", "er", "l", "o", "w", "s"]  # </s> follows
    rules = base64.b64encode(charsmap("nmt_nfkc")).decode()
    return of_json(
        {"type": "Unigram", "unk_id": 0, "vocab": [[piece, -float(i)] for i, piece in enumerate(pieces)]},
        pre_tokenizer=METASPACE,
        normalizer={
            "type": "Sequence",
            "normalizers": [
                {"type": "Precompiled", "precompiled_charsmap": rules},
                {"type": "Strip", "strip_left": False, "strip_right": True},
                {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "▁"},
            ],
        },
        decoder=METASPACE,
        post_processor={
            "type": "TemplateProcessing",
            "single": [{"Sequence": {"id": "A", "type_id": 0}}, {"SpecialToken": {"id": "</s>", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {"</s>": {"id": "</s>", "ids": [8], "tokens": ["</s>"]}},
        },
        added_tokens=[{**NAMED, "id": 8, "content": "</s>"}],
    )


KINDS: dict[str, tuple[Callable[[], Tokenizer], str]] = {
    "bytes": (
        lambda: fastbpe.train(DOCUMENTS, vocab_size=270, pattern="gpt2", progress=False),
        "native tiktoken gpt2 minbpe tekken huggingface gguf",
    ),
    "code points": (
        lambda: of_code_points(
            mode="codepoint",
            vocab_size=300,
            byte_fallback=True,
            normalization_rule_name="identity",
            remove_extra_whitespaces=False,
        ),
        "native sentencepiece huggingface gguf",
    ),
    "unigram of sentencepiece": (lambda: of_code_points(mode="unigram"), "native sentencepiece huggingface gguf"),
    "Unigram of T5": (unigram, "native sentencepiece huggingface gguf"),
    "Unigram of words": (
        lambda: of_json({"type": "Unigram", "unk_id": 0, "vocab": [["<unk>", 0.0], ["low", -1.0]]}),
        "native huggingface",
    ),
    "WordPiece of BERT": (
        lambda: word_piece(
            pre_tokenizer={"type": "BertPreTokenizer"},
            post_processor={"type": "BertProcessing", "sep": ["[SEP]", 2], "cls": ["[CLS]", 1]},
            **BERT_STEPS,
        ),
        "native huggingface gguf",
    ),
    "WordPiece of words": (word_piece, "native huggingface"),
    "WordLevel": (
        lambda: of_json({"type": "WordLevel", "unk_token": "?", "vocab": {"?": 0, "low": 1}}),
        "native huggingface",
    ),
    "characters": (
        lambda: of_json(
            {
                "type": "BPE",
                "unk_token": "?",
                "end_of_word_suffix": "</w>",
                "vocab": {"?": 0, "l": 1, "o": 2, "lo": 3, "w</w>": 4},
                "merges": ["l o"],
            }
        ),
        "native huggingface",
    ),
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.filterwarnings("ignore:.*single precision:fastbpe.FormatWarning")
@pytest.mark.filterwarnings("ignore:.*more than 100 characters:fastbpe.FormatWarning")
def test_pair_is_written_or_refused_with_a_way_out(kind: str, format: Any, tmp_path: Path) -> None:
    make, works = KINDS[kind]
    tokenizer, path = make(), tmp_path / "x.json"
    if format in works.split():
        tokenizer.export(path, format=format)
        needed = {"pattern": "gpt2"} if format in ("tiktoken", "gpt2") else {}
        again = fastbpe.load(path, **needed)  # type: ignore[arg-type]
        assert again.model_type == tokenizer.model_type
        for text in TEXTS:
            assert again.encode_ordinary(text) == tokenizer.encode_ordinary(text)
            if format in ("native", "huggingface", "gguf"):  # the others have no place for a template
                assert again.encode_with_template(text) == tokenizer.encode_with_template(text)
        return
    with pytest.raises(FormatError) as caught:
        tokenizer.export(path, format=format)
    assert not path.exists()
    message = str(caught.value)
    found = re.search(r"(?:choose one of|export (?:it|this tokenizer) as) (.*)$", message)
    assert found is not None, message
    named = [name for name in FORMATS if re.search(rf"\b{name}\b", found[1])]
    assert named, message
    assert format not in named, message
    for name in named:  # a way out works, unless steps of this file prevent it
        if name in works.split():
            tokenizer.export(tmp_path / f"{name}.json", format=name)  # type: ignore[arg-type]
    assert {*named} & {*works.split()}, message


def test_roles_name_the_tokens_that_llama_cpp_needs(tmp_path: Path) -> None:
    tokenizer = word_piece(pre_tokenizer={"type": "BertPreTokenizer"}, normalizer=BERT_STEPS["normalizer"])
    with pytest.raises(FormatError, match=r"name them with roles="):
        tokenizer.export(tmp_path / "x.gguf")
    tokenizer = word_piece(pre_tokenizer={"type": "BertPreTokenizer"}, **BERT_STEPS)
    with pytest.warns(fastbpe.FormatWarning, match="words of more than 100 characters are unknown"):
        tokenizer.export(tmp_path / "x.gguf", roles={"cls": "[CLS]", "sep": "[SEP]"})
    assert fastbpe.load(tmp_path / "x.gguf").encode_with_template("low") == [1, 3, 2]
