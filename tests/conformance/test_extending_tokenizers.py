"""train(base=) with a base of any tokenizer.json: pieces as tokenizers cuts them, and ids that stay."""

from __future__ import annotations

import json
import random
import warnings
from collections import Counter
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any

import pytest
import tokenizers

import fastbpe
from fastbpe import FastbpeError, Tokenizer, TrainingError, TrainingWarning
from fastbpe._core.merge.merge_piece import merge_pieces
from fastbpe._utils.progress import Reporter
from fastbpe.corpus.corpora import ReadingOptions
from fastbpe.tokenizer.internals import model_of, vocabulary_of
from fastbpe.training.document_counting import texts_of_base
from fastbpe.training.piece_counting import count_source
from helpers import random_exports, tokenizer_json
from helpers.sampling import rounds, share_of
from helpers.shared_data import corpus, data_file

BYTE_OF = {shown: byte for byte, shown in enumerate(tokenizer_json.SHOWN)}


def extend(texts: list[str], base: Tokenizer, vocab_size: int | str, **options: Any) -> Tokenizer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)
        return fastbpe.train(iter(texts), base=base, vocab_size=vocab_size, progress=False, **options)


def counted(texts: list[str], base: Tokenizer) -> dict[bytes, int]:
    of_base = texts_of_base(base, ())
    return dict(count_source(iter(texts), None, (), ReadingOptions(), Reporter(False), of_base).items())


def pieces_of_peer(made: dict[str, Any], texts: list[str]) -> Counter[bytes]:
    """Count the pieces of tokenizers: the words of a vocabulary of single bytes."""
    first = len(BYTE_OF)
    named = [{**token, "id": first + i} for i, token in enumerate(made["added_tokens"])]
    model = {**made["model"], "vocab": BYTE_OF, "merges": []}
    peer = tokenizers.Tokenizer.from_str(json.dumps({**made, "model": model, "added_tokens": named}))
    counts: Counter[bytes] = Counter()
    for text in texts:
        found = peer.encode(text, add_special_tokens=False)
        known = [
            (word, BYTE_OF[token])
            for word, token, token_id in zip(found.word_ids, found.tokens, found.ids, strict=True)
            if token_id < first
        ]
        for _, group in groupby(known, lambda item: item[0]):
            counts[bytes(byte for _, byte in group)] += 1
    return counts


def test_tokens_after_an_added_token_have_the_ids_of_tokenizers(tmp_path: Path) -> None:
    path, text = tmp_path / "tokenizer.json", "xy<t>ab"
    fastbpe.train(["ab ab"], vocab_size=257, progress=False).export(path)
    base = json.loads(path.read_bytes())
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "special"), False)
    base["added_tokens"] = [{"id": 257, "content": "<t>", "normalized": True, **flags}]
    path.write_text(json.dumps(base))
    extended = extend(["xyxy<t>"], fastbpe.load(path), "+1")
    extended.export(path)
    assert extended.encode(text) == tokenizers.Tokenizer.from_file(str(path)).encode(text).ids == [258, 257, 256]


def test_pieces_equal_tokenizers() -> None:
    n_with_names = 0
    for number in rounds(100, 2000):
        rng = random.Random(f"pieces {number}")
        made = tokenizer_json.random_document(rng)
        # The peer could not tell these from bytes.
        made["added_tokens"] = [token for token in made["added_tokens"] if token["content"] not in BYTE_OF]
        made["added_tokens"] = [token for token in made["added_tokens"] if len(token["content"].encode()) > 1]
        vocab = made["model"]["vocab"]
        first = len(vocab)
        for token in made["added_tokens"]:
            if token["content"] not in vocab:
                token["id"] = first
                first += 1
        try:
            base = fastbpe.load(tokenizer_json.dumped(made))
        except FastbpeError:
            continue
        texts = [tokenizer_json.random_text(rng) for _ in range(12)]
        assert counted(texts, base) == pieces_of_peer(made, texts), (number, made)
        n_with_names += bool(made["added_tokens"])
    assert n_with_names > share_of(10)


@pytest.mark.daily
def test_extended_base_of_any_kind_keeps_ids_and_rules(tmp_path: Path) -> None:
    n_learned = n_compared = 0
    for number in rounds(100, 2000):
        rng = random.Random(f"extended {number}")
        base = random_exports.draw(rng)[1]
        if base.mode != "byte":
            continue
        texts = [*random_exports.own_texts(rng, base), *(tokenizer_json.random_text(rng) for _ in range(8))]
        texts = [text for text in texts if text]
        try:
            longer = extend(texts, base, "+4", ties=rng.choice(["pair", "first"]))
        except TrainingError as error:
            if "there is no text to learn from" not in str(error):
                raise
            continue
        n = base.n_vocab
        unmade = {*range(n)} - made_by_merging(base)  # new merges may lead to these
        n_learned += longer.n_vocab - n
        assert longer.vocab[:n] == base.vocab
        for name in ("special_tokens", "added_tokens", "template", "pattern"):
            assert getattr(longer, name) == getattr(base, name), (number, name)
        assert fastbpe.steps(longer) == fastbpe.steps(base), number
        shares_ids = any(vocabulary_of(base).has(token.id) for token in base.added_tokens)  # it decodes to a name
        for text in texts:
            for allowed in ("all", ()):
                ids = longer.encode(text, allowed_special=allowed, disallowed_special=())
                old = base.encode(text, allowed_special=allowed, disallowed_special=())
                assert shares_ids or longer.decode(ids) == base.decode(old)
                if ids != old and unmade.isdisjoint(ids):
                    assert max(ids) >= n, (number, text)
        path = tmp_path / "tokenizer.json"
        try:
            longer.export(path, format="huggingface")
        except FastbpeError:
            continue
        peer = tokenizers.Tokenizer.from_file(str(path))
        try:
            expected = [found.ids for found in peer.encode_batch(texts, add_special_tokens=False)]
        except BaseException as error:  # tokenizers panics where a normalizer moves the border of an added token
            if type(error).__name__ != "PanicException":
                raise
            continue
        assert longer.encode_batch(texts, allowed_special="all") == expected
        n_compared += 1
    assert n_learned > share_of(30)
    assert n_compared > share_of(4)


def test_pieces_learned_are_the_most_frequent_pairs_of_ids() -> None:
    """The first merge is the most frequent pair of neighbouring ids within the pieces of tokenizers."""
    n_tried = 0
    for number in rounds(60, 3000):
        rng = random.Random(f"first merge {number}")
        made = {**tokenizer_json.random_document(rng), "added_tokens": []}
        try:
            base = fastbpe.load(tokenizer_json.dumped(made))
        except FastbpeError:
            continue
        texts = [tokenizer_json.random_text(rng) for _ in range(12)]
        pairs: Counter[tuple[int, int]] = Counter()
        for piece, n in pieces_of_peer(made, texts).items():
            ids = encoded(base, piece)
            for pair in pairwise(ids):
                pairs[pair] += n
        if not pairs:
            continue
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        assert extend(texts, base, "+1").vocab[-1] == base.vocab[best[0]] + base.vocab[best[1]], number
        n_tried += 1
    assert n_tried > share_of(4)


def made_by_merging(base: Tokenizer) -> set[int]:
    """Give the ids of the tokens that merging makes."""
    tokens = [(i, token) for i, token in enumerate(vocabulary_of(base).tokens()) if token]
    merged = merge_pieces(vocabulary_of(base), [token for _, token in tokens])
    return {i for (i, _), ids in zip(tokens, merged, strict=True) if ids == (i,)}


def encoded(base: Tokenizer, piece: bytes) -> tuple[int, ...]:
    """Encode a piece, which may be a part of a character."""
    whole = vocabulary_of(base).find(piece)
    if whole is not None and model_of(base).whole_piece_first:
        return (whole,)
    return merge_pieces(vocabulary_of(base), [piece])[0]


def small_base() -> Tokenizer:
    return fastbpe.load(
        tokenizer_json.dumped(
            tokenizer_json.small(
                [tokenizer_json.added(262, "<t>"), tokenizer_json.added(263, "<s>", special=True, lstrip=True)],
                normalizer={"type": "Lowercase"},
            )
        )
    )


def test_special_tokens_of_a_base_with_added_tokens_move_to_the_end() -> None:
    longer = extend(["XY xy<s> <t>"], small_base(), "+2", base_special="end", special_tokens=["<u>"])
    assert longer.vocab[262] == b"xy"
    assert [longer.token_to_id(name) for name in ("<t>", "<s>", "<u>")] == [263, 264, 265]
    assert [token.id for token in longer.added_tokens] == [263, 264]
    assert longer.encode("xY <s><t>", allowed_special="all") == [262, 264, 263]


def test_counts_are_refused_for_a_base_that_they_cannot_hold() -> None:
    base = small_base()
    with pytest.raises(TrainingError, match="pass the texts to train"):
        fastbpe.count_pieces(["ab"], base=base)
    with pytest.raises(TrainingError, match="which were not used for counting: pass the texts"):
        fastbpe.train(fastbpe.count_pieces(["ab"]), base=base, vocab_size="+1", pattern=base.pattern)
    pieces = {b"xy": 3}  # pieces are taken as they are
    assert fastbpe.train(pieces, base=base, vocab_size="+1", progress=False).vocab[-1] == b"xy"


def test_report_counts_the_bytes_of_documents() -> None:
    assert extend(["XY xy<s>", "é"], small_base(), "+1").training_report["n_bytes"] == 10


def test_bytes_without_a_token_are_left_out_of_pieces() -> None:
    rng = random.Random("holes")
    for _ in range(30):
        made = tokenizer_json.without_some_bytes(tokenizer_json.small(), rng)
        try:
            base = fastbpe.load(tokenizer_json.dumped(made))
        except FastbpeError:
            continue
        texts = [tokenizer_json.random_text(rng) for _ in range(12)]
        longer = extend(texts, base, "+3")
        assert longer.vocab[: base.n_vocab] == base.vocab
        for text in texts:
            assert longer.decode(longer.encode(text)) == base.decode(base.encode(text))


@pytest.mark.daily
@pytest.mark.parametrize("name", ["falcon", "phi2", "whisper_large_v3"])
def test_published_tokenizer_json_can_be_extended(name: str, tmp_path: Path) -> None:
    base = fastbpe.load(data_file("vocab", f"{name}_tokenizer.json"))
    text = corpus("multilingual.txt", 100_000)
    longer = extend([text], base, "+50")
    assert longer.vocab[: base.n_vocab] == base.vocab
    assert longer.n_vocab == base.n_vocab + 50
    assert longer.count(text) < base.count(text)
    if name == "whisper_large_v3":
        return  # its ids have a gap, and so have the extended one's: no tokenizer.json holds that
    longer.export(tmp_path / "tokenizer.json", format="huggingface", verify=False)
    peer = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    lines = text.splitlines(keepends=True)[::5]
    expected = [found.ids for found in peer.encode_batch(lines, add_special_tokens=False)]
    assert longer.encode_batch(lines, allowed_special="all") == expected
