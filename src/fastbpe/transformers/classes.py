"""Class of an accelerated tokenizer: a subclass of the tokenizer's class, in which fastbpe replaces hot methods.

The object keeps its `tokenizers.Tokenizer` in `_tokenizer`; only its class changes. So all that is not overridden
here is still the original's, including the parts of the backend that a program reads.

A class of transformers may override a hot method and call `super()` (as Whisper's `_decode` does). Its accelerated
class has a second base, which comes after that class and before the stock class in the method resolution order, so
`super()` finds fastbpe's method there.
"""

from __future__ import annotations

import copy
import functools
import inspect
import threading
from collections.abc import Callable
from typing import Any

from fastbpe._utils.threads import ForkSafeLock
from fastbpe.huggingface.rows import HandOver
from fastbpe.transformers._quick import call_known, call_plain, encode_known, encode_text, tokens_of
from fastbpe.transformers.decoding import decode, decode_batch
from fastbpe.transformers.encode_plus import encode, remembering
from fastbpe.transformers.engine import ENGINE, WAITS, Engine, engine_of

_ACCELERATED = "_fastbpe_accelerated"  # attribute of a class, so that picklers find its accelerated class by name
#: Methods that the stock `_encode_plus` calls for each row, and fastbpe's does not. Overrides in a class must run.
_LEFT_OUT = ("_convert_encoding", "_eventual_warn_about_too_long_sequence")
#: Methods that only the functions of `_quick` leave out, which refuse subclasses of an accelerated class.
_QUICK_LEAVES_OUT = ("_get_padding_truncation_strategies", "set_truncation_and_padding")
OWN_METHOD = "the tokenizer's class overrides the method"
_lock = ForkSafeLock()
_reached = threading.local()  # whether the class's own method has called `super()`
_classes: dict[type, type] = {}


def give_class(hf: Any, *, waits: bool = False) -> None:
    """Swap the class of a tokenizer for its accelerated subclass; waits: as in `Engine`.

    This also puts an engine into its `__dict__`: then the hash that the package datasets computes does not change
    with use.
    """
    hf.__class__ = accelerated_class(type(hf))
    hf.__dict__[ENGINE] = Engine(None, waits=waits)


def is_accelerated(hf: Any) -> bool:
    return hasattr(type(hf), "_fastbpe_base")


def accelerated_class(base: type) -> type:
    """Return the accelerated subclass of a tokenizer class: one per class."""
    with _lock:
        if base not in _classes:
            _classes[base] = _make(base)
        return _classes[base]


def _make(base: Any) -> type:
    """Create the accelerated subclass of a tokenizer class. Methods that the class overrides still run."""
    from transformers.tokenization_utils_tokenizers import TokenizersBackend

    def is_stock(*names: str) -> bool:
        return all(getattr(base, name, None) is getattr(TokenizersBackend, name) for name in names)

    body: dict[str, Any] = {
        "__module__": base.__module__,
        "__qualname__": f"{base.__qualname__}.{_ACCELERATED}",
        "__doc__": base.__doc__,
        "_fastbpe_base": base,
        "__reduce_ex__": _reduce(base),
        "from_pretrained": _on_base(base, "from_pretrained"),
        "convert_to_native_format": _on_base(base, "convert_to_native_format"),
    }
    if not hasattr(base, "__deepcopy__"):
        body["__deepcopy__"] = _deepcopy
    own: list[type] = []  # receives the new class, which its methods need; a method may run only afterwards
    behind: dict[str, Any] = {}  # methods of the second base
    if is_stock("_encode_plus", *_LEFT_OUT):
        body["_encode_plus"] = _encode_plus(base, own)
        # The stock __call__ calls _switch_to_input_mode, which few classes have. _call would leave it out.
        if is_stock("__call__", *_QUICK_LEAVES_OUT) and not hasattr(base, "_switch_to_input_mode"):
            body["__call__"] = _call(base, own)
        if is_stock("encode", *_QUICK_LEAVES_OUT):
            body["encode"] = _of_one_text(base, own, "encode", encode_text, True)
        if is_stock("tokenize", *_QUICK_LEAVES_OUT):
            body["tokenize"] = _of_one_text(base, own, "tokenize", tokens_of, False)
    elif is_stock(*_LEFT_OUT):
        body["_encode_plus"] = _own_method(base, "_encode_plus", "encode")
        behind["_encode_plus"] = _reaching(_encode_plus(TokenizersBackend, own))
    if is_stock("_decode"):
        body["_decode"] = _decode(base)
        if is_stock("decode"):
            body["decode"] = _decode_any(base, own)
            if is_stock("batch_decode"):
                body["batch_decode"] = _batch_decode(base)
    else:
        body["_decode"] = _own_method(base, "_decode", "decode")
        behind["_decode"] = _reaching(_decode(TokenizersBackend))
    bases = (base, type(f"{base.__name__}Behind", (TokenizersBackend,), behind)) if behind else (base,)
    made = type(base.__name__, bases, body)
    own.append(made)
    setattr(base, _ACCELERATED, made)
    return made


def _encode_plus(base: Any, own: list[type]) -> Callable[..., Any]:
    """Return a method that encodes with fastbpe, or else with the method of `base`. own: as in `_make`."""

    def _encode_plus(self: Any, text: Any, text_pair: Any = None, *args: Any, **options: Any) -> Any:
        if type(text) is str and text_pair is None and not args:
            made = encode_known(self, own[0], text, options)
            if made is not None:
                return made
        engine = engine_of(self)
        try:
            if type(self) is not own[0] and any(
                getattr(type(self), name) is not getattr(own[0], name) for name in _LEFT_OUT
            ):
                raise HandOver("a subclass that overrides a method that encoding calls")
            if engine.waits and engine.goes_on_waiting(text, text_pair):
                raise HandOver(WAITS)
            if args:
                raise HandOver("options given by position")
            made = encode(self, engine, text, text_pair, options)
        except HandOver as reason:
            engine.calls["encode", str(reason)] += 1
            with engine.settings_lock:
                return base._encode_plus(self, text, text_pair, *args, **options)
        engine.calls["encode", ""] += 1
        return made

    return _like(_encode_plus, base._encode_plus)


def _own_method(base: Any, name: str, operation: str) -> Callable[..., Any]:
    """Return a method that calls the method of `base`.

    A call counts as handed over if the method of `base` does not call `super()`, where fastbpe would see it.
    """
    stock = getattr(base, name)

    def method(self: Any, *args: Any, **options: Any) -> Any:
        _reached.is_true = False
        made = stock(self, *args, **options)
        if not _reached.is_true:
            engine_of(self).calls[operation, OWN_METHOD] += 1
        return made

    return _like(method, stock)


def _reaching(answer: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Any, *args: Any, **options: Any) -> Any:
        _reached.is_true = True
        return answer(self, *args, **options)

    return _like(method, answer)


def _call(base: Any, own: list[type]) -> Callable[..., Any]:
    def __call__(self: Any, text: Any = None, *args: Any, **options: Any) -> Any:
        if args:
            return base.__call__(self, text, *args, **options)
        made = call_known(self, own[0], text, options) if options else call_plain(self, own[0], text)
        if made is not None:
            return made
        with remembering(self, options):
            return base.__call__(self, text, **options)

    return _like(__call__, base.__call__)


def _of_one_text(base: Any, own: list[type], name: str, quick: Callable[..., Any], adds: bool) -> Any:
    """Return a method that asks a function of `_quick` first. adds: default of add_special_tokens."""

    def method(self: Any, text: Any, *args: Any, **options: Any) -> Any:
        adds_special = options.get("add_special_tokens", adds)
        is_plain = not args and type(text) is str and len(options) == ("add_special_tokens" in options)
        made = quick(self, own[0], text, adds_special) if is_plain and type(adds_special) is bool else None
        return getattr(base, name)(self, text, *args, **options) if made is None else made

    return _like(method, getattr(base, name))


def _decode(base: Any) -> Callable[..., Any]:
    def _decode(self: Any, token_ids: Any, *args: Any, **options: Any) -> Any:
        engine = engine_of(self)
        try:
            if engine.waits and engine.goes_on_waiting(token_ids):
                raise HandOver(WAITS)
            if args:
                raise HandOver("options given by position")
            text = decode(self, engine, token_ids, options)
        except HandOver as reason:
            engine.calls["decode", str(reason)] += 1
            return base._decode(self, token_ids, *args, **options)
        engine.calls["decode", ""] += 1
        return text

    return _like(_decode, base._decode)


def _decode_any(base: Any, own: list[type]) -> Callable[..., Any]:
    def decode(self: Any, token_ids: Any, skip_special_tokens: bool = False, **options: Any) -> Any:
        are_lists = type(token_ids) is list and token_ids and all(type(ids) is list for ids in token_ids)
        # Else a subclass or the object itself may override `_decode`.
        if are_lists and type(self) is own[0] and "_decode" not in self.__dict__:
            engine = engine_of(self)
            options["skip_special_tokens"] = skip_special_tokens
            if engine.waits and engine.goes_on_waiting(token_ids):
                engine.calls["decode", WAITS] += len(token_ids)
                return [base._decode(self, ids, **options) for ids in token_ids]  # base.decode would count each
            try:
                texts = decode_batch(self, engine, token_ids, options)
            except HandOver:
                return base.decode(self, token_ids, **options)  # decodes and counts each list separately
            engine.calls["decode", ""] += len(texts)
            return texts
        return base.decode(self, token_ids, skip_special_tokens, **options)

    return _like(decode, base.decode)


def _batch_decode(base: Any) -> Callable[..., Any]:
    def batch_decode(self: Any, sequences: Any, *args: Any, **options: Any) -> Any:
        if type(sequences) is list and sequences and not args and all(type(ids) is list for ids in sequences):
            return self.decode(sequences, **options)
        return base.batch_decode(self, sequences, *args, **options)

    return _like(batch_decode, base.batch_decode)


def _like(method: Callable[..., Any], stock: Any) -> Callable[..., Any]:
    functools.update_wrapper(method, stock)
    method.__signature__ = inspect.signature(stock)  # type: ignore[attr-defined]  # for inspect.getfullargspec
    return method


def _reduce(base: Any) -> Callable[..., Any]:
    def __reduce_ex__(self: Any, protocol: Any) -> Any:
        # Below protocol 2, `function` would be copyreg._reconstructor, with the accelerated class as an argument.
        function, args, *rest = base.__reduce_ex__(self, max(2, int(protocol)))
        if rest and isinstance(rest[0], dict):
            rest[0] = {name: value for name, value in rest[0].items() if name != ENGINE}
        # By name, a new process finds only the base, until it makes the accelerated class.
        made = accelerated_class(base)
        function, *args = (base if part is made else part for part in (function, *args))
        return (remake, (function, tuple(args)), *rest)

    return __reduce_ex__


def remake(function: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    """Create an accelerated tokenizer with the function that its original class uses for unpickling and copying.

    Its engine does not wait: a pickle does not say whether the engine waited, as it must not change with use.
    """
    made = function(*args)
    if not is_accelerated(made):
        give_class(made)
    return made


class _Reduced:
    """Stand-in for an object, of which `copy.deepcopy` makes the object's copy.

    parts: what `__reduce_ex__` of the object returned.
    """

    def __init__(self, parts: tuple[Any, ...]) -> None:
        self._parts = parts

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return self._parts


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    """Copy a tokenizer as without `__deepcopy__`, but let the engine of the copy share the tables."""
    function, *rest = self.__reduce_ex__(4)

    def create(*args: Any) -> Any:
        copied = memo[id(self)] = function(*args)  # before its state is copied, which may refer to the tokenizer
        return copied

    copied = copy.deepcopy(_Reduced((create, *rest)), memo)
    copied.__dict__[ENGINE] = engine_of(self).copy_for(copied.__dict__.get("_tokenizer"))
    return copied


def _on_base(base: Any, name: str) -> Any:
    """Return a class method that calls the method of `base` with `base` as `cls`, which the method may examine.

    If it returns an instance of `base`, this gets its accelerated class.
    """

    def call(cls: Any, *args: Any, **options: Any) -> Any:
        stock = getattr(base, name)
        if cls is not accelerated_class(base):  # a subclass of the accelerated class
            return stock.__func__(cls, *args, **options)
        made = stock(*args, **options)
        if type(made) is base:
            give_class(made)
        return made

    return classmethod(_like(call, getattr(base, name).__func__))
