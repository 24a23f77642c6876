"""Vocabulary of a byte-level tokenizer.json: tokens to bytes, merges to ids, added tokens.

The slow counterpart of `_vocab_json`, which handles only plain files and leaves all others to this module.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import chain, repeat
from operator import attrgetter, itemgetter
from typing import Any, TypeAlias

from fastbpe._utils.warn import warn
from fastbpe.errors import FormatWarning
from fastbpe.formats.byte_level import BYTE_OF_CHARACTER, bytes_of, text_of
from fastbpe.formats.huggingface._vocab_json import Entries
from fastbpe.formats.huggingface.named_tokens import NamedTokens
from fastbpe.formats.huggingface.step_parts import Part
from fastbpe.model import AddedToken, pack_merges

#: Token → id.
Vocabulary: TypeAlias = dict[str, int] | Entries
#: Byte tokens of vocabularies whose other tokens are text.
BYTE_NAMES = tuple(f"<0x{byte:02X}>" for byte in range(256))
MAX_TOKENS = 1 << 21  # without added tokens; twice the largest vocabulary known
_BATCH = 4096  # added tokens that `_take_all` checks at once
_FLAGS = AddedToken._fields[2:]
_BOOL, _DICT, _INT, _STR = {bool}, {dict}, {int}, {str}
_flags_of: Callable[[Mapping[str, Any]], tuple[Any, ...]] = itemgetter(*_FLAGS)
_content_of, _id_of, _id_of_token = itemgetter("content"), itemgetter("id"), attrgetter("id")


def decoded(content: str) -> bytes:
    """Return the bytes of a token as decoded by tokenizers' ByteLevel.

    A token with a character that represents no byte decodes to its own UTF-8.
    """
    token = bytes_of(content)
    return content.encode() if token is None else token


def check_vocabulary(model: Part) -> dict[str, int]:
    """Return token → id as in the file.

    Raises:
        FormatError: too many tokens, or an id that is out of range or appears twice.
    """
    vocabulary: dict[str, int] = model.get("vocab", dict)
    if len(vocabulary) > MAX_TOKENS:
        model.fail(f"{len(vocabulary)} tokens: the limit is {MAX_TOKENS}", "vocab")
    if {*map(type, vocabulary.values())} == _INT:  # nearly all files pass; the loop below finds the token to name
        ids = {*vocabulary.values()}
        if len(ids) == len(vocabulary) and min(ids) >= 0 and max(ids) < 2 * MAX_TOKENS:
            return vocabulary
    taken: dict[int, str] = {}
    for token, token_id in vocabulary.items():
        if type(token_id) is not int or not 0 <= token_id < 2 * MAX_TOKENS:
            model.fail(
                f"token {token!r:.60} has the id {token_id!r:.30}, which is not an integer from 0 to "
                f"{2 * MAX_TOKENS - 1}",
                "vocab",
            )
        if token_id in taken:
            model.fail(f"tokens {taken[token_id]!r:.60} and {token!r:.60} have the same id {token_id}", "vocab")
        taken[token_id] = token
    return vocabulary


def texts_by_id(vocabulary: Mapping[str, int]) -> list[str]:
    """Return the tokens by id; "" for an id without a token."""
    texts = [""] * (max(vocabulary.values(), default=-1) + 1)
    for token, i in vocabulary.items():
        texts[i] = token
    return texts


def byte_ids(vocabulary: Vocabulary) -> tuple[int, ...]:
    """Return the ids of the byte tokens, -1 for a byte without one; () if no byte has one."""
    found = tuple(vocabulary.get(name, -1) for name in BYTE_NAMES)
    return found if max(found) >= 0 else ()


def read_merges(model: Part, vocabulary: Mapping[str, int], prefix: bytes = b"") -> list[tuple[int, int, int]]:
    """Return (left id, right id, merged id), best first. Of two equal pairs, the last counts, as in tokenizers.

    prefix: continuing_subword_prefix, which the right token of each merge loses.

    Raises FormatError if a merge is not of two tokens, or does not make a token.
    """
    merges: dict[tuple[int, int], int] = {}
    for number, (left, right) in pairs_of(model):
        place = f"merges[{number}]"
        for token in (left, right):
            if token not in vocabulary:
                model.fail(f"{left!r:.60} and {right!r:.60}: {token!r:.60} is not a token", place)
        merged = left + (_without(right, prefix, model, place) if prefix else right)
        if merged not in vocabulary:
            model.fail(f"{left!r:.60} and {right!r:.60}: {merged!r:.60} is not a token", place)
        if not left or not right:
            continue  # no text becomes the empty token
        pair = vocabulary[left], vocabulary[right]
        merges.pop(pair, None)
        merges[pair] = vocabulary[merged]
    return [(left, right, merged) for (left, right), merged in merges.items()]


def _without(token: str, prefix: bytes, model: Part, place: str) -> str:
    """Remove as many bytes as the prefix has from the start of a token, whatever they are, as tokenizers does."""
    data = token.encode()
    rest = data[len(prefix) :].decode(errors="replace")
    if len(data) < len(prefix) or len(rest.encode()) != len(data) - len(prefix):
        model.fail(
            f"from {token!r:.60}, the {len(prefix)} bytes of continuing_subword_prefix cannot be removed: it is "
            "too short, or a character of it would be cut",
            place,
        )
    return rest


def pairs_of(model: Part) -> Iterable[tuple[int, tuple[str, str]]]:
    """Yield (index, (left, right)) of each merge, written as "left right" or ["left", "right"].

    Skips texts that begin with "#version". Raises FormatError for anything else.
    """
    merges = model.get("merges", list)
    as_text = bool(merges) and isinstance(merges[0], str)
    for number, merge in enumerate(merges):
        if isinstance(merge, str) and as_text:
            if merge.startswith("#version"):
                continue
            pair: Sequence[Any] = merge.split(" ")
        else:
            pair = merge if isinstance(merge, list) and not as_text else ()
        if len(pair) != 2 or not all(isinstance(token, str) for token in pair):
            model.fail(
                f'must be two tokens, not {merge!r:.60}; write all merges as "a b", or all as ["a", "b"]',
                f"merges[{number}]",
            )
        yield number, (pair[0], pair[1])


def read_added_tokens(top: Part, vocabulary: Vocabulary, named: NamedTokens | None = None) -> list[AddedToken]:
    """Return the added tokens in the order of their ids, including the tokens in `named`.

    Raises:
        FormatError: an added token lacks a member, or a member has a wrong type or value.

    Warns:
        FormatWarning: a token gets another id than in the file, as in tokenizers.
    """
    values: Sequence[Any] = top.member("added_tokens", list, ())
    ids: dict[str, int] = {}
    kept: list[Mapping[str, Any]] = []
    following = len(vocabulary)  # the id that tokenizers gives to the next token outside the vocabulary
    for first in range(0, len(values), _BATCH):
        batch = values[first : first + _BATCH]
        after = _take_all(batch, vocabulary, ids, following)
        if after is not None:
            following = after
            kept += batch
            continue
        for number, value in enumerate(batch, first):
            if _is_token(top, number, value):
                following = _take(top, number, value, vocabulary, ids, following)
                kept.append(value)
    # As in tokenizers, a token outside a vocabulary with gaps may get the id of another, and a token may be listed
    # again. Of several with one id, the last applies; a token that was ever special stays special.
    last_of = {ids[value["content"]]: value for value in kept}
    added = [
        AddedToken._make((value["content"], token_id, *_flags_of(value))) for token_id, value in last_of.items()
    ]
    if len(ids) < len(kept):  # a token is listed again
        special = {value["content"] for value in kept if value["special"]}
        added = [token._replace(special=token.content in special) for token in added]
    if named is not None:
        return named.add(sorted(added, key=_id_of_token), vocabulary.get, len(vocabulary))
    return sorted(added, key=_id_of_token)


def listed_added_tokens(top: Part) -> list[AddedToken]:
    """Return the added tokens as a file lists them, without empty ones. Errors are as for `read_added_tokens`."""
    return [
        AddedToken._make((value["content"], value["id"], *_flags_of(value)))
        for number, value in enumerate(top.member("added_tokens", list, ()))
        if _is_token(top, number, value)
    ]


def _take_all(batch: Sequence[Any], vocabulary: Vocabulary, ids: dict[str, int], following: int) -> int | None:
    """Add a batch of tokens to `ids` if all are new and valid, as in nearly all files.

    following: the id that the next token outside the vocabulary must have.

    Returns:
        `following` after the batch; None if each token must be checked by itself.
    """
    if {*map(type, batch)} != _DICT:
        return None
    try:
        contents, numbers = [*map(_content_of, batch)], [*map(_id_of, batch)]
        types_of_flags = {*map(type, chain.from_iterable(map(_flags_of, batch)))}
    except KeyError:
        return None
    if types_of_flags != _BOOL or {*map(type, contents)} != _STR or {*map(type, numbers)} != _INT:
        return None
    taken = dict(zip(contents, numbers, strict=True))
    if len(taken) < len(batch) or "" in taken or not taken.keys().isdisjoint(ids.keys()):
        return None
    for number, known in zip(numbers, map(vocabulary.get, contents, repeat(-1)), strict=True):
        if number != (following if known < 0 else known):
            return None
        following += known < 0
    ids.update(taken)
    return following


def _is_token(top: Part, number: int, value: Any) -> bool:
    """Return False for an empty token, which tokenizers skips. Raises FormatError if the value is not a token."""
    part = _added(top, number, value)
    content: str = part.get("content", str)
    token_id: int = part.get("id", int)
    if not 0 <= token_id < 1 << 32:
        part.fail(f"must be an id of 0 to 2**32 - 1, not {token_id}", "id")
    for key in _FLAGS:
        part.get(key, bool)
    return bool(content)


def _take(
    top: Part, number: int, value: Mapping[str, Any], vocabulary: Vocabulary, ids: dict[str, int], following: int
) -> int:
    """Add one valid token, which may already be listed. Returns `following` after it.

    Warns:
        FormatWarning: the token gets another id than in the file.
    """
    part, content = _added(top, number, value), value["content"]
    token_id: int = value["id"]
    is_new = content not in ids
    expected = vocabulary.get(content, following) if is_new else ids[content]
    if token_id != expected:
        warn(
            f"{part.where}: {part.place}: {content!r:.60} has the id {token_id} in the file, but gets {expected}: "
            "like tokenizers, fastbpe gives an added token its id in model.vocab, or else the next number",
            FormatWarning,
        )
    ids[content] = expected
    return following + (is_new and content not in vocabulary)


def _added(top: Part, number: int, value: Any) -> Part:
    return Part(value, top.where, f"added_tokens[{number}]")


def found_by_name(added: Sequence[AddedToken]) -> list[str]:
    """Return the texts of the added tokens that are found by name, never merged, even if in the vocabulary."""
    return [token.content for token in added if token.special or bytes_of(token.content) is None]


def kept_parts(added: Sequence[AddedToken], normalizers: Sequence[Mapping[str, Any]] = ()) -> dict[str, Any]:
    """Return parts of a tokenizer.json, as in `Model.huggingface`, for a model from a file of another format.

    Args:
        added: the added tokens. If the decoder ByteLevel would decode one of them to another text, the parts
            contain this decoder.
        normalizers: the steps of the normalizer; at most one.
    """
    kept: dict[str, Any] = {} if not normalizers else {"normalizer": normalizers[0]}
    if any(decoded(token.content) != token.content.encode() for token in added):
        kept["decoder"] = {"type": "ByteLevel", "add_prefix_space": True, "trim_offsets": True, "use_regex": True}
    return kept


def plain_special(
    added: Sequence[AddedToken], find: Callable[[str, int], int], ordinary: Collection[int]
) -> tuple[dict[str, int], list[AddedToken]]:
    """Return (special tokens by name, added tokens that need more than a name and an id).

    Args:
        find: function from a token, in GPT-2's byte characters, to its id in the vocabulary, or else to its second
            argument.
        ordinary: ids of ordinary tokens; only tokens with the id or the text of an added token matter.
    """
    special, others = {}, []
    for token in added:
        if token.special:
            special[token.content] = token.id
        plain = token.special and not (token.normalized or token.lstrip or token.rstrip or token.single_word)
        if (
            not plain
            or token.id in ordinary
            or find(text_of(token.content.encode()), -1) in ordinary
            or decoded(token.content) != token.content.encode()
        ):
            others.append(token)
    return special, others


def lay_out(
    model: Part,
    vocabulary: Mapping[str, int],
    merges: Sequence[tuple[int, int, int]],
    added: Sequence[AddedToken],
    whole_piece_first: bool,
) -> tuple[list[bytes], bytes, bool]:
    """Build the tables of a Model.

    Returns:
        (bytes of each ordinary id, b"" for others; packed merges; whether any byte lacks a token).

    Raises:
        FormatError: a token that a merge or whole_piece_first uses is not written in GPT-2's byte characters, a
            needed byte lacks a token, no ordinary token is left, or the ids have a gap.
    """
    used = {token_id for merge in merges for token_id in merge}
    by_name = {*found_by_name(added)}
    tokens: dict[int, bytes] = {}
    for token, token_id in vocabulary.items():
        if not token or (token in by_name and token_id not in used and token not in BYTE_OF_CHARACTER):
            continue  # whisper has an empty token, which no text becomes
        data = bytes_of(token)
        if data is None and (whole_piece_first or token_id in used):
            model.fail(f"token {token!r:.60} is not spelled in GPT-2's characters for bytes", "vocab")
        tokens[token_id] = token.encode() if data is None else data
    misses_bytes = check_missing_bytes(model, tokens.values(), whole_piece_first)
    if not tokens:
        model.fail("no text can produce any of its tokens", "vocab")
    listed = [b""] * (max(tokens) + 1)
    for token_id, data in tokens.items():
        listed[token_id] = data
    taken = {vocabulary.get("", -1), *(token.id for token in added)}  # ids that need no ordinary token
    gap = next((i for i, data in enumerate(listed) if not data and i not in taken), None)
    if gap is not None:
        model.fail(f"no token has the id {gap}, though greater ids are taken; renumber the vocabulary", "vocab")
    return listed, pack_merges(merges), misses_bytes


def check_missing_bytes(model: Part, tokens: Collection[bytes], whole_piece_first: bool) -> bool:
    """Tell whether some byte is not a token, so that encoding drops it.

    Raises:
        FormatError: the file has an unknown token for such bytes, or its ignore_merges needs all bytes.
    """
    known = {token[0] for token in tokens if len(token) == 1}
    missing = [byte for byte in BYTE_OF_CHARACTER.values() if byte not in known]
    if missing and model.value.get("unk_token") is not None:
        model.fail(f"the byte 0x{missing[0]:02x} has no token, and an unknown token is not supported", "unk_token")
    if missing and whole_piece_first:
        model.fail(f"the byte 0x{missing[0]:02x} has no token, but ignore_merges needs one", "vocab")
    return bool(missing)
