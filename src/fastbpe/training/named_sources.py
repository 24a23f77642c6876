"""Sources with names: `train({"en": …, "de": …}, weights=…)`, or `parity=…` for merges shared among languages."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from numbers import Real
from typing import TYPE_CHECKING, Any

from fastbpe._utils.arguments import integer
from fastbpe._utils.short_reprs import short_repr
from fastbpe._utils.suggestions import did_you_mean
from fastbpe.errors import TrainingError

if TYPE_CHECKING:
    from fastbpe.corpus.corpora import Source

_ALPHA = 2.0  # default of `Parity(alpha=)`
_EXAMPLE = '{"en": "en/", "de": "de/"}'  # for errors


def check_named(source: Any, what: str) -> None:
    """Check that a value is a mapping of names to sources. The sources are not checked.

    Args:
        source: the value.
        what: description of the value with which the error begins.

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
            "of names to sources, pass also weights= or parity=, or pass one list of all texts and files"
        )


def check_names(names: Iterable[object], known: Collection[str], argument: str) -> None:
    """Raise TrainingError for a name that is not a source's.

    known: names of the sources. argument: name of the argument that has the names, for the error.
    """
    for name in names:
        if name not in known:
            raise TrainingError(
                f"{argument}= has {name!r}, which is not a source: "
                f"{did_you_mean(name, known, quoted=True) or 'the sources are ' + ', '.join(map(repr, known))}"
            )


def weights_of(weights: Any, names: Collection[str]) -> dict[str, int]:
    """Return the weight of each source; 1 for a source without a weight.

    Args:
        weights: argument of `train`.
        names: names of the sources.

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
    """Tell, by its first value, whether a mapping has pieces as keys and counts as values.

    A value other than None, a path or an iterable is taken as a count. An empty mapping has no counts.
    """
    first = next(iter(source.values()), None)
    return first is not None and not isinstance(first, (str, bytes, Iterable)) and not hasattr(first, "__fspath__")


# Parity


class Parity:
    """Options for `train(parity=)`, which shares the merges among languages.

    Ordinary training merges the pair that is most frequent in all texts together, so that the language with the
    most text gets the most tokens. Parity-aware training chooses a language for each merge, the one whose text
    still needs the most tokens, and takes the most frequent pair of that language (of equally frequent pairs,
    the one with the greatest bytes in the order of GPT-2's characters for bytes). The merge is then applied in all
    languages. tokenizers 0.23's `ParityBpeTrainer` learns the same merges. Foroutan et al. invented the method
    (https://arxiv.org/abs/2508.04796).

    Args:
        dev: dict – language → source of a text, for all languages of the training; ideally translations of one
            text. The number of its tokens decides which language needs a merge. A source is a path, texts or
            counts, as for `train`.
        ratio: dict – language → float above 0, for all languages; instead of dev. The merge goes to the language
            whose training text is compressed least: compression is bytes per token, divided by this number. Only
            the ratio of the numbers matters. A good number is the length in bytes of the same text in that
            language. Without dev and ratio, the merge goes to the language whose training text has the most
            tokens.
        window: int – a language whose share of the last `window` merges is greater than alpha / (number of
            languages) must wait, as long as another language with pairs left need not wait. None: no limit.
        alpha: float – see window; above 0. Default: 2.0, so that a language waits if it got more than twice its
            equal share.
        global_merges: int – number of first merges that are chosen as in ordinary training, by the counts of all
            languages together. Default: 0.

    Raises:
        TrainingError: a number is out of range, both dev and ratio are given, or alpha without window.
        TypeError: an argument has the wrong type.

    >>> import fastbpe
    >>> texts = {"en": ["the cat " * 9], "de": ["die Katze "]}
    >>> tokenizer = fastbpe.train(texts, vocab_size=260, parity=fastbpe.Parity(dev=texts, window=4, alpha=1.0))
    >>> tokenizer.training_report["languages"]["de"]["n_merges"]
    1
    """

    def __init__(
        self,
        *,
        dev: Mapping[str, Source] | None = None,
        ratio: Mapping[str, float] | None = None,
        window: int | None = None,
        alpha: float | None = None,
        global_merges: int = 0,
    ) -> None:
        if dev is not None and ratio is not None:
            raise TrainingError("dev= and ratio= both measure the compression of a language; pass one of them")
        if dev is not None:
            check_named(dev, "dev")
        self.dev = dev
        self.ratio = None if ratio is None else _checked_ratio(ratio)
        self.window = None if window is None else integer("window", window)
        if self.window is not None and self.window < 1:
            raise TrainingError(f"window={window}: must be at least 1, or None")
        if alpha is not None and window is None:
            raise TrainingError(f"alpha={alpha} has no effect without window=; pass window=, too")
        self.alpha = _ALPHA if alpha is None else _positive("alpha", alpha)
        self.global_merges = integer("global_merges", global_merges)
        if self.global_merges < 0:
            raise TrainingError(f"global_merges={global_merges}: must be at least 0")

    def __eq__(self, other: object) -> bool:
        return vars(self) == vars(other) if isinstance(other, Parity) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown: dict[str, Any] = {"dev": self.dev and "…", "ratio": self.ratio, "window": self.window}
        shown |= {"alpha": self.window and self.alpha, "global_merges": self.global_merges}
        return f"Parity({', '.join(f'{name}={value}' for name, value in shown.items() if value)})"


def check_parity(
    parity: Parity, languages: Collection[str], mode: str, base: object, options: Mapping[str, Any]
) -> None:
    """Check that a run can use parity=.

    Args:
        parity: the options.
        languages: names of the sources.
        mode, base: as for `train`.
        options: the options for the mode that the caller has given; no defaults.

    Raises:
        TrainingError: the run cannot use it, or dev or ratio has an unknown language or lacks one.
    """
    if mode != "byte":
        repeat = "to weight a source, pass its items or files more than once"
        way_out = "use weights= instead" if mode == "codepoint" else repeat
        raise TrainingError(f'parity= works only with mode="byte", not with mode="{mode}"; {way_out}')
    if base is not None:
        raise TrainingError("parity= learns a new vocabulary, and cannot extend base=; use weights= instead")
    if "ties" in options:
        raise TrainingError("parity= has its own rule for equally frequent pairs; leave ties= out")
    for argument, values in (("dev", parity.dev), ("ratio", parity.ratio)):
        if values is None:
            continue
        check_names(values, languages, argument)
        if missing := [name for name in languages if name not in values]:
            raise TrainingError(f"{argument}= lacks {missing[0]!r}; it needs every language of the source")
    if options.get("superwords") is not None:
        raise TrainingError(
            "superwords= cannot be combined with parity=, which measures each language by its words; leave one out"
        )


def facts_of_parity(parity: Parity) -> dict[str, Any]:
    """Return the options in the form of the training report, which tells of dev only whether it was given."""
    window = {} if parity.window is None else {"window": parity.window, "alpha": parity.alpha}
    ratio = {} if parity.ratio is None else {"ratio": parity.ratio}
    return {"dev": parity.dev is not None, **ratio, **window, "global_merges": parity.global_merges}


def _checked_ratio(ratio: Any) -> dict[str, float]:
    if not isinstance(ratio, Mapping):
        raise TypeError(f"ratio must be a dict of languages to numbers, not {type(ratio).__name__}")
    return {name: _positive(f"ratio of {name!r}", number) for name, number in ratio.items()}


def _positive(name: str, number: Any) -> float:
    if not isinstance(number, Real) or isinstance(number, bool):
        raise TypeError(f"{name} must be a number, not {type(number).__name__}")
    try:
        checked = float(number)
    except OverflowError:  # an integer
        checked = math.inf
    if not (math.isfinite(checked) and checked > 0):
        raise TrainingError(f"{name} is {number}: it must be a finite number above 0")
    return checked
