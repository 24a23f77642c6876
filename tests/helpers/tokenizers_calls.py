"""Random files, settings and calls of tokenizers, with which tests compare `fastbpe.tokenizers`."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from helpers.tokenizer_json import LETTERS, METASPACE, llama_document, normalized_tokens, random_document
from helpers.tokenizers_twins import Twins

#: Calls that raise an error, or that give what a caller may not expect.
BAD_CALLS: list[Callable[[Any], Any]] = [
    lambda t: t.encode(5),
    lambda t: t.encode(None),
    lambda t: t.encode("\ud800"),
    lambda t: t.encode(["a"]),
    lambda t: t.encode("a", is_pretokenized=True),
    lambda t: t.encode("a", add_special_tokens=1),
    lambda t: t.encode_batch("abc"),
    lambda t: t.encode_batch(["a", 5]),
    lambda t: t.encode_batch(["a", "b"], is_pretokenized=True),
    lambda t: t.encode_batch(["a", ["b", "c"], ("d", "e")]),
    lambda t: t.encode_batch([]),
    lambda t: t.encode_batch(("a", "b")),
    lambda t: t.encode_batch(iter(["a"])),
    lambda t: t.decode(5),
    lambda t: t.decode(["a"]),
    lambda t: t.decode([-1]),
    lambda t: t.decode([10**6]),
    lambda t: t.decode([10**12]),
    lambda t: t.decode([1], 1),
    lambda t: t.decode_batch([[1], 5]),
    lambda t: t.decode_batch([[1], {1}]),
    lambda t: t.decode_batch([]),
    lambda t: t.enable_truncation(3, 1),
    lambda t: t.enable_truncation(3, stride=5) or t.encode("a b c d e f"),
    lambda t: t.enable_padding("left"),
    lambda t: t.add_tokens("a"),
    lambda t: setattr(t, "normalizer", 5),
    lambda t: setattr(t, "vocab", 5),
    lambda t: t.encode("a").char_to_token("x"),
    lambda t: type(t)(5),
    lambda t: type(t).from_str("{"),
    lambda t: type(t).from_file("no such file"),
    lambda t: t.token_to_id(5),
    lambda t: t.id_to_token("a"),
]


def random_settings(rng: random.Random) -> Callable[[Any], None]:
    """Return a function that gives a tokenizer random settings."""
    cut = {
        "max_length": rng.choice([1, 2, 3, 5, 8, 20]),
        "stride": rng.choice([0, 0, 1, 2]),
        "strategy": rng.choice(["longest_first", "only_first", "only_second"]),
        "direction": rng.choice(["left", "right"]),
    }
    pad = {
        "direction": rng.choice(["left", "right"]),
        "pad_id": 3,
        "pad_type_id": rng.choice([0, 2]),
        "pad_token": "[PAD]",
        "length": rng.choice([None, None, 4, 12]),
        "pad_to_multiple_of": rng.choice([None, None, 4]),
    }
    cuts, pads, splits = rng.random() < 0.5, rng.random() < 0.5, rng.random() < 0.3

    def apply(tokenizer: Any) -> None:
        if cuts:
            tokenizer.enable_truncation(**cut)
        else:
            tokenizer.no_truncation()
        if pads:
            tokenizer.enable_padding(**pad)
        else:
            tokenizer.no_padding()
        tokenizer.encode_special_tokens = splits

    return apply


def random_input(rng: random.Random, make_text: Callable[[random.Random], str]) -> tuple[list[Any], bool]:
    """Return a batch, and whether its texts are split into words."""

    def text() -> Any:
        return [make_text(rng) for _ in range(rng.randint(0, 4))] if words else make_text(rng)

    words, kind = rng.random() < 0.25, rng.random()
    batch: list[Any] = []
    for _ in range(rng.randint(0, 4)):
        is_pair = kind > 0.6 if kind < 0.9 else rng.random() < 0.5
        batch.append((text(), text()) if is_pair else text())
    return batch, words


def compare_calls(twins: Twins, rng: random.Random, make_text: Callable[[random.Random], str], n: int) -> None:
    """Compare random calls of `encode`, `encode_batch` and `encode_batch_fast`."""
    for _ in range(n):
        if rng.random() < 0.4:
            apply = random_settings(rng)
            twins.check(apply)
        batch, words = random_input(rng, make_text)
        options = {"is_pretokenized": words, "add_special_tokens": rng.random() < 0.8}
        told, seed = (batch, options, twins.theirs.truncation, twins.theirs.padding), rng.randrange(1 << 30)
        method = rng.choice(["encode_batch", "encode_batch_fast"])
        twins.check(lambda t, b=batch, o=options, m=method: getattr(t, m)(b, **o), (method, *told), seed)
        for row in batch[:2]:
            both = row if isinstance(row, tuple) else (row, None)
            twins.check(lambda t, b=both, o=options: t.encode(*b, **o), ("encode", both, *told), seed)


def usable_document(rng: random.Random) -> dict[str, Any]:
    """Return a random file for which the original answers, and always the same.

    If nothing is left of an added token when it is normalized, tokenizers panics, or finds it without end until it
    has all memory of the machine. If two become one, it picks either by chance.
    """
    while True:
        made = random_document(rng)
        contents = normalized_tokens(made)
        if "" not in contents and len({*contents}) == len(contents):
            return made


def random_llama_document(rng: random.Random) -> dict[str, Any]:
    """A random file of the Llama kind."""
    letters = [*dict.fromkeys(letter for text in LETTERS for letter in text.replace(" ", METASPACE))]
    vocab = {token: i for i, token in enumerate(["<unk>", *letters])}
    merges = []
    for _ in range(rng.randint(0, 12)):
        left, right = rng.choices([token for token in vocab if token != "<unk>"], k=2)
        if left + right not in vocab:
            merges.append(f"{left} {right}")
            vocab[left + right] = len(vocab)
    return llama_document(vocab, merges)


def with_metaspace(made: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """The file of the Llama kind with Metaspace as its pre-tokenizer, and some added tokens."""
    scheme = rng.choice(["always", "first", "never"])
    step = {"type": "Metaspace", "replacement": METASPACE, "prepend_scheme": scheme, "split": rng.random() < 0.7}
    vocab = made["model"]["vocab"]
    next_id = len(vocab)
    for content in rng.sample(["<s>", "ab", "é", "<x>"], rng.randint(0, 3)):
        flags = {key: rng.random() < 0.3 for key in ("special", "normalized", "lstrip", "rstrip", "single_word")}
        made["added_tokens"].append({"id": vocab.get(content, next_id), "content": content, **flags})
        next_id += content not in vocab
    return {**made, "normalizer": None, "pre_tokenizer": step, "decoder": step}
