"""The slow twin of code-point mode against sentencepiece: ids, pieces and offsets, and decoding."""

import random
from functools import lru_cache

import pytest
import sentencepiece

from fastbpe.formats.sentencepiece import model_file as sentencepiece_format
from fastbpe.model import CodePointModel, PieceType
from helpers.codepoint_models import PUBLISHED, hard_text, model_of, published_model, trained
from helpers.codepoint_models import published_processor as processor
from helpers.codepoint_twins import running_arguments
from helpers.sampling import n_rounds
from helpers.shared_data import corpus
from reference.normalization import METASPACE
from reference.sentencepiece import Processor

N_TEXTS = n_rounds(400, 20_000)
N_BYTES = n_rounds(6_000, 300_000)


def twin_of(model: CodePointModel) -> Processor:
    return Processor(*running_arguments(model))


@lru_cache
def published_twin(name: str) -> Processor:
    return twin_of(published_model(name))


def assert_same_tokens(twin: Processor, peer: sentencepiece.SentencePieceProcessor, text: bytes) -> None:
    expected = peer.encode(text, out_type="offset_mapping")
    tokens = twin.tokens(text)
    assert [token.id for token in tokens] == expected["ids"], text
    assert [token.piece for token in tokens] == expected["pieces"], text
    assert [(token.begin, token.end) for token in tokens] == expected["offsets"], text


@pytest.mark.sample(1)
@pytest.mark.parametrize("name", PUBLISHED)
def test_lines_of_corpora_are_encoded_as_by_sentencepiece(name: str) -> None:
    for file in ("english.txt", "multilingual.txt", "emoji_mixed.txt", "wagahaiwa_nekodearu.txt"):
        for line in corpus(file, N_BYTES).encode().split(b"\n"):
            assert_same_tokens(published_twin(name), processor(name), line[:300])


@pytest.mark.parametrize("name", PUBLISHED)
def test_hard_texts_are_encoded_as_by_sentencepiece(name: str) -> None:
    rng = random.Random(name)
    pieces = [piece.replace(METASPACE, b" ") for piece in published_model(name).pieces]
    for _ in range(N_TEXTS):
        assert_same_tokens(published_twin(name), processor(name), hard_text(rng, pieces))


@pytest.mark.parametrize("name", PUBLISHED)
def test_random_ids_are_decoded_as_by_sentencepiece(name: str) -> None:
    rng = random.Random(name)
    twin, peer = published_twin(name), processor(name)
    telling = [
        twin.pieces.index(p.encode())
        for p in ("<s>", "</s>", "<unk>", "▁", "▁a", "a")
        if p.encode() in twin.pieces
    ]
    for _ in range(N_TEXTS * 5):
        choice = [rng.choice(telling), rng.randrange(300), rng.randrange(len(twin.pieces))]
        ids = [rng.choice(choice) for _ in range(rng.randint(1, 8))]
        assert twin.decode(ids) == peer.decode(ids, return_type=bytes), ids


@pytest.mark.parametrize("name", PUBLISHED)
def test_unknown_pieces_are_decoded_as_by_sentencepiece(name: str) -> None:
    rng = random.Random(name)
    words = (
        "▁",
        "▁a",
        "▁▁",
        "zzzq",
        "▁zzzq",
        "▁▁zzzq",
        "<unk>",
        "<s>",
        "a",
        "<0x41>",
        "<0xE3>",
        "<0x20>",
        "",
        "▁<unk>",
    )
    for _ in range(N_TEXTS * 5):
        pieces = [rng.choice(words).encode() for _ in range(rng.randint(1, 6))]
        assert published_twin(name).decode_pieces(pieces) == processor(name).decode(pieces), pieces


@pytest.mark.daily
@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"normalization_rule_name": "identity", "remove_extra_whitespaces": False},
        {"add_dummy_prefix": False, "byte_fallback": True, "vocab_size": 400},
        {"treat_whitespace_as_suffix": True},
        {
            "treat_whitespace_as_suffix": True,
            "allow_whitespace_only_pieces": True,
            "remove_extra_whitespaces": False,
        },
        {"split_by_whitespace": False, "user_defined_symbols": ["▁a", "abc", "NEW york", "x▁y"]},
        {"normalization_rule_name": "nmt_nfkc_cf", "user_defined_symbols": ["BAR"]},
        {"add_dummy_prefix": False, "remove_extra_whitespaces": False, "split_by_whitespace": False},
    ],
    ids=str,
)
def test_models_of_all_options_are_encoded_as_by_sentencepiece(options: dict[str, object]) -> None:
    rng = random.Random(str(options))
    words = ["abc", "ab", "bca", "NEW", "york", "x", "y", "BAR", "bar", "Foo", "aaaa", "▁", "", "é"]
    lines = [" ".join(rng.choices(words, k=8)) for _ in range(200)]
    data = trained(lines, **{"vocab_size": 60, **options})
    twin = twin_of(sentencepiece_format.parse(data, "trained"))
    peer = sentencepiece.SentencePieceProcessor(model_proto=data)
    for _ in range(N_TEXTS):
        text = hard_text(rng) if rng.random() < 0.3 else "".join(rng.choices([*words, " ", "  "], k=9)).encode()
        assert_same_tokens(twin, peer, text)
        ids = [rng.randrange(len(peer)) for _ in range(rng.randint(1, 7))]
        assert twin.decode(ids) == peer.decode(ids, return_type=bytes), ids


def test_best_score_wins_and_ties_go_left() -> None:
    """Random vocabularies over few letters, with equal scores, gaps, and unused pieces."""
    rng = random.Random(5)
    for _ in range(n_rounds(150, 2000)):
        texts = {"".join(rng.choices("abc▁", k=rng.randint(1, 4))) for _ in range(rng.randint(2, 14))}
        kinds = rng.choice([[1], [1, 1, 1, 5], [1, 1, 4, 5, 3]])
        pieces = [(t.encode(), -rng.randrange(4), rng.choice(kinds)) for t in sorted(texts)]
        at = rng.randrange(len(pieces))
        pieces.insert(at, (b"<unk>", 0, PieceType.UNKNOWN))
        data = model_of(pieces, {}, {"remove_extra_whitespaces": rng.random() < 0.5})
        twin = twin_of(sentencepiece_format.parse(data, "made"))
        peer = sentencepiece.SentencePieceProcessor(model_proto=data)
        for _ in range(40):
            assert_same_tokens(twin, peer, "".join(rng.choices("abc ▁d", k=rng.randint(1, 14))).encode())
