"""Subclasses of Encoding: their methods are called where tiktoken calls them, and nowhere else."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
import tiktoken

import fastbpe.tiktoken as ours
from helpers.shared_data import BYTES

RANKS = {**BYTES, b"ab": 256, b"\xc3\xa9": 257}
FEW = {b"a": 0, b"b": 1, b"ab": 2}
#: Name of a method → arguments of a call.
CALLS: dict[str, tuple[Any, ...]] = {
    "encode": ("ab",),
    "encode_ordinary": ("ab",),
    "encode_batch": (["ab", "a"],),
    "encode_ordinary_batch": (["ab", "a"],),
    "encode_to_numpy": ("ab",),
    "encode_with_unstable": ("ab a",),
    "encode_single_token": ("ab",),
    "decode": ([256, 97],),
    "decode_bytes": ([256, 97],),
    "decode_batch": ([[256], [97]],),
    "decode_bytes_batch": ([[256], [97]],),
    "decode_single_token_bytes": (256,),
    "decode_tokens_bytes": ([256, 97],),
    "decode_with_offsets": ([97, 256, 0xC3, 0xA9, 257],),
    "_encode_single_piece": ("ab",),
    "_encode_only_native_bpe": ("ab",),
    "_encode_bytes": (b"ab\xff",),
}


def make(kind: Any, ranks: dict[bytes, int]) -> Any:
    return kind("x", pat_str=r"\w+|\W+", mergeable_ranks=ranks, special_tokens={"<e>": 300})


def called(module: Any, name: str, options: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the result of a method, and the calls of other methods, in a subclass that replaces all of them."""
    calls: list[str] = []

    def replaced(own: str) -> Any:
        method = getattr(module.Encoding, own)

        def call(self: Any, *args: Any, **options: Any) -> Any:
            if own != name:
                named = {key: value if key == "errors" else sorted(value) for key, value in options.items()}
                calls.append(f"{own} {args} {named}")
            return method(self, *args, **options)

        return call

    kind = type("Own", (module.Encoding,), {own: replaced(own) for own in CALLS})
    result = getattr(make(kind, RANKS), name)(*CALLS[name], **options)
    return "" if name == "encode_with_unstable" else repr(result), sorted(calls)  # completions have no order


def test_methods_call_the_same_other_methods_as_in_tiktoken() -> None:
    for name in CALLS:
        has_names = name in ("encode", "encode_batch", "encode_to_numpy", "encode_with_unstable")
        for options in ({}, *([{"allowed_special": "all"}, {"disallowed_special": ()}] if has_names else [])):
            assert called(ours, name, options) == called(tiktoken, name, options), (name, options)


def through_core(module: Any) -> Any:
    """Return a subclass whose methods call the core and change the results."""

    class Own(module.Encoding):  # type: ignore[misc]
        def encode(self, text: str, **options: Any) -> list[int]:
            return [*self._core_bpe.encode(text, set()), 0]

        def encode_ordinary(self, text: str) -> list[int]:
            return [*self._core_bpe.encode_ordinary(text), 1]

        def encode_single_token(self, token: bytes) -> Any:
            return [self._core_bpe.encode_single_token(token)]

        def decode_bytes(self, ids: list[int]) -> bytes:
            return bytes(self._core_bpe.decode_bytes(ids)) + b"!"

        def decode_single_token_bytes(self, token: int) -> bytes:
            return bytes(self._core_bpe.decode_single_token_bytes(token)) + b"?"

        def token_byte_values(self) -> list[bytes]:
            return [*self._core_bpe.token_byte_values()[:2]]

        def _encode_single_piece(self, text: str) -> list[int]:
            return [*self._core_bpe.encode_single_piece(text), 2]

        def _encode_bytes(self, text: bytes) -> list[int]:
            return [*self._core_bpe._encode_bytes(text), 3]

    return Own


@pytest.mark.parametrize("ranks", [RANKS, FEW], ids=["all bytes", "few bytes"])
def test_core_calls_no_method_of_a_subclass(ranks: dict[bytes, int]) -> None:
    def run(module: Any) -> list[Any]:
        kind = through_core(module)
        one = make(kind, ranks)
        return [
            isinstance(one, kind),
            one.encode("ab"),
            one.encode_ordinary("ab"),
            one.encode_single_token(b"ab"),
            one.decode_bytes([2]),
            one.decode_single_token_bytes(2),
            one.token_byte_values(),
            one._encode_single_piece(b"ab"),
            one._encode_bytes(b"ab"),
            one.encode_batch(["ab", "b"]),
            one.encode_ordinary_batch(["ab", "b"]),
            one.decode_tokens_bytes([0, 1]),
            one.decode_batch([[0], [1]]),
            one.decode_bytes_batch([[0], [1]]),
            one.decode([1]),
            one.encode_to_numpy("ab").tolist(),
        ]

    assert run(ours) == run(tiktoken)


class Marked(ours.Encoding):
    """Encoding that marks its ids."""

    def encode(self, text: str | bytes, **options: Any) -> list[int]:
        return [*super().encode(text, **options), 0]


@pytest.mark.parametrize("ranks", [RANKS, FEW], ids=["all bytes", "few bytes"])
def test_pickled_subclass_keeps_its_methods(ranks: dict[bytes, int]) -> None:
    again = pickle.loads(pickle.dumps(make(Marked, ranks)))
    assert isinstance(again, Marked)
    assert again.encode_batch(["ab"]) == [[ranks[b"ab"], 0]]
    if ranks is FEW:
        with pytest.raises(KeyError, match="0x63"):
            again.encode("c")
