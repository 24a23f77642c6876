"""accelerate() and status()."""

from __future__ import annotations

from typing import Any, TypeVar

from fastbpe.transformers.classes import ENGINE, accelerated_class, engine_of, is_accelerated
from fastbpe.transformers.engine import logger

Accelerated = TypeVar("Accelerated")


def accelerate(tokenizer: Accelerated) -> Accelerated:
    """Let fastbpe answer a tokenizer of transformers, in place, with the same results.

    The tokenizer keeps its backend. What fastbpe does not answer, the backend does, call by call: `status` tells
    which. Changes of the tokenizer or of its backend are noticed. A tokenizer that fastbpe does not take (another
    model than BPE, say) stays as it is; the logger "fastbpe.transformers" tells why, at level DEBUG.

    Args:
        tokenizer: a tokenizer of transformers: `PreTrainedTokenizerFast` or a class above it.

    Returns:
        The same object.
    """
    if is_accelerated(tokenizer):
        return tokenizer
    reason = why_not(tokenizer)
    if reason is None:
        give_class(tokenizer)
        engine = engine_of(tokenizer)
        if engine.ready() is None:
            reason = engine.reason
            give_back(tokenizer)
    if reason is not None:
        logger.debug("fastbpe leaves %s as it is: %s", type(tokenizer).__name__, reason)
    return tokenizer


def why_not(tokenizer: Any) -> str | None:
    """Tell why a tokenizer cannot be accelerated, as far as its class and the type of its model tell."""
    try:
        import tokenizers
        from transformers.tokenization_utils_tokenizers import TokenizersBackend
    except ImportError as error:
        return f"this version of transformers has no backend that fastbpe knows: {error}"
    if not isinstance(tokenizer, TokenizersBackend):
        return "it is no tokenizer with a backend of tokenizers"
    backend = tokenizer.__dict__.get("_tokenizer")
    if type(backend) is not tokenizers.Tokenizer:
        return f"its backend is {type(backend).__name__}, no tokenizers.Tokenizer"
    kind = type(backend.model).__name__
    return None if kind == "BPE" else f"its model is {kind}, not BPE"


def give_class(tokenizer: Any) -> None:
    """Swap the class of a tokenizer for its accelerated subclass."""
    tokenizer.__class__ = accelerated_class(type(tokenizer))


def give_back(tokenizer: Any) -> None:
    """Give an accelerated tokenizer its own class back."""
    tokenizer.__class__ = type(tokenizer)._fastbpe_base
    tokenizer.__dict__.pop(ENGINE, None)


def status(tokenizer: Any) -> dict[str, Any]:
    """Tell what fastbpe answers for a tokenizer of transformers.

    Returns:
        A dict with

        - "accelerated": True or False;
        - "model": description of fastbpe's tokenizer, or None;
        - "reason": why fastbpe does not answer, or None;
        - "native": number of calls answered by fastbpe, by operation ("encode", "decode");
        - "handed_over": number of calls answered by the backend, by operation and reason.
    """
    if not is_accelerated(tokenizer):
        reason = why_not(tokenizer) or "accelerate was not called, or fastbpe does not take the model"
        return {"accelerated": False, "model": None, "reason": reason, "native": {}, "handed_over": {}}
    engine = engine_of(tokenizer)
    native = engine.ready()
    handed_over: dict[str, dict[str, int]] = {}
    for (operation, reason), n in sorted(engine.calls.items()):
        if reason:
            handed_over.setdefault(operation, {})[reason] = n
    return {
        "accelerated": True,
        "model": None if native is None else repr(native),
        "reason": engine.reason,
        "native": {operation: n for (operation, reason), n in sorted(engine.calls.items()) if not reason},
        "handed_over": handed_over,
    }
