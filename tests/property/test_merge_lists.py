"""Judging merge lists as the slow twin does."""

from __future__ import annotations

import random
from array import array

import pytest

from fastbpe import load
from fastbpe.formats import merges_as_scores, native
from fastbpe.formats.sentencepiece import model_file
from fastbpe.model import TYPE_NAMES, PieceType, pack_merges, pack_pieces
from helpers.codepoint_models import model_of
from reference import merge_lists

METASPACE = "▁"


def vocabulary(rng: random.Random) -> tuple[list[str], list[int], list[tuple[int, int, int]]]:
    pieces = rng.sample([*"abé漢\U0001f999", METASPACE, " "], rng.randint(1, 6))
    for _ in range(rng.randint(0, 30)):
        made = rng.choice(pieces) + rng.choice(pieces)
        if made not in pieces:
            pieces.append(made)
    if rng.random() < 0.3:
        pieces.remove(rng.choice(pieces))
    if rng.random() < 0.3:
        rng.shuffle(pieces)
    types = [rng.choice([*[PieceType.NORMAL] * 20, *TYPE_NAMES]) for _ in pieces]
    ids = {piece: i for i, piece in enumerate(pieces)}
    merges = [
        (ids[piece[:cut]], ids[piece[cut:]], i)
        for piece, i in ids.items()
        for cut in range(1, len(piece))
        if piece[:cut] in ids and piece[cut:] in ids
    ]
    if rng.random() < 0.3:
        rng.shuffle(merges)
    elif rng.random() < 0.3:
        merges = [merge for merge in merges if rng.random() < 0.95]
    return pieces, types, merges


@pytest.mark.daily
@pytest.mark.parametrize("splits", [False, True])
def test_merge_lists_are_judged_as_by_the_slow_twin(splits: bool) -> None:
    rng = random.Random(3)
    said, found = [], []
    for _ in range(1000):
        pieces, types, merges = vocabulary(rng)
        packed = memoryview(pack_merges(merges)).cast("I")
        piece_bytes, piece_ends = pack_pieces(piece.encode() for piece in pieces)
        theirs = merge_lists.judge(pieces, types, merges, splits=splits)
        assert (
            merges_as_scores.judge(piece_bytes, piece_ends, bytes(types), packed, splits, rng.getrandbits(64))
            == theirs
        )
        said.append(theirs[1])
        rescored = merge_lists.rescore(pieces, types, merges, splits=splits)
        assert (
            merges_as_scores.rescore(piece_bytes, piece_ends, bytes(types), packed, splits, rng.getrandbits(64))
            == rescored
        )
        found.append(not rescored[1])
        assert merges_as_scores.first_bad(piece_bytes, piece_ends, packed) is None
    assert 50 < sum(said) < 950
    assert 50 < sum(found) < 950


@pytest.mark.parametrize("bad", [(0, 1, 1), (0, 3, 2), (1, 0, 2), (9, 1, 2), (2, 2, 2)])
def test_first_bad_merge_is_found(bad: tuple[int, int, int]) -> None:
    piece_bytes, piece_ends = pack_pieces([b"a", b"b", b"ab"])
    merges = memoryview(pack_merges([(0, 1, 2), bad])).cast("I")
    assert merges_as_scores.first_bad(piece_bytes, piece_ends, merges) == 1


@pytest.mark.parametrize("ends", [(1, 2, 5), (1, 0, 4), (2**32 - 1, 2, 4), (1, 2, 3)])
def test_invalid_piece_ends_are_distinguished_from_bad_merges(ends: tuple[int, ...]) -> None:
    merges = memoryview(pack_merges([(0, 1, 2)])).cast("I")
    bad = merges_as_scores.first_bad(b"abab", array("I", ends).tobytes(), merges)
    assert bad == (0 if ends == (1, 2, 3) else -1)
    assert merges_as_scores.first_bad(b"abab", array("I", (1, 2, 4)).tobytes()[:-1], merges) == -1


def test_piece_that_ends_within_a_character_is_not_read_past_its_end() -> None:
    """Only a damaged file has such pieces. Each byte that begins no whole character is then a symbol."""
    piece_bytes, piece_ends = pack_pieces([b"a", b"\xe3", b"a\xe3"])
    merges = memoryview(pack_merges([(0, 1, 2)])).cast("I")
    assert merges_as_scores.rescore(piece_bytes, piece_ends, bytes([1, 1, 1]), merges, False, 7)[1] == []


def test_listed_merges_keep_their_order_whatever_the_scores_are() -> None:
    """A native file may have both. All scores are equal: without the list, the leftmost pair would merge first."""
    pieces = [b"<unk>", METASPACE.encode(), b"a", b"b", b"c", b"d", b"ab", b"abc", b"cd"]
    kinds = [PieceType.UNKNOWN, *[PieceType.NORMAL] * 8]
    model = model_file.parse(model_of([(piece, 0.0, kind) for piece, kind in zip(pieces, kinds, strict=True)]), "")
    for merges, tokens in [
        ([(2, 3, 6), (4, 5, 8), (6, 4, 7)], [b"ab", b"cd"]),
        ([(2, 3, 6), (6, 4, 7), (4, 5, 8)], [b"abc", b"d"]),
    ]:
        tokenizer = load(native.dump_code_points(model._replace(merges=pack_merges(merges))))
        for n in (1, 100):
            assert tokenizer.encode("abcd" * n)[1:] == [pieces.index(token) for token in tokens] * n
        assert set(tokenizer.merges) == {(2, 3), (4, 5), (6, 4)}
