"""Counts of many chats for the command line, which does not trust the template of a model."""

from __future__ import annotations

from fastbpe.chats.message_counts import count_chats

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from fastbpe.errors import ChatError
    from fastbpe.tokenizer.tokenizer import Tokenizer


def count_in_worker(
    tokenizer: Tokenizer, chats: Sequence[tuple[Any, Any]], template: str | None
) -> list[int | ChatError]:
    """Count the tokens of chats as `Tokenizer.count_messages` does, but render their templates in a worker.

    Args, returns and errors: as in `fastbpe.chats.message_counts.count_chats`.
    """
    return count_chats(tokenizer, tokenizer._family.chat, chats, template)
