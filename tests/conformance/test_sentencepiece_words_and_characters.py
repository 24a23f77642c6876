"""Models of type word and char by fastbpe.sentencepiece and sentencepiece: training, encoding and decoding."""

import io
import random
import re
import struct
from collections.abc import Callable, Sequence
from typing import Any

import pytest

pytest.importorskip("sentencepiece")
import sentencepiece

import fastbpe.sentencepiece as drop_in
from helpers.codepoint_models import hard_text, model_of
from helpers.random_training import random_options, random_sentences
from helpers.sampling import SEED, n_rounds
from helpers.shared_data import corpus

MODULES: tuple[Any, Any] = (sentencepiece, drop_in)
MODEL_TYPES = ("word", "char")
SENTENCES = ["hello . world", "hello . test", "a b  a", "ａ b"] * 3
FORMS: tuple[dict[str, Any], ...] = (
    {},
    {"out_type": str},
    {"out_type": bytes},
    {"return_type": "offset_mapping"},
    {"return_type": "offset_mapping", "return_bytes": False},
    {"return_type": "serialized_proto"},
    {"out_type": str, "add_bos": True, "reverse": True, "emit_unk_piece": True},
)
DECODED: tuple[dict[str, Any], ...] = (
    {},
    {"out_type": bytes},
    {"return_type": "offset_mapping"},
    {"return_type": "serialized_proto"},
)
Call = Callable[[Any], Any]


def result(call: Callable[[], Any]) -> Any:
    """Return what a call returns, or the builtin class of its error with the end of sentencepiece's message."""
    try:
        return call()
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        kinds = [kind for kind in (ValueError, IndexError, TypeError, RuntimeError) if isinstance(error, kind)]
        reason = re.sub(r"^\w+: (\S+\.cc\(\d+\) )?", "", str(error)).rstrip()  # without the place in the source
        return kinds[0], reason.split("] ")[-1]  # the condition that failed counts if nothing stands after it


def trained(module: Any, sentences: Sequence[str | bytes], **options: Any) -> Any:
    """Train with a module: return the file, or the error."""
    file = io.BytesIO()
    trainer = module.SentencePieceTrainer

    def train() -> bytes:
        trainer.train(sentence_iterator=iter(sentences), model_writer=file, minloglevel=4, **options)
        return file.getvalue()

    return result(train)


def both_trained(sentences: Sequence[str | bytes], **options: Any) -> bytes | None:
    """Train with both modules and compare: return the file, or None where both raise the same error."""
    expected, ours = (trained(module, sentences, **options) for module in MODULES)
    if isinstance(expected, bytes):
        assert ours == expected, (sentences, options)
        return expected
    assert ours[0] == expected[0], (sentences, options)
    assert ours[1].endswith(expected[1][-60:]), (sentences, options)
    return None


def assert_same_processors(data: bytes, texts: Sequence[str | bytes]) -> None:
    peer, us = (
        result(lambda module=module: module.SentencePieceProcessor(model_proto=data)) for module in MODULES
    )
    if isinstance(peer, tuple):
        assert isinstance(us, tuple)
        assert us[0] == peer[0]
        return
    for text in texts:
        for form in FORMS:
            expected = result(lambda: peer.encode(text, **form))  # noqa: B023
            found = result(lambda: us.encode(text, **form))  # noqa: B023
            assert found == expected, (data, text, form)
        assert us.encode(text, return_type="numpy").tolist() == peer.encode(text)
        assert result(lambda: us.normalize(text, with_offsets=True)) == result(  # noqa: B023
            lambda: peer.normalize(text, with_offsets=True)  # noqa: B023
        )
        for tokens in (peer.encode(text), peer.encode(text, out_type=str), peer.encode(text, out_type=bytes)):
            for form in DECODED:
                expected = result(lambda: peer.decode(tokens, **form))  # noqa: B023
                assert result(lambda: us.decode(tokens, **form)) == expected, (data, tokens, form)  # noqa: B023
    assert us.encode(list(texts), num_threads=2) == peer.encode(list(texts), num_threads=2)
    ids = list(range(len(peer)))
    assert us.decode([ids, ids[::-1], []]) == peer.decode([ids, ids[::-1], []])
    for name in ("id_to_piece", "get_score", "is_unknown", "is_control", "is_unused", "is_byte"):
        assert getattr(us, name)(ids) == getattr(peer, name)(ids), name
    for name in ("piece_size", "unk_id", "bos_id", "eos_id", "pad_id", "serialized_model_proto"):
        assert getattr(us, name)() == getattr(peer, name)(), name
    names = peer.id_to_piece(ids)
    assert us.piece_to_id([*names, "no piece"]) == peer.piece_to_id([*names, "no piece"])


@pytest.mark.parametrize("model_type", MODEL_TYPES)
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"hard_vocab_limit": False},
        {"vocab_size": 7},
        {"vocab_size": 2},
        {"vocab_size": 3},
        {"use_all_vocab": True},
        {"use_all_vocab": True, "bos_id": 20},
        {"use_all_vocab": True, "bos_id": 20, "hard_vocab_limit": False},
        {"character_coverage": 0.98, "hard_vocab_limit": False},
        {"required_chars": "xyz", "hard_vocab_limit": False},
        {"user_defined_symbols": [".", "▁b", "lo"], "control_symbols": ["<c>"], "hard_vocab_limit": False},
        {"user_defined_symbols": ["b", "▁b"]},
        {"user_defined_symbols": ["</s>"], "hard_vocab_limit": False},
        {"byte_fallback": True, "vocab_size": 290, "hard_vocab_limit": False},
        {"byte_fallback": True, "unk_id": -1, "vocab_size": 290, "hard_vocab_limit": False},
        {"add_dummy_prefix": False, "remove_extra_whitespaces": False, "hard_vocab_limit": False},
        {"treat_whitespace_as_suffix": True, "split_by_whitespace": False, "hard_vocab_limit": False},
        {"allow_whitespace_only_pieces": True, "remove_extra_whitespaces": False, "hard_vocab_limit": False},
        {"split_digits": True, "max_sentencepiece_length": 1, "hard_vocab_limit": False},
        {"max_sentence_length": 10, "hard_vocab_limit": False},
        {"input_format": "tsv", "hard_vocab_limit": False},
        {"pretokenization_delimiter": "o"},
        {"pretokenizer": list},
        {"auto_character_coverage": True, "byte_fallback": True},
        {"seed_sentencepieces_file": "none"},
        {"escape_whitespaces": False},
        {"vocabulary_output_piece_score": False, "num_threads": 2, "hard_vocab_limit": False},
    ],
    ids=str,
)
def test_option_gives_the_file_and_the_processor_of_sentencepiece(
    model_type: str, options: dict[str, Any]
) -> None:
    sentences = [f"{text}\t3" for text in SENTENCES] if options.get("input_format") else SENTENCES
    data = both_trained(sentences, **{"vocab_size": 20, **options}, model_type=model_type)
    if data is not None:
        assert_same_processors(data, ["hello . world", "b lo. zz qq 日本 b", " a  b", "</s>.<c>", ""])


@pytest.mark.daily
def test_random_corpora_and_options_give_equal_files_and_processors() -> None:
    for seed in range(SEED, SEED + n_rounds(150, 20_000)):
        rng = random.Random(seed)
        sentences = random_sentences(rng)
        options = random_options(rng, sentences) | {"model_type": rng.choice(MODEL_TYPES)}
        options["hard_vocab_limit"] = rng.random() < 0.3
        if rng.random() < 0.8:
            options.pop("pretokenization_delimiter", None)
        if rng.random() < 0.2:
            options["use_all_vocab"] = True
        if rng.random() < 0.5:
            options["vocab_size"] = rng.choice([3, 5, 6, 8, 12]) + 256 * options.get("byte_fallback", False)
        data = both_trained(sentences, **options)
        if data is not None:
            texts = [*sentences[:3], *random_sentences(rng)[:3], hard_text(rng), "zz ab. 日本"]
            assert_same_processors(data, texts)


def test_random_models_give_equal_processors() -> None:
    for seed in range(SEED, SEED + n_rounds(150, 20_000)):
        rng = random.Random(seed)
        data, texts = random_model(rng)
        assert_same_processors(data, texts)


def random_model(rng: random.Random) -> tuple[bytes, list[str | bytes]]:
    """Make a model that no training gives, with pieces of all types, and texts for it."""
    model_type = rng.choice(MODEL_TYPES)
    characters = rng.choice(["ab▁", "abc▁ ", "aあ▁漢", "a▁ \u0301é"])
    types: dict[str, int] = {}
    for _ in range(rng.randint(2, 14)):
        piece = "".join(rng.choices(characters, k=rng.choice([1, 1, 1, 2, 3])))
        if model_type == "word" and rng.random() < 0.7:
            piece = f"▁{piece}"
        types[piece] = rng.choice([1, 1, 1, 3, 4, 4, 5])
    pieces = list(types.items())
    rng.shuffle(pieces)
    falls_back = rng.random() < 0.3
    if not falls_back or rng.random() < 0.6:
        pieces.insert(rng.randint(0, len(pieces)), (rng.choice(["<unk>", "U", "q"]), 2))
    pieces.append(("<s>", 3))
    if falls_back:
        pieces += [(f"<0x{byte:02X}>", 6) for byte in range(256)]
    data = model_of(
        [(piece.encode(), -9 * rng.random(), type_) for piece, type_ in pieces],
        {
            "model_type": model_type,
            "byte_fallback": falls_back,
            "treat_whitespace_as_suffix": rng.random() < 0.3,
        },
        {
            "add_dummy_prefix": rng.random() < 0.6,
            "remove_extra_whitespaces": rng.random() < 0.5,
            "escape_whitespaces": rng.random() < 0.8,
        },
    )
    parts = [*types, " ", "  ", "▁", "zz", "q", "<unk>", "<s>", "U", "日"]
    texts: list[str | bytes] = ["".join(rng.choices(parts, k=rng.randint(0, 7))) for _ in range(5)]
    return data, [*texts, "".join(rng.choices(parts, k=3)).encode() + rng.choice([b"\xff", b"\xe3\x81", b"a"])]


@pytest.mark.daily
@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_real_text_gives_equal_files_and_ids(model_type: str) -> None:
    lines = corpus("multilingual.txt", 300_000).split("\n")
    data = both_trained(lines, model_type=model_type, vocab_size=3000, hard_vocab_limit=False)
    assert data is not None
    peer, us = (module.SentencePieceProcessor(model_proto=data) for module in MODULES)
    assert us.encode(lines) == peer.encode(lines)
    assert us.encode(lines, return_type="offset_mapping") == peer.encode(lines, return_type="offset_mapping")


@pytest.mark.parametrize("model_type", MODEL_TYPES)
def test_sampling_and_nbest_raise_the_same_errors(model_type: str) -> None:
    data = both_trained(SENTENCES, model_type=model_type, vocab_size=20, hard_vocab_limit=False)
    calls: list[Call] = [
        lambda p: p.encode("hello", enable_sampling=True, nbest_size=-1, alpha=0.1),
        lambda p: p.encode(["hello"], out_type=str, enable_sampling=True, nbest_size=5, alpha=0.0),
        lambda p: p.sample_encode_as_ids("hello", nbest_size=-1, alpha=0.5),
        lambda p: p.encode("hello", enable_sampling=True, nbest_size=1, alpha=0.1),
        lambda p: p.encode("hello", enable_sampling=True, nbest_size=513, alpha=0.1),
        lambda p: p.nbest_encode("hello", nbest_size=3),
        lambda p: p.nbest_encode_as_pieces(["hello"], nbest_size=3),
    ]
    peer, us = (module.SentencePieceProcessor(model_proto=data) for module in MODULES)
    for call in calls:
        expected, found = result(lambda: call(peer)), result(lambda: call(us))  # noqa: B023
        assert isinstance(expected, tuple)
        assert found[0] == expected[0]
    expected = "SampleEncode is not available for the current model."
    assert result(lambda: calls[0](us))[1].endswith(expected)
    assert result(lambda: calls[0](peer))[1].endswith(expected)


def test_scores_equal_the_c_library() -> None:
    rng = random.Random(SEED)
    sentences = [f"w{i}\t{rng.randrange(1, 1 << rng.randrange(1, 40))}" for i in range(3000)]
    options = {"model_type": "word", "vocab_size": 3003, "input_format": "tsv"}
    data = both_trained(sentences, **options, character_coverage=1.0)
    assert data is not None
    us = drop_in.SentencePieceProcessor(model_proto=data)
    assert struct.unpack("<f", struct.pack("<f", us.get_score(3)))[0] == us.get_score(3)
