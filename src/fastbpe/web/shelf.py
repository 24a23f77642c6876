"""Shelf: the tokenizers that the page may use, by number."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Any

from fastbpe._utils.named_tuples import NamedTuple
from fastbpe.display.visible import visible_text
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.web.chat_templates import template_of
from fastbpe.web.own_templates import OwnTemplate

MAX_TRAINED = 8  # tokenizers trained on the page that are kept; the oldest goes first


class Entry(NamedTuple):
    """One tokenizer of the page.

    key: int – its number; no other ever gets it.
    name: str – its name.
    tokenizer: Tokenizer – itself.
    is_trained: bool – it was trained on the page.
    own_template: OwnTemplate | None – chat template of the model.
    """

    key: int
    name: str
    tokenizer: Tokenizer
    is_trained: bool
    own_template: OwnTemplate | None = None

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
            "template": template_of(tokenizer.special_tokens.keys()),
            "has_own_template": self.own_template is not None,
        }


class Shelf:
    """Tokenizers of the page: those that it was started with, and the latest that were trained on it.

    Args:
        given: names and tokenizers to start with.
        templates: chat templates of models, by name.
    """

    def __init__(
        self, given: Iterable[tuple[str, Tokenizer]], templates: Mapping[str, OwnTemplate] | None = None
    ) -> None:
        self._lock = Lock()
        self._entries = {
            key: Entry(key, name, one, False, (templates or {}).get(name)) for key, (name, one) in enumerate(given)
        }
        self._next = len(self._entries)

    def entries(self) -> list[Entry]:
        """List all entries, the oldest first."""
        with self._lock:
            return [*self._entries.values()]

    def get(self, key: int) -> Entry | None:
        """Return the entry of a number; None if there is no such entry, or no longer."""
        with self._lock:
            return self._entries.get(key)

    def add(self, name: str, tokenizer: Tokenizer) -> Entry:
        """Add a trained tokenizer. Beyond MAX_TRAINED, the oldest trained one goes."""
        with self._lock:
            entry = self._entries[self._next] = Entry(self._next, name, tokenizer, True)
            self._next += 1
            trained = [key for key, one in self._entries.items() if one.is_trained]
            for key in trained[:-MAX_TRAINED]:
                del self._entries[key]
        return entry
