"""Special tokens of a tokenizer: what they may be, and which of them a call allows or forbids."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from functools import cached_property

from fastbpe._core.special import SpecialMatcher
from fastbpe._core.vocabulary import MAX_IDS, Vocabulary
from fastbpe.config import check_names
from fastbpe.errors import SpecialTokenError

_KEPT_MATCHERS = 32  # sets of special tokens that callers used last


class SpecialTokens:
    """The special tokens of one tokenizer, name to id, checked against its vocabulary.

    may_share: several may have the same id, which then means the first of them.
    """

    def __init__(self, tokens: Mapping[str, int], vocabulary: Vocabulary, *, may_share: bool = False) -> None:
        check_names(tokens)
        _check_ids(tokens, vocabulary, may_share)
        self.ids = dict(sorted(tokens.items(), key=lambda item: item[1]))
        self.names: dict[int, str] = {}
        for name, token_id in self.ids.items():
            self.names.setdefault(token_id, name)
        self.set = frozenset(self.ids)
        self.encoded = [(token_id, name.encode()) for token_id, name in self.names.items()]
        self.ids_of_bytes = {name.encode(): token_id for name, token_id in self.ids.items()}
        self._matchers: dict[frozenset[str], SpecialMatcher | None] = {}

    def choose(
        self, allowed: str | Collection[str], disallowed: str | Collection[str]
    ) -> tuple[SpecialMatcher | None, SpecialMatcher | None]:
        """The matchers of the special tokens that a call allows and of those it forbids (tiktoken's rules)."""
        # What nearly every call asks for costs nothing, however many special tokens there are.
        if isinstance(disallowed, str) and disallowed == "all":
            if isinstance(allowed, str) and allowed == "all":
                return self.all, None
            if not allowed and isinstance(allowed, Collection):
                return None, self.all
        allow = self._set(allowed, "allowed_special")
        forbid = self.set - allow if disallowed == "all" else self._set(disallowed, "disallowed_special")
        return self._matcher(allow & self.set), self._matcher(forbid)

    @cached_property
    def all(self) -> SpecialMatcher | None:
        """The matcher of all special tokens; None if there are none."""
        return self._matcher(self.set)

    def _set(self, names: str | Collection[str], argument: str) -> frozenset[str]:
        if isinstance(names, str):
            if names == "all":
                return self.set
            raise ValueError(f'{argument}={names!r}: give "all" or a set of special tokens')
        if isinstance(names, frozenset):
            return names
        if isinstance(names, Collection):
            return frozenset(names)
        raise TypeError(f'{argument} must be "all" or a set of special tokens, not {type(names).__name__}')

    def _matcher(self, names: frozenset[str]) -> SpecialMatcher | None:
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


def _check_ids(tokens: Mapping[str, int], vocabulary: Vocabulary, may_share: bool) -> None:
    taken: dict[int, str] = {}
    for name, token_id in tokens.items():
        if not isinstance(token_id, int) or isinstance(token_id, bool):
            raise SpecialTokenError(f"special token {name!r} has the id {token_id!r}: ids are integers")
        if not 0 <= token_id < MAX_IDS:
            raise SpecialTokenError(f"special token {name!r} has the id {token_id}: not in 0..{MAX_IDS - 1}")
        if token_id in taken and not may_share:
            raise SpecialTokenError(f"special tokens {taken[token_id]!r} and {name!r} have the same id {token_id}")
        taken[token_id] = name
        if vocabulary.has(token_id):
            raise SpecialTokenError(
                f"special token {name!r} has the id {token_id}, which the vocabulary gives to another "
                f"token; the first free id is {vocabulary.n_ids}"
            )
        ordinary = vocabulary.find(name.encode())
        if ordinary is not None:
            raise SpecialTokenError.is_ordinary(name, ordinary)
