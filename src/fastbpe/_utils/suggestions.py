"""Suggestions in errors: the known names that are most similar to a misspelled one.

Case, spaces and punctuation are ignored: "GPT 4o" equals "gpt-4o". Names with different numbers are similar only
if one name contains the other: llama2 is not a misspelling of llama3.
"""

from __future__ import annotations

from collections.abc import Iterable

_CUTOFF = 0.7  # minimum ratio of difflib at which two names are similar
_MAX_NAME = 100  # characters; a longer text is no name, and comparing it takes long
_MIN_CONTAINED = 4  # letters and digits; a shorter name is not similar because the other contains it


def nearest(name: object, known: Iterable[str], n: int = 2, *, exact: bool = False) -> list[str]:
    """List the known names that the caller may have meant, the most similar first.

    Args:
        name: the unknown name. If it is not a str, nothing is similar to it.
        known: names to choose from. Of equally similar names, the first are taken.
        n: int – maximum number of names to list.
        exact: bool – list only names that differ just in case, spaces and punctuation.

    >>> nearest("gpt4o", ["gpt2", "gpt-4", "gpt-4o"])
    ['gpt-4o']
    >>> nearest("shaw", ["show", "vocab"]), nearest("llama2", ["llama3", "llama4"])
    (['show'], [])
    """
    import difflib  # here: the import is slow, and only errors need it

    if not isinstance(name, str) or len(name) > _MAX_NAME or not (plain := _plain(name)):
        return []
    plains = {one: _plain(one) for one in known}
    same = [one for one, other in plains.items() if other == plain]
    if same or exact:
        return same[:n]
    parts = [one for one, other in plains.items() if len(plain) >= _MIN_CONTAINED and plain in other]
    if parts:
        return sorted(parts, key=lambda one: not plains[one].startswith(plain))[:n]
    # The name continues a known one, as gpt2-medium does: the longest known one is the best.
    longer = [one for one, other in plains.items() if len(other) >= _MIN_CONTAINED and plain.startswith(other)]
    digits = _digits(plain)
    alike = [
        (difflib.SequenceMatcher(None, plain, other).ratio(), one)
        for one, other in plains.items()
        if _digits(other) == digits
    ]
    near = [one for ratio, one in sorted(alike, key=lambda found: -found[0]) if ratio >= _CUTOFF]
    return list(dict.fromkeys(sorted(longer, key=lambda one: -len(plains[one]))[:1] + near))[:n]


def did_you_mean(name: object, known: Iterable[str], *, quoted: bool = False) -> str:
    """Return "did you mean ...?" for an error, or "" if no known name is similar.

    >>> did_you_mean("pairs", ["pair", "first"], quoted=True), did_you_mean("x", ["pair"])
    ("did you mean 'pair'?", '')
    """
    near = [repr(one) if quoted else one for one in nearest(name, known)]
    return f"did you mean {' or '.join(near)}?" if near else ""


def choose_one_of(name: str, value: object, choices: Iterable[str], others: str = "") -> str:
    """Return the message of an error for an argument that must be one of some strings.

    Args:
        name: str – name of the argument.
        value: the given value.
        choices: the strings allowed.
        others: str – other allowed values, such as ", or None".

    >>> choose_one_of("ties", "pairs", ["pair", "first"])
    "ties='pairs': did you mean 'pair'? choose one of 'pair', 'first'"
    """
    choices = list(choices)
    near = did_you_mean(value, choices, quoted=True)
    return (
        f"{name}={value!r:.60}: {near + ' ' if near else ''}choose one of {', '.join(map(repr, choices))}{others}"
    )


def _plain(name: str) -> str:
    """Return the letters and digits of a name, in lower case."""
    return "".join(filter(str.isalnum, name)).casefold()


def _digits(name: str) -> str:
    return "".join(filter(str.isdecimal, name))
