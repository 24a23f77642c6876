"""Addition of tokens to a tokenizer: their ids, their flags, and the resulting models.

A byte-level model stores a special token without flags as a name, and all others as AddedToken. A sentencepiece
model stores pieces: control symbols are its special tokens, user-defined pieces are the tokens found in any text.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import attrgetter

from fastbpe._core.merge.vocabulary import MAX_IDS, Vocabulary
from fastbpe._utils.arguments import integer
from fastbpe._utils.short_reprs import short_repr
from fastbpe.errors import SpecialTokenError
from fastbpe.model import METASPACE, NEXT, AddedToken, CodePointModel, Model, PieceType, pack_pieces
from fastbpe.tokenizer.special_token_rules import SpecialTokens, check_names, checked_id

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fastbpe.tokenizer.special_token_rules import Ordinary

Tokens = Mapping[str, int] | Sequence[str | AddedToken]

_FLAGS = ("special", "normalized", "lstrip", "rstrip", "single_word")
_MAX_RESERVED = 1 << 20


def new_tokens(
    tokens: Tokens,
    argument: str,
    known: Mapping[str, AddedToken],
    vocabulary: Ordinary,
    first_free: int,
    *,
    special: bool,
) -> list[AddedToken]:
    """Return the caller's tokens that the tokenizer does not have yet, with their ids.

    tokens: text to id; or a list of texts and AddedTokens. argument: its name, for errors.
    known: the special and added tokens of the tokenizer, by name.
    vocabulary: its ordinary tokens.
    first_free: id for the first token without an id; the others get the following free ids.
    special: all tokens are special.

    Raises SpecialTokenError if a token cannot be found in text, is given twice, clashes with another, already has
    another id, or its id is taken. Raises TypeError if tokens is not a list, a tuple or a mapping, or a flag is
    not a bool.
    """
    listed = _listed(tokens, argument, special)
    new = []
    for token in listed:
        if token.content in known:
            _check_known(token, known[token.content])
        else:
            new.append(token)
    taken = {token.id: token.content for token in known.values()}
    for token in new:
        if token.id != NEXT:
            _check_id(token, taken, vocabulary)
            taken[token.id] = token.content
        ordinary = vocabulary.find(token.content.encode())
        if ordinary is not None and (special or ordinary != token.id):
            # The error advises to pass the ordinary token's id, which only byte and character level allow.
            shares = isinstance(vocabulary, Vocabulary)
            raise SpecialTokenError.is_ordinary(token.content, ordinary, special=token.special, may_share=shares)
    return [*_numbered(new, taken, vocabulary, first_free)]


def known_tokens(special: SpecialTokens, model: CodePointModel | None = None) -> dict[str, AddedToken]:
    """Return the special and added tokens of a tokenizer, by name, with the user-defined pieces of its model."""
    known = {name: AddedToken(name, i, special=True) for name, i in special.ids.items()}
    known |= {token.content: token for token in special.added}
    if model is not None and model.conventions is None:
        from fastbpe.tokenizer.families.codepoint_tables import pieces_of  # here: byte level does not need it

        for i, piece in pieces_of(model, PieceType.USER_DEFINED).items():
            text = piece.decode("utf-8", "replace")
            known |= {name: AddedToken(name, i) for name in (text.replace(METASPACE, " "), text)}
    return known


def _listed(tokens: Tokens, argument: str, special: bool) -> list[AddedToken]:
    """List a caller's tokens. A text means a token without flags.

    Raises TypeError for an argument or flag of a wrong type, SpecialTokenError for a bad name or id.
    """
    if isinstance(tokens, Mapping):
        listed = [AddedToken(name, checked_id(name, i), special=special) for name, i in tokens.items()]
    elif isinstance(tokens, (list, tuple)) and not isinstance(tokens, AddedToken):
        listed = [
            token._replace(special=token.special or special, id=checked_id(token.content, token.id))
            if isinstance(token, AddedToken)
            else AddedToken(token, special=special)
            for token in tokens
        ]
    else:
        raise TypeError(
            f"{argument} must be a list of texts or AddedTokens, or a dict of texts to ids, "
            f"not {type(tokens).__name__}"
        )
    check_names([token.content for token in listed], "special token" if special else "token")
    for token in listed:
        for flag in _FLAGS:
            if not isinstance(getattr(token, flag), bool):
                raise TypeError(f"{flag} of the added token {token.content!r} must be a bool")
        if token.id == NEXT and isinstance(tokens, Mapping):
            raise SpecialTokenError(f"token {token.content!r} has the id {NEXT}: the least id is 0")
    return listed


def _check_known(token: AddedToken, known: AddedToken) -> None:
    """Raise SpecialTokenError if an existing token would have to change."""
    name = token.content
    if token.special and not known.special:
        raise SpecialTokenError(
            f"special token {name!r} is already an added token that is not special, with the id {known.id}: it is "
            "found even where special tokens are not allowed; choose another name"
        )
    if known.special and not token.special:
        raise SpecialTokenError(
            f"token {name!r} is already a special token, with the id {known.id}; it is found only where it is "
            "allowed, so it cannot become an ordinary added token; choose another name"
        )
    if token.id not in (NEXT, known.id):
        raise SpecialTokenError(f"token {name!r} already has the id {known.id}; pass this id, not {token.id}")
    asked = token._replace(id=known.id)
    if any(asked[3:]) and asked != known:  # a token without flags asks for nothing
        raise SpecialTokenError(
            f"token {name!r} already has the id {known.id}, but with other flags, which cannot be changed: {known}"
        )


def _check_id(token: AddedToken, taken: Mapping[int, str], vocabulary: Ordinary) -> None:
    """Raise SpecialTokenError for an id that is out of range or taken."""
    name = token.content
    if not 0 <= token.id < MAX_IDS:
        raise SpecialTokenError(f"token {name!r} has the id {short_repr(token.id)}: not in 0..{MAX_IDS - 1}")
    if token.id in taken:
        raise SpecialTokenError(f"tokens {taken[token.id]!r} and {name!r} have the same id {token.id}")
    if vocabulary.has(token.id) and vocabulary.find(name.encode()) != token.id:
        raise SpecialTokenError(
            f"token {name!r} has the id {token.id}, which another token of the "
            f"vocabulary has; use {max([vocabulary.n_ids - 1, *taken]) + 1} or more"
        )


def _numbered(
    tokens: Sequence[AddedToken], taken: Mapping[int, str], vocabulary: Ordinary, first_free: int
) -> Iterator[AddedToken]:
    for token in tokens:
        if token.id != NEXT:
            yield token
            continue
        while first_free in taken or vocabulary.has(first_free):
            first_free += 1
        yield token._replace(id=first_free)
        first_free += 1


def with_reserved(
    new: Sequence[AddedToken],
    known: SpecialTokens,
    find: Callable[[str], int | None],
    n_vocab: int,
    reserved: int,
    reserved_name: str,
    pad_to_multiple_of: int | None,
) -> list[AddedToken]:
    """Put reserved special tokens after the new ones. The last three arguments: as in `with_special_tokens`.

    known: special and added tokens of the tokenizer. find: function from the text of any of its tokens to the id.
    n_vocab: one more than the greatest id of the tokenizer.

    Raises ValueError if a number is out of range, or reserved_name does not have exactly one {}; TypeError if an
    argument has a wrong type.
    """
    reserved = integer("reserved", reserved)
    if not 0 <= reserved <= _MAX_RESERVED:
        raise ValueError(f"reserved={reserved}: not in 0..{_MAX_RESERVED}")
    n_vocab = max([n_vocab, *(token.id + 1 for token in new)])
    n_added = reserved
    if pad_to_multiple_of is not None:
        multiple = integer("pad_to_multiple_of", pad_to_multiple_of)
        if not 1 <= multiple <= _MAX_RESERVED:
            raise ValueError(f"pad_to_multiple_of={multiple}: not in 1..{_MAX_RESERVED}")
        n_added += -(n_vocab + reserved) % multiple
    if not isinstance(reserved_name, str):
        raise TypeError(f"reserved_name must be a str, not {type(reserved_name).__name__}")
    if reserved_name.count("{}") != 1:
        raise ValueError(
            f"reserved_name={reserved_name!r}: must contain exactly one {{}}, which the number replaces"
        )
    names = known.set | {token.content for token in (*known.added, *new)}
    out, number = list(new), 0
    while n_added:
        name = reserved_name.replace("{}", str(number))
        number += 1
        if name not in names and find(name) is None:
            out.append(AddedToken(name, n_vocab, special=True))
            n_vocab += 1
            n_added -= 1
    return out


def add_to_bytes(model: Model, new: Sequence[AddedToken]) -> Model:
    """Return a byte-level or character-level model with more tokens."""
    special = {token.content: token.id for token in new if token.special}
    with_rules = [token for token in new if not token.special or any(token[3:])]
    return model._replace(
        special_tokens={**model.special_tokens, **special},
        added_tokens=sorted((*model.added_tokens, *with_rules), key=attrgetter("id")),
        fingerprint="",
    )


def add_to_code_points(model: CodePointModel, new: Sequence[AddedToken], argument: str) -> CodePointModel:
    """Return a code-point model with more pieces.

    Raises SpecialTokenError if the ids leave a gap, a text is already a piece, or the model cannot store a flag.
    """
    for token in new:
        _check_flags(token, model)
    pieces = model.pieces
    known = {piece: i for i, piece in enumerate(pieces)}
    behind = sorted((token for token in new if not _is_piece(token, known, model)), key=attrgetter("id"))
    if [token.id for token in behind] != list(range(len(pieces), len(pieces) + len(behind))):
        raise SpecialTokenError(
            f"new {argument} have the ids {[token.id for token in behind]}: a code-point vocabulary has no gaps, "
            f"so the new tokens need the ids {len(pieces)} and following"
        )
    texts = [_piece_of(token, model) for token in behind]
    for token, text in zip(behind, texts, strict=True):
        if text in known:
            raise SpecialTokenError.is_ordinary(token.content, known[text], special=token.special)
    piece_bytes, piece_ends = pack_pieces([*pieces, *texts])
    kinds = bytes([PieceType.CONTROL if token.special else PieceType.USER_DEFINED for token in behind])
    with_rules = [] if model.conventions is None else [t for t in new if not t.special or any(t[3:])]
    return model._replace(
        piece_bytes=piece_bytes,
        piece_ends=piece_ends,
        scores=model.scores + bytes(4 * len(behind)),
        types=model.types + kinds,
        added_tokens=sorted((*model.added_tokens, *with_rules), key=attrgetter("id")),
        serialized=b"",
    )


def _is_piece(token: AddedToken, known: Mapping[bytes, int], model: CodePointModel) -> bool:
    """Tell whether an added token has the id of a piece with the same text, so that it is found as a whole."""
    piece_id = known.get(token.content.encode())
    is_normal = piece_id is not None and model.types[piece_id] == PieceType.NORMAL
    return model.conventions is not None and is_normal and piece_id == token.id and not token.special


def _piece_of(token: AddedToken, model: CodePointModel) -> bytes:
    if model.conventions is not None or token.special or not model.normalizer["escape_whitespaces"]:
        return token.content.encode()
    return token.content.replace(" ", METASPACE).encode()


def _check_flags(token: AddedToken, model: CodePointModel) -> None:
    """Raise SpecialTokenError for flags that cannot be combined with the model."""
    if model.conventions is not None:
        trims = model.normalizer["remove_extra_whitespaces"] or model.trainer["treat_whitespace_as_suffix"]
        prefixes = model.normalizer["add_dummy_prefix"] and model.conventions.prefix
        strips = model.conventions.escapes and (token.lstrip or token.rstrip)
        if token.normalized and (trims or prefixes or strips):
            raise SpecialTokenError(
                f"added token {token.content!r} is normalized, which cannot be combined with "
                f"{'lstrip or rstrip' if strips else 'the normalizer of this tokenizer'}, because spaces are "
                "U+2581 after normalization; pass normalized=False"
            )
        return
    flags = [flag for flag in _FLAGS[1:] if getattr(token, flag)]
    if flags:
        raise SpecialTokenError(
            f"added token {token.content!r} has the flag {flags[0]}, which a sentencepiece model cannot store; "
            "leave the flag out. If a tokenizer.json can store this tokenizer, you can also export it as one, "
            "load that file, and add the token to the result"
        )
