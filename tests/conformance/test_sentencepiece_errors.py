"""Errors of fastbpe.sentencepiece: the builtin class that sentencepiece raises, and an error of fastbpe, too."""

from __future__ import annotations

import io
import os
from collections import OrderedDict, UserList, defaultdict, deque
from collections.abc import Callable
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pytest
import sentencepiece

import fastbpe
import fastbpe.sentencepiece as spm

BUILTIN = (IndexError, KeyError, RuntimeError, TypeError, ValueError)
LINES = ["the low lower lowest", "a new newer newest"]


def fails() -> Any:
    raise OSError("the disk is gone")
    yield


#: Arguments of train, besides sentences and a writer.
TRAININGS: list[dict[str, Any]] = [
    {"vocab_size": 9999},
    {"vocab_size": -1},
    {"vocab_size": "many"},
    {"vocab_size": 5},
    {"character_coverage": 2.0},
    {"character_coverage": "x"},
    {"model_type": "none"},
    {"normalization_rule_name": "none"},
    {"normalization_rule_tsv": "none.tsv"},
    {"minloglevel": "x"},
    {"nonsense": 1},
    {"input": "none.txt"},
    {"model_prefix": "none/prefix"},
    {"user_defined_symbols": ["<s>"]},
    {"control_symbols": ["a", "a"]},
    {"max_sentencepiece_length": 0},
    {"unk_id": -1},
    {"bos_id": 1, "eos_id": 1},
    {"pad_id": 9000},
    {"num_threads": 0},
    {"input_sentence_size": 10},
    {"split_digits": "maybe"},
    {"sentence_iterator": ["a list"]},
    {"sentence_iterator": iter([3])},
    {"sentence_iterator": iter(["a", "\ud800"])},
    {"sentence_iterator": iter([])},
    {"pretokenizer": lambda text: 1 // 0},
    {"pretokenizer": lambda text: ["other"]},
    {"pretokenizer": lambda text: [text], "pretokenization_delimiter": "|"},
    {"pretokenizer": lambda text: [text], "model_type": "char", "vocab_size": 12},
]


def raised(module: Any, options: dict[str, Any]) -> BaseException | None:
    given = {"model_type": "bpe", "vocab_size": 24, "minloglevel": 2, "model_writer": io.BytesIO()} | options
    given.setdefault("sentence_iterator", iter(LINES))
    if "input" in given:
        del given["sentence_iterator"]
    if "model_prefix" in given:
        del given["model_writer"]
    try:
        module.SentencePieceTrainer.train(**given)
    except Exception as error:
        return error
    return None


@pytest.mark.parametrize("at", range(len(TRAININGS)), ids=lambda at: f"{at}-{next(iter(TRAININGS[at]))}")
def test_error_of_training_has_sentencepieces_class_and_is_one_of_fastbpe(
    at: int, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    options = TRAININGS[at]
    ours = raised(spm, options)
    iterators = {"sentence_iterator": iter([3])} if at == 23 else {}
    if "sentence_iterator" in options and not isinstance(options["sentence_iterator"], list) and not iterators:
        iterators = {"sentence_iterator": iter(["a", "\ud800"] if at == 24 else [])}
    theirs = raised(sentencepiece, options | iterators)
    assert (ours is None) == (theirs is None)
    if theirs is not None:
        assert isinstance(ours, fastbpe.FastbpeError)
        assert isinstance(ours, next(kind for kind in BUILTIN if isinstance(theirs, kind)))


def test_own_error_of_the_iterator_is_passed_on() -> None:
    with pytest.raises(OSError, match="the disk is gone"):
        spm.SentencePieceTrainer.train(
            sentence_iterator=fails(), model_writer=io.BytesIO(), model_type="bpe", vocab_size=24
        )


@pytest.fixture(scope="module")
def processor() -> spm.SentencePieceProcessor:
    model = io.BytesIO()
    spm.SentencePieceTrainer.train(
        sentence_iterator=iter(LINES), model_writer=model, model_type="bpe", vocab_size=24
    )
    return spm.SentencePieceProcessor(model_proto=model.getvalue())


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda p: p.encode(3), TypeError),
        (lambda p: p.encode([3]), TypeError),
        (lambda p: p.encode("a", enable_sampling=True, alpha="x"), TypeError),
        (lambda p: p.encode("a", alpha=10**400), TypeError),
        (lambda p: p.encode("a", nbest_size=10**5000), TypeError),  # Python refuses to print it
        (lambda p: spm.set_random_generator_seed(10**5000), TypeError),
        (lambda p: p.encode("a", num_threads="x"), TypeError),
        (lambda p: p.decode(3.5), TypeError),
        (lambda p: p.decode([[3.5]]), TypeError),
        (lambda p: p.normalize(3), TypeError),
        (lambda p: p.id_to_piece(99999), IndexError),
        (lambda p: p.load(3), TypeError),
        (lambda p: p.load("none.model"), RuntimeError),
        (lambda p: spm.SentencePieceNormalizer(rule_name=3), TypeError),
        (lambda p: spm.SentencePieceNormalizer(norm_map=[3]), TypeError),
    ],
)
def test_error_of_a_processor_is_one_of_fastbpe(
    call: Any, kind: type[Exception], processor: spm.SentencePieceProcessor
) -> None:
    with pytest.raises(kind) as info:
        call(spm.SentencePieceProcessor(model_proto=processor.serialized_model_proto()))
    assert isinstance(info.value, fastbpe.FastbpeError)


#: Values of other types than most arguments have.
WRONG: dict[str, Any] = {
    "int": 3,
    "huge": 1 << 70,
    "negative": -5,
    "float": 2.5,
    "None": None,
    "object": object(),
    "list": [3],
    "texts": ["a"],
    "floats": [2.5],
    "Nones": [None],
    "batch": [[2.5]],
    "bytes": b"\xff",
    "str": "a",
    "surrogate": "\ud800",
    "surrogates": ["\ud800"],
    "set": {3},
    "dict": {3: 4},
    "dict of 0": {0: 4},
    "complex": 1j,
    "pairs": [("a", 1)],
    "range": range(40, 50),
}
Call = Callable[[Any, Any, Any], Any]  # of a module, a processor and a value
ARGUMENTS: dict[str, Call] = {
    **{
        name: lambda _, p, v, name=name: getattr(p, name)(v)  # type: ignore[misc]
        for name in (
            *("encode", "encode_as_ids", "encode_as_pieces", "parallel_encode", "nbest_encode", "decode"),
            *("decode_ids", "decode_pieces", "normalize", "piece_to_id", "id_to_piece", "get_score"),
            *("is_unknown", "is_control", "is_unused", "is_byte", "load", "load_from_serialized_proto"),
            *("__getitem__", "tokenize", "detokenize"),
        )
    },
    **{
        f"encode, {name}": lambda _, p, v, name=name: p.encode("a", **{name: v})  # type: ignore[misc]
        for name in (
            *("add_bos", "add_eos", "reverse", "enable_sampling", "nbest_size", "alpha", "num_threads"),
            *("out_type", "return_type"),
        )
    },
    **{
        f"nbest_encode, {name}": lambda _, p, v, name=name: p.nbest_encode("a", **{name: v})  # type: ignore[misc]
        for name in ("add_bos", "add_eos", "reverse", "emit_unk_piece", "nbest_size")
    },
    "sampling, nbest_size": lambda _, p, v: p.encode("a", enable_sampling=True, nbest_size=v),
    "sampling, alpha": lambda _, p, v: p.encode("a", enable_sampling=True, alpha=v),
    "parallel_encode, chunk_len": lambda _, p, v: p.parallel_encode("a", chunk_len=v),
    "decode, num_threads": lambda _, p, v: p.decode([[3]], num_threads=v),
    "decode, return_type": lambda _, p, v: p.decode([3], return_type=v),
    "model_file": lambda m, _, v: m.SentencePieceProcessor(model_file=v),
    "model_proto": lambda m, _, v: m.SentencePieceProcessor(model_proto=v),
    "from_file": lambda m, _, v: m.SentencePieceProcessor.from_file(v),
    **{
        name: lambda m, _, v, name=name: getattr(m, name)(v)  # type: ignore[misc]
        for name in ("set_min_log_level", "set_nbest_timeout", "set_random_generator_seed")
    },
    "ThreadPool": lambda m, _, v: m.ThreadPool(v if v != 1 << 70 else "x") and None,
    **{
        f"SentencePieceNormalizer, {name}": lambda m, _, v, name=name: m.SentencePieceNormalizer(**{name: v})  # type: ignore[misc]
        for name in ("model_file", "model_proto", "normalizer_spec", "rule_tsv", "rule_name", "norm_map")
    },
    "SentencePieceNormalizer, flag": lambda m, _, v: m.SentencePieceNormalizer(
        rule_name="nfkc", add_dummy_prefix=v
    ),
    "SentencePieceNormalizer.normalize": lambda m, _, v: m.SentencePieceNormalizer(rule_name="nfkc").normalize(v),
}


@pytest.mark.parametrize("name", ARGUMENTS)
def test_error_of_a_wrong_argument_has_sentencepieces_class_and_is_one_of_fastbpe(
    name: str, processor: spm.SentencePieceProcessor
) -> None:
    call, model = ARGUMENTS[name], processor.serialized_model_proto()
    processors = {m: m.SentencePieceProcessor(model_proto=model) for m in (spm, sentencepiece)}
    for value in WRONG.values():
        errors: list[BaseException | None] = []
        for module, given in processors.items():
            try:
                call(module, given, value)
                errors.append(None)
            except Exception as error:
                errors.append(error)
        ours, theirs = errors
        if theirs is None:
            assert ours is None, value
        elif ours is not None:  # what sentencepiece refuses, fastbpe may take
            assert isinstance(ours, fastbpe.FastbpeError), (value, ours)
            if not isinstance(theirs, UnicodeDecodeError):  # of its own message
                assert isinstance(ours, next(kind for kind in BUILTIN if isinstance(theirs, kind))), (
                    value,
                    theirs,
                )


class Listed(list[Any]):
    pass


#: Functions from a list to another container, or to an iterable, of its items.
CONTAINERS: dict[str, Callable[[list[Any]], Any]] = {
    **{kind.__name__: kind for kind in (Listed, tuple, deque, UserList, iter, reversed, enumerate)},
    "set": lambda items: set(range(len(items))),
    "keys": lambda items: dict.fromkeys(range(len(items))).keys(),
    "ordered keys": lambda items: OrderedDict.fromkeys(range(len(items))).keys(),
    "values": lambda items: dict(enumerate(items)).values(),
    "ordered values": lambda items: OrderedDict(enumerate(items)).values(),
    "generator": lambda items: (item for item in items),
    "map": lambda items: map(int.__index__, items),
    "zip": lambda items: zip(items, items, strict=True),
    "dict": lambda items: dict(enumerate(items)),
    "dict from 1": lambda items: dict(enumerate(items, 1)),
    "defaultdict": lambda items: defaultdict(int, dict(enumerate(items, 1))),
    "view of a dict": lambda items: MappingProxyType(dict(enumerate(items))),
}


@pytest.mark.parametrize("container", CONTAINERS)
def test_containers_are_taken_or_refused_as_in_sentencepiece(
    container: str, processor: spm.SentencePieceProcessor
) -> None:
    model = processor.serialized_model_proto()
    calls: dict[str, Callable[[Any, Any], Any]] = {
        **{
            name: lambda p, v, name=name: getattr(p, name)(v)  # type: ignore[misc]
            for name in ("decode", "piece_to_id", "id_to_piece", "get_score", "is_control")
        },
        **{
            f"decode, {kind}": lambda p, v, kind=kind: p.decode(v, return_type=kind)  # type: ignore[misc]
            for kind in (bytes, "offset_mapping", "serialized_proto")
        },
        "batch of ids": lambda p, v: p._processor._DecodeIdsBatch(v, 1, None),
        "batch of pieces": lambda p, v: p._processor._DecodePiecesBatch(v, 1, None),
    }

    def outcome(module: Any, name: str, items: list[Any]) -> Any:
        try:
            return calls[name](module.SentencePieceProcessor(model_proto=model), CONTAINERS[container](items))
        except Exception as error:
            return next(kind for kind in BUILTIN if isinstance(error, kind))

    for name in calls:
        for items in ([3, 4], ["a", "low"], [b"a", b"low"], [[3], [4]], [["a"], ["low"]], []):
            assert outcome(spm, name, items) == outcome(sentencepiece, name, items), (name, items)


@pytest.mark.parametrize("container", CONTAINERS)
def test_containers_of_rules_are_taken_or_refused_as_in_sentencepiece(container: str) -> None:
    outcomes: list[Any] = []
    for module in (spm, sentencepiece):
        try:
            normalizer = module.SentencePieceNormalizer(norm_map=CONTAINERS[container]([("a", "b")]))
            outcomes.append(normalizer.normalize("a"))
        except Exception as error:
            outcomes.append(next(kind for kind in BUILTIN if isinstance(error, kind)))
    assert outcomes[0] == outcomes[1]


class Tensor(UserList[int]):
    """A tensor of one item is an index, as in torch."""

    def __index__(self) -> int:
        [item] = self
        return item


def test_tensor_of_one_id_is_one_id_as_in_sentencepiece(processor: spm.SentencePieceProcessor) -> None:
    theirs = sentencepiece.SentencePieceProcessor(model_proto=processor.serialized_model_proto())
    for one in (processor, theirs):
        assert one.id_to_piece(Tensor([3])) == theirs.id_to_piece(3)
        assert one.decode(Tensor([3])) == theirs.decode([3])


@pytest.mark.parametrize(
    ("name", "way_out"),
    [
        ("SetEncodeExtraOptions", "add_bos=True, add_eos=True, reverse=True"),
        ("set_encode_extra_options", "add_bos=True, add_eos=True, reverse=True"),
        ("set_decode_extra_options", r"decode\(ids\[::-1\]\)"),
        ("SetVocabulary", "without_tokens"),
        ("LoadVocabulary", "without_tokens"),
        ("reset_vocabulary", "without_tokens"),
        ("EncodeAsSerializedProto", 'encode.text, return_type="serialized_proto"'),
        ("encode_as_immutable_proto", 'encode.text, return_type="proto"'),
        ("DecodePiecesAsImmutableProto", 'decode.ids, return_type="proto"'),
        ("SampleEncodeAsSerializedProto", "enable_sampling=True"),
        ("NBestEncodeAsSerializedProto", "nbest_encode"),
        ("SampleEncodeAndScoreAsIds", r"sentencepiece 0\.2\.2 was the last version"),
        ("CalculateEntropy", r"sentencepiece 0\.2\.2 was the last version"),
        ("OverrideNormalizerSpec", "SentencePieceNormalizer"),
        ("Init", "the constructor"),
    ],
)
def test_call_that_sentencepiece_has_dropped_names_what_replaces_it(
    name: str, way_out: str, processor: spm.SentencePieceProcessor
) -> None:
    assert not hasattr(processor, name)
    assert not hasattr(sentencepiece.SentencePieceProcessor, name)
    with pytest.raises(AttributeError, match=rf"no attribute '{name}': sentencepiece 0\.2\.3 .*{way_out}"):
        getattr(processor, name)


def test_dropped_calls_of_the_normalizer_name_what_replaces_them() -> None:
    normalizer = spm.SentencePieceNormalizer(rule_name="nfkc")
    with pytest.raises(AttributeError, match=r"SentencePieceNormalizer\(rule_name="):
        normalizer.LoadFromRuleName  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(normalizer, "load_from_rule_tsv")


def test_other_missing_names_have_the_plain_error(processor: spm.SentencePieceProcessor) -> None:
    with pytest.raises(AttributeError) as info:
        processor.encod  # type: ignore[attr-defined]  # noqa: B018
    assert str(info.value) == "'SentencePieceProcessor' object has no attribute 'encod'"


@pytest.mark.parametrize("kind", [int, str, bytes])
def test_batch_with_ids_around_each_text_equals_sentencepiece(
    kind: Any, processor: spm.SentencePieceProcessor
) -> None:
    theirs = sentencepiece.SentencePieceProcessor(model_proto=processor.serialized_model_proto())
    for options in ({"add_bos": True}, {"add_eos": True}, {"reverse": True}):
        expected = theirs.encode(["a low", "", "new"], out_type=kind, **options)
        assert processor.encode(["a low", "", "new"], out_type=kind, **options) == expected


def test_load_without_a_free_descriptor_has_sentencepieces_text(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource", reason="Windows")
    path = tmp_path / "a.model"
    path.touch()
    errors = []
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    for module in (sentencepiece, spm):
        processor = module.SentencePieceProcessor()
        resource.setrlimit(resource.RLIMIT_NOFILE, (0, limits[1]))
        try:
            processor.Load(str(path))
        except RuntimeError as error:
            errors.append(str(error))
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert errors == [f'RESOURCE_EXHAUSTED: "{path}": Too many open files'] * 2


#: Paths of files that cannot be opened; the last two only if the user is not root.
PATHS = ("none.txt", "none/a.txt", "folder", "a.txt/b.txt", "x" * 300, "locked.txt", "sealed/a.txt")


@pytest.mark.skipif(os.name == "nt", reason="Windows has other errors")
def test_file_that_cannot_be_opened_has_sentencepieces_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("\n".join(LINES))
    for folder in ("folder", "sealed"):
        Path(folder).mkdir()
    Path("locked.txt").touch(mode=0)
    Path("sealed").chmod(0o555)
    options: dict[str, Any] = {"vocab_size": 24, "minloglevel": 2, "model_type": "bpe"}
    spm.SentencePieceTrainer.train(input="a.txt", model_prefix="a", **options)
    calls: dict[str, Callable[[Any, str], Any]] = {
        "load": lambda m, path: m.SentencePieceProcessor(model_file=path),
        "rules": lambda m, path: m.SentencePieceNormalizer(rule_tsv=path),
        "input": lambda m, path: m.SentencePieceTrainer.train(input=path, model_prefix="m", **options),
        "tsv": lambda m, path: m.SentencePieceTrainer.train(
            input="a.txt", model_prefix="m", normalization_rule_tsv=path, **options
        ),
        "output": lambda m, path: m.convert_to_flatbuffer(model_file="a.model", output_file=path),
    }
    for path in PATHS[: 5 if os.geteuid() == 0 else 7]:
        for name, call in calls.items():
            if (path, name) == ("none.txt", "output"):
                continue  # can be written
            with pytest.raises((RuntimeError, ValueError)) as theirs:
                call(sentencepiece, path)
            with pytest.raises(type(theirs.value)) as ours:
                call(spm, path)
            assert str(ours.value) == str(theirs.value), (path, name)
