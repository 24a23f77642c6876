"""patch() and unpatch(): accelerate all tokenizers that transformers creates."""

from __future__ import annotations

import functools
import gc
import sys
import weakref
from typing import Any

from fastbpe._utils.threads import ForkSafeLock
from fastbpe.transformers.accelerating import give_back, unknown_interface, why_not
from fastbpe.transformers.classes import give_class, is_accelerated
from fastbpe.transformers.decode_stream import STOCK, DecodeStream
from fastbpe.transformers.engine import has_engine, logger
from fastbpe.transformers.snapshot import alive
from fastbpe.transformers.watching import stop_watching

_lock = ForkSafeLock()  # for replacing and restoring, not for each new tokenizer
_stock_init: Any = None  # the stock __init__, from before it is replaced until after all is restored
#: Tokenizers that `_take` has accelerated.
_accelerated: weakref.WeakKeyDictionary[Any, None] = weakref.WeakKeyDictionary()


def patch(*, existing: bool = False) -> None:
    """Accelerate every tokenizer that transformers loads or creates from now on, as `accelerate` does.

    This also replaces `tokenizers.decoders.DecodeStream` by a faster class with the same results, even in modules
    that have already imported it under this name. Calling `patch` again only has the effect of `existing`. If
    fastbpe does not support the installed version of transformers, no tokenizer is changed; the logger
    "fastbpe.transformers" emits a warning.

    The backend handles a tokenizer's first three short calls: fastbpe builds its tables for the fourth call, or
    for a call with more than 10,000 characters or ids. `accelerate` builds them at once.

    Args:
        existing: also accelerate the tokenizers that already exist.

    >>> patch()
    >>> unpatch()
    """
    global _stock_init
    reason = unknown_interface()
    if reason is not None:
        logger.warning("fastbpe leaves transformers as it is: %s", reason)
        return
    from transformers.tokenization_utils_tokenizers import TokenizersBackend

    with _lock:
        if _stock_init is None:
            _stock_init = TokenizersBackend.__init__
        if TokenizersBackend.__init__ is _stock_init:  # also in a child forked in the middle of patch or unpatch
            _swap_streams(STOCK, DecodeStream)
            TokenizersBackend.__init__ = _taking(_stock_init)
        if existing:
            for found in gc.get_objects():
                if isinstance(found, TokenizersBackend):
                    _take(found)


def unpatch() -> None:
    """Undo `patch`, and restore the tokenizers that it accelerated, but not those that only `accelerate` changed.

    Copies of accelerated tokenizers, also unpickled ones, stay accelerated.

    >>> unpatch()
    """
    global _stock_init
    with _lock:
        if _stock_init is None:
            return
        from transformers.tokenization_utils_tokenizers import TokenizersBackend

        TokenizersBackend.__init__ = _stock_init
        _swap_streams(DecodeStream, STOCK)
        for tokenizer in alive(_accelerated):
            if is_accelerated(tokenizer):
                give_back(tokenizer)
        _accelerated.clear()
        stop_watching(has_engine)  # restores tokenizers' methods, unless another engine needs them
        _stock_init = None


def _taking(stock: Any) -> Any:
    @functools.wraps(stock)
    def __init__(self: Any, *args: Any, **options: Any) -> None:
        stock(self, *args, **options)
        _take(self)

    return __init__


def _take(tokenizer: Any) -> None:
    """Accelerate a tokenizer, unless it is accelerated already or `why_not` has a reason, which is logged.

    fastbpe builds its tables later, as `patch` says.
    """
    if is_accelerated(tokenizer):
        return
    reason = why_not(tokenizer)
    if reason is None:
        give_class(tokenizer, waits=True)
        _accelerated[tokenizer] = None
    else:
        logger.debug("fastbpe leaves %s as it is: %s", type(tokenizer).__name__, reason)


def _swap_streams(old: Any, new: Any) -> None:
    """Replace a stream class by another in each module, except fastbpe's, that has it as `DecodeStream`.

    fastbpe's own modules need the faster class also after `unpatch`.
    """
    for name, module in list(sys.modules.items()):
        if getattr(module, "__dict__", {}).get("DecodeStream") is old and not name.startswith("fastbpe."):
            module.__dict__["DecodeStream"] = new
