r"""Translation of fastbpe's patterns into tokenizers' (Oniguruma, Ruby's syntax): the inverse of oniguruma.py.

Few elements differ: `$` and `^` are `\z` and `\A`, and `{1,3}+` is an atomic group. The result is translated back
to check that it means the same.
"""

from __future__ import annotations

import re

from fastbpe.errors import PatternError
from fastbpe.splitting.oniguruma import from_oniguruma
from fastbpe.splitting.recognise import recognise
from fastbpe.splitting.simplify import simplified
from fastbpe.splitting.syntax import parse

_ATOM = re.compile(r"\\[pP]\{[^}]*\}|\\x\{[^}]*\}|\\.|[\s\S]")
_POSSESSIVE_COUNT = re.compile(r"(\{[0-9]*,?[0-9]*\})\+")


def to_oniguruma(pattern: str) -> str:
    r"""Return a pattern for tokenizers that matches the same as the given pattern in fastbpe.

    >>> to_oniguruma(r"\p{N}{1,3}+|\s++$|\s")
    '(?>\\p{N}{1,3})|\\s++\\z|\\s'

    Raises PatternError if no such pattern is found.
    """
    for as_group in (False, True):
        translated = _translated(pattern, as_group)
        if _means_the_same(pattern, from_oniguruma(translated)):
            return translated
    raise PatternError(
        f"the split pattern {pattern!r:.80} cannot be written for the tokenizers library: fastbpe found no "
        "equivalent for Oniguruma, the regex engine of that library"
    )


def _translated(pattern: str, as_group: bool) -> str:
    """Translate a pattern.

    as_group: `{1,3}+` becomes an atomic group; False: it becomes `{1,3}`, which often matches the same and belongs
        to known patterns.
    """
    out: list[str] = []
    opened: list[int] = []  # where each open group begins in `out`
    last = at = 0  # last: where the last atom begins in `out`; other quantifiers count as atoms, too
    while at < len(pattern):
        counted = _POSSESSIVE_COUNT.match(pattern, at)
        if counted is not None:
            out[last:] = ["(?>", *out[last:], counted[1], ")"] if as_group else [*out[last:], counted[1]]
            at = counted.end()
            continue
        atom = _brackets(pattern, at) if pattern[at] == "[" else _ATOM.match(pattern, at)[0]  # type: ignore[index]
        at += len(atom)
        last = len(out)
        if atom == "(":
            opened.append(last)
        elif atom == ")" and opened:
            last = opened.pop()
        out.append({"$": r"\z", "^": r"\A"}.get(atom, atom))
    return "".join(out)


def _brackets(pattern: str, start: int) -> str:
    """Return the class that begins at `start`, with the classes inside it."""
    depth, at = 0, start
    while at < len(pattern):
        if pattern[at] == "\\":
            at += 1
        elif pattern[at] == "[":
            depth += 1
        elif pattern[at] == "]":
            depth -= 1
            if not depth:
                break
        at += 1
    return pattern[start : at + 1]


def _means_the_same(one: str, other: str) -> bool:
    if simplified(parse(one)) == simplified(parse(other)):
        return True
    scanner = recognise(one)
    return scanner is not None and scanner == recognise(other)
