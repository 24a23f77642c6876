"""Sources with names: `train({"en": …, "de": …}, weights=…)` or `parity=…`."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from fastbpe._utils.arguments import integer
from fastbpe._utils.short_reprs import short_repr
from fastbpe._utils.suggestions import did_you_mean
from fastbpe.errors import TrainingError

_EXAMPLE = '{"en": "en/", "de": "de/"}'


def check_named(source: Any, what: str) -> None:
    """Check that a value is a mapping of names to sources.

    Args:
        source: the value.
        what: description of the value, for the error.

    Raises:
        TrainingError: the value is a source or counts instead, or it is empty.
        TypeError: a name is not a str.
    """
    if not isinstance(source, Mapping) or _are_counts(source):
        kind = "counts" if isinstance(source, Mapping) else type(source).__name__
        raise TrainingError(f"{what} must be a dict of names to sources, such as {_EXAMPLE}, not {kind}")
    if not source:
        raise TrainingError(f"{what} is empty: pass a dict of names to sources, such as {_EXAMPLE}")
    for name in source:
        if not isinstance(name, str):
            raise TypeError(f"the names in {what} must be str, not {type(name).__name__}")


def check_not_named(source: Any) -> None:
    """Raise TypeError if a source is a mapping of names to sources, which needs weights= or parity=."""
    if isinstance(source, Mapping) and source and not _are_counts(source):
        name, value = next(iter(source.items()))
        raise TypeError(
            f"count of {short_repr(name)} must be an integer, not {type(value).__name__}; if the source is a dict "
            "of names to sources, pass also weights= or parity=; or put the sources into one list"
        )


def check_names(names: Iterable[object], known: Collection[str], argument: str) -> None:
    """Raise TrainingError for a name that is not a source's. argument: name of the argument, for the error."""
    for name in names:
        if name not in known:
            raise TrainingError(
                f"{argument}= has {name!r}, which is not a source: "
                f"{did_you_mean(name, known, quoted=True) or 'the sources are ' + ', '.join(map(repr, known))}"
            )


def weights_of(weights: Any, names: Collection[str]) -> dict[str, int]:
    """Return the weight of each source; 1 for a source without a weight.

    Raises:
        TrainingError: a weight is below 1, or there is no source with that name.
        TypeError: weights is not a mapping, or a weight is not an integer.
    """
    if not isinstance(weights, Mapping):
        raise TypeError(f"weights must be a dict of names to integers, not {type(weights).__name__}")
    check_names(weights, names, "weights")
    found = {name: integer(f"the weight of {name!r}", weights.get(name, 1)) for name in names}
    for name, weight in found.items():
        if weight < 1:
            raise TrainingError(f"the weight of {name!r} is {weight}: use 1 or more, or leave the source out")
    return found


def _are_counts(source: Mapping[Any, Any]) -> bool:
    """Tell, by its first value, whether a mapping has pieces as keys and counts as values."""
    first = next(iter(source.values()), None)
    return first is not None and not isinstance(first, (str, bytes, Iterable)) and not hasattr(first, "__fspath__")
