"""Shelf: the tokenizers that the page may use, by number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Any

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.display.visible import visible_text
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.web.own_templates import OwnTemplate
from fastbpe.web.template_messages import template_of, with_markers

MAX_ADDED = 8  # tokenizers that were trained or loaded on the page and are kept; the oldest is dropped first


class Entry(NamedTuple):
    """One tokenizer of the page.

    key: int – its number, which is never reused.
    name: str – its name.
    tokenizer: Tokenizer – the tokenizer.
    is_trained: bool – whether it was trained on the page.
    own_template: OwnTemplate | None – chat template of the model; None: not given.
    is_added: bool – whether it was added on the page.
    for_chats: Tokenizer – the tokenizer with the chat markers that its published file lacks.
    """

    key: int
    name: str
    tokenizer: Tokenizer
    is_trained: bool
    own_template: OwnTemplate | None
    is_added: bool
    for_chats: Tokenizer

    def as_dict(self) -> dict[str, Any]:
        """Describe the entry for JSON."""
        tokenizer = self.tokenizer
        return {
            "key": self.key,
            "name": visible_text(self.name),
            "mode": tokenizer.mode,
            "n_vocab": tokenizer.n_vocab,
            "n_special": len(tokenizer.special_tokens),
            "is_trained": self.is_trained,
            "is_added": self.is_added,
            "template": template_of(self.for_chats.special_tokens.keys()),
            "has_own_template": self.own_template is not None,
        }


class Shelf:
    """Tokenizers of the page: the given ones, and the last MAX_ADDED that were added on the page.

    Args:
        given: names and tokenizers to start with.
        templates: chat templates of models, by name.
    """

    def __init__(
        self, given: Iterable[tuple[str, Tokenizer]], templates: Mapping[str, OwnTemplate] | None = None
    ) -> None:
        self._lock = Lock()
        self._entries = {
            key: Entry(
                key=key,
                name=name,
                tokenizer=tokenizer,
                is_trained=False,
                own_template=(templates or {}).get(name),
                is_added=False,
                for_chats=with_markers(tokenizer),
            )
            for key, (name, tokenizer) in enumerate(given)
        }
        self._next = len(self._entries)

    def entries(self) -> list[Entry]:
        """List all entries, oldest first."""
        with self._lock:
            return [*self._entries.values()]

    def get(self, key: int) -> Entry | None:
        """Return the entry with a number; None if it does not exist, or has been removed."""
        with self._lock:
            return self._entries.get(key)

    def add(self, name: str, tokenizer: Tokenizer, *, is_trained: bool) -> Entry:
        """Add a tokenizer. If more than MAX_ADDED were added on the page, remove the oldest of these."""
        for_chats = with_markers(tokenizer)
        with self._lock:
            entry = Entry(
                key=self._next,
                name=name,
                tokenizer=tokenizer,
                is_trained=is_trained,
                own_template=None,
                is_added=True,
                for_chats=for_chats,
            )
            self._entries[self._next] = entry
            self._next += 1
            added = [key for key, other in self._entries.items() if other.is_added]
            for key in added[:-MAX_ADDED]:
                del self._entries[key]
        return entry
