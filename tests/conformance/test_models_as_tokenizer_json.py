"""Models trained by sentencepiece with random options, as tokenizer.json: tokenizers gives the same ids."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError
from fastbpe.formats.huggingface import write_llama
from fastbpe.formats.sentencepiece import model_file, specs
from helpers.codepoint_models import RULE_NAMES, peer_charsmap, published_bytes, trained
from helpers.exported_models import NAMES, options_of, sentences_of, texts_of
from helpers.sampling import FULL, n_rounds
from helpers.shared_data import corpus

spm = pytest.importorskip("sentencepiece")
tokenizers = pytest.importorskip("tokenizers")

ROUNDS = n_rounds(80, 3000)
CONTROL = ("[C]", "<ctl>", "s>x", "Q")
BITS = (*"abcdx1", "ab", " ", "  ", "▁", "é", "漢", "\t", "\n", "\u3000", "<u", "\u0301", "Ａ", "12", *NAMES)
REFUSED = ("of type CONTROL, which a text may contain,", "user-defined pieces together with the piece")


def compare(seed: int, path: Path) -> str:
    """Compare one model, and return the reason why it was refused, or ""."""
    rng = random.Random(seed)
    sentences, options = sentences_of(rng), options_of(rng, CONTROL)
    model = trained(sentences, normalization_rule_name="identity", **options)
    tokenizer = fastbpe.load(model)
    try:
        tokenizer.export(path, format="huggingface")
    except FormatError as error:
        return str(error)
    processor = spm.SentencePieceProcessor(model_proto=model)
    again = fastbpe.load(path)
    assert again.mode == "codepoint"
    again.export(path.with_suffix(".fbpe"), format="native")
    native = fastbpe.load(path.with_suffix(".fbpe"))
    assert native.fingerprint == again.fingerprint
    peer = tokenizers.Tokenizer.from_file(str(path))
    for text in texts_of(rng, options, BITS):
        ids = processor.encode(text)
        peer.encode_special_tokens = True
        theirs = peer.encode(text, add_special_tokens=False)
        assert theirs.ids == ids, (seed, options, text)
        for ours in (again, native):
            assert ours.encode_ordinary(text) == ids, (seed, options, text)
            of_offsets, offsets = ours.encode_with_offsets(text, disallowed_special=())
            assert of_offsets == ids, (seed, options, text)
            # In tokenizers, the span of a token includes a U+2581 after it that is removed from the text.
            if not (options["remove_extra_whitespaces"] and "▁" in text):
                assert offsets == theirs.offsets, (seed, options, text)
            for skips in (False, True):
                decoded = ours.decode(ids, skip_special_tokens=skips)
                assert decoded == peer.decode(ids, skip_special_tokens=skips), (seed, options, text)
        peer.encode_special_tokens = False
        assert again.encode_with_template(text) == peer.encode(text).ids, (seed, options, text)
        assert again.encode_with_template(text, "a") == peer.encode(text, "a").ids, (seed, options, text)
    return ""


@pytest.mark.daily
def test_models_with_random_options_give_the_same_ids(tmp_path: Path) -> None:
    refused = [compare(seed, tmp_path / "tokenizer.json") for seed in range(ROUNDS)]
    assert refused.count("") > ROUNDS / 2
    assert all(any(reason in message for reason in REFUSED) for message in refused if message)


@pytest.mark.daily
@pytest.mark.parametrize("name", ["llama2", "mistral_v1", "mistral_v3"])
def test_published_models_on_corpora_give_the_same_ids(name: str, tmp_path: Path) -> None:
    model = published_bytes(name)
    fastbpe.load(model).export(tmp_path / "tokenizer.json", format="huggingface")
    processor = spm.SentencePieceProcessor(model_proto=model)
    peer = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    peer.encode_special_tokens = True
    ours = fastbpe.load(tmp_path / "tokenizer.json")
    for text in ("english.txt", "multilingual.txt", "json_yaml.txt", "emoji_mixed.txt"):
        lines = corpus(text, None if FULL else 30_000).replace("\0", "").split("\n")
        expected = processor.encode(lines)
        theirs = [encoding.ids for encoding in peer.encode_batch(lines, add_special_tokens=False)]
        for line, ids, expected_ids in zip(lines, theirs, expected, strict=True):
            assert ids == expected_ids, line
        assert ours.encode_ordinary_batch(lines) == expected


@pytest.mark.parametrize("name", ["bpemb", "chinese"])
def test_export_of_model_with_rules_is_refused_with_a_text(name: str, tmp_path: Path) -> None:
    message = (
        r"normalization rules '.*nfkc': sentencepiece changes the text '\\ufb01\\u0301' "
        r"into 'fi\\u0301', but the norm"
    )
    with pytest.raises(FormatError, match=message):
        fastbpe.load(published_bytes(name)).export(tmp_path / "tokenizer.json", format="huggingface")
    assert not [*tmp_path.iterdir()]


def test_tokenizers_applies_normalization_rules_differently() -> None:
    """Check with the text that the error message shows."""
    for rule_name in RULE_NAMES[1:]:
        theirs = tokenizers.normalizers.Precompiled(peer_charsmap(rule_name)).normalize_str("\ufb01\u0301")
        peer = spm.SentencePieceNormalizer(rule_name=rule_name, add_dummy_prefix=False)
        assert (theirs, peer.normalize("\ufb01\u0301")) == ("fi", "fi\u0301")


SPLIT = {"type": "Split", "pattern": {"Regex": "ab"}, "behavior": "Isolated", "invert": False}


@pytest.mark.parametrize("steps", [[SPLIT], [{**SPLIT, "behavior": "Removed"}], [SPLIT, SPLIT]])
def test_unknown_splits_with_ignore_merges_split_as_in_tokenizers(
    steps: list[dict[str, Any]], tmp_path: Path
) -> None:
    model = trained(
        ["ab abc b"] * 5,
        vocab_size=280,
        byte_fallback=True,
        normalization_rule_name="identity",
        user_defined_symbols=["bc"],
    )
    fastbpe.load(model).export(tmp_path / "tokenizer.json", format="huggingface")
    document = json.loads((tmp_path / "tokenizer.json").read_bytes())
    document["pre_tokenizer"]["pretokenizers"] = steps
    data = json.dumps(document).encode()
    tokenizer, original = fastbpe.load(data), tokenizers.Tokenizer.from_buffer(data)
    assert tokenizer.mode == "character"
    for text in ("ab abc b", "xbcab", " é  bc"):
        assert tokenizer.encode(text) == original.encode(text, add_special_tokens=False).ids


def test_export_of_denormalization_rules_is_refused() -> None:
    model = model_file.parse(trained(["ab abc b"] * 5, vocab_size=20, normalization_rule_name="identity"), "model")
    rules = specs.make(specs.NORMALIZER, {"precompiled_charsmap": peer_charsmap("nfkc")})
    with pytest.raises(FormatError, match="cannot express rules for decoded text with the same effect"):
        write_llama.dump(model._replace(denormalizer=rules, serialized=b""))
