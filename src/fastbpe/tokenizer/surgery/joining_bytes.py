"""Joining of two byte-level vocabularies."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from fastbpe._core.merge.merge_piece import recover_merges
from fastbpe._core.merge.table_builder import build_tables
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe.errors import SpecialTokenError, VocabularyError
from fastbpe.model import Model, Spelling, pack_merges
from fastbpe.tokenizer.families import step_objects
from fastbpe.tokenizer.families.ranked_merges import made_by
from fastbpe.tokenizer.families.token_spelling import symbols_of
from fastbpe.tokenizer.internals import model_of, vocabulary_of
from fastbpe.tokenizer.surgery.token_makers import decided_by_ranks, each_byte, spelled_makers
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.vocabularies.listed import ListedMerges, Pair
from fastbpe.vocabularies.makers import Makers, with_makers
from fastbpe.vocabularies.material import decoded
from fastbpe.vocabularies.orders import displaced


class ByteJoining:
    """Joining of the ordinary tokens of two byte-level tokenizers: first the tokens of `a`.

    make: function that creates a tokenizer from a model, otherwise like `a`.

    Raises VocabularyError if one of the two has merges of whole words, SpecialTokenError if a special token of a
    is an ordinary token of b.
    """

    def __init__(self, a: Tokenizer, b: Tokenizer, make: Callable[[Model], Tokenizer]) -> None:
        for name, each in (("a", a), ("b", b)):
            if model_of(each).supermerges is not None:
                raise VocabularyError(
                    f"the argument {name} has merges of whole words (BoundlessBPE), which need the words that "
                    "they were learned with: it cannot be merged with another vocabulary; train a tokenizer on "
                    "the texts of both"
                )
        self._a, self._b, self._make = a, b, make
        self._model = model_of(a)
        self._tokens = vocabulary_of(a).tokens()
        self._of_b = vocabulary_of(b).tokens()
        # Reversed, as below: of equal tokens, the lowest id counts.
        own = {token: i for i, token in reversed([*enumerate(self._tokens)]) if token}
        added = {token.content.encode(): token.id for token in a.added_tokens if not token.special}
        own |= {token: i for token, i in added.items() if token not in own}
        names = {name.encode(): name for name in a.special_tokens}
        self.common = {i: own[token] for i, token in enumerate(self._of_b) if token in own}
        self._new: dict[bytes, int] = {}  # token → id in b
        for i, token in enumerate(self._of_b):
            if token and token not in own:
                if token in names:
                    raise SpecialTokenError.is_ordinary(names[token], i)
                self._new.setdefault(token, i)
        self._by_ranks = all(self._ranks_decide(each) for each in (a, b))

    def joined(self) -> tuple[Tokenizer, dict[int, int], list[int]]:
        """Join the vocabularies.

        Returns:
            (tokenizer, id in b → id in the tokenizer for each new token, ids in b of the tokens left out).
        """
        tokens = [*self._new]
        tokenizer, makers = self._with_tokens(tokens)
        kept = self._reachable(tokenizer, tokens, makers)
        if len(kept) < len(tokens):
            tokenizer, _ = self._with_tokens(kept)
        added = {self._new[token]: self._a.n_vocab + number for number, token in enumerate(kept)}
        left_out = {*tokens} - {*kept}
        return tokenizer, added, [i for i, token in enumerate(self._of_b) if token in left_out]

    def _ranks_decide(self, tokenizer: Tokenizer) -> bool:
        return decided_by_ranks(vocabulary_of(tokenizer), model_of(tokenizer))

    def _makers(self, tokenizer: Tokenizer) -> Makers:
        """Map the id of each token that merging makes to the ids of its two makers, the best first."""
        return made_by(vocabulary_of(tokenizer), model_of(tokenizer))

    def _symbols(self, token: bytes) -> Sequence[bytes]:
        """Cut a token into the symbols with which merging begins."""
        return each_byte(token)

    def _text(self, token: bytes) -> str | None:
        """Return a whole piece that may become the token; None if no piece can."""
        return decoded(token)

    def _encode(self, tokenizer: Tokenizer, texts: Sequence[str]) -> Sequence[Sequence[int]]:
        """Return the ids of each text; no ids for a text that the tokenizer cannot encode."""
        return tokenizer.encode_ordinary_batch(texts)

    def reordered(self, joined: Tokenizer) -> list[int]:
        """Return the ids in b of the smallest set of tokens without which the others merge in b's order."""
        place: dict[bytes, int] = {}  # token → index of its first merge in the joined list
        for number, (left, right) in enumerate(self._pairs(joined)):
            place.setdefault(left + right, number)
        own = {token: i for i, token in reversed([*enumerate(self._of_b)])}  # of equal tokens, the lowest id
        tokens = dict.fromkeys(left + right for left, right in self._pairs(self._b) if left + right in place)
        listed = [*tokens]
        return sorted(own[listed[position]] for position in displaced([place[token] for token in listed]))

    def _with_tokens(self, new: Sequence[bytes]) -> tuple[Tokenizer, dict[int, tuple[int, int]]]:
        """Return a tokenizer with these new tokens, and the makers of each token."""
        gap = [b""] * (self._a.n_vocab - len(self._tokens))  # the ids of a's special and added tokens
        tokens = [*self._tokens, *gap, *new] if new else self._tokens
        model = self._model
        merges = None
        if self._by_ranks:
            tables = build_tables(tokens)
            vocabulary = Vocabulary(
                **tables, whole_piece_first=model.whole_piece_first, drops_bytes=model.drops_bytes
            )
            makers = recover_merges(vocabulary)
            if model.merges_rule == "merges":
                merges = pack_merges((*pair, i) for i, pair in makers.items())
        else:
            merges, makers = self._listed(tokens, new)
        if merges is not None:
            tables = build_tables(tokens, merges, affixed=model.spelling is not None)
        full = model._replace(
            tables=tables,
            merges=merges or b"",
            merges_rule="ranks" if merges is None else "merges",
            special_tokens=self._a.special_tokens,
            name=None,
            fingerprint="",
            training={},
        )
        return self._make(full), makers

    def _listed(self, tokens: Sequence[bytes], new: Sequence[bytes]) -> tuple[bytes, dict[int, tuple[int, int]]]:
        """Return packed merges and the makers of each token.

        The merges are a's, then b's, then one for each new token that these leave in two parts.
        """
        has = {*tokens}
        makers = self._makers(self._a)
        ids = {token: i for i, token in reversed([*enumerate(tokens)]) if token}
        ids |= {tokens[i]: i for i in makers}  # of equal tokens, the one that a merge makes
        pairs = [
            pair for pair in (*self._pairs(self._a), *self._pairs(self._b)) if {*pair, pair[0] + pair[1]} <= has
        ]
        rules = ListedMerges(pairs, self._symbols)
        remade = rules.remake(token for token in new if has.issuperset(self._symbols(token)))
        made = dict(makers) | {ids[token]: (ids[left], ids[right]) for token, (left, right) in remade.items()}
        listed = [(ids[left], ids[right], ids[left + right]) for left, right in rules.pairs]
        return pack_merges(listed), made

    def _reachable(
        self, tokenizer: Tokenizer, new: Sequence[bytes], makers: dict[int, tuple[int, int]]
    ) -> list[bytes]:
        """Return the new tokens that some text produces, and the new tokens from which they are made.

        tokenizer: the joined one, in which the new tokens have the ids from a.n_vocab on.
        makers: its makers, by id.
        """
        first = self._a.n_vocab
        texts = {i: text for i, token in enumerate(new, first) if (text := self._text(token)) is not None}
        found = self._encode(tokenizer, [*texts.values()])
        # As a whole text, these tokens get other ids. One that no merge makes is never produced. One whose text b
        # encodes to the token alone is kept from it by a's pattern or normalizer. Others may occur within a piece.
        split = {i: text for (i, text), ids in zip(texts.items(), found, strict=True) if ids != [i]}
        by_b = self._encode(self._b, [*split.values()])
        bad = {
            i for i, ids in zip(split, by_b, strict=True) if i not in makers or ids == [self._new[new[i - first]]]
        }
        single = {i for i, token in enumerate(new, first) if len(self._symbols(token)) == 1}
        possible = {*makers, *texts, *single}
        good = [i for i in range(first, first + len(new)) if i in possible and i not in bad]
        return [new[i - first] for i in sorted(with_makers(good, makers)) if i >= first]

    def _pairs(self, tokenizer: Tokenizer) -> list[Pair]:
        """List the merges of a tokenizer, best first, as the bytes of their two parts."""
        tokens, makers = vocabulary_of(tokenizer).tokens(), self._makers(tokenizer)
        if self._ranks_decide(tokenizer):
            return [(tokens[left], tokens[right]) for left, right in makers.values()]
        ids = {token: i for i, token in reversed([*enumerate(tokens)]) if token} | {tokens[i]: i for i in makers}
        merges = model_of(tokenizer).merge_list() or ()
        return [
            (tokens[left], tokens[right])
            for left, right, merged in merges
            if all(ids[tokens[i]] == i for i in (left, right, merged))  # bytes stand for one id only
        ]


class CharacterJoining(ByteJoining):
    """Joining of the ordinary tokens of two character-level tokenizers. Accepts the arguments of `ByteJoining`.

    Raises VocabularyError: the two mark the ends of words differently, one uses a prefix, or one merges symbols
    that are not tokens.
    """

    def __init__(self, a: Tokenizer, b: Tokenizer, make: Callable[[Model], Tokenizer]) -> None:
        self._spelling, other = _spelling(a), _spelling(b)
        if self._spelling.prefix or other.prefix:
            raise VocabularyError(
                "vocabularies with a continuing_subword_prefix, here "
                f"{self._spelling.prefix or other.prefix!r:.40}, cannot be combined, because whether two tokens "
                "merge depends on their position in the piece; to add tokens, use with_tokens"
            )
        if self._spelling.suffix != other.suffix:
            raise VocabularyError(
                f"end_of_word_suffix is {self._spelling.suffix!r:.40} in a and {other.suffix!r:.40} in b: only "
                "vocabularies with the same suffix can be combined; to add tokens, use with_tokens"
            )
        super().__init__(a, b, make)

    def _ranks_decide(self, tokenizer: Tokenizer) -> bool:
        return False  # symbols are not bytes: ranks do not decide merges

    def _makers(self, tokenizer: Tokenizer) -> Makers:
        return spelled_makers(vocabulary_of(tokenizer), model_of(tokenizer))

    def _encode(self, tokenizer: Tokenizer, texts: Sequence[str]) -> Sequence[Sequence[int]]:
        try:
            return tokenizer.encode_ordinary_batch(texts)
        except VocabularyError:  # a model may name an unk_token that it lacks
            return [_ids_or_none(tokenizer, text) for text in texts]

    def _symbols(self, token: bytes) -> Sequence[bytes]:
        return symbols_of(token, self._spelling)

    def _text(self, token: bytes) -> str | None:
        text, suffix = token.decode(), self._spelling.suffix
        return text.removesuffix(suffix) if text.endswith(suffix) else None


def _ids_or_none(tokenizer: Tokenizer, text: str) -> list[int]:
    try:
        return tokenizer.encode_ordinary(text)
    except VocabularyError:
        return []


def _spelling(tokenizer: Tokenizer) -> Spelling:
    model = model_of(tokenizer)
    step_objects.check_merges_tokens(model)
    assert model.spelling is not None
    return model.spelling
