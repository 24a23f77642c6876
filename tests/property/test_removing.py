"""without_tokens and prune over random vocabularies of all kinds, against the slow twin and what they promise."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import fastbpe
from fastbpe import Tokenizer, VocabularyError
from fastbpe.model import PieceType
from fastbpe.tokenizer.families.codepoint_tables import METASPACE_UTF8
from fastbpe.tokenizer.surgery.token_makers import characters, mergeable
from helpers import random_exports
from helpers.sampling import rounds, share_of
from reference import surgery

REFUSED = ("that is not itself a piece", "left out of text", "every merge would be removed")
KINDS = ("ranks", "merges", "listed", "document", "points", "llama")
Drawn = tuple[random.Random, Tokenizer]


def drawn(name: str, sample: int) -> Iterator[Drawn]:
    """Draw random tokenizers of all kinds."""
    for number in rounds(sample, 50 * sample):
        rng = random.Random(f"{name} {number}")
        yield rng, random_exports.draw(rng)[1]


def removable(tokenizer: Any) -> list[int]:
    removal = tokenizer._remover()._removal
    return [i for i in removal.ranked if i not in removal.kept]


def removed(rng: random.Random, tokenizer: Tokenizer) -> tuple[Any, list[int]] | None:
    """Remove some tokens at random; None: removing is refused, or no token can be removed."""
    ids = removable(tokenizer)
    some = rng.sample(ids, min(len(ids), rng.choice([1, 1, 2, 4])))
    keep_ids = tokenizer.mode == "byte" and rng.random() < 0.4
    try:
        return tokenizer.without_tokens(some, keep_ids=keep_ids), some
    except VocabularyError as error:
        if not any(said in str(error) for said in REFUSED):
            raise
        return None


def texts_of(rng: random.Random, tokenizer: Tokenizer) -> list[str]:
    return sorted({*random_exports.own_texts(rng, tokenizer)})


def rules(tokenizer: Any) -> tuple[dict[bytes, int], surgery.Priority, surgery.Cut, Any]:
    """Give the tokens (bytes to id) that merging knows, its rule, symbols, and the list of pairs or None."""
    if tokenizer.mode == "byte":
        model = tokenizer._family.model
        ids = {}
        for i, token in reversed([*enumerate(tokenizer._family.vocabulary.tokens())]):
            if token:
                ids[token] = i
        listed = model.merge_list()
        cut: surgery.Cut = surgery.each_byte
        tokens = tokenizer._family.vocabulary.tokens()
    else:
        model = tokenizer._family.own
        kinds = mergeable(model)
        tokens = model.pieces
        ids = {piece: i for i, piece in enumerate(tokens) if model.types[i] in kinds}
        cut = characters
        listed = [*struct.iter_unpack("<III", model.merges)] or None
        if listed is None:
            scores = struct.unpack(f"<{len(tokens)}f", model.scores)
            return ids, lambda a, b: -scores[ids[a + b]] if a + b in ids else None, cut, None
    if listed is None:
        return ids, lambda a, b: ids.get(a + b), cut, None
    pairs = [(tokens[left], tokens[right]) for left, right, _ in listed]
    return ids, surgery._rule(pairs), cut, pairs


def test_every_text_is_decoded_as_before() -> None:
    n_done = 0
    for rng, old in drawn("round trip", 150):
        made = removed(rng, old)
        if made is None:
            continue
        new = made[0].tokenizer
        model: Any = old
        if not {token.id for token in old.added_tokens}.isdisjoint(made[1]):
            continue  # text that was an added token may be normalized now
        if old.mode == "byte" and (model._family.own.prefix_space or old._family.normalizers()):
            continue  # it does not keep texts
        texts = texts_of(rng, old)
        for text, one, two in zip(
            texts, old.encode_ordinary_batch(texts), new.encode_ordinary_batch(texts), strict=True
        ):
            if old.decode(one) == text:
                assert new.decode(two) == text, (old, made[1])
        n_done += 1
    assert n_done > share_of(20)


def test_texts_of_intact_tokens_keep_their_ids() -> None:
    n_same = 0
    for rng, old in drawn("intact", 150):
        made = removed(rng, old)
        if made is None:
            continue
        removal: Any = old._remover()._removal
        gone = {*made[0].report.removed, *made[0].report.lost}
        from fastbpe.vocabularies.makers import made_of

        if old.mode == "codepoint" and any(old._family.own.types[i] == PieceType.UNUSED for i in gone):  # type: ignore[attr-defined]
            continue  # text may be merged through a piece whose id it does not have
        touched = gone | {*made_of(gone, removal.makers)}
        tokens = [*old.added_tokens, *(fastbpe.AddedToken(*item) for item in old.special_tokens.items())]
        names = [
            token.content for token in tokens if token.id in gone
        ]  # found and skipped, if they are not allowed
        new_ids = made[0].id_map.old_to_new.tolist()
        texts = texts_of(rng, old)
        new = made[0].tokenizer.encode_ordinary_batch(texts)
        for text, ids, found in zip(texts, old.encode_ordinary_batch(texts), new, strict=True):
            if touched.isdisjoint(ids) and not any(name in text for name in names):
                assert found == [new_ids[i] for i in ids], (old, made[1], text)
                n_same += 1
    assert n_same > share_of(200)


@pytest.mark.daily
def test_staying_tokens_equal_the_slow_twin() -> None:
    n_lost = n_remade = 0
    for rng, old in drawn("twin", 400):
        ids, priority, cut, pairs = rules(old)
        made = removed(rng, old)
        vocab = [token for token in old.vocab if token]
        if made is None or len({*vocab}) < len(vocab):  # the twin knows tokens by their bytes
            continue
        change, some = made
        gone = {token for token, i in ids.items() if i in some}
        before = surgery.makers(ids, priority, cut)
        if pairs is None or old._remover()._removal._by_ranks if old.mode == "byte" else pairs is None:
            numbers = {token: n for token in ids if (n := priority(b"", token)) is not None}
            numbers |= {token: ids[token] for token in ids} if old.mode == "byte" else {}
            _, unmade = surgery.without(numbers, gone, cut)
        else:
            _, unmade = surgery.without_listed([*ids], pairs, gone, cut)
        whole = {token for token in unmade if old.mode == "byte" and is_whole(old, ids[token], token)}
        expected = sorted(ids[token] for token in {*unmade} - whole)
        assert [*change.report.lost] == expected, (old, some)
        after_ids, after_priority, _, _ = rules(change.tokenizer)
        after = surgery.makers(after_ids, after_priority, cut)
        stays = {token for token in before if ids[token] not in {*some, *expected}}
        assert stays - whole == {token for token in after if token in before} - whole
        remade = {token for token in stays - whole if after[token] != before[token]}
        assert remade == {token for token, i in after_ids.items() if i in change.report.remade and token in before}
        n_lost += len(expected)
        n_remade += len(remade)
    assert n_lost > share_of(2)
    assert n_remade > share_of(1)


def is_whole(tokenizer: Any, token_id: int, token: bytes) -> bool:
    try:
        text = token.decode()
    except UnicodeDecodeError:
        return False
    return tokenizer._family.own.whole_piece_first and tokenizer.encode_ordinary(text) == [token_id]


def test_id_map_equals_comparison_of_the_tokenizers() -> None:
    for rng, old in drawn("map", 100):
        made = removed(rng, old)
        if made is None:
            continue
        change = made[0]
        new, id_map = change
        assert id_map.n_old == old.n_vocab
        assert id_map.n_new == new.n_vocab
        inverse = id_map.inverse()
        assert inverse.new_to_old.tolist() == id_map.old_to_new.tolist()
        assert inverse.old_to_new.tolist() == id_map.new_to_old.tolist()
        vocab = [token for token in old.vocab if token]
        if len({*vocab}) == len(vocab):  # of equal tokens, the comparison takes any
            assert id_map == new.id_map(old), (old, made[1])


def test_pruning_keeps_the_ids_of_its_corpus() -> None:
    for rng, old in drawn("corpus", 100):
        texts = [text for text in texts_of(rng, old) if text]
        corpus = rng.sample(texts, min(len(texts), 5))
        try:
            change = old.prune(corpus=iter(corpus))
        except VocabularyError as error:
            if "every merge would be removed" not in str(error):
                raise
            continue
        new_ids = change.id_map.old_to_new.tolist()
        for text in corpus:
            assert change.tokenizer.encode_ordinary(text) == [new_ids[i] for i in old.encode_ordinary(text)]
        assert not change.report.lost, (old, corpus)
        assert not change.report.remade, (old, corpus)
        ids, priority, cut, _ = rules(old)
        names = {i: token for token, i in ids.items()}
        used = {names[i] for text in corpus for i in old.encode_ordinary(text) if i in names}
        removal: Any = old._remover()._removal
        always = {names[i] for i in (*removal.kept, *removal.special) if i in names}
        expected = surgery.pruned(ids, used | always, priority, cut) & {*ids}  # a character need not be a piece
        assert {names[i] for i, new in enumerate(new_ids) if new >= 0 and i in names} == expected


def test_pruning_to_a_number_keeps_that_many_in_order() -> None:
    for rng, old in drawn("keep", 100):
        removal: Any = old._remover()._removal
        n = old.vocab_size
        from fastbpe.vocabularies.makers import with_makers

        least = len(with_makers((*removal.kept, *removal.special), removal.makers))
        keep = rng.randint(least, n)
        corpus = iter(["ab abc"]) if rng.random() < 0.5 else None
        try:
            change = old.prune(keep=keep, corpus=corpus)
        except VocabularyError as error:
            if "every merge would be removed" not in str(error):
                raise
            continue
        assert change.tokenizer.vocab_size == keep
        assert not change.report.lost
        assert not change.report.remade
        kept = change.id_map.new_to_old.tolist()
        assert kept == sorted(kept)
    change = old.prune(keep=n)
    assert change.tokenizer.vocab == [token for token in old.vocab if token] or old.mode == "codepoint"


@pytest.mark.parametrize("kind", KINDS)
def test_removing_nothing_changes_nothing(kind: str) -> None:
    make: Callable[[random.Random], Tokenizer] = random_exports._KINDS[kind]
    for number in range(20):
        try:
            old = make(random.Random(f"nothing {number}"))
        except fastbpe.FastbpeError:
            continue
        new, id_map = old.without_tokens([], keep_ids=old.mode == "byte")
        assert new == old
        assert id_map.new_to_old.tolist() == [*range(old.n_vocab)]


def test_metaspace_and_space_name_the_same_piece() -> None:
    old = fastbpe.train(["ab ab abc"], mode="codepoint", vocab_size=10, progress=False)
    one, two = old.without_tokens(["\u2581abc"]), old.without_tokens([" abc"])
    assert one.tokenizer == two.tokenizer
    assert one.report.removed == (5,)
    assert METASPACE_UTF8 + b"abc" not in one.tokenizer._family.own.pieces  # type: ignore[attr-defined]
    assert PieceType.NORMAL in one.tokenizer._family.own.types  # type: ignore[attr-defined]
