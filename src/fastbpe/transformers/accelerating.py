"""accelerate() and status()."""

from __future__ import annotations

import inspect
import weakref
from collections import Counter
from typing import Any, TypeVar

from fastbpe.transformers._original import tokenizers
from fastbpe.transformers.classes import give_class, is_accelerated
from fastbpe.transformers.encode_plus import DEFAULTS
from fastbpe.transformers.engine import ENGINE, engine_of, logger
from fastbpe.transformers.snapshot import MODEL_OPTIONS

_DECODE = {"self", "token_ids", "skip_special_tokens", "clean_up_tokenization_spaces", "kwargs"}
_SETTINGS = {
    "self",
    "padding_strategy",
    "truncation_strategy",
    "max_length",
    "stride",
    "pad_to_multiple_of",
    "padding_side",
}

TESTED = "5.19 and 5.24"  # versions of transformers; `.ci/oldest-transformers` tests the first

Accelerated = TypeVar("Accelerated")

#: Tokenizer → why `accelerate` left it as it is.
_refusals: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()


def accelerate(tokenizer: Accelerated) -> Accelerated:
    """Make a tokenizer of transformers faster, in place and with the same results.

    The tokenizer keeps its backend, which handles the calls that fastbpe cannot; `status` tells which. Later
    changes to the tokenizer or its backend take effect. A tokenizer that fastbpe does not support (one whose model
    encodes at random, for example) is not changed; the logger "fastbpe.transformers" says why, at level DEBUG.

    Args:
        tokenizer: a tokenizer of transformers, of the class `PreTrainedTokenizerFast` or of a subclass.

    Returns:
        The same object.

    >>> import fastbpe, tempfile, transformers
    >>> trained = fastbpe.train(["some text"] * 9, vocab_size=260, progress=False)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = trained.export(f"{folder}/tokenizer.json")
    ...     tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_file=f"{folder}/tokenizer.json")
    >>> accelerate(tokenizer) is tokenizer
    True
    >>> tokenizer("some text")["input_ids"] == trained.encode("some text")
    True
    """
    if is_accelerated(tokenizer):
        engine_of(tokenizer).ready()  # after `patch` the engine may still wait
        return tokenizer
    reason = why_not(tokenizer)
    if reason is None:
        give_class(tokenizer)
        engine = engine_of(tokenizer)
        _refusals.pop(tokenizer, None)
        if engine.ready() is None:
            reason = _refusals[tokenizer] = engine.reason or "another thread changed it"
            give_back(tokenizer)
    if reason is not None:
        logger.debug("fastbpe leaves %s as it is: %s", type(tokenizer).__name__, reason)
    return tokenizer


def unknown_interface() -> str | None:
    """Return the reason why fastbpe cannot work with the installed transformers; None if it can.

    In any version of transformers, the methods that fastbpe replaces must have the arguments that it knows.
    """
    try:
        from transformers.tokenization_utils_tokenizers import TokenizersBackend

        found = inspect.signature(TokenizersBackend._encode_plus).parameters.keys()
        decode = inspect.signature(TokenizersBackend._decode).parameters.keys()
        settings = inspect.signature(TokenizersBackend.set_truncation_and_padding).parameters.keys()
    except (ImportError, AttributeError) as error:
        return f"it has no backend that fastbpe knows ({error}); versions {TESTED} have one"
    known = {"self", "text", "text_pair", "kwargs", *DEFAULTS}
    if found != known:
        return f"its tokenizers take other arguments than in versions {TESTED}: {', '.join(sorted(found ^ known))}"
    if decode != _DECODE or settings != _SETTINGS:
        return f"its tokenizers decode, or set truncation, with other arguments than in versions {TESTED}"
    return None


def why_not(tokenizer: Any) -> str | None:
    """Return why a tokenizer cannot be accelerated; None if it can.

    Looks only at transformers, and at the tokenizer's class, backend and type of model.
    """
    reason = unknown_interface()
    if reason is not None:
        return reason
    from transformers.tokenization_utils_tokenizers import TokenizersBackend

    if not isinstance(tokenizer, TokenizersBackend):
        return "it is not a tokenizer with a backend of tokenizers"
    backend = tokenizer.__dict__.get("_tokenizer")
    if type(backend) is not tokenizers.Tokenizer:
        return f"its backend is {type(backend).__name__}, not a tokenizers.Tokenizer"
    kind = type(backend.model).__name__
    return None if kind in MODEL_OPTIONS else f"its model is {kind}, which fastbpe does not know"


def give_back(tokenizer: Any) -> None:
    """Restore the original class of an accelerated tokenizer."""
    tokenizer.__class__ = type(tokenizer)._fastbpe_base
    tokenizer.__dict__.pop(ENGINE, None)


def status(tokenizer: Any) -> dict[str, Any]:
    """Tell which calls of a tokenizer of transformers fastbpe has handled.

    For an accelerated tokenizer, this builds fastbpe's tables if no call has built them.

    Returns:
        A dict with

        - "accelerated": True or False;
        - "model": repr of fastbpe's tokenizer; None if fastbpe handles no calls;
        - "reason": why fastbpe handles no calls, or None;
        - "native": number of calls handled by fastbpe, by operation ("encode", "decode");
        - "handed_over": number of calls handled by the backend, by operation and reason.

    >>> import tokenizers, transformers
    >>> backend = tokenizers.Tokenizer(tokenizers.models.WordLevel({"a": 0}))
    >>> status(transformers.PreTrainedTokenizerFast(tokenizer_object=backend))["reason"]
    'accelerate was not called'
    """
    if not is_accelerated(tokenizer):
        reason = why_not(tokenizer) or _refusals.get(tokenizer) or "accelerate was not called"
        return {"accelerated": False, "model": None, "reason": reason, "native": {}, "handed_over": {}}
    engine = engine_of(tokenizer)
    native = engine.ready()
    handed_over: dict[str, dict[str, int]] = {}
    calls = engine.calls + Counter({("encode", ""): engine.n_plain})  # without operations that nobody called
    for (operation, reason), n in sorted(calls.items()):
        if reason:
            handed_over.setdefault(operation, {})[reason] = n
    return {
        "accelerated": True,
        "model": None if native is None else repr(native),
        "reason": engine.reason,
        "native": {operation: n for (operation, reason), n in sorted(calls.items()) if not reason},
        "handed_over": handed_over,
    }
