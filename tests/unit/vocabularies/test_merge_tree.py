"""merge_tree: the tree of the slow twin, in both modes, and its forms."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from itertools import pairwise

import pytest

import fastbpe
from fastbpe import InvalidTokenError, Tokenizer
from fastbpe.model import PieceType
from fastbpe.vocabularies.merge_tree import MergeTree
from helpers.codepoint_models import model_of
from helpers.sampling import SEED, rounds
from helpers.shared_data import BYTES, data_file
from reference import merge_tree as slow_merge_tree


def leaves(tree: MergeTree) -> Iterator[bytes]:
    for part in tree.parts:
        yield from leaves(part)
    if not tree.parts:
        yield tree.token


def shape(tree: MergeTree) -> tuple[bytes, list[object]]:
    """Return a tree as the slow twin does, which knows no parts of a token that no merge makes."""
    return tree.token, [shape(part) for part in tree.parts] if tree.is_merged else []


def check(tokenizer: Tokenizer, priority: Callable[[bytes, bytes], int | None]) -> None:
    for i, token in enumerate(tokenizer.vocab):
        tree = fastbpe.merge_tree(tokenizer, i)
        assert (tree.token, tree.id) == (token, i)
        assert b"".join(leaves(tree)) == token
        assert shape(tree) == slow_merge_tree(priority, token)


def test_trees_of_random_ranks_equal_the_slow_twin() -> None:
    rng = random.Random(SEED)
    for _ in rounds(20, 2000):
        tokens = {"".join(rng.choices("abé", k=rng.randint(2, 5))).encode() for _ in range(rng.randint(1, 20))}
        listed = sorted(tokens)
        rng.shuffle(listed)
        ranks = BYTES | {token: 256 + i for i, token in enumerate(listed)}

        def rank(left: bytes, right: bytes, ranks: dict[bytes, int] = ranks) -> int | None:
            return ranks.get(left + right)

        check(Tokenizer.from_ranks(ranks, pattern=None), rank)


def test_trees_of_learned_merges_hold_those_merges() -> None:
    rng = random.Random(SEED)
    text = "".join(rng.choices("abc d", k=2000))
    tokenizer = fastbpe.train([text], vocab_size=300, pattern="gpt2", progress=False)
    merges = tokenizer.merges
    vocab = tokenizer.vocab
    lines = {(vocab[left], vocab[right]): line for line, (left, right) in enumerate(merges)}
    check(tokenizer, lambda left, right: lines.get((left, right)))
    for i in range(256, 300):
        tree = fastbpe.merge_tree(tokenizer, i)
        assert (tree.parts[0].id, tree.parts[1].id) == merges[i - 256]


def by_score(pieces: dict[str, float], text: str) -> list[tuple[bytes, list[object]]]:
    """Merge the characters of a text by the scores of pieces, and return the trees that are left."""
    trees: list[tuple[bytes, list[object]]] = [(character.encode(), []) for character in text]
    while True:
        pairs = [
            (-pieces[spelled], at)
            for at, (left, right) in enumerate(pairwise(trees))
            if (spelled := (left[0] + right[0]).decode()) in pieces
        ]
        if not pairs:
            return trees
        at = min(pairs)[1]
        left, right = trees[at : at + 2]
        trees[at : at + 2] = [(left[0] + right[0], [left, right])]


def test_trees_of_code_point_pieces_follow_the_scores() -> None:
    rng = random.Random(SEED)
    for _ in rounds(10, 2000):
        texts = {"".join(rng.choices("abé", k=rng.randint(1, 5))) for _ in range(rng.randint(1, 20))}
        pieces = {text: -rng.randint(0, 30) / 4 for text in sorted(texts)}
        listed = [(text.encode(), score, PieceType.NORMAL) for text, score in pieces.items()]
        tokenizer = fastbpe.load(model_of([(b"<unk>", 0.0, PieceType.UNKNOWN), *listed]))
        for i, text in enumerate(pieces, 1):
            tree = fastbpe.merge_tree(tokenizer, i)
            expected = by_score(pieces, text)
            if len(expected) == 1:
                assert shape(tree) == expected[0]
            else:
                assert not tree.is_merged
                assert [*map(shape, tree.parts)] == expected


def test_token_with_a_space_is_found_by_its_text_and_by_its_id() -> None:
    text = ["low lower lowest naïve"] * 20
    tokenizer = fastbpe.train(text, mode="codepoint", vocab_size=30, byte_fallback=False, progress=False)
    tree = fastbpe.merge_tree(tokenizer, " low")
    assert tree == fastbpe.merge_tree(tokenizer, tokenizer.token_to_id(" low"))
    assert str(tree).splitlines()[0] == f"' low' {tree.id}"
    assert b"".join(leaves(tree)) == b" low"


def test_token_that_no_merge_makes_shows_the_tokens_it_is_left_in() -> None:
    tokenizer = Tokenizer.from_ranks(BYTES | {b"abc": 256}, pattern=None)
    tree = fastbpe.merge_tree(tokenizer, "abc")
    assert not tree.is_merged
    assert [part.token for part in tree.parts] == [b"a", b"b", b"c"]
    assert "(no merge makes it: it is found as a whole piece)" in str(tree)
    assert tree.to_dict()["parts"][2] == {"id": 99, "text": "c", "priority": None, "parts": []}


def test_names_and_bytes_are_leaves() -> None:
    tokenizer = Tokenizer.from_ranks(BYTES | {b"ab": 256}, pattern=None, special_tokens={"<end>": 300})
    assert fastbpe.merge_tree(tokenizer, "<end>") == MergeTree(b"<end>", 300)
    assert fastbpe.merge_tree(tokenizer, 97) == MergeTree(b"a", 97)
    pieces = [
        (b"<unk>", 0.0, PieceType.UNKNOWN),
        *((b"<0x%02X>" % byte, 0.0, PieceType.BYTE) for byte in range(256)),
        (b"ab", -1.0, PieceType.NORMAL),
        (b"a", -2.0, PieceType.NORMAL),
    ]
    points = fastbpe.load(model_of(pieces, {"byte_fallback": True}))
    assert fastbpe.merge_tree(points, 0).parts == ()
    assert fastbpe.merge_tree(points, 1) == MergeTree(b"\0", 1)
    # "b" has no piece, so that no id stands for it in the tree, and the merge still happens.
    assert [part.id for part in fastbpe.merge_tree(points, "ab").parts] == [258, None]
    assert str(fastbpe.merge_tree(points, "ab")).endswith("'b' no id")


@pytest.mark.daily
def test_long_token_needs_no_deep_recursion() -> None:
    ranks = BYTES | {b"a" * n: 254 + n for n in range(2, 1501)}
    tree = fastbpe.merge_tree(Tokenizer.from_ranks(ranks, pattern=None), b"a" * 1500)
    assert len(str(tree).splitlines()) == 2999
    assert tree.to_dict()["id"] == 1754


@pytest.mark.parametrize("token", [256, -1, 10**20, "zz", b"zz", ""])
def test_missing_token_raises_key_error(token: int | str | bytes) -> None:
    with pytest.raises(InvalidTokenError, match="token") as caught:
        fastbpe.merge_tree(Tokenizer.from_ranks(BYTES, pattern=None), token)
    assert isinstance(caught.value, KeyError)


@pytest.mark.parametrize("token", [True, None, 1.5, [97]])
def test_token_of_another_type_raises_type_error(token: object) -> None:
    with pytest.raises(TypeError, match="token must be str, bytes or an id"):
        fastbpe.merge_tree(Tokenizer.from_ranks(BYTES, pattern=None), token)  # type: ignore[arg-type]


@pytest.mark.daily
@pytest.mark.parametrize("name", ["gpt2_encoder.json", "llama2_tokenizer.model"])
def test_real_tokens_are_cut_into_their_bytes_or_characters(name: str) -> None:
    tokenizer = fastbpe.load(data_file("vocab", name))
    for i in random.Random(SEED).sample(range(tokenizer.n_vocab), 20):
        tree = fastbpe.merge_tree(tokenizer, i)
        assert b"".join(leaves(tree)) == tree.token
        assert not tree.parts or tree.is_merged
