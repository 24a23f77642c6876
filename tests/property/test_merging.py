"""merge_vocabularies over random vocabularies of all kinds, against the slow twin and what it promises."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import fastbpe
from fastbpe import Tokenizer, VocabularyError
from fastbpe.errors import SpecialTokenError
from fastbpe.model import PieceType
from fastbpe.tokenizer.surgery.token_makers import characters
from fastbpe.vocabularies import orders
from helpers import random_exports
from helpers.sampling import rounds, share_of
from property.test_removing import rules
from reference import surgery

Merged = tuple[random.Random, Any, Any, Any]


def drawn(name: str, sample: int) -> Iterator[Merged]:
    """Draw two random tokenizers of one mode, and merge them; those that are refused by rule are left out."""
    n_done = 0
    for number in rounds(sample, 40 * sample):
        rng = random.Random(f"{name} {number}")
        a = random_exports.draw(rng)[1]
        b = random_exports.draw(rng)[1]
        if a.mode != b.mode:
            continue
        try:
            change = fastbpe.merge_vocabularies(a, b)
        except SpecialTokenError:
            continue  # two names clash
        except VocabularyError as error:
            if "cannot be expressed as scores" not in str(error):
                raise
            continue
        n_done += 1
        yield rng, a, b, change
    assert n_done > share_of(sample) / 8


def texts_of(rng: random.Random, tokenizer: Tokenizer) -> list[str]:
    return sorted({*random_exports.own_texts(rng, tokenizer)})


def test_tokens_of_the_first_keep_ids_and_makers() -> None:
    for _, a, b, change in drawn("first", 200):
        merged = change.tokenizer
        every = merged._family.vocabulary.tokens() if merged.mode == "byte" else merged._family.own.pieces
        if len({*every}) < sum(map(bool, every)):
            continue  # the twin knows tokens by their bytes
        assert merged.vocab[: a.n_vocab] == a.vocab, (a, b)
        ids, priority, cut, _ = rules(a)
        after_ids, after_priority, _, _ = rules(merged)
        after = surgery.makers(after_ids, after_priority, cut)
        assert {*surgery.makers(ids, priority, cut)} <= {*after}, (a, b)


def test_no_token_stands_twice_and_none_is_unreachable() -> None:
    n_added = n_dropped = 0
    for _, a, b, change in drawn("reachable", 200):
        merged = change.tokenizer
        every = merged._family.vocabulary.tokens() if merged.mode == "byte" else merged._family.own.pieces
        new = [token for token in every[a.n_vocab :] if token]
        assert len({*new}) == len(new)
        assert {*new}.isdisjoint(every[: a.n_vocab])
        ids, priority, cut, _ = rules(merged)
        made = surgery.makers(ids, priority, cut)
        names = {token.id for token in merged.added_tokens} | {*merged.special_tokens.values()}
        if merged.mode == "codepoint":
            names |= {i for i, kind in enumerate(merged._family.own.types) if kind == PieceType.USER_DEFINED}
        for i in change.report.added.values():
            token = merged.id_to_token(i) if merged.mode == "byte" else merged._family.own.piece(i)
            text = token.decode("utf-8", "replace")
            is_made = token in made or len(cut(token)) == 1 or i in names
            assert is_made or merged.encode_ordinary(text) == [i], (a, b, token)
        n_added += len(change.report.added)
        n_dropped += len(change.report.dropped)
    assert n_added > share_of(20)
    assert n_dropped > share_of(2)


def test_ranks_equal_the_slow_twin() -> None:
    n_dropped = 0
    for number in rounds(100, 4000):
        rng = random.Random(f"ranks {number}")
        some = []
        for _ in "ab":
            tokens = [*(bytes([i]) for i in range(256)), *random_exports.random_tokens(rng)]
            some.append({token: i for i, token in enumerate(tokens)})
        a, b = (Tokenizer.from_ranks(ranks, pattern=None) for ranks in some)
        change = fastbpe.merge_vocabularies(a, b)
        ranks, unmade = surgery.joined(*some)
        whole = {token for token in unmade if is_utf8(token)}  # without splitting, each text is a whole piece
        expected = [token for token in ranks if token not in {*unmade} - whole]
        assert change.tokenizer.vocab == expected
        assert [b.id_to_token(i) for i in change.report.dropped] == [
            token for token in some[1] if token not in expected
        ]
        n_dropped += len(change.report.dropped)
    assert n_dropped


def is_utf8(token: bytes) -> bool:
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


def test_merged_tokenizer_decodes_texts_as_the_first_one_does() -> None:
    for rng, a, b, change in drawn("round trip", 150):
        if a.mode == "byte" and (a._family.own.prefix_space or a._family.normalizers()):
            continue  # it does not keep texts
        texts = [*texts_of(rng, a), *texts_of(rng, b)]
        if b.added_tokens or b.special_tokens:
            continue  # they are found in text, and some take spaces along
        for text in texts:
            if a.decode(a.encode_ordinary(text)) == text:
                merged = change.tokenizer
                assert merged.decode(merged.encode_ordinary(text)) == text, (a, b)


def test_report_and_maps_agree() -> None:
    for _, a, b, change in drawn("report", 150):
        merged, id_map = change
        report = change.report
        assert id_map == merged.id_map(a)
        assert id_map.new_to_old.tolist() == [*range(a.n_vocab)] + [-1] * (merged.n_vocab - a.n_vocab)
        ordinary = b._family.vocabulary if b.mode == "byte" else None
        if not any(ordinary is not None and ordinary.has(token.id) for token in b.added_tokens):
            assert sorted(report.added.values()) == [*range(a.n_vocab, merged.n_vocab)]
        from_b = merged.id_map(b)
        vocab = [token for token in b.vocab if token]
        if a.mode == "byte" and len({*vocab}) == len(vocab) and not (a.added_tokens or b.added_tokens):
            found = {i: int(new) for i, new in enumerate(from_b.old_to_new)}
            assert {i: found[i] for i in report.added} == dict(report.added), (a, b)
            assert all(found[i] == -1 for i in report.dropped)


@pytest.mark.daily
def test_scores_keep_the_order_of_the_first() -> None:
    n_kept = n_pairs = 0
    for _, a, b, change in drawn("order", 400):
        if a.mode == "byte" or a._family.own.merges or b._family.own.merges:
            continue
        merged = change.tokenizer._family.own
        scores = scores_of(merged)
        old = scores_of(a._family.own)
        several = [p for p in old if len(characters(p)) > 1]
        for one in several:
            for two in several:
                assert (old[one] < old[two]) == (scores[one] < scores[two]), (a, b)
        other = scores_of(b._family.own)
        reordered = {b._family.own.piece(i) for i in change.report.reordered}
        both = [p for p in other if p in scores and len(characters(p)) > 1 and p not in reordered]
        for one in both:
            for two in both:
                n_pairs += 1
                assert not other[one] > other[two] or scores[one] >= scores[two], (a, b, one, two)
        n_kept += len(both)
    assert n_kept > share_of(2)
    assert n_pairs > share_of(6)


def scores_of(model: Any) -> dict[bytes, float]:
    """Map pieces that merging makes to their scores."""
    numbers = struct.unpack(f"<{model.n_pieces}f", model.scores)
    kinds = (PieceType.NORMAL,)
    return {piece: numbers[i] for i, piece in enumerate(model.pieces) if model.types[i] in kinds}


def test_joined_orders_keep_both_where_they_agree() -> None:
    rng = random.Random(5)
    for _ in range(300):
        everything = [*range(12)]
        first = [[member] for member in rng.sample(everything, rng.randint(0, 10))]
        second = [[member] for member in rng.sample(everything, rng.randint(0, 10))]
        joined = [level[0] for level in orders.join(first, second)]
        assert [member for member in joined if [member] in first] == [level[0] for level in first]
        new = [level[0] for level in second if level not in first]
        assert [member for member in joined if member in new] == new
        shared = [level[0] for level in second if level in first]
        if shared == [level[0] for level in first if level[0] in shared]:  # the orders agree: both are kept
            assert [member for member in joined if [member] in second] == [level[0] for level in second]


def test_longest_rising_run_equals_brute_force() -> None:
    rng = random.Random(6)
    for _ in range(200):
        numbers = [rng.randint(0, 6) for _ in range(rng.randint(0, 9))]
        for strictly in (True, False):
            best = 0
            for mask in range(1 << len(numbers)):
                some = [number for at, number in enumerate(numbers) if mask >> at & 1]
                rises = all(one < two or (one == two and not strictly) for one, two in pairwise(some))
                best = max(best, len(some) if rises else 0)
            found = orders.longest_rising(numbers, strictly=strictly)
            assert len(found) == best
            assert found == sorted({*found})
            assert all(
                numbers[one] < numbers[two] or (numbers[one] == numbers[two] and not strictly)
                for one, two in pairwise(found)
            )


def test_sentencepiece_model_merges_with_its_own_tokenizer_json(tmp_path: Path) -> None:
    """In the exported file, the unknown piece is a special token."""
    model = fastbpe.train(
        ["low lower lowest new newer wide"],
        mode="codepoint",
        vocab_size="characters",
        normalization_rule_name="identity",
        progress=False,
    )
    model.export(tmp_path / "tokenizer.json")
    exported = fastbpe.load(tmp_path / "tokenizer.json")
    for a, b in ((model, exported), (exported, model)):
        merged = fastbpe.merge_vocabularies(a, b)
        assert (merged.report.added, merged.tokenizer.special_tokens) == ({}, a.special_tokens)
        assert merged.tokenizer.encode_ordinary("low <unk>") == a.encode_ordinary("low <unk>")


@pytest.mark.daily
def test_ids_that_both_have_count_once() -> None:
    """All ids are below the limit of 2**24, but the two numbers of ids add up to more."""
    a = Tokenizer.from_merges([(97, 98)], pattern=None, special_tokens={"<a>": 1 << 23})
    assert fastbpe.merge_vocabularies(a, a).tokenizer.n_vocab == (1 << 23) + 1
