"""PreTokenizedString of fastbpe.tokenizers against tokenizers: pieces, tokens, and the places of both."""

from __future__ import annotations

import inspect
import random
from typing import Any

import pytest

pytest.importorskip("tokenizers")

import tokenizers as stock

import fastbpe.tokenizers as face
from helpers.sampling import SEED, rounds
from helpers.tokenizers_twins import Twins, outcome

LETTERS = [*"aabB  -\t12.éİﬁ漢𝄞", "e\u0301", "▁"]
BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]


def random_step(rng: random.Random) -> Any:
    """Return a function that makes a random pre-tokenizer of a module."""
    behavior, scheme, flag = rng.choice(BEHAVIORS), rng.choice(["always", "first", "never"]), rng.random() < 0.5
    return rng.choice(
        [
            lambda m: m.pre_tokenizers.Whitespace(),
            lambda m: m.pre_tokenizers.WhitespaceSplit(),
            lambda m: m.pre_tokenizers.BertPreTokenizer(),
            lambda m: m.pre_tokenizers.Punctuation(behavior),
            lambda m: m.pre_tokenizers.Digits(flag),
            lambda m: m.pre_tokenizers.CharDelimiterSplit("a"),
            lambda m: m.pre_tokenizers.UnicodeScripts(),
            lambda m: m.pre_tokenizers.FixedLength(2),
            lambda m: m.pre_tokenizers.Split(m.Regex(r"\s+|a"), behavior, flag),
            lambda m: m.pre_tokenizers.ByteLevel(flag, use_regex=rng.random() < 0.5),
            lambda m: m.pre_tokenizers.Metaspace("▁", scheme, flag),
            lambda m: m.pre_tokenizers.Sequence([m.pre_tokenizers.Digits(), m.pre_tokenizers.Whitespace()]),
        ]
    )


def told(one: Any) -> Any:
    """Return the pieces of a PreTokenizedString, with their places in all units."""
    made = []
    for referential in ("original", "normalized"):
        for unit in ("char", "byte"):
            made.append(
                [
                    (text, span, tokens and [token.as_tuple() for token in tokens])
                    for text, span, tokens in one.get_splits(referential, unit)
                ]
            )
    return made


def random_change(rng: random.Random) -> tuple[str, Any]:
    """Return the name of a change, and a function that gets a module and a PreTokenizedString."""
    kind = rng.choice(
        ["split", "pre-tokenizer", "pre-tokenizer", "nfkd", "lowercase", "prepend", "replace", "strip"]
    )
    letter, behavior, seed = rng.choice("a -"), rng.choice(BEHAVIORS), rng.random()
    if kind == "split":
        return kind, lambda m, one: one.split(lambda i, piece: piece.split(letter, behavior) if i % 3 else [piece])
    if kind == "pre-tokenizer":
        return kind, lambda m, one: random_step(random.Random(seed))(m).pre_tokenize(one)
    calls: dict[str, Any] = {
        "nfkd": lambda piece: piece.nfkd(),
        "lowercase": lambda piece: piece.lowercase(),
        "prepend": lambda piece: piece.prepend("é"),
        "replace": lambda piece: piece.replace("a", "éa"),
        "strip": lambda piece: piece.strip(),
    }
    return kind, lambda m, one: one.normalize(calls[kind])


@pytest.mark.parametrize("seed", rounds(20, 4000))
def test_random_programs_are_like_the_original(seed: int) -> None:
    rng = random.Random(f"{SEED} pre-tokenized {seed}")
    vocab = {letter: i for i, letter in enumerate(dict.fromkeys([*LETTERS, "<unk>", "ab", "Ġ", "e"]))}
    for _ in range(15):
        text = "".join(rng.choices(LETTERS, k=rng.randint(1, 9)))
        pairs = [(module, module.PreTokenizedString(text)) for module in (face, stock)]
        twins, done = Twins(*[one for _, one in pairs]), []
        for _ in range(rng.randint(1, 4)):
            name, change = random_change(rng)
            done.append(name)
            for pair in pairs:
                assert change(*pair) is None
            twins.check(told, (text, done))
        models = [module.models.BPE(vocab, [("a", "b")], unk_token="<unk>") for module, _ in pairs]
        for (_, one), model in zip(pairs, models, strict=True):
            one.tokenize(model.tokenize)
        twins.check(told, (text, done))
        options = rng.choice([{}, {"type_id": 2}, {"word_idx": 4}, {"type_id": 1, "word_idx": 0}])
        twins.check(lambda one, o=options: one.to_encoding(**o), (text, done))


@pytest.mark.parametrize("split", [True, False])
def test_piece_that_is_only_changed_keeps_its_whole_span(split: bool) -> None:
    for module in (face, stock):
        steps = module.pre_tokenizers
        for step in (
            steps.ByteLevel(False, use_regex=split),
            steps.Metaspace(prepend_scheme="never", split=split),
        ):
            text = module.PreTokenizedString(" ab ")
            text.normalize(lambda piece: piece.strip())
            step.pre_tokenize(text)
            assert text.get_splits() == [("ab", (1, 3) if split else (0, 4), None)]


@pytest.mark.parametrize("text", ["Hé llo", "", "aé"])
def test_tokens_with_any_offsets_are_placed_like_the_original(text: str) -> None:
    for start in range(10):
        for end in range(10):
            pairs = [(module, module.PreTokenizedString(text)) for module in (face, stock)]
            for module, one in pairs:
                one.split(lambda i, piece: piece.split(" ", "isolated"))
                one.tokenize(lambda _, m=module, s=start, e=end: [m.Token(1, "x", (s, e))])
            Twins(*[one for _, one in pairs]).check(lambda one: one.to_encoding(), (text, start, end))


@pytest.mark.parametrize(
    "call",
    [
        lambda m, one: m.PreTokenizedString(),
        lambda m, one: m.PreTokenizedString(5),
        lambda m, one: m.PreTokenizedString("\ud800"),
        lambda m, one: one.split(5),
        lambda m, one: one.split(lambda i, piece: 5),
        lambda m, one: one.split(lambda i, piece: [5]),
        lambda m, one: one.split(lambda i, piece: 1 / 0),
        lambda m, one: one.normalize(5),
        lambda m, one: one.tokenize(5),
        lambda m, one: one.tokenize(lambda text: 5),
        lambda m, one: one.tokenize(lambda text: [5]),
        lambda m, one: one.tokenize(lambda text: 1 / 0),
        lambda m, one: one.to_encoding(),
        lambda m, one: one.to_encoding("a"),
        lambda m, one: one.to_encoding(-1),
        lambda m, one: one.get_splits("x"),
        lambda m, one: one.get_splits("original", "x"),
        lambda m, one: one.get_splits(m.OffsetReferential.ORIGINAL),
        lambda m, one: m.pre_tokenizers.Whitespace().pre_tokenize("a"),
    ],
)
def test_bad_calls_raise_what_the_original_raises(call: Any) -> None:
    pairs = [(module, module.PreTokenizedString("Héllo wörld")) for module in (face, stock)]
    Twins(*pairs).check(lambda pair: call(*pair))
    assert isinstance(outcome(lambda: call(face, face.PreTokenizedString("Héllo wörld"))), type)


def test_pieces_with_tokens_and_empty_pieces_are_not_changed_again() -> None:
    def run(module: Any) -> Any:
        one = module.PreTokenizedString("ab c")
        one.split(lambda i, piece: piece.split(" ", "isolated"))
        one.tokenize(lambda text: [module.Token(0, text, (0, 1))])
        one.split(lambda i, piece: [])
        one.normalize(lambda piece: piece.clear())
        empty = module.PreTokenizedString("")
        empty.tokenize(lambda text: [])
        gone = module.PreTokenizedString("ab")
        gone.split(lambda i, piece: [])
        return told(one), told(empty), empty.get_splits(), gone.get_splits(), len(gone.to_encoding())

    assert run(face) == run(stock)


def test_methods_take_the_same_arguments() -> None:
    for name in (name for name in dir(stock.PreTokenizedString) if not name.startswith("_")):
        expected = [*inspect.signature(getattr(stock.PreTokenizedString, name)).parameters]
        assert [*inspect.signature(getattr(face.PreTokenizedString, name)).parameters] == expected, name
