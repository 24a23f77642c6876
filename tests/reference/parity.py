"""Learn merges for several languages at once: the merge is for the language whose text has the most tokens.

Written from what tokenizers' ParityBpeTrainer does (Foroutan et al., arXiv 2508.04796). Symbols are texts here, so
that a symbol and its text are the same, and two merges that make one text make one symbol.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

Word = tuple[str, ...]


class Step(NamedTuple):
    """A merge, and the language for which it was made; None: for all."""

    left: str
    right: str
    language: int | None


class Learned(NamedTuple):
    """Merges, in the order of learning.

    is_endless: tokenizers never ends here: it searches for a language without end (see `_within_window`), or, with
        `ratio`, learns for a language whose text is empty.
    """

    steps: list[Step]
    is_endless: bool


def train(
    languages: Sequence[Mapping[Word, int]],
    *,
    n_merges: int,
    dev: Sequence[Mapping[Word, int]] | None = None,
    ratio: Sequence[float] | None = None,
    window: int | None = None,
    alpha: float = 2.0,
    global_merges: int = 0,
    min_count: int = 1,
    max_length: int | None = None,
) -> Learned:
    """Learn up to `n_merges` merges.

    `languages` has the words of each language with their counts. A step chooses a language, takes the pair that is
    most frequent in its words, the greatest one (as texts: left, then right) of equally frequent ones, and merges
    it in all languages. All occurrences of a pair count, also those that overlap.

    >>> train([{("a", "a", "b", "b"): 10}, {("c", "c", "d", "d"): 10}], n_merges=3).steps
    ... # doctest: +NORMALIZE_WHITESPACE
    [Step(left='b', right='b', language=0), Step(left='d', right='d', language=1),
    Step(left='a', right='bb', language=0)]

    The first `global_merges` merges are of the pair that is most frequent in all languages together. If no
    pair is left, training ends.

    Then the language is chosen that has the most symbols, the first of equal ones. Symbols are those of `dev`, or
    else of `languages` themselves. With `ratio` it is the language whose text shrank the least: symbols before the
    first merge by symbols now, by its ratio.

    With `window`, a language is passed over if it had more than alpha / len(languages) of the last `window`
    choices.

    A language without a pair that occurs `min_count` times is exhausted: no longer chosen.

    A merge makes no symbol of more than `max_length` base symbols.
    """
    texts = [Counter(words) for words in languages]
    judged = texts if dev is None or ratio is not None else [Counter(words) for words in dev]
    before = [_n_symbols(words) for words in judged]
    lengths: dict[str, int] = {symbol: 1 for words in (*texts, *judged) for word in words for symbol in word}
    exhausted = {i for i, n in enumerate(before) if ratio is not None and not n}
    is_endless = bool(exhausted)
    chosen: list[int] = []
    steps: list[Step] = []
    while len(steps) < n_merges and len(exhausted) < len(texts):
        language = None
        if len(steps) >= global_merges:
            after = [_n_symbols(words) for words in judged]
            if ratio is None:
                needs = [float(n) for n in after]
            else:
                needs = [-(a / b / r) if b else 0.0 for a, b, r in zip(before, after, ratio, strict=True)]
            if window is None:
                language = max((i for i in range(len(texts)) if i not in exhausted), key=lambda i: (needs[i], -i))
            else:
                language, never_found = _within_window(needs, exhausted, chosen[-window:], window, alpha)
                is_endless = is_endless or never_found
                chosen.append(language)
        pair = _best(texts if language is None else [texts[language]], lengths, min_count, max_length)
        if pair is None:
            if language is None:
                break
            exhausted.add(language)
            continue
        steps.append(Step(*pair, language))
        lengths["".join(pair)] = lengths[pair[0]] + lengths[pair[1]]
        texts = [_merged(words, pair) for words in texts]
        judged = texts if dev is None or ratio is not None else [_merged(words, pair) for words in judged]
    return Learned(steps, is_endless)


def _within_window(
    needs: Sequence[float], exhausted: set[int], latest: Sequence[int], window: int, alpha: float
) -> tuple[int, bool]:
    """Choose the neediest language that was not chosen too often; tell whether tokenizers would never end.

    Exhausted languages are left out. If all others were chosen too often, tokenizers takes the least needy one of
    them; but if a language is exhausted, it takes language 0, exhausted or not, which uses up a choice. If that
    one was chosen too often, too, and others are exhausted, tokenizers never ends. Here the neediest is taken.
    """
    order = sorted((i for i in range(len(needs)) if i not in exhausted), key=lambda i: (-needs[i], i))
    for i in [*order, 0]:
        if latest.count(i) / window <= alpha / len(needs):
            return i, False
    if not exhausted:
        return order[-1], False
    return (0, False) if exhausted == {0} else (order[0], True)


def _best(
    texts: Sequence[Mapping[Word, int]], lengths: Mapping[str, int], min_count: int, max_length: int | None
) -> tuple[str, str] | None:
    counts: Counter[tuple[str, str]] = Counter()
    for words in texts:
        for word, n in words.items():
            for left, right in pairwise(word):
                if max_length is None or lengths[left] + lengths[right] <= max_length:
                    counts[left, right] += n
    best = max(counts, key=lambda pair: (counts[pair], pair), default=None)
    return best if best is not None and counts[best] >= min_count else None


def _merged(words: Mapping[Word, int], pair: tuple[str, str]) -> Counter[Word]:
    made: Counter[Word] = Counter()
    for word, n in words.items():
        symbols: list[str] = []
        i = 0
        while i < len(word):
            found = word[i : i + 2] == pair
            symbols.append("".join(pair) if found else word[i])
            i += 2 if found else 1
        made[tuple(symbols)] += n
    return made


def _n_symbols(words: Mapping[Word, int]) -> int:
    return sum(len(word) * n for word, n in words.items())
