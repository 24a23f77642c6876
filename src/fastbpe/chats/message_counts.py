"""Counting of a chat's tokens: with a template, with gpt-oss's format, or by an estimate of OpenAI's overhead."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Protocol

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.chats import harmony
from fastbpe.chats.estimates import TOOL_COSTS, estimate
from fastbpe.chats.messages import checked, checked_tools, with_reasoning
from fastbpe.chats.worker import Limits, rendered
from fastbpe.errors import ChatError
from fastbpe.model import Chat

OPENAI = "openai"
MAX_CHARACTERS = 1 << 28  # longest rendered prompt


#: Limits of a template in a worker; the seconds are for each chat.
LIMITS = Limits(n_seconds=10, max_memory_bytes=1 << 31, max_characters=MAX_CHARACTERS)


class _Prompt(NamedTuple):
    """Way to count a chat.

    method: the name of a built-in method; None: a template.
    template: text of the template; None: a built-in method.
    messages: the messages as new dicts.
    variables: variables for the template.
    """

    method: str | None
    template: str | None
    messages: list[dict[str, Any]]
    variables: dict[str, Any]


class Counting(Protocol):
    """The methods of a tokenizer that counting needs."""

    @property
    def name(self) -> str | None:
        """Return the name of the vocabulary."""

    def encode(self, text: str, *, allowed_special: str) -> list[int]:
        """Encode a text with its special tokens."""

    def encode_parts(self, parts: Any) -> list[int]:
        """Encode parts, with special tokens only in trusted parts."""

    def count(self, text: str) -> int:
        """Count the ids of a text without special tokens."""


def count_messages(
    tokenizer: Counting,
    chat: Chat | None,
    messages: Any,
    tools: Any,
    template: str | None,
    begins_reply: bool,
) -> int:
    """Count the tokens of a chat, as `Tokenizer.count_messages` does. chat: the model's own templates."""
    prompt = _prompt_of(tokenizer.name, chat, messages, tools, template, begins_reply)
    if prompt.template is None:
        return _count_built_in(tokenizer, prompt)
    return _n_ids(tokenizer, _render(prompt.template, prompt.variables))


def count_chats(
    tokenizer: Counting, chat: Chat | None, chats: Sequence[tuple[Any, Any]], template: str | None
) -> list[int | ChatError]:
    """Count the tokens of chats as `count_messages` does, but render templates in a worker, with limits.

    Args:
        chats: messages and tools of each chat.

    Returns:
        For each chat the number of tokens, or an error.

    Raises:
        RenderingError: a template takes too long, or its worker fails.
        ImportError: jinja2 is not installed.
    """
    counts: list[int | ChatError] = []
    waiting: dict[str, list[tuple[int, dict[str, Any]]]] = {}  # template → position of a chat, and its variables
    for messages, tools in chats:
        try:
            prompt = _prompt_of(tokenizer.name, chat, messages, tools, template, begins_reply=True)
            if prompt.template is None:
                counts.append(_count_built_in(tokenizer, prompt))
            else:
                waiting.setdefault(prompt.template, []).append((len(counts), prompt.variables))
                counts.append(0)
        except ChatError as error:
            counts.append(error)
    for text, runs in waiting.items():
        _require_jinja()
        for (i, _), found in zip(runs, rendered(text, [variables for _, variables in runs], LIMITS), strict=True):
            counts[i] = found if isinstance(found, ChatError) else _n_ids(tokenizer, found)
    return counts


def _prompt_of(
    name: str | None, chat: Chat | None, messages: Any, tools: Any, template: str | None, begins_reply: bool
) -> _Prompt:
    """Check the arguments of `count_messages`, and choose the template. name: name of the vocabulary."""
    if not isinstance(template, (str, type(None))):
        raise TypeError(f"template must be the text or the name of a template, not {type(template).__name__}")
    plain, schemas = checked(messages), checked_tools(tools)
    method, text = _choose(name, chat, template, has_tools=schemas is not None)
    variables = {
        **(chat.tokens if chat else {}),
        "messages": [with_reasoning(message) for message in plain],
        "tools": schemas,
        "documents": None,
        "add_generation_prompt": begins_reply,
    }
    return _Prompt(method, text, plain, variables)


def _count_built_in(tokenizer: Counting, prompt: _Prompt) -> int:
    """Count the tokens of a chat in harmony, or estimate them for OpenAI's models."""
    schemas, begins_reply = prompt.variables["tools"], prompt.variables["add_generation_prompt"]
    if prompt.method == harmony.NAME:
        if schemas:
            raise ChatError(
                "fastbpe writes harmony without tools: load the folder of a gpt-oss model, whose own chat "
                "template writes tools, or pass that template as template="
            )
        return len(tokenizer.encode_parts(harmony.parts_of(prompt.messages, begins_reply=begins_reply)))
    if not begins_reply:
        raise ChatError(
            "add_generation_prompt=False: the estimate for OpenAI's models always counts the start of the reply; "
            "leave add_generation_prompt= out"
        )
    return estimate(tokenizer.name or "", prompt.messages, schemas, tokenizer.count)


def _n_ids(tokenizer: Counting, text: str) -> int:
    return len(tokenizer.encode(text, allowed_special="all"))


def _choose(
    name: str | None, chat: Chat | None, template: str | None, *, has_tools: bool
) -> tuple[str | None, str | None]:
    """Return the name of a built-in method and None, or None and the text of a template."""
    own = chat.templates if chat else {}
    if template is None:
        if own:
            usual = "tool_use" if has_tools and "tool_use" in own else "default"
            if usual not in own:
                raise ChatError(
                    f"no chat template of the model is named 'default', only {_listed(own)}: pass one of these "
                    "names as template="
                )
            return None, own[usual]
        if name == "o200k_harmony":
            return harmony.NAME, None
        if name in TOOL_COSTS:
            return OPENAI, None
        raise ChatError(
            f"{name or 'this tokenizer'} has no chat template: load the model's folder, with its "
            "tokenizer_config.json or chat_template.jinja, or pass a template as template="
        )
    if template in own:
        return None, own[template]
    if template == harmony.NAME:
        return harmony.NAME, None
    if template == OPENAI:
        if name not in TOOL_COSTS:
            raise ChatError(f'template="openai" is for {" and ".join(TOOL_COSTS)}, not {name or "this tokenizer"}')
        return OPENAI, None
    if "{" not in template:
        known = _listed([*own, harmony.NAME, *([OPENAI] if name in TOOL_COSTS else [])])
        raise ChatError(f"template={template!r:.80} is not a name ({known}) or the text of a jinja2 template")
    return None, template


def _listed(names: Any) -> str:
    return ", ".join(sorted(names))


def _render(text: str, variables: dict[str, Any]) -> str:
    """Render a template as transformers does.

    Raises:
        ChatError: the template is invalid, refuses the messages, renders too much text, or fails otherwise.
        ImportError: jinja2 is not installed.
    """
    try:
        return _renderer(text)(variables)
    except ImportError:
        raise
    except (MemoryError, RecursionError) as error:
        raise ChatError(f"the chat template could not be rendered: {type(error).__name__}") from None
    except Exception as error:  # a template may do anything with its variables and raise any error
        raise ChatError(f"chat template: {type(error).__name__}: {error!s:.500}") from error


@lru_cache(maxsize=8)
def _renderer(text: str) -> Callable[[dict[str, Any]], str]:
    _require_jinja()
    from fastbpe.chats.rendering import compiled, written  # here: it imports jinja2

    template = compiled(text)
    return lambda variables: written(template, variables, MAX_CHARACTERS)


def _require_jinja() -> None:
    if importlib.util.find_spec("jinja2") is None:
        raise ImportError(
            "chat templates need jinja2, which is not installed: pip install 'fastbpe-tokenizer[chat]'"
        )
