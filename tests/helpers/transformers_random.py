"""Random calls of tokenizers of transformers: methods and arguments that programs use, also wrong ones."""

from __future__ import annotations

import pickle
import random
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import AddedToken, decoders, normalizers, pre_tokenizers, processors

from helpers.transformers_behaviours import outcome
from helpers.transformers_grid import TEXTS, WORDS, random_texts

Call = Callable[[Any], Any]

#: Argument → its values, the usual ones first. The last three arguments are wrong, or of the past.
CHOICES: dict[str, list[Any]] = {
    "add_special_tokens": [True, False, False, 1, None],
    "padding": [True, False, "longest", "max_length", "do_not_pad", True, "max_length", "no", 1],
    "truncation": [True, False, "longest_first", "only_first", "only_second", "do_not_truncate", True, "no", 0],
    "max_length": [0, 1, 2, 3, 5, 8, 8, 13, 13, 40, 40, 600, None, -1, "5", 7.0, np.int64(9)],
    "stride": [0, 1, 2, 3, 7, -1],
    "pad_to_multiple_of": [1, 2, 8, 8, None, 0, 3],
    "padding_side": ["left", "right", "left", None, "middle"],
    "return_tensors": ["np", "np", "np", None, "pt", "tf", "list"],
    "return_token_type_ids": [True, False, None],
    "return_attention_mask": [True, False, None, 0],
    "return_overflowing_tokens": [True, False, 1],
    "return_special_tokens_mask": [True, False, 1],
    "return_offsets_mapping": [True, False, 1],
    "return_length": [True, False, 1],
    "verbose": [True, False],
    "split_special_tokens": [True, False, None, 1],
    "is_split_into_words": [True, False, 1],
    "return_input_ids": [True],
    "pad_to_max_length": [True],
    "text_kwargs": [{}],
}


def draw_options(rng: random.Random, names: list[str], n: int) -> dict[str, Any]:
    """Draw n keyword arguments, mostly with one of their first three values."""
    return {name: rng.choice(CHOICES[name][:3] if rng.random() < 0.6 else CHOICES[name]) for name in names[:n]}


def draw_text(rng: random.Random) -> Any:
    """Draw a text."""
    if rng.random() < 0.5:
        return rng.choice(TEXTS)
    return random_texts(rng, 1)[0]


def draw_input(rng: random.Random) -> Any:
    """Draw a text, a batch, words, or something that is not one of these."""
    kind = rng.random()
    if kind < 0.3:
        return draw_text(rng)
    batch = [draw_text(rng) for _ in range(rng.choice([1, 2, 3, 6]))]
    if kind < 0.65:
        return rng.choice([batch, batch, tuple(batch)])
    if kind < 0.75:
        return [(one, draw_text(rng)) for one in batch]
    if kind < 0.85:
        return [rng.choice([WORDS, ["x"], WORDS[::-1], [], (*WORDS,)]) for _ in batch]
    if kind < 0.88:
        return WORDS
    if kind < 0.9:
        return [(WORDS, ["x"]) for _ in batch]
    odd = [
        None,
        [],
        5,
        b"bytes",
        [None],
        ["a", 5],
        [[]],
        {"a": 1},
        np.array(["a", "b"]),
        "a\ud800",
        ["\udc00", "b"],
    ]
    return rng.choice([*odd, [["a", "b"], ["c"]], iter(["a"]), [("a", "b", "c")], "", [""], [("", "")]])


def draw_encoding(rng: random.Random) -> tuple[str, Call]:
    """Draw a call that encodes."""
    names = [*CHOICES][:-3] if rng.random() < 0.95 else [*CHOICES]
    rng.shuffle(names)
    options = draw_options(rng, names, rng.choice([0, 1, 1, 2, 3, 4, 6]))
    args = [draw_input(rng)]
    if rng.random() < 0.25:
        second = draw_input(rng)
        if isinstance(args[0], (list, tuple)) and rng.random() < 0.7:
            second = [draw_text(rng) for _ in args[0]]
        args.append(second)
    if rng.random() < 0.05:
        options["text_target"] = draw_input(rng)
    method = rng.choice(["__call__"] * 8 + ["encode", "encode", "tokenize", "encode_plus", "batch_encode_plus"])
    if method == "tokenize":
        options = {k: v for k, v in options.items() if k in ("add_special_tokens", "split_special_tokens")}
    uses = rng.random() < 0.3

    def call(t: Any) -> Any:
        made = getattr(t, method)(*args, **options)
        return (made, looked_at(made)) if uses else made

    return f"{method}(*{args!r:.300}, **{options!r})", call


def looked_at(made: Any) -> Any:
    """Ask a result for more than its columns."""
    if not hasattr(made, "encodings") or made.encodings is None:
        return None
    rows = range(len(made.encodings))
    seen: list[Any] = [made.is_fast, len(made)]
    seen += [(made.tokens(i), made.word_ids(i), made.sequence_ids(i)) for i in rows]
    for i in rows[:8]:
        for place in (0, 1, 2, 7):
            names = ("token_to_sequence", "token_to_word", "token_to_chars")
            seen += [outcome(partial(getattr(made, name), i, place)) for name in names]
            for name in ("char_to_token", "char_to_word", "word_to_tokens", "word_to_chars"):
                seen += [outcome(partial(getattr(made, name), i, place, sequence_index=s)) for s in (0, 1)]
    return seen


def draw_ids(rng: random.Random, size: int) -> Any:
    """Draw a list of ids, or an odd one."""
    ids: Any = [
        rng.randrange(size if rng.random() < 0.7 else min(size, 600)) for _ in range(rng.choice([0, 1, 3, 9]))
    ]
    if rng.random() < 0.1:
        ids.append(rng.choice([-1, -100, 1 << 33, 5.0, None, "a", True, np.int32(7), 10_000_000]))
    odd = rng.random()
    if odd < 0.1:
        return np.array([i for i in ids if type(i) is int and 0 <= i < size], dtype=rng.choice(["int64", "int32"]))
    return tuple(ids) if odd < 0.15 else ids


def draw_decoding(rng: random.Random) -> tuple[str, Call]:
    """Draw a call that decodes or converts; ids are drawn once the size of the vocabulary is known."""
    seed, method = rng.random(), rng.choice(["decode", "decode", "batch_decode", "convert_ids_to_tokens", "text"])
    options: dict[str, Any] = {}
    if rng.random() < 0.6:
        options["skip_special_tokens"] = rng.choice([True, False, True, False, 1, None])
    if method in ("decode", "batch_decode") and rng.random() < 0.3:
        options["clean_up_tokenization_spaces"] = rng.choice([True, False, None])
    if method in ("decode", "batch_decode") and rng.random() < 0.1:
        options["use_source_tokenizer"] = True

    def call(t: Any) -> Any:
        own = random.Random(seed)
        size = len(t)
        ids = draw_ids(own, size)
        if method == "batch_decode" or own.random() < 0.2:
            ids = [draw_ids(own, size) for _ in range(own.choice([0, 1, 2, 5]))]
        elif own.random() < 0.15:
            ids = own.randrange(size)
        if method == "text":
            tokens = t.convert_ids_to_tokens(list(range(0, size, max(1, size // 40))))
            picked = own.sample(tokens, 5)
            return (
                t.convert_tokens_to_string(picked),
                t.convert_tokens_to_ids(picked),
                t.convert_tokens_to_ids("no!"),
            )
        return getattr(t, method)(ids, **options)

    return f"{method}(..., **{options!r}) of seed {seed}", call


def draw_other(rng: random.Random) -> tuple[str, Call]:
    """Draw a call of another kind: padding later, chats, masks, saving."""
    batch = [draw_text(rng) for _ in range(rng.choice([1, 2, 4]))]
    pad = draw_options(rng, rng.sample(["padding", "max_length", "pad_to_multiple_of", "padding_side"], 4), 2)
    if rng.random() < 0.5:
        pad["return_tensors"] = "np"
    roles = [{"role": rng.choice(["user", "assistant"]), "content": text} for text in batch]
    names = rng.sample(["padding", "truncation", "max_length", "return_tensors"], 4)
    chat = draw_options(rng, names, rng.choice([0, 1, 2]))
    chat["tokenize"], chat["return_dict"] = rng.random() < 0.8, rng.random() < 0.5
    one = rng.random() < 0.5

    def saved(t: Any) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            t.save_pretrained(folder)
            files = {path.name: path.read_bytes() for path in sorted(Path(folder).iterdir())}
            return files, type(t).from_pretrained(folder)(batch)

    def pickled(t: Any) -> Any:
        return pickle.loads(pickle.dumps(t))(batch)

    calls: dict[str, Call] = {
        "pad": lambda t: t.pad(t(batch), **pad),
        "pad rows": lambda t: t.pad([t(text) for text in batch], **pad),
        "chat": lambda t: t.apply_chat_template(roles if one else [roles, roles[:1]], **chat),
        "mask": lambda t: t.get_special_tokens_mask(t(batch[0])["input_ids"], already_has_special_tokens=True),
        "settings": lambda t: (t._tokenizer.truncation, t._tokenizer.padding, t._tokenizer.encode_special_tokens),
        "backend": lambda t: [(e.ids, e.offsets, e.overflowing) for e in t._tokenizer.encode_batch(batch)],
        "added": lambda t: (sorted(t.get_added_vocab().items()), t.all_special_ids, len(t)),
        "saved": saved,
        "pickled": pickled,
    }
    name = rng.choice([*calls, "pad", "pad rows", "chat", "chat", "backend"])
    if name in ("saved", "pickled") and rng.random() < 0.7:
        name = "chat"
    return f"{name} {batch!r} {pad!r} {chat!r}", calls[name]


def draw_change(rng: random.Random) -> tuple[str, Call]:
    """Draw a change of the tokenizer."""
    word = rng.choice(["new", " b", "Hello", "é", "xx"])
    token = AddedToken(word, lstrip=rng.random() < 0.3, rstrip=rng.random() < 0.3, normalized=rng.random() < 0.5)
    template = processors.TemplateProcessing(
        single="<a> $A:0 <b>:1", pair="$A <a> $B:1 <b>:2", special_tokens=[("<a>", 4), ("<b>", 5)]
    )
    parts: list[tuple[str, Callable[[], Any]]] = [
        ("post_processor", lambda: template),
        ("post_processor", lambda: processors.ByteLevel(trim_offsets=True)),
        ("post_processor", lambda: processors.RobertaProcessing(("b", 5), ("a", 4), trim_offsets=False)),
        ("post_processor", lambda: processors.Sequence([processors.ByteLevel(trim_offsets=False), template])),
        ("normalizer", normalizers.NFKC),
        ("normalizer", normalizers.Lowercase),
        ("normalizer", lambda: None),
        ("pre_tokenizer", lambda: pre_tokenizers.ByteLevel(add_prefix_space=True)),
        ("decoder", decoders.ByteLevel),
    ]
    part, make = rng.choice(parts)
    values: list[tuple[str, Any]] = [
        ("padding_side", rng.choice(["left", "right"])),
        ("truncation_side", rng.choice(["left", "right"])),
        ("model_max_length", rng.choice([4, 10, 10**30])),
        ("split_special_tokens", rng.random() < 0.5),
        ("model_input_names", rng.choice([["input_ids"], ["input_ids", "token_type_ids", "attention_mask"]])),
        ("clean_up_tokenization_spaces", rng.random() < 0.5),
        ("pad_token", rng.choice([None, "x"])),
        ("pad_token_type_id", rng.choice([0, 3])),
    ]
    name, value = rng.choice(values)
    length = rng.choice([3, 6, 50])
    calls: dict[str, Call] = {
        f"add {token!r}": lambda t: t.add_tokens([token], special_tokens=word == "xx"),
        f"set {part} {make!r}": lambda t: setattr(t.backend_tokenizer, part, make()),
        f"set {name} {value!r}": lambda t: setattr(t, name, value),
        f"truncate {length}": lambda t: t._tokenizer.enable_truncation(length, stride=1),
        f"pad {length}": lambda t: t._tokenizer.enable_padding(length=length, pad_id=3, direction="left"),
        "eos": lambda t: t.add_special_tokens({"eos_token": word}),
    }
    picked = rng.choice([*calls, f"set {name} {value!r}", f"set {name} {value!r}"])
    return picked, calls[picked]
