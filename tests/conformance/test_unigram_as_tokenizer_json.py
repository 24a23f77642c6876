"""Unigram models trained by sentencepiece with random options, as tokenizer.json: tokenizers gives the same ids.

sentencepiece adds scores in single precision and tokenizers in double, so the ids of a text may differ where the
scores of both ways to cut it are the same except for rounding.
"""

from __future__ import annotations

import random
from math import fsum
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import FormatError
from helpers.codepoint_models import trained
from helpers.exported_models import NAMES, options_of, sentences_of, texts_of
from helpers.sampling import n_rounds
from helpers.shared_data import corpus, data_file

spm = pytest.importorskip("sentencepiece")
tokenizers = pytest.importorskip("tokenizers")

ROUNDS = n_rounds(60, 2000)
CONTROL = ("[C]", "<ctl>", "s>x")
BITS = (*"abcdx1", "ab", " ", "  ", "▁", "é", "漢", "\t", "\n", "\u3000", "<u", "Ａ", "12", "＜s＞", *NAMES)
MARKS = ("\u0301", "e\u0301", "\u1100\u1161", "ﬁ\u0301")
REFUSED = ("of type CONTROL, which a text may contain,", "which its normalization rules change,")


def unigram_options(rng: random.Random) -> dict[str, Any]:
    rules = rng.choice(["identity", "nmt_nfkc", "nfkc", "nmt_nfkc_cf"])
    return {"model_type": "unigram", **options_of(rng, CONTROL), "normalization_rule_name": rules}


def bits_of(options: dict[str, Any]) -> tuple[str, ...]:
    return (*BITS, *(MARKS if options["normalization_rule_name"] == "identity" else ()))


def nearly_ties(processor: Any, text: str, one: list[int], other: list[int]) -> bool:
    """Tell whether two ways to cut a text have the same score except for rounding to single precision."""
    symbols = {i for i in {*one, *other} if is_user_defined(processor, i)}

    def score(i: int) -> float:
        n_bytes = len(processor.id_to_piece(i).encode())
        return 0.1 * (n_bytes - 1) if i in symbols else float(processor.get_score(i))

    sums = [fsum(map(score, ids)) for ids in (one, other)]
    return abs(sums[0] - sums[1]) < 1e-6 * (30 * len(text) + 1)


def is_user_defined(processor: Any, i: int) -> bool:
    special = processor.is_control(i) or processor.is_unknown(i) or processor.is_byte(i)
    return not special and processor.get_score(i) == 0.0


def compare(seed: int, path: Path) -> str:
    """Compare one model, and return the reason why it was refused, or ""."""
    rng = random.Random(seed)
    sentences, options = sentences_of(rng), unigram_options(rng)
    model = trained(sentences, **options)
    tokenizer = fastbpe.load(model)
    try:
        tokenizer.export(path, format="huggingface")
    except FormatError as error:
        return str(error)
    processor = spm.SentencePieceProcessor(model_proto=model)
    again = fastbpe.load(path)
    assert again.model_type == "Unigram"
    peer = tokenizers.Tokenizer.from_file(str(path))
    for text in texts_of(rng, options, bits_of(options)):
        ids = processor.encode(text)
        peer.encode_special_tokens = True
        theirs = peer.encode(text, add_special_tokens=False)
        assert again.encode_ordinary(text) == theirs.ids, (seed, options, text)
        if theirs.ids != ids and peer.normalizer.normalize_str(text):
            assert nearly_ties(processor, text, ids, theirs.ids), (seed, options, text, ids, theirs.ids)
        of_offsets, offsets = again.encode_with_offsets(text, disallowed_special=())
        assert (of_offsets, offsets) == (theirs.ids, theirs.offsets), (seed, options, text)
        assert again.decode(ids) == peer.decode(ids, skip_special_tokens=False), (seed, options, text)
        peer.encode_special_tokens = False
        assert again.encode_with_template(text) == peer.encode(text).ids, (seed, options, text)
        assert again.encode_with_template(text, "a") == peer.encode(text, "a").ids, (seed, options, text)
    return ""


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore:.*single precision:fastbpe.FormatWarning")
def test_models_with_random_options_give_the_same_ids(tmp_path: Path) -> None:
    refused = [compare(seed, tmp_path / "tokenizer.json") for seed in range(ROUNDS)]
    assert refused.count("") > ROUNDS / 2
    assert all(any(reason in message for reason in REFUSED) for message in refused if message), {*refused}


def converted(model: bytes, kind: str) -> str:
    """Write the tokenizer.json that transformers makes for T5 or XLM-R of a model's file."""
    from fastbpe.formats.sentencepiece import model_file

    read = model_file.parse(model, "model")
    scores = memoryview(read.scores).cast("f").tolist()
    pieces = [(piece.decode(), score) for piece, score in zip(read.pieces, scores, strict=True)]
    made = tokenizers.Tokenizer(tokenizers.models.Unigram(pieces, unk_id=0, byte_fallback=False))
    normalizers, steps = tokenizers.normalizers, tokenizers.pre_tokenizers
    rules = normalizers.Precompiled(read.normalizer["precompiled_charsmap"])
    metaspace = steps.Metaspace(replacement="▁", prepend_scheme="always")
    if kind == "t5":
        trimmed = [normalizers.Strip(left=False, right=True), normalizers.Replace(tokenizers.Regex(" {2,}"), "▁")]
        made.normalizer = normalizers.Sequence([rules, *trimmed])
        made.pre_tokenizer = metaspace
    else:
        made.normalizer = rules
        made.pre_tokenizer = steps.Sequence([steps.WhitespaceSplit(), metaspace])
    made.decoder = tokenizers.decoders.Metaspace(replacement="▁", prepend_scheme="always")
    made.add_special_tokens(["<unk>", "<s>", "</s>", "<extra_id_0>"])
    return str(made.to_str())


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore:.*single precision:fastbpe.FormatWarning")
@pytest.mark.parametrize("kind", ["t5", "xlm-r"])
def test_files_of_converters_become_models_of_sentencepiece(kind: str, tmp_path: Path) -> None:
    model = data_file("zoo", "torchtune-unigram", "spm.model").read_bytes()
    tokenizer = fastbpe.load(converted(model, kind).encode())
    tokenizer.export(tmp_path / "x.model", format="sentencepiece")
    processor = spm.SentencePieceProcessor(model_file=str(tmp_path / "x.model"))
    original = spm.SentencePieceProcessor(model_proto=model)
    assert processor.piece_to_id("<extra_id_0>") == original.get_piece_size()
    assert processor.is_control(processor.piece_to_id("<extra_id_0>"))
    for name in ("english.txt", "multilingual.txt", "emoji_mixed.txt"):
        lines = corpus(name, n_rounds(100_000, 4_000_000)).replace("\0", "").split("\n")
        assert processor.encode(lines) == original.encode(lines)


def test_files_of_converters_that_keep_tabs_are_refused(tmp_path: Path) -> None:
    model = data_file("vocab", "sp_test_model.model").read_bytes()
    with pytest.raises(
        FormatError, match=r"do not turn '\\t' into a space; export this tokenizer as native or huggingface"
    ):
        fastbpe.load(converted(model, "t5").encode()).export(tmp_path / "x.model", format="sentencepiece")


@pytest.mark.daily
@pytest.mark.filterwarnings("ignore:.*single precision:fastbpe.FormatWarning")
def test_model_that_returns_from_tokenizer_json_is_the_same(tmp_path: Path) -> None:
    n_same = 0
    for seed in range(ROUNDS // 2):
        rng = random.Random(seed)
        options = unigram_options(rng)
        model = trained(["".join(rng.choices("ab c1d", k=rng.randint(1, 14))) for _ in range(60)], **options)
        tokenizer = fastbpe.load(model)
        try:
            tokenizer.export(tmp_path / "x.json", format="huggingface")
        except FormatError:  # as in the test above
            continue
        fastbpe.load(tmp_path / "x.json").export(tmp_path / "x.model", format="sentencepiece")
        original = spm.SentencePieceProcessor(model_proto=model)
        again = spm.SentencePieceProcessor(model_file=str(tmp_path / "x.model"))
        for text in texts_of(rng, options, bits_of(options)):
            assert again.encode(text) == original.encode(text), (seed, options, text)
        for i in range(original.get_piece_size()):
            kinds = [(one.id_to_piece(i), one.is_control(i), one.is_byte(i)) for one in (original, again)]
            assert kinds[0] == kinds[1], (seed, i)
        n_same += 1
    assert n_same > ROUNDS / 4
