"""Arguments, properties and pickles of fastbpe.tokenizers against tokenizers."""

from __future__ import annotations

import collections
import copy
import enum
import inspect
import json
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tokenizers")

import tokenizers as stock

import fastbpe.tokenizers as face
from helpers.tokenizers_twins import Twins, outcome

MODULES = ("normalizers", "pre_tokenizers", "decoders", "processors", "models", "trainers")
BASES = {"Normalizer", "PreTokenizer", "Decoder", "PostProcessor", "Model", "Trainer"}
#: Names of arguments of any class, and names that none has.
KEYWORDS = """
    add_prefix_space alpha behavior byte_fallback cache_capacity clean_text cleanup cls cls_token content
    continuing_subword_prefix decoders decoders_py delimiter dropout end_of_word_suffix foo fuse_unk
    handle_chinese_chars ids ignore_merges individual_digits initial_alphabet invert left length
    limit_alphabet lowercase lstrip max_token_length merges min_frequency normalized normalizers offsets
    pad_token pair pattern pre_tokenizers prefix prepend prepend_scheme pretokenizers processors
    progress_format replacement right rstrip s sep show_progress single single_word skip_special_tokens
    special special_tokens split start stop strip_accents suffix trim_offsets type unk_token use_regex value
    vocab vocab_size word_delimiter_token words
"""


def classes() -> list[tuple[str, type, type]]:
    """Return the name of each class that needs no original, ours, and theirs."""
    found = [(name, getattr(face, name), getattr(stock, name)) for name in ("AddedToken", "Regex", "Token")]
    for module in MODULES:
        for name in sorted(getattr(face, module).__all__):
            ours, theirs = getattr(getattr(face, module), name), getattr(getattr(stock, module), name)
            if inspect.isclass(ours) and name not in BASES and "A call gives" not in str(ours.__doc__):
                found.append((f"{module}.{name}", ours, theirs))
    return found


def takes(cls: Callable[..., Any], keyword: str) -> bool:
    """Return True if a class takes an argument of a name, of whatever type."""
    for before in ((), ("x",), ("x", "removed"), (("x", 1), ("y", 2)), ([],)):
        try:
            cls(*before, **{keyword: None})
        except Exception as error:
            if "unexpected keyword" in str(error):
                return False
    return True


@pytest.mark.filterwarnings("ignore:Ignored unknown kwarg")
@pytest.mark.parametrize(("ours", "theirs"), [pytest.param(*both, id=name) for name, *both in classes()])
def test_every_class_takes_arguments_of_the_same_names(ours: type, theirs: type) -> None:
    assert [key for key in KEYWORDS.split() if takes(ours, key)] == [
        key for key in KEYWORDS.split() if takes(theirs, key)
    ]


def test_ignored_arguments_change_nothing() -> None:
    calls: list[Callable[[Any], Any]] = [
        lambda m: m.pre_tokenizers.ByteLevel(False, type="ByteLevel"),
        lambda m: m.decoders.ByteLevel(type="ByteLevel", add_prefix_space=False),
        lambda m: m.processors.ByteLevel(use_regex=False, type="ByteLevel"),
        lambda m: m.decoders.ByteLevel(1),
        lambda m: m.pre_tokenizers.ByteLevel(True, True, True, True),
        lambda m: m.models.BPE(cache_capacity=5),
        lambda m: m.models.BPE(cache_capacity=None),
        lambda m: m.models.BPE(cache_capacity=-1),
        lambda m: m.models.BPE()._resize_cache(5),
        lambda m: m.models.BPE()._resize_cache(-1),
        lambda m: m.models.BPE()._clear_cache(),
    ]
    for call in calls:
        Twins(face, stock).check(lambda m, call=call: repr(call(m)))


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.AddedToken("a", other=1),
        lambda m: m.models.BPE(other=1),
        lambda m: m.trainers.BpeTrainer(other=1),
        lambda m: m.Tokenizer(m.models.BPE()).enable_truncation(3, other=1),
        lambda m: m.Tokenizer(m.models.BPE()).enable_padding(other=1),
        lambda m: m.Encoding.merge([]).pad(3, other=1),
    ],
)
def test_unknown_arguments_cause_a_warning_where_the_original_prints_it(
    call: Callable[[Any], Any], capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.warns(UserWarning, match="Ignored unknown kwarg option other") as caught:
        made = call(face)
    assert caught[0].filename == __file__
    assert repr(made) == repr(call(stock))
    assert "option other" in capfd.readouterr().out


@pytest.mark.parametrize(
    "options", [{"max_length": 5}, {"max_length": None}, {"max_length": None, "length": 3}, {"max_length": "5"}]
)
def test_padding_takes_the_deprecated_name_of_its_length(
    options: dict[str, Any], capfd: pytest.CaptureFixture[str]
) -> None:
    def padded(module: Any) -> Any:
        tokenizer = module.Tokenizer(module.models.WordLevel({"a": 0}, "a"))
        return outcome(lambda: tokenizer.enable_padding(**options)), tokenizer.padding, tokenizer.encode("a").ids

    with pytest.warns(DeprecationWarning, match="max_length") as caught:
        found = padded(face)
    assert found == padded(stock)
    assert str(caught[0].message) == capfd.readouterr().out.strip()


@pytest.mark.parametrize(
    "call",
    [
        lambda m, text: m.Tokenizer(m.models.BPE()).enable_truncation(3, direction=text),
        lambda m, text: m.Tokenizer(m.models.BPE()).enable_truncation(3, strategy=text),
        lambda m, text: m.Tokenizer(m.models.BPE()).enable_padding(direction=text),
        lambda m, text: m.Tokenizer(m.models.WordLevel({"a": 0}, "a")).encode("a").truncate(3, direction=text),
        lambda m, text: m.Encoding.merge([]).pad(3, direction=text),
        lambda m, text: m.processors.TemplateProcessing(f"${text}"),
        lambda m, text: m.processors.TemplateProcessing(f"{text} $A"),
        lambda m, text: m.pre_tokenizers.Metaspace(prepend_scheme=text),
        lambda m, text: m.normalizers.unicode_normalizer_from_str(text),
    ],
)
def test_errors_of_long_values_are_those_of_the_original_but_short(call: Callable[[Any, str], Any]) -> None:
    for text in ("middle", "middle" * 1000):
        with pytest.raises(ValueError, match="middle") as theirs:
            call(stock, text)
        with pytest.raises(ValueError, match="middle") as ours:
            call(face, text)
        assert len(str(ours.value)) < 200
    assert str(ours.value)[:40] == str(theirs.value)[:40]


@pytest.mark.parametrize("value", ["a", "", "(", "Regex", None, 5, b"a", ["a"]])
def test_pattern_is_neither_read_nor_set(value: Any) -> None:
    makers: list[Callable[[Any], Any]] = [
        lambda m: m.pre_tokenizers.Split("a", "removed"),
        lambda m: m.pre_tokenizers.Split(m.Regex("a+"), "removed"),
        lambda m: m.normalizers.Replace(m.Regex("a+"), "b"),
    ]

    def changed(module: Any, make: Callable[[Any], Any]) -> Any:
        made = make(module)
        kind = outcome(lambda: setattr(made, "pattern", module.Regex("b") if value == "Regex" else value))
        return issubclass(kind, TypeError), outcome(lambda: made.pattern) is not None, repr(made)

    for make in makers:
        assert changed(face, make) == changed(stock, make)
        ours, theirs = (outcome(lambda make=make, m=m: make(m).pattern) for m in (face, stock))
        assert issubclass(ours, theirs)


def test_restored_trainers_and_their_texts_are_like_the_original() -> None:
    options: list[dict[str, Any]] = [
        {},
        {"vocab_size": 5, "min_frequency": 2, "progress_format": "json", "show_progress": False},
        {"limit_alphabet": 7, "initial_alphabet": ["é"], "continuing_subword_prefix": "##"},
        {"end_of_word_suffix": "</w>", "max_token_length": 4, "progress_format": "silent"},
        {"special_tokens": ["a", 'x"']},
        {"special_tokens": [*"abcdefgh"]},
    ]

    def told(module: Any, chosen: dict[str, Any]) -> Any:
        trainer = module.trainers.BpeTrainer(**chosen)
        if "special_tokens" in chosen:
            trainer.special_tokens = [*trainer.special_tokens, module.AddedToken("b", lstrip=True)]
        copies = [trainer, copy.copy(trainer), copy.deepcopy(trainer), pickle.loads(pickle.dumps(trainer))]
        other = module.trainers.BpeTrainer()
        other.__setstate__(trainer.__getstate__())
        return [[one.__getstate__(), repr(one), str(one), one.get_word_count()] for one in [*copies, other]]

    for chosen in options:
        assert told(face, chosen) == told(stock, chosen)


def test_trainers_tell_the_words_of_their_last_training() -> None:
    def run(module: Any) -> Any:
        tokenizer, trainer = module.Tokenizer(module.models.BPE()), module.trainers.BpeTrainer(show_progress=False)
        counts = []
        for steps in (module.pre_tokenizers.Whitespace(), module.pre_tokenizers.ByteLevel(), None):
            tokenizer.pre_tokenizer = steps
            for texts in (["ab ab é", "x ab"], ["c"], []):
                tokenizer.train_from_iterator(texts, trainer)
                counts.append((trainer.get_word_count(), json.loads(trainer.__getstate__())))
        return counts, pickle.loads(pickle.dumps(trainer)).get_word_count()

    assert run(face) == run(stock)


@pytest.mark.parametrize(
    "state",
    [
        b"x",
        b"[]",
        "x",
        b"{}",
        b'{"BpeTrainer":1}',
        b'{"BpeTrainer":{"vocab_size":1}}',
        b'{"UnigramTrainer":{}}',
        face.trainers.BpeTrainer().__getstate__().replace(b"30000", b'"a"'),
        face.trainers.BpeTrainer().__getstate__().replace(b"Indicatif", b"Other"),
        face.trainers.BpeTrainer().__getstate__().replace(b'"words":{}', b'"words":[]'),
    ],
)
def test_damaged_states_of_trainers_are_refused(state: Any) -> None:
    Twins(face, stock).check(lambda m: m.trainers.BpeTrainer().__setstate__(state))
    assert isinstance(outcome(lambda: face.trainers.BpeTrainer().__setstate__(state)), type)


def test_tokens_are_made_like_the_original() -> None:
    arguments: list[Any] = [
        (1, "a", (0, 1)),
        (True, "", (5, 1)),
        (-1, "a", (0, 1)),
        (1 << 32, "a", (0, 1)),
        ("a", "a", (0, 1)),
        (1, 5, (0, 1)),
        (1, "a", [0, 1]),
        (1, "a", (5,)),
        (1, "a", (-5, 6)),
        (1, "a", ("a", 6)),
    ]
    for one in arguments:
        Twins(face, stock).check(lambda m, one=one: m.Token(*one).as_tuple(), one)
    token = face.Token(1, "a", (0, 1))
    assert (token.id, token.value, token.offsets) == token.as_tuple()
    with pytest.raises(AttributeError):
        token.id = 5  # type: ignore[misc]


def test_no_warning_comes_from_known_arguments() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        face.models.BPE({"a": 0}, [], dropout=None, unk_token="a", fuse_unk=True, cache_capacity=3)
        face.trainers.BpeTrainer(vocab_size=5, max_token_length=3)
        face.AddedToken("a", special=True)


def after(one: Any, change: Callable[[Any], Any]) -> Any:
    """Return the exception of a change, and the state of the object after it."""
    kind = outcome(lambda: change(one))
    builtin = next((base for base in kind.__mro__ if base.__module__ == "builtins"), None)
    return builtin, one.get_splits() if hasattr(one, "get_splits") else repr(one)


def bpe(m: Any) -> Any:
    return m.models.BPE({"a": 0, "b": 1, "ab": 2}, [("a", "b")], unk_token="a", fuse_unk=True)


@pytest.mark.parametrize("name", ["dropout", "unk_token", "fuse_unk", "byte_fallback", "ignore_merges"])
@pytest.mark.parametrize("value", [1, "x", [], b"a", np.str_("b")])
def test_option_that_is_refused_leaves_the_model_as_it_was(name: str, value: Any) -> None:
    if name != "dropout" or isinstance(value, str):  # tokenizers takes any number
        Twins(face, stock).check(lambda m: after(bpe(m), lambda one: setattr(one, name, value)))


TEMPLATE = ("$A <s>", "$A $B")
LONG = ("$A:" + "9" * 5000, "$" + "9" * 5000, "$A:" + "0" * 5000 + "1")
PAIR = ("a", 1)


def nested(m: Any) -> Any:
    """Return an encoding whose overflowing parts have such parts themselves."""
    one = m.Tokenizer(bpe(m)).encode("ababa")
    one.truncate(1)
    return m.Encoding.merge([one, one])


@pytest.mark.parametrize(
    "call",
    [
        lambda m: m.models.BPE({"a": 0}, "merges.txt"),
        lambda m: m.models.BPE("vocab.json", []),
        lambda m: m.models.BPE([], []),
        lambda m: m.models.BPE({}, [], dropout=np.str_("0.5")),
        lambda m: repr(m.models.Unigram([("a", 0.0), ("b", 0.0)], unk_id=True)),
        lambda m: [token.as_tuple() for token in bpe(m).tokenize(np.str_("ab"))],
        lambda m: bpe(m).save("nowhere", 5),
        lambda m: repr(m.AddedToken(None)),
        lambda m: repr(m.AddedToken(np.str_("a")).content),
        lambda m: repr(m.normalizers.BertNormalizer(strip_accents=np.bool_(True))),
        lambda m: m.decoders.Fuse().decode(np.array(["a", "b"])),
        lambda m: setattr(m.trainers.UnigramTrainer(), "vocab_size", 1 << 32),
        lambda m: m.trainers.BpeTrainer(special_tokens=np.array(["a"])),
        lambda m: setattr(m.trainers.BpeTrainer(), "initial_alphabet", np.array(["a"])),
        # Sequences
        *(
            lambda m, index=index: m.normalizers.Sequence([m.normalizers.NFC()])[index]
            for index in (-1, 1, 1 << 64, "a", slice(0, 1))
        ),
        lambda m: m.normalizers.Sequence([]).__setitem__(-1, m.normalizers.NFC()),
        lambda m: m.normalizers.Sequence([]).__setitem__(5, 5),
        lambda m: m.processors.Sequence([]).__setitem__(5, m.processors.Sequence([])),
        # Post-processors
        *(
            lambda m, item=item: repr(m.processors.TemplateProcessing(item, "$A $B", [("<s>", 1)]))
            for item in (
                "$A:+1",
                "$+7",
                "$A:4294967296",
                "$4294967295",
                "$4294967296",
                "<s>:+",
                "$A:++1",
                "$b:2",
                *LONG,
            )
        ),
        *(
            lambda m, token=token: repr(m.processors.TemplateProcessing(*TEMPLATE, [token]))
            for token in (
                *(("<s>",), ("<s>", 1, 2), ("<s>", 1 << 32), ("<s>", -1), {}, 5, "ab"),
                *({"id": "<s>", "ids": [1], "tokens": tokens} for tokens in (["a"], [5], "a", [], None)),
                *({"id": "<s>", "ids": ids, "tokens": ["a"]} for ids in ([True], [1 << 32], [-1], 5, ["a"])),
            )
        ),
        *(
            lambda m, pair=pair: repr(m.processors.BertProcessing(pair, PAIR))
            for pair in (("a",), ("a", 1, 2), ("a", 1 << 32), ("a", -1), ["a"], 5)
        ),
        lambda m: m.processors.ByteLevel().process(nested(m), add_special_tokens=""),
        lambda m: m.processors.ByteLevel().process(None),
        lambda m: m.Tokenizer(bpe(m)).post_process(None),
        *(
            lambda m, pair=pair: m.processors.BertProcessing(PAIR, PAIR).process(*[nested(m)] * pair)
            for pair in (1, 2)
        ),
        lambda m: m.processors.RobertaProcessing(PAIR, PAIR).process(nested(m), nested(m)),
        # Encodings and streams
        lambda m: m.Encoding.merge([]).pad(0, pad_id=1 << 32),
        lambda m: m.Encoding.merge([]).pad(0, pad_token=5),
        lambda m: nested(m).word_to_chars(1 << 32),
        lambda m: m.decoders.DecodeStream().step("a", 1),
        lambda m: m.decoders.DecodeStream([1]).step(None, 1),
        lambda m: m.decoders.DecodeStream(None, 5),
    ],
)
def test_odd_values_are_taken_or_refused_like_the_original(call: Callable[[Any], Any]) -> None:
    Twins(face, stock).check(call)


class Indexable:
    """Object whose items are read by index only."""

    def __init__(self, items: list[Any]) -> None:
        self.items = items

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, at: int) -> Any:
        return self.items[at]


def template(m: Any, **options: Any) -> str:
    return repr(m.processors.TemplateProcessing(**{"single": "$A", "pair": "$A $B", **options}))


#: Items of a list argument of each class or method, and a call with it.
LISTS: dict[str, tuple[Callable[[Any], list[Any]], Callable[[Any, Any], Any]]] = {
    **{
        f"{kind}.{name}": (
            lambda m: ["a"],  # tokenizers shuffles several
            lambda m, v, kind=kind, name=name: repr(getattr(m.trainers, kind)(show_progress=False, **{name: v})),
        )
        for kind in ("BpeTrainer", "WordPieceTrainer", "UnigramTrainer", "WordLevelTrainer", "ParityBpeTrainer")
        for name in ("special_tokens", "initial_alphabet")
        if (kind, name) != ("WordLevelTrainer", "initial_alphabet")
    },
    "normalizers": (lambda m: [m.normalizers.NFC()], lambda m, v: repr(m.normalizers.Sequence(v))),
    "pre_tokenizers": (lambda m: [m.pre_tokenizers.Digits()], lambda m, v: repr(m.pre_tokenizers.Sequence(v))),
    "processors": (lambda m: [m.processors.ByteLevel()], lambda m, v: repr(m.processors.Sequence(v))),
    "decoders": (lambda m: [m.decoders.Fuse()], lambda m, v: repr(m.decoders.Sequence(v))),
    "special_tokens": (lambda m: [("a", 1)], lambda m, v: template(m, special_tokens=v)),
    "single": (lambda m: ["$A"], lambda m, v: template(m, single=v)),
    "pair": (lambda m: ["$A", "$B"], lambda m, v: template(m, pair=v)),
    "special token": (lambda m: ["a", 1], lambda m, v: template(m, special_tokens=[v])),
    "id and special token": (lambda m: [1, "a"], lambda m, v: template(m, special_tokens=[v])),
    "sep": (lambda m: ["a", 1], lambda m, v: repr(m.processors.BertProcessing(v, PAIR))),
    "cls_token": (lambda m: ["a", 1], lambda m, v: repr(m.processors.RobertaProcessing(PAIR, v))),
    "merges": (lambda m: [("a", "b")], lambda m, v: repr(m.models.BPE({"a": 0, "b": 1, "ab": 2}, v))),
    "merge": (lambda m: ["a", "b"], lambda m, v: repr(m.models.BPE({"a": 0, "b": 1, "ab": 2}, [v]))),
    "scores": (lambda m: [("a", 1.0)], lambda m, v: repr(m.models.Unigram(v))),
    "score": (lambda m: ["a", 1.0], lambda m, v: repr(m.models.Unigram([v]))),
    "batch": (lambda m: ["a", "b"], lambda m, v: len(m.Tokenizer(bpe(m)).encode_batch(v))),
    "batch of words": (
        lambda m: [["a"], ["b"]],
        lambda m, v: len(m.Tokenizer(bpe(m)).encode_batch(v, is_pretokenized=True)),
    ),
    "ids": (lambda m: [0, 1], lambda m, v: m.Tokenizer(bpe(m)).decode(v)),
    "tokens": (lambda m: ["a", "b"], lambda m, v: m.Tokenizer(bpe(m)).add_tokens(v)),
    "files": (lambda m: ["/dev/null"], lambda m, v: m.Tokenizer(bpe(m)).train(v)),
    "encodings": (lambda m: [m.Tokenizer(bpe(m)).encode("a")], lambda m, v: m.Encoding.merge(v).ids),
}
#: Kinds of objects with several items.
KINDS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "empty tuple": lambda items: (),
    "empty dict": lambda items: {},
    "empty str": lambda items: "",
    "str": lambda items: "ab",
    "set": lambda items: set(),
    "dict": lambda items: dict.fromkeys(range(2)),
    "iterator": iter,
    "deque": collections.deque,
    "array": lambda items: np.array(items, dtype=object),
    "indexable": Indexable,
    "None": lambda items: None,
}


def test_list_arguments_are_taken_or_refused_like_the_original() -> None:
    for name, (items, call) in LISTS.items():
        for kind, made in KINDS.items():
            told = name, kind
            Twins(face, stock).check(lambda m, call=call, made=made, items=items: call(m, made(items(m))), told)


def test_template_without_its_special_token_adds_nothing() -> None:
    def added(m: Any) -> Any:
        post = m.processors.TemplateProcessing(*TEMPLATE, [("<s>", 1)])
        post.single = "<other> $A <s>"
        return post.num_special_tokens_to_add(False)

    assert added(face) == added(stock) == 1


def test_functions_that_fail_leave_the_same_pieces() -> None:
    def changed(m: Any, method: str) -> Any:
        text = m.PreTokenizedString("a b c")
        text.split(lambda i, piece: piece.split(" ", "removed"))

        def fails(*args: Any) -> Any:
            if "b" in str(args[-1]):
                raise ZeroDivisionError
            return args[-1].lowercase() if method == "normalize" else []

        return after(text, lambda one: getattr(one, method)(fails))[1]

    for method in ("split", "normalize", "tokenize"):
        Twins(face, stock).check(lambda m, method=method: changed(m, method))


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_copies_number_added_tokens_anew(copied: Callable[[Any], Any]) -> None:
    def run(m: Any) -> Any:
        tokenizer = m.Tokenizer(m.models.WordLevel({"x": 0}, unk_token="x"))
        tokenizer.add_tokens(["a", m.AddedToken("b", lstrip=True), "c"])
        tokenizer.model = m.models.WordLevel({"x": 0, "y": 1, "b": 2, "z": 3}, unk_token="x")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = copied(tokenizer)
        return (
            tokenizer.to_str(),
            made.to_str(),
            made.encode("a b c").ids,
            made.get_vocab(),
            made.decode([1, 2, 4]),
        )

    Twins(face, stock).check(run)


@pytest.mark.parametrize("dropout", [None, 1.0])
def test_training_leaves_copies_as_they_were(dropout: float | None) -> None:
    def run(m: Any) -> Any:
        tokenizer = m.Tokenizer(m.models.BPE({"a": 0, "b": 1, "ab": 2, "c": 3}, [("a", "b")], dropout=dropout))
        before = tokenizer.encode("abc").ids
        made = [copied(tokenizer) for copied in (copy.copy, copy.deepcopy)]
        tokenizer.train_from_iterator(["c b", "ca"], m.trainers.BpeTrainer(show_progress=False))
        return before, [(one.encode("abc").ids, one.get_vocab()) for one in made]

    Twins(face, stock).check(run)


class Name(str, enum.Enum):
    """Texts whose `str` is the name of the member."""

    TEXT = "ab Ba"
    B = "b"
    EMPTY = ""
    WINDOW = "window"
    ISOLATED = "isolated"
    NEVER = "never"


class Disguised(str):
    """Text whose methods return wrong values."""

    __hash__ = str.__hash__

    def __str__(self) -> str:
        return "?"

    __repr__ = lower = __str__

    def __len__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    def __getitem__(self, at: Any) -> str:
        return "??"

    def __radd__(self, other: str) -> str:
        return "?"

    def isascii(self) -> bool:
        return True

    def encode(self, *arguments: Any) -> bytes:
        return b"?"

    def strip(self, *arguments: Any) -> str:
        return "?"

    translate = replace = split = strip  # type: ignore[assignment]


def trained_on(m: Any, text: str, trainer: Any) -> Any:
    one = m.Tokenizer(m.models.BPE())
    if isinstance(trainer, m.trainers.ParityBpeTrainer):
        trainer.train_from_iterator(one, [[text], [[text]]])
    else:
        one.train_from_iterator([text, [text]], trainer)
    return one.get_vocab()


@pytest.mark.parametrize("kind", [Name, Disguised, np.str_])
@pytest.mark.parametrize(
    "call",
    [
        lambda m, t: m.Tokenizer(bpe(m)).encode(t("ab Ba"), t("b")).ids,
        lambda m, t: m.Tokenizer(bpe(m)).encode([t("b"), t("ab Ba")], is_pretokenized=True).ids,
        lambda m, t: [one.ids for one in m.Tokenizer(bpe(m)).encode_batch([t("ab Ba"), (t("b"), t("b"))])],
        lambda m, t: m.pre_tokenizers.ByteLevel().pre_tokenize_str(t("ab Ba")),
        lambda m, t: m.pre_tokenizers.Split(t("b"), t("isolated")).pre_tokenize_str("abba"),
        lambda m, t: repr(m.pre_tokenizers.Split(t("b"), t("isolated"))),
        lambda m, t: repr(m.pre_tokenizers.CharDelimiterSplit(t("b"))),
        lambda m, t: repr(m.pre_tokenizers.Metaspace(t("b"), t("never"))),
        lambda m, t: repr(m.decoders.Metaspace(t("b"), t("never"))),
        lambda m, t: m.decoders.Strip(t("b"), 1, 1).decode(["bab", "ba"]),
        lambda m, t: m.PreTokenizedString(t("ab Ba")).get_splits(),
        lambda m, t: repr(m.processors.TemplateProcessing("b $A", "b $A $B", [(t("b"), 1)])),
        lambda m, t: m.normalizers.Sequence([]).normalize_str(t("ab Ba")),
        lambda m, t: m.normalizers.Lowercase().normalize_str(t("ab Ba")),
        lambda m, t: m.normalizers.Prepend("_").normalize_str(t("ab Ba")),
        lambda m, t: m.normalizers.StripAccents().normalize_str(t("ab Ba")),
        lambda m, t: repr(m.normalizers.Replace(t("b"), t("ab Ba"))),
        lambda m, t: repr(m.NormalizedString(t("ab Ba"))),
        lambda m, t: [str(one) for one in m.NormalizedString("abba").split(t("b"), t("isolated"))],
        lambda m, t: changed(m, lambda one: one.append(t("ab Ba"))),
        lambda m, t: changed(m, lambda one: one.replace(t("b"), t("ab Ba"))),
        lambda m, t: changed(m, lambda one: one.replace(t(""), t("ab Ba"))),
        lambda m, t: changed(m, lambda one: one.map(lambda c: t("ab Ba"))),
        lambda m, t: repr(m.trainers.ParityBpeTrainer(variant=t("window"))),
        lambda m, t: m.trainers.ParityBpeTrainer(initial_alphabet=[t("b")]).initial_alphabet,
        lambda m, t: trained_on(m, t("ab Ba"), m.trainers.ParityBpeTrainer(1, show_progress=False)),
        lambda m, t: trained_on(m, t("ab Ba"), m.trainers.BpeTrainer(vocab_size=6, show_progress=False)),
    ],
)
def test_subclasses_of_str_are_taken_by_content(call: Callable[..., Any], kind: Any) -> None:
    expected = outcome(lambda: call(stock, str))
    assert outcome(lambda: call(stock, kind)) == expected
    assert outcome(lambda: call(face, kind)) == expected


def changed(m: Any, change: Callable[[Any], Any]) -> list[str]:
    one = m.NormalizedString("abéb")
    change(one)
    return [one.normalized, *(str(one.slice(at)) for at in range(len(one.normalized)))]
