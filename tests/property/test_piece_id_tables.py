"""Pieces that get their ids from a table: the core gives the ids of the plain rule, piece by piece."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

import fastbpe
from fastbpe.model import PieceType
from helpers.codepoint_models import model_of
from helpers.sampling import n_rounds
from reference.normalization import Normalizer
from reference.unigram import Unigram

LETTERS = "ab.中国é\u2581"


def write_folder(folder: Path, pieces: list[tuple[bytes, float, PieceType]], table: dict[str, int]) -> None:
    """Write the folder of a Marian tokenizer."""
    data = model_of(pieces, {"model_type": "unigram"})
    for name in ("source.spm", "target.spm"):
        (folder / name).write_bytes(data)
    (folder / "vocab.json").write_text(json.dumps(table), encoding="utf-8")
    (folder / "tokenizer_config.json").write_text(json.dumps({"tokenizer_class": "MarianTokenizer"}))


def fill(folder: Path, rng: random.Random) -> tuple[Unigram, dict[str, int]]:
    """Write the folder of a random Marian tokenizer; return its model, and the table."""
    known = rng.sample(LETTERS, rng.randint(1, len(LETTERS)))
    words = ["".join(rng.choices(LETTERS, k=rng.randint(2, 4))) for _ in range(rng.randint(0, 12))]
    pieces = [*dict.fromkeys([*known, *words])]
    scored = [(piece.encode(), -float(rng.randint(1, 60)) / 8, PieceType.NORMAL) for piece in pieces]
    scored = [(b"<unk>", 0.0, PieceType.UNKNOWN), (b"</s>", 0.0, PieceType.CONTROL), *scored]
    others = ["".join(rng.choices(LETTERS, k=rng.randint(1, 3))) for _ in range(rng.randint(0, 9))]
    codes = [">>a<<", ">>中国<<"][: rng.randint(0, 2)]
    tokens = [*dict.fromkeys(rng.sample(pieces, rng.randint(0, len(pieces))) + others + codes)]
    tokens = [*tokens, "<unk>", "</s>", "<pad>"]
    rng.shuffle(tokens)
    table = {token: i for i, token in enumerate(tokens)}
    write_folder(folder, scored, table)
    kinds = [int(kind) for _, _, kind in scored]
    return Unigram(
        [piece for piece, _, _ in scored], [score for _, score, _ in scored], kinds, Normalizer()
    ), table


def expected(model: Unigram, table: dict[str, int], text: str) -> list[int]:
    """Return the ids of a text by the plain rule."""
    ids = []
    end = text.find("<<")
    if text.startswith(">>") and end >= 0:
        ids.append(table.get(text[: end + 2], table["<unk>"]))
        text = text[end + 2 :]
    pieces = [token.piece.decode() for token in model.tokens(text.encode())]
    return ids + [table.get(piece, table["<unk>"]) for piece in pieces]


@pytest.mark.sample(1)
@pytest.mark.parametrize("part", range(4))
def test_ids_are_those_of_each_piece_by_itself(part: int, tmp_path: Path) -> None:
    for seed in range(part, n_rounds(80, 2000), 4):
        rng = random.Random(seed)
        model, table = fill(tmp_path, rng)
        tokenizer = fastbpe.load(tmp_path)
        assert tokenizer.n_vocab == len(table)
        parts = [*LETTERS, " ", "x", "🙂", "中国", "国中", ">>a<<", ">>", "<<"]
        texts = ["".join(rng.choices(parts, k=rng.randint(0, 12))) for _ in range(25)]
        wanted = [expected(model, table, text) for text in texts]
        for text, ids in zip(texts, wanted, strict=True):
            assert tokenizer.encode(text) == ids, (seed, text)
            assert tokenizer.encode_with_offsets(text)[0] == ids, (seed, text)
            assert tokenizer.count(text) == len(ids), (seed, text)
        assert tokenizer.encode_batch(texts) == wanted, seed


def test_runs_are_found_by_all_their_characters(tmp_path: Path) -> None:
    """Tries random runs of letters that the model lacks; the table has some of the runs, and none with an x."""
    rng = random.Random(0)
    names = ["".join(rng.choices("abcd", k=rng.randint(1, 5))) for _ in range(39)]
    table = {name: i for i, name in enumerate(dict.fromkeys([*names, "<unk>", "</s>", "<pad>", "\u2581.", "."]))}
    pieces = [(b"<unk>", 0.0, PieceType.UNKNOWN), (b"</s>", 0.0, PieceType.CONTROL)]
    pieces += [(piece.encode(), -1.0, PieceType.NORMAL) for piece in ("\u2581.", ".")]
    write_folder(tmp_path, pieces, table)
    tokenizer = fastbpe.load(tmp_path)
    others = ["".join(rng.choices("abcdx", k=rng.randint(1, 6))) for _ in range(300)]
    for run in [*names, *others]:
        found = table.get(run, table["<unk>"])
        assert tokenizer.encode(f".{run}.") == [table["\u2581."], found, table["."]], run
