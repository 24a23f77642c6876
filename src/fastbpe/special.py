"""Special tokens of a tokenizer: what they may be, and which of them a call allows or forbids."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Set

from fastbpe._core.special import SpecialMatcher
from fastbpe._core.vocabulary import MAX_IDS, Vocabulary
from fastbpe.errors import SpecialTokenError

_KEPT_MATCHERS = 32  # sets of special tokens that callers used last


class SpecialTokens:
    """The special tokens of one tokenizer, name to id, checked against its vocabulary."""

    def __init__(self, tokens: Mapping[str, int], vocabulary: Vocabulary) -> None:
        self.ids = dict(sorted(tokens.items(), key=lambda item: item[1]))
        self.names = {token_id: name for name, token_id in self.ids.items()}
        check_names(self.ids)
        self._check_ids(vocabulary)
        self.set = frozenset(self.ids)
        self.encoded = [(token_id, name.encode()) for name, token_id in self.ids.items()]
        self._matchers: dict[frozenset[str], SpecialMatcher | None] = {}

    def _check_ids(self, vocabulary: Vocabulary) -> None:
        taken: dict[int, str] = {}
        for name, token_id in self.ids.items():
            if not isinstance(token_id, int) or isinstance(token_id, bool):
                raise SpecialTokenError(f"special token {name!r} has the id {token_id!r}: ids are integers")
            if not 0 <= token_id < MAX_IDS:
                raise SpecialTokenError(f"special token {name!r} has the id {token_id}: not in 0..{MAX_IDS - 1}")
            if token_id in taken:
                raise SpecialTokenError(
                    f"special tokens {taken[token_id]!r} and {name!r} have the same id {token_id}"
                )
            taken[token_id] = name
            if vocabulary.has(token_id):
                raise SpecialTokenError(
                    f"special token {name!r} has the id {token_id}, which the vocabulary gives to another "
                    f"token; the first free id is {vocabulary.n_ids}"
                )
            ordinary = vocabulary.find(name.encode())
            if ordinary is not None:
                raise SpecialTokenError(
                    f"special token {name!r} is also the ordinary token {ordinary}: text could not tell them "
                    "apart; choose another name"
                )

    def choose(
        self, allowed: str | Collection[str], disallowed: str | Collection[str]
    ) -> tuple[SpecialMatcher | None, SpecialMatcher | None]:
        """The matchers of the special tokens that a call allows and of those it forbids (tiktoken's rules)."""
        allow = self._set(allowed, "allowed_special")
        forbid = self.set - allow if disallowed == "all" else self._set(disallowed, "disallowed_special")
        return self.matcher(allow & self.set), self.matcher(forbid)

    def _set(self, names: str | Collection[str], argument: str) -> frozenset[str]:
        if isinstance(names, str):
            if names == "all":
                return self.set
            raise ValueError(f'{argument}={names!r}: give "all" or a set of special tokens')
        if isinstance(names, frozenset):
            return names
        if isinstance(names, (Set, list, tuple, Collection)):
            return frozenset(names)
        raise TypeError(f'{argument} must be "all" or a set of special tokens, not {type(names).__name__}')

    def matcher(self, names: frozenset[str]) -> SpecialMatcher | None:
        """A matcher for these names, special tokens or not; None for no names."""
        if not names:
            return None
        try:
            return self._matchers[names]
        except KeyError:
            pass
        made = make_matcher(names, self.ids)
        if len(self._matchers) >= _KEPT_MATCHERS:
            self._matchers.pop(next(iter(self._matchers)), None)
        self._matchers[names] = made
        return made


def make_matcher(names: Iterable[str], ids: Mapping[str, int]) -> SpecialMatcher:
    """A matcher for names, which must pass check_names; those without an id get 0."""
    ordered = sorted(names)
    check_names(ordered)
    return SpecialMatcher([name.encode() for name in ordered], [ids.get(name, 0) for name in ordered])


def check_names(names: Iterable[str]) -> None:
    """Refuse a special token that no text could hold, and one given twice."""
    seen = set()
    for name in names:
        if not isinstance(name, str):
            raise SpecialTokenError(f"special token {name!r} is {type(name).__name__}, not str")
        if not name:
            raise SpecialTokenError("a special token is empty: it would stand everywhere in every text")
        if any("\ud800" <= character <= "\udfff" for character in name):
            raise SpecialTokenError(f"special token {name!r} holds a surrogate, which no UTF-8 text can hold")
        if name in seen:
            raise SpecialTokenError(f"special token {name!r} is given twice")
        seen.add(name)
