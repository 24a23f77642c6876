"""Engine: fastbpe's tokenizer for one `tokenizers.Tokenizer`, rebuilt when that changes."""

from __future__ import annotations

import json
import logging
import weakref
from collections import Counter
from typing import Any

from fastbpe._utils.threads import ForkSafeLock
from fastbpe.errors import FastbpeError
from fastbpe.huggingface.frames import Frame, frame_of
from fastbpe.huggingface.rows import Plan
from fastbpe.tokenizer.loading import load
from fastbpe.tokenizer.tokenizer import Tokenizer
from fastbpe.transformers._original import tokenizers
from fastbpe.transformers.panics import BackendPanic, as_errors
from fastbpe.transformers.snapshot import (
    MODEL_OPTIONS,
    State,
    Twin,
    alive,
    component_state,
    differs_from_its_file,
    has_old_forms,
    read_state,
    remembered_specials,
    sampling_of,
)
from fastbpe.transformers.watching import EPOCH, watch

logger = logging.getLogger("fastbpe.transformers")

ENGINE = "_fastbpe_engine"  # in the __dict__ of an accelerated tokenizer from the start, and never in its pickle
_NOT_READ: Any = object()
_engines: weakref.WeakKeyDictionary[Any, weakref.ref[Engine]] = weakref.WeakKeyDictionary()  # newest, by original
_live: weakref.WeakKeyDictionary[Engine, None] = weakref.WeakKeyDictionary()  # all, also several of one original
_SETTINGS = ("truncation", "padding")
# A guess at what a program encodes or decodes that has only a prompt.
FIRST_CALLS = 3  # calls that a waiting engine leaves to the original
FIRST_CHARACTERS = 10_000  # of a call's texts, or number of ids to decode; a call with more makes the tables
WAITS = "one of the first short calls: fastbpe makes its tables for a fourth call, or for a long text"


class Names(dict[int, str]):
    """Token of each id, as a tokenizer spells it now; filled when a token is first read."""

    def __init__(self, original: Any) -> None:
        self._original = original

    def __missing__(self, token_id: int) -> str:
        token: str = self._original.id_to_token(token_id)
        self[token_id] = token
        return token


class Tokens(Names):
    """Map of ids to their tokens in a `tokenizers.Encoding`; KeyError for added tokens and the unknown token.

    For these, the token in an Encoding may differ from what `id_to_token` returns.

    unk_token_id: id of the original's unknown token, or None.
    """

    def __init__(self, original: Any, unk_token_id: int | None) -> None:
        super().__init__(original)
        self._unk_token_id = unk_token_id
        self._others: set[int | None] | None = None

    def __missing__(self, token_id: int) -> str:
        if self._others is None:
            self._others = {*self._original.get_added_tokens_decoder(), self._unk_token_id}
        if token_id in self._others:
            raise KeyError(token_id)
        return super().__missing__(token_id)


class Engine:
    """fastbpe's counterpart of one `tokenizers.Tokenizer`.

    `ready` compares the tokenizer's state with the state for which the tables were built, and rebuilds them if it
    differs. Threads may share an engine.

    waits: let the original handle the first short calls. Building tables takes as long as loading the
        tokenizer, and many programs encode only one prompt.

    Attributes:
        waits: no tables have been built yet, because the calls so far were few and short.
        reason: why fastbpe does not support the tokenizer; None if it does.
        n_changes: list of one int: number of changes of the original so far.
        texts: skip_special_tokens → id → text of the id in a stream; see `decode_stream`.
        calls: number of calls by (operation, reason); the reason is "" if fastbpe handled the call.
        settings_lock: all threads share the truncation and padding of the original. A call holds this lock from
            setting them until it has read them or the original has returned, so no other call's settings apply.
        plain: (EPOCH[0], add_special_tokens → facts for one text). The facts are the results of `ready` and
            `frame`, the tokens, the plan of a call without settings, and EPOCH[0] again. They are valid while
            EPOCH[0] is that object.
        names: token of each id.
        repeats: facts that calls of `_encode_plus` with one text have found; see `encode_plus.Repeat`.
        whole_calls: the same for calls of the tokenizer itself; see `encode_plus.remembering`.
        n_plain: number of calls that `_quick` handled. `calls` does not include them, because counting there is
            slower.
    """

    def __init__(self, original: Any, *, waits: bool = False) -> None:
        self.original = original
        self.waits = waits
        self._n_waited = 0
        self.reason: str | None = None
        self.calls: Counter[tuple[str, str]] = Counter()
        self.n_plain = 0
        self.texts: dict[bool, dict[int, str | None]] = {False: {}, True: {}}
        self.decodes = False  # fastbpe can decode: the decoder joins bytes, and no added token has an old form
        self._state: State | None = None
        self._remembered: set[int] = set()  # see `remembered_specials`
        self._split_for: State | None = None  # state for which `_splits` is valid
        self._splits = False  # result of `splits_as_flagged`
        self._tokenizer: Tokenizer | None = None
        self._ready_at: object = None  # EPOCH[0] at the last check of the state
        self._post: Any = _NOT_READ  # the post-processor's state for which `_frames` and `_twin` are valid
        self._read: tuple[object, Any] = None, None  # EPOCH[0] and the post-processor's state
        self.names = Names(original)
        self.repeats: dict[Any, Any] = {}
        self.whole_calls: dict[Any, Any] = {}
        self.plain: tuple[object, dict[bool, tuple[Tokenizer, Frame, Tokens, Plan, object]]] = None, {}
        self._built_post: Any = _NOT_READ  # the post-processor's state in the tables: it decides offsets
        self._frames: dict[tuple[bool, bool], Frame | None] = {}
        self._twin: Twin | None = None
        self._lock = ForkSafeLock()  # for making tables, frames and twins
        self.settings_lock = ForkSafeLock()
        self.n_changes = [0]
        if type(original) is tokenizers.Tokenizer:
            self.n_changes = watch(original)
            _engines[original] = weakref.ref(self)
            _live[self] = None

    def __reduce__(self) -> tuple[type[Engine], tuple[None]]:
        """Pickle as an empty engine: all its content can be rebuilt from the tokenizer."""
        return Engine, (None,)

    def ready(self) -> Tokenizer | None:
        """Return fastbpe's tokenizer for the original's present state.

        Returns None if fastbpe does not support it, or if another thread is changing it.
        """
        self.waits = False
        now = EPOCH[0]
        if now is not self._ready_at:
            self._check()
            self._ready_at = now
        return self._tokenizer

    def _check(self) -> None:
        """Make the tables if they do not belong to the original's present state."""
        with self._lock:
            try:
                if self.read_state() == self._state:
                    return
            except Exception:  # tokenizers raises plain Exception for components written in Python
                if self._state is None and self.reason is not None:  # `_make` has refused it already
                    return
            self._make()

    def goes_on_waiting(self, *inputs: Any) -> bool:
        """Count a call of a waiting engine, and tell whether the original handles it.

        inputs: texts or ids, or lists of these; other objects count as length 0.
        """
        self._n_waited += 1
        n = 0
        for one in inputs:
            n += len(one) if isinstance(one, (str, list, tuple)) else 0
            if isinstance(one, (list, tuple)):
                n += sum(len(item) for item in one[:FIRST_CHARACTERS] if isinstance(item, (str, list, tuple)))
        self.waits = self._n_waited <= FIRST_CALLS and n <= FIRST_CHARACTERS
        return self.waits

    def read_state(self) -> State:
        """Read the state of the original. For components written in Python, tokenizers raises an exception."""
        return read_state(self.original, self.n_changes[0])

    def frame(self, *, pair: bool, add_special_tokens: bool) -> Frame | None:
        """Return the frame that the post-processor puts around texts; None if it is not fixed or not found."""
        post, key = self._read_post(), (pair, add_special_tokens)
        if post == self._post:
            frames = self._frames  # read after _post: a thread that replaces both sets _frames first
            if key in frames:
                return frames[key]
        with self._lock:
            if post != self._post:
                self._frames, self._twin, self._post = {}, None, post
            if key not in self._frames:
                self._frames[key] = self._find_frame(pair, add_special_tokens)
            return self._frames[key]

    def _find_frame(self, pair: bool, add_special_tokens: bool) -> Frame | None:
        try:
            with as_errors():
                return find_frame(self.original, pair=pair, add_special_tokens=add_special_tokens)
        except BackendPanic as error:
            logger.debug("fastbpe leaves calls to tokenizers: the post-processor cannot be tried: %s", error)
            return None

    def trims_by_place(self) -> bool:
        """Tell whether trimming keeps a space at the start of a text's first token; see `Offsets.by_place`."""
        post = self._read_post() or b""
        return b'"trim_offsets":true' in post and b'"add_prefix_space":true' in post

    def numbers_parts(self, frame: Frame, *, add_special_tokens: bool) -> bool:
        """Tell whether parts that truncation cuts off have the frame's type ids.

        A template sets them only for the ids that are kept, and so does every post-processor without
        add_special_tokens; the parts keep 0 for the first text, 1 for the second.
        """
        is_usual = all(item.type_id == item.sequence for item in frame.items if item.sequence is not None)
        return is_usual or (add_special_tokens and b'"TemplateProcessing"' not in (self._read_post() or b""))

    def with_offsets(self) -> Tokenizer | None:
        """Return a tokenizer whose offsets follow the original's present post-processor; None as in `ready`."""
        if self.ready() is not None and self._read_post() != self._built_post:
            with self._lock:
                self._make()
        return self._tokenizer

    def splits_as_flagged(self) -> bool:
        """Tell whether the original, which now splits special tokens, keeps all other added tokens whole.

        It also splits tokens that were special before they were added again as ordinary ones.
        `remembered_specials` does not find all of these, so this method encodes each of the other tokens.
        """
        if self._split_for is not self._state:
            added = self.original.get_added_tokens_decoder()
            others = {i: t.content for i, t in added.items() if not t.special and i not in self._remembered}
            try:
                with as_errors():
                    rows = self.original.encode_batch([*others.values()], add_special_tokens=False)
                self._splits = all(i in row.ids for i, row in zip(others, rows, strict=True))
            except Exception:
                self._splits = False
            self._split_for = self._state
        return self._splits

    def twin(self) -> Twin:
        """Return an independent copy of the original's present state.

        Requires: `ready` and `frame` were called since the last change; they drop the copy of an older state.
        """
        twin = self._twin
        if twin is None:
            with self._lock, as_errors():
                twin = self._twin = Twin(self.original)
        return twin

    def copy_for(self, original: Any) -> Engine:
        """Return an engine for a copy of the original. It shares the tables if the copy has the same state."""
        copied = Engine(original, waits=self.waits)
        copied._n_waited = self._n_waited
        with self._lock:
            try:
                same = self._state is not None and self.read_state() == self._state
                state = copied.read_state()
            except Exception:
                return copied
            same = same and not self._remembered  # the copy does not know which tokens were special before
            if same and self._state is not None and state[:2] == self._state[:2]:
                copied._state, copied._tokenizer, copied.reason = state, self._tokenizer, self.reason
                copied._built_post, copied.decodes = self._built_post, self.decodes
        return copied

    def _read_post(self) -> Any:
        """Return the state of the post-processor; None without one; b"" if it is written in Python."""
        now, (then, state) = EPOCH[0], self._read
        if now is not then:
            try:
                state = component_state(self.original.post_processor)
            except Exception:
                state = b""  # written in Python: `_make` refuses it
            self._read = now, state
        return state

    def _make(self) -> None:
        """Make the tables for the original's present state, or set `reason`. The caller holds `_lock`."""
        original = self.original
        self._ready_at, self._tokenizer, self._twin = None, None, None
        self._frames, self._post = {}, _NOT_READ
        self.repeats, self.whole_calls, self.plain = {}, {}, (None, {})  # they refer to the tables before
        self.names = Names(original)
        self._state, self.reason, self.texts = None, None, {False: {}, True: {}}
        try:
            if type(original.model).__name__ not in MODEL_OPTIONS:
                raise FastbpeError(f"its model is {type(original.model).__name__}, which fastbpe does not know")
            if sampling := sampling_of(original.model):
                raise FastbpeError(f"its model has {sampling}")
            state, post = self.read_state(), component_state(original.post_processor)
            added = original.get_added_tokens_decoder()
            if differs_from_its_file(original, added):
                raise FastbpeError(
                    "it has an added token whose id differs from the one that a tokenizer.json would give it"
                )
            with as_errors():
                remembered = remembered_specials(original, added)
                has_old = has_old_forms(original)
                text = with_specials(without_settings(original.to_str()), remembered)
            tokenizer = load(text.encode())
            self._remembered, self._split_for = remembered, None
            joins = tokenizer.mode != "byte" or b'"ByteLevel"' in (state.components[2] or b"")
            self.decodes = joins and not has_old
            # else another thread changed the original meanwhile: the next call makes the tables
            if self.read_state() == state:
                self._tokenizer, self._state, self._built_post = tokenizer, state, post
        except Exception as error:  # any error: the original answers
            self.reason = f"{type(error).__name__}: {error}"
            logger.debug("fastbpe leaves a tokenizer to tokenizers: %s", self.reason)
            try:
                self._state = self.read_state()
            except Exception:
                self._state = None


def engine_of(hf: Any) -> Engine:
    """Return the engine of an accelerated tokenizer; create a new one if its backend was replaced."""
    fields = hf.__dict__
    engine = fields.get(ENGINE)
    if engine is None or engine.original is not fields.get("_tokenizer"):
        engine = fields[ENGINE] = Engine(fields.get("_tokenizer"), waits=engine is not None and engine.waits)
    return engine  # type: ignore[no-any-return]


def engine_for(original: Any) -> Engine | None:
    """Return the newest engine of a `tokenizers.Tokenizer`; None if it has no engine."""
    found = _engines.get(original)
    return None if found is None else found()


def has_engine(original: Any) -> bool:
    return any(engine.original is original for engine in alive(_live))


def with_specials(text: str, ids: set[int]) -> str:
    """Mark the added tokens with some ids as special, in the text of a tokenizer.json."""
    if not ids:
        return text
    key = '"added_tokens":'
    start = text.index(key) + len(key)
    tokens, end = json.JSONDecoder().raw_decode(text, start)
    for token in tokens:
        token["special"] = token["special"] or token["id"] in ids
    return f"{text[:start]}{json.dumps(tokens)}{text[end:]}"


def without_settings(text: str) -> str:
    """Set truncation and padding of a tokenizer.json to null. They are settings of calls, not of the model."""
    decoder = json.JSONDecoder()
    for name in _SETTINGS:
        key = f'"{name}":'
        start = text.index(key) + len(key)  # tokenizers writes both, before all texts of the model
        if text.startswith("null", start):
            continue  # as nearly always: each change copies megabytes
        _, end = decoder.raw_decode(text, start)
        text = f"{text[:start]}null{text[end:]}"
    return text


_PROBE = "a"


def find_frame(tokenizer: Any, *, pair: bool, add_special_tokens: bool) -> Frame | None:
    """Find the frame by processing a probe with the post-processor of a `tokenizers.Tokenizer`.

    None: `frame_of` returns None, or `num_special_tokens_to_add` differs from the frame's number of ids.
    """
    model = tokenizers.models.WordLevel({_PROBE: 0}, unk_token=_PROBE)  # the tokenizer's own may fail at any text
    bare: Any = tokenizers.Tokenizer(model)
    if tokenizer.post_processor is not None:
        bare.post_processor = tokenizer.post_processor
    [encoding] = bare.encode_batch([(_PROBE, _PROBE) if pair else _PROBE], add_special_tokens=add_special_tokens)
    frame = frame_of(encoding, pair=pair, probe=_PROBE)
    if frame is not None and add_special_tokens and tokenizer.num_special_tokens_to_add(pair) != frame.n_added:
        return None
    return frame
