"""tokenizer.json files, published and random, give the ids and the text that tokenizers gives.

FASTBPE_FULL=1 takes every line of every corpus, and more random files.
"""

import itertools
import json
import random
from collections.abc import Iterator

import pytest

import fastbpe
from fastbpe import Tokenizer
from helpers.sampling import FULL, SEED
from helpers.shared_data import CORPORA, DATA, corpus, data_file
from helpers.tokenizer_json import (
    MADE,
    PUBLISHED,
    dumped,
    file_of,
    normalized_tokens,
    random_document,
    random_text,
)

tokenizers = pytest.importorskip("tokenizers")


def peer_of(data: bytes) -> "tokenizers.Tokenizer":
    peer = tokenizers.Tokenizer.from_str(data.decode())
    peer.no_truncation()
    peer.no_padding()
    return peer


def batches(name: str) -> Iterator[list[str]]:
    """Yield the lines of a corpus, some thousands at a time; without FASTBPE_FULL only the first."""
    if not FULL:
        yield corpus(name, 60_000).split("\n")
        return
    with open(data_file("corpus", name), encoding="utf-8", newline="") as file:
        while lines := list(itertools.islice(file, 20_000)):
            yield lines


def with_special(lines: list[str], tokenizer: Tokenizer, rng: random.Random) -> list[str]:
    """Return the lines, each with a special or added token inserted at a random position."""
    names = [*tokenizer.special_tokens, *(token.content for token in tokenizer.added_tokens)]
    out = []
    for line in lines:
        at = rng.randint(0, len(line))
        out.append(line[:at] + rng.choice(["", " ", "  "]) + rng.choice(names) + rng.choice(["", " "]) + line[at:])
    return out


def assert_same(tokenizer: Tokenizer, peer: "tokenizers.Tokenizer", lines: list[str], where: str = "") -> None:
    encodings = peer.encode_batch(lines, add_special_tokens=False)
    expected = [encoding.ids for encoding in encodings]
    found = tokenizer.encode_batch(lines, allowed_special="all")
    for line, ids, encoding in zip(lines, found, encodings, strict=True):
        assert ids == encoding.ids, f"{where}{line!r}"
        places = tokenizer.encode_with_offsets(line, allowed_special="all")
        assert places == (ids, encoding.offsets), f"{where}{line!r}"
    texts = peer.decode_batch(expected, skip_special_tokens=False)
    assert tokenizer.decode_batch(found) == texts, where
    peer.encode_special_tokens = True
    ordinary = [encoding.ids for encoding in peer.encode_batch(lines, add_special_tokens=False)]
    peer.encode_special_tokens = False
    for line, ids, theirs in zip(lines, tokenizer.encode_ordinary_batch(lines), ordinary, strict=True):
        assert ids == theirs, f"{where}{line!r} without special tokens"


@pytest.mark.daily
@pytest.mark.sample(1)
@pytest.mark.parametrize("name", [*PUBLISHED, *MADE])
def test_published_files_on_corpora_equal_tokenizers(name: str) -> None:
    data = file_of(name)
    tokenizer, peer = fastbpe.load(data), peer_of(data)
    rng = random.Random(SEED)
    for text in CORPORA:
        for lines in batches(text):
            assert_same(tokenizer, peer, lines, f"{text}: ")
            some = lines if FULL else lines[:200]
            assert_same(tokenizer, peer, with_special(some, tokenizer, rng), f"{text}, seed {SEED}: ")


@pytest.mark.daily
@pytest.mark.sample(2)
@pytest.mark.parametrize("name", [*PUBLISHED, *MADE])
def test_whole_texts_equal_tokenizers(name: str) -> None:
    data = file_of(name)
    tokenizer, peer = fastbpe.load(data), peer_of(data)
    for text in ("multilingual.txt", "emoji_mixed.txt"):
        whole = corpus(text, 400_000)
        ids = peer.encode(whole, add_special_tokens=False).ids
        assert tokenizer.encode(whole, allowed_special="all") == ids
        assert tokenizer.encode(whole, allowed_special="all", num_threads=1) == ids
        assert tokenizer.decode(ids) == peer.decode(ids, skip_special_tokens=False)


@pytest.mark.daily
def test_template_equals_the_ids_added_by_tokenizers() -> None:
    for name in ("llama3", "whisper_large_v3", "phi2"):
        data = file_of(name)
        tokenizer, peer = fastbpe.load(data), peer_of(data)
        before, behind = tokenizer.template
        ids = before + tokenizer.encode("hello world", allowed_special="all") + behind
        assert ids == peer.encode("hello world").ids, name


def theirs_of(peer: "tokenizers.Tokenizer", text: str) -> list[int] | None:
    """Return tokenizers' ids, or None: it panics for some overlaps of stripping tokens."""
    try:
        return list(peer.encode(text, add_special_tokens=False).ids)
    except BaseException as error:
        if type(error).__name__ != "PanicException":
            raise
        return None


@pytest.mark.daily
@pytest.mark.sample(1)
@pytest.mark.parametrize("part", range(4))
def test_random_files_equal_tokenizers(part: int, capfd: pytest.CaptureFixture[str]) -> None:
    n_files, n_texts = (4_000, 40) if FULL else (40, 25)
    for number in range(n_files):
        seed = f"{SEED}-{part}-{number}"
        rng = random.Random(seed)
        made = random_document(rng)
        peer = peer_of(dumped(made))
        texts = normalized_tokens(made)
        if "" in texts:
            with pytest.raises(fastbpe.FormatError, match=r"the added token .* is empty after normalization"):
                fastbpe.load(dumped(made))
            continue
        if len({*texts}) < len(texts):  # two tokens become one when normalized: tokenizers picks either by chance
            continue
        tokenizer = fastbpe.load(dumped(made))
        for text in [random_text(rng) for _ in range(n_texts)]:
            context = f"seed {seed!r}: {text!r} by {json.dumps({**made, 'model': 0})}"
            expected = theirs_of(peer, text)
            if expected is None:
                continue
            ids = tokenizer.encode(text, allowed_special="all")
            assert ids == expected, context
            assert tokenizer.count(text) == len(tokenizer.encode_ordinary(text)), context
            assert tokenizer.decode(ids) == peer.decode(ids, skip_special_tokens=False), context
            peer.encode_special_tokens = True
            expected = theirs_of(peer, text)
            peer.encode_special_tokens = False
            if expected is not None and not is_special_whole_piece(made):
                assert tokenizer.encode_ordinary(text) == expected, f"{context} without special tokens"


def is_special_whole_piece(made: dict) -> bool:
    """Return True if a special token is an entry of the vocabulary that tokenizers finds as a whole piece."""
    vocab = made["model"]["vocab"]
    return made["model"]["ignore_merges"] and any(
        token["special"] and token["content"] in vocab for token in made["added_tokens"]
    )


@pytest.mark.daily
@pytest.mark.skipif(not DATA.exists(), reason="needs the test data")
def test_tokenizer_trained_by_tokenizers_equals_it() -> None:
    lines = corpus("multilingual.txt", 200_000).split("\n")
    peer = tokenizers.Tokenizer(tokenizers.models.BPE())
    peer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=True)
    peer.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(vocab_size=3000, special_tokens=["<s>", "</s>"], show_progress=False)
    peer.train_from_iterator(lines, trainer)  # without the alphabet, so that most bytes are unknown
    tokenizer = fastbpe.load(peer.to_str().encode())
    assert_same(tokenizer, peer, corpus("emoji_mixed.txt", 60_000).split("\n"))
