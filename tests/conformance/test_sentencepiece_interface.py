"""fastbpe.sentencepiece against sentencepiece: names, signatures, arguments, errors, pickling and copying."""

import array
import copy
import inspect
import os
import pickle
import random
import re
import struct
import threading
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy
import pytest
import sentencepiece

import fastbpe.sentencepiece as drop_in
from fastbpe.model import PieceType
from helpers.codepoint_models import RULE_NAMES, hard_text, model_of, peer_rules, published_bytes, trained
from helpers.sampling import FULL

MODULES = (drop_in, sentencepiece)
BUILTIN = (ValueError, TypeError, IndexError, RuntimeError, ImportError, KeyError, OSError, UnicodeError)


@lru_cache
def both_processors(name: str = "llama2") -> tuple[Any, Any]:
    return tuple(module.SentencePieceProcessor(model_proto=published_bytes(name)) for module in MODULES)  # type: ignore[return-value]


def outcome(call: Callable[[], Any]) -> Any:
    """Return the result of a call, or the builtin exception class that a caller would catch."""
    try:
        result = call()
    except Exception as error:
        return next((builtin for builtin in BUILTIN if isinstance(error, builtin)), type(error))
    return plain(result)


def plain(value: Any) -> Any:
    """Return arrays as lists, and protobuf messages as their bytes."""
    if isinstance(value, list):
        return [plain(part) for part in value]
    if hasattr(value, "SerializeToString"):
        return value.SerializeToString()
    return value.tolist() if isinstance(value, numpy.ndarray) else value


def stable_part(message: str) -> str:
    """Return the stable part of a sentencepiece message, without its source line and condition."""
    return re.sub(r"^[A-Z_]+: |src/\S+\(\d+\) \[.*\] ?|\s*$", "", message)


# Names and signatures.


@pytest.mark.parametrize("name", ["SentencePieceProcessor", "SentencePieceNormalizer", "SentencePieceTrainer"])
def test_classes_have_all_methods_of_sentencepiece(name: str) -> None:
    ours, theirs = (getattr(module, name) for module in MODULES)
    for method in dir(theirs):
        if method.startswith("_") and method not in ("__init__", "__len__", "__getitem__", "__getstate__"):
            continue
        if not hasattr(theirs, "__getstate__") and method == "__getstate__":
            continue
        assert hasattr(ours, method), method
        expected = [(p.name, p.default, p.kind) for p in parameters(getattr(theirs, method))]
        assert [(p.name, p.default, p.kind) for p in parameters(getattr(ours, method))] == expected, method


def parameters(function: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(function).parameters.values())


def test_module_has_all_names_of_sentencepiece() -> None:
    public = {
        name
        for name, value in vars(sentencepiece).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert public <= set(dir(drop_in))
    assert public <= set(drop_in.__all__)
    assert drop_in.__version__ == sentencepiece.__version__
    assert parameters(drop_in.ConvertToFlatbuffer) == parameters(sentencepiece.ConvertToFlatbuffer) or [
        (p.name, p.default) for p in parameters(drop_in.ConvertToFlatbuffer)
    ] == [(p.name, p.default) for p in parameters(sentencepiece.ConvertToFlatbuffer)]


def test_module_functions_accept_and_refuse_as_sentencepiece() -> None:
    for name, argument in (("set_min_log_level", 2), ("set_nbest_timeout", 3), ("set_data_dir", "/nowhere")):
        assert getattr(drop_in, name)(argument) is None
        with pytest.raises(TypeError):
            getattr(drop_in, name)(1.5)
    for seed in (-1, 2**32, 1.5, "1"):
        for module in MODULES:
            with pytest.raises(TypeError):
                module.set_random_generator_seed(seed)
    assert drop_in.ThreadPool(3).num_threads() == 3
    assert drop_in.ThreadPool(0).num_threads() == 1
    assert drop_in.ThreadPool(5000).num_threads() == 1024
    assert drop_in.ThreadPool(-1).num_threads() == len(os.sched_getaffinity(0))


# Encoding: arguments and outputs.

ENCODING: list[tuple[Any, dict[str, Any]]] = [
    (text, options)
    for text in ("Hello  world", "", " ", b"caf\xc3\xa9 \xff", ["a", "b 日本"], [b"x", "y"], [], ["", ""])
    for options in (
        *(
            {"out_type": kind}
            for kind in (int, str, bytes, "numpy", "offset_mapping", "serialized_proto", "proto")
        ),
        *({"return_type": kind, "add_bos": True, "add_eos": True, "reverse": True} for kind in (int, str, bytes)),
        *({"out_type": kind, "add_eos": 1} for kind in ("numpy", "offset_mapping", "serialized_proto")),
        *({"out_type": kind, "emit_unk_piece": True} for kind in (int, str, bytes, "numpy", "offset_mapping")),
        {"out_type": "offset_mapping", "return_bytes": True},
        {"out_type": "offset_mapping", "return_bytes": False},
        {"enable_sampling": True, "alpha": 0},
        {"enable_sampling": True, "alpha": 1.0, "out_type": str},
        {"enable_sampling": True, "alpha": 7, "out_type": "numpy", "nbest_size": 512},
        {"enable_sampling": True, "alpha": 1, "out_type": "offset_mapping", "nbest_size": -5},
        {"num_threads": 2},
        {"num_threads": 0},
        {"num_threads": -3, "out_type": str},
    )
]


@pytest.mark.parametrize("name", ["llama2", "bpemb"])
def test_every_form_of_encode_equals_sentencepiece(name: str) -> None:
    ours, theirs = both_processors(name)
    for text, options in ENCODING:
        expected = outcome(lambda text=text, options=options: theirs.encode(text, **options))
        assert outcome(lambda text=text, options=options: ours.encode(text, **options)) == expected, (
            text,
            options,
        )


def test_protobuf_messages_equal_sentencepiece() -> None:
    pytest.importorskip("google.protobuf")
    ours, theirs = both_processors()
    for text in ("Hello 日本 爿", "", b"\xff"):
        message = ours.encode(text, out_type="proto")
        assert message.SerializeToString() == theirs.encode(text, out_type="proto").SerializeToString()
        assert [piece.id for piece in message.pieces] == ours.encode(text)
    assert ours.decode([300, 301], return_type="proto").text == "et l"


WRONG: list[Any] = [
    *(
        None,
        5,
        ("ab",),
        bytearray(b"ab"),
        {"a"},
        ["a", 5],
        [None],
        [["a"]],
        "a\ud800",
        ["x", "a\ud800"],
        "\ud83d\ude00",
    ),
]
WRONG_OPTIONS: list[dict[str, Any]] = [
    {"out_type": list},
    {"out_type": int, "return_type": int},
    {"out_type": "immutable_proto"},
    {"return_bytes": True},
    {"num_threads": "2"},
    {"num_threads": 1.5},
    {"add_bos": "x"},
    {"enable_sampling": "x"},
    {"enable_sampling": True, "nbest_size": 0},
    {"enable_sampling": True, "nbest_size": 1},
    {"enable_sampling": True, "nbest_size": 513},
    {"enable_sampling": True, "alpha": -0.5},
    {"enable_sampling": True, "alpha": float("nan")},
    {"enable_sampling": True, "alpha": float("inf")},
    {"enable_sampling": True, "alpha": "x"},
    {"out_type": "serialized_proto", "add_bos": True},
    {"out_type": "offset_mapping", "reverse": True},
    {"nonsense": 1},
]


@pytest.mark.parametrize("text", WRONG, ids=repr)
def test_text_of_wrong_type_raises_as_in_sentencepiece(text: Any) -> None:
    ours, theirs = both_processors()
    for options in ({}, {"out_type": str}, {"out_type": "numpy"}, {"out_type": "offset_mapping"}):
        expected = outcome(lambda options=options: theirs.encode(text, **options))
        assert isinstance(expected, type)
        assert outcome(lambda options=options: ours.encode(text, **options)) is expected
    assert outcome(lambda: ours.normalize(text)) == outcome(lambda: theirs.normalize(text))
    assert outcome(lambda: ours.nbest_encode(text)) == outcome(lambda: theirs.nbest_encode(text))
    expected = outcome(lambda: theirs.parallel_encode(text, chunk_len=5))
    assert outcome(lambda: ours.parallel_encode(text, chunk_len=5)) == expected


@pytest.mark.parametrize("options", WRONG_OPTIONS, ids=str)
def test_wrong_arguments_raise_as_in_sentencepiece(options: dict[str, Any]) -> None:
    ours, theirs = both_processors()
    for text in ("ab", ["ab"]):
        with pytest.raises(BUILTIN) as theirs_info:
            theirs.encode(text, **options)
        with pytest.raises(BUILTIN) as ours_info:
            ours.encode(text, **options)
        builtin = next(kind for kind in BUILTIN if isinstance(theirs_info.value, kind))
        assert isinstance(ours_info.value, builtin)
        said = stable_part(str(theirs_info.value))
        if builtin is not TypeError and "nbest_size > 1" not in said:
            assert said in str(ours_info.value)


def test_missing_bos_or_eos_raises_value_error() -> None:
    data = trained(["ab ab abc", "abcd ab"], vocab_size=30, bos_id=-1, eos_id=-1)
    for module in MODULES:
        processor = module.SentencePieceProcessor(model_proto=data)
        for text in ("ab", ["ab"]):
            with pytest.raises(ValueError, match="BOS token is not defined as a control symbol in this model"):
                processor.encode(text, add_bos=True, add_eos=True)
            with pytest.raises(ValueError, match="EOS token is not defined as a control symbol in this model"):
                processor.encode(text, add_eos=True, out_type=str)


def test_missing_unk_raises_value_error() -> None:
    data = trained(["ab ab abc", "abcd ab"], vocab_size=300, unk_id=-1, byte_fallback=True)
    for module in MODULES:
        processor = module.SentencePieceProcessor(model_proto=data)
        assert processor.piece_to_id(["zz", "ab"]) == [-1, processor["ab"]]
        with pytest.raises(ValueError, match="UNK token is not defined in this model"):
            processor.encode("ab", emit_unk_piece=True, out_type=str)


def test_emit_unk_piece_keeps_texts_that_are_pieces() -> None:
    """A run of unknown characters that spells a control symbol keeps its text, because that text is a piece."""
    pieces = [(b"<unk>", 0.0, PieceType.UNKNOWN), (b"<s>", 0.0, PieceType.CONTROL), (b"a", -1.0, PieceType.NORMAL)]
    data = model_of([*pieces, (b"b", -2.0, PieceType.UNUSED), ("▁".encode(), -3.0, PieceType.NORMAL)])
    ours, theirs = (module.SentencePieceProcessor(model_proto=data) for module in MODULES)
    for text in ("<s>", "b", "bb", "xa<s>a", "axyz"):
        for options in ({}, {"add_bos": True, "reverse": True}):
            kwargs: dict[str, Any] = {"out_type": str, "emit_unk_piece": True, **options}
            assert ours.encode(text, **kwargs) == theirs.encode(text, **kwargs)


def test_constructor_settings_apply_to_encode() -> None:
    data = published_bytes("llama2")
    for options in (
        {"out_type": str, "add_bos": True},
        {"return_type": "offset_mapping"},
        {"add_eos": True, "reverse": True},
        {"enable_sampling": True, "alpha": 1.0},
        {"emit_unk_piece": True, "out_type": bytes, "num_threads": 1},
    ):
        ours, theirs = (module.SentencePieceProcessor(model_proto=data, **options) for module in MODULES)  # type: ignore[arg-type]
        for text in ("Hello 日本", ["a", "b"]):
            assert ours.encode(text) == theirs.encode(text)
            assert ours.encode(text, add_bos=False, add_eos=False, reverse=False, out_type=int) == theirs.encode(
                text, add_bos=False, add_eos=False, reverse=False, out_type=int
            )
        assert ours.decode([300, 301]) == theirs.decode([300, 301])


AS = ("pieces", "ids", "numpy", "proto", "offset_mapping")


def test_encode_as_methods_equal_sentencepiece() -> None:
    ours, theirs = both_processors()
    for kind in AS:
        for name in (f"encode_as_{kind}", f"sample_encode_as_{kind}", f"parallel_encode_as_{kind}"):
            if not hasattr(theirs, name):
                assert not hasattr(ours, name)
                continue
            options: dict[str, Any] = {"alpha": 1} if name.startswith("s") else {}
            options |= {"chunk_len": 3} if name.startswith("p") else {}
            for text in ("Hello world", ["a b", "c"]):
                expected = outcome(lambda n=name, t=text, o=options: plain(getattr(theirs, n)(t, **o)))
                assert outcome(lambda n=name, t=text, o=options: plain(getattr(ours, n)(t, **o))) == expected
    for name in ("tokenize", "Tokenize", "Encode", "EncodeAsIds"):
        assert getattr(ours, name)("a b") == getattr(theirs, name)("a b")
    for name in ("detokenize", "Detokenize", "Decode", "DecodeIds", "decode_pieces"):
        assert getattr(ours, name)([300, 301]) == getattr(theirs, name)([300, 301])


def test_parallel_encode_equals_sentencepiece() -> None:
    ours, theirs = both_processors()
    rng = random.Random(8)
    for _ in range(200):
        text = hard_text(rng).decode(errors="replace")
        for kind in (int, str, "serialized_proto"):
            expected = theirs.parallel_encode(text, chunk_len=rng.randint(1, 9), return_type=kind)
            assert ours.parallel_encode(text, chunk_len=5, num_threads=2, return_type=kind) == expected
    for chunk_len in (0, -1, None, 1.5, "3"):
        for processor in (ours, theirs):
            with pytest.raises(ValueError, match=r"chunk_len must be positive\."):
                processor.parallel_encode("a", chunk_len=chunk_len)
    for processor in (ours, theirs):
        with pytest.raises(ValueError, match="unknown return_type=offset_mapping"):
            processor.parallel_encode("a", chunk_len=3, return_type="offset_mapping")


def test_nbest_encode_raises_as_in_sentencepiece() -> None:
    for processor in both_processors():
        for kind in ("", "_as_ids", "_as_pieces", "_as_numpy", "_as_proto"):
            with pytest.raises(RuntimeError, match="NBestEncode is not available for the current model"):
                getattr(processor, f"nbest_encode{kind}")("Hello", nbest_size=1)
        with pytest.raises(RuntimeError, match="nbest_size must be nbest_size <= 512"):
            processor.nbest_encode("Hello", nbest_size=513)
        with pytest.raises(ValueError, match="unknown return_type=offset_mapping"):
            processor.nbest_encode("Hello", return_type="offset_mapping")
        assert processor.nbest_encode([]) == []


def test_threads_give_the_same_ids() -> None:
    ours, theirs = both_processors()
    texts = [f"Some text {i} " * (i % 7) for i in range(3000)]
    expected = [ours.encode(text) for text in texts]
    assert ours.encode(texts, num_threads=1) == ours.encode(texts, num_threads=8) == expected
    assert ours.encode(texts, thread_pool=drop_in.ThreadPool(2)) == expected
    assert plain(ours.encode(texts, out_type="numpy", num_threads=2)) == expected
    with pytest.raises(TypeError, match="thread_pool must be a ThreadPool, not int"):
        ours.encode(["a"], thread_pool=3)
    ids = expected[1]
    for kind in (str, bytes, "serialized_proto", "offset_mapping", "proto"):  # sentencepiece checks it for batches
        with pytest.raises(RuntimeError, match="Unable to cast"):
            theirs.decode([ids], thread_pool=3, return_type=kind)
        with pytest.raises(TypeError, match="thread_pool must be a ThreadPool, not int"):
            ours.decode([ids], thread_pool=3, return_type=kind)
    assert ours.decode([ids], thread_pool=drop_in.ThreadPool(2)) == theirs.decode([ids])
    assert ours.decode(ids, thread_pool=3) == theirs.decode(ids, thread_pool=3)


# Decoding: arguments.


def sequences() -> list[Any]:
    ids = [300, 301, 302]
    return [
        *(
            ids,
            tuple(ids),
            range(300, 303),
            numpy.array(ids),
            numpy.array(ids, dtype="u2" if FULL else "i8"),
        ),
        *(array.array("I", ids), memoryview(array.array("i", ids)), bytearray(b"ab"), [numpy.int64(300)], [True]),
        *(300, numpy.int64(300), "▁a", "▁a".encode(), None, "", b"", [], (), numpy.zeros(0, dtype=int)),
        *([ids, [302]], ([300], [301]), numpy.array([ids, ids]), [[], [302]], [[], []], [numpy.array(ids)]),
        *(
            [[], ["a", "b"]],
            [[], [b"a"], ["b"]],
            [["a"], [b"b"]],
            [b"a", "b"],
            ["a", b"b"],
            numpy.arange(300, 320)[::3],
        ),
        *(
            [1.0],
            [None],
            3.0,
            [1, "a"],
            ["a", 1],
            [2**31],
            [2**40, -1],
            [99999, 1.5],
            [[300], ["b"]],
            [[300], b"a"],
            [["b"], [300]],
        ),
        *([[300], 301], [300, [301]], {300}, {300: 1}, iter([300]), numpy.array([1.0]), numpy.array([True])),
        *(numpy.array(300), numpy.zeros((1, 1, 1), dtype=int), numpy.array([]), numpy.array(["a"])),
        *(numpy.array([300], dtype=object), ["a\ud800"], [[["a"]]], numpy.array([2**63], dtype=numpy.uint64)),
    ]


@pytest.mark.parametrize("index", range(len(sequences())))
def test_every_form_of_decode_equals_sentencepiece(index: int) -> None:
    ours, theirs = both_processors()
    for options in (
        {},
        *(
            {"return_type": kind}
            for kind in (bytes, "serialized_proto", "offset_mapping", int, "numpy", "proto", list)
        ),
        {"return_type": "offset_mapping", "return_bytes": True},
        {"return_bytes": True},
        {"num_threads": "x"},
    ):
        expected = outcome(lambda options=options: theirs.decode(sequences()[index], **options))
        assert outcome(lambda options=options: ours.decode(sequences()[index], **options)) == expected, options


# Pieces.


IDS: list[Any] = [
    *(0, 1, 5, 300, True, numpy.int64(4), [1, 2], (1, 2), [], range(3), numpy.array([1, 2]), {3}, iter([1])),
    *(32000, -1, 2**40, 1.0, None, "a", [1, 40000], [1.5], [None], [2**40], numpy.array([1.5])),
    *(numpy.array(4), numpy.array(4.0), bytearray(b"ab"), b"ab"),
]
FACTS = ("id_to_piece", "get_score", "is_unknown", "is_control", "is_unused", "is_byte")


@pytest.mark.parametrize("fact", FACTS)
def test_properties_of_ids_equal_sentencepiece(fact: str) -> None:
    for name in ("llama2", "bpemb"):
        ours, theirs = both_processors(name)
        every = list(range(len(theirs)))
        assert getattr(ours, fact)(every) == getattr(theirs, fact)(every)
    ours, theirs = both_processors()
    for ids in IDS:
        assert outcome(lambda ids=ids: getattr(ours, fact)(ids)) == outcome(
            lambda ids=ids: getattr(theirs, fact)(ids)
        ), ids
    assert getattr(ours, fact)(i for i in [5, 1]) == getattr(theirs, fact)(i for i in [5, 1])
    assert getattr(ours, fact)(map(int, "51")) == getattr(theirs, fact)(map(int, "51"))


PIECES: list[Any] = [
    *("a", b"a", bytearray(b"a"), "", "zzzz", "<s>", "<0x41>", b"\xff", ["a", b"b", "zz"], ("a",), []),
    *(5, None, [5], [None], {"a"}, "a\ud800", ["a\ud800"]),
]


def test_piece_to_id_equals_sentencepiece() -> None:
    ours, theirs = both_processors()
    for piece in PIECES:
        assert outcome(lambda piece=piece: ours.piece_to_id(piece)) == outcome(
            lambda piece=piece: theirs.piece_to_id(piece)
        ), piece
    assert ours["▁a"] == theirs["▁a"]
    assert len(ours) == ours.vocab_size() == ours.piece_size() == ours.get_piece_size() == len(theirs)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"bos_id": -1, "pad_id": 1},
        {"user_defined_symbols": ["<s>"]},
        {"unk_piece": "[UNK]", "bos_piece": "[BOS]", "eos_piece": "[EOS]", "pad_piece": "[PAD]", "pad_id": 3},
        {"unk_id": 2, "bos_id": 0, "eos_id": 7},
    ],
    ids=str,
)
def test_special_ids_equal_sentencepiece(options: dict[str, Any]) -> None:
    data = trained(["ab ab abc", "abcd ab"], vocab_size=30, **options)
    ours, theirs = (module.SentencePieceProcessor(model_proto=data) for module in MODULES)
    for name in ("unk_id", "bos_id", "eos_id", "pad_id"):
        assert getattr(ours, name)() == getattr(theirs, name)()


# Without a model.


def test_calls_without_a_model_raise_as_in_sentencepiece() -> None:
    ours, theirs = (module.SentencePieceProcessor() for module in MODULES)
    calls: list[Callable[[Any], Any]] = [
        *(lambda p, x=x: p.encode(x) for x in ("a", ["a"], [])),
        *(lambda p, k=k: p.encode("a", out_type=k) for k in (str, "numpy", "offset_mapping")),
        *(lambda p, x=x: p.decode(x) for x in ([1], [], ["a"], [[1]])),
        *(lambda p, x=x: p.id_to_piece(x) for x in (0, [], [0])),
        *(lambda p, x=x: p.piece_to_id(x) for x in ("a", ["a"])),
        *(lambda p, x=x: p.normalize(x) for x in ("a", b"a")),
        lambda p: (p.vocab_size(), len(p), p.unk_id(), p.bos_id(), p.eos_id(), p.pad_id()),
        lambda p: p.serialized_model_proto(),
        lambda p: p.normalize("a", with_offsets=True),
        lambda p: p.nbest_encode("a"),
        lambda p: p.parallel_encode("a", chunk_len=1),
        lambda p: p.get_score(0),
    ]
    for i, call in enumerate(calls):
        assert outcome(lambda call=call: call(ours)) == outcome(lambda call=call: call(theirs)), i


def test_empty_model_argument_loads_no_model() -> None:
    for module in MODULES:
        assert module.SentencePieceProcessor(model_proto=b"").vocab_size() == 0
        assert module.SentencePieceProcessor(model_file="").vocab_size() == 0


# Loading.


def test_models_load_by_path_and_bytes(tmp_path: Path) -> None:
    path = tmp_path / "m.model"
    path.write_bytes(published_bytes("llama2"))
    for module in MODULES:
        cls = module.SentencePieceProcessor
        for processor in (
            cls(str(path)),
            cls(model_file=str(path)),
            cls.from_file(str(path)),
            cls.from_proto(path.read_bytes()),
        ):
            assert processor.encode("ab") == [633]
            assert processor.serialized_model_proto()[:50] == path.read_bytes()[:50]
        processor = cls()
        assert processor.load(str(path)) is True
        assert processor.Load(model_proto=path.read_bytes()) is True
        assert processor.LoadFromFile(os.fsencode(path)) is True
        assert processor.load_from_serialized_proto(path.read_bytes()) is True
        assert cls.from_file(str(path), add_bos=True, out_type=str).encode("ab") == ["<s>", "▁ab"]
        for wrong in ({"model_proto": b"x"}, {"model_file": "x"}):
            with pytest.raises(ValueError, match="model_file and model_proto"):
                cls.from_file(str(path), **wrong) if "model_proto" in wrong else cls.from_proto(b"x", **wrong)
    assert drop_in.SentencePieceProcessor(model_file=path).encode("ab") == [633]


def test_invalid_model_file_raises_runtime_error(tmp_path: Path) -> None:
    (tmp_path / "empty.model").write_bytes(b"")
    (tmp_path / "text.model").write_bytes(b"a text")
    for module in MODULES:
        processor = module.SentencePieceProcessor()
        for path in (tmp_path / "none.model", tmp_path, tmp_path / "empty.model", tmp_path / "text.model"):
            with pytest.raises(RuntimeError):
                processor.load(str(path))
        with pytest.raises(RuntimeError, match="NOT_FOUND"):
            processor.load(f"{tmp_path}/none\0.model")
        with pytest.raises(RuntimeError, match=r'NOT_FOUND: ".*none\.model": No such file or directory'):
            processor.load(str(tmp_path / "none.model"))
        for data in (b"xx", b"", b"\x00\x00"):
            with pytest.raises(RuntimeError):
                processor.load_from_serialized_proto(data)
        for wrong in ("xx", bytearray(b"xx"), None, 5):
            with pytest.raises(TypeError):
                processor.load_from_serialized_proto(wrong)
        with pytest.raises(ValueError, match="Either model_file or model_proto must be specified"):
            processor.load()
        with pytest.raises(ValueError, match="model_file and model_proto must be exclusive"):
            processor.load("m.model", b"xx")
        with pytest.raises(TypeError):
            processor.load_from_file(5)


def test_failed_load_behaves_as_in_sentencepiece() -> None:
    for module in MODULES:
        processor = module.SentencePieceProcessor(model_proto=published_bytes("llama2"))
        with pytest.raises(RuntimeError):
            processor.load("/no/such/file.model")
        assert processor.encode("ab") == [633]
        with pytest.raises(RuntimeError):
            processor.load_from_serialized_proto(b"xx")
        with pytest.raises(RuntimeError):
            processor.encode("ab")


# Pickling, copying, subclasses.


def test_pickles_and_copies_are_equal() -> None:
    for module in MODULES:
        original = module.SentencePieceProcessor(model_proto=published_bytes("llama2"), add_bos=True, out_type=str)
        for twin in (pickle.loads(pickle.dumps(original)), copy.copy(original), copy.deepcopy(original)):
            assert twin.encode("ab") == ["<s>", "▁ab"]
        state = {key: value for key, value in original.__getstate__().items() if key != "model_proto"}
        assert state == {
            "_return_type": str,
            "_add_bos": True,
            "_add_eos": False,
            "_reverse": False,
            "_emit_unk_piece": False,
            "_enable_sampling": False,
            "_nbest_size": -1,
            "_alpha": 0.1,
            "_num_threads": -1,
        }
        old = module.SentencePieceProcessor.__new__(module.SentencePieceProcessor)
        old.__setstate__(published_bytes("llama2"))
        assert old.encode("ab") == [633]
    assert pickle.loads(pickle.dumps(drop_in.SentencePieceProcessor())).vocab_size() == 0


def test_subclass_attributes_survive_pickling() -> None:
    class Mine(drop_in.SentencePieceProcessor):
        def __init__(self, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.note = "mine"

    mine = Mine(model_proto=published_bytes("llama2"))
    twin = pickle.loads(pickle.dumps(mine)) if Mine.__qualname__ == "Mine" else copy.copy(mine)
    assert (twin.note, twin.encode("ab")) == ("mine", [633])


# Sampling.


def test_sampling_with_a_seed_is_reproducible() -> None:
    ours, _ = both_processors()
    text = "Reproducible sampling of a sentence with a number of words. " * 3

    def samples() -> list[Any]:
        drop_in.set_random_generator_seed(17)
        options: dict[str, Any] = {"enable_sampling": True, "alpha": 0.3}
        return [
            ours.encode(text, **options),
            ours.encode([text, text], **options, num_threads=3),
            ours.encode(text, **options, out_type=str),
            ours.sample_encode_as_numpy(text, alpha=0.3).tolist(),
        ]

    first = samples()
    assert first == samples()
    flat = [first[0], *first[1], first[3]]
    assert len({tuple(ids) for ids in flat}) == len(flat)
    assert all(ours.decode(ids) == text for ids in flat)


def test_sampling_drops_as_many_merges_as_sentencepiece() -> None:
    """The average number of pieces depends on alpha in the same way in both."""
    ours, theirs = both_processors()
    text = "The quick brown fox jumps over the lazy dog, and nobody is surprised by that. " * 40
    for alpha in (0.05, 0.1, 0.5, 0.9):
        options: dict[str, Any] = {"enable_sampling": True, "alpha": alpha}
        means = [sum(len(p.encode(text, **options)) for _ in range(30)) / 30 for p in (ours, theirs)]
        assert abs(means[0] - means[1]) < 0.02 * means[1]


def test_sampling_keeps_symbols_bytes_and_offsets() -> None:
    symbols = ["abc", "▁a"]
    data = trained(["ab abc", "abcd ab"] * 5, vocab_size=290, byte_fallback=True, user_defined_symbols=symbols)
    processor = drop_in.SentencePieceProcessor(model_proto=data)
    drop_in.set_random_generator_seed(1)
    for text in ("abcab abc ab", "日本 ab", "xabcx"):
        for alpha in (1e-12, 0.4, 1.0):
            sampled = processor.encode(text, out_type="offset_mapping", enable_sampling=True, alpha=alpha)
            assert processor.decode(sampled["ids"]) == processor.decode(processor.encode(text))
            assert sampled["pieces"] == processor.id_to_piece(sampled["ids"])
            places = [place for span in sampled["offsets"] for place in span]
            assert places == sorted(places)
            assert places[-1] == len(text)
        nearly_none = processor.encode(text, enable_sampling=True, alpha=1e-300)
        assert nearly_none == processor.encode(text)


# The normalizer.


@pytest.mark.daily
@pytest.mark.sample(1)
@pytest.mark.parametrize("rule_name", RULE_NAMES)
def test_normalizers_by_name_equal_sentencepiece(rule_name: str) -> None:
    rng = random.Random(rule_name)
    keys = list(peer_rules(rule_name)) or [b"x"]
    for flags in (
        {},
        {"escape_whitespaces": False, "remove_extra_whitespaces": 0},
        {"add_dummy_prefix": False, "escape_whitespaces": False, "remove_extra_whitespaces": False},
    ):
        ours, theirs = (module.SentencePieceNormalizer(rule_name=rule_name, **flags) for module in MODULES)  # type: ignore[arg-type]
        assert ours.serialized_normalizer_spec() == theirs.serialized_normalizer_spec()
        assert ours.serialized_model_proto() == theirs.serialized_model_proto()
        for _ in range(100):
            text = hard_text(rng, keys)
            decoded = text.decode(errors="replace")
            assert ours.normalize(text) == theirs.normalize(text)
            assert ours.normalize(decoded, with_offsets=True) == theirs.normalize(decoded, with_offsets=True)
            batch = [text, decoded]
            assert ours.normalize(batch, with_offsets=True) == theirs.normalize(batch, with_offsets=True)
        assert pickle.loads(pickle.dumps(ours)).normalize(" Ａ b ") == ours.normalize(" Ａ b ")
    if rule_name == "identity":
        assert outcome(ours.decompile) is outcome(theirs.decompile) is RuntimeError
        return
    expected = [(source.decode(), target.decode()) for source, target in peer_rules(rule_name).items()]
    assert ours.decompile() == sorted(expected)


def test_normalizers_by_rules_equal_sentencepiece(tmp_path: Path) -> None:
    path = tmp_path / "rules.tsv"
    path.write_text("61\t62\nU+63 U+64\t65 66\n67\n")
    rules = [("b", "x"), ("é", "e"), ("ab", "c"), (b"a", bytearray(b"c")), ("日", "")]
    for options in ({"rule_tsv": str(path)}, {"norm_map": rules}, {"norm_map": tuple(rules)}):
        ours, theirs = (module.SentencePieceNormalizer(**options) for module in MODULES)
        assert ours.serialized_normalizer_spec() == theirs.serialized_normalizer_spec()
        assert ours.decompile() == theirs.decompile()
        assert ours.normalize(" acdgé  ab日") == theirs.normalize(" acdgé  ab日")


def test_normalizers_of_models_equal_sentencepiece() -> None:
    data = trained(["Ａb cd"] * 3, vocab_size=20, treat_whitespace_as_suffix=True, user_defined_symbols=["Ａ"])
    for options in ({"model_proto": data}, {"model_proto": data, "add_dummy_prefix": False}):
        ours, theirs = (module.SentencePieceNormalizer(**options) for module in MODULES)  # type: ignore[arg-type]
        assert ours.normalize(" Ａb  c ") == theirs.normalize(" Ａb  c ")
        assert ours.serialized_normalizer_spec() == theirs.serialized_normalizer_spec()
        assert ours.serialized_model_proto() == theirs.serialized_model_proto()
        again = [m.SentencePieceNormalizer(normalizer_spec=theirs.serialized_normalizer_spec()) for m in MODULES]
        assert again[0].normalize("Ａ b") == again[1].normalize("Ａ b")


def test_invalid_normalizer_arguments_raise_as_in_sentencepiece(tmp_path: Path) -> None:
    wrong: list[dict[str, Any]] = [
        *({}, {"rule_name": "nfc"}, {"rule_name": 5}, {"norm_map": {"a": "b"}}, {"norm_map": 5}, {"norm_map": []}),
        *({"norm_map": [("a", "a")]}, {"norm_map": [("", "b")]}, {"norm_map": [("a",)]}, {"norm_map": [("a", 5)]}),
        *({"norm_map": [("a", "b"), ("a", "c")]}, {"norm_map": [("\ud800", "b")]}, {"model_proto": b""}),
        *({"norm_map": [("a" * i, "b") for i in range(1, 40)]}, {"rule_tsv": "/no/such/file"}),
        *({"model_file": "/no/such/file"}, {"normalizer_spec": b"\x12\x03abc"}),
        *({"rule_name": "nfkc", "add_dummy_prefix": "x"}, {"norm_map": [(1, 2)]}, {"norm_map": [([1], [2])]}),
    ]
    for i, lines in enumerate((b"zz\t61\n", b"\n", b"", b"61\t61\n", b"D800\t61\n", b"\t61\n")):
        (tmp_path / f"{i}.tsv").write_bytes(lines)
        wrong.append({"rule_tsv": str(tmp_path / f"{i}.tsv")})
    for options in wrong:
        expected = outcome(lambda options=options: sentencepiece.SentencePieceNormalizer(**options).normalize("a"))
        assert isinstance(expected, type), options
        assert (
            outcome(lambda options=options: drop_in.SentencePieceNormalizer(**options).normalize("a")) is expected
        )


def test_rule_files_are_cut_where_sentencepiece_cuts_them(tmp_path: Path) -> None:
    """Only U+0020 separates code points; other ASCII white space is trimmed, and all other white space refused."""
    path = tmp_path / "rules.tsv"
    blanks = [*" \t\n\v\f\r\x1c\x85\xa0\u1680\u2000\u2028\u202f\u205f\u3000\ufeff", "\r\n"]
    words = [
        form for blank in blanks for form in (f"61{blank}", f"{blank}61", f"61{blank}62", blank, f"U+{blank}61")
    ]
    for word in [*words, "+61", "++61", "U++61", "+0x61", "U+0x61", "0x+61", "+", "U+", "-61", "u+61", "U+U+61"]:
        for line in (f"{word}\t63\n", f"63\t{word}\n", f"63\t{word}"):
            path.write_bytes(line.encode())
            theirs, ours = (
                outcome(lambda m=m: m.SentencePieceNormalizer(rule_tsv=str(path)).normalize("a63ab cb\xa0\u3000a"))
                for m in (sentencepiece, drop_in)
            )
            assert ours == theirs, line


def test_error_of_a_wrong_rule_is_short() -> None:
    with pytest.raises(TypeError, match="norm_map must be a list of") as caught:
        drop_in.SentencePieceNormalizer(norm_map=[("a", ["b"] * 10**5)])
    assert len(str(caught.value)) < 160


def test_rules_that_are_not_utf8_raise_value_error() -> None:
    for norm_map in ([(b"\xff", b"bar")], [(b"foo", b"\xff")]):
        with pytest.raises(ValueError, match=r"norm_map: b'\\xff' is not UTF-8"):
            drop_in.SentencePieceNormalizer(norm_map=norm_map)
        assert outcome(lambda m=norm_map: sentencepiece.SentencePieceNormalizer(norm_map=m)) is ValueError


@pytest.mark.parametrize("options", [{}, {"add_bos": True, "reverse": True}, {"enable_sampling": True}], ids=str)
def test_returned_arrays_are_read_only(options: dict[str, Any]) -> None:
    ours, _ = both_processors()
    arrays = [ours.encode(text, out_type="numpy", **options) for text in ("Hello world", "", b"\xff", "日本")]
    arrays += ours.encode(["Hello world", "", "日本" * 100], out_type="numpy", **options)
    arrays += [ours.encode_as_numpy("Hello"), ours.parallel_encode_as_numpy("Hello", chunk_len=9)]
    for ids in arrays:
        assert ids.dtype == numpy.int32
        assert not ids.flags.writeable
        with pytest.raises(ValueError, match="WRITEABLE"):
            ids.setflags(write=True)
    lent = ours.encode("Hello world", out_type="numpy").base.obj
    assert lent.data_address() == memoryview_address(lent)
    assert memoryview(lent).format == "i"
    with pytest.raises(TypeError):
        struct.pack_into("i", lent, 0, 1)


def memoryview_address(lent: Any) -> int:
    return numpy.frombuffer(lent, dtype=numpy.int32).__array_interface__["data"][0]  # type: ignore[no-any-return]


def test_messages_use_the_protobuf_class_of_sentencepiece_if_imported() -> None:
    pytest.importorskip("google.protobuf")
    message = pytest.importorskip("sentencepiece.sentencepiece_pb2").SentencePieceText
    ours, _ = both_processors()
    assert isinstance(ours.encode("Hello", out_type="proto"), message)
    assert isinstance(ours.decode([300], return_type="proto"), message)


# Fast and general paths.


def short_texts(rng: random.Random) -> list[Any]:
    words = ["Hello", " ", "  ", "ab", "<s>", "日本", "é", "😉", "\u2581", "zzz", "'s", "\n", ""]
    texts: list[Any] = ["".join(rng.choices(words, k=rng.randint(0, 12))) for _ in range(40)]
    texts += [text.encode() for text in texts[:10]]
    return [
        *texts,
        "x" * 300,
        "ab " * 200,
        b"\xff",
        b"a\xc3",
        "a\ud800",
        [],
        texts[:9],
        [b"a", "b\xe9"],
        ["a", b"\xff"],
    ]


FORMS: list[dict[str, Any]] = [
    *({"out_type": kind} for kind in (int, str, bytes, "numpy")),
    *({"return_type": kind, "add_bos": True} for kind in (int, str, bytes, "numpy")),
    *({"return_type": kind, "add_eos": True, "reverse": True} for kind in (int, str, bytes, "numpy")),
    *({"out_type": kind, "emit_unk_piece": True} for kind in (int, str)),
    *({"out_type": kind, "num_threads": n} for kind in (int, str) for n in (1, 3)),
]


@pytest.mark.parametrize("name", ["llama2", "bpemb", "trained", "symbols", "no_ends"])
def test_fast_paths_equal_the_general_path_and_sentencepiece(name: str) -> None:
    sentences = ["ab ab abc", "abcd ab 日本", "Hello zzz"] * 3
    data = {
        "trained": lambda: trained(sentences, vocab_size=30),
        "symbols": lambda: trained(
            sentences, vocab_size=300, byte_fallback=True, user_defined_symbols=["ab", "<s>"]
        ),
        "no_ends": lambda: trained(sentences, vocab_size=30, bos_id=-1, eos_id=-1),
    }.get(name, lambda: published_bytes(name))()
    ours, theirs = (module.SentencePieceProcessor(model_proto=data) for module in MODULES)
    rng = random.Random(name)
    for text in short_texts(rng):
        for options in FORMS:
            expected = outcome(lambda t=text, o=options: theirs.encode(t, **o))
            assert outcome(lambda t=text, o=options: ours.encode(t, **o)) == expected, (text, options)
            given = [options.get(key) for key in ("return_type", "out_type")]
            rest = [options.get(key) for key in ("add_bos", "add_eos", "reverse", "emit_unk_piece")]
            threads = options.get("num_threads")
            slowly = outcome(
                lambda t=text, r=rest, g=given, n=threads: ours._encode_any(
                    t, *r, None, None, None, n, None, *g, None
                )
            )
            assert slowly == expected, (text, options)
        for kind in ("ids", "pieces"):
            one = outcome(lambda t=text, k=kind: getattr(ours, f"encode_as_{k}")(t))
            assert one == outcome(lambda t=text, k=kind: getattr(theirs, f"EncodeAs{k.title()}")(t)), text
            if not isinstance(one, list):
                continue
            for back in (None, str, bytes):
                expected = outcome(lambda o=one, b=back: theirs.decode(o, return_type=b))
                assert outcome(lambda o=one, b=back: ours.decode(o, return_type=b)) == expected
                assert outcome(lambda o=one, b=back: ours.decode_ids(o, b)) == expected
                slowly = outcome(lambda o=one, b=back: ours._decode_any(o, b, None, None, None, None))
                assert slowly == expected
            if kind == "pieces" and one and isinstance(one[0], str):
                as_bytes = [piece.encode() for piece in one]
                assert ours.decode(as_bytes) == theirs.decode(as_bytes)
                assert ours.piece_to_id(one) == theirs.piece_to_id(one)
            if kind == "ids" and one and isinstance(one[0], int):
                for fact in FACTS:
                    assert getattr(ours, fact)(one) == getattr(theirs, fact)(one)
                    assert getattr(ours, fact)(one[0]) == getattr(theirs, fact)(one[0])


def test_changed_settings_are_used() -> None:
    ours, theirs = (module.SentencePieceProcessor(model_proto=published_bytes("llama2")) for module in MODULES)
    for name, value in (
        *(("_add_bos", True), ("_reverse", True), ("_return_type", str), ("_add_bos", False), ("_add_eos", 1)),
        *(
            ("_emit_unk_piece", True),
            ("_return_type", "offset_mapping"),
            ("_num_threads", "x"),
            ("_num_threads", 2),
        ),
        *(("_return_type", "pieces"), ("_return_type", None), ("_return_type", "numpy")),
        *(("_nbest_size", 1), ("_enable_sampling", True), ("_add_eos", None)),
    ):
        for processor in (ours, theirs):
            setattr(processor, name, value)
        for text in ("Hello world", ["a", "日本"]):
            expected = outcome(lambda t=text: theirs.encode(t))
            assert outcome(lambda t=text: ours.encode(t)) == expected, (name, value)
            assert outcome(lambda t=text: ours.EncodeAsIds(t)) == outcome(lambda t=text: theirs.EncodeAsIds(t))
        assert outcome(lambda: ours.decode([300])) == outcome(lambda: theirs.decode([300]))


def test_sampling_arguments_are_checked_even_without_sampling() -> None:
    for processor in both_processors():
        for options in ({"nbest_size": "x"}, {"alpha": "x"}):
            with pytest.raises(TypeError):
                processor.encode("ab", **options)


def test_only_true_itself_needs_an_nbest_size() -> None:
    for processor in both_processors():
        with pytest.raises(ValueError, match="nbest_size > 1"):
            processor.encode("ab", enable_sampling=True, nbest_size=0, alpha=0.0)
        sampled = processor.encode("ab", enable_sampling=1, nbest_size=0, alpha=0.0)
        assert sampled == processor.encode("ab")


def test_bytearray_is_a_text_only_in_a_list() -> None:
    for processor in both_processors():
        assert processor.encode([bytearray(b"ab")]) == [processor.encode("ab")]
        with pytest.raises(TypeError):
            processor.encode(bytearray(b"ab"))


def test_no_texts_are_encoded_with_any_return_type() -> None:
    for processor in both_processors():
        assert processor.parallel_encode([], chunk_len=3, return_type="offset_mapping") == []
        assert processor.nbest_encode([], return_type="offset_mapping") == []
        assert processor.nbest_encode([], nbest_size=1 << 31) == []


def test_empty_list_is_encoded_with_unchecked_arguments() -> None:
    for processor in both_processors():
        for options in ({"add_bos": "x"}, {"return_type": "serialized_proto", "add_bos": True}):
            assert processor.nbest_encode([], **options) == []
            assert processor.parallel_encode([], chunk_len=3, **options) == []
        assert processor.parallel_encode([], chunk_len=3, thread_pool=3) == []


def test_flags_are_checked_before_the_type_of_the_text() -> None:
    for processor in both_processors():
        for text in (3, [3]):
            with pytest.raises(RuntimeError, match="UNIMPLEMENTED"):
                processor.nbest_encode(text, return_type="serialized_proto", add_bos=True)
            with pytest.raises(RuntimeError, match="UNIMPLEMENTED"):
                processor.parallel_encode(text, chunk_len=3, return_type="serialized_proto", add_bos=True)


def test_encode_of_one_text_ignores_the_thread_pool() -> None:
    for processor in both_processors():
        for kind in (int, str, "serialized_proto"):
            expected = processor.encode("ab", return_type=kind)
            assert processor.encode("ab", thread_pool=3, return_type=kind) == expected


def test_added_ends_do_not_come_from_overridden_methods() -> None:
    data = published_bytes("llama2")
    for module in MODULES:

        class Other(module.SentencePieceProcessor):  # type: ignore[name-defined, misc]
            def bos_id(self) -> int:
                return 5

            def eos_id(self) -> int:
                return 5

        processor = Other(model_proto=data)
        for text in ("ab", ["ab"]):
            for kind in (int, str, "numpy"):
                options: dict[str, Any] = {"add_bos": True, "add_eos": True, "return_type": kind}
                expected = plain(processor.encode(text, **options))
                assert plain(processor.encode(text, nbest_size=3, **options)) == expected
                assert expected == plain(module.SentencePieceProcessor(model_proto=data).encode(text, **options))


@pytest.mark.parametrize("kind", [int, str, bytes, "numpy", "serialized_proto", "offset_mapping"])
def test_emit_unk_piece_is_checked_only_where_it_has_an_effect(kind: Any) -> None:
    for value in (5, "x", [1], None, numpy.bool_(True)):
        for text in ("ab", ["ab", "c"]):
            found = [
                outcome(lambda p=p, t=text, v=value: p.encode(t, return_type=kind, emit_unk_piece=v))
                for p in both_processors()
            ]
            assert found[0] == found[1], value


@pytest.mark.parametrize("module", MODULES)
def test_encode_as_methods_call_an_overridden_encode(module: Any) -> None:
    class Loud(module.SentencePieceProcessor):  # type: ignore[misc]
        def Encode(self, input: Any, **kwargs: Any) -> Any:
            return super().Encode(input.upper(), **kwargs)

        def Decode(self, input: Any, **kwargs: Any) -> Any:
            return super().Decode(input, **kwargs).lower()

    loud, plain_one = (cls(model_proto=published_bytes("llama2")) for cls in (Loud, module.SentencePieceProcessor))
    assert loud.encode_as_ids("ab") == loud.EncodeAsIds("ab") == plain_one.encode("AB")
    assert loud.encode_as_pieces("ab") == plain_one.encode("AB", out_type=str)
    assert loud.encode("ab") == plain_one.encode("ab")
    assert loud.decode_ids(plain_one.encode("AB")) == "ab"


@pytest.mark.daily
def test_threads_may_share_a_new_processor() -> None:
    expected = both_processors()[1]
    for _ in range(5):
        fresh = drop_in.SentencePieceProcessor(model_proto=published_bytes("llama2"))
        found: list[Any] = []

        def work(processor: Any = fresh, out: list[Any] = found) -> None:
            ids = processor.encode("Hello 日本 world")
            out.append((processor.decode(ids), processor.id_to_piece(ids), processor.piece_to_id("▁a"), ids))

        threads = [threading.Thread(target=work) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ids = expected.encode("Hello 日本 world")
        row = (expected.decode(ids), expected.id_to_piece(ids), expected.piece_to_id("▁a"), ids)
        assert found == [row] * len(threads)
