"""Special and added tokens of a tokenizer: their rules, and the matchers for a call."""

from __future__ import annotations

from array import array
from collections.abc import Collection
from itertools import chain
from operator import itemgetter

from fastbpe._core.merge.vocabulary import MAX_IDS
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe._utils.arguments import integer
from fastbpe._utils.caching import cached_property
from fastbpe._utils.short_reprs import short_repr
from fastbpe.errors import SpecialTokenError
from fastbpe.model import AddedToken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Protocol

    class Ordinary(Protocol):
        """Vocabulary of ordinary tokens, with which special tokens may clash."""

        @property
        def n_ids(self) -> int: ...
        def has(self, token_id: int) -> bool: ...
        def find(self, token: bytes) -> int | None: ...


_MAX_MATCHERS = 32  # matchers to keep, one for each set of special tokens that callers allow or forbid
_MAX_SEARCHED_FIRSTS = 16  # characters to search for one by one; more are compared as sets
# Limits of comparing added tokens: beyond these, they are matched in two steps, which is always right.
_MAX_COMPARED_CHARACTERS = 1 << 16  # characters of all tokens together
_MAX_COMPARED_LENGTH = 1 << 8  # characters of one token; the time grows with its square

# Flags of a token, as SpecialMatcher takes them.
_LSTRIP, _RSTRIP, _SINGLE_WORD, _PASSED_OVER, _PYTHON_BLANKS, _FOUND_INSIDE = 1, 2, 4, 8, 16, 32


class SpecialTokens:
    """Special and added tokens of one tokenizer, checked against its vocabulary.

    tokens: special tokens, name to id.
    vocabulary: the ordinary tokens.
    added: added tokens of a tokenizer.json: special tokens with flags, and tokens found in any text.
    normalize: function that changes a text before it is searched for normalized added tokens; None: no change.
    may_share: allow several special tokens with the same id, which decodes to the first of them, and a special
        token with the text of an ordinary token, with or without its id.
    decodes_stand_ins: added tokens are decoded as in tokenizers, which reads GPT-2's byte characters in them, such
        as "é", as bytes; False: each decodes to its text.
    empty: id of the empty token, which no text is encoded to and which decodes to nothing; None: no such token.
    every: code for the set of all special tokens, which errors suggest; None: the code for a `Tokenizer`.
    python_blanks: the flags lstrip and rstrip count white space as Python does.

    Raises SpecialTokenError if a token breaks the rules.
    """

    def __init__(
        self,
        tokens: Mapping[str, int],
        vocabulary: Ordinary,
        added: Sequence[AddedToken] = (),
        normalize: Callable[[str], str] | None = None,
        *,
        may_share: bool = False,
        decodes_stand_ins: bool = True,
        empty: int | None = None,
        every: str | None = None,
        python_blanks: bool = False,
    ) -> None:
        # Check now. The dictionaries and matchers of many tokens take longer: the first use makes them.
        check_names(tokens)
        self.added = tuple(added)
        tokens = {str.__str__(name): checked_id(name, token_id) for name, token_id in tokens.items()}
        _check_ids(tokens, vocabulary, {token.content for token in added}, may_share)
        self._tokens = tokens
        self._vocabulary = vocabulary
        self._normalize = normalize
        self._decodes_stand_ins = decodes_stand_ins
        self._every = every
        self._blank_flags = _PYTHON_BLANKS if python_blanks else 0
        self._empty = {} if empty is None else {empty: b""}
        self._decoded_added = self._decode_added()
        self._matchers: dict[frozenset[str], SpecialMatcher | None] = {}
        self._finders: dict[frozenset[str], SpecialMatcher | None] = {}

    @cached_property
    def ids(self) -> dict[str, int]:
        """Map of names to ids, in the order of ids."""
        return dict(sorted(self._tokens.items(), key=itemgetter(1)))

    @cached_property
    def names(self) -> dict[int, str]:
        """Map of ids to names; the first name if several share an id."""
        names: dict[int, str] = {}
        for name, token_id in self.ids.items():
            names.setdefault(token_id, name)
        return names

    @cached_property
    def set(self) -> frozenset[str]:
        return frozenset(self._tokens)

    @cached_property
    def decoded(self) -> dict[int, bytes]:
        """Map of ids to the bytes to which they decode. Some of the ids may also be ordinary tokens."""
        by_name = {token_id: name.encode() for token_id, name in self.names.items()}
        return self._empty | by_name | self._decoded_added

    @cached_property
    def left_out(self) -> frozenset[int]:
        """Set of the ids that skip_special_tokens= leaves out.

        As in tokenizers, it does not contain a special token that normalizing changes.
        """
        found = {**self.names, **{token.id: self._found_as(token) for token in self.added}}
        return frozenset([token_id for token_id, name in found.items() if name in self._tokens])

    def _found_as(self, token: AddedToken) -> str:
        """Return the text by which an added token is found."""
        return self._normalize(token.content) if token.normalized and self._normalize else token.content

    @cached_property
    def not_ordinary(self) -> list[tuple[int, bytes]]:
        """List of (id, bytes to which it decodes) of the ids that are not ordinary tokens, in the order of ids."""
        return [(i, token) for i, token in sorted(self.decoded.items()) if not self._vocabulary.has(i)]

    @cached_property
    def ids_of_bytes(self) -> dict[bytes, int]:
        """Map of bytes to ids: of names, and of the bytes to which other ids decode. A name takes precedence."""
        by_name = {name.encode(): token_id for name, token_id in self.ids.items()}
        return {token: token_id for token_id, token in self.not_ordinary} | by_name

    def _decode_added(self) -> dict[int, bytes]:
        """Map ids of added tokens to bytes: of the text by which they are found, as in tokenizers.

        Raises SpecialTokenError for a token that is empty after normalization.
        """
        if not self.added:
            return {}
        from fastbpe.formats.byte_level import is_visible_ascii  # here: few tokenizers have them
        from fastbpe.formats.huggingface.byte_vocabulary import decoded

        contents = [token.content for token in self.added]
        if self._normalize is None and all(contents) and is_visible_ascii("".join(contents)):
            # Each of these characters represents its own byte, so there is nothing to decode.
            return {token.id: token.content.encode() for token in reversed(self.added)}
        by_id = {}
        for token in reversed(self.added):  # the first of several with the same id counts
            text = self._found_as(token)
            if not text:
                raise SpecialTokenError(
                    f"the added token {token.content!r} is empty after normalization: it would match everywhere"
                )
            by_id[token.id] = decoded(text) if self._decodes_stand_ins else text.encode()
        return by_id

    def choose(
        self, allowed: str | Collection[str], disallowed: str | Collection[str]
    ) -> tuple[SpecialMatcher | None, SpecialMatcher | None]:
        """Return a matcher for the tokens to find, and one for the special tokens to refuse, by tiktoken's rules.

        Each is None if there are no such tokens.

        allowed: special tokens to find: a set, or "all".
        disallowed: special tokens to refuse: a set, or "all" for all that are not allowed.
        """
        # Fast paths for the arguments of nearly every call.
        if isinstance(disallowed, (str, tuple)) and disallowed in ("all", ()):
            if isinstance(allowed, str) and allowed == "all":
                return self.trusted, None
            if not allowed and isinstance(allowed, Collection):
                return self.always, self.all if disallowed else None
        allow = self._set(allowed, "allowed_special")
        forbid = self.set - allow if disallowed == "all" else self._set(disallowed, "disallowed_special")
        return self._finder(allow & self.set), self._matcher(forbid)

    @cached_property
    def all(self) -> SpecialMatcher | None:
        """Matcher of all special tokens; None without special tokens."""
        return self._matcher(self.set)

    @cached_property
    def trusted(self) -> SpecialMatcher | None:
        """Matcher of all special and added tokens; None without such tokens."""
        return self._finder(self.set)

    @cached_property
    def untrusted(self) -> SpecialMatcher | None:
        """Matcher of added tokens that untrusted text may become (only white space, and not special), or None."""
        if not self.added:
            return None
        return self._make_finder(frozenset(), [token for token in self.added if is_blank(token)])

    @cached_property
    def always(self) -> SpecialMatcher | None:
        """Matcher of the tokens to find if no special token is allowed; None without such tokens."""
        return self._finder(frozenset())

    def _set(self, names: str | Collection[str], argument: str) -> frozenset[str]:
        """Return the set that an argument means: all special tokens for "all".

        Raises ValueError for another str, TypeError for an object that is not a collection.
        """
        if isinstance(names, str):
            if names == "all":
                return self.set
            raise ValueError(f'{argument}={names!r:.60}: pass "all" or a set of special tokens')
        if isinstance(names, frozenset):
            return names
        if isinstance(names, Collection):
            return frozenset(names)
        raise TypeError(f'{argument} must be "all" or a set of special tokens, not {type(names).__name__}')

    def _matcher(self, names: frozenset[str]) -> SpecialMatcher | None:
        """Return the matcher for these names, special tokens or not; None if there are no names."""
        if not names:
            return None
        return _kept(self._matchers, names, lambda: make_matcher(names, self.ids, self._every))

    def _finder(self, allowed: frozenset[str]) -> SpecialMatcher | None:
        """Return the matcher for these special tokens and for all added tokens that are not special.

        None if it would find no token.
        Requires: the tokenizer has all of `allowed`.
        """
        if not self.added:
            return self._matcher(allowed)
        if not allowed and all(token.special for token in self.added):
            return None
        return _kept(self._finders, allowed, lambda: self._make_finder(allowed, [*self._plain(), *self.added]))

    def _plain(self) -> list[AddedToken]:
        """List the special tokens that are not among the added ones."""
        listed = {token.content for token in self.added}
        return [AddedToken(content=name, id=i, special=True) for name, i in self.ids.items() if name not in listed]

    def _make_finder(self, allowed: frozenset[str], tokens: Sequence[AddedToken]) -> SpecialMatcher:
        """Return a matcher that finds these tokens and, as in tokenizers, skips disallowed special ones.

        An allowed special token is found inside a skipped one too: by tiktoken's rule, a name that is not allowed
        is plain text. tokenizers allows all special tokens or none.
        """
        raw = [token for token in tokens if not token.normalized]
        normalized = [token for token in tokens if token.normalized]
        # tokenizers searches twice. Without a normalizer and overlaps, one search finds the same tokens.
        if normalized and self._normalize is None and not _may_touch(raw, normalized):
            raw, normalized = raw + normalized, []
        then = None
        if normalized:
            normalize = self._normalize or str
            texts: dict[str, AddedToken] = {}
            # If several become the same text, a special one counts. (tokenizers takes any of them.)
            for token in sorted(normalized, key=lambda token: (not token.special, token.id)):
                texts.setdefault(normalize(token.content), token)
            then = _finder_of(list(texts), list(texts.values()), allowed, self._blank_flags)
        return _finder_of([token.content for token in raw], raw, allowed, self._blank_flags, then)


def is_blank(token: AddedToken) -> bool:
    """Tell whether an added token consists of white space and is not special."""
    from fastbpe.splitting.charset import blanks  # here: few tokenizers have added tokens

    return not token.special and not token.content.strip(blanks())


def _kept(
    kept: dict[frozenset[str], SpecialMatcher | None], names: frozenset[str], make: Callable[[], SpecialMatcher]
) -> SpecialMatcher | None:
    """Return the cached matcher for a set of names, or create it. The oldest is dropped if there are too many."""
    try:
        return kept[names]
    except KeyError:
        pass
    made = make()
    if len(kept) >= _MAX_MATCHERS:
        kept.pop(next(iter([*kept])), None)  # from a copy: other threads may change the dictionary
    kept[names] = made
    return made


def make_matcher(names: Iterable[str], ids: Mapping[str, int], every: str | None = None) -> SpecialMatcher:
    """Return a matcher for names. Raises SpecialTokenError as `check_names` does.

    A name without an id gets 0: it is only refused in text, for which no id is needed.
    every: expression for the set of all special tokens, for errors; None: the expression for a `Tokenizer`.
    """
    names = [*names]
    check_names(names)
    made = SpecialMatcher([name.encode() for name in names], [ids.get(name, 0) for name in names])
    if every is not None:
        made.every = every
    return made


def _finder_of(
    texts: Sequence[str],
    tokens: Sequence[AddedToken],
    allowed: Collection[str],
    blank_flags: int,
    then: SpecialMatcher | None = None,
) -> SpecialMatcher:
    """Return a matcher for added tokens. texts: text by which each token is found.

    Flags without effect are left out, because a matcher without flags is faster.

    blank_flags: flags to add for tokens with lstrip or rstrip: _PYTHON_BLANKS or 0.
    then: matcher for the normalized text between the found tokens; None: find no tokens there.
    """
    passes_over = any(special and content not in allowed for content, _, special, *_ in tokens)
    flags = bytes(
        [
            (_LSTRIP if lstrip else 0)
            | (_RSTRIP if rstrip else 0)
            | (_SINGLE_WORD if single_word else 0)
            | (_PASSED_OVER if special and content not in allowed else 0)
            | (blank_flags if lstrip or rstrip else 0)
            | (_FOUND_INSIDE if passes_over and special and content in allowed else 0)
            for content, _, special, _, lstrip, rstrip, single_word in tokens
        ]
    )
    words = _word_characters() if any(token.single_word for token in tokens) else b""
    return SpecialMatcher([text.encode() for text in texts], [token.id for token in tokens], flags, then, words)


_packed_ranges = b""


def _word_characters() -> bytes:
    r"""Pack the characters of \w as uint32: first and last of each range. The first call makes them."""
    global _packed_ranges
    if not _packed_ranges:
        from fastbpe.splitting.charset import CharSet

        _packed_ranges = array("I", chain.from_iterable(CharSet.word().ranges)).tobytes()
    return _packed_ranges


def _may_touch(some: Sequence[AddedToken], others: Sequence[AddedToken]) -> bool:
    """Tell whether one of `some` and one of `others` may overlap in a text; True if that is not known.

    If no two may overlap, one matcher can find all of them.
    """
    if any(token.lstrip or token.rstrip or token.single_word for token in (*some, *others)):
        return True
    ours, theirs = [token.content for token in some], [token.content for token in others]
    if sum(map(len, ours)) + sum(map(len, theirs)) > _MAX_COMPARED_CHARACTERS:
        return True
    if max(map(len, ours + theirs), default=0) > _MAX_COMPARED_LENGTH:
        return True
    if not _begins_inside(ours, theirs) and not _begins_inside(theirs, ours):
        # Then two overlap only if one is a prefix of another; sorted, a prefix comes just before such a text.
        contents = sorted(ours + theirs)
        return any(map(str.startswith, contents[1:], contents))
    return _reaches(ours, theirs) or _reaches(theirs, ours)


def _begins_inside(some: Sequence[str], others: Sequence[str]) -> bool:
    """Tell whether the first character of one of `others` occurs within one of `some`, after its first."""
    inside = "".join([content[1:] for content in some])
    firsts = {content[0] for content in others}
    # Searching for a few characters is faster than making a set of the characters of thousands of tokens.
    if len(firsts) < _MAX_SEARCHED_FIRSTS:
        return any(first in inside for first in firsts)
    return not firsts.isdisjoint(inside)


def _reaches(some: Sequence[str], others: Sequence[str]) -> bool:
    """Tell whether one of `others` may begin within one of `some`."""
    begins = {content[:n] for content in others for n in range(1, len(content) + 1)}
    whole = {*others}
    for content in some:
        for start in range(len(content)):
            for end in range(start + 1, len(content) + 1):
                if content[start:end] not in begins:
                    break
                if content[start:end] in whole:
                    return True
            else:  # the rest of the content begins one of `others`
                return True
    return False


def id_of_marker(special_tokens: Mapping[str, int], argument: str, name: str | None) -> tuple[int, ...]:
    """Return (id,) of a special token, () for None. Raises SpecialTokenError if there is no such special token."""
    if name is None:
        return ()
    if name not in special_tokens:
        has = ", ".join(map(repr, special_tokens)) or "none"
        raise SpecialTokenError(f"{argument}={name!r} is not a special token of this tokenizer; it has: {has}")
    return (special_tokens[name],)


def checked_id(name: str, token_id: object) -> int:
    """Return the id of a special token as an int. Raises SpecialTokenError if it is not an integer."""
    if type(token_id) is int:
        return token_id
    try:
        return integer("id", token_id)
    except TypeError:
        raise SpecialTokenError(f"token {name!r} has the id {token_id!r}: ids are integers") from None


def _check_ids(tokens: Mapping[str, int], vocabulary: Ordinary, added: Collection[str], may_share: bool) -> None:
    """Raise SpecialTokenError for ids out of range or given twice, and for ids or texts of ordinary tokens.

    added: names that may share their id or their bytes with an ordinary token. may_share: as in SpecialTokens.
    """
    if not vocabulary.n_ids and _are_distinct_ids(tokens.values(), may_share):
        return
    taken: dict[int, str] = {}
    for name, token_id in tokens.items():
        if not 0 <= token_id < MAX_IDS:
            shown = short_repr(token_id)
            raise SpecialTokenError(f"special token {name!r} has the id {shown}: not in 0..{MAX_IDS - 1}")
        if token_id in taken and not may_share:
            raise SpecialTokenError(f"special tokens {taken[token_id]!r} and {name!r} have the same id {token_id}")
        taken[token_id] = name
        if name in added:
            continue
        ordinary = vocabulary.find(name.encode())
        if vocabulary.has(token_id) and not (may_share and ordinary == token_id):
            raise SpecialTokenError(
                f"special token {name!r} has the id {token_id}, which another token of the "
                f"vocabulary has; use {vocabulary.n_ids} or more"
            )
        if ordinary is not None and not may_share:
            raise SpecialTokenError.is_ordinary(name, ordinary)


def _are_distinct_ids(ids: Collection[int], may_share: bool) -> bool:
    """Tell whether all are ids and (unless may_share) no two equal.

    One check of all is faster than hundreds of single ones.
    """
    if not {int}.issuperset(map(type, ids)):
        return False
    return (may_share or len({*ids}) == len(ids)) and min(ids, default=0) >= 0 and max(ids, default=0) < MAX_IDS


def check_names(names: Collection[str], what: str = "special token") -> None:
    """Raise SpecialTokenError for a name that is not a str, is empty, has a surrogate, or is given twice."""
    if _are_names(names):
        return
    seen = set()
    for name in names:
        if not isinstance(name, str):
            raise SpecialTokenError(f"{what} {name!r} is {type(name).__name__}, not str")
        if not name:
            raise SpecialTokenError(f"a {what} is empty: it would match everywhere in a text")
        if not name.isascii() and any("\ud800" <= character <= "\udfff" for character in name):
            raise SpecialTokenError(f"{what} {name!r} contains a surrogate, which UTF-8 cannot encode")
        if name in seen:
            raise SpecialTokenError(f"{what} {name!r} is given twice; pass it once")
        seen.add(name)


def _are_names(names: Collection[str]) -> bool:
    """Tell whether all are names and no two equal. One check of all is faster than hundreds of single ones."""
    if not {str}.issuperset(map(type, names)) or not all(names) or len({*names}) != len(names):
        return False
    try:
        "".join(names).encode()
    except UnicodeEncodeError:
        return False
    return True
