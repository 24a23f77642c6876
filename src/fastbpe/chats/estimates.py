"""Estimate of the tokens that OpenAI's chat API counts for messages, because the models' format is not published.

The overheads are from OpenAI's cookbook for gpt-3.5-turbo, gpt-4 and gpt-4o ("How to count tokens with tiktoken"),
where they were measured with the API and are called an estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.chats.messages import arguments_of, calls_of, text_of
from fastbpe.errors import ChatError

Count = Callable[[str], int]

PER_MESSAGE, PER_NAME, PER_REPLY = 3, 1, 3


class EstimatedCount(int):
    """Number of tokens that is an estimate: an int, which `print` shows as a number.

    >>> count = EstimatedCount(7)
    >>> count, count + 1, isinstance(count, int)
    (EstimatedCount(7), 8, True)
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return f"EstimatedCount({int(self)})"

    def __str__(self) -> str:
        return str(int(self))


class _ToolCosts(NamedTuple):
    """Overhead of tools in tokens.

    function: per function.
    properties: once per function that has properties.
    property, enum, item: per property, per list of allowed values (enum; negative in the cookbook, too), and per
        value in it.
    end: once per request.
    """

    function: int
    properties: int = 3
    property: int = 3
    enum: int = -3
    item: int = 3
    end: int = 12


#: Encoding → overhead of tools, for the encodings of OpenAI's closed chat models.
TOOL_COSTS: Mapping[str, _ToolCosts] = {"o200k_base": _ToolCosts(7), "cl100k_base": _ToolCosts(10)}


def estimate(
    encoding: str, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] | None, count: Count
) -> EstimatedCount:
    """Estimate the tokens of a request to OpenAI's chat API, with the tokens that begin the reply.

    encoding: one of TOOL_COSTS; messages, tools: results of `checked` and `checked_tools`.

    Raises:
        ChatError: the content of a message is not text, or a call or a tool does not have the form of the API.
    """
    n_tokens = PER_REPLY
    for number, message in enumerate(messages):
        n_tokens += PER_MESSAGE + count(message["role"])
        where = f"messages[{number}]"
        if "content" in message:
            n_tokens += count(text_of(message["content"], f'{where}["content"]'))
        if "name" in message:
            n_tokens += PER_NAME + count(str(message["name"]))
        for call in calls_of(message, where):
            n_tokens += _count_call(call, f'{where}["tool_calls"]', count)
        if isinstance(message.get("refusal"), str):
            n_tokens += count(message["refusal"])
    if tools:
        costs = TOOL_COSTS[encoding]
        n_tokens += costs.end + sum(_count_tool(tool, i, costs, count) for i, tool in enumerate(tools))
    return EstimatedCount(n_tokens)


def _count_call(call: Any, where: str, count: Count) -> int:
    function = call.get("function") if isinstance(call, Mapping) else None
    if not isinstance(function, Mapping):
        raise ChatError(f'{where}: a call must be {{"function": {{"name": …, "arguments": …}}}}, not {call!r:.80}')
    return count(str(function.get("name", ""))) + count(arguments_of(function, where))


def _count_tool(tool: Mapping[str, Any], number: int, costs: _ToolCosts, count: Count) -> int:
    function = tool.get("function", tool)
    if not isinstance(function, Mapping) or not isinstance(function.get("name"), str):
        raise ChatError(f'tools[{number}] must be {{"type": "function", "function": {{"name": …}}}}')
    n_tokens = costs.function + count(f"{function['name']}:{_description(function)}")
    parameters = function.get("parameters")
    properties = parameters.get("properties") if isinstance(parameters, Mapping) else None
    if not isinstance(properties, Mapping) or not properties:
        return n_tokens
    n_tokens += costs.properties
    for name, schema in properties.items():
        schema = schema if isinstance(schema, Mapping) else {}
        n_tokens += costs.property + count(f"{name}:{schema.get('type', '')}:{_description(schema)}")
        if isinstance(schema.get("enum"), (list, tuple)):
            n_tokens += costs.enum + sum(costs.item + count(str(item)) for item in schema["enum"])
    return n_tokens


def _description(schema: Mapping[str, Any]) -> str:
    return str(schema.get("description") or "").removesuffix(".")
