"""Verification of an export: its bytes are read back and its ids compared before any file is written.

Take two tokenizers with the same vocabulary that split texts in the same way. If they produce the same ids for the
text of each token, and for the joined text of any two tokens, they produce the same ids for all texts (proof in
`tests/reference/__init__.py`). The probe is the list of such texts that are compared. For a small vocabulary, it
contains all of them; for a large one, the text of each token and the joined texts of some pairs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.short_reprs import fields_repr
from fastbpe.errors import FastbpeError, FormatError, VocabularyError
from fastbpe.formats import detect, gpt2
from fastbpe.model import CodePointModel, Model
from fastbpe.patterns import Pattern, resolve_pattern
from fastbpe.tokenizer.export import unigram_sums
from fastbpe.tokenizer.export.exportable import Exportable, Files
from fastbpe.tokenizer.export.unigram_sums import Examples, Excuse, OtherSums
from fastbpe.tokenizer.families.ranked_merges import by_ranks

_MAX_PAIRS = 1 << 16  # texts of two tokens in a probe; of a sample, up to half share a character
_NATIVE_TEXTS = 1 << 14  # texts to compare for a native file, which has a checksum and contains the same tables
_BATCH_TEXTS = 1 << 14  # texts to encode at once
_MAX_PROBE_CHARACTERS = 1 << 24  # texts of tokens and pairs together
_MAX_SPECIAL = 1 << 10  # special tokens in a probe
_STEP = 0x9E3779B1  # prime distance in the list of tokens: pairs each token with one far from it
MAX_SHOWN = 8  # texts with other ids in a Verification
_SHOWN_CHARACTERS, _SHOWN_IDS = 80, 6  # shown of a text and of a list of ids in an error message
# Bytes that complete any end of a character at the start of a token, and any beginning of one at its end. After F0
# and E0, UTF-8 excludes some bytes: F1 precedes these, and 90 and A0 follow.
_BEFORE = (b"", b"\xc3", b"\xe3", b"\xf0", b"\xf1")
_BEHIND = (b"", b"\x80", b"\x80\x80", b"\x80\x80\x80", b"\xa0\x80", b"\x90\x80\x80")
# Texts at the beginning of every probe.
_PLAIN = ("", " ", "  ", "a", " a", "a ", "\n", "\t", "\u2581", "a\u2581 b", "é", "漢", "\U0001f600", "\ufffd")
# Format → end of the name under which its file is read back: its content may look like another format.
_ENDINGS = {"tiktoken": ".tiktoken", "sentencepiece": ".model"}
_WAY_OUT = "nothing is written: export this tokenizer as native"


class Difference(NamedTuple):
    """A text for which two tokenizers produce different ids: `expected` by the original, `found` by the other."""

    text: str
    expected: Sequence[int]
    found: Sequence[int]

    def __repr__(self) -> str:
        return fields_repr(self)


class Verification(NamedTuple):
    """Result of a comparison.

    Texts may get other ids if a part was dropped, or if a unigram model is converted for another library. In a
    conversion, the two best segmentations of such a text nearly tie, the libraries normalize it differently, or
    only one library finds a special token in it.

    n_texts: number of texts compared.
    owner: library that owns the format, if it took part in the comparison of verify_text; None: it did not.
    dropped: parts that were left out because of `drop=`. They are also left out of the comparison.
    n_changed: number of compared texts that get other ids.
    changed: the first 8 of these texts, each with the ids of the tokenizer and of the file.
    """

    n_texts: int
    owner: str | None
    dropped: tuple[str, ...] = ()
    n_changed: int = 0
    changed: tuple[Difference, ...] = ()


class Excused:
    """Counter of excused differences: the conversion of a unigram model may cause them, so they are no error.

    sums: description of the conversion; None: no difference is excused.
    n, shown: number of excused differences, and the first MAX_SHOWN of them.
    first: excuse → the first difference with it.
    """

    def __init__(self, sums: OtherSums | None) -> None:
        self._sums = sums
        self.n = 0
        self.first: dict[Excuse, Difference] = {}
        self.shown: list[Difference] = []

    def excuse(self, difference: Difference) -> Excuse:
        """Return the excuse of a difference, without counting it."""
        return "" if self._sums is None else self._sums.excuse(*difference)

    def __call__(self, difference: Difference) -> bool:
        excuse = self.excuse(difference)
        if not excuse:
            return False
        self.n += 1
        self.first.setdefault(excuse, difference)
        if len(self.shown) < MAX_SHOWN:
            self.shown.append(difference)
        return True


def arguments(format: str, pattern: Pattern, special_tokens: Mapping[str, int]) -> dict[str, Any]:
    """Return, as a dict, the arguments that `load` needs for the parts that a format lacks."""
    needed: dict[str, Any] = {}
    if format in ("tiktoken", "gpt2"):
        needed["pattern"] = resolve_pattern(pattern)[0] or pattern
    if special_tokens and (format == "tiktoken" or (format == "gpt2" and not gpt2.are_known(special_tokens))):
        needed["special_tokens"] = dict(special_tokens)
    return needed


def verify(
    tokenizer: Exportable, files: Files, format: str, text: str | None = None
) -> tuple[Verification, Examples]:
    """Read exported files back, and compare them with the tokenizer on a probe made of the vocabulary.

    text: additional text to compare, line by line; also compared with the library that owns the format
        (tokenizers, tiktoken, sentencepiece) if it is installed.

    Returns the result, and the first excused difference for each excuse.

    Raises FormatError if the files cannot be read back, a token differs, or ids differ; then the message contains
    the text, both lists of ids and the first tokens that differ.
    """
    again = read_back(tokenizer, files, format)
    one = tokenizer._remake()  # without a cache, which the probe would fill
    where = f"in the new {format} file"
    lines = () if text is None else text.splitlines(keepends=True)
    excused = Excused(unigram_sums.between(one, again))
    max_ordinary = _NATIVE_TEXTS if format == "native" else None
    n_texts = compare_all(one, again, where, lines, max_ordinary, _WAY_OUT, excused)
    done = Verification(n_texts, None, n_changed=excused.n, changed=tuple(excused.shown))
    if text is None:
        return done, excused.first
    from fastbpe.tokenizer.export.original_libraries import owner_of  # here: few calls need it

    owner = owner_of(one, files, format)
    if owner is not None:
        for line in lines:
            if _refuse_both(one, again, line, frozenset()):
                continue
            difference = Difference(line, one.encode_ordinary(line), owner.encode(line))
            # compare_all() has counted the excused lines, because fastbpe reads the file as its owner does.
            if difference.expected != difference.found and not excused.excuse(difference):
                where = f"in {owner.name} with the new {format} file"
                raise FormatError(f"{describe(one, difference, where)}; {_WAY_OUT}")
    return done._replace(owner=None if owner is None else owner.name), excused.first


def compare_all(
    one: Exportable,
    other: Exportable,
    where: str,
    lines: Iterable[str] = (),
    max_ordinary: int | None = None,
    way_out: str = "convert the original again",
    excused: Callable[[Difference], bool] | None = None,
) -> int:
    """Compare tokens, a probe of the vocabulary, special tokens and lines. Return the number of texts compared.

    Raises FormatError if they differ; the message contains the token, the text with both lists of ids, or the
    text for which only one has ids.

    one, other: tokenizers without caches.
    where, way_out: place of the other file, and advice, for the message.
    max_ordinary: number of texts of the probe to compare; None: all.
    excused: as in `compare`.
    """
    if changed := _changed_token(one, other):
        raise FormatError(f"{changed} {where}; {way_out}")
    n_texts = 0
    plans: list[tuple[Iterable[str], frozenset[str] | str]] = [
        (islice(probe(one), max_ordinary), frozenset()),
        (_special_probe(one), "all"),
        (lines, frozenset()),
    ]
    for texts, allowed in plans:
        try:
            n, difference = compare(one, other, texts, allowed, excused)
        except VocabularyError as error:
            raise FormatError(f"{error}; {way_out}") from error
        n_texts += n
        if difference is not None:
            raise FormatError(f"{describe(one, difference, where)}; {way_out}")
    return n_texts


def read_back(tokenizer: Exportable, files: Files, format: str) -> Exportable:
    """Load a tokenizer from the files, with the arguments that they need. Raises FormatError if that fails."""
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
        return tokenizer._remake(by_ranks(model) if isinstance(model, Model) else model)
    except FastbpeError as error:
        raise FormatError(f"the {format} file to be written cannot be read back: {error}") from error


def compare(
    one: Exportable,
    other: Exportable,
    texts: Iterable[str],
    allowed: frozenset[str] | str,
    excused: Callable[[Difference], bool] | None = None,
) -> tuple[int, Difference | None]:
    """Compare the ids of texts, and return (number of texts compared, first difference or None).

    Skip texts that neither tokenizer can encode. Raises VocabularyError for a text that only one of them can.

    excused: function that tells whether a difference may be ignored.
    """
    n, remaining = 0, iter(texts)
    while batch := [*islice(remaining, _BATCH_TEXTS)]:
        n += len(batch)
        try:
            expected = one._encode_to_array(batch, allowed, (), None)
            found = other._encode_to_array(batch, allowed, (), None)
        except VocabularyError:  # some text has a character without a token
            pass
        else:
            if all(memoryview(a) == memoryview(b) for a, b in zip(expected, found, strict=True)):
                continue
        for text in batch:
            if _refuse_both(one, other, text, allowed):
                continue
            try:
                ids = [each.encode(text, allowed_special=allowed, disallowed_special=()) for each in (one, other)]
            except VocabularyError as error:
                raise VocabularyError(
                    f"only one of the two tokenizers has ids for the text {shown_text(text)}: {error}"
                ) from error
            if ids[0] != ids[1]:
                difference = Difference(text, *ids)
                if excused is None or not excused(difference):
                    return n, difference
    return n, None


def _refuse_both(one: Exportable, other: Exportable, text: str, allowed: frozenset[str] | str) -> bool:
    """Tell whether both tokenizers lack a token for a character of the text."""
    for each in (one, other):
        try:
            each.encode(text, allowed_special=allowed, disallowed_special=())
        except VocabularyError:
            continue
        return False
    return True


def differ(one: Exportable, other: Exportable) -> Difference | None:
    """Find a text of the probe for which two tokenizers with the same vocabulary differ in ids; None: no text."""
    return compare(one, other, probe(one), frozenset())[1]


def describe(tokenizer: Exportable, difference: Difference, where: str) -> str:
    """Describe a difference in a sentence: the text, both lists of ids, the first tokens that differ."""
    text, expected, found = difference
    at = next((i for i, (a, b) in enumerate(zip(expected, found, strict=False)) if a != b), None)
    at = min(len(expected), len(found)) if at is None else at
    return (
        f"the text {shown_text(text)} is {shown_ids(expected, at)}, but {shown_ids(found, at)} {where}; the first "
        f"tokens that differ are {_token(tokenizer, expected, at)} and {_token(tokenizer, found, at)}"
    )


def shown_text(text: str) -> str:
    """Quote a text for a message; only its beginning if it is long."""
    return repr(text) if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]!r}..."


def shown_ids(ids: Sequence[int], at: int = 0) -> str:
    """Format some ids for a message, including those around index `at`."""
    first = max(0, at - 2) if len(ids) > _SHOWN_IDS else 0
    part = ", ".join(map(str, ids[first : first + _SHOWN_IDS]))
    return f"[{'..., ' if first else ''}{part}{', ...' if first + _SHOWN_IDS < len(ids) else ''}]"


def _token(tokenizer: Exportable, ids: Sequence[int], at: int) -> str:
    if at >= len(ids):
        return "nothing"
    try:
        return f"{tokenizer.id_to_token(ids[at])!r:.60} ({ids[at]})"
    except FastbpeError:
        return f"the id {ids[at]}, which has no token"


def _changed_token(one: Exportable, other: Exportable) -> str:
    """Return the beginning of a message about different tokens or numbers of ids; "" if all are the same.

    In other modes than "byte", only control tokens are compared: libraries decode bytes and the unknown token in
    different ways, and only a tokenizer.json counts the unknown token among the special tokens.
    """
    special = other.special_tokens
    for name, token_id in one._family.control_tokens().items():
        if special.get(name) != token_id:
            return f"{name!r} ({token_id}) is a special token, but not"
    if one.mode != "byte":
        return ""
    for name in special.keys() - one.special_tokens.keys():
        return f"{name!r} ({special[name]}) is not a special token, but is one"
    # `vocab` has added tokens, too: a file may list one among the ordinary tokens only to keep its id.
    for i, (token, found) in enumerate(zip(one.vocab, other.vocab, strict=False)):
        if token != found:
            return f"the token {i} is {token!r:.60}, but {found!r:.60}"
    return "" if one.n_vocab == other.n_vocab else f"there are {one.n_vocab} ids, but {other.n_vocab}"


# The probe


def probe(tokenizer: Exportable) -> Iterator[str]:
    """Yield texts that are likely to show a difference between two tokenizers with this vocabulary.

    The same vocabulary always gives the same texts.
    """
    yield from _PLAIN
    texts = [text_of(token) for token in tokenizer.vocab if token]
    n_remaining = _MAX_PROBE_CHARACTERS
    for text in chain(texts, _pairs(_joining(texts))):
        n_remaining -= len(text)
        if n_remaining < 0:
            return
        yield text


def _joining(texts: Sequence[str]) -> list[str]:
    """Leave out single characters that occur in no text of several characters, because no merge joins them."""
    joined = {character for text in texts if len(text) > 1 for character in text}
    return [text for text in texts if len(text) > 1 or text in joined]


def _pairs(texts: Sequence[str]) -> Iterator[str]:
    """Yield each text joined with each text.

    Of many texts, yield a sample. It joins a text with texts that are far from it in the list, and with texts that
    begin with its last character. That character then occurs only once: "ab" and "bc" give "abc".
    """
    n = len(texts)
    if n * n <= _MAX_PAIRS:
        for text in texts:
            yield from [text + other for other in texts]
        return
    following: dict[str, list[str]] = {}
    for text in texts:
        following.setdefault(text[0], []).append(text)
    # In each of n_each rounds, every step-th text gets up to two pairs: about _MAX_PAIRS in all.
    n_each, step = max(1, _MAX_PAIRS // (2 * n)), math.ceil(2 * n / _MAX_PAIRS)
    for k in range(1, n_each + 1):
        for i in range(0, n, step):
            text = texts[i]
            yield text + texts[(i * _STEP + k) % n]
            others = following.get(text[-1])
            if others:  # either token may take the shared character
                yield text + others[(i * _STEP + k) % len(others)][1:]


def _special_probe(tokenizer: Exportable) -> Iterator[str]:
    """Yield special tokens, at most `_MAX_SPECIAL`, each by itself and between texts."""
    for name in islice(tokenizer._family.control_tokens(), _MAX_SPECIAL):
        yield from (name, f"a{name}b", f" {name} {name}\n")


def text_of(token: bytes) -> str:
    r"""Return the text of a token. If its bytes are not UTF-8, return a text that contains them, if possible.

    >>> text_of(b"ab"), text_of(b"\xe6\xbc"), text_of(b"\x8f\xbf\xbf"), text_of(b"\xff")
    ('ab', '漀', '\U0004ffff', '\ufffd')
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
