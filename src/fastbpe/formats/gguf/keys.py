"""The keys `tokenizer.ggml.*` of a GGUF file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

from fastbpe.errors import FormatError
from fastbpe.model import TYPE_NAMES, AddedToken, PieceType

PREFIX = "tokenizer.ggml."
#: Role → key of its id.
ROLES = {
    "bos": "bos_token_id",
    "eos": "eos_token_id",
    "unk": "unknown_token_id",
    "pad": "padding_token_id",
    "sep": "seperator_token_id",
    "cls": "cls_token_id",
    "mask": "mask_token_id",
}
#: Type of the items of an array → their name in errors.
_NAMES = {bytes: "strings", int: "integers", float: "floats", bool: "booleans"}


class Keys:
    """The keys of the tokenizer. The methods raise FormatError for a value of a wrong type.

    They take a key without PREFIX, and a default for a file that lacks it.
    """

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self._values, self.where = values, where

    def fail(self, key: str, reason: str) -> NoReturn:
        raise FormatError(f"{self.where}: GGUF: {PREFIX}{key}: {reason}") from None

    def text(self, key: str, default: str | None) -> str | None:
        value = self._values.get(PREFIX + key)
        if value is None:
            return default
        if not isinstance(value, bytes):
            self.fail(key, f"expected a string, found {value!r:.40}")
        return self.decoded(key, value)

    def decoded(self, key: str, value: bytes) -> str:
        try:
            return value.decode()
        except UnicodeDecodeError:
            self.fail(key, f"{value!r:.80} is not UTF-8")

    def flag(self, key: str, default: bool) -> bool:
        value = self._values.get(PREFIX + key, default)
        if not isinstance(value, bool):
            self.fail(key, f"expected true or false, found {value!r:.40}")
        return value

    def items(self, key: str, kind: type, n: int | None, default: list[Any] | None = None) -> list[Any]:
        """Return an array of values of one type. n: the required number of values; None: any."""
        value = self._values.get(PREFIX + key, default)
        if not isinstance(value, list) or (value and type(value[0]) is not kind):  # all items have one type
            what = f"an array of {_NAMES[type(value[0])]}" if isinstance(value, list) else f"{value!r:.40}"
            found = "but the key is missing" if value is None else f"found {what}"
            self.fail(key, f"expected an array of {_NAMES[kind]}, {found}")
        if n is not None and len(value) != n:
            self.fail(key, f"{len(value)} items for {n} tokens")
        return value

    def check_unequal(self, tokens: Sequence[bytes]) -> None:
        """Raise FormatError if two tokens are equal, as llama.cpp does. It gives each empty token a name first."""
        seen: dict[bytes, int] = {}
        for i, text in enumerate(tokens):
            token = text or b"[EMPTY_%d]" % i
            if seen.setdefault(token, i) != i:
                self.fail("tokens", f"the ids {seen[token]} and {i} are both the token {token!r:.80}")

    def check_bytes(self, tokens: Sequence[bytes], types: Sequence[int]) -> None:
        """Raise FormatError if a token of type BYTE is shorter than "<0x": llama.cpp does not load such a file."""
        for i, (token, kind) in enumerate(zip(tokens, types, strict=True)):
            if kind == PieceType.BYTE and len(token) < len("<0x"):
                self.fail(
                    "token_type", f"token {i}, {token!r:.80}, is of the type BYTE, but its text names no byte"
                )

    def types(self, n: int) -> list[int]:
        types = self.items("token_type", int, n, [PieceType.NORMAL] * n)
        wrong = next((i for i, one in enumerate(types) if one not in TYPE_NAMES), None)
        if wrong is not None:
            self.fail("token_type", f"token {wrong} is of the type {types[wrong]}, which llama.cpp does not have")
        return types

    def role_ids(self, n: int, defaults: Mapping[str, int] | None = None) -> dict[str, int]:
        """Return role → id. As in llama.cpp, ids without a token are left out.

        Args:
            n: number of tokens.
            defaults: ids for roles that the file does not set, or for which it sets an invalid id.
        """
        found = dict(defaults or {})
        for role, key in ROLES.items():
            value = self._values.get(PREFIX + key)
            if type(value) is int and 0 <= value < n:
                found[role] = value
        return {role: value for role, value in found.items() if value < n}

    def around(
        self, roles: Mapping[str, int], *, adds_bos: bool, adds_eos: bool = False
    ) -> tuple[list[int], list[int]]:
        """Return (ids before a text, ids after it)."""
        flags = {"bos": self.flag("add_bos_token", adds_bos), "eos": self.flag("add_eos_token", adds_eos)}
        before, behind = ([roles[role]] if flags[role] and role in roles else [] for role in ("bos", "eos"))
        return before, behind


def added_tokens(texts: Sequence[str], types: Sequence[int]) -> list[AddedToken]:
    """List the tokens that are found in text by name. types: type of each token."""
    special = (PieceType.CONTROL, PieceType.UNKNOWN)
    return [
        AddedToken(text, i, special=kind in special)
        for i, (text, kind) in enumerate(zip(texts, types, strict=True))
        if text and (kind in special or kind == PieceType.USER_DEFINED)
    ]
