"""The sentencepiece normalizer and its slow twin against sentencepiece."""

import random
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from fastbpe import train
from fastbpe._core.normalize.sentencepiece_normalizer import Normalizer
from fastbpe.formats.sentencepiece import specs
from fastbpe.model import CodePointModel, PieceType
from fastbpe.normalization import sentencepiece_rules
from helpers.codepoint_models import (
    RULE_NAMES,
    hard_text,
    model_of,
    peer_charsmap,
    peer_rules,
    published_model,
)
from helpers.codepoint_models import published_processor as processor
from helpers.sampling import n_rounds
from helpers.shared_data import corpus
from reference import normalization as reference

FLAGS = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")
N_BYTES = n_rounds(150_000, 3_000_000)
CORPORA = (
    "botchan.txt",
    "wagahaiwa_nekodearu.txt",
    "emoji_mixed.txt",
    "french_entre_nous.txt",
    "multilingual.txt",
)


def normalizer_of(model: CodePointModel) -> Normalizer:
    return Normalizer(
        model.normalizer["precompiled_charsmap"],
        **{name: model.normalizer[name] for name in FLAGS},
        treat_whitespace_as_suffix=model.trainer["treat_whitespace_as_suffix"],
        symbols=[p for p, t in zip(model.pieces, model.types, strict=True) if t == PieceType.USER_DEFINED],
    )


@pytest.mark.daily
@pytest.mark.sample(1)
@pytest.mark.parametrize("rule_name", RULE_NAMES)
def test_slow_twin_decodes_the_standard_rules(rule_name: str) -> None:
    assert reference.rules_of(peer_charsmap(rule_name)) == peer_rules(rule_name)


@pytest.mark.daily
@pytest.mark.sample(1)
@pytest.mark.parametrize("rule_name", RULE_NAMES)
def test_hard_texts_are_normalized_as_by_sentencepiece(rule_name: str) -> None:
    """All flags, user-defined symbols of every kind, and white space at both ends."""
    rng = random.Random(rule_name)
    keys = list(peer_rules(rule_name)) or [b"x"]
    for _ in range(n_rounds(40, 400)):
        symbols = {hard_text(rng, keys, 4) for _ in range(rng.choice([0, 0, 1, 3]))} - {b"", b"<unk>"}
        symbols = {symbol for symbol in symbols if 0 not in symbol}
        flags: dict[str, Any] = {name: rng.random() < 0.7 for name in FLAGS}
        suffix = rng.random() < 0.3
        model = model_of(
            [(b"<unk>", 0, PieceType.UNKNOWN), *((symbol, 0, PieceType.USER_DEFINED) for symbol in symbols)],
            {"treat_whitespace_as_suffix": suffix},
            {"precompiled_charsmap": peer_charsmap(rule_name), **flags},
        )
        peer = sentencepiece.SentencePieceProcessor(model_proto=model)
        ours = Normalizer(
            peer_charsmap(rule_name), **flags, treat_whitespace_as_suffix=suffix, symbols=list(symbols)
        )
        twin = reference.Normalizer(
            peer_rules(rule_name), **flags, treat_whitespace_as_suffix=suffix, symbols=symbols
        )
        for _ in range(50):
            text = hard_text(rng, rng.choice([keys, list(symbols)]))
            expected = peer.normalize(text, with_offsets=True)
            assert ours.normalize_with_offsets(text) == expected, (model, text)
            assert ours.normalize(text) == expected[0]
            assert twin.normalize(text) == expected


@pytest.mark.parametrize("file", CORPORA)
@pytest.mark.parametrize("rule_name", RULE_NAMES)
def test_lines_of_corpora_are_normalized_as_by_sentencepiece(rule_name: str, file: str) -> None:
    flags = dict.fromkeys(FLAGS, True)
    peer = sentencepiece.SentencePieceNormalizer(rule_name=rule_name, **flags)
    ours = Normalizer(peer_charsmap(rule_name), **flags)
    text = corpus(file, N_BYTES).encode()
    for line in [*text.split(b"\n"), text]:
        assert ours.normalize_with_offsets(line) == peer.normalize(line, with_offsets=True)


@pytest.mark.parametrize("name", ["llama2", "mistral_v3", "bpemb", "chinese"])
def test_published_models_normalize_as_sentencepiece(name: str) -> None:
    rng = random.Random(name)
    ours, peer = normalizer_of(published_model(name)), processor(name)
    lines = [*corpus("emoji_mixed.txt", 100_000).encode().split(b"\n"), *(hard_text(rng) for _ in range(1000))]
    for line in lines:
        assert ours.normalize_with_offsets(line) == peer.normalize(line, with_offsets=True)


def test_custom_rules_normalize_as_sentencepiece() -> None:
    """Rules that produce one space, many or no characters, nested rules, and rules for ASCII."""
    rules = {
        "a": "  ",
        "ab": " x ",
        "abc": "",
        "日": " ",
        "x": "xxxxxxxxxxxxxxxxxxxxxxx",
        " ": "",
        "\t": " \t",
        "~": "é",
    }
    flags = dict.fromkeys(FLAGS, True)
    peer = sentencepiece.SentencePieceNormalizer(norm_map=list(rules.items()), **flags)
    spec = specs.read(specs.NORMALIZER, peer.serialized_normalizer_spec())
    ours = Normalizer(spec["precompiled_charsmap"], **flags)
    rng = random.Random(1)
    for _ in range(n_rounds(1000, 5000)):
        text = hard_text(rng, [key.encode() for key in rules])
        assert ours.normalize_with_offsets(text) == peer.normalize(text, with_offsets=True)


def peer_compiled(rules: dict[str, str]) -> bytes:
    spec = sentencepiece.SentencePieceNormalizer(norm_map=list(rules.items())).serialized_normalizer_spec()
    charsmap: bytes = specs.read(specs.NORMALIZER, spec)["precompiled_charsmap"]
    return charsmap


@pytest.mark.parametrize("rule_name", RULE_NAMES)
def test_standard_charsmaps_equal_sentencepiece_to_the_byte(rule_name: str) -> None:
    assert sentencepiece_rules.charsmap(rule_name) == peer_charsmap(rule_name)


def test_compiled_rules_equal_sentencepiece_to_the_byte() -> None:
    """From one rule to tables of many blocks: sparse, dense, with common endings, with all bytes."""
    rng = random.Random(1)
    for i in range(n_rounds(60, 300)):
        letters = rng.choice([range(97, 100), range(0x21, 0x7F), range(0xA0, 0x3000), range(0x3000, 0xD000)])
        n_rules = rng.choice([1, 5, 50, 500, 5000]) if i % 10 == 0 else rng.choice([1, 5, 50, 300])
        sources = {"".join(map(chr, rng.choices(letters, k=rng.randint(1, 5)))) for _ in range(n_rules)}
        targets = [
            "".join(map(chr, rng.choices(letters, k=rng.randrange(3)))) for _ in range(rng.choice([1, 3, 500]))
        ]
        rules = {source: rng.choice(targets) for source in sources}
        rules = {
            source: target for source, target in rules.items() if source != target
        }  # both refuse rules without effect
        assert not rules or sentencepiece_rules.compile_rules(rules) == peer_compiled(rules), rules


def test_rule_files_are_parsed_as_by_sentencepiece(tmp_path: Path) -> None:
    data = b"61\t62\nU+63 0x64\t65 66\textra\n67\n61\t1F600\r\n"
    path = tmp_path / "rules.tsv"
    path.write_bytes(data)
    peer = dict(sentencepiece.SentencePieceNormalizer(rule_tsv=str(path)).decompile())
    assert sentencepiece_rules.parse_rules(data, "rules.tsv") == peer


def test_long_text_is_not_cut_at_a_space_that_a_rule_removes(tmp_path: Path) -> None:
    rules, path = tmp_path / "rules.tsv", tmp_path / "spaces.model"
    rules.write_text("20 62\t62\n")  # a space before b
    options: dict[str, Any] = {"remove_extra_whitespaces": False, "add_dummy_prefix": False}
    tokenizer = train(
        ["ab abc b ab cab ab bca " * 3] * 300,
        mode="codepoint",
        vocab_size=60,
        hard_vocab_limit=False,
        normalization_rule_tsv=str(rules),
        progress=False,
        **options,
    )
    tokenizer.save(path)
    text = "cab ab bca ab bb ab " * 10_000
    assert tokenizer.encode(text) == sentencepiece.SentencePieceProcessor(model_file=str(path)).encode(text)
