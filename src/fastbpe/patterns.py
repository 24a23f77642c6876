"""Split patterns by name (`PATTERNS`), and the reading of arguments `pattern=`.

>>> import fastbpe
>>> list(fastbpe.PATTERNS)
['gpt2', 'cl100k', 'o200k', 'llama3', 'llama4', 'qwen2', 'tekken', 'deepseek_v3', 'none']
>>> fastbpe.train(["one two"], vocab_size=257, pattern="gpt2", progress=False).pattern == fastbpe.PATTERNS["gpt2"]
True
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TypeAlias

from fastbpe.errors import PatternError

#: A split pattern. str: a regex. tuple: several regexes; each splits the pieces of the regex before it. None: no
#: splitting.
Pattern: TypeAlias = str | tuple[str, ...] | None
#: A split pattern as an argument: a name in `PATTERNS`, a regex, a sequence of these, or None.
PatternLike: TypeAlias = str | Sequence[str] | None

_CASED_WORDS = (
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
    r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
)
_CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
_SPACES = r"\s*[\r\n]+|\s+(?!\S)|\s+"
_SIGNS_THEN_SLASHES = r" ?[^\s\p{L}\p{N}]+[\r\n/]*"
_SIGNS_THEN_LINES = r" ?[^\s\p{L}\p{N}]+[\r\n]*"
_WORDS = r"[^\r\n\p{L}\p{N}]?\p{L}+"
_O200K = "|".join([
    *(words + _CONTRACTIONS + "?" for words in _CASED_WORDS),
    r"\p{N}{1,3}",
    _SIGNS_THEN_SLASHES,
    _SPACES,
])  # fmt: skip

#: Read-only mapping of names to split patterns; "none" means no splitting.
PATTERNS: Mapping[str, Pattern] = MappingProxyType({
    # GPT-2 (2019), in tiktoken's spelling; also r50k, p50k, whisper, phi-2.
    "gpt2": r"'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s",
    # GPT-3.5 and GPT-4 (2022), in tiktoken's spelling.
    "cl100k": (
        r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+"
        r"|\s++$|\s*[\r\n]|\s+(?!\S)|\s"
    ),
    # GPT-4o and later (2024), gpt-oss: a word ends between a small and a capital letter.
    "o200k": _O200K,
    # Llama 3 (2024): cl100k as first published; a run of line ends is one piece.
    "llama3": "|".join([_CONTRACTIONS, _WORDS, r"\p{N}{1,3}", _SIGNS_THEN_LINES, _SPACES]),
    # Llama 4 (2025): the same regex as o200k.
    "llama4": _O200K,
    # Qwen 1 to 3 (from 2023): llama3, except that each digit is a piece.
    "qwen2": "|".join([_CONTRACTIONS, _WORDS, r"\p{N}", _SIGNS_THEN_LINES, _SPACES]),
    # Mistral NeMo and later (2024): o200k, except that contractions are split and each digit is a piece.
    "tekken": "|".join([*_CASED_WORDS, r"\p{N}", _SIGNS_THEN_SLASHES, _SPACES]),
    # DeepSeek V3 and R1 (2024): splits at numbers, then at Chinese and Japanese, then the rest. A punctuation
    # mark or symbol may begin a word.
    "deepseek_v3": (
        r"\p{N}{1,3}",
        "[一-龥぀-ゟ゠-ヿ]+",
        "|".join([
            r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+",
            r"[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+",
            r" ?[\p{P}\p{S}]+[\r\n]*",
            _SPACES,
        ]),
    ),
    "none": None,
})  # fmt: skip

# Names in other libraries → names here, for suggestions in errors.
_ALSO_CALLED = {
    "r50k": "gpt2",
    "p50k": "gpt2",
    "gpt3": "gpt2",
    "gpt35turbo": "cl100k",
    "gpt4": "cl100k",
    "gpt4o": "o200k",
    "gptoss": "o200k",
    "o200kharmony": "o200k",
    "qwen": "qwen2",
    "qwen3": "qwen2",
    "deepseek": "deepseek_v3",
    "deepseekr1": "deepseek_v3",
}


def resolve_pattern(pattern: PatternLike) -> tuple[str | None, Pattern]:
    r"""Find the name and the regexes of an argument `pattern=`.

    Args:
        pattern: name, regex, list of these, or None. A list of one item means that item. A str of only letters,
            digits, `_` and `-` counts as a misspelt name if it has a digit or an underscore or is similar to a
            known name. For a regex that matches such a text, write `(?:gpt9)`.

    Returns:
        (name in `PATTERNS` or None, pattern). A regex that is spelled like a named pattern gets the name.

    Raises:
        PatternError: the argument is a misspelt name or an empty list. Regexes are not parsed here.
        TypeError: the argument, or an item of the list, is not a str.

    >>> resolve_pattern("gpt2")[0], resolve_pattern(r"\w+|\W+"), resolve_pattern(None)
    ('gpt2', (None, '\\w+|\\W+'), ('none', None))

    >>> resolve_pattern([r"\d", "gpt2"]) == (None, (r"\d", PATTERNS["gpt2"]))
    True
    """
    if pattern is None:
        return "none", None
    if not isinstance(pattern, str):
        return _resolve_several(pattern)
    pattern = str.__str__(pattern)  # a plain str, if it is of a subclass
    if pattern in PATTERNS:
        return pattern, PATTERNS[pattern]
    if (name := _mistaken_name(pattern)) is not None:
        meant = f", did you mean {name!r}?" if name else ";"
        known = ", ".join(PATTERNS)
        raise PatternError(
            f"there is no split pattern named {pattern!r}{meant} known are {known}; or give a regex"
        )
    return next((name for name, text in PATTERNS.items() if text == pattern), None), pattern


def shown_pattern(pattern: Pattern, n_characters: int) -> str:
    """Return a pattern for an error or repr, shortened to n_characters."""
    if pattern is None:
        return "none"
    return repr(pattern[:n_characters]) if isinstance(pattern, str) else repr(list(pattern))[:n_characters]


def _resolve_several(patterns: Sequence[str]) -> tuple[str | None, Pattern]:
    """Resolve a list of patterns into one tuple of regexes. An item None adds no regex."""
    texts: list[str] = []
    for pattern in patterns if isinstance(patterns, (list, tuple)) else (patterns,):
        if not isinstance(pattern, str):
            raise TypeError(
                f"pattern must be a name or a regex (str), a list of them, or None, not {type(pattern).__name__}"
            )
        text = resolve_pattern(pattern)[1]
        texts += (text,) if isinstance(text, str) else text or ()
    if not texts:
        raise PatternError('a list of split patterns must not be empty; for no splitting give "none"')
    whole = texts[0] if len(texts) == 1 else tuple(texts)
    return next((name for name, text in PATTERNS.items() if text == whole), None), whole


def _mistaken_name(text: str) -> str | None:
    """Return the known name that is most similar to a text; "" if none is; None if the text is not like a name."""
    if not re.fullmatch(r"[A-Za-z0-9_-]+", text) or not re.search(r"[A-Za-z]", text):
        return None
    plain = text.lower().removesuffix("_base").replace("_", "").replace("-", "")
    import difflib  # imported here: the import is slow, and only errors need it

    close = difflib.get_close_matches(plain, PATTERNS, n=1, cutoff=0.7)
    near = _ALSO_CALLED.get(plain) or next(iter(close), "")
    return near if near or re.search(r"[0-9_]", text) else None
