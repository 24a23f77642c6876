"""The slow twins of models that merge nothing against sentencepiece and tokenizers."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import pytest

from fastbpe.formats.sentencepiece import model_file as sentencepiece_format
from fastbpe.model import PieceType
from helpers.sampling import n_rounds, share_of
from helpers.segmented_models import (
    SCORE_STYLES,
    kept_sentences,
    learned_pieces,
    random_number,
    random_options,
    random_score,
    random_sentences,
    random_text,
    random_unigram,
    tokenizer_json,
    twin_of,
    twin_trainer,
    unigram_model,
    unigram_of_numbers,
)
from reference.lattice import float32
from reference.longest_match import Token, word_level, word_piece
from reference.numbers import json_number
from reference.unigram import ScoredPieces

sentencepiece: Any = pytest.importorskip("sentencepiece")
tokenizers: Any = pytest.importorskip("tokenizers")
sentencepiece.set_min_log_level(2)

SEEDS = range(6)


@pytest.mark.parametrize("style", SCORE_STYLES)
@pytest.mark.parametrize("seed", SEEDS)
def test_random_unigram_models_encode_as_sentencepiece(style: str, seed: int) -> None:
    rng = random.Random(f"{style} {seed}")
    for _ in range(n_rounds(50, 400)):
        model = random_unigram(rng, style)
        twin = twin_of(model)
        peer = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_format.dump(model))
        for _ in range(20):
            text = random_text(rng)
            expected = peer.encode(text.encode(), return_type="offset_mapping")
            tokens = twin.tokens(text.encode())
            assert [token.id for token in tokens] == expected["ids"], (model, text)
            assert [token.piece for token in tokens] == expected["pieces"], (model, text)
            assert [(token.begin, token.end) for token in tokens] == expected["offsets"], (model, text)
            assert twin.decode(expected["ids"]) == peer.decode(expected["ids"], return_type=bytes), (model, text)


@pytest.mark.parametrize("style", SCORE_STYLES)
@pytest.mark.parametrize("seed", SEEDS)
def test_best_ways_of_random_unigram_models_come_in_sentencepieces_order(style: str, seed: int) -> None:
    rng = random.Random(f"{style} {seed} n-best")
    for _ in range(n_rounds(50, 300)):
        model = random_unigram(rng, style)
        twin = twin_of(model)
        peer = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_format.dump(model))
        for _ in range(6):
            text, n = random_text(rng, 14), rng.choice([1, 2, 3, 8, 20])
            assert twin.n_best(text.encode(), n) == peer.nbest_encode(text, nbest_size=n), (model, text, n)


@pytest.mark.daily
@pytest.mark.parametrize("n", [2, 30])
def test_search_for_the_best_ways_of_a_long_text_gives_up_as_in_sentencepiece(n: int) -> None:
    """Nearly all ways are equally good: the search finds 2 ways, but if asked for 30, it returns only one."""
    rng = random.Random(9)
    near = [-length + rng.choice([0, 1e-6, -1e-6]) for length in range(1, 5)]
    pieces = [(b"a" * length, float32(score), PieceType.NORMAL) for length, score in enumerate(near, 1)]
    model = unigram_model([(b"<unk>", 0.0, PieceType.UNKNOWN), *pieces], None, {"add_dummy_prefix": False})
    peer = sentencepiece.SentencePieceProcessor(model_proto=sentencepiece_format.dump(model))
    sentencepiece.set_nbest_timeout(30_000)  # of the process: other tests set it
    ways = twin_of(model).n_best(b"a" * 200, n)
    assert ways == peer.nbest_encode("a" * 200, nbest_size=n)
    assert len(ways) == (1 if n == 30 else 2)


def peer_trained(sentences: list[bytes], options: dict[str, Any]) -> bytes | None:
    """Train with sentencepiece. None: it refuses the options or the text."""
    file = io.BytesIO()
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(sentences), model_writer=file, **{"model_type": "unigram", **options}
        )
    except (RuntimeError, ValueError):
        return None
    return file.getvalue()


@pytest.mark.parametrize("seed", range(8))
def test_random_trainings_learn_sentencepieces_pieces_and_scores(seed: int) -> None:
    rng = random.Random(f"training {seed}")
    n_compared = 0
    for _ in range(n_rounds(40, 300)):
        sentences, options = random_sentences(rng), random_options(rng)
        expected = peer_trained(sentences, options)
        if expected is None:
            continue
        n_compared += 1
        pieces = twin_trainer(options).learn(kept_sentences(sentences))
        model = sentencepiece_format.parse(expected, "trained")
        assert pieces == learned_pieces(model), (sentences, options)
    assert n_compared > share_of(15)


def test_seeds_of_a_file_are_taken_as_by_sentencepiece(tmp_path: Path) -> None:
    rng = random.Random(3)
    for _ in range(n_rounds(80, 1000)):
        sentences, options = random_sentences(rng), random_options(rng)
        text = b" ".join(sentences).decode().replace("\0", "").split() or ["a"]
        words = [word[: rng.randint(1, 6)] for word in rng.choices(text, k=12)]
        lines = [(rng.choice(["▁", ""]) + word, rng.randint(1, 9)) for word in words]
        path = tmp_path / "seeds.tsv"
        path.write_text("".join(f"{piece}\t{count}\n" for piece, count in lines), encoding="utf-8")
        expected = peer_trained(sentences, {**options, "seed_sentencepieces_file": str(path)})
        if expected is not None:
            pieces = twin_trainer(options, seed_lines=lines).learn(kept_sentences(sentences))
            assert pieces == learned_pieces(sentencepiece_format.parse(expected, "trained")), (sentences, options)


# tokenizers


def peer_tokens(peer: Any, text: str) -> list[Token] | None:
    """Encode with tokenizers. None: it needs an unknown token."""
    try:
        encoding = peer.encode(text)
    except Exception as error:
        if "unk" not in str(error).lower():
            raise
        return None
    return [(i, *offsets) for i, offsets in zip(encoding.ids, encoding.offsets, strict=True)]


def twin_tokens(encode: Any, text: str) -> list[Token] | None:
    """Encode the words of a text with a twin. None: it needs an unknown token."""
    tokens: list[Token] = []
    begin = 0
    try:
        for word in text.split(" "):
            tokens += [(i, begin + at, begin + end) for i, at, end in (encode(word) if word else [])]
            begin += len(word) + 1
    except KeyError:
        return None
    return tokens


@pytest.mark.parametrize("seed", SEEDS)
def test_random_numbers_are_read_as_by_tokenizers(seed: int) -> None:
    rng = random.Random(f"numbers {seed}")
    numbers = [random_number(rng) for _ in range(n_rounds(1_000, 20_000))]
    sound = []
    for number in numbers:
        try:
            json_number(number)
        except OverflowError:
            with pytest.raises(Exception, match="number out of range"):
                tokenizers.Tokenizer.from_str(unigram_of_numbers([number]).decode())
        else:
            sound.append(number)
    assert len(sound) > len(numbers) / 2
    written = json.loads(tokenizers.Tokenizer.from_str(unigram_of_numbers(sound).decode()).to_str())
    for number, (_, score) in zip(sound, written["model"]["vocab"], strict=True):
        assert json_number(number) == score, number


def random_words(rng: random.Random) -> list[str]:
    letters = rng.sample("abcé漢👍", rng.randint(1, 5))
    return sorted({"".join(rng.choices(letters, k=rng.randint(1, 4))) for _ in range(rng.randint(1, 25))})


@pytest.mark.parametrize("seed", SEEDS)
def test_random_unigram_files_encode_as_tokenizers(seed: int) -> None:
    rng = random.Random(f"tokenizers {seed}")
    for _ in range(n_rounds(50, 400)):
        pieces = [(word, random_score(rng, rng.choice(SCORE_STYLES))) for word in random_words(rng)]
        pieces += rng.choices(pieces, k=rng.choice([0, 0, 2]))
        if rng.random() < 0.5:
            pieces += [("<unk>", rng.choice([0.0, -3.0]))]
        falls_back = rng.random() < 0.5
        if falls_back:
            pieces += [(f"<0x{byte:02X}>", 0.0) for byte in range(256) if rng.random() < 0.95]
        rng.shuffle(pieces)
        unknown = rng.choice([None, rng.randrange(len(pieces))])
        model = {"type": "Unigram", "unk_id": unknown, "vocab": pieces, "byte_fallback": falls_back}
        twin = ScoredPieces([(piece, json_number(repr(score))) for piece, score in pieces], unknown, falls_back)
        peer = tokenizers.Tokenizer.from_str(tokenizer_json(model).decode())
        for _ in range(15):
            text = random_text(rng, 20, others=" x<unk>")
            assert twin_tokens(twin.encode, text) == peer_tokens(peer, text), (model, text)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_word_pieces_encode_as_tokenizers(seed: int) -> None:
    rng = random.Random(f"word pieces {seed}")
    for _ in range(n_rounds(50, 400)):
        prefix, longest = rng.choice(["##", "", "a"]), rng.choice([1, 3, 100])
        words = {rng.choice(["", prefix]) + word for word in random_words(rng)} | set(rng.choice([["[UNK]"], []]))
        vocabulary = {word: i for i, word in enumerate(rng.sample(sorted(words), len(words)))}
        model = {
            "type": "WordPiece",
            "unk_token": "[UNK]",
            "continuing_subword_prefix": prefix,
            "max_input_chars_per_word": longest,
            "vocab": vocabulary,
        }
        peer = tokenizers.Tokenizer.from_str(tokenizer_json(model).decode())
        for _ in range(15):
            text = random_text(rng, 20, others=" ")
            found = twin_tokens(lambda w: word_piece(w, vocabulary, "[UNK]", prefix, longest), text)  # noqa: B023
            assert found == peer_tokens(peer, text), (model, text)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_word_levels_encode_as_tokenizers(seed: int) -> None:
    rng = random.Random(f"word levels {seed}")
    for _ in range(n_rounds(50, 400)):
        words = {*random_words(rng), *rng.choice([["[UNK]"], []])}
        vocabulary = {word: i for i, word in enumerate(rng.sample(sorted(words), len(words)))}
        model = {"type": "WordLevel", "unk_token": "[UNK]", "vocab": vocabulary}
        peer = tokenizers.Tokenizer.from_str(tokenizer_json(model).decode())
        for _ in range(15):
            text = random_text(rng, 12, others="  ")
            found = twin_tokens(lambda w: word_level(w, vocabulary, "[UNK]"), text)  # noqa: B023
            assert found == peer_tokens(peer, text), (model, text)
