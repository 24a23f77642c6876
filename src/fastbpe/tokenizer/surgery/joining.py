"""merge_vocabularies: one tokenizer made from two."""

from __future__ import annotations

from operator import attrgetter

from fastbpe.errors import SpecialTokenError, VocabularyError
from fastbpe.model import NEXT, AddedToken, PieceType
from fastbpe.tokenizer.internals import (
    check_tokenizers,
    code_point_model_of,
    extended,
    family_of,
    remade,
    vocabulary_of,
)
from fastbpe.tokenizer.surgery.joining_bytes import ByteJoining, CharacterJoining
from fastbpe.tokenizer.surgery.joining_pieces import PieceJoining
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.vocabularies.changes import Change, MergeReport


def merge_vocabularies(a: Tokenizer, b: Tokenizer) -> Change[Tokenizer, MergeReport]:
    """Return one tokenizer that has the tokens of two; neither of the two changes.

    The ids of `a` stay. The tokens that only `b` has get the ids from a.n_vocab on: first its ordinary tokens in
    the order of b, then its special and added tokens. All other rules come from the model of a: split
    pattern, normalizer, template, byte fallback. Merging still makes every token of a from its own bytes. No token
    occurs twice. A token of b is left out if no text can produce it and no other token is made of it. No text can
    produce it in two cases: the joined merges do not make it, and no whole piece becomes it; or a's split pattern
    or normalizer cuts or changes its text, and b's did not. If both have the same added token, or an added token
    of b is an ordinary token of a, the token of a stays as it is.

    - Byte level: new tokens merge after the tokens of a, in b's order. If a or b uses a list of merges, the
      result has a list, too: a's merges, then b's, then a merge for each new token that these leave in two
      parts. For a tokenizer with ranks, these are the merges that the ranks imply.
    - Characters: as at byte level with lists of merges. Both must mark the ends of words in the same way, and must
      not mark the continuation of words by a prefix. A character that is unknown to a may be a token of b; then it
      is no longer unknown.
    - Code points: the pieces of the longest sequence that both have in the same order are anchors, and the pieces
      that only b has are put between them, as late as possible. If merging would no longer make a piece of
      a, the pieces of b that prevent it are put after all of a's. New scores are 0, -1, -2, … in that order;
      pieces with the same score keep a common score.
      A piece of b is also left out if it is text, and a has it as a name, such as <0x41> of a byte, or vice versa.

    Args:
        a: Tokenizer – the first one.
        b: Tokenizer – the second one, of the same mode.

    Returns:
        The tokenizer and the `IdMap` from a's ids: a pair with attributes tokenizer, id_map and report. The map
        from b is tokenizer.id_map(b).

    Raises:
        VocabularyError (a ValueError): the modes differ, a model is not BPE, has supermerges (BoundlessBPE) or
            merges that scores cannot express, a and b mark the ends of words differently, one has a
            continuing_subword_prefix, or the result has too many ids.
        SpecialTokenError (a ValueError): a token is special in one, and an added or ordinary token in the other,
            or the id of a special token would be beyond the limit.
        TypeError: an argument is not a Tokenizer.

    >>> import fastbpe
    >>> a = fastbpe.Tokenizer.from_merges([(97, 98)], pattern=None)
    >>> b = fastbpe.Tokenizer.from_merges([(98, 99), (97, 256)], pattern=None)
    >>> merged, id_map = fastbpe.merge_vocabularies(a, b)
    >>> merged.vocab[256:], merged.encode("abc bc")
    ([b'ab', b'bc', b'abc'], [258, 32, 257])
    """
    check_tokenizers(a=a, b=b)
    if a.mode != b.mode:
        raise VocabularyError(
            f"a has the mode {a.mode} and b {b.mode}: only tokenizers of the same mode can be merged; "
            "a.with_tokens([...]) adds tokens of b"
        )
    for name, tokenizer in (("a", a), ("b", b)):
        if tokenizer.model_type != "BPE":
            raise VocabularyError(
                f"the argument {name} is a {tokenizer.model_type} model, but only BPE vocabularies can be merged; "
                "a.with_tokens([...]) adds tokens of b"
            )
    names = _new_names(a, b)  # special and added tokens
    joining: ByteJoining | PieceJoining
    if a.mode == "codepoint":
        models = code_point_model_of(a), code_point_model_of(b)
        own, new = family_of(a).known_tokens(), {token.id for token in names}
        texts = [text for text, token in family_of(b).known_tokens().items() if token.id in new]
        joining = PieceJoining(*models, own, texts, lambda model: remade(a, model))
    else:
        make = CharacterJoining if a.mode == "character" else ByteJoining
        joining = make(a, b, lambda model: remade(a, model))
    joined, added, dropped = joining.joined()
    reordered = joining.reordered(joined)
    # An id of b may be an added token and an ordinary one, which has its new id already.
    with_names = extended(joined, [token._replace(id=added.get(token.id, NEXT)) for token in names])
    known = family_of(with_names).known_tokens()
    added = {token.id: known[token.content].id for token in names} | added
    n_common = len({*joining.common, *(token.id for token in _names(b))} - added.keys())
    report = MergeReport(dict(sorted(added.items())), n_common, tuple(dropped), tuple(reordered))
    return Change(with_names, with_names.id_map(a), report)


def _new_names(a: Tokenizer, b: Tokenizer) -> list[AddedToken]:
    """List the special and added tokens that only b has.

    Raises SpecialTokenError: a token is special in only one of the two, or a special token of b is an ordinary
    token of a.
    """
    known = {token.content: token for token in _names(a)}
    new = []
    for token in _names(b):
        same = known.get(token.content)
        if same is None:
            found = vocabulary_of(a).find(token.content) if a.mode == "byte" else a.token_to_id(token.content)
            if found is None:
                new.append(token)
            elif token.special and not _is_unknown(a, found):
                raise SpecialTokenError.is_ordinary(token.content, found)
            # An added token of b that is an ordinary token of a stays ordinary. So does the unknown piece of a
            # sentencepiece model: its text is never found, but in a tokenizer.json it is a special token.
        elif same.special != token.special:
            raise SpecialTokenError(
                f"token {token.content!r} is special in one vocabulary and not in the other: text that must not "
                "become a special token could become this one; remove the token from one of the two first"
            )
    return new


def _is_unknown(tokenizer: Tokenizer, token_id: int) -> bool:
    """Tell whether a token is the unknown piece of a code-point model."""
    return tokenizer.mode == "codepoint" and code_point_model_of(tokenizer).types[token_id] == PieceType.UNKNOWN


def _names(tokenizer: Tokenizer) -> list[AddedToken]:
    """List the special and added tokens of a tokenizer by id, one for each id.

    A user-defined piece with U+2581 has two names: the one with a space is listed.
    """
    tokens = sorted(family_of(tokenizer).known_tokens().values(), key=attrgetter("id"))
    return [*{token.id: token for token in reversed(tokens)}.values()][::-1]
