"""Chat templates of models: found in a tokenizer's folder, rendered in a worker, cut into trusted and other parts.

A template is rendered to one text. To tell the messages in it from the template's own text, it is rendered twice:
with the messages unchanged, and with marks that nobody can guess around each message. If the second text without
its marks equals the first, the marks show where the messages are. White space at the ends of a message stays
outside its marks, so that templates may strip it. If a template does more to the messages (cuts, replaces or
compares them), the two texts differ, and then the whole text is one trusted part, as in transformers.
"""

from __future__ import annotations

import importlib.util
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.chats.worker import Limits, rendered
from fastbpe.errors import ChatError
from fastbpe.formats import chat_templates
from fastbpe.web.template_messages import Message, Parts

LIMITS = Limits(n_seconds=2, max_memory_bytes=1 << 29, max_characters=1 << 20)


class OwnTemplate(NamedTuple):
    """Chat template of a model.

    text: str – the template, in jinja2's language.
    tokens: dict[str, str] – special tokens that the template may use, by name: bos_token and others.
    """

    text: str
    tokens: dict[str, str]


class Rendered(NamedTuple):
    """Prompt rendered by a template from messages.

    parts: list of (text, whether it is the template's own).
    is_mixed: bool – whether the template changes the messages, so that the whole prompt is one part, treated as
        the template's own.
    """

    parts: Parts
    is_mixed: bool


def has_jinja() -> bool:
    """Tell whether jinja2 is installed."""
    return importlib.util.find_spec("jinja2") is not None


def find_template(path: str | os.PathLike[str]) -> OwnTemplate | None:
    """Find the chat template in a model's folder, or in the folder of a given file.

    Args:
        path: the folder or the file.

    Returns:
        The template in chat_template.jinja, else `chat_template` of tokenizer_config.json (of several, the one
        named "default"); None if there is no such template.

    Raises:
        FormatError: one of the files is damaged or too large.
    """
    found = chat_templates.find(Path(path) if os.path.isdir(path) else Path(path).parent)
    if found is None or chat_templates.DEFAULT not in found.templates:
        return None
    return OwnTemplate(found.templates[chat_templates.DEFAULT], dict(found.tokens))


def render(template: OwnTemplate, messages: Sequence[Message]) -> Rendered:
    """Render a template, and cut the prompt into parts, up to the start of the assistant's next answer.

    Args:
        template: the template. It is not trusted: it runs in a sandbox, in a process with limits.
        messages: the messages.

    Raises:
        ValueError: the template is invalid, refuses the messages, or exceeds the limits on time, memory or text.
    """
    clean = [Message(role, _without_surrogates(content)) for role, content in messages]
    before, after = (f"\ue000{secrets.token_hex(8)}{sign}\ue001" for sign in "<>")
    plain, marked = _run(template, [clean, [_marked(message, before, after) for message in clean]])
    parts = _cut(marked, before, after)
    if parts is None or "".join(text for text, _ in parts) != plain:
        return Rendered([(plain, True)], True)
    return Rendered(parts, False)


def _without_surrogates(text: str) -> str:
    """Replace a surrogate pair by its character and a lone surrogate by U+FFFD, as encode does."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _marked(message: Message, before: str, after: str) -> Message:
    start, text, end = re.fullmatch(r"(\s*)(.*?)(\s*)", message.content, re.DOTALL).groups()  # type: ignore[union-attr]
    return Message(message.role, f"{start}{before}{text}{after}{end}" if text else message.content)


def _cut(text: str, before: str, after: str) -> Parts | None:
    """Cut a text at its marks; None if the marks do not alternate."""
    parts: Parts = []
    first, *rest = text.split(before)
    parts.append((first, True))
    for message_and_text in rest:
        inside, mark, outside = message_and_text.partition(after)
        if not mark:
            return None
        parts += [(inside, False), (outside, True)]
    if any(after in part for part, _ in parts):
        return None
    return [part for part in parts if part[0]]


def _run(template: OwnTemplate, conversations: Sequence[Sequence[Message]]) -> list[str]:
    """Render a template for each conversation, in a worker. Raises ChatError, a ValueError, as `render` does."""
    texts = []
    for text in rendered(
        template.text, [_variables(template.tokens, messages) for messages in conversations], LIMITS
    ):
        if isinstance(text, ChatError):
            raise text
        texts.append(text)
    return texts


def _variables(tokens: Mapping[str, str], messages: Sequence[Message]) -> dict[str, Any]:
    return {
        **tokens,
        "messages": [message._asdict() for message in messages],
        "tools": None,
        "add_generation_prompt": True,
    }
