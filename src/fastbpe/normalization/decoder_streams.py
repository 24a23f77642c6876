"""Decoders of Hugging Face's tokenizers for tokens that arrive one by one. Text is returned once it is certain.

Each step becomes one or more stages of a chain. A stage takes items and returns items: tokens before the first
Fuse or ByteLevel, parts of one text after it. All items that a stage returns, also from `finish`, together equal
the result of its step for the whole list. The state of a stage consists of immutable values, so that `copy.copy`
saves it.
"""

from __future__ import annotations

import codecs
import copy
from collections.abc import Callable, Sequence
from typing import Any

from fastbpe._utils.choices import DecodeErrors
from fastbpe.normalization import decoder_steps as steps_of
from fastbpe.normalization.decoder_steps import EachToken, Step

_NEVER_RAISE = frozenset({"replace", "ignore", "backslashreplace", "surrogateescape"})
_N_BYTE_NAME = 6  # characters of <0x0A>


class Stage:
    """Stage of a chain; this one passes everything on."""

    def push(self, items: list[str]) -> list[str]:
        """Process items, and return the results that are now certain."""
        return items

    def finish(self) -> list[str]:
        """Return the rest of the results."""
        return []

    def __copy__(self) -> Stage:
        made = type(self).__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made


class Chain:
    """Chain of the stages of a decoder's steps.

    >>> from fastbpe.normalization.decoder_steps import make_steps
    >>> chain = Chain(make_steps({"type": "BPEDecoder", "suffix": "</w>"}), "replace")
    >>> chain.push(["a</w>", "b</w>"]), chain.push(["c</w>"]), chain.finish()
    ('a b', ' c', '')
    """

    def __init__(self, steps: Sequence[Step], errors: str) -> None:
        self.stages: list[Stage] = []
        is_text = False  # one text is left: items are parts of it
        for i, step in enumerate(steps):
            if is_text and isinstance(step, steps_of.CTC):
                # It drops an empty text, so the next steps get an empty list: they need the whole text, too.
                self.stages.append(_Whole(steps[i:], errors))
                break
            if is_text:
                self.stages += _text_stages(step, errors)
                continue
            is_text = isinstance(step, (steps_of.Fuse, steps_of.ByteLevel))
            joins = i + 1 == len(steps) or isinstance(steps[i + 1], steps_of.Fuse)
            self.stages.append(_token_stage(step, errors, joins=joins))

    def push(self, tokens: list[str]) -> str:
        """Process tokens, and return the text that they complete."""
        for stage in self.stages:
            tokens = stage.push(tokens)
        return "".join(tokens)

    def finish(self) -> str:
        """Return the rest of the text."""
        items: list[str] = []
        for stage in self.stages:
            items = [*stage.push(items), *stage.finish()]
        return "".join(items)

    def __copy__(self) -> Chain:
        made = Chain.__new__(Chain)
        made.stages = [*map(copy.copy, self.stages)]
        return made


# Stages of tokens


def _token_stage(step: Step, errors: str, *, joins: bool) -> Stage:
    """Create the stage of a step that changes tokens. joins: its results will only be joined."""
    match step:
        case EachToken():
            return _Ends(step) if joins and step.knows_last else _Tokens(step)
        case steps_of.ByteFallback():
            return _Runs(errors)
        case steps_of.ByteLevel():
            return _Bytes(errors)
        case steps_of.CTC():
            return _Changes(step)
        case _:
            return Stage()


class _Tokens(Stage):
    """Stage that changes each token by itself. If the last token changes differently, it holds back the latest."""

    def __init__(self, step: EachToken) -> None:
        self._step = step
        self._is_first = True
        self._held: tuple[str, ...] = ()

    def push(self, items: list[str]) -> list[str]:
        if self._step.knows_last:
            items = [*self._held, *items]
            self._held = tuple(items[-1:])
            items = items[:-1]
        if not items or not self._is_first:
            return self._step.forms(items, False, False)
        self._is_first = False
        return [*self._step.forms(items[:1], True, False), *self._step.forms(items[1:], False, False)]

    def finish(self) -> list[str]:
        return self._step.forms(self._held, self._is_first, True)


class _Ends(Stage):
    """Stage that changes each token by itself, and the last token differently.

    It returns at once the part of a result that does not depend on whether the token is the last. No step treats
    both the first and the last token differently.
    """

    def __init__(self, step: EachToken) -> None:
        self._step = step
        self._rest = ("", "")  # rest of the token before, if it is not the last one, and if it is

    def push(self, items: list[str]) -> list[str]:
        made: list[str] = []
        for token in items:
            [inner] = self._step.forms([token], False, False)
            [last] = self._step.forms([token], False, True)
            n = _n_equal(inner, last)
            made += [self._rest[0], inner[:n]]
            self._rest = inner[n:], last[n:]
        return made

    def finish(self) -> list[str]:
        return [self._rest[1]]


def _n_equal(one: str, other: str) -> int:
    """Return the length of the common prefix of two texts."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((n for n, (a, b) in pairs if a != b), min(len(one), len(other)))


class _Runs(Stage):
    """Stage that decodes runs of byte tokens. It holds a run back: any further byte may make it invalid."""

    def __init__(self, errors: str) -> None:
        self._errors = errors
        self._run = b""

    def push(self, items: list[str]) -> list[str]:
        made: list[str] = []
        for token in items:
            if steps_of.ByteFallback.is_byte(token):
                self._run += steps_of.byte_values([token])
            else:
                made += [*self.finish(), token]
                self._run = b""
        return made

    def finish(self) -> list[str]:
        return steps_of.ByteFallback.texts(self._run, self._errors) if self._run else []


class _Bytes(Stage):
    """Stage that decodes the bytes of ByteLevel. It holds back up to three bytes, which may become a character."""

    def __init__(self, errors: str) -> None:
        self._errors = errors
        self._held = b""

    def push(self, items: list[str]) -> list[str]:
        decoder = codecs.getincrementaldecoder("utf-8")(self._errors)
        made = decoder.decode(self._held + b"".join(map(steps_of.ByteLevel.of, items)))
        self._held = decoder.getstate()[0]
        return [made]

    def finish(self) -> list[str]:
        return [self._held.decode("utf-8", self._errors)]


class _Changes(Stage):
    """Stage of a CTC, which removes repeated tokens and padding, and may clean up."""

    def __init__(self, step: steps_of.CTC) -> None:
        self._step = step
        self._last: str | None = None

    def push(self, items: list[str]) -> list[str]:
        made = [token for before, token in zip([self._last, *items], items, strict=False) if token != before]
        self._last = items[-1] if items else self._last
        return self._step.texts(made)


# Stages of the one text


def _text_stages(step: Step, errors: str) -> list[Stage]:
    """Create the stages of a step that changes the joined text. Some steps need all of it.

    For the step, the joined text is a list of one token, which is both the first and the last.
    """
    match step:
        case steps_of.Fuse():
            return []
        case steps_of.Strip(content=content, start=start, stop=stop):
            return [_Strip(content, start, stop)]
        case steps_of.Replace(text=str(text), content=content) if text:
            return [_Replace(text, content)]
        case steps_of.Metaspace(replacement=replacement, knows_first=drops):
            return [_Replace(replacement, "" if drops else " ")]
        case steps_of.BPEDecoder(suffix=suffix):
            return [_Replace(suffix, "")] if suffix else []
        case steps_of.WordPiece(cleanup=cleanup):
            return [_Replace(apart, together) for apart, together in steps_of.JOINED] if cleanup else []
        case steps_of.ByteFallback():
            return [_Whole([step], errors, most=_N_BYTE_NAME)]
        case _:
            return [_Whole([step], errors)]


class _Strip(Stage):
    """Stage that removes a character at both ends of a text, up to a maximum number at each end."""

    def __init__(self, content: str, start: int, stop: int) -> None:
        self._content, self._start, self._stop = content, start, stop
        self._held = ""  # end of the text so far, which is removed unless more follows

    def push(self, items: list[str]) -> list[str]:
        text = "".join(items)
        if self._start:
            n = min(len(text) - len(text.lstrip(self._content)), self._start)
            self._start = self._start - n if n == len(text) else 0
            text = text[n:]
        text = self._held + text
        n = len(text) - min(len(text) - len(text.rstrip(self._content)), self._stop)
        self._held = text[n:]
        return [text[:n]]


class _Replace(Stage):
    """Stage that replaces a text. If the input ends with the beginning of this text, it holds that part back."""

    def __init__(self, text: str, content: str) -> None:
        self._text, self._content = text, content
        self._held = ""

    def push(self, items: list[str]) -> list[str]:
        text = self._text
        data = self._held + "".join(items)
        *before, rest = data.split(text)
        n = next((n for n in range(min(len(text) - 1, len(rest)), 0, -1) if text.startswith(rest[-n:])), 0)
        self._held = rest[len(rest) - n :]
        return [self._content.join([*before, rest[: len(rest) - n]])]

    def finish(self) -> list[str]:
        return [self._held]


class _Whole(Stage):
    """Stage that changes the whole text. most: a text with more characters does not change; None: no limit."""

    def __init__(self, steps: Sequence[Step], errors: str, *, most: int | None = None) -> None:
        self._steps, self._errors, self._most = steps, errors, most
        self._held = ""
        self._passes = False

    def push(self, items: list[str]) -> list[str]:
        if self._passes:
            return items
        self._held += "".join(items)
        if self._most is None or len(self._held) <= self._most:
            return []
        self._passes = True
        return [self._held]

    def finish(self) -> list[str]:
        return [] if self._passes else [steps_of.apply(self._steps, [self._held], self._errors)]


class IdStream:
    """Stream of ids, whose tokens run through the steps of a decoder: the part of a `StreamDecoder` for steps.

    spelled: function that returns the tokens of ids, in the file's spelling.
    """

    __slots__ = ("_chain", "_errors", "_spelled", "_steps")

    def __init__(self, steps: Sequence[Step], spelled: Callable[[Any], list[str]], errors: DecodeErrors) -> None:
        self._steps, self._spelled = steps, spelled
        self._errors: DecodeErrors = errors
        self._chain = Chain(steps, errors)

    def push(self, ids: Any) -> str:
        """Add ids, and return the text that they complete. An error leaves the stream unchanged."""
        tokens = self._spelled(ids)
        if self._errors in _NEVER_RAISE:
            return self._chain.push(tokens)
        chain = copy.copy(self._chain)
        text = chain.push(tokens)
        self._chain = chain
        return text

    def finish(self) -> str:
        """Return the rest of the text, and start a new text. An error leaves the stream unchanged."""
        text = copy.copy(self._chain).finish()
        self._chain = Chain(self._steps, self._errors)
        return text

    def __repr__(self) -> str:
        return f"{len(self._steps)} steps of a tokenizer.json"

    def __copy__(self) -> IdStream:
        made = IdStream(self._steps, self._spelled, self._errors)
        made._chain = copy.copy(self._chain)
        return made
