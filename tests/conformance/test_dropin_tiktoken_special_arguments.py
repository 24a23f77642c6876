"""Wrong values of `allowed_special` and `disallowed_special`: each method raises the class of tiktoken's error."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tiktoken

import fastbpe.tiktoken as ours

GOOD: dict[str, Any] = {
    "pat_str": ".+",
    "mergeable_ranks": {bytes([i]): i for i in range(256)} | {b"ab": 256},
    "special_tokens": {"<e>": 257, "<f>": 258},
}
MINE, THEIRS = ours.Encoding("small", **GOOD), tiktoken.Encoding("small", **GOOD)

METHODS: dict[str, Callable[..., Any]] = {
    "encode": lambda e, text, **names: e.encode(text, **names),
    "encode_batch": lambda e, text, **names: e.encode_batch([text], **names),
    "encode_to_numpy": lambda e, text, **names: e.encode_to_numpy(text, **names).tolist(),
    "encode_with_unstable": lambda e, text, **names: e.encode_with_unstable(text, **names)[0],
}
CORE_METHODS: dict[str, Callable[..., Any]] = {
    "encode": lambda core, names: core.encode("ab<e>", names),
    "encode_to_tiktoken_buffer": lambda core, names: bytes(core.encode_to_tiktoken_buffer("ab<e>", names)),
    "encode_with_unstable": lambda core, names: core.encode_with_unstable("ab<e>", names)[0],
}


class Text(str):
    """A class of texts."""

    __slots__ = ()


VALUES: tuple[Callable[[], Any], ...] = (
    *(lambda value=value: value for value in (None, 0, 1, 1.5, True, False, object(), len, set)),  # type: ignore[misc]
    *(lambda value=value: value for value in ("", "all", "ALL", "<e>", "none", Text("all"), b"", b"<e>")),  # type: ignore[misc]
    *(lambda item=item: {item} for item in ("<e>", "zz", "all", Text("<e>"), 1, 1.5, None, b"<e>", b"z")),  # type: ignore[misc]
    *(lambda item=item: [item] for item in ("<e>", "zz", "all", 1, None, b"<e>", ["<e>"], {})),  # type: ignore[misc]
    *(lambda item=item: (name for name in [item]) for item in ("<e>", 1, ["<e>"])),  # type: ignore[misc]
    lambda: {1, "<e>"},
    lambda: frozenset({"<e>"}),
    lambda: ("<e>",),
    lambda: (1,),
    lambda: {"<e>": 1},
    lambda: {1: "<e>"},
    lambda: {"<e>": 1}.keys(),
    lambda: {1: 1}.keys(),
    lambda: iter(["<e>"]),
    lambda: iter(()),
    lambda: map(str, ["<e>"]),
    lambda: bytearray(b"<e>"),
    lambda: memoryview(b"<e>"),
    lambda: range(3),
    lambda: range(0),
    list,
    tuple,
    dict,
    set,
    frozenset,
    lambda: np.array([]),
    lambda: np.array(["<e>"]),
    lambda: np.array(["<e>", "<f>"]),
)


def outcome(call: Callable[..., Any], encoding: Any, arguments: list[Any], names: dict[str, Any]) -> Any:
    """Return the result of a call, or its error. names: argument → function that returns its value."""
    try:
        return call(encoding, *arguments, **{name: value() for name, value in names.items()})
    except Exception as error:
        return error


def check(call: Callable[..., Any], mine: Any, theirs: Any, *arguments: Any, **names: Callable[[], Any]) -> None:
    """Compare the outcomes of a call: the results, or the classes of the errors."""
    expected = outcome(call, theirs, [*arguments], names)
    found = outcome(call, mine, [*arguments], names)
    what = (arguments, {name: value() for name, value in names.items()}, found, expected)
    if isinstance(expected, Exception):
        assert isinstance(found, type(expected)), what
    else:
        assert found == expected, what


@pytest.mark.parametrize("method", METHODS)
def test_wrong_special_tokens_raise_the_class_of_tiktoken(method: str) -> None:
    call = METHODS[method]
    # No text has a token that a wrong value of the other argument forbids: tiktoken reports that mistake first.
    for value in VALUES:
        for text in ("ab", "ab<e>", ""):
            for disallowed in (tuple, lambda: {"<f>"}):
                check(call, MINE, THEIRS, text, allowed_special=value, disallowed_special=disallowed)
            for allowed in (lambda: "all", lambda: {"<e>"}, set):
                check(call, MINE, THEIRS, text, allowed_special=allowed, disallowed_special=value)
        check(call, MINE, THEIRS, "ab", allowed_special=value)


@pytest.mark.parametrize("method", CORE_METHODS)
def test_wrong_special_tokens_of_the_core_raise_the_class_of_tiktoken(method: str) -> None:
    for value in VALUES:
        check(CORE_METHODS[method], MINE._core_bpe, THEIRS._core_bpe, names=value)


@pytest.mark.parametrize(
    ("names", "said"),
    [
        ({"allowed_special": ["<e>"]}, "allowed_special=['<e>']: pass \"all\" or a set of special tokens"),
        ({"allowed_special": {1}}, "allowed_special: the special token 1 must be a str"),
        ({"disallowed_special": {1}}, "disallowed_special: the special token 1 must be a str"),
        ({"disallowed_special": 1}, 'disallowed_special=1: pass "all", or a collection of special tokens as str'),
    ],
)
def test_error_names_the_argument_and_the_way_out(names: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError) as raised:
        MINE.encode("x", **names)
    assert str(raised.value) == said
