r"""Recognise patterns that have a scanner, by their meaning and not by their spelling.

A pattern is brought to a normal form, in which equivalent spellings are equal, and looked up among the forms of
the known patterns:

- groups disappear, `x{1}` becomes `x`, nested alternations become one alternation;
- alternatives that are strings become a set of strings, so that `'(?:[sdmt]|ll)` equals `'s|'d|'m|'t|'ll`;
- a possessive repetition of a set becomes a greedy one if backtracking could never help: nothing follows, or only
  characters outside the set, or the end of the text.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any, TypeAlias

from fastbpe.errors import PatternError
from fastbpe.patterns import PATTERNS
from fastbpe.splitting.charset import CharSet
from fastbpe.splitting.named import NAMED, SPECS_OF_TEXTS, ScannerSpec
from fastbpe.splitting.nodes import (
    Alternation,
    Anchor,
    Chars,
    Concat,
    Group,
    Look,
    Mode,
    Node,
    Repeat,
    children,
)
from fastbpe.splitting.syntax import parse

Form: TypeAlias = tuple[Any, ...]

_MAX_ALTERNATIVES = 64  # strings of an alternation; the contractions have fewer
_MAX_DIGITS = 9  # largest n_digits of a `Scanner`
_DEEPSEEK = PATTERNS["deepseek_v3"] or ()  # "or" for type checkers: some pattern is None


@lru_cache(maxsize=64)
def recognise(pattern: str | tuple[str, ...], *, drop_unmatched: bool = False) -> ScannerSpec | None:
    r"""Return the arguments of the scanner equivalent to a pattern, or to several in order; else None.

    >>> recognise(r"'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+").family
    'gpt2'
    """
    try:
        spec = SPECS_OF_TEXTS.get(pattern) or _spec_of_form(pattern)
    except PatternError:
        return None  # the caller, compiling it, raises the error
    # Known patterns leave no text unmatched, so drop_unmatched changes nothing; only DeepSeek's miss controls.
    return None if spec is not None and spec.family == "deepseek" and drop_unmatched else spec


def _spec_of_form(pattern: str | tuple[str, ...]) -> ScannerSpec | None:
    if isinstance(pattern, str):
        node = parse(pattern)
        return _known_forms().get(_form(node)) if _looks_around(node) else None
    if len(pattern) != len(_DEEPSEEK):
        return None
    same = all(_form(parse(a)) == _form(parse(b)) for a, b in zip(pattern, _DEEPSEEK, strict=True))
    return NAMED["deepseek_v3"] if same else None


def _looks_around(node: Node) -> bool:
    """Tell whether a pattern has a look-around. All known patterns have one; without one, build no forms."""
    return isinstance(node, Look) or any(map(_looks_around, children(node)))


@lru_cache(maxsize=1)
def _known_forms() -> dict[Form, ScannerSpec]:
    """Return the forms of the known patterns, built branch by branch, because many share most branches."""
    branch = lru_cache(maxsize=None)(lambda text: _form(parse(text)))
    return {sum(map(branch, branches), ()): spec for branches, spec in _spellings()}


def _spellings() -> Iterator[tuple[list[str], ScannerSpec]]:
    """Yield the branches of each known pattern, in all spellings that `_form` does not make equal."""
    last = [r"\s+(?!\S)", r"\s+"], [r"\s+(?!\S)", r"\s"]  # equal: `\s+(?!\S)` leaves at most one character
    other, contraction = r" ?[^\s\p{L}\p{N}]+", r"'(?i:[sdmt]|ll|ve|re)"
    ends: tuple[list[str], ...] = ([], [r"\s+$"])
    # Here an end changes nothing: `\s+(?!\S)` also takes all white space at the end of the text. Below, `lines`
    # would take only the part up to the last line end.
    for tail, end in product(last, ends):
        words = [r"'(?:[sdmt]|ll|ve|re)", r" ?\p{L}+", r" ?\p{N}+"]
        yield [*words, other, *end, *tail], ScannerSpec("gpt2", 0)
    # `\s*[\r\n]` takes all line ends of a run as `\s*[\r\n]+` does.
    for lines, tail, n_digits in product((r"\s*[\r\n]", r"\s*[\r\n]+"), last, range(_MAX_DIGITS + 1)):
        numbers = rf"\p{{N}}{{1,{n_digits}}}" if n_digits else r"\p{N}+"
        word = r"[^\r\n\p{L}\p{N}]?\p{L}+"
        for first, end in product(([contraction], []), ends):
            yield (
                [*first, word, numbers, other + r"[\r\n]*", *end, lines, *tail],
                ScannerSpec("cl100k", n_digits, bool(first), bool(end)),
            )
        for suffix in (f"(?:{contraction})?", ""):
            yield (
                [*_cased_words(suffix), numbers, other + r"[\r\n/]*", lines, *tail],
                ScannerSpec("o200k", n_digits, bool(suffix)),
            )


def _cased_words(suffix: str) -> tuple[str, str]:
    before = r"[^\r\n\p{L}\p{N}]?"
    upper, lower = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
    return f"{before}{upper}*{lower}+{suffix}", f"{before}{upper}+{lower}*{suffix}"


def _form(node: Node) -> Form:
    """Return a pattern as branches, each a tuple of parts; neighbouring branches of strings are joined."""
    out: list[Form] = []
    for branch in _branches(node):
        strings = _strings(branch)
        if strings is None:
            out.append(_sequence(branch))
        elif out and out[-1][0] == "strings":
            # Order does not matter: in the known patterns, no string of a set begins another.
            out[-1] = ("strings", out[-1][1] | strings)
        else:
            out.append(("strings", strings))
    return tuple(out)


def _branches(node: Node) -> Iterator[Node]:
    if isinstance(node, Group):
        yield from _branches(node.child)
    elif isinstance(node, Alternation):
        for branch in node.branches:
            yield from _branches(branch)
    else:
        yield node


def _parts(node: Node) -> Iterator[Node]:
    if isinstance(node, Group):
        yield from _parts(node.child)
    elif isinstance(node, Concat):
        for part in node.parts:
            yield from _parts(part)
    elif isinstance(node, Repeat) and (node.minimum, node.maximum) == (1, 1):
        yield from _parts(node.child)
    else:
        yield node


def _sequence(node: Node) -> Form:
    parts = list(_parts(node))
    out: list[Form] = []
    for number, part in enumerate(parts):
        if isinstance(part, Repeat):
            mode = part.mode
            if mode is Mode.POSSESSIVE and _never_gives_back(part, parts[number + 1 :]):
                mode = Mode.GREEDY
            out.append(("repeat", _form(part.child), part.minimum, part.maximum, mode))
        elif isinstance(part, Alternation):
            out.append(("branches", _form(part)))
        else:
            out.append(("node", part))
    return ("sequence", *out)


def _never_gives_back(repeat: Repeat, rest: list[Node]) -> bool:
    """Tell whether a greedy repetition surely never needs to backtrack for the rest to match."""
    taken = _set_of(repeat.child)
    if taken is None:
        return False
    for part in rest:
        if isinstance(part, Anchor):  # `$`: no known pattern has another anchor
            return True
        characters = _set_of(part.child if isinstance(part, Repeat) else part)
        if characters is None or taken & characters:
            return False
    return True


def _set_of(node: Node) -> CharSet | None:
    parts = list(_parts(node))
    return parts[0].characters if len(parts) == 1 and isinstance(parts[0], Chars) else None


def _strings(node: Node) -> frozenset[str] | None:
    """Return the strings that a node matches, if it matches only a few; else None."""
    if isinstance(node, Chars):
        return frozenset(node.characters) if len(node.characters) <= _MAX_ALTERNATIVES else None
    if isinstance(node, Group):
        return _strings(node.child)
    if isinstance(node, Concat):
        strings = frozenset([""])
        for part in node.parts:
            endings = _strings(part)
            if endings is None or len(strings) * len(endings) > _MAX_ALTERNATIVES:
                return None
            strings = frozenset(a + b for a in strings for b in endings)
        return strings
    if isinstance(node, Alternation):
        sets = [_strings(branch) for branch in node.branches]
        return None if None in sets else frozenset().union(*(found for found in sets if found is not None))
    return None
