"""Decoders of Hugging Face's tokenizers: steps that change a list of tokens, which are joined at the end.

Each step is built from its JSON (`formats.huggingface.decoder_json`). Tests compare them with tokenizers 0.23 on
random lists. If tokenizers panics (a Strip whose two ends meet), a step removes what it can.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import groupby
from typing import Any

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.formats.huggingface.byte_vocabulary import decoded
from fastbpe.formats.huggingface.decoder_json import CLEAN_UP, flattened
from fastbpe.normalization.huggingface import make_change

REPLACEMENT = "\ufffd"
_MANY = 1 << 8  # tokens; Replace joins more of them and searches once
_BYTE = re.compile("<0x[+0-9A-Fa-f][0-9A-Fa-f]>")  # tokenizers reads a sign, too


class Step:
    """Step of a decoder."""

    def __call__(self, tokens: Sequence[str], errors: str = "replace") -> list[str]:
        """Change a list of tokens. errors: for bytes that are not UTF-8; "replace" gives tokenizers' result."""
        raise NotImplementedError


class EachToken(Step):
    """Step that changes each token by itself.

    Attributes:
        knows_first: the first token changes differently.
        knows_last: the last token changes differently.
    """

    knows_first: bool = False
    knows_last: bool = False

    def forms(self, tokens: Sequence[str], first: bool, last: bool) -> list[str]:
        """Change each token by itself. first, last: treat each as the first or last of a list."""
        raise NotImplementedError

    def __call__(self, tokens: Sequence[str], errors: str = "replace") -> list[str]:
        return self.part(tokens, True, True)

    def part(self, tokens: Sequence[str], begins: bool, ends: bool) -> list[str]:
        """Change a part of a list of tokens. begins, ends: the part is at the beginning or end of the list."""
        if not self.knows_first and not self.knows_last:
            return self.forms(tokens, False, False)
        if len(tokens) < 2:
            return self.forms(tokens, begins, ends)
        return [
            *self.forms(tokens[:1], begins, False),
            *self.forms(tokens[1:-1], False, False),
            *self.forms(tokens[-1:], False, ends),
        ]


class Spaced(EachToken):
    """Step that puts a space before each token except the first; used if there is no decoder."""

    knows_first = True

    def forms(self, tokens: Sequence[str], first: bool, last: bool) -> list[str]:
        return [*tokens] if first else [f" {token}" for token in tokens]


class BPEDecoder(EachToken):
    """Step that replaces the suffix of words by a space, and removes it in the last token."""

    knows_last = True

    def __init__(self, suffix: str) -> None:
        self.suffix = suffix

    def forms(self, tokens: Sequence[str], first: bool, last: bool) -> list[str]:
        space = "" if last else " "
        return [token.replace(self.suffix, space) for token in tokens]


class WordPiece(EachToken):
    """Step that removes the prefix from parts of words, and puts a space before other tokens.

    The first token keeps its prefix, and gets no space.

    cleanup: remove spaces before punctuation and English contractions.
    """

    knows_first = True

    def __init__(self, prefix: str, cleanup: bool) -> None:
        self.prefix, self.cleanup = prefix, cleanup

    def forms(self, tokens: Sequence[str], first: bool, last: bool) -> list[str]:
        prefix, n = self.prefix, len(self.prefix)
        if not first:
            tokens = [token[n:] if token.startswith(prefix) else f" {token}" for token in tokens]
        return [*map(joined_english, tokens)] if self.cleanup else [*tokens]


class Metaspace(EachToken):
    """Step that turns a character into spaces, or removes it in the first token unless the scheme is "never"."""

    def __init__(self, replacement: str, prepend_scheme: str) -> None:
        self.replacement = replacement
        self.knows_first = prepend_scheme != "never"

    def forms(self, tokens: Sequence[str], first: bool, last: bool) -> list[str]:
        space = "" if first and self.knows_first else " "
        return [token.replace(self.replacement, space) for token in tokens]


class Replace(EachToken):
    """Step that replaces a text, or matches of a regular expression, in each token.

    text: the text to replace; None: matches of a regular expression.
    content: the replacement of text.
    change: function that changes a token if text is None or ""; for "", content is put around each character.
    """

    def __init__(self, text: str | None, content: str, change: Callable[[str], str]) -> None:
        self.text, self.content, self._change = text, content, change

    def forms(self, tokens: Sequence[str], first: bool, last: bool) -> list[str]:
        if self.text:
            text, content = self.text, self.content
            if len(tokens) > _MANY and "\0" not in text + content:  # one search is faster
                made = "\0".join(tokens).replace(text, content).split("\0")
                if len(made) == len(tokens):  # else a token contains the separator
                    return made
            return [token.replace(text, content) for token in tokens]
        return [self._change(token) for token in tokens]


class Strip(EachToken):
    """Step that removes a character at both ends of each token, up to a maximum number at each end."""

    def __init__(self, content: str, start: int, stop: int) -> None:
        self.content, self.start, self.stop = content, start, stop

    def forms(self, tokens: Sequence[str], first: bool, last: bool) -> list[str]:
        content = self.content
        made = []
        for token in tokens:
            begin = min(len(token) - len(token.lstrip(content)), self.start)
            token = token[begin:]
            n = min(len(token) - len(token.rstrip(content)), self.stop)
            made.append(token[: len(token) - n])
        return made


class Fuse(Step):
    """Step that joins all tokens into one."""

    def __call__(self, tokens: Sequence[str], errors: str = "replace") -> list[str]:
        return ["".join(tokens)]


class ByteLevel(Step):
    """Step that turns GPT-2's characters into the text of their bytes, as a list of one token."""

    def __call__(self, tokens: Sequence[str], errors: str = "replace") -> list[str]:
        return [b"".join(map(self.of, tokens)).decode("utf-8", errors)]

    @staticmethod
    def of(token: str) -> bytes:
        """Return the bytes of a token, in which surrogates are bytes that an earlier step could not decode."""
        try:
            return decoded(token)
        except UnicodeEncodeError:
            return token.encode("utf-8", "surrogateescape")


class ByteFallback(Step):
    """Step that turns each run of byte tokens, such as <0x0A>, into text.

    A run that is not UTF-8 becomes one U+FFFD per byte.
    """

    @staticmethod
    def is_byte(token: str) -> bool:
        return len(token) == 6 and _BYTE.fullmatch(token) is not None  # the length first, which is quicker

    def __call__(self, tokens: Sequence[str], errors: str = "replace") -> list[str]:
        made: list[str] = []
        for is_byte, group in groupby(tokens, self.is_byte):
            if is_byte:
                made += self.texts(byte_values(group), errors)
            else:
                made += group
        return made

    @staticmethod
    def texts(run: bytes, errors: str) -> list[str]:
        """Decode a run of byte tokens."""
        try:
            return [run.decode("utf-8", "strict" if errors == "replace" else errors)]
        except UnicodeDecodeError:
            if errors != "replace":
                raise
            return [REPLACEMENT] * len(run)


def byte_values(tokens: Any) -> bytes:
    """Return the bytes of tokens such as <0x0A>."""
    return bytes(int(token[3:5], 16) for token in tokens)


class CTC(Step):
    """Step that removes repeated tokens and padding.

    cleanup: remove spaces before punctuation and English contractions, then turn delimiters into spaces.
    """

    def __init__(self, pad_token: str, word_delimiter_token: str, cleanup: bool) -> None:
        self.pad, self.delimiter, self.cleanup = pad_token, word_delimiter_token, cleanup

    def __call__(self, tokens: Sequence[str], errors: str = "replace") -> list[str]:
        return self.texts([token for token, _ in groupby(tokens)])

    def texts(self, tokens: Sequence[str]) -> list[str]:
        """Change tokens. Requires: no token equals the one before it."""
        made = [token.replace(self.pad, "") for token in tokens]
        if self.cleanup:
            made = [joined_english(token).replace(self.delimiter, " ") for token in made]
        return [token for token in made if token]


#: English that WordPiece and CTC join again, in order: tokenizers has one pair more than transformers.
JOINED: Sequence[tuple[str, str]] = (*CLEAN_UP[:7], (" do not", " don't"), *CLEAN_UP[7:])


def joined_english(text: str) -> str:
    """Remove spaces before punctuation and English contractions."""
    if " " in text:
        for apart, together in JOINED:
            text = text.replace(apart, together)
    return text


def make_steps(decoder: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None) -> list[Step]:
    """Build the steps of a decoder from its JSON, or from a list of steps as JSON; None joins tokens by spaces.

    Raises:
        FormatError: tokenizers would refuse it.
        PatternError: the pattern of a Replace cannot be used.

    >>> steps = make_steps({"type": "BPEDecoder", "suffix": "</w>"})
    >>> apply(steps, ["a", "b</w>", "c</w>"])
    'ab c'
    """
    if decoder is None:
        return [Spaced()]
    listed = decoder if isinstance(decoder, Mapping) else {"type": "Sequence", "decoders": [*decoder]}
    return [_make(step) for step in flattened(listed) or ()]


def apply(steps: Sequence[Step], tokens: Sequence[str], errors: str = "replace") -> str:
    """Decode tokens to text."""
    for step in steps:
        tokens = step(tokens, errors)
    return "".join(tokens)


_CLASSES: Mapping[str, Callable[..., Step]] = {
    "BPEDecoder": BPEDecoder,
    "WordPiece": WordPiece,
    "CTC": CTC,
    "Strip": Strip,
    "Fuse": Fuse,
    "ByteFallback": ByteFallback,
}


def _make(described: Mapping[str, Any]) -> Step:
    options = {name: value for name, value in described.items() if name != "type"}
    match described["type"]:
        case "ByteLevel":
            return ByteLevel()
        case "Metaspace":
            return Metaspace(options["replacement"], options["prepend_scheme"])
        case "Replace":
            text, content = options["pattern"].get("String"), options["content"]
            change = make_change([described])
            assert change is not None
            return Replace(text, content, change)
        case kind:
            return _CLASSES[kind](**options)


class Plan(NamedTuple):
    """Plan for decoding with a table of bytes, which `step_decoding` builds.

    each: steps that change each token by itself, possibly with ByteFallback among them.
    as_bytes: the step after these, if it turns tokens into bytes; else None.
    after: steps that change the joined text.
    knows_first, knows_last: the first or last token may change differently from others.
    has_bytes: byte tokens exist; they are not in the table.
    before, behind: steps before and after ByteFallback, if runs of byte tokens can be decoded separately.
    """

    each: list[Step]
    as_bytes: ByteLevel | ByteFallback | None
    after: list[Step]
    knows_first: bool = False
    knows_last: bool = False
    has_bytes: bool = False
    before: list[EachToken] | None = None
    behind: Sequence[EachToken] = ()


def find_plan(steps: Sequence[Step]) -> Plan | None:
    """Return the plan that is equivalent to some steps; None if a table of bytes cannot replace them."""
    each: list[Step] = []
    left = [*steps]
    while left and isinstance(left[0], (EachToken, ByteFallback)):
        each.append(left.pop(0))
    knows_first, knows_last = _knows_first(each), _knows_last(each)
    n_fallbacks = sum(isinstance(step, ByteFallback) for step in each)
    if left and isinstance(left[0], ByteLevel):
        return None if knows_first or knows_last or n_fallbacks else Plan(each, left[0], left[1:])
    if left and not isinstance(left[0], Fuse):
        return None
    plan = Plan(each, None, left[1:], knows_first, knows_last, n_fallbacks > 0)
    if n_fallbacks != 1:
        return plan
    [at] = [i for i, step in enumerate(each) if isinstance(step, ByteFallback)]
    before, behind = ([step for step in part if isinstance(step, EachToken)] for part in (each[:at], each[at:]))
    if _knows_first(before) or _knows_last(before):
        return plan
    plan = plan._replace(before=before, behind=behind)
    # If no step changes the texts of runs, `as_bytes` decodes them, and the table has byte tokens, too.
    return plan if behind else plan._replace(each=each[:-1], as_bytes=ByteFallback(), has_bytes=False)


def _knows_first(steps: Sequence[Step]) -> bool:
    return any(isinstance(step, EachToken) and step.knows_first for step in steps)


def _knows_last(steps: Sequence[Step]) -> bool:
    return any(isinstance(step, EachToken) and step.knows_last for step in steps)
