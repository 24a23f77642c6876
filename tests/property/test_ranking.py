"""Merge lists turned into ranks: judged by the definition, and without a change to any id."""

from __future__ import annotations

import random
from itertools import product

import pytest

from fastbpe import Tokenizer
from fastbpe.model import Model, pack_merges
from fastbpe.tokenizer.families import ranked_merges
from fastbpe.tokenizer.families.ranked_merges import by_ranks
from helpers.sampling import rounds, share_of
from helpers.shared_data import BYTES, published
from reference import last_merge, merge_pairs, merge_ranks

Merges = list[tuple[bytes, bytes]]
SHORT = [bytes(text) for n in range(1, 7) for text in product(b"ab", repeat=n)]


def random_merges(rng: random.Random) -> tuple[Merges, list[bytes]]:
    """Return merges, and the tokens that they make in the order of their ids, sometimes out of order."""
    tokens = dict.fromkeys([b"a", b"b", b"c"])
    merges: Merges = []
    for _ in range(rng.randint(1, 9)):
        left, right = rng.choices(list(tokens), k=2)
        is_new = left + right not in tokens or rng.random() < 0.2
        if is_new and (left, right) not in merges and len(left + right) < 10:
            merges.append((left, right))
            tokens[left + right] = None
    new = [token for token in tokens if len(token) > 1]
    if rng.random() < 0.2:
        rng.shuffle(new)
    if rng.random() < 0.2:
        rng.shuffle(merges)
    return merges, new


def follow_ranks(merges: Merges, tokens: list[bytes], *, whole_piece_first: bool) -> bool:
    """Apply the definition with the slow twin; its module has the proof."""
    made = [tokens.index(left + right) for left, right in merges]
    if made != sorted(made):
        return False
    places = {pair: i for i, pair in enumerate(merges)}
    ids = BYTES | {token: 256 + i for i, token in enumerate(tokens)}
    pairs = {(ids[left], ids[right]): (i, ids[left + right]) for (left, right), i in places.items()}
    unmade = [token for token in tokens if last_merge(lambda *pair: places.get(pair), token) is None]
    return not unmade or (whole_piece_first and all(len(merge_pairs(pairs, token)) > 2 for token in unmade))


def listing(
    merges: Merges, tokens: list[bytes], *, whole_piece_first: bool
) -> tuple[dict[bytes, int], list[tuple[int, int, int]], Model]:
    """Return the ids of all tokens, the merges by ids, and a model that lists them."""
    ids = BYTES | {token: 256 + i for i, token in enumerate(tokens)}
    listed = [(ids[left], ids[right], ids[left + right]) for left, right in merges]
    model = Model(
        tokens=[*BYTES, *tokens],
        pattern=None,
        special_tokens={},
        merges=pack_merges(listed),
        merges_rule="merges",
        whole_piece_first=whole_piece_first,
    )
    return ids, listed, model


@pytest.mark.parametrize("seed", rounds(60, 300))
def test_random_lists_become_ranks_only_if_no_id_changes(seed: int) -> None:
    rng = random.Random(seed)
    merges, tokens = random_merges(rng)
    _, listed, model = listing(merges, tokens, whole_piece_first=False)
    ranked = by_ranks(model)
    assert (ranked.merges_rule == "ranks") is follow_ranks(merges, tokens, whole_piece_first=False), merges
    pairs = {(left, right): (i, merged) for i, (left, right, merged) in enumerate(listed)}
    tokenizer = Tokenizer(ranked)
    for text in [*SHORT, *(bytes(rng.choices(b"abc", k=12)) for _ in range(20))]:
        assert tokenizer.encode(text) == merge_pairs(pairs, text), (merges, tokens, text)
    assert tokenizer.merges == [(left, right) for left, right, _ in listed]


def test_random_lists_cover_both_outcomes() -> None:
    drawn = [random_merges(random.Random(seed)) for seed in range(300)]
    kinds = [follow_ranks(*lists, whole_piece_first=False) for lists in drawn]
    assert 75 < sum(kinds) < 225


def random_splits(rng: random.Random) -> tuple[Merges, list[bytes]]:
    """Return tokens and nearly all their splits as merges, as in lists made from ranked vocabularies."""
    drawn = (rng.choice([b"ab", b"abc", b"c"]) for _ in range(rng.randint(3, 12)))
    tokens = list(dict.fromkeys(bytes(rng.choices(letters, k=rng.randint(2, 6))) for letters in drawn))
    if rng.random() < 0.7:
        tokens.sort(key=len)
    merges: Merges = []
    for i, token in enumerate(tokens):
        known = {b"a", b"b", b"c", *tokens[: i + (rng.random() < 0.5) * len(tokens)]}
        splits = [
            (token[:cut], token[cut:]) for cut in range(1, len(token)) if {token[:cut], token[cut:]} <= known
        ]
        merges += rng.sample(splits, len(splits) - (rng.random() < 0.1 and len(splits) > 0))
    if rng.random() < 0.1:
        rng.shuffle(merges)
    return merges, tokens


@pytest.mark.parametrize("seed", rounds(60, 300))
def test_random_lists_of_splits_become_ranks_only_if_no_id_changes(seed: int) -> None:
    rng = random.Random(seed)
    merges, tokens = random_splits(rng)
    ids, listed, model = listing(merges, tokens, whole_piece_first=True)
    ranked = by_ranks(model)
    assert (ranked.merges_rule == "ranks") is follow_ranks(merges, tokens, whole_piece_first=True), merges
    pairs = {(left, right): (i, merged) for i, (left, right, merged) in enumerate(listed)}
    tokenizer = Tokenizer(ranked)
    assert tokenizer == Tokenizer.from_ranks(ids, pattern=None) or ranked.merges_rule == "merges"
    for text in [*SHORT, *(bytes(rng.choices(b"abc", k=12)) for _ in range(20)), b"c" * 15]:
        expected = [ids[text]] if text in ids else merge_pairs(pairs, text)
        assert tokenizer.encode(text) == expected, (merges, tokens, text)
        assert ranked.merges_rule == "merges" or text in ids or merge_ranks(ids, text) == expected


def test_random_lists_of_splits_cover_both_outcomes() -> None:
    drawn = [random_splits(random.Random(seed)) for seed in range(300)]
    kinds = [follow_ranks(*lists, whole_piece_first=True) for lists in drawn]
    assert 75 < sum(kinds) < 250
    made = [len({left + right for left, right in merges}) < len(merges) for merges, _ in drawn]
    assert sum(kind and several for kind, several in zip(kinds, made, strict=True)) > 30


def test_bytes_may_have_any_ids() -> None:
    """Byte ids may follow the ids of the tokens if the last merge makes the last token; else the list stays."""
    tokens = [bytes([byte]) for byte in reversed(range(256))]
    for before, rule in ((True, "ranks"), (False, "merges")):
        order = [*tokens, b"ab", b"abab"] if before else [b"ab", b"abab", *tokens]
        at = {token: i for i, token in enumerate(order)}
        merges = [(at[b"a"], at[b"b"], at[b"ab"]), (at[b"ab"], at[b"ab"], at[b"abab"])]
        model = Model(
            tokens=order,
            pattern=None,
            special_tokens={},
            merges=pack_merges(merges),
            merges_rule="merges",
            whole_piece_first=False,
        )
        assert by_ranks(model).merges_rule == rule
        assert Tokenizer(by_ranks(model)).encode("xababab") == [at[b"x"], at[b"abab"], at[b"ab"]]


def test_tokens_with_later_parts_are_ranked_without_the_slow_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fast check settles lists with such tokens, as Llama 3's, as the definition says."""
    n_ranked = 0
    for seed in rounds(400, 40_000):
        merges, tokens = random_splits(random.Random(f"later {seed}"))
        ids, _, model = listing(merges, tokens, whole_piece_first=True)
        has_later_parts = any(max(ids[left], ids[right]) > ids[left + right] for left, right in merges)
        with monkeypatch.context() as patch:
            patch.setattr(ranked_merges, "follows_ranks", lambda *_: False)
            fast = by_ranks(model)
        expected = follow_ranks(merges, tokens, whole_piece_first=True)
        assert (fast.merges_rule == "ranks") <= expected, merges
        if fast.merges_rule == "ranks":
            assert Tokenizer(fast) == Tokenizer.from_ranks(ids, pattern=None), merges
            n_ranked += has_later_parts
    assert n_ranked > share_of(2)


@pytest.mark.daily
def test_list_of_llama3_is_ranked_without_the_slow_check(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = published("llama3")
    tokens, merges = tokenizer.vocab[:128_000], tokenizer.merges
    ids = {token: i for i, token in enumerate(tokens)}
    listed = [(left, right, ids[tokens[left] + tokens[right]]) for left, right in merges]
    assert any(max(left, right) > merged for left, right, merged in listed)
    model = Model(
        tokens=tokens,
        pattern=None,
        special_tokens={},
        merges=pack_merges(listed),
        merges_rule="merges",
        whole_piece_first=True,
    )
    slow = by_ranks(model)
    monkeypatch.setattr(ranked_merges, "follows_ranks", lambda *_: False)
    assert by_ranks(model).merges_rule == slow.merges_rule == "ranks"


@pytest.mark.parametrize("tokens", [(b"ab", b"abc"), (b"abc", b"ab")], ids=["sure", "unsure"])
def test_repeated_merge_changes_no_ids(tokens: tuple[bytes, bytes]) -> None:
    ab, abc = 256 + tokens.index(b"ab"), 256 + tokens.index(b"abc")
    merges = sorted([(97, 98, ab), (ab, 99, abc)], key=lambda merge: merge[2])
    once, twice = (
        by_ranks(Model([*BYTES, *tokens], None, {}, merges=pack_merges(each), merges_rule="merges"))
        for each in (merges, [merge for merge in merges for _ in range(2)])
    )
    assert once.merges_rule == "ranks"
    assert Tokenizer(once) == Tokenizer(twice)
