"""Longer answers of a Tokenizer about itself: its merges, its vocabulary, its fingerprint."""

from __future__ import annotations

from fastbpe._core.merge.merge_piece import recover_merges
from fastbpe._core.merge.vocabulary import Vocabulary
from fastbpe.model import Model
from fastbpe.patterns import Pattern
from fastbpe.tokenizer.families import components
from fastbpe.tokenizer.special_tokens import SpecialTokens


def merges_of(model: Model, vocabulary: Vocabulary) -> list[tuple[int, int]]:
    """List the merges as pairs of ids: the model's own, or those that its ranks imply."""
    listed = model.merge_list()
    if listed is not None:
        return [(left, right) for left, right, _ in listed]
    return list(recover_merges(vocabulary).values())


def vocab_of(vocabulary: Vocabulary, special: SpecialTokens, n_vocab: int) -> list[bytes]:
    """List the bytes of every id below n_vocab, b"" for an id without a token."""
    tokens = vocabulary.tokens()
    tokens += [b""] * (n_vocab - len(tokens))
    for token_id, token in special.encoded:
        tokens[token_id] = token
    return tokens


def fingerprint_of(model: Model, vocabulary: Vocabulary, pattern: Pattern, special: SpecialTokens) -> str:
    """Hash all that decides ids, unless the model's file brings the hash along."""
    if model.fingerprint:
        return model.fingerprint
    import hashlib  # here: importing it is slow, and a native file brings its fingerprint along

    rule = (model.merges_rule, vocabulary.whole_piece_first, pattern)
    digest = hashlib.sha256(repr(("byte", *rule, list(special.ids.items()), *components.extras(model))).encode())
    tables = vocabulary.sections()
    for part in (tables["token_ends"], tables["token_bytes"]):
        digest.update(part)
    if model.merges_rule == "merges":
        digest.update(model.merges)
    return digest.hexdigest()
