"""Tokenizers of `fastbpe.tokenizers`, each compared with the same one of tokenizers."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import tokenizers as stock

import fastbpe.tokenizers as face

PROPERTIES = (
    "ids",
    "tokens",
    "offsets",
    "type_ids",
    "word_ids",
    "sequence_ids",
    "attention_mask",
    "special_tokens_mask",
    "n_sequences",
)


def outcome(call: Callable[[], Any]) -> Any:
    """Return the result of a call; the class of its exception if it raises one."""
    try:
        return call()
    except BaseException as error:
        if isinstance(error, (KeyboardInterrupt, SystemExit)):
            raise
        return type(error)


def plain(value: Any, rng: random.Random | None = None) -> Any:
    """Return a comparable value: of encodings, all properties, read in random order, and some look-ups."""
    if isinstance(value, list):
        return [plain(one, rng) for one in value]
    if not isinstance(value, (face.Encoding, stock.Encoding)):
        return value
    names = [*PROPERTIES]
    if rng is not None:
        random.Random(rng.random()).shuffle(names)
    found: dict[Any, Any] = {name: getattr(value, name) for name in names}
    found["len"] = len(value)
    found["repr"] = repr(value)
    found["overflowing"] = [plain(part) for part in value.overflowing]
    for at in (0, 1, 3):
        for name in ("char_to_token", "char_to_word", "word_to_chars", "word_to_tokens"):
            found[name, at] = getattr(value, name)(at), getattr(value, name)(at, 1)
        for name in ("token_to_chars", "token_to_word"):
            found[name, at] = getattr(value, name)(at)
        if len({*value.sequence_ids} - {None}) == value.n_sequences:  # else tokenizers may take any of the texts
            found["token_to_sequence", at] = value.token_to_sequence(at)
    return {key: found[key] for key in sorted(found, key=str)}


class Twins:
    """A tokenizer of the face and one of the original with the same settings.

    An exception of ours may be a subclass. Where the original panics, ours may do what it likes.
    """

    def __init__(self, ours: Any, theirs: Any) -> None:
        self.ours, self.theirs = ours, theirs

    @classmethod
    def of(cls, text: str) -> Twins:
        return cls(face.Tokenizer.from_str(text), stock.Tokenizer.from_str(text))

    def check(self, call: Callable[[Any], Any], told: Any = "", seed: int = 0) -> None:
        """Compare the results of a call of either."""
        ours = outcome(lambda: plain(call(self.ours), random.Random(seed)))
        theirs = outcome(lambda: plain(call(self.theirs), random.Random(seed)))
        if isinstance(theirs, type) and theirs.__name__ == "PanicException":
            return
        if isinstance(theirs, type) and isinstance(ours, type):
            assert issubclass(ours, theirs), (ours, theirs, told)
            return
        assert not (found := difference(ours, theirs)), (found, told)


def difference(ours: Any, theirs: Any, where: str = "") -> str:
    """Tell the first difference of two values; "" if they are equal."""
    if ours == theirs and type(ours) is type(theirs):
        return ""
    if isinstance(ours, list) and isinstance(theirs, list) and len(ours) == len(theirs):
        pairs = [*enumerate(zip(ours, theirs, strict=True))]
    elif isinstance(ours, dict) and isinstance(theirs, dict) and ours.keys() == theirs.keys():
        pairs = [(key, (ours[key], theirs[key])) for key in ours]
    else:
        return f"{where}: {ours!r} is not {theirs!r}"
    return next(filter(None, (difference(our, their, f"{where}[{key!r}]") for key, (our, their) in pairs)), "")
