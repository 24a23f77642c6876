"""Chats for `fastbpe count --messages`: each is a JSON array of messages, or a request to a chat API."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe._utils.utf8_errors import not_utf8
from fastbpe.chats.message_counts import count_chats
from fastbpe.chats.worker import RenderingError
from fastbpe.cli import streams
from fastbpe.cli.shared_flags import Named
from fastbpe.errors import ChatError, FormatError
from fastbpe.tokenizer.internals import family_of

_TEMPLATE_ENDINGS = (".jinja", ".jinja2", ".j2")


class Request(NamedTuple):
    """One chat.

    where: its file, and its position in the file if that is a list of chats or has a chat per line.
    messages, tools: as in the file.
    """

    where: str
    messages: Any
    tools: Any


@contextmanager
def placed(request: Request) -> Iterator[None]:
    """Context manager that adds the place of a request to a ChatError."""
    try:
        yield
    except ChatError as error:
        raise ChatError(f"{request.where}: {error}") from error


def count(
    model: Named, requests: Sequence[Request], name: str | None, template: str | None
) -> list[int | ChatError]:
    """Count the tokens of chats. Returns for each the number, or an error.

    Args:
        name: value of --template.
        template: result of `template_of` for name; None: the model's own template.

    Raises:
        ChatError: rendering takes too long, or its process fails; the error names the template file or the model.
    """
    chats = [(request.messages, request.tools) for request in requests]
    try:
        return count_chats(model.tokenizer, family_of(model.tokenizer).chat, chats, template)
    except RenderingError as error:
        where = name if name is not None and name.endswith(_TEMPLATE_ENDINGS) else model.name
        raise ChatError(f"{where}: {error}; choose another template with --template") from None


def counted(count: int | ChatError) -> int:
    """Return a number that `count` returned, or raise its error."""
    if isinstance(count, ChatError):
        raise count
    return count


def template_of(name: str) -> str:
    """Return a template for `count_messages`: the text of a template file; other names unchanged.

    Raises:
        FormatError: the file is not UTF-8.
    """
    return _utf8(streams.read(name), name, "a template") if name.endswith(_TEMPLATE_ENDINGS) else name


def read(name: str) -> list[Request]:
    """Read the chats of a file or of standard input.

    Raises:
        FormatError: the input is not UTF-8 or not JSON, or contains something other than chats.
    """
    where = streams.name_of(name)
    text = _utf8(streams.read(name), where, "JSON")
    try:
        whole = json.loads(text)
    except (ValueError, RecursionError) as error:
        return _lines(text, where, error)
    if isinstance(whole, list) and whole and not _is_message(whole[0]):
        return [_request(one, f"{where}:{number}") for number, one in enumerate(whole, 1)]
    return [_request(whole, where)]


def _utf8(data: bytes, where: str, kind: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FormatError(f"{not_utf8(where, data, error)}; {kind} must be UTF-8") from None


def _lines(text: str, where: str, error: Exception) -> list[Request]:
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if len(lines) < 2:
        raise FormatError(f"{where}: not JSON: {error}")
    found = []
    for number, line in lines:
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as wrong:
            raise FormatError(f"{where}:{number}: not JSON: {wrong}") from None
        found.append(_request(value, f"{where}:{number}"))
    return found


def _is_message(value: Any) -> bool:
    return isinstance(value, Mapping) and "role" in value


def _request(value: Any, where: str) -> Request:
    if isinstance(value, Mapping) and isinstance(value.get("body"), Mapping):  # a line of an OpenAI batch file
        value = value["body"]
    if isinstance(value, Mapping) and "messages" in value:
        return Request(where, value["messages"], value.get("tools"))
    if isinstance(value, list):
        return Request(where, value, None)
    raise FormatError(
        f'{where}: not a chat: expected messages, [{{"role": "user", "content": "Hi"}}, …], or a request, '
        '{"messages": […], "tools": […]}'
    )
