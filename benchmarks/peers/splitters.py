"""Splitters that can be called alone: name, pattern (None for any), function from text to number of pieces."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from importlib.metadata import version

from fastbpe.patterns import PATTERNS

Count = Callable[[str], int]


def peers(pattern_name: str) -> Iterator[tuple[str, Count | None, str]]:
    """Yield (name and version, counter, reason) of each peer; without a counter, the reason why it is left out."""
    for package, make in (("regex", _regex), ("tokenizers", _tokenizers), ("gigatoken", _gigatoken)):
        try:
            yield f"{package} {version(package)}", make(pattern_name), ""
        except (ImportError, LookupError) as error:
            yield package, None, str(error)


def without_possessives(pattern: str) -> str:
    """Return a pattern equivalent to a named one, without possessive repetitions, which some libraries lack."""
    # Without "++", a `*+` may be two characters between brackets, as in deepseek_v3's.
    return re.sub(r"([+*?]|\{\d+,\d*\})\+", r"\1", pattern) if "++" in pattern else pattern


def for_oniguruma(pattern: str) -> str:
    """Return such a pattern for Oniguruma, which reads `{1,3}+` as two repetitions and `$` as a line end."""
    return without_possessives(pattern).replace(r"\s+$", r"\s+(?![\s\S])")


def _regex(pattern_name: str) -> Count:
    import regex

    # Its own \p{…}, of a later Unicode version, as a user of the package would write.
    compiled = regex.compile(text_of(pattern_name))
    return lambda text: len(compiled.findall(text))


def _tokenizers(pattern_name: str) -> Count:
    from tokenizers import Regex, pre_tokenizers

    split = pre_tokenizers.Split(Regex(for_oniguruma(text_of(pattern_name))), "isolated")
    return lambda text: len(split.pre_tokenize_str(text))


def _gigatoken(pattern_name: str) -> Count:
    import gigatoken

    if pattern_name != "gpt2":
        raise LookupError("its pretokenizer() cuts by the gpt2 pattern only")
    return lambda text: sum(1 for _ in gigatoken.pretokenizer(text.encode()))


def text_of(pattern_name: str) -> str:
    text = PATTERNS[pattern_name]
    if not isinstance(text, str):
        raise LookupError(f"{pattern_name} is several patterns")
    return text
