"""Merged vocabularies, with equal scores anywhere, as a tokenizer.json: ids of sentencepiece and tokenizers."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path

import pytest

import fastbpe
from fastbpe import FormatError, Tokenizer
from fastbpe.model import PieceType
from helpers.codepoint_models import model_of
from helpers.sampling import n_rounds, share_of
from helpers.shared_data import corpus, data_file

tokenizers = pytest.importorskip("tokenizers")
sentencepiece = pytest.importorskip("sentencepiece")

OPTIONS = {"remove_extra_whitespaces": False, "name": "identity"}
PARTS = [" ", "  ", "    ", "a", "b", "ab", "zeug", "zzz", "\t", "\u6f22"]


def model(*scored: tuple[str, float]) -> Tokenizer:
    """Return a code-point tokenizer of these pieces and their characters."""
    characters = sorted({character for piece, _ in scored for character in piece} | {"▁", "a", "b", "z"})
    pieces = [("<unk>", 0.0, PieceType.UNKNOWN)]
    pieces += [(f"<0x{byte:02X}>", 0.0, PieceType.BYTE) for byte in range(256)]
    pieces += [(piece, score, PieceType.NORMAL) for piece, score in scored]
    pieces += [(character, -1e6 - i, PieceType.NORMAL) for i, character in enumerate(characters)]
    listed = [(piece.encode(), score, kind) for piece, score, kind in pieces]
    return fastbpe.load(model_of(listed, {"byte_fallback": True}, OPTIONS))


def assert_written(tokenizer: Tokenizer, folder: Path, texts: list[str]) -> None:
    """Export, and compare the ids of tokenizers, sentencepiece and the tokenizer read back."""
    tokenizer.export(folder / "a.json")
    tokenizer.export(folder / "a.model")
    peer = tokenizers.Tokenizer.from_file(str(folder / "a.json"))
    owner = sentencepiece.SentencePieceProcessor(model_file=str(folder / "a.model"))
    again = fastbpe.load(folder / "a.json")
    for text in texts:
        expected = owner.encode(text)
        assert tokenizer.encode_ordinary(text) == expected, text
        assert peer.encode(text, add_special_tokens=False).ids == expected, text
        assert again.encode_ordinary(text) == expected, text


def random_texts(seed: str, n: int) -> list[str]:
    rng = random.Random(seed)
    return ["".join(rng.choices(PARTS, k=rng.randint(1, 20))) for _ in range(n)]


def test_runs_with_one_score_before_other_pieces_are_written(tmp_path: Path) -> None:
    runs = [("▁" * n, -5.0) for n in (2, 4, 8, 3, 6)]
    others = [("ab", -1.0), ("▁a", -2.0), ("▁b", -9.0), ("zz", -7.0), ("▁ab", -8.0), ("zzz", -7.5)]
    assert_written(model(*runs, *others), tmp_path, random_texts("runs", n_rounds(300, 2000)))


@pytest.mark.daily
def test_random_models_with_equal_scores_are_written_or_refused(tmp_path: Path) -> None:
    rng = random.Random("equal scores")
    n_written = 0
    for round_ in range(n_rounds(60, 3000)):
        score = float(-rng.randint(1, 12))
        lengths = rng.sample(range(2, 10), rng.randint(2, 5))
        scored = [(rng.choice("▁z") * n if rng.random() < 0.1 else "▁" * n, score) for n in lengths]
        others = rng.sample(["ab", "▁a", "▁b", "▁ab", "▁▁a", "zz", "ba", "aba", "zzz", "▁zz"], 5)
        scored += [(piece, -0.5 - at) for at, piece in enumerate(rng.sample(others, 5))]
        made = model(*dict(scored).items())
        with contextlib.suppress(FormatError):
            assert_written(made, tmp_path, random_texts(f"{round_}", 60))
            n_written += 1
    assert n_written > share_of(1)


@pytest.mark.parametrize(
    ("pieces", "said"),
    [
        ([("ab", -1.0), ("ba", -1.0)], "the pieces 'ab' and 'ba', which have the same score,"),
        (
            [("▁▁", -3.0), ("▁▁▁▁", -3.0), ("▁▁a", -2.0)],
            "the piece '▁▁a' and runs of '▁' that have the same score",
        ),
    ],
)
def test_equal_scores_that_a_list_of_merges_cannot_say_are_refused(
    pieces: list[tuple[str, float]], said: str, tmp_path: Path
) -> None:
    with pytest.raises(FormatError, match=f"a tokenizer.json cannot express {said}"):
        model(*pieces).export(tmp_path / "a.json")
    assert not [*tmp_path.iterdir()]


def test_merge_into_a_model_with_runs_of_one_score_is_written(tmp_path: Path) -> None:
    old = model(*((("▁" * n), -5.0) for n in (2, 4, 8)), ("ab", -1.0), ("▁ab", -2.0))
    new = fastbpe.train(
        ["zeug zeug ab zzz \u6f22"] * 9,
        mode="codepoint",
        vocab_size=290,
        byte_fallback=True,
        hard_vocab_limit=False,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        progress=False,
    )
    merged = fastbpe.merge_vocabularies(old, new)[0]
    assert merged.n_vocab > old.n_vocab
    assert_written(merged, tmp_path, random_texts("merge", n_rounds(300, 2000)))


@pytest.mark.daily
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", ["llama2_tokenizer.model", "mistral_v1_tokenizer.model"])
def test_merge_into_a_published_model_is_written(name: str, tmp_path: Path) -> None:
    old = fastbpe.load(data_file(f"vocab/{name}"))
    new = fastbpe.load(data_file("vocab/sp_bpe_zh_nmt_nfkc_32k.model"))
    merged = fastbpe.merge_vocabularies(old, new)[0]
    lines = [line for line in corpus("multilingual.txt", 60_000).splitlines() if line]
    assert_written(merged, tmp_path, [*lines, *random_texts(name, 200)])
