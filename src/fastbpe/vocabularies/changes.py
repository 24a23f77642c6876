"""Results of changing a vocabulary: the new tokenizer, the map of ids, and a report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from fastbpe._utils.short_reprs import fields_repr

if TYPE_CHECKING:
    from fastbpe.vocabularies.id_map import IdMap

TokenizerT = TypeVar("TokenizerT")
ReportT = TypeVar("ReportT")


class Change(tuple[TokenizerT, "IdMap"], Generic[TokenizerT, ReportT]):
    """Pair (tokenizer, id_map) from a change, with a report about the affected tokens.

    tokenizer: the new tokenizer.
    id_map: IdMap – from the old ids to the new ones.
    report: RemovalReport or MergeReport.

    >>> import fastbpe
    >>> old = fastbpe.Tokenizer.from_merges([(97, 98), (256, 99)], pattern=None)
    >>> new, id_map = old.without_tokens(["abc"])
    >>> old.without_tokens(["ab"]).report.lost
    (257,)
    """

    tokenizer: TokenizerT
    id_map: IdMap
    report: ReportT

    def __new__(cls, tokenizer: TokenizerT, id_map: IdMap, report: ReportT) -> Change[TokenizerT, ReportT]:
        made = super().__new__(cls, (tokenizer, id_map))
        made.tokenizer, made.id_map, made.report = tokenizer, id_map, report
        return made

    def __getnewargs__(self) -> tuple[TokenizerT, IdMap, ReportT]:
        return self.tokenizer, self.id_map, self.report

    def __repr__(self) -> str:
        return f"Change({self.tokenizer!r}, {self.id_map!r}, {self.report!r})"


@dataclass(frozen=True)
class RemovalReport:
    """Report of `without_tokens` and `prune`.

    Attributes:
        removed: old ids that the caller removed, or that prune did not choose.
        lost: old ids that were also removed, because no remaining tokens can be merged into them.
        remade: new id → new ids of the two tokens whose merge now makes it, if other tokens made it before. One
            of the two is -1 if it is a character that has no token of its own.
        makers: old ids that prune kept although they are too rare in the corpus: tokens that are not too rare are
            made from them.

    >>> import fastbpe
    >>> old = fastbpe.Tokenizer.from_merges([(97, 98), (98, 99), (256, 99)], pattern=None)
    >>> old.without_tokens(["ab"]).report
    RemovalReport(removed=(256,), lost=(), remade={257: (97, 256)}, makers=())
    """

    removed: tuple[int, ...] = ()
    lost: tuple[int, ...] = ()
    remade: Mapping[int, tuple[int, int]] = field(default_factory=dict)
    makers: tuple[int, ...] = ()

    __repr__ = fields_repr


@dataclass(frozen=True)
class MergeReport:
    """Report of `merge_vocabularies`.

    Attributes:
        added: id in b → new id, of the tokens that only b had.
        common: number of tokens of b that are also in a.
        dropped: ids in b of tokens that no text could produce in the merged vocabulary.
        reordered: ids in b of tokens that no longer merge in b's order, because a's order comes first: the
            smallest set without which the other tokens of b keep that order.

    >>> import fastbpe
    >>> a = fastbpe.Tokenizer.from_merges([(97, 98)], pattern=None)
    >>> b = fastbpe.Tokenizer.from_merges([(98, 99), (97, 98)], pattern=None)
    >>> fastbpe.merge_vocabularies(a, b).report
    MergeReport(added={256: 257}, common=257, dropped=(), reordered=(256,))
    """

    added: Mapping[int, int] = field(default_factory=dict)
    common: int = 0
    dropped: tuple[int, ...] = ()
    reordered: tuple[int, ...] = ()

    __repr__ = fields_repr
