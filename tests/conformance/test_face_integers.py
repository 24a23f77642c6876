"""Numbers of any type in every face: results equal the original's, and refused values do not crash."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import rustbpe
import sentencepiece
import tiktoken
import tokenizers

import fastbpe
import fastbpe.tokenizers as tokenizers_face
from helpers.sampling import n_rounds


class Index:
    """An integer that is no int."""

    def __init__(self, value: int) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value


class SubInt(int):
    """A class of ints."""


def numbers(n: int) -> dict[str, Any]:
    """Return a number in many types, and values that are not the number."""
    return {
        "int64": numpy.int64(n),
        "int32": numpy.int32(n),
        "uint16": numpy.uint16(n),
        "Index": Index(n),
        "SubInt": SubInt(n),
        "array": numpy.array(n),
        "float": float(n),
        "float64": numpy.float64(n),
        "str": str(n),
        "None": None,
        "huge": 1 << 70,
        "negative": numpy.int64(-5),
        "True": True,
        "bool_": numpy.True_,
    }


def lists(*ids: int) -> dict[str, Any]:
    """Return ids in many containers and types, and values that are not ids."""
    return {
        "int64": [numpy.int64(i) for i in ids],
        "Index": [Index(i) for i in ids],
        "tuple": ids,
        **{name: numpy.array(ids, name) for name in ("int64", "int32", "uint32", "uint16", "object", ">i4")},
        "strided": numpy.repeat(numpy.array(ids), 2)[::2],
        "empty": numpy.array([]),
        "rows": numpy.array([ids, ids]),
        "no dimensions": numpy.array(ids[0]),
        "bool": [True, False],
        "bool_": [numpy.True_],
        "bools": numpy.array([True, False]),
        "floats": numpy.array(ids, float),
        "negative": numpy.array([-1]),
        "huge": [1 << 70],
        "bytes": bytes(i & 127 for i in ids),
        "str": "ab",
        "None": [None],
        "dict": {ids[0]: 1},
        "set": {ids[0]},
        "iterator": iter(ids),
    }


Call = Callable[[Any, Any], Any]


def outcome(call: Call, module: Any, value: Any) -> Any:
    """Return the result of a call, or the error that it raises."""
    try:
        result = call(module, value)
    except BaseException as error:  # a panic of Rust is no Exception
        return error
    return result.tolist() if isinstance(result, numpy.ndarray) else result


def check(call: Call, face: Any, original: Any, values: Callable[[], dict[str, Any]]) -> None:
    """Compare the outcomes of a call for each value: where the original gives a result, the face gives it too."""
    ours, theirs = values(), values()
    for name in ours:
        expected = outcome(call, original, theirs[name])
        if isinstance(expected, BaseException):
            outcome(call, face, ours[name])  # a crash would end the process
            continue
        found = outcome(call, face, ours[name])
        assert repr(found) == repr(expected), name


def ids_of(*ids: int) -> Callable[[], dict[str, Any]]:
    return lambda: lists(*ids)


def number(n: int) -> Callable[[], dict[str, Any]]:
    return lambda: numbers(n)


# tiktoken


def encoding(module: Any, **options: Any) -> Any:
    ranks = {bytes([i]): i for i in range(256)} | {b"ab": 256}
    given = {"pat_str": ".+", "mergeable_ranks": ranks, "special_tokens": {"<e>": 257}} | options
    return module.Encoding("t", **given)


def batch(values: dict[str, Any]) -> dict[str, Any]:
    """Return batches of one list each."""
    return {name: [value] for name, value in values.items()}


TIKTOKEN: dict[str, tuple[Call, Callable[[], dict[str, Any]]]] = {
    **{
        name: (lambda m, v, name=name: getattr(encoding(m), name)(v), ids_of(97, 98, 256))  # type: ignore[misc]
        for name in ("decode", "decode_bytes", "decode_tokens_bytes", "decode_with_offsets")
    },
    "core.decode_bytes": (lambda m, v: encoding(m)._core_bpe.decode_bytes(v), ids_of(97, 98, 256)),
    "decode_batch": (lambda m, v: encoding(m).decode_batch(v), lambda: batch(lists(97, 98, 256))),
    "decode_bytes_batch": (lambda m, v: encoding(m).decode_bytes_batch(v), lambda: batch(lists(97, 98, 256))),
    "decode_batch of an array": (
        lambda m, v: encoding(m).decode_batch(v),
        lambda: {"rows": numpy.array([[97, 98], [98, 256]])},
    ),
    "decode_single_token_bytes": (lambda m, v: encoding(m).decode_single_token_bytes(v), number(97)),
    "is_special_token": (lambda m, v: encoding(m).is_special_token(v), number(257)),
    "rank": (
        lambda m, v: encoding(
            m, mergeable_ranks={bytes([i]): i for i in range(256)} | {b"ab": v}, special_tokens={}
        ).encode("aab"),
        number(256),
    ),
    "special token": (
        lambda m, v: encoding(m, special_tokens={"<e>": v}).encode("ab<e>", allowed_special="all"),
        lambda: {name: value for name, value in numbers(257).items() if name not in ("True", "bool_")},
    ),
    "explicit_n_vocab": (lambda m, v: encoding(m, explicit_n_vocab=v).n_vocab, number(258)),
    **{
        f"{name}, num_threads": (
            lambda m, v, name=name, data=data: getattr(encoding(m), name)(data, num_threads=v),  # type: ignore[misc]
            lambda: {**numbers(2), "half": 1.5, "nothing": 0.0},
        )
        for name, data in {
            "encode_batch": ["ab", "c"],
            "encode_ordinary_batch": ["ab", "c"],
            "decode_batch": [[97], [98]],
            "decode_bytes_batch": [[97], [98]],
        }.items()
    },
}


@pytest.mark.parametrize("name", TIKTOKEN)
def test_numbers_that_tiktoken_takes_give_its_results(name: str) -> None:
    call, values = TIKTOKEN[name]
    check(call, fastbpe.tiktoken, tiktoken, values)


@pytest.mark.parametrize("num_threads", [0, 0.0, -1, -0.5, numpy.float32(0)])
def test_no_threads_are_refused_as_by_tiktoken(num_threads: Any) -> None:
    for module in (tiktoken, fastbpe.tiktoken):
        with pytest.raises(ValueError, match=r"max_workers|num_threads"):
            encoding(module).encode_batch(["a"], num_threads=num_threads)


# sentencepiece


@pytest.fixture(scope="module")
def model() -> bytes:
    made = io.BytesIO()
    fastbpe.sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["the low lower lowest", "a new newer newest"] * 3),
        model_writer=made,
        model_type="bpe",
        vocab_size=30,
    )
    return made.getvalue()


SENTENCEPIECE: dict[str, tuple[Call, Callable[[], dict[str, Any]]]] = {
    **{
        name: (lambda p, v, name=name: getattr(p, name)(v), lambda: {**lists(5, 6, 7), **numbers(5)})  # type: ignore[misc]
        for name in ("decode", "decode_ids", "id_to_piece", "get_score", "is_control", "is_unknown", "is_byte")
    },
    "decode, bytes": (lambda p, v: p.decode(v, return_type=bytes), ids_of(5, 6, 7)),
    "decode, offsets": (lambda p, v: p.decode(v, return_type="offset_mapping"), ids_of(5, 6, 7)),
    "decode, batch": (lambda p, v: p.decode(v), lambda: batch(lists(5, 6, 7))),
    "decode, num_threads": (lambda p, v: p.decode([[5], [6]], num_threads=v), number(2)),
    "encode, num_threads": (lambda p, v: p.encode(["a low"], num_threads=v), number(2)),
    "encode, nbest_size": (lambda p, v: p.encode("a low", nbest_size=v), number(2)),
    "encode, alpha": (lambda p, v: p.encode("a low", alpha=v), number(1)),
    "sampling, nbest_size": (
        lambda p, v: p.encode("a low", enable_sampling=True, alpha=0, nbest_size=v),
        number(2),
    ),
    "sampling, alpha": (lambda p, v: p.encode("a low", enable_sampling=True, alpha=v) and None, number(1)),
    "parallel_encode, chunk_len": (lambda p, v: p.parallel_encode("a low", chunk_len=v), number(2)),
}


@pytest.mark.parametrize("name", SENTENCEPIECE)
def test_numbers_that_sentencepiece_takes_give_its_results(name: str, model: bytes) -> None:
    call, values = SENTENCEPIECE[name]
    modules = (fastbpe.sentencepiece, sentencepiece)
    check(call, *(module.SentencePieceProcessor(model_proto=model) for module in modules), values)


def test_numbers_that_functions_of_sentencepiece_take() -> None:
    for name in ("ThreadPool", "set_min_log_level", "set_nbest_timeout", "set_random_generator_seed"):
        calls = (lambda m, v, name=name: getattr(m, name)(v) is None,)  # type: ignore[misc]
        for call in calls:
            check(call, fastbpe.sentencepiece, sentencepiece, number(2))


# rustbpe and minbpe


def trained(module: Any, vocab_size: Any = 258, **options: Any) -> Any:
    made = module.Tokenizer()
    made.train_from_iterator(iter(["ab ab abc"] * 3), vocab_size, **options)
    return made


def test_numbers_that_rustbpe_takes_give_its_results() -> None:
    values = ids_of(97, 98, 256)
    check(lambda m, v: trained(m).decode(v), fastbpe.rustbpe, rustbpe, values)
    enough = {name: value for name, value in numbers(258).items() if "ool" not in name and name != "True"}
    check(lambda m, v: trained(m, v).encode("abc"), fastbpe.rustbpe, rustbpe, lambda: enough)
    fits = {name: value for name, value in numbers(9).items() if name != "huge"}
    check(lambda m, v: trained(m, buffer_size=v).encode("abc"), fastbpe.rustbpe, rustbpe, lambda: fits)


def test_minbpe_takes_ids_that_are_equal_as_keys_of_a_dict() -> None:
    tokenizer = fastbpe.minbpe.RegexTokenizer()
    tokenizer.train("ab ab abc", numpy.int64(257))
    tokenizer.register_special_tokens({"<e>": numpy.int64(257)})
    assert tokenizer.encode("ab<e>", allowed_special="all") == [256, 257]
    for ids in ([97.0, 256.0], numpy.array([97, 256], float), [numpy.int32(97), Index(256)], (97, 256)):
        assert tokenizer.decode(ids) == "aab"  # type: ignore[arg-type]
    assert tokenizer.decode(b"ab") == "ab"
    assert tokenizer.decode([True, numpy.True_]) == "\x01\x01"
    for ids in ([97.5], ["a"], [None], "ab"):
        with pytest.raises(ValueError, match="invalid token id"):
            tokenizer.decode(ids)  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        fastbpe.minbpe.BasicTokenizer().train("abab", 258.0)  # type: ignore[arg-type]


# tokenizers


def bpe(module: Any) -> Any:
    vocab = {name: i for i, name in enumerate(sorted(module.pre_tokenizers.ByteLevel.alphabet()))}
    made = module.Tokenizer(module.models.BPE(vocab=vocab | {"ab": 256}, merges=[("a", "b")]))
    made.pre_tokenizer = module.pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = module.decoders.ByteLevel()
    made.add_special_tokens(["<s>"])
    return made


def columns(encoding: Any) -> Any:
    return encoding.ids, encoding.tokens, encoding.offsets, [columns(part) for part in encoding.overflowing]


def changed(module: Any, method: str, *args: Any, **options: Any) -> Any:
    """Call a method of a tokenizer, and encode."""
    made = bpe(module)
    getattr(made, method)(*args, **options)
    return made.truncation, made.padding, columns(made.encode("abcabcabc"))


def changed_encoding(module: Any, method: str, *args: Any, **options: Any) -> Any:
    """Call a method of an encoding."""
    made = bpe(module).encode("abcab")
    return getattr(made, method)(*args, **options), columns(made)


def learned(module: Any, **options: Any) -> Any:
    made = module.Tokenizer(module.models.BPE())
    trainer = module.trainers.BpeTrainer(**{"vocab_size": 20, "show_progress": False} | options)
    made.train_from_iterator(["the low lower lowest"] * 3, trainer)
    return sorted(made.get_vocab().items(), key=lambda item: item[1])


TOKENIZERS: dict[str, tuple[Call, Callable[[], dict[str, Any]]]] = {
    "decode": (lambda m, v: bpe(m).decode(v), ids_of(64, 65, 256)),
    "decode_batch": (lambda m, v: bpe(m).decode_batch(v), lambda: batch(lists(64, 65, 256))),
    "decode_batch of an array": (
        lambda m, v: bpe(m).decode_batch(v),
        lambda: {"rows": numpy.array([[64, 65], [66, 256]])},
    ),
    "decode, skip_special_tokens": (lambda m, v: bpe(m).decode([257, 64], skip_special_tokens=v), number(1)),
    "id_to_token": (lambda m, v: bpe(m).id_to_token(v), number(256)),
    "get_vocab_size": (lambda m, v: bpe(m).get_vocab_size(v), number(1)),
    "enable_truncation": (lambda m, v: changed(m, "enable_truncation", v), number(2)),
    "enable_truncation, stride": (lambda m, v: changed(m, "enable_truncation", 4, stride=v), number(2)),
    **{
        f"enable_padding, {name}": (
            lambda m, v, name=name: changed(m, "enable_padding", **{name: v}),  # type: ignore[misc]
            number(16),
        )
        for name in ("length", "pad_id", "pad_type_id", "pad_to_multiple_of")
    },
    **{
        name: (lambda m, v, name=name: changed_encoding(m, name, v), number(2))  # type: ignore[misc]
        for name in (
            *("char_to_token", "char_to_word", "token_to_chars", "token_to_sequence", "token_to_word"),
            *("word_to_chars", "word_to_tokens", "set_sequence_id", "truncate"),
        )
    },
    "truncate, stride": (lambda m, v: changed_encoding(m, "truncate", 2, stride=v), number(1)),
    "pad": (lambda m, v: changed_encoding(m, "pad", v), number(7)),
    "pad, pad_id": (lambda m, v: changed_encoding(m, "pad", 7, pad_id=v), number(7)),
    "vocab": (lambda m, v: m.models.BPE(vocab={"a": v}, merges=[]).token_to_id("a"), number(2)),
    "dropout": (lambda m, v: m.models.BPE(dropout=v).dropout, number(1)),
    "AddedToken": (lambda m, v: repr(m.AddedToken("a", lstrip=v)), number(1)),
    "TemplateProcessing": (
        lambda m, v: m.processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", v)]
        ).num_special_tokens_to_add(False),
        number(2),
    ),
    "train, vocab_size": (lambda m, v: learned(m, vocab_size=v), number(15)),
    "train, min_frequency": (lambda m, v: learned(m, min_frequency=v), number(2)),
    "train, max_token_length": (lambda m, v: learned(m, max_token_length=v), number(2)),
    "DecodeStream.step": (
        lambda m, v: m.decoders.DecodeStream(skip_special_tokens=False).step(bpe(m), v),
        lambda: {**lists(64, 65, 256), **numbers(256)},
    ),
    "DecodeStream": (lambda m, v: m.decoders.DecodeStream(v, False).step(bpe(m), 64), ids_of(64, 65, 256)),
}


@pytest.mark.parametrize("name", TOKENIZERS)
def test_numbers_that_tokenizers_takes_give_its_results(name: str) -> None:
    call, values = TOKENIZERS[name]
    check(call, tokenizers_face, tokenizers, values)


def test_streams_take_ids_of_any_type_in_any_order() -> None:
    rng = random.Random(1)
    tokenizer, original = bpe(tokenizers_face), bpe(tokenizers)
    for _ in range(n_rounds(30, 3000)):
        ids = tokenizer.encode("".join(rng.choice("aab cé🌶 ab") for _ in range(8))).ids
        at = rng.randrange(3)
        streams = [
            module.decoders.DecodeStream(numpy.array(ids[:at], int), False)
            for module in (tokenizers_face, tokenizers)
        ]
        while at < len(ids):
            n = rng.randint(1, 3)
            step = rng.choice((numpy.array(ids[at : at + n]), [*map(numpy.int32, ids[at : at + n])]))
            if n == 1:
                step = rng.choice((numpy.int64(ids[at]), ids[at], Index(ids[at])))
            at += n
            assert streams[0].step(tokenizer, step) == streams[1].step(original, step), ids


# fastbpe's own


@pytest.mark.parametrize("mode", ["byte", "codepoint"])
def test_bools_among_ids_are_refused(mode: Any) -> None:
    tokenizer = fastbpe.train(["ab ab"], vocab_size=8 if mode == "codepoint" else 257, mode=mode, progress=False)
    calls: list[Callable[[Any], Any]] = [
        tokenizer.decode,
        tokenizer.decode_bytes,
        tokenizer._family.surfaces.decode_with_offsets,
        lambda ids: tokenizer.decode_batch([ids]),
        lambda ids: tokenizer.decoder().push(ids),
    ]
    for call in calls:
        for bools in ([True], [3, True], (False,), numpy.array([True])):
            with pytest.raises(TypeError, match=r"ids must be integers.*(bool|'\?')"):
                call(bools)
    with pytest.raises(TypeError, match="an id must be an integer, not the bool True"):
        tokenizer.decoder().push(True)
