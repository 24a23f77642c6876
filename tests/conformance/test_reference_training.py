"""The slow twin learns the merges of its peers, and encodes alike by ranks and by merges."""

import json
import random
import sysconfig
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
import regex
import tiktoken
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from helpers.peer_trainers import (
    WHOLE_TEXT,
    WORDS,
    BytePair,
    bpeasy_merges,
    huggingface_merges,
    minbpe_merges,
    rustbpe_merges,
)
from helpers.sampling import n_rounds
from reference import Merges, Ties, encode, merge_pairs, merge_ranks, train

SEEDS = range(10)
CORPORA_PER_SEED = 60


def as_bytes(learned: Merges) -> list[BytePair]:
    return [(learned.tokens[left], learned.tokens[right]) for left, right, _ in learned.merges]


def pieces_of(texts: list[str], pattern: str) -> Counter[bytes]:
    return Counter(piece.encode() for text in texts for piece in regex.findall(pattern, text))


def random_texts(rng: random.Random) -> list[str]:
    """Return texts whose words are short, long or repetitive, with many ties and overlaps."""
    letters = "abcd"[: rng.randint(1, 4)] + rng.choice(["", "", "é", "  ", "!", "한"])
    longest = rng.choice([3, 8, 20, 60])
    words = ["".join(rng.choices(letters, k=rng.randint(1, longest))) for _ in range(rng.randint(1, 8))]
    words += ["".join(rng.choices(words, k=rng.randint(1, 3))) for _ in range(rng.randint(0, 8))]
    return [rng.choice(["", " "]).join(rng.choices(words, k=rng.randint(0, 12))) for _ in range(3)]


def corpora(seed: int) -> Iterator[tuple[str, list[str], str, int]]:
    """Yield a name that reproduces the corpus, texts, a pattern, and the number of merges, often more than
    possible."""
    rng = random.Random(seed)
    for number in range(CORPORA_PER_SEED):
        name = f"seed {seed}, corpus {number}"
        yield name, random_texts(rng), rng.choice([WORDS, WHOLE_TEXT]), rng.choice([0, 1, 5, 20, 400])


def standard_library(n_bytes: int) -> str:
    sources = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
    return "".join(path.read_text(encoding="utf-8")[:4000] for path in sources)[:n_bytes]


def naive_minbpe(pieces: list[bytes], n_merges: int) -> list[BytePair]:
    """Count over the text itself without sharing pieces; the order of a dict tells which pair came first."""
    text = [[bytes([byte]) for byte in piece] for piece in pieces]
    merges: list[BytePair] = []
    while len(merges) < n_merges:
        stats: dict[BytePair, int] = {}
        for parts in text:
            for pair in pairwise(parts):
                stats[pair] = stats.get(pair, 0) + 1
        if not stats:
            break
        best = max(stats, key=lambda pair: stats[pair])
        merges.append(best)
        for parts in text:
            at = 0
            while at < len(parts) - 1:
                if (parts[at], parts[at + 1]) == best:
                    parts[at : at + 2] = [best[0] + best[1]]
                at += 1
    return merges


@pytest.mark.daily
@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_corpora_train_as_every_peer(seed: int) -> None:
    for name, texts, pattern, n_merges in corpora(seed):
        pieces, vocab_size = pieces_of(texts, pattern), 256 + n_merges
        by_pair = as_bytes(train(pieces, n_merges=n_merges))
        assert by_pair == rustbpe_merges(texts, vocab_size, pattern), name
        assert by_pair == bpeasy_merges(texts, vocab_size, pattern), name
        by_stand_in = as_bytes(train(pieces, n_merges=n_merges, ties="huggingface"))
        assert by_stand_in == huggingface_merges(texts, vocab_size, pattern), name


@pytest.mark.parametrize("seed", SEEDS)
def test_random_corpora_train_as_minbpe(seed: int) -> None:
    for name, texts, pattern, n_merges in corpora(seed):
        pieces = pieces_of(texts, pattern)
        in_text_order = [piece.encode() for text in texts for piece in regex.findall(pattern, text)]
        naive = naive_minbpe(in_text_order, n_merges)
        assert as_bytes(train(pieces, n_merges=n_merges, ties="first")) == naive, name
        assert minbpe_merges(pieces, n_merges) == naive, name


@pytest.mark.daily
@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_limits_stop_training_as_in_the_peers(seed: int) -> None:
    rng = random.Random(seed)
    for name, texts, pattern, n_merges in corpora(seed):
        pieces, vocab_size = pieces_of(texts, pattern), 256 + n_merges
        length, min_count = rng.randint(2, 7), rng.randint(1, 4)
        longest = max(2, length - 1)
        ours = as_bytes(train(pieces, n_merges=n_merges, max_token_bytes=longest))
        theirs = bpeasy_merges(texts, vocab_size, pattern, max_token_length=length)
        assert ours == theirs, (name, length)
        ours = as_bytes(
            train(pieces, n_merges=n_merges, ties="huggingface", min_count=min_count, max_token_bytes=longest)
        )
        theirs = huggingface_merges(texts, vocab_size, pattern, min_frequency=min_count, max_token_length=length)
        assert ours == theirs, (name, length, min_count)


@pytest.mark.daily
@pytest.mark.sample(2)
@pytest.mark.parametrize("seed", SEEDS)
def test_ranks_and_merges_encode_alike(seed: int) -> None:
    """Encode seen and unseen pieces by ranks, by the learned list, and by tiktoken."""
    rng = random.Random(seed)
    all_ties: list[Ties] = ["pair", "huggingface", "first"]
    for name, texts, pattern, n_merges in corpora(seed):
        pieces = pieces_of(texts, pattern)
        learned = train(pieces, n_merges=n_merges, ties=rng.choice(all_ties))
        ranks = {token: rank for rank, token in enumerate(learned.tokens)}
        assert len(ranks) == len(learned.tokens), f"{name}: a token was learned twice"
        merges = {(left, right): (new_id, new_id) for left, right, new_id in learned.merges}
        peer = tiktoken.Encoding("learned", pat_str=WHOLE_TEXT, mergeable_ranks=ranks, special_tokens={})
        letters = sorted(set("".join(texts))) or ["x"]
        unseen = ["".join(rng.choices(letters, k=rng.randint(1, 40))) for _ in range(20)]
        for text in [*texts, *unseen]:
            assert encode(text, ranks) == peer.encode_ordinary(text), (name, text)
        for piece in [*pieces, *learned.tokens[256:], *(text.encode() for text in unseen)]:
            assert merge_ranks(ranks, piece) == merge_pairs(merges, piece), (name, piece)


def test_tokenizers_reuses_only_the_ids_of_special_tokens() -> None:
    """A merge that spells a special token takes its id: the list of merges grows, the vocabulary does not."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=258,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["ab"],
        show_progress=False,
    )
    tokenizer.train_from_iterator(["abc", "abd", "ab"], trainer)
    assert json.loads(tokenizer.to_str())["model"]["merges"] == [["a", "b"], ["ab", "c"]]
    assert tokenizer.token_to_id("ab") == 0
    assert tokenizer.token_to_id("abc") == 257
    assert tokenizer.get_vocab_size() == 258


@pytest.mark.daily
def test_real_text_trains_as_every_peer() -> None:
    text = standard_library(n_rounds(20_000, 60_000))
    pieces = pieces_of([text], WORDS)
    by_pair = train(pieces, n_merges=300)
    assert as_bytes(by_pair) == rustbpe_merges([text], 556, WORDS) == bpeasy_merges([text], 556, WORDS)
    by_stand_in = train(pieces, n_merges=300, ties="huggingface")
    assert as_bytes(by_stand_in) == huggingface_merges([text], 556, WORDS)
    first = train(pieces, n_merges=300, ties="first")
    assert as_bytes(first) == minbpe_merges(pieces, 300)

    ranks = {token: rank for rank, token in enumerate(by_pair.tokens)}
    peer = tiktoken.Encoding("learned", pat_str=WORDS, mergeable_ranks=ranks, special_tokens={})
    assert encode(text, ranks, lambda text: regex.findall(WORDS, text)) == peer.encode_ordinary(text)
