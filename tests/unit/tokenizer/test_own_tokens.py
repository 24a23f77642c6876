"""Tokens with a role (bos, eos, pad, unk), and templates."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError, Tokenizer
from helpers import tokenizer_json
from helpers.codepoint_models import published_bytes, trained
from helpers.shared_data import BYTES

tokenizers = pytest.importorskip("tokenizers")


def roles(tokenizer: Tokenizer) -> tuple[int | None, ...]:
    """Return the ids of bos, eos, pad and unk."""
    return tokenizer.bos_token_id, tokenizer.eos_token_id, tokenizer.pad_token_id, tokenizer.unk_token_id


def small(**special_tokens: int) -> Tokenizer:
    return Tokenizer.from_ranks(BYTES, pattern=None, special_tokens=special_tokens)


def model(**options: Any) -> Tokenizer:
    return fastbpe.load(trained(["a b ab abc"] * 9, vocab_size=300, byte_fallback=True, **options))


def test_well_known_names_get_their_roles() -> None:
    assert roles(small()) == (None, None, None, None)
    assert roles(small(**{"<|endoftext|>": 256})) == (None, 256, None, None)
    assert roles(small(**{"<|begin_of_text|>": 256, "<|end_of_text|>": 257})) == (256, 257, None, None)
    assert roles(small(**{"<s>": 256, "</s>": 257, "<pad>": 258, "<unk>": 259})) == (256, 257, 258, 259)


def test_added_special_tokens_get_their_roles() -> None:
    assert small().with_special_tokens({"<pad>": 256}).pad_token_id == 256
    assert model().pad_token_id is None
    n_vocab = model().n_vocab
    assert model().with_special_tokens({"<pad>": n_vocab}).pad_token_id == n_vocab


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, (1, 2, None, 0)),
        ({"bos_id": -1, "eos_id": 5, "pad_id": 3, "unk_id": 4}, (None, 5, 3, 4)),
        ({"bos_piece": "<begin>", "pad_id": 3}, (1, 2, 3, 0)),
        ({"user_defined_symbols": ["<s>"]}, (None, 2, None, 0)),
    ],
)
def test_control_symbols_of_a_model_get_their_roles(
    options: dict[str, Any], expected: tuple[int | None, ...]
) -> None:
    tokenizer = model(**options)
    assert roles(tokenizer) == expected
    bos = [] if expected[0] is None else [expected[0]]
    assert tokenizer.template == (bos, [])
    text = tokenizer.encode("a b")
    assert tokenizer.encode_with_template("a b") == bos + text
    assert tokenizer.encode_with_template("a b", "a b") == bos + text + bos + text


def test_llama2_template_begins_texts_with_bos() -> None:
    tokenizer = fastbpe.load(published_bytes("llama2"))
    assert roles(tokenizer) == (1, 2, None, 0)
    assert tokenizer.encode_with_template("Hello") == [1, 15043]
    assert tokenizer.encode("Hello") == [15043]


TEMPLATE = {
    "type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "pair": [
        {"Sequence": {"id": "B", "type_id": 0}},
        {"SpecialToken": {"id": "<s>", "type_id": 0}},
        {"Sequence": {"id": "A", "type_id": 1}},
        {"SpecialToken": {"id": "</s>", "type_id": 1}},
    ],
    "special_tokens": {
        "<s>": {"id": "<s>", "ids": [262], "tokens": ["<s>"]},
        "</s>": {"id": "</s>", "ids": [263, 262], "tokens": ["</s>", "<s>"]},
    },
}
ROBERTA = {
    "type": "RobertaProcessing",
    "cls": ["<s>", 262],
    "sep": ["</s>", 263],
    "trim_offsets": True,
    "add_prefix_space": False,
}
BERT = {"type": "BertProcessing", "cls": ["<s>", 262], "sep": ["</s>", 263]}


def file_with_post_processors(*steps: dict[str, Any]) -> bytes:
    """Return a small tokenizer.json with these post-processors."""
    post_processor = steps[0] if len(steps) == 1 else {"type": "Sequence", "processors": [*steps]}
    added = [tokenizer_json.added(262 + i, name, special=True) for i, name in enumerate(("<s>", "</s>"))]
    return tokenizer_json.dumped({**tokenizer_json.small(added), "post_processor": post_processor})


@pytest.mark.parametrize(
    "steps",
    [
        [TEMPLATE],
        [ROBERTA],
        [BERT],
        [tokenizer_json.GPT2],
        [tokenizer_json.GPT2, TEMPLATE],
        [TEMPLATE, tokenizer_json.GPT2],
        [TEMPLATE, ROBERTA],
        [BERT, TEMPLATE],
        [ROBERTA, BERT],
    ],
)
def test_templates_give_the_ids_of_tokenizers(steps: list[dict[str, Any]], tmp_path: Path) -> None:
    file = file_with_post_processors(*steps)
    peer = tokenizers.Tokenizer.from_str(file.decode())
    tokenizer = fastbpe.load(file)
    tokenizer.save(tmp_path / "a.fbpe")
    tokenizer.export(tmp_path / "a.json", format="huggingface")
    saved = [fastbpe.load(tmp_path / name) for name in ("a.fbpe", "a.json")]
    for ours in (tokenizer, pickle.loads(pickle.dumps(tokenizer)), *saved):
        for text, pair in (("ab", None), ("", None), ("ab", "b c"), ("", "a"), ("a", ""), ("a<s>b", "</s>")):
            theirs = peer.encode(text, pair, add_special_tokens=True).ids
            assert ours.encode_with_template(text, pair) == theirs


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["phi2", "falcon", "whisper_large_v3", "llama3"])
def test_templates_of_published_files_give_the_ids_of_tokenizers(name: str) -> None:
    file = tokenizer_json.file_of(name)
    peer = tokenizers.Tokenizer.from_str(file.decode())
    peer.no_truncation()
    peer.no_padding()
    tokenizer = fastbpe.load(file)
    rng = random.Random(3)
    for _ in range(50):
        text, pair = (tokenizer_json.random_text(rng) for _ in range(2))
        assert tokenizer.encode_with_template(text) == peer.encode(text).ids
        assert tokenizer.encode_with_template(text, pair) == peer.encode(text, pair).ids


def test_template_that_tokenizers_cannot_apply_raises_format_error() -> None:
    with pytest.raises(FormatError, match=r"processors\[1\]: it gets \d parts from the step before it"):
        fastbpe.load(file_with_post_processors(TEMPLATE, TEMPLATE))
    other = json.loads(json.dumps(TEMPLATE).replace('"B"', '"C"'))
    with pytest.raises(FormatError, match=r"pair\[0\]\.Sequence\.id: must be A or B, not 'C'"):
        fastbpe.load(file_with_post_processors(other))


def test_template_tokens_get_the_roles_bos_and_eos() -> None:
    names = {"[X]": 262, "[Y]": 263}
    template = json.loads(json.dumps(ROBERTA).replace("</s>", "[Y]").replace("<s>", "[X]"))
    added = [tokenizer_json.added(i, name, special=True) for name, i in names.items()]
    file = tokenizer_json.dumped({**tokenizer_json.small(added), "post_processor": template})
    assert roles(fastbpe.load(file)) == (262, 263, None, None)


@pytest.mark.parametrize("is_codepoint", [False, True])
def test_roles_survive_pickling_saving_and_export(is_codepoint: bool, tmp_path: Path) -> None:
    plain = model() if is_codepoint else small()
    n = plain.n_vocab
    made = plain.with_special_tokens({"[A]": n, "[B]": n + 1, "[C]": n + 2, "[D]": n + 3})
    folder = tmp_path / "folder"
    folder.mkdir()
    name = "tokenizer.model" if is_codepoint else "tokenizer.json"
    made.export(folder / name, format="sentencepiece" if is_codepoint else "huggingface")
    config = {
        "bos_token": "[A]",
        "eos_token": {"__type": "AddedToken", "content": "[B]", "special": True},
        "pad_token": "[C]",
        "add_bos_token": False,
    }
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    (folder / "special_tokens_map.json").write_text(json.dumps({"bos_token": "[A]", "unk_token": "[D]"}))
    tokenizer = fastbpe.load(folder)
    assert roles(tokenizer) == (n, n + 1, n + 2, n + 3)
    assert tokenizer.template == ([], [])
    assert tokenizer.fingerprint == made.fingerprint
    tokenizer.save(tmp_path / "a.fbpe")
    more = tokenizer.with_special_tokens({"<pad>": n + 4})
    for other in (fastbpe.load(tmp_path / "a.fbpe"), pickle.loads(pickle.dumps(tokenizer)), more):
        assert roles(other) == (n, n + 1, n + 2, n + 3)
        assert other.template == ([], [])
        assert other.encode_with_template("a", "b") == tokenizer.encode("a") + tokenizer.encode("b")


def test_role_named_for_a_missing_token_adds_it(tmp_path: Path) -> None:
    small(**{"</s>": 256}).export(tmp_path / "tokenizer.json", format="huggingface")
    (tmp_path / "tokenizer_config.json").write_text('{"eos_token": "<|im_end|>", "pad_token": null}')
    assert roles(fastbpe.load(tmp_path)) == (None, 257, None, None)


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        ({}, ([1], [])),
        ({"add_eos_token": True}, ([], [2])),
        ({"add_bos_token": False}, ([], [])),
        ({"tokenizer_class": "LlamaTokenizer"}, ([], [])),
        ({"tokenizer_class": "CodeLlamaTokenizer"}, ([1], [])),
        ({"tokenizer_class": "CodeLlamaTokenizer", "bos_token": None}, ([], [])),
        ({"add_bos_token": True, "bos_token": "</s>"}, ([2], [])),
        ({"add_eos_token": True, "eos_token": "<unk>"}, ([], [0])),
    ],
)
def test_tokenizer_config_decides_about_bos_and_eos(
    flags: dict[str, Any], expected: tuple[list[int], list[int]], tmp_path: Path
) -> None:
    model().export(tmp_path / "tokenizer.model", format="sentencepiece")
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(flags))
    tokenizer = fastbpe.load(tmp_path)
    assert tokenizer.template == expected
    assert pickle.loads(pickle.dumps(tokenizer)).template == expected


def test_invalid_add_bos_token_raises_format_error(tmp_path: Path) -> None:
    model().export(tmp_path / "tokenizer.model", format="sentencepiece")
    (tmp_path / "tokenizer_config.json").write_text('{"add_bos_token": 1}')
    with pytest.raises(FormatError, match=r"tokenizer_config\.json: add_bos_token: must be true or false, not 1"):
        fastbpe.load(tmp_path)


@pytest.mark.daily
def test_exported_model_has_a_post_processor(tmp_path: Path) -> None:
    tokenizer = fastbpe.load(published_bytes("llama2"))
    assert tokenizer.mode == "codepoint"
    tokenizer.export(tmp_path / "tokenizer.json", format="huggingface")
    peer = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    assert peer.encode("Hello").ids == [1, 15043]
    assert peer.encode("Hello", "you").ids == [1, 15043, 1, 366]
    assert peer.encode("Hello", "you").type_ids == [0, 0, 1, 1]
    again = fastbpe.load(tmp_path / "tokenizer.json")
    assert again.encode_with_template("Hello", "you") == [1, 15043, 1, 366]
    assert roles(again) == roles(tokenizer)
