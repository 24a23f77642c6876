"""Llama tokenizer.json files and .model files convert into each other; each peer reads its own file."""

import io
import json
import random
from typing import Any

import pytest

from fastbpe import FormatError
from fastbpe.formats import native
from fastbpe.formats.huggingface import read_llama, write_llama
from fastbpe.formats.sentencepiece import model_file
from fastbpe.model import CodePointModel, PieceType
from fastbpe.tokenizer.tokenizer import Tokenizer
from helpers.shared_data import corpus, data_file

spm = pytest.importorskip("sentencepiece")
tokenizers = pytest.importorskip("tokenizers")


def lines() -> list[str]:
    rng = random.Random(7)
    out = [
        line.replace("\0", "")
        for name in ("emoji_mixed", "multilingual")
        for line in corpus(f"{name}.txt", 40_000).split("\n")
    ]
    out += ["q" + " " * n + tail for n in range(70) for tail in ("", "a", "the", "\n")]
    return out + [
        "".join(rng.choices(["a", "b", "ab", " ", "▁", "é", "漢", "\U0001f600", "1"], k=20)) for _ in range(300)
    ]


def theirs(file: bytes, texts: list[str]) -> list[list[int]]:
    peer = tokenizers.Tokenizer.from_str(file.decode())
    peer.no_truncation()
    peer.no_padding()
    peer.encode_special_tokens = True
    return [encoding.ids for encoding in peer.encode_batch(texts, add_special_tokens=False)]


def sentencepieces(model: bytes, texts: list[str]) -> list[list[int]]:
    out: list[list[int]] = spm.SentencePieceProcessor(model_proto=model).encode(texts)
    return out


@pytest.mark.daily
def test_tokenizer_json_becomes_a_model_with_equal_ids() -> None:
    file = data_file("vocab", "phi3_mini_tokenizer.json").read_bytes()
    model = read_llama.parse(file, "file")
    assert model.n_pieces == 32011
    assert not model.merges
    assert theirs(file, lines()) == sentencepieces(model_file.dump(model._replace(added_tokens=())), lines())
    with pytest.raises(FormatError, match="cannot store the added token '</s>'"):
        model_file.dump(model)
    assert theirs(write_llama.dump(model), lines()) == theirs(file, lines())


@pytest.mark.daily
def test_merges_that_scores_cannot_express_are_kept() -> None:
    file = data_file("vocab", "openllama_zh_en_tokenizer.json").read_bytes()
    model = read_llama.parse(file, "file")
    assert len(model.merges) == 12 * 64_812
    assert model.template == ((1,), ())
    written = write_llama.dump(model)
    assert json.loads(written)["model"]["merges"] == json.loads(file)["model"]["merges"]
    assert theirs(written, lines()) == theirs(file, lines())


@pytest.mark.daily
@pytest.mark.parametrize("name", ["llama2", "mistral_v1"])
def test_model_becomes_a_tokenizer_json_with_equal_ids(name: str) -> None:
    data = data_file("vocab", f"{name}_tokenizer.model").read_bytes()
    model = model_file.parse(data, "model")
    file = write_llama.dump(model)
    assert theirs(file, lines()) == sentencepieces(data, lines())
    again = read_llama.parse(file, "file")
    assert (again.pieces, again.types) == (model.pieces, model.types)


def trained(**options: Any) -> bytes:
    out = io.BytesIO()
    rng = random.Random(5)
    text = [" ".join("".join(rng.choices("abcdé", k=rng.randint(1, 6))) for _ in range(8)) for _ in range(200)]
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(text),
        model_writer=out,
        model_type="bpe",
        minloglevel=2,
        **{
            "vocab_size": 400,
            "byte_fallback": True,
            "normalization_rule_name": "identity",
            "remove_extra_whitespaces": False,
            **options,
        },
    )
    return out.getvalue()


@pytest.mark.parametrize("options", [{}, {"add_dummy_prefix": False}, {"byte_fallback": False, "vocab_size": 100}])
def test_trained_models_convert_both_ways(options: dict[str, Any]) -> None:
    data = trained(**options)
    file = write_llama.dump(model_file.parse(data, "model"))
    assert theirs(file, lines()) == sentencepieces(data, lines())
    back = model_file.dump(read_llama.parse(file, "file"))
    assert sentencepieces(back, lines()) == sentencepieces(data, lines())


def with_symbols(symbols: list[str]) -> list[str]:
    """Return texts that contain user-defined symbols, also at their beginning and end."""
    rng = random.Random(11)
    parts = [*symbols, *(symbol[:-1] for symbol in symbols), "a", "b", " ", " ", "▁", "é", "漢", "<s>", "d", "ab"]
    return [*symbols, *lines(), *("".join(rng.choices(parts, k=rng.randint(1, 12))) for _ in range(3000))]


@pytest.mark.parametrize("byte_fallback", [True, False])
def test_user_defined_symbols_convert_both_ways(byte_fallback: bool) -> None:
    symbols = ["<u>", "abc", "ab", "bcd", "▁d", "d▁a", "é", "[INST]", "[INST]▁▁"]
    data = trained(
        user_defined_symbols=symbols,
        add_dummy_prefix=False,
        byte_fallback=byte_fallback,
        vocab_size=370 if byte_fallback else 100,
    )
    model = model_file.parse(data, "model")
    file = write_llama.dump(model)
    texts = with_symbols(symbols)
    expected = sentencepieces(data, texts)
    assert theirs(file, texts) == expected
    again = read_llama.parse(file, "file")
    assert (again.pieces, again.types) == (model.pieces, model.types)
    assert Tokenizer(again).encode_ordinary_batch(texts) == expected
    kept = native.parse(native.dump_code_points(again), "file")
    assert isinstance(kept, CodePointModel)
    back = model_file.dump(kept)
    assert sentencepieces(back, texts) == expected
    assert model_file.parse(back, "back").scores == model.scores


@pytest.mark.daily
@pytest.mark.parametrize("add_dummy_prefix", [True, False])
def test_mistral_v3_converts_both_ways(add_dummy_prefix: bool) -> None:
    model = model_file.parse(data_file("vocab", "mistral_v3_tokenizer.model").read_bytes(), "model")
    if not add_dummy_prefix:
        values = {**model.normalizer.values, "add_dummy_prefix": False}
        model = model._replace(normalizer=model.normalizer.with_values(values), serialized=b"")
    data = model_file.dump(model)
    symbols = [f"[REFERENCE_DOC_{i}]" for i in (0, 1, 10, 19)]
    texts = with_symbols([*symbols, "[INST]", "[REFERENCE_DOC_1"])
    texts += [symbols[0] + name for name in ("<s>", "</s>", "<unk>", "<0x41>", "[INST]", "[control_12]", "▁▁▁")]
    file = write_llama.dump(model)
    expected = sentencepieces(data, texts)
    assert theirs(file, texts) == expected
    again = read_llama.parse(file, "file")
    assert not again.merges
    assert (again.pieces, again.types) == (model.pieces, model.types)
    assert Tokenizer(again).encode_ordinary_batch(texts) == expected
    assert sentencepieces(model_file.dump(again), texts) == expected


def test_character_without_a_piece_is_refused() -> None:
    model = model_file.parse(trained(), "model")
    types = bytearray(model.types)
    types[model.pieces.index(b"a")] = PieceType.CONTROL
    with pytest.raises(FormatError, match="which has a character that is not a piece"):
        write_llama.dump(model._replace(types=bytes(types), serialized=b""))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"normalization_rule_name": "nfkc"},
            r"the normalization rules 'nfkc': sentencepiece changes the text '\\ufb01\\u0301' into 'fi\\u0301', "
            r"but the normalizer Precompiled of tokenizers changes it into 'fi'; export this tokenizer as "
            r"sentencepiece",
        ),
        ({"control_symbols": ["Q"]}, "the piece 'Q' of type CONTROL, which a text may contain,"),
        (
            {"user_defined_symbols": ["ab"], "control_symbols": ["QQ"], "byte_fallback": False, "vocab_size": 90},
            r"together with the piece '</s>': in the text 'ab</s>', the tokenizers library might find this",
        ),
    ],
)
def test_model_that_tokenizer_json_cannot_express_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        write_llama.dump(model_file.parse(trained(**options), "model"))


def metaspace(**changes: Any) -> dict[str, Any]:
    return {"type": "Metaspace", "replacement": "▁", **changes}


def small_file(**changes: Any) -> bytes:
    made = json.loads(write_llama.dump(small_model()))
    for path, value in changes.items():
        at = made
        *keys, last = path.split("__")
        for key in keys:
            at = at[key]
        at[last] = value
    return json.dumps(made).encode()


def small_model() -> CodePointModel:
    return model_file.parse(trained(), "model")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"normalizer": None}, "normalizer: it is not byte-level"),
        ({"normalizer": {"type": "NFC"}}, "normalizer: it is not byte-level"),
        ({"pre_tokenizer": {"type": "Whitespace"}}, "pre_tokenizer: 'Whitespace' is not supported"),
        ({"decoder": {"type": "WordPiece"}}, "decoder: not supported; it must be Metaspace"),
        ({"decoder": None}, "decoder: there is no decoder"),
        ({"model__unk_token": "<q>"}, "model.unk_token: '<q>' is not a token"),
        (
            {"model__byte_fallback": False, "model__unk_token": None},
            "model.unk_token: it is missing: without it and byte_fallback",
        ),
        ({"model__unk_token": "a"}, "model.unk_token: 'a' is not supported"),
        ({"model__ignore_merges": True}, "model.ignore_merges: not supported"),
        ({"model__merges": []}, "model.merges: there are no merges"),
        ({"pre_tokenizer": metaspace(replacement="_")}, "pre_tokenizer.replacement: '_' is not supported"),
        (
            {"pre_tokenizer": metaspace(prepend_scheme="last")},
            "pre_tokenizer.prepend_scheme: 'last' is not one of",
        ),
        ({"pre_tokenizer": metaspace(add_prefix_space=False)}, "pre_tokenizer.add_prefix_space: false"),
        ({"pre_tokenizer": metaspace(split=3)}, "pre_tokenizer.split: must be true or false"),
        ({"pre_tokenizer": {"type": "Metaspace"}}, "pre_tokenizer: it has no 'replacement'"),
        ({"decoder": metaspace(replacement="_")}, "decoder.replacement: '_' is not supported"),
        ({"normalizer": {"type": "Newer"}}, "normalizer: the normalizer 'Newer' is not supported"),
        ({"normalizer": {"type": "Precompiled"}}, "normalizer: it has no 'precompiled_charsmap'"),
        ({"normalizer": {"type": "Prepend", "prepend": "▁"}}, "normalizer: it is not byte-level"),
        ({"model__type": "Unigram"}, "model.type: 'Unigram'"),
        ({"model__merges": ["a"]}, r"model\.merges\[0\]"),
        ({"model__merges": ["a zz"]}, r"model\.merges\[0\]: 'a' and 'zz'"),
    ],
)
def test_unsupported_tokenizer_json_raises_format_error(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        read_llama.parse(small_file(**changes), "file")
