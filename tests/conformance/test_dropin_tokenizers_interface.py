"""fastbpe.tokenizers against tokenizers: names, components, changes, copies, files, bad input."""

from __future__ import annotations

import asyncio
import copy
import inspect
import itertools
import json
import pickle
import random
import re
from array import array
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tokenizers")

import tokenizers as stock

import fastbpe.tokenizers as face
from fastbpe.errors import FormatError, VocabularyNotFoundError
from fastbpe.formats.huggingface.decoder_json import MAX_DEPTH
from fastbpe.normalization.sentencepiece_rules import charsmap
from helpers.sampling import SEED, rounds, some
from helpers.tokenizer_json import SHOWN, added, dumped, llama_document, random_text, small
from helpers.tokenizers_calls import BAD_CALLS
from helpers.tokenizers_twins import Twins, outcome

SUBMODULES = ("decoders", "implementations", "models", "normalizers", "pre_tokenizers", "processors", "trainers")
LEFT_OUT = {"Enum", "List", "Tuple", "Union", "tokenizers"}  # names that the original imports for itself
TEXTS = ["ab abc é", "", "<s>ab <s> 12", "  \n a", "漢 Ġa"]


def small_text() -> str:
    return dumped(small([added(262, "<s>", special=True)])).decode()


def public(module: Any) -> set[str]:
    return {name for name in dir(module) if not name.startswith("_")}


def test_every_public_name_is_there() -> None:
    assert public(stock) - LEFT_OUT - {*SUBMODULES} <= {*face.__all__}
    for name in SUBMODULES:
        names = {
            key for key in public(getattr(stock, name)) if not inspect.ismodule(getattr(getattr(stock, name), key))
        }
        assert names == {*getattr(face, name).__all__}


@pytest.mark.parametrize("name", ["Tokenizer", "Encoding"])
def test_every_method_takes_the_same_arguments(name: str) -> None:
    ours, theirs = getattr(face, name), getattr(stock, name)
    assert public(theirs) <= public(ours)
    for method in public(theirs):
        if not callable(getattr(theirs, method)) or method.startswith("async"):
            continue
        expected = [*inspect.signature(getattr(theirs, method)).parameters]
        if method in ("enable_padding", "enable_truncation", "pad"):
            expected.append("options")  # which the original ignores, but does not list
        assert [*inspect.signature(getattr(ours, method)).parameters] == expected, method


# Components


def random_component(kind: str, rng: random.Random, depth: int = 0) -> tuple[str, list[Any], dict[str, Any]]:
    """Return the name of a class, and the arguments of a call: values, or such components and patterns."""
    flag, text = rng.random() < 0.5, rng.choice(["a", "", "é b", 'x"\\', "▁", "a" * 120])
    pattern = rng.choice([text, ("Regex", [rng.choice([r"\s+", "a|b"])], {})])
    behavior = rng.choice(["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"])
    byte_level = {"add_prefix_space": flag, "trim_offsets": rng.random() < 0.5}
    token = (rng.choice(["[S]", "é"]), rng.randrange(9))
    template = rng.choice(["[S] $A", "$A:1 [S]:2", "$0", "[S] [S] $1", "$ [S]"])
    pair = rng.choice([None, "$A $B", "$B:1 [S]:3 $A", "[S] $A [S] $B:1 [S]:1"])
    meta = {"prepend_scheme": rng.choice(["first", "never", "always"]), "split": flag}
    bert = {key: rng.random() < 0.5 for key in ("clean_text", "handle_chinese_chars", "lowercase")}
    known: dict[str, list[Any]] = {
        "normalizers": [
            *[(name, [], {}) for name in ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents")],
            *[(name, [], {}) for name in ("ByteLevel", "Nmt", "BertNormalizer")],
            ("BertNormalizer", [], {**bert, "strip_accents": rng.choice([None, True, False])}),
            ("Strip", [], {"left": flag}),
            ("Prepend", [text], {}),
            ("Replace", [pattern, text], {}),
            ("Precompiled", [charsmap("nmt_nfkc")], {}),
        ],
        "pre_tokenizers": [
            *[
                (name, [], {})
                for name in ("Whitespace", "WhitespaceSplit", "ByteLevel", "Metaspace", "Punctuation")
            ],
            *[(name, [], {}) for name in ("BertPreTokenizer", "UnicodeScripts", "FixedLength")],
            ("FixedLength", [rng.randint(1, 4)], {}),
            ("ByteLevel", [], {**byte_level, "use_regex": flag}),
            ("Digits", [flag], {}),
            ("Punctuation", [behavior], {}),
            ("CharDelimiterSplit", [rng.choice("a-é")], {}),
            ("Split", [pattern or "b", behavior], {"invert": flag}),
            ("Metaspace", [], meta),
        ],
        "decoders": [
            *[
                (name, [], {})
                for name in ("ByteLevel", "ByteFallback", "Fuse", "BPEDecoder", "Metaspace", "Strip")
            ],
            ("BPEDecoder", ["</w>"], {}),
            ("WordPiece", [rng.choice(["##", "", "a"]), flag], {}),
            ("CTC", [rng.choice(["<pad>", "", "a"]), rng.choice(["|", "", "Ġ"])], {"cleanup": flag}),
            ("Metaspace", ["▁"], meta),
            ("Strip", ["a", rng.randint(0, 2), rng.randint(0, 2)], {}),
            ("Replace", [pattern, text], {}),
        ],
        "processors": [
            ("ByteLevel", [], byte_level),
            ("BertProcessing", [token, token], {}),
            ("RobertaProcessing", [token, ("x", 3)], byte_level),
            ("TemplateProcessing", [template, pair], {"special_tokens": [("[S]", 5), (7, "other")]}),
            (
                "TemplateProcessing",
                [["$A", "[S]"]],
                {"special_tokens": [{"id": "[S]", "ids": [1, 2], "tokens": ["a", "b"]}]},
            ),
        ],
    }
    if depth < 2 and rng.random() < 0.3:
        steps = [random_component(kind, rng, depth + 1) for _ in range(rng.randint(0, 3))]
        if kind == "processors":  # if several add ids, the order of a hash table decides in the original
            plain = [("ByteLevel", [], byte_level)] * rng.randint(0, 2)
            steps = [*plain, *[one for one in steps if one[0] != "Sequence"][:1]]
        return "Sequence", [steps], {}
    made: tuple[str, list[Any], dict[str, Any]] = rng.choice(known[kind])
    return made


def build(module: Any, kind: str, described: Any) -> Any:
    """Make a component of a module from its description."""
    if isinstance(described, list):
        return [build(module, kind, one) for one in described]
    if not (isinstance(described, tuple) and len(described) == 3 and isinstance(described[1], list)):
        return described
    name, values, options = described
    cls = module.Regex if name == "Regex" else getattr(getattr(module, kind), name)
    return cls(*[build(module, kind, value) for value in values], **options)


@pytest.mark.parametrize("kind", ["normalizers", "pre_tokenizers", "decoders", "processors"])
@pytest.mark.parametrize("seed", rounds(10, 1000))
def test_random_components_are_like_the_original(kind: str, seed: int) -> None:
    rng = random.Random(f"{SEED} {kind} {seed}")
    described = random_component(kind, rng)
    made = [build(module, kind, described) for module in (face, stock)]
    twins = Twins(*made)
    twins.check(lambda c: [repr(c), str(c), c.__getstate__(), type(c).__name__])
    if not {"Replace", "Precompiled"} & {*re.findall(r"\w+", repr(made[1]))}:  # which the original cannot restore
        twins.check(lambda c: [repr(pickle.loads(pickle.dumps(c))), repr(copy.deepcopy(c))])
    assert repr(pickle.loads(pickle.dumps(made[0]))) == repr(copy.deepcopy(made[0])) == repr(made[1])
    names = public(made[1]) - {"single"}
    twins.check(lambda c: {n: getattr(c, n) for n in names if not callable(getattr(c, n, None))}, described)
    if kind == "normalizers":
        for text in [random_text(rng) for _ in range(5)]:
            twins.check(lambda c, t=text: c.normalize_str(t), (described, text))
    if kind == "pre_tokenizers":
        for text in [random_text(rng) for _ in range(5)]:
            twins.check(lambda c, t=text: c.pre_tokenize_str(t), (described, text))
    if kind == "decoders":
        tokens = [
            "a",
            "Ġb",
            "▁",
            "▁a",
            "<0xC3>",
            "<0xA9>",
            "<0xFF>",
            "Ã",
            "©",
            "aab</w>",
            "é",
            "",
            " ",
            "##a",
            "|",
            "<pad>",
        ]
        tokens += [".", " !", "n't", " n't", "'m", " do not", "' ", " '", "'s"]
        for some in [rng.choices(tokens, k=rng.randint(0, 6)) for _ in range(8)]:
            twins.check(lambda c, s=some: c.decode(s), (described, some))
    if kind == "processors":
        twins.check(lambda c: (c.num_special_tokens_to_add(True), c.num_special_tokens_to_add(False)))
        tokenizers = Twins.of(small_text())
        pairs = [
            [t.encode_batch(TEXTS), c] for t, c in zip((tokenizers.ours, tokenizers.theirs), made, strict=True)
        ]
        adds = rng.random() < 0.7
        Twins(*pairs).check(lambda p: [p[1].process(e, None, adds) for e in p[0]], described)
        Twins(*pairs).check(lambda p: [p[1].process(e, p[0][0], adds) for e in p[0]], described)


def settable(module: Any) -> list[Any]:
    """Return an object of each class with attributes."""
    normalizers, steps, decoders = module.normalizers, module.pre_tokenizers, module.decoders
    processors = module.processors
    return [
        normalizers.BertNormalizer(),
        normalizers.Strip(),
        normalizers.Prepend("a"),
        normalizers.Replace("a", "b"),
        steps.ByteLevel(),
        steps.Split("a", "removed"),
        steps.Digits(),
        steps.Punctuation(),
        steps.CharDelimiterSplit("a"),
        steps.Metaspace(),
        steps.FixedLength(),
        decoders.WordPiece(),
        decoders.CTC(),
        decoders.Strip(),
        decoders.Replace("a", "b"),
        decoders.Metaspace(),
        decoders.BPEDecoder(),
        processors.ByteLevel(),
        processors.RobertaProcessing(("a", 1), ("b", 2)),
        processors.BertProcessing(("a", 1), ("b", 2)),
        processors.TemplateProcessing("$A"),
        module.models.BPE(),
        module.trainers.BpeTrainer(),
        module.AddedToken("a"),
    ]


#: Attributes that the original cannot tell, that have no effect here, or that are checked here at once.
NOT_COMPARED = {"pattern", "dropout"}


@pytest.mark.parametrize("number", range(24))
def test_attributes_are_set_like_the_original(number: int) -> None:
    values: list[Any] = [True, None, 5, "a", "ab", "", ["a"], ["ab"], "removed", "merged_with_next", "always", -1]
    values += [1 << 70, 0.5, ("a", 1), ("$A", "x:1")]
    names = public(settable(stock)[number]) - NOT_COMPARED
    for name, value in itertools.product(sorted(names), values):
        twins = Twins(settable(face)[number], settable(stock)[number])
        if callable(getattr(twins.theirs, name)):
            continue
        is_trainer = number == 22  # its repr here shows its JSON

        def call(one: Any, name: str = name, value: Any = value, is_trainer: bool = is_trainer) -> Any:
            before = str(getattr(one, name))
            setattr(one, name, value)
            return before, str(getattr(one, name)), "" if is_trainer else repr(one)

        twins.check(call, (name, value))


def test_changes_of_components_reach_the_tokenizer() -> None:
    def run(module: Any) -> Any:
        tokenizer = module.Tokenizer.from_str(small_text())
        steps = module.normalizers.Sequence([module.normalizers.Prepend("a"), module.normalizers.NFC()])
        tokenizer.normalizer = steps
        told = [tokenizer.encode("b").ids]
        steps[0].prepend = "b"
        told.append(tokenizer.encode("b").ids)
        tokenizer.normalizer[0] = module.normalizers.Lowercase()
        told.append(tokenizer.encode("B").ids)
        tokenizer.pre_tokenizer.add_prefix_space = True
        told.append(tokenizer.encode("ab").ids)
        tokenizer.model.ignore_merges = True
        return [*told, tokenizer.to_str()]

    assert run(face) == run(stock)


# Programs


def change(rng: random.Random) -> Any:
    """Return a function that changes a tokenizer of either module; it gets the module, too."""
    kinds = {"normalizer": "normalizers", "post_processor": "processors", "decoder": "decoders"}
    values: dict[str, list[Any]] = {
        "normalizer": [None, ("NFD", [], {}), ("Lowercase", [], {})],
        "post_processor": [
            None,
            ("TemplateProcessing", ["<s> $A", "<s> $A $B:1"], {"special_tokens": [("<s>", 262)]}),
            ("ByteLevel", [], {"trim_offsets": True}),
            ("BertProcessing", [("b", 1), ("a", 2)], {}),
        ],
        "decoder": [("ByteLevel", [], {}), ("Fuse", [], {}), None, ("Replace", ["a", "bb"], {})],
    }
    name = rng.choice([*values, "tokens", "special", "in place", "truncation", "padding", "off", "splits"])
    if name in values:
        described = rng.choice(values[name])
        return lambda m, t: setattr(t, name, build(m, kinds[name], described))
    content, flags = rng.choice(["b", "a ", "é", "<x>", "bc", ""]), {"lstrip": rng.random() < 0.5}
    if rng.random() < 0.3:
        flags["normalized"] = rng.random() < 0.5
    splits = rng.random() < 0.5
    return {
        "tokens": lambda m, t: t.add_tokens([m.AddedToken(content, **flags), "plain"]),
        "special": lambda m, t: t.add_special_tokens([m.AddedToken(content, **flags), "<t>"]),
        "in place": lambda m, t: setattr(t.model, "ignore_merges", splits),
        "truncation": lambda m, t: t.enable_truncation(4, stride=1),
        "padding": lambda m, t: t.enable_padding(length=6, pad_id=1),
        "off": lambda m, t: (t.no_truncation(), t.no_padding()),
        "splits": lambda m, t: setattr(t, "encode_special_tokens", splits),
    }[name]


@pytest.mark.daily
@pytest.mark.parametrize("seed", rounds(5, 1500))
def test_random_programs_give_the_same(seed: int) -> None:
    rng = random.Random(f"{SEED} program {seed}")
    twins = Twins.of(small_text())
    for _ in range(6):
        step = change(rng)
        twins.check(lambda t, s=step: s(face if isinstance(t, face.Tokenizer) else stock, t))
        texts = [random_text(rng) for _ in range(3)] + TEXTS
        pairs = [*zip(texts, texts[::-1], strict=True)]
        twins.check(lambda t, b=texts: t.encode_batch(b), (texts, twins.theirs), rng.randrange(1 << 30))
        twins.check(lambda t, b=pairs: t.encode_batch(b))
        ids = rng.choices(range(270), k=9)
        twins.check(lambda t, i=ids: (t.decode(i), t.decode_batch([i, i[:3]], False)), (ids, twins.theirs))
        twins.check(lambda t: (t.to_str(), t.get_vocab(), t.get_vocab_size(False), t.get_vocab_size()))
        twins.check(lambda t: (t.num_special_tokens_to_add(False), t.num_special_tokens_to_add(True)))
        twins.check(lambda t: (t.truncation, t.padding, t.encode_special_tokens, repr(t), str(t)))
        twins.check(lambda t: {i: repr(token) for i, token in t.get_added_tokens_decoder().items()})
        twins.check(
            lambda t: [
                (t.id_to_token(i), t.token_to_id(x)) for i, x in zip(range(250, 270), "abcé<", strict=False)
            ]
        )
        if rng.random() < 0.4:
            how = rng.choice([copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))])
            twins = Twins(how(twins.ours), how(twins.theirs))


def test_encodings_stay_as_they_were_when_the_tokenizer_changes() -> None:
    twins = Twins.of(small_text())
    held = [[t.encode(text) for text in TEXTS] for t in (twins.ours, twins.theirs)]
    for module, tokenizer in ((face, twins.ours), (stock, twins.theirs)):
        tokenizer.add_tokens(["ab"])
        tokenizer.normalizer = module.normalizers.Lowercase()
        tokenizer.post_processor = module.processors.ByteLevel(trim_offsets=True)
        tokenizer.enable_padding(length=9)
    Twins(*held).check(lambda encodings: encodings)


@pytest.mark.parametrize(
    "call",
    [
        lambda t: t.encode("ab abc").truncate(1, 0, "middle"),
        lambda t: t.encode("ab").pad(9, direction="middle"),
        lambda t: t.enable_truncation(3, direction="middle"),
        lambda t: t.enable_truncation(3, strategy="none"),
        lambda t: t.enable_padding(direction="middle"),
    ],
)
def test_wrong_settings_have_the_messages_of_the_original(call: Callable[[Any], Any]) -> None:
    twins = Twins.of(small_text())
    messages = []
    for tokenizer in (twins.ours, twins.theirs):
        with pytest.raises(ValueError) as caught:  # noqa: PT011 (both messages are compared)
            call(tokenizer)
        messages.append(str(caught.value))
    assert messages[0] == messages[1]


def test_changed_encodings_are_like_the_original() -> None:
    twins = Twins.of(small_text())

    def changed(tokenizer: Any) -> Any:
        module: Any = face if isinstance(tokenizer, face.Tokenizer) else stock
        first, second, third, fourth = tokenizer.encode_batch(["ab abc", "é a", "12 12", "a b"])
        first.pad(9, direction="left", pad_id=5, pad_token="p")
        second.truncate(2, stride=1)
        third.set_sequence_id(1)
        fourth.truncate(0)
        whole = module.Encoding.merge([tokenizer.encode("ab"), tokenizer.encode("c d")], True)
        processed = tokenizer.post_process(tokenizer.encode("ab"), tokenizer.encode("c"), False)
        restored = pickle.loads(pickle.dumps(tokenizer.encode("ab c")))
        states = [json.loads(one.__getstate__()) for one in (first, second, whole)]
        return [first, second, third, fourth, whole, processed, restored, module.Encoding(), *states]

    twins.check(changed)


def test_returned_lists_are_new_each_time() -> None:
    encoding = face.Tokenizer.from_str(small_text()).encode("ab abc")
    for name in ("ids", "attention_mask", "offsets", "tokens"):
        before = [*getattr(encoding, name)]
        getattr(encoding, name).clear()
        assert getattr(encoding, name) == before


@pytest.mark.parametrize("call", BAD_CALLS)
def test_bad_input_raises_what_the_original_raises(call: Any) -> None:
    Twins.of(small_text()).check(call)


def test_numbers_of_numpy_are_numbers() -> None:
    np = pytest.importorskip("numpy")
    ids = [np.int64(97), np.uint16(98), True]
    Twins.of(small_text()).check(lambda t: (t.decode(ids), t.id_to_token(ids[0]), t.enable_truncation(ids[0])))


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy])
def test_copied_streams_continue_like_the_original(how: Any) -> None:
    def run(tokenizer: Any) -> Any:
        module: Any = face if isinstance(tokenizer, face.Tokenizer) else stock
        first = module.decoders.DecodeStream([256], skip_special_tokens=False)
        told = [first.step(tokenizer, id) for id in (256, 257, 195)]
        second = how(first)
        return told + [one.step(tokenizer, id) for id in (169, 97) for one in (first, second)]

    Twins.of(small_text()).check(run)


def test_stream_begins_anew_if_a_changed_decoder_has_completed_all_ids() -> None:
    def streamed(module: Any) -> list[Any]:
        decoders = module.decoders
        tokenizer = module.Tokenizer(module.models.WordLevel({"▁a": 0, "▁b": 1}, "▁a"))
        tokenizer.decoder = decoders.Metaspace()
        stream = decoders.DecodeStream()
        texts = [stream.step(tokenizer, 0)]
        tokenizer.decoder = decoders.Sequence([decoders.Metaspace(), decoders.Replace("a", "ab")])
        return [*texts, stream.step(tokenizer, []), stream.step(tokenizer, 1), stream.step(tokenizer, 0)]

    assert streamed(face) == streamed(stock) == ["a", "b", "b", " ab"]


def test_decoders_nested_deeper_than_in_a_file_decode_like_the_original() -> None:
    def decoded(module: Any) -> Any:
        tokenizer = module.Tokenizer(module.models.WordLevel({"a": 0}, "a"))
        decoder = module.decoders.Fuse()
        for _ in range(MAX_DEPTH + 1):
            decoder = module.decoders.Sequence([decoder])
        tokenizer.decoder = decoder
        return tokenizer.decode([0, 0]), decoder.decode(["a", "a"])

    assert decoded(face) == decoded(stock)


def test_coroutines_give_what_the_calls_give() -> None:
    async def run(tokenizer: Any) -> Any:
        return [
            await tokenizer.async_encode("ab"),
            await tokenizer.async_encode_batch(["ab", "c"]),
            await tokenizer.async_encode_batch_fast(["ab"]),
            await tokenizer.async_decode_batch([[1, 2]]),
        ]

    Twins.of(small_text()).check(lambda t: asyncio.run(run(t)))


# Files


def test_files_are_read_and_written_like_the_original(tmp_path: Path) -> None:
    twins = Twins.of(small_text())
    path = str(tmp_path / "saved.json")

    def saved(tokenizer: Any, pretty: bool) -> Any:
        tokenizer.save(path, pretty)
        text = Path(path).read_text(encoding="utf-8")
        return text, type(tokenizer).from_file(path).to_str(), type(tokenizer).from_buffer(text.encode()).to_str()

    for pretty in (True, False):
        twins.check(lambda t, p=pretty: saved(t, p))

    def model_files(tokenizer: Any) -> Any:
        module: Any = face if isinstance(tokenizer, face.Tokenizer) else stock
        paths = tokenizer.model.save(str(tmp_path)), tokenizer.model.save(str(tmp_path), "some")
        texts = [Path(name).read_text(encoding="utf-8") for both in paths for name in both]
        model = module.models.BPE.from_file(*paths[0], unk_token="a", fuse_unk=True)
        return paths, texts, repr(model), module.models.BPE.read_file(*paths[0])

    twins.check(model_files)


def test_old_files_are_read_like_the_original() -> None:
    made = small([added(262, "<s>", special=True)])
    del made["model"]["type"]
    del made["model"]["byte_fallback"]
    made["pre_tokenizer"] = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True}
    made["truncation"] = {"max_length": 3, "strategy": "OnlyFirst", "stride": 1}
    made["padding"] = {
        "strategy": {"Fixed": 5},
        "direction": "Left",
        "pad_id": 1,
        "pad_type_id": 0,
        "pad_token": "p",
    }
    twins = Twins.of(json.dumps(made))
    twins.check(lambda t: [t.to_str(), repr(t), t.encode("abc ab a"), t.truncation, t.padding])


PAIR = {"sep": ["ab", 256], "cls": ["b", 1]}
TEXT_A, TEXT_B = ({"Sequence": {"id": name, "type_id": 0}} for name in "AB")
ADDED = {"SpecialToken": {"id": "x", "type_id": 1}}
TEMPLATES = {"single": [TEXT_A, ADDED], "pair": [TEXT_A, TEXT_B]}
TOKEN = {"id": "x", "ids": [1], "tokens": ["b"]}


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("normalizer", {"prepend": "b"}),
        ("normalizer", {"normalizers": [{"strip_left": True, "strip_right": False}]}),
        ("normalizer", {"type": "Foo", "prepend": "a"}),
        ("normalizer", {"type": [], "pattern": {"String": "a"}, "content": "b"}),
        ("normalizer", {"type": {}, "x": 1}),
        ("pre_tokenizer", {"behavior": "Isolated"}),
        ("decoder", {"suffix": "x"}),
        ("post_processor", PAIR),
        ("post_processor", {**PAIR, "trim_offsets": True, "add_prefix_space": False}),
        ("post_processor", {"type": "Sequence", "processors": [PAIR]}),
        ("post_processor", {"x": 1}),
        ("post_processor", {"type": {"Other": "a"}, **TEMPLATES, "special_tokens": {"x": TOKEN}}),
        *(
            ("post_processor", {"type": "TemplateProcessing", **TEMPLATES, "special_tokens": one})
            for one in (
                {"x": TOKEN},
                {"x": "a"},
                {"x": {**TOKEN, "ids": ["a"]}},
                {"x": {**TOKEN, "ids": [-1]}},
                [],
            )
        ),
        *(
            ("post_processor", {**TEMPLATES, "single": [piece], "special_tokens": {"x": TOKEN}})
            for piece in (
                {"Sequence": {"id": "C", "type_id": 0}},
                {"Sequence": {"id": "A"}},
                {"Other": {}},
                "A",
                {},
            )
        ),
    ],
)
def test_steps_are_known_by_their_members_like_the_original(part: str, value: Any) -> None:
    text = json.dumps({**small(), part: value})
    made = [outcome(lambda m=module: m.Tokenizer.from_str(text)) for module in (face, stock)]
    if isinstance(made[1], type):
        assert made[0] is FormatError
        return
    Twins(*made).check(lambda t: [t.to_str(), t.encode("ab b")])


def test_models_on_this_machine_are_found_and_others_are_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))
    (tmp_path / "tokenizer.json").write_text(small_text())
    assert face.Tokenizer.from_pretrained(str(tmp_path)).encode("ab").ids == [256]
    with pytest.raises(VocabularyNotFoundError, match="fastbpe fetch some/"):
        face.Tokenizer.from_pretrained("some/other")
    for wrong in ((3,), (b"some/other",), ("some/other", 3)):
        raised = []
        for library in (face, stock):
            with pytest.raises(TypeError) as caught:
                library.Tokenizer.from_pretrained(*wrong)
            raised.append(str(caught.value))
        assert raised[0] == raised[1]


@pytest.mark.parametrize(
    ("part", "named"), [("normalizer", "normalizer"), ("pre_tokenizer", "pre-tokenizer"), ("decoder", "decoder")]
)
def test_components_of_unknown_type_are_named(part: str, named: str) -> None:
    with pytest.raises(FormatError, match=f"the {named} 'Newer' is unknown; fastbpe knows .*ByteLevel"):
        face.Tokenizer.from_str(json.dumps({**small(), part: {"type": "Newer"}}))


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("pre_tokenizer", {"type": "Punctuation", "behavior": "isolated"}),
        ("pre_tokenizer", {"type": "CharDelimiterSplit", "delimiter": "ab"}),
        ("pre_tokenizer", {"type": "FixedLength", "length": -1}),
        ("pre_tokenizer", {"type": "Split", "pattern": {"Regex": 5}, "behavior": "Removed", "invert": False}),
        ("normalizer", {"type": "Replace", "pattern": {"Other": "a"}, "content": ""}),
        ("model", {"type": "BPE", "vocab": {"a": True}, "merges": []}),
        ("model", {"type": "WordLevel", "vocab": {"a": True}, "unk_token": "a"}),
        (
            "model",
            {
                "type": "WordPiece",
                "vocab": {"a": True},
                "unk_token": "a",
                "max_input_chars_per_word": 9,
                "continuing_subword_prefix": "",
            },
        ),
        ("post_processor", {"type": "BertProcessing", "sep": [], "cls": ["a", 2]}),
        ("post_processor", {"type": "BertProcessing", "sep": ["a", 1 << 32], "cls": ["a", 2]}),
    ],
)
def test_file_with_a_value_that_suits_no_component_raises_format_error(part: str, value: Any) -> None:
    text = json.dumps({**small(), part: value})
    with pytest.raises(Exception, match="line 1"):
        stock.Tokenizer.from_str(text)
    with pytest.raises(FormatError, match=value["type"]):
        face.Tokenizer.from_str(text)


def test_merge_whose_result_is_missing_is_found_in_a_file_with_a_prefix() -> None:
    model = {"type": "BPE", "vocab": {"a": 0, "##b": 1, "a##b": 2}, "merges": [["a", "##b"]]}
    text = json.dumps({**small(), "model": {**model, "continuing_subword_prefix": "##"}})
    with pytest.raises(Exception, match="`ab` out of vocabulary"):
        stock.Tokenizer.from_str(text)
    with pytest.raises(FormatError, match="the token that they merge into, is not in the vocabulary"):
        face.Tokenizer.from_str(text)


@pytest.mark.parametrize(
    "post",
    [
        {"type": "Sequence", "processors": [{"type": "BertProcessing", "sep": ["", 1], "cls": ["", 2]}] * 2},
        {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "x", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
            "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
            "special_tokens": {"x": {"id": "x", "ids": [1, 1], "tokens": ["x"]}},
        },
    ],
    ids=["tokens with the text of the probe", "more ids than tokens"],
)
def test_ids_around_texts_that_are_no_frame_are_put_like_in_the_original(post: Any) -> None:
    Twins.of(json.dumps({**small(), "post_processor": post})).check(
        lambda t: [(one.ids, one.tokens, one.special_tokens_mask) for one in t.encode_batch(["a b", "b"])]
    )


@pytest.mark.parametrize(
    ("part", "step", "place"),
    [
        ("pre_tokenizer", {"type": "Metaspace", "replacement": "ab"}, ".replacement: in Metaspace "),
        ("pre_tokenizer", {"type": "Digits"}, ": Digits: 'individual_digits' is missing"),
        ("decoder", {"type": "Metaspace", "replacement": "ab"}, ".replacement: in Metaspace "),
        ("post_processor", {"type": "ByteLevel"}, ".add_prefix_space: in ByteLevel "),
    ],
)
def test_error_names_the_place_of_a_step_once(part: str, step: Any, place: str) -> None:
    key = {"pre_tokenizer": "pretokenizers", "decoder": "decoders", "post_processor": "processors"}[part]
    for around in ("", f".{key}[0]", f".{key}[0].{key}[0]"):
        with pytest.raises(FormatError, match=f"^{re.escape(part + around + place)}"):
            face.Tokenizer.from_str(json.dumps({**small(), part: step}))
        step = {"type": "Sequence", key: [step]}


def test_alphabet_equals_the_original() -> None:
    assert sorted(face.pre_tokenizers.ByteLevel.alphabet()) == sorted(SHOWN)


@pytest.mark.daily
def test_scripts_and_punctuation_of_every_code_point_split_like_the_original() -> None:
    characters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    for name in ("UnicodeScripts", "BertPreTokenizer"):
        ours, theirs = (getattr(module.pre_tokenizers, name)().pre_tokenize_str for module in (face, stock))
        for start in some(range(0, len(characters), 1000), 60):
            text = "".join(f"a{character}漢{character}" for character in characters[start : start + 1000])
            assert ours(text) == theirs(text)


def test_llama_kinds_of_objects_equal_files() -> None:
    vocab = {token: i for i, token in enumerate(["<unk>", "▁", "a", "b", "▁a"])}

    def made(module: Any) -> Any:
        tokenizer = module.Tokenizer(module.models.BPE(vocab, [("▁", "a")], unk_token="<unk>", fuse_unk=True))
        normalizers, decoders = module.normalizers, module.decoders
        tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
        steps = [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
        tokenizer.decoder = decoders.Sequence(steps)
        tokenizer.add_special_tokens(["<unk>"])
        return tokenizer

    twins = Twins(made(face), made(stock))
    twins.check(lambda t: [t.to_str(), t.encode_batch(["a b", "xyz a", ""]), t.decode([4, 1, 3])])
    assert json.loads(twins.ours.to_str()) == llama_document(vocab, [["▁", "a"]])  # type: ignore[list-item]


@pytest.mark.parametrize("steps", [*itertools.product(itertools.product([True, False], repeat=2), repeat=3)])
def test_token_added_again_is_found_by_its_last_flags_and_stays_special(
    steps: tuple[tuple[bool, bool], ...],
) -> None:
    def results(tokenizer: Any) -> Any:
        module: Any = face if isinstance(tokenizer, face.Tokenizer) else stock
        tokenizer.add_special_tokens([module.AddedToken("a ", normalized=True)])
        for special, normalized in steps:
            add = tokenizer.add_special_tokens if special else tokenizer.add_tokens
            add([module.AddedToken("b", lstrip=True, normalized=normalized)])
        found = [tokenizer.encode("ca bc").ids]
        tokenizer.normalizer = module.normalizers.Lowercase()
        found.append(tokenizer.encode("c B").ids)
        tokenizer.encode_special_tokens = True
        return [*found, tokenizer.encode("c B").ids, tokenizer.encode("c b").ids, tokenizer.decode([98, 99])]

    Twins.of(small_text()).check(results)


@pytest.mark.daily
@pytest.mark.parametrize("content", ["é", "É q", "<s>", "ab"])
def test_added_token_is_told_and_decoded_as_the_normalizer_changes_it(content: str) -> None:
    made: list[Callable[[Any], Any]] = [
        lambda _: None,
        lambda m: m.normalizers.NFD(),
        lambda m: m.normalizers.Prepend("x"),
        lambda m: m.normalizers.Replace("é", ""),
        lambda m: m.normalizers.Sequence([m.normalizers.NFD(), m.normalizers.StripAccents()]),
    ]
    flags = itertools.product([True, False], repeat=3)
    for (special, normalized, fuses), before, behind in itertools.product(flags, made, made):
        results: list[Any] = []
        for module in (face, stock):
            tokenizer: Any = module.Tokenizer.from_str(small_text())
            if fuses:
                tokenizer.decoder = module.decoders.Fuse()
            tokenizer.normalizer = before(module)
            tokenizer.add_tokens([module.AddedToken(content, normalized=normalized, special=special)])
            tokenizer.normalizer = behind(module)
            i = tokenizer.token_to_id(content)
            results.append(
                (i, tokenizer.id_to_token(i), tokenizer.decode([i, 97]), tokenizer.decode([i, 97], False))
            )
        assert results[0] == results[1], (special, normalized, fuses)


@pytest.mark.parametrize("name", ["Lowercase", "NFC", "Nmt", "Strip"])
def test_normalizers_refuse_lone_surrogates(name: str) -> None:
    for library in (stock, face):
        with pytest.raises(UnicodeEncodeError, match="surrogates not allowed"):
            getattr(library.normalizers, name)().normalize_str("A\ud800")


@pytest.mark.parametrize("form", [list, tuple, bytearray, memoryview, np.array, lambda data: array("I", data)])
def test_numbers_of_a_charsmap_come_in_any_sequence(form: Callable[[Any], Any]) -> None:
    data = charsmap("nfkc")
    numbers = data if form in (bytearray, memoryview) else [*data]
    for module in (face, stock):
        assert module.normalizers.Precompiled(form(numbers)).normalize_str("\ufb01n") == "fin"
        with pytest.raises(OverflowError):
            module.normalizers.Precompiled(array("I", [256]))
