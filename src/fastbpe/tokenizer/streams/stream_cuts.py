"""Cuts of a text that grows: positions before which no later text changes ids.

Most split patterns have safe cuts (`_core/text/safe_cuts` has the proof). Without them, the vocabulary may
have some: between two bytes that are adjacent in no token. Let x and y be such bytes.

- A merge makes a token, and a token across this position would contain x next to y. So no merge crosses it, and
  the text before it and the text after it are merged as if each were alone.
- A special or added token across it would also contain them. `PairCuts.without` takes these into account.
- A piece that is cut there becomes two pieces. A part of a piece might be a token that no merge makes, which
  only a look-up of whole pieces finds, or a single token that supermerges join to the piece before it. So there
  are no such cuts if the vocabulary has such a token or supermerges.
- No other piece may change: the text is one piece (no pattern), or two characters decide where a piece ends (a
  pattern of runs and single characters of sets, such as `[a-z]+|[0-9]`; Splitter.by_neighbours). Other patterns
  may look at any text before and after a position, so no cut is known for these.

The same is true in code-point mode, where merging makes pieces, and whole pieces are not looked up. A text may
contain a space or U+2581 for the same character of a piece, so each piece counts in both spellings. A text that
follows an added token may get a space before it, but a text that follows a cut never does: a cut after an added
token would lose that space. So there are no such cuts if added tokens are searched for.

At byte level and in code-point mode, as with safe cuts, the two characters next to a position decide whether it
is a cut.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from fastbpe._core.encode.text_cuts import cut_near, may_cut
from fastbpe._core.split.splitter import Splitter
from fastbpe._core.text.safe_cuts import byte_neighbours
from fastbpe._core.text.special_tokens import SpecialMatcher
from fastbpe._core.text.utf8_text import to_utf8
from fastbpe.errors import SpecialTokenError
from fastbpe.tokenizer.families.codepoint_tables import METASPACE_UTF8
from fastbpe.tokenizer.families.ranked_merges import made_by, unmade

if TYPE_CHECKING:
    from typing_extensions import Self

    from fastbpe._core.encode.encoder import Encoder
    from fastbpe._core.encode.pipeline import Pipeline
    from fastbpe.model import CodePointModel, Model

#: Limit of the search forward; callers limit the search backward. If cuts are rarer, looking for them would take
#: longer than encoding the text.
NEARBY_CHARACTERS = 1 << 12
BEFORE = "a"  # placeholder for the text before a cut, which no step reads
Near = Callable[[str, int, int], int]  # (text, start, near): see PairCuts.near


class PairCuts:
    """Cuts between bytes that are not adjacent in any of the tokens. tokens: bytes of each token."""

    def __init__(self, tokens: Iterable[bytes]) -> None:
        self._inside = byte_neighbours(tokens)

    def without(self, tokens: Iterable[bytes]) -> PairCuts:
        """Leave out the cuts inside additional tokens."""
        cuts = PairCuts(())
        cuts._inside = byte_neighbours(tokens, self._inside)
        return cuts

    def near(self, text: str, start: int, near: int) -> int:
        """Find the last cut in (start, near], or else the next one nearby, or else the text's length.

        Nearby: among the NEARBY_CHARACTERS places after the later of start and near. A cut further ahead is not
        searched for.

        >>> PairCuts([b"ab", b"bc"]).near("abcabc", 0, 5)
        3
        """
        last = min(near, len(text) - 1)
        first_behind = max(last, start) + 1
        behind = range(first_behind, min(first_behind + NEARBY_CHARACTERS, len(text)))
        for places in (range(last, start, -1), behind):
            for at in places:
                if self._is_cut(text[at - 1], text[at]):
                    return at
        return len(text)

    def _is_cut(self, before: str, after: str) -> bool:
        if before < "\x80" and after < "\x80":
            return not self._inside[ord(before) << 8 | ord(after)]
        if "\ud800" <= before <= "\udfff" or "\ud800" <= after <= "\udfff":
            return False  # half of a character: its bytes are not known without the other half
        return not self._inside[before.encode()[-1] << 8 | after.encode()[0]]


def pair_cuts(pipeline: Pipeline, model: Model, *, with_flags: bool) -> PairCuts | None:
    """Return the cuts of a byte-level vocabulary; None if no cuts are known.

    with_flags: some added token also matches white space, or depends on neighbouring characters.
    """
    splitter, vocabulary = pipeline.splitter, pipeline.vocabulary
    # A front changes texts before they are split; if bytes without a token are left out, other bytes become
    # neighbours; tokens with flags depend on the characters around them.
    if pipeline.front is not None or vocabulary.drops_bytes or with_flags:
        return None
    if type(splitter) is not Splitter and not splitter.by_neighbours():  # a plain Splitter does not split
        return None
    if model.supermerges is not None or (
        model.whole_piece_first and unmade(vocabulary, made_by(vocabulary, model))
    ):
        return None
    return PairCuts(vocabulary.tokens())


def code_point_cuts(pipeline: Pipeline, model: CodePointModel) -> PairCuts | None:
    """Return the cuts of a code-point vocabulary; None if no cuts are known."""
    normalizing = pipeline.normalizing
    if pipeline.vocabulary.segmenter is not None:
        return None  # sums of scores are rounded: a piece may depend on all text before it
    if normalizing is None or normalizing.normalizer is not None or normalizing.symbols is not None:
        return None
    spaced = [piece.replace(METASPACE_UTF8, b" ") for piece in model.pieces]
    # A text may write two spaces of a piece in two ways.
    mixed = [space + other for space, other in ((b" ", METASPACE_UTF8), (METASPACE_UTF8, b" "))]
    has_doubled = any(b"  " in piece for piece in spaced)
    return PairCuts([*model.pieces, *spaced, *(mixed if has_doubled else ())])


def near_of(
    pipeline: Pipeline, pairs: Callable[[], PairCuts | None], allowed: SpecialMatcher | None
) -> Near | None:
    """Return a function that finds cuts as PairCuts.near does; None if no cuts are known.

    pairs: function that returns the cuts of the vocabulary.
    allowed: matcher of the special and added tokens to find; None: find only the added tokens that any text may
        contain.
    """
    if may_cut(pipeline, allowed, None):
        near: Near = partial(cut_near, pipeline)
        return near
    found = pairs()
    if found is None:
        return None
    finder = pipeline.always if allowed is None else allowed
    if finder is None:
        return found.near
    # finder.then: tokens that are found after normalizing, which finder.tokens lacks
    if finder.then is not None or pipeline.normalizing is not None:
        return None
    return found.without(finder.tokens).near


class GrowingText:
    """Base of a text that grows: its pipeline and cuts, and the special tokens to find and to refuse.

    pairs: as in `near_of`. allowed, disallowed: matchers of these tokens.
    """

    def __init__(
        self,
        tokenizer: Encoder,
        pairs: Callable[[], PairCuts | None],
        allowed: SpecialMatcher | None,
        disallowed: SpecialMatcher | None,
    ) -> None:
        self._pipeline = tokenizer._pipeline
        self._allowed, self._disallowed = allowed, disallowed
        # Disallowed tokens are looked for in new text and at its ends only: cuts may lie inside them.
        self._near = near_of(self._pipeline, pairs, allowed)
        # A token has at least as many bytes as characters, even if a str has some of these as two surrogates.
        self._overlap = max(map(len, [] if disallowed is None else disallowed.tokens), default=1)
        self._reset()

    def _reset(self) -> None:
        """Begin with an empty text."""
        raise NotImplementedError

    def __copy__(self) -> Self:
        raise NotImplementedError

    def __deepcopy__(self, memo: object) -> Self:
        return self.__copy__()

    def _refuse(self, text: str) -> None:
        """Raise SpecialTokenError if a text contains a disallowed special token."""
        found = None if self._disallowed is None else self._disallowed.search(text)
        if self._disallowed is not None and found is not None:
            raise SpecialTokenError.disallowed(to_utf8(text)[found[0] : found[1]].decode(), self._disallowed.every)
