"""Decide for each token of a byte-level vocabulary whether some text produces it. `reach` states the proofs."""

from __future__ import annotations

import codecs
from collections import deque
from collections.abc import Iterable, Iterator
from copy import copy
from dataclasses import dataclass
from itertools import islice, tee

from fastbpe._core.merge.merge_piece import merge_alone
from fastbpe._utils.caching import cached_property
from fastbpe.splitting.piece_language import PieceLanguage, States
from fastbpe.vocabularies.material import Described, Kind, Material, decoded
from fastbpe.vocabularies.trial import Reach, Reason, Trial

# Text to put before and after a candidate, for look-arounds of the split pattern.
_CONTEXTS = ("", "a", " ", "\n", "A", "1", "!", "'", "\u4e2d", " a", "\na", "/", ".")
_MAX_TEXTS = 24  # maximum number of candidate texts for a token
_MAX_LOOKS = 1 << 20  # maximum number of neighbours to examine for a token; then it is undecided
_MAX_ALL_LOOKS = 1 << 23  # for all tokens of a vocabulary together: about 10 seconds
_MAX_COMPLETIONS = 1 << 22  # texts to try that complete characters, for all tokens together: some seconds
_CONTINUATION = range(0x80, 0xC0)
#: First bytes of characters of two, three and four bytes, which any continuation bytes may follow. So bytes that
#: can continue any character can continue one of these.
_LEADS = (b"\xc2", b"\xe1", b"\xf1")


@dataclass(frozen=True)
class _Place:
    """Position in a piece: the states of the split pattern, and the bytes so far of an incomplete character."""

    states: States
    begun: bytes = b""


#: Token that may come next: its id, the bytes of the sequence of tokens that it ends, the place after it.
_Way = tuple[int, bytes, _Place]
#: Key of a place. Equal keys mean that the same tokens can follow, to places with equal keys.
_Key = tuple[States | None, int | bytes]
#: Token that may come next: its id, its bytes, the place after it, the key of that place.
_KeyedWay = tuple[int, bytes, _Place, _Key]


class ByteSearch:
    """Search for texts that produce the tokens of a byte-level vocabulary, and for proofs that none does."""

    def __init__(self, tokenizer: Described, material: Material, reach: Reach) -> None:
        self._material = material
        self._reach = reach
        self._trial = Trial(tokenizer, reach)
        self._language = PieceLanguage(material.pattern)
        #: True if proofs about pieces are valid: pieces are whole characters, with all their bytes.
        self._knows_pieces = not material.is_split_otherwise and not material.drops_bytes
        self._texts = [i for i, kind in enumerate(material.kinds) if kind is Kind.TEXT]
        #: By states: the tokens of whole characters that may come next, as a tee: each search reads its own copy.
        self._known_begun: dict[States, Iterator[_Way]] = {}
        #: By states: the known sequences that begin a character; the sequences that are still to be continued; and
        #: (last id, key of the place after it) of each known sequence.
        self._known_opened: dict[States, tuple[list[_Way], deque[_Way], set[tuple[int, _Key]]]] = {}
        #: By the key of a place inside a character: the tokens that may come next, also a tee.
        self._known_inside: dict[_Key, Iterator[_KeyedWay]] = {}
        self._n_looks_left = _MAX_ALL_LOOKS
        self._n_completions_left = _MAX_COMPLETIONS

    def run(self) -> None:
        """Judge all tokens."""
        tokens = self._material.tokens
        self._trial.all((i, text) for i in self._texts if (text := decoded(tokens[i])) is not None)
        for i in self._texts:
            if i not in self._reach.witnesses:
                self._reach.settle(i, self._judge(i, tokens[i]))

    def _judge(self, token_id: int, token: bytes) -> Reason | None:
        """Return a proof, or None if the token now has a witness or is undecided."""
        text = decoded(token)
        # If bytes are left out of a text, the rest need not be UTF-8, or normalized.
        if not self._material.drops_bytes and not _may_be_utf8(token):
            return Reason.BYTES
        if self._material.holds_name(token):
            return Reason.NAME
        keeps = self._material.keeps
        if keeps is not None and not self._material.drops_bytes and not keeps(token.decode(errors="ignore")):
            return Reason.NORMALIZER
        if token_id in self._material.superwords:
            if text is not None:
                self._trial.one(token_id, _in_contexts(text))
            return None  # the proofs are about merges within a piece
        if merge_alone(self._material.vocabulary, token) != [token_id]:
            return self._judge_whole(token_id, text)
        if self._knows_pieces and not self._may_be_inside(token):
            return Reason.SPLITTER
        if text is not None and self._trial.one(token_id, _in_contexts(text)):
            return None
        looks = _Looks(min(_MAX_LOOKS, self._n_looks_left))
        for candidate in islice(self._candidates(token_id, token, looks), _MAX_TEXTS):
            if self._trial.one(token_id, [candidate]) or self._trial.one(token_id, _in_contexts(candidate)):
                break
        self._n_looks_left -= looks.n
        if self._material.is_split_otherwise:
            for texts in _completions(token):
                self._n_completions_left -= len(texts)
                if self._n_completions_left < 0 or self._trial.one(token_id, texts):
                    return None
        if self._knows_pieces and not looks.found and not looks.is_over:
            return Reason.NEIGHBOURS
        return None

    def _judge_whole(self, token_id: int, text: str | None) -> Reason | None:
        """Judge a token that no merge makes."""
        material = self._material
        if not material.whole_piece_first or material.vocabulary.find(material.tokens[token_id]) != token_id:
            return Reason.MERGES
        if text is None:
            return Reason.MERGES if self._knows_pieces else None
        if self._knows_pieces:
            place = self._read(_Place(self._language.start), material.tokens[token_id])
            if place is None or not self._language.may_end(place.states):
                return Reason.SPLITTER
        self._trial.one(token_id, _in_contexts(text))
        return None

    def _may_be_inside(self, token: bytes) -> bool:
        """Tell whether a piece may contain the token; its incomplete first character may be any above U+007F."""
        head = _n_continuations(token)
        states: States | None = self._language.anywhere
        if head:
            states = self._language.step(self._language.anywhere, 0x80, 0x10FFFF)
        return states is not None and self._read(_Place(states), token[head:]) is not None

    def _read(self, place: _Place, data: bytes) -> _Place | None:
        """Read bytes of a piece; None if they cannot occur at this position in a piece or in UTF-8."""
        data = place.begun + data
        read = _read_start(data)
        if read is None:
            return None
        text, n_read = read
        states = place.states
        for character in text:
            after = self._language.step(states, ord(character), ord(character))
            if after is None:
                return None
            states = after
        begun = data[n_read:]
        if begun and self._language.step(states, *_characters_of(begun)) is None:
            return None
        return _Place(states, begun)

    # Search for neighbours

    def _candidates(self, token_id: int, token: bytes, looks: _Looks) -> Iterator[str]:
        """Yield texts in which a token is between others that do not merge with it.

        The first texts may be whole pieces, later ones parts of pieces. If `looks.found` is False at the end,
        and the search did not reach its limit (`looks.is_over`), no text contains the token after merging.
        """
        # Can anything follow the token at all? If not, all tokens before it would be looked at for nothing.
        if not _n_continuations(token):
            inside = self._read(_Place(self._language.anywhere), token)
            if inside is None or next(self._behind(token_id, inside, looks), None) is None:
                return
        dead: set[_Place] = set()  # places after the token from which no piece ends
        for before, inside in self._before(token_id, token, dead, looks):
            dead.add(inside)  # until something is found that may follow
            for behind in self._behind(token_id, inside, looks):
                looks.found = True
                dead.discard(inside)
                text = decoded(before + token + behind)
                if text is not None:
                    yield text

    def _before(
        self, token_id: int, token: bytes, dead: set[_Place], looks: _Looks
    ) -> Iterator[tuple[bytes, _Place]]:
        """Yield bytes that may precede a token in its piece, with the position after the token.

        First come bytes with which a piece begins, which lead to texts to try. Then come tokens at any position of
        a piece, so that the proof covers all pieces.
        """
        head = _n_continuations(token)
        if not head:
            inside = self._read(_Place(self._language.start), token)
            if inside is not None:
                yield b"", inside
        for begin in (self._language.start, self._language.anywhere):
            places_after: dict[_Place, _Place | None] = {}  # place before the token → place after it
            for other, before, place in self._opened(begin) if head else self._begun(begin):
                if not looks.one():
                    return
                if place not in places_after:
                    places_after[place] = self._read(place, token)
                inside = places_after[place]
                if inside is not None and inside not in dead and self._stand_apart(other, token_id):
                    yield before, inside

    def _begun(self, begin: States) -> Iterator[_Way]:
        """Iterate over the tokens of whole characters that may come next: (id, bytes, position after it)."""
        if begin not in self._known_begun:
            (self._known_begun[begin],) = tee(self._read_each(begin), 1)
        return copy(self._known_begun[begin])

    def _read_each(self, begin: States) -> Iterator[_Way]:
        for other in self._short_first:
            token = self._material.tokens[other]
            place = self._read(_Place(begin), token)
            if place is not None and not place.begun:
                yield other, token, place

    def _opened(self, begin: States) -> Iterator[_Way]:
        """Yield the sequences of tokens that may begin a character: (last id, bytes, the position after them).

        Single tokens come first. Sequences of several tokens are searched for when a token needs them, and cached.
        """
        if begin not in self._known_opened:
            tokens = self._material.tokens
            places = [(i, tokens[i], self._read(_Place(begin), tokens[i])) for i in self._open_whole]
            ways = [(i, token, place) for i, token, place in places if place is not None and place.begun]
            self._known_opened[begin] = (ways, deque(ways), {(i, self._key(place)) for i, _, place in ways})
        ways, todo, seen = self._known_opened[begin]
        at = 0
        while True:
            while at < len(ways):  # other searches extend `ways`, too, while this one waits
                yield ways[at]
                at += 1
            if not todo:
                return
            last, before, here = todo.popleft()
            for other, token, after, key in self._going_on(last, here, self._key(here)):
                if after.begun and (other, key) not in seen:
                    seen.add((other, key))
                    ways.append((other, before + token, after))
                    todo.append(ways[-1])

    def _going_on(self, last: int, here: _Place, here_key: _Key) -> Iterator[_KeyedWay]:
        """Yield the tokens that may come next inside a character."""
        if here_key not in self._known_inside:
            missing = _n_bytes(here.begun[0]) - len(here.begun)
            # Tokens that complete the character, or consist of some of its missing bytes.
            tokens = (
                (other, token)
                for head, other, token in self._continuations
                if head == missing or head == len(token) < missing
            )
            (self._known_inside[here_key],) = tee(self._keyed(here, tokens), 1)
        return (way for way in copy(self._known_inside[here_key]) if self._stand_apart(last, way[0]))

    def _behind(self, token_id: int, place: _Place, looks: _Looks) -> Iterator[bytes]:
        """Yield bytes that may follow a token up to the end of its piece, made of tokens that do not merge."""
        if not place.begun and self._language.may_end(place.states):
            yield b""
        todo = deque([(token_id, place, self._key(place), b"")])
        seen = {(token_id, todo[0][2])}
        while todo:
            last, here, here_key, behind = todo.popleft()
            ways = self._going_on(last, here, here_key) if here.begun else self._coming(last, here)
            for other, token, after, key in ways:
                if not looks.one():
                    return
                if (other, key) in seen:
                    continue
                seen.add((other, key))
                if not after.begun and self._language.may_end(after.states):
                    yield behind + token  # longer ways through this token are not needed
                else:
                    todo.append((other, after, key, behind + token))

    def _coming(self, last: int, here: _Place) -> Iterator[_KeyedWay]:
        """Yield the tokens that may come next where a character begins."""
        apart = ((i, self._material.tokens[i]) for i in self._short_first if self._stand_apart(last, i))
        return self._keyed(here, apart)

    def _keyed(self, here: _Place, tokens: Iterable[tuple[int, bytes]]) -> Iterator[_KeyedWay]:
        """Yield the given tokens (id, bytes) that may come next."""
        for other, token in tokens:
            after = self._read(here, token)
            if after is not None:
                yield other, token, after, self._key(after)

    def _key(self, place: _Place) -> _Key:
        """Return the key of a place.

        After two or more bytes of a character, any bytes may complete it, so only their number matters, unless the
        pattern distinguishes the characters that begin in this way.
        """
        begun = place.begun
        if len(begun) > 1 and self._language.are_alike(*_characters_of(begun)):
            after = self._language.step(place.states, *_characters_of(begun))
            return after, _n_bytes(begun[0]) - len(begun)
        return place.states, begun

    def _stand_apart(self, left: int, right: int) -> bool:
        """Tell whether merging the bytes of two tokens results in these two tokens."""
        tokens = self._material.tokens
        return merge_alone(self._material.vocabulary, tokens[left] + tokens[right]) == [left, right]

    @cached_property
    def _short_first(self) -> list[int]:
        """Tokens that begin where a character begins, short ones first."""
        tokens = self._material.tokens
        whole = [i for i in self._texts if not _n_continuations(tokens[i])]
        return sorted(whole, key=lambda i: len(tokens[i]))

    @cached_property
    def _continuations(self) -> list[tuple[int, int, bytes]]:
        """List tokens that begin inside a character, shortest first: (number of bytes inside it, id, bytes)."""
        found = [(_n_continuations(self._material.tokens[i]), i, self._material.tokens[i]) for i in self._texts]
        return sorted((each for each in found if each[0]), key=lambda each: len(each[2]))

    @cached_property
    def _open_whole(self) -> list[int]:
        """Tokens that begin where a character begins and end inside one, short ones first."""
        tokens = self._material.tokens
        return [i for i in self._short_first if tokens[i][-1] >= 0x80 and decoded(tokens[i]) is None]


@dataclass
class _Looks:
    """Budget of the search for one token.

    limit: int – maximum number of neighbours to examine.
    n: int – number of neighbours examined so far.
    found: bool – whether some neighbours fit.
    is_over: bool – whether the search ended because it would have passed the limit.
    """

    limit: int
    n: int = 0
    found: bool = False
    is_over: bool = False

    def one(self) -> bool:
        """Count one more neighbour. Returns False if that is more than the limit."""
        self.n += 1
        self.is_over = self.n > self.limit
        return not self.is_over


def _may_be_utf8(data: bytes) -> bool:
    """Tell whether these bytes may occur in UTF-8."""
    leads = _LEADS if _n_continuations(data) else (b"",)
    return any(_read_start(lead + data) is not None for lead in leads)


def _read_start(data: bytes) -> tuple[str, int] | None:
    """Decode the whole characters of UTF-8 that may end inside a character: (text, number of its bytes).

    Returns None if no UTF-8 begins with these bytes.
    """
    try:
        text, n_read = codecs.utf_8_decode(data, "strict", False)
    except UnicodeDecodeError:
        return None
    if data[n_read : n_read + 1] == b"\xed" and data[n_read + 1 : n_read + 2] >= b"\xa0":
        return None  # a surrogate, which the codec refuses only at its last byte
    return text, n_read


def _in_contexts(text: str) -> list[str]:
    return [before + text + behind for before in _CONTEXTS for behind in _CONTEXTS]


def _completions(token: bytes) -> Iterator[list[str]]:
    """Yield texts that complete the characters at both ends of a token, for pieces that end inside characters.

    At most two bytes are added at each end: a four-byte character that lacks three is not tried.
    """
    n = _n_continuations(token)
    heads = [b""]
    if n:
        leads = [bytes([lead]) for lead in range(0xC2, 0xF5)]
        heads = [lead for lead in leads if _n_bytes(lead[0]) == n + 1]
        heads += [lead + bytes([byte]) for lead in leads if _n_bytes(lead[0]) == n + 2 for byte in _CONTINUATION]
    tails = [b"", *(bytes([byte]) for byte in _CONTINUATION)]
    for tail in [*tails, *(tail + b"\x80" for tail in tails[1:])]:
        yield [text for head in heads if (text := decoded(head + token + tail)) is not None]


def _n_continuations(data: bytes) -> int:
    """Count the bytes at the start that continue a character."""
    n = 0
    while n < len(data) and data[n] in _CONTINUATION:
        n += 1
    return n


def _n_bytes(lead: int) -> int:
    """Return the number of bytes of a character that is not ASCII, by its first byte."""
    return 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4


def _characters_of(begun: bytes) -> tuple[int, int]:
    """Return the lowest and the highest code point, surrogates included, whose UTF-8 begins with these bytes."""
    n = _n_bytes(begun[0])
    code = begun[0] & (0xFF >> (n + 1))
    for byte in begun[1:]:
        code = code << 6 | byte & 0x3F
    missing = 6 * (n - len(begun))
    least = {2: 0x80, 3: 0x800, 4: 0x10000}[n]
    return max(code << missing, least), min((code + 1 << missing) - 1, 0x10FFFF)
