"""NormalizedString of fastbpe.tokenizers against tokenizers: changes, parts, and the places of both."""

from __future__ import annotations

import inspect
import random
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("tokenizers")

import tokenizers as stock

import fastbpe.tokenizers as face
from fastbpe.normalization.sentencepiece_rules import charsmap
from helpers.sampling import SEED, rounds
from helpers.tokenizers_twins import Twins, outcome

LETTERS = [*"aabB -- \téßİŉﬁ½漢ǅ𝄞각Å", "\u0301", "\u0344", "e\u0301", "\u3000", "\u2028", "\u1100\u1161"]
BEHAVIORS = ["removed", "isolated", "merged_with_previous", "merged_with_next", "contiguous"]


def random_text(rng: random.Random) -> str:
    return "".join(rng.choices(LETTERS, k=rng.randint(1, 8)))


def random_change(rng: random.Random) -> tuple[str, Callable[[Any, Any], Any]]:
    """Return the name of a change, and a function that gets a module and the text to change."""
    plain = ["nfc", "nfd", "nfkc", "nfkd", "lowercase", "uppercase", "strip", "lstrip", "rstrip", "clear"]
    kind = rng.choice([*plain[:-1] * 2, "clear", *["append", "prepend", "replace", "regex", "filter", "map"] * 3])
    kind = rng.choice([kind, kind, "normalizer"])
    text, content = rng.choice(["a", "-", "é", "aB", "", "--"]), rng.choice(["", "x", "é-", "abc"])
    if kind in plain:
        return kind, lambda _, one: getattr(one, kind)()
    described: list[Callable[[Any], Any]] = [
        lambda m: m.BertNormalizer(),
        lambda m: m.Nmt(),
        lambda m: m.ByteLevel(),
        lambda m: m.StripAccents(),
        lambda m: m.Prepend("é"),
        lambda m: m.Precompiled(charsmap("nmt_nfkc")),
        lambda m: m.Sequence([m.NFD(), m.StripAccents(), m.Replace("a", "bb")]),
    ]
    chosen = rng.choice(described)
    calls: dict[str, Callable[[Any, Any], Any]] = {
        "append": lambda _, one: one.append(content),
        "prepend": lambda _, one: one.prepend(content or "-"),
        "replace": lambda _, one: one.replace(text, content),
        "regex": lambda m, one: one.replace(m.Regex("[a-b]+|-"), content),
        "filter": lambda _, one: one.filter(lambda c: c != text[:1]),
        "map": lambda _, one: one.map(lambda c: "é" if c == text[:1] else c),
        "normalizer": lambda m, one: chosen(m.normalizers).normalize(one),
    }
    return f"{kind} {text!r} {content!r}", calls[kind]


def told(one: Any) -> Any:
    """Return the texts of a NormalizedString, with the place of each of its characters."""
    parts = [one.slice(i) for i in range(len(one.normalized))]
    return repr(one), str(one), one.original, one.normalized, [(part.original, part.normalized) for part in parts]


@pytest.mark.parametrize("seed", rounds(15, 4000))
def test_random_changes_are_like_the_original(seed: int) -> None:
    rng = random.Random(f"{SEED} normalized {seed}")
    for _ in range(20):
        text = random_text(rng)
        pairs = [(module, module.NormalizedString(text)) for module in (face, stock)]
        done = []
        for _ in range(rng.randint(1, 5)):
            name, change = random_change(rng)
            done.append(name)
            results = [change(*pair) for pair in pairs]
            assert results == [None, None]
            Twins(*[one for _, one in pairs]).check(told, (text, done))
            if not pairs[0][1].normalized:  # to which tokenizers appends text without a place, and then panics
                pairs[0][1].append("é")
                pairs[1][1].append("é")
                Twins(*[one for _, one in pairs]).check(told, (text, done))
                break
        if rng.random() < 0.7:
            pattern, behavior = rng.choice(["a", "-", "", "b-", "Regex"]), rng.choice(BEHAVIORS)

            def split(pair: Any, pattern: str = pattern, behavior: str = behavior) -> Any:
                module, one = pair
                parts = one.split(module.Regex(r"\s+|-") if pattern == "Regex" else pattern, behavior)
                for part in parts[1:2]:
                    part.prepend("ab")
                    if part.original:  # tokenizers doubles a text without an original
                        part.nfd()
                return [told(part) for part in parts], told(one)

            Twins(*pairs).check(split, (text, done, pattern, behavior))
        for _ in range(3):
            bounds = rng.randint(-12, 12), rng.randint(-12, 12)
            chosen = rng.choice(
                [bounds[0], bounds, slice(*bounds), slice(None, bounds[0]), slice(bounds[0], None)]
            )
            for call in (lambda one, c=chosen: one.slice(c), lambda one, c=chosen: one[c]):
                Twins(*[one for _, one in pairs]).check(
                    lambda one, call=call: None if (part := call(one)) is None else told(part),
                    (text, done, chosen),
                )


@pytest.mark.daily
def test_every_code_point_changes_like_the_original() -> None:
    characters = [chr(c) for c in range(0x20000) if not 0xD800 <= c < 0xE000]
    for name in ("uppercase", "lowercase"):
        made = [module.NormalizedString("".join(characters)) for module in (face, stock)]
        for one in made:
            getattr(one, name)()
        assert made[0].normalized == made[1].normalized


@pytest.mark.parametrize(
    "call",
    [
        lambda m, one: m.NormalizedString(),
        lambda m, one: m.NormalizedString(5),
        lambda m, one: m.NormalizedString("\ud800"),
        lambda m, one: one.append(5),
        lambda m, one: one.prepend(None),
        lambda m, one: one.map(5),
        lambda m, one: one.filter(5),
        lambda m, one: one.for_each(5),
        lambda m, one: one.map(lambda c: ""),
        lambda m, one: one.map(lambda c: "\ud800"),
        lambda m, one: one.filter(lambda c: 1),
        lambda m, one: one.replace(5, "a"),
        lambda m, one: one.replace("a", 5),
        lambda m, one: one.split("a", "x"),
        lambda m, one: one.split("a", None),
        lambda m, one: one.split(5, "removed"),
        lambda m, one: one.slice("a"),
        lambda m, one: one.slice([1, 2]),
        lambda m, one: one.slice((1,)),
        lambda m, one: one.slice((-1, 2)),
        lambda m, one: one.slice(-100),
        lambda m, one: one[range(2)],
        lambda m, one: setattr(one, "normalized", "a"),
        lambda m, one: m.normalizers.NFC().normalize("a"),
    ],
)
def test_bad_calls_raise_what_the_original_raises(call: Any) -> None:
    pairs = [(module, module.NormalizedString("Héllo wörld")) for module in (face, stock)]
    Twins(*pairs).check(lambda pair: call(*pair))
    assert isinstance(outcome(lambda: call(*pairs[0])), type)
    assert pairs[0][1].normalized == "Héllo wörld"


def test_empty_text_has_one_part() -> None:
    for module in (face, stock):
        text = module.NormalizedString("")
        assert [text.slice(bounds) is None for bounds in ((0, 0), slice(0, 0), 0, (0, 1))] == [
            False,
            False,
            True,
            True,
        ]


def test_functions_see_every_character() -> None:
    seen: list[str] = []
    face.NormalizedString("aé漢").for_each(seen.append)
    assert seen == ["a", "é", "漢"]
    with pytest.raises(ZeroDivisionError):
        face.NormalizedString("a").for_each(lambda _: 1 / 0)


@pytest.mark.parametrize("module", [face, stock])
def test_filter_takes_a_bool_of_numpy(module: Any) -> None:
    numpy = pytest.importorskip("numpy")
    one = module.NormalizedString("abéb")
    one.filter(lambda c: numpy.bool_(c != "b"))
    assert one.normalized == "aé"


def test_text_that_a_function_changes_keeps_its_positions() -> None:
    one = face.NormalizedString("ab")
    one.map(lambda c: (one.clear(), c)[1])  # type: ignore[func-returns-value]
    assert (str(one[1]), one[1].original) == ("b", "b")


def test_methods_take_the_same_arguments() -> None:
    names = [name for name in dir(stock.NormalizedString) if not name.startswith("_")]
    for name in names:
        theirs = getattr(stock.NormalizedString, name)
        if callable(theirs):
            expected = [*inspect.signature(theirs).parameters]
            assert [*inspect.signature(getattr(face.NormalizedString, name)).parameters] == expected, name
