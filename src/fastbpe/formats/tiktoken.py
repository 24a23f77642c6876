"""The `.tiktoken` format: in each line, the bytes of a token in base64, a space, and its rank.

The file contains no split pattern and no special tokens: the caller passes them, unless the SHA-256 of the file
equals a published vocabulary's (`fastbpe.known_vocabularies`). Other files of a folder may name more special
tokens.
"""

from __future__ import annotations

import binascii
import re
from array import array
from functools import partial

from fastbpe.errors import FormatError
from fastbpe.formats import rank_lines
from fastbpe.formats.byte_level import text_of
from fastbpe.formats.limits import HEAD_BYTES, check_entries, check_spread
from fastbpe.model import AddedToken, Buffer, Model
from fastbpe.patterns import PATTERNS, PatternLike

TYPE_CHECKING = False
if TYPE_CHECKING:  # imported at run time when a file is read
    from collections.abc import Mapping, Sequence

    from fastbpe.formats.huggingface.named_tokens import NamedTokens
    from fastbpe.known_vocabularies import KnownVocabulary

_LINE = rb"(?:[A-Za-z0-9+/]+={0,2}|=) [0-9]+\r?"
_MAX_RESERVED = 1 << 16  # limit on the unused ids between the ranks and the ids of added tokens
MAX_RANK = (1 << 24) - 1  # the core's limit: ids index flat arrays


def recognise(data: Buffer) -> bool:
    """Tell whether the first line that is not blank looks like a token and a rank."""
    for line in bytes(data[:4096]).split(b"\n"):
        if line.strip():
            return re.fullmatch(_LINE, line) is not None
    return False


def parse(
    data: Buffer,
    where: str,
    *,
    pattern: PatternLike,
    special_tokens: Mapping[str, int] | None,
    known: KnownVocabulary | None = None,
    named: NamedTokens | None = None,
) -> Model:
    """Read the model in a file's bytes.

    Args:
        known: the published vocabulary with these bytes; None: look it up by SHA-256.
        named: tokens that other files of its folder name; None: the file is not in a tokenizer's folder.

    Raises:
        FormatError: a damaged file, an unknown one if `pattern` is None, or an id in `named` that is too large.
    """
    from fastbpe.known_vocabularies import recognise as recognise_known  # here: no other format needs it

    if len(data) > HEAD_BYTES and not recognise(data):
        first = bytes(data[:HEAD_BYTES]).lstrip(b"\r\n").partition(b"\n")[0]
        raise FormatError(
            f"{where}: not a .tiktoken file: its first line is not a token in base64 and its rank: {first[:60]!r}"
        )
    check_entries(data, where, b"\n")
    known = known or recognise_known(data)
    if pattern is None and known is None:
        raise FormatError(
            f"{where}: a .tiktoken file does not store its split pattern, and this one is not a published "
            f"vocabulary that fastbpe knows; pass its pattern by name ({', '.join(PATTERNS)}) or as a regex: "
            'pattern=..., and its special tokens as special_tokens=...; "none" means no splitting'
        )
    tokens: list[bytes] | None = None
    tables: dict[str, Buffer] | None = None
    empty: int | None = None
    plain = rank_lines.parse(data)
    if plain is not None:
        tables = dict(zip(("token_bytes", "token_ends"), plain, strict=True))
    else:
        ranks = parse_ranks(bytes(data), where)
        empty = ranks.pop(b"", None)
        tokens = list_tokens(ranks)
    if known is None:
        known_special = {}
    else:
        known_special = known.special_tokens()
        # If the caller passes special tokens, the leading tokens of the file stay ordinary.
        if known.n_leading and tables is not None and special_tokens is None:
            tables, leading = _split_off(tables, known.n_leading)
            known_special |= leading
        pattern = known.pattern if pattern is None else pattern
    model = Model(
        tokens=tokens,
        tables=tables,
        pattern=pattern,
        special_tokens=known_special if special_tokens is None else special_tokens,
        name=None if known is None else known.name,
        huggingface={} if empty is None else {"empty_token": empty},
    )
    return model if named is None else _with_named(model, named, where)


def _with_named(model: Model, named: NamedTokens, where: str) -> Model:
    """Return a model with the tokens that the other files of its folder name.

    As in transformers, tokens with an id in these files come in the order of their ids, and an unused id between
    the last rank and the greatest of these ids becomes a reserved token. A token that already exists needs no id,
    so the ids of later tokens are smaller than in the files. Raises FormatError if too many would be reserved.
    """
    from fastbpe.formats.huggingface import byte_vocabulary  # here: in most folders there are no other files
    from fastbpe.formats.huggingface.named_tokens import Definition

    if not (named.decoder or named.named or named.extra):
        return model
    tokens = model.list_tokens()
    ids = {text_of(token): i for i, token in enumerate(tokens) if token}
    empty = model.huggingface.get("empty_token")
    n_tokens = max(len(tokens), -1 if empty is None else empty + 1)
    last = max(named.decoder, default=-1)
    if last - n_tokens > _MAX_RESERVED:
        raise FormatError(
            f"{where}: the files next to it name an added token with the id {last}, far beyond its {n_tokens} "
            f"ranks; the ids between become reserved tokens, and fastbpe accepts at most {_MAX_RESERVED} of them"
        )
    # As in transformers, ids in the files replace the published special tokens.
    published = {} if named.decoder else model.special_tokens
    own = {i: AddedToken(name, i, special=True) for name, i in published.items()}
    own |= {
        i: named.decoder.get(i, Definition(f"<|reserved_token_{i}|>")).token() for i in range(n_tokens, last + 1)
    }
    numbered: dict[str, AddedToken] = {}
    next_id = n_tokens
    # Published tokens keep their ids; without ids in the files, `last` is -1, so i > last means a published token.
    # All others are numbered without gaps; -1: a token without an id.
    for i, token in [
        *sorted(own.items()),
        *((-1, extra.token()) for extra in (named.extra if named.has_extra else ())),
    ]:
        if token.content and token.content not in ids and token.content not in numbered:
            next_id = max(next_id, i) if i > last else next_id
            numbered[token.content] = token._replace(id=i if 0 <= i < n_tokens else next_id)
            next_id += i >= n_tokens or i < 0
    # is_older=False: `numbered` already has the tokens of the files.
    added = named._replace(is_older=False).add([*numbered.values()], ids.get, n_tokens)
    special, others = byte_vocabulary.plain_special(added, ids.get, {*ids.values()})
    return model._replace(
        special_tokens=special,
        added_tokens=others,
        huggingface={**model.huggingface, **byte_vocabulary.kept_parts(added)},
    )


def _split_off(tables: Mapping[str, Buffer], n: int) -> tuple[dict[str, Buffer], dict[str, int]]:
    """Take the first n tokens, which are special, out of the tables. Returns (other tables, name → id)."""
    flat, ends = bytes(tables["token_bytes"]), array("I", bytes(tables["token_ends"]))
    first = ends[n - 1]
    names = {flat[ends[i - 1] if i else 0 : ends[i]].decode(): i for i in range(n)}
    moved = array("I", [0] * n + [end - first for end in ends[n:]])
    return {"token_bytes": flat[first:], "token_ends": moved.tobytes()}, names


def list_tokens(ranks: Mapping[bytes, int]) -> list[bytes]:
    """Return the token of each rank; b"" if no token has it."""
    tokens = [b""] * (max(ranks.values(), default=-1) + 1)
    for token, rank in ranks.items():
        tokens[rank] = token
    return tokens


def parse_ranks(data: bytes, where: str) -> dict[bytes, int]:
    """Return token → rank. Blank lines and CRLF line endings are allowed. Raises FormatError for a damaged file.

    The slow counterpart of `rank_lines.parse`, which handles only plain files and leaves all others to this
    function.
    """
    ranks: dict[bytes, int] = {}
    lines_of: dict[int, int] = {}
    for number, line in enumerate(data.split(b"\n"), 1):
        if not line or line == b"\r":
            continue
        token, rank = _parse_line(line, f"{where}:{number}")
        if token in ranks:
            raise FormatError(
                f"{where}:{number}: token {token!r} is already on line {lines_of[ranks[token]]}; "
                "re-export the vocabulary"
            )
        if rank in lines_of:
            raise FormatError(
                f"{where}:{number}: rank {rank} is already on line {lines_of[rank]}; re-export the vocabulary"
            )
        ranks[token] = rank
        lines_of[rank] = number
    if not ranks:
        raise FormatError(f"{where}: it contains no tokens; copy the file again or recreate it")
    last = max(lines_of)
    check_spread(last, len(ranks), f"{where}:{lines_of[last]}: rank")
    return ranks


def _parse_line(line: bytes, where: str) -> tuple[bytes, int]:
    fields = line.split()
    if len(fields) != 2:
        found = "no rank" if len(fields) == 1 else f"{len(fields)} fields"
        raise FormatError(f"{where}: expected a token in base64, a space and its rank, found {found}: {line!r}")
    import base64  # here: rank_lines decodes plain files

    try:
        token = base64.b64decode(fields[0], validate=True) if fields[0] != b"=" else b""  # "=" in Whisper's file
    except binascii.Error as error:
        raise FormatError(f"{where}: {fields[0]!r} is not base64: {error}") from None
    digits = fields[1].lstrip(b"0") or fields[1][-1:]
    # [:20] exceeds MAX_RANK, too, and `int` refuses more than 4,300 digits.
    if not digits.isdigit() or int(digits[:20]) > MAX_RANK:
        raise FormatError(f"{where}: rank {fields[1][:40]!r} is not a number from 0 to {MAX_RANK}")
    return token, int(digits)


def dump(tokens: Sequence[bytes], empty: int | None = None) -> bytes:
    """Return the bytes of the file; ids are ranks. empty: id of the empty token; None: no such token."""
    check_tokens(tokens)
    if empty is not None and empty >= len(tokens):
        tokens = [*tokens, *[b""] * (empty + 1 - len(tokens))]
    as_base64 = partial(binascii.b2a_base64, newline=False)
    return b"".join(
        b"%s %d\n" % (b"=" if rank == empty else as_base64(token), rank)
        for rank, token in enumerate(tokens)
        if token or rank == empty
    )


def check_tokens(tokens: Sequence[bytes], what: str = "a .tiktoken file") -> None:
    """Raise FormatError if a token has two ids. what: the format, for the message."""
    first: dict[bytes, int] = {}
    for token_id, token in enumerate(tokens):
        if token and first.setdefault(token, token_id) != token_id:
            raise FormatError(
                f"the ids {first[token]} and {token_id} are both the token {token!r}, but {what} can store a "
                "token only once; export this tokenizer as native"
            )
