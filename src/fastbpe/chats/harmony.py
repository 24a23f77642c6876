"""Harmony, the published format of gpt-oss: the parts of a prompt. Only its own parts may have special tokens.

The text has as many ids as the text from the library openai-harmony 0.0.8, with its default system message and a
date. The library writes a recipient (` to=functions.f`) before the channel, and this module after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from fastbpe.chats.messages import REASONING, arguments_of, calls_of, text_of
from fastbpe.errors import ChatError

NAME = "harmony"

_SYSTEM = (
    "You are ChatGPT, a large language model trained by OpenAI.\nKnowledge cutoff: 2024-06\n"
    "Current date: {date}\n\nReasoning: medium\n\n"
    "# Valid channels: analysis, commentary, final. Channel must be included for every message."
)
_INSTRUCTIONS = ("system", "developer")

Parts = list[tuple[str, bool]]


def parts_of(messages: Sequence[Mapping[str, Any]], *, begins_reply: bool) -> Parts:
    """Write a prompt: the system message of the format, then the messages.

    Messages of role "system" or "developer" become the developer's.

    messages: result of `messages.checked`.
    begins_reply: end with the beginning of the assistant's next message.

    Returns:
        List of (text, whether it is the format's own).

    Raises:
        ChatError: the format cannot express a message.
    """
    parts = _message("system", _SYSTEM.format(date=date.today().isoformat()), trusted=True)
    last_answer = max((i for i, one in enumerate(messages) if _is_answer(one)), default=-1)
    names: dict[str, str] = {}  # id of a call → name of its function; "None" is the last call without an id
    for number, message in enumerate(messages):
        role, where = message["role"], f'messages[{number}]["content"]'
        text = text_of(message.get("content", ""), where)
        if role in _INSTRUCTIONS:
            parts += _message("developer", f"# Instructions\n\n{text}")
        elif role == "user":
            parts += _message("user", text)
        elif role == "tool":
            name = message.get("name") or names.get(str(message.get("tool_call_id")))
            if name is None:
                raise ChatError(
                    f'messages[{number}] does not answer an earlier call: add the "name" of the function, or '
                    'the "tool_call_id" of an earlier call'
                )
            parts += [("<|start|>", True), (f"functions.{name}", False)]
            parts += [("<|channel|>commentary to=assistant<|message|>", True), (text, False), ("<|end|>", True)]
        elif role == "assistant":
            if number > last_answer:  # reasoning before an answer is not shown to the model again
                thought = next((message[key] for key in REASONING if isinstance(message.get(key), str)), None)
                if thought is not None:
                    parts += _message("assistant<|channel|>analysis", thought)
            calls = calls_of(message, f"messages[{number}]")
            if text:
                parts += _message(f"assistant<|channel|>{'commentary' if calls else 'final'}", text)
            for call in calls:
                parts += _call(call, number, names)
        else:
            raise ChatError(
                f"messages[{number}]: {NAME} has no role {role!r}; use system, developer, user, assistant or tool"
            )
    return [*parts, ("<|start|>assistant", True)] if begins_reply else parts


def _is_answer(message: Mapping[str, Any]) -> bool:
    return message["role"] == "assistant" and bool(message.get("content")) and not message.get("tool_calls")


def _message(head: str, text: str, *, trusted: bool = False) -> Parts:
    return [(f"<|start|>{head}<|message|>", True), (text, trusted), ("<|end|>", True)]


def _call(call: Any, number: int, names: dict[str, str]) -> Parts:
    # A call may also be the function itself, as in gpt-oss's template.
    function = call.get("function", call) if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise ChatError(f'messages[{number}]["tool_calls"]: a call must be {{"function": {{"name": …}}}}')
    names[str(call.get("id"))] = function["name"]
    return [
        ("<|start|>assistant<|channel|>", True),
        (f"commentary to=functions.{function['name']} ", False),
        ("<|constrain|>json<|message|>", True),
        (arguments_of(function, f'messages[{number}]["tool_calls"]'), False),
        ("<|call|>", True),
    ]
