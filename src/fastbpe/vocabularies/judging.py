"""Measures of a vocabulary on texts: Rényi efficiency, and the inequality of costs among languages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log

_ALPHA = 2.5  # order of the entropy that correlated best with translation quality in the paper


def renyi_efficiency(counts: Iterable[int], vocab_size: int) -> float | None:
    """Return the Rényi efficiency: the entropy of order 2.5 of the tokens of texts, divided by its maximum.

    It is 1 if all tokens of the vocabulary are equally frequent, and low if a few of them dominate the texts
    (Zouhar et al. 2023, "Tokenization and the Noiseless Channel", arXiv 2306.16842).

    Args:
        counts: occurrences of each token.
        vocab_size: number of tokens of the vocabulary.

    Returns:
        The efficiency; None if the texts have no tokens, or the vocabulary has fewer than two.

    >>> renyi_efficiency([5, 5, 5, 5], 4)
    1.0
    """
    found = [n for n in counts if n]
    total = sum(found)
    if not total or vocab_size < 2:
        return None
    powers = sum((n / total) ** _ALPHA for n in found)
    return abs(log(powers) / (1 - _ALPHA) / log(vocab_size))  # abs: 0.0, not -0.0, for a single token


def gini(costs: Sequence[float]) -> float | None:
    """Return the Gini coefficient of the costs of languages: 0 if all are equal, near 1 if one has nearly all.

    It is the mean difference between two costs (over all pairs, each cost with itself included), divided by twice
    the mean of the costs (Gini 1912). Costs are tokens per parallel line, as in work on parity among languages
    (Foroutan et al. 2025, arXiv 2508.04796).

    Args:
        costs: cost of each language.

    Returns:
        The coefficient; None if there are no costs, or all are 0.

    >>> gini([2.0, 2.0]), gini([1.0, 3.0])
    (0.0, 0.25)
    """
    total = sum(costs)
    if not total:
        return None
    n = len(costs)
    # The sum of the differences, each pair counted once: a cost is the greater one in rank - 1 pairs, and the
    # smaller one in n - rank.
    ranked = sum((2 * rank - n - 1) * cost for rank, cost in enumerate(sorted(costs), 1))
    return ranked / (n * total)
