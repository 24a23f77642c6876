"""Tokenizers of transformers for tests, a grid of calls, and a comparison of their results."""

from __future__ import annotations

import pickle
import random
import tempfile
import warnings
from collections import UserDict
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from tokenizers import AddedToken, Regex, decoders, models, normalizers, pre_tokenizers, processors, trainers

import fastbpe
from helpers.shared_data import QWEN2, data_file, published, standard_library

Call = Callable[[Any], Any]

#: Local models by name: some are read from files, some are made from a vocabulary.
FILES = {
    "phi2": "phi2_tokenizer.json",
    "phi3": "phi3_mini_tokenizer.json",
    "falcon": "falcon_tokenizer.json",
    "whisper": "whisper_large_v3_tokenizer.json",
    "openllama": "openllama_zh_en_tokenizer.json",
}
MADE = ("qwen2", "llama3", "mistral")
TRAINED = ("small_bytes", "small_llama")

TEXTS = [
    "Hello, world! It's 5 o'clock.",
    "",
    "  two  spaces\n\nand\ttabs ",
    "日本語 and éàü 😀 e\u0301",
    "a" * 40,
    "<s>special</s> <|endoftext|> <unk>",
    "x",
]
WORDS = ["Hello", "wor", "ld", "é", " 12", "<s>"]


@lru_cache
def json_of(name: str) -> str:
    """Return the tokenizer.json of a local model. Skips the test if the model's files are missing."""
    if name in FILES:
        return data_file("vocab", FILES[name]).read_text(encoding="utf-8")
    if name == "qwen2":
        return _qwen2().to_str()
    if name == "small_bytes":
        return _small_bytes().to_str()
    if name == "small_llama":
        options: dict[str, Any] = {"byte_fallback": True, "character_coverage": 1.0}
        options |= {"normalization_rule_name": "identity", "remove_extra_whitespaces": False}
        made = fastbpe.train(
            [standard_library(100_000)], mode="codepoint", vocab_size=800, progress=False, **options
        )
    elif name == "llama3":
        made = published("llama3")
    else:
        made = fastbpe.load(data_file("vocab", "mistral_v3_tokenizer.model"))
    return _exported(made, name)


def _exported(made: fastbpe.Tokenizer, name: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "tokenizer.json")
        made.export(path, format="huggingface", verify=False)
        backend = tokenizers.Tokenizer.from_file(str(path))
    if name == "llama3":
        bos = "<|begin_of_text|>"
        template: Any = processors.TemplateProcessing(
            single=f"{bos} $A", pair=f"{bos} $A {bos} $B:1", special_tokens=[(bos, 128000)]
        )
        backend.post_processor = processors.Sequence([processors.ByteLevel(trim_offsets=False), template])
    return str(backend.to_str())


def _qwen2() -> Any:
    files = data_file("vocab", "qwen2_vocab.json"), data_file("vocab", "qwen2_merges.txt")
    backend = tokenizers.Tokenizer(models.BPE.from_file(*map(str, files)))
    backend.normalizer = normalizers.NFC()
    backend.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(QWEN2), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    backend.decoder = decoders.ByteLevel()
    backend.post_processor = processors.ByteLevel(trim_offsets=False)
    backend.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    return backend


def _small_bytes() -> Any:
    backend = tokenizers.Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        special_tokens=["<s>", "</s>", "<pad>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator([standard_library(100_000)], trainer)
    backend.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0), trim_offsets=True)
    backend.add_tokens([AddedToken("<think>", normalized=False), AddedToken("<b>", lstrip=True, rstrip=True)])
    return backend


def make(name: str, **options: Any) -> Any:
    """Make a stock tokenizer of a local model, with a pad token and a chat template."""
    from transformers import PreTrainedTokenizerFast

    backend = tokenizers.Tokenizer.from_str(json_of(name))
    made: Any = PreTrainedTokenizerFast(tokenizer_object=backend, **options)
    made.pad_token = made.convert_ids_to_tokens(2)
    made.chat_template = "{% for m in messages %}[{{ m.role }}] {{ m.content }}\n{% endfor %}"
    return made


def answer(call: Call, tokenizer: Any) -> Any:
    """Return the result of a call, or the exception that it raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return call(tokenizer)
        except BaseException as error:
            if isinstance(error, (KeyboardInterrupt, SystemExit)):
                raise
            return error


def difference(ours: Any, stock: Any, where: str = "") -> str:
    """Return a description of the first difference of two results, in value or type; "" if they are equal."""
    if isinstance(stock, BaseException):
        same = type(ours) is type(stock)
        return "" if same else f"{where}: {ours!r:.200} is not {stock!r:.200}"
    if type(ours).__name__ != type(stock).__name__ and not isinstance(stock, list):
        return f"{where}: {type(ours)} is not {type(stock)}: {ours!r:.200}"
    if isinstance(stock, UserDict):
        if list(ours) != list(stock):
            return f"{where}: keys {list(ours)} are not {list(stock)}"
        for key in stock:
            if found := difference(ours[key], stock[key], f"{where}[{key!r}]"):
                return found
        if ours.n_sequences != stock.n_sequences:
            return f"{where}.n_sequences"
        return difference(ours.encodings, stock.encodings, f"{where}.encodings")
    if isinstance(stock, tokenizers.Encoding):
        parts = "ids tokens offsets type_ids word_ids sequence_ids attention_mask special_tokens_mask n_sequences"
        for part in parts.split():
            if found := difference(getattr(ours, part), getattr(stock, part), f"{where}.{part}"):
                return found
        return ""
    if type(stock).__name__ == "Tensor":  # torch.Tensor: the tests run without torch too
        return difference(ours.numpy(), stock.numpy(), where)
    if isinstance(stock, np.ndarray):
        if ours.dtype == stock.dtype == object:
            return difference([*ours], [*stock], where)
        same = ours.dtype == stock.dtype and ours.shape == stock.shape and np.array_equal(ours, stock)
        return "" if same else f"{where}: {ours!r} is not {stock!r}"
    if isinstance(stock, (list, tuple)):
        if not isinstance(ours, type(stock)) or len(ours) != len(stock):
            return f"{where}: {ours!r:.200} is not {stock!r:.200}"
        for i, (our, their) in enumerate(zip(ours, stock, strict=True)):
            if found := difference(our, their, f"{where}[{i}]"):
                return found
        return ""
    if isinstance(stock, dict):
        if list(ours) != list(stock):
            return f"{where}: keys {list(ours)!r:.200} are not {list(stock)!r:.200}"
        return next(filter(None, (difference(ours[k], stock[k], f"{where}[{k!r}]") for k in stock)), "")
    same = ours == stock or repr(ours) == repr(stock)
    return "" if same else f"{where}: {ours!r:.300} is not {stock!r:.300}"


def random_texts(rng: random.Random, n: int) -> list[str]:
    """Return texts of all scripts, with control characters, white space and special tokens; some are empty."""
    ranges = [(32, 126), (32, 126), (0, 31), (0xA0, 0x24F), (0x300, 0x36F), (0x370, 0x5FF), (0x900, 0xDFF)]
    ranges += [(0x1100, 0x11FF), (0x2000, 0x206F), (0x3040, 0x30FF), (0x4E00, 0x9FFF), (0xAC00, 0xD7A3)]
    ranges += [(0xFDD0, 0xFFFD), (0x1F300, 0x1FAFF), (0x10000, 0x10FFFF)]
    marks = [
        "<s>",
        "</s>",
        "<|endoftext|>",
        "<unk>",
        "<think>",
        " <b> ",
        "  ",
        "\n\n",
        "'s",
        "▁",
        "e\u0301",
        "don't",
    ]
    texts = []
    for _ in range(n):
        parts = []
        for _ in range(rng.choice([0, 1, 2, 4, 9])):
            if rng.random() < 0.35:
                parts.append(rng.choice(marks))
            else:
                low, high = rng.choice(ranges)
                parts.append("".join(chr(rng.randint(low, high)) for _ in range(rng.choice([1, 2, 7]))))
        texts.append("".join(parts))
    return texts


def _calls() -> dict[str, Call]:
    """Return the grid: calls by name."""
    calls: dict[str, Call] = {}

    def add(name: str, call: Call) -> None:
        assert name not in calls, name
        calls[name] = call

    inputs: dict[str, tuple[tuple[Any, ...], dict[str, Any]]] = {
        "text": ((TEXTS[0],), {}),
        "texts": ((TEXTS,), {}),
        "pair": ((TEXTS[0], TEXTS[3]), {}),
        "pairs": ((TEXTS, TEXTS[::-1]), {}),
        "words": ((WORDS,), {"is_split_into_words": True}),
        "rows of words": (([WORDS, ["x"], WORDS[::-1]],), {"is_split_into_words": True}),
    }
    options: dict[str, dict[str, Any]] = {
        "plain": {},
        "no special": {"add_special_tokens": False},
        "split special": {"split_special_tokens": True},
        "all columns": {
            "return_token_type_ids": True,
            "return_special_tokens_mask": True,
            "return_offsets_mapping": True,
            "return_length": True,
        },
        "no mask": {"return_attention_mask": False},
        "pad": {"padding": True, "return_special_tokens_mask": True, "return_token_type_ids": True},
        "pad left": {"padding": True, "padding_side": "left", "return_offsets_mapping": True},
        "pad to 24": {"padding": "max_length", "max_length": 24},
        "pad to multiple": {"padding": True, "pad_to_multiple_of": 8, "return_length": True},
        "cut": {"truncation": True, "max_length": 6, "return_special_tokens_mask": True},
        "cut by max_length": {"max_length": 7},
        "cut and pad": {
            "truncation": True,
            "max_length": 9,
            "padding": "max_length",
            "return_offsets_mapping": True,
        },
        "cut first": {"truncation": "only_first", "max_length": 30},
        "cut second": {"truncation": "only_second", "max_length": 40},
        "cut longest": {"truncation": "longest_first", "max_length": 5, "add_special_tokens": False},
        "overflow": {"truncation": True, "max_length": 7, "return_overflowing_tokens": True},
        "overflow with stride": {
            "truncation": True,
            "max_length": 8,
            "stride": 3,
            "return_overflowing_tokens": True,
            "return_offsets_mapping": True,
            "return_length": True,
            "padding": True,
        },
        "numpy": {"padding": True, "return_tensors": "np"},
        "numpy cut": {
            "padding": "max_length",
            "truncation": True,
            "max_length": 8,
            "return_tensors": "np",
            "return_special_tokens_mask": True,
            "return_token_type_ids": True,
            "return_length": True,
        },
        "numpy left": {
            "padding": True,
            "padding_side": "left",
            "return_tensors": "np",
            "return_offsets_mapping": True,
        },
        "numpy ragged": {"return_tensors": "np"},
        "numpy overflow": {
            "padding": True,
            "truncation": True,
            "max_length": 6,
            "stride": 1,
            "return_overflowing_tokens": True,
            "return_tensors": "np",
        },
        "max length 1": {"truncation": True, "max_length": 1},
        "max length 0": {"truncation": True, "max_length": 0},
        "stride too long": {"truncation": True, "max_length": 4, "stride": 9},
    }
    for first, (args, own) in inputs.items():
        for second, others in options.items():
            add(f"{first}, {second}", lambda t, a=args, k={**own, **others}: t(*a, **k))
    both_cut = {"truncation": True, "max_length": 6, "stride": 2, "return_overflowing_tokens": True}

    def cut_left(t: Any) -> Any:
        t.truncation_side = "left"
        return (
            t(TEXTS, **both_cut),
            t(TEXTS, TEXTS[::-1], truncation=True, max_length=9),
            t(TEXTS[0], max_length=3),
        )

    def padded_left(t: Any) -> Any:
        t.padding_side = "left"
        return t(TEXTS, padding=True, return_tensors="np")

    encoded = ("tokens", "word_ids", "sequence_ids")
    for name in encoded:
        add(f"{name} of a text", lambda t, n=name: getattr(t(TEXTS[0]), n)())
        add(f"{name} of texts", lambda t, n=name: [getattr(t(TEXTS, TEXTS), n)(i) for i in range(len(TEXTS))])
    singles: dict[str, Call] = {
        "cut left": cut_left,
        "pad side left": padded_left,
        "tuples": lambda t: t([("a b", "c"), ("d", "e f")], padding=True),
        "tuple of texts": lambda t: t(tuple(TEXTS)),
        "lists of two": lambda t: t([["a b", "c"], ["d", "e f"]]),
        "empty batch": lambda t: t([]),
        "no text": lambda t: t(None),
        "number": lambda t: t(5),
        "list with a number": lambda t: t(["a", 5]),
        "bytes": lambda t: t(b"abc"),
        "lone surrogate": lambda t: t("a\ud800b"),
        "lone surrogates": lambda t: t(["x", "\udc00"]),
        "lengths differ": lambda t: t(["a", "b"], ["c"]),
        "batch with one pair": lambda t: t(["a", "b"], "c"),
        "empty pair": lambda t: t("a", ""),
        "pairs of words": lambda t: t(WORDS, WORDS, is_split_into_words=True),
        "rows of pairs of words": lambda t: t([(WORDS, []), [["x"], WORDS]], is_split_into_words=True),
        "words, and pairs of words": lambda t: t([WORDS, (WORDS, WORDS)], is_split_into_words=True),
        "empty words": lambda t: t([[], ["a"]], is_split_into_words=True),
        "subclass of str": lambda t: t(type("Text", (str,), {})("Hello")),
        "unknown argument": lambda t: t("Hello", unknown=1),
        "unknown tensors": lambda t: t("Hello", return_tensors="xx"),
        "integer flag": lambda t: t("Hello", add_special_tokens=1),
        "target": lambda t: t(TEXTS[0], text_target="target text"),
        "target only": lambda t: t(text_target=TEXTS),
        "encode": lambda t: t.encode(TEXTS[0]),
        "encode pair": lambda t: t.encode("a", "b c"),
        "encode numpy": lambda t: t.encode(TEXTS[0], return_tensors="np"),
        "encode cut": lambda t: t.encode(TEXTS[0], max_length=4, truncation=True),
        "encode without": lambda t: t.encode(TEXTS[3], add_special_tokens=False),
        "tokenize": lambda t: [t.tokenize(text) for text in TEXTS],
        "tokenize pair": lambda t: t.tokenize("a b", pair="c", add_special_tokens=True),
        "batch item": lambda t: t(TEXTS)[3].tokens,
        "slice of encodings": lambda t: t(TEXTS)[1:3],
        "char_to_token": lambda t: [t(TEXTS[0]).char_to_token(i) for i in range(8)],
        "token_to_chars": lambda t: [t(TEXTS[0]).token_to_chars(i) for i in range(4)],
        "word_to_tokens": lambda t: [t(WORDS, is_split_into_words=True).word_to_tokens(i) for i in range(3)],
        "token_to_word": lambda t: t(TEXTS[0]).token_to_word(2),
        "token_to_sequence": lambda t: t("a b", "c").token_to_sequence(2),
        "overflowing of encodings": lambda t: [
            [part.ids for part in e.overflowing] for e in t(TEXTS, max_length=5, truncation=True).encodings
        ],
        "length of encodings": lambda t: len(t(TEXTS).encodings),
        "encodings as bool": lambda t: bool(t(TEXTS).encodings),
        "is_fast": lambda t: (t.is_fast, t("a").is_fast),
        "pickled encoding": lambda t: _repickled(t(TEXTS)),
        "decode": lambda t: [t.decode(t(text)["input_ids"]) for text in TEXTS],
        "decode skip": lambda t: [t.decode(t(text)["input_ids"], skip_special_tokens=True) for text in TEXTS],
        "decode id": lambda t: [t.decode(i) for i in range(0, 600, 7)],
        "decode ids": lambda t: [t.decode([i, i + 1]) for i in range(0, 600, 7)],
        "decode list of lists": lambda t: t.decode([[5, 6], [7]]),
        "decode tuple": lambda t: t.decode((300, 301)),
        "decode array": lambda t: t.decode(np.array([300, 301, 302])),
        "decode matrix": lambda t: t.decode(np.array([[300, 301], [302, 303]])),
        "decode nothing": lambda t: (t.decode([]), t.batch_decode([])),
        "decode bool": lambda t: t.decode([True, False]),
        "decode float": lambda t: t.decode([1.5]),
        "decode text": lambda t: t.decode("abc"),
        "decode negative": lambda t: t.decode([-100]),
        "decode unknown": lambda t: t.decode([5, 10_000_000, 6]),
        "decode huge": lambda t: t.decode([1 << 40]),
        "decode clean": lambda t: t.decode(t("Hello , world .")["input_ids"], clean_up_tokenization_spaces=True),
        "decode integer flag": lambda t: t.decode([5], skip_special_tokens=1),
        "batch_decode": lambda t: t.batch_decode(t(TEXTS)["input_ids"]),
        "batch_decode skip": lambda t: t.batch_decode(t(TEXTS)["input_ids"], skip_special_tokens=True),
        "batch_decode array": lambda t: t.batch_decode(t(TEXTS, padding=True, return_tensors="np")["input_ids"]),
        "batch_decode flat": lambda t: t.batch_decode([300, 301]),
        "batch_decode unknown": lambda t: t.batch_decode([[5], [10_000_000]]),
        "batch_decode negative": lambda t: t.batch_decode([[5], [-100]]),
        "batch_decode empty": lambda t: t.batch_decode([[], [5]]),
        "decode dict": lambda t: t.decode(dict(t(TEXTS[0]))),
        "ids to tokens": lambda t: t.convert_ids_to_tokens(list(range(50))),
        "tokens to ids": lambda t: t.convert_tokens_to_ids(["a", "b", "no such token"]),
        "tokens to string": lambda t: t.convert_tokens_to_string(t.tokenize(TEXTS[0])),
        "chat": lambda t: t.apply_chat_template([{"role": "user", "content": "Hi é"}]),
        "chat text": lambda t: t.apply_chat_template([{"role": "user", "content": "Hi"}], tokenize=False),
        "chat numpy": lambda t: t.apply_chat_template(
            [[{"role": "user", "content": c}] for c in "abc"], return_tensors="np", padding=True
        ),
        "pad": lambda t: t.pad(t(TEXTS), return_tensors="np"),
        "pad dicts": lambda t: t.pad([t(text) for text in TEXTS]),
        "vocabulary": lambda t: (len(t), t.vocab_size, sorted(t.get_vocab().items())[:50]),
        "special tokens": lambda t: (t.all_special_tokens, t.all_special_ids, t.special_tokens_map),
        "added": lambda t: sorted((i, repr(a)) for i, a in t.added_tokens_decoder.items()),
        "to add": lambda t: (t.num_special_tokens_to_add(), t.num_special_tokens_to_add(pair=True)),
        "mask": lambda t: t.get_special_tokens_mask([1, 2, 3], already_has_special_tokens=True),
        "repr": repr,
        "class name": lambda t: (type(t).__name__, type(t).__module__, type(t.backend_tokenizer)),
        "backend encode": lambda t: t.backend_tokenizer.encode("Hello").ids,
        "backend batch": lambda t: [e.offsets for e in t._tokenizer.encode_batch(TEXTS)],
        "backend parts": lambda t: [
            repr(getattr(t.backend_tokenizer, p))[:200] for p in ("normalizer", "decoder")
        ],
        "pre_tokenize": lambda t: (
            t.backend_tokenizer.pre_tokenizer and t.backend_tokenizer.pre_tokenizer.pre_tokenize_str("a b")
        ),
        "model tokenize": lambda t: [token.value for token in t.backend_tokenizer.model.tokenize("ab")],
        "stream": _streamed,
        "settings stay": lambda t: (
            t(TEXTS, padding=True, truncation=True, max_length=8) and None,
            t._tokenizer.truncation,
            t._tokenizer.padding,
            t("a")["input_ids"],
            t._tokenizer.truncation,
        ),
    }
    for name, call in singles.items():
        add(name, call)
    return calls


def _repickled(encoding: Any) -> Any:
    copied = pickle.loads(pickle.dumps(encoding))
    return copied.data, [e.tokens for e in copied.encodings]


def _streamed(t: Any) -> Any:
    out = []
    for skips in (False, True):
        stream = decoders.DecodeStream(skip_special_tokens=skips)
        out.append([stream.step(t._tokenizer, i) for i in t(TEXTS[3] + TEXTS[5])["input_ids"]])
    return out


CALLS = _calls()
