"""Removal of tokens from byte-level models."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import inf
from typing import Any

from fastbpe._core.merge.merge_piece import recover_merges
from fastbpe._core.merge.table_builder import build_tables
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe._utils.arguments import integer
from fastbpe._utils.caching import cached_property
from fastbpe.errors import VocabularyError
from fastbpe.formats.huggingface import templates
from fastbpe.model import Buffer, Model, Spelling, pack_merges
from fastbpe.tokenizer.families.ranked_merges import made_by
from fastbpe.tokenizer.families.token_spelling import symbols_of
from fastbpe.tokenizer.special_token_rules import SpecialTokens
from fastbpe.tokenizer.surgery.token_makers import decided_by_ranks, each_byte, spelled_makers
from fastbpe.vocabularies.listed import ListedMerges
from fastbpe.vocabularies.makers import Makers, made_of

Renumber = Callable[[Collection[int]], Mapping[int, int]]  # ids to remove → new ids of the others


class ByteRemoval:
    """Removal of tokens from a byte-level vocabulary: finds dependent tokens, and builds the model of the rest.

    is_whole: function that tells whether a token that merging does not make is found as a whole piece.
    """

    has_gaps = True

    _SYMBOLS = "bytes"  # parts of which tokens are made

    def __init__(
        self, model: Model, vocabulary: Vocabulary, special: SpecialTokens, is_whole: Callable[[int, bytes], bool]
    ) -> None:
        self._model = model
        self._special = special
        self._is_whole = is_whole
        self._find = vocabulary.find
        self._tokens = vocabulary.tokens()
        self._by_ranks, self.makers = self._rules(model, vocabulary)
        self._names = {token.content: token.id for token in special.added} | special.ids
        self.n_vocab = max([len(self._tokens), *(i + 1 for i in self._names.values())])

    @cached_property
    def ranked(self) -> list[int]:
        """Ids of all tokens, the best priority first."""
        ids = [i for i, token in enumerate(self._tokens) if token]
        if not self._by_ranks:
            base = self._base()
            ids = [*(i for i in ids if i in base), *self.makers, *ids]
        return [*dict.fromkeys((*ids, *sorted(self._names.values())))]

    @cached_property
    def kept(self) -> dict[int, str]:
        """Ids that are never removed, with the reason."""
        before, behind = self._model.template
        around = dict.fromkeys((*before, *behind, *self._model.pair_template), "part of the template around texts")
        around = {i: reason for i, reason in around.items() if i >= 0}
        return around | self._base()

    @cached_property
    def special(self) -> Collection[int]:
        """Ids of special and added tokens, and of tokens that no other tokens can replace."""
        return {*self._names.values(), *self._uncovered}

    @cached_property
    def _uncovered(self) -> set[int]:
        """Ids of tokens with a byte that is not itself a token: without them, text would lose that byte."""
        if not self._model.drops_bytes:
            return set()
        base = {*b"".join([token for token in self._tokens if len(token) == 1])}
        texts = [(token.id, token.content.encode()) for token in self._special.added if not token.special]
        return {i for i, token in (*enumerate(self._tokens), *texts) if not base.issuperset(token)}

    def _rules(self, model: Model, vocabulary: Vocabulary) -> tuple[bool, Makers]:
        """Return whether ranks decide which pairs merge, and the two tokens that make each token."""
        return decided_by_ranks(vocabulary, model), made_by(vocabulary, model)

    def _base(self) -> dict[int, str]:
        """Map the tokens with which merging begins to the reason why they stay."""
        why = "a single byte, and single bytes always stay"
        return {i: why for i, token in enumerate(self._tokens) if len(token) == 1}

    def _symbols(self, token: bytes) -> Sequence[bytes]:
        """Cut a token into the symbols with which merging begins."""
        return each_byte(token)

    def find(self, token: int | str | bytes) -> int | None:
        """Find the id of a token by its id, its text or its bytes; None if there is no such token."""
        if isinstance(token, str):
            return self._names[token] if token in self._names else self._find(token)
        if isinstance(token, bytes):
            return self._find(token)
        token = integer("a token", token)
        has = 0 <= token < len(self._tokens) and self._tokens[token] != b""
        return token if has or token in self._names.values() else None

    def without(
        self, drop: Collection[int], renumber: Renumber
    ) -> tuple[Model, list[int], dict[int, tuple[int, int]]]:
        """Remove the tokens of `drop` from the model.

        Returns:
            (model, lost, made). lost: ids that are removed too, because no merge makes them any more. made: id of
            each token that a merge makes → the ids of the two tokens that it joins. Both have old ids.

        Raises:
            VocabularyError: a removed token contains a byte or character that is not a token by itself, or no
                ordinary token would be left.
        """
        kept = [b"" if i in drop else token for i, token in enumerate(self._tokens)]
        if not any(kept):
            raise VocabularyError("no ordinary token would be left; keep one")
        if self._by_ranks:
            made: Mapping[int, tuple[int, int]] = recover_merges(self._vocabulary(kept))
            pairs = [(*pair, i) for i, pair in made.items()]
        else:
            pairs, made = self._relisted(kept, made_of(drop, self.makers))
        lost = [i for i in self.makers if kept[i] and i not in made and not self._is_whole(i, kept[i])]
        bad = next((i for i in (*drop, *lost) if i in self._uncovered), None)
        if bad is not None:
            raise VocabularyError(
                f"the token {bad} cannot be removed: one of its {self._SYMBOLS} is not a token by itself, so "
                "texts with it could not be restored; keep the token"
            )
        new_ids = renumber({*drop, *lost})
        for i in lost:
            kept[i] = b""
        listed = None
        if self._model.merges_rule == "merges":
            listed = pack_merges(
                (new_ids[left], new_ids[right], new_ids[i])
                for left, right, i in pairs
                if kept[left]
                and kept[right]
                and kept[i]  # a pair with a token that merging does not make never merges
            )
        return self._built(kept, new_ids, listed), lost, dict(made)

    def _vocabulary(self, tokens: list[bytes]) -> Vocabulary:
        return Vocabulary(
            **build_tables(tokens),
            whole_piece_first=self._model.whole_piece_first,
            drops_bytes=self._model.drops_bytes,
        )

    def _relisted(
        self, kept: Sequence[bytes], orphans: Sequence[int]
    ) -> tuple[list[tuple[int, int, int]], dict[int, tuple[int, int]]]:
        """Return the remaining merges, with new ones that remake orphans, and the makers of each token.

        Args:
            kept: the token of each id; b"": removed.
            orphans: ids of tokens that are made, directly or not, from removed tokens.
        """
        ids = {token: i for i, token in reversed([*enumerate(kept)]) if token}
        ids |= {kept[i]: i for i in self.makers if kept[i]}  # of equal tokens, the one that a merge makes
        merges = self._model.merge_list() or ()
        pairs = [(kept[left], kept[right]) for left, right, i in merges if _are_in(ids, kept, (left, right, i))]
        rules = ListedMerges(pairs, self._symbols)
        remade = rules.remake([kept[i] for i in orphans])
        gone = {*orphans}
        made = {i: pair for i, pair in self.makers.items() if kept[i] and i not in gone}
        made |= {ids[token]: (ids[left], ids[right]) for token, (left, right) in remade.items()}
        return [(ids[left], ids[right], ids[left + right]) for left, right in rules.pairs], made

    def _built(self, kept: Sequence[bytes], new_ids: Mapping[int, int], merges: bytes | None) -> Model:
        ordinary = {new_ids[i]: token for i, token in enumerate(kept) if token}
        tokens = [ordinary.get(i, b"") for i in range(max(ordinary) + 1)]
        model = renumbered(self._model, self._special.ids, new_ids)
        tables = build_tables(tokens, merges, affixed=model.spelling is not None)
        return model._replace(tokens=None, tables=tables, merges=merges or b"")


def _are_in(ids: Mapping[bytes, int], tokens: Sequence[bytes], some: Iterable[int]) -> bool:
    """Tell whether `ids` maps the token of each id in `some` to this id.

    False if a token is removed, or if `ids` has another id with an equal token.
    """
    return all(ids.get(tokens[i]) == i for i in some)


def renumbered(model: Model, special_tokens: Mapping[str, int], new_ids: Mapping[int, int]) -> Model:
    """Return a model whose special tokens and templates have new ids. Tokens without a new id are left out.

    Raises VocabularyError if a template has an id without a new one.
    """
    names = {name for name, i in special_tokens.items() if i not in new_ids}
    names |= {token.content for token in model.added_tokens if token.id not in new_ids}
    before, behind = model.template

    def new(ids: Sequence[int]) -> tuple[int, ...]:
        bad = next((i for i in ids if i >= 0 and i not in new_ids), None)
        if bad is not None:
            raise VocabularyError(
                f"the template puts the id {bad} around texts, but no token has this id, so it has no new id"
            )
        return tuple(i if i < 0 else new_ids[i] for i in ids)

    return model._replace(
        special_tokens={name: new_ids[i] for name, i in special_tokens.items() if i in new_ids},
        added_tokens=[token._replace(id=new_ids[token.id]) for token in model.added_tokens if token.id in new_ids],
        template=(new(before), new(behind)),
        pair_template=new(model.pair_template),
        roles={role: name for role, name in model.roles.items() if name not in names},
        huggingface=_renumbered_parts(model.huggingface, new_ids),
        name=None,
        fingerprint="",
        training={},
    )


def _renumbered_parts(parts: Mapping[str, Any], new_ids: Mapping[int, int]) -> dict[str, Any]:
    """Return parts of a tokenizer.json with new ids. Padding with a removed token is removed too."""
    made = dict(parts)
    if isinstance(made.get("post_processor"), dict):
        made["post_processor"] = templates.renumbered(made["post_processor"], new_ids)
    padding = made.get("padding")
    if isinstance(padding, dict) and "pad_id" in padding:
        pad = new_ids.get(padding["pad_id"])
        made["padding"] = None if pad is None else {**padding, "pad_id": pad}
    made.pop("empty_token", None)  # its id has no token
    return made


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
        """Ids of tokens that are found although one of their characters is not a token.

        BPE finds them only as whole pieces. Without them, text would lose that character, or become unknown. In
        WordPiece and WordLevel, words become unknown whatever their characters are.
        """
        finds = self._model.whole_piece_first or self._spelling.kind == "Unigram"
        if self._spelling.byte_ids or not finds:
            return set()
        base = {*self._tokens}
        return {i for i, token in enumerate(self._tokens) if not base.issuperset(self._symbols(token))}

    def _rules(self, model: Model, vocabulary: Vocabulary) -> tuple[bool, Makers]:
        return False, spelled_makers(vocabulary, model)  # symbols are not bytes: ranks do not decide merges

    def _base(self) -> dict[int, str]:
        alone = (i for i, token in enumerate(self._tokens) if token and len(self._symbols(token)) == 1)
        base = {i: "a single character, and single characters always stay" for i in alone if i not in self.makers}
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
        # Score of ids without a token: not the least, from which the score of unknown characters is derived.
        unused = max(scores.values())
        return model._replace(scores=array("d", [scores.get(i, unused) for i in range(max(scores) + 1)]).tobytes())


def _numbers(scores: Buffer) -> memoryview[float]:
    return memoryview(scores).cast("B").cast("d")
