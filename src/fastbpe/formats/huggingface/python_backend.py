"""Vocabularies and added tokens of the classes that transformers runs in Python.

These classes find added tokens in the original text, and take the ids of an added_tokens_decoder literally.
"""

from __future__ import annotations

import io
import os
from collections import Counter

from fastbpe.errors import FormatError
from fastbpe.formats import limits
from fastbpe.formats.atomic_files import as_text, map_file
from fastbpe.formats.huggingface import named_tokens
from fastbpe.formats.huggingface.class_settings import WAY_OUT_OF_PYTHON, Settings
from fastbpe.formats.huggingface.read import read_json
from fastbpe.formats.huggingface.step_parts import Part
from fastbpe.formats.json_object import read_object
from fastbpe.model import AddedToken

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import NoReturn

    from fastbpe.formats.huggingface.named_tokens import NamedTokens

_FLAGS = ("lstrip", "rstrip", "single_word")


def read_named(folder: str, roles: Mapping[str, str]) -> NamedTokens:
    """Read the tokens that the files of a folder name.

    Of a tokenizer.json, a class takes only the added tokens, and these only without an added_tokens_decoder.

    roles: role → its token if no file names one.
    """
    named = named_tokens.read(folder, Settings(roles))
    path = os.path.join(folder, "tokenizer.json")
    if not named.is_older or not os.path.isfile(path):
        return named
    top = Part(read_json(bytes(map_file(path)), path), path, "")
    decoder = dict(named.decoder)
    for part in top.parts("added_tokens") if "added_tokens" in top.value else ():
        decoder[part.get("id", int)] = named_tokens.token_of(part.value, path, part.place)
    return named._replace(decoder=decoder)


def added_tokens(
    named: NamedTokens,
    vocab: Mapping[str, int],
    fail: Callable[[str], NoReturn],
    *,
    may_strip: bool = False,
    shared: Mapping[str, int] | None = None,
) -> list[AddedToken]:
    """Return the added tokens by id.

    A token is special if the files name it for a role or another attribute (such as image_token), or as an extra
    special token.

    Args:
        fail: function that raises an error: two tokens would have one id, or a token two, or a token has a flag
            that is not supported.
        may_strip: tokens with ids in the files may have the flags lstrip and rstrip.
        shared: special token → id of a token of the vocabulary; both may have this id.
    """
    special = dict.fromkeys(token.content for token in (*named.named.values(), *named.extra))
    special.pop("", None)  # transformers adds no empty token
    sharing = [AddedToken(content, i, True, False) for content, i in (shared or {}).items() if content in special]
    for other in sharing:
        del special[other.content]
    ids = {token.content: i for i, token in named.decoder.items()}
    if len(ids) < len(named.decoder):
        twice, _ = Counter(token.content for token in named.decoder.values()).most_common(1)[0]
        fail(f"two ids have the token {twice!r:.60}")
    known = {token.content: token for token in named.decoder.values()}
    for token in named.decoder.values():
        for flag in _FLAGS:
            if getattr(token, flag) and not (may_strip and flag != "single_word"):
                fail(f"the token {token.content!r:.60} has the flag {flag}, which is not supported for this class")
    next_id = len({*vocab} | {*ids})
    for content in special:
        if content not in ids:
            ids[content] = vocab.get(content, next_id)
            next_id += content not in vocab
    by_id = {i: content for content, i in vocab.items()}
    for content, i in ids.items():
        if by_id.get(i, content) != content:
            fail(f"the token {content!r:.60} would share the id {i} with another token")
        if vocab.get(content, i) != i:
            fail(f"the added token {content!r:.60} has the id {i}, but {vocab[content]} in the vocabulary")
        by_id[i] = content
    found = []
    for content, i in ids.items():
        flags = (known[content].lstrip, known[content].rstrip) if content in known else ()
        found.append(AddedToken(content, i, content in special, False, *flags))
    return sorted([*found, *sharing], key=lambda token: token.id)


def with_added(tokens: Iterable[str], added: Sequence[AddedToken], fail: Callable[[str], NoReturn]) -> list[str]:
    """Return tokens by id, followed by the added tokens that are not among them.

    fail: function that raises an error: an id has no token.
    """
    rows = [*tokens]
    for token in added:
        if token.id > len(rows):
            fail(f"no token has the id {len(rows)}, but {token.content!r:.60} has the id {token.id}")
        if token.id == len(rows):
            rows.append(token.content)
    return rows


def failing(where: str) -> Callable[[str], NoReturn]:
    """Return a function that raises FormatError about a file, with a way out."""

    def fail(what: str) -> NoReturn:
        raise FormatError(f"{where}: {what}; {WAY_OUT_OF_PYTHON}")

    return fail


def refuse_special_tokens(special_tokens: Mapping[str, int] | None, where: str) -> None:
    """Raise FormatError for the argument special_tokens: the files have their own."""
    if special_tokens is not None:
        raise FormatError(
            f"{where}: the files and their class in transformers set the special tokens; leave special_tokens= out"
        )


def read_vocabulary(path: str) -> dict[str, int]:
    """Return token → id of a vocab.json, in the order of the ids.

    Raises:
        FormatError: a token is empty, there are no tokens, or the ids are not 0, 1 and so on.
    """
    limits.check_entries(map_file(path), path, b":")
    found = read_object(path)
    ids = [i for i in found.values() if type(i) is int]
    if len(ids) < len(found) or sorted(ids) != [*range(len(ids))] or "" in found or not found:
        raise FormatError(
            f"{path}: it must give each token, none of them empty, a different id from 0 to the number of "
            "tokens - 1"
        )
    return dict(sorted(found.items(), key=lambda item: item[1]))


def read_lines(path: str) -> list[str]:
    r"""Read the lines of a text file, with their line endings: "\r\n" and "\r" become "\n"."""
    data = map_file(path)
    limits.check_entries(data, path, b"\n")
    return [*io.StringIO(as_text(data, path), newline=None)]


def read_dictionary(path: str, first: Iterable[str], token_of: Callable[[str], str]) -> dict[str, int]:
    """Return token → id of a dictionary of fairseq: the tokens of roles, then one token for each line.

    first: tokens of roles; token_of: function from a line to its token, or "" for a line without a token.

    Raises:
        FormatError: a line has no token, or a token appears twice.
    """
    known = dict.fromkeys(first)
    listed = [*map(token_of, read_lines(path))]
    if "" in listed:
        raise FormatError(f"{path}: line {listed.index('') + 1} has no token")
    found = {token: i for i, token in enumerate([*known, *listed])}
    if len(found) < len(known) + len(listed):
        twice, _ = Counter([*known, *listed]).most_common(1)[0]
        raise FormatError(
            f"{path}: it lists the token {twice!r:.60} twice, or its class in transformers adds this token itself"
        )
    return found
