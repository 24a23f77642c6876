"""Tokens that look alike, numbers, and white space at the start of lines."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from fastbpe._utils.short_reprs import fields_repr
from fastbpe.vocabularies.material import Described, Kind, Material, decoded
from fastbpe.vocabularies.trial import encoded

_MAX_DIGITS = 12  # digits of the longest numbers that are split for the report
# If these are split into groups of the same sizes, all numbers of their length count as split in this way.
_NUMBERS = ("123456789012", "999999999999", "100000000000", "271828182845", "202420252026", "736418520963")
_INDENTATIONS = (2, 4, 8, 12, 16)
_RUNS = {" ": "spaces", "\t": "tabs", "\n": "line feeds", "\r\n": "line endings"}


def group_forms(material: Material) -> dict[str, list[list[int]]]:
    """Group the tokens that differ only by case, by a space at the start, or by Unicode normalization (NFKC).

    Uses the Unicode version of Python.
    """
    texts = [
        (i, text)
        for i, kind in enumerate(material.kinds)
        if kind is Kind.TEXT and (text := decoded(material.tokens[i])) is not None
    ]
    return {
        "case": _grouped(texts, str.casefold),
        "space": _grouped(texts, lambda text: text[1:] if text[:1] == " " and len(text) > 1 else text),
        "normalization": _grouped(texts, partial(unicodedata.normalize, "NFKC")),
    }


def _grouped(texts: Iterable[tuple[int, str]], form: Callable[[str], str]) -> list[list[int]]:
    """Group the tokens of one form. Leaves out groups of one token."""
    groups: dict[str, list[int]] = {}
    for i, text in texts:
        groups.setdefault(form(text), []).append(i)
    return [ids for ids in groups.values() if len(ids) > 1]


@dataclass(frozen=True)
class Digits:
    """Tokens for numbers of ASCII digits.

    n_tokens: mapping – number of digits → how many of the 10, 100, 1,000 … numbers of this length are tokens.
        Counts only tokens that some text was found to produce.
    groups: mapping – number of digits → sizes of the groups that a number is split into; None: it depends on the
        digits.
    """

    n_tokens: Mapping[int, int]
    groups: Mapping[int, list[int] | None]

    __repr__ = fields_repr


def describe_digits(tokenizer: Described, material: Material, producible: Collection[int]) -> Digits:
    """Count the tokens that are numbers, and split some numbers of 1 to 12 digits."""
    n_tokens: dict[int, int] = {}
    for i, kind in enumerate(material.kinds):
        token = material.tokens[i]
        if kind is Kind.TEXT and token.isdigit() and i in producible:
            n_tokens[len(token)] = n_tokens.get(len(token), 0) + 1
    groups: dict[int, list[int] | None] = {}
    for n in range(1, _MAX_DIGITS + 1):
        found = encoded(tokenizer, [number[:n] for number in _NUMBERS])
        # Without the space that some vocabularies put before a text.
        sizes = {tuple(size for i in ids if (size := len(material.tokens[i].strip()))) for ids in found}
        groups[n] = list(sizes.pop()) if len(sizes) == 1 else None
    return Digits(dict(sorted(n_tokens.items())), groups)


@dataclass(frozen=True)
class Indentation:
    """White space at the start of lines.

    runs: mapping – "spaces", "tabs", "line feeds" (\\n), "line endings" (\\r\\n) → lengths of the tokens
        that are such a run and that some text was found to produce.
    cost: mapping – number of spaces → number of ids that this indentation adds to a line.
    """

    runs: Mapping[str, list[int]]
    cost: Mapping[int, int]


def describe_indentation(tokenizer: Described, material: Material, producible: Collection[int]) -> Indentation:
    """Find the tokens that are runs of white space, and measure the cost of indentation."""
    runs: dict[str, list[int]] = {name: [] for name in _RUNS.values()}
    for i, kind in enumerate(material.kinds):
        text = decoded(material.tokens[i])
        # Names, too: some vocabularies have their runs of white space as added tokens.
        if kind not in (Kind.TEXT, Kind.NAME) or not text or not text.isspace() or i not in producible:
            continue
        for unit, name in _RUNS.items():
            if text == unit * (len(text) // len(unit)):
                runs[name].append(len(text) // len(unit))
    plain, *indented = encoded(tokenizer, ["a\na", *("a\n" + " " * n + "a" for n in _INDENTATIONS)])
    cost = {n: len(ids) - len(plain) for n, ids in zip(_INDENTATIONS, indented, strict=True)}
    return Indentation({name: sorted(lengths) for name, lengths in runs.items()}, cost)


def shown_lengths(lengths: Sequence[int]) -> str:
    """Format ascending lengths as ranges; "none" without lengths.

    >>> shown_lengths([1, 2, 3, 5, 8, 9])
    '1-3, 5, 8-9'
    """
    ranges: list[list[int]] = []
    for length in lengths:
        if ranges and length == ranges[-1][1] + 1:
            ranges[-1][1] = length
        else:
            ranges.append([length, length])
    return ", ".join(str(low) if low == high else f"{low}-{high}" for low, high in ranges) or "none"
