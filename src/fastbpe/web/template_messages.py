"""Chat templates: messages as the parts of a prompt. Only the template's own parts may contain special tokens.

The templates are published in the models' cards: ChatML (Qwen, and many others), harmony (gpt-oss), Llama 3,
Llama 2 and Gemma.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.chats import harmony
from fastbpe.tokenizer.tokenizer import Tokenizer

ROLES = ("system", "user", "assistant")
Parts = list[tuple[str, bool]]  # text, and whether it is the template's own


class Message(NamedTuple):
    """One message of a conversation.

    role: str – one of ROLES.
    content: str – text of the message.
    """

    role: str
    content: str


@dataclass(frozen=True)
class ChatTemplate:
    """Form of a prompt.

    Attributes:
        name: str – name on the page.
        special_tokens: names of the special tokens in the template's text.
        render: function from messages to the parts of the prompt, up to the start of the assistant's next answer.
    """

    name: str
    special_tokens: tuple[str, ...]
    render: Callable[[Sequence[Message]], Parts]


def _chatml(messages: Sequence[Message]) -> Parts:
    parts: Parts = []
    for role, content in messages:
        parts += [(f"<|im_start|>{role}\n", True), (content, False), ("<|im_end|>\n", True)]
    return [*parts, ("<|im_start|>assistant\n", True)]


def _harmony(messages: Sequence[Message]) -> Parts:
    return harmony.parts_of([message._asdict() for message in messages], begins_reply=True)


def _llama3(messages: Sequence[Message]) -> Parts:
    parts: Parts = [("<|begin_of_text|>", True)]
    for role, content in messages:
        begin = f"<|start_header_id|>{role}<|end_header_id|>\n\n"
        parts += [(begin, True), (content.strip(), False), ("<|eot_id|>", True)]
    return [*parts, ("<|start_header_id|>assistant<|end_header_id|>\n\n", True)]


def _llama2(messages: Sequence[Message]) -> Parts:
    parts: Parts = []
    system = ""
    for role, content in messages:
        if role == "system":  # becomes part of the next user message
            system = content
        elif role == "user":
            parts.append(("<s>[INST] ", True))
            if system:
                parts += [("<<SYS>>\n", True), (system, False), ("\n<</SYS>>\n\n", True)]
                system = ""
            parts += [(content.strip(), False), (" [/INST]", True)]
        else:
            parts += [(" ", True), (content.strip(), False), (" </s>", True)]
    return parts


def _gemma(messages: Sequence[Message]) -> Parts:
    parts: Parts = [("<bos>", True)]
    system = ""
    for role, content in messages:
        if role == "system":  # Gemma has no system role: the next user message begins with the system message
            system = f"{content.strip()}\n\n"
            continue
        name, text = "model", content.strip()
        if role == "user":
            name, text, system = "user", system + text, ""
        parts += [(f"<start_of_turn>{name}\n", True), (text, False), ("<end_of_turn>\n", True)]
    return [*parts, ("<start_of_turn>model\n", True)]


TEMPLATES = (
    ChatTemplate("ChatML", ("<|im_start|>", "<|im_end|>"), _chatml),
    ChatTemplate("Harmony", ("<|start|>", "<|channel|>", "<|message|>", "<|end|>"), _harmony),
    ChatTemplate(
        "Llama 3", ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"), _llama3
    ),
    ChatTemplate("Llama 2", ("<s>", "</s>"), _llama2),
    ChatTemplate("Gemma", ("<bos>", "<start_of_turn>", "<end_of_turn>"), _gemma),
)


#: Markers of ChatML in OpenAI's chat models, which the published vocabularies leave out. tiktoken's README has the
#: ids for cl100k_base. Nobody publishes ids for o200k_base, and libraries disagree: the ids here are free ones.
#: The number of tokens does not depend on them.
MARKERS = {
    "cl100k_base": {"<|im_start|>": 100264, "<|im_end|>": 100265},
    "o200k_base": {"<|im_start|>": 200264, "<|im_end|>": 200265},
}


def with_markers(tokenizer: Tokenizer) -> Tokenizer:
    """Return a tokenizer with the chat markers that its published file lacks; no id changes.

    >>> with_markers(Tokenizer.from_merges([], pattern=None)).special_tokens
    {}
    """
    markers = MARKERS.get(tokenizer.name or "", {})
    if not markers or {*markers} & tokenizer.special_tokens.keys():
        return tokenizer
    return tokenizer.with_special_tokens(markers)


def template_of(special_tokens: Set[str]) -> str | None:
    """Return the name of the first template whose special tokens a vocabulary has; None if no template fits.

    >>> template_of({"<s>", "</s>"})
    'Llama 2'
    """
    return next((template.name for template in TEMPLATES if special_tokens >= {*template.special_tokens}), None)
