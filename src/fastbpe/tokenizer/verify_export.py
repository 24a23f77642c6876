"""Read back an export and compare its ids before it replaces anything.

Two tokenizers of the same vocabulary that split texts alike give all texts the same ids if they do so for each
token and for each two tokens end to end (`_reference/__init__.py` has the proof). Of small vocabularies the probe
has all of these, of large ones all tokens and some pairs of each.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from fastbpe.errors import FastbpeError, FormatError
from fastbpe.formats import detect, gpt2
from fastbpe.model import CodePointModel, Model, PieceType
from fastbpe.patterns import Pattern, resolve_pattern
from fastbpe.tokenizer.codepoint import CodePointTokenizer
from fastbpe.tokenizer.merges_as_ranks import by_ranks
from fastbpe.tokenizer.tokenizer import Tokenizer

#: Bytes of a file, or of the files of a folder by their names.
Files = bytes | dict[str, bytes]

_PAIRS = 1 << 16  # texts of two tokens, or of two that share a character
_NATIVE = 1 << 14  # texts that a native file is compared on, which holds the very tables, and a checksum
_BATCH = 1 << 14  # texts that are encoded at once
_MAX_PROBE_BYTES = 1 << 24  # of the texts of tokens and pairs
_SPECIAL = 1 << 10  # special tokens that are tried
_STEP = 0x9E3779B1  # a prime: pairs each token with tokens far from it
_SHOWN, _SHOWN_IDS = 80, 6  # characters, ids
# What may stand around the bytes of a token to make characters of them.
_BEFORE = (b"", b"\xc3", b"\xe3", b"\xe3\x81", b"\xf0", b"\xf0\x9f", b"\xf0\x9f\x98")
_BEHIND = (b"", b"\x80", b"\x80\x80", b"\x80\x80\x80", b"\xa0\x80", b"\x90\x80\x80", b"\xa0")
_PLAIN = (
    "",
    " ",
    "  ",
    "a",
    " a",
    "a ",
    "\n",
    "\t",
    "\u2581",
    "a\u2581 b",
    "\u00e9",
    "\u6f22",
    "\U0001f600",
    "\ufffd",
)
_ENDINGS = {"tiktoken": ".tiktoken", "sentencepiece": ".model"}  # by which files that look odd are known
_WAY_OUT = "nothing is written: export it as native"


class Verification(NamedTuple):
    """The result of a comparison: n_texts texts; the owner of the format, if it gave verify_text the same ids."""

    n_texts: int
    owner: str | None


class Difference(NamedTuple):
    """A text, and the ids that two tokenizers give it."""

    text: str
    expected: Sequence[int]
    found: Sequence[int]


def arguments(format: str, pattern: Pattern, special_tokens: Mapping[str, int]) -> dict[str, Any]:
    """The arguments that `load` needs for what a format has no place for."""
    needed: dict[str, Any] = {}
    if format in ("tiktoken", "gpt2"):
        needed["pattern"] = resolve_pattern(pattern)[0] or pattern
    if special_tokens and (format == "tiktoken" or (format == "gpt2" and not gpt2.are_known(special_tokens))):
        needed["special_tokens"] = dict(special_tokens)
    return needed


def verify(tokenizer: Tokenizer, files: Files, format: str, text: str | None = None) -> Verification:
    """Read what is to be written, and compare it with the tokenizer on a probe made of the vocabulary.

    Args:
        tokenizer: what was exported.
        files: its file in the format, or several by name.
        format: as `export` has it.
        text: a text to compare besides, line by line, also with the format's owner (tokenizers, tiktoken,
            sentencepiece) where that is installed.

    Raises:
        FormatError: they differ; with the text, the ids and the first token that differs.
    """
    again = read_back(tokenizer, files, format)
    one = _copy(tokenizer)
    _compare_tokens(one, again, format)
    n_texts = 0
    ordinary = islice(probe(one), _NATIVE) if format == "native" else probe(one)
    plans: list[tuple[Iterable[str], frozenset[str] | str]] = [(ordinary, frozenset())]
    plans.append((_special_probe(one), "all"))
    for texts, allowed in plans:
        n, difference = compare(one, again, texts, allowed)
        n_texts += n
        if difference is not None:
            raise FormatError(describe(one, difference, f"read back from what is written as {format}"))
    if text is None:
        return Verification(n_texts, None)
    lines = text.splitlines(keepends=True)
    n, difference = compare(one, again, lines, frozenset())
    if difference is not None:
        raise FormatError(describe(one, difference, f"read back from what is written as {format}"))
    from fastbpe.tokenizer.original_libraries import owner_of  # here: only few ask for it

    owner = owner_of(one, files, format)
    if owner is not None:
        for line in lines:
            difference = Difference(line, one.encode_ordinary(line), owner.encode(line))
            if difference.expected != difference.found:
                raise FormatError(describe(one, difference, f"in {owner.name}, from what is written as {format}"))
    return Verification(n_texts + n, None if owner is None else owner.name)


def read_back(tokenizer: Tokenizer, files: Files, format: str) -> Tokenizer:
    """The tokenizer that these files are, read with the arguments that they need."""
    needed = arguments(format, tokenizer.pattern, tokenizer.special_tokens)
    pattern, special = needed.get("pattern"), needed.get("special_tokens")
    model: Model | CodePointModel
    try:
        if isinstance(files, bytes):
            name = f"<bytes>{_ENDINGS.get(format, '')}"
            model = detect.read(files, pattern=pattern, special_tokens=special, name=name)
        else:
            vocab, merges = (files[name] for name in gpt2.NAMES)
            model = gpt2.parse(vocab, merges, gpt2.NAMES, pattern=pattern, special_tokens=special)
        if isinstance(model, Model):
            return Tokenizer(by_ranks(model), cache_bytes=0)
        return CodePointTokenizer(model, cache_bytes=0)
    except FastbpeError as error:
        raise FormatError(f"what would be written as {format} could not be read again: {error}") from error


def compare(
    one: Tokenizer, other: Tokenizer, texts: Iterable[str], allowed: frozenset[str] | str
) -> tuple[int, Difference | None]:
    """Count the texts that were compared, and find the first to which two tokenizers give different ids."""
    n, remaining = 0, iter(texts)
    while batch := [*islice(remaining, _BATCH)]:
        n += len(batch)
        expected = one._encode_to_array(batch, allowed, (), None)
        found = other._encode_to_array(batch, allowed, (), None)
        if all(memoryview(a) == memoryview(b) for a, b in zip(expected, found, strict=True)):
            continue
        for text in batch:
            ids = [each.encode(text, allowed_special=allowed, disallowed_special=()) for each in (one, other)]
            if ids[0] != ids[1]:
                return n, Difference(text, *ids)
    return n, None


def differ(one: Tokenizer, other: Tokenizer) -> Difference | None:
    """A text to which two tokenizers of one vocabulary give different ids, if the probe has one."""
    return compare(one, other, probe(one), frozenset())[1]


def describe(tokenizer: Tokenizer, difference: Difference, where: str) -> str:
    """A difference as a sentence: the text, both ids, and the first token that differs."""
    text, expected, found = difference
    at = next((i for i, (a, b) in enumerate(zip(expected, found, strict=False)) if a != b), None)
    at = min(len(expected), len(found)) if at is None else at
    return (
        f"ids would change: the text {shown_text(text)} is {shown_ids(expected, at)}, {where} it is "
        f"{shown_ids(found, at)}; the first that differs is {_token(tokenizer, expected, at)}, which becomes "
        f"{_token(tokenizer, found, at)}; {_WAY_OUT}"
    )


def _copy(tokenizer: Tokenizer) -> Tokenizer:
    """The same tokenizer, without a cache that the probe would fill."""
    if isinstance(tokenizer, CodePointTokenizer):
        return CodePointTokenizer(tokenizer._source, cache_bytes=0)
    return Tokenizer(tokenizer._full_model(), cache_bytes=0)


def shown_text(text: str) -> str:
    """A text for a person, cut where it is long."""
    return repr(text) if len(text) <= _SHOWN else f"{text[:_SHOWN]!r}..."


def shown_ids(ids: Sequence[int], at: int = 0) -> str:
    """Some ids, those around a place among them."""
    first = max(0, at - 2) if len(ids) > _SHOWN_IDS else 0
    part = ", ".join(map(str, ids[first : first + _SHOWN_IDS]))
    return f"[{'..., ' if first else ''}{part}{', ...' if first + _SHOWN_IDS < len(ids) else ''}]"


def _token(tokenizer: Tokenizer, ids: Sequence[int], at: int) -> str:
    if at >= len(ids):
        return "nothing"
    try:
        return f"{tokenizer.id_to_token(ids[at])!r:.60} ({ids[at]})"
    except FastbpeError:
        return f"the id {ids[at]}, which is no token here,"


def _compare_tokens(one: Tokenizer, other: Tokenizer, format: str) -> None:
    """Raise FormatError for a token with another id, or a special token that is none."""
    lost = _changed_token(one, other)
    if lost:
        raise FormatError(f"{lost}, read back from what is written as {format}; {_WAY_OUT}")


def _changed_token(one: Tokenizer, other: Tokenizer) -> str:
    """Say which token is another one in the other tokenizer; "" if all are the same."""
    special = other.special_tokens
    for name, token_id in _control_tokens(one).items():
        if special.get(name) != token_id:
            return f"the special token {name!r} ({token_id}) would not be one"
    if one.mode != "byte":
        return ""
    for name in special.keys() - one.special_tokens.keys():
        return f"{name!r} ({special[name]}) would become a special token"
    for i, (token, found) in enumerate(zip(one._vocabulary.tokens(), other._vocabulary.tokens(), strict=False)):
        if token != found:
            return f"the token {i}, {token!r:.60}, would be {found!r:.60}"
    return "" if one.n_vocab == other.n_vocab else f"{one.n_vocab} ids would be {other.n_vocab}"


def _control_tokens(tokenizer: Tokenizer) -> dict[str, int]:
    """The special tokens, but for the unknown one, which only a tokenizer.json has among them."""
    if not isinstance(tokenizer, CodePointTokenizer):
        return tokenizer.special_tokens
    types = tokenizer._source.types
    return {name: i for name, i in tokenizer.special_tokens.items() if types[i] != PieceType.UNKNOWN}


# The probe


def probe(tokenizer: Tokenizer) -> Iterator[str]:
    """Texts that tokenizers of one vocabulary are likely to disagree on, if on any; always the same."""
    yield from _PLAIN
    texts = [text_of(token) for token in tokenizer.vocab if token]
    left = _MAX_PROBE_BYTES
    for text in texts:
        left -= len(text)
        if left < 0:
            return
        yield text
    for text in _pairs(_joining(texts)):
        left -= len(text)
        if left < 0:
            return
        yield text


def _joining(texts: Sequence[str]) -> list[str]:
    """Leave out the characters that no merge ever joins."""
    joined = {character for text in texts if len(text) > 1 for character in text}
    return [text for text in texts if len(text) > 1 or text in joined]


def _pairs(texts: Sequence[str]) -> Iterator[str]:
    n = len(texts)
    if n * n <= _PAIRS:
        for text in texts:
            yield from [text + other for other in texts]
        return
    following: dict[str, list[str]] = {}
    for text in texts:
        following.setdefault(text[0], []).append(text)
    n_each, step = max(1, _PAIRS // (2 * n)), -(-2 * n // _PAIRS)
    for k in range(1, n_each + 1):
        for i in range(0, n, step):
            text = texts[i]
            yield text + texts[(i * _STEP + k) % n]
            others = following.get(text[-1])
            if others:  # the last character may go either way
                yield text + others[(i * _STEP + k) % len(others)][1:]


def _special_probe(tokenizer: Tokenizer) -> Iterator[str]:
    """Special tokens by themselves and between texts."""
    for name in islice(_control_tokens(tokenizer), _SPECIAL):
        yield from (name, f"a{name}b", f" {name} {name}\n")


def is_text(token: bytes) -> bool:
    """Tell whether bytes are UTF-8."""
    try:
        token.decode()
    except UnicodeDecodeError:
        return False
    return True


def text_of(token: bytes) -> str:
    r"""A token's text; of one that is no UTF-8 a text that holds its bytes, if there is one.

    >>> text_of(b"ab"), text_of(b"\xe6\xbc"), text_of(b"\xff")
    ('ab', '漀', '\ufffd')
    """
    try:
        return token.decode()
    except UnicodeDecodeError:
        pass
    for before in _BEFORE:
        for behind in _BEHIND:
            try:
                return (before + token + behind).decode()
            except UnicodeDecodeError:
                continue
    return token.decode(errors="replace")
