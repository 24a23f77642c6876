"""Messages of a chat in the form of chat APIs: checking, and conversion to one form."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from fastbpe.errors import ChatError

Message = Mapping[str, Any]

REASONING = ("reasoning_content", "thinking", "reasoning")  # names that servers give to the same field


def checked(messages: Any) -> list[dict[str, Any]]:
    """Return the messages as new dicts without None values, as transformers passes them to templates.

    Raises:
        ChatError: messages is empty, or not a list of dicts with a role.
    """
    if isinstance(messages, (str, bytes)) or not isinstance(messages, Sequence):
        raise ChatError(
            f'messages must be a list of dicts such as {{"role": "user", "content": "Hi"}}, not '
            f"{type(messages).__name__}"
        )
    if not messages:
        raise ChatError("messages is empty: a chat has at least one message")
    copies = []
    for number, message in enumerate(messages):
        if not isinstance(message, Mapping):
            raise ChatError(
                f'messages[{number}] must be a dict such as {{"role": "user", "content": "Hi"}}, not '
                f"{type(message).__name__}"
            )
        if not isinstance(message.get("role"), str):
            raise ChatError(f'messages[{number}]["role"] must be a str ("system", "user", "assistant", "tool", …)')
        copies.append({key: value for key, value in message.items() if value is not None})
    return copies


def checked_tools(tools: Any) -> list[dict[str, Any]] | None:
    """Return the tools as new dicts; None if `tools` is None.

    Raises:
        ChatError: tools is not a list of dicts.
    """
    if tools is None:
        return None
    if isinstance(tools, (str, bytes)) or not isinstance(tools, Sequence):
        raise ChatError(f"tools must be a list of dicts, each the JSON schema of a function, not {tools!r:.80}")
    for number, tool in enumerate(tools):
        if not isinstance(tool, Mapping):
            raise ChatError(f"tools[{number}] must be the JSON schema of a function, a dict, not {tool!r:.80}")
    return [dict(tool) for tool in tools]


def text_of(content: Any, where: str) -> str:
    """Return the text of a message's content: a str, or a list of parts of text.

    Raises:
        ChatError: content is anything else, such as a list with an image.
    """
    if isinstance(content, str):
        return content
    if not isinstance(content, (list, tuple)):
        raise ChatError(f"{where} must be text, or a list of parts, not {type(content).__name__}")
    texts = []
    for number, part in enumerate(content):
        text = part if isinstance(part, str) else part.get("text") if isinstance(part, Mapping) else None
        if not isinstance(text, str):
            kind = part.get("type") if isinstance(part, Mapping) else None
            if kind in (None, "text"):
                raise ChatError(
                    f'{where}[{number}] must be a str, or a dict such as {{"type": "text", "text": "Hi"}}, not '
                    f"{part!r:.80}"
                )
            raise ChatError(
                f"{where}[{number}] is {kind!r}, not text: only the model knows its number of tokens; leave "
                "it out, and add this number to the result"
            )
        texts.append(text)
    return "".join(texts)


def calls_of(message: Message, where: str) -> Sequence[Any]:
    """Return the calls of functions in a message. Raises ChatError if they are not a list. where: the message."""
    calls = message.get("tool_calls", ())
    if not isinstance(calls, (list, tuple)):
        raise ChatError(f'{where}["tool_calls"] must be a list of calls, not {type(calls).__name__}')
    return calls


def arguments_of(function: Mapping[Any, Any], where: str) -> str:
    """Return the arguments of a call as text. Raises ChatError if they are not JSON. where: the calls."""
    arguments = function.get("arguments", "")
    if isinstance(arguments, str):
        return arguments
    try:
        return json.dumps(arguments, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise ChatError(f"{where}: the arguments of a call must be text, or JSON: {error}") from None


def with_reasoning(message: dict[str, Any]) -> dict[str, Any]:
    """Return a message with its reasoning under each name that templates read, as transformers does."""
    found = next((message[key] for key in REASONING if key in message), None)
    return message if found is None else {"thinking": found, **message, "reasoning_content": found}
