"""Removal of tokens from character-level models."""

from __future__ import annotations

from array import array
from collections.abc import Collection, Mapping, Sequence
from math import inf

from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._utils.caching import cached_property
from fastbpe.model import Buffer, Model, Spelling
from fastbpe.tokenizer.families.token_spelling import symbols_of
from fastbpe.tokenizer.surgery.removing_bytes import ByteRemoval, Renumber
from fastbpe.tokenizer.surgery.token_makers import spelled_makers
from fastbpe.vocabularies.makers import Makers


class CharacterRemoval(ByteRemoval):
    """Removal of tokens from a character-level vocabulary. Accepts the arguments of `ByteRemoval`.

    With continuing_subword_prefix, a token whose makers are removed is not remade, but removed too.
    """

    _SYMBOLS = "characters"

    @property
    def _spelling(self) -> Spelling:
        assert self._model.spelling is not None
        return self._model.spelling

    def _symbols(self, token: bytes) -> Sequence[bytes]:
        return symbols_of(token, self._spelling)

    @cached_property
    def _uncovered(self) -> set[int]:
        """Ids of tokens with a character that is not itself a token, found as whole pieces.

        Without them, text would lose that character, or get the unknown token.
        """
        if self._spelling.byte_ids or not self._model.whole_piece_first:
            return set()
        base = {*self._tokens}
        return {i for i, token in enumerate(self._tokens) if not base.issuperset(self._symbols(token))}

    def _rules(self, model: Model, vocabulary: Vocabulary) -> tuple[bool, Makers]:
        return False, spelled_makers(vocabulary, model)  # symbols are not bytes, so ranks do not tell what merges

    def _base(self) -> dict[int, str]:
        alone = (i for i, token in enumerate(self._tokens) if token and len(self._symbols(token)) == 1)
        base = {i: "a character, and characters are the base" for i in alone if i not in self.makers}
        base |= {i: "a byte of the byte fallback" for i in self._spelling.byte_ids if i >= 0}
        return base if self._spelling.unknown < 0 else base | {self._spelling.unknown: "the unknown token"}

    def _relisted(
        self, kept: Sequence[bytes], orphans: Sequence[int]
    ) -> tuple[list[tuple[int, int, int]], dict[int, tuple[int, int]]]:
        if not self._spelling.prefix:
            return super()._relisted(kept, orphans)
        gone = {*orphans}
        made = {i: pair for i, pair in self.makers.items() if kept[i] and i not in gone}
        there = {i for i, token in enumerate(kept) if token and (i in made or i not in self.makers)}
        merges = self._model.merge_list() or ()
        return [merge for merge in merges if there.issuperset(merge)], made

    def without(
        self, drop: Collection[int], renumber: Renumber
    ) -> tuple[Model, list[int], dict[int, tuple[int, int]]]:
        """Return the model without some tokens, the ids also removed, and the makers of tokens, in old ids."""
        model, lost, made = super().without(drop, renumber)
        new_ids: Mapping[int, int] = renumber({*drop, *lost})
        spelling = self._spelling._replace(
            unknown=new_ids.get(self._spelling.unknown, -1),
            byte_ids=tuple(new_ids.get(i, -1) for i in self._spelling.byte_ids),
        )
        return model._replace(spelling=spelling), lost, made

    @cached_property
    def ranked(self) -> list[int]:
        """Ids of all tokens: the best first, by score or by the order of merging."""
        ids = super().ranked
        scores = dict(enumerate(_numbers(self._model.scores)))
        return sorted(ids, key=lambda i: -scores.get(i, -inf)) if scores else ids

    def _built(self, kept: Sequence[bytes], new_ids: Mapping[int, int], merges: bytes | None) -> Model:
        model = super()._built(kept, new_ids, merges)
        if not self._model.scores:
            return model
        scores = {new_ids[i]: score for i, score in enumerate(_numbers(self._model.scores)) if kept[i]}
        unused = max(scores.values())  # of ids without a token; only the order of scores matters
        return model._replace(scores=array("d", [scores.get(i, unused) for i in range(max(scores) + 1)]).tobytes())


def _numbers(scores: Buffer) -> memoryview[float]:
    return memoryview(scores).cast("B").cast("d")
