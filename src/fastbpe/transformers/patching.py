"""patch() and unpatch(): accelerate all tokenizers that transformers makes."""

from __future__ import annotations

import functools
import gc
import sys
import threading
import weakref
from typing import Any

from fastbpe.transformers.accelerating import give_back, unknown_interface, why_not
from fastbpe.transformers.classes import give_class, is_accelerated
from fastbpe.transformers.engine import has_engine, logger
from fastbpe.transformers.streams import STOCK, DecodeStream
from fastbpe.transformers.watching import stop_watching

_lock = threading.RLock()
_stock_init: list[Any] = []  # the stock __init__ while it is patched
_accelerated: weakref.WeakSet[Any] = weakref.WeakSet()


def patch(*, existing: bool = False) -> None:
    """Accelerate every tokenizer that transformers loads or makes from now on, as `accelerate` does.

    `tokenizers.decoders.DecodeStream` is replaced by a faster class with the same results, also in modules that
    have imported it already. Calling it again changes nothing. If fastbpe does not know this version of
    transformers, tokenizers stay as they are; a warning of the logger "fastbpe.transformers" says so.

    A tokenizer's first three short calls stay with its backend: fastbpe makes its tables for the fourth call, or
    for one of more than 10,000 characters. `accelerate` makes them at once.

    Args:
        existing: accelerate tokenizers that exist already, too.

    >>> patch()
    >>> unpatch()
    """
    reason = unknown_interface()
    if reason is not None:
        logger.warning("fastbpe leaves transformers as it is: %s", reason)
        return
    from transformers.tokenization_utils_tokenizers import TokenizersBackend

    with _lock:
        if not _stock_init:
            stock = TokenizersBackend.__init__

            @functools.wraps(stock)
            def __init__(self: Any, *args: Any, **options: Any) -> None:
                stock(self, *args, **options)
                _take(self)

            _stock_init.append(stock)
            TokenizersBackend.__init__ = __init__
            _swap_streams(STOCK, DecodeStream)
        if existing:
            for found in gc.get_objects():
                if isinstance(found, TokenizersBackend):
                    _take(found)


def unpatch() -> None:
    """Undo `patch`. Tokenizers that it has accelerated are stock again; what `accelerate` made stays accelerated.

    >>> unpatch()
    """
    with _lock:
        if not _stock_init:
            return
        from transformers.tokenization_utils_tokenizers import TokenizersBackend

        TokenizersBackend.__init__ = _stock_init.pop()
        _swap_streams(DecodeStream, STOCK)
        for tokenizer in list(_accelerated):
            if is_accelerated(tokenizer):
                give_back(tokenizer)
        _accelerated.clear()
        stop_watching(has_engine)


def _take(tokenizer: Any) -> None:
    """Swap the class of a tokenizer. fastbpe reads its vocabulary once its calls are worth that."""
    if is_accelerated(tokenizer):
        return
    reason = why_not(tokenizer)
    if reason is None:
        give_class(tokenizer, waits=True)
        _accelerated.add(tokenizer)
    else:
        logger.debug("fastbpe leaves %s as it is: %s", type(tokenizer).__name__, reason)


def _swap_streams(old: Any, new: Any) -> None:
    """Replace a class of streams by another in each module, except fastbpe's, that has it under its name."""
    for name, module in list(sys.modules.items()):
        if getattr(module, "__dict__", {}).get("DecodeStream") is old and not name.startswith("fastbpe."):
            module.__dict__["DecodeStream"] = new
